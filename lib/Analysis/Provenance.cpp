// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations are compiled once into small nodes over dense numbers; passes over
// the nodes in reverse post-order (forward) and post-order (backward) then run
// until nothing changes, which takes a handful of passes.

#include "d2k/Analysis/Provenance.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::Space;
using Form = kern::MemoryAccess::Form;

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

static constexpr unsigned maskOf(ProductClass product) {
  return 1u << unsigned(product);
}
static constexpr unsigned kMul = maskOf(ProductClass::Mul);
static constexpr unsigned kMac = maskOf(ProductClass::Mac);

Terms Terms::times(Terms other, unsigned through) const {
  uint64_t result = 0;
  forEach([&](unsigned a) {
    other.forEach(
        [&](unsigned b) { result |= uint64_t(1) << (a | b | through); });
  });
  return Terms(result);
}

Terms Terms::summed() const {
  uint64_t result = bits;
  forEach([&](unsigned mask) {
    if (mask & kMul)
      result |= uint64_t(1) << (mask | kMac);
  });
  return Terms(result);
}

bool Terms::has(ProductClass product) const {
  bool found = false;
  forEach([&](unsigned mask) { found |= (mask & maskOf(product)) != 0; });
  return found;
}

unsigned Terms::getRivalsOf(ProductClass product) const {
  unsigned rivals = 0;
  forEach([&](unsigned mask) {
    if (!(mask & maskOf(product)))
      rivals |= mask & ~kMul;
  });
  return rivals;
}

std::string Terms::toString() const {
  static constexpr const char *names[] = {"mul",      "mac",   "wmma",
                                          "mma_sync", "wgmma", "tcgen05"};
  std::string text;
  forEach([&](unsigned mask) {
    if (!text.empty())
      text += " + ";
    if (mask == 0)
      text += "1";
    bool first = true;
    for (unsigned i = 0; i < 6; ++i)
      if (mask >> i & 1) {
        text += first ? "" : "*";
        text += names[i];
        first = false;
      }
  });
  return text.empty() ? "none" : text;
}

bool analysis::isHarmlessCall(kern::CallOp call) {
  StringRef callee = call.getCallee();
  return callee == "vprintf" || callee == "__assertfail" ||
         callee == "malloc" || callee == "free" || callee == "__nanosleep";
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

namespace {
/// Spaces that have pseudo objects behind the real ones.
enum SpaceSlot : uint32_t {
  SlotShared,
  SlotLocal,
  SlotTensor,
  SlotGlobal,
  SlotAny,
  kNumSlots
};

SpaceSlot slotOf(Space space) {
  switch (space) {
  case Space::Shared:
  case Space::SharedCluster:
    return SlotShared;
  case Space::Local:
    return SlotLocal;
  case Space::TensorMemory:
    return SlotTensor;
  case Space::Global:
  case Space::Constant:
    return SlotGlobal;
  default:
    return SlotAny;
  }
}
} // namespace

/// Whether the host may have put data into a module variable: one without an
/// initialiser is of no use otherwise. A table with one is taken as constant.
static bool mayHoldHostData(const Root &root) {
  if (root.kind != Root::Kind::Symbol || slotOf(root.space) != SlotGlobal)
    return false;
  auto object = cast<kern::ObjectOp>(root.symbol);
  return !object.getInitialized() || object.getZero();
}

/// Pseudo objects: what unknown addresses of a space wrote, and all of it.
static ObjectId strayObject(size_t numObjects, SpaceSlot slot) {
  return numObjects + slot;
}
static ObjectId wholeSpace(size_t numObjects, SpaceSlot slot) {
  return numObjects + kNumSlots + slot;
}

Provenance::Provenance(const KernelIndex &index,
                       const ConstantValues &constants,
                       const MemoryRoots &memory, llvm::ArrayRef<BlockId> order)
    : index(index), constants(constants), memory(memory) {
  values.assign(index.getNumValues(), {});
  reach.assign(index.getNumValues(), Reach::None);
  size_t numObjects = memory.getObjects().size() + 2 * kNumSlots;
  memoryContent.assign(numObjects, {});
  memoryReach.assign(numObjects, Reach::None);
  nodeOf.assign(index.getNumOps(), kNone);
  compile(order);
  solve();
  collectOutputs();
}

Provenance::Span Provenance::values_(llvm::ArrayRef<ValueId> list) {
  Span span{uint32_t(pool.size()), uint32_t(list.size())};
  pool.insert(pool.end(), list.begin(), list.end());
  return span;
}

Provenance::Span Provenance::valuesOf(ValueRange range) {
  Span span{uint32_t(pool.size()), uint32_t(range.size())};
  for (Value value : range)
    pool.push_back(index.getId(value));
  return span;
}

Provenance::Span Provenance::closeObjects(std::vector<uint32_t> &list) {
  Span span{uint32_t(pool.size()), uint32_t(list.size())};
  pool.insert(pool.end(), list.begin(), list.end());
  list.clear();
  return span;
}

bool Provenance::isParameterMemory(uint32_t access) const {
  const AccessInfo &info = memory.getAccesses()[access];
  if (info.access.form == Form::TensorMap)
    return !info.roots.empty();
  return llvm::any_of(info.roots, [&](RootId root) {
    Root::Kind kind = memory.getRoot(root).kind;
    return kind == Root::Kind::Pointer || kind == Root::Kind::Loaded;
  });
}

void Provenance::addRead(Node &node, uint32_t access, bool asB) {
  const AccessInfo &info = memory.getAccesses()[access];
  size_t numObjects = memory.getObjects().size();
  std::vector<uint32_t> &list = asB ? scratchB : scratchA;
  if (isParameterMemory(access))
    node.readsInput = true;
  if (info.access.form == Form::TensorMap && !info.roots.empty())
    return; // The map is no data; what it leads to is an input.
  for (RootId root : info.roots) {
    const Root &r = memory.getRoot(root);
    // The host may have filled a module variable; a parameter passed by value
    // is no tensor.
    if (mayHoldHostData(r))
      node.readsUnknown = true;
  }
  llvm::append_range(list, memory.getObjectsOf(access));
  if (info.roots.empty()) {
    // Registers of a parameter block are read as such: only real memory here.
    if (info.space == Space::Param)
      return;
    node.readsUnknown = true;
    SpaceSlot slot = slotOf(info.space);
    if (slot == SlotAny)
      for (uint32_t s = 0; s < kNumSlots; ++s)
        list.push_back(wholeSpace(numObjects, SpaceSlot(s)));
    else
      list.push_back(wholeSpace(numObjects, slot));
  } else {
    list.push_back(strayObject(numObjects, slotOf(info.space)));
  }
  list.push_back(strayObject(numObjects, SlotAny));
}

void Provenance::addWrite(Node &node, uint32_t access) {
  const AccessInfo &info = memory.getAccesses()[access];
  size_t numObjects = memory.getObjects().size();
  SpaceSlot slot = slotOf(info.space);
  if (isParameterMemory(access))
    node.writesOutput = true;
  else if (info.access.form == Form::TensorMap ||
           (info.roots.empty() && (slot == SlotGlobal || slot == SlotAny)))
    node.writesUnknown = true;
  if (info.access.form == Form::TensorMap)
    return;
  llvm::append_range(scratchWritten, memory.getObjectsOf(access));
  if (info.roots.empty())
    scratchWritten.push_back(strayObject(numObjects, slot));
  if (slot == SlotAny)
    for (uint32_t s = 0; s < kNumSlots; ++s)
      scratchWritten.push_back(wholeSpace(numObjects, SpaceSlot(s)));
  else
    scratchWritten.push_back(wholeSpace(numObjects, slot));
}

/// The class of a matrix instruction.
static ProductClass classOf(kern::MatrixFamily family) {
  switch (family) {
  case kern::MatrixFamily::Wmma:
    return ProductClass::Wmma;
  case kern::MatrixFamily::MmaSync:
    return ProductClass::MmaSync;
  case kern::MatrixFamily::Wgmma:
    return ProductClass::Wgmma;
  case kern::MatrixFamily::Tcgen05:
    return ProductClass::Tcgen05;
  }
  return ProductClass::Mul;
}

void Provenance::compileOp(OpId id) {
  Operation *op = index.getOp(id);
  llvm::ArrayRef<ValueId> operands = index.getOperands(id);
  Node node;
  node.op = id;
  node.result = index.getFirstResult(id);
  node.numResults = index.getNumResults(id);
  ValueId guard = index.getGuard(id);
  llvm::ArrayRef<ValueId> inputs = operands;
  if (guard != kNone) {
    inputs = operands.drop_back(node.numResults + 1);
    node.old = values_(operands.take_back(node.numResults));
  }
  auto in = [&](unsigned i) { return inputs[i]; };

  // Control operands are collected here: the guard, addresses, masks.
  llvm::SmallVector<ValueId, 4> control;
  if (guard != kNone)
    control.push_back(guard);

  auto push = [&] {
    node.control = values_(control);
    node.readA = closeObjects(scratchA);
    node.readB = closeObjects(scratchB);
    node.written = closeObjects(scratchWritten);
    nodeOf[id] = nodes.size();
    nodes.push_back(node);
  };
  // A constant has no terms, a parameter neither.
  if (isa<kern::ConstantOp, kern::UndefOp, kern::AddressOfOp, kern::SpecialOp,
          kern::ActiveMaskOp, kern::ElectOp>(op))
    return;

  // Matrix products, by their interface.
  if (auto product = dyn_cast<kern::MatrixProductOpInterface>(op)) {
    node.code = Code::Product;
    node.product = classOf(product.getMatrixFamily());
    kern::ElementType aType = product.getAElement();
    kern::ElementType bType = product.getBElement();
    auto allZero = [&](ValueRange range, kern::ElementType type) {
      return !range.empty() && llvm::all_of(range, [&](Value v) {
        return constants.isFloatZero(index.getId(v), type);
      });
    };
    bool aRegisters = product.getASource() == kern::OperandSource::Registers;
    bool bRegisters = product.getBSource() == kern::OperandSource::Registers;
    if (aRegisters) {
      node.a = valuesOf(product.getAValues());
      node.zeroA = allZero(product.getAValues(), aType);
    }
    if (bRegisters) {
      node.b = valuesOf(product.getBValues());
      node.zeroB = allZero(product.getBValues(), bType);
    }
    bool tensorAcc = product.getMatrixFamily() == kern::MatrixFamily::Tcgen05;
    if (!tensorAcc) {
      // Sparsity metadata and scales are data too; predicates steer.
      llvm::SmallVector<ValueId, 16> rest;
      for (Value v : product.getAccValues())
        rest.push_back(index.getId(v));
      auto addExtra = [&](ValueRange extra) {
        for (Value v : extra)
          if (getWidth(v.getType()) > 1)
            rest.push_back(index.getId(v));
      };
      llvm::TypeSwitch<Operation *>(op).Case<kern::MmaOp, kern::AsyncMmaOp>(
          [&](auto mma) { addExtra(mma.getExtra()); });
      node.c = values_(rest);
    }
    llvm::ArrayRef<AccessInfo> accesses = memory.getAccessesOf(id);
    for (auto [i, info] : llvm::enumerate(accesses)) {
      uint32_t number = memory.getFirstAccess(id) + i;
      control.push_back(index.getId(info.access.address));
      if (info.access.write) {
        addWrite(node, number);
        continue;
      }
      bool isB = !product.getBValues().empty() &&
                 info.access.address == product.getBValues().front() &&
                 (i != 0 || aRegisters);
      addRead(node, number, isB);
    }
    push();
    return;
  }

  if (auto call = dyn_cast<kern::CallOp>(op); call && isHarmlessCall(call))
    return;
  if (isa<kern::CallOp, kern::CallIndirectOp, kern::OpaqueOp>(op)) {
    node.code = Code::Unknown;
    node.a = values_(inputs);
    unmodelled.push_back(id);
    bool isCall = !isa<kern::OpaqueOp>(op);
    bool getsAddress = llvm::any_of(inputs, [&](ValueId v) {
      return !memory.getRoots(v).empty() ||
             (getWidth(index.getValue(v).getType()) >= 64 && !constants.get(v));
    });
    if (isCall || getsAddress)
      unknownWriters.push_back(id);
    push();
    return;
  }

  llvm::ArrayRef<AccessInfo> accesses = memory.getAccessesOf(id);
  bool isMemory = isa<kern::MemoryAccessOpInterface>(op);
  if (isMemory) {
    // The data that a write stores.
    ValueRange stored;
    llvm::TypeSwitch<Operation *>(op)
        .Case<kern::StoreOp, kern::AtomicOp, kern::MultimemOp,
              kern::MatrixStoreOp, kern::AsyncStoreOp, kern::TmemStoreOp>(
            [&](auto store) { stored = store.getValues(); })
        .Case([&](kern::BulkFillOp fill) {
          stored = fill->getOperands().slice(2, 1);
        })
        .Case([&](kern::TextureOp texture) {
          if (!accesses.empty() && accesses[0].access.write)
            stored = texture.getInputs();
        });
    node.a = valuesOf(stored);
    llvm::SmallVector<Value, 8> data(stored.begin(), stored.end());
    for (ValueId v : inputs)
      if (!llvm::is_contained(data, index.getValue(v)))
        control.push_back(v);
    bool reads = false, writes = false, anyData = false;
    for (auto [i, info] : llvm::enumerate(accesses)) {
      if (info.access.barrier)
        continue;
      anyData = true;
      uint32_t number = memory.getFirstAccess(id) + i;
      if (info.access.read) {
        reads = true;
        addRead(node, number);
      }
      if (info.access.write) {
        writes = true;
        addWrite(node, number);
      }
    }
    auto load = dyn_cast<kern::LoadOp>(op);
    if (!anyData && !(load && node.numResults)) {
      // Barrier words and loads of parameters carry no terms.
      if (node.numResults == 0 && control.empty())
        return;
      node.code = Code::Condition;
      push();
      return;
    }
    if (reads && writes && stored.empty())
      node.code = Code::Copy;
    else if (reads && writes)
      node.code = Code::Update;
    else if (writes)
      node.code = Code::Store;
    else
      node.code = Code::Load;
    push();
    return;
  }

  if (op->getNumSuccessors() != 0) {
    if (isa<kern::CondBranchOp, kern::SwitchOp>(op)) {
      node.code = Code::Condition;
      control.push_back(operands[0]);
      push();
    }
    return;
  }
  if (node.numResults == 0) {
    // Waits, fences and the like: their operands steer, they carry no data.
    if (!inputs.empty() || guard != kNone) {
      node.code = Code::Condition;
      control.append(inputs.begin(), inputs.end());
      push();
    }
    return;
  }
  // What comes out the same whatever goes in carries nothing.
  bool isConstant = true;
  for (uint32_t i = 0; i < node.numResults; ++i)
    isConstant &= constants.get(node.result + i).has_value();
  if (isConstant)
    return;
  if (isa<kern::SelectOp>(op)) {
    node.code = Code::Select;
    std::optional<uint64_t> condition = constants.get(in(0));
    llvm::SmallVector<ValueId, 2> chosen;
    bool predicate = getWidth(index.getValue(in(0)).getType()) == 1;
    if (!condition || !predicate || *condition != 0)
      chosen.push_back(in(1));
    if (!condition || !predicate || *condition == 0)
      chosen.push_back(in(2));
    node.a = values_(chosen);
    node.b = values_(in(0));
    push();
    return;
  }
  if (auto lanes = dyn_cast<kern::WarpReduceOp>(op);
      lanes && lanes.getOp() == kern::AtomicFunction::Add) {
    node.code = Code::LaneSum;
    node.a = values_(inputs.take_front(1));
    control.append(inputs.begin() + 1, inputs.end());
    push();
    return;
  }
  if (isa<kern::ShuffleOp>(op)) {
    node.code = Code::Union;
    node.a = values_(inputs.take_front(1));
    control.append(inputs.begin() + std::min<size_t>(1, inputs.size()),
                   inputs.end());
    push();
    return;
  }
  if (isa<kern::AddressQueryOp, kern::CreatePolicyOp, kern::LaunchQueryOp,
          kern::MBarrierPendingOp>(op)) {
    node.code = Code::Condition;
    control.append(inputs.begin(), inputs.end());
    push();
    return;
  }
  if (auto arith = dyn_cast<kern::ArithOp>(op)) {
    kern::ElementType type = arith.getType();
    auto zero = [&](unsigned i) {
      return i < inputs.size() && constants.isFloatZero(in(i), type);
    };
    switch (arith.getKind()) {
    case ArithKind::Add:
    case ArithKind::Sub:
    case ArithKind::AddCarry:
    case ArithKind::SubCarry:
    case ArithKind::Sad:
      node.code = Code::Add;
      node.a = values_(inputs.take_front(1));
      node.b = values_(inputs.drop_front(1));
      break;
    case ArithKind::Mul:
    case ArithKind::MulLo:
    case ArithKind::MulHi:
    case ArithKind::MulWide:
    case ArithKind::Mul24:
    case ArithKind::And:
      node.code = arith.getKind() == ArithKind::And ? Code::Union : Code::Mul;
      if (arith.getKind() == ArithKind::And && (zero(0) || zero(1)))
        return; // Nothing is left.
      node.a = values_(inputs.take_front(1));
      node.b = values_(inputs.drop_front(1));
      node.zeroA = zero(0);
      node.zeroB = zero(1);
      break;
    case ArithKind::MadLo:
    case ArithKind::MadHi:
    case ArithKind::MadWide:
    case ArithKind::Mad24:
    case ArithKind::Fma:
    case ArithKind::MadCarryLo:
    case ArithKind::MadCarryHi:
    case ArithKind::Dp2a:
    case ArithKind::Dp4a:
      node.code = Code::Fma;
      node.a = values_(inputs.slice(0, 1));
      node.b = values_(inputs.slice(1, 1));
      node.c = values_(inputs.drop_front(2));
      node.zeroA = zero(0);
      node.zeroB = zero(1);
      break;
    case ArithKind::Div:
      node.code = Code::Div;
      node.a = values_(inputs.take_front(1));
      node.b = values_(inputs.drop_front(1));
      break;
    default:
      node.a = values_(inputs);
      break;
    }
    push();
    return;
  }
  if (auto math = dyn_cast<kern::MathOp>(op);
      math && math.getKind() == kern::MathKind::Div && inputs.size() >= 2) {
    node.code = Code::Div;
    node.a = values_(inputs.take_front(1));
    node.b = values_(inputs.drop_front(1));
    push();
    return;
  }
  node.a = values_(inputs);
  push();
}

void Provenance::compile(llvm::ArrayRef<BlockId> order) {
  nodes.reserve(index.getNumOps());
  pool.reserve(index.getNumOps() * 4);
  for (BlockId block : order) {
    ValueId first = index.getFirstArg(block);
    for (uint32_t i = 0, e = index.getNumArgs(block); i < e; ++i) {
      llvm::SmallVector<ValueId, 4> sources;
      for (const KernelIndex::Incoming &in : index.getIncoming(first + i))
        if (in.value != kNone && constants.isExecutableEdge(in.edge))
          sources.push_back(in.value);
      if (sources.empty())
        continue;
      Node node;
      node.code = Code::Phi;
      node.a = values_(sources);
      node.result = first + i;
      node.numResults = 1;
      nodes.push_back(node);
    }
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op) {
      if (constants.mayRun(op)) {
        compileOp(op);
        continue;
      }
      // Never runs: the results are the old values.
      uint32_t count = index.getNumResults(op);
      if (count == 0 || index.getGuard(op) == kNone)
        continue;
      llvm::ArrayRef<ValueId> old = index.getOperands(op).take_back(count);
      for (uint32_t i = 0; i < count; ++i) {
        Node node;
        node.code = Code::Phi;
        node.a = values_(old[i]);
        node.result = index.getFirstResult(op) + i;
        node.numResults = 1;
        nodes.push_back(node);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

Provenance::Content Provenance::uniteValues(Span span) const {
  Content result;
  for (uint32_t v : get(span)) {
    const Content &value = values[v];
    result.terms = result.terms | value.terms;
    result.chain = std::max(result.chain, value.chain);
    result.unknown |= value.unknown;
  }
  return result;
}

Provenance::Content Provenance::uniteObjects(Span span) const {
  Content result;
  for (uint32_t object : get(span)) {
    const Content &value = memoryContent[object];
    result.terms = result.terms | value.terms;
    result.chain = std::max(result.chain, value.chain);
    result.unknown |= value.unknown;
  }
  return result;
}

/// Sums with at least so many products are dot products.
static constexpr uint8_t kDotProduct = 4;

Provenance::Content Provenance::evaluate(const Node &node) const {
  auto unite = [](Content x, const Content &y) {
    x.terms = x.terms | y.terms;
    x.chain = std::max(x.chain, y.chain);
    x.unknown |= y.unknown;
    return x;
  };
  Content a = uniteValues(node.a);
  switch (node.code) {
  case Code::Union:
    return unite(a, uniteValues(node.b));
  case Code::Phi:
  case Code::Store:
  case Code::Select:
    return a;
  case Code::LaneSum:
    return summedUp(a);
  case Code::Add: {
    Content b = uniteValues(node.b);
    Content sum = unite(a, b);
    if (a.chain && b.chain) {
      sum.chain = std::min<uint8_t>(kDotProduct, a.chain + b.chain);
      if (sum.chain == kDotProduct)
        sum.terms = sum.terms.summed();
    }
    return sum;
  }
  case Code::Mul: {
    if (node.zeroA || node.zeroB)
      return {};
    Content b = uniteValues(node.b);
    Content product = unite(a, b);
    if (!a.terms.empty() && !b.terms.empty()) {
      product.terms = a.terms.times(b.terms, kMul);
      product.chain = 1;
    }
    return product;
  }
  case Code::Fma: {
    Content c = uniteValues(node.c);
    if (node.zeroA || node.zeroB)
      return c;
    Content b = uniteValues(node.b);
    if (a.terms.empty() || b.terms.empty())
      return unite(unite(a, b), c);
    Content sum = c;
    sum.unknown |= a.unknown | b.unknown;
    sum.chain = std::min<uint8_t>(kDotProduct, c.chain + 1);
    sum.terms = c.terms | a.terms.times(b.terms, kMul);
    if (sum.chain == kDotProduct)
      sum.terms = sum.terms.summed();
    return sum;
  }
  case Code::Div: {
    Content b = uniteValues(node.b);
    Content result = unite(a, b);
    // A quotient is a product with an inverse.
    if (!a.terms.empty() && !b.terms.empty()) {
      result.terms = a.terms.times(b.terms, kMul);
      result.chain = 1;
    }
    return result;
  }
  case Code::Product: {
    a = unite(a, uniteObjects(node.readA));
    Content b = unite(uniteValues(node.b), uniteObjects(node.readB));
    Content c = uniteValues(node.c);
    if (node.zeroA || node.zeroB)
      return c;
    Content result = c;
    result.unknown |= a.unknown | b.unknown | node.readsUnknown;
    if (!a.terms.empty() && !b.terms.empty())
      result.terms = c.terms | a.terms.times(b.terms, maskOf(node.product));
    else
      result.terms = c.terms | a.terms | b.terms;
    return result;
  }
  case Code::Load:
  case Code::Copy:
  case Code::Update: {
    Content read = uniteObjects(node.readA);
    if (node.readsInput)
      read.terms = read.terms | Terms::input();
    read.unknown |= node.readsUnknown;
    return node.code == Code::Update ? unite(read, a) : read;
  }
  case Code::Unknown: {
    a.unknown = true;
    return a;
  }
  case Code::Condition:
    return {};
  }
  return {};
}

Provenance::Content Provenance::summedUp(Content content) {
  // An atomic runs often, and a warp has many lanes: products that they add up
  // are a dot product.
  if (content.chain != 0) {
    content.terms = content.terms.summed();
    content.chain = kDotProduct;
  }
  return content;
}

bool Provenance::apply(const Node &node) {
  Content result = evaluate(node);
  bool changed = false;
  auto merge = [&](Content &into, const Content &from) {
    Content merged = into;
    merged.terms = merged.terms | from.terms;
    merged.chain = std::max(merged.chain, from.chain);
    merged.unknown |= from.unknown;
    if (!(merged == into)) {
      into = merged;
      changed = true;
    }
  };
  for (uint32_t object : get(node.written)) {
    // An update that only reads (an atomic counter) writes its own operand.
    if (node.code == Code::Update)
      merge(memoryContent[object], summedUp(uniteValues(node.a)));
    else
      merge(memoryContent[object], result);
  }
  if (node.code == Code::Store)
    return changed;
  llvm::ArrayRef<uint32_t> old = get(node.old);
  for (uint32_t i = 0; i < node.numResults; ++i) {
    merge(values[node.result + i], result);
    if (!old.empty())
      merge(values[node.result + i], values[old[i]]);
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

bool Provenance::raise(ValueId value, Reach to) {
  if (reach[value] >= to)
    return false;
  reach[value] = to;
  return true;
}

bool Provenance::raiseObject(ObjectId object, Reach to) {
  // What an unknown address touches is never certain.
  if (object >= memory.getObjects().size())
    to = std::min(to, Reach::May);
  if (memoryReach[object] >= to)
    return false;
  memoryReach[object] = to;
  return true;
}

bool Provenance::applyBackward(const Node &node) {
  bool changed = false;
  // How far what the operation makes reaches.
  Reach made = Reach::None;
  if (node.writesOutput)
    made = Reach::Must;
  else if (node.writesUnknown)
    made = Reach::May;
  llvm::ArrayRef<uint32_t> old = get(node.old);
  for (uint32_t i = 0; i < node.numResults; ++i) {
    Reach result = reach[node.result + i];
    made = std::max(made, result);
    if (!old.empty())
      changed |= raise(old[i], result);
  }
  size_t numObjects = memory.getObjects().size();
  for (uint32_t object : get(node.written)) {
    Reach there = memoryReach[object];
    made = std::max(made,
                    object >= numObjects ? std::min(there, Reach::May) : there);
  }
  auto raiseAll = [&](Span span, Reach to) {
    for (uint32_t v : get(span))
      changed |= raise(v, to);
  };
  auto raiseObjects = [&](Span span, Reach to) {
    for (uint32_t object : get(span))
      changed |= raiseObject(object, to);
  };
  if (made != Reach::None || node.code == Code::Condition)
    raiseAll(node.control, Reach::Control);
  if (node.code == Code::Unknown) {
    // What an unknown operation is given may come out anywhere.
    bool writer =
        node.op != kNone && llvm::binary_search(unknownWriters, node.op);
    raiseAll(node.a, writer ? Reach::May : std::min(made, Reach::May));
    return changed;
  }
  if (made == Reach::None)
    return changed;
  switch (node.code) {
  case Code::Select:
    raiseAll(node.a, made);
    raiseAll(node.b, std::min(made, Reach::May));
    break;
  case Code::Mul:
    if (!node.zeroA && !node.zeroB) {
      raiseAll(node.a, made);
      raiseAll(node.b, made);
    }
    break;
  case Code::Fma:
  case Code::Product:
    if (!node.zeroA && !node.zeroB) {
      raiseAll(node.a, made);
      raiseAll(node.b, made);
      raiseObjects(node.readA, made);
      raiseObjects(node.readB, made);
    }
    raiseAll(node.c, made);
    break;
  case Code::Condition:
    break;
  case Code::Update: {
    // The value stored stays in memory whatever becomes of the value read.
    Reach stays = node.writesOutput
                      ? Reach::Must
                      : (node.writesUnknown ? Reach::May : Reach::None);
    for (uint32_t object : get(node.written))
      stays = std::max(stays, object >= numObjects
                                  ? std::min(memoryReach[object], Reach::May)
                                  : memoryReach[object]);
    raiseAll(node.a, stays);
    raiseObjects(node.readA, made);
    break;
  }
  default:
    raiseAll(node.a, made);
    raiseAll(node.b, made);
    raiseAll(node.c, made);
    raiseObjects(node.readA, made);
    break;
  }
  return changed;
}

void Provenance::solve() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node &node : nodes)
      changed |= apply(node);
  }
  llvm::sort(unknownWriters);
  llvm::sort(unmodelled);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node &node : llvm::reverse(nodes))
      changed |= applyBackward(node);
  }
}

void Provenance::collectOutputs() {
  for (uint32_t i = 0; i < memory.getAccesses().size(); ++i) {
    const AccessInfo &info = memory.getAccesses()[i];
    if (!info.access.write || info.access.barrier || nodeOf[info.op] == kNone)
      continue;
    SpaceSlot slot = slotOf(info.space);
    bool rooted = isParameterMemory(i);
    if (!rooted && !(info.access.form == Form::TensorMap) &&
        !(info.roots.empty() && (slot == SlotGlobal || slot == SlotAny)))
      continue;
    const Node &node = nodes[nodeOf[info.op]];
    OutputStore store;
    store.op = info.op;
    store.access = i;
    store.rooted = rooted;
    Content content = node.code == Code::Update ? summedUp(uniteValues(node.a))
                                                : evaluate(node);
    store.terms = content.terms;
    store.unknown = content.unknown;
    outputs.push_back(store);
  }
  llvm::sort(outputs, [](const OutputStore &a, const OutputStore &b) {
    return std::tie(a.op, a.access) < std::tie(b.op, b.access);
  });
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

Terms Provenance::getRead(uint32_t access) const {
  Terms terms;
  if (isParameterMemory(access))
    terms = Terms::input();
  const AccessInfo &info = memory.getAccesses()[access];
  size_t numObjects = memory.getObjects().size();
  for (ObjectId object : memory.getObjectsOf(access))
    terms = terms | memoryContent[object].terms;
  if (info.roots.empty()) {
    SpaceSlot slot = slotOf(info.space);
    for (uint32_t s = 0; s < kNumSlots; ++s)
      if (slot == SlotAny || slot == s)
        terms =
            terms | memoryContent[wholeSpace(numObjects, SpaceSlot(s))].terms;
  }
  return terms;
}

bool Provenance::isReadUnknown(uint32_t access) const {
  const AccessInfo &info = memory.getAccesses()[access];
  if (info.roots.empty())
    return true;
  for (RootId root : info.roots)
    if (mayHoldHostData(memory.getRoot(root)))
      return true;
  for (ObjectId object : memory.getObjectsOf(access))
    if (memoryContent[object].unknown)
      return true;
  return false;
}

Reach Provenance::getWriteReach(uint32_t access) const {
  const AccessInfo &info = memory.getAccesses()[access];
  if (isParameterMemory(access))
    return Reach::Must;
  Reach result = Reach::None;
  SpaceSlot slot = slotOf(info.space);
  if (info.roots.empty() && (slot == SlotGlobal || slot == SlotAny))
    result = Reach::May;
  size_t numObjects = memory.getObjects().size();
  for (ObjectId object : memory.getObjectsOf(access))
    result = std::max(result, memoryReach[object]);
  // Something reads the space at an address that is not known.
  result = std::max(
      result, std::min(Reach::May, memoryReach[wholeSpace(numObjects, slot)]));
  if (info.roots.empty())
    result =
        std::max(result, std::min(Reach::May,
                                  memoryReach[strayObject(numObjects, slot)]));
  return result;
}

std::pair<Terms, Terms> Provenance::getProductOperands(OpId op) const {
  if (nodeOf[op] == kNone)
    return {};
  const Node &node = nodes[nodeOf[op]];
  return {uniteValues(node.a).terms | uniteObjects(node.readA).terms,
          uniteValues(node.b).terms | uniteObjects(node.readB).terms};
}

bool Provenance::areProductOperandsUnknown(OpId op) const {
  if (nodeOf[op] == kNone)
    return false;
  const Node &node = nodes[nodeOf[op]];
  return node.readsUnknown || uniteValues(node.a).unknown ||
         uniteValues(node.b).unknown || uniteObjects(node.readA).unknown ||
         uniteObjects(node.readB).unknown;
}

Reach Provenance::getProductReach(OpId op) const {
  if (nodeOf[op] == kNone)
    return Reach::None;
  const Node &node = nodes[nodeOf[op]];
  Reach result = Reach::None;
  for (uint32_t i = 0; i < node.numResults; ++i)
    result = std::max(result, reach[node.result + i]);
  size_t numObjects = memory.getObjects().size();
  for (uint32_t object : get(node.written))
    result = std::max(result, object >= numObjects
                                  ? std::min(memoryReach[object], Reach::May)
                                  : memoryReach[object]);
  return result;
}
