// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inlining of device functions. Callees are finished before their callers, so
// each call is looked at once and a body is cloned as it will stay. The size of
// what that makes is exponential in the depth of the calls, hence the limits.

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Dialect/Kern/Location.h"
#include "d2k/Dialect/Kern/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::kern;

namespace d2k::kern {
#define GEN_PASS_DEF_INLINECALLS
#include "d2k/Dialect/Kern/Transforms/Passes.h.inc"
} // namespace d2k::kern

namespace {

/// A function of the module with its direct calls.
struct Node {
  FuncOp function;
  SmallVector<CallOp> calls;
  /// Functions with a body among the callees, as nodes.
  SmallVector<unsigned> callees;
  bool isRecursive = false;
  /// A kernel, or called by one through others.
  bool isNeeded = false;
  unsigned numOperations = 0;
};

struct InlineCallsPass
    : public d2k::kern::impl::InlineCallsBase<InlineCallsPass> {
  using InlineCallsBase::InlineCallsBase;
  void runOnOperation() override;

private:
  void readCalls();
  /// Callees before callers; marks recursive functions.
  SmallVector<unsigned> sort();
  void markNeeded();
  void inlineInto(Node &caller);
  /// True when types agree, so that the body can take the place of the call.
  static bool fits(CallOp call, FuncOp callee);

  SmallVector<Node> nodes;
  llvm::DenseMap<StringAttr, unsigned> nodeOf;
  /// Operations that inlining has added to the module and may add.
  uint64_t growth = 0, growthLimit = 0;
};

} // namespace

void InlineCallsPass::readCalls() {
  nodes.clear();
  nodeOf.clear();
  for (FuncOp function : getOperation().getOps<FuncOp>()) {
    if (function.isExternal())
      continue;
    nodeOf[function.getSymNameAttr()] = nodes.size();
    nodes.push_back({function, {}, {}});
  }
  for (Node &node : nodes)
    for (Block &block : node.function.getBody()) {
      node.numOperations += block.getOperations().size();
      for (auto call : block.getOps<CallOp>()) {
        node.calls.push_back(call);
        auto it = nodeOf.find(call.getCalleeAttr().getAttr());
        if (it != nodeOf.end())
          node.callees.push_back(it->second);
      }
    }
}

SmallVector<unsigned> InlineCallsPass::sort() {
  // Tarjan's strongly connected components, without recursion: a component is
  // complete after all that it calls.
  SmallVector<unsigned> order, index(nodes.size(), 0), low(nodes.size(), 0),
      open;
  SmallVector<bool> isOpen(nodes.size(), false);
  SmallVector<std::pair<unsigned, unsigned>> stack;
  unsigned next = 1;
  auto enter = [&](unsigned n) {
    index[n] = low[n] = next++;
    open.push_back(n);
    isOpen[n] = true;
    stack.push_back({n, 0});
  };
  for (unsigned root = 0; root < nodes.size(); ++root) {
    if (index[root])
      continue;
    enter(root);
    while (!stack.empty()) {
      auto &[n, callee] = stack.back();
      if (callee < nodes[n].callees.size()) {
        unsigned target = nodes[n].callees[callee++];
        if (!index[target])
          enter(target);
        else if (isOpen[target])
          low[n] = std::min(low[n], index[target]);
        continue;
      }
      unsigned finished = n;
      stack.pop_back();
      if (!stack.empty())
        low[stack.back().first] =
            std::min(low[stack.back().first], low[finished]);
      if (low[finished] != index[finished])
        continue;
      bool isCycle = open.back() != finished ||
                     llvm::is_contained(nodes[finished].callees, finished);
      unsigned member;
      do {
        member = open.pop_back_val();
        isOpen[member] = false;
        nodes[member].isRecursive = isCycle;
        order.push_back(member);
      } while (member != finished);
    }
  }
  return order;
}

void InlineCallsPass::markNeeded() {
  SmallVector<unsigned> work;
  auto mark = [&](unsigned index) {
    if (nodes[index].isNeeded)
      return;
    nodes[index].isNeeded = true;
    work.push_back(index);
  };
  for (unsigned i = 0; i < nodes.size(); ++i)
    if (nodes[i].function.isEntry())
      mark(i);
  while (!work.empty())
    for (unsigned callee : nodes[work.pop_back_val()].callees)
      mark(callee);
}

bool InlineCallsPass::fits(CallOp call, FuncOp callee) {
  return call.getInputs().getTypes() == TypeRange(callee.getArgumentTypes()) &&
         call.getOutputs().getTypes() == TypeRange(callee.getResultTypes());
}

/// Puts the body of \p callee in the place of \p call.
static void inlineCall(CallOp call, FuncOp callee) {
  Block *before = call->getBlock();
  Region *region = before->getParent();
  Location callLoc = call.getLoc();
  OpBuilder builder(call->getContext());
  IRMapping mapping;
  Block &body = callee.getBody().front();
  for (auto [argument, input] :
       llvm::zip(body.getArguments(), call.getInputs()))
    mapping.map(argument, input);

  auto cloneInto = [&](Block &from, Block *to, Block::iterator at) {
    builder.setInsertionPoint(to, at);
    for (Operation &op : from) {
      Operation *clone = builder.clone(op, mapping);
      clone->setLoc(makeInlinedLocation(op.getLoc(), callLoc));
    }
  };

  // A single block goes in between, without a branch.
  auto onlyReturn = callee.getBody().hasOneBlock()
                        ? dyn_cast<ReturnOp>(body.getTerminator())
                        : ReturnOp();
  if (onlyReturn && !call.getGuard()) {
    cloneInto(body, before, Block::iterator(call));
    Operation *clone = call->getPrevNode();
    call.getOutputs().replaceAllUsesWith(clone->getOperands());
    clone->erase();
    call.erase();
    return;
  }

  Block *after = before->splitBlock(call->getNextNode());
  for (Value output : call.getOutputs())
    output.replaceAllUsesWith(after->addArgument(output.getType(), callLoc));
  for (Block &block : callee.getBody()) {
    auto *clone = new Block();
    region->getBlocks().insert(Region::iterator(after), clone);
    mapping.map(&block, clone);
    if (&block == &body)
      continue;
    for (BlockArgument argument : block.getArguments())
      mapping.map(
          argument,
          clone->addArgument(argument.getType(),
                             makeInlinedLocation(argument.getLoc(), callLoc)));
  }
  // Operands may be defined in blocks that come later: they are mapped once
  // everything is there.
  for (Block &block : callee.getBody()) {
    Block *clone = mapping.lookup(&block);
    cloneInto(block, clone, clone->end());
  }
  for (Block &block : callee.getBody())
    for (Operation &op : *mapping.lookup(&block))
      for (OpOperand &operand : op.getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
  for (Block &block : callee.getBody()) {
    Block *clone = mapping.lookup(&block);
    if (auto end = dyn_cast<ReturnOp>(clone->getTerminator())) {
      builder.setInsertionPoint(end);
      BranchOp::create(builder, end.getLoc(), end.getValues(), after);
      end.erase();
    }
  }

  builder.setInsertionPoint(call);
  Block *start = mapping.lookup(&body);
  if (Value guard = call.getGuard()) {
    SmallVector<Value> old(call.getOld());
    bool isNegated = call.getGuardNegated();
    SmallVector<Value> none;
    CondBranchOp::create(builder, callLoc, guard, isNegated ? old : none,
                         isNegated ? none : old, /*uniform=*/false,
                         isNegated ? after : start, isNegated ? start : after);
  } else {
    BranchOp::create(builder, callLoc, ValueRange(), start);
  }
  call.erase();
}

void InlineCallsPass::inlineInto(Node &caller) {
  SmallVector<std::pair<CallOp, FuncOp>> chosen;
  for (CallOp call : caller.calls) {
    auto it = nodeOf.find(call.getCalleeAttr().getAttr());
    if (it == nodeOf.end())
      continue;
    Node &callee = nodes[it->second];
    auto keep = [&] {
      // At the location alone: a remark on the operation prints it, which
      // numbers every value of the caller, once a call.
      return emitRemark(call.getLoc(), "call of @")
             << call.getCallee() << " stays: ";
    };
    if (callee.isRecursive) {
      keep() << "the function is recursive";
      continue;
    }
    if (!fits(call, callee.function)) {
      keep() << "its types differ from those of the function";
      continue;
    }
    unsigned size = caller.numOperations + callee.numOperations;
    if (size > maxOperations) {
      keep() << '@' << caller.function.getSymName() << " would have " << size
             << " operations, more than max-ops=" << unsigned(maxOperations);
      continue;
    }
    if (growth + callee.numOperations > growthLimit) {
      keep() << "inlining has added " << growth
             << " operations to the module, and the " << callee.numOperations
             << " of the function would be more than the limit of "
             << growthLimit;
      continue;
    }
    chosen.push_back({call, callee.function});
    caller.numOperations = size;
    growth += callee.numOperations;
  }
  // The last first: what is behind a call moves to a new block, and then is not
  // moved again.
  for (auto [call, callee] : llvm::reverse(chosen))
    inlineCall(call, callee);
}

void InlineCallsPass::runOnOperation() {
  readCalls();
  SmallVector<unsigned> order = sort();
  markNeeded();
  constexpr uint64_t kGrowthFactor = 16;
  uint64_t total = 0;
  for (const Node &node : nodes)
    total += node.numOperations;
  growth = 0;
  growthLimit = std::max<uint64_t>(maxGrowth, kGrowthFactor * total);
  for (unsigned index : order)
    if (nodes[index].isNeeded)
      inlineInto(nodes[index]);
}
