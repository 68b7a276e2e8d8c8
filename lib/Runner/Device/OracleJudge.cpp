// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judging: the reference's values, the task's tolerance rules, and a sentence
// that says what is wrong.

#include "OracleReference.h"
#include "OracleWorkload.h"

#include "d2k/Task/Acceptance.h"
#include "d2k/Task/Draw.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <limits>

using namespace d2k;
using namespace d2k::runner;
using task::Tensor;
using task::Tolerance;
using task::ToleranceRule;

namespace {

/// Of the tiles that are not at an edge, a sample takes one in so many, and at
/// least so many.
constexpr uint64_t kSampleOneIn = 50;
constexpr int64_t kMinSample = 8;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

OracleWorkload::Reference::~Reference() {
  if (library)
    dlclose(library);
}

Result<void> OracleWorkload::loadReference() {
  if (config.task->outputs.size() > D2K_REFERENCE_MAX_OUTPUTS)
    return fail(FailureKind::Input,
                "a task has at most " +
                    std::to_string(D2K_REFERENCE_MAX_OUTPUTS) + " outputs");
  auto loaded = std::make_unique<Reference>();
  const std::string &path = config.referenceLibrary;
  loaded->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded->library)
    return fail(FailureKind::Environment,
                "cannot load the reference: " + std::string(dlerror()));
  loaded->compute = reinterpret_cast<decltype(loaded->compute)>(
      dlsym(loaded->library, "d2k_reference"));
  loaded->getTile = reinterpret_cast<decltype(loaded->getTile)>(
      dlsym(loaded->library, "d2k_reference_tile"));
  if (!loaded->compute || !loaded->getTile)
    return fail(FailureKind::Input,
                path + ": defines no " +
                    (loaded->compute ? "d2k_reference_tile" : "d2k_reference") +
                    "; see include/d2k/Task/Reference.h");
  loaded->getTile(&loaded->tileRows, &loaded->tileColumns);
  bool isMatrix = outputShapes.size() == 1 && outputShapes[0].size() == 2;
  if (loaded->tileRows < 0 || loaded->tileColumns < 0 ||
      (loaded->tileRows == 0) != (loaded->tileColumns == 0) ||
      (loaded->tileRows != 0 && !isMatrix))
    return fail(FailureKind::Input,
                path + ": tiles of " + std::to_string(loaded->tileRows) +
                    " x " + std::to_string(loaded->tileColumns) +
                    ": expected 0 x 0, or a size and one output that is a "
                    "matrix");
  reference = std::move(loaded);
  return {};
}

/// Rows and columns of an output: all axes but the last, and the last.
static std::pair<int64_t, int64_t>
getMatrix(const std::vector<int64_t> &shape) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    rows *= shape[i];
  return {rows, shape.empty() ? 1 : shape.back()};
}

Result<void> OracleWorkload::allocateExpected() {
  if (!expected.empty())
    return {};
  std::vector<ExpectedArrays> arrays;
  for (size_t i = 0; i < outputShapes.size(); ++i) {
    auto [rows, columns] = getMatrix(outputShapes[i]);
    uint64_t count = uint64_t(rows) * uint64_t(columns);
    ToleranceRule rule =
        config.task->tolerance.at(config.task->outputs[i].name).rule;
    bool needsWorking =
        rule == ToleranceRule::Product || rule == ToleranceRule::ReferenceError;
    ExpectedArrays output;
    auto make = [&](CUdeviceptr &address, uint64_t bytes) -> Result<void> {
      Result<CUdeviceptr> made = allocate(0, std::max<uint64_t>(bytes, 8));
      if (!made)
        return forwardFailure(std::move(made));
      address = *made;
      return {};
    };
    Result<void> done = make(output.exact, count * sizeof(double));
    if (done && needsWorking)
      done = make(output.working, count * sizeof(double));
    if (done && rule == ToleranceRule::Product)
      done = make(output.magnitude, count * sizeof(float));
    if (!done)
      return done;
    arrays.push_back(output);
  }
  expected = std::move(arrays);
  return {};
}

template <typename T>
static T *asPointer(CUdeviceptr address) {
  return reinterpret_cast<T *>(static_cast<uintptr_t>(address));
}

Result<void> OracleWorkload::computeExpected(unsigned set, CUdeviceptr tiles,
                                             int64_t tileCount) {
  auto lookup = [&](unsigned rank, std::string_view name) -> uint64_t {
    // No prepared weights here.
    if (name == task::kPreparedName)
      return 0;
    return getBuffer(rank, set, name).getAddress();
  };
  Result<std::vector<task::ArgumentBlock>> blocks = task::packArguments(
      *config.task, *config.workload, config.machine, lookup);
  if (!blocks)
    return forwardFailure(std::move(blocks));
  d2k_reference_request request = {};
  for (size_t i = 0; i < expected.size(); ++i)
    request.outputs[i] = {asPointer<double>(expected[i].exact),
                          asPointer<double>(expected[i].working),
                          asPointer<float>(expected[i].magnitude)};
  request.tiles = asPointer<const int64_t>(tiles);
  request.tile_count = tileCount;
  Result<void> done = driver.check(driver.cuCtxSetCurrent(config.contexts[0]),
                                   "use the device");
  if (!done)
    return done;
  int error = reference->compute(blocks->front().getData(), &request,
                                 reinterpret_cast<cudaStream_t>(streams[0]));
  if (error != 0)
    return fail(FailureKind::Environment,
                "the reference of " + config.task->name +
                    " fails with the CUDA error " + std::to_string(error));
  return ops[0]->synchronize();
}

Result<std::vector<int64_t>> OracleWorkload::chooseTiles(uint64_t seed) {
  auto [rows, columns] = getMatrix(outputShapes.front());
  int64_t down = (rows + reference->tileRows - 1) / reference->tileRows;
  int64_t across =
      (columns + reference->tileColumns - 1) / reference->tileColumns;
  std::vector<int64_t> tiles, inner;
  for (int64_t tile = 0; tile < down * across; ++tile) {
    int64_t row = tile / across, column = tile % across;
    bool isEdge =
        row == 0 || column == 0 || row == down - 1 || column == across - 1;
    (isEdge ? tiles : inner).push_back(tile);
  }
  int64_t wanted = std::min<int64_t>(
      int64_t(inner.size()),
      std::max<int64_t>(kMinSample, int64_t((inner.size() + kSampleOneIn - 1) /
                                            kSampleOneIn)));
  // The first `wanted` of a random order.
  for (int64_t i = 0; i < wanted; ++i) {
    uint64_t rest = inner.size() - uint64_t(i);
    uint64_t pick = task::drawBits(seed, 0, uint64_t(i)) % rest;
    std::swap(inner[size_t(i)], inner[size_t(i) + pick]);
  }
  tiles.insert(tiles.end(), inner.begin(), inner.begin() + wanted);
  std::sort(tiles.begin(), tiles.end());
  return tiles;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Result<CompareJob> OracleWorkload::makeJob(unsigned set, unsigned rank,
                                           size_t output) const {
  const Tensor &tensor = config.task->outputs[output];
  const Tolerance &tolerance = config.task->tolerance.at(tensor.name);
  const SetState &state = states[set];
  CompareJob job = {};
  job.type = tensor.type;
  job.got = asPointer<const void>(state.captures[rank][output]);
  job.exact = asPointer<const double>(expected[output].exact);
  job.working = asPointer<const double>(expected[output].working);
  job.magnitude = asPointer<const float>(expected[output].magnitude);
  std::tie(job.rows, job.columns) = getMatrix(outputShapes[output]);
  if (state.isExact) {
    job.rule = CompareRule::Exact;
    return job;
  }
  switch (tolerance.rule) {
  case ToleranceRule::Exact:
    job.rule = CompareRule::Exact;
    break;
  case ToleranceRule::Product: {
    job.rule = CompareRule::Bound;
    job.relative = task::getHalfUlp(tensor.type);
    job.sumFactor =
        std::ldexp(tolerance.factor, -int(tolerance.accumulatorBits));
    // Half the distance of subnormal numbers, where they are.
    task::FloatFormat format = task::getFloatFormat(tensor.type);
    if (format.exponentBits != 0)
      job.absolute = std::ldexp(1.0, -format.bias - format.fractionBits);
    break;
  }
  case ToleranceRule::ReferenceError:
    job.rule = CompareRule::MeasureErrors;
    break;
  case ToleranceRule::Acceptance: {
    Result<task::AcceptanceSpec> spec =
        task::getAcceptance(*config.task, tensor);
    if (!spec)
      return forwardFailure(std::move(spec));
    job.nearness = spec->nearness;
    job.rule = CompareRule::PowerOfTwoCeiling;
    if (spec->kind == task::AcceptanceKind::QuantisedGroups) {
      job.rule = CompareRule::QuantisedGroups;
      job.scales = asPointer<const float>(state.captures[rank][spec->scales]);
      job.group = spec->group;
    }
    break;
  }
  }
  return job;
}

/// \p value as a person reads it.
static std::string print(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

/// Makes \p judgement fail for \p reason unless it fails already.
static void failFor(Judgement &judgement, std::string reason) {
  if (judgement.passed)
    judgement.reason = std::move(reason);
  judgement.passed = false;
}

Result<void> OracleWorkload::explainFirst(Judgement &judgement,
                                          const CompareJob &job, unsigned rank,
                                          size_t output, uint64_t index) {
  if (judgement.first)
    return {};
  Result<ElementReport> report = ops[0]->explain(job, int64_t(index));
  if (!report)
    return forwardFailure(std::move(report));
  ElementFailure failure;
  failure.rank = rank;
  failure.tensor = config.task->outputs[output].name;
  failure.index.resize(outputShapes[output].size());
  for (size_t axis = failure.index.size(); axis-- > 0;) {
    failure.index[axis] = int64_t(index) % outputShapes[output][axis];
    index /= uint64_t(outputShapes[output][axis]);
  }
  failure.expected = report->expected;
  failure.got = report->got;
  failure.allowed = report->allowed;
  judgement.first = std::move(failure);
  return {};
}

Result<void> OracleWorkload::judgeOutput(Judgement &judgement, unsigned set,
                                         unsigned rank, size_t output,
                                         const CompareJob &job) {
  const Tensor &tensor = config.task->outputs[output];
  const Tolerance &tolerance = config.task->tolerance.at(tensor.name);
  std::string name = ranks == 1
                         ? tensor.name
                         : tensor.name + " of rank " + std::to_string(rank);
  Result<CompareResult> result = ops[0]->compare(job);
  if (!result)
    return forwardFailure(std::move(result));
  judgement.compared += result->compared;
  judgement.nonFinite += result->nonFinite;
  double maxError = result->maxRatio;
  std::string ofAll = " of " + std::to_string(result->compared) + " elements ";
  if (result->nonFinite != 0) {
    maxError = kInfinity;
    failFor(judgement, name + ": " + std::to_string(result->nonFinite) + ofAll +
                           "are not finite");
  }

  CompareJob explained = job;
  if (job.rule == CompareRule::MeasureErrors) {
    // The largest error is known only now; a second pass finds who exceeds it.
    double allowed = tolerance.factor * result->maxErrorWorking;
    if (result->maxError > 0)
      maxError = std::max(maxError, result->maxError / allowed);
    if (result->maxError > allowed || result->nonFinite != 0) {
      explained.rule = CompareRule::Bound;
      explained.magnitude = nullptr;
      explained.absolute = allowed;
      Result<CompareResult> second = ops[0]->compare(explained);
      if (!second)
        return forwardFailure(std::move(second));
      result->failed = second->failed;
      result->firstFailed = second->firstFailed;
    }
  }
  judgement.failed += result->failed;
  if (result->failed != 0) {
    if (job.rule != CompareRule::Bound &&
        job.rule != CompareRule::MeasureErrors)
      maxError = kInfinity;
    failFor(judgement,
            name + ": " + std::to_string(result->failed) + ofAll + "are wrong");
    if (Result<void> done = explainFirst(judgement, explained, rank, output,
                                         result->firstFailed);
        !done)
      return done;
  }

  if (job.rule == CompareRule::Bound ||
      job.rule == CompareRule::MeasureErrors) {
    double limit =
        job.rule == CompareRule::Bound ? tolerance.rmsRatio : tolerance.factor;
    double ratio = result->squares == 0 && result->squaresWorking == 0
                       ? 1.0
                       : std::sqrt(result->squares / result->squaresWorking);
    judgement.rmsRatio = std::max(judgement.rmsRatio.value_or(0), ratio);
    if (!(ratio <= limit))
      failFor(judgement, name + ": the rms error is " + print(ratio) +
                             " times that of the working precision, and " +
                             print(limit) + " times is allowed");
  }
  if (job.rule == CompareRule::QuantisedGroups) {
    Result<task::AcceptanceSpec> spec =
        task::getAcceptance(*config.task, tensor);
    if (!spec)
      return forwardFailure(std::move(spec));
    double share = double(result->different) / double(result->compared);
    maxError = std::max(maxError, share / spec->maxDifferent);
    if (share > spec->maxDifferent)
      failFor(judgement, name + ": " + print(100 * share) +
                             "% of the elements differ from the rounded exact "
                             "value, and " +
                             print(100 * spec->maxDifferent) + "% may");
  }
  judgement.maxError = std::max(judgement.maxError, maxError);
  return {};
}

Result<void> OracleWorkload::judgeReplicas(Judgement &judgement, unsigned set,
                                           size_t output) {
  std::optional<uint64_t> first;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Result<uint64_t> hash = ops[0]->hash(states[set].captures[rank][output],
                                         outputBytes[output], hashKey);
    if (!hash)
      return forwardFailure(std::move(hash));
    if (first && *first != *hash)
      failFor(judgement, config.task->outputs[output].name + ": ranks 0 and " +
                             std::to_string(rank) +
                             " do not have the same bits");
    first = first.value_or(*hash);
  }
  return {};
}

Result<Judgement> OracleWorkload::judge(unsigned set,
                                        std::optional<uint64_t> sampleSeed) {
  const SetState &state = states[set];
  if (!state.isCaptured || !reference)
    return fail(FailureKind::Internal, "judge before capture");
  Judgement judgement;
  judgement.passed = true;
  judgement.brokenGuards = state.brokenGuards;
  judgement.changedInputs = state.changedInputs;
  if (!state.brokenGuards.empty())
    failFor(judgement,
            "memory beside " + state.brokenGuards.front() + " was written");
  if (!state.changedInputs.empty()) {
    // Expected values made from changed inputs would say nothing.
    failFor(judgement,
            "the input " + state.changedInputs.front() + " was changed");
    return judgement;
  }
  Result<void> done = allocateExpected();
  if (!done)
    return forwardFailure(std::move(done));
  std::vector<int64_t> tiles;
  CUdeviceptr deviceTiles = 0;
  if (sampleSeed && reference->tileRows != 0) {
    Result<std::vector<int64_t>> chosen = chooseTiles(*sampleSeed);
    if (!chosen)
      return forwardFailure(std::move(chosen));
    tiles = std::move(*chosen);
    done = driver.check(
        driver.cuMemAlloc(&deviceTiles, tiles.size() * sizeof(int64_t)),
        "allocate a list of tiles");
    // In the order of the stream: a copy from pageable memory without a stream
    // may return before the data is there, and this stream does not wait for
    // the default one.
    if (done)
      done = driver.check(
          driver.cuMemcpyHtoDAsync(deviceTiles, tiles.data(),
                                   tiles.size() * sizeof(int64_t), streams[0]),
          "copy a list of tiles");
  }
  if (done)
    done = computeExpected(set, deviceTiles, int64_t(tiles.size()));
  for (unsigned rank = 0; done && rank < ranks; ++rank)
    for (size_t output = 0; done && output < outputShapes.size(); ++output) {
      Result<CompareJob> job = makeJob(set, rank, output);
      if (!job)
        return forwardFailure(std::move(job));
      if (deviceTiles) {
        job->tiles = asPointer<const int64_t>(deviceTiles);
        job->tileCount = int64_t(tiles.size());
        job->tileRows = reference->tileRows;
        job->tileColumns = reference->tileColumns;
      }
      done = judgeOutput(judgement, set, rank, output, *job);
    }
  for (size_t output = 0; done && ranks > 1 && output < outputShapes.size();
       ++output)
    done = judgeReplicas(judgement, set, output);
  if (deviceTiles)
    driver.cuMemFree(deviceTiles);
  if (!done)
    return forwardFailure(std::move(done));
  return judgement;
}

Result<std::string> OracleWorkload::hashCapture(unsigned set) {
  if (!states[set].isCaptured)
    return fail(FailureKind::Internal, "hash before capture");
  std::string text;
  for (const std::vector<CUdeviceptr> &list : states[set].captures)
    for (size_t output = 0; output < list.size(); ++output) {
      Result<uint64_t> hash =
          ops[0]->hash(list[output], outputBytes[output], hashKey);
      if (!hash)
        return forwardFailure(std::move(hash));
      char digits[17];
      std::snprintf(digits, sizeof(digits), "%016llx",
                    static_cast<unsigned long long>(*hash));
      text += digits;
    }
  return text;
}

Result<void> OracleWorkload::replaceCapture(unsigned set,
                                            TrivialOutput trivial) {
  SetState &state = states[set];
  if (!state.isCaptured)
    return fail(FailureKind::Internal, "replaceCapture before capture");
  Result<void> done = allocateExpected();
  if (done && trivial == TrivialOutput::Mean)
    done = computeExpected(set, 0, 0);
  for (size_t output = 0; done && output < outputShapes.size(); ++output) {
    const Tensor &tensor = config.task->outputs[output];
    auto [rows, columns] = getMatrix(outputShapes[output]);
    const BufferInfo *source = nullptr;
    for (const Tensor &input : config.task->inputs)
      if (trivial == TrivialOutput::CopyOfInput && !input.isScalar && !source &&
          getBuffer(0, set, input.name).bytes == outputBytes[output])
        source = &getBuffer(0, set, input.name);
    task::DrawSpec spec;
    spec.kind = task::DrawKind::Constant;
    spec.type = tensor.type;
    if (trivial == TrivialOutput::Mean) {
      Result<double> sum = ops[0]->sum(expected[output].exact, rows * columns);
      if (!sum)
        return forwardFailure(std::move(sum));
      spec.mean = *sum / double(rows * columns);
    }
    for (unsigned rank = 0; done && rank < ranks; ++rank) {
      CUdeviceptr to = state.captures[rank][output];
      if (source)
        done = driver.check(driver.cuMemcpyDtoDAsync(to, source->getAddress(),
                                                     outputBytes[output],
                                                     streams[0]),
                            "copy an input");
      else
        done = ops[0]->fill(spec, to, rows * columns, 0);
    }
  }
  return done ? ops[0]->synchronize() : done;
}
