// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where unit tests find checked-in files. The paths are compiled into one
// small library, so that the tests' own objects are the same in every
// checkout and the compiler cache can share them.

#ifndef D2K_TEST_UNIT_TESTPATHS_H
#define D2K_TEST_UNIT_TESTPATHS_H

#include <string>
#include <string_view>

namespace d2k::test {

/// The absolute path of `relative` within the checkout, for instance
/// getSourcePath("tasks/gemm_bf16/task.json").
std::string getSourcePath(std::string_view relative);

/// The absolute path of `relative` within test/, for instance
/// getInputPath("Unit/Report/Inputs/one.json").
std::string getInputPath(std::string_view relative);

} // namespace d2k::test

#endif // D2K_TEST_UNIT_TESTPATHS_H
