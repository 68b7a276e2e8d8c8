// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shape_dispatch: which kernel, or which instantiation of a template, is
// launched depends on the axes. Seen by a call whose axes are not known:
// kernels that are launched under a condition on an axis there, and of which
// each workload or shape takes some.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  const std::optional<HostTrace> &any = detector.getProgram().anyShape;
  if (!any || detector.getTraces().empty())
    return;
  // What some shape launches, and what is launched for every one.
  std::set<std::string> possible;
  std::vector<SourceLocation> where;
  for (const Event *event : detector.getLaunches(*any))
    if (!event->kernel.empty() && possible.insert(event->kernel).second)
      where.push_back(event->where);
  // Per workload, the kernels that run.
  std::set<std::set<std::string>> choices;
  for (const HostTrace &trace : detector.getTraces()) {
    std::set<std::string> launched;
    for (const Event *event : detector.getLaunches(trace)) {
      if (!event->certain || event->kernel.empty())
        return detector.addUndecided(
            trace, std::nullopt,
            "which kernel the launch at " +
                HostDetector::describe(event->where) +
                " runs, or whether it runs, is not known",
            "a launch list measured by a profile", {event->where});
      launched.insert(event->kernel);
    }
    choices.insert(std::move(launched));
  }
  // A choice is proved when some possible kernel is left out somewhere, and
  // the workloads, or the shapes beyond them, differ in what they launch.
  std::set<std::string> always = *choices.begin(), ever;
  for (const std::set<std::string> &choice : choices) {
    std::set<std::string> both;
    std::set_intersection(always.begin(), always.end(), choice.begin(),
                          choice.end(), std::inserter(both, both.end()));
    always = std::move(both);
    ever.insert(choice.begin(), choice.end());
  }
  if (choices.size() > 1) {
    AttributeMap attributes;
    attributes["variants"] = int64_t(ever.size() - always.size());
    for (const HostTrace &trace : detector.getTraces())
      detector.addFact(trace, std::nullopt, attributes, where);
    return;
  }
  if (possible.size() > ever.size())
    detector.addNearMiss(std::nullopt,
                         "the host can launch " +
                             std::to_string(possible.size()) +
                             " kernels, but every workload takes the same",
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
