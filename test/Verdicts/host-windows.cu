// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// L2 access windows.
//
// VERDICTS arch=sm_90a read=host

#include <cuda_runtime.h>

__global__ void scale(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

// EXPECT window: l2_access_window present: persisting window on the stream
extern "C" void window(const float *a, float *b, cudaStream_t s) {
  cudaStreamAttrValue v = {};
  v.accessPolicyWindow.base_ptr = (void *)a;
  v.accessPolicyWindow.num_bytes = 4 << 20;
  v.accessPolicyWindow.hitRatio = 1.f;
  v.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  v.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v);
  scale<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT windowNormal: l2_access_window absent: a window of 0 bytes (it resets the policy)
extern "C" void windowNormal(const float *a, float *b, cudaStream_t s) {
  cudaStreamAttrValue v = {};
  v.accessPolicyWindow.base_ptr = (void *)a;
  v.accessPolicyWindow.num_bytes = 0;
  v.accessPolicyWindow.hitRatio = 1.f;
  v.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  v.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v);
  scale<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT windowProp: l2_access_window absent:
//   hit and miss property are both normal: no persisting, no streaming
extern "C" void windowProp(const float *a, float *b, cudaStream_t s) {
  cudaLaunchConfig_t c = {};
  c.gridDim = 4096;
  c.blockDim = 256;
  c.stream = s;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeAccessPolicyWindow;
  at[0].val.accessPolicyWindow = {(void *)a, 4 << 20, 1.f, cudaAccessPropertyNormal,
                                  cudaAccessPropertyNormal};
  c.attrs = at;
  c.numAttrs = 1;
  cudaLaunchKernelEx(&c, scale, a, b, 1 << 20);
}

// EXPECT windowLaunch: l2_access_window present: streaming window as a launch attribute
extern "C" void windowLaunch(const float *a, float *b, cudaStream_t s) {
  cudaLaunchConfig_t c = {};
  c.gridDim = 4096;
  c.blockDim = 256;
  c.stream = s;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeAccessPolicyWindow;
  at[0].val.accessPolicyWindow = {(void *)a, 4 << 20, 1.f, cudaAccessPropertyStreaming,
                                  cudaAccessPropertyNormal};
  c.attrs = at;
  c.numAttrs = 1;
  cudaLaunchKernelEx(&c, scale, a, b, 1 << 20);
}

// EXPECT windowLater: l2_access_window absent: set on another stream that no kernel uses
extern "C" void windowLater(const float *a, float *b, cudaStream_t s) {
  static cudaStream_t other = [] {
    cudaStream_t q;
    cudaStreamCreate(&q);
    return q;
  }();
  cudaStreamAttrValue v = {};
  v.accessPolicyWindow.base_ptr = (void *)a;
  v.accessPolicyWindow.num_bytes = 4 << 20;
  v.accessPolicyWindow.hitRatio = 1.f;
  v.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  v.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &v);
  scale<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

__global__ void k1(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

// EXPECT winReset: l2_access_window present:
//   set before and reset after the kernel: the kernel runs with it
extern "C" void winReset(const float *a, float *b, cudaStream_t s) {
  cudaStreamAttrValue v = {};
  v.accessPolicyWindow.base_ptr = (void *)a;
  v.accessPolicyWindow.num_bytes = 1 << 20;
  v.accessPolicyWindow.hitRatio = 1.f;
  v.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  v.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  v.accessPolicyWindow.num_bytes = 0;
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v);
  cudaCtxResetPersistingL2Cache();
}

// EXPECT winAfter: l2_access_window absent: a window of which nothing was set: no bytes
extern "C" void winAfter(const float *a, float *b, cudaStream_t s) {
  cudaStreamAttrValue v = {};
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT limitOnly: l2_access_window absent:
//   only cudaDeviceSetLimit(PersistingL2CacheSize): no window
extern "C" void limitOnly(const float *a, float *b, cudaStream_t s) {
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}
