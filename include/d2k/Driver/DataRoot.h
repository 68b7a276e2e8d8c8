// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the folder that holds tasks/, guidance/ and rubrics/.

#ifndef D2K_DRIVER_DATAROOT_H
#define D2K_DRIVER_DATAROOT_H

#include "d2k/Support/Failure.h"

#include <string>

namespace d2k {

/// The data folder: $D2K_ROOT when set, else the nearest folder above the
/// program \p executable that has rubrics/ and tasks/ (a checkout), else the
/// share/d2k beside its bin/. Fails with kind Environment when there is none.
Result<std::string> findDataRoot(const std::string &executable);

} // namespace d2k

#endif // D2K_DRIVER_DATAROOT_H
