// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions of operands of wgmma in shared memory, for the hand-written
// kernels of baselines.

#ifndef D2K_BASELINE_MATRIXDESCRIPTOR_CUH
#define D2K_BASELINE_MATRIXDESCRIPTOR_CUH

#include <cstdint>

namespace d2k::baseline {

/// Describes the operand at a shared address that is a multiple of 1024: rows
/// of 64 elements in the swizzle of 128 bytes, K contiguous (PTX ISA, "Matrix
/// Descriptor Format" of wgmma). 16 of K further is 2 more.
__device__ inline uint64_t describeOperand(uint32_t address) {
  uint64_t descriptor = (address & 0x3ffff) >> 4;
  descriptor |= uint64_t(1) << 16;         // leading byte offset / 16
  descriptor |= uint64_t(1024 >> 4) << 32; // stride byte offset / 16
  descriptor |= uint64_t(1) << 62;         // 128-byte swizzle
  return descriptor;
}

/// The same of an operand whose columns are contiguous: blocks of 64 columns
/// that are \p blockBytes apart, in each of them rows of 128 bytes along K. 16
/// of K further is 2048 bytes, 128 more in the descriptor.
__device__ inline uint64_t describeTransposed(uint32_t address,
                                              int blockBytes) {
  uint64_t descriptor = (address & 0x3ffff) >> 4;
  descriptor |= uint64_t(blockBytes >> 4) << 16; // leading byte offset / 16
  descriptor |= uint64_t(1024 >> 4) << 32;       // stride byte offset / 16
  descriptor |= uint64_t(1) << 62;               // 128-byte swizzle
  return descriptor;
}

} // namespace d2k::baseline

#endif // D2K_BASELINE_MATRIXDESCRIPTOR_CUH
