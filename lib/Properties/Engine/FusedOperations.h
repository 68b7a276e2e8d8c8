// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What prologue_fusion and epilogue_fusion say about operations around the main
// products.

#ifndef D2K_LIB_PROPERTIES_ENGINE_FUSEDOPERATIONS_H
#define D2K_LIB_PROPERTIES_ENGINE_FUSEDOPERATIONS_H

#include "Engine/Detector.h"

namespace d2k::properties {

/// The kinds that count as fusion.
inline constexpr uint8_t kAppliedFusion = analysis::AppliedOperand |
                                          analysis::AppliedScale |
                                          analysis::AppliedNonlinear;

struct FusedOperations {
  /// "scale+operand", in the order in which the kernel comes to them first.
  std::string text;
  llvm::SmallVector<OpId, 8> where;
};

/// The operations of `kinds` behind the main products, or before them.
FusedOperations describeFused(Detector &detector, bool epilogue, uint8_t kinds);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_FUSEDOPERATIONS_H
