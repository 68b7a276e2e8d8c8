// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs that are replayed, and graphs that are only made.
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

// EXPECT graph: cuda_graph present: captured once, replayed in every call
// EXPECT graph: kernel_count present count=4: the replay launches 4 kernels
extern "C" void graph(const float *a, float *b, cudaStream_t s) {
  static cudaGraphExec_t ex = nullptr;
  if (!ex) {
    cudaStream_t q;
    cudaStreamCreate(&q);
    cudaStreamBeginCapture(q, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < 4; ++i)
      scale<<<1024, 256, 0, q>>>(a + i * 262144, b + i * 262144, 1 << 18);
    cudaGraph_t g;
    cudaStreamEndCapture(q, &g);
    cudaGraphInstantiate(&ex, g, 0);
    cudaGraphDestroy(g);
  }
  cudaGraphLaunch(ex, s);
}

// EXPECT graphUnused: cuda_graph absent:
//   captured and instantiated, never replayed; the kernel is launched directly
// EXPECT graphUnused: kernel_count present count=1: only the direct launch
extern "C" void graphUnused(const float *a, float *b, cudaStream_t s) {
  static cudaGraphExec_t ex = nullptr;
  if (!ex) {
    cudaStream_t q;
    cudaStreamCreate(&q);
    cudaStreamBeginCapture(q, cudaStreamCaptureModeThreadLocal);
    addk<<<4096, 256, 0, q>>>(a, b, 1 << 20);
    cudaGraph_t g;
    cudaStreamEndCapture(q, &g);
    cudaGraphInstantiate(&ex, g, 0);
  }
  scale<<<4096, 256, 0, s>>>(a, b, 1 << 20);
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

// EXPECT graphEvery: cuda_graph present: captured, instantiated and launched in every call
// EXPECT graphEvery: kernel_count present count=2: two nodes
extern "C" void graphEvery(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  cudaGraph_t g;
  cudaGraphExec_t x;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  k1<<<4096, 256, 0, s>>>(a, t, 1 << 20);
  k2<<<4096, 256, 0, s>>>(t, b, 1 << 20);
  cudaStreamEndCapture(s, &g);
  cudaGraphInstantiate(&x, g, 0);
  cudaGraphLaunch(x, s);
  cudaGraphExecDestroy(x);
  cudaGraphDestroy(g);
}

// EXPECT graphEmpty: cuda_graph absent:
//   the captured graph is empty, the kernel is launched beside it
extern "C" void graphEmpty(const float *a, float *b, cudaStream_t s) {
  static cudaGraphExec_t x = [] {
    cudaGraph_t g;
    cudaGraphExec_t q;
    cudaGraphCreate(&g, 0);
    cudaGraphInstantiate(&q, g, 0);
    return q;
  }();
  cudaGraphLaunch(x, s);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT graphNodes: cuda_graph present: built by cudaGraphAddKernelNode, replayed
// EXPECT graphNodes: kernel_count present count=1: one node
extern "C" void graphNodes(const float *a, float *b, cudaStream_t s) {
  static cudaGraphExec_t x = nullptr;
  if (!x) {
    cudaGraph_t g;
    cudaGraphCreate(&g, 0);
    int n = 1 << 20;
    void *args[] = {&a, &b, &n};
    cudaKernelNodeParams p = {};
    p.func = (void *)k1;
    p.gridDim = dim3(4096);
    p.blockDim = dim3(256);
    p.kernelParams = args;
    cudaGraphNode_t node;
    cudaGraphAddKernelNode(&node, g, nullptr, 0, &p);
    cudaGraphInstantiate(&x, g, 0);
  }
  cudaGraphLaunch(x, s);
}

// EXPECT updGraph: cuda_graph present:
//   graph kept, node parameters updated for new pointers, replayed
// EXPECT updGraph: kernel_count present count=1: one launch
extern "C" void updGraph(const float *a, float *b, cudaStream_t s) {
  static cudaGraphExec_t x = nullptr;
  cudaGraph_t g;
  static cudaStream_t q = [] {
    cudaStream_t z;
    cudaStreamCreate(&z);
    return z;
  }();
  cudaStreamBeginCapture(q, cudaStreamCaptureModeThreadLocal);
  k1<<<4096, 256, 0, q>>>(a, b, 1 << 20);
  cudaStreamEndCapture(q, &g);
  cudaGraphExecUpdateResultInfo info;
  if (!x)
    cudaGraphInstantiate(&x, g, 0);
  else
    cudaGraphExecUpdate(x, g, &info);
  cudaGraphLaunch(x, s);
  cudaGraphDestroy(g);
}

// EXPECT graphDead: cuda_graph absent: the replayed graph writes a buffer that nobody reads
extern "C" void graphDead(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  static cudaGraphExec_t x = nullptr;
  if (!x) {
    cudaStream_t q;
    cudaStreamCreate(&q);
    cudaStreamBeginCapture(q, cudaStreamCaptureModeGlobal);
    k2<<<4096, 256, 0, q>>>(a, t, 1 << 20);
    cudaGraph_t g;
    cudaStreamEndCapture(q, &g);
    cudaGraphInstantiate(&x, g, 0);
  }
  cudaGraphLaunch(x, s);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT graphFirst: cuda_graph absent:
//   captured and launched in the first call only, later calls launch directly
extern "C" void graphFirst(const float *a, float *b, cudaStream_t s) {
  static int calls = 0;
  if (calls++ == 0) {
    cudaStream_t q;
    cudaStreamCreate(&q);
    cudaStreamBeginCapture(q, cudaStreamCaptureModeGlobal);
    k1<<<4096, 256, 0, q>>>(a, b, 1 << 20);
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaStreamEndCapture(q, &g);
    cudaGraphInstantiate(&x, g, 0);
    cudaGraphLaunch(x, s);
    return;
  }
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}
