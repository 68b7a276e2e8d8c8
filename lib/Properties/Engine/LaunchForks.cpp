// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/LaunchForks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// isChosenByLaunch for an operand at \p depth.
static bool isChosen(mlir::Value value, unsigned depth) {
  constexpr unsigned kMaxDepth = 8;
  mlir::Operation *op = value.getDefiningOp();
  if (!op || depth == kMaxDepth)
    return false;
  if (llvm::isa<kern::ConstantOp>(op))
    return true;
  if (auto load = llvm::dyn_cast<kern::LoadOp>(op))
    return load.getSpace() == kern::Space::Param;
  if (auto special = llvm::dyn_cast<kern::SpecialOp>(op))
    return special.getReg().starts_with("ntid") ||
           special.getReg().starts_with("nctaid");
  if (!llvm::isa<kern::ArithOp, kern::CompareOp, kern::ConvertOp,
                 kern::SelectOp, kern::PackOp, kern::UnpackOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
    return isChosen(operand, depth + 1);
  });
}

bool properties::isChosenByLaunch(mlir::Value value) {
  return isChosen(value, 0);
}

/// Blocks that `start` leads to without passing `fork`.
static llvm::BitVector reachFrom(const Dominance &dominance, BlockId start,
                                 BlockId fork, size_t numBlocks) {
  llvm::BitVector seen(numBlocks);
  llvm::SmallVector<BlockId> work = {start};
  while (!work.empty()) {
    BlockId block = work.pop_back_val();
    // Dominance adds an exit behind the last block.
    if (block == fork || block >= numBlocks || seen.test(block))
      continue;
    seen.set(block);
    for (BlockId next : dominance.getSuccessors(block))
      work.push_back(next);
  }
  return seen;
}

bool properties::worksOnData(KernelContext &kernel, OpId id) {
  const KernelIndex &index = kernel.getIndex();
  mlir::Operation *op = index.getOp(id);
  if (llvm::isa<kern::MatrixProductOpInterface>(op))
    return true;
  const Provenance &provenance = kernel.getProvenance();
  bool computes = llvm::isa<kern::ArithOp, kern::MathOp>(op);
  bool data = false;
  for (uint32_t i = 0; i < index.getNumResults(id); ++i) {
    ValueId result = index.getFirstResult(id) + i;
    // What only steers, an index or a flag, is no data.
    if (provenance.getReach(result) == Reach::Control)
      return false;
    data |=
        provenance.isUnknown(result) || !provenance.getTerms(result).empty();
  }
  if (computes)
    return data;
  for (const AccessInfo &access : kernel.getMemory().getAccessesOf(id))
    if (access.isGlobal() && access.access.read)
      return true;
  return false;
}

/// Whether `condition` asks if a loop of products among `blocks` runs at all:
/// it compares with 0 or 1 what the loop's end depends on.
static bool isZeroTripGuard(KernelContext &kernel, mlir::Value condition,
                            const llvm::BitVector &blocks) {
  const KernelIndex &index = kernel.getIndex();
  const LoopNest &loops = kernel.getLoops();
  auto guard = condition.getDefiningOp<kern::CompareOp>();
  if (!guard || guard.getCombine() || kern::isFloat(guard.getType()) ||
      guard.getInputs().size() != 2)
    return false;
  ValueId bound = kNone;
  for (unsigned i : {0u, 1u})
    if (kernel.getConstants()
            .get(index.getId(guard.getInputs()[i]))
            .value_or(2) <= 1)
      bound = index.getId(guard.getInputs()[1 - i]);
  if (bound == kNone)
    return false;
  for (OpId product : kernel.getMainRegion().getProducts()) {
    if (!blocks.test(index.getBlockOf(product)))
      continue;
    uint32_t loop = loops.getInnermostWorking(index.getBlockOf(product));
    if (loop == kNone)
      continue;
    // What the loop's end depends on.
    std::vector<bool> seen(index.getNumValues(), false);
    llvm::SmallVector<ValueId, 8> work;
    for (BlockId block : loops.getLoop(loop).blocks) {
      auto branch = llvm::dyn_cast<kern::CondBranchOp>(
          index.getOp(index.getTerminator(block)));
      bool leaves = llvm::any_of(
          kernel.getDominance().getSuccessors(block),
          [&](BlockId next) { return !loops.contains(loop, next); });
      if (branch && leaves)
        work.push_back(index.getId(branch.getCondition()));
    }
    while (!work.empty()) {
      ValueId value = work.pop_back_val();
      if (value == kNone || seen[value])
        continue;
      if (value == bound)
        return true;
      seen[value] = true;
      OpId def = index.getDef(value);
      if (def != kNone)
        llvm::append_range(work, index.getOperands(def));
      else
        for (const KernelIndex::Incoming &in : index.getIncoming(value))
          work.push_back(in.value);
    }
  }
  return false;
}

/// What is true when `condition` is, and when it is not.
static std::array<llvm::SmallVector<ValueId, 2>, 2>
getPredicates(const KernelIndex &index, ValueId condition) {
  std::array<llvm::SmallVector<ValueId, 2>, 2> result;
  result[0].push_back(condition);
  OpId def = index.getDef(condition);
  // The second result of a comparison is the opposite of the first.
  if (def == kNone || !llvm::isa<kern::CompareOp>(index.getOp(def)) ||
      index.getNumResults(def) != 2)
    return result;
  auto compare = llvm::cast<kern::CompareOp>(index.getOp(def));
  if (!compare.getCombine() && index.getGuard(def) == kNone)
    result[1].push_back(index.getFirstResult(def) +
                        (condition == index.getFirstResult(def) ? 1 : 0));
  return result;
}

namespace {
/// Operations by what guards them or chooses between what they are made from.
struct GuardedOps {
  llvm::SmallVector<OpId, 8> guarded;
  bool chooses = false;
};

class ForkFinder {
public:
  explicit ForkFinder(KernelContext &kernel)
      : kernel(kernel), index(kernel.getIndex()) {}

  LaunchForks find();

private:
  void findConditions();
  void findWork();
  void add(LaunchFork fork, mlir::Value condition);
  bool isChosen(ValueId condition) {
    auto [it, isNew] = chosen.try_emplace(condition, false);
    if (isNew)
      it->second = !kernel.getConstants().get(condition) &&
                   isChosenByLaunch(index.getValue(condition));
    return it->second;
  }

  KernelContext &kernel;
  const KernelIndex &index;
  llvm::DenseMap<ValueId, bool> chosen;
  /// By condition, in the order in which they are first used.
  llvm::MapVector<ValueId, GuardedOps> conditions;
  /// By block, an operation that works on data, whatever guards it.
  std::vector<OpId> workOf;
  LaunchForks result;
};
} // namespace

void ForkFinder::findConditions() {
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    if (ValueId guard = index.getGuard(id); guard != kNone && isChosen(guard))
      conditions[guard].guarded.push_back(id);
    if (llvm::isa<kern::SelectOp>(index.getOp(id)))
      if (ValueId condition = index.getOperands(id)[0]; isChosen(condition))
        conditions[condition].chooses = true;
  }
}

void ForkFinder::findWork() {
  workOf.assign(index.getNumBlocks(), kNone);
  for (OpId id = 0; id < index.getNumOps(); ++id)
    if (OpId &work = workOf[index.getBlockOf(id)];
        work == kNone && worksOnData(kernel, id))
      work = id;
}

/// Finishes a fork of which the blocks are known.
void ForkFinder::add(LaunchFork fork, mlir::Value condition) {
  auto predicates = getPredicates(index, index.getId(condition));
  for (unsigned side : {0u, 1u}) {
    LaunchFork::Side &here = fork.sides[side];
    here.predicates = predicates[side];
    for (unsigned inside : here.blocks.set_bits())
      if (workOf[inside] != kNone) {
        here.work = workOf[inside];
        break;
      }
  }
  for (unsigned side : {0u, 1u})
    for (ValueId predicate : predicates[side])
      if (auto it = conditions.find(predicate); it != conditions.end()) {
        fork.chooses |= it->second.chooses;
        for (OpId id : it->second.guarded) {
          LaunchFork::Side &runs =
              fork.sides[index.isGuardNegated(id) ? 1 - side : side];
          if (runs.work == kNone && worksOnData(kernel, id))
            runs.work = id;
        }
      }
  result.forks.push_back(std::move(fork));
}

LaunchForks ForkFinder::find() {
  const Dominance &dominance = kernel.getDominance();
  unsigned numBranches = 0;
  findConditions();
  llvm::DenseSet<ValueId> branched;
  for (BlockId block : dominance.getOrder()) {
    auto branch = llvm::dyn_cast<kern::CondBranchOp>(
        index.getOp(index.getTerminator(block)));
    llvm::ArrayRef<uint32_t> next = dominance.getSuccessors(block);
    if (!branch || next.size() != 2 || next[0] == next[1] ||
        !isChosen(index.getId(branch.getCondition())))
      continue;
    if (numBranches++ == LaunchForks::kMaxBranches) {
      result.ignored = index.getTerminator(block);
      break;
    }
    if (workOf.empty())
      findWork();
    LaunchFork fork;
    std::array<llvm::BitVector, 2> reached;
    bool isSwapped = next[0] != index.getId(branch.getTrueDest());
    for (unsigned side : {0u, 1u})
      reached[side] = reachFrom(dominance, next[isSwapped ? 1 - side : side],
                                block, index.getNumBlocks());
    for (unsigned side : {0u, 1u}) {
      fork.sides[side].blocks = reached[side];
      fork.sides[side].blocks.reset(reached[1 - side]);
    }
    for (const auto &side :
         getPredicates(index, index.getId(branch.getCondition())))
      branched.insert(side.begin(), side.end());
    add(std::move(fork), branch.getCondition());
  }
  for (const auto &[condition, ops] : conditions) {
    if (branched.contains(condition))
      continue;
    if (workOf.empty())
      findWork();
    LaunchFork fork;
    for (LaunchFork::Side &side : fork.sides)
      side.blocks.resize(index.getNumBlocks());
    for (const auto &side : getPredicates(index, condition))
      branched.insert(side.begin(), side.end());
    add(std::move(fork), index.getValue(condition));
  }
  // A side for problems whose sums are empty is no other way to make them:
  // what the products' side does holds. What that side alone does does not.
  for (LaunchFork &fork : result.forks) {
    if (!fork.bothWork())
      continue;
    for (unsigned side : {0u, 1u}) {
      bool other =
          llvm::any_of(kernel.getMainRegion().getProducts(), [&](OpId product) {
            return fork.sides[1 - side].blocks.test(index.getBlockOf(product));
          });
      if (!other && fork.sides[side].blocks.any() &&
          isZeroTripGuard(kernel,
                          index.getValue(fork.sides[0].predicates.front()),
                          fork.sides[side].blocks)) {
        fork.sides[side].blocks.reset();
        break;
      }
    }
  }
  return std::move(result);
}

LaunchForks properties::findLaunchForks(KernelContext &kernel) {
  return ForkFinder(kernel).find();
}

//===----------------------------------------------------------------------===//
// What stands on a side
//===----------------------------------------------------------------------===//

/// Results that are followed to the choice that takes them.
static constexpr unsigned kMaxChosenDepth = 4;

/// isOnSide for an operation whose results were followed \p depth times.
static bool isOn(KernelContext &kernel, const LaunchFork &fork, unsigned side,
                 OpId op, unsigned depth) {
  const KernelIndex &index = kernel.getIndex();
  auto isTrueOn = [&](unsigned which, ValueId value) {
    return llvm::is_contained(fork.sides[which].predicates, value);
  };
  if (fork.sides[side].blocks.test(index.getBlockOf(op)))
    return true;
  if (ValueId guard = index.getGuard(op); guard != kNone) {
    bool negated = index.isGuardNegated(op);
    if (isTrueOn(negated ? 1 - side : side, guard))
      return true;
  }
  if (index.getNumResults(op) == 0 || depth == kMaxChosenDepth)
    return false;
  bool isUsed = false;
  for (uint32_t i = 0; i < index.getNumResults(op); ++i) {
    ValueId result = index.getFirstResult(op) + i;
    for (OpId user : index.getUsers(result)) {
      isUsed = true;
      llvm::ArrayRef<ValueId> in = index.getOperands(user);
      if (llvm::isa<kern::SelectOp>(index.getOp(user)) && in[0] != result) {
        // Taken when the condition is true, or when it is false.
        bool taken = (in[1] != result || isTrueOn(side, in[0])) &&
                     (in[2] != result || isTrueOn(1 - side, in[0]));
        if (taken)
          continue;
      }
      if (user == index.getTerminator(index.getBlockOf(user)) ||
          !isOn(kernel, fork, side, user, depth + 1))
        return false;
    }
  }
  return isUsed;
}

bool properties::runsOnSide(KernelContext &kernel, const LaunchFork &fork,
                            unsigned side, OpId op) {
  return isOn(kernel, fork, side, op, kMaxChosenDepth);
}

bool properties::isOnSide(KernelContext &kernel, const LaunchFork &fork,
                          unsigned side, OpId op) {
  return isOn(kernel, fork, side, op, fork.chooses ? 0 : kMaxChosenDepth);
}

/// Values that the use of a result is followed through; beyond, anything may
/// be made from it.
static constexpr size_t kMaxFollowed = 4096;

/// The stores of outputs that `where` goes into: through registers, or all
/// that run afterwards when it goes through memory.
static llvm::SmallVector<uint32_t, 4> getStoresOf(KernelContext &kernel,
                                                  llvm::ArrayRef<OpId> where) {
  const KernelIndex &index = kernel.getIndex();
  llvm::ArrayRef<OutputStore> outputs =
      kernel.getProvenance().getOutputStores();
  llvm::DenseMap<OpId, uint32_t> storeOf;
  for (uint32_t i = 0; i < outputs.size(); ++i)
    storeOf.try_emplace(outputs[i].op, i);
  llvm::SmallSetVector<uint32_t, 4> found;
  llvm::DenseSet<ValueId> seen;
  llvm::SmallVector<ValueId, 16> pending;
  bool isThroughMemory = false;
  auto visit = [&](OpId op) {
    if (auto it = storeOf.find(op); it != storeOf.end()) {
      found.insert(it->second);
      return;
    }
    for (const AccessInfo &access : kernel.getMemory().getAccessesOf(op))
      isThroughMemory |= access.access.write;
    isThroughMemory |=
        index.getNumResults(op) == 0 &&
        !index.getOp(op)->hasTrait<mlir::OpTrait::IsTerminator>();
    for (uint32_t i = 0; i < index.getNumResults(op); ++i)
      if (seen.insert(index.getFirstResult(op) + i).second)
        pending.push_back(index.getFirstResult(op) + i);
  };
  llvm::for_each(where, visit);
  while (!pending.empty() && !isThroughMemory) {
    isThroughMemory = seen.size() > kMaxFollowed;
    ValueId value = pending.pop_back_val();
    for (OpId user : index.getUsers(value)) {
      visit(user);
      BlockId block = index.getBlockOf(user);
      if (user != index.getTerminator(block))
        continue;
      for (auto [i, next] : llvm::enumerate(index.getSuccessors(block)))
        for (auto [n, passed] :
             llvm::enumerate(index.getPassed(index.getEdge(block, i))))
          if (passed == value &&
              seen.insert(index.getFirstArg(next) + n).second)
            pending.push_back(index.getFirstArg(next) + n);
    }
  }
  if (isThroughMemory) {
    BlockId first = index.getBlockOf(where.front());
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      BlockId block = index.getBlockOf(outputs[i].op);
      if (block == first ? outputs[i].op >= where.front()
                         : kernel.getDominance().reaches(first, block))
        found.insert(i);
    }
  }
  return found.takeVector();
}

/// Whether `condition` may ask if a loop around `op` runs at all, or how much
/// of it an unrolled copy does: it tells whether a number is large, or 0 or 1.
static bool isTripGuard(KernelContext &kernel, mlir::Value condition, OpId op) {
  const KernelIndex &index = kernel.getIndex();
  auto guard = condition.getDefiningOp<kern::CompareOp>();
  if (!guard || guard.getCombine() || kern::isFloat(guard.getType()) ||
      guard.getInputs().size() != 2 ||
      kernel.getLoops().getInnermostWorking(index.getBlockOf(op)) == kNone)
    return false;
  bool isEquality = guard.getPredicate() == kern::Compare::Eq ||
                    guard.getPredicate() == kern::Compare::Ne;
  return !isEquality || llvm::any_of(guard.getInputs(), [&](mlir::Value value) {
    return kernel.getConstants().get(index.getId(value)).value_or(2) <= 1;
  });
}

/// Whether what `store` writes holds input data when side number `side` of
/// `fork` does not run.
static bool writesDataWithout(KernelContext &kernel, const LaunchFork &fork,
                              unsigned side, const OutputStore &store) {
  const KernelIndex &index = kernel.getIndex();
  const Provenance &provenance = kernel.getProvenance();
  auto runs = [&](OpId op) {
    const llvm::BitVector &blocks = fork.sides[side].blocks;
    return !blocks.test(index.getBlockOf(op));
  };
  auto isTrue = [&](unsigned which, ValueId value) {
    return llvm::is_contained(fork.sides[which].predicates, value);
  };
  llvm::DenseSet<ValueId> seen;
  llvm::SmallVector<ValueId, 16> work;
  auto plain = llvm::dyn_cast<kern::StoreOp>(index.getOp(store.op));
  if (!plain)
    return !store.terms.empty();
  for (mlir::Value value : plain.getValues())
    work.push_back(index.getId(value));
  while (!work.empty() && seen.size() < kMaxFollowed) {
    ValueId value = work.pop_back_val();
    if (value == kNone || provenance.getTerms(value).empty() ||
        !seen.insert(value).second)
      continue;
    OpId def = index.getDef(value);
    if (def == kNone) {
      for (const KernelIndex::Incoming &in : index.getIncoming(value)) {
        OpId end = index.getTerminator(in.from);
        if (!runs(end))
          continue;
        // An edge of the fork itself that leads to the side.
        auto branch = llvm::dyn_cast<kern::CondBranchOp>(index.getOp(end));
        if (branch && index.getSuccessors(in.from).size() == 2) {
          ValueId condition = index.getId(branch.getCondition());
          unsigned edge = in.edge - index.getEdge(in.from, 0);
          if (isTrue(edge == 0 ? side : 1 - side, condition))
            continue;
        }
        work.push_back(in.value);
      }
      continue;
    }
    mlir::Operation *op = index.getOp(def);
    llvm::ArrayRef<ValueId> in = index.getOperands(def);
    uint32_t result = value - index.getFirstResult(def);
    if (ValueId guard = index.getGuard(def);
        guard != kNone &&
        isTrue(index.isGuardNegated(def) ? 1 - side : side, guard)) {
      work.push_back(in[in.size() - index.getNumResults(def) + result]);
      continue;
    }
    if (llvm::isa<kern::SelectOp>(op)) {
      if (!isTrue(side, in[0]))
        work.push_back(in[1]);
      if (!isTrue(1 - side, in[0]))
        work.push_back(in[2]);
      continue;
    }
    if (llvm::isa<kern::LoadOp>(op))
      return true;
    llvm::append_range(work, in);
  }
  return false;
}

OpId properties::findStoreWithout(KernelContext &kernel, const LaunchFork &fork,
                                  unsigned side, llvm::ArrayRef<OpId> where) {
  const KernelIndex &index = kernel.getIndex();
  mlir::Value condition = index.getValue(fork.sides[0].predicates.front());
  if (llvm::any_of(where,
                   [&](OpId op) { return isTripGuard(kernel, condition, op); }))
    return kNone;
  const MemoryRoots &memory = kernel.getMemory();
  llvm::ArrayRef<OutputStore> outputs =
      kernel.getProvenance().getOutputStores();
  llvm::DenseSet<RootId> claimed;
  for (uint32_t store : getStoresOf(kernel, where)) {
    llvm::ArrayRef<RootId> roots =
        memory.getAccesses()[outputs[store].access].roots;
    if (roots.empty())
      return kNone;
    claimed.insert(roots.begin(), roots.end());
  }
  OpId without = kNone;
  llvm::DenseSet<RootId> written;
  for (const OutputStore &store : outputs) {
    if (runsOnSide(kernel, fork, side, store.op) ||
        !writesDataWithout(kernel, fork, side, store))
      continue;
    llvm::ArrayRef<RootId> roots = memory.getAccesses()[store.access].roots;
    if (roots.empty())
      return kNone;
    for (RootId root : roots)
      if (claimed.contains(root)) {
        without = without == kNone ? store.op : without;
        written.insert(root);
      }
  }
  return written.size() == claimed.size() ? without : kNone;
}
