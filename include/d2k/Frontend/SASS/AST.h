// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax tree of SASS: instructions with guard, modifiers, typed operands
// and control codes; basic blocks; and the registers that an instruction reads
// and writes. Free of LLVM and MLIR.
//
// Example: `@!P2 IMAD.WIDE.U32 R6, R38.reuse, UR10, R216` is
//   guard      P2, inverted
//   mnemonic   IMAD, modifiers WIDE, U32
//   operands   R6 written, 2 registers (R6, R7); R38 read; UR10 read;
//              R216 read, 2 registers (R216, R217)

#ifndef D2K_FRONTEND_SASS_AST_H
#define D2K_FRONTEND_SASS_AST_H

#include "d2k/Frontend/SASS/Opcodes.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::sass {

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// The register files. A register holds 32 bits, a predicate one.
enum class RegisterFile : uint8_t {
  /// R0 to R254; RZ reads as zero.
  General,
  /// UR0 to UR62 (UR254 from sm_100 on); URZ reads as zero.
  Uniform,
  /// P0 to P6; PT reads as true.
  Predicate,
  /// UP0 to UP6; UPT reads as true.
  UniformPredicate,
  /// B0 to B15: which lanes wait at a reconvergence point.
  Convergence,
};

/// One register, or the constant of its file (RZ, URZ, PT, UPT).
struct Register {
  /// The index of the constant register of each file.
  static constexpr uint16_t kConstant = 0xffff;

  RegisterFile file = RegisterFile::General;
  uint16_t index = kConstant;

  /// RZ, URZ, PT or UPT: reads a constant, and writes to it are lost.
  bool isConstant() const { return index == kConstant; }
  /// P, UP: one bit.
  bool isPredicate() const {
    return file == RegisterFile::Predicate ||
           file == RegisterFile::UniformPredicate;
  }
  /// UR, UP: one for the warp.
  bool isUniform() const {
    return file == RegisterFile::Uniform ||
           file == RegisterFile::UniformPredicate;
  }
  /// The register \p distance places on, for the parts of a group. That of a
  /// constant is the constant.
  Register getNext(unsigned distance) const {
    return isConstant() ? *this : Register{file, uint16_t(index + distance)};
  }
  /// "R12", "RZ", "UP0", "B1".
  std::string getName() const;

  friend bool operator==(const Register &, const Register &) = default;
  friend auto operator<=>(const Register &, const Register &) = default;
};

/// What an instruction does with a register or operand.
enum class Access : uint8_t {
  /// Neither: immediates, labels, special registers.
  None,
  Read,
  Write,
  /// Reads and writes it (the accumulators of HGMMA are not this: they are a
  /// written and a read operand of the same name).
  ReadWrite,
};

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

enum class OperandKind : uint8_t {
  /// R, UR, P, UP or B register, with its modifiers.
  Register,
  /// All predicates of the thread (PR) or of the warp (UPR) as a bit mask:
  /// operand of P2R, R2P, R2B...
  PredicateSet,
  /// Integer immediate: `0x1f`, `-0x8`.
  Integer,
  /// Floating-point immediate: `1.5`, `+INF`, `-QNAN`.
  Float,
  /// Entry of a constant bank: `c[0x0][0x28]`, `c[0x0][R4+0x10]`,
  /// `cx[UR4][0x10]`.
  Constant,
  /// Address in brackets: `[R4+0x10]`, `desc[UR8][R4.64]`, `[R7+UR4+0x8]`.
  Memory,
  /// Descriptor in uniform registers: `gdesc[UR12]` (matrix descriptor),
  /// `idesc[UR33]` (instruction descriptor), `desc[UR8]` without address (cache
  /// policy of a bulk copy).
  Descriptor,
  /// Tensor memory: `tmem[UR19+0x10]`.
  TensorMemory,
  /// Special register: `SR_TID.X`, `SRZ`, `SR_CLOCKLO`.
  SpecialRegister,
  /// Position in the code: a branch, call or return target.
  Target,
  /// Scoreboard `SB0` of DEPBAR, or a set of them: `{5,4,3}`; `gsb0`.
  Scoreboard,
  /// An address that the linker or loader fills in: `32@lo(symbol)`.
  Symbol,
  /// A word that is part of the operation: `2D`, `ARRAY_2D`, ...
  Word,
};

/// Address, descriptor or constant-bank operand: the sum of base, uniform and
/// offset.
struct Address {
  /// R register in the address; the constant when there is none.
  Register base;
  /// Consecutive registers of the base, by the opcode's table: 2 for 64-bit
  /// addresses.
  uint8_t baseWidth = 1;
  /// `R4.64`: the text says that the base is a pair.
  bool wideBase = false;
  /// `R4.U32`: a 32-bit unsigned offset to the uniform part.
  bool unsignedBase = false;
  /// Factor of the base: `R4.X8` has 8.
  uint8_t scale = 1;
  /// UR register in the address; the constant when there is none. It is the
  /// whole address in `[UR4+0x10]`.
  Register uniform{RegisterFile::Uniform, Register::kConstant};
  /// Consecutive registers of the uniform part. TMA instructions name only the
  /// first of a group: `UTMALDG.2D [UR8], [UR4]` reads UR8 to UR11 (address in
  /// shared memory, mbarrier, two coordinates) and UR4, UR5 (tensor map).
  uint8_t uniformWidth = 1;
  /// Bytes added; columns and lanes for tensor memory.
  int64_t offset = 0;
  /// `desc[UR8]`: the pair with the properties of the access, when the operand
  /// has one. On sm_80 to sm_89 the text omits it and the encoding has it.
  std::optional<Register> descriptor;
  /// The number in `c[0x0][...]`.
  std::optional<uint32_t> bank;
  /// `cx[UR4][...]`: the pair that names the constant buffer instead.
  std::optional<Register> handle;
  /// Other suffixes of the register inside the brackets (`X`, ...).
  std::vector<std::string> suffixes;

  friend bool operator==(const Address &, const Address &) = default;
};

/// One operand.
struct Operand {
  OperandKind kind = OperandKind::Word;
  /// By the opcode's table: what happens to the registers of a Register
  /// operand. Registers inside an Address are read whatever this says; for
  /// memory it tells whether the *memory* is read or written.
  Access access = Access::None;
  /// Consecutive 32-bit registers of a Register operand, 1 for predicates.
  /// Nothing that is not a register has a width.
  uint8_t width = 0;

  /// Arithmetic minus, `-R4`.
  bool negated = false;
  /// `|R4|`.
  bool absolute = false;
  /// `!P0` or `~R4`.
  bool inverted = false;
  /// `.reuse`: kept in the operand cache; no meaning for values.
  bool reuse = false;

  /// For Register.
  Register reg;
  /// For Constant, Memory, Descriptor, TensorMemory.
  Address address;
  /// For Integer. For Target the byte offset in the section; -1 when only a
  /// symbol is known. For Scoreboard the bit set. For Symbol what is added.
  int64_t integer = 0;
  /// For Float.
  double real = 0;
  /// For SpecialRegister, Symbol, Word and Target by symbol: the name. For
  /// Descriptor "gdesc", "idesc" or "desc".
  std::string name;
  /// Suffixes of the operand without `reuse`: `H0_H0`, `B1`, `ROW`, ... For a
  /// Symbol `lo` or `hi` when it is half of an address.
  std::vector<std::string> suffixes;

  bool isRegister() const { return kind == OperandKind::Register; }
  bool hasSuffix(std::string_view suffix) const;
  bool reads() const {
    return access == Access::Read || access == Access::ReadWrite;
  }
  bool writes() const {
    return access == Access::Write || access == Access::ReadWrite;
  }
  /// As nvdisasm prints it: `-R4.reuse`, `desc[UR8][R2.64+0x10]`.
  std::string print() const;
};

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// A mnemonic, shared by all instructions of a module that have it.
struct Mnemonic {
  /// As printed: `LDG.E.128.CONSTANT`.
  std::string text;
  Opcode opcode = Opcode::Unknown;
  /// The dotted parts after the opcode, in order.
  std::vector<std::string> modifiers;

  bool has(std::string_view modifier) const;
  /// The first modifier, which often selects the operation (BAR.SYNC,
  /// MUFU.RCP); empty when there is none.
  std::string_view getFirst() const {
    return modifiers.empty() ? std::string_view() : modifiers.front();
  }
};

/// What the scheduler is told, from the upper bits of the encoding (the layout
/// of Volta and later: bits 105 to 125).
struct ControlCodes {
  /// Cycles until the next instruction may issue.
  uint8_t stall = 0;
  bool yield = false;
  /// Scoreboard set when the results are written, and when the operands have
  /// been read; 7 is none.
  uint8_t writeBarrier = 7;
  uint8_t readBarrier = 7;
  /// Bit i: waits for scoreboard i before it issues.
  uint8_t waitMask = 0;
  /// Bit i: operand slot i is kept in the operand cache.
  uint8_t reuse = 0;
};

/// The 128 bits of an instruction.
struct Encoding {
  uint64_t low = 0;
  uint64_t high = 0;

  /// Bits [first, first + count), count at most 64.
  uint64_t getBits(unsigned first, unsigned count) const;
};

/// The predicate before an instruction: `@!P0`.
struct Guard {
  Register predicate;
  bool inverted = false;
};

struct Instruction {
  /// Bytes from the start of the function's section.
  uint32_t offset = 0;
  /// Never null.
  const Mnemonic *mnemonic = nullptr;
  /// Nothing when it always executes (@PT is never printed).
  std::optional<Guard> guard;
  std::vector<Operand> operands;
  /// Nothing when the input was nvdisasm's text alone.
  std::optional<Encoding> encoding;
  /// The table knows the opcode and every operand fits its signature, so that
  /// accesses and widths are what the hardware does.
  bool isModelled = false;

  Opcode getOpcode() const { return mnemonic->opcode; }
  OpcodeClass getClass() const { return sass::getClass(mnemonic->opcode); }
  bool has(std::string_view modifier) const { return mnemonic->has(modifier); }
  /// Guarded by `@!PT` or `@!UPT`: it never executes.
  bool neverExecutes() const {
    return guard && guard->predicate.isConstant() && guard->inverted;
  }
  /// Nothing without encoding.
  std::optional<ControlCodes> getControlCodes() const;
  /// The operand of kind Target, or null.
  const Operand *getTarget() const;
  /// As nvdisasm prints it, from the fields above: `@!P0 IMAD R1, R2, R3, RZ`.
  /// Constants that add nothing to an address are left out.
  std::string print() const;
};

//===----------------------------------------------------------------------===//
// Registers read and written
//===----------------------------------------------------------------------===//

/// One group of registers that an instruction reads or writes.
struct RegisterAccess {
  Register first;
  /// Consecutive registers; constants are listed with their width too.
  uint8_t count = 1;
  Access access = Access::Read;
  /// Index of the operand; kGuard for the guard, kImplicit for registers that
  /// are in the encoding or follow from the opcode but are not printed.
  int operand = kImplicit;
  static constexpr int kGuard = -1;
  static constexpr int kImplicit = -2;
};

/// Every register that \p instruction names, in the order guard, operands,
/// implicit ones. A guarded instruction may leave what it writes unchanged;
/// that is not listed as a read. The registers of an instruction that is not
/// modelled are listed as ReadWrite with count 1.
std::vector<RegisterAccess> getAccesses(const Instruction &instruction);

/// A set of registers of all files. Constants are never members.
class RegisterSet {
public:
  void insert(Register reg);
  void insert(Register first, unsigned count);
  void erase(Register reg);
  bool contains(Register reg) const;
  bool empty() const;
  size_t size() const;
  /// Adds the members of \p other; true when that changed something.
  bool unite(const RegisterSet &other);
  void subtract(const RegisterSet &other);
  /// The members, by file and index.
  std::vector<Register> getMembers() const;

  friend bool operator==(const RegisterSet &, const RegisterSet &) = default;

private:
  /// General, Uniform: 256 bits each; then one word with 16 bits each for
  /// Predicate, UniformPredicate and Convergence.
  std::array<uint64_t, 9> words{};
};

/// Registers whose value \p instruction uses, the guard's included.
RegisterSet getReads(const Instruction &instruction);
/// Registers that \p instruction writes, when its guard holds.
RegisterSet getWrites(const Instruction &instruction);

//===----------------------------------------------------------------------===//
// Flow of control
//===----------------------------------------------------------------------===//

/// Why control may go from one block to another. Calls are no edges: what calls
/// goes on behind the call, as nvdisasm draws it, and a block that ends in a
/// return has no successor. But a call that is a jump (Function::isJump) is a
/// branch.
enum class EdgeKind : uint8_t {
  /// The next block in the text.
  FallThrough,
  /// A direct branch.
  Branch,
  /// One of the targets of an indirect branch (BRX, BRXU, JMX).
  Indirect,
};

struct Edge {
  /// Index of the block.
  uint32_t target = 0;
  EdgeKind kind = EdgeKind::FallThrough;

  friend bool operator==(const Edge &, const Edge &) = default;
};

/// Instructions [first, last) that run one after the other. Ends after a
/// branch, exit, return or direct call, and before a target. BSSY, BSYNC,
/// BREAK, WARPSYNC and YIELD end no block: they move lanes between convergence
/// states and go to where the text goes.
struct Block {
  uint32_t first = 0;
  uint32_t last = 0;
  /// Taken edges first, the fall-through last; no two alike.
  std::vector<Edge> successors;
};

} // namespace d2k::sass

#endif // D2K_FRONTEND_SASS_AST_H
