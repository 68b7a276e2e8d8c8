// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/FusedOperations.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

FusedOperations properties::describeFused(Detector &detector, bool epilogue,
                                          uint8_t kinds) {
  static constexpr std::pair<uint8_t, const char *> kNames[] = {
      {AppliedOperand, "operand"},
      {AppliedScale, "scale"},
      {AppliedNonlinear, "nonlinear"}};
  const AppliedOperations &applied = detector.getKernel().getApplied();
  FusedOperations result;
  llvm::SmallVector<std::pair<OpId, llvm::StringRef>, 3> order;
  for (auto [kind, name] : kNames) {
    if (!(kinds & kind))
      continue;
    llvm::SmallVector<OpId, 8> ops = applied.getOperations(epilogue, kind);
    order.push_back({ops.empty() ? kNone : ops.front(), name});
    llvm::append_range(result.where, ops);
  }
  llvm::sort(order);
  for (auto [op, name] : order)
    result.text += (result.text.empty() ? "" : "+") + name.str();
  llvm::sort(result.where);
  result.where.erase(llvm::unique(result.where), result.where.end());
  return result;
}
