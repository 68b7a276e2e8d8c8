// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limits of the self-test.

#include "d2k/Metrics/Statistics.h"
#include "d2k/Runner/SelfTest.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>

using namespace d2k;
using namespace d2k::runner;

__attribute__((format(printf, 1, 2))) static std::string
format(const char *pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  return text;
}

/// The member \p name, or null.
static const json::Value *find(const json::Value &object,
                               std::string_view name) {
  const json::Object *members = object.getAsObject();
  return members ? members->find(name) : nullptr;
}

/// The number at \p name, or an undefined one.
static double number(const json::Value &object, std::string_view name) {
  const json::Value *value = find(object, name);
  return value ? value->getAsNumber().value_or(std::nan("")) : std::nan("");
}

static std::string text(const json::Value &object, std::string_view name) {
  const json::Value *value = find(object, name);
  const std::string *string = value ? value->getAsString() : nullptr;
  return string ? *string : "?";
}

static const json::Array &list(const json::Value &object,
                               std::string_view name) {
  static const json::Array kEmpty;
  const json::Value *value = find(object, name);
  const json::Array *array = value ? value->getAsArray() : nullptr;
  return array ? *array : kEmpty;
}

unsigned SelfTestReport::countFailed() const {
  return unsigned(std::count_if(
      checks.begin(), checks.end(),
      [](const SelfTestCheck &check) { return check.passed == false; }));
}

json::Value runner::toJson(const SelfTestReport &report) {
  json::Array checks;
  for (const SelfTestCheck &check : report.checks)
    checks.push_back(json::Object{
        {"part", check.part},
        {"found", check.found},
        {"limit", check.limit},
        {"passed", check.passed ? json::Value(*check.passed) : nullptr}});
  return json::Object{{"schema", "d2k.selftest/1"},
                      {"checks", std::move(checks)},
                      {"figures", report.figures}};
}

std::vector<SelfTestCheck> runner::judgeEqual(const json::Value &figures) {
  unsigned pairs = 0, same = 0, holds = 0, beyond = 0;
  std::vector<SelfTestCheck> checks;
  for (const json::Value &program : list(figures, "programs")) {
    pairs += unsigned(number(program, "pairs"));
    same += unsigned(number(program, "same"));
    holds += unsigned(number(program, "interval_holds_1"));
    beyond += unsigned(number(program, "decided_beyond_2_percent"));
    checks.push_back(
        {"equal",
         format("%s: %.0f of %.0f same, %.0f faster, %.0f slower, %.0f "
                "ambiguous; median half-width %.2f%%, %.0f blocks",
                text(program, "program").c_str(), number(program, "same"),
                number(program, "pairs"), number(program, "faster"),
                number(program, "slower"), number(program, "ambiguous"),
                100 * number(program, "median_log_half_width"),
                number(program, "median_blocks")),
         "", std::nullopt});
  }
  if (pairs == 0)
    return {{"equal", "no pairs were compared", "some", false}};
  metrics::Interval sameBound = metrics::proportionInterval(same, pairs);
  metrics::Interval covered = metrics::proportionInterval(holds, pairs);
  checks.push_back({"equal",
                    format("%u of %u pairs same, lower bound %.1f%%", same,
                           pairs, 100 * sameBound.low),
                    "at least 90%", sameBound.low >= 0.9});
  checks.push_back({"equal",
                    format("%u of %u pairs faster or slower by more than 2%%",
                           beyond, pairs),
                    "none", beyond == 0});
  checks.push_back({"equal",
                    format("%u of %u intervals hold 1: %.1f%%, [%.1f%%, "
                           "%.1f%%]",
                           holds, pairs, 100.0 * holds / pairs,
                           100 * covered.low, 100 * covered.high),
                    "not surely below 95%", covered.high >= 0.95});
  return checks;
}

std::vector<SelfTestCheck> runner::judgeDifferent(const json::Value &figures) {
  std::vector<SelfTestCheck> checks;
  for (const json::Value &program : list(figures, "programs"))
    checks.push_back(
        {"different",
         format("%s on 3%% more bytes: speedup %.4f, same in %.0f of %.0f "
                "pairs",
                text(program, "program").c_str(),
                number(program, "median_speedup"), number(program, "same"),
                number(program, "pairs")),
         // Three per cent more bytes are three per cent more time only where
         // bytes are what takes the time.
         number(program, "median_speedup") < 0.98 ? "never" : "",
         number(program, "median_speedup") < 0.98
             ? std::optional<bool>(number(program, "same") == 0)
             : std::nullopt});
  if (checks.empty())
    return {{"different", "no pairs were compared", "some", false}};
  return checks;
}

std::vector<SelfTestCheck> runner::judgeDelays(const json::Value &figures) {
  std::vector<SelfTestCheck> checks;
  for (const json::Value &delay : list(figures, "delays")) {
    double injected = number(delay, "delay_ns");
    double found = number(delay, "found_ns");
    double allowed =
        std::max(0.02 * injected, 0.003 * number(delay, "time_ns"));
    checks.push_back(
        {"delays",
         format("%.1f us found as %.3f us in %.1f us", injected / 1000,
                found / 1000, number(delay, "time_ns") / 1000),
         format("within %.3f us", allowed / 1000),
         std::abs(found - injected) <= allowed});
  }
  if (checks.empty())
    return {{"delays", "no delays were measured", "some", false}};
  return checks;
}

std::vector<SelfTestCheck> runner::judgeFlush(const json::Value &figures) {
  std::vector<SelfTestCheck> checks;
  for (const json::Value &program : list(figures, "programs"))
    checks.push_back({"flush",
                      format("%s: %.2f us after reading, %.2f us after writing "
                             "the flush buffer (%+.1f%%)",
                             text(program, "program").c_str(),
                             number(program, "after_read_flush_ns") / 1000,
                             number(program, "after_write_flush_ns") / 1000,
                             100 * number(program, "bias")),
                      "", std::nullopt});
  return checks;
}

std::vector<SelfTestCheck> runner::judgeCounters(const json::Value &figures) {
  const json::Value *profile = find(figures, "profile");
  const json::Value *counters = profile ? find(*profile, "counters") : nullptr;
  if (!counters)
    return {{"counters",
             profile ? "none: " + text(*profile, "counters_unavailable")
                     : "no profile was made",
             "", std::nullopt}};
  double bytes = number(figures, "bytes");
  double read = number(*counters, "dram_read_bytes");
  return {{"counters",
           format("%.1f MB read from memory by a copy of %.1f MB (%+.1f%%), "
                  "%.1f MB written",
                  read / 1e6, bytes / 1e6, 100 * (read / bytes - 1),
                  number(*counters, "dram_write_bytes") / 1e6),
           "within 3%", std::abs(read / bytes - 1) <= 0.03}};
}

std::vector<SelfTestCheck> runner::judgePeaks(const json::Value &figures) {
  std::vector<SelfTestCheck> checks;
  for (auto [pattern, name] :
       {std::pair("memory read, GB/s: ", "read_gb_s"),
        std::pair("memory copy, read and write, GB/s: ", "copy_gb_s"),
        std::pair("dense bf16 products, TFLOP/s: ", "tensor_tflop_s"),
        std::pair("the same for 20 ms, TFLOP/s: ", "tensor_20_ms_tflop_s"),
        std::pair("an empty kernel, ns: ", "empty_kernel_ns"),
        std::pair("an empty kernel back to back, ns: ",
                  "empty_kernel_back_to_back_ns"),
        std::pair("an empty kernel by events, ns: ", "empty_kernel_event_ns"),
        std::pair("a launch on the host, ns: ", "launch_ns"),
        std::pair("a launch and waiting for it, us: ", "launch_and_wait_us"),
        std::pair("asking NVML, us: ", "nvml_clock_reasons_us"),
        std::pair("a sample, us: ", "sample_us")}) {
    // Products are measured on Hopper alone.
    double value = number(figures, name);
    checks.push_back(
        {"peaks",
         pattern + (std::isnan(value) ? "not measured" : format("%.1f", value)),
         "", std::nullopt});
  }
  return checks;
}

std::vector<SelfTestCheck> runner::judgeClocks(const json::Value &figures) {
  std::vector<SelfTestCheck> checks;
  for (const json::Value &entry : list(figures, "cases")) {
    double part = number(entry, "reported_part");
    bool isHonest = part == 1;
    std::string state = text(entry, "state");
    double hidden = (1 - part) * number(entry, "outside_ns");
    // What hides in the cost of a launch cannot be seen from outside.
    bool isVisible =
        isHonest || hidden * number(entry, "calls_per_sample") > 10000;
    std::optional<bool> passed;
    if (isVisible)
      passed = state == (isHonest ? "valid" : "invalid");
    checks.push_back(
        {"clocks",
         format("%s, %s times: %s (D %.2f us, A %.2f us)",
                text(entry, "program").c_str(), isHonest ? "honest" : "halved",
                state.c_str(), number(entry, "outside_ns") / 1000,
                number(entry, "inside_ns") / 1000),
         !isVisible ? ""
         : isHonest ? "valid"
                    : "invalid",
         passed});
  }
  if (checks.empty())
    return {{"clocks", "no clocks were compared", "some", false}};
  return checks;
}

std::vector<SelfTestCheck>
runner::judgeMedians(const std::vector<json::Value> &all) {
  std::map<std::string, std::vector<double>> medians;
  for (const json::Value &figures : all) {
    const json::Value *values = find(figures, "median_ns");
    if (!values || !values->getAsObject())
      continue;
    for (const json::Member &member : *values->getAsObject())
      if (std::optional<double> value = member.value.getAsNumber())
        medians[member.name].push_back(*value);
  }
  std::vector<SelfTestCheck> checks;
  for (const auto &[name, values] : medians) {
    double middle = metrics::median(values);
    auto [least, most] = std::minmax_element(values.begin(), values.end());
    double allowed = std::max(0.005 * middle, 64.0);
    double spread = std::max(*most - middle, middle - *least);
    checks.push_back({"medians",
                      format("%s: %zu processes within %.0f ns (%.2f%%) of "
                             "%.2f us",
                             name.c_str(), values.size(), spread,
                             100 * spread / middle, middle / 1000),
                      format("within %.0f ns", allowed), spread <= allowed});
  }
  if (checks.empty())
    return {{"medians", "no process gave medians", "some", false}};
  return checks;
}

/// The fields of a line of CSV.
static std::vector<std::string> splitCsv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool isQuoted = false;
  for (char character : line) {
    if (character == '"')
      isQuoted = !isQuoted;
    else if (character == ',' && !isQuoted)
      fields.emplace_back();
    else
      fields.back() += character;
  }
  return fields;
}

/// The values of \p metric for the copies in the CSV of ncu, whose rows have
/// "Kernel Name", "Metric Name" and "Metric Value", in the order of the runs.
static std::vector<double> readNcu(const std::string &csv,
                                   std::string_view metric) {
  std::vector<double> values;
  size_t nameColumn = 0, metricColumn = 0, valueColumn = 0;
  size_t begin = 0;
  while (begin < csv.size()) {
    size_t end = std::min(csv.find('\n', begin), csv.size());
    std::vector<std::string> fields =
        splitCsv(std::string_view(csv).substr(begin, end - begin));
    begin = end + 1;
    auto column = [&](const char *name) {
      return size_t(std::find(fields.begin(), fields.end(), name) -
                    fields.begin());
    };
    if (column("Metric Name") != fields.size()) {
      nameColumn = column("Kernel Name");
      metricColumn = column("Metric Name");
      valueColumn = column("Metric Value");
      continue;
    }
    if (valueColumn == 0 || fields.size() <= valueColumn ||
        fields[metricColumn] != metric ||
        fields[nameColumn].find("d2k_selftest_copy") == std::string::npos)
      continue;
    std::string digits = fields[valueColumn];
    std::erase(digits, ',');
    values.push_back(std::strtod(digits.c_str(), nullptr));
  }
  return values;
}

std::vector<SelfTestCheck> runner::judgeNcu(const std::string &csv,
                                            const json::Value &medians,
                                            const json::Value &counters) {
  // `plain` runs each program three times.
  static const char *const kPrograms[] = {"copy_256_kb", "copy_16_mb",
                                          "copy_512_mb"};
  constexpr size_t kRounds = 3;
  std::vector<double> nanoseconds = readNcu(csv, "gpu__time_duration.sum");
  if (nanoseconds.size() != std::size(kPrograms) * kRounds)
    return {{"ncu",
             format("ncu reported %zu kernels instead of %zu",
                    nanoseconds.size(), std::size(kPrograms) * kRounds),
             "", std::nullopt}};
  const json::Value *own = find(medians, "median_ns");
  std::vector<SelfTestCheck> checks;
  for (size_t i = 0; i != std::size(kPrograms); ++i) {
    double theirs =
        metrics::median(std::span(nanoseconds).subspan(i * kRounds, kRounds));
    double ours = own ? number(*own, kPrograms[i]) : std::nan("");
    double allowed = 1300 + 0.01 * theirs;
    checks.push_back({"ncu",
                      format("%s: %.2f us by ncu, clock A %.2f us",
                             kPrograms[i], theirs / 1000, ours / 1000),
                      format("within %.2f us", allowed / 1000),
                      std::abs(theirs - ours) <= allowed});
  }

  std::vector<double> read = readNcu(csv, "dram__bytes_read.sum");
  const json::Value *profile = find(counters, "profile");
  const json::Value *values = profile ? find(*profile, "counters") : nullptr;
  if (read.size() != nanoseconds.size() || !values)
    return checks;
  // Both are of the largest copy.
  double theirs = metrics::median(std::span(read).last(kRounds));
  double ours = number(*values, "dram_read_bytes");
  checks.push_back({"ncu",
                    format("%s: %.1f MB read from memory by ncu, %.1f MB by "
                           "our counters",
                           kPrograms[2], theirs / 1e6, ours / 1e6),
                    "within 3%", std::abs(ours / theirs - 1) <= 0.03});
  return checks;
}
