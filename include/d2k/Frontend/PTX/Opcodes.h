// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of PTX instructions: opcodes, modifiers and special registers
// as enumerations generated from the .def tables beside this file, and what the
// tables say about each. The syntax tree is in AST.h.

#ifndef D2K_FRONTEND_PTX_OPCODES_H
#define D2K_FRONTEND_PTX_OPCODES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace d2k::ptx {

struct Instruction;

/// An opcode: a row of PTXOpcodes.def. Unknown is a mnemonic whose first part
/// has no row; its spelling is in Mnemonic::unknownName.
enum class Opcode : uint16_t {
  Unknown,
#define D2K_PTX_OPCODE(Enum, Spelling, Signature, Class) Enum,
#include "d2k/Frontend/PTX/PTXOpcodes.def"
};

/// Number of opcodes, Unknown included.
unsigned getNumOpcodes();

/// The dotted spelling (`cp.async.bulk`); empty for Unknown.
llvm::StringRef getSpelling(Opcode opcode);

/// The operand signature, in the letters that PTXOpcodes.def explains.
llvm::StringRef getSignature(Opcode opcode);

/// What an instruction does, as far as its opcode says: the class a consumer
/// switches on. One class has one operand layout up to optional operands.
enum class OpcodeClass : uint8_t {
  Unknown,
  /// A pure function of the operands (and of the carry flag).
  Arith,
  /// Pure and executed by the special-function unit or as a sequence (rcp,
  /// sin, ...).
  SpecialFunction,
  Compare,
  Select,
  Move,
  Convert,
  /// Scalar and packed video instructions: pure.
  Video,
  Shuffle,
  /// vote, match, activemask.
  Vote,
  /// redux.sync.
  WarpReduce,
  Elect,
  Load,
  Store,
  /// st.async: completes on an mbarrier.
  AsyncStore,
  /// red.async: completes on an mbarrier.
  AsyncReduce,
  /// st.bulk.
  BulkStore,
  Atomic,
  Reduce,
  MultimemLoad,
  MultimemStore,
  MultimemReduce,
  Prefetch,
  /// applypriority, discard.
  CacheControl,
  CachePolicy,
  /// isspacep, getctarank.
  AddressQuery,
  /// cvta, mapa.
  AddressConvert,
  /// cp.async, its group commit and waits.
  AsyncCopy,
  AsyncCommit,
  AsyncWait,
  /// cp.async.bulk family, its group commit and wait.
  BulkCopy,
  BulkReduce,
  BulkPrefetch,
  BulkTensorCopy,
  BulkTensorReduce,
  BulkTensorPrefetch,
  BulkCommit,
  BulkWait,
  TensormapReplace,
  TensormapCopy,
  Texture,
  /// txq, suq, istypep.
  TextureQuery,
  SurfaceLoad,
  SurfaceStore,
  SurfaceReduce,
  Branch,
  IndirectBranch,
  Call,
  Return,
  Exit,
  Trap,
  /// CTA barriers: bar.sync and barrier.sync.
  Barrier,
  BarrierArrive,
  BarrierReduce,
  WarpBarrier,
  ClusterArrive,
  ClusterWait,
  /// membar, fence.
  Fence,
  ProxyFence,
  GridDependency,
  MBarrierInit,
  MBarrierInval,
  MBarrierExpectTx,
  MBarrierCompleteTx,
  MBarrierArrive,
  /// cp.async.mbarrier.arrive.
  AsyncMBarrierArrive,
  MBarrierWait,
  MBarrierQuery,
  ClusterLaunchControl,
  ClusterLaunchQuery,
  WmmaLoad,
  WmmaStore,
  Wmma,
  Mma,
  MmaSparse,
  MatrixLoad,
  MatrixStore,
  MatrixMove,
  Wgmma,
  WgmmaSparse,
  WgmmaFence,
  WgmmaCommit,
  WgmmaWait,
  Tcgen05Alloc,
  Tcgen05Dealloc,
  Tcgen05Relinquish,
  Tcgen05Load,
  Tcgen05Store,
  Tcgen05Wait,
  Tcgen05Copy,
  Tcgen05Shift,
  /// Dense, sparse, `.ws` and block-scaled tcgen05.mma: told apart by opcode
  /// and modifiers.
  Tcgen05Mma,
  Tcgen05Fence,
  Tcgen05Commit,
  /// stacksave, stackrestore, alloca.
  Stack,
  RegisterBudget,
  Sleep,
  /// brkpt, pmevent.
  Debug,
};

/// The class of an opcode; Unknown for Opcode::Unknown.
OpcodeClass getClass(Opcode opcode);

/// One dotted part of a mnemonic after the opcode. Unknown keeps its spelling
/// as an interned name, Shape has m, n and k; see ModifierUse.
enum class Modifier : uint16_t {
  Unknown,
  Shape,
#define D2K_PTX_MODIFIER(Enum, Spelling, Category) Enum,
#include "d2k/Frontend/PTX/PTXModifiers.def"
};

/// Number of modifiers, Unknown and Shape included.
unsigned getNumModifiers();

/// What a modifier commonly says; the opcode has the last word.
enum class ModifierCategory : uint8_t {
  Unknown,
  Type,
  Space,
  Vector,
  Cache,
  CacheHint,
  Level,
  Rounding,
  Arithmetic,
  Half,
  Compare,
  Operation,
  Shuffle,
  Permute,
  Convergence,
  Semantics,
  Scope,
  Proxy,
  Completion,
  Form,
  Shape,
  Layout,
  Tensor,
  Field,
  Texture,
  Matrix,
  Tcgen05,
  Cluster,
  Video,
};

/// The spelling without its dot; empty for Unknown and Shape.
llvm::StringRef getSpelling(Modifier modifier);
ModifierCategory getCategory(Modifier modifier);
/// The modifier spelled \p spelling (no dot); Unknown when there is none.
Modifier lookupModifier(llvm::StringRef spelling);

/// Width in bits of a value of a Type modifier (`.f16x2` is 32, `.pred` 1,
/// `.e4m3x4` 32); 0 for opaque types and for what is not a type.
unsigned getBitWidth(Modifier type);

/// A special register: a row of PTXSpecialRegisters.def.
enum class SpecialRegister : uint8_t {
#define D2K_PTX_SPECIAL_REGISTER(Enum, Spelling, Bits, Components) Enum,
#define D2K_PTX_SPECIAL_REGISTER_FAMILY(Enum, Spelling, Bits, Count, Suffix)   \
  Enum,
#include "d2k/Frontend/PTX/PTXSpecialRegisters.def"
};

/// A special register together with the number of a family member
/// (`%envreg12`).
struct SpecialRegisterUse {
  SpecialRegister reg;
  uint8_t index = 0;
};

/// Finds the register spelled \p spelling (`%tid`, `%pm3_64`), percent sign
/// included, component excluded.
std::optional<SpecialRegisterUse>
lookupSpecialRegister(llvm::StringRef spelling);
/// Appends the spelling of \p use, percent sign included.
void appendSpelling(SpecialRegisterUse use, llvm::SmallVectorImpl<char> &out);
/// Width in bits of one element: 1, 32 or 64.
unsigned getBitWidth(SpecialRegister reg);

/// What an instruction does with one operand.
enum class OperandAccess : uint8_t {
  /// No signature matches: treat as read and written.
  Unknown,
  Read,
  Write,
  ReadWrite,
  /// An address in brackets: the registers in it are read; whether memory is
  /// read or written is up to the class.
  Address,
  /// A label, function, table or prototype.
  Target,
};

/// Matches the operands of \p instruction against its opcode's signature and
/// appends one access an operand. False when they do not match (a wrong number
/// of operands, or an unknown opcode): then every access is Unknown.
bool getOperandAccesses(const Instruction &instruction,
                        llvm::SmallVectorImpl<OperandAccess> &accesses);

} // namespace d2k::ptx

#endif // D2K_FRONTEND_PTX_OPCODES_H
