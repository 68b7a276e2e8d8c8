// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers operations, blocks and values of a function once, in layout order.

#include "d2k/Analysis/KernelIndex.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

FlatLists
FlatLists::invert(uint32_t rows,
                  llvm::ArrayRef<std::pair<uint32_t, uint32_t>> pairs) {
  FlatLists result;
  result.begin.assign(rows + 1, 0);
  for (auto [from, to] : pairs)
    ++result.begin[to + 1];
  for (uint32_t row = 0; row < rows; ++row)
    result.begin[row + 1] += result.begin[row];
  result.data.resize(pairs.size());
  std::vector<uint32_t> next(result.begin.begin(), result.begin.end() - 1);
  for (auto [from, to] : pairs)
    result.data[next[to]++] = from;
  return result;
}

KernelIndex::KernelIndex(kern::FuncOp func) : func(func) {
  Region &body = func.getBody();
  size_t numOps = 0;
  for (Block &block : body) {
    blockIds[&block] = blocks.size();
    blocks.push_back(&block);
    numOps += block.getOperations().size();
  }
  ops.reserve(numOps);
  opBlock.reserve(numOps);
  firstResult.reserve(numOps + 1);
  values.reserve(numOps * 2);
  opIds.reserve(numOps);
  valueIds.reserve(numOps * 2);

  auto addValue = [&](Value value, OpId def, BlockId block) {
    valueIds[value] = values.size();
    values.push_back(value);
    valueDef.push_back(def);
    valueBlock.push_back(block);
  };
  for (BlockId b = 0; b < blocks.size(); ++b) {
    blockBegin.push_back(ops.size());
    firstArg.push_back(values.size());
    for (BlockArgument arg : blocks[b]->getArguments())
      addValue(arg, kNone, b);
    for (Operation &op : *blocks[b]) {
      opIds[&op] = ops.size();
      firstResult.push_back(values.size());
      for (Value result : op.getResults())
        addValue(result, ops.size(), b);
      ops.push_back(&op);
      opBlock.push_back(b);
    }
  }
  blockBegin.push_back(ops.size());
  firstResult.push_back(values.size());

  std::vector<std::pair<uint32_t, uint32_t>> uses, edges;
  guards.assign(ops.size(), kNone);
  guardNegated.assign(ops.size(), false);
  for (OpId op = 0; op < ops.size(); ++op) {
    for (Value operand : ops[op]->getOperands()) {
      ValueId id = getId(operand);
      operands.push(id);
      uses.push_back({op, id});
    }
    operands.endRow();
    if (auto inst = dyn_cast<kern::InstOpInterface>(ops[op]))
      if (Value guard = inst.getGuardValue()) {
        guards[op] = getId(guard);
        guardNegated[op] = inst.isGuardNegated();
      }
  }
  users = FlatLists::invert(values.size(), uses);

  // Edges, and what each passes to the block arguments of its target.
  std::vector<std::pair<ValueId, Incoming>> arrivals;
  uint32_t numEdges = 0;
  for (BlockId b = 0; b < blocks.size(); ++b) {
    firstEdge.push_back(numEdges);
    Operation *terminator = ops[getTerminator(b)];
    auto branch = dyn_cast<BranchOpInterface>(terminator);
    for (unsigned s = 0; s < terminator->getNumSuccessors(); ++s, ++numEdges) {
      BlockId to = getId(terminator->getSuccessor(s));
      successors.push(to);
      edges.push_back({b, to});
      if (branch) {
        SuccessorOperands given = branch.getSuccessorOperands(s);
        for (unsigned i = 0; i < blocks[to]->getNumArguments(); ++i) {
          Value value = i < given.size() ? given[i] : Value();
          ValueId id = value ? getId(value) : kNone;
          passed.push(id);
          arrivals.push_back({firstArg[to] + i, {b, numEdges, id}});
        }
      }
      passed.endRow();
    }
    successors.endRow();
  }
  firstEdge.push_back(numEdges);
  predecessors = FlatLists::invert(blocks.size(), edges);

  incomingBegin.assign(values.size() + 1, 0);
  for (auto &[arg, in] : arrivals)
    ++incomingBegin[arg + 1];
  for (ValueId v = 0; v < values.size(); ++v)
    incomingBegin[v + 1] += incomingBegin[v];
  incoming.resize(arrivals.size());
  std::vector<uint32_t> next(incomingBegin.begin(), incomingBegin.end() - 1);
  for (auto &[arg, in] : arrivals)
    incoming[next[arg]++] = in;
}
