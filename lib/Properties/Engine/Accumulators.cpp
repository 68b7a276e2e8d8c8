// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/Accumulators.h"

#include "llvm/ADT/Hashing.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;
using kern::ArithKind;

namespace {
/// Steps that a chain of sums or conversions is followed.
constexpr unsigned kMaxChain = 4096, kMaxConversions = 8;
} // namespace

/// The same number for the same conversion of the same register, which
/// compilers repeat rather than keep.
static uint64_t numberOf(Detector &detector, ValueId value,
                         unsigned depth = 0) {
  const KernelIndex &index = detector.getIndex();
  OpId def = index.getDef(value);
  if (std::optional<uint64_t> bits = detector.getConstants().get(value))
    return llvm::hash_combine(1, *bits);
  if (def == kNone || depth == kMaxConversions || index.getGuard(def) != kNone)
    return llvm::hash_combine(2, value);
  mlir::Operation *op = index.getOp(def);
  auto arith = llvm::dyn_cast<kern::ArithOp>(op);
  bool pure = llvm::isa<kern::ConvertOp, kern::PackOp, kern::UnpackOp>(op) ||
              (arith && !kern::isFloat(arith.getType()));
  if (!pure)
    return llvm::hash_combine(2, value);
  uint64_t number = llvm::hash_combine(3, op->getName().getAsOpaquePointer(),
                                       value - index.getFirstResult(def));
  if (arith)
    number = llvm::hash_combine(number, unsigned(arith.getKind()));
  for (ValueId operand : index.getOperands(def))
    number = llvm::hash_combine(number, numberOf(detector, operand, depth + 1));
  return number;
}

/// The load of shared or global memory that `value` was made by, through
/// conversions; kNone when there is none or several.
static OpId findLoad(Detector &detector, ValueId value) {
  const KernelIndex &index = detector.getIndex();
  llvm::SmallVector<ValueId, 8> pending{value}, seen{value};
  OpId load = kNone;
  while (!pending.empty() && seen.size() < 64) {
    ValueId v = pending.pop_back_val();
    OpId def = index.getDef(v);
    if (def == kNone) {
      for (const KernelIndex::Incoming &in : index.getIncoming(v))
        if (in.value != kNone && !llvm::is_contained(seen, in.value)) {
          seen.push_back(in.value);
          pending.push_back(in.value);
        }
      continue;
    }
    mlir::Operation *op = index.getOp(def);
    if (llvm::isa<kern::LoadOp, kern::MatrixLoadOp>(op)) {
      if (detector.getProvenance().getTerms(v).empty())
        continue;
      if (load != kNone && load != def) {
        // Loads of one object stand for one another.
        llvm::ArrayRef<AccessInfo> x = detector.getMemory().getAccessesOf(load);
        llvm::ArrayRef<AccessInfo> y = detector.getMemory().getAccessesOf(def);
        if (x.empty() || y.empty() || x[0].roots != y[0].roots)
          return kNone;
        continue;
      }
      load = def;
      continue;
    }
    for (ValueId operand : index.getOperands(def))
      if (!llvm::is_contained(seen, operand) &&
          !detector.getProvenance().getTerms(operand).empty()) {
        seen.push_back(operand);
        pending.push_back(operand);
      }
  }
  return load;
}

/// What `op` adds its product to, for result `result`; kNone when nothing.
static ValueId getAddend(Detector &detector, OpId op, uint32_t result) {
  const KernelIndex &index = detector.getIndex();
  mlir::Operation *operation = index.getOp(op);
  if (auto product =
          llvm::dyn_cast<kern::MatrixProductOpInterface>(operation)) {
    mlir::OperandRange acc = product.getAccValues();
    return result < acc.size() ? index.getId(acc[result]) : kNone;
  }
  auto arith = llvm::dyn_cast<kern::ArithOp>(operation);
  if (!arith)
    return kNone;
  switch (arith.getKind()) {
  case ArithKind::Fma:
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Dp2a:
  case ArithKind::Dp4a:
    return index.getOperands(op)[2];
  default:
    return kNone;
  }
}

/// The sum that takes up the plain product `op`; kNone when there is none.
static OpId getSum(Detector &detector, OpId op) {
  const KernelIndex &index = detector.getIndex();
  llvm::ArrayRef<OpId> users = index.getUsers(index.getFirstResult(op));
  if (users.size() != 1)
    return kNone;
  auto arith = llvm::dyn_cast<kern::ArithOp>(index.getOp(users[0]));
  return arith && arith.getKind() == ArithKind::Add ? users[0] : kNone;
}

namespace {
/// Where accumulators enter, by the values on the way there.
using Roots = llvm::DenseMap<ValueId, std::pair<uint64_t, bool>>;
} // namespace

/// Follows the accumulator of `op` to where it enters, or to where another
/// one's way is met.
static void findRoot(Detector &detector, MainProduct &product, uint32_t main,
                     Roots &roots) {
  const KernelIndex &index = detector.getIndex();
  const LoopNest &loops = detector.getKernel().getLoops();
  const Provenance &provenance = detector.getProvenance();
  ValueId value = getAddend(detector, product.op, 0);
  OpId head = product.op;
  if (value == kNone)
    if (OpId sum = getSum(detector, product.op); sum != kNone) {
      llvm::ArrayRef<ValueId> in = index.getOperands(sum);
      value = in[0] == index.getFirstResult(product.op) ? in[1] : in[0];
      head = sum;
    }
  llvm::SmallVector<ValueId, 16> way;
  auto finish = [&] {
    for (ValueId passed : way)
      roots[passed] = {product.root, product.carried};
  };
  for (unsigned i = 0; value != kNone && i < kMaxChain; ++i) {
    if (auto known = roots.find(value); known != roots.end()) {
      if (known->second.second || !product.carried)
        std::tie(product.root, product.carried) = known->second;
      return finish();
    }
    OpId def = index.getDef(value);
    if (def == kNone) {
      BlockId block = index.getDefBlock(value);
      uint32_t loop = loops.getInnermost(block);
      bool header = loop != kNone && loops.getLoop(loop).header == block;
      if (header) {
        product.root = value;
        product.carried = true;
        if (main == kNone || loop == main || !loops.encloses(main, loop))
          return finish();
        // A loop inside of the main one: what it starts with.
        ValueId start = kNone;
        for (const KernelIndex::Incoming &in : index.getIncoming(value))
          if (!loops.contains(loop, in.from))
            start = in.value;
        if (start == kNone || detector.getConstants().get(start) ||
            provenance.getTerms(start).empty())
          return finish();
        value = start;
        continue;
      }
      // Where ways meet: one of them brings the sum.
      ValueId next = kNone;
      for (const KernelIndex::Incoming &in : index.getIncoming(value))
        if (in.value != kNone && !detector.getConstants().get(in.value) &&
            !provenance.getTerms(in.value).empty())
          next = next == kNone ? in.value : next;
      if (next == kNone)
        break;
      value = next;
      continue;
    }
    if (detector.getConstants().get(value))
      break;
    mlir::Operation *op = index.getOp(def);
    ValueId next = getAddend(detector, def, value - index.getFirstResult(def));
    auto arith = llvm::dyn_cast<kern::ArithOp>(op);
    if (next == kNone && arith && arith.getKind() == ArithKind::Add) {
      // The side that is no single product.
      for (ValueId operand : index.getOperands(def)) {
        OpId d = index.getDef(operand);
        auto a = d == kNone ? kern::ArithOp()
                            : llvm::dyn_cast<kern::ArithOp>(index.getOp(d));
        if (!a || a.getKind() != ArithKind::Mul)
          next = operand;
      }
    }
    if (next == kNone && (llvm::isa<kern::ConvertOp>(op) ||
                          (arith && arith.getKind() == ArithKind::Mul))) {
      // A rescale of the sum, or a conversion of it. A factor that is worked
      // out of other sums, as an exponential, is not the sum.
      for (bool any : {false, true})
        for (ValueId operand : index.getOperands(def)) {
          OpId d = index.getDef(operand);
          bool isFactor = d != kNone && llvm::isa<kern::MathOp>(index.getOp(d));
          if (Terms terms = provenance.getTerms(operand);
              next == kNone && (any || !isFactor) &&
              (terms.has(ProductClass::Mac) ||
               terms.has(ProductClass::MmaSync) ||
               terms.has(ProductClass::Wgmma) || terms.has(ProductClass::Wmma)))
            next = operand;
        }
    }
    // Machine code has a double in two registers: the lower one stands for
    // both.
    if (next == kNone && llvm::isa<kern::PackOp, kern::UnpackOp>(op))
      next = index.getOperands(def)[0];
    if (next == kNone)
      break;
    head = def;
    // Behind a loop inside, the same values start other sums.
    if (!product.carried)
      way.push_back(value);
    value = next;
  }
  // Nothing is carried further: the chain itself.
  if (!product.carried)
    product.root = uint64_t(1) << 32 | head;
  finish();
}

std::vector<MainProduct> properties::findMainProducts(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const LoopNest &loops = detector.getKernel().getLoops();
  const MainRegion &region = detector.getMainRegion();
  const MemoryRoots &memory = detector.getMemory();
  std::vector<MainProduct> products;
  Roots roots;
  if (region.getKind() == MainRegion::Kind::Unknown)
    return products;
  // Clones, peeled heads and remainders would count twice.
  uint32_t most = kNone;
  size_t count = 0;
  for (uint32_t loop : region.getLoops()) {
    size_t here = llvm::count_if(region.getProducts(), [&](OpId op) {
      return loops.contains(loop, index.getBlockOf(op));
    });
    if (here > count) {
      count = here;
      most = loop;
    }
  }
  // One operand is multiplied by many.
  llvm::DenseMap<ValueId, OpId> loads;
  auto place = [&](OpId op, ProductOperand &operand) {
    uint32_t first = memory.getFirstAccess(op);
    for (auto [i, info] : llvm::enumerate(memory.getAccessesOf(op)))
      if (info.access.form == kern::MemoryAccess::Form::Descriptor &&
          index.getId(info.access.address) == operand.value) {
        operand.access = first + i;
        return;
      }
    auto [it, isNew] = loads.try_emplace(operand.value, kNone);
    if (isNew)
      it->second = findLoad(detector, operand.value);
    operand.load = it->second;
    if (operand.load != kNone) {
      llvm::ArrayRef<AccessInfo> by = memory.getAccessesOf(operand.load);
      if (!by.empty() && by[0].space == kern::Space::Shared)
        operand.access = memory.getFirstAccess(operand.load);
    }
  };
  for (OpId op : region.getProducts()) {
    if (region.getKind() == MainRegion::Kind::Loops &&
        (most == kNone || !loops.contains(most, index.getBlockOf(op))))
      continue;
    MainProduct product;
    product.op = op;
    auto &[a, b] = product.operands;
    if (auto matrix =
            llvm::dyn_cast<kern::MatrixProductOpInterface>(index.getOp(op))) {
      if (!matrix.getAValues().empty())
        a.value = index.getId(matrix.getAValues()[0]);
      if (!matrix.getBValues().empty())
        b.value = index.getId(matrix.getBValues()[0]);
    } else {
      a.value = index.getOperands(op)[0];
      b.value = index.getOperands(op)[1];
    }
    if (a.value == kNone || b.value == kNone)
      continue;
    for (ProductOperand &operand : product.operands) {
      operand.number = numberOf(detector, operand.value);
      place(op, operand);
    }
    findRoot(detector, product, most, roots);
    products.push_back(product);
  }
  return products;
}

llvm::ArrayRef<MainProduct> Detector::getMainProducts() {
  if (!mainProducts)
    mainProducts = std::make_shared<const std::vector<MainProduct>>(
        findMainProducts(*this));
  return *mainProducts;
}
