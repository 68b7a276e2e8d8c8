// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Residue takes from control: the conditions that choose, the cycles of
// values that loops carry along, and what is zero when every product is.

#include "d2k/Analysis/Residue.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using Code = DataFlow::Code;

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// The condition that `block` ends with; null when it has one way on.
static Value getCondition(const KernelIndex &index, BlockId block) {
  Operation *end = index.getOp(index.getTerminator(block));
  if (auto branch = dyn_cast<kern::CondBranchOp>(end))
    return branch.getCondition();
  if (auto table = dyn_cast<kern::SwitchOp>(end))
    return table.getIndex();
  return {};
}

void Residue::findConditions() {
  size_t numBlocks = index.getNumBlocks();
  chosenBy.resize(numBlocks);
  runsUnder.resize(numBlocks);
  endedBy.resize(loops.getLoops().size());
  auto hasChoice = [&](BlockId block) {
    return block < numBlocks && dominance.getSuccessors(block).size() > 1 &&
           getCondition(index, block);
  };
  auto leaves = [&](uint32_t loop, BlockId block) {
    return llvm::any_of(dominance.getSuccessors(block), [&](BlockId next) {
      return next >= numBlocks || !loops.contains(loop, next);
    });
  };
  for (auto [number, loop] : llvm::enumerate(loops.getLoops()))
    for (BlockId block : loop.blocks)
      if (hasChoice(block) && leaves(number, block))
        endedBy[number].push_back(index.getId(getCondition(index, block)));
  llvm::BitVector stores(numBlocks);
  for (const Node &node : flow.getNodes())
    if (node.code == Code::Store || node.code == Code::Update)
      stores.set(getBlock(node));
  std::vector<uint32_t> seen(numBlocks, kNone);
  std::vector<BlockId> region;
  for (BlockId block : dominance.getOrder()) {
    if (block >= numBlocks)
      continue;
    // What decides whether the block runs.
    for (BlockId above = dominance.getImmediateDominator(block); above != kNone;
         above = dominance.getImmediateDominator(above))
      if (hasChoice(above) && !dominance.postDominates(block, above))
        runsUnder[block].push_back(index.getId(getCondition(index, above)));
    if (index.getNumArgs(block) == 0)
      continue;
    // What decides by which way it is entered: choices behind the block that
    // dominates it whose ways do not meet again before.
    BlockId top = dominance.getImmediateDominator(block);
    uint32_t loop = loops.getInnermost(block);
    bool isHeader = loop != kNone && loops.getLoop(loop).header == block;
    region.clear();
    auto enter = [&](BlockId from) {
      if (from < numBlocks && from != block && seen[from] != block) {
        seen[from] = block;
        region.push_back(from);
      }
    };
    for (BlockId from : dominance.getPredecessors(block))
      enter(from);
    for (size_t i = 0; i < region.size(); ++i)
      if (region[i] != top)
        for (BlockId from : dominance.getPredecessors(region[i]))
          enter(from);
    for (BlockId from : region) {
      if (!hasChoice(from))
        continue;
      // How often a loop runs is no choice between the ways into it.
      if (isHeader && (!loops.contains(loop, from) || leaves(loop, from)))
        continue;
      BlockId meet = dominance.getImmediatePostDominator(from);
      if (meet < numBlocks && meet != block && seen[meet] == block)
        continue;
      chosenBy[block].push_back(index.getId(getCondition(index, from)));
    }
  }
}

void Residue::findCycles() {
  // The values that each value is made from, as far as they are data.
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (const Node &node : flow.getNodes()) {
    auto add = [&](llvm::ArrayRef<uint32_t> from) {
      for (ValueId value : from)
        for (uint32_t i = 0; i < node.numResults; ++i)
          edges.push_back({value, node.result + i});
    };
    if (node.code == Code::Product) {
      add(flow.get(node.c).take_front(node.numAccumulators));
      add(flow.get(node.old));
      continue;
    }
    for (DataFlow::Span span : {node.a, node.b, node.c, node.control, node.old})
      add(flow.get(span));
    if (node.op == kNone && index.getDef(node.result) == kNone)
      add(chosenBy[index.getDefBlock(node.result)]);
  }
  uint32_t numValues = index.getNumValues();
  FlatLists from = FlatLists::invert(numValues, edges);
  // Tarjan's algorithm, with its own stack.
  cycles.assign(numValues, kNone);
  std::vector<uint32_t> number(numValues, kNone), low(numValues, 0);
  std::vector<bool> onStack(numValues, false);
  std::vector<ValueId> stack;
  std::vector<std::pair<ValueId, uint32_t>> work;
  uint32_t next = 0;
  for (ValueId root = 0; root < numValues; ++root) {
    if (number[root] != kNone)
      continue;
    work.push_back({root, 0});
    while (!work.empty()) {
      auto &[value, at] = work.back();
      if (at == 0) {
        number[value] = low[value] = next++;
        stack.push_back(value);
        onStack[value] = true;
      }
      llvm::ArrayRef<uint32_t> others = from[value];
      if (at < others.size()) {
        ValueId other = others[at++];
        if (number[other] == kNone)
          work.push_back({other, 0});
        else if (onStack[other])
          low[value] = std::min(low[value], number[other]);
        continue;
      }
      ValueId done = value;
      work.pop_back();
      if (!work.empty())
        low[work.back().first] = std::min(low[work.back().first], low[done]);
      if (low[done] != number[done])
        continue;
      size_t size = stack.size();
      while (stack[size - 1] != done)
        --size;
      llvm::ArrayRef<ValueId> members =
          llvm::ArrayRef(stack).drop_front(size - 1);
      bool isCycle = members.size() > 1 || llvm::is_contained(from[done], done);
      llvm::SmallVector<uint32_t, 1> carried;
      for (ValueId member : members) {
        onStack[member] = false;
        if (!isCycle)
          continue;
        cycles[member] = cycleLoops.size();
        BlockId block = index.getDefBlock(member);
        uint32_t loop = loops.getInnermost(block);
        if (index.getDef(member) == kNone && loop != kNone &&
            loops.getLoop(loop).header == block &&
            !llvm::is_contained(carried, loop))
          carried.push_back(loop);
      }
      if (isCycle)
        cycleLoops.push_back(carried);
      stack.resize(size - 1);
    }
  }
}

//===----------------------------------------------------------------------===//
// What is zero
//===----------------------------------------------------------------------===//

bool Residue::areZero(DataFlow::Span span) const {
  return llvm::all_of(flow.get(span), [&](ValueId v) { return zero[v]; });
}

bool Residue::isZeroAfter(const Node &node) const {
  auto any = [&](DataFlow::Span span) {
    return llvm::any_of(flow.get(span), [&](ValueId v) { return zero[v]; });
  };
  auto first = [&](size_t count) {
    llvm::ArrayRef<uint32_t> in = flow.get(node.a);
    return llvm::all_of(in.take_front(std::min(count, in.size())),
                        [&](ValueId v) { return zero[v]; });
  };
  switch (node.code) {
  case Code::Phi:
  case Code::Select:
  case Code::LaneSum:
  case Code::Div:
  case Code::Store:
    return areZero(node.a);
  case Code::Add:
    return areZero(node.a) && areZero(node.b);
  case Code::Mul:
    return node.zeroA || node.zeroB || any(node.a) || any(node.b);
  case Code::Fma:
    return (node.zeroA || node.zeroB || any(node.a) || any(node.b)) &&
           areZero(node.c);
  case Code::Product:
    return llvm::all_of(flow.get(node.c).take_front(node.numAccumulators),
                        [&](ValueId v) { return zero[v]; });
  case Code::Load:
  case Code::Copy: {
    if (node.readsInput || node.readsUnknown || node.readA.size == 0)
      return false;
    for (const AccessInfo &access : memory.getAccessesOf(node.op))
      for (RootId root : access.roots)
        if (auto object =
                dyn_cast_or_null<kern::ObjectOp>(memory.getRoot(root).symbol))
          if (object.getInitialized() && !object.getZero())
            return false;
    return llvm::all_of(flow.get(node.readA),
                        [&](CellId cell) { return zeroCell[cell]; });
  }
  case Code::Union:
    break;
  default:
    return false;
  }
  Operation *op = index.getOp(node.op);
  if (auto arith = dyn_cast<kern::ArithOp>(op)) {
    switch (arith.getKind()) {
    case ArithKind::And:
      return any(node.a) || any(node.b);
    case ArithKind::Or:
    case ArithKind::Xor:
    case ArithKind::Min:
    case ArithKind::Max:
      return areZero(node.a) && areZero(node.b);
    case ArithKind::Prmt:
    case ArithKind::Bfi:
    case ArithKind::ShfLeft:
    case ArithKind::ShfRight:
      return first(2);
    case ArithKind::Lop3: {
      llvm::ArrayRef<uint32_t> in = flow.get(node.a);
      std::optional<uint64_t> table =
          in.size() > 3 ? constants.get(in[3]) : std::nullopt;
      return table && !(*table & 1) && first(3);
    }
    case ArithKind::Neg:
    case ArithKind::Abs:
    case ArithKind::Shl:
    case ArithKind::Shr:
    case ArithKind::Bfe:
    case ArithKind::Brev:
    case ArithKind::Popc:
    case ArithKind::Rem:
      return first(1);
    default:
      return false;
    }
  }
  if (auto math = dyn_cast<kern::MathOp>(op))
    return (math.getKind() == kern::MathKind::Tanh ||
            math.getKind() == kern::MathKind::Sin ||
            math.getKind() == kern::MathKind::Sqrt) &&
           areZero(node.a);
  return isa<kern::ConvertOp, kern::PackOp, kern::UnpackOp, kern::ShuffleOp,
             kern::WarpReduceOp>(op) &&
         areZero(node.a);
}

void Residue::solveZero() {
  zero.assign(index.getNumValues(), false);
  zeroCell.assign(flow.getNumCells(), true);
  for (ValueId value = 0; value < index.getNumValues(); ++value) {
    OpId def = index.getDef(value);
    zero[value] = constants.get(value) == uint64_t(0) ||
                  (def != kNone && isa<kern::UndefOp>(index.getOp(def)));
  }
  for (const Node &node : flow.getNodes())
    for (uint32_t i = 0; i < node.numResults; ++i)
      zero[node.result + i] = true;
  // A value that a terminator makes itself may be anything.
  for (BlockId block = 0; block < index.getNumBlocks(); ++block)
    for (uint32_t i = 0; i < index.getNumArgs(block); ++i)
      if (llvm::any_of(index.getIncoming(index.getFirstArg(block) + i),
                       [](const auto &in) { return in.value == kNone; }))
        zero[index.getFirstArg(block) + i] = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node &node : flow.getNodes()) {
      if (!isZeroAfter(node) || !areZero(node.old))
        for (uint32_t i = 0; i < node.numResults; ++i) {
          changed |= zero[node.result + i];
          zero[node.result + i] = false;
        }
      bool writesZero =
          node.code == Code::Product ||
          (node.code == Code::Update ? areZero(node.a) : isZeroAfter(node));
      if (!writesZero)
        for (CellId cell : flow.get(node.written)) {
          changed |= zeroCell[cell];
          zeroCell[cell] = false;
        }
    }
  }
}
