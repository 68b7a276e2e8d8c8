// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All operations of kern, gathered for TableGen.

#ifndef D2K_DIALECT_KERN_KERNOPS_TD
#define D2K_DIALECT_KERN_KERNOPS_TD

include "d2k/Dialect/Kern/KernStructure.td"
include "d2k/Dialect/Kern/KernCompute.td"
include "d2k/Dialect/Kern/KernMemory.td"

#endif // D2K_DIALECT_KERN_KERNOPS_TD
