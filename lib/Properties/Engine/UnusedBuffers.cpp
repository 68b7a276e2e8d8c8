// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/UnusedBuffers.h"

#include "d2k/Analysis/LaneForms.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Bytes from which on the steps of an index are buffers, and no elements.
static constexpr int64_t kLeastBuffer = 256;

std::optional<PickedBuffer> properties::findPickedBuffer(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const Provenance &provenance = detector.getProvenance();
  LaneForms &forms = detector.getKernel().getLaneForms();
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  PickedBuffer picked;
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    if (!info.access.write || info.space != kern::Space::Shared ||
        info.access.barrier || !info.access.address)
      continue;
    auto store = llvm::dyn_cast<kern::StoreOp>(index.getOp(info.op));
    if (store && llvm::none_of(store.getValues(), [&](mlir::Value value) {
          return !provenance.getTerms(index.getId(value)).empty();
        }))
      continue;
    LaneForm form = forms.get(index.getId(info.access.address));
    if (!form.known)
      continue;
    for (const auto &[symbol, factor] : form.terms) {
      const LaneSymbol &what = forms.getSymbol(symbol);
      if (what.kind != LaneSymbolKind::Launch || what.values.size() < 2 ||
          !factor.isSame() || factor.getSame() < kLeastBuffer)
        continue;
      picked.buffers = std::max<unsigned>(picked.buffers, what.values.size());
      if (!llvm::is_contained(picked.writes, info.op))
        picked.writes.push_back(info.op);
    }
  }
  if (picked.writes.empty())
    return std::nullopt;
  return picked;
}
