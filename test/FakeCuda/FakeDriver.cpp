// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of CudaDriver.def.

#include "FakeState.h"

#include "Device/HostKernels.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace d2k::fake;

State &d2k::fake::getState() {
  // Never destroyed: threads of a submission may outlive main.
  static State *state = new State;
  return *state;
}

bool d2k::fake::hasOption(const char *option) {
  const char *list = std::getenv("D2K_FAKE_CUDA");
  return list &&
         ("," + std::string(list) + ",")
                 .find("," + std::string(option) + ",") != std::string::npos;
}

unsigned d2k::fake::getDeviceCount() {
  const char *list = std::getenv("D2K_FAKE_CUDA");
  const char *count = list ? std::strstr(list, "devices=") : nullptr;
  return count ? unsigned(std::atoi(count + 8)) : 1;
}

uint64_t d2k::fake::getNanoseconds() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

/// A context is the number of its device, plus 1 so that it is not null.
static thread_local CUcontext currentContext = nullptr;

int d2k::fake::getCurrentDevice() {
  return currentContext ? int(reinterpret_cast<uintptr_t>(currentContext)) - 1
                        : 0;
}

static const char *getMemoryFolder() {
  const char *folder = std::getenv("D2K_FAKE_CUDA_MEMORY");
  return folder && *folder ? folder : "/dev/shm";
}

/// Memory of the whole fake device.
static constexpr uint64_t kDeviceBytes = uint64_t(4) << 30;

CUresult d2k::fake::allocate(CUdeviceptr *pointer, size_t bytes) {
  State &state = getState();
  if (state.sticky != CUDA_SUCCESS)
    return state.sticky;
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(state.mutex);
  if (bytes > kDeviceBytes - state.allocatedBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.device = getCurrentDevice();
  // A file without a name vanishes with its last user, however that ends.
  allocation.fd =
      ::open(getMemoryFolder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (allocation.fd < 0 || ::ftruncate(allocation.fd, off_t(bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  allocation.address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED, allocation.fd, 0);
  if (allocation.address == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  state.allocatedBytes += bytes;
  *pointer = reinterpret_cast<CUdeviceptr>(allocation.address);
  state.allocations[*pointer] = allocation;
  return CUDA_SUCCESS;
}

CUresult d2k::fake::release(CUdeviceptr pointer) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto found = state.allocations.find(pointer);
  if (found == state.allocations.end())
    return CUDA_ERROR_INVALID_VALUE;
  Allocation &allocation = found->second;
  ::munmap(allocation.address, allocation.bytes);
  if (allocation.fd >= 0) {
    ::close(allocation.fd);
    state.allocatedBytes -= allocation.bytes;
  }
  if (!allocation.path.empty())
    ::unlink(allocation.path.c_str());
  state.allocations.erase(found);
  return CUDA_SUCCESS;
}

extern "C" {

//===----------------------------------------------------------------------===//
// Errors, versions, devices
//===----------------------------------------------------------------------===//

CUresult cuInit(unsigned) {
  return getDeviceCount() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  switch (error) {
  case CUDA_SUCCESS:
    *name = "CUDA_SUCCESS";
    break;
  case CUDA_ERROR_OUT_OF_MEMORY:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case CUDA_ERROR_NO_DEVICE:
    *name = "CUDA_ERROR_NO_DEVICE";
    break;
  case CUDA_ERROR_NOT_SUPPORTED:
    *name = "CUDA_ERROR_NOT_SUPPORTED";
    break;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    break;
  case CUDA_ERROR_INVALID_VALUE:
    *name = "CUDA_ERROR_INVALID_VALUE";
    break;
  case CUDA_ERROR_NOT_FOUND:
    *name = "CUDA_ERROR_NOT_FOUND";
    break;
  case CUDA_ERROR_LAUNCH_FAILED:
    *name = "CUDA_ERROR_LAUNCH_FAILED";
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  switch (error) {
  case CUDA_SUCCESS:
    *text = "no error";
    break;
  case CUDA_ERROR_OUT_OF_MEMORY:
    *text = "out of memory";
    break;
  case CUDA_ERROR_NO_DEVICE:
    *text = "no CUDA-capable device is detected";
    break;
  case CUDA_ERROR_NOT_SUPPORTED:
    *text = "operation not supported";
    break;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    *text = "an illegal memory access was encountered";
    break;
  case CUDA_ERROR_INVALID_VALUE:
    *text = "invalid argument";
    break;
  case CUDA_ERROR_NOT_FOUND:
    *text = "named symbol not found";
    break;
  case CUDA_ERROR_LAUNCH_FAILED:
    *text = "unspecified launch failure";
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (ordinal < 0 || ordinal >= int(getDeviceCount()))
    return CUDA_ERROR_INVALID_VALUE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = int(getDeviceCount());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::strncpy(name, "Fake GPU", size_t(length));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  std::memset(uuid, 0, sizeof(*uuid));
  uuid->bytes[15] = char(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice) {
  std::strncpy(id, "0000:00:00.0", size_t(length));
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  *bytes = kDeviceBytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice, CUdevice) {
  *can = 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  // An H200, but with an L2 that a CPU can read in no time. With the option
  // sm_100 it says that it is a B200, with two_sms that it is a small one.
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = hasOption("sm_100") ? 10 : 9;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = hasOption("two_sms") ? 2 : 132;
    break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = 64 << 10;
    break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    *value = 1980000;
    break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    *value = 3201000;
    break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    *value = 6144;
    break;
  default:
    *value = 1;
    break;
  }
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(uintptr_t(device) + 1);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }

CUresult cuCtxSetCurrent(CUcontext context) {
  currentContext = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = currentContext;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  *device = getCurrentDevice();
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() { return getState().sticky; }

CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_SUCCESS; }

CUresult cuCtxResetPersistingL2Cache() { return getState().sticky; }

CUresult cuCtxSetLimit(CUlimit, size_t) { return CUDA_SUCCESS; }

CUresult cuCtxGetLimit(size_t *value, CUlimit) {
  *value = 0;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *total = kDeviceBytes;
  *free = kDeviceBytes - getState().allocatedBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes) {
  return allocate(pointer, bytes);
}

CUresult cuMemFree(CUdeviceptr pointer) { return release(pointer); }

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  *pointer = std::calloc(1, bytes);
  return *pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFreeHost(void *pointer) {
  std::free(pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *, size_t, unsigned) { return CUDA_SUCCESS; }

CUresult cuMemHostUnregister(void *) { return CUDA_SUCCESS; }

static CUresult copy(CUstream stream, void *to, const void *from,
                     size_t bytes) {
  return runActivity(ActivityKind::Memcpy, nullptr, stream, bytes,
                     [&] { std::memmove(to, from, bytes); });
}

static void *getHost(CUdeviceptr pointer) {
  return reinterpret_cast<void *>(pointer);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  return copy(nullptr, getHost(to), from, bytes);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  return copy(nullptr, to, getHost(from), bytes);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                           CUstream stream) {
  return copy(stream, getHost(to), from, bytes);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  return copy(stream, to, getHost(from), bytes);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  return copy(stream, getHost(to), getHost(from), bytes);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from,
                           CUcontext, size_t bytes, CUstream stream) {
  return copy(stream, getHost(to), getHost(from), bytes);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  return runActivity(ActivityKind::Memset, nullptr, stream, count,
                     [&] { std::memset(getHost(to), value, count); });
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  return runActivity(ActivityKind::Memset, nullptr, stream, 4 * count, [&] {
    std::fill_n(static_cast<uint32_t *>(getHost(to)), count, value);
  });
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer) {
  if (hasOption("no-ipc"))
    return CUDA_ERROR_NOT_SUPPORTED;
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto found = state.allocations.find(pointer);
  if (found == state.allocations.end() || found->second.fd < 0)
    return CUDA_ERROR_INVALID_VALUE;
  Allocation &allocation = found->second;
  if (allocation.path.empty()) {
    std::string open = "/proc/self/fd/" + std::to_string(allocation.fd);
    // Process numbers are those of a namespace, and killed processes leave
    // their files behind: a name may be taken.
    std::random_device random;
    int done = -1;
    for (int attempt = 0; attempt < 16 && done != 0; ++attempt) {
      allocation.path = std::string(getMemoryFolder()) + "/d2k-fake-" +
                        std::to_string(::getpid()) + "-" +
                        std::to_string(random());
      done = ::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, allocation.path.c_str(),
                      AT_SYMLINK_FOLLOW);
      if (done != 0 && errno != EEXIST)
        break;
    }
    if (done != 0) {
      allocation.path.clear();
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  // The name, and the size behind it.
  std::memset(handle->reserved, 0, sizeof(handle->reserved));
  size_t slash = allocation.path.rfind('/');
  std::strncpy(handle->reserved, allocation.path.c_str() + slash + 1,
               sizeof(handle->reserved) - 9);
  uint64_t bytes = allocation.bytes;
  std::memcpy(handle->reserved + sizeof(handle->reserved) - 8, &bytes, 8);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle,
                            unsigned) {
  if (hasOption("no-ipc-open"))
    return CUDA_ERROR_INVALID_CONTEXT;
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  uint64_t bytes = 0;
  std::memcpy(&bytes, handle.reserved + sizeof(handle.reserved) - 8, 8);
  std::string path = std::string(getMemoryFolder()) + "/" + handle.reserved;
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return CUDA_ERROR_INVALID_VALUE;
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.device = getCurrentDevice();
  allocation.address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (allocation.address == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<CUdeviceptr>(allocation.address);
  state.allocations[*pointer] = allocation;
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) { return release(pointer); }

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  static std::atomic<uintptr_t> next = 16;
  *stream = reinterpret_cast<CUstream>(++next);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }

CUresult cuStreamSynchronize(CUstream) { return getState().sticky; }

CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  return getState().sticky;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = reinterpret_cast<CUevent>(new uint64_t(0));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  delete reinterpret_cast<uint64_t *>(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream) {
  *reinterpret_cast<uint64_t *>(event) = getNanoseconds();
  return getState().sticky;
}

CUresult cuEventSynchronize(CUevent) { return getState().sticky; }

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  *milliseconds = float(double(*reinterpret_cast<uint64_t *>(end) -
                               *reinterpret_cast<uint64_t *>(start)) *
                        1e-6);
  return getState().sticky;
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

namespace {

struct Function {
  std::string name;
  d2k::runner::HostKernel kernel;
};

} // namespace

CUresult cuModuleLoadData(CUmodule *module, const void *) {
  *module = reinterpret_cast<CUmodule>(uintptr_t(1));
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }

CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  d2k::runner::HostKernel kernel = d2k::runner::findHostKernel(name);
  if (!kernel)
    return CUDA_ERROR_NOT_FOUND;
  // Lives as long as its module, which is never unloaded for good.
  static std::map<std::string, Function> functions;
  *function = reinterpret_cast<CUfunction>(
      &functions.try_emplace(name, Function{name, kernel}).first->second);
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute, CUfunction) {
  *value = 1024;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction,
                                                     int, size_t) {
  *blocks = 2;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned, CUstream stream,
                        void **parameters, void **) {
  const Function *found = reinterpret_cast<Function *>(function);
  // There is no L2 to flush, and reading as much memory on a CPU takes ages.
  bool isFlush = found->name == "d2k_readFlush";
  return runActivity(ActivityKind::Kernel, found->name.c_str(), stream, 0, [&] {
    d2k::runner::KernelGrid grid = {{gridX, gridY, gridZ},
                                    {blockX, blockY, blockZ}};
    if (!isFlush)
      found->kernel(grid, parameters);
  });
}

CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void *data) {
  if (getState().sticky != CUDA_SUCCESS)
    return getState().sticky;
  function(data);
  return CUDA_SUCCESS;
}

} // extern "C"
