// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of SASS, the machine code of NVIDIA GPUs from sm_80 on:
// opcodes as an enumeration generated from SASSOpcodes.def, and what the table
// says about each. NVIDIA documents the mnemonics (CUDA Binary Utilities,
// "Instruction Set Reference"), not which operands they read and write: the
// table states that, and scripts/frontend-oracles checks it against the life
// ranges that nvdisasm prints.

#ifndef D2K_FRONTEND_SASS_OPCODES_H
#define D2K_FRONTEND_SASS_OPCODES_H

#include <cstdint>
#include <string_view>

namespace d2k::sass {

/// An opcode: a row of SASSOpcodes.def. The spelling is the first dotted part
/// of the mnemonic (`IMAD` of `IMAD.WIDE.U32`). Unknown has no row; the
/// mnemonic has its spelling.
enum class Opcode : uint16_t {
  Unknown,
#define D2K_SASS_OPCODE(Name, Signature, Class) Name,
#include "d2k/Frontend/SASS/SASSOpcodes.def"
};

/// What an instruction does, as far as its opcode says.
enum class OpcodeClass : uint8_t {
  Unknown,
  /// A pure function of the operands.
  Arith,
  /// Pure, on the special-function unit (MUFU).
  SpecialFunction,
  /// Pure; writes predicates.
  Compare,
  /// Pure; selects or permutes (SEL, FSEL, PRMT, P2R, R2P).
  Select,
  Move,
  Convert,
  /// Moves between the general and the uniform registers (R2UR).
  UniformMove,
  /// Reads a special register (S2R, S2UR, CS2R, B2R for barriers' results).
  SpecialRegister,
  Shuffle,
  Vote,
  Match,
  /// REDUX, CREDUX.
  WarpReduce,
  Elect,
  /// LDC, LDCU, ULDC.
  ConstantLoad,
  /// LD, LDG, LDS, LDL and their uniform forms.
  Load,
  Store,
  /// LDSM.
  MatrixLoad,
  /// STSM.
  MatrixStore,
  /// MOVM: transposes a fragment between the lanes.
  MatrixMove,
  Atomic,
  Reduce,
  /// LDGSTS.
  AsyncCopy,
  /// LDGDEPBAR.
  AsyncCommit,
  /// DEPBAR on a scoreboard.
  AsyncWait,
  /// ARRIVES.LDGSTSBAR: the asynchronous copies arrive on an mbarrier.
  AsyncArrive,
  /// STAS, REDAS: stores to distributed shared memory that complete on an
  /// mbarrier.
  AsyncStore,
  /// UBLKCP, UBLKRED, UBLKPF: bulk copies without tensor map.
  BulkCopy,
  BulkReduce,
  BulkPrefetch,
  /// UTMALDG, UTMASTG, UTMAREDG, UTMAPF: bulk copies with tensor map.
  TensorLoad,
  TensorStore,
  TensorReduce,
  TensorPrefetch,
  /// UTMACCTL: prefetches or invalidates a tensor map.
  TensorMapControl,
  /// UTMACMDFLUSH: commits the bulk group.
  BulkCommit,
  /// SYNCS and SYNCSU: mbarrier operations and transactions.
  MBarrier,
  Texture,
  Surface,
  /// HMMA, IMMA, DMMA, BMMA, QMMA, OMMA: synchronous products of a warp.
  MatrixProduct,
  /// HGMMA, IGMMA, QGMMA, BGMMA: asynchronous products of a warpgroup.
  GroupMatrixProduct,
  /// WARPGROUP.ARRIVE, WARPGROUP.DEPBAR, WARPGROUPSET.
  GroupSync,
  /// UTCHMMA and its kin: products in tensor memory.
  TensorMemoryProduct,
  /// LDTM, STTM.
  TensorMemoryLoad,
  TensorMemoryStore,
  /// UTCCP.
  TensorMemoryCopy,
  /// UTCSHIFT.
  TensorMemoryShift,
  /// UTCBAR: commits tcgen05 operations to an mbarrier.
  TensorMemoryCommit,
  /// UTCATOMSWS: allocation state of tensor memory.
  TensorMemoryAllocation,
  Branch,
  IndirectBranch,
  /// CALL.REL to a place in the section, CALL.ABS to any function.
  Call,
  Return,
  Exit,
  /// BPT.
  Trap,
  /// BAR and BARRIER in all forms: BAR.SYNC, BAR.ARV, BAR.RED.
  Barrier,
  /// WARPSYNC: lanes meet; may change which lanes go on together.
  WarpSync,
  /// BSSY, BSYNC, BREAK, BMOV, YIELD: convergence state; no flow of control.
  Convergence,
  /// UCGABAR_ARV, UCGABAR_WAIT.
  ClusterBarrier,
  /// MEMBAR, FENCE, ERRBAR, CGAERRBAR.
  Fence,
  /// CCTL, CCTLL, CCTLT: cache control, prefetch.
  CacheControl,
  /// ACQBULK, PREEXIT: dependent launch.
  GridDependency,
  /// USETMAXREG.
  SetMaxRegister,
  /// NANOSLEEP.
  Sleep,
  /// No effect on values: NOP, PMTRIG, UVIRTCOUNT.
  NoEffect,
  /// Talks to the runtime or to the work distributor: RTT, R2B,
  /// UGETNEXTWORKID.
  System,
};

/// Number of opcodes, Unknown included.
unsigned getNumOpcodes();

/// The opcode spelled \p spelling, or Unknown.
Opcode findOpcode(std::string_view spelling);

/// "IMAD"; empty for Unknown.
std::string_view getSpelling(Opcode opcode);

/// The operand signature, in the letters that SASSOpcodes.def explains.
std::string_view getSignature(Opcode opcode);

OpcodeClass getClass(Opcode opcode);

} // namespace d2k::sass

#endif // D2K_FRONTEND_SASS_OPCODES_H
