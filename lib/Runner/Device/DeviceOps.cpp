// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of the trusted kernels through the driver.

#include "DeviceOps.h"

#include "DeviceImage.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::runner;

namespace {

/// Indices into DeviceOps::functions.
enum Kernel : unsigned {
#define D2K_KERNEL(name, Job) Kernel_##name,
#include "Kernels.def"
};

constexpr const char *kKernelNames[] = {
#define D2K_KERNEL(name, Job) "d2k_" #name,
#include "Kernels.def"
};

/// Threads of a block; d2k_compare reduces over as many.
constexpr unsigned kThreads = 256;
/// Blocks on a multiprocessor: enough to keep its memory busy.
constexpr unsigned kBlocksPerSm = 8;

constexpr size_t kResultBytes = 256;

} // namespace

static_assert(sizeof(CompareResult) <= kResultBytes &&
                  sizeof(ElementReport) <= kResultBytes,
              "results of kernels fit the result buffer");

/// A device pointer as the kernels' structures have it.
template <typename T = void>
static T *asPointer(CUdeviceptr address) {
  return reinterpret_cast<T *>(static_cast<uintptr_t>(address));
}

Result<std::unique_ptr<DeviceOps>> DeviceOps::create(const CudaDriver &driver,
                                                     CUcontext context,
                                                     CUstream stream) {
  std::unique_ptr<DeviceOps> ops(new DeviceOps(driver, context, stream));
  if (Result<void> loaded = ops->load(); !loaded)
    return forwardFailure(std::move(loaded));
  return ops;
}

Result<void> DeviceOps::load() {
  auto check = [&](CUresult result, const char *what) {
    return driver.check(result, what);
  };
  Result<void> done = check(driver.cuCtxSetCurrent(context), "use the device");
  if (!done)
    return done;
  done = check(driver.cuModuleLoadData(&module, kDeviceImage),
               "load the harness's own kernels");
  if (!done && !kDeviceImageHasCode)
    return fail(FailureKind::Environment,
                "this build has no device code: configure it again where nvcc "
                "is found (PATH, CUDA_HOME or D2K_NVCC)");
  for (unsigned i = 0; done && i < kKernels; ++i)
    done = check(
        driver.cuModuleGetFunction(&functions[i], module, kKernelNames[i]),
        kKernelNames[i]);
  CUdevice device = 0;
  int processors = 0;
  if (done)
    done = check(driver.cuCtxGetDevice(&device), "ask for the device");
  if (done)
    done = check(
        driver.cuDeviceGetAttribute(
            &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
        "count the multiprocessors");
  if (done)
    done = check(driver.cuMemAlloc(&result, kResultBytes),
                 "allocate memory for results");
  maxBlocks = unsigned(std::max(processors, 1)) * kBlocksPerSm;
  return done;
}

DeviceOps::~DeviceOps() {
  driver.cuCtxSetCurrent(context);
  if (result)
    driver.cuMemFree(result);
  if (module)
    driver.cuModuleUnload(module);
}

Result<void> DeviceOps::launch(unsigned index, const void *job, int64_t items) {
  Result<void> current =
      driver.check(driver.cuCtxSetCurrent(context), "use the device");
  if (!current || items <= 0)
    return current;
  unsigned blocks =
      unsigned(std::min<int64_t>((items + kThreads - 1) / kThreads, maxBlocks));
  // One item is work for one thread: barriers and clocks count on it.
  unsigned threads = items == 1 ? 1 : kThreads;
  void *parameters[] = {const_cast<void *>(job)};
  return driver.check(driver.cuLaunchKernel(functions[index], blocks, 1, 1,
                                            threads, 1, 1, 0, stream,
                                            parameters, nullptr),
                      kKernelNames[index]);
}

Result<void> DeviceOps::synchronize() {
  Result<void> current =
      driver.check(driver.cuCtxSetCurrent(context), "use the device");
  if (!current)
    return current;
  return driver.check(driver.cuStreamSynchronize(stream),
                      "wait for the harness's own kernels");
}

template <typename T, typename Job>
Result<T> DeviceOps::launchAndRead(unsigned index, Job job, T *Job::*member,
                                   const T &initial, int64_t items) {
  job.*member = asPointer<T>(result);
  T value = initial;
  Result<void> done =
      driver.check(driver.cuCtxSetCurrent(context), "use the device");
  if (done)
    done = driver.check(
        driver.cuMemcpyHtoDAsync(result, &value, sizeof(T), stream),
        "clear a result");
  if (done)
    done = launch(index, &job, items);
  if (done)
    done = driver.check(
        driver.cuMemcpyDtoHAsync(&value, result, sizeof(T), stream),
        "read a result");
  if (done)
    done = synchronize();
  if (!done)
    return forwardFailure(std::move(done));
  return value;
}

Result<void> DeviceOps::fill(const task::DrawSpec &spec, CUdeviceptr data,
                             int64_t count, uint64_t seed) {
  FillJob job = {spec, asPointer(data), count, seed};
  int64_t perItem = getElementsPerItem(spec.type);
  return launch(Kernel_fill, &job, (count + perItem - 1) / perItem);
}

Result<void> DeviceOps::perturb(const task::DrawSpec &spec, CUdeviceptr data,
                                int64_t count, uint64_t seed, uint64_t every,
                                uint64_t key, CUdeviceptr sum) {
  int64_t bytes = (count * task::getElementBits(spec.type) + 7) / 8;
  PerturbJob job = {
      {spec, asPointer(data), count, seed},
      every,
      {asPointer(data), bytes, key, asPointer<unsigned long long>(sum)}};
  // Whole warps, as one item would be a single thread.
  return launch(Kernel_perturb, &job, std::max<int64_t>(getLines(job), 2));
}

Result<void> DeviceOps::setPattern(CUdeviceptr data, uint64_t bytes,
                                   uint32_t pattern) {
  PatternJob job = {asPointer(data), int64_t(bytes), pattern, nullptr};
  return launch(Kernel_setPattern, &job, int64_t((bytes + 3) / 4));
}

/// Whole warps add up their parts of a hash, so never a single thread.
static int64_t getHashItems(uint64_t bytes) {
  return std::max<int64_t>(int64_t((bytes + 7) / 8), kThreads);
}

Result<void> DeviceOps::addHash(CUdeviceptr data, uint64_t bytes, uint64_t key,
                                CUdeviceptr sum) {
  HashJob job = {asPointer(data), int64_t(bytes), key,
                 asPointer<unsigned long long>(sum)};
  return launch(Kernel_hash, &job, getHashItems(bytes));
}

Result<void> DeviceOps::readFlush(CUdeviceptr data, uint64_t bytes) {
  FlushJob job = {asPointer(data), int64_t(bytes), asPointer<uint32_t>(result)};
  return launch(Kernel_readFlush, &job, int64_t(bytes / 16));
}

Result<void> DeviceOps::spin(uint64_t nanoseconds) {
  SpinJob job = {nanoseconds};
  return launch(Kernel_spin, &job, 1);
}

Result<void> DeviceOps::readClocks(CUdeviceptr twoWords) {
  ClockJob job = {asPointer<unsigned long long>(twoWords)};
  return launch(Kernel_readClocks, &job, 1);
}

Result<void> DeviceOps::barrier(CUdeviceptr signal, unsigned ranks,
                                unsigned epoch) {
  BarrierJob job = {asPointer<unsigned>(signal), ranks, epoch};
  return launch(Kernel_barrier, &job, 1);
}

Result<uint64_t> DeviceOps::countDifferent(CUdeviceptr data, uint64_t bytes,
                                           uint32_t pattern) {
  PatternJob job = {asPointer(data), int64_t(bytes), pattern, nullptr};
  return launchAndRead(Kernel_countDifferent, job, &PatternJob::count, 0ull,
                       int64_t(bytes));
}

Result<uint64_t> DeviceOps::hash(CUdeviceptr data, uint64_t bytes,
                                 uint64_t key) {
  HashJob job = {asPointer(data), int64_t(bytes), key, nullptr};
  return launchAndRead(Kernel_hash, job, &HashJob::sum, 0ull,
                       getHashItems(bytes));
}

Result<double> DeviceOps::sum(CUdeviceptr doubles, int64_t count) {
  SumJob job = {asPointer<const double>(doubles), count, nullptr};
  return launchAndRead(Kernel_sum, job, &SumJob::sum, 0.0,
                       std::max<int64_t>(count, kThreads));
}

Result<CompareResult> DeviceOps::compare(const CompareJob &job) {
  CompareAllJob all = {job, nullptr};
  return launchAndRead(Kernel_compare, all, &CompareAllJob::result,
                       makeEmptyResult(),
                       std::max<int64_t>(getItems(job), kThreads));
}

Result<ElementReport> DeviceOps::explain(const CompareJob &job, int64_t index) {
  ExplainJob one = {job, index, nullptr};
  return launchAndRead(Kernel_explain, one, &ExplainJob::report,
                       ElementReport(), 1);
}
