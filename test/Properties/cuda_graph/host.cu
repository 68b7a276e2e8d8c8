// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry lost %s | FileCheck %s --check-prefix=LOST
// RUN: d2k-analyze --arch sm_90a --tiers source --entry absent %s | FileCheck %s --check-prefix=ABSENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry hollow %s | FileCheck %s --check-prefix=HOLLOW
// RUN: d2k-analyze --arch sm_90a --tiers source --entry foreign %s | FileCheck %s --check-prefix=FOREIGN
//
// cuda_graph: launches that were captured and are replayed.

#include <cuda_runtime.h>

__global__ void a(const float *x, float *y) {}
__global__ void b(const float *x, float *y) {}

static cudaGraphExec_t capture(const float *x, float *y, cudaStream_t s) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  a<<<1, 32, 0, s>>>(x, y);
  b<<<1, 32, 0, s>>>(x, y);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

// Captured by the first call, launched by each.
// PRESENT: cuda_graph, source
// PRESENT: kernel_count (count 2), source
void present(const float *x, float *y, cudaStream_t s) {
  static cudaGraphExec_t exec = capture(x, y, s);
  cudaGraphLaunch(exec, s);
}

// Decoy: captured and never launched.
// LOST-NOT: cuda_graph,
// LOST: kernel_count (count 0), source
// LOST: near miss: cuda_graph
// LOST: the graph that is made at host.cu:{{[0-9]+}} is never launched: nothing in it runs
void lost(const float *x, float *y, cudaStream_t s) { capture(x, y, s); }

// ABSENT-NOT: {{^ *}}cuda_graph
void absent(const float *x, float *y, cudaStream_t s) {
  a<<<1, 32, 0, s>>>(x, y);
}

// Decoy: a graph of nothing but an empty grid beside the launch that counts.
// HOLLOW-NOT: cuda_graph, source
// HOLLOW: near miss: cuda_graph
// HOLLOW: the graph that is launched at host.cu:{{[0-9]+}} holds no kernel whose result is used
void hollow(const float *x, float *y, cudaStream_t s) {
  static cudaGraphExec_t exec = [&] {
    cudaGraph_t graph;
    cudaGraphExec_t made;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    b<<<0, 32, 0, s>>>(x, y);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&made, graph, 0);
    return made;
  }();
  cudaGraphLaunch(exec, s);
  a<<<1, 32, 0, s>>>(x, y);
}

// A graph from elsewhere.
// FOREIGN-NOT: cuda_graph, source
// FOREIGN: undecided: cuda_graph
// FOREIGN: whether the graph that is launched at host.cu:{{[0-9]+}} makes a part of the result is not known
extern cudaGraphExec_t elsewhere;
void foreign(const float *x, float *y, cudaStream_t s) {
  cudaGraphLaunch(elsewhere, s);
}
