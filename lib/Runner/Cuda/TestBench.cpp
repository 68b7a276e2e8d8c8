// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bench of the self-test.

#include "TestBench.h"

#include <algorithm>
#include <chrono>

using namespace d2k;
using namespace d2k::runner;

namespace d2k::embedded {
extern const char *const selfTestKernels;
extern const char *const selfTestTensorKernel;
} // namespace d2k::embedded

static constexpr const char *kFunctionNames[] = {
    "d2k_selftest_copy", "d2k_selftest_read", "d2k_selftest_delay"};
static constexpr const char *kTensorFunctionName = "d2k_selftest_tensor";

static constexpr uint64_t kPageBytes = uint64_t(2) << 20;
/// Three per cent more than the largest amount fit, for `different`.
static constexpr uint64_t kBufferBytes =
    TestBench::kLargestBytes + TestBench::kLargestBytes / 16;

Result<std::unique_ptr<TestBench>> TestBench::create(bool traced) {
  Result<const CudaDriver *> driver = CudaDriver::load();
  if (!driver)
    return forwardFailure(std::move(driver));
  if (traced)
    if (Result<void> started = Sampler::startTracing(); !started)
      return forwardFailure(std::move(started));
  std::unique_ptr<TestBench> bench(new TestBench(**driver));
  if (Result<void> done = bench->open(traced); !done)
    return forwardFailure(std::move(done));
  return bench;
}

int TestBench::getAttribute(CUdevice_attribute attribute) const {
  int value = 0;
  driver.cuDeviceGetAttribute(&value, attribute, device);
  return value;
}

std::string TestBench::getArch() const {
  return "sm_" +
         std::to_string(
             getAttribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
         std::to_string(
             getAttribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

Result<void> TestBench::open(bool traced) {
  Result<void> done =
      driver.check(driver.cuDeviceGet(&device, 0), "find a GPU");
  if (done)
    done = driver.check(driver.cuDevicePrimaryCtxRetain(&context, device),
                        "use the GPU");
  if (done)
    done = driver.check(driver.cuCtxSetCurrent(context), "use the GPU");
  if (done)
    done = driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                        "make a stream");
  if (done)
    done = driver.check(
        driver.cuModuleLoadData(&module, embedded::selfTestKernels),
        "load the kernels of the self-test");
  for (unsigned i = 0; i != 3; ++i)
    if (done)
      done = driver.check(
          driver.cuModuleGetFunction(&functions[i], module, kFunctionNames[i]),
          kFunctionNames[i]);
  // wgmma is of compute capability 9.0 alone.
  if (done && getArch() == "sm_90") {
    done = driver.check(
        driver.cuModuleLoadData(&tensorModule, embedded::selfTestTensorKernel),
        "load the kernel for the tensor cores");
    if (done)
      done = driver.check(driver.cuModuleGetFunction(
                              &functions[unsigned(TestProgram::Kernel::Tensor)],
                              tensorModule, kTensorFunctionName),
                          kTensorFunctionName);
  }
  flushBytes =
      std::max(uint64_t(128) << 20,
               2 * uint64_t(getAttribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)));
  multiprocessors =
      unsigned(getAttribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  if (!done || !traced)
    return done;

  RankContext rank;
  rank.context = context;
  rank.stream = stream;
  rank.device = device;
  rank.call = [this](unsigned set) { return launch(selected, set); };
  Result<std::unique_ptr<Sampler>> made =
      Sampler::create(driver, {std::move(rank)}, /*wantCounters=*/true);
  if (!made)
    return forwardFailure(std::move(made));
  sampler = std::move(*made);
  return {};
}

Result<void> TestBench::makeBuffers() {
  Result<void> done;
  auto allocate = [&](CUdeviceptr &memory, uint64_t bytes) {
    if (done)
      done = driver.check(driver.cuMemAlloc(&memory, bytes),
                          "allocate memory of the GPU");
    if (done)
      done = driver.check(driver.cuMemsetD8Async(memory, 0x3c, bytes, stream),
                          "fill memory of the GPU");
  };
  for (CUdeviceptr *group : {sources, destinations})
    for (unsigned i = 0; i != kBuffers; ++i)
      allocate(group[i], kBufferBytes);
  allocate(flushBuffer, flushBytes);
  if (done)
    done = synchronize();
  return done;
}

TestBench::~TestBench() {
  sampler.reset();
  for (CUdeviceptr *group : {sources, destinations})
    for (unsigned i = 0; i != kBuffers; ++i)
      if (group[i])
        driver.cuMemFree(group[i]);
  if (flushBuffer)
    driver.cuMemFree(flushBuffer);
  for (CUmodule loaded : {module, tensorModule})
    if (loaded)
      driver.cuModuleUnload(loaded);
  if (stream)
    driver.cuStreamDestroy(stream);
  if (context)
    driver.cuDevicePrimaryCtxRelease(device);
}

/// Bytes that a call of \p program touches.
static uint64_t getBytes(const TestProgram &program) {
  return program.kernel == TestProgram::Kernel::Delay ||
                 program.kernel == TestProgram::Kernel::Tensor
             ? 1
         : program.kernel == TestProgram::Kernel::Read ? program.amount
                                                       : 2 * program.amount;
}

unsigned TestBench::getSets(const TestProgram &program) const {
  return planSets(getBytes(program),
                  uint64_t(getAttribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)));
}

int TestBench::launch(const TestProgram &program, unsigned set) {
  using Kernel = TestProgram::Kernel;
  constexpr unsigned kThreads = 256;
  uint64_t bytes = 0, count = program.amount;
  unsigned blocks = 1, threads = kThreads;
  switch (program.kernel) {
  case Kernel::Copy:
  case Kernel::Read:
    bytes = program.amount;
    count = bytes / 16;
    // As many blocks as are resident at once, or as there is work for.
    blocks = unsigned(std::min<uint64_t>((count + kThreads - 1) / kThreads,
                                         uint64_t(multiprocessors) * 8));
    break;
  case Kernel::Delay:
    threads = 1;
    break;
  case Kernel::Tensor:
    blocks = multiprocessors;
    break;
  }
  // Set after set in each buffer, 2 MB pages apart, so that they have different
  // places in memory.
  uint64_t stride = (bytes / kPageBytes + 1) * kPageBytes;
  uint64_t fit = std::max<uint64_t>(1, kBufferBytes / stride);
  uint64_t offset = set / kBuffers % fit * stride;
  CUdeviceptr source = sources[set % kBuffers] + offset;
  CUdeviceptr destination = destinations[set % kBuffers] + offset;
  void *parameters[] = {&source, &destination, &count};
  return driver.cuLaunchKernel(functions[unsigned(program.kernel)], blocks, 1,
                               1, threads, 1, 1, 0, stream, parameters,
                               nullptr);
}

Result<void> TestBench::writeFlush() {
  return driver.check(
      driver.cuMemsetD8Async(flushBuffer, 0x3d, flushBytes, stream),
      "write the flush buffer");
}

Result<void> TestBench::readFlush() {
  uint64_t count = flushBytes / 16;
  void *parameters[] = {&flushBuffer, &flushBuffer, &count};
  return driver.check(
      driver.cuLaunchKernel(functions[unsigned(TestProgram::Kernel::Read)],
                            multiprocessors * 8, 1, 1, 256, 1, 1, 0, stream,
                            parameters, nullptr),
      "read the flush buffer");
}

Result<void> TestBench::synchronize() {
  return driver.check(driver.cuCtxSynchronize(), "wait for the GPU");
}

Result<SampleRecord> BenchSource::sample(Side side,
                                         const SampleRequest &request) {
  bench.select(programs[unsigned(side)]);
  Result<SampleRecord> record = bench.getSampler().sample(request);
  if (record && side == Side::Submission)
    record->spanNs *= lie;
  return record;
}

Result<std::pair<BatchRecord, double>>
BenchSource::batch(Side side, const BatchRequest &request) {
  bench.select(programs[unsigned(side)]);
  auto start = std::chrono::steady_clock::now();
  Result<BatchRecord> record = bench.getSampler().batch(request);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (!record)
    return forwardFailure(std::move(record));
  if (side == Side::Submission)
    record->spanNsPerCall *= lie;
  return std::pair(*record, seconds);
}
