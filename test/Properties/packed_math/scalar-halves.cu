// Machine code has no scalar instructions for halves: it computes one number in
// both halves of a register, and moves or negates by adding zero. Neither is
// packed, nor is one number that an author puts into both halves.
// REQUIRES: nvcc, nvdisasm
// RUN: d2k-analyze --arch sm_90a --tiers sass --explain packed_math %s | FileCheck %s
// RUN: d2k-analyze --arch sm_90a --tiers ptx --explain packed_math %s | FileCheck %s

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ int place() { return blockIdx.x * 256 + threadIdx.x; }

// CHECK: {{^}}aHalves(
// CHECK-NOT: holds:
// CHECK: {{^}}bBfloats(
__global__ void aHalves(const __half *a, const __half *b, __half *o) {
  o[place()] = __hfma(a[place()], b[place()], a[place()]);
}

// CHECK-NOT: holds:
// CHECK: {{^}}cLargest(
__global__ void bBfloats(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *o) {
  o[place()] = __hadd(a[place()], __hmul(b[place()], a[place()]));
}

// CHECK-NOT: holds:
// CHECK: {{^}}dSigns(
__global__ void cLargest(const __half *a, __half *o, int n) {
  __half most = a[threadIdx.x];
  for (int i = threadIdx.x; i < n; i += 32)
    most = __hmax(most, a[i]);
  o[threadIdx.x] = most;
}

// CHECK-NOT: holds:
// CHECK: {{^}}eOneTwice(
__global__ void dSigns(const __half2 *a, __half2 *o) {
  o[place()] = __habs2(a[place()]);
  o[place() + 65536] = __hneg2(a[place()]);
}

// CHECK-NOT: holds:
// CHECK: {{^}}fPairs(
__global__ void eOneTwice(const __half *a, const __half *b, __half2 *o) {
  o[place()] = __hmul2(__half2half2(a[place()]), __half2half2(b[place()]));
}

// CHECK-NEXT: holds: packed_math (type bf16x2)
// CHECK: {{^}}gOneForBoth(
__global__ void fPairs(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *o) {
  o[place()] = __hfma2(a[place()], b[place()], a[place()]);
}

// A factor for both numbers of a pair.
// CHECK-NEXT: holds: packed_math (type f16x2)
__global__ void gOneForBoth(const __half2 *a, const __half *s, __half2 *o) {
  o[place()] = __hmul2(a[place()], __half2half2(s[0]));
}
