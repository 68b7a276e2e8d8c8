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

static bool isJudgedByReference(const task::Task &task, const Tensor &output) {
  if (task.tolerance.at(output.name).rule != ToleranceRule::Acceptance)
    return false;
  Result<task::AcceptanceSpec> spec = task::getAcceptance(task, output);
  return spec && spec->kind == task::AcceptanceKind::Reference;
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
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(loaded->library, name));
  };
  find(loaded->getUnits, "d2k_reference_units");
  find(loaded->makeInputs, "d2k_reference_inputs");
  find(loaded->accept, "d2k_reference_accept");
  for (const Tensor &output : config.task->outputs)
    if (!loaded->accept && isJudgedByReference(*config.task, output))
      return fail(FailureKind::Input,
                  path + ": defines no d2k_reference_accept for the output " +
                      output.name + "; see include/d2k/Task/Reference.h");
  bool isMatrix = outputShapes.size() == 1 && outputShapes[0].size() == 2;
  if (loaded->tileRows < 0 || loaded->tileColumns < 0 ||
      (loaded->tileRows == 0) != (loaded->tileColumns == 0) ||
      (loaded->tileRows != 0 && (!isMatrix || loaded->getUnits)))
    return fail(FailureKind::Input,
                path + ": tiles of " + std::to_string(loaded->tileRows) +
                    " x " + std::to_string(loaded->tileColumns) +
                    ": expected 0 x 0, or a size, one output that is a matrix, "
                    "and no units");
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
    if (isJudgedByReference(*config.task, config.task->outputs[i])) {
      arrays.push_back(output);
      continue;
    }
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

/// The failure \p error of a function of the reference.
static tl::unexpected<Failure> failReference(const task::Task &task,
                                             const char *function, int error) {
  return fail(FailureKind::Environment,
              std::string(function) + " of " + task.name +
                  " fails with the CUDA error " + std::to_string(error));
}

Result<void> OracleWorkload::derive(unsigned set, bool isPerturbation) {
  bool isWanted = false;
  for (const Tensor &input : config.task->inputs)
    isWanted |= !input.isScalar && isDerived(set, input);
  for (const Tensor &output : config.task->outputs)
    isWanted |= output.isInPlace && isDerived(set, output);
  if (!isWanted)
    return {};
  if (!reference || !reference->makeInputs)
    return fail(FailureKind::Input,
                config.task->name +
                    " has derived inputs, and its reference defines no "
                    "d2k_reference_inputs; see include/d2k/Task/Reference.h");
  Result<std::vector<task::ArgumentBlock>> blocks = packForReference(set);
  if (!blocks)
    return forwardFailure(std::move(blocks));
  const SetState &state = states[set];
  std::string trial =
      state.trial ? state.trial->id : std::string(task::kRandomTrial);
  d2k_inputs_request request = {};
  request.seed = state.seed;
  request.workload = config.workload->id.c_str();
  request.trial = trial.c_str();
  request.exact = state.isExact;
  request.perturbation = isPerturbation;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Result<void> done = driver.check(
        driver.cuCtxSetCurrent(config.contexts[rank]), "use the device");
    if (!done)
      return done;
    if (int error = reference->makeInputs(
            (*blocks)[rank].getData(), &request,
            reinterpret_cast<cudaStream_t>(streams[rank])))
      return failReference(*config.task, "d2k_reference_inputs", error);
  }
  return {};
}

Result<void> OracleWorkload::computeExpected(const ExpectedKey &key,
                                             const TileList &tiles) {
  if (kept == key)
    return {};
  kept.reset();
  Result<std::vector<task::ArgumentBlock>> blocks = packForReference(key.set);
  if (!blocks)
    return forwardFailure(std::move(blocks));
  d2k_reference_request request = {};
  for (size_t i = 0; i < expected.size(); ++i)
    request.outputs[i] = {asPointer<double>(expected[i].exact),
                          asPointer<double>(expected[i].working),
                          asPointer<float>(expected[i].magnitude)};
  request.tiles = asPointer<const int64_t>(tiles.address);
  request.tile_count = tiles.count;
  Result<void> done = driver.check(driver.cuCtxSetCurrent(config.contexts[0]),
                                   "use the device");
  for (size_t i = 0; i < expected.size(); ++i)
    if (done && tiles.address && reference->getUnits && expected[i].exact) {
      auto [rows, columns] = getMatrix(outputShapes[i]);
      done = ops[0]->setPattern(expected[i].exact,
                                uint64_t(rows) * uint64_t(columns) * 8,
                                kNotComputed);
    }
  if (!done)
    return done;
  if (int error =
          reference->compute((*blocks)[key.rank].getData(), &request,
                             reinterpret_cast<cudaStream_t>(streams[0])))
    return failReference(*config.task, "d2k_reference", error);
  done = ops[0]->synchronize();
  if (done && config.keepsExpected)
    kept = key;
  return done;
}

Result<std::vector<int64_t>> OracleWorkload::chooseTiles(unsigned set,
                                                         uint64_t seed) {
  std::vector<int64_t> tiles, inner;
  if (reference->getUnits) {
    Result<std::vector<task::ArgumentBlock>> blocks = packForReference(set);
    if (!blocks)
      return forwardFailure(std::move(blocks));
    int64_t count = 0, always = 0;
    reference->getUnits(blocks->front().getData(), &count, &always);
    for (int64_t unit = 0; unit < count; ++unit)
      (unit < always ? tiles : inner).push_back(unit);
  } else if (reference->tileRows != 0) {
    auto [rows, columns] = getMatrix(outputShapes.front());
    int64_t down = (rows + reference->tileRows - 1) / reference->tileRows;
    int64_t across =
        (columns + reference->tileColumns - 1) / reference->tileColumns;
    for (int64_t tile = 0; tile < down * across; ++tile) {
      int64_t row = tile / across, column = tile % across;
      bool isEdge =
          row == 0 || column == 0 || row == down - 1 || column == across - 1;
      (isEdge ? tiles : inner).push_back(tile);
    }
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

/// The place of element \p index in a tensor of \p shape.
static std::vector<int64_t> getIndices(const std::vector<int64_t> &shape,
                                       uint64_t index) {
  std::vector<int64_t> indices(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    indices[axis] = int64_t(index % uint64_t(shape[axis]));
    index /= uint64_t(shape[axis]);
  }
  return indices;
}

std::string OracleWorkload::describeOutput(unsigned rank, size_t output) const {
  const std::string &name = config.task->outputs[output].name;
  return ranks == 1 ? name : name + " of rank " + std::to_string(rank);
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
  failure.index = getIndices(outputShapes[output], index);
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
  std::string name = describeOutput(rank, output);
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
  std::vector<int64_t> list;
  TileList tiles;
  if (sampleSeed) {
    Result<std::vector<int64_t>> chosen = chooseTiles(set, *sampleSeed);
    if (!chosen)
      return forwardFailure(std::move(chosen));
    list = std::move(*chosen);
  }
  if (!list.empty()) {
    tiles.count = int64_t(list.size());
    done = driver.check(
        driver.cuMemAlloc(&tiles.address, list.size() * sizeof(int64_t)),
        "allocate a list of tiles");
    // In the order of the stream: a copy from pageable memory without a stream
    // may return before the data is there, and this stream does not wait for
    // the default one.
    if (done)
      done = driver.check(
          driver.cuMemcpyHtoDAsync(tiles.address, list.data(),
                                   list.size() * sizeof(int64_t), streams[0]),
          "copy a list of tiles");
  }
  for (unsigned rank = 0; done && rank < ranks; ++rank) {
    if (rank == 0 || differsBetweenRanks())
      done = computeExpected({set, rank, sampleSeed}, tiles);
    if (done)
      done = judgeRank(judgement, set, rank, tiles);
  }
  for (size_t output = 0; done && ranks > 1 && output < outputShapes.size();
       ++output)
    if (config.task->outputs[output].isReplicated)
      done = judgeReplicas(judgement, set, output);
  if (tiles.address)
    driver.cuMemFree(tiles.address);
  if (!done)
    return forwardFailure(std::move(done));
  return judgement;
}

bool OracleWorkload::differsBetweenRanks() const {
  const std::vector<Tensor> &outputs = config.task->outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const Tensor &output) { return !output.isReplicated; });
}

Result<void> OracleWorkload::judgeRank(Judgement &judgement, unsigned set,
                                       unsigned rank, const TileList &tiles) {
  for (size_t output = 0; output < outputShapes.size(); ++output) {
    if (!expected[output].exact) {
      if (Result<void> done =
              judgeByReference(judgement, set, rank, output, tiles);
          !done)
        return done;
      continue;
    }
    Result<CompareJob> job = makeJob(set, rank, output);
    if (!job)
      return forwardFailure(std::move(job));
    if (tiles.address && reference->getUnits) {
      job->isPartial = true;
    } else if (tiles.address) {
      job->tiles = asPointer<const int64_t>(tiles.address);
      job->tileCount = tiles.count;
      job->tileRows = reference->tileRows;
      job->tileColumns = reference->tileColumns;
    }
    if (Result<void> done = judgeOutput(judgement, set, rank, output, *job);
        !done)
      return done;
  }
  return {};
}

Result<void> OracleWorkload::judgeByReference(Judgement &judgement,
                                              unsigned set, unsigned rank,
                                              size_t output,
                                              const TileList &tiles) {
  if (!acceptance) {
    Result<CUdeviceptr> made = allocate(0, sizeof(d2k_acceptance));
    if (!made)
      return forwardFailure(std::move(made));
    acceptance = *made;
  }
  Result<std::vector<task::ArgumentBlock>> blocks = packForReference(set);
  if (!blocks)
    return forwardFailure(std::move(blocks));
  d2k_accept_request request = {};
  request.output = int32_t(output);
  request.exact = states[set].isExact;
  for (size_t i = 0; i < outputShapes.size(); ++i)
    request.outputs[i] = asPointer<const void>(states[set].captures[rank][i]);
  request.tiles = asPointer<const int64_t>(tiles.address);
  request.tile_count = tiles.count;
  request.result = asPointer<d2k_acceptance>(acceptance);
  auto ask = [&](int64_t explain) -> Result<d2k_acceptance> {
    d2k_acceptance found = {};
    found.first_failed = ~0ull;
    request.explain = explain;
    Result<void> done = driver.check(driver.cuCtxSetCurrent(config.contexts[0]),
                                     "use the device");
    if (done)
      done = driver.check(driver.cuMemcpyHtoDAsync(acceptance, &found,
                                                   sizeof(found), streams[0]),
                          "clear a verdict");
    if (!done)
      return forwardFailure(std::move(done));
    if (int error =
            reference->accept((*blocks)[rank].getData(), &request,
                              reinterpret_cast<cudaStream_t>(streams[0])))
      return failReference(*config.task, "d2k_reference_accept", error);
    done = driver.check(
        driver.cuMemcpyDtoHAsync(&found, acceptance, sizeof(found), streams[0]),
        "read a verdict");
    if (done)
      done = ops[0]->synchronize();
    if (!done)
      return forwardFailure(std::move(done));
    return found;
  };
  Result<d2k_acceptance> found = ask(-1);
  if (!found)
    return forwardFailure(std::move(found));
  judgement.compared += found->compared;
  judgement.failed += found->failed;
  if (found->failed == 0)
    return {};
  judgement.maxError = kInfinity;
  failFor(judgement,
          describeOutput(rank, output) + ": " + std::to_string(found->failed) +
              " of " + std::to_string(found->compared) + " elements are wrong");
  if (judgement.first || found->first_failed == ~0ull)
    return {};
  Result<d2k_acceptance> more = ask(int64_t(found->first_failed));
  if (!more)
    return forwardFailure(std::move(more));
  judgement.first =
      ElementFailure{rank,
                     config.task->outputs[output].name,
                     getIndices(outputShapes[output], found->first_failed),
                     more->expected,
                     more->got,
                     more->allowed};
  return {};
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
    done = computeExpected({set, 0, std::nullopt}, {});
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
    // Of what is judged in another way there is no mean.
    spec.mean = trivial == TrivialOutput::Mean ? 1 : 0;
    if (trivial == TrivialOutput::Mean && expected[output].exact) {
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
