// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/OverwrittenStores.h"

#include "AddressSums.h"

#include "d2k/Analysis/DataFlow.h"
#include "d2k/Analysis/LaneForms.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <numeric>
#include <tuple>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using Form = kern::MemoryAccess::Form;

/// More stores to addresses in common are not looked at: the analysis takes
/// their number times the kernel.
static constexpr size_t kMaxStores = 256;

namespace {
struct Store {
  OpId op = kNone;
  /// The stores whose addresses are the same sum but for a number.
  unsigned group = 0;
  ValueId guard = kNone;
  bool negated = false;
  int64_t low = 0, high = 0;
};

/// Stores that surely run.
struct Running {
  llvm::BitVector stores;
  /// Of these, those behind a barrier of the block.
  llvm::BitVector behind;

  bool operator==(const Running &) const = default;
};

class Finder {
public:
  Finder(const KernelIndex &index, const ConstantValues &constants,
         const MemoryRoots &memory)
      : index(index), constants(constants), memory(memory),
        sums(index, constants) {}

  std::vector<OpId> find();

private:
  using Terms = AddressSums::Terms;
  bool collect();
  bool findPartners();
  bool isExchange(OpId op) const;
  bool isBlockBarrier(OpId op) const;
  bool alwaysRuns(OpId op) const;
  bool isCovered(unsigned store, const llvm::BitVector &by) const;
  bool isCoveredByBlock(unsigned store, unsigned by);
  Terms getCommon(const Store &store) const;
  std::optional<std::vector<int64_t>> getPlaces(const Store &store);
  void passBack(OpId op, Running &state, std::vector<OpId> *found);
  Running passBlock(BlockId block, std::vector<OpId> *found);

  const KernelIndex &index;
  const ConstantValues &constants;
  const MemoryRoots &memory;
  AddressSums sums;
  unsigned numThreads = 0;
  std::vector<Store> stores;
  std::vector<Terms> groups;
  llvm::DenseMap<OpId, unsigned> storeOf;
  /// Stores that a value is a term of the address of, or the guard, where it
  /// may change.
  llvm::DenseMap<ValueId, llvm::SmallVector<unsigned, 4>> users;
  /// By block, before its first operation.
  std::vector<Running> before;
  /// By pair of stores: isCoveredByBlock.
  std::map<std::pair<unsigned, unsigned>, bool> coveredByBlock;
};
} // namespace

/// Whether `op` puts a value into memory and does nothing with what was there.
bool Finder::isExchange(OpId op) const {
  auto atomic = dyn_cast<kern::AtomicOp>(index.getOp(op));
  if (!atomic || atomic.getOp() != kern::AtomicFunction::Exch)
    return false;
  for (uint32_t i = 0; i < index.getNumResults(op); ++i)
    if (!index.getUsers(index.getFirstResult(op) + i).empty())
      return false;
  return true;
}

bool Finder::isBlockBarrier(OpId op) const {
  auto barrier = dyn_cast<kern::BarrierOp>(index.getOp(op));
  return barrier && !barrier.getThreads() && index.getGuard(op) == kNone &&
         barrier.arrives() && barrier.waits();
}

/// Whether all threads run `op`.
bool Finder::alwaysRuns(OpId op) const {
  if (index.getGuard(op) != kNone)
    return false;
  BlockId goal = index.getBlockOf(op);
  llvm::BitVector seen(index.getNumBlocks());
  llvm::SmallVector<BlockId> work;
  if (goal != 0)
    work.push_back(0);
  while (!work.empty()) {
    BlockId block = work.pop_back_val();
    if (seen.test(block) || block == goal)
      continue;
    seen.set(block);
    llvm::ArrayRef<BlockId> next = index.getSuccessors(block);
    if (next.empty())
      return false;
    work.append(next.begin(), next.end());
  }
  return true;
}

/// The stores that are looked at; false when nothing can be said.
bool Finder::collect() {
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  auto isCandidate = [&](const AccessInfo &info) {
    return (isa<kern::StoreOp>(index.getOp(info.op)) || isExchange(info.op)) &&
           constants.mayRun(info.op) && info.access.form == Form::Address &&
           info.access.address && info.access.bytes && !info.roots.empty() &&
           info.isGlobal();
  };
  if (llvm::count_if(accesses, isCandidate) < 2)
    return false;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    Operation *operation = index.getOp(op);
    auto call = dyn_cast<kern::CallOp>(operation);
    if (isa<kern::CallOp, kern::CallIndirectOp, kern::OpaqueOp>(operation) &&
        !(call && isHarmlessCall(call)) && constants.mayRun(op))
      return false;
  }
  // What the kernel reads.
  std::vector<bool> isRead(memory.getObjects().size(), false);
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    if (!info.access.read || info.access.barrier ||
        !constants.mayRun(info.op) || isExchange(info.op))
      continue;
    if (info.access.form == Form::TensorMap ||
        info.access.form == Form::Unknown)
      continue; // Another tensor than what pointers lead to.
    DataFlow::SpaceSlot slot = DataFlow::getSlot(info.space);
    if (info.roots.empty() &&
        (slot == DataFlow::SlotGlobal || slot == DataFlow::SlotAny))
      return false;
    for (ObjectId object : memory.getObjectsOf(i))
      isRead[object] = true;
  }
  std::map<llvm::SmallVector<std::pair<ValueId, int64_t>, 4>, unsigned> groupOf;
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    if (!isCandidate(info) ||
        llvm::any_of(memory.getObjectsOf(i),
                     [&](ObjectId object) { return isRead[object]; }))
      continue;
    if (stores.size() == kMaxStores)
      return false;
    AddressSums::Sum sum = sums.get(index.getId(info.access.address));
    Store store;
    store.op = info.op;
    auto [group, isNew] = groupOf.try_emplace(sum.terms, groups.size());
    if (isNew)
      groups.push_back(sum.terms);
    store.group = group->second;
    store.guard = index.getGuard(info.op);
    store.negated =
        cast<kern::InstOpInterface>(index.getOp(info.op)).isGuardNegated();
    store.low = sum.number + info.access.offset;
    store.high = store.low + int64_t(*info.access.bytes);
    storeOf[info.op] = stores.size();
    stores.push_back(store);
  }
  return findPartners();
}

/// Keeps to what may be overwritten: whether there is any.
bool Finder::findPartners() {
  bool isAny = false;
  bool hasBarrier = false;
  for (OpId op = 0; op < index.getNumOps() && !hasBarrier; ++op)
    hasBarrier = isBlockBarrier(op);
  BlockShape shape = hasBarrier ? findBlockShape(index) : BlockShape();
  if (shape.known && shape.y == 1 && shape.z == 1)
    numThreads = shape.x;
  // In order, so that those which overlap follow each other.
  std::vector<unsigned> order(stores.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::tie(stores[a].group, stores[a].low) <
           std::tie(stores[b].group, stores[b].low);
  });
  int64_t end = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const Store &store = stores[order[i]];
    bool isSameGroup = i != 0 && stores[order[i - 1]].group == store.group;
    isAny |= isSameGroup && store.low < end;
    end = isSameGroup ? std::max(end, store.high) : store.high;
  }
  // By what the threads of a block have in common, the groups and the stores
  // that all threads run.
  std::map<Terms, std::pair<llvm::SmallSetVector<unsigned, 4>,
                            llvm::SmallVector<unsigned, 4>>>
      alike;
  if (numThreads != 0 && groups.size() > 1 && !isAny)
    for (unsigned i = 0; i < stores.size(); ++i) {
      auto &[groupsOf, runs] = alike[getCommon(stores[i])];
      groupsOf.insert(stores[i].group);
      runs.push_back(i);
    }
  for (auto &[common, with] : alike) {
    if (with.first.size() < 2)
      continue;
    llvm::erase_if(with.second,
                   [&](unsigned by) { return !alwaysRuns(stores[by].op); });
    for (unsigned by : with.second)
      for (unsigned store = 0; store < stores.size() && !isAny; ++store)
        isAny = stores[store].group != stores[by].group &&
                with.first.contains(stores[store].group) &&
                isCoveredByBlock(store, by);
  }
  if (!isAny)
    return false;
  for (unsigned i = 0; i < stores.size(); ++i) {
    for (auto [value, factor] : groups[stores[i].group])
      if (!sums.isFixed(value))
        users[value].push_back(i);
    if (stores[i].guard != kNone)
      users[stores[i].guard].push_back(i);
  }
  return true;
}

/// Whether the stores in `by` overwrite all of `store` when all of them run.
bool Finder::isCovered(unsigned store, const llvm::BitVector &by) const {
  const Store &first = stores[store];
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> parts;
  for (unsigned other : by.set_bits()) {
    const Store &over = stores[other];
    if (over.group == first.group && over.low < first.high &&
        over.high > first.low &&
        (over.guard == kNone ||
         (over.guard == first.guard && over.negated == first.negated)))
      parts.push_back({over.low, over.high});
  }
  llvm::sort(parts);
  int64_t end = first.low;
  for (auto [low, high] : parts)
    if (low <= end)
      end = std::max(end, high);
  return end >= first.high;
}

/// The terms that all threads of a block have.
Finder::Terms Finder::getCommon(const Store &store) const {
  Terms terms;
  for (auto term : groups[store.group])
    if (sums.isSameInBlock(term.first))
      terms.push_back(term);
  return terms;
}

/// Where each thread of a block writes, relative to what all threads have in
/// common.
std::optional<std::vector<int64_t>> Finder::getPlaces(const Store &store) {
  std::vector<int64_t> places(numThreads, store.low);
  for (auto [value, factor] : groups[store.group]) {
    if (sums.isSameInBlock(value))
      continue;
    auto numbers = sums.getByThread(value, numThreads);
    if (!numbers)
      return std::nullopt;
    for (unsigned t = 0; t < numThreads; ++t)
      places[t] += factor * (*numbers)[t];
  }
  return places;
}

/// Whether `by`, which all threads of a block run, overwrites together what
/// any of them wrote in `store`.
bool Finder::isCoveredByBlock(unsigned store, unsigned by) {
  auto [answer, isNew] = coveredByBlock.try_emplace({store, by}, false);
  if (!isNew || store == by)
    return answer->second;
  const Store &first = stores[store], &over = stores[by];
  if (getCommon(first) != getCommon(over) || !alwaysRuns(over.op))
    return false;
  auto from = getPlaces(first), to = getPlaces(over);
  if (!from || !to)
    return false;
  int64_t size = over.high - over.low;
  std::vector<int64_t> begins = std::move(*to);
  llvm::sort(begins);
  return answer->second = llvm::all_of(*from, [&](int64_t low) {
           int64_t end = low, high = low + first.high - first.low;
           for (auto it = llvm::upper_bound(begins, low - size);
                it != begins.end() && *it <= end; ++it)
             end = std::max(end, *it + size);
           return end >= high;
         });
}

void Finder::passBack(OpId op, Running &state, std::vector<OpId> *found) {
  // Before its address is made, a store goes elsewhere.
  for (unsigned i = 0; i < index.getNumResults(op); ++i)
    if (auto it = users.find(index.getFirstResult(op) + i); it != users.end())
      for (unsigned store : it->second) {
        state.stores.reset(store);
        state.behind.reset(store);
      }
  if (isBlockBarrier(op))
    state.behind |= state.stores;
  auto it = storeOf.find(op);
  if (it == storeOf.end())
    return;
  unsigned store = it->second;
  bool isOverwritten =
      found && isa<kern::StoreOp>(index.getOp(op)) &&
      (isCovered(store, state.stores) ||
       (numThreads != 0 &&
        llvm::any_of(state.behind.set_bits(), [&](unsigned by) {
          return isCoveredByBlock(store, by);
        })));
  if (isOverwritten)
    found->push_back(op);
  state.stores.set(store);
}

/// What surely runs from the start of \p block on.
Running Finder::passBlock(BlockId block, std::vector<OpId> *found) {
  Running state{llvm::BitVector(stores.size(), true),
                llvm::BitVector(stores.size(), true)};
  bool ends = true;
  for (BlockId next : index.getSuccessors(block)) {
    state.stores &= before[next].stores;
    state.behind &= before[next].behind;
    ends = false;
  }
  if (ends) {
    state.stores.reset();
    state.behind.reset();
  }
  auto [begin, end] = index.getOps(block);
  for (OpId op = end; op-- > begin;)
    passBack(op, state, found);
  for (auto &[value, list] : users)
    if (index.getDef(value) == kNone && index.getDefBlock(value) == block)
      for (unsigned store : list) {
        state.stores.reset(store);
        state.behind.reset(store);
      }
  return state;
}

std::vector<OpId> Finder::find() {
  std::vector<OpId> found;
  if (!collect())
    return found;
  before.assign(index.getNumBlocks(),
                Running{llvm::BitVector(stores.size(), true),
                        llvm::BitVector(stores.size(), true)});
  // Sets only shrink: one pass for each loop on a way, and one more.
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockId block = index.getNumBlocks(); block-- > 0;) {
      Running state = passBlock(block, nullptr);
      if (!(state == before[block])) {
        before[block] = std::move(state);
        changed = true;
      }
    }
  }
  for (BlockId block = 0; block < index.getNumBlocks(); ++block)
    if (constants.isReachable(block))
      passBlock(block, &found);
  llvm::sort(found);
  return found;
}

std::vector<OpId>
analysis::findOverwrittenStores(const KernelIndex &index,
                                const ConstantValues &constants,
                                const MemoryRoots &memory) {
  return Finder(index, constants, memory).find();
}
