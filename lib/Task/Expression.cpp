// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursive-descent parser and evaluator of axis expressions. Precedence, from
// loosest: or, and, not, comparison, + -, * // %, unary minus.

#include "d2k/Task/Expression.h"

#include <charconv>
#include <optional>

using namespace d2k;

namespace d2k {

/// Parses one expression; the first error ends it.
class ExpressionParser {
public:
  explicit ExpressionParser(std::string_view text) : text(text) {
    expression.text = std::string(text);
  }

  Result<Expression> run();

private:
  using Op = Expression::Op;
  using Node = Expression::Node;

  /// Nesting that is accepted; formulas of real tasks have below ten.
  static constexpr unsigned kMaxDepth = 64;

  std::optional<size_t> parseOr();
  std::optional<size_t> parseAnd();
  std::optional<size_t> parseNot();
  std::optional<size_t> parseComparison();
  std::optional<size_t> parseSum();
  std::optional<size_t> parseProduct();
  std::optional<size_t> parseUnary();
  std::optional<size_t> parsePrimary();
  std::optional<size_t> parseCall(std::string_view name, size_t column);
  std::optional<size_t> parseNumber();

  void skipBlanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
      ++at;
  }
  /// Takes \p token when it comes next.
  bool consume(std::string_view token);
  std::string_view peekWord();

  size_t add(Op op, size_t column, std::vector<size_t> operands) {
    expression.nodes.push_back({op, column, 0, {}, std::move(operands)});
    return expression.nodes.size() - 1;
  }
  std::nullopt_t failAt(size_t column, std::string message) {
    if (error.empty())
      error = "column " + std::to_string(column) + ": " + message;
    return std::nullopt;
  }
  std::string describeNext();

  std::string_view text;
  size_t at = 0;
  unsigned depth = 0;
  Expression expression;
  std::string error;
};

} // namespace d2k

static bool isWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

bool ExpressionParser::consume(std::string_view token) {
  skipBlanks();
  if (text.substr(at, token.size()) != token)
    return false;
  // A word ends where no more of it follows.
  if (isWordChar(token.back()) && at + token.size() < text.size() &&
      isWordChar(text[at + token.size()]))
    return false;
  at += token.size();
  return true;
}

std::string_view ExpressionParser::peekWord() {
  skipBlanks();
  size_t end = at;
  while (end < text.size() && isWordChar(text[end]))
    ++end;
  return text.substr(at, end - at);
}

std::string ExpressionParser::describeNext() {
  skipBlanks();
  if (at == text.size())
    return "the end";
  std::string_view word = peekWord();
  return "'" + std::string(word.empty() ? text.substr(at, 1) : word) + "'";
}

std::optional<size_t> ExpressionParser::parseOr() {
  // All recursion passes here.
  if (++depth > kMaxDepth)
    return failAt(at + 1, "nested deeper than " + std::to_string(kMaxDepth));
  std::optional<size_t> left = parseAnd();
  while (left && consume("or")) {
    size_t column = at - 1;
    std::optional<size_t> right = parseAnd();
    left = right ? std::optional(add(Op::Or, column, {*left, *right}))
                 : std::nullopt;
  }
  --depth;
  return left;
}

std::optional<size_t> ExpressionParser::parseAnd() {
  std::optional<size_t> left = parseNot();
  while (left && consume("and")) {
    size_t column = at - 2;
    std::optional<size_t> right = parseNot();
    left = right ? std::optional(add(Op::And, column, {*left, *right}))
                 : std::nullopt;
  }
  return left;
}

std::optional<size_t> ExpressionParser::parseNot() {
  unsigned negations = 0;
  size_t column = at + 1;
  while (consume("not"))
    ++negations;
  std::optional<size_t> operand = parseComparison();
  for (; operand && negations > 0; --negations)
    operand = add(Op::Not, column, {*operand});
  return operand;
}

std::optional<size_t> ExpressionParser::parseComparison() {
  struct Spelling {
    std::string_view token;
    Op op;
  };
  static constexpr Spelling kSpellings[] = {
      {"==", Op::Equal},        {"!=", Op::NotEqual}, {"<=", Op::LessEqual},
      {">=", Op::GreaterEqual}, {"<", Op::Less},      {">", Op::Greater},
  };
  std::optional<size_t> left = parseSum();
  bool compared = false;
  for (bool again = true; left && again;) {
    again = false;
    for (const Spelling &spelling : kSpellings) {
      if (!consume(spelling.token))
        continue;
      size_t column = at - spelling.token.size() + 1;
      if (compared)
        return failAt(column, "comparisons do not chain; join two with `and`");
      std::optional<size_t> right = parseSum();
      if (!right)
        return std::nullopt;
      left = add(spelling.op, column, {*left, *right});
      compared = again = true;
      break;
    }
  }
  return left;
}

std::optional<size_t> ExpressionParser::parseSum() {
  std::optional<size_t> left = parseProduct();
  while (left) {
    Op op;
    if (consume("+"))
      op = Op::Add;
    else if (consume("-"))
      op = Op::Subtract;
    else
      break;
    size_t column = at;
    std::optional<size_t> right = parseProduct();
    left =
        right ? std::optional(add(op, column, {*left, *right})) : std::nullopt;
  }
  return left;
}

std::optional<size_t> ExpressionParser::parseProduct() {
  std::optional<size_t> left = parseUnary();
  while (left) {
    Op op;
    skipBlanks();
    size_t column = at + 1;
    if (consume("**"))
      return failAt(column, "`**` is not supported; multiply");
    if (consume("*"))
      op = Op::Multiply;
    else if (consume("//"))
      op = Op::FloorDivide;
    else if (consume("%"))
      op = Op::Modulo;
    else if (consume("/"))
      return failAt(column, "`/` would be a fraction; write `//` for floor "
                            "division or ceil_div(a, b)");
    else
      break;
    std::optional<size_t> right = parseUnary();
    left =
        right ? std::optional(add(op, column, {*left, *right})) : std::nullopt;
  }
  return left;
}

std::optional<size_t> ExpressionParser::parseUnary() {
  skipBlanks();
  size_t column = at + 1;
  bool negative = false;
  while (consume("-"))
    negative = !negative;
  std::optional<size_t> operand = parsePrimary();
  return operand && negative
             ? std::optional(add(Op::Negate, column, {*operand}))
             : operand;
}

std::optional<size_t> ExpressionParser::parseNumber() {
  int64_t value = 0;
  size_t column = at + 1;
  auto [end, code] =
      std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (code != std::errc())
    return failAt(column, "the number does not fit in 64 bits");
  at = size_t(end - text.data());
  if (at < text.size() && (isWordChar(text[at]) || text[at] == '.'))
    return failAt(column, "expected an integer");
  size_t node = add(Op::Constant, column, {});
  expression.nodes[node].constant = value;
  return node;
}

std::optional<size_t> ExpressionParser::parseCall(std::string_view name,
                                                  size_t column) {
  Op op;
  size_t arity = 2;
  if (name == "min" || name == "max") {
    op = name == "min" ? Op::Min : Op::Max;
    arity = 0; // any number from two
  } else if (name == "ceil_div") {
    op = Op::CeilDiv;
  } else if (name == "align_up") {
    op = Op::AlignUp;
  } else {
    return failAt(column, "unknown function '" + std::string(name) +
                              "', expected min, max, ceil_div or align_up");
  }
  std::vector<size_t> operands;
  do {
    std::optional<size_t> operand = parseOr();
    if (!operand)
      return std::nullopt;
    operands.push_back(*operand);
  } while (consume(","));
  if (!consume(")"))
    return failAt(at + 1, "expected ')' or ',', found " + describeNext());
  if (arity == 0 ? operands.size() < 2 : operands.size() != arity)
    return failAt(column, std::string(name) + " takes " +
                              (arity == 0 ? "two or more" : "two") +
                              " arguments, found " +
                              std::to_string(operands.size()));
  return add(op, column, std::move(operands));
}

std::optional<size_t> ExpressionParser::parsePrimary() {
  skipBlanks();
  size_t column = at + 1;
  if (consume("(")) {
    std::optional<size_t> inner = parseOr();
    if (inner && !consume(")"))
      return failAt(at + 1, "expected ')', found " + describeNext());
    return inner;
  }
  if (at < text.size() && text[at] >= '0' && text[at] <= '9')
    return parseNumber();
  std::string_view word = peekWord();
  if (word.empty() || word == "and" || word == "or" || word == "not")
    return failAt(column,
                  "expected a number, an axis or '(', found " + describeNext());
  at += word.size();
  if (consume("("))
    return parseCall(word, column);
  size_t node = add(Op::Name, column, {});
  expression.nodes[node].name = std::string(word);
  expression.names.insert(std::string(word));
  return node;
}

Result<Expression> ExpressionParser::run() {
  std::optional<size_t> root = parseOr();
  skipBlanks();
  if (root && at != text.size())
    root = failAt(at + 1,
                  "expected an operator or the end, found " + describeNext());
  if (!root)
    return fail(FailureKind::Input, error);
  return std::move(expression);
}

Result<Expression> Expression::parse(std::string_view text) {
  return ExpressionParser(text).run();
}

Expression Expression::makeConstant(int64_t value) {
  Expression expression;
  expression.text = std::to_string(value);
  expression.nodes.push_back({Op::Constant, 1, value, {}, {}});
  return expression;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Result<int64_t> Expression::evaluate(const AxisValues &axes) const {
  // Children come before their parents, so that a sum of 10^5 terms, which is
  // as deep, needs no recursion.
  std::vector<Result<int64_t>> values;
  values.reserve(nodes.size());
  for (const Node &node : nodes)
    values.push_back(evaluateNode(node, values, axes));
  return std::move(values.back());
}

Result<int64_t> Expression::evaluateBinary(const Node &node, int64_t a,
                                           int64_t b) const {
  auto failHere = [&](const char *what) {
    return fail(FailureKind::Input, "column " + std::to_string(node.column) +
                                        ": " + what + " (" + std::to_string(a) +
                                        " and " + std::to_string(b) + ")");
  };
  int64_t result = 0;
  bool divides = node.op == Op::FloorDivide || node.op == Op::Modulo ||
                 node.op == Op::CeilDiv || node.op == Op::AlignUp;
  if (divides && b == 0)
    return failHere("division by zero");
  if (divides && a == INT64_MIN && b == -1)
    return failHere("overflow of 64 bits");
  // Quotient and remainder that round to minus infinity, as Python's do.
  auto floorDivide = [](int64_t x, int64_t y) {
    return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
  };
  switch (node.op) {
  case Op::Add:
    if (__builtin_add_overflow(a, b, &result))
      return failHere("overflow of 64 bits");
    return result;
  case Op::Subtract:
    if (__builtin_sub_overflow(a, b, &result))
      return failHere("overflow of 64 bits");
    return result;
  case Op::Multiply:
    if (__builtin_mul_overflow(a, b, &result))
      return failHere("overflow of 64 bits");
    return result;
  case Op::FloorDivide:
    return floorDivide(a, b);
  case Op::Modulo:
    return a - floorDivide(a, b) * b;
  case Op::CeilDiv:
  case Op::AlignUp: {
    if (b < 0)
      return failHere("expected a positive divisor");
    int64_t quotient = floorDivide(a, b) + (a % b != 0 ? 1 : 0);
    if (node.op == Op::CeilDiv)
      return quotient;
    if (__builtin_mul_overflow(quotient, b, &result))
      return failHere("overflow of 64 bits");
    return result;
  }
  case Op::Min:
    return a < b ? a : b;
  case Op::Max:
    return a > b ? a : b;
  case Op::Equal:
    return a == b;
  case Op::NotEqual:
    return a != b;
  case Op::Less:
    return a < b;
  case Op::LessEqual:
    return a <= b;
  case Op::Greater:
    return a > b;
  case Op::GreaterEqual:
    return a >= b;
  default:
    break;
  }
  return fail(FailureKind::Internal, "no binary operation");
}

Result<int64_t> Expression::evaluateNode(const Node &node,
                                         std::vector<Result<int64_t>> &values,
                                         const AxisValues &axes) const {
  switch (node.op) {
  case Op::Constant:
    return node.constant;
  case Op::Name: {
    auto found = axes.find(node.name);
    if (found == axes.end())
      return fail(FailureKind::Input, "column " + std::to_string(node.column) +
                                          ": axis '" + node.name +
                                          "' has no value");
    return found->second;
  }
  default:
    break;
  }
  // Each node has one parent, which may take its value away.
  Result<int64_t> value = std::move(values[node.operands.front()]);
  if (!value)
    return value;
  if (node.op == Op::Not)
    return *value == 0;
  if (node.op == Op::Negate) {
    if (*value == INT64_MIN)
      return fail(FailureKind::Input, "column " + std::to_string(node.column) +
                                          ": overflow of 64 bits");
    return -*value;
  }
  if (node.op == Op::And || node.op == Op::Or) {
    if ((*value != 0) == (node.op == Op::Or))
      return *value != 0;
    Result<int64_t> right = std::move(values[node.operands[1]]);
    return right ? Result<int64_t>(*right != 0) : right;
  }
  for (size_t i = 1; value && i < node.operands.size(); ++i) {
    Result<int64_t> right = std::move(values[node.operands[i]]);
    if (!right)
      return right;
    value = evaluateBinary(node, *value, *right);
  }
  return value;
}
