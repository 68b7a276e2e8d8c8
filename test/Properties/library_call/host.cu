// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry absent %s | FileCheck %s --check-prefix=ABSENT
//
// library_call: a library runs work on the device.

#include <cuda_runtime.h>

__global__ void a(const float *x, float *y) {}
__global__ void b(const float *x, float *y) {}

extern "C" {
int cublasCreate_v2(void **handle);
int cublasSetStream_v2(void *handle, cudaStream_t stream);
int cublasSgemm_v2(void *handle, const float *x, float *y);
}

// PRESENT: library_call (library cublas), source
// PRESENT-NEXT: host.cu:[[@LINE+5]]
void present(const float *x, float *y, cudaStream_t s) {
  void *handle;
  cublasCreate_v2(&handle);
  cublasSetStream_v2(handle, s);
  cublasSgemm_v2(handle, x, y);
}

// Decoy: set up and never used; a function of our own with a library's prefix.
namespace ours {
static void cublasLikeProduct(const float *x, float *y, cudaStream_t s) {
  a<<<1, 32, 0, s>>>(x, y);
}
} // namespace ours
// ABSENT-NOT: {{^ *}}library_call
void absent(const float *x, float *y, cudaStream_t s) {
  void *handle;
  cublasCreate_v2(&handle);
  ours::cublasLikeProduct(x, y, s);
}
