// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the self-test.

#include "SelfTest.h"

#include "TestBench.h"

#include "d2k/Metrics/Statistics.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>

using namespace d2k;
using namespace d2k::runner;
using Kernel = TestProgram::Kernel;

namespace {
struct NamedProgram {
  const char *name;
  TestProgram program;
};
} // namespace

/// About 2, 10 and 300 us on an H200.
static const NamedProgram kPrograms[] = {
    {"copy_256_kb", {Kernel::Copy, uint64_t(256) << 10}},
    {"copy_16_mb", {Kernel::Copy, uint64_t(16) << 20}},
    {"copy_512_mb", {Kernel::Copy, TestBench::kLargestBytes}},
};

/// Comparisons only: no clock D, no warm samples.
static TimingConfig makeComparisonConfig(const TestBench &bench,
                                         const TestProgram &program,
                                         uint64_t seed) {
  TimingConfig config;
  config.seed = seed;
  config.comparison.seed = seed;
  config.sets = bench.getSets(program);
  config.warmSamples = 0;
  config.batchSeconds = 0;
  return config;
}

static json::Array toArray(const std::vector<double> &values) {
  json::Array array;
  for (double value : values)
    array.emplace_back(value);
  return array;
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Short calls need most blocks for an interval of the same width, so that they
/// get fewer of the pairs.
static unsigned sharePairs(unsigned pairs, size_t program) {
  constexpr unsigned kParts[] = {3, 6, 6};
  static_assert(std::size(kParts) == std::size(kPrograms));
  return (pairs * kParts[program] + 4) / 5;
}

/// \p average comparisons, over the programs, of each program with itself on \p
/// growth times the bytes.
static Result<json::Value> comparePairs(TestBench &bench, unsigned average,
                                        double growth) {
  json::Array programs;
  for (const NamedProgram &named : kPrograms) {
    unsigned pairs = sharePairs(average, size_t(&named - kPrograms));
    TestProgram other = named.program;
    other.amount = uint64_t(double(other.amount) * growth) / 16 * 16;
    unsigned verdicts[4] = {}, holdsOne = 0, beyondTwoPercent = 0, invalid = 0;
    std::vector<double> speedups, halfWidths, blocks, clocks;
    auto start = std::chrono::steady_clock::now();
    double gpuSeconds = 0;
    for (unsigned pair = 0; pair != pairs; ++pair) {
      BenchSource source(bench, named.program, other);
      Result<WorkloadTiming> timing = measureWorkload(
          source, makeComparisonConfig(bench, named.program, pair + 1));
      if (!timing)
        return forwardFailure(std::move(timing));
      if (timing->state != TimingState::Valid)
        ++invalid;
      if (timing->blocks.empty())
        continue;
      const metrics::Comparison &comparison = timing->comparison;
      ++verdicts[unsigned(comparison.verdict)];
      holdsOne += comparison.interval.contains(1);
      bool isDecided =
          comparison.verdict == metrics::ComparisonVerdict::Faster ||
          comparison.verdict == metrics::ComparisonVerdict::Slower;
      beyondTwoPercent +=
          isDecided && std::abs(std::log(comparison.speedup)) > 0.02;
      speedups.push_back(comparison.speedup);
      halfWidths.push_back(comparison.logHalfWidth);
      blocks.push_back(comparison.blocks);
      clocks.push_back(timing->smClockMHz);
      gpuSeconds += timing->gpuSeconds;
    }
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    json::Object result{{"program", named.name},
                        {"pairs", int64_t(pairs)},
                        {"not_valid", int64_t(invalid)},
                        {"same", int64_t(verdicts[0])},
                        {"faster", int64_t(verdicts[1])},
                        {"slower", int64_t(verdicts[2])},
                        {"ambiguous", int64_t(verdicts[3])},
                        {"decided_beyond_2_percent", int64_t(beyondTwoPercent)},
                        {"interval_holds_1", int64_t(holdsOne)},
                        {"seconds", seconds},
                        {"gpu_seconds", gpuSeconds}};
    if (!speedups.empty()) {
      result.append("median_speedup", metrics::median(speedups));
      result.append("median_log_half_width", metrics::median(halfWidths));
      result.append("median_blocks", metrics::median(blocks));
      result.append("median_sm_clock_mhz", metrics::median(clocks));
      result.append("speedups", toArray(speedups));
    }
    programs.push_back(std::move(result));
  }
  return json::Value(
      json::Object{{"growth", growth}, {"programs", std::move(programs)}});
}

/// Waits of 20 us and of 20 us and a delay: the difference must be the delay.
static Result<json::Value> measureDelays(TestBench &bench) {
  constexpr uint64_t kBaseNs = 20000;
  json::Array delays;
  for (uint64_t delay : {500, 1000, 2000, 5000, 10000, 20000, 50000}) {
    TestProgram base{Kernel::Delay, kBaseNs};
    BenchSource source(bench, base, {Kernel::Delay, kBaseNs + delay});
    Result<WorkloadTiming> timing =
        measureWorkload(source, makeComparisonConfig(bench, base, delay));
    if (!timing)
      return forwardFailure(std::move(timing));
    std::vector<double> differences;
    for (const metrics::AbbaBlock &block : timing->blocks)
      differences.push_back((block.candidateFirst + block.candidateSecond -
                             block.baselineFirst - block.baselineSecond) /
                            2);
    if (differences.empty())
      continue;
    delays.push_back(
        json::Object{{"delay_ns", int64_t(delay)},
                     {"found_ns", metrics::trimmedMean(differences, 0.1)},
                     {"time_ns", timing->cold.median},
                     {"baseline_ns", timing->baselineCold.median}});
  }
  return json::Value(json::Object{{"delays", std::move(delays)}});
}

//===----------------------------------------------------------------------===//
// Flush
//===----------------------------------------------------------------------===//

/// The duration of one program after a flush of each kind, alternating.
static Result<json::Value> compareFlushes(TestBench &bench) {
  const NamedProgram programs[] = {
      {"read_64_mb", {Kernel::Read, uint64_t(64) << 20}},
      {"copy_16_mb", {Kernel::Copy, uint64_t(16) << 20}},
      {"copy_256_mb", {Kernel::Copy, uint64_t(256) << 20}}};
  Result<const Cupti *> cupti = Cupti::load();
  if (!cupti)
    return forwardFailure(std::move(cupti));
  Result<ActivityCollector *> collector = ActivityCollector::start(**cupti);
  if (!collector)
    return forwardFailure(std::move(collector));
  constexpr unsigned kRounds = 50;
  json::Array results;
  for (const NamedProgram &named : programs) {
    std::vector<double> afterRead, afterWrite;
    for (unsigned round = 0; round != 2 * kRounds; ++round) {
      bool writes = round % 2 == 1;
      Result<void> done = writes ? bench.writeFlush() : bench.readFlush();
      if (done)
        done = bench.getDriver().check(
            CUresult(bench.launch(named.program, round)), "launch a kernel");
      if (done)
        done = bench.synchronize();
      if (!done)
        return forwardFailure(std::move(done));
      Result<std::vector<Activity>> ran = (*collector)->take();
      if (!ran)
        return forwardFailure(std::move(ran));
      // The flush and the program; the first rounds warm up.
      if (ran->size() != 2 || round < 4)
        continue;
      (writes ? afterWrite : afterRead)
          .push_back(double(ran->back().end - ran->back().start));
    }
    if (afterRead.empty() || afterWrite.empty())
      return fail(FailureKind::Environment,
                  "CUPTI lost the activity records of all rounds");
    double read = metrics::median(afterRead);
    double write = metrics::median(afterWrite);
    results.push_back(json::Object{{"program", named.name},
                                   {"after_read_flush_ns", read},
                                   {"after_write_flush_ns", write},
                                   {"bias", write / read - 1}});
  }
  return json::Value(json::Object{{"programs", std::move(results)}});
}

//===----------------------------------------------------------------------===//
// Figures of the machine
//===----------------------------------------------------------------------===//

static Result<json::Value> describeMachine(TestBench &bench) {
  const CudaDriver &driver = bench.getDriver();
  char name[256] = {};
  int version = 0;
  driver.cuDeviceGetName(name, sizeof(name), bench.getDevice());
  driver.cuDriverGetVersion(&version);
  auto attribute = [&](CUdevice_attribute which) {
    return int64_t(bench.getAttribute(which));
  };
  json::Object result{
      {"device", std::string(name)},
      {"capability",
       std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
           "." +
           std::to_string(
               attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))},
      {"cuda_version", int64_t(version)},
      {"multiprocessors", attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)},
      {"l2_bytes", attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)},
      {"max_clock_khz", attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)}};
  Result<const Cupti *> cupti = Cupti::load();
  if (cupti) {
    uint32_t cuptiVersion = 0;
    (*cupti)->cuptiGetVersion(&cuptiVersion);
    result.append("cupti", (*cupti)->getPath());
    result.append("cupti_version", int64_t(cuptiVersion));
  }
  char busId[32] = {};
  driver.cuDeviceGetPCIBusId(busId, sizeof(busId), bench.getDevice());
  Result<NvmlDevice> nvml = NvmlDevice::open(busId);
  if (nvml) {
    if (Result<unsigned> clock = nvml->getMaxSmClock())
      result.append("max_sm_clock_mhz", int64_t(*clock));
    if (Result<unsigned> degrees = nvml->getTemperature())
      result.append("temperature_c", int64_t(*degrees));
    if (Result<double> watts = nvml->getPower())
      result.append("power_w", *watts);
    if (Result<uint64_t> reasons = nvml->getClockReasons())
      result.append("clock_reasons", int64_t(*reasons));
  } else {
    result.append("nvml_unavailable", nvml.error().message);
  }
  return json::Value(std::move(result));
}

/// Medians of cold samples; a process of its own gives others.
static Result<json::Value> measureMedians(TestBench &bench) {
  json::Object medians;
  for (const NamedProgram &named : kPrograms) {
    BenchSource source(bench, named.program, named.program);
    Result<WorkloadTiming> timing =
        measureWorkload(source, makeComparisonConfig(bench, named.program, 1));
    if (!timing)
      return forwardFailure(std::move(timing));
    medians.append(named.name, timing->cold.median);
  }
  return json::Value(json::Object{{"median_ns", std::move(medians)}});
}

static Result<json::Value> readCounters(TestBench &bench) {
  TestProgram program{Kernel::Copy, TestBench::kLargestBytes};
  bench.select(program);
  Result<json::Value> profile = bench.getSampler().profile(0);
  if (!profile)
    return profile;
  return json::Value(json::Object{{"bytes", int64_t(program.amount)},
                                  {"profile", std::move(*profile)}});
}

static Result<json::Value> measurePeaks(TestBench &bench) {
  json::Object result;
  auto timeOf = [&](const TestProgram &program,
                    unsigned calls) -> Result<SampleRecord> {
    bench.select(program);
    SampleRequest request;
    for (unsigned i = 0; i != calls; ++i)
      request.sets.push_back(i % bench.getSets(program));
    request.discardSet = bench.getSets(program) - 1;
    // The best of several: a peak is asked for.
    Result<SampleRecord> best = bench.getSampler().sample(request);
    for (unsigned i = 0; best && i != 20; ++i) {
      Result<SampleRecord> next = bench.getSampler().sample(request);
      if (!next || next->spanNs < best->spanNs)
        best = std::move(next);
    }
    return best;
  };
  double bytes = double(TestBench::kLargestBytes);
  Result<SampleRecord> read =
      timeOf({Kernel::Read, TestBench::kLargestBytes}, 1);
  if (!read)
    return forwardFailure(std::move(read));
  Result<SampleRecord> copy =
      timeOf({Kernel::Copy, TestBench::kLargestBytes}, 1);
  if (!copy)
    return forwardFailure(std::move(copy));
  result.append("read_gb_s", bytes / read->spanNs);
  result.append("copy_gb_s", 2 * bytes / copy->spanNs);
  result.append("sm_clock_mhz", copy->smClockMHz);

  // About a millisecond of products, and twenty, in which power may limit.
  if (bench.hasTensorKernel()) {
    constexpr uint64_t kRounds = 2000;
    for (auto [name, rounds] : {std::pair("tensor", kRounds),
                                std::pair("tensor_20_ms", 20 * kRounds)}) {
      Result<SampleRecord> products = timeOf({Kernel::Tensor, rounds}, 1);
      if (!products)
        return forwardFailure(std::move(products));
      double flops =
          kFlopsPerRound * double(rounds) *
          bench.getAttribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
      result.append(std::string(name) + "_tflop_s",
                    flops / products->spanNs / 1000);
      result.append(std::string(name) + "_sm_clock_mhz", products->smClockMHz);
    }
  }

  // Empty kernels, one by one and back to back.
  TestProgram empty{Kernel::Copy, 0};
  empty.amount = 16;
  Result<SampleRecord> one = timeOf(empty, 1);
  Result<SampleRecord> many = timeOf(empty, 16);
  if (!one || !many)
    return forwardFailure(std::move(one ? many : one));
  result.append("empty_kernel_ns", one->spanNs);
  result.append("empty_kernel_back_to_back_ns", many->spanNs);
  result.append("empty_kernel_event_ns", one->eventNs);

  // What a sample costs beside its calls.
  bench.select(kPrograms[1].program);
  constexpr unsigned kSamples = 200;
  double busyNs = 0;
  auto start = std::chrono::steady_clock::now();
  for (unsigned i = 0; i != kSamples; ++i) {
    Result<SampleRecord> sample = bench.getSampler().sample({{i % 2}, true, 2});
    if (!sample)
      return forwardFailure(std::move(sample));
    busyNs += 2 * sample->spanNs;
  }
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  // And where that goes.
  auto timeEach = [](unsigned rounds, const std::function<void()> &work) {
    auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i != rounds; ++i)
      work();
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now() - start)
               .count() /
           rounds;
  };
  char busId[32] = {};
  bench.getDriver().cuDeviceGetPCIBusId(busId, sizeof(busId),
                                        bench.getDevice());
  if (Result<NvmlDevice> nvml = NvmlDevice::open(busId))
    result.append("nvml_clock_reasons_us", timeEach(20, [&] {
                    Result<uint64_t> reasons = nvml->getClockReasons();
                    (void)reasons;
                  }));
  result.append("launch_and_wait_us", timeEach(100, [&] {
                  bench.launch(empty, 0);
                  Result<void> done = bench.synchronize();
                  (void)done;
                }));
  result.append("sample_us", seconds * 1e6 / kSamples);
  result.append("sample_calls_us", busyNs / 1000 / kSamples);
  start = std::chrono::steady_clock::now();
  constexpr unsigned kLaunches = 5000;
  for (unsigned i = 0; i != kLaunches; ++i)
    bench.launch(empty, 0);
  double enqueued =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (Result<void> done = bench.synchronize(); !done)
    return forwardFailure(std::move(done));
  result.append("launch_ns", enqueued * 1e9 / kLaunches);
  return json::Value(std::move(result));
}

/// The whole measurement of honest and of cheated times.
static Result<json::Value> checkClocks(TestBench &bench) {
  json::Array cases;
  for (const NamedProgram &named : kPrograms) {
    for (double lie : {1.0, 0.5}) {
      BenchSource source(bench, named.program, named.program);
      source.lie = lie;
      TimingConfig config;
      config.sets = bench.getSets(named.program);
      config.work.emplace();
      config.work->readBytes = double(named.program.amount);
      config.work->writtenBytes = double(named.program.amount);
      config.peaks = metrics::findDevicePeaks(bench.getArch());
      config.machine = {
          unsigned(
              bench.getAttribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)),
          bench.getAttribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000.0,
          double(bench.getAttribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE))};
      auto start = std::chrono::steady_clock::now();
      Result<WorkloadTiming> timing = measureWorkload(source, config);
      if (!timing)
        return forwardFailure(std::move(timing));
      double seconds = std::chrono::duration<double>(
                           std::chrono::steady_clock::now() - start)
                           .count();
      json::Value record = toJson(*timing);
      record.getAsObject()->set("program", named.name);
      record.getAsObject()->set("reported_part", lie);
      record.getAsObject()->set("seconds", seconds);
      cases.push_back(std::move(record));
    }
  }
  return json::Value(json::Object{{"cases", std::move(cases)}});
}

/// For ncu: cold, after a warm-up, without CUPTI of our own.
static Result<json::Value> runPlain(TestBench &bench) {
  for (const NamedProgram &named : kPrograms) {
    for (unsigned round = 0; round != 3; ++round) {
      Result<void> done = bench.readFlush();
      if (done)
        done = bench.getDriver().check(
            CUresult(bench.launch(named.program, round)), "launch a kernel");
      if (done)
        done = bench.synchronize();
      if (!done)
        return forwardFailure(std::move(done));
    }
  }
  return json::Value(json::Object{});
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static Result<unsigned> parsePairs(const std::vector<std::string> &arguments) {
  unsigned pairs = 0;
  if (arguments.size() == 2) {
    const std::string &text = arguments[1];
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), pairs);
    if (error == std::errc() && end == text.data() + text.size() && pairs > 0)
      return pairs;
  }
  return fail(FailureKind::Usage,
              "the part '" + arguments[0] +
                  "' of the self-test needs a number of pairs above 0");
}

Result<json::Value>
runner::runSelfTest(const std::vector<std::string> &arguments) {
  struct Part {
    const char *name;
    Result<json::Value> (*run)(TestBench &);
  };
  const Part parts[] = {
      {"machine", describeMachine}, {"delays", measureDelays},
      {"flush", compareFlushes},    {"medians", measureMedians},
      {"counters", readCounters},   {"peaks", measurePeaks},
      {"clocks", checkClocks},      {"plain", runPlain}};
  std::string name = arguments.empty() ? "" : arguments.front();
  bool compares = name == "equal" || name == "different";
  const Part *part = nullptr;
  for (const Part &candidate : parts)
    if (name == candidate.name)
      part = &candidate;
  if (!part && !compares)
    return fail(FailureKind::Usage,
                "unknown part '" + name + "' of the self-test");
  unsigned pairs = 0;
  if (compares) {
    Result<unsigned> parsed = parsePairs(arguments);
    if (!parsed)
      return forwardFailure(std::move(parsed));
    pairs = *parsed;
  }
  Result<std::unique_ptr<TestBench>> bench =
      TestBench::create(/*traced=*/name != "plain");
  if (!bench)
    return forwardFailure(std::move(bench));
  if (name != "machine")
    if (Result<void> done = (*bench)->makeBuffers(); !done)
      return forwardFailure(std::move(done));
  if (compares)
    return comparePairs(**bench, pairs, name == "equal" ? 1 : 1.03);
  return part->run(**bench);
}
