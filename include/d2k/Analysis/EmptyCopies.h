// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous copies that move nothing. PTX ISA, cp.async: bytes beyond
// src-size are zeros, and with ignore-src all are; cp.async.bulk moves `size`
// bytes.

#ifndef D2K_ANALYSIS_EMPTYCOPIES_H
#define D2K_ANALYSIS_EMPTYCOPIES_H

#include "d2k/Analysis/ConstantValues.h"
#include "d2k/Analysis/KernelIndex.h"

namespace d2k::analysis {

/// What an asynchronous copy leaves in its target.
enum class CopiedBytes : uint8_t {
  /// Source bytes, as far as is known.
  Source,
  /// Zeros alone.
  Zeros,
  /// Nothing: what was there stays.
  Nothing,
};

/// What \p op, of any kind, copies by constants.
CopiedBytes getCopiedBytes(const KernelIndex &index,
                           const ConstantValues &constants, OpId op);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_EMPTYCOPIES_H
