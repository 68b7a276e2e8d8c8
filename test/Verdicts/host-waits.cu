// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that make the host wait for the device.
//
// VERDICTS arch=sm_90a read=host

#include <cuda_runtime.h>

__global__ void scale(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

__global__ void addk(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] + 1.f;
}

// EXPECT syncS: host_synchronization present call=cudaStreamSynchronize: the host waits
// EXPECT syncS: kernel_count present count=1: one launch
extern "C" void syncS(const float *a, float *b, cudaStream_t s) {
  scale<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  cudaStreamSynchronize(s);
}

// EXPECT syncCopy: host_synchronization present call=cudaMemcpy:
//   a synchronous copy to the host waits
extern "C" void syncCopy(const float *a, float *b, cudaStream_t s) {
  float first;
  cudaMemcpy(&first, a, 4, cudaMemcpyDeviceToHost);
  scale<<<4096, 256, 0, s>>>(a, b, first > 0 ? 1 << 20 : 1 << 19);
}

// EXPECT eventOnly: host_synchronization absent: stream waits for an event: the host does not
extern "C" void eventOnly(const float *a, float *b, cudaStream_t s) {
  static cudaStream_t side = [] {
    cudaStream_t q;
    cudaStreamCreate(&q);
    return q;
  }();
  static cudaEvent_t e = [] {
    cudaEvent_t q;
    cudaEventCreateWithFlags(&q, cudaEventDisableTiming);
    return q;
  }();
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  cudaEventRecord(e, s);
  cudaStreamWaitEvent(side, e, 0);
  scale<<<4096, 256, 0, side>>>(a, t, 1 << 20);
  cudaEventRecord(e, side);
  cudaStreamWaitEvent(s, e, 0);
  addk<<<4096, 256, 0, s>>>(t, b, 1 << 20);
}

__global__ void k1(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

// EXPECT pollEvent: host_synchronization present:
//   polls cudaEventQuery in a loop: the host waits for the device
extern "C" void pollEvent(const float *a, float *b, cudaStream_t s) {
  static cudaEvent_t e = [] {
    cudaEvent_t q;
    cudaEventCreate(&q);
    return q;
  }();
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  cudaEventRecord(e, s);
  while (cudaEventQuery(e) == cudaErrorNotReady) {
  }
}

// EXPECT evSync: host_synchronization present call=cudaEventSynchronize: the host waits
extern "C" void evSync(const float *a, float *b, cudaStream_t s) {
  static cudaEvent_t e = [] {
    cudaEvent_t q;
    cudaEventCreate(&q);
    return q;
  }();
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  cudaEventRecord(e, s);
  cudaEventSynchronize(e);
}

// EXPECT errOnly: host_synchronization absent: synchronises in the error path only
extern "C" int errOnly(const float *a, float *b, cudaStream_t s) {
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  if (cudaGetLastError() != cudaSuccess) {
    cudaDeviceSynchronize();
    return 1;
  }
  return 0;
}

// EXPECT queryLoop: host_synchronization present: polls cudaStreamQuery
extern "C" void queryLoop(const float *a, float *b, cudaStream_t s) {
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  for (;;) {
    if (cudaStreamQuery(s) == cudaSuccess)
      break;
  }
}

static volatile int flag;

static void setFlag(void *) {
  flag = 1;
}

// EXPECT hostFlag: host_synchronization present:
//   spins on mapped host memory that the stream writes (cudaLaunchHostFunc sets a flag)
extern "C" void hostFlag(const float *a, float *b, cudaStream_t s) {
  flag = 0;
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  cudaLaunchHostFunc(s, setFlag, nullptr);
  while (!flag) {
  }
}

// EXPECT defStream: host_synchronization absent:
//   launches in the legacy default stream: the host does not wait
extern "C" void defStream(const float *a, float *b, cudaStream_t s) {
  k1<<<4096, 256>>>(a, b, 1 << 20);
}

// EXPECT d2hAsync: host_synchronization absent: cudaMemcpyAsync to pinned memory: no wait
extern "C" void d2hAsync(const float *a, float *b, cudaStream_t s) {
  static float *h = [] {
    float *p;
    cudaMallocHost(&p, 64);
    return p;
  }();
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  cudaMemcpyAsync(h, b, 64, cudaMemcpyDeviceToHost, s);
}

__constant__ float coef[16];

__global__ void k3(const float *a, float *b) {
  int i = blockIdx.x * 256 + threadIdx.x;
  b[i] = a[i] * coef[i & 15];
}

// EXPECT memcpyToSym: host_synchronization present:
//   cudaMemcpyToSymbol is synchronous with respect to the host (pageable source)
extern "C" void memcpyToSym(const float *a, float *b, cudaStream_t s) {
  float c[16];
  for (int i = 0; i < 16; ++i)
    c[i] = i;
  cudaMemcpyToSymbol(coef, c, sizeof c);
  k3<<<4096, 256, 0, s>>>(a, b);
}
