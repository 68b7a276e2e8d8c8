// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the parameters of acceptance rules.

#include "d2k/Task/Acceptance.h"

#include <algorithm>
#include <cmath>

using namespace d2k;
using namespace d2k::task;

static tl::unexpected<Failure> failRule(const Tolerance &tolerance,
                                        const std::string &message) {
  return fail(FailureKind::Input,
              "the acceptance rule " + tolerance.name + " " + message);
}

/// The number \p name of the parameters, in [low, high].
static Result<double> getNumber(const Tolerance &tolerance,
                                std::string_view name, double low,
                                double high) {
  const json::Object *object = tolerance.parameters.getAsObject();
  const json::Value *value = object ? object->find(name) : nullptr;
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  if (!number || *number < low || *number > high)
    return failRule(tolerance, "needs the number \"" + std::string(name) +
                                   "\" between " +
                                   json::dump(low, /*pretty=*/false) + " and " +
                                   json::dump(high, /*pretty=*/false));
  return *number;
}

static Result<AcceptanceSpec> readQuantisedGroups(const Task &task,
                                                  const Tolerance &tolerance) {
  AcceptanceSpec spec;
  spec.kind = AcceptanceKind::QuantisedGroups;
  Result<double> group = getNumber(tolerance, "group", 1, 1e6);
  if (!group)
    return forwardFailure(std::move(group));
  Result<double> share = getNumber(tolerance, "max_different", 0, 1);
  if (!share)
    return forwardFailure(std::move(share));
  spec.group = int64_t(*group);
  spec.maxDifferent = *share;
  const json::Object *object = tolerance.parameters.getAsObject();
  const json::Value *scales = object->find("scales");
  const std::string *name = scales ? scales->getAsString() : nullptr;
  auto found = std::find_if(
      task.outputs.begin(), task.outputs.end(),
      [&](const Tensor &output) { return name && output.name == *name; });
  if (found == task.outputs.end())
    return failRule(tolerance,
                    "needs \"scales\", the name of the output that has them");
  if (found->type != DType::Float32)
    return failRule(tolerance, "needs scales of type float32");
  spec.scales = size_t(found - task.outputs.begin());
  return spec;
}

Result<AcceptanceSpec> d2k::task::getAcceptance(const Task &task,
                                                const Tensor &output) {
  const Tolerance &tolerance = task.tolerance.at(output.name);
  if (tolerance.name == "quantised_groups")
    return readQuantisedGroups(task, tolerance);
  AcceptanceSpec spec;
  if (tolerance.name == "reference") {
    if (const json::Object *object = tolerance.parameters.getAsObject();
        object && !object->empty())
      return failRule(tolerance, "has no parameters");
    spec.kind = AcceptanceKind::Reference;
    return spec;
  }
  if (tolerance.name != "power_of_two_ceiling")
    return fail(FailureKind::Input,
                "there is no acceptance rule \"" + tolerance.name + "\"");
  Result<double> nearness = getNumber(tolerance, "nearness", 0, 0.25);
  if (!nearness)
    return forwardFailure(std::move(nearness));
  spec.nearness = *nearness;
  return spec;
}
