// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analyses whose headers few users of a KernelContext need.

#include "d2k/Analysis/KernelContext.h"

#include "d2k/Analysis/LaneAddresses.h"
#include "d2k/Analysis/SharedObjects.h"

using namespace d2k;
using namespace d2k::analysis;

/// Whether the threads of a block use all of one array in shared memory, and
/// nothing beyond the end of any.
static bool fillsArrays(KernelContext &kernel, LaneForms &forms) {
  bool fills = false;
  for (const AccessInfo &info : kernel.getMemory().getAccesses()) {
    if (info.space != kern::Space::Shared || info.access.barrier ||
        !info.access.bytes || info.access.warpWide ||
        info.access.form != kern::MemoryAccess::Form::Address)
      continue;
    LaneForm form = forms.get(kernel.getIndex().getId(info.access.address));
    SymbolId base = form.known ? forms.getBase(form) : kNone;
    if (base == kNone)
      continue;
    auto object = llvm::dyn_cast_or_null<kern::ObjectOp>(
        kernel.getMemory().getRoot(forms.getSymbol(base).root).symbol);
    if (!object || !object.getSize())
      continue;
    // What guards leave out does not count.
    std::vector<bool> active = forms.getActive(info.op);
    int64_t inner = 0;
    bool bounded = true;
    for (const auto &[symbol, factor] : form.terms) {
      if (symbol == base)
        continue;
      LaneForm term;
      term.terms.push_back({symbol, factor});
      Range range = forms.getRange(term);
      bounded &= !range.full && range.high < INT32_MAX;
      inner += range.full ? 0 : range.high;
    }
    if (!bounded)
      continue;
    int64_t end = 0;
    for (unsigned t = 0; t < forms.getNumThreads(); ++t)
      if (active[t])
        end = std::max(end, form.rest[t] + info.access.offset + inner +
                                int64_t(*info.access.bytes));
    if (end > int64_t(*object.getSize()))
      return false;
    // Padding at the end of the last row is not used.
    fills |= end * 16 >= int64_t(*object.getSize()) * 15;
  }
  return fills;
}

KernelContext::KernelContext(kern::FuncOp func,
                             mlir::SymbolTableCollection &symbols)
    : func(func), symbols(symbols) {}

KernelContext::~KernelContext() = default;

LaneForms &KernelContext::getLaneForms() {
  auto make = [&](BlockShape shape) {
    return std::make_unique<LaneForms>(getIndex(), getConstants(),
                                       getDominance(), getLoops(), getMemory(),
                                       getUniformity(), shape);
  };
  if (laneForms)
    return *laneForms;
  BlockShape declared = findBlockShape(getIndex());
  laneForms = make(declared);
  if (declared.known)
    return *laneForms;
  bool hasArray =
      llvm::any_of(getMemory().getAccesses(), [&](const AccessInfo &info) {
        if (info.space != kern::Space::Shared || !info.access.address)
          return false;
        return llvm::any_of(
            getMemory().getRoots(getIndex().getId(info.access.address)),
            [&](RootId root) {
              auto object = llvm::dyn_cast_or_null<kern::ObjectOp>(
                  getMemory().getRoot(root).symbol);
              return object && object.getSize();
            });
      });
  if (!hasArray)
    return *laneForms;
  // The largest block that stays inside of all arrays in shared memory, and
  // fills one, is what the kernel was written for.
  unsigned most = declared.getThreads();
  for (unsigned threads : {1024u, 512u, 256u, 128u, 64u, 32u}) {
    if (threads > most)
      continue;
    for (unsigned x : {32u, 16u, 64u, 8u, 128u, 256u, 512u, 1024u}) {
      if (x > threads || (declared.y == 1 && x != threads))
        continue;
      BlockShape shape;
      shape.x = x;
      shape.y = threads / x;
      std::unique_ptr<LaneForms> forms = make(shape);
      if (!fillsArrays(*this, *forms))
        continue;
      shape.known = true;
      laneForms = make(shape);
      return *laneForms;
    }
  }
  return *laneForms;
}

LaneAddresses &KernelContext::getLaneAddresses() {
  if (!laneAddresses)
    laneAddresses = std::make_unique<LaneAddresses>(*this);
  return *laneAddresses;
}

const SharedObjects &KernelContext::getSharedObjects() {
  return make(sharedObjects, getIndex(), getMemory(), getLaneForms());
}
