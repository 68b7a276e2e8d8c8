// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two forward passes over the nodes of DataFlow, one from the main products on,
// one from the loads up to them: first what is on a way at all, then what each
// node does to it, then the greatest "must" and the least "may".

#include "d2k/Analysis/AppliedOperations.h"

#include "NarrowElements.h"
#include "Neighbours.h"
#include "ValueSlice.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::ElementType;
using Code = DataFlow::Code;

/// Passes in which "must" grows; each is certain by itself.
static constexpr unsigned kMaxUpward = 4;

AppliedOperations::AppliedOperations(
    const KernelIndex &index, const ConstantValues &constants,
    const Dominance &dominance, const LoopNest &loops,
    const MemoryRoots &memory, const SharedObjects &objects,
    const DataFlow &flow, const Provenance &provenance,
    const MainRegion &region)
    : index(index), constants(constants), dominance(dominance), loops(loops),
      memory(memory), objects(objects), flow(flow), provenance(provenance),
      region(region) {
  productOps.resize(index.getNumOps());
  findProducts();
  if (!known || products.empty())
    return;
  findPlaces();
  for (bool epilogue : {true, false}) {
    Ways &ways = epilogue ? after : before;
    spread(ways, epilogue);
    classify(ways, epilogue);
    solve(ways, epilogue);
  }
}

/// Finds where a product can still follow in the same pass, and what has a copy
/// inside the loop of products.
void AppliedOperations::findPlaces() {
  productAhead.resize(index.getNumBlocks());
  std::map<std::pair<BlockId, uint32_t>, llvm::BitVector> reaching;
  llvm::DenseSet<BlockId> blocks;
  for (OpId op : products)
    blocks.insert(index.getBlockOf(op));
  /// The blocks that lead to `to` without starting `around` anew.
  auto reach = [&](BlockId to, uint32_t around) -> const llvm::BitVector & {
    auto [it, isNew] = reaching.try_emplace({to, around});
    llvm::BitVector &seen = it->second;
    if (!isNew)
      return seen;
    seen.resize(index.getNumBlocks());
    BlockId stop = around == kNone ? kNone : loops.getLoop(around).header;
    std::vector<BlockId> stack{to};
    while (!stack.empty()) {
      BlockId block = stack.back();
      stack.pop_back();
      if (block == stop)
        continue;
      for (BlockId from : dominance.getPredecessors(block))
        if (from < seen.size() && !seen.test(from)) {
          seen.set(from);
          stack.push_back(from);
        }
    }
    return seen;
  };
  for (BlockId block : dominance.getOrder())
    for (BlockId to : blocks) {
      uint32_t common = loops.getInnermost(block);
      while (common != kNone && !loops.contains(common, to))
        common = loops.getLoop(common).parent;
      // In the block itself, the order of operations decides.
      if (block != to && reach(to, common).test(block))
        productAhead.set(block);
    }

  findCopies();
  findPasses();
}

bool AppliedOperations::isAfterProducts(OpId op) const {
  BlockId block = index.getBlockOf(op);
  if (peeled.test(op) || productAhead.test(block))
    return false;
  // The last product up to the end of the block.
  auto last = llvm::lower_bound(products, index.getOps(block).second);
  if (last != products.begin() && *std::prev(last) > op)
    return false;
  // A loop of products that stores nothing: what it does to its sums belongs
  // to the sum.
  for (uint32_t loop = loops.getInnermost(block); loop != kNone;
       loop = loops.getLoop(loop).parent) {
    if (!region.isMainLoop(loop))
      continue;
    auto inLoop = [&](OpId other) {
      return loops.contains(loop, index.getBlockOf(other));
    };
    bool multiplies = llvm::any_of(products, inLoop);
    bool stores = llvm::any_of(
        provenance.getOutputStores(),
        [&](const OutputStore &store) { return inLoop(store.op); });
    if (multiplies && !stores)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// What is on a way
//===----------------------------------------------------------------------===//

bool AppliedOperations::isOn(const Ways &ways, DataFlow::Span values) const {
  return llvm::any_of(flow.get(values),
                      [&](ValueId value) { return ways.onValue[value]; });
}

bool AppliedOperations::isOnCell(const Ways &ways, DataFlow::Span cells) const {
  return llvm::any_of(flow.get(cells),
                      [&](CellId cell) { return ways.onCell[cell]; });
}

bool AppliedOperations::isWay(CellId cell) const {
  if (flow.isObject(cell)) {
    DataFlow::SpaceSlot slot =
        DataFlow::getSlot(memory.getObjects()[cell].space);
    return slot != DataFlow::SlotGlobal && slot != DataFlow::SlotAny;
  }
  for (DataFlow::SpaceSlot slot :
       {DataFlow::SlotShared, DataFlow::SlotLocal, DataFlow::SlotTensor})
    if (cell == flow.getStray(slot) || cell == flow.getWhole(slot))
      return true;
  return false;
}

void AppliedOperations::spread(Ways &ways, bool epilogue) const {
  ways.onValue.assign(index.getNumValues(), false);
  ways.onCell.assign(flow.getNumCells(), false);
  // What registers carry away from the products is no loaded data any more.
  std::vector<bool> summed(index.getNumValues(), false);
  auto tensorCells = [&](DataFlow::Span cells, auto fn) {
    for (CellId cell : flow.get(cells))
      if (flow.isObject(cell) &&
          memory.getObjects()[cell].space == kern::Space::TensorMemory)
        fn(cell);
  };
  llvm::DenseSet<CellId> sums;
  for (OpId op : products) {
    const Node *node = flow.find(op);
    if (!node)
      continue;
    for (uint32_t i = 0; i < node->numResults; ++i) {
      summed[node->result + i] = true;
      if (epilogue)
        ways.onValue[node->result + i] = true;
    }
    tensorCells(node->written, [&](CellId cell) {
      sums.insert(cell);
      if (epilogue)
        ways.onCell[cell] = true;
    });
  }
  bool changed = true;
  while (changed && !epilogue) {
    changed = false;
    for (const Node &node : flow.getNodes()) {
      if (node.numResults == 0 || summed[node.result])
        continue;
      bool from = false;
      for (DataFlow::Span span : {node.a, node.b, node.c, node.old})
        from |= llvm::any_of(flow.get(span),
                             [&](ValueId value) { return summed[value]; });
      if (node.code == Code::Load)
        tensorCells(node.readA,
                    [&](CellId cell) { from |= sums.contains(cell); });
      if (!from)
        continue;
      for (uint32_t i = 0; i < node.numResults; ++i)
        summed[node.result + i] = true;
      changed = true;
    }
  }
  changed = true;
  while (changed) {
    changed = false;
    for (const Node &node : flow.getNodes()) {
      if (node.op != kNone && isProduct(node.op))
        continue;
      bool on = isOn(ways, node.a) || isOn(ways, node.c) ||
                isOn(ways, node.old) || isOnCell(ways, node.readA) ||
                isOnCell(ways, node.readB);
      if (node.code != Code::Select)
        on |= isOn(ways, node.b);
      if (!epilogue)
        on |= node.readsInput;
      if (!on)
        continue;
      for (uint32_t i = 0; i < node.numResults; ++i) {
        ValueId result = node.result + i;
        if (ways.onValue[result] || (!epilogue && summed[result]))
          continue;
        ways.onValue[result] = true;
        changed = true;
      }
      bool written = node.code == Code::Copy || isOn(ways, node.a);
      for (CellId cell : flow.get(node.written))
        if (written && isWay(cell) && !ways.onCell[cell]) {
          ways.onCell[cell] = true;
          changed = true;
        }
    }
  }
}

//===----------------------------------------------------------------------===//
// What operations do
//===----------------------------------------------------------------------===//

bool AppliedOperations::isFactorOfOne(ValueId value, ElementType type) const {
  std::optional<uint64_t> bits = constants.get(value);
  if (!bits)
    return false;
  switch (type) {
  case ElementType::F32:
    return *bits == 0x3f800000;
  case ElementType::F32X2:
    return *bits == 0x3f8000003f800000;
  case ElementType::F64:
    return *bits == 0x3ff0000000000000;
  case ElementType::F16:
    return *bits == 0x3c00;
  case ElementType::F16X2:
    return *bits == 0x3c003c00;
  case ElementType::BF16:
    return *bits == 0x3f80;
  case ElementType::BF16X2:
    return *bits == 0x3f803f80;
  default:
    return !kern::isFloat(type) && *bits == 1;
  }
}

/// Whether `arith`, a maximum or minimum, returns its other operand: one is an
/// infinity, or the number beyond which only that lies; or both are the same.
static bool isUnbounded(const KernelIndex &index,
                        const ConstantValues &constants, kern::ArithOp arith,
                        OpId op) {
  if (arith.getKind() != ArithKind::Min && arith.getKind() != ArithKind::Max)
    return false;
  llvm::ArrayRef<ValueId> in = index.getOperands(op);
  if (in.size() != 2)
    return false;
  if (in[0] == in[1])
    return true;
  // Infinity in the format; what stands before it is the largest number.
  uint64_t infinity = 0, sign = 0;
  switch (arith.getType()) {
  case ElementType::F32:
    infinity = 0x7f800000, sign = 0x80000000;
    break;
  case ElementType::F64:
    infinity = 0x7ff0000000000000, sign = 0x8000000000000000;
    break;
  case ElementType::F16:
    infinity = 0x7c00, sign = 0x8000;
    break;
  case ElementType::F16X2:
    infinity = 0x7c007c00, sign = 0x80008000;
    break;
  case ElementType::BF16:
    infinity = 0x7f80, sign = 0x8000;
    break;
  case ElementType::BF16X2:
    infinity = 0x7f807f80, sign = 0x80008000;
    break;
  default:
    return false;
  }
  if (arith.getKind() == ArithKind::Max)
    infinity |= sign;
  bool isPair = arith.getType() == ElementType::F16X2 ||
                arith.getType() == ElementType::BF16X2;
  uint64_t largest = infinity - (isPair ? 0x00010001 : 1);
  return llvm::any_of(in, [&](ValueId value) {
    std::optional<uint64_t> bits = constants.get(value);
    return bits == infinity || bits == largest;
  });
}

Tristate AppliedOperations::bringsInput(ValueId value) const {
  std::vector<OpId> loads = findLoads(value);
  if (loads.empty())
    return Tristate::No;
  Tristate result = Tristate::Yes;
  for (OpId load : loads) {
    uint32_t first = memory.getFirstAccess(load);
    for (auto [i, info] : llvm::enumerate(memory.getAccessesOf(load))) {
      if (!info.access.read)
        continue;
      // Operands of many operations are loaded at one place.
      auto [it, isNew] = broughtBy.try_emplace(first + i);
      if (isNew)
        it->second = readsInput(first + i);
      result = std::min(result, it->second);
    }
  }
  return result;
}

Tristate AppliedOperations::readsInput(uint32_t access) const {
  const AccessInfo &info = memory.getAccesses()[access];
  // Global memory that this kernel fills too may hold another block's sums.
  if (info.isGlobal())
    return Tristate::Unknown;
  auto rootsOf = [&](OpId op) {
    llvm::SmallVector<RootId, 2> roots;
    for (const AccessInfo &info : memory.getAccessesOf(op))
      if (info.access.read && !info.access.barrier)
        llvm::append_range(roots, info.roots);
    return roots;
  };
  bool fed = false, filled = false, brought = false;
  llvm::SmallVector<OpId, 4> copies;
  llvm::SmallVector<RootId, 4> mainRoots;
  for (uint32_t number : getNeighbours(memory, objects, access)) {
    const AccessInfo &other = memory.getAccesses()[number];
    bool inMain = region.contains(other.op) != Tristate::No;
    if (other.access.read)
      fed |= isProduct(other.op) ||
             (inMain && !isAfterProducts(other.op) && other.op != info.op);
    const Node *writer = flow.find(other.op);
    if (!other.access.write || !writer)
      continue;
    if (writer->code == Code::Store)
      filled |= llvm::any_of(flow.get(writer->a), [&](ValueId stored) {
        return provenance.getTerms(stored).isPlain();
      });
    if (writer->code != Code::Copy || !writer->readsInput)
      continue;
    filled = true;
    if (inMain)
      llvm::append_range(mainRoots, rootsOf(other.op));
    copies.push_back(other.op);
  }
  // A copy from what the products do not read, where they do not run; or
  // memory that they never read.
  for (OpId copy : copies) {
    llvm::SmallVector<RootId, 2> from = rootsOf(copy);
    bool apart = region.contains(copy) == Tristate::No && !from.empty() &&
                 llvm::none_of(from, [&](RootId root) {
                   return llvm::is_contained(mainRoots, root);
                 });
    brought |= !fed || apart;
  }
  return brought ? Tristate::Yes : filled ? Tristate::Unknown : Tristate::No;
}

void AppliedOperations::classifyNode(Ways &ways, const Node &node,
                                     uint32_t number, bool epilogue) const {
  uint8_t does = 0, mayDo = 0;
  bool a = isOn(ways, node.a), b = isOn(ways, node.b), c = isOn(ways, node.c);
  Operation *op = index.getOp(node.op);
  auto arith = dyn_cast<kern::ArithOp>(op);
  ElementType type = arith ? arith.getType() : ElementType::F32;
  auto single = [&](DataFlow::Span span) {
    return flow.get(span).empty() ? kNone : flow.get(span)[0];
  };
  /// The other operand is loaded.
  auto addOperand = [&](DataFlow::Span span) {
    for (ValueId value : flow.get(span)) {
      // What is read from an output may be sums that another block put there.
      bool isSum = epilogue && readsSums(value);
      if (!provenance.getTerms(value).empty() && !isSum)
        does |= AppliedOperand;
      else if (isSum || provenance.isUnknown(value))
        mayDo |= AppliedOperand;
    }
  };
  /// Both come this way: partial sums, or results beside what is added.
  auto addSummand = [&](DataFlow::Span x, DataFlow::Span y) {
    if (!epilogue) {
      does |= AppliedOperand;
      return;
    }
    Tristate brings = std::max(bringsInput(single(x)), bringsInput(single(y)));
    if (brings == Tristate::Yes)
      does |= AppliedOperand;
    else if (brings == Tristate::Unknown)
      mayDo |= AppliedOperand;
  };
  auto multiply = [&] {
    if (a && b) {
      bool same = single(node.a) == single(node.b);
      if (!same && (!epilogue || bringsInput(single(node.a)) == Tristate::Yes ||
                    bringsInput(single(node.b)) == Tristate::Yes))
        does |= AppliedScale;
      else
        does |= AppliedNonlinear;
    } else if (!isFactorOfOne(single(a ? node.b : node.a), type)) {
      does |= AppliedScale;
    }
  };
  switch (node.code) {
  case Code::Add:
    if (a && b)
      addSummand(node.a, node.b);
    else if (a || b)
      addOperand(a ? node.b : node.a);
    break;
  case Code::Mul:
    if (a || b)
      multiply();
    break;
  case Code::Fma:
    if (a || b)
      multiply();
    if ((a || b) && c) {
      addSummand(node.c, node.c);
    } else if (a || b) {
      addOperand(node.c);
    } else if (c) {
      // A product of two loaded values is one more of the sum.
      bool x = !provenance.getTerms(single(node.a)).empty();
      bool y = !provenance.getTerms(single(node.b)).empty();
      if (x != y)
        does |= AppliedOperand;
    }
    break;
  case Code::Div:
    if (b)
      does |= AppliedNonlinear;
    else if (a && !isFactorOfOne(single(node.b), type))
      does |= AppliedScale;
    break;
  case Code::Select:
    if (b)
      does |= AppliedNonlinear;
    break;
  case Code::Union:
    if (isa<kern::MathOp>(op))
      does |= AppliedNonlinear;
    else if (auto convert = dyn_cast<kern::ConvertOp>(op);
             convert && convert.getRelu())
      does |= AppliedNonlinear;
    else if (arith &&
             (arith.getKind() == ArithKind::Min ||
              arith.getKind() == ArithKind::Max ||
              arith.getKind() == ArithKind::Abs) &&
             !isUnbounded(index, constants, arith, node.op))
      does |= AppliedNonlinear;
    break;
  default:
    break;
  }
  if (!epilogue && takesNarrowElements(index, constants, node.op))
    mayDo |= AppliedWidening;
  ways.does[number] = does;
  ways.mayDo[number] = mayDo | does;
}

/// What decides about a join: the comparison, or the branch.
OpId AppliedOperations::getChoice(const Node &node) const {
  BlockId block = index.getDefBlock(node.result);
  OpId branch = index.getTerminator(dominance.getImmediateDominator(block));
  OpId compare = index.getDef(index.getOperands(branch)[0]);
  return compare != kNone ? compare : branch;
}

/// Whether a branch on what comes this way decides which of several functions
/// of it joins here, as a choice would.
bool AppliedOperations::choosesByData(const Ways &ways, const Node &node,
                                      bool epilogue) const {
  BlockId block = index.getDefBlock(node.result);
  llvm::ArrayRef<ValueId> chosen = flow.get(node.a);
  uint32_t loop = loops.getInnermost(block);
  BlockId from = dominance.getImmediateDominator(block);
  if (llvm::all_equal(chosen) || from == kNone ||
      (loop != kNone && loops.getLoop(loop).header == block))
    return false;
  OpId branch = index.getTerminator(from);
  if (!isa<kern::CondBranchOp>(index.getOp(branch)))
    return false;
  ValueId condition = index.getOperands(branch)[0];
  if (!ways.onValue[condition] || (epilogue && !isAfterProducts(branch)))
    return false;
  // Of the same data: a mask that is loaded leaves the rest linear.
  llvm::SetVector<ValueId> of = getSlice(index, constants, condition);
  return llvm::any_of(chosen, [&](ValueId value) {
    return llvm::any_of(getSlice(index, constants, value), [&](ValueId part) {
      return ways.onValue[part] && of.contains(part);
    });
  });
}

void AppliedOperations::classify(Ways &ways, bool epilogue) const {
  size_t count = flow.getNodes().size();
  ways.does.assign(count, 0);
  ways.mayDo.assign(count, 0);
  for (auto [number, node] : llvm::enumerate(flow.getNodes())) {
    if (node.code == Code::Phi && ways.onValue[node.result] &&
        choosesByData(ways, node, epilogue))
      ways.does[number] = ways.mayDo[number] = AppliedNonlinear;
    if (node.op == kNone || isProduct(node.op) || node.numResults == 0)
      continue;
    bool on = ways.onValue[node.result];
    if (on && (!epilogue || isAfterProducts(node.op)))
      classifyNode(ways, node, number, epilogue);
  }
}

void AppliedOperations::solve(Ways &ways, bool epilogue) const {
  ways.must.assign(index.getNumValues(), 0);
  ways.may.assign(index.getNumValues(), 0);
  ways.mustCell.assign(flow.getNumCells(), 0);
  ways.mayCell.assign(flow.getNumCells(), 0);
  for (ValueId value = 0; value < ways.must.size(); ++value)
    if (ways.onValue[value])
      ways.must[value] = 0xff;
  for (CellId cell = 0; cell < ways.mustCell.size(); ++cell)
    if (ways.onCell[cell])
      ways.mustCell[cell] = 0xff;
  // Where the way starts nothing has been done yet.
  auto startValue = [&](ValueId value) { ways.must[value] = 0; };
  if (epilogue)
    for (OpId op : products)
      if (const Node *node = flow.find(op)) {
        for (uint32_t i = 0; i < node->numResults; ++i)
          startValue(node->result + i);
        for (CellId cell : flow.get(node->written))
          ways.mustCell[cell] = 0;
      }
  for (auto [number, node] : llvm::enumerate(flow.getNodes())) {
    bool on = isOnCell(ways, node.written);
    for (uint32_t i = 0; i < node.numResults; ++i)
      on |= ways.onValue[node.result + i];
    if (on)
      ways.nodes.push_back(number);
  }
  // Downwards first, with what all operands have in common; that is certain.
  // From there upwards: a value that is computed from one that went through an
  // operation did so too.
  bool changed = true;
  while (changed)
    changed = sweep(ways, epilogue, /*upwards=*/false);
  for (unsigned round = 0; round < kMaxUpward; ++round)
    if (!sweep(ways, epilogue, /*upwards=*/true))
      break;
}

bool AppliedOperations::sweep(Ways &ways, bool epilogue, bool upwards) const {
  bool changed = false;
  std::vector<uint8_t> cells(ways.mustCell.size(), 0xff);
  for (uint32_t number : ways.nodes) {
    const Node &node = flow.getNodes()[number];
    if (node.op != kNone && isProduct(node.op)) {
      if (epilogue)
        for (CellId cell : flow.get(node.written))
          cells[cell] = 0;
      continue;
    }
    uint8_t common = 0xff, either = 0, may = 0;
    bool any = false;
    auto meet = [&](uint8_t must, uint8_t possible) {
      any = true;
      common &= must;
      either |= must;
      may |= possible;
    };
    auto meetValues = [&](DataFlow::Span span) {
      for (ValueId value : flow.get(span))
        if (ways.onValue[value])
          meet(ways.must[value], ways.may[value]);
    };
    auto meetCells = [&](DataFlow::Span span) {
      for (CellId cell : flow.get(span))
        if (ways.onCell[cell])
          meet(ways.mustCell[cell], ways.mayCell[cell]);
    };
    meetValues(node.a);
    if (node.code != Code::Select)
      meetValues(node.b);
    meetValues(node.c);
    if (!epilogue && node.readsInput)
      meet(0, 0);
    if (node.code == Code::Load || node.code == Code::Copy ||
        node.code == Code::Update) {
      meetCells(node.readA);
      meetCells(node.readB);
    }
    bool computes = node.code == Code::Add || node.code == Code::Mul ||
                    node.code == Code::Fma || node.code == Code::Div;
    uint8_t certain = upwards && computes ? either : common;
    // A guarded instruction may leave the old value.
    llvm::ArrayRef<ValueId> old = flow.get(node.old);
    for (uint32_t i = 0; i < node.numResults; ++i) {
      ValueId result = node.result + i;
      if (!ways.onValue[result])
        continue;
      uint8_t here = any ? certain | ways.does[number] : 0xff;
      uint8_t possible = ways.may[result] | may | ways.mayDo[number];
      if (i < old.size() && ways.onValue[old[i]]) {
        here &= ways.must[old[i]];
        possible |= ways.may[old[i]];
      }
      here = upwards ? here | ways.must[result] : here & ways.must[result];
      changed |= here != ways.must[result] || possible != ways.may[result];
      ways.must[result] = here;
      ways.may[result] = possible;
    }
    if (!any)
      continue;
    for (CellId cell : flow.get(node.written)) {
      if (!ways.onCell[cell])
        continue;
      cells[cell] &= common;
      uint8_t possible = ways.mayCell[cell] | may;
      changed |= possible != ways.mayCell[cell];
      ways.mayCell[cell] = possible;
    }
  }
  for (CellId cell = 0; cell < cells.size(); ++cell) {
    if (!ways.onCell[cell])
      continue;
    uint8_t here = upwards ? cells[cell] | ways.mustCell[cell]
                           : cells[cell] & ways.mustCell[cell];
    changed |= here != ways.mustCell[cell];
    ways.mustCell[cell] = here;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

AppliedWay AppliedOperations::getEpilogue(OpId store) const {
  AppliedWay way;
  const Node *node = flow.find(store);
  if (!node || products.empty() || !known)
    return way;
  uint8_t must = 0xff;
  auto meet = [&](uint8_t certain, uint8_t possible) {
    way.on = true;
    must &= certain;
    way.may |= possible;
  };
  for (ValueId value : flow.get(node->a))
    if (after.onValue[value])
      meet(after.must[value], after.may[value]);
  if (node->code == Code::Copy)
    for (CellId cell : flow.get(node->readA))
      if (after.onCell[cell])
        meet(after.mustCell[cell], after.mayCell[cell]);
  way.must = way.on ? must : 0;
  return way;
}

AppliedWay AppliedOperations::getPrologue(OpId product) const {
  AppliedWay way;
  const Node *node = flow.find(product);
  if (!node || products.empty() || !known)
    return way;
  auto operand = [&](DataFlow::Span values, DataFlow::Span cells) {
    uint8_t must = 0xff;
    bool on = false;
    for (ValueId value : flow.get(values))
      if (before.onValue[value]) {
        on = true;
        must &= before.must[value];
        way.may |= before.may[value];
      }
    for (CellId cell : flow.get(cells))
      if (before.onCell[cell]) {
        on = true;
        must &= before.mustCell[cell];
        way.may |= before.mayCell[cell];
      }
    if (on)
      way.must |= must;
    way.on |= on;
  };
  operand(node->a, node->readA);
  operand(node->b, node->readB);
  return way;
}

llvm::SmallVector<OpId, 8>
AppliedOperations::getOperations(bool epilogue, uint8_t kind) const {
  llvm::SmallVector<OpId, 8> ops;
  const Ways &ways = epilogue ? after : before;
  for (auto [number, node] : llvm::enumerate(flow.getNodes()))
    if (number < ways.does.size() && (ways.mayDo[number] & kind))
      ops.push_back(node.op != kNone ? node.op : getChoice(node));
  llvm::sort(ops);
  ops.erase(llvm::unique(ops), ops.end());
  return ops;
}
