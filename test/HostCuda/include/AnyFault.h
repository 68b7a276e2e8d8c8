// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faulty kernels that are compiled once for all faults (host-nvcc --any-fault):
// the copy of the library that is loaded says which.

#ifndef D2K_TEST_HOSTCUDA_ANYFAULT_H
#define D2K_TEST_HOSTCUDA_ANYFAULT_H

#include "Execution.h"

static const char d2kHostPlace = 0;
static const int d2kHostFault = ::d2k::host::getFaultOfLibrary(&d2kHostPlace);
#define D2K_FAULT d2kHostFault

#endif // D2K_TEST_HOSTCUDA_ANYFAULT_H
