// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations are compiled once; analyses then make passes over the nodes until
// nothing changes, which takes a handful.

#include "d2k/Analysis/DataFlow.h"

#include "d2k/Analysis/EmptyCopies.h"
#include "d2k/Analysis/OverwrittenStores.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::Space;
using Form = kern::MemoryAccess::Form;

bool analysis::isHarmlessCall(kern::CallOp call) {
  StringRef callee = call.getCallee();
  return callee == "vprintf" || callee == "__assertfail" ||
         callee == "malloc" || callee == "free" || callee == "__nanosleep";
}

DataFlow::SpaceSlot DataFlow::getSlot(Space space) {
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
bool analysis::mayHoldHostData(const Root &root) {
  if (root.kind != Root::Kind::Symbol ||
      DataFlow::getSlot(root.space) != DataFlow::SlotGlobal)
    return false;
  auto object = cast<kern::ObjectOp>(root.symbol);
  return !object.getInitialized() || object.getZero();
}

DataFlow::DataFlow(const KernelIndex &index, const ConstantValues &constants,
                   const MemoryRoots &memory, llvm::ArrayRef<BlockId> order)
    : index(index), constants(constants), memory(memory),
      numObjects(memory.getObjects().size()) {
  nodeOf.assign(index.getNumOps(), kNone);
  overwritten = findOverwrittenStores(index, constants, memory);
  compile(order);
  llvm::sort(unknownWriters);
  llvm::sort(unmodelled);
}

DataFlow::Span DataFlow::addValues(llvm::ArrayRef<ValueId> list) {
  Span span{uint32_t(pool.size()), uint32_t(list.size())};
  pool.insert(pool.end(), list.begin(), list.end());
  return span;
}

DataFlow::Span DataFlow::addValues(ValueRange range) {
  Span span{uint32_t(pool.size()), uint32_t(range.size())};
  for (Value value : range)
    pool.push_back(index.getId(value));
  return span;
}

DataFlow::Span DataFlow::closeCells(std::vector<uint32_t> &list) {
  Span span{uint32_t(pool.size()), uint32_t(list.size())};
  pool.insert(pool.end(), list.begin(), list.end());
  list.clear();
  return span;
}

bool DataFlow::isParameterMemory(uint32_t access) const {
  const AccessInfo &info = memory.getAccesses()[access];
  if (info.access.form == Form::TensorMap)
    return !info.roots.empty();
  return llvm::any_of(info.roots, [&](RootId root) {
    Root::Kind kind = memory.getRoot(root).kind;
    return kind == Root::Kind::Pointer || kind == Root::Kind::Loaded;
  });
}

void DataFlow::addRead(Node &node, uint32_t access, bool asB) {
  const AccessInfo &info = memory.getAccesses()[access];
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
    SpaceSlot slot = getSlot(info.space);
    if (slot == SlotAny)
      for (uint32_t s = 0; s < kNumSlots; ++s)
        list.push_back(getWhole(SpaceSlot(s)));
    else
      list.push_back(getWhole(slot));
  } else {
    list.push_back(getStray(getSlot(info.space)));
  }
  list.push_back(getStray(SlotAny));
}

void DataFlow::addWrite(Node &node, uint32_t access) {
  const AccessInfo &info = memory.getAccesses()[access];
  SpaceSlot slot = getSlot(info.space);
  // What the kernel itself reads of it goes through its objects.
  bool unread = memory.isUnread(access);
  if (isParameterMemory(access) && !unread)
    node.writesOutput = true;
  else if ((info.access.form == Form::TensorMap && !unread) ||
           (info.roots.empty() && (slot == SlotGlobal || slot == SlotAny)))
    node.writesUnknown = true;
  if (info.access.form == Form::TensorMap)
    return;
  llvm::append_range(scratchWritten, memory.getObjectsOf(access));
  if (info.roots.empty())
    scratchWritten.push_back(getStray(slot));
  if (slot == SlotAny)
    for (uint32_t s = 0; s < kNumSlots; ++s)
      scratchWritten.push_back(getWhole(SpaceSlot(s)));
  else
    scratchWritten.push_back(getWhole(slot));
}

ProductClass analysis::getProductClass(kern::MatrixFamily family) {
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

void DataFlow::push(Node node, const Operands &operands) {
  node.control = addValues(operands.control);
  node.readA = closeCells(scratchA);
  node.readB = closeCells(scratchB);
  node.written = closeCells(scratchWritten);
  nodeOf[node.op] = nodes.size();
  nodes.push_back(node);
}

void DataFlow::compileProduct(Node node, Operands operands) {
  auto product = cast<kern::MatrixProductOpInterface>(index.getOp(node.op));
  node.code = Code::Product;
  node.product = getProductClass(product.getMatrixFamily());
  auto allZero = [&](ValueRange range, kern::ElementType type) {
    return !range.empty() && llvm::all_of(range, [&](Value v) {
      return constants.isFloatZero(index.getId(v), type);
    });
  };
  bool aRegisters = product.getASource() == kern::OperandSource::Registers;
  bool bRegisters = product.getBSource() == kern::OperandSource::Registers;
  if (aRegisters) {
    node.a = addValues(product.getAValues());
    node.zeroA = allZero(product.getAValues(), product.getAElement());
  }
  if (bRegisters) {
    node.b = addValues(product.getBValues());
    node.zeroB = allZero(product.getBValues(), product.getBElement());
  }
  if (product.getMatrixFamily() != kern::MatrixFamily::Tcgen05) {
    // Sparsity metadata and scales are data too; predicates steer.
    llvm::SmallVector<ValueId, 16> rest;
    for (Value v : product.getAccValues())
      rest.push_back(index.getId(v));
    node.numAccumulators = rest.size();
    llvm::TypeSwitch<Operation *>(product).Case<kern::MmaOp, kern::AsyncMmaOp>(
        [&](auto mma) {
          for (Value v : mma.getExtra())
            if (getWidth(v.getType()) > 1)
              rest.push_back(index.getId(v));
        });
    node.c = addValues(rest);
  }
  for (auto [i, info] : llvm::enumerate(memory.getAccessesOf(node.op))) {
    uint32_t number = memory.getFirstAccess(node.op) + i;
    operands.control.push_back(index.getId(info.access.address));
    if (info.access.write) {
      addWrite(node, number);
      continue;
    }
    bool isB = !product.getBValues().empty() &&
               info.access.address == product.getBValues().front() &&
               (i != 0 || aRegisters);
    addRead(node, number, isB);
  }
  push(node, operands);
}

void DataFlow::compileUnknown(Node node, Operands operands) {
  node.code = Code::Unknown;
  node.a = addValues(operands.inputs);
  unmodelled.push_back(node.op);
  bool isCall = !isa<kern::OpaqueOp>(index.getOp(node.op));
  bool getsAddress = llvm::any_of(operands.inputs, [&](ValueId v) {
    return !memory.getRoots(v).empty() ||
           (getWidth(index.getValue(v).getType()) >= 64 && !constants.get(v));
  });
  if (isCall || getsAddress)
    unknownWriters.push_back(node.op);
  push(node, operands);
}

/// The data that an operation puts into memory.
static ValueRange getStored(Operation *op,
                            llvm::ArrayRef<AccessInfo> accesses) {
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
  return stored;
}

void DataFlow::compileMemory(Node node, Operands operands) {
  Operation *op = index.getOp(node.op);
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccessesOf(node.op);
  ValueRange stored = getStored(op, accesses);
  node.a = addValues(stored);
  llvm::SmallVector<Value, 8> data(stored.begin(), stored.end());
  for (ValueId v : operands.inputs)
    if (!llvm::is_contained(data, index.getValue(v)))
      operands.control.push_back(v);
  bool reads = false, writes = false, anyData = false;
  CopiedBytes copied = getCopiedBytes(index, constants, node.op);
  for (auto [i, info] : llvm::enumerate(accesses)) {
    if (info.access.barrier || copied == CopiedBytes::Nothing)
      continue;
    anyData = true;
    uint32_t number = memory.getFirstAccess(node.op) + i;
    // Zeros carry no input, as constants do not.
    if (info.access.read && copied != CopiedBytes::Zeros) {
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
    if (node.numResults == 0 && operands.control.empty())
      return;
    node.code = Code::Condition;
    push(node, operands);
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
  push(node, operands);
}

void DataFlow::compileSelect(Node node, Operands operands) {
  llvm::ArrayRef<ValueId> in = operands.inputs;
  node.code = Code::Select;
  std::optional<uint64_t> condition = constants.get(in[0]);
  llvm::SmallVector<ValueId, 2> chosen;
  bool predicate = getWidth(index.getValue(in[0]).getType()) == 1;
  if (!condition || !predicate || *condition != 0)
    chosen.push_back(in[1]);
  if (!condition || !predicate || *condition == 0)
    chosen.push_back(in[2]);
  node.a = addValues(chosen);
  node.b = addValues(in[0]);
  push(node, operands);
}

/// Whether `value` is a constant that is infinite.
static bool isInfinity(const ConstantValues &constants, ValueId value,
                       kern::ElementType type) {
  std::optional<uint64_t> bits = constants.get(value);
  if (!bits)
    return false;
  switch (type) {
  case kern::ElementType::F16:
    return (*bits & 0x7fff) == 0x7c00;
  case kern::ElementType::BF16:
    return (*bits & 0x7fff) == 0x7f80;
  case kern::ElementType::F32:
    return (*bits & 0x7fffffff) == 0x7f800000;
  case kern::ElementType::F64:
    return (*bits << 1) == 0xffe0000000000000;
  default:
    return false;
  }
}

void DataFlow::compileArith(Node node, Operands operands) {
  auto arith = cast<kern::ArithOp>(index.getOp(node.op));
  llvm::ArrayRef<ValueId> in = operands.inputs;
  auto zero = [&](unsigned i) {
    return i < in.size() && constants.isFloatZero(in[i], arith.getType());
  };
  switch (arith.getKind()) {
  case ArithKind::Add:
  case ArithKind::Sub:
  case ArithKind::AddCarry:
  case ArithKind::SubCarry:
  case ArithKind::Sad:
    node.code = Code::Add;
    node.a = addValues(in.take_front(1));
    node.b = addValues(in.drop_front(1));
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
    node.a = addValues(in.take_front(1));
    node.b = addValues(in.drop_front(1));
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
    node.a = addValues(in.slice(0, 1));
    node.b = addValues(in.slice(1, 1));
    node.c = addValues(in.drop_front(2));
    node.zeroA = zero(0);
    node.zeroB = zero(1);
    break;
  case ArithKind::Div:
    // Divided by infinity, nothing is left of a number.
    node.zeroB = in.size() > 1 && isInfinity(constants, in[1], arith.getType());
    node.code = node.zeroB ? Code::Mul : Code::Div;
    node.a = addValues(in.take_front(1));
    node.b = addValues(in.drop_front(1));
    break;
  default:
    node.a = addValues(in);
    break;
  }
  push(node, operands);
}

void DataFlow::compileOp(OpId id) {
  Operation *op = index.getOp(id);
  Node node;
  node.op = id;
  node.result = index.getFirstResult(id);
  node.numResults = index.getNumResults(id);
  Operands operands;
  operands.inputs = index.getOperands(id);
  ValueId guard = index.getGuard(id);
  if (guard != kNone) {
    node.old = addValues(operands.inputs.take_back(node.numResults));
    operands.inputs = operands.inputs.drop_back(node.numResults + 1);
    operands.control.push_back(guard);
  }
  llvm::ArrayRef<ValueId> in = operands.inputs;
  auto steer = [&](llvm::ArrayRef<ValueId> values) {
    operands.control.append(values.begin(), values.end());
  };
  // A constant has no terms, a parameter neither.
  if (isa<kern::ConstantOp, kern::UndefOp, kern::AddressOfOp, kern::SpecialOp,
          kern::ActiveMaskOp, kern::ElectOp>(op))
    return;
  if (isa<kern::MatrixProductOpInterface>(op))
    return compileProduct(node, std::move(operands));
  if (auto call = dyn_cast<kern::CallOp>(op); call && isHarmlessCall(call))
    return;
  if (isa<kern::CallOp, kern::CallIndirectOp, kern::OpaqueOp>(op))
    return compileUnknown(node, std::move(operands));
  if (isa<kern::MemoryAccessOpInterface>(op)) {
    if (!llvm::binary_search(overwritten, id))
      compileMemory(node, std::move(operands));
    return;
  }
  if (op->getNumSuccessors() != 0) {
    if (isa<kern::CondBranchOp, kern::SwitchOp>(op)) {
      node.code = Code::Condition;
      steer(in.take_front(1));
      push(node, operands);
    }
    return;
  }
  if (node.numResults == 0) {
    // Waits, fences and the like: their operands steer, they carry no data.
    if (!in.empty() || guard != kNone) {
      node.code = Code::Condition;
      steer(in);
      push(node, operands);
    }
    return;
  }
  // What comes out the same whatever goes in carries nothing.
  bool isConstant = true;
  for (uint32_t i = 0; i < node.numResults; ++i)
    isConstant &= constants.get(node.result + i).has_value();
  if (isConstant)
    return;
  if (isa<kern::SelectOp>(op))
    return compileSelect(node, std::move(operands));
  if (isa<kern::ArithOp>(op))
    return compileArith(node, std::move(operands));
  auto lanes = dyn_cast<kern::WarpReduceOp>(op);
  bool isSum = lanes && lanes.getOp() == kern::AtomicFunction::Add;
  if (isSum || isa<kern::ShuffleOp>(op)) {
    node.code = isSum ? Code::LaneSum : Code::Union;
    node.a = addValues(in.take_front(1));
    steer(in.drop_front(std::min<size_t>(1, in.size())));
  } else if (isa<kern::AddressQueryOp, kern::CreatePolicyOp,
                 kern::LaunchQueryOp, kern::MBarrierPendingOp>(op)) {
    node.code = Code::Condition;
    steer(in);
  } else if (auto math = dyn_cast<kern::MathOp>(op);
             math && math.getKind() == kern::MathKind::Div && in.size() >= 2) {
    node.zeroB = isInfinity(constants, in[1], math.getType());
    node.code = node.zeroB ? Code::Mul : Code::Div;
    node.a = addValues(in.take_front(1));
    node.b = addValues(in.drop_front(1));
  } else {
    node.a = addValues(in);
  }
  push(node, operands);
}

void DataFlow::addCopy(ValueId result, llvm::ArrayRef<ValueId> sources) {
  Node node;
  node.code = Code::Phi;
  node.a = addValues(sources);
  node.result = result;
  node.numResults = 1;
  nodes.push_back(node);
}

void DataFlow::compile(llvm::ArrayRef<BlockId> order) {
  nodes.reserve(index.getNumOps());
  pool.reserve(index.getNumOps() * 4);
  for (BlockId block : order) {
    ValueId first = index.getFirstArg(block);
    for (uint32_t i = 0, e = index.getNumArgs(block); i < e; ++i) {
      llvm::SmallVector<ValueId, 4> sources;
      for (const KernelIndex::Incoming &in : index.getIncoming(first + i))
        if (in.value != kNone && constants.isExecutableEdge(in.edge))
          sources.push_back(in.value);
      if (!sources.empty())
        addCopy(first + i, sources);
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
      for (uint32_t i = 0; i < count; ++i)
        addCopy(index.getFirstResult(op) + i, old[i]);
    }
  }
}
