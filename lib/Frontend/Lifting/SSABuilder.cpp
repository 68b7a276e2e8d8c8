// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of variables along the dominator tree. What a subtree defines is taken
// back when the walk leaves it, so that one array of current values suffices.

#include "d2k/Frontend/Lifting/SSABuilder.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;

SSABuilder::SSABuilder(kern::FuncOp op, LiftStatistics &statistics)
    : op(op), statistics(statistics) {}

LogicalResult SSABuilder::prepare(const FlowGraph &graph, uint32_t entry,
                                  const BlockAccesses &accesses) {
  phis = placePhis(graph, getNumVariables(), accesses);
  uint64_t phiOperands = 0;
  for (uint32_t index = 0; index < graph.size(); ++index)
    phiOperands +=
        uint64_t(phis[index].size()) * graph.predecessors(index).size();
  if (phiOperands > kMaxPhiOperands)
    return emitError(op.getLoc())
           << "function '" << op.getSymName() << "' passes " << phiOperands
           << " values along its branches, more than " << kMaxPhiOperands
           << "; split it, or declare registers in the scopes that use them";
  crossesBlocks.assign(types.size(), false);
  for (auto [variable, index] : accesses.uses)
    crossesBlocks[variable] = true;
  current.assign(types.size(), Value());

  Region &body = op.getBody();
  blocks.assign(graph.size(), nullptr);
  auto make = [&](uint32_t index) {
    auto *made = new Block();
    body.push_back(made);
    blocks[index] = made;
    for (uint32_t variable : phis[index])
      made->addArgument(types[variable], op.getLoc());
    statistics.blockArguments += phis[index].size();
    ++statistics.blocks;
  };
  make(entry);
  entryBlock = block = blocks[entry];
  for (uint32_t index = 0; index < graph.size(); ++index)
    if (index != entry && graph.isReachable(index))
      make(index);
  return success();
}

void SSABuilder::walk(const FlowGraph &graph, uint32_t entry,
                      llvm::function_ref<void(uint32_t)> lift) {
  struct Frame {
    uint32_t index;
    uint32_t next;
    size_t undo;
  };
  auto enter = [&](uint32_t index) {
    block = blocks[index];
    for (auto [i, variable] : llvm::enumerate(phis[index]))
      write(variable, block->getArgument(i));
    lift(index);
  };
  std::vector<Frame> stack = {{entry, 0, 0}};
  enter(entry);
  while (!stack.empty()) {
    Frame &frame = stack.back();
    ArrayRef<uint32_t> children = graph.dominated(frame.index);
    if (frame.next < children.size()) {
      uint32_t child = children[frame.next++];
      stack.push_back({child, 0, undoLog.size()});
      enter(child);
      continue;
    }
    for (; undoLog.size() > frame.undo; undoLog.pop_back())
      current[undoLog.back().first] = undoLog.back().second;
    stack.pop_back();
  }
}

Value SSABuilder::read(uint32_t variable) {
  if (Value value = current[variable])
    return value;
  Value &value = undefinedVariables[variable];
  if (!value) {
    OpBuilder builder(op.getContext());
    auto undef = kern::UndefOp::create(builder, op.getLoc(), types[variable]);
    insertInPrologue(undef);
    value = undef;
  }
  return value;
}

void SSABuilder::write(uint32_t variable, Value value) {
  if (crossesBlocks[variable])
    undoLog.push_back({variable, current[variable]});
  current[variable] = value;
}

void SSABuilder::appendPhiOperands(uint32_t successor,
                                   SmallVectorImpl<Value> &values) {
  for (uint32_t variable : phis[successor])
    values.push_back(read(variable));
}

void SSABuilder::append(Operation *created) {
  block->push_back(created);
  if (block == entryBlock && !prologueEnd)
    prologueEnd = created;
  ++statistics.operations;
}

void SSABuilder::insertInPrologue(Operation *created) {
  if (prologueEnd)
    entryBlock->getOperations().insert(Block::iterator(prologueEnd), created);
  else
    entryBlock->push_back(created);
  ++statistics.operations;
}

Value SSABuilder::constant(uint64_t bits, IntegerType type, bool isSigned) {
  unsigned width = type.getWidth();
  if (width < 64)
    bits &= (uint64_t(1) << width) - 1;
  // Wider than 64 bits, the two readings of the top bit differ.
  bool extends = width > 64 && isSigned && static_cast<int64_t>(bits) < 0;
  Value &value = constants[{bits, 2 * width + extends}];
  if (!value) {
    OpBuilder builder(op.getContext());
    auto made = kern::ConstantOp::create(
        builder, op.getLoc(), type,
        IntegerAttr::get(type, APInt(width, bits, extends)));
    insertInPrologue(made);
    value = made;
  }
  return value;
}

Value SSABuilder::undefined(IntegerType type) {
  Value &value = undefinedTypes[type.getWidth()];
  if (!value) {
    OpBuilder builder(op.getContext());
    auto made = kern::UndefOp::create(builder, op.getLoc(), type);
    insertInPrologue(made);
    value = made;
  }
  return value;
}
