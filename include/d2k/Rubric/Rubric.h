// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rubric as docs/RubricFormat.md describes the file: properties of a design
// with their levels and weights, each with a predicate over facts. This is the
// model and its reader; Score.h evaluates it and Lint.h checks it.

#ifndef D2K_RUBRIC_RUBRIC_H
#define D2K_RUBRIC_RUBRIC_H

#include "d2k/Fact/Fact.h"
#include "d2k/Support/Json.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::rubric {

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

/// Where a fact must lie.
enum class Scope : uint8_t {
  /// Not given: Kernel, or Host for properties of the host.
  Default,
  /// In the main region of the kernel at hand.
  Main,
  /// In some loop of it.
  Loop,
  /// Anywhere in it.
  Kernel,
  /// In any kernel on the workload's path.
  Any,
  /// In every kernel on the workload's path.
  Every,
  /// In the host code.
  Host,
};

/// "main", ..., "default".
std::string_view getScopeName(Scope scope);

/// The comparisons of a `where`.
enum class CompareOp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, In };

/// "eq", ..., "in".
std::string_view getCompareOpName(CompareOp op);

/// One comparison of an attribute; `values` has one element but for In.
struct Comparison {
  CompareOp op = CompareOp::Eq;
  std::vector<AttrValue> values;
};

/// The conditions on one attribute, which must all hold.
struct AttributeTest {
  std::string attribute;
  std::vector<Comparison> comparisons;
};

/// A node of a predicate tree.
struct Predicate {
  enum class Kind : uint8_t { All, Any, Not, Fact };

  Kind kind = Kind::All;
  /// The operands of All and Any, the one of Not.
  std::vector<Predicate> operands;
  /// Fact: id of the property, scope and conditions.
  std::string property;
  Scope scope = Scope::Default;
  std::vector<AttributeTest> where;
  /// JSON path of the node, for messages.
  std::string path;
};

/// The predicate in one line: `all(tma in main, not(local_spills where bytes >
/// 0))`. Equal predicates have equal text.
std::string toString(const Predicate &predicate);

/// The conditions of a fact in words: `bytes >= 16, direction = load`.
std::string toString(const std::vector<AttributeTest> &where);

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

/// Levels of guidance: index 0 is L1.
inline constexpr unsigned kNumLevels = 3;

/// "L1", "L2", "L3" for 0, 1, 2.
std::string getLevelName(unsigned level);

/// A lesser predicate and what it is worth.
struct PartialCredit {
  /// Strictly between 0 and 1.
  double credit = 0;
  Predicate when;
  std::string reason;
};

/// How a property is detected on some architectures.
struct Target {
  /// Architectures (`sm_90a`) or prefixes with a star (`sm_9*`); `*` is all.
  std::vector<std::string> arch;
  /// Absent when the property is not applicable there.
  std::optional<Predicate> detect;
  std::vector<PartialCredit> partial;
  /// Why it is not applicable; empty when it is.
  std::string notApplicable;

  bool matches(std::string_view architecture) const;
};

/// A prerequisite without which a property is meaningless.
struct Gate {
  /// One property, or several of which the best counts.
  std::vector<std::string> anyOf;
  std::string reason;
};

/// One property of a rubric.
struct Property {
  std::string id;
  /// 0 for L1.
  unsigned level = 0;
  /// Item of the guidance: "L2.1".
  std::string guidance;
  std::string title;
  double weight = 1;
  /// Workloads where it applies; empty means all of them.
  std::vector<std::string> appliesTo;
  std::vector<Gate> dependsOn;
  /// At least one. A property that is detected alike everywhere has one for
  /// `*`, and hasTargets is false.
  std::vector<Target> targets;
  bool hasTargets = false;
  std::string hint;
  /// JSON path, for messages.
  std::string path;

  /// The first target that matches, or null.
  const Target *findTarget(std::string_view architecture) const;
  /// Whether it applies to \p workload; an empty id stands for an unnamed
  /// workload, to which everything applies.
  bool appliesToWorkload(std::string_view workload) const;
};

/// A rubric.
struct Rubric {
  std::string task, title, description;
  std::vector<Property> properties;

  /// Reads the rubric at \p path.
  static Result<Rubric> load(const std::string &path);
  /// Takes a parsed document. Faults of the schema are reported all at once,
  /// one a line. Gates that name no property, or form a cycle, fail too: no
  /// score could be computed.
  static Result<Rubric> fromDocument(const json::Document &document);

  /// Index of the property \p id.
  std::optional<size_t> find(std::string_view id) const;
  /// Indices of properties so that prerequisites come first.
  std::vector<size_t> getGateOrder() const;
};

/// The schema of rubrics that this program was built with.
std::string_view getRubricSchemaText();

} // namespace d2k::rubric

#endif // D2K_RUBRIC_RUBRIC_H
