// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of rubrics beyond their schema.

#include "d2k/Rubric/Lint.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::rubric;

/// Plain facts, which show no design by themselves.
static constexpr std::string_view kPlainFacts[] = {
    "launch_bounds", "launch_shape", "register_count"};

namespace {

class Linter {
public:
  Linter(const Rubric &rubric, const LintContext &context)
      : rubric(rubric), context(context) {}

  std::vector<std::string> run();

private:
  void report(const std::string &path, const std::string &message) {
    faults.push_back(path + ": " + message);
  }
  void checkProperty(const Property &property);
  void checkArchitectures(const Property &property);
  void checkDetection(const Target &target);
  void checkPredicate(const Predicate &predicate, bool negated, bool guarded);
  void checkFact(const Predicate &predicate, bool negated);
  void checkWhere(const Predicate &predicate, const PropertyInfo &info);
  void checkComparison(const std::string &path, const AttributeInfo &attribute,
                       const Comparison &comparison);
  void checkCoverage();

  const PropertyInfo *findInfo(const Predicate &predicate) const {
    return context.catalog ? context.catalog->find(predicate.property)
                           : nullptr;
  }
  bool isPerKernel(const Predicate &predicate) const;
  bool hasPerKernelFact(const Predicate &predicate) const;
  bool isPositiveGuard(const Predicate &predicate) const;

  const Rubric &rubric;
  const LintContext &context;
  std::vector<std::string> faults;
};

} // namespace

static std::string suggest(const std::string &closest) {
  return closest.empty() ? "" : "; did you mean \"" + closest + "\"?";
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

static bool fitsType(const AttrValue &value, AttrType type) {
  switch (type) {
  case AttrType::Boolean:
    return std::holds_alternative<bool>(value);
  case AttrType::Integer:
  case AttrType::Real:
    return std::holds_alternative<int64_t>(value) ||
           std::holds_alternative<double>(value);
  case AttrType::String:
    return std::holds_alternative<std::string>(value);
  }
  return false;
}

void Linter::checkComparison(const std::string &path,
                             const AttributeInfo &attribute,
                             const Comparison &comparison) {
  bool isOrder = comparison.op != CompareOp::Eq &&
                 comparison.op != CompareOp::Ne &&
                 comparison.op != CompareOp::In;
  if (isOrder && (attribute.type == AttrType::String ||
                  attribute.type == AttrType::Boolean)) {
    report(path, "\"" + std::string(getCompareOpName(comparison.op)) +
                     "\" needs a number, but \"" + attribute.name + "\" is " +
                     std::string(getAttrTypeName(attribute.type)));
    return;
  }
  for (const AttrValue &value : comparison.values) {
    if (!fitsType(value, attribute.type)) {
      report(path, "expected " + std::string(getAttrTypeName(attribute.type)) +
                       " for \"" + attribute.name + "\", found " +
                       d2k::toString(value));
      continue;
    }
    const std::string *string = std::get_if<std::string>(&value);
    if (string && !attribute.values.empty() &&
        std::find(attribute.values.begin(), attribute.values.end(), *string) ==
            attribute.values.end())
      report(path, "\"" + *string + "\" is no value of \"" + attribute.name +
                       "\"" + suggest(findClosest(*string, attribute.values)));
  }
}

void Linter::checkWhere(const Predicate &predicate, const PropertyInfo &info) {
  for (const AttributeTest &test : predicate.where) {
    std::string path =
        json::joinMember(predicate.path + ".where", test.attribute);
    const AttributeInfo *attribute = info.findAttribute(test.attribute);
    if (!attribute) {
      std::vector<std::string> names;
      for (const AttributeInfo &known : info.attributes)
        names.push_back(known.name);
      report(path, "\"" + info.id + "\" has no attribute \"" + test.attribute +
                       "\"" + suggest(findClosest(test.attribute, names)));
      continue;
    }
    for (const Comparison &comparison : test.comparisons)
      checkComparison(path, *attribute, comparison);
  }
}

void Linter::checkFact(const Predicate &predicate, bool negated) {
  if (!context.catalog)
    return;
  const PropertyInfo *info = findInfo(predicate);
  if (!info) {
    report(predicate.path + ".fact",
           "unknown property \"" + predicate.property + "\"" +
               suggest(context.catalog->suggest(predicate.property)));
    return;
  }
  bool isHostScope = predicate.scope == Scope::Host;
  if (info->subject == Subject::Host && !isHostScope &&
      predicate.scope != Scope::Default)
    report(predicate.path + ".in",
           "\"" + info->id +
               "\" is a property of the host, so that "
               "its scope is \"host\", not \"" +
               std::string(getScopeName(predicate.scope)) + "\"");
  if (info->subject == Subject::Kernel && isHostScope)
    report(predicate.path + ".in",
           "\"" + info->id +
               "\" is a property of kernels and never holds in the host code");
  if (info->inverse && !negated)
    report(predicate.path, "asks for \"" + info->id +
                               "\", of which less is better; put it under "
                               "`not`");
  checkWhere(predicate, *info);
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

/// Whether a fact is looked for in the kernel at hand alone.
bool Linter::isPerKernel(const Predicate &predicate) const {
  switch (predicate.scope) {
  case Scope::Main:
  case Scope::Loop:
  case Scope::Kernel:
    return true;
  case Scope::Default: {
    const PropertyInfo *info = findInfo(predicate);
    return !info || info->subject == Subject::Kernel;
  }
  default:
    return false;
  }
}

bool Linter::hasPerKernelFact(const Predicate &predicate) const {
  if (predicate.kind == Predicate::Kind::Fact)
    return isPerKernel(predicate);
  return std::any_of(
      predicate.operands.begin(), predicate.operands.end(),
      [&](const Predicate &operand) { return hasPerKernelFact(operand); });
}

/// Whether \p predicate holds only for a kernel that shows something.
bool Linter::isPositiveGuard(const Predicate &predicate) const {
  auto isGuard = [&](const Predicate &operand) {
    return isPositiveGuard(operand);
  };
  const auto &operands = predicate.operands;
  switch (predicate.kind) {
  case Predicate::Kind::Fact:
    return isPerKernel(predicate);
  case Predicate::Kind::All:
    return std::any_of(operands.begin(), operands.end(), isGuard);
  case Predicate::Kind::Any:
    return std::all_of(operands.begin(), operands.end(), isGuard);
  case Predicate::Kind::Not:
    return false;
  }
  return false;
}

void Linter::checkPredicate(const Predicate &predicate, bool negated,
                            bool guarded) {
  switch (predicate.kind) {
  case Predicate::Kind::Fact:
    checkFact(predicate, negated);
    return;
  case Predicate::Kind::All: {
    bool guards = guarded || isPositiveGuard(predicate);
    for (const Predicate &operand : predicate.operands)
      checkPredicate(operand, negated, guards);
    return;
  }
  case Predicate::Kind::Any:
    for (const Predicate &operand : predicate.operands)
      checkPredicate(operand, negated, guarded);
    return;
  case Predicate::Kind::Not:
    if (!negated && !guarded && hasPerKernelFact(predicate))
      report(predicate.path,
             "a helper kernel that does nothing fulfils this `not`; put it "
             "into an `all` beside a fact of the same kernel, or give its "
             "facts the scope \"any\"");
    for (const Predicate &operand : predicate.operands)
      checkPredicate(operand, !negated, guarded);
    return;
  }
}

void Linter::checkDetection(const Target &target) {
  if (!target.detect)
    return;
  checkPredicate(*target.detect, /*negated=*/false, /*guarded=*/false);
  if (target.detect->kind == Predicate::Kind::Fact &&
      std::find(std::begin(kPlainFacts), std::end(kPlainFacts),
                target.detect->property) != std::end(kPlainFacts))
    report(target.detect->path, "\"" + target.detect->property +
                                    "\" is a plain fact and no credit alone");
  std::string full = toString(*target.detect);
  for (const PartialCredit &partial : target.partial) {
    checkPredicate(partial.when, /*negated=*/false, /*guarded=*/false);
    if (toString(partial.when) == full)
      report(partial.when.path,
             "is the same as `detect`, so that it never counts");
  }
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

void Linter::checkArchitectures(const Property &property) {
  if (!property.hasTargets)
    return;
  std::string missing;
  for (std::string_view architecture : kRequiredArchitectures)
    if (!property.findTarget(architecture))
      missing += (missing.empty() ? "" : ", ") + std::string(architecture);
  if (!missing.empty())
    report(property.path + ".targets",
           "no entry matches " + missing +
               "; add one, or say `not_applicable` with the reason");
  for (size_t i = 0; i < property.targets.size(); ++i) {
    // An entry behind one for everything is never reached.
    const std::vector<std::string> &arch = property.targets[i].arch;
    if (i + 1 < property.targets.size() &&
        std::find(arch.begin(), arch.end(), "*") != arch.end())
      report(json::joinIndex(property.path + ".targets", i + 1) + ".arch",
             "is never reached: the entry before it matches everything");
  }
}

void Linter::checkProperty(const Property &property) {
  if (property.guidance.substr(0, 2) != getLevelName(property.level))
    report(property.path + ".guidance", "item " + property.guidance +
                                            " is not of level " +
                                            getLevelName(property.level));
  if (context.guidance && !context.guidance->find(property.guidance))
    report(property.path + ".guidance",
           "the guidance has no item " + property.guidance);
  if (context.workloads)
    for (size_t i = 0; i < property.appliesTo.size(); ++i)
      if (std::find(context.workloads->begin(), context.workloads->end(),
                    property.appliesTo[i]) == context.workloads->end())
        report(json::joinIndex(property.path + ".applies_to", i),
               "the task has no workload \"" + property.appliesTo[i] + "\"" +
                   suggest(
                       findClosest(property.appliesTo[i], *context.workloads)));
  checkArchitectures(property);
  for (const Target &target : property.targets)
    checkDetection(target);
}

void Linter::checkCoverage() {
  if (!context.guidance)
    return;
  for (const GuidanceItem &item : context.guidance->items)
    if (std::none_of(rubric.properties.begin(), rubric.properties.end(),
                     [&](const Property &property) {
                       return property.guidance == item.id;
                     }))
      report("properties", "no property checks the guidance's item " + item.id +
                               " (" + item.title + ")");
}

std::vector<std::string> Linter::run() {
  for (const Property &property : rubric.properties)
    checkProperty(property);
  checkCoverage();
  return std::move(faults);
}

std::vector<std::string> d2k::rubric::lintRubric(const Rubric &rubric,
                                                 const LintContext &context) {
  return Linter(rubric, context).run();
}
