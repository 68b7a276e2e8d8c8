// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows each load's registers, block arguments included, to their first uses,
// and looks for products on the ways there.

#include "Engine/RegisterPrefetch.h"

#include "llvm/ADT/DenseSet.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// How far a loaded value is followed to what it is for.
constexpr unsigned kMaxSteps = 4096;
/// Register sets that are told apart.
constexpr unsigned kMaxRounds = 8;

class Finder {
public:
  Finder(Detector &detector, uint32_t loop, llvm::ArrayRef<OpId> points)
      : detector(detector), index(detector.getIndex()),
        loops(detector.getKernel().getLoops()), loop(loop), points(points) {
    const MemoryRoots &memory = detector.getMemory();
    for (uint32_t i = 0; i < memory.getAccesses().size(); ++i) {
      const AccessInfo &info = memory.getAccesses()[i];
      if (info.access.read && info.space == kern::Space::Shared &&
          isInside(index.getBlockOf(info.op)))
        for (ObjectId object : memory.getObjectsOf(i))
          readHere.insert(object);
    }
  }

  std::optional<RegisterPrefetch> find(OpId load) {
    RegisterPrefetch result;
    result.load = load;
    collectAliases(load);
    if (!feedsProducts(load))
      return std::nullopt;
    // Used by the products themselves: only in a later iteration. Without a
    // loop there is none, and a schedule looks like a prefetch.
    if (!staged && rounds == 0) {
      if (loop != kNone)
        return std::nullopt;
      result.isSure = false;
    }
    unsigned lastUse = walk(load, result);
    // A register that is carried on behind its last use is no later use.
    if (!staged && lastUse == 0 && loop != kNone)
      return std::nullopt;
    if (llvm::none_of(result.outstanding, [](unsigned n) { return n != 0; }))
      return std::nullopt;
    return result;
  }

private:
  bool isInside(BlockId block) const {
    return loop == kNone || loops.contains(loop, block);
  }

  /// Operands that `op` works on: the old values of a guarded operation are
  /// passed on and not used.
  llvm::ArrayRef<ValueId> getUsed(OpId op) const {
    llvm::ArrayRef<ValueId> operands = index.getOperands(op);
    auto inst = llvm::dyn_cast<kern::InstOpInterface>(index.getOp(op));
    return inst ? operands.drop_back(inst.getOldValues().size()) : operands;
  }

  /// The registers of the load under all names: block arguments that they are
  /// passed to, and results that keep them when a guard is off, with the number
  /// of times that the loop has begun anew since the load.
  void collectAliases(OpId load) {
    aliases.clear();
    rounds = 0;
    llvm::SmallVector<std::pair<ValueId, unsigned>, 8> work;
    for (uint32_t i = 0; i < index.getNumResults(load); ++i)
      work.push_back({index.getFirstResult(load) + i, 0});
    while (!work.empty()) {
      auto [value, round] = work.pop_back_val();
      if (round > kMaxRounds || aliases.size() > kMaxSteps ||
          !aliases.try_emplace(value, round).second)
        continue;
      rounds = std::max(rounds, round);
      for (OpId user : index.getUsers(value)) {
        BlockId block = index.getBlockOf(user);
        if (user == index.getTerminator(block)) {
          for (BlockId next : index.getSuccessors(block))
            for (uint32_t i = 0; i < index.getNumArgs(next); ++i) {
              ValueId arg = index.getFirstArg(next) + i;
              for (const KernelIndex::Incoming &way : index.getIncoming(arg))
                if (way.from == block && way.value == value)
                  work.push_back({arg, round + isBack(block, next)});
            }
          continue;
        }
        auto inst = llvm::dyn_cast<kern::InstOpInterface>(index.getOp(user));
        if (!inst)
          continue;
        for (auto [i, old] : llvm::enumerate(inst.getOldValues()))
          if (index.getId(old) == value)
            work.push_back({index.getFirstResult(user) + ValueId(i), round});
      }
    }
  }

  bool isBack(BlockId from, BlockId to) const {
    return loop != kNone && loops.getLoop(loop).header == to && isInside(from);
  }

  /// Whether `op` uses what was loaded `round` iterations ago.
  bool isUse(OpId op, unsigned round) const {
    return op != index.getTerminator(index.getBlockOf(op)) &&
           llvm::any_of(getUsed(op), [&](ValueId value) {
             auto it = aliases.find(value);
             return it != aliases.end() && it->second == round;
           });
  }

  /// Whether the loaded data becomes an operand of a product: directly, or
  /// through shared memory that this loop reads. Addresses are no data.
  bool feedsProducts(OpId load) {
    staged = false;
    bool direct = false;
    llvm::DenseSet<ValueId> seen;
    llvm::SmallVector<ValueId, 16> work;
    for (const auto &[value, round] : aliases) {
      seen.insert(value);
      work.push_back(value);
    }
    while (!work.empty() && seen.size() < kMaxSteps) {
      ValueId value = work.pop_back_val();
      for (OpId user : index.getUsers(value)) {
        mlir::Operation *op = index.getOp(user);
        if (std::binary_search(points.begin(), points.end(), user)) {
          direct = true;
          continue;
        }
        mlir::ValueRange data;
        if (auto store = llvm::dyn_cast<kern::StoreOp>(op))
          data = store.getValues();
        else if (auto matrix = llvm::dyn_cast<kern::MatrixStoreOp>(op))
          data = matrix.getValues();
        if (!data.empty()) {
          if (!llvm::is_contained(data, index.getValue(value)))
            continue;
          // A store that cannot run has no access.
          if (detector.getMemory().getAccessesOf(user).empty())
            continue;
          uint32_t access = detector.getMemory().getFirstAccess(user);
          for (ObjectId object : detector.getMemory().getObjectsOf(access))
            staged |= readHere.contains(object);
          continue;
        }
        if (!llvm::isa<kern::ArithOp, kern::MathOp, kern::ConvertOp,
                       kern::SelectOp, kern::PackOp, kern::UnpackOp,
                       kern::ShuffleOp>(op))
          continue;
        for (uint32_t i = 0; i < index.getNumResults(user); ++i)
          if (seen.insert(index.getFirstResult(user) + i).second)
            work.push_back(index.getFirstResult(user) + i);
      }
    }
    return staged || direct;
  }

  /// From the load on, to the first uses, through as many iterations as lie
  /// between them; the most of these on any way.
  unsigned walk(OpId load, RegisterPrefetch &result) {
    struct Item {
      BlockId block;
      OpId from;
      unsigned round;
      bool used;
    };
    result.outstanding.assign(points.size(), 0);
    // By round, the points that are passed before and after the first use.
    std::vector<std::vector<bool>> early(rounds + 1), late(rounds + 1);
    for (unsigned round = 0; round <= rounds; ++round) {
      early[round].assign(points.size(), false);
      late[round].assign(points.size(), false);
    }
    // Operations that may matter: a kernel may have a load for each few of
    // tens of thousands.
    std::vector<OpId> stops(points.begin(), points.end());
    for (const auto &[value, round] : aliases)
      llvm::append_range(stops, index.getUsers(value));
    llvm::sort(stops);
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
    // A register that a guard may keep is used no later than where it is used.
    unsigned lastUse = 0;
    llvm::DenseSet<std::pair<BlockId, unsigned>> seen;
    std::vector<Item> stack{{index.getBlockOf(load), load + 1, 0, false}};
    while (!stack.empty()) {
      Item item = stack.back();
      stack.pop_back();
      OpId end = index.getOps(item.block).second;
      for (auto it = llvm::lower_bound(stops, item.from);
           it != stops.end() && *it < end; ++it) {
        OpId op = *it;
        if (!detector.getConstants().mayRun(op))
          continue;
        if (!item.used && isUse(op, item.round)) {
          item.used = true;
          lastUse = std::max(lastUse, item.round);
          if (!llvm::is_contained(result.uses, op))
            result.uses.push_back(op);
        }
        const OpId *point = std::lower_bound(points.begin(), points.end(), op);
        if (point != points.end() && *point == op)
          (item.used ? late : early)[item.round][point - points.begin()] = true;
      }
      for (BlockId next :
           detector.getKernel().getDominance().getSuccessors(item.block)) {
        if (next >= index.getNumBlocks() || !isInside(next))
          continue;
        unsigned round = item.round + isBack(item.block, next);
        // What was used is of no interest in later iterations.
        if (round > rounds || (item.used && round != item.round) ||
            !seen.insert({next, 2 * round + item.used}).second)
          continue;
        stack.push_back({next, index.getOps(next).first, round, item.used});
      }
    }
    // Without a use in the loop nothing is prefetched for it.
    if (result.uses.empty())
      return 0;
    for (unsigned round = 0; round <= lastUse; ++round)
      for (size_t i = 0; i < points.size(); ++i)
        result.outstanding[i] += early[round][i] && !late[round][i];
    return lastUse;
  }

  Detector &detector;
  const KernelIndex &index;
  const LoopNest &loops;
  uint32_t loop;
  llvm::ArrayRef<OpId> points;
  llvm::DenseSet<ObjectId> readHere;
  llvm::DenseMap<ValueId, unsigned> aliases;
  /// The most times that the loop begins anew before the first use.
  unsigned rounds = 0;
  bool staged = false;
};
} // namespace

std::vector<RegisterPrefetch>
properties::findRegisterPrefetches(Detector &detector, uint32_t loop,
                                   llvm::ArrayRef<OpId> points) {
  std::vector<RegisterPrefetch> result;
  if (points.empty())
    return result;
  const KernelIndex &index = detector.getIndex();
  const MemoryRoots &memory = detector.getMemory();
  const Provenance &provenance = detector.getProvenance();
  Finder finder(detector, loop, points);
  for (uint32_t i = 0; i < memory.getAccesses().size(); ++i) {
    const AccessInfo &info = memory.getAccesses()[i];
    BlockId block = index.getBlockOf(info.op);
    if (!llvm::isa<kern::LoadOp>(index.getOp(info.op)) || !info.isGlobal() ||
        !provenance.isParameterMemory(i) ||
        (loop != kNone &&
         !detector.getKernel().getLoops().contains(loop, block)) ||
        provenance.getReach(index.getFirstResult(info.op)) < Reach::Must)
      continue;
    if (std::optional<RegisterPrefetch> found = finder.find(info.op))
      result.push_back(std::move(*found));
  }
  return result;
}
