// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a shared-memory matrix descriptor says: the 64-bit operand of wgmma and
// tcgen05 that names a matrix in shared memory.
//
//   bits 0-13    address / 16
//   bits 16-29   leading byte offset / 16
//   bits 32-45   stride byte offset / 16
//   bits 49-51   base offset
//   bits 62-63   swizzle of wgmma: 0 none, 1 128 bytes, 2 64, 3 32
//   bits 61-63   swizzle of tcgen05: 0 none, 1 128 bytes in units of 32,
//                2 128, 4 64, 6 32
// (PTX ISA, "Matrix Descriptor Format" of wgmma and "Shared Memory Descriptor"
// of tcgen05.)
//
// However it is put together - shifts and ors, bit-field inserts, two 32-bit
// halves of which one is constant, a constant added for each step along K - the
// operand is a sum of LaneForms: symbols in the address field, and a number
// with the other fields.
//
// Example: ((s & 0x3ffff) >> 4) | 1 << 16 | 64 << 32 | 1 << 62, plus 2 for the
// second step: {leading 16, stride 1024, swizzle 128}, at the object of s, 32
// bytes in.
//
// Unknown: nothing is returned when a field above the address depends on
// anything but constants.

#ifndef D2K_ANALYSIS_MATRIXDESCRIPTORS_H
#define D2K_ANALYSIS_MATRIXDESCRIPTORS_H

#include "d2k/Analysis/KernelContext.h"

namespace d2k::analysis {

struct MatrixDescriptor {
  /// Bytes between matrices of 8 rows along the one and the other dimension.
  int64_t leading = 0, stride = 0;
  unsigned baseOffset = 0;
  /// Bytes of a row of the swizzle: 0, 32, 64 or 128.
  unsigned swizzle = 0;
};

/// The descriptor that access number `access` of MemoryRoots goes through;
/// nothing when it goes through none or its fields are not known.
std::optional<MatrixDescriptor> getMatrixDescriptor(KernelContext &kernel,
                                                    uint32_t access);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_MATRIXDESCRIPTORS_H
