// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer expressions over axes, as task.json uses them for shapes, FLOP and
// byte counts and constraints. The spelling is Python's, so that definitions
// can be exchanged with FlashInfer-Bench; the language and its functions are
// listed in docs/TaskFormat.md. Arithmetic is exact in 64 bits or an error.

#ifndef D2K_TASK_EXPRESSION_H
#define D2K_TASK_EXPRESSION_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace d2k {

/// Values of axes by name.
using AxisValues = std::map<std::string, int64_t>;

/// A parsed expression. Comparisons and `and`, `or`, `not` give 1 or 0.
class Expression {
public:
  /// Parses \p text. Errors read `column 5: expected ...`, kind Input.
  static Result<Expression> parse(std::string_view text);
  /// The expression that is \p value.
  static Expression makeConstant(int64_t value);

  /// Its value under \p axes. Fails on overflow, division by zero, and names
  /// that \p axes does not have; the message has the column. `and` and `or`
  /// do not evaluate a right side that cannot matter.
  Result<int64_t> evaluate(const AxisValues &axes) const;

  /// The axes that it names.
  const std::set<std::string> &getNames() const { return names; }
  /// The text it was parsed from.
  const std::string &getText() const { return text; }

private:
  friend class ExpressionParser;

  enum class Op : uint8_t {
    Constant,
    Name,
    Negate,
    Not,
    Add,
    Subtract,
    Multiply,
    FloorDivide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Min,
    Max,
    CeilDiv,
    AlignUp,
  };

  /// One node; children come before their parent in `nodes`.
  struct Node {
    Op op;
    /// 1-based position in the text.
    size_t column;
    int64_t constant = 0;
    std::string name;
    std::vector<size_t> operands;
  };

  /// The value of \p node, which takes those of its children from \p values.
  Result<int64_t> evaluateNode(const Node &node,
                               std::vector<Result<int64_t>> &values,
                               const AxisValues &axes) const;
  Result<int64_t> evaluateBinary(const Node &node, int64_t a, int64_t b) const;

  std::string text;
  std::vector<Node> nodes;
  std::set<std::string> names;
};

} // namespace d2k

#endif // D2K_TASK_EXPRESSION_H
