// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that a call allocates, and buffers between its kernels.
//
// VERDICTS arch=sm_90a read=host

#include <cuda_runtime.h>

__global__ void scale(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

// EXPECT peer: copy_engine_transfer present: half is copied to the peer beside the kernel
extern "C" void peer(const float *a, float *b, float *there, cudaStream_t s) {
  static cudaStream_t side = [] {
    cudaStream_t q;
    cudaStreamCreate(&q);
    return q;
  }();
  cudaMemcpyPeerAsync(there, 1, a, 0, 4 << 20, side);
  scale<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT d2d: copy_engine_transfer absent: a copy within one device
extern "C" void d2d(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  cudaMemcpyAsync(t, a, 4 << 20, cudaMemcpyDeviceToDevice, s);
  scale<<<4096, 256, 0, s>>>(t, b, 1 << 20);
}

__global__ void k1(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

__global__ void k2(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] + 1.f;
}

struct Buf {
  float *p;
  Buf(size_t n) {
    cudaMalloc(&p, n);
  }
  ~Buf() {
    cudaFree(p);
  }
};

// EXPECT raii: host_allocation present call=cudaMalloc: an object that allocates in its constructor
// EXPECT raii: kernel_count present count=2: two launches
// EXPECT raii: global_intermediates present count=1 bytes=4194304: the buffer of the object, 4 MiB
extern "C" void raii(const float *a, float *b, cudaStream_t s) {
  Buf t(4 << 20);
  k1<<<4096, 256, 0, s>>>(a, t.p, 1 << 20);
  k2<<<4096, 256, 0, s>>>(t.p, b, 1 << 20);
}

// EXPECT grow: host_allocation absent:
//   a workspace that grows: the later call with the same shape allocates nothing
extern "C" void grow(const float *a, float *b, cudaStream_t s) {
  static float *w = nullptr;
  static size_t cap = 0;
  size_t need = 4 << 20;
  if (need > cap) {
    cudaFree(w);
    cudaMalloc(&w, need);
    cap = need;
  }
  k1<<<4096, 256, 0, s>>>(a, w, 1 << 20);
  k2<<<4096, 256, 0, s>>>(w, b, 1 << 20);
}

// EXPECT pinned: host_allocation present call=cudaMallocHost: page-locked host memory in every call
extern "C" void pinned(const float *a, float *b, cudaStream_t s) {
  int *p;
  cudaMallocHost(&p, 64);
  *p = 1 << 20;
  k1<<<4096, 256, 0, s>>>(a, b, *p);
  cudaFreeHost(p);
}

// EXPECT sameDev: copy_engine_transfer absent: cudaMemcpyPeerAsync from device 0 to device 0
extern "C" void sameDev(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  cudaMemcpyPeerAsync(t, 0, a, 0, 4 << 20, s);
  k1<<<4096, 256, 0, s>>>(t, b, 1 << 20);
}

// EXPECT peerSerial: copy_engine_transfer absent:
//   the peer copy is in the same stream in front of the only kernel: not beside it
extern "C" void peerSerial(const float *a, float *b, float *away, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  cudaMemcpyPeerAsync(t, 0, away, 1, 4 << 20, s);
  k1<<<4096, 256, 0, s>>>(t, b, 1 << 20);
}

// EXPECT aliasCycle: global_intermediates present count=1:
//   one buffer used by three kernels in turn (in place in the middle)
extern "C" void aliasCycle(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  k1<<<4096, 256, 0, s>>>(a, t, 1 << 20);
  k2<<<4096, 256, 0, s>>>(t, t, 1 << 20);
  k1<<<4096, 256, 0, s>>>(t, b, 1 << 20);
}

// EXPECT freeSync: host_allocation present call=cudaMalloc: temp buffer per call
extern "C" void freeSync(const float *a, float *b, cudaStream_t s) {
  void *p = nullptr;
  if (cudaMalloc(&p, 4 << 20) != cudaSuccess)
    return;
  k1<<<4096, 256, 0, s>>>(a, (float *)p, 1 << 20);
  k2<<<4096, 256, 0, s>>>((float *)p, b, 1 << 20);
  cudaFree(p);
}

// EXPECT poolAlloc: host_allocation present call=cudaMallocFromPoolAsync: from a pool in every call
extern "C" void poolAlloc(const float *a, float *b, cudaStream_t s) {
  static cudaMemPool_t pool = [] {
    cudaMemPool_t q;
    cudaDeviceGetDefaultMemPool(&q, 0);
    return q;
  }();
  void *p;
  cudaMallocFromPoolAsync(&p, 4 << 20, pool, s);
  k1<<<4096, 256, 0, s>>>(a, (float *)p, 1 << 20);
  k2<<<4096, 256, 0, s>>>((float *)p, b, 1 << 20);
  cudaFreeAsync(p, s);
}

// EXPECT managed: host_allocation present call=cudaMallocManaged: managed memory in every call
extern "C" void managed(const float *a, float *b, cudaStream_t s) {
  float *p;
  cudaMallocManaged(&p, 4 << 20);
  k1<<<4096, 256, 0, s>>>(a, p, 1 << 20);
  k2<<<4096, 256, 0, s>>>(p, b, 1 << 20);
  cudaStreamSynchronize(s);
  cudaFree(p);
}

// EXPECT condAlloc: host_allocation absent: allocation under a constant false
extern "C" void condAlloc(const float *a, float *b, cudaStream_t s) {
  const bool dbg = sizeof(void *) == 4;
  if (dbg) {
    void *p;
    cudaMalloc(&p, 64);
  }
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

__global__ void both(const float *x, const float *y, float *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    o[i] = x[i] + y[i];
}

// EXPECT sub: global_intermediates present:
//   two halves of one allocation go from two kernels to a third (one buffer or two ranges: the
//   vocabulary leaves it open)
extern "C" void sub(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 8 << 20);
    return p;
  }();
  k1<<<4096, 256, 0, s>>>(a, t, 1 << 20);
  k2<<<4096, 256, 0, s>>>(a, t + (1 << 20), 1 << 20);
  both<<<4096, 256, 0, s>>>(t, t + (1 << 20), b, 1 << 20);
}

__device__ float mid[1 << 20];

__global__ void w1(const float *a, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    mid[i] = a[i] * 2.f;
}

__global__ void r1(float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = mid[i] + 1.f;
}

// EXPECT devGlobal: global_intermediates present count=1:
//   a __device__ array carries the intermediate
extern "C" void devGlobal(const float *a, float *b, cudaStream_t s) {
  w1<<<4096, 256, 0, s>>>(a, 1 << 20);
  r1<<<4096, 256, 0, s>>>(b, 1 << 20);
}

// EXPECT writeOnly: global_intermediates present count=0:
//   the extra buffer is written and never read
extern "C" void writeOnly(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  k1<<<4096, 256, 0, s>>>(a, t, 1 << 20);
  k2<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}
