// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/OverwrittenStores.h"

#include "d2k/Analysis/DataFlow.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

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
  ValueId address = kNone, guard = kNone;
  bool negated = false;
  int64_t low = 0, high = 0;

  /// Whether this overwrites all that \p other wrote when both run in turn.
  bool covers(const Store &other) const {
    return address == other.address && low <= other.low && high >= other.high &&
           (guard == kNone ||
            (guard == other.guard && negated == other.negated));
  }
};

class Finder {
public:
  Finder(const KernelIndex &index, const ConstantValues &constants,
         const MemoryRoots &memory)
      : index(index), constants(constants), memory(memory) {}

  std::vector<OpId> find();

private:
  bool collect();
  void passBack(OpId op, llvm::BitVector &state, std::vector<OpId> *found);
  llvm::BitVector passBlock(BlockId block, std::vector<OpId> *found);

  const KernelIndex &index;
  const ConstantValues &constants;
  const MemoryRoots &memory;
  std::vector<Store> stores;
  llvm::DenseMap<OpId, unsigned> storeOf;
  /// Stores whose address or guard a value is.
  llvm::DenseMap<ValueId, llvm::SmallVector<unsigned, 4>> users;
  /// By block: stores that will surely run, before its first operation.
  std::vector<llvm::BitVector> before;
};
} // namespace

/// The stores that are looked at; false when nothing can be said.
bool Finder::collect() {
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  llvm::DenseMap<ValueId, unsigned> numAt;
  auto isCandidate = [&](const AccessInfo &info) {
    return isa<kern::StoreOp>(index.getOp(info.op)) &&
           constants.mayRun(info.op) && info.access.form == Form::Address &&
           info.access.address && info.access.bytes && !info.roots.empty() &&
           info.isGlobal();
  };
  for (const AccessInfo &info : accesses)
    if (isCandidate(info))
      ++numAt[index.getId(info.access.address)];
  if (llvm::none_of(numAt, [](const auto &pair) { return pair.second > 1; }))
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
    if (!info.access.read || info.access.barrier || !constants.mayRun(info.op))
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
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    if (!isCandidate(info) || numAt[index.getId(info.access.address)] < 2 ||
        llvm::any_of(
            memory.getObjectsOf(i),
            [&](ObjectId object) { return isRead[object]; }))
      continue;
    Store store;
    store.op = info.op;
    store.address = index.getId(info.access.address);
    store.guard = index.getGuard(info.op);
    store.negated =
        cast<kern::InstOpInterface>(index.getOp(info.op)).isGuardNegated();
    store.low = info.access.offset;
    store.high = info.access.offset + int64_t(*info.access.bytes);
    storeOf[info.op] = stores.size();
    users[store.address].push_back(stores.size());
    if (store.guard != kNone)
      users[store.guard].push_back(stores.size());
    stores.push_back(store);
  }
  return stores.size() > 1 && stores.size() <= kMaxStores;
}

void Finder::passBack(OpId op, llvm::BitVector &state,
                      std::vector<OpId> *found) {
  // Before its address is made, a store goes elsewhere.
  for (unsigned i = 0; i < index.getNumResults(op); ++i)
    if (auto it = users.find(index.getFirstResult(op) + i); it != users.end())
      for (unsigned store : it->second)
        state.reset(store);
  auto it = storeOf.find(op);
  if (it == storeOf.end())
    return;
  const Store &store = stores[it->second];
  if (found && llvm::any_of(state.set_bits(), [&](unsigned other) {
        return stores[other].covers(store);
      }))
    found->push_back(op);
  state.set(it->second);
}

/// What surely runs from the start of \p block on.
llvm::BitVector Finder::passBlock(BlockId block, std::vector<OpId> *found) {
  llvm::BitVector state(stores.size(), true);
  bool ends = true;
  for (BlockId next : index.getSuccessors(block)) {
    state &= before[next];
    ends = false;
  }
  if (ends)
    state.reset();
  auto [begin, end] = index.getOps(block);
  for (OpId op = end; op-- > begin;)
    passBack(op, state, found);
  for (auto &[value, list] : users)
    if (index.getDef(value) == kNone && index.getDefBlock(value) == block)
      for (unsigned store : list)
        state.reset(store);
  return state;
}

std::vector<OpId> Finder::find() {
  std::vector<OpId> found;
  if (!collect())
    return found;
  before.assign(index.getNumBlocks(), llvm::BitVector(stores.size(), true));
  // Sets only shrink: one pass for each loop on a way, and one more.
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockId block = index.getNumBlocks(); block-- > 0;) {
      llvm::BitVector state = passBlock(block, nullptr);
      if (state != before[block]) {
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
