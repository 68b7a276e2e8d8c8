// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over rows, which are no loops over output tiles although each iteration
// of a block writes a part of the output.
//
// Example: `for (row = blockIdx.x; row < rows; row += gridDim.x)` around the
// normalisation of one row. No such loop is one that sums products of two
// operands, or that makes two coordinates of a tile's number.

#ifndef D2K_LIB_PROPERTIES_ENGINE_ROWLOOPS_H
#define D2K_LIB_PROPERTIES_ENGINE_ROWLOOPS_H

#include "d2k/Analysis/KernelContext.h"

#include <vector>

namespace d2k::properties {

/// Whether each iteration of `loop` writes a row. `place` marks the operations
/// that say where it writes.
bool isOverRows(analysis::KernelContext &kernel, uint32_t loop,
                const std::vector<bool> &place);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_ROWLOOPS_H
