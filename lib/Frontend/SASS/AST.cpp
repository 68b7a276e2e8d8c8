// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries on instructions: registers read and written, control codes, text.

#include "d2k/Frontend/SASS/AST.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cinttypes>
#include <cmath>
#include <cstdio>

using namespace d2k::sass;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

std::string Register::getName() const {
  static constexpr const char *kPrefixes[] = {"R", "UR", "P", "UP", "B"};
  static constexpr const char *kConstants[] = {"RZ", "URZ", "PT", "UPT", "B?"};
  if (isConstant())
    return kConstants[unsigned(file)];
  return kPrefixes[unsigned(file)] + std::to_string(index);
}

/// Where the bits of each register file begin in RegisterSet.
static unsigned getFirstBit(RegisterFile file) {
  switch (file) {
  case RegisterFile::General:
    return 0;
  case RegisterFile::Uniform:
    return 256;
  case RegisterFile::Predicate:
    return 512;
  case RegisterFile::UniformPredicate:
    return 528;
  case RegisterFile::Convergence:
    break;
  }
  return 544;
}

/// Bits of a register file in RegisterSet.
static unsigned getNumBits(RegisterFile file) {
  return file == RegisterFile::General || file == RegisterFile::Uniform ? 256
                                                                        : 16;
}

void RegisterSet::insert(Register reg) { insert(reg, 1); }

void RegisterSet::insert(Register first, unsigned count) {
  if (first.isConstant())
    return;
  // A group that reaches over the end of its file is a fault of the input.
  unsigned end = std::min(first.index + count, getNumBits(first.file));
  for (unsigned i = first.index; i < end; ++i) {
    unsigned bit = getFirstBit(first.file) + i;
    words[bit / 64] |= uint64_t(1) << (bit % 64);
  }
}

void RegisterSet::erase(Register reg) {
  if (reg.isConstant() || reg.index >= getNumBits(reg.file))
    return;
  unsigned bit = getFirstBit(reg.file) + reg.index;
  words[bit / 64] &= ~(uint64_t(1) << (bit % 64));
}

bool RegisterSet::contains(Register reg) const {
  if (reg.isConstant() || reg.index >= getNumBits(reg.file))
    return false;
  unsigned bit = getFirstBit(reg.file) + reg.index;
  return (words[bit / 64] >> (bit % 64)) & 1;
}

bool RegisterSet::empty() const {
  return std::all_of(words.begin(), words.end(),
                     [](uint64_t word) { return word == 0; });
}

size_t RegisterSet::size() const {
  size_t count = 0;
  for (uint64_t word : words)
    count += size_t(std::popcount(word));
  return count;
}

bool RegisterSet::unite(const RegisterSet &other) {
  bool changed = false;
  for (size_t i = 0; i < words.size(); ++i) {
    changed |= (other.words[i] & ~words[i]) != 0;
    words[i] |= other.words[i];
  }
  return changed;
}

void RegisterSet::subtract(const RegisterSet &other) {
  for (size_t i = 0; i < words.size(); ++i)
    words[i] &= ~other.words[i];
}

std::vector<Register> RegisterSet::getMembers() const {
  // By place in `words`.
  static constexpr RegisterFile kFiles[] = {
      RegisterFile::General, RegisterFile::Uniform, RegisterFile::Predicate,
      RegisterFile::UniformPredicate, RegisterFile::Convergence};
  std::vector<Register> members;
  members.reserve(size());
  const RegisterFile *file = kFiles;
  for (size_t i = 0; i < words.size(); ++i)
    for (uint64_t rest = words[i]; rest != 0; rest &= rest - 1) {
      unsigned bit = unsigned(64 * i) + unsigned(std::countr_zero(rest));
      while (bit >= getFirstBit(*file) + getNumBits(*file))
        ++file;
      members.push_back({*file, uint16_t(bit - getFirstBit(*file))});
    }
  return members;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool Operand::hasSuffix(std::string_view suffix) const {
  return std::find(suffixes.begin(), suffixes.end(), suffix) != suffixes.end();
}

bool Mnemonic::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) !=
         modifiers.end();
}

uint64_t Encoding::getBits(unsigned first, unsigned count) const {
  assert(count >= 1 && count <= 64 && first + count <= 128 &&
         "an instruction has 128 bits");
  uint64_t bits = first >= 64 ? high >> (first - 64) : low >> first;
  if (first < 64 && first + count > 64)
    bits |= high << (64 - first);
  return count == 64 ? bits : bits & ((uint64_t(1) << count) - 1);
}

std::optional<ControlCodes> Instruction::getControlCodes() const {
  if (!encoding)
    return std::nullopt;
  ControlCodes codes;
  codes.stall = uint8_t(encoding->getBits(105, 4));
  // The bit is set when the warp is to go on.
  codes.yield = encoding->getBits(109, 1) == 0;
  codes.writeBarrier = uint8_t(encoding->getBits(110, 3));
  codes.readBarrier = uint8_t(encoding->getBits(113, 3));
  codes.waitMask = uint8_t(encoding->getBits(116, 6));
  codes.reuse = uint8_t(encoding->getBits(122, 4));
  return codes;
}

const Operand *Instruction::getTarget() const {
  for (const Operand &operand : operands)
    if (operand.kind == OperandKind::Target)
      return &operand;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Registers read and written
//===----------------------------------------------------------------------===//

/// P2R reads the predicates whose bit is set in its last operand, R2P writes
/// them; with a mask in a register it may be any.
static void addPredicateSet(const Instruction &instruction, size_t index,
                            Access access,
                            std::vector<RegisterAccess> &accesses) {
  constexpr unsigned kPredicates = 7;
  const Operand &last = instruction.operands.back();
  uint64_t mask =
      last.kind == OperandKind::Integer ? uint64_t(last.integer) : ~uint64_t(0);
  RegisterFile file = instruction.operands[index].reg.file;
  for (unsigned i = 0; i < kPredicates; ++i)
    if ((mask >> i) & 1)
      accesses.push_back({Register{file, uint16_t(i)}, 1, access, int(index)});
}

static void addAddress(const Address &address, int index,
                       std::vector<RegisterAccess> &accesses) {
  auto add = [&](Register reg, unsigned count) {
    if (!reg.isConstant())
      accesses.push_back({reg, uint8_t(count), Access::Read, index});
  };
  add(address.base, address.baseWidth);
  add(address.uniform, address.uniformWidth);
  if (address.descriptor)
    add(*address.descriptor, 2);
  if (address.handle)
    add(*address.handle, 2);
}

std::vector<RegisterAccess>
d2k::sass::getAccesses(const Instruction &instruction) {
  std::vector<RegisterAccess> accesses;
  // An address has up to three registers.
  accesses.reserve(3 + instruction.operands.size());
  if (instruction.guard)
    accesses.push_back({instruction.guard->predicate, 1, Access::Read,
                        RegisterAccess::kGuard});
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand &operand = instruction.operands[i];
    Access access = instruction.isModelled ? operand.access : Access::ReadWrite;
    switch (operand.kind) {
    case OperandKind::Register:
      accesses.push_back({operand.reg,
                          instruction.isModelled ? operand.width : uint8_t(1),
                          access, int(i)});
      break;
    case OperandKind::PredicateSet:
      addPredicateSet(instruction, i, access, accesses);
      break;
    case OperandKind::Constant:
    case OperandKind::Memory:
    case OperandKind::Descriptor:
    case OperandKind::TensorMemory:
      addAddress(operand.address, int(i), accesses);
      break;
    default:
      break;
    }
  }
  return accesses;
}

RegisterSet d2k::sass::getReads(const Instruction &instruction) {
  RegisterSet set;
  for (const RegisterAccess &access : getAccesses(instruction))
    if (access.access != Access::Write)
      set.insert(access.first, access.count);
  return set;
}

RegisterSet d2k::sass::getWrites(const Instruction &instruction) {
  RegisterSet set;
  for (const RegisterAccess &access : getAccesses(instruction))
    if (access.access != Access::Read)
      set.insert(access.first, access.count);
  return set;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string printHex(int64_t value) {
  char buffer[24];
  // The magnitude of the smallest integer is no int64_t.
  uint64_t magnitude = value < 0 ? 0 - uint64_t(value) : uint64_t(value);
  std::snprintf(buffer, sizeof buffer, "%s0x%" PRIx64, value < 0 ? "-" : "",
                magnitude);
  return buffer;
}

static std::string printReal(double value) {
  if (std::isinf(value))
    return value < 0 ? "-INF" : "+INF";
  if (std::isnan(value))
    return std::signbit(value) ? "-QNAN" : "+QNAN";
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.20g", value);
  return buffer;
}

/// The inside of an address.
static std::string printAddress(const Address &address) {
  std::string text;
  if (!address.base.isConstant() || address.unsignedBase) {
    text = address.base.getName();
    if (address.scale != 1)
      text += ".X" + std::to_string(address.scale);
    if (address.wideBase)
      text += ".64";
    if (address.unsignedBase)
      text += ".U32";
  }
  for (const std::string &suffix : address.suffixes)
    text += "." + suffix;
  if (!address.uniform.isConstant())
    text += (text.empty() ? "" : "+") + address.uniform.getName();
  if (address.offset)
    text += (text.empty() ? "" : "+") + printHex(address.offset);
  return text.empty() ? "RZ" : text;
}

std::string Operand::print() const {
  std::string text;
  switch (kind) {
  case OperandKind::Register:
    text = reg.getName();
    break;
  case OperandKind::PredicateSet:
    text = reg.file == RegisterFile::Predicate ? "PR" : "UPR";
    break;
  case OperandKind::Integer:
    text = printHex(integer);
    break;
  case OperandKind::Target:
    text = integer < 0 ? name : printHex(integer);
    break;
  case OperandKind::Float:
    text = printReal(real);
    break;
  case OperandKind::Constant: {
    std::string inside = printAddress(address);
    bool isPlain = address.base.isConstant() && address.uniform.isConstant();
    text = (address.bank ? "c[" + printHex(*address.bank)
                         : "cx[" + address.handle->getName()) +
           "][" + (isPlain ? printHex(address.offset) : inside) + "]";
    break;
  }
  case OperandKind::Memory:
    if (address.descriptor)
      text = "desc[" + address.descriptor->getName() + "]";
    text += "[" + printAddress(address) + "]";
    break;
  case OperandKind::Descriptor:
  case OperandKind::TensorMemory:
    text = name + "[" + printAddress(address) + "]";
    break;
  case OperandKind::Symbol: {
    std::string sum = name;
    if (integer)
      sum += "+" + printHex(integer);
    text = suffixes.empty() ? sum : "32@" + suffixes.front() + "(" + sum + ")";
    return text;
  }
  case OperandKind::SpecialRegister:
  case OperandKind::Scoreboard:
  case OperandKind::Word:
    text = name;
    break;
  }
  if (absolute)
    text = "|" + text + "|";
  for (const std::string &suffix : suffixes)
    text += "." + suffix;
  if (reuse)
    text += ".reuse";
  if (inverted)
    text = (reg.isPredicate() ? "!" : "~") + text;
  if (negated)
    text = "-" + text;
  return text;
}

std::string Instruction::print() const {
  std::string text;
  if (guard) {
    text += guard->inverted ? "@!" : "@";
    text += guard->predicate.getName() + " ";
  }
  text += mnemonic->text;
  for (size_t i = 0; i < operands.size(); ++i)
    text += (i == 0 ? " " : ", ") + operands[i].print();
  return text;
}
