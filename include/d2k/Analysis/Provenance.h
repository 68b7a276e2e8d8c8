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
// that do the work of a dot product without products (through logarithms, or a
// table).
//
// Unknown: `isUnknown` says that a value may contain something that is not
// modelled (the result of a call, memory of a module variable that the host may
// have filled, an unknown address). A module variable with an initialiser
// counts as a table of constants.

#ifndef D2K_ANALYSIS_PROVENANCE_H
#define D2K_ANALYSIS_PROVENANCE_H

#include "d2k/Analysis/MemoryRoots.h"

namespace d2k::analysis {

/// Kinds of product a term can go through; see the top of this file.
enum class ProductClass : uint8_t { Mul, Mac, Wmma, MmaSync, Wgmma, Tcgen05 };

/// A set of terms: bit `m` says that there is a term that went through exactly
/// the product classes of the bit mask `m`.
class Terms {
public:
  constexpr Terms() = default;
  /// One load of an input, through no product.
  static constexpr Terms input() { return Terms(1); }

  bool empty() const { return bits == 0; }
  Terms operator|(Terms other) const { return Terms(bits | other.bits); }
  bool operator==(Terms other) const { return bits == other.bits; }
  /// All products of a term of this and one of `other`, through `through` (a
  /// mask of product classes) as well.
  Terms times(Terms other, unsigned through) const;
  /// Every term that went through Mul, now also as one through Mac.
  Terms summed() const;
  /// Whether some term went through `product`.
  bool has(ProductClass product) const;
  /// Product classes, as a mask, of the terms that compute a result and do not
  /// go through `product`: dot products and other matrix instructions.
  unsigned getRivalsOf(ProductClass product) const;
  /// Whether all terms are plain copies of inputs.
  bool isPlain() const { return bits == 1; }
  /// Calls `fn` with the class mask of each term.
  template <typename Fn>
  void forEach(Fn fn) const {
    for (uint64_t rest = bits; rest; rest &= rest - 1)
      fn(unsigned(llvm::countr_zero(rest)));
  }
  /// "1 + mac + mma_sync*mul": for tests.
  std::string toString() const;

private:
  constexpr explicit Terms(uint64_t bits) : bits(bits) {}
  uint64_t bits = 0;
};

/// How a value reaches an output, in ascending order.
enum class Reach : uint8_t { None, Control, May, Must };

/// Whether a call changes nothing that an analysis looks at: printing,
/// assertions, the device heap.
bool isHarmlessCall(kern::CallOp call);

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
  Provenance(const KernelIndex &index, const ConstantValues &constants,
             const MemoryRoots &memory, llvm::ArrayRef<BlockId> order);

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
  bool isParameterMemory(uint32_t access) const;

  llvm::ArrayRef<OutputStore> getOutputStores() const { return outputs; }
  /// Operations that may write any memory, outputs included: unknown calls and
  /// opaque operations that get an address.
  llvm::ArrayRef<OpId> getUnknownWriters() const { return unknownWriters; }
  /// Operations whose effect is not modelled at all, in the order of the text.
  llvm::ArrayRef<OpId> getUnmodelled() const { return unmodelled; }

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
    ValueId result = kNone;
    uint32_t numResults = 0;
  };

  void compile(llvm::ArrayRef<BlockId> order);
  void compileOp(OpId op);
  Span values_(llvm::ArrayRef<ValueId> list);
  Span valuesOf(mlir::ValueRange range);
  void addRead(Node &node, uint32_t access, bool asB = false);
  void addWrite(Node &node, uint32_t access);
  llvm::ArrayRef<uint32_t> get(Span span) const {
    return llvm::ArrayRef(pool).slice(span.begin, span.size);
  }
  Span closeObjects(std::vector<uint32_t> &list);
  Content uniteValues(Span span) const;
  Content uniteObjects(Span span) const;
  Content evaluate(const Node &node) const;
  /// What memory holds after an atomic has put `content` there many times.
  static Content summedUp(Content content);
  bool apply(const Node &node);
  bool raise(ValueId value, Reach to);
  bool raiseObject(ObjectId object, Reach to);
  bool applyBackward(const Node &node);
  void solve();
  void collectOutputs();

  const KernelIndex &index;
  const ConstantValues &constants;
  const MemoryRoots &memory;
  std::vector<Node> nodes;
  std::vector<uint32_t> pool;
  std::vector<Content> values;
  std::vector<Reach> reach;
  /// Objects of MemoryRoots, then per space: what unknown addresses wrote, and
  /// everything.
  std::vector<Content> memoryContent;
  std::vector<Reach> memoryReach;
  /// Node of each operation, kNone when it has none.
  std::vector<uint32_t> nodeOf;
  std::vector<OutputStore> outputs;
  std::vector<OpId> unknownWriters, unmodelled;
  std::vector<uint32_t> scratchA, scratchB, scratchWritten;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_PROVENANCE_H
