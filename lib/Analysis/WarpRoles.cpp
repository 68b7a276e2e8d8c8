// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads by block of code first, in one pass of unions to a fixpoint; then
// duties, roles and hand-overs.

#include "d2k/Analysis/WarpRoles.h"

#include "ConstantFolding.h"
#include "Neighbours.h"

#include "llvm/ADT/DenseSet.h"

#include <map>
#include <set>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

llvm::StringRef analysis::getDutyName(Duty duty) {
  static constexpr llvm::StringRef names[] = {"compute", "copy", "matrix",
                                              "store"};
  return names[unsigned(duty)];
}

WarpRoles::WarpRoles(const KernelIndex &index, const ConstantValues &constants,
                     const Dominance &dominance, const LoopNest &loops,
                     const MemoryRoots &memory, const Provenance &provenance,
                     const MainRegion &region, LaneForms &forms,
                     const SharedObjects &objects)
    : index(index), constants(constants), dominance(dominance), loops(loops),
      memory(memory), provenance(provenance), region(region.getWork()),
      forms(forms), objects(objects), numThreads(forms.getNumThreads()),
      numWarps(std::max(1u, numThreads / 32)) {
  findThreads();
  known = this->region.getKind() != MainRegion::Kind::Unknown;
  if (!known)
    return;
  findRoles();
  nameRoles();
  findHandOvers();
}

//===----------------------------------------------------------------------===//
// Which threads run what
//===----------------------------------------------------------------------===//

WarpRoles::Outcome WarpRoles::evaluateCompare(kern::CompareOp compare,
                                              OpId op) {
  Outcome both{llvm::BitVector(numThreads, true),
               llvm::BitVector(numThreads, true)};
  llvm::ArrayRef<ValueId> in = index.getOperands(op);
  if (in.size() < 2 || kern::isFloat(compare.getType()))
    return both;
  LaneForm a = forms.get(in[0]), b = forms.get(in[1]);
  if (!a.isNumber() || !b.isNumber())
    return both;
  unsigned width = getWidth(index.getValue(in[0]).getType());
  auto holdsFor = [&](unsigned thread) {
    return foldCompare(compare, mask(a.rest[thread], width),
                       mask(b.rest[thread], width));
  };
  if (numThreads != 0 && a.rest.isSame() && b.rest.isSame()) {
    std::optional<bool> holds = holdsFor(0);
    return holds ? Outcome{llvm::BitVector(numThreads, *holds),
                           llvm::BitVector(numThreads, !*holds)}
                 : both;
  }
  Outcome result{llvm::BitVector(numThreads), llvm::BitVector(numThreads)};
  for (unsigned thread = 0; thread < numThreads; ++thread) {
    std::optional<bool> holds = holdsFor(thread);
    if (!holds)
      return both;
    (*holds ? result.on : result.off).set(thread);
  }
  return result;
}

WarpRoles::Outcome WarpRoles::evaluate(ValueId condition) {
  Outcome both{llvm::BitVector(numThreads, true),
               llvm::BitVector(numThreads, true)};
  if (std::optional<uint64_t> bits = constants.get(condition))
    return {llvm::BitVector(numThreads, *bits & 1),
            llvm::BitVector(numThreads, !(*bits & 1))};
  OpId op = index.getDef(condition);
  if (op == kNone || index.getGuard(op) != kNone)
    return both;
  llvm::ArrayRef<ValueId> in = index.getOperands(op);
  auto combine = [](kern::BoolOp how, Outcome a, Outcome b) {
    Outcome result;
    switch (how) {
    case kern::BoolOp::And:
      result = {a.on, a.off};
      result.on &= b.on;
      result.off |= b.off;
      break;
    case kern::BoolOp::Or:
      result = {a.on, a.off};
      result.on |= b.on;
      result.off &= b.off;
      break;
    case kern::BoolOp::Xor: {
      llvm::BitVector one = a.on, other = a.off;
      one &= b.off;
      other &= b.on;
      result.on = one;
      result.on |= other;
      one = a.on;
      one &= b.on;
      other = a.off;
      other &= b.off;
      result.off = one;
      result.off |= other;
      break;
    }
    }
    return result;
  };
  if (auto compare = dyn_cast<kern::CompareOp>(index.getOp(op))) {
    Outcome result = evaluateCompare(compare, op);
    if (condition != index.getFirstResult(op))
      std::swap(result.on, result.off);
    if (std::optional<kern::BoolOp> how = compare.getCombine();
        how && in.size() > 2) {
      Outcome with = getOutcome(in[2]);
      if (compare.getCombineNegated())
        std::swap(with.on, with.off);
      result = combine(*how, result, with);
    }
    return result;
  }
  auto arith = dyn_cast<kern::ArithOp>(index.getOp(op));
  if (!arith || getWidth(index.getValue(condition).getType()) != 1)
    return both;
  switch (arith.getKind()) {
  case ArithKind::Not: {
    Outcome result = getOutcome(in[0]);
    std::swap(result.on, result.off);
    return result;
  }
  case ArithKind::And:
    return combine(kern::BoolOp::And, getOutcome(in[0]), getOutcome(in[1]));
  case ArithKind::Or:
    return combine(kern::BoolOp::Or, getOutcome(in[0]), getOutcome(in[1]));
  case ArithKind::Xor:
    return combine(kern::BoolOp::Xor, getOutcome(in[0]), getOutcome(in[1]));
  default:
    return both;
  }
}

WarpRoles::Outcome WarpRoles::getOutcome(ValueId condition) {
  if (auto found = outcomes.find(condition); found != outcomes.end())
    return found->second;
  // Predicates in SSA form do not depend on themselves but through a loop,
  // which is a block argument and not followed.
  Outcome result = evaluate(condition);
  outcomes.insert({condition, result});
  return result;
}

bool WarpRoles::partsLanes(ValueId condition) {
  Outcome outcome = getOutcome(condition);
  for (unsigned warp = 0; warp < numWarps; ++warp) {
    bool on = false, off = false;
    for (unsigned thread = 32 * warp; thread < 32 * (warp + 1); ++thread) {
      on |= outcome.on.test(thread);
      off |= outcome.off.test(thread);
    }
    if (on && off)
      return true;
  }
  return false;
}

WarpSet WarpRoles::toWarps(const llvm::BitVector &set) const {
  WarpSet result = 0;
  for (auto [i, word] : llvm::enumerate(set.getData()))
    for (unsigned half : {0u, 1u})
      if (uint32_t(word >> (32 * half)) != 0)
        result |= WarpSet(1) << std::min<size_t>(31, 2 * i + half);
  return result;
}

void WarpRoles::findThreads() {
  llvm::BitVector none(numThreads), all(numThreads, true);
  threads.assign(index.getNumBlocks(), none);
  warps.assign(index.getNumOps(), 0);
  if (index.getNumBlocks() == 0)
    return;
  threads[0] = all;
  bool changed = true;
  while (changed) {
    changed = false;
    for (BlockId block : dominance.getOrder()) {
      if (threads[block].none())
        continue;
      OpId end = index.getTerminator(block);
      llvm::ArrayRef<BlockId> next = index.getSuccessors(block);
      for (unsigned side = 0; side < next.size(); ++side) {
        if (!constants.isExecutableEdge(index.getEdge(block, side)))
          continue;
        llvm::BitVector through = threads[block];
        if (auto branch = dyn_cast<kern::CondBranchOp>(index.getOp(end))) {
          Outcome outcome = getOutcome(index.getId(branch.getCondition()));
          through &= side == 0 ? outcome.on : outcome.off;
        }
        // Threads that are not there yet.
        through.reset(threads[next[side]]);
        if (through.none())
          continue;
        threads[next[side]] |= through;
        changed = true;
      }
    }
  }
  for (BlockId block : dominance.getOrder()) {
    WarpSet here = toWarps(threads[block]);
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op) {
      if (!constants.mayRun(op))
        continue;
      ValueId guard = index.getGuard(op);
      if (guard == kNone || here == 0) {
        warps[op] = here;
        continue;
      }
      Outcome outcome = getOutcome(guard);
      llvm::BitVector run = threads[block];
      run &= index.isGuardNegated(op) ? outcome.off : outcome.on;
      warps[op] = toWarps(run);
    }
  }
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void WarpRoles::findRoles() {
  llvm::DenseSet<OpId> products(region.getProducts().begin(),
                                region.getProducts().end());
  llvm::DenseSet<OpId> outputs;
  for (const OutputStore &store : provenance.getOutputStores())
    if (!store.terms.empty())
      outputs.insert(store.op);
  auto isShared = [](kern::Space space) {
    return space == kern::Space::Shared || space == kern::Space::SharedCluster;
  };
  auto getDuty = [&](OpId op) -> std::optional<Duty> {
    Operation *operation = index.getOp(op);
    if (products.contains(op))
      return isa<kern::MatrixProductOpInterface>(operation) ? Duty::Matrix
                                                            : Duty::Compute;
    if (outputs.contains(op))
      return Duty::Store;
    if (isa<kern::AsyncCopyOp>(operation))
      return Duty::Copy;
    if (auto copy = dyn_cast<kern::BulkCopyOp>(operation)) {
      bool loads = copy.getKind() == kern::BulkKind::Copy &&
                   copy.getSrcSpace() == kern::Space::Global;
      return loads ? std::optional<Duty>(Duty::Copy) : std::nullopt;
    }
    if (auto store = dyn_cast<kern::StoreOp>(operation)) {
      if (!isShared(store.getSpace()))
        return std::nullopt;
      Terms terms;
      for (Value value : store.getValues())
        terms = terms | provenance.getTerms(index.getId(value));
      return terms.isPlain() ? std::optional<Duty>(Duty::Copy) : std::nullopt;
    }
    bool computes = isa<kern::MathOp>(operation);
    if (auto arith = dyn_cast<kern::ArithOp>(operation))
      computes = kern::isFloat(arith.getType());
    if (computes && index.getNumResults(op) != 0) {
      ValueId result = index.getFirstResult(op);
      if (!provenance.getTerms(result).empty() &&
          provenance.getReach(result) == Reach::Must)
        return Duty::Compute;
    }
    return std::nullopt;
  };
  // By warp, the main loops in which it has duties.
  std::vector<llvm::SmallVector<uint32_t, 4>> signature(numWarps);
  bool body = region.getKind() == MainRegion::Kind::Body;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (warps[op] == 0)
      continue;
    std::optional<Duty> duty = getDuty(op);
    if (!duty)
      continue;
    duties.push_back({op, *duty});
    uint32_t key = kNone;
    if (body) {
      if (*duty == Duty::Copy || *duty == Duty::Matrix)
        key = index.getBlockOf(op);
    } else {
      // The outermost main loop around it.
      for (uint32_t loop = loops.getInnermost(index.getBlockOf(op));
           loop != kNone; loop = loops.getLoop(loop).parent)
        if (region.isMainLoop(loop))
          key = loop;
    }
    if (key == kNone)
      continue;
    for (unsigned warp = 0; warp < numWarps; ++warp)
      if (warps[op] >> warp & 1 && !llvm::is_contained(signature[warp], key))
        signature[warp].push_back(key);
  }
  std::map<std::vector<uint32_t>, uint32_t> roleOf;
  for (unsigned warp = 0; warp < numWarps; ++warp) {
    llvm::sort(signature[warp]);
    std::vector<uint32_t> key(signature[warp].begin(), signature[warp].end());
    auto [it, isNew] = roleOf.try_emplace(key, roles.size());
    if (isNew) {
      WarpRole role;
      if (!body)
        role.loops.assign(key.begin(), key.end());
      roles.push_back(std::move(role));
    }
    roles[it->second].warps |= WarpSet(1) << warp;
  }
}

void WarpRoles::nameRoles() {
  // By object, the warps of each operation that reads it. The TMA unit takes
  // results out, no other role.
  llvm::DenseMap<const uint32_t *, llvm::SmallVector<WarpSet, 4>> readersOf;
  auto getReaders = [&](llvm::ArrayRef<uint32_t> list) {
    auto [it, isNew] = readersOf.try_emplace(list.data());
    if (!isNew)
      return llvm::ArrayRef<WarpSet>(it->second);
    for (uint32_t access : list) {
      const AccessInfo &reader = memory.getAccesses()[access];
      if (reader.access.read && warps[reader.op] != 0 &&
          !isa<kern::BulkCopyOp>(index.getOp(reader.op)) &&
          !llvm::is_contained(it->second, warps[reader.op]))
        it->second.push_back(warps[reader.op]);
    }
    return llvm::ArrayRef<WarpSet>(it->second);
  };
  // Values that go through registers to shared or tensor memory which warps
  // outside of the role read.
  auto findHandedOver = [&](const WarpRole &role) {
    llvm::BitVector handed(index.getNumValues());
    std::vector<ValueId> pending;
    auto add = [&](OpId op) {
      for (ValueId operand : index.getOperands(op))
        if (!handed.test(operand)) {
          handed.set(operand);
          pending.push_back(operand);
        }
    };
    for (auto [i, info] : llvm::enumerate(memory.getAccesses())) {
      if (!info.access.write || info.access.barrier || info.isGlobal())
        continue;
      for (llvm::ArrayRef<uint32_t> list :
           getNeighbourLists(memory, objects, i))
        if (llvm::any_of(getReaders(list), [&](WarpSet reader) {
              return (reader & role.warps) == 0;
            }))
          add(info.op);
    }
    while (!pending.empty()) {
      ValueId value = pending.back();
      pending.pop_back();
      if (OpId def = index.getDef(value); def != kNone)
        add(def);
    }
    return handed;
  };
  llvm::DenseSet<OpId> products(region.getProducts().begin(),
                                region.getProducts().end());
  for (WarpRole &role : roles) {
    bool has[4] = {}, multiplies = false;
    for (auto [op, duty] : duties) {
      if (warps[op] & ~role.warps)
        continue;
      role.work.push_back(op);
      has[unsigned(duty)] = true;
      multiplies |= duty == Duty::Compute && products.contains(op);
    }
    auto feeds = [&] {
      llvm::BitVector handed = findHandedOver(role);
      return llvm::any_of(duties, [&](const auto &entry) {
        auto [op, duty] = entry;
        if (duty != Duty::Compute || (warps[op] & ~role.warps))
          return false;
        for (uint32_t i = 0; i < index.getNumResults(op); ++i)
          if (handed.test(index.getFirstResult(op) + i))
            return true;
        return false;
      });
    };
    role.duty = has[unsigned(Duty::Matrix)] ? Duty::Matrix
                : has[unsigned(Duty::Copy)] ? Duty::Copy
                : !has[unsigned(Duty::Store)] || multiplies || feeds()
                    ? Duty::Compute
                    : Duty::Store;
  }
  // Warps that have nothing of their own to do have no role.
  llvm::erase_if(roles, [](const WarpRole &role) { return role.work.empty(); });
}

//===----------------------------------------------------------------------===//
// Hand-over
//===----------------------------------------------------------------------===//

namespace {
/// One side of a barrier.
struct BarrierUse {
  OpId op;
  WarpSet warps;
  bool arrives, waits;
  /// The numbers that a named barrier takes in turn, ascending; empty when they
  /// are not known, and for an mbarrier.
  llvm::SmallVector<int64_t, 2> numbers;
  bool isNamed = false, isWhole = false;
  /// An mbarrier's object and root.
  SharedObjectId object = kNone;
  RootId root = kNone;
  /// The main loop around it, kNone outside.
  uint32_t loop = kNone;
};
} // namespace

/// All values of a number that is constant, by warp, or picked by a ring index;
/// of those that the threads of `warps` have.
static llvm::SmallVector<int64_t, 2> getNumbers(LaneForms &forms, ValueId value,
                                                WarpSet warps) {
  LaneForm form = forms.get(value);
  llvm::SmallVector<int64_t, 2> numbers;
  if (!form.known || form.terms.size() > 1)
    return numbers;
  llvm::SmallVector<int64_t, 4> steps{0};
  if (!form.terms.empty()) {
    const auto &[symbol, factor] = form.terms.front();
    if (!factor.isSame())
      return numbers;
    steps.clear();
    for (int64_t v : forms.getSymbol(symbol).values)
      steps.push_back(v * factor.getSame());
  }
  std::set<int64_t> all;
  for (unsigned t = 0; t < forms.getNumThreads(); ++t)
    if (warps >> (t / 32) & 1)
      for (int64_t step : steps)
        all.insert(form.rest[t] + step);
  numbers.assign(all.begin(), all.end());
  return numbers;
}

void WarpRoles::findHandOvers() {
  std::vector<BarrierUse> uses;
  auto addMbarrier = [&](BarrierUse use) {
    uint32_t first = memory.getFirstAccess(use.op);
    for (auto [i, info] : llvm::enumerate(memory.getAccessesOf(use.op))) {
      if (!info.access.barrier)
        continue;
      BarrierUse one = use;
      one.object = objects.getPlace(first + i).object;
      one.root = info.roots.size() == 1 ? info.roots[0] : kNone;
      uses.push_back(one);
    }
  };
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (warps[op] == 0)
      continue;
    Operation *operation = index.getOp(op);
    BarrierUse use;
    use.op = op;
    use.warps = warps[op];
    for (uint32_t loop = loops.getInnermost(index.getBlockOf(op));
         loop != kNone; loop = loops.getLoop(loop).parent)
      if (region.isMainLoop(loop))
        use.loop = loop;
    if (auto barrier = dyn_cast<kern::BarrierOp>(operation)) {
      use.isNamed = true;
      use.isWhole = !barrier.getThreads();
      use.numbers = getNumbers(forms, index.getId(barrier.getId()), use.warps);
      use.arrives = barrier.getAction() != kern::BarrierAction::Wait;
      use.waits = barrier.getAction() != kern::BarrierAction::Arrive;
      uses.push_back(use);
    } else if (isa<kern::MBarrierWaitOp>(operation)) {
      use.arrives = false;
      use.waits = true;
      addMbarrier(use);
    } else if (isa<kern::MBarrierArriveOp, kern::AsyncArriveOp,
                   kern::BulkCopyOp, kern::TmemCommitOp,
                   kern::MBarrierCompleteTxOp, kern::AsyncStoreOp>(operation)) {
      use.arrives = true;
      use.waits = false;
      addMbarrier(use);
    }
  }
  std::map<RootId, unsigned> barriersIn;
  for (const SharedObject &object : objects.getObjects())
    if (object.barrier)
      ++barriersIn[object.root];
  auto connect = [&](const BarrierUse &a, const BarrierUse &b, uint32_t from,
                     uint32_t to) {
    if (!a.arrives || !b.waits || a.isNamed != b.isNamed)
      return;
    HandOver over{from, to, a.op, b.op, false};
    if (a.isNamed) {
      // Each takes all of its numbers in turn: they meet at the common ones.
      bool same = llvm::any_of(a.numbers, [&](int64_t number) {
        return llvm::is_contained(b.numbers, number);
      });
      bool maybe = a.numbers.empty() || b.numbers.empty();
      if (!same && !maybe)
        return;
      // All threads meet: a step of both, and inside their loops only.
      if (a.isWhole && (a.loop == kNone || b.loop == kNone))
        return;
      over.possible = maybe;
    } else if (a.object != kNone && b.object != kNone) {
      if (a.object != b.object)
        return;
    } else if (a.root != kNone && b.root != kNone && a.root != b.root) {
      return;
    } else {
      // An array that is one ring: whichever word it is, it is of this ring.
      over.possible =
          a.root == kNone || a.root != b.root || barriersIn[a.root] != 1;
    }
    for (HandOver &known : handOvers)
      if (known.from == from && known.to == to) {
        if (known.possible && !over.possible)
          known = over;
        return;
      }
    handOvers.push_back(over);
  };
  for (uint32_t from = 0; from < roles.size(); ++from)
    for (uint32_t to = 0; to < roles.size(); ++to) {
      if (from == to)
        continue;
      for (const BarrierUse &a : uses) {
        if (!(a.warps & roles[from].warps))
          continue;
        for (const BarrierUse &b : uses)
          if (b.warps & roles[to].warps)
            connect(a, b, from, to);
      }
    }
}
