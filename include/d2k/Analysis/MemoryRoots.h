// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memory an address points into, and what the accesses of a kernel
// divide that memory into.
//
// A *root* is where an address comes from: a memory object of the module
// (`kern.object`), the kernel's parameter block, a pointer that a parameter
// holds, a pointer loaded from memory, or an allocation of tensor memory. An
// address keeps its root through additions, conversions, alignment, choices,
// spills to memory, and the shift-and-mask idioms of matrix descriptors.
//
// Example (offsets in bytes)
//   %s = kern.address_of @smem                    root @smem, offset [0, 0]
//   %a = add (%s, 1023); and (%a, ~1023)          root @smem, [0, 1023]
//   %t = and (tid.x, 31); shl (%t, 4)             no root, a number [0, 496]
//   add (%s, %t)                                  root @smem, [0, 496]
//   %d = shr (%s, 4); or (%d, 1 << 62)            root @smem, [0, 0], a
//                                                 descriptor (shift 4)
//   kern.tmem_mma acc (%n), %n without a root     root "tensor memory", if the
//                                                 kernel allocates it once
//   %p = kern.load param u64 [%x]                 root "pointer in parameter x"
//   add (%p, mul (%row, %k))                      the same, offset not known
//
// A *memory object* here is a root together with a range of offsets that no
// access outside it touches: accesses of one root whose constant ranges overlap
// belong to one object, and an access without a known range joins all of its
// root. Barrier words are recognised by use and belong to no object.
//
// Not detected: affine relations between offsets (two halves of one dynamic
// array that are addressed by run-time values are one object), pointers built
// from integers, offsets that a branch condition bounds.
//
// Unknown: an address without any root. It may point anywhere in its space,
// and is never taken for global memory. Two different pointer parameters are
// different roots, though the caller may pass the same buffer twice.

#ifndef D2K_ANALYSIS_MEMORYROOTS_H
#define D2K_ANALYSIS_MEMORYROOTS_H

#include "d2k/Analysis/ConstantValues.h"

#include "mlir/IR/SymbolTable.h"

#include <map>
#include <string>

namespace d2k::analysis {

using RootId = uint32_t;
using ObjectId = uint32_t;

/// Parameter and byte in it.
using ParameterPlace = std::pair<unsigned, int64_t>;
/// Pointers and tensor maps among the parameters that lead to memory which
/// nobody reads after the kernel, with the name of that memory.
using UnreadMemory = std::map<ParameterPlace, std::string>;

/// Where an address comes from.
struct Root {
  enum class Kind : uint8_t {
    /// Not known.
    Unknown,
    /// A `kern.object`.
    Symbol,
    /// The parameter block: `number` is the parameter.
    Parameter,
    /// The pointer at `offset` of parameter `number`; offset -1 when the place
    /// within the parameter is not constant.
    Pointer,
    /// A pointer loaded from memory other than the parameter block.
    Loaded,
    /// Tensor memory, by allocation.
    TensorMemory,
    /// A function.
    Function,
  };
  Kind kind = Kind::Unknown;
  uint32_t number = 0;
  int64_t offset = 0;
  kern::Space space = kern::Space::Unknown;
  mlir::Operation *symbol = nullptr;
  /// Nobody reads what the kernel writes there: it is no output.
  bool isUnread = false;
};

/// One memory access with what is known about where it goes.
struct AccessInfo {
  OpId op = kNone;
  kern::MemoryAccess access;
  /// The space, derived from the root for generic addresses; Unknown when it
  /// is not known.
  kern::Space space = kern::Space::Unknown;
  /// Roots the address may have; empty when unknown.
  llvm::SmallVector<RootId, 1> roots;
  /// Bytes touched relative to the root, [low, high), when `bounded`.
  int64_t low = 0, high = 0;
  bool bounded = false;

  bool isGlobal() const {
    return space == kern::Space::Global || space == kern::Space::Constant;
  }
};

/// A root and a range of its bytes; see the top of this file.
struct MemoryObject {
  RootId root = kNone;
  kern::Space space = kern::Space::Unknown;
  int64_t low = 0, high = 0;
  bool bounded = false;
};

class MemoryRoots {
public:
  /// \p symbols keeps the tables of symbols between kernels: a module may have
  /// 10^4 of each.
  /// What is written to \p unread, when given, is no output.
  MemoryRoots(const KernelIndex &index, const ConstantValues &constants,
              mlir::SymbolTableCollection &symbols,
              const UnreadMemory *unread = nullptr);

  const Root &getRoot(RootId root) const { return roots[root]; }
  uint32_t getNumRoots() const { return roots.size(); }
  /// Roots that `value` may point into; empty when it is no address or its
  /// origin is not known.
  llvm::ArrayRef<RootId> getRoots(ValueId value) const {
    return sets[states[value].set];
  }
  /// Offset from the root, inclusive, when it is bounded.
  std::optional<std::pair<int64_t, int64_t>> getOffset(ValueId value) const {
    const State &state = states[value];
    if (state.set == 0 || !state.bounded)
      return std::nullopt;
    return std::pair(state.low, state.high);
  }

  /// Accesses of operations that may run, in the order of the text. Loads of
  /// kernel parameters are left out.
  llvm::ArrayRef<AccessInfo> getAccesses() const { return accesses; }
  /// Positions in getAccesses() of those of `op`.
  llvm::ArrayRef<AccessInfo> getAccessesOf(OpId op) const {
    return llvm::ArrayRef(accesses).slice(firstAccess[op], firstAccess[op + 1] -
                                                               firstAccess[op]);
  }
  uint32_t getFirstAccess(OpId op) const { return firstAccess[op]; }

  llvm::ArrayRef<MemoryObject> getObjects() const { return objects; }
  /// Objects that access number `access` may touch; empty for barrier words
  /// and for unknown addresses.
  llvm::ArrayRef<ObjectId> getObjectsOf(uint32_t access) const {
    return accessObjects[access];
  }
  /// Accesses that may touch `object`, ascending.
  llvm::ArrayRef<uint32_t> getAccessesTo(ObjectId object) const {
    return objectAccesses[object];
  }

  /// Whether nobody reads after the kernel what access number `access` writes.
  bool isUnread(uint32_t access) const;

  /// For messages: "@smem", "parameter 2", "the pointer in parameter 0".
  std::string describe(RootId root) const;

private:
  struct State {
    uint32_t set = 0;
    /// Offset in bytes, inclusive, when `bounded`.
    int64_t low = 0, high = 0;
    bool bounded = false;
    /// Right shift that a descriptor field has had.
    uint8_t shift = 0;
    /// Number of times the state grew, to cut off growing offsets.
    uint8_t growth = 0;
  };

  RootId addRoot(Root root);
  uint32_t internSet(llvm::ArrayRef<RootId> set);
  uint32_t unite(uint32_t a, uint32_t b);
  bool update(ValueId value, State with);
  void propagate(ValueId value);
  void visit(OpId op);
  void visitLoad(OpId op);
  void visitStore(OpId op);
  State transferArith(OpId op) const;
  State add(State address, Range by, int sign) const;
  void addContent(RootId root, uint32_t set);
  bool onlyShared(uint32_t set) const;
  void solve();
  /// The allocation of tensor memory that an address without a root must be in;
  /// kNone when there are several, or none.
  RootId findOnlyTensorMemory() const;
  void collectAccesses();
  void buildObjects();

  const KernelIndex &index;
  const ConstantValues &constants;
  mlir::SymbolTableCollection &symbols;
  const UnreadMemory *unread;
  std::vector<Root> roots;
  llvm::DenseMap<std::pair<uint32_t, uint64_t>, RootId> rootIds;
  std::vector<llvm::SmallVector<RootId, 2>> sets;
  llvm::DenseMap<uint64_t, uint32_t> unions;
  llvm::DenseMap<RootId, uint32_t> singletons;
  std::vector<State> states;
  /// Roots of the pointers stored into each root, and the loads to repeat when
  /// they grow.
  std::vector<uint32_t> content;
  std::vector<std::vector<OpId>> loadsOf;
  std::vector<OpId> worklist;
  std::vector<bool> queued;
  llvm::DenseMap<mlir::Operation *, RootId> symbolRoots;
  std::vector<AccessInfo> accesses;
  std::vector<uint32_t> firstAccess;
  std::vector<MemoryObject> objects;
  FlatLists accessObjects, objectAccesses;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_MEMORYROOTS_H
