// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass an analysis, for tests: `d2k-opt --test-<analysis>` prints what the
// analysis found as remarks at the operations.

#ifndef D2K_ANALYSIS_TESTPASSES_H
#define D2K_ANALYSIS_TESTPASSES_H

namespace d2k::analysis {

/// Registers test-applied-operations, test-constants, test-lane-addresses,
/// test-lane-forms, test-linear-forms, test-loops, test-main-region,
/// test-matrix-descriptors, test-memory-roots, test-provenance, test-residue,
/// test-shared-objects, test-uniformity and test-warp-roles.
void registerTestPasses();

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_TESTPASSES_H
