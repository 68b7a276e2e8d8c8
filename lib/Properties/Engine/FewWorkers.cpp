// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/FewWorkers.h"

#include "Engine/LaunchForks.h"

#include <set>
#include <tuple>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;
using kern::ArithKind;

/// Few threads are at most one in so many.
static constexpr size_t kFewest = 4;
/// Values that the use of a result is followed through; beyond, anybody may
/// use it.
static constexpr size_t kMaxFollowed = 4096;
/// Operands that the number of a block is followed through.
static constexpr unsigned kMaxDepth = 8;

/// Whether `value` is made from the block's number, and from what the launch
/// gives, so that no two blocks of a row have the same.
static bool isBlockNumber(mlir::Value value, unsigned depth = 0) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || depth == kMaxDepth)
    return false;
  if (auto special = llvm::dyn_cast<kern::SpecialOp>(op))
    return special.getReg().starts_with("ctaid") ||
           special.getReg().starts_with("clusterid");
  if (auto arith = llvm::dyn_cast<kern::ArithOp>(op)) {
    switch (arith.getKind()) {
    case ArithKind::Add:
    case ArithKind::Or:
    case ArithKind::Shl:
    case ArithKind::MulLo:
    case ArithKind::MulWide:
    case ArithKind::MadLo:
    case ArithKind::MadWide:
      break;
    default:
      return false;
    }
  } else if (!llvm::isa<kern::ConvertOp>(op)) {
    return false;
  }
  bool isNumber = false;
  for (mlir::Value operand : op->getOperands()) {
    if (isChosenByLaunch(operand))
      continue;
    if (!isBlockNumber(operand, depth + 1))
      return false;
    isNumber = true;
  }
  return isNumber;
}

FewWorkersFinder::FewWorkersFinder(KernelContext &kernel)
    : kernel(kernel), index(kernel.getIndex()), stores(index.getNumOps()) {
  for (const OutputStore &store : kernel.getProvenance().getOutputStores())
    stores.set(store.op);
  findChoices();
}

llvm::BitVector FewWorkersFinder::reachFrom(BlockId start, BlockId stop) const {
  llvm::BitVector seen(index.getNumBlocks());
  llvm::SmallVector<BlockId> work = {start};
  while (!work.empty()) {
    BlockId block = work.pop_back_val();
    // Dominance adds an exit behind the last block.
    if (block == stop || block >= index.getNumBlocks() || seen.test(block))
      continue;
    seen.set(block);
    llvm::append_range(work, kernel.getDominance().getSuccessors(block));
  }
  return seen;
}

void FewWorkersFinder::findChoices() {
  // Without a store there is nothing to make in another way.
  if (stores.none())
    return;
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    auto compare = llvm::dyn_cast<kern::CompareOp>(index.getOp(id));
    if (!compare || compare.getCombine() || compare.getInputs().size() != 2 ||
        (compare.getPredicate() != kern::Compare::Eq &&
         compare.getPredicate() != kern::Compare::Ne))
      continue;
    mlir::Value a = compare.getInputs()[0], b = compare.getInputs()[1];
    if (!(isBlockNumber(a) && isChosenByLaunch(b)) &&
        !(isBlockNumber(b) && isChosenByLaunch(a)))
      continue;
    Choice choice;
    bool isEqual = compare.getPredicate() == kern::Compare::Eq;
    for (uint32_t i = 0; i < index.getNumResults(id); ++i)
      (isEqual == (i == 0) ? choice.few : choice.many)
          .push_back(index.getFirstResult(id) + i);
    bool isBranch = false;
    for (BlockId block = 0; block < index.getNumBlocks(); ++block) {
      auto branch = llvm::dyn_cast<kern::CondBranchOp>(
          index.getOp(index.getTerminator(block)));
      if (!branch)
        continue;
      ValueId condition = index.getId(branch.getCondition());
      bool onFew = llvm::is_contained(choice.few, condition);
      if (!onFew && !llvm::is_contained(choice.many, condition))
        continue;
      Choice here = choice;
      here.branch = block;
      BlockId whenTrue = index.getId(branch.getTrueDest()),
              whenFalse = index.getId(branch.getFalseDest());
      here.fewBlocks = reachFrom(onFew ? whenTrue : whenFalse, block);
      here.manyBlocks = reachFrom(onFew ? whenFalse : whenTrue, block);
      choices.push_back(std::move(here));
      isBranch = true;
    }
    if (!isBranch)
      choices.push_back(std::move(choice));
  }
}

FewWorkersFinder::Side FewWorkersFinder::getSide(const Choice &choice,
                                                 OpId op) const {
  ValueId guard = index.getGuard(op);
  if (guard != kNone) {
    bool isNegated = index.isGuardNegated(op);
    if (llvm::is_contained(choice.few, guard))
      return isNegated ? Side::Many : Side::Few;
    if (llvm::is_contained(choice.many, guard))
      return isNegated ? Side::Few : Side::Many;
  }
  if (choice.branch == kNone)
    return Side::Both;
  BlockId block = index.getBlockOf(op);
  bool few = choice.fewBlocks.test(block), many = choice.manyBlocks.test(block);
  return few == many ? Side::Both : few ? Side::Few : Side::Many;
}

bool FewWorkersFinder::makesOutput(OpId op) const {
  return stores.test(op) || worksOnData(kernel, op);
}

/// The memory that stores among \p ops write; nothing when it is not known.
static std::optional<std::set<RootId>>
getWritten(KernelContext &kernel, llvm::function_ref<bool(OpId)> isAmong) {
  std::set<RootId> roots;
  for (const OutputStore &store : kernel.getProvenance().getOutputStores()) {
    if (!isAmong(store.op))
      continue;
    llvm::ArrayRef<RootId> written =
        kernel.getMemory().getAccesses()[store.access].roots;
    if (written.empty())
      return std::nullopt;
    roots.insert(written.begin(), written.end());
  }
  return roots;
}

/// Whether \p few write nothing that \p many do not write.
static bool areSameOutputs(const std::optional<std::set<RootId>> &few,
                           const std::optional<std::set<RootId>> &many) {
  return few && many && !few->empty() &&
         std::includes(many->begin(), many->end(), few->begin(), few->end());
}

std::optional<FewWorkers>
FewWorkersFinder::findBlock(llvm::ArrayRef<OpId> where) {
  for (const Choice &choice : choices) {
    if (!llvm::all_of(
            where, [&](OpId op) { return getSide(choice, op) == Side::Few; }))
      continue;
    // What the others do and who does this does not.
    llvm::BitVector after(index.getNumBlocks());
    for (OpId op : where)
      after |= reachFrom(index.getBlockOf(op), choice.branch);
    auto isOthers = [&](OpId op) {
      BlockId block = index.getBlockOf(op);
      Side side = getSide(choice, op);
      return side == Side::Many ||
             (side == Side::Both && choice.branch != kNone &&
              choice.manyBlocks.test(block) && !after.test(block));
    };
    OpId other = kNone;
    for (OpId op = 0; op < index.getNumOps() && other == kNone; ++op)
      if (isOthers(op) && makesOutput(op))
        other = op;
    if (other == kNone ||
        !areSameOutputs(
            getWritten(kernel,
                       [&](OpId op) {
                         return !isOthers(op) &&
                                after.test(index.getBlockOf(op));
                       }),
            getWritten(kernel, [&](OpId op) {
              Side side = getSide(choice, op);
              return side == Side::Many ||
                     (side == Side::Both &&
                      (choice.branch == kNone ||
                       choice.manyBlocks.test(index.getBlockOf(op))));
            })))
      continue;
    return FewWorkers{"one block", other};
  }
  return std::nullopt;
}

bool FewWorkersFinder::isShared(OpId op) {
  std::vector<bool> seen(index.getNumValues(), false);
  llvm::SmallVector<ValueId, 16> pending;
  size_t numFollowed = 0;
  auto add = [&](ValueId value) {
    if (value == kNone || seen[value])
      return;
    seen[value] = true;
    pending.push_back(value);
    ++numFollowed;
  };
  auto takes = [&](OpId user) {
    mlir::Operation *operation = index.getOp(user);
    if (llvm::isa<kern::ShuffleOp, kern::VoteOp, kern::MatrixProductOpInterface,
                  kern::BarrierOpInterface, kern::CallOp, kern::CallIndirectOp,
                  kern::OpaqueOp>(operation))
      return true;
    for (const AccessInfo &access : kernel.getMemory().getAccessesOf(user))
      if (access.access.write && (access.access.async || !access.isGlobal()))
        return true;
    return false;
  };
  auto follow = [&](OpId user) {
    for (uint32_t i = 0; i < index.getNumResults(user); ++i)
      add(index.getFirstResult(user) + i);
  };
  if (takes(op))
    return true;
  follow(op);
  while (!pending.empty()) {
    if (numFollowed > kMaxFollowed)
      return true;
    ValueId value = pending.pop_back_val();
    for (OpId user : index.getUsers(value)) {
      if (takes(user))
        return true;
      follow(user);
      if (user != index.getTerminator(index.getBlockOf(user)))
        continue;
      BlockId block = index.getBlockOf(user);
      for (auto [i, next] : llvm::enumerate(index.getSuccessors(block)))
        for (auto [n, passed] :
             llvm::enumerate(index.getPassed(index.getEdge(block, i))))
          if (passed == value)
            add(index.getFirstArg(next) + n);
    }
  }
  return false;
}

llvm::ArrayRef<FewWorkersFinder::Group> FewWorkersFinder::getGroups() {
  if (grouped)
    return groups;
  grouped = true;
  std::set<std::tuple<BlockId, ValueId, bool>> seen;
  for (OpId op = 0; op < index.getNumOps(); ++op)
    if (kernel.getConstants().mayRun(op) && makesOutput(op) &&
        seen.insert({index.getBlockOf(op), index.getGuard(op),
                     index.getGuard(op) != kNone && index.isGuardNegated(op)})
            .second)
      groups.push_back({op, kernel.getLaneForms().getActive(op)});
  return groups;
}

std::optional<FewWorkers>
FewWorkersFinder::findThreads(llvm::ArrayRef<OpId> where) {
  LaneForms &forms = kernel.getLaneForms();
  // Most work is everybody's, and one place of it is enough.
  if (llvm::any_of(where, [&](OpId op) {
        return forms.countActive(op) * kFewest > forms.getNumThreads();
      }))
    return std::nullopt;
  std::vector<bool> few;
  for (OpId op : where) {
    std::vector<bool> active = forms.getActive(op);
    few.resize(active.size(), false);
    for (size_t t = 0; t < active.size(); ++t)
      few[t] = few[t] || active[t];
    if (size_t(llvm::count(few, true)) * kFewest > few.size())
      return std::nullopt;
  }
  size_t numFew = llvm::count(few, true);
  // Of a block whose size is not known, one warp may be all.
  if (numFew == 0 || (numFew > 1 && !forms.getShape().known) || stores.none() ||
      llvm::any_of(where, [&](OpId op) { return isShared(op); }))
    return std::nullopt;
  auto runs = [&](const std::vector<bool> &active, bool isFew) {
    for (size_t t = 0; t < std::min(few.size(), active.size()); ++t)
      if (active[t] && few[t] == isFew)
        return true;
    return false;
  };
  const Group *other = llvm::find_if(getGroups(), [&](const Group &group) {
    return runs(group.active, false) && !runs(group.active, true);
  });
  if (other == getGroups().end() ||
      !areSameOutputs(
          getWritten(kernel,
                     [&](OpId op) { return runs(forms.getActive(op), true); }),
          getWritten(kernel, [&](OpId op) {
            return runs(forms.getActive(op), false);
          })))
    return std::nullopt;
  return FewWorkers{std::to_string(numFew) + " of " +
                        std::to_string(few.size()) + " threads",
                    other->work};
}

std::optional<FewWorkers> FewWorkersFinder::find(llvm::ArrayRef<OpId> where) {
  if (std::optional<FewWorkers> block = findBlock(where))
    return block;
  return findThreads(where);
}
