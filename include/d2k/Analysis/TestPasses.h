// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass an analysis, for tests: `d2k-opt --test-<analysis>` prints what the
// analysis found as remarks at the operations.

#ifndef D2K_ANALYSIS_TESTPASSES_H
#define D2K_ANALYSIS_TESTPASSES_H

namespace d2k::analysis {

/// Registers test-constants, test-loops, test-linear-forms, test-lane-forms,
/// test-memory-roots, test-shared-objects, test-uniformity, test-provenance,
/// test-residue and test-main-region.
void registerTestPasses();

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_TESTPASSES_H
