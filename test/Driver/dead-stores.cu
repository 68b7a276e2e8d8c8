// REQUIRES: nvcc
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx %s | FileCheck %s
//
// The launch decides that the loop has no rest: the stores behind it, to which
// registers of the loop go on, cannot run.

__global__ void __launch_bounds__(128)
    filter(const float *x, const float *w, float *y, int steps) {
  int c = blockIdx.x * 128 + threadIdx.x, width = gridDim.x * 128;
  float w0 = w[c * 2], w1 = w[c * 2 + 1], old = 0;
  for (int t = 0; t < steps; ++t) {
    float now = x[(size_t)t * width + c];
    y[(size_t)t * width + c] = w0 * old + w1 * now;
    old = now;
  }
}

// CHECK: filter(float const*, float const*, float*, int)
// CHECK-NOT: async_pipeline
// CHECK: coalesced_global_access
// CHECK-NOT: async_pipeline
void run(float *a, float *b, float *o, cudaStream_t s) {
  filter<<<16, 128, 0, s>>>(a, b, o, 1024);
}
