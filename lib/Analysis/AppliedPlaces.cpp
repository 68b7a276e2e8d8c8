// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where operations stand that AppliedOperations looks at: which are copies of
// what the loop of products does, and which loads read what the kernel has
// stored.

#include "d2k/Analysis/AppliedOperations.h"
#include "d2k/Dialect/Kern/Location.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

/// Joins that an operand is followed through.
static constexpr size_t kMaxJoins = 16;

/// What an operation does, without its operands.
static const void *getKind(Operation *op) {
  if (auto arith = dyn_cast<kern::ArithOp>(op))
    return reinterpret_cast<const void *>(
        (uintptr_t(arith.getKind()) << 8 | uintptr_t(arith.getType())) << 1 |
        1);
  if (auto math = dyn_cast<kern::MathOp>(op))
    return reinterpret_cast<const void *>(
        (uintptr_t(math.getKind()) << 8 | uintptr_t(math.getType())) << 1 | 1 |
        1 << 24);
  return op->getName().getAsOpaquePointer();
}

namespace {
/// The kinds of operations that make each operand, through joins; empty for
/// what is constant.
using Sources = llvm::SmallVector<llvm::SmallVector<const void *, 2>, 3>;
} // namespace

static Sources findSources(const KernelIndex &index, OpId op) {
  Sources sources;
  for (ValueId operand : index.getOperands(op)) {
    llvm::SmallVector<const void *, 2> &kinds = sources.emplace_back();
    llvm::SmallVector<ValueId, kMaxJoins> seen{operand};
    for (size_t i = 0; i < seen.size(); ++i) {
      OpId def = index.getDef(seen[i]);
      if (def == kNone) {
        for (const KernelIndex::Incoming &in : index.getIncoming(seen[i]))
          if (in.value != kNone && seen.size() < kMaxJoins &&
              !llvm::is_contained(seen, in.value))
            seen.push_back(in.value);
      } else if (!isa<kern::ConstantOp>(index.getOp(def))) {
        const void *kind = getKind(index.getOp(def));
        if (!llvm::is_contained(kinds, kind))
          kinds.push_back(kind);
      }
    }
  }
  return sources;
}

/// Whether two operations may be copies of each other: each operand is made in
/// a way that they have in common, or is constant in one.
static bool mayBeCopies(const Sources &a, const Sources &b) {
  return a.size() == b.size() && llvm::all_of_zip(a, b, [](auto &x, auto &y) {
           return x.empty() || y.empty() ||
                  llvm::any_of(x, [&](const void *kind) {
                    return llvm::is_contained(y, kind);
                  });
         });
}

/// Finds what the compiler has peeled off the loops of products: it does the
/// same as an operation inside, with operands that are made in the same way, at
/// the same place of the source. The place alone tells little, since a macro
/// may hold the loop and the epilogue.
void AppliedOperations::findCopies() {
  peeled.resize(index.getNumOps());
  using Key = std::pair<const void *, const void *>;
  auto keyOf = [&](OpId op) {
    Operation *operation = index.getOp(op);
    LocationAttr at = kern::getSourceLocation(operation->getLoc());
    return Key(at ? at.getAsOpaquePointer() : nullptr, getKind(operation));
  };
  auto holdsProduct = [&](uint32_t loop) {
    return llvm::any_of(products, [&](OpId op) {
      return loops.contains(loop, index.getBlockOf(op));
    });
  };
  llvm::DenseMap<Key, llvm::SmallVector<OpId, 4>> inside;
  for (uint32_t loop : region.getLoops())
    if (holdsProduct(loop))
      for (BlockId block : loops.getLoop(loop).blocks) {
        auto [begin, end] = index.getOps(block);
        for (OpId op = begin; op < end; ++op)
          if (Key key = keyOf(op); key.first)
            inside[key].push_back(op);
      }
  llvm::DenseMap<Key, std::vector<Sources>> forms;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (region.contains(op) == Tristate::Yes)
      continue;
    auto it = inside.find(keyOf(op));
    if (it == inside.end())
      continue;
    auto [form, isNew] = forms.try_emplace(it->first);
    if (isNew)
      for (OpId other : it->second)
        if (Sources sources = findSources(index, other);
            !llvm::is_contained(form->second, sources))
          form->second.push_back(std::move(sources));
    Sources sources = findSources(index, op);
    if (llvm::any_of(form->second, [&](const Sources &other) {
          return mayBeCopies(sources, other);
        }))
      peeled.set(op);
  }
}

//===----------------------------------------------------------------------===//
// Results that are read back
//===----------------------------------------------------------------------===//

/// Whether blocks may wait for data of each other: atomics, ordered loads,
/// barriers of a cluster, calls of unknown functions.
static bool mayExchange(const KernelIndex &index) {
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    Operation *op = index.getOp(id);
    if (isa<kern::MultimemOp, kern::ClusterBarrierOp, kern::CallIndirectOp,
            kern::OpaqueOp>(op))
      return true;
    if (auto call = dyn_cast<kern::CallOp>(op); call && !isHarmlessCall(call))
      return true;
    if (auto atomic = dyn_cast<kern::AtomicOp>(op);
        atomic && atomic.getSpace() != kern::Space::Shared)
      return true;
    if (auto load = dyn_cast<kern::LoadOp>(op);
        load && load.getSemantics() &&
        *load.getSemantics() != kern::Semantics::Weak &&
        load.getSpace() != kern::Space::Shared)
      return true;
  }
  return false;
}

void AppliedOperations::findPasses() {
  exchanges = mayExchange(index);
  for (OpId op = 0; op < index.getNumOps(); ++op)
    if (isProduct(op) || isa<kern::BarrierOpInterface>(index.getOp(op)))
      passes.push_back(op);
}

/// Whether a result may have been stored to what `load` reads, and then a
/// barrier or a further product have passed: then it may be a sum of a part.
/// What lies between a thread's own store and load alone is a finished result.
bool AppliedOperations::mayFollowStore(OpId load) const {
  BlockId to = index.getBlockOf(load);
  llvm::SmallVector<OpId, 8> stores;
  for (const AccessInfo &from : memory.getAccessesOf(load))
    for (const OutputStore &store : provenance.getOutputStores())
      if (llvm::any_of(memory.getAccesses()[store.access].roots,
                       [&](RootId root) {
                         return llvm::is_contained(from.roots, root);
                       }))
        stores.push_back(store.op);
  auto isBefore = [&](OpId first, OpId second) {
    BlockId a = index.getBlockOf(first), b = index.getBlockOf(second);
    return (a == b && first < second) || dominance.reaches(a, b);
  };
  for (OpId store : stores) {
    if (!isBefore(store, load))
      continue;
    // Around a loop, it passes its products and barriers at the latest.
    if (dominance.reaches(index.getBlockOf(store), to) &&
        dominance.reaches(to, index.getBlockOf(store)))
      return true;
    BlockId last = kNone;
    for (OpId op : passes) {
      BlockId at = index.getBlockOf(op);
      if (at == last && at != to && at != index.getBlockOf(store))
        continue;
      last = at;
      if (isBefore(store, op) && isBefore(op, load))
        return true;
    }
  }
  return false;
}

bool AppliedOperations::readsSums(ValueId value) const {
  return llvm::any_of(findLoads(value), [&](OpId load) {
    bool readsOutput =
        llvm::any_of(memory.getAccessesOf(load), [&](const AccessInfo &from) {
          return from.isGlobal() &&
                 llvm::any_of(provenance.getOutputStores(),
                              [&](const OutputStore &store) {
                                const AccessInfo &to =
                                    memory.getAccesses()[store.access];
                                return llvm::any_of(to.roots, [&](RootId root) {
                                  return llvm::is_contained(from.roots, root);
                                });
                              });
        });
    return readsOutput && (exchanges || mayFollowStore(load));
  });
}
