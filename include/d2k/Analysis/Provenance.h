// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From which inputs a value is made, through which kinds of products, and
// whether it ends up in an output: a data-flow analysis over registers and
// memory objects.
//
// Forward: a value is seen as a sum of *terms*. A term is a product of loads of
// inputs and remembers only through which classes of product it went:
//   Mul      a product or quotient of two values that both come from inputs
//   Mac      such a product as part of a sum of four or more, or of one that
//            atomics build up in memory (a dot product)
//   Wmma, MmaSync, Wgmma, Tcgen05   matrix instructions
// An *input* is global memory that a pointer or tensor map in the parameters
// leads to. Addresses, predicates and branch conditions are no data. A product
// with a constant zero has no terms.
//
// Example
//   a = ld.global [A]           terms {1}
//   acc = mma(a, b, 0)          {MmaSync}
//   y = acc * scale             scale loaded: {MmaSync*Mul}
//   z = y + residual            {MmaSync*Mul, 1}
//   n = fma(a, b, n)  in a loop {Mul, Mac}
// A value with a term {Mac} and one {MmaSync} is made in two rival ways.
//
// Backward: how far a value *reaches* an output, which is global memory that a
// parameter leads to and that the kernel writes:
//   None     nothing reads it, or only what is itself unused
//   Control  only as part of an address, a guard or a branch condition
//   May      through a choice's condition, an operation that is not modelled,
//            or memory whose identity is not known
//   Must     as data
//
// Memory is flow-insensitive: an object holds the sum of everything that is
// ever written to it. Not detected: that a store is overwritten before it is
// read, that a value is multiplied by a number that happens to be zero, sums
// that do the work of a dot product without products (Residue.h finds these).
//
// Unknown: `isUnknown` says that a value may contain something that is not
// modelled (the result of a call, memory of a module variable that the host may
// have filled, an unknown address). A module variable with an initialiser
// counts as a table of constants.

#ifndef D2K_ANALYSIS_PROVENANCE_H
#define D2K_ANALYSIS_PROVENANCE_H

#include "d2k/Analysis/DataFlow.h"

namespace d2k::analysis {

/// How a value reaches an output, in ascending order.
enum class Reach : uint8_t { None, Control, May, Must };

/// One write to global memory.
struct OutputStore {
  OpId op = kNone;
  /// Position in MemoryRoots::getAccesses().
  uint32_t access = 0;
  /// What it writes.
  Terms terms;
  bool unknown = false;
  /// The memory it writes is led to by a parameter.
  bool rooted = false;
};

class Provenance {
public:
  Provenance(const KernelIndex &index, const MemoryRoots &memory,
             const DataFlow &flow);

  Terms getTerms(ValueId value) const { return values[value].terms; }
  bool isUnknown(ValueId value) const { return values[value].unknown; }
  Reach getReach(ValueId value) const { return reach[value]; }

  /// The content of memory object `object`.
  Terms getContent(ObjectId object) const {
    return memoryContent[object].terms;
  }
  bool isContentUnknown(ObjectId object) const {
    return memoryContent[object].unknown;
  }
  /// How far the content of `object` reaches.
  Reach getObjectReach(ObjectId object) const { return memoryReach[object]; }

  /// What access number `access` reads: input terms included.
  Terms getRead(uint32_t access) const;
  bool isReadUnknown(uint32_t access) const;
  /// How far what access number `access` writes reaches.
  Reach getWriteReach(uint32_t access) const;

  /// Whether access number `access` reads or writes memory that a parameter
  /// leads to.
  bool isParameterMemory(uint32_t access) const {
    return flow.isParameterMemory(access);
  }

  llvm::ArrayRef<OutputStore> getOutputStores() const { return outputs; }
  /// Operations that may write any memory, outputs included: unknown calls and
  /// opaque operations that get an address.
  llvm::ArrayRef<OpId> getUnknownWriters() const {
    return flow.getUnknownWriters();
  }
  /// Operations whose effect is not modelled at all, in the order of the text.
  llvm::ArrayRef<OpId> getUnmodelled() const { return flow.getUnmodelled(); }

  /// Terms of the A and the B operand of a matrix product, read through
  /// descriptors and tensor memory where they are not registers.
  std::pair<Terms, Terms> getProductOperands(OpId op) const;
  /// Whether A or B may contain something unknown.
  bool areProductOperandsUnknown(OpId op) const;
  /// How far the result of a matrix product reaches.
  Reach getProductReach(OpId op) const;

private:
  struct Content {
    Terms terms;
    /// Number of products summed, up to 4.
    uint8_t chain = 0;
    bool unknown = false;
    bool operator==(const Content &other) const {
      return terms == other.terms && chain == other.chain &&
             unknown == other.unknown;
    }
  };
  Content uniteValues(DataFlow::Span span) const;
  Content uniteObjects(DataFlow::Span span) const;
  Content evaluate(const DataFlow::Node &node) const;
  /// What memory holds after an atomic has put `content` there many times.
  static Content summedUp(Content content);
  bool apply(const DataFlow::Node &node);
  bool raise(ValueId value, Reach to);
  bool raiseObject(ObjectId object, Reach to);
  bool applyBackward(const DataFlow::Node &node);
  void solve();
  void collectOutputs();

  const MemoryRoots &memory;
  const DataFlow &flow;
  std::vector<Content> values;
  std::vector<Reach> reach;
  /// By cell of the data flow.
  std::vector<Content> memoryContent;
  std::vector<Reach> memoryReach;
  std::vector<OutputStore> outputs;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_PROVENANCE_H
