// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block that a kernel declares, or that its use of the thread's number and
// of its arrays in shared memory speaks for.

#include "BlockShape.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

static constexpr unsigned kWarp = 32;

/// Whether y or z of the thread's number serve for more than the thread's
/// number in its block, tid.x + ntid.x * (tid.y + ntid.y * tid.z). Libraries
/// work that out for blocks of one row, too.
static bool usesRows(const KernelIndex &index) {
  auto isSpecial = [&](ValueId value, llvm::StringRef reg) {
    OpId def = index.getDef(value);
    while (def != kNone && isa<kern::ConvertOp>(index.getOp(def)))
      def = index.getDef(index.getOperands(def)[0]);
    auto special =
        def == kNone ? nullptr : dyn_cast<kern::SpecialOp>(index.getOp(def));
    return special && special.getReg() == reg;
  };
  auto isMinusX = [&](ValueId value) {
    OpId def = index.getDef(value);
    auto arith =
        def == kNone ? nullptr : dyn_cast<kern::ArithOp>(index.getOp(def));
    return arith && arith.getKind() == ArithKind::Neg &&
           isSpecial(index.getOperands(def)[0], "tid.x");
  };
  // True for what is multiplied by ntid.x already.
  llvm::DenseMap<ValueId, bool> parts;
  llvm::SmallVector<ValueId, 8> pending;
  auto add = [&](OpId op, bool scaled) {
    if (parts.try_emplace(index.getFirstResult(op), scaled).second)
      pending.push_back(index.getFirstResult(op));
  };
  for (OpId op = 0; op < index.getNumOps(); ++op)
    if (auto special = dyn_cast<kern::SpecialOp>(index.getOp(op)))
      if (special.getReg() == "tid.y" || special.getReg() == "tid.z")
        add(op, false);
  while (!pending.empty()) {
    ValueId value = pending.pop_back_val();
    bool scaled = parts[value];
    for (OpId user : index.getUsers(value)) {
      llvm::ArrayRef<ValueId> in = index.getOperands(user);
      if (isa<kern::ConvertOp>(index.getOp(user))) {
        add(user, scaled);
        continue;
      }
      if (isa<kern::CompareOp>(index.getOp(user))) {
        if (!scaled || in.size() < 2 ||
            !isMinusX(in[0] == value ? in[1] : in[0]))
          return true;
        continue;
      }
      auto arith = dyn_cast<kern::ArithOp>(index.getOp(user));
      if (!arith)
        return true;
      switch (arith.getKind()) {
      case ArithKind::Add: {
        ValueId other = in[0] == value ? in[1] : in[0];
        if (isSpecial(other, "tid.x"))
          break;
        // The other part comes from the list, too, or is refused there.
        add(user, scaled);
        break;
      }
      case ArithKind::Mul:
      case ArithKind::MulLo:
      case ArithKind::MulWide:
      case ArithKind::MadLo:
      case ArithKind::MadWide: {
        if (in.size() > 2 && in[2] == value) {
          add(user, scaled);
          break;
        }
        ValueId other = in[0] == value ? in[1] : in[0];
        bool byX = isSpecial(other, "ntid.x");
        if (scaled || (!byX && !isSpecial(other, "ntid.y")))
          return true;
        // With tid.x added, this is the thread's number.
        if (byX && in.size() > 2 && isSpecial(in[2], "tid.x"))
          break;
        add(user, byX);
        break;
      }
      default:
        return true;
      }
    }
  }
  return false;
}

BlockShape analysis::findBlockShape(const KernelIndex &index) {
  kern::FuncOp func = index.getFunc();
  BlockShape shape;
  if (auto exact = func.getDirective3("kern.reqntid")) {
    shape.x = unsigned((*exact)[0]);
    shape.y = unsigned((*exact)[1]);
    shape.z = unsigned((*exact)[2]);
    shape.known = true;
    return shape;
  }
  unsigned most = 1024;
  bool bounded = false;
  if (auto limit = func.getDirective3("kern.maxntid")) {
    most = unsigned(
        std::clamp<int64_t>((*limit)[0] * (*limit)[1] * (*limit)[2], 1, 1024));
    bounded = true;
  }
  bool rows = usesRows(index);
  shape.x = rows ? std::min(most, kWarp) : most;
  shape.y = rows ? std::max(most / kWarp, 1u) : 1;
  shape.known = bounded && !rows;
  return shape;
}

/// Whether the threads of a block use all of one array in shared memory,
/// nothing beyond the end of any, and no thread is missing for an access to
/// one.
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
    // An access that no thread comes to speaks against the shape.
    if (llvm::none_of(active, [](bool runs) { return runs; }))
      return false;
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

std::optional<BlockShape> analysis::guessBlockShape(
    KernelContext &kernel,
    llvm::function_ref<std::unique_ptr<LaneForms>(BlockShape)> make) {
  BlockShape declared = findBlockShape(kernel.getIndex());
  const MemoryRoots &memory = kernel.getMemory();
  bool hasArray =
      llvm::any_of(memory.getAccesses(), [&](const AccessInfo &info) {
        if (info.space != kern::Space::Shared || !info.access.address)
          return false;
        return llvm::any_of(
            memory.getRoots(kernel.getIndex().getId(info.access.address)),
            [&](RootId root) {
              auto object = llvm::dyn_cast_or_null<kern::ObjectOp>(
                  memory.getRoot(root).symbol);
              return object && object.getSize();
            });
      });
  if (!hasArray)
    return std::nullopt;
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
      if (!fillsArrays(kernel, *forms))
        continue;
      shape.known = true;
      return shape;
    }
  }
  return std::nullopt;
}
