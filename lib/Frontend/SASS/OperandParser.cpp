// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operand syntax of nvdisasm. It is documented by examples only (CUDA
// Binary Utilities); what is here is what its output shows.

#include "OperandParser.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace d2k::sass;

/// Largest index of a register of \p file, with room for the constant.
static unsigned getMaxIndex(RegisterFile file) {
  switch (file) {
  case RegisterFile::General:
  case RegisterFile::Uniform:
    return 254;
  case RegisterFile::Predicate:
  case RegisterFile::UniformPredicate:
    return 6;
  case RegisterFile::Convergence:
    break;
  }
  return 15;
}

/// Reads all of \p text as a register.
static std::optional<Register> readRegister(std::string_view text) {
  if (text == "RZ")
    return Register{RegisterFile::General, Register::kConstant};
  if (text == "URZ")
    return Register{RegisterFile::Uniform, Register::kConstant};
  if (text == "PT")
    return Register{RegisterFile::Predicate, Register::kConstant};
  if (text == "UPT")
    return Register{RegisterFile::UniformPredicate, Register::kConstant};
  RegisterFile file;
  size_t prefix = 1;
  if (text.substr(0, 2) == "UR") {
    file = RegisterFile::Uniform;
    prefix = 2;
  } else if (text.substr(0, 2) == "UP") {
    file = RegisterFile::UniformPredicate;
    prefix = 2;
  } else if (text.substr(0, 1) == "R") {
    file = RegisterFile::General;
  } else if (text.substr(0, 1) == "P") {
    file = RegisterFile::Predicate;
  } else if (text.substr(0, 1) == "B") {
    file = RegisterFile::Convergence;
  } else {
    return std::nullopt;
  }
  unsigned index = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + prefix, end, index);
  if (error != std::errc() || stop != end || index > getMaxIndex(file))
    return std::nullopt;
  return Register{file, uint16_t(index)};
}

/// Reads all of \p text as an integer with sign: `-0x8`, `12`.
static std::optional<int64_t> readInteger(std::string_view text) {
  bool negative = false;
  while (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative ^= text.front() == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.substr(0, 2) == "0x") {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t magnitude = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, magnitude, base);
  if (text.empty() || error != std::errc() || stop != end)
    return std::nullopt;
  return int64_t(negative ? 0 - magnitude : magnitude);
}

/// Reads all of \p text as a floating-point number.
static std::optional<double> readReal(std::string_view text) {
  bool negative = false;
  std::string_view magnitude = text;
  while (!magnitude.empty() &&
         (magnitude.front() == '-' || magnitude.front() == '+')) {
    negative ^= magnitude.front() == '-';
    magnitude.remove_prefix(1);
  }
  double value = 0;
  if (magnitude == "INF") {
    value = std::numeric_limits<double>::infinity();
  } else if (magnitude == "QNAN" || magnitude == "SNAN") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (magnitude.empty() || !std::isdigit(uint8_t(magnitude.front())))
      return std::nullopt;
    std::string copy(magnitude);
    char *stop = nullptr;
    value = std::strtod(copy.c_str(), &stop);
    if (stop != copy.c_str() + copy.size())
      return std::nullopt;
  }
  return std::copysign(value, negative ? -1.0 : 1.0);
}

/// Splits \p text at dots.
static std::vector<std::string_view> splitDots(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t dot = text.find('.');
    parts.push_back(text.substr(0, dot));
    if (dot == std::string_view::npos)
      return parts;
    text.remove_prefix(dot + 1);
  }
}

/// The text in the brackets that \p text begins with, and what follows;
/// nothing when they do not match.
static std::optional<std::pair<std::string_view, std::string_view>>
readBrackets(std::string_view text) {
  if (text.empty() || text.front() != '[')
    return std::nullopt;
  size_t close = text.find(']');
  if (close == std::string_view::npos)
    return std::nullopt;
  return std::pair(text.substr(1, close - 1), text.substr(close + 1));
}

/// One summand of an address: `R4.64`, `UR5`, `-0x8`.
static bool readSummand(std::string_view text, Address &address) {
  if (std::optional<int64_t> integer = readInteger(text)) {
    address.offset = int64_t(uint64_t(address.offset) + uint64_t(*integer));
    return true;
  }
  std::vector<std::string_view> parts = splitDots(text);
  std::optional<Register> reg = readRegister(parts.front());
  if (!reg)
    return false;
  bool isUniform = reg->file == RegisterFile::Uniform;
  if (reg->file != RegisterFile::General && !isUniform)
    return false;
  (isUniform ? address.uniform : address.base) = *reg;
  for (size_t i = 1; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    if (part == "64" && !isUniform)
      address.wideBase = true;
    else if (part == "U32" && !isUniform)
      address.unsignedBase = true;
    else if ((part == "X4" || part == "X8" || part == "X16") && !isUniform)
      address.scale = uint8_t(*readInteger(part.substr(1)));
    else if (part != "reuse")
      address.suffixes.emplace_back(part);
  }
  return true;
}

/// The inside of an address: summands joined by `+`; a negative offset is
/// written `+-0x8`.
static bool readAddress(std::string_view text, Address &address) {
  while (!text.empty()) {
    size_t plus = text.find('+', 1);
    if (!readSummand(text.substr(0, plus), address))
      return false;
    if (plus == std::string_view::npos)
      return true;
    text.remove_prefix(plus + 1);
  }
  return true;
}

/// Suffixes behind an operand: `.H0_H0.reuse`.
static bool readSuffixes(std::string_view text, Operand &operand) {
  if (text.empty())
    return true;
  if (text.front() != '.')
    return false;
  for (std::string_view part : splitDots(text.substr(1))) {
    if (part == "reuse")
      operand.reuse = true;
    else
      operand.suffixes.emplace_back(part);
  }
  return true;
}

/// Operands with brackets: addresses, descriptors, constant banks.
static bool readBracketed(std::string_view text, Operand &operand) {
  size_t open = text.find('[');
  std::string_view head = text.substr(0, open);
  auto first = readBrackets(text.substr(open));
  if (!first)
    return false;
  auto [inside, rest] = *first;
  if (head.empty()) {
    operand.kind = OperandKind::Memory;
    return readAddress(inside, operand.address) && readSuffixes(rest, operand);
  }
  if (head == "tmem" || head == "gdesc" || head == "idesc") {
    operand.kind =
        head == "tmem" ? OperandKind::TensorMemory : OperandKind::Descriptor;
    operand.name = head;
    return readAddress(inside, operand.address) && readSuffixes(rest, operand);
  }
  if (head == "desc") {
    std::optional<Register> descriptor = readRegister(inside);
    if (!descriptor)
      return false;
    // The cache policy of a bulk copy is a descriptor without address.
    if (rest.empty()) {
      operand.kind = OperandKind::Descriptor;
      operand.name = head;
      operand.address.uniform = *descriptor;
      return true;
    }
    operand.kind = OperandKind::Memory;
    operand.address.descriptor = *descriptor;
    auto second = readBrackets(rest);
    return second && readAddress(second->first, operand.address) &&
           readSuffixes(second->second, operand);
  }
  if (head != "c" && head != "cx")
    return false;
  auto second = readBrackets(rest);
  if (!second)
    return false;
  operand.kind = OperandKind::Constant;
  if (head == "c") {
    std::optional<int64_t> bank = readInteger(inside);
    if (bank)
      operand.address.bank = uint32_t(*bank);
    else if (std::optional<Register> handle = readRegister(inside))
      operand.address.handle = *handle;
    else
      return false;
  } else {
    std::optional<Register> handle = readRegister(inside);
    if (!handle)
      return false;
    operand.address.handle = *handle;
  }
  return readAddress(second->first, operand.address) &&
         readSuffixes(second->second, operand);
}

/// `{5,4,3}`, `SB0`, `gsb0`.
static bool readScoreboard(std::string_view text, Operand &operand) {
  auto add = [&](std::string_view number) {
    std::optional<int64_t> index = readInteger(number);
    if (!index || *index < 0 || *index > 62)
      return false;
    operand.integer |= int64_t(1) << *index;
    return true;
  };
  if (text.substr(0, 2) == "SB" && !add(text.substr(2)))
    return false;
  if (text.substr(0, 3) == "gsb" && !add(text.substr(3)))
    return false;
  if (text.front() == '{') {
    if (text.back() != '}')
      return false;
    std::string_view list = text.substr(1, text.size() - 2);
    while (!list.empty()) {
      size_t comma = list.find(',');
      if (!add(list.substr(0, comma)))
        return false;
      list.remove_prefix(comma == std::string_view::npos ? list.size()
                                                         : comma + 1);
    }
  }
  if (operand.integer == 0)
    return false;
  operand.kind = OperandKind::Scoreboard;
  operand.name = text;
  return true;
}

/// `32@lo(fun)`, `32@hi((memory + .L_x_0@srel))`.
static bool readSymbol(std::string_view text, Operand &operand) {
  size_t at = text.find('@');
  size_t open = text.find('(');
  if (at == std::string_view::npos || open == std::string_view::npos ||
      open < at || text.back() != ')')
    return false;
  operand.kind = OperandKind::Symbol;
  operand.suffixes.emplace_back(text.substr(at + 1, open - at - 1));
  operand.name = text.substr(open + 1, text.size() - open - 2);
  return true;
}

static Operand readOperand(std::string_view text) {
  Operand operand;
  std::string_view body = text;
  // Prefixes in any order: `-|R4|`, `!P0`, `~R3`.
  bool opened = false;
  while (!body.empty()) {
    // A minus before a number is part of it.
    if (body.front() == '-' && !readReal(body) && !readInteger(body))
      operand.negated = true;
    else if (body.front() == '!' || body.front() == '~')
      operand.inverted = true;
    else if (body.front() == '|' && !opened)
      operand.absolute = opened = true;
    else
      break;
    body.remove_prefix(1);
  }
  std::string unbarred;
  if (opened) {
    for (char c : body)
      if (c != '|')
        unbarred += c;
    body = unbarred;
  }

  auto isWhole = [&](bool understood) {
    return understood && (operand.kind != OperandKind::Word);
  };
  if (body.empty())
    ;
  else if (std::optional<int64_t> integer = readInteger(body);
           integer && body.find("0x") != std::string_view::npos) {
    operand.kind = OperandKind::Integer;
    operand.integer = *integer;
    return operand;
  } else if (std::optional<double> real = readReal(body)) {
    operand.kind = OperandKind::Float;
    operand.real = *real;
    return operand;
  } else if (body == "PR" || body == "UPR") {
    operand.kind = OperandKind::PredicateSet;
    operand.reg.file =
        body == "PR" ? RegisterFile::Predicate : RegisterFile::UniformPredicate;
    return operand;
  } else if (body.substr(0, 2) == "SR") {
    operand.kind = OperandKind::SpecialRegister;
    operand.name = body;
    return operand;
  } else if (body.find('[') != std::string_view::npos) {
    if (isWhole(readBracketed(body, operand)))
      return operand;
  } else if (body.front() == '{' || body.substr(0, 2) == "SB" ||
             body.substr(0, 3) == "gsb") {
    if (isWhole(readScoreboard(body, operand)))
      return operand;
  } else if (isWhole(readSymbol(body, operand))) {
    return operand;
  } else {
    size_t dot = body.find('.');
    if (std::optional<Register> reg = readRegister(body.substr(0, dot))) {
      operand.kind = OperandKind::Register;
      operand.reg = *reg;
      if (dot != std::string_view::npos)
        readSuffixes(body.substr(dot), operand);
      return operand;
    }
  }
  operand = Operand();
  operand.kind = OperandKind::Word;
  operand.name = text;
  return operand;
}

/// Before an address nvdisasm may leave out the comma: `R4[R2.64]`,
/// `[UR8][UR4]`, `R4desc[UR8][R2.64]`. The length of the operand that \p item
/// begins with when another one follows, else 0.
static size_t findGlued(std::string_view item) {
  size_t open = item.find('[');
  if (open == std::string_view::npos)
    return 0;
  size_t start = std::min(item.find_first_not_of("-+!~|"), open);
  std::string_view head = item.substr(start, open - start);
  static constexpr std::string_view kDesc = "desc";
  if (head.size() > kDesc.size() && head != "gdesc" && head != "idesc" &&
      head.substr(head.size() - kDesc.size()) == kDesc)
    return start + head.size() - kDesc.size();
  bool isPair = head == "c" || head == "cx" || head == kDesc;
  if (!head.empty() && !isPair && readRegister(head.substr(0, head.find('.'))))
    return open;
  // Behind the brackets of an address another operand may begin.
  size_t close = item.find(']', open);
  if (isPair && close != std::string_view::npos)
    close = item.find(']', close + 1);
  if (close == std::string_view::npos || close + 1 >= item.size())
    return 0;
  size_t next = item.find('[', close);
  if (next == std::string_view::npos)
    return 0;
  return item.substr(close + 1, kDesc.size()) == kDesc ? close + 1 : next;
}

std::vector<Operand> d2k::sass::parseOperands(std::string_view text) {
  std::vector<Operand> operands;
  // Operands are large: none is moved for want of room.
  operands.reserve(1 + std::count(text.begin(), text.end(), ','));
  size_t start = 0;
  unsigned depth = 0;
  auto finish = [&](size_t end) {
    std::string_view item = text.substr(start, end - start);
    while (!item.empty() && item.front() == ' ')
      item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ')
      item.remove_suffix(1);
    start = end + 1;
    if (item.empty())
      return;
    while (size_t length = findGlued(item)) {
      operands.push_back(readOperand(item.substr(0, length)));
      item.remove_prefix(length);
    }
    operands.push_back(readOperand(item));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '[' || c == '{' || c == '(')
      ++depth;
    else if ((c == ']' || c == '}' || c == ')') && depth > 0)
      --depth;
    else if (c == ',' && depth == 0)
      finish(i);
  }
  finish(text.size());
  return operands;
}

std::optional<Guard> d2k::sass::parseGuard(std::string_view text) {
  if (text.empty() || text.front() != '@')
    return std::nullopt;
  text.remove_prefix(1);
  Guard guard;
  if (!text.empty() && text.front() == '!') {
    guard.inverted = true;
    text.remove_prefix(1);
  }
  std::optional<Register> reg = readRegister(text);
  if (!reg || !reg->isPredicate())
    return std::nullopt;
  guard.predicate = *reg;
  return guard;
}
