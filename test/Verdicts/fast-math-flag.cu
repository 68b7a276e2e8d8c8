// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ordinary functions under -use_fast_math.
//
// VERDICTS arch=sm_80 entry=run read=ptx flags=-use_fast_math

#include <cuda_runtime.h>

// EXPECT fmPlain: fast_math present op=exp:
//   with -use_fast_math expf becomes __expf: chosen by a flag
// EXPECT fmPlain: fast_math present op=tanh: tanhf becomes tanh.approx by the flag
__global__ void fmPlain(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = expf(a[i]) * rsqrtf(a[i] + 1.f) + tanhf(a[i]);
}

// EXPECT fmFrcp: fast_math absent: exactly rounded intrinsics stay
__global__ void fmFrcp(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __frcp_rn(a[i]) + __fsqrt_rn(a[i]) + __fdiv_rn(a[i], 3.f);
}

// EXPECT lbNone: fast_math absent: only a multiplication
__global__ void lbNone(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = a[i] * 7.f;
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  fmPlain<<<64, 256, 0, s>>>(a, o[0]);
  fmFrcp<<<64, 256, 0, s>>>(a, o[1]);
  lbNone<<<64, 256, 0, s>>>(a, o[2]);
}
