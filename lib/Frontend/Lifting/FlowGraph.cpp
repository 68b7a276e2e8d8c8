// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frontiers after Cooper, Harvey and Kennedy ("A simple, fast dominance
// algorithm"), phi nodes after Cytron et al. with liveness computed one
// variable at a time: the work is proportional to the number of (variable,
// block) pairs in which the variable is live, and only the phi nodes are kept.

#include "d2k/Frontend/Lifting/FlowGraph.h"
#include "d2k/Support/Dominators.h"

#include <algorithm>
#include <cassert>

using namespace d2k::lift;

Rows Rows::group(uint32_t numRows,
                 llvm::ArrayRef<std::pair<uint32_t, uint32_t>> pairs) {
  Rows rows;
  rows.starts.assign(numRows + 1, 0);
  for (auto [row, item] : pairs)
    ++rows.starts[row + 1];
  for (uint32_t i = 0; i < numRows; ++i)
    rows.starts[i + 1] += rows.starts[i];
  rows.items.resize(pairs.size());
  std::vector<uint32_t> next(rows.starts.begin(), rows.starts.end() - 1);
  for (auto [row, item] : pairs)
    rows.items[next[row]++] = item;
  return rows;
}

FlowGraph::FlowGraph(llvm::ArrayRef<llvm::SmallVector<uint32_t, 2>> successors,
                     uint32_t entry)
    : order(successors.size(), kNone) {
  uint32_t size = static_cast<uint32_t>(successors.size());

  // Post-order without recursion: functions may have 10^5 blocks in a row.
  std::vector<std::pair<uint32_t, uint32_t>> stack = {{entry, 0}};
  std::vector<bool> seen(size, false);
  seen[entry] = true;
  while (!stack.empty()) {
    auto &[block, next] = stack.back();
    if (next < successors[block].size()) {
      uint32_t successor = successors[block][next++];
      if (!seen[successor]) {
        seen[successor] = true;
        stack.push_back({successor, 0});
      }
      continue;
    }
    blocks.push_back(block);
    stack.pop_back();
  }
  std::reverse(blocks.begin(), blocks.end());
  for (uint32_t i = 0; i < blocks.size(); ++i)
    order[blocks[i]] = i;

  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t block : blocks)
    for (uint32_t successor : successors[block])
      edges.push_back({successor, block});
  preds = Rows::group(size, edges);

  static_assert(kNone == kNoNode);
  idom = findImmediateDominators(
      size, entry,
      [&](uint32_t block) { return llvm::ArrayRef(successors[block]); },
      [&](uint32_t block) { return preds[block]; });

  edges.clear();
  for (uint32_t block : llvm::ArrayRef(blocks).drop_front())
    edges.push_back({idom[block], block});
  children = Rows::group(size, edges);

  edges.clear();
  std::vector<uint32_t> last(size, kNone);
  for (uint32_t block : blocks) {
    if (preds[block].size() < 2)
      continue;
    for (uint32_t runner : preds[block])
      for (; runner != idom[block] && last[runner] != block;
           runner = idom[runner]) {
        last[runner] = block;
        edges.push_back({runner, block});
      }
  }
  frontiers = Rows::group(size, edges);
}

Rows d2k::lift::placePhis(const FlowGraph &graph, uint32_t numVariables,
                          const BlockAccesses &accesses) {
  Rows uses = Rows::group(numVariables, accesses.uses);
  Rows defs = Rows::group(numVariables, accesses.defs);
  // A mark equals the number of the variable it was made for, so that nothing
  // has to be cleared between variables.
  std::vector<uint32_t> live(graph.size(), FlowGraph::kNone);
  std::vector<uint32_t> defined(graph.size(), FlowGraph::kNone);
  std::vector<uint32_t> placed(graph.size(), FlowGraph::kNone);
  std::vector<uint32_t> work;
  std::vector<std::pair<uint32_t, uint32_t>> phis;

  for (uint32_t variable = 0; variable < numVariables; ++variable) {
    if (uses[variable].empty() || defs[variable].empty())
      continue;
    for (uint32_t block : defs[variable])
      defined[block] = variable;
    // Liveness matters where definitions meet only.
    if (llvm::all_of(defs[variable], [&](uint32_t block) {
          return graph.frontier(block).empty();
        }))
      continue;
    for (uint32_t block : uses[variable]) {
      live[block] = variable;
      work.push_back(block);
    }
    while (!work.empty()) {
      uint32_t block = work.back();
      work.pop_back();
      for (uint32_t pred : graph.predecessors(block)) {
        if (live[pred] == variable || defined[pred] == variable)
          continue;
        live[pred] = variable;
        work.push_back(pred);
      }
    }

    work.assign(defs[variable].begin(), defs[variable].end());
    while (!work.empty()) {
      uint32_t block = work.back();
      work.pop_back();
      for (uint32_t join : graph.frontier(block)) {
        if (placed[join] == variable || live[join] != variable)
          continue;
        placed[join] = variable;
        phis.push_back({join, variable});
        if (defined[join] != variable)
          work.push_back(join);
      }
    }
  }
  return Rows::group(graph.size(), phis);
}
