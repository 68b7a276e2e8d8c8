// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trusted kernels on one device: what the harness does to buffers. All work
// goes to one stream, in order.

#ifndef D2K_RUNNER_DEVICE_DEVICEOPS_H
#define D2K_RUNNER_DEVICE_DEVICEOPS_H

#include "Cuda/CudaDriver.h"
#include "Jobs.h"

#include <memory>

namespace d2k::runner {

/// Launches the trusted kernels. Errors of a launch are found when the stream
/// is waited for at the latest; all are of kind Environment.
class DeviceOps {
public:
  /// Loads the kernels into \p context. Fails when this build has none, or none
  /// for the device.
  static Result<std::unique_ptr<DeviceOps>>
  create(const CudaDriver &driver, CUcontext context, CUstream stream);
  ~DeviceOps();
  DeviceOps(const DeviceOps &) = delete;
  DeviceOps &operator=(const DeviceOps &) = delete;

  /// Waits for the stream.
  Result<void> synchronize();

  /// Draws \p count elements.
  Result<void> fill(const task::DrawSpec &spec, CUdeviceptr data, int64_t count,
                    uint64_t seed);
  /// Redraws a random cache line in \p every of \p count elements, and lets
  /// their hash under \p key at \p sum follow.
  Result<void> perturb(const task::DrawSpec &spec, CUdeviceptr data,
                       int64_t count, uint64_t seed, uint64_t every,
                       uint64_t key, CUdeviceptr sum);
  /// Fills with a pattern of four bytes.
  Result<void> setPattern(CUdeviceptr data, uint64_t bytes, uint32_t pattern);
  /// Adds a hash under the private \p key to the 64-bit word \p sum in device
  /// memory.
  Result<void> addHash(CUdeviceptr data, uint64_t bytes, uint64_t key,
                       CUdeviceptr sum);
  /// Reads all of the memory and writes none of it.
  Result<void> readFlush(CUdeviceptr data, uint64_t bytes);
  /// Keeps the stream busy for that long.
  Result<void> spin(uint64_t nanoseconds);
  /// globaltimer in nanoseconds and clock64 of one SM, to two 64-bit words.
  Result<void> readClocks(CUdeviceptr twoWords);
  /// Waits on the device until \p ranks streams have come here \p epoch times
  /// since *signal was zero. \p signal is in memory that all devices reach.
  Result<void> barrier(CUdeviceptr signal, unsigned ranks, unsigned epoch);

  /// These wait for their result.
  /// Bytes that are not those of the pattern.
  Result<uint64_t> countDifferent(CUdeviceptr data, uint64_t bytes,
                                  uint32_t pattern);
  /// A hash under the private \p key.
  Result<uint64_t> hash(CUdeviceptr data, uint64_t bytes, uint64_t key);
  Result<double> sum(CUdeviceptr doubles, int64_t count);
  Result<CompareResult> compare(const CompareJob &job);
  Result<ElementReport> explain(const CompareJob &job, int64_t index);

private:
  DeviceOps(const CudaDriver &driver, CUcontext context, CUstream stream)
      : driver(driver), context(context), stream(stream) {}

  Result<void> load();
  /// Launches the kernel \p index of Kernels.def over \p items items.
  Result<void> launch(unsigned index, const void *job, int64_t items);
  /// The same, with \p initial in the result buffer before, and what is there
  /// afterwards.
  template <typename T, typename Job>
  Result<T> launchAndRead(unsigned index, Job job, T *Job::*member,
                          const T &initial, int64_t items);

  const CudaDriver &driver;
  CUcontext context;
  CUstream stream;
  CUmodule module = nullptr;
#define D2K_KERNEL(name, Job) +1
  static constexpr unsigned kKernels = 0
#include "Kernels.def"
      ;
  CUfunction functions[kKernels] = {};
  unsigned maxBlocks = 0;
  /// Room for any kernel's result.
  CUdeviceptr result = 0;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_DEVICE_DEVICEOPS_H
