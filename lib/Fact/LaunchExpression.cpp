// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Fact/LaunchExpression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

using namespace d2k;

static std::optional<int64_t> parseNumber(std::string_view word) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    return std::nullopt;
  return value;
}

std::optional<LaunchParameter>
d2k::parseLaunchParameter(std::string_view leaf) {
  static constexpr std::string_view kPrefix = "param:";
  if (leaf.substr(0, kPrefix.size()) != kPrefix)
    return std::nullopt;
  leaf.remove_prefix(kPrefix.size());
  std::array<int64_t, 3> parts{};
  for (size_t i = 0; i < parts.size(); ++i) {
    size_t colon = i + 1 < parts.size() ? leaf.find(':') : leaf.size();
    if (colon == std::string_view::npos)
      return std::nullopt;
    std::optional<int64_t> number = parseNumber(leaf.substr(0, colon));
    if (!number || *number < 0)
      return std::nullopt;
    parts[i] = *number;
    leaf.remove_prefix(std::min(colon + 1, leaf.size()));
  }
  return LaunchParameter{unsigned(parts[0]), parts[1], parts[2]};
}

static std::optional<int64_t> apply(std::string_view op, int64_t a, int64_t b) {
  // Wraps like the machine does.
  auto wrap = [](uint64_t value) { return int64_t(value); };
  uint64_t x = a, y = b;
  if (op == "add")
    return wrap(x + y);
  if (op == "sub")
    return wrap(x - y);
  if (op == "mul")
    return wrap(x * y);
  if (op == "min")
    return std::min(a, b);
  if (op == "max")
    return std::max(a, b);
  if (op == "and")
    return wrap(x & y);
  if (op == "or")
    return wrap(x | y);
  if (op == "xor")
    return wrap(x ^ y);
  if (op == "lt")
    return a < b;
  if (op == "le")
    return a <= b;
  if (op == "eq")
    return a == b;
  if (op == "div" || op == "rem") {
    if (b == 0 || (b == -1 && a == INT64_MIN))
      return std::nullopt;
    return op == "div" ? a / b : a % b;
  }
  if (b < 0 || b > 63)
    return std::nullopt;
  return op == "shl" ? wrap(x << y) : a >> b;
}

/// Operands of the operator \p word; 0 when it is none.
static size_t getArity(std::string_view word) {
  static constexpr std::string_view kBinary[] = {
      "add", "sub", "mul", "div", "rem", "min", "max", "and",
      "or",  "xor", "shl", "shr", "lt",  "le",  "eq"};
  if (word == "if")
    return 3;
  return std::find(std::begin(kBinary), std::end(kBinary), word) !=
                 std::end(kBinary)
             ? 2
             : 0;
}

std::optional<int64_t> d2k::evaluateLaunchExpression(
    std::string_view text,
    const std::function<std::optional<int64_t>(std::string_view leaf)> &lookUp,
    std::string *unknown) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  // From the back, every operator finds its operands on the stack. Operands
  // that are not known need not be: `if` may not choose them.
  std::vector<std::optional<int64_t>> stack;
  std::string missing;
  for (size_t i = words.size(); i-- > 0;) {
    std::string_view word = words[i];
    size_t arity = getArity(word);
    if (arity == 0) {
      std::optional<int64_t> value = parseNumber(word);
      if (!value)
        value = lookUp(word);
      if (!value)
        missing = word;
      stack.push_back(value);
      continue;
    }
    if (stack.size() < arity)
      return std::nullopt;
    std::optional<int64_t> a = stack[stack.size() - 1];
    std::optional<int64_t> b = stack[stack.size() - 2];
    std::optional<int64_t> c = arity == 3 ? stack[stack.size() - 3] : b;
    stack.resize(stack.size() - arity);
    if (arity == 3)
      stack.push_back(!a ? std::nullopt : *a != 0 ? b : c);
    else
      stack.push_back(a && b ? apply(word, *a, *b) : std::nullopt);
  }
  if (stack.size() != 1)
    return std::nullopt;
  if (!stack[0] && unknown)
    *unknown = missing;
  return stack[0];
}
