// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicates over facts. All three-valued logic of scoring is in this file.

#include "d2k/Rubric/Evaluate.h"

#include <algorithm>
#include <cassert>

using namespace d2k;
using namespace d2k::rubric;

//===----------------------------------------------------------------------===//
// Kernels on the path
//===----------------------------------------------------------------------===//

std::vector<PathKernel> d2k::rubric::getPath(const Analysis &analysis,
                                             std::string_view workload) {
  std::vector<PathKernel> path;
  for (size_t i = 0; i < analysis.kernels.size(); ++i) {
    const KernelFacts &kernel = analysis.kernels[i];
    Tristate reachable = kernel.reachable;
    auto special = kernel.reachableUnder.find(std::string(workload));
    if (special != kernel.reachableUnder.end())
      reachable = special->second;
    // An unnamed workload may be one in which the answer differs.
    else if (workload.empty() && !kernel.reachableUnder.empty())
      reachable = Tristate::Unknown;
    if (reachable == Tristate::No)
      continue;
    path.push_back({i, reachable == Tristate::Yes || !analysis.hostAnalysed});
  }
  return path;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static std::optional<double> getNumber(const AttrValue &value) {
  if (const int64_t *integer = std::get_if<int64_t>(&value))
    return double(*integer);
  if (const double *real = std::get_if<double>(&value))
    return *real;
  return std::nullopt;
}

static bool isEqual(const AttrValue &a, const AttrValue &b) {
  std::optional<double> x = getNumber(a), y = getNumber(b);
  return x && y ? *x == *y : a == b;
}

static bool holds(const Comparison &comparison, const AttrValue &value) {
  const AttrValue &bound = comparison.values.front();
  std::optional<double> x = getNumber(value), y = getNumber(bound);
  switch (comparison.op) {
  case CompareOp::Eq:
    return isEqual(value, bound);
  case CompareOp::Ne:
    return !isEqual(value, bound);
  case CompareOp::Lt:
    return x && y && *x < *y;
  case CompareOp::Le:
    return x && y && *x <= *y;
  case CompareOp::Gt:
    return x && y && *x > *y;
  case CompareOp::Ge:
    return x && y && *x >= *y;
  case CompareOp::In:
    return std::any_of(
        comparison.values.begin(), comparison.values.end(),
        [&](const AttrValue &one) { return isEqual(value, one); });
  }
  return false;
}

/// Whether the attributes fulfil the conditions; one that is not known leaves
/// it open unless another one fails.
static Tristate matchAttributes(const Fact &fact,
                                const std::vector<AttributeTest> &where) {
  Tristate result = Tristate::Yes;
  for (const AttributeTest &test : where) {
    auto found = fact.attributes.find(test.attribute);
    if (found == fact.attributes.end()) {
      result = Tristate::Unknown;
      continue;
    }
    for (const Comparison &comparison : test.comparisons)
      if (!holds(comparison, found->second))
        return Tristate::No;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string describeScope(Scope scope) {
  switch (scope) {
  case Scope::Main:
    return " in the main region";
  case Scope::Loop:
    return " in a loop";
  case Scope::Host:
    return " in the host code";
  default:
    return "";
  }
}

static std::string describeAttributes(const AttributeMap &attributes) {
  std::string text;
  for (const auto &[name, value] : attributes)
    text += (text.empty() ? " (" : ", ") + name + " " + d2k::toString(value);
  return text.empty() ? text : text + ")";
}

std::string
d2k::rubric::joinSentences(const std::vector<std::string> &sentences) {
  std::vector<std::string> merged;
  // Where the sentence of each prefix stands in `merged`.
  std::optional<size_t> places[2];
  for (const std::string &sentence : sentences) {
    bool appended = false;
    for (size_t i = 0; i < 2 && !appended; ++i) {
      std::string_view prefix =
          i == 0 ? kNoDetectorPrefix : kNeedsDetectorPrefix;
      if (sentence.compare(0, prefix.size(), prefix) != 0)
        continue;
      if (places[i]) {
        merged[*places[i]] += ", " + sentence.substr(prefix.size());
        appended = true;
      } else {
        places[i] = merged.size();
      }
    }
    if (!appended)
      merged.push_back(sentence);
  }
  std::string text;
  for (const std::string &sentence : merged)
    text += (text.empty() ? "" : "; ") + sentence;
  return text;
}

/// The conditions that \p fact does not fulfil. Those of its attributes come
/// alone: who asks for another kind need not hear where this one lies.
static std::string describeMismatch(const Fact &fact,
                                    const Predicate &predicate, Scope scope) {
  std::vector<AttributeTest> failing;
  for (const AttributeTest &test : predicate.where)
    if (matchAttributes(fact, {test}) == Tristate::No)
      failing.push_back(test);
  if (!failing.empty())
    return toString(failing);
  if (scope == Scope::Main && fact.inMain == Tristate::No)
    return "one in the main region";
  if (scope == Scope::Loop && !fact.loop)
    return "one in a loop";
  return "one under this workload";
}

/// Appends what is not there yet.
template <typename T>
static void appendNew(std::vector<T> &list, const std::vector<T> &more) {
  for (const T &item : more)
    if (std::find(list.begin(), list.end(), item) == list.end())
      list.push_back(item);
}

static void appendReasons(Outcome &to, const Outcome &from) {
  appendNew(to.because, from.because);
  appendNew(to.where, from.where);
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

Evaluator::Evaluator(const Analysis &analysis, const PropertyCatalog &catalog,
                     std::string workload)
    : analysis(analysis), catalog(catalog), workload(std::move(workload)),
      path(getPath(analysis, this->workload)) {}

Tristate
Evaluator::appliesHere(const std::vector<std::string> &workloads) const {
  if (workloads.empty())
    return Tristate::Yes;
  if (workload.empty())
    return Tristate::Unknown;
  bool listed = std::find(workloads.begin(), workloads.end(), workload) !=
                workloads.end();
  return listed ? Tristate::Yes : Tristate::No;
}

Tristate Evaluator::matchFact(const Fact &fact, const Predicate &predicate,
                              Scope scope) const {
  Tristate inScope = Tristate::Yes;
  if (scope == Scope::Main)
    inScope = fact.inMain;
  else if (scope == Scope::Loop)
    inScope = fact.loop ? Tristate::Yes : Tristate::No;
  return std::min({inScope, appliesHere(fact.workloads),
                   matchAttributes(fact, predicate.where)});
}

std::string Evaluator::describeTiers(const PropertyInfo &info) const {
  std::string text;
  for (Tier tier : info.decidingTiers.toVector()) {
    if (!text.empty())
      text += " or ";
    text += getTierName(tier);
  }
  return text;
}

/// Why the absence of a property is not proved although nothing was found.
static Outcome explainOpen(const PropertyInfo &info, const std::string &tiers) {
  Outcome outcome;
  outcome.credit = Interval::unknown();
  if (!info.isImplemented()) {
    outcome.because.push_back(std::string(kNoDetectorPrefix) + info.id);
    outcome.wouldDecide.push_back(std::string(kNeedsDetectorPrefix) + info.id);
    return outcome;
  }
  outcome.because.push_back("no " + info.id +
                            " was seen, but the code was not read whole at " +
                            tiers);
  outcome.wouldDecide.push_back("reading the code whole at " + tiers);
  return outcome;
}

Outcome Evaluator::evaluateFactIn(const Predicate &predicate,
                                  const PropertyInfo &info, Scope scope,
                                  const FactSet &facts,
                                  TierSet completeTiers) const {
  constexpr size_t kMostFailing = 3;
  size_t unmentioned = 0;
  Outcome proved, possible, failing;
  for (const Fact &fact : facts.facts) {
    // Other tiers corroborate and never establish.
    if (fact.property != info.id || !info.isDecidedAt(fact.tier))
      continue;
    std::string name = info.id + describeAttributes(fact.attributes);
    switch (matchFact(fact, predicate, scope)) {
    case Tristate::Yes:
      proved.credit = Interval::yes();
      appendNew(proved.because, {name + describeScope(scope)});
      appendNew(proved.where, fact.where);
      break;
    case Tristate::Unknown:
      possible.credit = Interval::unknown();
      appendNew(possible.because,
                {name + " may not be the one that is asked for: " +
                 toString(predicate)});
      appendNew(
          possible.wouldDecide,
          {"knowing whether " + name + " at " +
           (fact.where.empty() ? std::string("an unknown place")
                               : fact.where.front().file + ":" +
                                     std::to_string(fact.where.front().line)) +
           " fulfils: " + toString(predicate)});
      appendNew(possible.where, fact.where);
      break;
    case Tristate::No:
      // A kernel may have dozens that are not asked for.
      if (failing.because.size() < kMostFailing)
        appendNew(failing.because, {"found " + name + ", wanted " +
                                    describeMismatch(fact, predicate, scope)});
      else
        ++unmentioned;
      appendNew(failing.where, fact.where);
      break;
    }
  }
  if (proved.credit.lo == 1)
    return proved;

  if (unmentioned != 0)
    failing.because.push_back("and " + std::to_string(unmentioned) +
                              " more like it");

  // Why it is not there comes first from those who reached for it.
  Outcome outcome;
  for (const NearMiss &miss : facts.nearMisses)
    if (miss.property == info.id) {
      appendNew(outcome.because, {"near miss: " + miss.reason});
      appendNew(outcome.where, miss.where);
    }
  appendReasons(outcome, failing);

  bool undecided = false;
  for (const Undecided &entry : facts.undecided) {
    if (entry.property != info.id ||
        appliesHere(entry.workloads) == Tristate::No)
      continue;
    undecided = true;
    appendNew(possible.because, {entry.reason});
    appendNew(possible.wouldDecide, {entry.wouldDecide});
    appendNew(possible.where, entry.where);
  }
  if (possible.credit.hi == 1 || undecided) {
    appendReasons(possible, outcome);
    possible.credit = Interval::unknown();
    return possible;
  }
  if (!info.canRefute(completeTiers)) {
    Outcome open = explainOpen(info, describeTiers(info));
    // What was found speaks for itself.
    if (!outcome.because.empty()) {
      open.because = outcome.because;
      open.where = outcome.where;
    }
    return open;
  }
  if (outcome.because.empty())
    outcome.because.push_back("no " + info.id + describeScope(scope));
  outcome.credit = Interval::no();
  return outcome;
}

Outcome Evaluator::explainNoKernel(const PropertyInfo &info) const {
  Outcome outcome;
  if (!analysis.kernels.empty()) {
    outcome.because.push_back(workload.empty()
                                  ? "no kernel is launched"
                                  : "no kernel is launched under " + workload);
    outcome.credit = Interval::no();
    return outcome;
  }
  // Nothing at all was found: that is an answer only if somebody looked.
  TierSet read;
  for (const auto &[tier, status] : analysis.tiers)
    if (status.state == TierState::Ok)
      read.insert(tier);
  if (!info.canRefute(read))
    return explainOpen(info, describeTiers(info));
  outcome.because.push_back("the input has no kernel");
  outcome.credit = Interval::no();
  return outcome;
}

Outcome Evaluator::evaluateFactOnPath(const Predicate &predicate,
                                      const PropertyInfo &info) const {
  bool every = predicate.scope == Scope::Every;
  std::optional<Outcome> result;
  bool anyCertain = false;
  for (const PathKernel &kernel : path) {
    const KernelFacts &facts = analysis.kernels[kernel.index];
    Outcome one = evaluateFactIn(predicate, info, Scope::Kernel, facts,
                                 facts.completeTiers);
    one.kernel = kernel.index;
    // A kernel that may not be launched proves nothing for `any`, and refutes
    // nothing for `every`.
    if (!kernel.certain)
      (every ? one.credit.hi : one.credit.lo) = every ? 1 : 0;
    anyCertain |= kernel.certain;
    if (!result) {
      result = std::move(one);
      continue;
    }
    Interval credit = every ? meet(result->credit, one.credit)
                            : join(result->credit, one.credit);
    bool decides = every ? one.credit.lo < result->credit.lo ||
                               one.credit.hi < result->credit.hi
                         : one.credit.lo > result->credit.lo ||
                               one.credit.hi > result->credit.hi;
    if (decides)
      result = std::move(one);
    result->credit = credit;
  }
  if (!result)
    return explainNoKernel(info);
  if (!anyCertain && every)
    result->credit.lo = 0;
  if (result->credit.hi > result->credit.lo && result->wouldDecide.empty())
    result->wouldDecide.push_back("knowing whether " +
                                  analysis.kernels[*result->kernel].demangled +
                                  " is launched");
  return std::move(*result);
}

void Evaluator::mentionOffPath(const Predicate &predicate,
                               const PropertyInfo &info,
                               Outcome &outcome) const {
  for (size_t i = 0; i < analysis.kernels.size(); ++i) {
    const KernelFacts &kernel = analysis.kernels[i];
    bool onPath =
        std::any_of(path.begin(), path.end(), [&](const PathKernel &one) {
          return one.index == i && one.certain;
        });
    if (onPath || kernel.notLaunchedBecause.empty())
      continue;
    Scope scope =
        predicate.scope == Scope::Main || predicate.scope == Scope::Loop
            ? predicate.scope
            : Scope::Kernel;
    for (const Fact &fact : kernel.facts)
      if (fact.property == info.id && info.isDecidedAt(fact.tier) &&
          matchFact(fact, predicate, scope) == Tristate::Yes) {
        appendNew(outcome.because,
                  {"near miss: " + kernel.demangled + " has it, but " +
                   kernel.notLaunchedBecause});
        appendNew(outcome.where, fact.where);
        break;
      }
  }
}

Outcome Evaluator::evaluateFact(const Predicate &predicate,
                                const PathKernel *kernel) const {
  const PropertyInfo *info = catalog.find(predicate.property);
  if (!info) {
    Outcome outcome;
    outcome.credit = Interval::unknown();
    outcome.because.push_back("unknown property " + predicate.property);
    outcome.wouldDecide.push_back("a rubric that names a known property");
    return outcome;
  }
  if (info->subject == Subject::Host) {
    TierSet complete;
    if (analysis.hostAnalysed &&
        analysis.getTierState(Tier::Source) == TierState::Ok)
      complete.insert(Tier::Source);
    return evaluateFactIn(predicate, *info, Scope::Host, analysis.host,
                          complete);
  }
  if (predicate.scope == Scope::Any || predicate.scope == Scope::Every)
    return evaluateFactOnPath(predicate, *info);
  if (!kernel)
    return explainNoKernel(*info);
  const KernelFacts &facts = analysis.kernels[kernel->index];
  Scope scope =
      predicate.scope == Scope::Default ? Scope::Kernel : predicate.scope;
  Outcome outcome =
      evaluateFactIn(predicate, *info, scope, facts, facts.completeTiers);
  outcome.kernel = kernel->index;
  if (outcome.credit.lo < 1)
    mentionOffPath(predicate, *info, outcome);
  return outcome;
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

Outcome Evaluator::evaluateList(const Predicate &predicate,
                                const PathKernel *kernel) const {
  bool isAll = predicate.kind == Predicate::Kind::All;
  std::vector<Outcome> outcomes;
  Interval credit = isAll ? Interval::yes() : Interval::no();
  for (const Predicate &operand : predicate.operands) {
    outcomes.push_back(evaluate(operand, kernel));
    credit = isAll ? meet(credit, outcomes.back().credit)
                   : join(credit, outcomes.back().credit);
  }
  // The reasons are those of the operands that decide: all of a proved `all`,
  // the first proved one of an `any`, and whoever keeps the rest down or open.
  Outcome result;
  result.credit = credit;
  for (const Outcome &outcome : outcomes) {
    bool decides = outcome.credit == credit;
    if (!decides)
      continue;
    appendReasons(result, outcome);
    if (outcome.credit.hi > outcome.credit.lo)
      appendNew(result.wouldDecide, outcome.wouldDecide);
    result.kernel = outcome.kernel ? outcome.kernel : result.kernel;
    if (!isAll && credit.lo == 1)
      break;
  }
  return result;
}

Outcome Evaluator::evaluate(const Predicate &predicate,
                            const PathKernel *kernel) const {
  switch (predicate.kind) {
  case Predicate::Kind::Fact:
    return evaluateFact(predicate, kernel);
  case Predicate::Kind::All:
  case Predicate::Kind::Any:
    return evaluateList(predicate, kernel);
  case Predicate::Kind::Not:
    break;
  }
  Outcome outcome = evaluate(predicate.operands.front(), kernel);
  bool present = outcome.credit.lo == 1;
  outcome.credit = negate(outcome.credit);
  if (present)
    for (std::string &reason : outcome.because)
      reason = "must not have " + reason;
  return outcome;
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

Outcome Evaluator::evaluateWithPartial(const Target &target,
                                       const PathKernel *kernel) const {
  assert(target.detect && "a target that is not applicable has no credit");
  Outcome full = evaluate(*target.detect, kernel);
  if (full.credit.lo == 1)
    return full;
  Interval credit = full.credit;
  const PartialCredit *best = nullptr;
  Outcome bestOutcome;
  for (const PartialCredit &partial : target.partial) {
    Outcome outcome = evaluate(partial.when, kernel);
    Interval scaled = scale(outcome.credit, partial.credit);
    // A tie keeps the first, which the rubric's author put there.
    if (scaled.lo > credit.lo) {
      best = &partial;
      bestOutcome = std::move(outcome);
    }
    credit = join(credit, scaled);
  }
  if (!best) {
    full.credit = credit;
    return full;
  }
  Outcome result;
  result.credit = credit;
  result.because.push_back(best->reason);
  appendReasons(result, bestOutcome);
  for (const std::string &reason : full.because)
    appendNew(result.because, {"for the rest: " + reason});
  if (credit.hi > credit.lo)
    result.wouldDecide = full.wouldDecide;
  result.kernel = bestOutcome.kernel;
  return result;
}

bool Evaluator::looksAtOneKernel(const Predicate &predicate) const {
  if (predicate.kind != Predicate::Kind::Fact)
    return std::any_of(
        predicate.operands.begin(), predicate.operands.end(),
        [&](const Predicate &operand) { return looksAtOneKernel(operand); });
  if (predicate.scope == Scope::Any || predicate.scope == Scope::Every ||
      predicate.scope == Scope::Host)
    return false;
  const PropertyInfo *info = catalog.find(predicate.property);
  return info && info->subject == Subject::Kernel;
}

Outcome Evaluator::evaluateTarget(const Target &target) const {
  bool byKernel = looksAtOneKernel(*target.detect) ||
                  std::any_of(target.partial.begin(), target.partial.end(),
                              [&](const PartialCredit &partial) {
                                return looksAtOneKernel(partial.when);
                              });
  if (!byKernel)
    return evaluateWithPartial(target, nullptr);
  if (path.empty()) {
    // Without a kernel every fact is absent and every `not` holds: decided
    // either way, it shows nothing.
    Outcome outcome = evaluateWithPartial(target, nullptr);
    bool isDecided = outcome.credit.lo == outcome.credit.hi;
    outcome.credit = {0, isDecided ? 0 : outcome.credit.hi};
    return outcome;
  }
  std::optional<Outcome> best;
  Interval credit = Interval::no();
  size_t bestFacts = 0;
  for (const PathKernel &kernel : path) {
    Outcome outcome = evaluateWithPartial(target, &kernel);
    if (!kernel.certain && outcome.credit.lo > 0) {
      outcome.credit.lo = 0;
      appendNew(outcome.wouldDecide,
                {"knowing whether " + analysis.kernels[kernel.index].demangled +
                 " is launched"});
    }
    credit = join(credit, outcome.credit);
    // Among equals the kernel with the most facts speaks: it is the one that
    // does the work, where the others clear a buffer.
    size_t facts = analysis.kernels[kernel.index].facts.size();
    auto rank = [](const Outcome &one, size_t count) {
      return std::tuple(one.credit.lo, one.credit.hi, count);
    };
    if (!best || rank(outcome, facts) > rank(*best, bestFacts)) {
      best = std::move(outcome);
      best->kernel = kernel.index;
      bestFacts = facts;
    }
  }
  best->credit = credit;
  return std::move(*best);
}
