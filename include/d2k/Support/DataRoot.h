// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the folder that holds tasks/, guidance/ and rubrics/.

#ifndef D2K_SUPPORT_DATAROOT_H
#define D2K_SUPPORT_DATAROOT_H

#include "d2k/Support/Failure.h"

#include <string>

namespace d2k {

/// The path of the running program, links resolved.
std::string getProgramPath();

/// The data folder: $D2K_ROOT when set, else the nearest folder above the
/// running program that has rubrics/ and tasks/ (a checkout), else the
/// share/d2k beside its bin/. Fails with kind Environment when there is none.
Result<std::string> findDataRoot();

} // namespace d2k

#endif // D2K_SUPPORT_DATAROOT_H
