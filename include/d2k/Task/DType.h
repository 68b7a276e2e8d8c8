// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of tensors. Apart from the rest of the task model, because
// device code includes it and has none of the model's libraries.

#ifndef D2K_TASK_DTYPE_H
#define D2K_TASK_DTYPE_H

#include <cstdint>

namespace d2k::task {

/// Element types; the names are those of FlashInfer-Bench.
enum class DType : uint8_t {
  Float64,
  Float32,
  Float16,
  BFloat16,
  /// OCP e4m3fn: saturating, no infinities.
  Float8E4M3FN,
  Float8E5M2,
  /// A power of two without sign, for block scales.
  Float8E8M0FNU,
  /// Two elements a byte; element 2j is the low nibble of byte j.
  Float4E2M1,
  Int64,
  Int32,
  Int16,
  Int8,
  UInt8,
  /// Two elements a byte, packed like Float4E2M1.
  UInt4,
  Bool,
};

} // namespace d2k::task

#endif // D2K_TASK_DTYPE_H
