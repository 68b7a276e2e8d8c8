// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shape_dispatch: which kernel, or which instantiation of a template, is
// launched depends on the axes: the workloads differ in the kernels that make
// their results.

#include "Engine/HostDetector.h"
#include "Engine/ResultUse.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

namespace {
/// The kernels that each workload launches.
struct Choices {
  std::set<std::set<std::string>> sets;
  /// Where each kernel is launched.
  std::map<std::string, SourceLocation> places;

  void add(const std::vector<const Event *> &launches) {
    std::set<std::string> kernels;
    for (const Event *event : launches) {
      kernels.insert(event->kernel);
      places.try_emplace(event->kernel, event->where);
    }
    sets.insert(std::move(kernels));
  }

  /// Kernels that some workloads launch and others do not.
  std::set<std::string> getVariants() const {
    std::set<std::string> variants;
    for (const auto &[kernel, place] : places)
      if (llvm::any_of(sets, [&](const std::set<std::string> &kernels) {
            return !kernels.contains(kernel);
          }))
        variants.insert(kernel);
    return variants;
  }
};
} // namespace

/// Without workloads nothing says which shapes there are.
static void detectWithoutTask(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces())
    for (const Event *event : detector.getLaunches(trace))
      if (!event->certain)
        detector.addUndecided(
            trace, std::nullopt,
            "whether the launch at " + HostDetector::describe(event->where) +
                " runs depends on the call",
            "the task, whose workloads say which shapes there are",
            {event->where});
}

static void detect(HostDetector &detector) {
  const std::optional<HostTrace> &any = detector.getProgram().anyShape;
  if (detector.getTraces().empty())
    return;
  if (!any)
    return detectWithoutTask(detector);
  // What is launched, and of that what makes a part of the result: who launches
  // another kernel for nothing has not chosen.
  Choices all, proved;
  for (const HostTrace &trace : detector.getTraces()) {
    std::vector<ResultUse> uses = getResultUses(detector, trace);
    std::vector<const Event *> launches, used;
    for (const Event *event : detector.getLaunches(trace)) {
      const ResultUse &use = uses[size_t(event - trace.events.data())];
      if (use.used == Tristate::No)
        continue;
      if (!event->certain || event->kernel.empty())
        return detector.addUndecided(
            trace, std::nullopt,
            "which kernel the launch at " +
                HostDetector::describe(event->where) +
                " runs, or whether it runs, is not known",
            kLaunchList, {event->where});
      launches.push_back(event);
      if (use.used == Tristate::Yes)
        used.push_back(event);
    }
    all.add(launches);
    proved.add(used);
  }
  auto getPlaces = [](const Choices &choices) {
    std::vector<SourceLocation> where;
    for (const std::string &kernel : choices.getVariants())
      where.push_back(choices.places.at(kernel));
    return where;
  };
  if (proved.sets.size() > 1) {
    AttributeMap attributes;
    attributes["variants"] = int64_t(proved.getVariants().size());
    for (const HostTrace &trace : detector.getTraces())
      detector.addFact(trace, std::nullopt, attributes, getPlaces(proved));
    return;
  }
  if (all.sets.size() > 1) {
    std::vector<SourceLocation> where = getPlaces(all);
    return detector.addUndecided(
        detector.getTraces().front(), std::nullopt,
        "whether the result of the launch at " +
            HostDetector::describe(where.front()) + " is used is not known",
        "a kernel whose stores are known whole", where);
  }
  std::set<std::string> possible;
  std::vector<SourceLocation> where;
  for (const Event *event : detector.getLaunches(*any))
    if (!event->kernel.empty() && possible.insert(event->kernel).second)
      where.push_back(event->where);
  if (possible.size() > all.places.size())
    detector.addNearMiss(
        std::nullopt,
        "the host can launch " + std::to_string(possible.size()) +
            " kernels, but the results of all workloads are made "
            "by the same",
        where);
}

namespace d2k::properties {
Property makeShapeDispatch() {
  PropertyInfo info;
  info.id = "shape_dispatch";
  info.group = 'E';
  info.summary = "the host picks a kernel or instantiation by problem shape";
  info.attributes = {
      {"variants", AttrType::Integer, {}, "kernels to pick from"}};
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
