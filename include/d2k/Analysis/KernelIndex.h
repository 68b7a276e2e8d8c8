// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dense numbers for the operations, blocks and values of one function, and its
// def-use and control-flow edges as flat arrays. Every analysis works on these
// numbers with plain vectors, so that a kernel of 10^5 operations costs
// milliseconds.
//
// Example: `^bb0(%x): %c = kern.constant 7; %y = kern.arith ... (%x, %c)` has
// values x = 0, c = 1, y = 2, operations constant = 0, arith = 1, and
// getOperands(1) is {0, 1}.

#ifndef D2K_ANALYSIS_KERNELINDEX_H
#define D2K_ANALYSIS_KERNELINDEX_H

#include "d2k/Dialect/Kern/Kern.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <vector>

namespace d2k::analysis {

/// Numbers of operations, blocks and values; each counts from 0.
using OpId = uint32_t;
using BlockId = uint32_t;
using ValueId = uint32_t;

/// "No such thing" for each of them.
inline constexpr uint32_t kNone = ~0u;

/// Lists of numbers by number, in one allocation: row `i` is
/// `data[begin[i] .. begin[i + 1])`.
class FlatLists {
public:
  llvm::ArrayRef<uint32_t> operator[](uint32_t row) const {
    return llvm::ArrayRef<uint32_t>(data).slice(begin[row],
                                                begin[row + 1] - begin[row]);
  }
  uint32_t size() const { return begin.size() - 1; }
  /// Closes the row that push added to.
  void endRow() { begin.push_back(data.size()); }
  void push(uint32_t value) { data.push_back(value); }
  /// The lists `to -> {from}` for the pairs (from, to), `from` ascending
  /// within a row.
  static FlatLists
  invert(uint32_t rows,
         llvm::ArrayRef<std::pair<uint32_t, uint32_t>> fromToPairs);

private:
  std::vector<uint32_t> data;
  std::vector<uint32_t> begin{0};
};

/// The numbering of one function; immutable.
class KernelIndex {
public:
  explicit KernelIndex(kern::FuncOp func);

  kern::FuncOp getFunc() const { return func; }

  uint32_t getNumOps() const { return ops.size(); }
  uint32_t getNumBlocks() const { return blocks.size(); }
  uint32_t getNumValues() const { return values.size(); }

  mlir::Operation *getOp(OpId op) const { return ops[op]; }
  mlir::Block *getBlock(BlockId block) const { return blocks[block]; }
  mlir::Value getValue(ValueId value) const { return values[value]; }

  OpId getId(mlir::Operation *op) const { return opIds.lookup(op); }
  BlockId getId(mlir::Block *block) const { return blockIds.lookup(block); }
  ValueId getId(mlir::Value value) const { return valueIds.lookup(value); }

  BlockId getBlockOf(OpId op) const { return opBlock[op]; }
  /// Operations of `block`, the terminator last: [first, second).
  std::pair<OpId, OpId> getOps(BlockId block) const {
    return {blockBegin[block], blockBegin[block + 1]};
  }
  OpId getTerminator(BlockId block) const { return blockBegin[block + 1] - 1; }

  /// All operands of `op` in their order, guard and old values included.
  llvm::ArrayRef<ValueId> getOperands(OpId op) const { return operands[op]; }
  /// Number of the first result; the others follow.
  ValueId getFirstResult(OpId op) const { return firstResult[op]; }
  uint32_t getNumResults(OpId op) const {
    return firstResult[op + 1] - firstResult[op] - argsBefore(op);
  }
  /// Operation that defines `value`; kNone for a block argument.
  OpId getDef(ValueId value) const { return valueDef[value]; }
  /// Block that defines `value`, as argument or through an operation.
  BlockId getDefBlock(ValueId value) const { return valueBlock[value]; }
  /// Number of the first argument of `block`; the others follow.
  ValueId getFirstArg(BlockId block) const { return firstArg[block]; }
  uint32_t getNumArgs(BlockId block) const {
    return blocks[block]->getNumArguments();
  }
  /// Operations that use `value`, ascending; one entry for each use.
  llvm::ArrayRef<OpId> getUsers(ValueId value) const { return users[value]; }

  llvm::ArrayRef<BlockId> getSuccessors(BlockId block) const {
    return successors[block];
  }
  llvm::ArrayRef<BlockId> getPredecessors(BlockId block) const {
    return predecessors[block];
  }
  /// Number of the edge from `block` through successor `index`.
  uint32_t getEdge(BlockId block, unsigned index) const {
    return firstEdge[block] + index;
  }
  uint32_t getNumEdges() const { return firstEdge.back(); }

  /// One way to reach a block argument.
  struct Incoming {
    BlockId from;
    uint32_t edge;
    /// kNone when the terminator produces the value itself.
    ValueId value;
  };
  /// The edges into a block argument; empty for arguments of the entry.
  llvm::ArrayRef<Incoming> getIncoming(ValueId arg) const {
    return llvm::ArrayRef<Incoming>(incoming).slice(
        incomingBegin[arg], incomingBegin[arg + 1] - incomingBegin[arg]);
  }

  /// What `edge` gives to the arguments of its target, in their order; kNone
  /// where the terminator produces the value itself.
  llvm::ArrayRef<ValueId> getPassed(uint32_t edge) const {
    return passed[edge];
  }

  /// Guard predicate of `op`, kNone when it always runs.
  ValueId getGuard(OpId op) const { return guards[op]; }
  /// Whether `op` runs while the guard is false.
  bool isGuardNegated(OpId op) const { return guardNegated[op]; }

private:
  uint32_t argsBefore(OpId op) const {
    // Arguments of the next block are numbered between the results of this
    // block's last operation and those of the next block's first.
    return op + 1 == blockBegin[opBlock[op] + 1] &&
                   opBlock[op] + 1 < blocks.size()
               ? blocks[opBlock[op] + 1]->getNumArguments()
               : 0;
  }

  kern::FuncOp func;
  std::vector<mlir::Operation *> ops;
  std::vector<mlir::Block *> blocks;
  std::vector<mlir::Value> values;
  std::vector<BlockId> opBlock;
  std::vector<OpId> blockBegin;
  std::vector<ValueId> firstResult, firstArg;
  std::vector<OpId> valueDef;
  std::vector<BlockId> valueBlock;
  std::vector<ValueId> guards;
  std::vector<bool> guardNegated;
  std::vector<uint32_t> firstEdge, incomingBegin;
  std::vector<Incoming> incoming;
  FlatLists operands, users, successors, predecessors, passed;
  llvm::DenseMap<mlir::Operation *, OpId> opIds;
  llvm::DenseMap<mlir::Block *, BlockId> blockIds;
  llvm::DenseMap<mlir::Value, ValueId> valueIds;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_KERNELINDEX_H
