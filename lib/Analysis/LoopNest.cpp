// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dominators of the executable edges; loops from back edges, inner ones
// collapsed with union-find so that nests cost their own size.

#include "d2k/Analysis/LoopNest.h"

#include "d2k/Support/Dominators.h"

#include <algorithm>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

//===----------------------------------------------------------------------===//
// Dominance
//===----------------------------------------------------------------------===//

namespace {
/// Depth-first post-order from `root` over `next`, without recursion.
std::vector<uint32_t> postOrder(uint32_t root, uint32_t numNodes,
                                const FlatLists &next) {
  std::vector<uint32_t> order;
  std::vector<bool> seen(numNodes, false);
  std::vector<std::pair<uint32_t, uint32_t>> stack{{root, 0}};
  seen[root] = true;
  while (!stack.empty()) {
    auto &[node, at] = stack.back();
    llvm::ArrayRef<uint32_t> out = next[node];
    if (at == out.size()) {
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    uint32_t to = out[at++];
    if (!seen[to]) {
      seen[to] = true;
      stack.push_back({to, 0});
    }
  }
  return order;
}

struct Tree {
  std::vector<uint32_t> parent, in, out;
};

/// Immediate dominators of the graph with `root`, and entry and exit times of
/// a walk over their tree: a dominates b when its interval holds b's.
Tree buildTree(uint32_t root, uint32_t numNodes, const FlatLists &successors,
               const FlatLists &predecessors) {
  static_assert(kNone == kNoNode);
  Tree tree;
  tree.parent = findImmediateDominators(
      numNodes, root, [&](uint32_t node) { return successors[node]; },
      [&](uint32_t node) { return predecessors[node]; });
  tree.parent[root] = kNone;

  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t node = 0; node < numNodes; ++node)
    if (tree.parent[node] != kNone)
      edges.push_back({node, tree.parent[node]});
  FlatLists children = FlatLists::invert(numNodes, edges);
  tree.in.assign(numNodes, kNone);
  tree.out.assign(numNodes, 0);
  uint32_t time = 0;
  std::vector<std::pair<uint32_t, uint32_t>> stack{{root, 0}};
  tree.in[root] = time++;
  while (!stack.empty()) {
    auto &[node, at] = stack.back();
    llvm::ArrayRef<uint32_t> below = children[node];
    if (at == below.size()) {
      tree.out[node] = time++;
      stack.pop_back();
      continue;
    }
    uint32_t to = below[at++];
    tree.in[to] = time++;
    stack.push_back({to, 0});
  }
  return tree;
}
} // namespace

Dominance::Dominance(const KernelIndex &index,
                     const ConstantValues &constants) {
  uint32_t numBlocks = index.getNumBlocks();
  // Node `numBlocks` is the virtual exit.
  std::vector<std::pair<uint32_t, uint32_t>> edges, reversed;
  for (BlockId b = 0; b < numBlocks; ++b) {
    llvm::ArrayRef<BlockId> to = index.getSuccessors(b);
    if (constants.isReachable(b)) {
      for (unsigned s = 0; s < to.size(); ++s)
        if (constants.isExecutableEdge(index.getEdge(b, s))) {
          edges.push_back({b, to[s]});
          reversed.push_back({to[s], b});
        }
      if (to.empty()) {
        edges.push_back({b, numBlocks});
        reversed.push_back({numBlocks, b});
      }
    }
  }
  predecessors = FlatLists::invert(numBlocks + 1, edges);
  successors = FlatLists::invert(numBlocks + 1, reversed);

  order = postOrder(0, numBlocks + 1, successors);
  std::reverse(order.begin(), order.end());
  llvm::erase(order, numBlocks);
  position.assign(numBlocks, kNone);
  for (uint32_t i = 0; i < order.size(); ++i)
    position[order[i]] = i;

  Tree forward = buildTree(0, numBlocks + 1, successors, predecessors);
  Tree backward = buildTree(numBlocks, numBlocks + 1, predecessors, successors);
  idom = std::move(forward.parent);
  domIn = std::move(forward.in);
  domOut = std::move(forward.out);
  ipdom = std::move(backward.parent);
  pdomIn = std::move(backward.in);
  pdomOut = std::move(backward.out);
}

bool Dominance::dominates(BlockId a, BlockId b) const {
  return domIn[a] != kNone && domIn[b] != kNone && domIn[a] <= domIn[b] &&
         domOut[b] <= domOut[a];
}

bool Dominance::postDominates(BlockId a, BlockId b) const {
  return pdomIn[a] != kNone && pdomIn[b] != kNone && pdomIn[a] <= pdomIn[b] &&
         pdomOut[b] <= pdomOut[a];
}

BlockId Dominance::getCommonDominator(BlockId a, BlockId b) const {
  while (a != kNone && !dominates(a, b))
    a = idom[a];
  return a;
}

bool Dominance::reaches(BlockId from, BlockId to) const {
  // Kept, up to 32 MiB: copies and their readers ask for all pairs of blocks.
  constexpr uint64_t kMaxBits = uint64_t(1) << 28;
  auto found = followers.find(from);
  if (found == followers.end()) {
    llvm::BitVector seen(successors.size());
    if (uint64_t(followers.size()) * seen.size() > kMaxBits)
      followers.clear();
    std::vector<BlockId> stack{from};
    while (!stack.empty()) {
      BlockId block = stack.back();
      stack.pop_back();
      for (BlockId next : successors[block])
        if (!seen.test(next)) {
          seen.set(next);
          stack.push_back(next);
        }
    }
    found = followers.try_emplace(from, std::move(seen)).first;
  }
  return found->second.test(to);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LoopNest::LoopNest(const KernelIndex &index, const ConstantValues &constants,
                   const Dominance &dominance)
    : index(index), constants(constants), dominance(dominance) {
  uint32_t numBlocks = index.getNumBlocks();
  innermost.assign(numBlocks + 1, kNone);

  // Headers with their latches; retreating edges that are no back edges make
  // the graph irreducible.
  std::vector<std::vector<BlockId>> latchesOf(numBlocks);
  llvm::ArrayRef<BlockId> order = dominance.getOrder();
  for (BlockId from : order)
    for (BlockId to : dominance.getSuccessors(from)) {
      if (to >= numBlocks ||
          dominance.getPosition(to) > dominance.getPosition(from))
        continue;
      if (dominance.dominates(to, from)) {
        latchesOf[to].push_back(from);
      } else if (!irreducible) {
        irreducible = true;
        irreducibleBlock = to;
      }
    }

  // Inner headers come last in reverse post-order, so that they are found
  // first; `outermost` jumps from a block to the outermost loop so far.
  std::vector<Loop> found;
  std::vector<uint32_t> outermost(numBlocks + 1, kNone);
  std::vector<uint32_t> parent;
  auto findOutermost = [&](BlockId block) {
    uint32_t loop = outermost[block];
    if (loop == kNone)
      return loop;
    while (parent[loop] != kNone)
      loop = parent[loop];
    outermost[block] = loop;
    return loop;
  };
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    BlockId header = *it;
    if (latchesOf[header].empty())
      continue;
    uint32_t number = found.size();
    found.push_back({});
    parent.push_back(kNone);
    Loop &loop = found.back();
    loop.header = header;
    loop.latches = latchesOf[header];
    std::vector<BlockId> work;
    auto add = [&](BlockId block) {
      uint32_t inner = findOutermost(block);
      if (inner == number)
        return;
      if (inner == kNone) {
        outermost[block] = number;
        innermost[block] = number;
        if (block != header)
          work.push_back(block);
        return;
      }
      // A whole inner loop joins; go on from its header.
      parent[inner] = number;
      BlockId innerHeader = found[inner].header;
      if (innerHeader != header)
        work.push_back(innerHeader);
    };
    add(header);
    for (BlockId latch : loop.latches)
      add(latch);
    while (!work.empty()) {
      BlockId block = work.back();
      work.pop_back();
      for (BlockId from : dominance.getPredecessors(block))
        if (dominance.dominates(header, from))
          add(from);
    }
  }

  // Renumber: parents first, siblings in the order of their headers' text.
  std::vector<std::vector<uint32_t>> children(found.size());
  std::vector<uint32_t> roots;
  for (uint32_t i = 0; i < found.size(); ++i)
    (parent[i] == kNone ? roots : children[parent[i]]).push_back(i);
  auto byHeader = [&](uint32_t a, uint32_t b) {
    return found[a].header < found[b].header;
  };
  std::vector<uint32_t> newNumber(found.size());
  struct Item {
    uint32_t loop, parent;
    std::string id;
  };
  std::vector<Item> stack;
  auto push = [&](std::vector<uint32_t> &list, uint32_t above,
                  const std::string &prefix) {
    llvm::sort(list, byHeader);
    for (size_t i = list.size(); i-- > 0;)
      stack.push_back({list[i], above, prefix + std::to_string(i)});
  };
  push(roots, kNone, "L");
  while (!stack.empty()) {
    Item item = std::move(stack.back());
    stack.pop_back();
    if (item.parent != kNone && loops[item.parent].depth == kMaxDepth) {
      tooDeep = true;
      newNumber[item.loop] = item.parent;
      push(children[item.loop], item.parent, "");
      continue;
    }
    uint32_t number = loops.size();
    newNumber[item.loop] = number;
    Loop loop = std::move(found[item.loop]);
    loop.id = item.id;
    loop.parent = item.parent;
    loop.depth = item.parent == kNone ? 1 : loops[item.parent].depth + 1;
    found[item.loop].header = loop.header;
    loops.push_back(std::move(loop));
    push(children[item.loop], number, item.id + ".");
  }
  for (BlockId b = 0; b < numBlocks; ++b) {
    if (innermost[b] != kNone)
      innermost[b] = newNumber[innermost[b]];
    for (uint32_t l = innermost[b]; l != kNone; l = loops[l].parent)
      loops[l].blocks.push_back(b);
  }
  loopEnd.resize(loops.size());
  for (uint32_t i = loops.size(); i-- > 0;) {
    loopEnd[i] = std::max(loopEnd[i], i + 1);
    if (uint32_t outer = loops[i].parent; outer != kNone)
      loopEnd[outer] = std::max(loopEnd[outer], loopEnd[i]);
  }
  std::vector<BlockId> exits = findExits();
  for (uint32_t i = 0; i < loops.size(); ++i) {
    findTrip(loops[i], i, exits[i]);
    loops[i].spin = isSpin(loops[i]);
  }
}

std::vector<BlockId> LoopNest::findExits() const {
  std::vector<BlockId> exits(loops.size(), kNone);
  std::vector<bool> several(loops.size(), false);
  for (BlockId b = 0; b < index.getNumBlocks(); ++b)
    for (BlockId to : dominance.getSuccessors(b))
      for (uint32_t l = innermost[b];
           l != kNone && (to >= index.getNumBlocks() || !contains(l, to));
           l = loops[l].parent) {
        if (exits[l] != kNone && exits[l] != b)
          several[l] = true;
        exits[l] = b;
      }
  for (uint32_t l = 0; l < loops.size(); ++l)
    if (several[l])
      exits[l] = kNone;
  return exits;
}

bool LoopNest::encloses(uint32_t outer, uint32_t inner) const {
  return inner != kNone && outer <= inner && inner < loopEnd[outer];
}

uint32_t LoopNest::getInnermostWorking(BlockId block) const {
  uint32_t loop = innermost[block];
  while (loop != kNone && loops[loop].spin)
    loop = loops[loop].parent;
  return loop;
}

bool LoopNest::isSpinning(BlockId block) const {
  for (uint32_t l = innermost[block]; l != kNone; l = loops[l].parent)
    if (loops[l].spin)
      return true;
  return false;
}

void LoopNest::findTrip(Loop &loop, uint32_t number, BlockId exiting) {
  // The only exit must be the conditional end of the only latch (the test at
  // the bottom) or of the header (the test at the top).
  if (loop.latches.size() != 1)
    return;
  if (exiting == kNone ||
      (exiting != loop.latches[0] && exiting != loop.header))
    return;
  auto branch =
      dyn_cast<kern::CondBranchOp>(index.getOp(index.getTerminator(exiting)));
  if (!branch)
    return;
  bool staysWhenTrue = contains(number, index.getId(branch.getTrueDest()));
  ValueId condition = index.getId(branch.getCondition());
  OpId def = index.getDef(condition);
  if (def == kNone || index.getGuard(def) != kNone)
    return;
  auto compare = dyn_cast<kern::CompareOp>(index.getOp(def));
  if (!compare || compare.getCombine() || kern::isFloat(compare.getType()) ||
      condition != index.getFirstResult(def))
    return;

  // One side is the counter or its next value, the other a constant.
  ValueId counter = kNone;
  auto match = [&](ValueId side, ValueId other) -> bool {
    if (!constants.get(other))
      return false;
    counter = side;
    return true;
  };
  llvm::ArrayRef<ValueId> sides = index.getOperands(def);
  bool swapped = false;
  if (!match(sides[0], sides[1])) {
    if (!match(sides[1], sides[0]))
      return;
    swapped = true;
  }
  int64_t bound = *constants.getSigned(swapped ? sides[0] : sides[1]);
  // next = phi + step
  auto stepOf = [&](ValueId next, ValueId &phi) -> std::optional<int64_t> {
    OpId op = index.getDef(next);
    if (op == kNone || index.getGuard(op) != kNone)
      return std::nullopt;
    auto arith = dyn_cast<kern::ArithOp>(index.getOp(op));
    if (!arith || (arith.getKind() != kern::ArithKind::Add &&
                   arith.getKind() != kern::ArithKind::Sub))
      return std::nullopt;
    llvm::ArrayRef<ValueId> in = index.getOperands(op);
    bool isAdd = arith.getKind() == kern::ArithKind::Add;
    for (unsigned i = 0; i < (isAdd ? 2u : 1u); ++i)
      if (std::optional<int64_t> by = constants.getSigned(in[1 - i])) {
        phi = in[i];
        return isAdd ? *by : -*by;
      }
    return std::nullopt;
  };
  auto isPhi = [&](ValueId v) {
    return index.getDef(v) == kNone && index.getDefBlock(v) == loop.header;
  };
  ValueId phi = counter;
  bool testsNext = !isPhi(counter);
  if (testsNext && (!stepOf(counter, phi) || !isPhi(phi)))
    return;
  std::optional<int64_t> init, step;
  for (const KernelIndex::Incoming &in : index.getIncoming(phi)) {
    if (!constants.isExecutableEdge(in.edge) || in.value == kNone)
      continue;
    if (contains(number, in.from)) {
      ValueId source = kNone;
      step = stepOf(in.value, source);
      if (!step || source != phi || (testsNext && in.value != counter))
        return;
    } else {
      std::optional<int64_t> value = constants.getSigned(in.value);
      if (!value || (init && *init != *value))
        return;
      init = value;
    }
  }
  if (!init || !step || *step == 0)
    return;

  kern::Compare predicate = compare.getPredicate();
  auto holds = [&](int64_t x) -> std::optional<bool> {
    int64_t a = swapped ? bound : x, b = swapped ? x : bound;
    switch (predicate) {
    case kern::Compare::Eq:
      return a == b;
    case kern::Compare::Ne:
      return a != b;
    case kern::Compare::Lt:
    case kern::Compare::Lo:
      return a < b;
    case kern::Compare::Le:
    case kern::Compare::Ls:
      return a <= b;
    case kern::Compare::Gt:
    case kern::Compare::Hi:
      return a > b;
    case kern::Compare::Ge:
    case kern::Compare::Hs:
      return a >= b;
    default:
      return std::nullopt;
    }
  };
  // Signed and unsigned comparisons agree only while both sides stay
  // non-negative; a counter that would leave that range is not decided.
  // The number of steps is bounded by the distance, so jump close to the end.
  auto continues = [&](int64_t x) -> std::optional<bool> {
    std::optional<bool> value = holds(x);
    if (value && !staysWhenTrue)
      value = !*value;
    return value;
  };
  bool equality =
      predicate == kern::Compare::Eq || predicate == kern::Compare::Ne;
  int64_t first = testsNext ? *init + *step : *init;
  __int128 jump = 0;
  if (!equality) {
    __int128 distance = __int128(bound) - first;
    jump = distance / *step - 1;
    if (jump < 0)
      jump = 0;
  } else if ((bound - first) % *step == 0 && (bound - first) / *step >= 0) {
    jump = (__int128(bound) - first) / *step;
  }
  if (jump > INT32_MAX)
    return;
  // Every test before the jump's target continues, by monotonicity.
  if (jump > 0 && (continues(first) != true))
    jump = 0;
  for (int64_t n = int64_t(jump); n < int64_t(jump) + 4; ++n) {
    std::optional<bool> more = continues(first + n * *step);
    if (!more)
      return;
    if (!*more) {
      // A test at the bottom has run the body n + 1 times; one at the top n
      // times, and the header once more.
      loop.trip = exiting == loop.latches[0] ? n + 1 : n;
      return;
    }
  }
}

bool LoopNest::isSpin(const Loop &loop) const {
  bool polls = false;
  for (BlockId b : loop.blocks) {
    auto [begin, end] = index.getOps(b);
    for (OpId id = begin; id < end; ++id) {
      Operation *op = index.getOp(id);
      if (isa<kern::MBarrierWaitOp>(op)) {
        polls = true;
        continue;
      }
      if (auto load = dyn_cast<kern::LoadOp>(op)) {
        std::optional<kern::Semantics> semantics = load.getSemantics();
        if (load.getSpace() == kern::Space::Param)
          continue;
        if (!semantics || *semantics == kern::Semantics::Weak)
          return false;
        polls = true;
        continue;
      }
      if (isa<kern::SleepOp, kern::FenceOp, kern::SpecialOp, kern::ConstantOp,
              kern::UndefOp, kern::AddressOfOp, kern::ArithOp, kern::CompareOp,
              kern::SelectOp, kern::ConvertOp, kern::PackOp, kern::UnpackOp,
              kern::SpaceCastOp, kern::VoteOp, kern::ShuffleOp,
              kern::WarpBarrierOp, kern::NoEffectOp, kern::BranchOp,
              kern::CondBranchOp>(op)) {
        // Floating-point work is no polling.
        if (auto arith = dyn_cast<kern::ArithOp>(op))
          if (kern::isFloat(arith.getType()))
            return false;
        continue;
      }
      return false;
    }
  }
  return polls;
}
