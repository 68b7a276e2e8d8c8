// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads rubrics. The schema is checked first, so that reading may rely on kinds
// and required members.

#include "d2k/Rubric/Rubric.h"

#include "d2k/Support/JsonSchema.h"

#include <algorithm>
#include <cassert>
#include <map>

using namespace d2k;
using namespace d2k::rubric;
using json::Cursor;

namespace d2k::embedded {
extern const char *const rubricSchema;
} // namespace d2k::embedded

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr std::string_view kScopeNames[] = {
    "default", "main", "loop", "kernel", "any", "every", "host"};
static constexpr std::string_view kOpNames[] = {"eq", "ne", "lt", "le",
                                                "gt", "ge", "in"};

std::string_view d2k::rubric::getScopeName(Scope scope) {
  return kScopeNames[static_cast<size_t>(scope)];
}

std::string_view d2k::rubric::getCompareOpName(CompareOp op) {
  return kOpNames[static_cast<size_t>(op)];
}

std::string d2k::rubric::getLevelName(unsigned level) {
  return "L" + std::to_string(level + 1);
}

std::string d2k::rubric::toString(const std::vector<AttributeTest> &where) {
  static constexpr std::string_view kSymbols[] = {
      "=", "!=", "<", "<=", ">", ">=", "in"};
  std::string text;
  for (const AttributeTest &test : where)
    for (const Comparison &comparison : test.comparisons) {
      if (!text.empty())
        text += ", ";
      text += test.attribute + " ";
      text += kSymbols[static_cast<size_t>(comparison.op)];
      text += ' ';
      if (comparison.op == CompareOp::In)
        text += '{';
      for (size_t i = 0; i < comparison.values.size(); ++i)
        text += (i == 0 ? "" : ", ") + d2k::toString(comparison.values[i]);
      if (comparison.op == CompareOp::In)
        text += '}';
    }
  return text;
}

std::string d2k::rubric::toString(const Predicate &predicate) {
  if (predicate.kind == Predicate::Kind::Fact) {
    std::string text = predicate.property;
    if (predicate.scope != Scope::Default)
      text += " in " + std::string(getScopeName(predicate.scope));
    if (!predicate.where.empty())
      text += " where " + toString(predicate.where);
    return text;
  }
  std::string text = predicate.kind == Predicate::Kind::All   ? "all("
                     : predicate.kind == Predicate::Kind::Any ? "any("
                                                              : "not(";
  for (size_t i = 0; i < predicate.operands.size(); ++i)
    text += (i == 0 ? "" : ", ") + toString(predicate.operands[i]);
  return text + ")";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static std::string readString(const Cursor &at, std::string_view name) {
  std::optional<Cursor> member = at.find(name);
  return member ? *member->getValue().getAsString() : std::string();
}

/// Calls `action` with a cursor for each element.
template <typename ActionT>
static void forEachElement(const Cursor &array, ActionT action) {
  for (size_t i = 0; i < array.getValue().getAsArray()->size(); ++i)
    action(array.at(i));
}

static std::vector<std::string> readStrings(const Cursor &array) {
  std::vector<std::string> strings;
  forEachElement(array, [&](const Cursor &element) {
    strings.push_back(*element.getValue().getAsString());
  });
  return strings;
}

static AttrValue readAttrValue(const json::Value &value) {
  if (const bool *boolean = value.getAsBoolean())
    return *boolean;
  if (const int64_t *integer = value.getAsInteger())
    return *integer;
  if (const std::string *string = value.getAsString())
    return *string;
  return *value.getAsNumber();
}

static AttributeTest readTest(const std::string &attribute,
                              const json::Value &condition) {
  AttributeTest test;
  test.attribute = attribute;
  const json::Object *object = condition.getAsObject();
  if (!object) {
    test.comparisons.push_back({CompareOp::Eq, {readAttrValue(condition)}});
    return test;
  }
  for (const auto &[name, value] : *object) {
    Comparison comparison;
    comparison.op = static_cast<CompareOp>(
        std::find(std::begin(kOpNames), std::end(kOpNames), name) -
        std::begin(kOpNames));
    if (const json::Array *list = value.getAsArray())
      for (const json::Value &element : *list)
        comparison.values.push_back(readAttrValue(element));
    else
      comparison.values.push_back(readAttrValue(value));
    test.comparisons.push_back(std::move(comparison));
  }
  return test;
}

static Predicate readPredicate(const Cursor &at) {
  Predicate predicate;
  predicate.path = at.getPath();
  for (auto [name, kind] : {std::pair("all", Predicate::Kind::All),
                            std::pair("any", Predicate::Kind::Any)})
    if (std::optional<Cursor> list = at.find(name)) {
      predicate.kind = kind;
      forEachElement(*list, [&](const Cursor &element) {
        predicate.operands.push_back(readPredicate(element));
      });
      return predicate;
    }
  if (std::optional<Cursor> operand = at.find("not")) {
    predicate.kind = Predicate::Kind::Not;
    predicate.operands.push_back(readPredicate(*operand));
    return predicate;
  }
  predicate.kind = Predicate::Kind::Fact;
  predicate.property = readString(at, "fact");
  if (std::optional<Cursor> scope = at.find("in"))
    predicate.scope = static_cast<Scope>(
        std::find(std::begin(kScopeNames), std::end(kScopeNames),
                  *scope->getValue().getAsString()) -
        std::begin(kScopeNames));
  if (std::optional<Cursor> where = at.find("where"))
    for (const auto &[name, condition] : *where->getValue().getAsObject())
      predicate.where.push_back(readTest(name, condition));
  return predicate;
}

/// Reads what properties and targets have in common.
static void readDetection(const Cursor &at, Target &target) {
  if (std::optional<Cursor> detect = at.find("detect"))
    target.detect = readPredicate(*detect);
  if (std::optional<Cursor> partial = at.find("partial"))
    forEachElement(*partial, [&](const Cursor &element) {
      target.partial.push_back({*element.getNumber("credit"),
                                readPredicate(element.at("when")),
                                readString(element, "reason")});
    });
}

static Property readProperty(const Cursor &at) {
  Property property;
  property.path = at.getPath();
  property.id = readString(at, "id");
  property.level = unsigned(readString(at, "level")[1] - '1');
  property.guidance = readString(at, "guidance");
  property.title = readString(at, "title");
  property.weight = *at.getNumber("weight");
  property.hint = readString(at, "hint");
  if (std::optional<Cursor> workloads = at.find("applies_to"))
    property.appliesTo = readStrings(*workloads);
  if (std::optional<Cursor> gates = at.find("depends_on"))
    forEachElement(*gates, [&](const Cursor &element) {
      Gate gate;
      gate.reason = readString(element, "reason");
      if (std::optional<Cursor> list = element.find("any_of"))
        gate.anyOf = readStrings(*list);
      else
        gate.anyOf.push_back(readString(element, "property"));
      property.dependsOn.push_back(std::move(gate));
    });
  std::optional<Cursor> targets = at.find("targets");
  property.hasTargets = targets.has_value();
  if (!targets) {
    Target target;
    target.arch.push_back("*");
    readDetection(at, target);
    property.targets.push_back(std::move(target));
    return property;
  }
  forEachElement(*targets, [&](const Cursor &element) {
    Target target;
    target.arch = readStrings(element.at("arch"));
    target.notApplicable = readString(element, "not_applicable");
    readDetection(element, target);
    property.targets.push_back(std::move(target));
  });
  return property;
}

namespace {

/// Orders properties by their gates; finds cycles.
class GateSorter {
public:
  explicit GateSorter(const Rubric &rubric) : rubric(rubric) {
    for (size_t i = 0; i < rubric.properties.size(); ++i)
      indices.try_emplace(rubric.properties[i].id, i);
  }

  /// Index of the first property \p id.
  std::optional<size_t> find(std::string_view id) const {
    auto found = indices.find(id);
    return found == indices.end() ? std::nullopt
                                  : std::optional<size_t>(found->second);
  }

  /// False when `cycle` was found.
  bool run();

  std::vector<size_t> order;
  /// The property at which a cycle closes.
  size_t cycle = 0;

private:
  const Rubric &rubric;
  std::map<std::string_view, size_t> indices;
};

} // namespace

bool GateSorter::run() {
  enum class Mark : uint8_t { White, Grey, Black };
  std::vector<Mark> marks(rubric.properties.size(), Mark::White);
  // Depth first without recursion: a chain of gates may be as long as the file.
  struct Frame {
    size_t index;
    std::vector<size_t> next;
  };
  std::vector<Frame> stack;
  auto enter = [&](size_t index) {
    marks[index] = Mark::Grey;
    Frame frame{index, {}};
    for (const Gate &gate : rubric.properties[index].dependsOn)
      for (const std::string &id : gate.anyOf)
        if (std::optional<size_t> next = find(id))
          frame.next.push_back(*next);
    std::reverse(frame.next.begin(), frame.next.end());
    stack.push_back(std::move(frame));
  };
  for (size_t root = 0; root < marks.size(); ++root) {
    if (marks[root] == Mark::White)
      enter(root);
    while (!stack.empty()) {
      Frame &frame = stack.back();
      if (frame.next.empty()) {
        marks[frame.index] = Mark::Black;
        order.push_back(frame.index);
        stack.pop_back();
        continue;
      }
      size_t next = frame.next.back();
      frame.next.pop_back();
      if (marks[next] == Mark::Grey) {
        cycle = next;
        return false;
      }
      if (marks[next] == Mark::White)
        enter(next);
    }
  }
  return true;
}

/// Fails when gates cannot be evaluated, or an id is given twice.
static Result<void> checkGates(const Rubric &rubric,
                               const json::Document &document) {
  auto failAt = [&](const std::string &path, const std::string &message) {
    return fail(FailureKind::Input,
                document.getName() + ": " + path + ": " + message);
  };
  GateSorter sorter(rubric);
  for (size_t i = 0; i < rubric.properties.size(); ++i) {
    const Property &property = rubric.properties[i];
    if (sorter.find(property.id) != i)
      return failAt(property.path + ".id",
                    "\"" + property.id + "\" is another property's too");
    for (size_t j = 0; j < property.dependsOn.size(); ++j)
      for (const std::string &id : property.dependsOn[j].anyOf)
        if (!sorter.find(id))
          return failAt(json::joinIndex(property.path + ".depends_on", j),
                        "\"" + id + "\" is no property of this rubric");
  }
  if (!sorter.run()) {
    const Property &property = rubric.properties[sorter.cycle];
    return failAt(property.path + ".depends_on",
                  "\"" + property.id + "\" depends on itself in a cycle");
  }
  return {};
}

std::string_view d2k::rubric::getRubricSchemaText() {
  return embedded::rubricSchema;
}

Result<Rubric> Rubric::fromDocument(const json::Document &document) {
  Result<json::Document> schemaDocument =
      json::Document::parse(getRubricSchemaText(), "rubric.schema.json");
  if (!schemaDocument)
    return forwardFailure(std::move(schemaDocument));
  Result<json::Schema> schema =
      json::Schema::create(std::move(*schemaDocument));
  if (!schema)
    return forwardFailure(std::move(schema));
  if (Result<void> conforms = schema->check(document); !conforms)
    return forwardFailure(std::move(conforms));
  Cursor root = document.getRoot();
  Rubric rubric;
  rubric.task = readString(root, "task");
  rubric.title = readString(root, "title");
  rubric.description = readString(root, "description");
  forEachElement(root.at("properties"), [&](const Cursor &element) {
    rubric.properties.push_back(readProperty(element));
  });
  if (Result<void> sound = checkGates(rubric, document); !sound)
    return forwardFailure(std::move(sound));
  return rubric;
}

Result<Rubric> Rubric::load(const std::string &path) {
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return forwardFailure(std::move(document));
  return fromDocument(*document);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool Target::matches(std::string_view architecture) const {
  return std::any_of(arch.begin(), arch.end(), [&](const std::string &pattern) {
    if (pattern.back() != '*')
      return pattern == architecture;
    std::string_view prefix(pattern.data(), pattern.size() - 1);
    return architecture.substr(0, prefix.size()) == prefix;
  });
}

const Target *Property::findTarget(std::string_view architecture) const {
  for (const Target &target : targets)
    if (target.matches(architecture))
      return &target;
  return nullptr;
}

bool Property::appliesToWorkload(std::string_view workload) const {
  return appliesTo.empty() || workload.empty() ||
         std::find(appliesTo.begin(), appliesTo.end(), workload) !=
             appliesTo.end();
}

std::optional<size_t> Rubric::find(std::string_view id) const {
  for (size_t i = 0; i < properties.size(); ++i)
    if (properties[i].id == id)
      return i;
  return std::nullopt;
}

std::vector<size_t> Rubric::getGateOrder() const {
  GateSorter sorter(*this);
  bool acyclic = sorter.run();
  assert(acyclic && "cycles are refused when a rubric is read");
  (void)acyclic;
  return sorter.order;
}
