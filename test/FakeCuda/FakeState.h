// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA driver, runtime and CUPTI for machines without a GPU, in one shared
// library: "device memory" is host memory that processes share through files,
// and everything runs at once on the CPU. It is there for the protocol, the
// failure paths and the commands; it proves nothing about a GPU.
//
// Variables of the environment:
//   D2K_FAKE_CUDA_MEMORY  folder for exported memory (default /dev/shm)
//   D2K_FAKE_CUDA         options, separated by commas:
//     no-ipc      cuIpcGetMemHandle says that it is not supported
//     no-ipc-open cuIpcOpenMemHandle fails, as it does in some containers
//     throttled   NVML says that the GPU is too hot
//     no-cupti    CUPTI refuses tracing for lack of permission
//     devices=N   number of devices (default 1)
//     sm_100      its compute capability is 10.0, not 9.0
//     two_sms     it has 2 SMs, so that persistent blocks go round
//     no-work     kernels, copies and fills are checked but not done
//
// A "kernel" of a fake submission is a host function `void kernel(void **)`
// that cudaLaunchKernel is given; it gets the array of parameters. A null
// kernel faults. fake-nvcc makes such libraries and puts an object file with
// the kernels into their section .nv_fatbin: the "module image".

#ifndef D2K_TEST_FAKECUDA_FAKESTATE_H
#define D2K_TEST_FAKECUDA_FAKESTATE_H

#include <cuda.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace d2k::fake {

/// One allocation of "device memory".
struct Allocation {
  void *address = nullptr;
  size_t bytes = 0;
  int device = 0;
  /// The file behind it; without a name until it is exported.
  int fd = -1;
  std::string path;
};

/// Everything that the driver of a process knows.
struct State {
  std::mutex mutex;
  std::map<CUdeviceptr, Allocation> allocations;
  uint64_t allocatedBytes = 0;
  /// A fault of a "kernel" stays, as on a GPU.
  CUresult sticky = CUDA_SUCCESS;
};

State &getState();

/// Whether the list in D2K_FAKE_CUDA has \p option.
bool hasOption(const char *option);
unsigned getDeviceCount();
/// The device whose context is current in this thread.
int getCurrentDevice();
/// CLOCK_MONOTONIC in nanoseconds: the clock of the "GPU".
uint64_t getNanoseconds();

CUresult allocate(CUdeviceptr *pointer, size_t bytes);
CUresult release(CUdeviceptr pointer);

/// Kinds of device activity.
enum class ActivityKind : uint8_t { Kernel, Memcpy, Memset };

/// Hands an activity of the device to CUPTI, when somebody listens.
void recordActivity(ActivityKind kind, const char *name, CUstream stream,
                    uint64_t start, uint64_t end, uint64_t bytes);

/// Tells CUPTI's subscriber that a module was loaded.
void announceModule(const void *image, size_t bytes);

/// Runs \p work as one activity.
template <typename Work>
CUresult runActivity(ActivityKind kind, const char *name, CUstream stream,
                     uint64_t bytes, Work &&work) {
  if (getState().sticky != CUDA_SUCCESS)
    return getState().sticky;
  uint64_t start = getNanoseconds();
  if (!hasOption("no-work"))
    work();
  recordActivity(kind, name, stream, start, getNanoseconds(), bytes);
  return CUDA_SUCCESS;
}

} // namespace d2k::fake

#endif // D2K_TEST_FAKECUDA_FAKESTATE_H
