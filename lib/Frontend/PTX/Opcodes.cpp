// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Look-ups in the opcode, modifier and special-register tables, and the
// matching of operands against signatures.

#include "d2k/Frontend/PTX/Opcodes.h"
#include "OpcodeTable.h"
#include "d2k/Frontend/PTX/AST.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace d2k::ptx;

//===----------------------------------------------------------------------===//
// Opcodes
//===----------------------------------------------------------------------===//

namespace {
struct OpcodeRow {
  llvm::StringLiteral spelling;
  llvm::StringLiteral signature;
  OpcodeClass opcodeClass;
};
} // namespace

static constexpr OpcodeRow kOpcodes[] = {
    {"", "", OpcodeClass::Unknown},
#define D2K_PTX_OPCODE(Enum, Spelling, Signature, Class)                       \
  {Spelling, Signature, OpcodeClass::Class},
#include "d2k/Frontend/PTX/PTXOpcodes.def"
};

static const OpcodeRow &getRow(Opcode opcode) {
  assert(static_cast<size_t>(opcode) < std::size(kOpcodes) && "no such opcode");
  return kOpcodes[static_cast<size_t>(opcode)];
}

unsigned d2k::ptx::getNumOpcodes() { return std::size(kOpcodes); }
llvm::StringRef d2k::ptx::getSpelling(Opcode opcode) {
  return getRow(opcode).spelling;
}
llvm::StringRef d2k::ptx::getSignature(Opcode opcode) {
  return getRow(opcode).signature;
}
OpcodeClass d2k::ptx::getClass(Opcode opcode) {
  return getRow(opcode).opcodeClass;
}

Opcode d2k::ptx::lookupOpcode(llvm::StringRef spelling) {
  static const llvm::StringMap<Opcode> table = [] {
    llvm::StringMap<Opcode> map;
    for (size_t i = 1; i < std::size(kOpcodes); ++i)
      map[kOpcodes[i].spelling] = static_cast<Opcode>(i);
    return map;
  }();
  auto it = table.find(spelling);
  return it == table.end() ? Opcode::Unknown : it->second;
}

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

namespace {
struct ModifierRow {
  llvm::StringLiteral spelling;
  ModifierCategory category;
};
} // namespace

static constexpr ModifierRow kModifiers[] = {
    {"", ModifierCategory::Unknown},
    {"", ModifierCategory::Shape},
#define D2K_PTX_MODIFIER(Enum, Spelling, Category)                             \
  {Spelling, ModifierCategory::Category},
#include "d2k/Frontend/PTX/PTXModifiers.def"
};

unsigned d2k::ptx::getNumModifiers() { return std::size(kModifiers); }
llvm::StringRef d2k::ptx::getSpelling(Modifier modifier) {
  assert(static_cast<size_t>(modifier) < std::size(kModifiers) &&
         "no such modifier");
  return kModifiers[static_cast<size_t>(modifier)].spelling;
}
ModifierCategory d2k::ptx::getCategory(Modifier modifier) {
  assert(static_cast<size_t>(modifier) < std::size(kModifiers) &&
         "no such modifier");
  return kModifiers[static_cast<size_t>(modifier)].category;
}

Modifier d2k::ptx::lookupModifier(llvm::StringRef spelling) {
  static const llvm::StringMap<Modifier> table = [] {
    llvm::StringMap<Modifier> map;
    for (size_t i = 2; i < std::size(kModifiers); ++i)
      map[kModifiers[i].spelling] = static_cast<Modifier>(i);
    return map;
  }();
  auto it = table.find(spelling);
  return it == table.end() ? Modifier::Unknown : it->second;
}

unsigned d2k::ptx::getBitWidth(Modifier type) {
  if (getCategory(type) != ModifierCategory::Type)
    return 0;
  switch (type) {
  case Modifier::Pred:
  case Modifier::B1:
    return 1;
  case Modifier::Texref:
  case Modifier::Samplerref:
  case Modifier::Surfref:
    return 0;
  case Modifier::Bf16:
    return 16;
  case Modifier::Tf32:
  case Modifier::Bf16x2:
    return 32;
  case Modifier::E4m3:
  case Modifier::E5m2:
  case Modifier::Ue8m0:
  case Modifier::Ue4m3:
  // Two fp4 values fill a byte; fp6 values sit in a byte each.
  case Modifier::E2m1x2:
  case Modifier::E2m3:
  case Modifier::E3m2:
    return 8;
  case Modifier::E2m1:
    return 4;
  case Modifier::E4m3x2:
  case Modifier::E5m2x2:
  case Modifier::Ue8m0x2:
  case Modifier::E2m3x2:
  case Modifier::E3m2x2:
  case Modifier::E2m1x4:
    return 16;
  case Modifier::E4m3x4:
  case Modifier::E5m2x4:
  case Modifier::E2m3x4:
  case Modifier::E3m2x4:
    return 32;
  default:
    break;
  }
  // The rest says it: a letter, the bits, perhaps "x" and a count.
  llvm::StringRef text = getSpelling(type).drop_front();
  unsigned bits = 0, count = 1;
  if (text.consumeInteger(10, bits))
    return 0;
  if (text.consume_front("x"))
    text.consumeInteger(10, count);
  return bits * count;
}

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

namespace {
struct SpecialRow {
  llvm::StringLiteral spelling;
  uint8_t bits;
  /// 0 for a register that is no family.
  uint8_t count;
  llvm::StringLiteral suffix;
};
} // namespace

static constexpr SpecialRow kSpecials[] = {
#define D2K_PTX_SPECIAL_REGISTER(Enum, Spelling, Bits, Components)             \
  {Spelling, Bits, 0, ""},
#define D2K_PTX_SPECIAL_REGISTER_FAMILY(Enum, Spelling, Bits, Count, Suffix)   \
  {Spelling, Bits, Count, Suffix},
#include "d2k/Frontend/PTX/PTXSpecialRegisters.def"
};

std::optional<SpecialRegisterUse>
d2k::ptx::lookupSpecialRegister(llvm::StringRef spelling) {
  static const llvm::StringMap<SpecialRegisterUse> table = [] {
    llvm::StringMap<SpecialRegisterUse> map;
    for (size_t i = 0; i < std::size(kSpecials); ++i) {
      auto reg = static_cast<SpecialRegister>(i);
      if (kSpecials[i].count == 0)
        map[kSpecials[i].spelling] = {reg, 0};
      for (uint8_t n = 0; n < kSpecials[i].count; ++n) {
        llvm::SmallString<32> text;
        appendSpelling({reg, n}, text);
        map[text] = {reg, n};
      }
    }
    return map;
  }();
  auto it = table.find(spelling);
  if (it == table.end())
    return std::nullopt;
  return it->second;
}

void d2k::ptx::appendSpelling(SpecialRegisterUse use,
                              llvm::SmallVectorImpl<char> &out) {
  const SpecialRow &row = kSpecials[static_cast<size_t>(use.reg)];
  out.append(row.spelling.begin(), row.spelling.end());
  if (row.count == 0)
    return;
  std::string number = llvm::utostr(use.index);
  out.append(number.begin(), number.end());
  out.append(row.suffix.begin(), row.suffix.end());
}

unsigned d2k::ptx::getBitWidth(SpecialRegister reg) {
  return kSpecials[static_cast<size_t>(reg)].bits;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// Whether \p operand may stand where the signature has \p letter.
static bool fits(const Operand &operand, char letter) {
  switch (operand.kind) {
  case OperandKind::Register:
    return letter == 'W' || letter == 'R' || letter == 'X' || letter == 'M' ||
           letter == 'T';
  case OperandKind::Sink:
    return letter == 'W' || letter == 'R';
  case OperandKind::Pair:
    return letter == 'W';
  case OperandKind::Vector:
    return letter == 'W' || letter == 'R' || letter == 'X' || letter == 'V' ||
           letter == 'M';
  case OperandKind::Address:
    return letter == 'A' || letter == 'M';
  case OperandKind::List:
    return letter == 'L';
  case OperandKind::Symbol:
    return letter == 'R' || letter == 'T';
  case OperandKind::Integer:
  case OperandKind::Float32:
  case OperandKind::Float64:
  case OperandKind::Special:
    return letter == 'R' || letter == 'M';
  case OperandKind::Difference:
  case OperandKind::Section:
  case OperandKind::Field:
  case OperandKind::Word:
    return false;
  }
  llvm_unreachable("covered switch");
}

static OperandAccess getAccess(const Operand &operand, char letter) {
  switch (letter) {
  case 'W':
    return OperandAccess::Write;
  case 'X':
    return OperandAccess::ReadWrite;
  case 'A':
    return OperandAccess::Address;
  case 'T':
    return OperandAccess::Target;
  case 'M':
    return operand.is(OperandKind::Address) ? OperandAccess::Address
                                            : OperandAccess::Read;
  default:
    return OperandAccess::Read;
  }
}

/// Greedy with backtracking: an optional letter takes the operand if the rest
/// still fits. Signatures and operand lists are short.
static bool match(llvm::ArrayRef<Operand> operands, llvm::StringRef signature,
                  size_t index,
                  llvm::SmallVectorImpl<OperandAccess> &accesses) {
  if (signature.empty())
    return index == operands.size();
  char letter = signature[0];
  char count = signature.size() > 1 ? signature[1] : 0;
  bool isOptional = count == '?' || count == '*';
  llvm::StringRef rest = signature.drop_front(isOptional ? 2 : 1);
  if (index < operands.size() && fits(operands[index], letter)) {
    OperandAccess access = getAccess(operands[index], letter);
    // The results of a call stand first, its arguments after the target.
    if (letter == 'L')
      access = index == 0 ? OperandAccess::Write : OperandAccess::Read;
    accesses.push_back(access);
    if (match(operands, count == '*' ? signature : rest, index + 1, accesses))
      return true;
    accesses.pop_back();
  }
  return isOptional && match(operands, rest, index, accesses);
}

bool d2k::ptx::getOperandAccesses(
    const Instruction &instruction,
    llvm::SmallVectorImpl<OperandAccess> &accesses) {
  size_t start = accesses.size();
  Opcode opcode = instruction.opcode();
  if (opcode != Opcode::Unknown &&
      match(instruction.operands, getSignature(opcode), 0, accesses))
    return true;
  accesses.truncate(start);
  accesses.append(instruction.operands.size(), OperandAccess::Unknown);
  return false;
}
