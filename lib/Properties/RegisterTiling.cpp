// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_tiling: a thread keeps several accumulators and uses each operand
// that it loads for more than one.

#include "Engine/Accumulators.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
constexpr size_t kLeastAccumulators = 4;
constexpr double kLeastReuse = 2;
} // namespace

static void detect(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const Provenance &provenance = detector.getProvenance();
  std::vector<MainProduct> products = detector.getMainProducts();
  if (products.empty())
    return;
  // Operands of these come from shared memory and are no registers.
  if (llvm::any_of(products, [&](const MainProduct &product) {
        return llvm::isa<kern::AsyncMmaOp, kern::TmemMmaOp>(
            index.getOp(product.op));
      }))
    return;
  bool body = detector.getMainRegion().getKind() == MainRegion::Kind::Body;
  llvm::DenseSet<uint64_t> accumulators;
  llvm::DenseMap<uint64_t, unsigned> uses;
  llvm::SmallVector<OpId, 8> where;
  llvm::DenseMap<uint64_t, unsigned> length;
  // Without a loop, a chain of multiply-adds in which one is a factor of the
  // next is a division or a polynomial, and no sum of products.
  llvm::DenseSet<OpId> ops;
  for (const MainProduct &product : products)
    ops.insert(product.op);
  auto isMade = [&](ValueId factor) {
    OpId def = factor == kNone ? OpId(kNone) : index.getDef(factor);
    while (def != kNone && !index.getOperands(def).empty()) {
      auto arith = llvm::dyn_cast<kern::ArithOp>(index.getOp(def));
      if (!arith || arith.getKind() != kern::ArithKind::Neg)
        break;
      def = index.getDef(index.getOperands(def)[0]);
    }
    return def != kNone && ops.contains(def);
  };
  llvm::erase_if(products, [&](const MainProduct &product) {
    return !product.carried &&
           llvm::any_of(product.operands, [&](const ProductOperand &operand) {
             return isMade(operand.value);
           });
  });
  for (const MainProduct &product : products)
    ++length[product.root];
  for (const MainProduct &product : products) {
    // One product alone is accumulated nowhere.
    if (!product.carried && (!body || length[product.root] < 2))
      continue;
    accumulators.insert(product.root);
    const auto &[a, b] = product.operands;
    ++uses[a.number];
    // A square takes its operand once.
    if (b.number != a.number)
      ++uses[b.number];
    where.push_back(product.op);
  }
  if (where.empty())
    return;
  double total = 0;
  bool any = false;
  for (const auto &[operand, count] : uses) {
    total += count;
    any |= count > 1;
  }
  double reuse = total / double(uses.size());
  OpId at = where.front();
  bool isMatrix = llvm::isa<kern::MatrixProductOpInterface>(index.getOp(at));
  Reach reach = isMatrix ? provenance.getProductReach(at)
                         : provenance.getReach(index.getFirstResult(at));
  Judgement judgement =
      detector.judgeReach(reach, "its result")
          .then([&] { return detector.judgeOneWay(); })
          .then([&]() -> Judgement {
            if (accumulators.size() < kLeastAccumulators)
              return Judgement::nearMiss(
                  (accumulators.size() == 1
                       ? std::string("adds to one accumulator")
                       : "adds to " + std::to_string(accumulators.size()) +
                             " accumulators") +
                  " of a thread; a register tile has 4 or more");
            if (!any || reuse < kLeastReuse)
              return Judgement::nearMiss(
                  llvm::formatv("adds to {0} accumulators, but uses an operand "
                                "{1:F2} times on average: a register tile uses "
                                "each for two or more",
                                accumulators.size(), reuse)
                      .str());
            return Judgement::proved();
          });
  if (!judgement.isProved()) {
    detector.add(judgement, at);
    return;
  }
  AttributeMap attributes;
  attributes["accumulators"] = int64_t(accumulators.size());
  attributes["reuse"] = reuse;
  detector.addFact(std::move(attributes), at, where);
}

namespace d2k::properties {
Property makeRegisterTiling() {
  PropertyInfo info;
  info.id = "register_tiling";
  info.group = 'A';
  info.summary =
      "at least 4 independent accumulators of a thread live across the main "
      "region, and operands are used twice or more on average; matrix "
      "instructions count by fragments, and those that read their operands "
      "from shared memory have none";
  info.attributes = {
      {"accumulators",
       AttrType::Integer,
       {},
       "independent accumulators of a thread, or fragments"},
      {"reuse", AttrType::Real, {}, "average uses of an operand"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  info.perTier = {"reuse"};
  return {info, detect};
}
} // namespace d2k::properties
