// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry absent %s | FileCheck %s --check-prefix=ABSENT
//
// l2_access_window: an access-policy window of the L2 cache.

#include <cuda_runtime.h>

__global__ void a(const float *x, float *y) {}
__global__ void b(const float *x, float *y) {}

// PRESENT: l2_access_window, source
void present(const float *x, float *y, cudaStream_t s) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = (void *)x;
  value.accessPolicyWindow.num_bytes = 1 << 20;
  value.accessPolicyWindow.hitRatio = 1.0f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &value);
  a<<<1, 32, 0, s>>>(x, y);
}

// Decoy: another attribute of the stream, and a window that is filled in and
// never set.
// ABSENT-NOT: {{^ *}}l2_access_window
void absent(const float *x, float *y, cudaStream_t s) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.num_bytes = 1 << 20;
  cudaStreamSetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &value);
  a<<<1, 32, 0, s>>>(x, y);
}
