// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What flows where in one kernel: each operation compiled into a small node
// over dense numbers, for analyses that follow data through registers and
// memory.
//
// A node combines values and the content of memory *cells*. A cell is a memory
// object of MemoryRoots, or one of two pseudo cells that each space has: what
// is written through addresses that are not known, and everything that is
// written. A read of a known object also reads the former; a read through an
// unknown address reads the latter.
//
// Example: `ld.shared %f, [%a]` with one object @tile behind %a is a Load node
// that reads the cells {@tile, stray writes to shared memory, stray writes
// anywhere}, with %a as control. If %a has no root, it reads all of shared
// memory instead.
//
// Not compiled: constants, parameters, barrier words, operations that never
// run, stores that are overwritten (OverwrittenStores.h), results that come out
// the same whatever goes in.
//
// Unknown: `readsUnknown` and `writesUnknown` of a node; operations that are
// not modelled have code Unknown.

#ifndef D2K_ANALYSIS_DATAFLOW_H
#define D2K_ANALYSIS_DATAFLOW_H

#include "d2k/Analysis/MemoryRoots.h"
#include "d2k/Analysis/Terms.h"

namespace d2k::analysis {

/// Whether a call changes nothing that an analysis looks at: printing,
/// assertions, the device heap.
bool isHarmlessCall(kern::CallOp call);

/// The class of a matrix instruction.
ProductClass getProductClass(kern::MatrixFamily family);

/// Number of a memory cell.
using CellId = uint32_t;

class DataFlow {
public:
  /// What a node does with its operands.
  enum class Code : uint8_t {
    Union,
    Add,
    LaneSum,
    Mul,
    Fma,
    Div,
    Select,
    Product,
    Load,
    Store,
    Copy,
    Update,
    Unknown,
    Phi,
    Condition
  };
  struct Span {
    uint32_t begin = 0, size = 0;
  };
  /// One operation, compiled: which values and objects it combines and how.
  struct Node {
    Code code = Code::Union;
    ProductClass product = ProductClass::Mul;
    OpId op = kNone;
    bool zeroA = false, zeroB = false;
    bool readsInput = false, readsUnknown = false;
    bool writesOutput = false, writesUnknown = false;
    /// Values: A, B and the rest; addresses and other control operands.
    Span a, b, c, control, old;
    /// Objects read as A, as B, or copied from; objects written.
    Span readA, readB, written;
    /// How many values of `c` are the accumulator of a product.
    uint32_t numAccumulators = 0;
    ValueId result = kNone;
    uint32_t numResults = 0;
  };

  /// Spaces that have pseudo cells behind the objects.
  enum SpaceSlot : uint32_t {
    SlotShared,
    SlotLocal,
    SlotTensor,
    SlotGlobal,
    SlotAny,
    kNumSlots
  };

  DataFlow(const KernelIndex &index, const ConstantValues &constants,
           const MemoryRoots &memory, llvm::ArrayRef<BlockId> order);

  /// In reverse post-order of the blocks.
  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  /// The node of `op`; null when it has none.
  const Node *find(OpId op) const {
    return nodeOf[op] == kNone ? nullptr : &nodes[nodeOf[op]];
  }
  llvm::ArrayRef<uint32_t> get(Span span) const {
    return llvm::ArrayRef(pool).slice(span.begin, span.size);
  }

  uint32_t getNumCells() const { return numObjects + 2 * kNumSlots; }
  /// Whether `cell` is an object, and no pseudo cell.
  bool isObject(CellId cell) const { return cell < numObjects; }
  static SpaceSlot getSlot(kern::Space space);
  /// What unknown addresses of a space wrote, and all of the space.
  CellId getStray(SpaceSlot slot) const { return numObjects + slot; }
  CellId getWhole(SpaceSlot slot) const {
    return numObjects + kNumSlots + slot;
  }

  /// Whether access number `access` reads or writes memory that a parameter
  /// leads to.
  bool isParameterMemory(uint32_t access) const;
  /// Operations that may write any memory, outputs included: unknown calls and
  /// opaque operations that get an address. Ascending.
  llvm::ArrayRef<OpId> getUnknownWriters() const { return unknownWriters; }
  /// Stores that count as none because their thread overwrites them, ascending.
  llvm::ArrayRef<OpId> getOverwritten() const { return overwritten; }
  /// Operations whose effect is not modelled at all, ascending.
  llvm::ArrayRef<OpId> getUnmodelled() const { return unmodelled; }

private:
  /// The operands of one operation while it is compiled.
  struct Operands {
    llvm::ArrayRef<ValueId> inputs;
    /// The guard, addresses, masks.
    llvm::SmallVector<ValueId, 4> control;
  };
  void compile(llvm::ArrayRef<BlockId> order);
  void compileOp(OpId op);
  void compileProduct(Node node, Operands operands);
  void compileUnknown(Node node, Operands operands);
  void compileMemory(Node node, Operands operands);
  void compileSelect(Node node, Operands operands);
  void compileArith(Node node, Operands operands);
  void push(Node node, const Operands &operands);
  void addCopy(ValueId result, llvm::ArrayRef<ValueId> sources);
  Span addValues(llvm::ArrayRef<ValueId> list);
  Span addValues(mlir::ValueRange range);
  void addRead(Node &node, uint32_t access, bool asB = false);
  void addWrite(Node &node, uint32_t access);
  Span closeCells(std::vector<uint32_t> &list);

  const KernelIndex &index;
  const ConstantValues &constants;
  const MemoryRoots &memory;
  uint32_t numObjects;
  std::vector<Node> nodes;
  std::vector<uint32_t> pool;
  std::vector<uint32_t> nodeOf;
  std::vector<OpId> overwritten;
  std::vector<OpId> unknownWriters, unmodelled;
  std::vector<uint32_t> scratchA, scratchB, scratchWritten;
};

/// Whether the host may have put data into a module variable: one without an
/// initialiser is of no use otherwise. A table with one is taken as constant.
bool mayHoldHostData(const Root &root);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_DATAFLOW_H
