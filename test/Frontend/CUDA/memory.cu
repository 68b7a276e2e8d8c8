// RUN: d2k-host --entry run --axis n=1024 %s | FileCheck %s
//
// Copies, fills, allocations, synchronizations, streams, events and graphs.
// The trace is that of a later call: what only the first one does is not in it.

#include <cuda_runtime.h>

struct Args {
  long n;
  const float *x;
  float *y;
};

__global__ void first(const float *x, float *t) {}
__global__ void second(const float *t, float *y) {}
__global__ void inGraph(float *y) {}
__global__ void inLostGraph(float *y) {}
__device__ float table[64];

// CHECK-LABEL: trace run
extern "C" int run(const Args *a, void *workspace, size_t bytes,
                   cudaStream_t stream) {
  // Allocated by the first call only.
  // CHECK-NOT: allocate cudaMalloc to cudaMalloc at line [[@LINE+4]]
  static float *cached = nullptr;
  if (!cached)
    // No event in the second call.
    cudaMalloc(&cached, a->n * 4);

  // CHECK: fill cudaMemsetAsync to workspace stream 0
  cudaMemsetAsync(workspace, 0, a->n, stream);
  // CHECK: launch first({{.*}}) {{.*}} (x, workspace+256)
  first<<<1, 32, 0, stream>>>(a->x, (float *)workspace + 64);
  // CHECK: launch second({{.*}}) {{.*}} (cudaMalloc at line {{[0-9]+}}, y)
  second<<<1, 32, 0, stream>>>(cached, a->y);
  // CHECK: allocate cudaMalloc to cudaMalloc at line [[@LINE+2]]
  float *fresh;
  cudaMalloc(&fresh, 4096);
  // CHECK: copy cudaMemcpyAsync from y to cudaMalloc at line
  cudaMemcpyAsync(fresh, a->y, 4096, cudaMemcpyDeviceToDevice, stream);
  // CHECK: launch second({{.*}}) {{.*}} (table, y)
  void *symbol;
  cudaGetSymbolAddress(&symbol, table);
  second<<<1, 32, 0, stream>>>((float *)symbol, a->y);
  // A value that comes from the device is not known on the host.
  // CHECK: copy cudaMemcpy from y
  // CHECK: synchronize cudaMemcpy
  int count;
  cudaMemcpy(&count, a->y, 4, cudaMemcpyDeviceToHost);
  // CHECK: launch second({{.*}}) grid ?x1x1
  second<<<count, 32, 0, stream>>>(a->x, a->y);
  // CHECK: synchronize cudaStreamSynchronize
  cudaStreamSynchronize(stream);
  // CHECK: free cudaFree
  cudaFree(fresh);

  // A side stream, forked and joined.
  // CHECK: stream_wait cudaStreamWaitEvent
  static cudaStream_t side;
  static cudaEvent_t fork;
  static bool made = false;
  if (!made) {
    cudaStreamCreate(&side);
    cudaEventCreate(&fork);
    made = true;
  }
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(side, fork);
  // CHECK: launch first({{.*}}) {{.*}} stream [[SIDE:[2-9]]]
  first<<<2, 32, 0, side>>>(a->x, a->y);

  // What a graph holds runs when it is launched, and only then.
  // CHECK-NOT: inLostGraph
  // CHECK: graph_instantiate
  // CHECK: graph_launch cudaGraphLaunch stream 0
  // CHECK-NEXT: launch inGraph(float*) {{.*}} stream 0 captured
  cudaGraph_t graph, lost;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  inLostGraph<<<1, 32, 0, stream>>>(a->y);
  cudaStreamEndCapture(stream, &lost);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  inGraph<<<1, 32, 0, stream>>>(a->y);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream);
  return 0;
}
