// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates predicates over the facts of an analysis, under one workload, to an
// interval of credit with the reasons for it.
//
// A fact predicate is
//   [1, 1]  when a fact matches: proved at a deciding tier, in scope, under
//           this workload, with attributes that fulfil `where`;
//   [0, 0]  when none can match and the property's absence is proved (see
//           d2k/Fact/Fact.h);
//   [0, 1]  otherwise, in particular when a fact has an attribute, a place or
//           a workload that is not known.

#ifndef D2K_RUBRIC_EVALUATE_H
#define D2K_RUBRIC_EVALUATE_H

#include "d2k/Fact/PropertyInfo.h"
#include "d2k/Rubric/Interval.h"
#include "d2k/Rubric/Rubric.h"

#include <string>
#include <vector>

namespace d2k::rubric {

/// Beginnings of sentences that end in a list of properties, so that several of
/// them read as one; see joinSentences.
inline constexpr std::string_view kNoDetectorPrefix =
    "this version has no detector for ";
inline constexpr std::string_view kNeedsDetectorPrefix =
    "a version that detects ";

/// The sentences in one text, separated by semicolons; those that begin with
/// one of the prefixes above become one with a list.
std::string joinSentences(const std::vector<std::string> &sentences);

/// An interval of credit and why.
struct Outcome {
  Interval credit;
  /// Sentences, the most telling first.
  std::vector<std::string> because;
  /// What would decide, when hi > lo.
  std::vector<std::string> wouldDecide;
  /// Places of the facts that prove it, or of near misses.
  std::vector<SourceLocation> where;
  /// Index in Analysis::kernels of the kernel that it speaks of, if any.
  std::optional<size_t> kernel;
};

/// A kernel on the path of a workload.
struct PathKernel {
  /// Index in Analysis::kernels.
  size_t index = 0;
  /// It is launched; otherwise it may be.
  bool certain = true;
};

/// The kernels on the path of \p workload (empty: an unnamed one). Kernels
/// that are known not to be launched are left out. Where reachability is not
/// known, a kernel is certain when no host code was followed, and possible
/// when it was.
std::vector<PathKernel> getPath(const Analysis &analysis,
                                std::string_view workload);

/// Evaluates predicates under one workload.
class Evaluator {
public:
  Evaluator(const Analysis &analysis, const PropertyCatalog &catalog,
            std::string workload);

  /// The best kernel's outcome of \p target's predicates, partial credit
  /// included: lo = max over certain kernels, hi = max over all of them. A call
  /// that launches no kernel gets no credit, also not by a `not`; predicates
  /// that look at no single kernel are evaluated once.
  Outcome evaluateTarget(const Target &target) const;

  /// The outcome of \p predicate for the kernel at hand; \p kernel is null
  /// when the path is empty.
  Outcome evaluate(const Predicate &predicate, const PathKernel *kernel) const;

  const std::vector<PathKernel> &getKernels() const { return path; }

private:
  Outcome evaluateList(const Predicate &predicate,
                       const PathKernel *kernel) const;
  Outcome evaluateFact(const Predicate &predicate,
                       const PathKernel *kernel) const;
  Outcome evaluateFactOnPath(const Predicate &predicate,
                             const PropertyInfo &info) const;
  Outcome evaluateFactIn(const Predicate &predicate, const PropertyInfo &info,
                         Scope scope, const FactSet &facts,
                         TierSet completeTiers) const;
  Outcome evaluateWithPartial(const Target &target,
                              const PathKernel *kernel) const;
  /// Adds kernels that have what is asked for and are not on the path.
  void mentionOffPath(const Predicate &predicate, const PropertyInfo &info,
                      Outcome &outcome) const;
  Outcome explainNoKernel(const PropertyInfo &info) const;
  bool looksAtOneKernel(const Predicate &predicate) const;
  Tristate matchFact(const Fact &fact, const Predicate &predicate,
                     Scope scope) const;
  Tristate appliesHere(const std::vector<std::string> &workloads) const;
  std::string describeTiers(const PropertyInfo &info) const;

  const Analysis &analysis;
  const PropertyCatalog &catalog;
  std::string workload;
  std::vector<PathKernel> path;
};

} // namespace d2k::rubric

#endif // D2K_RUBRIC_EVALUATE_H
