// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the options of the commands in which an agent works.

#include "AgentArguments.h"

#include "EvaluateArguments.h"

#include "d2k/Support/Architecture.h"

#include <charconv>
#include <cmath>

using namespace d2k;
using namespace d2k::run;
using namespace d2k::agent;

std::vector<Option> d2k::run::addModelOptions(std::vector<Option> own) {
  const Option common[] = {
      {"model", "PROVIDER:MODEL", "anthropic:..., openai:... or scripted:FILE"},
      {"base-url", "URL",
       "another server of the same kind (vLLM, llama.cpp, a gateway)"},
      {"max-output-tokens", "N", "longest response (default 32000)"},
      {"parameters", "JSON", "members added to each request"},
      {"attempts", "N", "requests for a response before giving up (default 8)"},
      {"retry-seconds", "N", "the first wait after a failure (default 1)"},
      {"idle-seconds", "N", "longest silence of the server (default 300)"}};
  own.insert(own.end(), std::begin(common), std::end(common));
  return own;
}

/// Reads each number that is given.
static Result<void>
readNumbers(const Arguments &arguments,
            const std::vector<std::pair<const char *, double *>> &numbers) {
  for (const auto &[name, number] : numbers) {
    Result<std::optional<double>> value = arguments.getNumber(name, 0);
    if (!value)
      return forwardFailure(std::move(value));
    *number = value->value_or(*number);
  }
  return {};
}

Result<void> d2k::run::readCount(const Arguments &arguments,
                                 std::string_view name, int64_t least,
                                 int64_t &count) {
  // As many as fit into every type that counts them.
  constexpr double kMost = 1e9;
  Result<std::optional<double>> value =
      arguments.getNumber(name, double(least));
  if (!value)
    return forwardFailure(std::move(value));
  if (!*value)
    return {};
  if (**value > kMost || **value != std::floor(**value))
    return fail(FailureKind::Usage, "--" + std::string(name) +
                                        ": expected a whole number of at "
                                        "most 1000000000, got \"" +
                                        *arguments.get(name) + "\"");
  count = int64_t(**value);
  return {};
}

/// The same for a smaller type.
static Result<void> readCount(const Arguments &arguments, std::string_view name,
                              unsigned &count) {
  int64_t number = count;
  Result<void> done = d2k::run::readCount(arguments, name, 1, number);
  count = unsigned(number);
  return done;
}

Result<ModelOptions> d2k::run::readModelOptions(const Arguments &arguments) {
  Result<ModelOptions> options =
      ModelOptions::parse(arguments.get("model").value_or(""));
  if (!options)
    return options;
  options->baseUrl = arguments.get("base-url").value_or("");
  for (Result<void> done :
       {readCount(arguments, "max-output-tokens", 1, options->maxOutputTokens),
        ::readCount(arguments, "attempts", options->attempts),
        readNumbers(arguments, {{"retry-seconds", &options->retrySeconds},
                                {"idle-seconds", &options->idleSeconds}})})
    if (!done)
      return forwardFailure(std::move(done));
  if (std::optional<std::string> text = arguments.get("parameters")) {
    Result<json::Value> value = json::parse(*text, "--parameters");
    if (!value || !value->getAsObject())
      return fail(FailureKind::Usage,
                  value ? "--parameters: expected an object, such as "
                          "{\"temperature\": 0}"
                        : value.error().message);
    options->parameters = *value->getAsObject();
  }
  return options;
}

std::vector<Option> d2k::run::addRunOptions(std::vector<Option> own) {
  const Option common[] = {
      {"out", "DIR", "where the run is kept"},
      {"guidance", "none|L1|L1+L2|all|placebo",
       "what the model is told of an expert's design (none)"},
      {"turns", "N", "responses of the model (default 350)"},
      {"max-tokens", "N", "end when so many were read and written"},
      {"max-seconds", "N", "end after so long"},
      {"max-cost", "DOLLARS", "end at that cost; needs --prices"},
      {"prices", "IN,OUT[,CACHED[,CACHE_WRITTEN]]",
       "dollars for a million tokens (default 0)"},
      {"context-tokens", "N", "what the model can take (default 200000)"},
      {"repeats", "N", "measurements of the selected submission (default 3)"},
      {"arch", "sm_90a", "compile for it (default: that of the device)"},
      {"quiet", "", "no progress"}};
  own.insert(own.end(), std::begin(common), std::end(common));
  return addEvaluateOptions(std::move(own));
}

static Result<Prices> parsePrices(const std::string &text) {
  std::vector<double> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    double number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || !(number >= 0) || (next != end && *next != ','))
      break;
    numbers.push_back(number);
    at = next == end ? end : next + 1;
  }
  if (at != end || numbers.size() < 2 || numbers.size() > 4)
    return fail(FailureKind::Usage, "--prices: expected two to four numbers "
                                    "like 3,15,0.3,3.75, got \"" +
                                        text + "\"");
  Prices prices;
  prices.input = numbers[0];
  prices.output = numbers[1];
  prices.cached = numbers.size() > 2 ? numbers[2] : numbers[0];
  prices.cacheWritten = numbers.size() > 3 ? numbers[3] : numbers[0];
  return prices;
}

Result<RunOptions> d2k::run::readRunOptions(const Arguments &arguments) {
  RunOptions options;
  std::optional<std::string> out = arguments.get("out");
  if (!out || out->empty())
    return fail(FailureKind::Usage, "--out is missing: where to keep the run");
  options.directory = *out;
  Result<runner::EvaluateOptions> evaluate =
      readEvaluateOptions(arguments, arguments.getPositional().front());
  if (!evaluate)
    return forwardFailure(std::move(evaluate));
  options.bench.evaluate = std::move(*evaluate);
  options.bench.arch = arguments.get("arch").value_or("");
  if (!options.bench.arch.empty() && !isArchitecture(options.bench.arch))
    return fail(FailureKind::Usage,
                describeWrongArchitecture(options.bench.arch));
  options.arm = arguments.get("guidance").value_or("none");
  int64_t tokens = 0;
  for (Result<void> done :
       {::readCount(arguments, "turns", options.budget.turns),
        ::readCount(arguments, "repeats", options.finalRepeats),
        readCount(arguments, "context-tokens", 1000, options.contextTokens),
        readCount(arguments, "max-tokens", 1, tokens)})
    if (!done)
      return forwardFailure(std::move(done));
  Result<std::optional<double>> seconds = arguments.getNumber("max-seconds", 0);
  Result<std::optional<double>> cost = arguments.getNumber("max-cost", 0);
  for (Result<std::optional<double>> *number : {&seconds, &cost})
    if (!*number)
      return forwardFailure(std::move(*number));
  if (tokens > 0)
    options.budget.tokens = tokens;
  options.budget.seconds = *seconds;
  options.budget.cost = *cost;
  if (std::optional<std::string> text = arguments.get("prices")) {
    Result<Prices> prices = parsePrices(*text);
    if (!prices)
      return forwardFailure(std::move(prices));
    options.prices = *prices;
  } else if (*cost) {
    return fail(FailureKind::Usage, "--max-cost needs --prices");
  }
  return options;
}
