// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The records of timing as JSON. What is read comes from a process that runs
// submitted code.

#include "d2k/Runner/Timing.h"

using namespace d2k;
using namespace d2k::runner;

/// No sample, kernel or name needs more; a reply beyond is an attempt to make
/// this process slow.
static constexpr size_t kMaxListLength = 100000;
static constexpr size_t kMaxNameLength = 8192;
/// A quarter of an hour.
static constexpr double kMaxNanoseconds = 1e12;

std::string_view runner::getSideName(Side side) {
  return side == Side::Baseline ? "baseline" : "submission";
}

std::string_view runner::getStateName(TimingState state) {
  switch (state) {
  case TimingState::Valid:
    return "valid";
  case TimingState::Invalid:
    return "invalid";
  case TimingState::Unstable:
    return "unstable";
  case TimingState::Quarantined:
    break;
  }
  return "quarantined";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// A time or a clock rate.
static Result<double> asTime(json::Cursor cursor) {
  Result<double> value = cursor.asNumber();
  // The comparison is false for a value that is undefined, too.
  if (!value || (*value >= 0 && *value <= kMaxNanoseconds))
    return value;
  return cursor.fail("expected a number between 0 and 1e12, found " +
                     json::describe(cursor.getValue()));
}

static Result<double> readTime(json::Cursor cursor, std::string_view name) {
  Result<json::Cursor> member = cursor.get(name);
  if (!member)
    return forwardFailure(std::move(member));
  return asTime(*member);
}

static Result<std::vector<json::Cursor>> readList(json::Cursor cursor,
                                                  std::string_view name) {
  Result<json::Cursor> member = cursor.get(name);
  if (!member)
    return forwardFailure(std::move(member));
  Result<std::vector<json::Cursor>> list = member->asArray();
  if (list && list->size() > kMaxListLength)
    return member->fail("the list has " + std::to_string(list->size()) +
                        " elements; at most 100000 are allowed");
  return list;
}

static Result<std::string> readName(json::Cursor cursor,
                                    std::string_view name) {
  Result<std::string> text = cursor.getString(name);
  if (text && text->size() > kMaxNameLength)
    return cursor.at(name).fail("the name has " + std::to_string(text->size()) +
                                " bytes; at most 8192 are allowed");
  return text;
}

static Result<unsigned> asCount(json::Cursor cursor) {
  Result<int64_t> value = cursor.asInteger();
  if (!value)
    return forwardFailure(std::move(value));
  if (*value < 0 || *value > 1000000000)
    return cursor.fail("expected a count, found " + std::to_string(*value));
  return unsigned(*value);
}

static Result<std::vector<unsigned>> readCounts(json::Cursor cursor,
                                                std::string_view name) {
  Result<std::vector<json::Cursor>> list = readList(cursor, name);
  if (!list)
    return forwardFailure(std::move(list));
  std::vector<unsigned> counts;
  for (const json::Cursor &element : *list) {
    Result<unsigned> count = asCount(element);
    if (!count)
      return forwardFailure(std::move(count));
    counts.push_back(*count);
  }
  return counts;
}

static Result<unsigned> readCount(json::Cursor cursor, std::string_view name) {
  Result<json::Cursor> member = cursor.get(name);
  if (!member)
    return forwardFailure(std::move(member));
  return asCount(*member);
}

Result<SampleRequest> runner::sampleRequestFromJson(json::Cursor cursor) {
  Result<std::vector<unsigned>> sets = readCounts(cursor, "sets");
  if (!sets)
    return forwardFailure(std::move(sets));
  if (sets->empty())
    return cursor.at("sets").fail("a sample has at least one call");
  Result<bool> flush = cursor.getBoolean("flush");
  if (!flush)
    return forwardFailure(std::move(flush));
  SampleRequest request{std::move(*sets), *flush, std::nullopt};
  if (cursor.find("discard_set")) {
    Result<unsigned> discard = readCount(cursor, "discard_set");
    if (!discard)
      return forwardFailure(std::move(discard));
    request.discardSet = *discard;
  }
  return request;
}

Result<BatchRequest> runner::batchRequestFromJson(json::Cursor cursor) {
  BatchRequest request;
  Result<std::vector<unsigned>> sets = readCounts(cursor, "sets");
  if (!sets)
    return forwardFailure(std::move(sets));
  if (sets->empty())
    return cursor.at("sets").fail("a batch has at least one input set");
  request.sets = std::move(*sets);
  const std::pair<const char *, unsigned BatchRequest::*> counts[] = {
      {"rounds", &BatchRequest::rounds},
      {"calls_per_round", &BatchRequest::callsPerRound}};
  for (auto [name, member] : counts) {
    Result<unsigned> count = readCount(cursor, name);
    if (!count)
      return forwardFailure(std::move(count));
    request.*member = *count;
  }
  Result<double> spin = readTime(cursor, "spin_ns");
  if (!spin)
    return forwardFailure(std::move(spin));
  request.spinNs = uint64_t(*spin);
  const std::pair<const char *, bool BatchRequest::*> switches[] = {
      {"flush", &BatchRequest::flush}, {"call", &BatchRequest::call}};
  for (auto [name, member] : switches) {
    Result<bool> isOn = cursor.getBoolean(name);
    if (!isOn)
      return forwardFailure(std::move(isOn));
    request.*member = *isOn;
  }
  return request;
}

Result<BatchRecord> runner::batchRecordFromJson(json::Cursor cursor) {
  Result<double> span = readTime(cursor, "span_ns_per_call");
  if (!span)
    return forwardFailure(std::move(span));
  return BatchRecord{*span};
}

static Result<KernelUse> readKernel(json::Cursor cursor) {
  Result<std::string> name = readName(cursor, "name");
  if (!name)
    return forwardFailure(std::move(name));
  Result<std::string> module = readName(cursor, "module");
  if (!module)
    return forwardFailure(std::move(module));
  Result<unsigned> count = readCount(cursor, "count");
  if (!count)
    return forwardFailure(std::move(count));
  if (*count == 0)
    return cursor.at("count").fail("a kernel that ran has a count above 0");
  return KernelUse{std::move(*name), std::move(*module), *count};
}

Result<SampleRecord> runner::sampleRecordFromJson(json::Cursor cursor) {
  SampleRecord record;
  const std::pair<const char *, double SampleRecord::*> times[] = {
      {"span_ns", &SampleRecord::spanNs},
      {"event_ns", &SampleRecord::eventNs},
      {"host_ns", &SampleRecord::hostNs}};
  // A span of 0 is how a call without activity shows; it is judged later.
  for (auto [name, member] : times) {
    Result<double> time = readTime(cursor, name);
    if (!time)
      return forwardFailure(std::move(time));
    record.*member = *time;
  }
  Result<double> clock = readTime(cursor, "sm_clock_mhz");
  if (!clock)
    return forwardFailure(std::move(clock));
  record.smClockMHz = *clock;
  Result<int64_t> reasons = cursor.getInteger("throttle_reasons");
  if (!reasons)
    return forwardFailure(std::move(reasons));
  record.throttleReasons = uint64_t(*reasons);

  Result<std::vector<json::Cursor>> kernels = readList(cursor, "kernels");
  if (!kernels)
    return forwardFailure(std::move(kernels));
  for (const json::Cursor &element : *kernels) {
    Result<KernelUse> kernel = readKernel(element);
    if (!kernel)
      return forwardFailure(std::move(kernel));
    record.kernels.push_back(std::move(*kernel));
  }

  Result<std::vector<json::Cursor>> spans = readList(cursor, "rank_span_ns");
  if (!spans)
    return forwardFailure(std::move(spans));
  for (const json::Cursor &element : *spans) {
    Result<double> span = asTime(element);
    if (!span)
      return forwardFailure(std::move(span));
    record.rankSpanNs.push_back(*span);
  }

  Result<std::vector<json::Cursor>> problems = readList(cursor, "problems");
  if (!problems)
    return forwardFailure(std::move(problems));
  for (const json::Cursor &element : *problems) {
    Result<std::string> problem = element.asString();
    if (!problem)
      return forwardFailure(std::move(problem));
    if (problem->size() > kMaxNameLength)
      return element.fail("the sentence is longer than 8192 bytes");
    record.problems.push_back(std::move(*problem));
  }
  return record;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Array toArray(const std::vector<unsigned> &counts) {
  json::Array array;
  for (unsigned count : counts)
    array.emplace_back(int64_t(count));
  return array;
}

static json::Array toArray(const std::vector<KernelUse> &kernels) {
  json::Array array;
  for (const KernelUse &kernel : kernels)
    array.push_back(json::Object{{"name", kernel.name},
                                 {"module", kernel.module},
                                 {"count", int64_t(kernel.count)}});
  return array;
}

json::Value runner::toJson(const SampleRequest &request) {
  json::Object object{{"sets", toArray(request.sets)},
                      {"flush", request.flush}};
  if (request.discardSet)
    object.set("discard_set", int64_t(*request.discardSet));
  return object;
}

json::Value runner::toJson(const SampleRecord &record) {
  json::Array ranks, problems;
  for (double span : record.rankSpanNs)
    ranks.emplace_back(span);
  for (const std::string &problem : record.problems)
    problems.emplace_back(problem);
  return json::Object{{"span_ns", record.spanNs},
                      {"event_ns", record.eventNs},
                      {"host_ns", record.hostNs},
                      {"sm_clock_mhz", record.smClockMHz},
                      {"throttle_reasons", int64_t(record.throttleReasons)},
                      {"kernels", toArray(record.kernels)},
                      {"rank_span_ns", std::move(ranks)},
                      {"problems", std::move(problems)}};
}

json::Value runner::toJson(const BatchRequest &request) {
  return json::Object{{"rounds", int64_t(request.rounds)},
                      {"calls_per_round", int64_t(request.callsPerRound)},
                      {"sets", toArray(request.sets)},
                      {"spin_ns", int64_t(request.spinNs)},
                      {"flush", request.flush},
                      {"call", request.call}};
}

json::Value runner::toJson(const BatchRecord &record) {
  return json::Object{{"span_ns_per_call", record.spanNsPerCall}};
}

static json::Value toValue(const TimeEstimate &estimate) {
  if (estimate.median <= 0)
    return nullptr;
  return json::Object{{"median_ns", estimate.median},
                      {"interval_ns", json::Array{estimate.interval.low,
                                                  estimate.interval.high}}};
}

json::Value runner::toJson(const WorkloadTiming &timing) {
  const metrics::Comparison &comparison = timing.comparison;
  json::Object result{
      {"state", std::string(getStateName(timing.state))},
      {"reason", timing.reason},
      {"verdict", std::string(metrics::getVerdictName(comparison.verdict))},
      {"speedup", comparison.speedup},
      {"speedup_interval",
       json::Array{comparison.interval.low, comparison.interval.high}},
      {"block_length", int64_t(comparison.blockLength)},
      {"lag_one_correlation", comparison.lagOneCorrelation},
      {"cold", toValue(timing.cold)},
      {"warm", toValue(timing.warm)},
      {"baseline_cold", toValue(timing.baselineCold)},
      {"baseline_warm", toValue(timing.baselineWarm)},
      {"calls_per_sample", int64_t(timing.callsPerSample)},
      {"sm_clock_mhz", timing.smClockMHz},
      {"baseline_sm_clock_mhz", timing.baselineSmClockMHz},
      {"throttled", timing.throttled},
      {"outside_ns", timing.outsideNs},
      {"inside_ns", timing.insideNs},
      {"gpu_seconds", timing.gpuSeconds},
      {"kernels", toArray(timing.kernels)}};
  json::Object reasons;
  for (const auto &[name, part] : timing.throttleReasons)
    reasons.set(name, part);
  result.append("throttle_reasons", std::move(reasons));
  if (timing.floor)
    result.append("floor",
                  json::Object{{"ns", timing.floor->nanoseconds},
                               {"limit", std::string(metrics::getLimitName(
                                             timing.floor->limit))}});
  json::Array notes, blocks;
  for (const std::string &note : timing.notes)
    notes.emplace_back(note);
  for (const metrics::AbbaBlock &block : timing.blocks)
    blocks.push_back(json::Array{block.baselineFirst, block.candidateFirst,
                                 block.candidateSecond, block.baselineSecond});
  result.append("notes", std::move(notes));
  result.append("blocks_ns", std::move(blocks));
  return result;
}
