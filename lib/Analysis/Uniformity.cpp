// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimistic fixpoint: every value starts as agreed by the block and is
// weakened, with what is made from it, until nothing changes.

#include "d2k/Analysis/Uniformity.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

Agreement Uniformity::evaluate(OpId id, unsigned result) const {
  Operation *op = index.getOp(id);
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  if (auto special = dyn_cast<kern::SpecialOp>(op)) {
    StringRef reg = special.getReg();
    if (reg == "warpid")
      return Agreement::Warp;
    if (reg.starts_with("ctaid") || reg.starts_with("nctaid") ||
        reg.starts_with("ntid") || reg.starts_with("cluster") ||
        reg.starts_with("ncluster") || reg == "gridid" || reg == "smid" ||
        reg.ends_with("smem_size"))
      return Agreement::Block;
    return Agreement::Thread;
  }
  if (isa<kern::ElectOp, kern::ActiveMaskOp, kern::CallOp, kern::CallIndirectOp,
          kern::OpaqueOp, kern::AtomicOp>(op))
    return Agreement::Thread;
  Agreement worst = Agreement::Block;
  for (ValueId v : in)
    worst = std::max(worst, agreement[v]);
  if (worst != Agreement::Thread || in.empty())
    return worst;
  if (isa<kern::VoteOp, kern::WarpReduceOp>(op))
    return Agreement::Warp;
  if (auto shuffle = dyn_cast<kern::ShuffleOp>(op)) {
    bool sameLane = shuffle.getMode() == kern::ShuffleMode::Idx &&
                    in.size() > 1 && agreement[in[1]] != Agreement::Thread;
    return sameLane && result == 0 ? Agreement::Warp : Agreement::Thread;
  }
  auto constant = [&](unsigned i) {
    return i < in.size() ? constants.get(in[i]) : std::nullopt;
  };
  if (auto arith = dyn_cast<kern::ArithOp>(op)) {
    bool thread = isThreadId[in[0]];
    std::optional<uint64_t> by = constant(1);
    if (!thread || !by)
      return worst;
    switch (arith.getKind()) {
    case ArithKind::Shr:
      return *by >= 5 ? Agreement::Warp : worst;
    case ArithKind::Div:
      return *by != 0 && *by % 32 == 0 ? Agreement::Warp : worst;
    case ArithKind::And:
      return *by % 32 == 0 ? Agreement::Warp : worst;
    case ArithKind::Bfe:
      return *by >= 5 ? Agreement::Warp : worst;
    default:
      return worst;
    }
  }
  if (auto compare = dyn_cast<kern::CompareOp>(op)) {
    if (compare.getCombine() || in.size() < 2)
      return worst;
    bool swapped = isThreadId[in[1]];
    if (!swapped && !isThreadId[in[0]])
      return worst;
    std::optional<uint64_t> bound = constant(swapped ? 0 : 1);
    if (!bound)
      return worst;
    switch (compare.getPredicate()) {
    case kern::Compare::Lt:
    case kern::Compare::Lo:
    case kern::Compare::Ge:
    case kern::Compare::Hs:
      return (swapped ? *bound + 1 : *bound) % 32 == 0 ? Agreement::Warp
                                                       : worst;
    case kern::Compare::Gt:
    case kern::Compare::Hi:
    case kern::Compare::Le:
    case kern::Compare::Ls:
      return (swapped ? *bound : *bound + 1) % 32 == 0 ? Agreement::Warp
                                                       : worst;
    default:
      return worst;
    }
  }
  return worst;
}

Uniformity::Uniformity(const KernelIndex &index,
                       const ConstantValues &constants)
    : index(index), constants(constants) {
  agreement.assign(index.getNumValues(), Agreement::Block);
  isThreadId.assign(index.getNumValues(), false);
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (index.getNumResults(op) == 0)
      continue;
    ValueId result = index.getFirstResult(op);
    if (auto special = dyn_cast<kern::SpecialOp>(index.getOp(op)))
      isThreadId[result] = special.getReg() == "tid.x";
    else if (isa<kern::ConvertOp>(index.getOp(op)) &&
             index.getGuard(op) == kNone)
      isThreadId[result] = isThreadId[index.getOperands(op)[0]];
  }
  // Each value weakens twice at most.
  std::vector<OpId> worklist;
  std::vector<bool> queued(index.getNumOps(), false);
  auto weaken = [&](ValueId value, Agreement to) {
    if (agreement[value] >= to)
      return;
    agreement[value] = to;
    for (OpId user : index.getUsers(value))
      if (!queued[user] && constants.isReachable(index.getBlockOf(user))) {
        queued[user] = true;
        worklist.push_back(user);
      }
  };
  auto visit = [&](OpId op) {
    BlockId block = index.getBlockOf(op);
    if (op == index.getTerminator(block)) {
      for (unsigned s = 0; s < index.getSuccessors(block).size(); ++s) {
        uint32_t edge = index.getEdge(block, s);
        if (!constants.isExecutableEdge(edge))
          continue;
        ValueId arg = index.getFirstArg(index.getSuccessors(block)[s]);
        for (ValueId value : index.getPassed(edge)) {
          if (value != kNone)
            weaken(arg, agreement[value]);
          ++arg;
        }
      }
    }
    for (uint32_t i = 0, e = index.getNumResults(op); i < e; ++i) {
      ValueId value = index.getFirstResult(op) + i;
      if (!constants.get(value))
        weaken(value, evaluate(op, i));
    }
  };
  for (BlockId block = 0; block < index.getNumBlocks(); ++block) {
    if (!constants.isReachable(block))
      continue;
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op)
      visit(op);
  }
  while (!worklist.empty()) {
    OpId op = worklist.back();
    worklist.pop_back();
    queued[op] = false;
    visit(op);
  }
}
