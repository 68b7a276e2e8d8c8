// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser: constants and constant expressions, folded while they are read
// (PTX ISA 4.5).

#include "ParserImpl.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Error.h"

#include <limits>

using namespace d2k;
using namespace d2k::ptx;

using llvm::StringRef;
using llvm::Twine;

double Constant::asDouble() const {
  switch (kind) {
  case Integer:
    return isUnsigned ? static_cast<double>(bits)
                      : static_cast<double>(static_cast<int64_t>(bits));
  case Float32:
    return llvm::bit_cast<float>(static_cast<uint32_t>(bits));
  case Float64:
    return llvm::bit_cast<double>(bits);
  }
  llvm_unreachable("covered switch");
}

bool Constant::isTrue() const {
  return kind == Integer ? bits != 0 : asDouble() != 0;
}

static Constant makeDouble(double value) {
  Constant constant;
  constant.kind = Constant::Float64;
  constant.bits = llvm::bit_cast<uint64_t>(value);
  return constant;
}

static Constant makeSigned(int64_t value) {
  Constant constant;
  constant.bits = static_cast<uint64_t>(value);
  return constant;
}

namespace {
enum class BinaryOp : uint8_t {
  LogicalOr,
  LogicalAnd,
  Or,
  Xor,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  ShiftLeft,
  ShiftRight,
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
};
struct BinaryToken {
  BinaryOp op;
  /// As in C; 1 binds least.
  unsigned precedence;
  unsigned length;
};
} // namespace

static std::optional<BinaryToken> readBinary(char first, char second) {
  switch (first) {
  case '|':
    return second == '|' ? BinaryToken{BinaryOp::LogicalOr, 1, 2}
                         : BinaryToken{BinaryOp::Or, 3, 1};
  case '&':
    return second == '&' ? BinaryToken{BinaryOp::LogicalAnd, 2, 2}
                         : BinaryToken{BinaryOp::And, 5, 1};
  case '^':
    return BinaryToken{BinaryOp::Xor, 4, 1};
  case '=':
    if (second == '=')
      return BinaryToken{BinaryOp::Equal, 6, 2};
    return std::nullopt;
  case '!':
    if (second == '=')
      return BinaryToken{BinaryOp::NotEqual, 6, 2};
    return std::nullopt;
  case '<':
    if (second == '<')
      return BinaryToken{BinaryOp::ShiftLeft, 8, 2};
    return second == '=' ? BinaryToken{BinaryOp::LessEqual, 7, 2}
                         : BinaryToken{BinaryOp::Less, 7, 1};
  case '>':
    if (second == '>')
      return BinaryToken{BinaryOp::ShiftRight, 8, 2};
    return second == '=' ? BinaryToken{BinaryOp::GreaterEqual, 7, 2}
                         : BinaryToken{BinaryOp::Greater, 7, 1};
  case '+':
    return BinaryToken{BinaryOp::Add, 9, 1};
  case '-':
    return BinaryToken{BinaryOp::Subtract, 9, 1};
  case '*':
    return BinaryToken{BinaryOp::Multiply, 10, 1};
  case '/':
    return BinaryToken{BinaryOp::Divide, 10, 1};
  case '%':
    return BinaryToken{BinaryOp::Remainder, 10, 1};
  default:
    return std::nullopt;
  }
}

/// Folds what floating point allows; nullopt for the rest.
static std::optional<Constant> foldDouble(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Add:
    return makeDouble(a + b);
  case BinaryOp::Subtract:
    return makeDouble(a - b);
  case BinaryOp::Multiply:
    return makeDouble(a * b);
  case BinaryOp::Divide:
    return makeDouble(a / b);
  case BinaryOp::Equal:
    return makeSigned(a == b);
  case BinaryOp::NotEqual:
    return makeSigned(a != b);
  case BinaryOp::Less:
    return makeSigned(a < b);
  case BinaryOp::LessEqual:
    return makeSigned(a <= b);
  case BinaryOp::Greater:
    return makeSigned(a > b);
  case BinaryOp::GreaterEqual:
    return makeSigned(a >= b);
  case BinaryOp::LogicalAnd:
    return makeSigned(a != 0 && b != 0);
  case BinaryOp::LogicalOr:
    return makeSigned(a != 0 || b != 0);
  default:
    return std::nullopt;
  }
}

/// Folds integers: unsigned when either side is, except for shifts, which
/// follow the left side. Nullopt for a division by zero.
static std::optional<Constant> foldInteger(BinaryOp op, const Constant &a,
                                           const Constant &b) {
  bool isShift = op == BinaryOp::ShiftLeft || op == BinaryOp::ShiftRight;
  bool isUnsigned = a.isUnsigned || (b.isUnsigned && !isShift);
  uint64_t x = a.bits, y = b.bits;
  auto sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
  auto make = [&](uint64_t value) {
    Constant constant;
    constant.bits = value;
    constant.isUnsigned = isUnsigned;
    return constant;
  };
  switch (op) {
  case BinaryOp::LogicalOr:
    return makeSigned(x || y);
  case BinaryOp::LogicalAnd:
    return makeSigned(x && y);
  case BinaryOp::Or:
    return make(x | y);
  case BinaryOp::Xor:
    return make(x ^ y);
  case BinaryOp::And:
    return make(x & y);
  case BinaryOp::Equal:
    return makeSigned(x == y);
  case BinaryOp::NotEqual:
    return makeSigned(x != y);
  case BinaryOp::Less:
    return makeSigned(isUnsigned ? x < y : sx < sy);
  case BinaryOp::LessEqual:
    return makeSigned(isUnsigned ? x <= y : sx <= sy);
  case BinaryOp::Greater:
    return makeSigned(isUnsigned ? x > y : sx > sy);
  case BinaryOp::GreaterEqual:
    return makeSigned(isUnsigned ? x >= y : sx >= sy);
  case BinaryOp::ShiftLeft:
    return make(y > 63 ? 0 : x << y);
  case BinaryOp::ShiftRight:
    if (a.isUnsigned)
      return make(y > 63 ? 0 : x >> y);
    return make(static_cast<uint64_t>(sx >> (y > 63 ? 63 : y)));
  case BinaryOp::Add:
    return make(x + y);
  case BinaryOp::Subtract:
    return make(x - y);
  case BinaryOp::Multiply:
    return make(x * y);
  case BinaryOp::Divide:
  case BinaryOp::Remainder: {
    if (y == 0)
      return std::nullopt;
    bool isDivide = op == BinaryOp::Divide;
    if (isUnsigned)
      return make(isDivide ? x / y : x % y);
    // The one quotient that overflows wraps around.
    if (sy == -1)
      return make(isDivide ? 0 - x : 0);
    return make(static_cast<uint64_t>(isDivide ? sx / sy : sx % sy));
  }
  }
  llvm_unreachable("covered switch");
}

bool Parser::parseConstant(Constant &constant, unsigned level) {
  if (level > options.maxDepth)
    return error("constant expression is nested deeper than " +
                 Twine(options.maxDepth));
  if (parseBinary(constant, 1, level))
    return true;
  cursor.skipSpace();
  if (cursor.peek() != '?')
    return false;
  cursor.advance();
  Constant whenTrue, whenFalse;
  if (parseConstant(whenTrue, level + 1) || expect(':', "':' after '?'") ||
      parseConstant(whenFalse, level + 1))
    return true;
  bool isUnsigned = whenTrue.isUnsigned || whenFalse.isUnsigned;
  constant = constant.isTrue() ? whenTrue : whenFalse;
  if (constant.kind == Constant::Integer)
    constant.isUnsigned = isUnsigned;
  return false;
}

bool Parser::parseBinary(Constant &constant, unsigned minPrecedence,
                         unsigned level) {
  if (parseUnary(constant, level))
    return true;
  while (true) {
    cursor.skipSpace();
    if (cursor.atEnd())
      return false;
    const char *position = cursor.position();
    std::optional<BinaryToken> token =
        readBinary(cursor.peek(), cursor.peekSecond());
    if (!token || token->precedence < minPrecedence)
      return false;
    cursor.advance(token->length);
    Constant right;
    if (level > options.maxDepth)
      return error("constant expression is nested deeper than " +
                   Twine(options.maxDepth));
    if (parseBinary(right, token->precedence + 1, level + 1))
      return true;
    std::optional<Constant> folded =
        constant.kind == Constant::Integer && right.kind == Constant::Integer
            ? foldInteger(token->op, constant, right)
            : foldDouble(token->op, constant.asDouble(), right.asDouble());
    if (!folded)
      return error(position, constant.kind == Constant::Integer &&
                                     right.kind == Constant::Integer
                                 ? "division by zero in a constant expression"
                                 : "operator needs integers");
    constant = *folded;
  }
}

bool Parser::parseUnary(Constant &constant, unsigned level) {
  cursor.skipSpace();
  char op = cursor.peek();
  if (op != '-' && op != '+' && op != '!' && op != '~')
    return parsePrimary(constant, level);
  if (level > options.maxDepth)
    return error("constant expression is nested deeper than " +
                 Twine(options.maxDepth));
  const char *position = cursor.position();
  cursor.advance();
  if (parseUnary(constant, level + 1))
    return true;
  constant.isWarpSize = false;
  switch (op) {
  case '-':
    if (constant.kind == Constant::Float32)
      constant.bits ^= 1u << 31;
    else if (constant.kind == Constant::Float64)
      constant.bits ^= 1ull << 63;
    else
      constant.bits = 0 - constant.bits;
    return false;
  case '!':
    constant = makeSigned(!constant.isTrue());
    return false;
  case '~':
    if (constant.kind != Constant::Integer)
      return error(position, "'~' needs an integer");
    constant.bits = ~constant.bits;
    return false;
  default:
    return false;
  }
}

bool Parser::parsePrimary(Constant &constant, unsigned level) {
  char c = cursor.peek();
  if (isChar(c, kDigitChar) || c == '.')
    return parseNumber(constant);
  if (c == '(') {
    if (level > options.maxDepth)
      return error("constant expression is nested deeper than " +
                   Twine(options.maxDepth));
    cursor.advance();
    cursor.skipSpace();
    const char *position = cursor.position();
    if (cursor.peek() == '.' && !isChar(cursor.peekSecond(), kDigitChar)) {
      cursor.advance();
      StringRef word = cursor.scanWord();
      if (word != "s64" && word != "u64")
        return error(position, "expected a cast to .s64 or .u64");
      if (expect(')', "')' after a cast") || parseUnary(constant, level + 1))
        return true;
      if (constant.kind != Constant::Integer) {
        double value = constant.asDouble();
        // A value out of range has no defined result; keep it defined here.
        constant = makeSigned(value >= -0x1p63 && value < 0x1p63
                                  ? static_cast<int64_t>(value)
                                  : std::numeric_limits<int64_t>::min());
      }
      constant.isUnsigned = word == "u64";
      constant.isWarpSize = false;
      return false;
    }
    if (parseConstant(constant, level + 1))
      return true;
    return expect(')', "')' in a constant expression");
  }
  const char *start = cursor.position();
  if (cursor.atIdentifier() && cursor.scanIdentifier() == "WARP_SZ") {
    constant = makeSigned(32);
    constant.isWarpSize = true;
    return false;
  }
  cursor.setPosition(start);
  return expected("a constant");
}

bool Parser::parseNumber(Constant &constant) {
  const char *start = cursor.position();
  constant = Constant();
  auto readHex = [&](unsigned digits, Constant::Kind kind) {
    cursor.advance(2);
    uint64_t bits = 0;
    unsigned n = 0;
    while (isChar(cursor.peek(), kHexChar)) {
      char c = cursor.peek();
      bits = bits << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
      ++n;
      cursor.advance();
    }
    if (n != digits)
      return error(start, "constant has " + Twine(n) +
                              " hexadecimal digits: expected " + Twine(digits));
    constant.kind = kind;
    constant.bits = bits;
    return false;
  };
  unsigned radix = 10;
  if (cursor.peek() == '0') {
    switch (cursor.peekSecond()) {
    case 'f':
    case 'F':
      return readHex(8, Constant::Float32);
    case 'd':
    case 'D':
      return readHex(16, Constant::Float64);
    case 'x':
    case 'X':
      radix = 16;
      cursor.advance(2);
      break;
    case 'b':
    case 'B':
      radix = 2;
      cursor.advance(2);
      break;
    default:
      radix = 8;
      break;
    }
  }
  uint64_t value = 0;
  bool overflow = false, any = false;
  while (isChar(cursor.peek(), radix == 16 ? kHexChar : kDigitChar)) {
    char c = cursor.peek();
    unsigned digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    // 8 and 9 in an octal number may still be part of a decimal fraction.
    if (digit >= radix && radix != 8)
      break;
    if (value > (UINT64_MAX - digit) / radix)
      overflow = true;
    value = value * radix + digit;
    any = true;
    cursor.advance();
  }
  char c = cursor.peek();
  bool isFraction = c == '.' && !isChar(cursor.peekSecond(), kIdentStartChar);
  bool isExponent = (c == 'e' || c == 'E') && any;
  if ((radix == 10 || radix == 8) && (isFraction || isExponent)) {
    if (isFraction) {
      cursor.advance();
      while (isChar(cursor.peek(), kDigitChar))
        cursor.advance();
    }
    if (cursor.peek() == 'e' || cursor.peek() == 'E') {
      cursor.advance();
      if (cursor.peek() == '+' || cursor.peek() == '-')
        cursor.advance();
      while (isChar(cursor.peek(), kDigitChar))
        cursor.advance();
    }
    llvm::APFloat parsed(llvm::APFloat::IEEEdouble());
    auto status =
        parsed.convertFromString(StringRef(start, cursor.position() - start),
                                 llvm::APFloat::rmNearestTiesToEven);
    if (llvm::errorToBool(status.takeError()))
      return error(start, "malformed decimal constant");
    constant = makeDouble(parsed.convertToDouble());
    return false;
  }
  if (!any)
    return error(start, "expected digits in a constant");
  if (radix == 8) {
    StringRef digits(start, cursor.position() - start);
    if (digits.find_first_of("89") != StringRef::npos)
      return error(start, "digit above 7 in an octal constant");
  }
  if (overflow)
    return error(start, "integer constant does not fit in 64 bits");
  constant.bits = value;
  constant.isUnsigned = value > uint64_t(INT64_MAX);
  if (cursor.peek() == 'U' || cursor.peek() == 'u') {
    constant.isUnsigned = true;
    cursor.advance();
  }
  if (isChar(cursor.peek(), kIdentChar))
    return error(start, "malformed integer constant");
  return false;
}

bool Parser::parseUnsigned(uint64_t &value, const Twine &what) {
  cursor.skipSpace();
  if (!isChar(cursor.peek(), kDigitChar))
    return expected(what);
  const char *start = cursor.position();
  // Version numbers and .loc are plain decimals: `8.0` must not become a
  // fraction.
  if (cursor.peek() != '0' || !isChar(cursor.peekSecond(), kIdentStartChar)) {
    value = 0;
    bool overflow = false;
    while (isChar(cursor.peek(), kDigitChar)) {
      unsigned digit = cursor.peek() - '0';
      overflow |= value > (UINT64_MAX - digit) / 10;
      value = value * 10 + digit;
      cursor.advance();
    }
    if (cursor.peek() == 'U' || cursor.peek() == 'u')
      cursor.advance();
    return overflow && error(start, "integer constant does not fit in 64 bits");
  }
  Constant constant;
  if (parseNumber(constant))
    return true;
  if (constant.kind != Constant::Integer)
    return error(start, "expected an integer as " + what);
  value = constant.bits;
  return false;
}

bool Parser::parseUnsigned(uint32_t &value, const Twine &what) {
  cursor.skipSpace();
  const char *start = cursor.position();
  uint64_t wide = 0;
  if (parseUnsigned(wide, what))
    return true;
  if (wide > UINT32_MAX)
    return error(start, Twine(wide) + " does not fit in 32 bits");
  value = static_cast<uint32_t>(wide);
  return false;
}
