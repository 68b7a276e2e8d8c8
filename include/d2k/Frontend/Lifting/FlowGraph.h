// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What SSA construction needs to know about a control-flow graph, on plain
// numbers: reverse post-order, dominators, dominance frontiers, and where the
// phi nodes of pruned SSA form go. Every step is linear in the size of its
// input and output, so that functions of 10^5 registers stay cheap.

#ifndef D2K_FRONTEND_LIFTING_FLOWGRAPH_H
#define D2K_FRONTEND_LIFTING_FLOWGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace d2k::lift {

/// Rows of numbers in one array: row i is `items[starts[i] .. starts[i+1])`.
struct Rows {
  std::vector<uint32_t> starts, items;

  llvm::ArrayRef<uint32_t> operator[](uint32_t row) const {
    return llvm::ArrayRef(items).slice(starts[row],
                                       starts[row + 1] - starts[row]);
  }
  /// Groups \p pairs of (row, item) into \p numRows rows, keeping the order
  /// within a row.
  static Rows group(uint32_t numRows,
                    llvm::ArrayRef<std::pair<uint32_t, uint32_t>> pairs);
};

/// A control-flow graph with its dominator tree.
class FlowGraph {
public:
  static constexpr uint32_t kNone = ~0u;

  /// A graph of \p successors.size() blocks that starts at \p entry.
  FlowGraph(llvm::ArrayRef<llvm::SmallVector<uint32_t, 2>> successors,
            uint32_t entry);

  uint32_t size() const { return static_cast<uint32_t>(order.size()); }
  bool isReachable(uint32_t block) const { return order[block] != kNone; }
  /// Reachable blocks in reverse post-order, the entry first.
  llvm::ArrayRef<uint32_t> reversePostOrder() const { return blocks; }
  /// Reachable predecessors; one entry an edge.
  llvm::ArrayRef<uint32_t> predecessors(uint32_t block) const {
    return preds[block];
  }
  /// Immediate dominator; of the entry, the entry.
  uint32_t immediateDominator(uint32_t block) const { return idom[block]; }
  /// Children in the dominator tree.
  llvm::ArrayRef<uint32_t> dominated(uint32_t block) const {
    return children[block];
  }
  /// Dominance frontier.
  llvm::ArrayRef<uint32_t> frontier(uint32_t block) const {
    return frontiers[block];
  }

private:
  /// Position in `blocks`, kNone when unreachable.
  std::vector<uint32_t> order;
  std::vector<uint32_t> blocks;
  std::vector<uint32_t> idom;
  Rows preds, children, frontiers;
};

/// Reads and writes of variables by the blocks of a graph.
struct BlockAccesses {
  /// (variable, block) for each variable that a block reads before it writes
  /// it, and for each variable that it writes; each pair once.
  std::vector<std::pair<uint32_t, uint32_t>> uses, defs;
};

/// Variables that need a phi node at the start of each block: those live there
/// that several definitions reach. The entry counts as a definition of every
/// variable (the undefined value), so it never has phi nodes. Rows are sorted
/// by variable.
Rows placePhis(const FlowGraph &graph, uint32_t numVariables,
               const BlockAccesses &accesses);

} // namespace d2k::lift

#endif // D2K_FRONTEND_LIFTING_FLOWGRAPH_H
