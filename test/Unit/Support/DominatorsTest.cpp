// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dominators against their definition: a dominates b when b cannot be reached
// without a.

#include "d2k/Support/Dominators.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace d2k;

namespace {
using Lists = std::vector<std::vector<uint32_t>>;
} // namespace

static std::vector<uint32_t> find(const Lists &successors, uint32_t root) {
  Lists predecessors(successors.size());
  for (uint32_t node = 0; node < successors.size(); ++node)
    for (uint32_t next : successors[node])
      predecessors[next].push_back(node);
  return findImmediateDominators(
      uint32_t(successors.size()), root,
      [&](uint32_t node) -> const std::vector<uint32_t> & {
        return successors[node];
      },
      [&](uint32_t node) -> const std::vector<uint32_t> & {
        return predecessors[node];
      });
}

/// Nodes that `root` leads to without passing `removed`.
static std::vector<bool> reach(const Lists &successors, uint32_t root,
                               uint32_t removed) {
  std::vector<bool> seen(successors.size(), false);
  std::vector<uint32_t> work;
  auto add = [&](uint32_t node) {
    if (node == removed || seen[node])
      return;
    seen[node] = true;
    work.push_back(node);
  };
  add(root);
  while (!work.empty()) {
    uint32_t node = work.back();
    work.pop_back();
    for (uint32_t next : successors[node])
      add(next);
  }
  return seen;
}

TEST(Dominators, Diamond) {
  //     1 -> 0 -> {2, 3} -> 4, and 5 that nothing leads to
  EXPECT_EQ(find({{2, 3}, {0}, {4}, {4}, {}, {4}}, 1),
            (std::vector<uint32_t>{1, 1, 0, 0, 0, kNoNode}));
}

TEST(Dominators, LoopWithTwoEntries) {
  // 0 -> {1, 2}, 1 <-> 2, 2 -> 3: neither of the two dominates the other.
  EXPECT_EQ(find({{1, 2}, {2}, {1, 3}, {}}, 0),
            (std::vector<uint32_t>{0, 0, 0, 2}));
}

TEST(Dominators, OneNode) {
  EXPECT_EQ(find({{0, 0}}, 0), (std::vector<uint32_t>{0}));
}

TEST(Dominators, RandomGraphsFollowTheDefinition) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 200; ++round) {
    uint32_t size = 2 + random() % 12;
    Lists successors(size);
    for (uint32_t edges = random() % (3 * size); edges > 0; --edges)
      successors[random() % size].push_back(random() % size);
    std::vector<uint32_t> idom = find(successors, 0);
    std::vector<bool> reachable = reach(successors, 0, kNoNode);
    // dominators[b] by removing each node in turn.
    for (uint32_t b = 1; b < size; ++b) {
      if (!reachable[b]) {
        EXPECT_EQ(idom[b], kNoNode);
        continue;
      }
      std::vector<uint32_t> chain;
      for (uint32_t a = idom[b];; a = idom[a]) {
        ASSERT_LT(a, size);
        chain.push_back(a);
        if (a == 0)
          break;
        ASSERT_LE(chain.size(), size) << "the tree has a cycle";
      }
      for (uint32_t a = 0; a < size; ++a) {
        if (a == b)
          continue;
        bool dominates = reachable[a] && !reach(successors, 0, a)[b];
        bool listed = std::find(chain.begin(), chain.end(), a) != chain.end();
        EXPECT_EQ(dominates, listed)
            << "round " << round << ": " << a << " and " << b;
      }
    }
  }
}

TEST(Dominators, LongChainWithOneWayOut) {
  // Each node leads on and to node 1, as early returns do.
  constexpr uint32_t kSize = 200000;
  Lists successors(kSize);
  for (uint32_t node = 2; node < kSize; ++node) {
    successors[node].push_back(1);
    if (node + 1 < kSize)
      successors[node].push_back(node + 1);
  }
  successors[0].push_back(2);
  std::vector<uint32_t> idom = find(successors, 0);
  EXPECT_EQ(idom[1], 2u);
  EXPECT_EQ(idom[2], 0u);
  EXPECT_EQ(idom[kSize - 1], kSize - 2);
}
