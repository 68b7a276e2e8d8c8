// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA runtime that fake submissions, references and baselines
// use. They are compiled by a host compiler with __global__ and <<<>>> left
// out: a kernel is a host function that gets its array of parameters.

#include "FakeState.h"

#include "d2k/Support/Elf.h"
#include "d2k/Support/Files.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <set>
#include <string>

#include <dlfcn.h>

using namespace d2k::fake;

static cudaError_t convert(CUresult result) {
  return static_cast<cudaError_t>(result);
}

/// What the runtime does with a library before its first launch: the module
/// image goes to the driver, and CUPTI hears of it.
static void loadModule(const char *library) {
  static std::set<std::string> *loaded = new std::set<std::string>;
  if (!loaded->insert(library).second)
    return;
  d2k::Result<std::string> bytes = d2k::readFile(library);
  if (!bytes)
    return;
  d2k::Result<d2k::ElfFile> file = d2k::ElfFile::parse(*bytes, library);
  if (!file)
    return;
  if (const d2k::ElfSection *image = file->findSection(".nv_fatbin"))
    announceModule(image->contents.data(), image->contents.size());
}

extern "C" {

cudaError_t cudaGetLastError() { return convert(getState().sticky); }

cudaError_t cudaPeekAtLastError() { return convert(getState().sticky); }

const char *cudaGetErrorString(cudaError_t error) {
  const char *text = "unrecognized error code";
  cuGetErrorString(static_cast<CUresult>(error), &text);
  return text;
}

cudaError_t cudaGetDevice(int *device) {
  *device = getCurrentDevice();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                   int device) {
  // The numbers of the runtime's attributes are those of the driver's.
  return convert(cuDeviceGetAttribute(
      value, static_cast<CUdevice_attribute>(attribute), device));
}

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  return convert(allocate(reinterpret_cast<CUdeviceptr *>(pointer), bytes));
}

cudaError_t cudaFree(void *pointer) {
  return convert(release(reinterpret_cast<CUdeviceptr>(pointer)));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind, cudaStream_t stream) {
  return convert(cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(to),
                                   reinterpret_cast<CUdeviceptr>(from), bytes,
                                   stream));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                            cudaStream_t stream) {
  return convert(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(to),
                                 static_cast<unsigned char>(value), bytes,
                                 stream));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t toPitch, const void *from,
                              size_t fromPitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  for (size_t row = 0; row < height && error == cudaSuccess; ++row)
    error = cudaMemcpyAsync(static_cast<char *>(to) + row * toPitch,
                            static_cast<const char *>(from) + row * fromPitch,
                            width, kind, stream);
  return error;
}

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t) {
  return cudaFree(pointer);
}

cudaError_t cudaSetDevice(int device) {
  CUcontext context = nullptr;
  CUresult error = cuDevicePrimaryCtxRetain(&context, device);
  return convert(error ? error : cuCtxSetCurrent(context));
}

cudaError_t cudaGetDeviceCount(int *count) {
  return convert(cuDeviceGetCount(count));
}

// Everything is done when a call returns: streams and events only have names.
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  return convert(cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  return cudaStreamCreateWithFlags(stream, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return convert(cuStreamDestroy(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags) {
  return convert(cuStreamWaitEvent(stream, event, flags));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  return convert(cuEventCreate(event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return convert(cuEventDestroy(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return convert(cuEventRecord(event, stream));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return convert(cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start,
                                 cudaEvent_t end) {
  return convert(cuEventElapsedTime(milliseconds, start, end));
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return convert(getState().sticky);
}

cudaError_t cudaDeviceSynchronize() { return convert(getState().sticky); }

cudaError_t cudaLaunchKernel(const void *function, dim3, dim3,
                             void **parameters, size_t, cudaStream_t stream) {
  if (getState().sticky == CUDA_SUCCESS && !function)
    getState().sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
  Dl_info info = {};
  const char *name = "unnamed";
  if (function && ::dladdr(function, &info) && info.dli_sname) {
    name = info.dli_sname;
    loadModule(info.dli_fname);
  }
  return convert(runActivity(ActivityKind::Kernel, name, stream, 0, [&] {
    reinterpret_cast<void (*)(void **)>(const_cast<void *>(function))(
        parameters);
  }));
}

} // extern "C"
