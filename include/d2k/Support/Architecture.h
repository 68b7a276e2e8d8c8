// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of GPU architectures as --arch takes them, and what to tell somebody
// who chose the wrong one.

#ifndef D2K_SUPPORT_ARCHITECTURE_H
#define D2K_SUPPORT_ARCHITECTURE_H

#include <string>
#include <string_view>

namespace d2k {

/// What is compiled for where neither an option nor a device says it.
inline constexpr std::string_view kDefaultArchitecture = "sm_100a";

/// Whether \p name is one from sm_80 on: "sm_90", "sm_90a", "sm_100f". That a
/// compiler knows it is not asked.
bool isArchitecture(std::string_view name);

/// "--arch: 'sm_70' is no target; expected sm_80 (A100), ..., or another one
/// up to sm_121a".
std::string describeWrongArchitecture(std::string_view name);

/// What helps where \p diagnostics of a compilation for \p arch say that an
/// instruction does not exist there: "wgmma exists on sm_90a only: give --arch
/// sm_90a". Empty when nothing is known to help. The instructions are those
/// whose "Target ISA Notes" in the PTX ISA ask for one architecture's own
/// variant: wgmma, setmaxnreg and tcgen05.
std::string getArchitectureHint(std::string_view diagnostics,
                                std::string_view arch);

} // namespace d2k

#endif // D2K_SUPPORT_ARCHITECTURE_H
