// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `test-properties` of d2k-opt, which prints what analyzeModule finds.

#ifndef D2K_PROPERTIES_TESTPASSES_H
#define D2K_PROPERTIES_TESTPASSES_H

namespace d2k::properties {

/// Registers test-properties.
void registerTestPasses();

} // namespace d2k::properties

#endif // D2K_PROPERTIES_TESTPASSES_H
