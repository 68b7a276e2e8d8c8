// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resolves distributions: expressions become numbers and generators kinds.

#include "d2k/Task/Inputs.h"

#include <algorithm>
#include <cmath>

using namespace d2k;
using namespace d2k::task;

const std::vector<Generator> &d2k::task::getGenerators() {
  static const std::vector<Generator> generators = {
      {"zero_rows", DrawKind::ZeroRows, {"std", "every"}},
      {"row_outlier", DrawKind::RowOutlier, {"std", "value"}},
      {"scaled_rows", DrawKind::ScaledRows, {"std", "low", "high"}},
      {"outlier_columns", DrawKind::OutlierColumns, {"std", "every", "factor"}},
      {"powers_of_two", DrawKind::PowersOfTwo, {"low", "high"}},
  };
  return generators;
}

static tl::unexpected<Failure> failInput(std::string message) {
  return fail(FailureKind::Input, std::move(message));
}

/// Reads the parameters of \p generator into \p spec.
static Result<void> readParameters(const Generator &generator,
                                   const Distribution &distribution,
                                   DrawSpec &spec) {
  std::string name(generator.name);
  const json::Object *given = distribution.parameters.getAsObject();
  static const json::Object kNone;
  if (!given)
    given = &kNone;
  for (const json::Member &member : *given)
    if (std::find(generator.parameters.begin(), generator.parameters.end(),
                  member.name) == generator.parameters.end())
      return failInput("the generator " + name + " has no parameter \"" +
                       member.name + "\"");
  for (std::string_view parameter : generator.parameters) {
    const json::Value *value = given->find(parameter);
    std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
    if (!number)
      return failInput("the generator " + name + " needs the number \"" +
                       std::string(parameter) + "\"");
    bool isWhole = *number == std::floor(*number);
    if (parameter == "std")
      spec.scale = *number;
    else if (parameter == "value" || parameter == "factor")
      spec.high = *number;
    else if (!isWhole)
      return failInput("\"" + std::string(parameter) + "\" of " + name +
                       " is no whole number");
    else if (parameter == "every")
      spec.every = int64_t(*number);
    else if (parameter == "low")
      spec.low = *number;
    else
      spec.high = *number;
  }
  if (spec.scale <= 0)
    return failInput("\"std\" of " + name + " is not above 0");
  if (spec.every < 1)
    return failInput("\"every\" of " + name + " is below 1");
  if ((spec.kind == DrawKind::ScaledRows ||
       spec.kind == DrawKind::PowersOfTwo) &&
      (spec.low > spec.high || spec.low < -1000 || spec.high > 1000))
    return failInput("\"low\" and \"high\" of " + name +
                     " are no rising range of exponents");
  return {};
}

Result<DrawSpec> d2k::task::getDrawSpec(const Task &task, const Tensor &input,
                                        const Distribution &distribution,
                                        const AxisValues &axes) {
  DrawSpec spec;
  spec.type = input.type;
  Result<std::vector<int64_t>> shape = task.getShape(input, axes);
  if (!shape)
    return forwardFailure(std::move(shape));
  if (!shape->empty())
    spec.rowLength = std::max<int64_t>(shape->back(), 1);
  spec.mean = distribution.mean;
  switch (distribution.kind) {
  case DistributionKind::Normal:
    spec.kind = DrawKind::Normal;
    spec.scale = distribution.stddev;
    if (distribution.inverseSqrtOf) {
      Result<int64_t> divisor = distribution.inverseSqrtOf->evaluate(axes);
      if (!divisor)
        return forwardFailure(std::move(divisor));
      if (*divisor < 1)
        return failInput("`inverse_sqrt_of` is " + std::to_string(*divisor) +
                         ", which has no inverse root");
      spec.scale /= std::sqrt(double(*divisor));
    }
    return spec;
  case DistributionKind::Uniform:
  case DistributionKind::Integers:
    spec.kind = distribution.kind == DistributionKind::Uniform
                    ? DrawKind::Uniform
                    : DrawKind::Integers;
    spec.low = distribution.low;
    spec.high = distribution.high;
    if (spec.low > spec.high)
      return failInput("`low` is above `high`");
    return spec;
  case DistributionKind::Constant:
    spec.kind = DrawKind::Constant;
    spec.mean = distribution.value;
    return spec;
  case DistributionKind::Derived:
    return failInput("is derived: the reference makes it, nothing draws it");
  case DistributionKind::Generator:
    break;
  }
  for (const Generator &generator : getGenerators()) {
    if (generator.name != distribution.generator)
      continue;
    spec.kind = generator.kind;
    if (Result<void> read = readParameters(generator, distribution, spec);
        !read)
      return forwardFailure(std::move(read));
    return spec;
  }
  return failInput("there is no generator \"" + distribution.generator + "\"");
}
