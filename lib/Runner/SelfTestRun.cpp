// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the parts of the self-test.

#include "d2k/Runner/SelfTest.h"

#include "d2k/Support/Subprocess.h"

using namespace d2k;
using namespace d2k::runner;

static constexpr auto kPartTimeout = std::chrono::minutes(5);

/// The object that `d2k-worker selftest` prints.
/// Adds what it took to \p seconds, under the part's name.
static Result<json::Value> runPart(const SelfTestConfig &config,
                                   const std::vector<std::string> &arguments,
                                   json::Object &seconds) {
  Command command;
  command.argv = {config.worker, "selftest"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.timeout = kPartTimeout;
  Result<CommandResult> ended = runCommand(command);
  if (!ended)
    return forwardFailure(std::move(ended));
  const json::Value *before = seconds.find(arguments.front());
  seconds.set(arguments.front(),
              ended->seconds + (before ? *before->getAsNumber() : 0));
  if (!ended->succeeded())
    return fail(FailureKind::Environment,
                "the part '" + arguments.front() + "' of the self-test: " +
                    ended->describeEnd() + ": " + ended->error.substr(0, 2000));
  return json::parse(ended->output, "the part '" + arguments.front() + "'");
}

/// Durations by ncu beside \p medians, the figures of that part.
static void compareWithNcu(const SelfTestConfig &config,
                           const json::Value &medians, SelfTestReport &report) {
  if (findProgram("ncu").empty()) {
    report.checks.push_back({"ncu",
                             "not found: clock A is not compared with ncu", "",
                             std::nullopt});
    return;
  }
  Command command;
  command.argv = {"ncu",
                  "--csv",
                  "--cache-control",
                  "none",
                  "--clock-control",
                  "none",
                  "--print-units",
                  "base",
                  "--metrics",
                  "gpu__time_duration.sum,dram__bytes_read.sum",
                  config.worker,
                  "selftest",
                  "plain"};
  command.timeout = kPartTimeout;
  Result<CommandResult> ended = runCommand(command);
  if (!ended || !ended->succeeded() || medians.isNull()) {
    report.checks.push_back(
        {"ncu",
         "does not run here: " + (!ended ? ended.error().message
                                         : ended->describeEnd() + ": " +
                                               ended->output.substr(0, 1000)),
         "", std::nullopt});
    return;
  }
  const json::Value *counters = report.figures.find("counters");
  for (SelfTestCheck &check :
       judgeNcu(ended->output, medians, counters ? *counters : json::Value()))
    report.checks.push_back(std::move(check));
}

Result<SelfTestReport> runner::runGpuSelfTest(const SelfTestConfig &config) {
  auto say = [&](const std::string &sentence) {
    if (config.progress)
      config.progress(sentence);
  };
  SelfTestReport report;
  json::Object seconds;
  say("looking at the machine");
  Result<json::Value> machine = runPart(config, {"machine"}, seconds);
  if (!machine)
    return forwardFailure(std::move(machine));
  report.figures.append("machine", std::move(*machine));

  struct Part {
    std::vector<std::string> arguments;
    const char *progress;
    std::vector<SelfTestCheck> (*judge)(const json::Value &);
  };
  std::string pairs = std::to_string(config.pairs);
  // A difference is seen in fewer.
  std::string fewer = std::to_string(config.pairs / 4 + 1);
  const Part parts[] = {
      {{"peaks"}, "measuring peaks", judgePeaks},
      {{"flush"}, "comparing kinds of flush", judgeFlush},
      {{"counters"}, "reading counters", judgeCounters},
      {{"delays"}, "looking for injected delays", judgeDelays},
      {{"clocks"}, "comparing clocks", judgeClocks},
      {{"equal", pairs}, "comparing kernels with themselves", judgeEqual},
      {{"different", fewer}, "comparing different kernels", judgeDifferent}};
  for (const Part &part : parts) {
    say(part.progress);
    const std::string &name = part.arguments.front();
    Result<json::Value> figures = runPart(config, part.arguments, seconds);
    if (!figures) {
      report.checks.push_back({name, figures.error().message, "runs", false});
      continue;
    }
    std::vector<SelfTestCheck> checks = part.judge(*figures);
    report.checks.insert(report.checks.end(), checks.begin(), checks.end());
    report.figures.append(name, std::move(*figures));
  }

  say("comparing fresh processes");
  std::vector<json::Value> medians;
  json::Array all;
  for (unsigned i = 0; i != config.processes; ++i) {
    Result<json::Value> figures = runPart(config, {"medians"}, seconds);
    if (!figures) {
      report.checks.push_back(
          {"medians", figures.error().message, "runs", false});
      break;
    }
    all.push_back(*figures);
    medians.push_back(std::move(*figures));
  }
  for (SelfTestCheck &check : judgeMedians(medians))
    report.checks.push_back(std::move(check));
  report.figures.append("medians", std::move(all));

  say("comparing with ncu");
  compareWithNcu(config, medians.empty() ? json::Value() : medians.front(),
                 report);
  report.figures.append("seconds", std::move(seconds));
  return report;
}
