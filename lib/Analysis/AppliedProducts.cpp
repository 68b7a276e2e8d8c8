// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The products that AppliedOperations starts from: matrix instructions of the
// main region, or the scalar multiply-adds there that sum up products of two
// operands, with the copies of these that were peeled off their loop.

#include "ValueSlice.h"

#include "d2k/Analysis/AppliedOperations.h"
#include "d2k/Analysis/ProductSums.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using Code = DataFlow::Code;

/// Moves that a factor of a product is followed through.
static constexpr size_t kMaxMoves = 64;

/// The loads that `value` is moved from; empty when it is computed, or moved
/// more often than `limit` times.
static std::vector<OpId> findLoads(const KernelIndex &index,
                                   const ConstantValues &constants,
                                   const DataFlow &flow, ValueId value,
                                   size_t limit = SIZE_MAX) {
  std::vector<OpId> loads;
  llvm::DenseSet<ValueId> seen;
  std::vector<ValueId> work{value};
  while (!work.empty()) {
    ValueId next = work.back();
    work.pop_back();
    if (!seen.insert(next).second || constants.get(next))
      continue;
    if (seen.size() > limit)
      return {};
    OpId def = index.getDef(next);
    if (def == kNone) {
      for (const KernelIndex::Incoming &in : index.getIncoming(next))
        if (in.value != kNone)
          work.push_back(in.value);
      continue;
    }
    const DataFlow::Node *node = flow.find(def);
    if (!node)
      return {};
    if (node->code == Code::Load)
      loads.push_back(def);
    else if (node->code == Code::Union || node->code == Code::Select ||
             node->code == Code::Phi)
      llvm::append_range(work, flow.get(node->a));
    else
      return {};
  }
  return loads;
}

/// Multiply-adds of the same two tensors as in the loop: the first or the last
/// iteration, which the author took out of it.
static std::vector<OpId>
findPeeled(const KernelIndex &index, const ConstantValues &constants,
           const MemoryRoots &memory, const DataFlow &flow,
           const MainRegion &region, llvm::ArrayRef<OpId> products) {
  using Roots = std::set<RootId>;
  auto rootsOf = [&](DataFlow::Span values) {
    Roots roots;
    for (ValueId value : flow.get(values))
      for (OpId load : findLoads(index, constants, flow, value, kMaxMoves))
        for (const AccessInfo &info : memory.getAccessesOf(load))
          if (info.access.read && !info.access.barrier)
            roots.insert(info.roots.begin(), info.roots.end());
    return roots;
  };
  auto factorsOf = [&](const DataFlow::Node &node) {
    Roots a = rootsOf(node.a), b = rootsOf(node.b);
    return std::pair(std::min(a, b), std::max(a, b));
  };
  std::set<std::pair<Roots, Roots>> inside;
  llvm::BitVector isProduct(index.getNumOps());
  for (OpId op : products) {
    isProduct.set(op);
    inside.insert(factorsOf(*flow.find(op)));
  }
  std::vector<OpId> peeled;
  for (const DataFlow::Node &node : flow.getNodes()) {
    if (node.op == kNone || node.code != Code::Fma ||
        region.contains(node.op) != Tristate::No || isProduct.test(node.op))
      continue;
    std::pair<Roots, Roots> factors = factorsOf(node);
    if (!factors.first.empty() && inside.count(factors))
      peeled.push_back(node.op);
  }
  return peeled;
}

/// Whether a loop hands block argument `argument` on as a sum of itself.
static bool isCarriedSum(const KernelIndex &index, ValueId argument) {
  // With each value, whether it was summed on the way.
  llvm::SmallVector<std::pair<ValueId, bool>, 16> work{{argument, false}}, seen;
  while (!work.empty() && seen.size() < kMaxMoves) {
    auto [value, summed] = work.pop_back_val();
    summed |= index.getDef(value) != kNone;
    for (ValueId summand : getSummands(index, value)) {
      if (summand == argument && summed)
        return true;
      if (std::pair next(summand, summed); !llvm::is_contained(seen, next)) {
        seen.push_back(next);
        work.push_back(next);
      }
    }
  }
  return false;
}

/// Whether sums and differences make `factor` of a sum that a loop carries: a
/// running mean, and no operand.
static bool isRunning(const KernelIndex &index, ValueId factor) {
  llvm::SmallVector<ValueId, 16> work{factor}, seen{factor};
  while (!work.empty() && seen.size() < kMaxMoves) {
    ValueId value = work.pop_back_val();
    if (index.getDef(value) == kNone && isCarriedSum(index, value))
      return true;
    for (ValueId summand : getSummands(index, value))
      if (!llvm::is_contained(seen, summand)) {
        seen.push_back(summand);
        work.push_back(summand);
      }
  }
  return false;
}

/// Whether a loop around `product` carries `factor` on as a function of itself:
/// the sum of an online softmax, which each step rescales, or the state of a
/// recurrence, and no operand.
static bool isState(const KernelIndex &index, const LoopNest &loops,
                    OpId product, ValueId factor) {
  // With each value, whether something was computed on the way to it.
  using Step = std::pair<ValueId, unsigned>;
  auto follow = [&](ValueId from) {
    llvm::SetVector<Step> slice;
    slice.insert({from, 0u});
    for (size_t i = 0; i < slice.size() && slice.size() < kMaxMoves; ++i) {
      auto [value, computed] = slice[i];
      OpId def = index.getDef(value);
      if (def == kNone) {
        for (const KernelIndex::Incoming &in : index.getIncoming(value))
          if (in.value != kNone)
            slice.insert({in.value, computed});
        continue;
      }
      auto arith = dyn_cast<kern::ArithOp>(index.getOp(def));
      if (arith ? kern::isFloat(arith.getType())
                : isa<kern::SelectOp>(index.getOp(def)))
        for (ValueId operand : index.getOperands(def))
          slice.insert({operand, computed || arith ? 1u : 0u});
    }
    return slice;
  };
  for (auto [value, computed] : follow(factor)) {
    BlockId block = index.getDefBlock(value);
    uint32_t loop = loops.getInnermost(block);
    if (index.getDef(value) == kNone && loop != kNone &&
        loops.getLoop(loop).header == block &&
        loops.contains(loop, index.getBlockOf(product)) &&
        follow(value).contains(Step(value, 1)))
      return true;
  }
  return false;
}

/// Whether two factors are functions of the same values alone, as the powers
/// are that the accurate expf multiplies, or one is made of the other: x * f(x)
/// is no product of two.
static bool areOfSame(const KernelIndex &index, const ConstantValues &constants,
                      ValueId a, ValueId b) {
  llvm::SetVector<ValueId> ofA = getSlice(index, constants, a),
                           ofB = getSlice(index, constants, b);
  // x * f(x, y) is a map of x and y: a divergence sums p (log p - log q).
  if (ofA.contains(b) || ofB.contains(a))
    return true;
  auto endsInCommon = [&](ValueId value) {
    llvm::SmallVector<ValueId, 16> work{value}, seen{value};
    while (!work.empty()) {
      ValueId at = work.pop_back_val();
      if (ofA.contains(at) && ofB.contains(at))
        continue;
      OpId def = index.getDef(at);
      if (def == kNone || isa<kern::LoadOp>(index.getOp(def)) ||
          seen.size() > kMaxMoves)
        return false;
      for (ValueId operand : index.getOperands(def))
        if (!constants.get(operand) && !llvm::is_contained(seen, operand)) {
          seen.push_back(operand);
          work.push_back(operand);
        }
    }
    return true;
  };
  return endsInCommon(a) && endsInCommon(b);
}

void AppliedOperations::findProducts() {
  known = region.getKind() != MainRegion::Kind::Unknown;
  for (OpId op : region.getProducts()) {
    if (isa<kern::MatrixProductOpInterface>(index.getOp(op))) {
      products.push_back(op);
      continue;
    }
    // The multiply-adds of a dot product: two different values, summed up.
    const Node *node = flow.find(op);
    if (!node || node->code != Code::Fma ||
        region.contains(op) == Tristate::No ||
        !provenance.getTerms(node->result).has(ProductClass::Mac))
      continue;
    llvm::ArrayRef<uint32_t> a = flow.get(node->a), b = flow.get(node->b);
    if (a.size() == 1 && b.size() == 1 &&
        (a[0] == b[0] || areOfSame(index, constants, a[0], b[0])))
      continue;
    products.push_back(op);
    scalar = true;
  }
  // Affine maps alone are no products, however their factors were made.
  if (scalar) {
    ProductSums sums(index, constants, loops, provenance, flow);
    auto isMap = [&](OpId op) {
      const Node *node = flow.find(op);
      return node && node->code == Code::Fma && !sums.builds(op);
    };
    if (llvm::all_of(products, isMap)) {
      products.clear();
      scalar = false;
    }
  }
  llvm::sort(products);
  if (scalar)
    llvm::erase_if(products, [&](OpId op) {
      const Node *node = flow.find(op);
      auto isFactorRunning = [&](ValueId value) {
        return isRunning(index, value) || isState(index, loops, op, value);
      };
      return llvm::any_of(flow.get(node->a), isFactorRunning) ||
             llvm::any_of(flow.get(node->b), isFactorRunning);
    });
  // Without loops, the epilogue's multiply-adds look like the products.
  if (scalar && region.getKind() == MainRegion::Kind::Body)
    known = false;
  if (scalar && known)
    llvm::append_range(
        products, findPeeled(index, constants, memory, flow, region, products));
  llvm::sort(products);
  for (OpId op : products)
    productOps.set(op);
}

std::vector<OpId> AppliedOperations::findLoads(ValueId value) const {
  return ::findLoads(index, constants, flow, value);
}
