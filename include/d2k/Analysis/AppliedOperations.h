// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is done to data between a load and the main product, and between the
// main product and the store.
//
// The *main products* are the matrix instructions of the main region; in a
// kernel without any, its multiply-adds of two different values that build up a
// sum there. Each operation on a way is one of
//   operand    another loaded value is added: acc + bias[n], fma(a, s, r)
//   scale      a factor that no product made: acc * alpha, acc * scale[n]
//   nonlinear  a function that is not linear in the data: max, ex2, rcp, tanh,
//              the product of two sums, a choice by the sign
// Conversions, moves, sums of partial sums and factors of one are none of them.
//
// A value *must* have gone through an operation when all ways to it do, and
// *may* have when one does. Where ways join, and where one of several stores
// may have filled memory, "must" is what they have in common.
//
// Behind the product only what runs after the last product of a tile counts:
// not what the loop of products does to its sums (promotion, a running
// rescale), nor a copy of that which the compiler has peeled off.
//
// Example
//   for k: acc = mma(a, b, acc)
//   v = acc * alpha                  must {scale}
//   if (flag) v = v + bias[n]        may {operand}
//   D[n] = cvt.bf16(max(v, 0))       must {scale, nonlinear}, may {operand}
//
// A second loaded value that lies in shared memory where results are put too
// (an epilogue in place) counts when a copy brings it there that does not feed
// the products; else it is only "may".
//
// Not detected: operations on the way through global memory.
//
// Unknown: `isKnown` is false when the main region is not known.

#ifndef D2K_ANALYSIS_APPLIEDOPERATIONS_H
#define D2K_ANALYSIS_APPLIEDOPERATIONS_H

#include "d2k/Analysis/MainRegion.h"
#include "d2k/Analysis/SharedObjects.h"

#include "llvm/ADT/BitVector.h"

namespace d2k::analysis {

/// Kinds of operations, as bits.
enum Applied : uint8_t {
  AppliedOperand = 1,
  AppliedScale = 2,
  AppliedNonlinear = 4,
  /// Elements of at most 8 bits are widened: what comes with it is
  /// dequantisation. Before the product only.
  AppliedWidening = 8,
};

/// What was done to one value on its way.
struct AppliedWay {
  /// It comes from where the way starts.
  bool on = false;
  uint8_t must = 0, may = 0;
};

class AppliedOperations {
public:
  AppliedOperations(const KernelIndex &index, const ConstantValues &constants,
                    const Dominance &dominance, const LoopNest &loops,
                    const MemoryRoots &memory, const SharedObjects &objects,
                    const DataFlow &flow, const Provenance &provenance,
                    const MainRegion &region);

  /// The main products are known.
  bool isKnown() const { return known; }
  llvm::ArrayRef<OpId> getProducts() const { return products; }
  /// What was done, since the main products, to what `store` writes.
  AppliedWay getEpilogue(OpId store) const;
  /// What was done, since the loads, to the operands of `product`.
  AppliedWay getPrologue(OpId product) const;
  /// The operations of kind `kind` that count as epilogue or as prologue,
  /// ascending.
  llvm::SmallVector<OpId, 8> getOperations(bool epilogue, uint8_t kind) const;

private:
  using Node = DataFlow::Node;
  /// One direction: the ways by value and by cell, and what each node does.
  struct Ways {
    std::vector<bool> onValue, onCell;
    std::vector<uint8_t> must, may, mustCell, mayCell;
    /// By node: kinds that certainly, or possibly, apply there.
    std::vector<uint8_t> does, mayDo;
    /// The nodes that write any of these values or cells, ascending.
    std::vector<uint32_t> nodes;
  };

  void findProducts();
  void findPlaces();
  void findCopies();
  void findPasses();
  bool isAfterProducts(OpId op) const;
  bool isProduct(OpId op) const { return productOps.test(op); }
  void spread(Ways &ways, bool epilogue) const;
  void classify(Ways &ways, bool epilogue) const;
  void classifyNode(Ways &ways, const Node &node, uint32_t number,
                    bool epilogue) const;
  OpId getChoice(const Node &node) const;
  bool choosesByData(const Ways &ways, const Node &node, bool epilogue) const;
  void solve(Ways &ways, bool epilogue) const;
  /// One pass over all nodes; whether anything changed.
  bool sweep(Ways &ways, bool epilogue, bool upwards) const;
  bool isOn(const Ways &ways, DataFlow::Span values) const;
  bool isOnCell(const Ways &ways, DataFlow::Span cells) const;
  /// Memory that only parameters lead to is no way.
  bool isWay(CellId cell) const;
  bool isFactorOfOne(ValueId value, kern::ElementType type) const;
  /// Whether `value` is loaded data that no product has read, although results
  /// lie in the same memory.
  Tristate bringsInput(ValueId value) const;
  /// Whether `value` is loaded from memory that results are stored to, and may
  /// be a sum that this launch has put there.
  std::vector<OpId> findLoads(ValueId value) const;
  bool readsSums(ValueId value) const;
  bool mayFollowStore(OpId load) const;
  /// bringsInput() for one access that reads.
  Tristate readsInput(uint32_t access) const;

  const KernelIndex &index;
  const ConstantValues &constants;
  const Dominance &dominance;
  const LoopNest &loops;
  const MemoryRoots &memory;
  const SharedObjects &objects;
  const DataFlow &flow;
  const Provenance &provenance;
  const MainRegion &region;
  bool known = false;
  bool scalar = false;
  std::vector<OpId> products;
  llvm::BitVector productOps;
  /// By block: a main product can run later in the same pass; by operation of
  /// the text: it has a copy in the loop of products.
  llvm::BitVector productAhead, peeled;
  /// Blocks may wait for each other's data.
  bool exchanges = false;
  /// Products and barriers, ascending.
  std::vector<OpId> passes;
  /// What readsInput() answers, by access.
  mutable llvm::DenseMap<uint32_t, Tristate> broughtBy;
  Ways before, after;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_APPLIEDOPERATIONS_H
