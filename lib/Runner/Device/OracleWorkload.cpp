// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers: making, filling, poisoning and watching them. Judging is in
// OracleJudge.cpp.

#include "OracleWorkload.h"

#include "OracleReference.h"
#include "d2k/Task/Inputs.h"

#include <cassert>
#include <random>

using namespace d2k;
using namespace d2k::runner;
using task::Tensor;

namespace {

/// Bytes of a guard zone on either side of a buffer: more than a row of most
/// tensors, so that an index that is off by one row is seen.
constexpr uint64_t kGuardBytes = 64 << 10;
constexpr uint32_t kGuardPattern = 0x5ac3a55a;
/// A NaN in every floating-point type, -1 in integers.
constexpr uint32_t kPoisonPattern = 0xffffffff;
/// perturb redraws one line in so many.
constexpr uint64_t kPerturbEvery = 256;

} // namespace

static uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

OracleWorkload::OracleWorkload(const CudaDriver &driver,
                               const OracleConfig &config)
    : driver(driver), config(config),
      axes(config.task->getAxisValues(*config.workload, config.machine)),
      ranks(unsigned(config.contexts.size())), states(config.sets) {
  std::random_device random;
  hashKey = uint64_t(random()) << 32 | random();
}

OracleWorkload::~OracleWorkload() {
  // The reference's kernels use the buffers.
  for (CUcontext context : config.contexts) {
    driver.cuCtxSetCurrent(context);
    driver.cuCtxSynchronize();
  }
  reference.reset();
  ops.clear();
  for (CUevent event : {prepareBegin, prepareEnd})
    if (event)
      driver.cuEventDestroy(event);
  for (const Allocation &allocation : allocations) {
    driver.cuCtxSetCurrent(allocation.context);
    driver.cuMemFree(allocation.address);
  }
  for (size_t rank = 0; rank < streams.size(); ++rank) {
    driver.cuCtxSetCurrent(config.contexts[rank]);
    driver.cuStreamDestroy(streams[rank]);
  }
}

Result<std::unique_ptr<OracleWorkload>>
OracleWorkload::create(const CudaDriver &driver, const OracleConfig &config) {
  std::unique_ptr<OracleWorkload> oracle(new OracleWorkload(driver, config));
  if (Result<void> done = oracle->open(); !done)
    return forwardFailure(std::move(done));
  return oracle;
}

Result<void> OracleWorkload::open() {
  const task::Axis *machineAxis = config.task->findMachineAxis();
  uint64_t wanted = machineAxis ? uint64_t(axes.at(machineAxis->name)) : 1;
  if (ranks != wanted)
    return fail(FailureKind::Input,
                config.task->name + " runs on " + std::to_string(wanted) +
                    " devices here, and was given " + std::to_string(ranks));
  for (const Tensor &output : config.task->outputs) {
    Result<std::vector<int64_t>> shape = config.task->getShape(output, axes);
    if (!shape)
      return forwardFailure(std::move(shape));
    Result<int64_t> bytes = config.task->getByteSize(output, axes);
    if (!bytes)
      return forwardFailure(std::move(bytes));
    outputShapes.push_back(std::move(*shape));
    outputBytes.push_back(uint64_t(*bytes));
  }
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Result<void> done = driver.check(
        driver.cuCtxSetCurrent(config.contexts[rank]), "use the device");
    CUstream stream = nullptr;
    if (done)
      done =
          driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                       "create a stream");
    if (!done)
      return done;
    streams.push_back(stream);
    for (unsigned peer = 0; peer < ranks; ++peer) {
      // Tests put two ranks on one device.
      if (config.contexts[peer] == config.contexts[rank])
        continue;
      CUresult result = driver.cuCtxEnablePeerAccess(config.contexts[peer], 0);
      if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        if (done = driver.check(result, "let one device read another's memory");
            !done)
          return done;
    }
    Result<std::unique_ptr<DeviceOps>> created =
        DeviceOps::create(driver, config.contexts[rank], stream);
    if (!created)
      return forwardFailure(std::move(created));
    ops.push_back(std::move(*created));
    if (done = addBuffersOfRank(rank); !done)
      return done;
  }
  Result<void> done = driver.check(driver.cuCtxSetCurrent(config.contexts[0]),
                                   "use the device");
  for (CUevent *event : {&prepareBegin, &prepareEnd})
    if (done)
      done = driver.check(driver.cuEventCreate(event, CU_EVENT_DEFAULT),
                          "make an event");
  if (!done || config.referenceLibrary.empty())
    return done;
  return loadReference();
}

Result<CUdeviceptr> OracleWorkload::allocate(unsigned rank, uint64_t bytes) {
  CUcontext context = config.contexts[rank];
  CUdeviceptr address = 0;
  Result<void> done =
      driver.check(driver.cuCtxSetCurrent(context), "use the device");
  if (done)
    done = driver.check(driver.cuMemAlloc(&address, bytes),
                        "allocate " + std::to_string(bytes) +
                            " bytes for workload " + config.workload->id);
  if (!done)
    return forwardFailure(std::move(done));
  allocations.push_back({context, address, bytes});
  return address;
}

Result<void> OracleWorkload::addBuffer(unsigned rank, unsigned set,
                                       std::string name, uint64_t bytes) {
  // Empty buffers have an address too.
  uint64_t allocated = kGuardBytes +
                       alignUp(bytes, uint64_t(task::kBaseAlignment)) +
                       kGuardBytes;
  Result<CUdeviceptr> base = allocate(rank, allocated);
  if (!base)
    return forwardFailure(std::move(base));
  buffers.push_back(
      {rank, set, std::move(name), *base, kGuardBytes, bytes, allocated});
  return writeGuards(buffers.back());
}

Result<void> OracleWorkload::writeGuards(const BufferInfo &buffer) {
  DeviceOps &device = *ops[buffer.rank];
  Result<void> done =
      device.setPattern(buffer.base, kGuardBytes, kGuardPattern);
  if (done)
    done = device.setPattern(buffer.getAddress() + alignUp(buffer.bytes, 4),
                             kGuardBytes, kGuardPattern);
  return done;
}

Result<void> OracleWorkload::addBuffersOfRank(unsigned rank) {
  const task::Task &task = *config.task;
  Result<CUdeviceptr> words =
      allocate(rank, config.sets * (task.inputs.size() + 1) * 16);
  if (!words)
    return forwardFailure(std::move(words));
  hashes.push_back(*words);
  // Those of scalars stay 0.
  if (Result<void> done = ops[rank]->setPattern(
          *words, config.sets * (task.inputs.size() + 1) * 16, 0);
      !done)
    return done;
  places.emplace_back(config.sets);
  for (unsigned set = 0; set < config.sets; ++set)
    for (const std::vector<Tensor> *list : {&task.inputs, &task.outputs})
      for (const Tensor &tensor : *list) {
        SetPlaces &own = places[rank][set];
        (tensor.isOutput ? own.outputs : own.inputs).push_back(buffers.size());
        if (tensor.isScalar)
          continue;
        Result<int64_t> bytes = task.getByteSize(tensor, axes);
        if (!bytes)
          return forwardFailure(std::move(bytes));
        if (Result<void> done =
                addBuffer(rank, set, tensor.name, uint64_t(*bytes));
            !done)
          return done;
      }
  for (unsigned set = 0; task.hasPrepare() && set < config.sets; ++set) {
    Result<int64_t> bytes = task.getPreparedBytes(axes);
    if (!bytes)
      return forwardFailure(std::move(bytes));
    for (std::string_view name :
         {task::kPreparedName, task::kBaselinePreparedName})
      if (Result<void> done =
              addBuffer(rank, set, std::string(name), uint64_t(*bytes));
          !done)
        return done;
  }
  shared.push_back(buffers.size());
  Result<void> done = addBuffer(
      rank, kAllSets, std::string(task::kWorkspaceName), config.workspaceBytes);
  if (!done)
    return done;
  if (task.symmetric) {
    Result<int64_t> scratch = task.symmetric->scratchBytes.evaluate(axes);
    if (!scratch)
      return forwardFailure(std::move(scratch));
    Result<int64_t> signals = task.symmetric->signalWords.evaluate(axes);
    if (!signals)
      return forwardFailure(std::move(signals));
    shared.push_back(buffers.size());
    done = addBuffer(rank, kAllSets, std::string(task::kScratchName),
                     uint64_t(*scratch));
    if (done)
      done = addBuffer(rank, kAllSets, std::string(task::kSignalsName),
                       uint64_t(*signals) * 4);
    if (done)
      done = ops[rank]->setPattern(
          getBuffer(rank, kAllSets, task::kSignalsName).getAddress(),
          uint64_t(*signals) * 4, 0);
  }
  return done ? ops[rank]->synchronize() : done;
}

const BufferInfo &OracleWorkload::getBuffer(unsigned rank, unsigned set,
                                            std::string_view name) const {
  const BufferInfo *found = nullptr;
  for (const BufferInfo &buffer : buffers)
    if (buffer.rank == rank && buffer.tensor == name &&
        (buffer.set == set || buffer.set == kAllSets))
      found = &buffer;
  assert(found &&
         "buffers of all tensors are made when the workload is opened");
  return *found;
}

std::string OracleWorkload::describe(const BufferInfo &buffer) const {
  std::string name = buffer.tensor.substr(buffer.tensor.front() == '.' ? 1 : 0);
  return ranks == 1 ? name : name + " of rank " + std::to_string(buffer.rank);
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

Result<std::optional<task::DrawSpec>>
OracleWorkload::getSpec(unsigned set, const Tensor &input) const {
  if (isDerived(set, input))
    return std::nullopt;
  Result<task::DrawSpec> spec = task::getDrawSpec(
      *config.task, input,
      config.task->getDistribution(input, *config.workload, states[set].trial),
      axes);
  if (!spec)
    return forwardFailure(std::move(spec));
  return *spec;
}

/// Elements in storage of \p bytes bytes of \p type.
static int64_t countElements(uint64_t bytes, task::DType type) {
  return int64_t(bytes * 8) / task::getElementBits(type);
}

Result<void> OracleWorkload::fill(unsigned set, const task::TrialSpec &trial) {
  SetState &state = states[set];
  state.trial = task::findTrial(*config.task, trial.kind);
  if (!state.trial && trial.kind != task::kRandomTrial)
    return fail(FailureKind::Input, "task " + config.task->name +
                                        " has no trial \"" + trial.kind + "\"");
  state.isExact = trial.isExact;
  state.seed = trial.seed;
  kept.reset();
  if (Result<void> done = allocateBefore(state); !done)
    return done;
  state.isFilled = true;
  const std::vector<Tensor> &inputs = config.task->inputs;
  const std::vector<Tensor> &outputs = config.task->outputs;
  state.specs.assign(inputs.size(), std::nullopt);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isScalar)
      continue;
    Result<std::optional<task::DrawSpec>> spec = getSpec(set, inputs[i]);
    if (!spec)
      return forwardFailure(std::move(spec));
    state.specs[i] = *spec;
    for (unsigned rank = 0; rank < ranks; ++rank)
      if (Result<void> done = draw(set, rank, inputs[i], *spec,
                                   getInput(rank, set, i).getAddress());
          !done)
        return done;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isInPlace)
      continue;
    Result<std::optional<task::DrawSpec>> spec = getSpec(set, outputs[i]);
    if (!spec)
      return forwardFailure(std::move(spec));
    for (unsigned rank = 0; rank < ranks; ++rank)
      if (Result<void> done =
              draw(set, rank, outputs[i], *spec, state.before[rank][i]);
          !done)
        return done;
  }
  Result<void> done = derive(set, /*isPerturbation=*/false);
  // Nothing of other weights stays there.
  state.isSealed = false;
  if (config.task->hasPrepare())
    for (std::string_view name :
         {task::kPreparedName, task::kBaselinePreparedName})
      if (const BufferInfo &buffer = getBuffer(0, set, name); done)
        done = ops[0]->setPattern(buffer.getAddress(), buffer.bytes,
                                  kPoisonPattern);
  if (done)
    done = hashInputs(set, /*isNow=*/false);
  return done ? synchronizeAll() : done;
}

Result<void> OracleWorkload::allocateBefore(SetState &state) {
  if (!state.before.empty())
    return {};
  const std::vector<Tensor> &outputs = config.task->outputs;
  std::vector<std::vector<CUdeviceptr>> copies(
      ranks, std::vector<CUdeviceptr>(outputs.size()));
  for (unsigned rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].isInPlace)
        continue;
      Result<CUdeviceptr> made =
          allocate(rank, alignUp(std::max<uint64_t>(outputBytes[i], 1), 256));
      if (!made)
        return forwardFailure(std::move(made));
      copies[rank][i] = *made;
    }
  state.before = std::move(copies);
  return {};
}

bool OracleWorkload::isDerived(unsigned set, const Tensor &tensor) const {
  return config.task
             ->getDistribution(tensor, *config.workload, states[set].trial)
             .kind == task::DistributionKind::Derived;
}

Result<void> OracleWorkload::draw(unsigned set, unsigned rank,
                                  const Tensor &tensor,
                                  const std::optional<task::DrawSpec> &spec,
                                  CUdeviceptr address) {
  Result<int64_t> bytes = config.task->getByteSize(tensor, axes);
  if (!bytes)
    return forwardFailure(std::move(bytes));
  if (!spec)
    return ops[rank]->setPattern(address, uint64_t(*bytes), kPoisonPattern);
  return ops[rank]->fill(
      *spec, address, countElements(uint64_t(*bytes), tensor.type),
      task::getInputSeed(*config.task, tensor, rank, states[set].seed));
}

Result<std::vector<task::ArgumentBlock>>
OracleWorkload::packForReference(unsigned set) const {
  const std::vector<Tensor> &outputs = config.task->outputs;
  auto lookup = [&](unsigned rank, std::string_view name) -> uint64_t {
    // The reference has no use for repacked weights.
    if (name == task::kPreparedName)
      return 0;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].name == name && outputs[i].isInPlace)
        return states[set].before[rank][i];
    return getBuffer(rank, set, name).getAddress();
  };
  return task::packArguments(*config.task, *config.workload, config.machine,
                             lookup);
}

Result<void> OracleWorkload::perturb(unsigned set, uint64_t seed) {
  SetState &state = states[set];
  state.seed = seed;
  const std::vector<Tensor> &inputs = config.task->inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // Constant inputs have been repacked.
    if (!state.specs[i] || inputs[i].isConstant)
      continue;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      const BufferInfo &buffer = getInput(rank, set, i);
      Result<void> done = ops[rank]->perturb(
          *state.specs[i], buffer.getAddress(),
          countElements(buffer.bytes, inputs[i].type),
          task::getInputSeed(*config.task, inputs[i], rank, seed),
          kPerturbEvery, hashKey, getHash(rank, set, i, /*isNow=*/false));
      if (!done)
        return done;
    }
  }
  if (Result<void> done = derive(set, /*isPerturbation=*/true); !done)
    return done;
  return hashInputs(set, /*isNow=*/false, /*derivedOnly=*/true);
}

CUdeviceptr OracleWorkload::getHash(unsigned rank, unsigned set, size_t input,
                                    bool isNow) const {
  size_t inputs = config.task->inputs.size() + 1;
  return hashes[rank] + 8 * ((2 * set + (isNow ? 1 : 0)) * inputs + input);
}

Result<void> OracleWorkload::hashInputs(unsigned set, bool isNow,
                                        bool derivedOnly) {
  const std::vector<Tensor> &inputs = config.task->inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isScalar || (derivedOnly && states[set].specs[i]))
      continue;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      if (Result<void> done =
              hashBuffer(getInput(rank, set, i), getHash(rank, set, i, isNow));
          !done)
        return done;
    }
  }
  if (!isNow || !states[set].isSealed)
    return {};
  return hashBuffer(getBuffer(0, set, task::kPreparedName),
                    getHash(0, set, inputs.size(), isNow));
}

Result<void> OracleWorkload::hashBuffer(const BufferInfo &buffer,
                                        CUdeviceptr hash) {
  Result<void> done = driver.check(
      driver.cuCtxSetCurrent(config.contexts[buffer.rank]), "use the device");
  if (done)
    done =
        driver.check(driver.cuMemsetD8Async(hash, 0, 8, streams[buffer.rank]),
                     "clear a hash");
  if (!done)
    return done;
  return ops[buffer.rank]->addHash(buffer.getAddress(), buffer.bytes, hashKey,
                                   hash);
}

Result<void> OracleWorkload::seal(unsigned set) {
  if (!config.task->hasPrepare())
    return fail(FailureKind::Internal, "nothing is repacked here");
  Result<void> done =
      hashBuffer(getBuffer(0, set, task::kPreparedName),
                 getHash(0, set, config.task->inputs.size(), /*isNow=*/false));
  states[set].isSealed = bool(done);
  return done ? synchronizeAll() : done;
}

Result<void> OracleWorkload::resetOutput(unsigned rank, unsigned set,
                                         size_t output) {
  const BufferInfo &buffer = buffers[places[rank][set].outputs[output]];
  if (!config.task->outputs[output].isInPlace)
    return ops[rank]->setPattern(buffer.getAddress(), buffer.bytes,
                                 kPoisonPattern);
  // Nothing to restore before the first fill.
  if (states[set].before.empty())
    return {};
  Result<void> done = driver.check(
      driver.cuCtxSetCurrent(config.contexts[rank]), "use the device");
  if (done)
    done =
        driver.check(driver.cuMemcpyDtoDAsync(buffer.getAddress(),
                                              states[set].before[rank][output],
                                              buffer.bytes, streams[rank]),
                     "restore an output that is in place");
  return done;
}

Result<void> OracleWorkload::synchronizeAll() {
  for (const std::unique_ptr<DeviceOps> &device : ops)
    if (Result<void> done = device->synchronize(); !done)
      return done;
  return {};
}

Result<void> OracleWorkload::prepare(const std::vector<unsigned> &sets,
                                     std::optional<uint64_t> seed) {
  Result<void> done = recordEvent(prepareBegin);
  for (unsigned set : sets) {
    if (seed && !states[set].isFilled)
      return fail(FailureKind::Internal,
                  "a perturbation before the first fill");
    if (done && seed) {
      kept.reset();
      done = perturb(set, *seed + set);
    }
    for (unsigned rank = 0; rank < ranks; ++rank)
      for (size_t i = 0; i < outputBytes.size(); ++i)
        if (done)
          done = resetOutput(rank, set, i);
  }
  for (size_t place : shared)
    if (done)
      done = ops[buffers[place].rank]->setPattern(
          buffers[place].getAddress(), buffers[place].bytes, kPoisonPattern);
  if (done)
    done = recordEvent(prepareEnd);
  if (done)
    done = synchronizeAll();
  float milliseconds = 0;
  if (done)
    done = driver.check(
        driver.cuEventElapsedTime(&milliseconds, prepareBegin, prepareEnd),
        "read events");
  prepareSeconds += milliseconds / 1000;
  return done;
}

Result<void> OracleWorkload::recordEvent(CUevent event) {
  Result<void> done = driver.check(driver.cuCtxSetCurrent(config.contexts[0]),
                                   "use the device");
  return done ? driver.check(driver.cuEventRecord(event, streams[0]),
                             "record an event")
              : done;
}

Result<void> OracleWorkload::checkGuards(unsigned set) {
  states[set].brokenGuards.clear();
  for (const BufferInfo &buffer : buffers) {
    if (buffer.set != set && buffer.set != kAllSets)
      continue;
    DeviceOps &device = *ops[buffer.rank];
    Result<uint64_t> before =
        device.countDifferent(buffer.base, kGuardBytes, kGuardPattern);
    if (!before)
      return forwardFailure(std::move(before));
    Result<uint64_t> after =
        device.countDifferent(buffer.getAddress() + alignUp(buffer.bytes, 4),
                              kGuardBytes, kGuardPattern);
    if (!after)
      return forwardFailure(std::move(after));
    if (*before + *after == 0)
      continue;
    states[set].brokenGuards.push_back(describe(buffer));
    if (Result<void> done = writeGuards(buffer); !done)
      return done;
  }
  return {};
}

Result<void> OracleWorkload::checkInputs(unsigned set) {
  if (Result<void> done = hashInputs(set, /*isNow=*/true); !done)
    return done;
  SetState &state = states[set];
  state.changedInputs.clear();
  const std::vector<Tensor> &inputs = config.task->inputs;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    size_t count = inputs.size() + 1;
    std::vector<uint64_t> words(2 * count);
    Result<void> done = driver.check(
        driver.cuCtxSetCurrent(config.contexts[rank]), "use the device");
    if (done)
      done =
          driver.check(driver.cuMemcpyDtoHAsync(
                           words.data(), getHash(rank, set, 0, /*isNow=*/false),
                           8 * words.size(), streams[rank]),
                       "read hashes");
    if (done)
      done = ops[rank]->synchronize();
    if (!done)
      return done;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (words[i] != words[count + i])
        state.changedInputs.push_back(
            describe(getBuffer(rank, set, inputs[i].name)));
    if (state.isSealed && words[count - 1] != words[2 * count - 1])
      state.changedInputs.push_back(
          describe(getBuffer(rank, set, task::kPreparedName)));
  }
  return {};
}

Result<void> OracleWorkload::capture(unsigned set) {
  SetState &state = states[set];
  if (!state.isFilled)
    return fail(FailureKind::Internal, "capture before fill");
  for (CUcontext context : config.contexts) {
    Result<void> done =
        driver.check(driver.cuCtxSetCurrent(context), "use the device");
    if (done)
      done = driver.check(driver.cuCtxSynchronize(), "wait for the device");
    if (!done)
      return done;
  }
  const std::vector<Tensor> &outputs = config.task->outputs;
  if (state.captures.empty()) {
    state.captures.assign(ranks, std::vector<CUdeviceptr>(outputs.size()));
    for (std::vector<CUdeviceptr> &list : state.captures)
      for (size_t i = 0; i < outputs.size(); ++i) {
        // Rank 0's device compares them all.
        Result<CUdeviceptr> copy = allocate(0, alignUp(outputBytes[i], 256));
        if (!copy)
          return forwardFailure(std::move(copy));
        list[i] = *copy;
      }
  }
  for (unsigned rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < outputs.size(); ++i) {
      CUdeviceptr from = getBuffer(rank, set, outputs[i].name).getAddress();
      CUresult result =
          rank == 0 ? driver.cuMemcpyDtoDAsync(state.captures[rank][i], from,
                                               outputBytes[i], streams[0])
                    : driver.cuMemcpyPeerAsync(
                          state.captures[rank][i], config.contexts[0], from,
                          config.contexts[rank], outputBytes[i], streams[0]);
      if (Result<void> done = driver.check(result, "copy an output"); !done)
        return done;
    }
  Result<void> done = ops[0]->synchronize();
  if (done)
    done = checkGuards(set);
  if (done)
    done = checkInputs(set);
  state.isCaptured = bool(done);
  return done;
}
