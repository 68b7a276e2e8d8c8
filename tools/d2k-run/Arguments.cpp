// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the arguments of a subcommand.

#include "Arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace d2k;
using namespace d2k::run;

static tl::unexpected<Failure> failUsage(std::string message) {
  return fail(FailureKind::Usage, std::move(message));
}

Result<Arguments> Arguments::parse(const std::vector<std::string> &arguments,
                                   const std::vector<Option> &options) {
  Arguments parsed;
  bool ended = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (ended || argument.size() < 2 || argument.compare(0, 2, "--") != 0) {
      if (!ended && argument.size() > 1 && argument[0] == '-')
        return failUsage("unknown option " + argument + "; see --help");
      parsed.positional.push_back(argument);
      continue;
    }
    if (argument == "--") {
      ended = true;
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(
        2, equals == std::string::npos ? std::string::npos : equals - 2);
    auto option =
        std::find_if(options.begin(), options.end(),
                     [&](const Option &known) { return known.name == name; });
    if (option == options.end())
      return failUsage("unknown option --" + name + "; see --help");
    std::string value;
    if (option->value.empty()) {
      if (equals != std::string::npos)
        return failUsage("--" + name + " takes no value");
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return failUsage("--" + name +
                       " needs a value: " + std::string(option->value));
    }
    parsed.values[name].push_back(std::move(value));
  }
  return parsed;
}

std::optional<std::string> Arguments::get(std::string_view name) const {
  auto found = values.find(name);
  if (found == values.end())
    return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::getAll(std::string_view name) const {
  auto found = values.find(name);
  return found == values.end() ? std::vector<std::string>() : found->second;
}

Result<std::optional<double>> Arguments::getNumber(std::string_view name,
                                                   double least) const {
  std::optional<std::string> text = get(name);
  if (!text)
    return std::optional<double>();
  char *end = nullptr;
  double number = std::strtod(text->c_str(), &end);
  if (text->empty() || *end || !std::isfinite(number) || number < least)
    return failUsage(
        "--" + std::string(name) + ": expected a number of at least " +
        std::to_string(int64_t(least)) + ", got \"" + *text + "\"");
  return std::optional<double>(number);
}
