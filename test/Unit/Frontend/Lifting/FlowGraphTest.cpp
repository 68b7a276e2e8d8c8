// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dominators and phi nodes, on small graphs by hand and on random graphs
// against their definitions.

#include "d2k/Frontend/Lifting/FlowGraph.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <set>

using namespace d2k::lift;

namespace {

using Successors = std::vector<llvm::SmallVector<uint32_t, 2>>;

std::vector<uint32_t> list(llvm::ArrayRef<uint32_t> items) {
  std::vector<uint32_t> sorted(items.begin(), items.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST(FlowGraph, diamond) {
  FlowGraph graph(Successors{{1, 2}, {3}, {3}, {}, {3}}, 0);
  EXPECT_EQ(graph.reversePostOrder().front(), 0u);
  EXPECT_EQ(graph.reversePostOrder().back(), 3u);
  EXPECT_FALSE(graph.isReachable(4));
  EXPECT_EQ(list(graph.predecessors(3)), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(graph.immediateDominator(3), 0u);
  EXPECT_EQ(list(graph.dominated(0)), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(list(graph.frontier(1)), (std::vector<uint32_t>{3}));
  EXPECT_TRUE(graph.frontier(0).empty());
}

TEST(FlowGraph, loopIsInItsOwnFrontier) {
  FlowGraph graph(Successors{{1}, {1, 2}, {}}, 0);
  EXPECT_EQ(graph.immediateDominator(2), 1u);
  EXPECT_EQ(list(graph.frontier(1)), (std::vector<uint32_t>{1}));
}

TEST(FlowGraph, irreducibleLoop) {
  // Either of 1 and 2 is entered from 0.
  FlowGraph graph(Successors{{1, 2}, {2}, {1, 3}, {}}, 0);
  EXPECT_EQ(graph.immediateDominator(1), 0u);
  EXPECT_EQ(graph.immediateDominator(2), 0u);
  EXPECT_EQ(list(graph.frontier(1)), (std::vector<uint32_t>{2}));
  EXPECT_EQ(list(graph.frontier(2)), (std::vector<uint32_t>{1}));
}

TEST(PlacePhis, onlyWhereLive) {
  FlowGraph graph(Successors{{1, 2}, {3}, {3}, {}}, 0);
  BlockAccesses accesses;
  // Variable 0 is written on both sides and read behind, variable 1 is written
  // on one side and never read, variable 2 is written above and read behind.
  accesses.defs = {{0, 1}, {0, 2}, {1, 1}, {2, 0}};
  accesses.uses = {{0, 3}, {2, 3}};
  Rows phis = placePhis(graph, 3, accesses);
  EXPECT_EQ(list(phis[3]), (std::vector<uint32_t>{0}));
  EXPECT_TRUE(phis[0].empty());
  EXPECT_TRUE(phis[1].empty());
}

TEST(PlacePhis, undefinedOnOnePath) {
  FlowGraph graph(Successors{{1, 2}, {2}, {}}, 0);
  BlockAccesses accesses;
  accesses.defs = {{0, 1}};
  accesses.uses = {{0, 2}};
  Rows phis = placePhis(graph, 1, accesses);
  EXPECT_EQ(list(phis[2]), (std::vector<uint32_t>{0}));
}

/// Liveness by the definition: a path to a read without a write on it.
bool isLiveIn(const Successors &successors, uint32_t block,
              const std::set<uint32_t> &uses, const std::set<uint32_t> &defs) {
  std::set<uint32_t> seen;
  std::vector<uint32_t> work = {block};
  while (!work.empty()) {
    uint32_t at = work.back();
    work.pop_back();
    if (!seen.insert(at).second)
      continue;
    if (uses.count(at))
      return true;
    if (defs.count(at))
      continue;
    work.insert(work.end(), successors[at].begin(), successors[at].end());
  }
  return false;
}

TEST(PlacePhis, randomGraphs) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 300; ++round) {
    uint32_t size = 2 + random() % 12;
    Successors successors(size);
    for (uint32_t block = 0; block < size; ++block)
      for (unsigned edge = random() % 3; edge > 0; --edge)
        // The entry has no predecessors.
        successors[block].push_back(1 + random() % (size - 1));
    FlowGraph graph(successors, 0);

    constexpr uint32_t kVariables = 4;
    BlockAccesses accesses;
    std::set<uint32_t> uses[kVariables], defs[kVariables];
    for (uint32_t variable = 0; variable < kVariables; ++variable)
      for (uint32_t block : graph.reversePostOrder()) {
        if (random() % 4 == 0) {
          accesses.uses.push_back({variable, block});
          uses[variable].insert(block);
        }
        if (random() % 4 == 0) {
          accesses.defs.push_back({variable, block});
          defs[variable].insert(block);
        }
      }
    Rows phis = placePhis(graph, kVariables, accesses);

    for (uint32_t variable = 0; variable < kVariables; ++variable) {
      // Names: 0 is undefined, 1 + block a write, 1 + size + block a phi node.
      auto hasPhi = [&](uint32_t block) {
        return llvm::is_contained(phis[block], variable);
      };
      std::vector<uint32_t> out(size, 0);
      std::vector<uint32_t> in(size, 0);
      // The name on entry is that of the dominator's end, or the phi node.
      std::vector<uint32_t> stack = {0};
      while (!stack.empty()) {
        uint32_t block = stack.back();
        stack.pop_back();
        in[block] = hasPhi(block) ? 1 + size + block
                    : block == 0  ? 0
                                  : out[graph.immediateDominator(block)];
        out[block] = defs[variable].count(block) ? 1 + block : in[block];
        for (uint32_t child : graph.dominated(block))
          stack.push_back(child);
      }
      for (uint32_t block : graph.reversePostOrder()) {
        bool isLive =
            isLiveIn(successors, block, uses[variable], defs[variable]);
        if (hasPhi(block)) {
          EXPECT_TRUE(isLive) << "a phi node of a dead variable";
          std::set<uint32_t> incoming;
          for (uint32_t pred : graph.predecessors(block))
            if (out[pred] != 1 + size + block)
              incoming.insert(out[pred]);
          EXPECT_GE(incoming.size(), 2u) << "a phi node of one value";
        } else if (isLive) {
          for (uint32_t pred : graph.predecessors(block))
            EXPECT_EQ(out[pred], in[block]) << "a missing phi node";
        }
      }
    }
  }
}

} // namespace
