// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry absent %s | FileCheck %s --check-prefix=ABSENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry launched %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry reset %s | FileCheck %s --check-prefix=ABSENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry normal %s | FileCheck %s --check-prefix=ABSENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry cleared %s | FileCheck %s --check-prefix=OPEN
// RUN: d2k-analyze --arch sm_90a --tiers source --entry elsewhere %s | FileCheck %s --check-prefix=ELSEWHERE
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

// As an attribute of one launch.
void launched(const float *x, float *y, cudaStream_t s) {
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeAccessPolicyWindow;
  attribute[0].val.accessPolicyWindow.num_bytes = 1 << 20;
  attribute[0].val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 32;
  config.stream = s;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, a, x, y);
}

// Decoys: a window of no bytes and one without a policy end the one that was
// set.
void reset(const float *x, float *y, cudaStream_t s) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.num_bytes = 0;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &value);
  a<<<1, 32, 0, s>>>(x, y);
}
void normal(const float *x, float *y, cudaStream_t s) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.num_bytes = 1 << 20;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyNormal;
  value.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &value);
  a<<<1, 32, 0, s>>>(x, y);
}

// No number was put in; what a union holds otherwise is not followed.
// OPEN-NOT: {{^ *}}l2_access_window (
// OPEN: undecided: l2_access_window
// OPEN: has a window whose size is not known
void cleared(const float *x, float *y, cudaStream_t s) {
  cudaStreamAttrValue value = {};
  cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &value);
  a<<<1, 32, 0, s>>>(x, y);
}

// ELSEWHERE-NOT: {{^ *}}l2_access_window, source
// ELSEWHERE: near miss: l2_access_window
// ELSEWHERE: is that of a stream in which no
void elsewhere(const float *x, float *y, cudaStream_t s) {
  cudaStream_t side;
  cudaStreamCreate(&side);
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.num_bytes = 1 << 20;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  cudaStreamSetAttribute(side, cudaStreamAttributeAccessPolicyWindow, &value);
  a<<<1, 32, 0, s>>>(x, y);
}
