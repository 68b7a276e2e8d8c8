// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of one kern function in pruned SSA form, built from an instruction
// set with registers. A front end numbers its registers as *variables*, says
// which of them each block reads and writes, and then walks the dominator tree
// with the current value of every variable.
//
// ```
// SSABuilder ssa(funcOp, statistics);
// uint32_t r0 = ssa.addVariable(i32);               // number the registers
// FlowGraph graph(successors, entry);
// AccessScan scan(graph, ssa.getNumVariables());    // what blocks read, write
// ...
// ssa.prepare(graph, entry, scan);                  // phi nodes, empty blocks
// ssa.walk(graph, entry, [&](uint32_t block) {      // fill them
//   Value old = ssa.read(r0);
//   ssa.write(r0, ssa.append(...)->getResult(0));
// });
// ```

#ifndef D2K_FRONTEND_LIFTING_SSABUILDER_H
#define D2K_FRONTEND_LIFTING_SSABUILDER_H

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Frontend/Lifting/FlowGraph.h"
#include "d2k/Frontend/Lifting/Statistics.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace d2k::lift {

/// Collects what blocks read and write, each pair once. Call `enter` for each
/// block, then `read` and `write` in the order of its instructions, the reads
/// of one instruction before its writes.
class AccessScan {
public:
  explicit AccessScan(uint32_t numVariables)
      : lastUse(numVariables, ~0u), lastDef(numVariables, ~0u) {}

  void enter(uint32_t block) { current = block; }
  void read(uint32_t variable) {
    if (lastDef[variable] == current || lastUse[variable] == current)
      return;
    lastUse[variable] = current;
    accesses.uses.push_back({variable, current});
  }
  void write(uint32_t variable) {
    if (lastDef[variable] == current)
      return;
    lastDef[variable] = current;
    accesses.defs.push_back({variable, current});
  }
  const BlockAccesses &getAccesses() const { return accesses; }

private:
  uint32_t current = 0;
  std::vector<uint32_t> lastUse, lastDef;
  BlockAccesses accesses;
};

class SSABuilder {
public:
  /// Builds into the empty body of \p op.
  SSABuilder(kern::FuncOp op, LiftStatistics &statistics);

  //===--- Before the walk ------------------------------------------------===//

  uint32_t addVariable(mlir::IntegerType type) {
    types.push_back(type);
    return static_cast<uint32_t>(types.size() - 1);
  }
  uint32_t getNumVariables() const {
    return static_cast<uint32_t>(types.size());
  }
  mlir::IntegerType getType(uint32_t variable) const { return types[variable]; }

  /// Most values that the edges of one function may pass to phi nodes. The
  /// largest units of public code need some 10^5; a function whose branches all
  /// lead to one place in which all its registers live would need the square of
  /// its size.
  static constexpr uint64_t kMaxPhiOperands = 1 << 22;

  /// Places the phi nodes of pruned SSA form and makes the reachable blocks
  /// with an argument for each; the blocks are empty. Fails, with an error at
  /// the function, beyond kMaxPhiOperands.
  mlir::LogicalResult prepare(const FlowGraph &graph, uint32_t entry,
                              const BlockAccesses &accesses);

  /// Block number \p index; null when it cannot be reached.
  mlir::Block *getBlock(uint32_t index) const { return blocks[index]; }
  mlir::Block *getEntryBlock() const { return entryBlock; }

  //===--- The walk -------------------------------------------------------===//

  /// Calls \p lift for each reachable block, dominators first, with the
  /// variables as they are at the block's start and the insertion point at its
  /// end.
  void walk(const FlowGraph &graph, uint32_t entry,
            llvm::function_ref<void(uint32_t)> lift);

  /// Current value; `kern.undef` at the function's start when there is none.
  mlir::Value read(uint32_t variable);
  void write(uint32_t variable, mlir::Value value);
  /// Appends the values that block \p successor's phi nodes take when control
  /// comes from here.
  void appendPhiOperands(uint32_t successor,
                         llvm::SmallVectorImpl<mlir::Value> &values);

  /// Puts \p op at the end of the current block.
  void append(mlir::Operation *op);
  /// Puts \p op at the function's start, before all that was appended.
  void insertInPrologue(mlir::Operation *op);

  /// An integer of \p type at the function's start, made once. Bits beyond the
  /// 64 are the sign's when \p isSigned.
  mlir::Value constant(uint64_t bits, mlir::IntegerType type,
                       bool isSigned = true);
  /// A value that nothing defines; one a type.
  mlir::Value undefined(mlir::IntegerType type);

private:
  kern::FuncOp op;
  LiftStatistics &statistics;

  std::vector<mlir::IntegerType> types;
  /// Variables with a phi node, by block.
  Rows phis;
  std::vector<mlir::Block *> blocks;
  /// Read in a block that does not write it first.
  std::vector<bool> crossesBlocks;
  std::vector<mlir::Value> current;
  /// What a subtree of the dominator tree has overwritten.
  std::vector<std::pair<uint32_t, mlir::Value>> undoLog;

  mlir::Block *entryBlock = nullptr, *block = nullptr;
  /// First operation of the entry block behind constants and addresses.
  mlir::Operation *prologueEnd = nullptr;
  llvm::DenseMap<std::pair<uint64_t, unsigned>, mlir::Value> constants;
  llvm::DenseMap<uint32_t, mlir::Value> undefinedVariables;
  llvm::DenseMap<unsigned, mlir::Value> undefinedTypes;
};

} // namespace d2k::lift

#endif // D2K_FRONTEND_LIFTING_SSABUILDER_H
