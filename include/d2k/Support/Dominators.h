// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Immediate dominators of a graph on plain numbers, for the front ends, which
// need them before there is IR, and for the analyses, which leave edges out.
//
// Lengauer and Tarjan, "A fast algorithm for finding dominators in a
// flowgraph", the simple version: O(edges * log nodes) for every graph. The
// iteration of Cooper, Harvey and Kennedy is shorter and takes seconds where
// 10^4 blocks in a row all lead to one place.

#ifndef D2K_SUPPORT_DOMINATORS_H
#define D2K_SUPPORT_DOMINATORS_H

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace d2k {

/// "No such node".
inline constexpr uint32_t kNoNode = ~0u;

/// The immediate dominator of each of \p numNodes nodes; of \p root it is
/// \p root, and of a node that \p root does not lead to, kNoNode. \p successors
/// and \p predecessors give the neighbours of a node as a range of numbers
/// that has size() and operator[].
template <typename SuccessorsT, typename PredecessorsT>
std::vector<uint32_t> findImmediateDominators(uint32_t numNodes, uint32_t root,
                                              SuccessorsT &&successors,
                                              PredecessorsT &&predecessors) {
  // Nodes are known by their place in depth-first order from here on.
  std::vector<uint32_t> place(numNodes, kNoNode), nodes, parent;
  std::vector<std::pair<uint32_t, uint32_t>> stack;
  auto enter = [&](uint32_t node, uint32_t from) {
    place[node] = uint32_t(nodes.size());
    nodes.push_back(node);
    parent.push_back(from);
    stack.push_back({node, 0});
  };
  enter(root, 0);
  while (!stack.empty()) {
    auto [node, at] = stack.back();
    auto &&next = successors(node);
    if (at == next.size()) {
      stack.pop_back();
      continue;
    }
    ++stack.back().second;
    if (place[next[at]] == kNoNode)
      enter(next[at], place[node]);
  }

  uint32_t size = uint32_t(nodes.size());
  // `semi` is the semidominator; `label` the node of least `semi` on the way
  // from a node to the root of its tree in the forest of visited nodes.
  std::vector<uint32_t> semi(size), label(size), ancestor(size, kNoNode);
  std::vector<uint32_t> dominator(size, 0);
  for (uint32_t v = 0; v < size; ++v)
    semi[v] = label[v] = v;
  std::vector<uint32_t> path;
  auto evaluate = [&](uint32_t v) {
    if (ancestor[v] == kNoNode)
      return v;
    // Path compression without recursion.
    for (uint32_t u = v; ancestor[ancestor[u]] != kNoNode; u = ancestor[u])
      path.push_back(u);
    while (!path.empty()) {
      uint32_t u = path.back(), above = ancestor[u];
      path.pop_back();
      if (semi[label[above]] < semi[label[u]])
        label[u] = label[above];
      ancestor[u] = ancestor[above];
    }
    return label[v];
  };
  // Nodes by their semidominator, as lists through `nextInBucket`.
  std::vector<uint32_t> bucket(size, kNoNode), nextInBucket(size, kNoNode);
  for (uint32_t w = size; w-- > 1;) {
    auto &&from = predecessors(nodes[w]);
    for (size_t i = 0; i < from.size(); ++i)
      if (uint32_t v = place[from[i]]; v != kNoNode)
        semi[w] = std::min(semi[w], semi[evaluate(v)]);
    nextInBucket[w] = bucket[semi[w]];
    bucket[semi[w]] = w;
    uint32_t above = parent[w];
    ancestor[w] = above;
    for (uint32_t v = bucket[above]; v != kNoNode; v = nextInBucket[v]) {
      uint32_t u = evaluate(v);
      dominator[v] = semi[u] < semi[v] ? u : above;
    }
    bucket[above] = kNoNode;
  }
  std::vector<uint32_t> result(numNodes, kNoNode);
  result[root] = root;
  for (uint32_t w = 1; w < size; ++w) {
    if (dominator[w] != semi[w])
      dominator[w] = dominator[dominator[w]];
    result[nodes[w]] = nodes[dominator[w]];
  }
  return result;
}

} // namespace d2k

#endif // D2K_SUPPORT_DOMINATORS_H
