// REQUIRES: nvcc
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --kernel '^intrinsic' %s | FileCheck %s --check-prefix=INTRINSIC
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --kernel '^assembly' %s | FileCheck %s --check-prefix=ASSEMBLY
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --kernel '^guarded' %s | FileCheck %s --check-prefix=GUARDED
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --kernel '^plain' %s | FileCheck %s --check-prefix=PLAIN
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --kernel '^plain' %s -- -use_fast_math | FileCheck %s --check-prefix=FLAG
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --kernel '^decoy' %s | FileCheck %s --check-prefix=DECOY
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --kernel '^both' %s | FileCheck %s --check-prefix=BOTH
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --kernel '^halves' %s | FileCheck %s --check-prefix=HALF
// RUN: d2k-analyze --arch sm_90a --tiers source --kernel '^intrinsic' %s | FileCheck %s --check-prefix=SOURCE
// RUN: d2k-analyze --arch sm_90a --tiers ptx --kernel '^intrinsic' %s | FileCheck %s --check-prefix=PTX
//
// fast_math: what the author asked for at the line of an approximate unit.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// INTRINSIC: fast_math (op exp), source
// INTRINSIC-NEXT: source.cu:[[@LINE+8]]
// INTRINSIC: fast_math (op log), source
// INTRINSIC-NEXT: source.cu:[[@LINE+7]]
// INTRINSIC-NOT: near miss: fast_math
// INTRINSIC-NOT: undecided: fast_math
__global__ void intrinsic(const float *x, float *y) {
  int i = threadIdx.x;
  float v = x[i];
  float e = __expf(v);
  y[i] = __logf(e + v);
}

// ASSEMBLY: fast_math (op ex2), source
// ASSEMBLY-NEXT: source.cu:[[@LINE+4]]
// ASSEMBLY-NOT: undecided: fast_math
__device__ __forceinline__ float power(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__global__ void assembly(const float *x, float *y) {
  y[threadIdx.x] = power(x[threadIdx.x]);
}

// Code that only the device's compiler sees.
// GUARDED: fast_math (op sin), source
__device__ __forceinline__ float guard(float x) {
#ifdef __CUDA_ARCH__
  return __sinf(x);
#else
  return x;
#endif
}
__global__ void guarded(const float *x, float *y) {
  y[threadIdx.x] = guard(x[threadIdx.x]);
}

// The mutation of `intrinsic`: the compiler chooses the unit, unless a flag
// tells it to.
// PLAIN-NOT: fast_math (
// PLAIN: near miss: fast_math
// PLAIN-NEXT: the unit `ex2` is used at source.cu:[[@LINE+6]], but `expf` at source.cu:[[@LINE+6]] is an ordinary function,
// PLAIN-NEXT: which the compiler lowered to it
// FLAG: fast_math (op exp), source
// FLAG-NEXT: source.cu:[[@LINE+3]]
__global__ void plain(const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = expf(x[i]);
}

// In a comment (__expf), in a function that nobody calls, where the result is
// thrown away, where the code never runs.
// DECOY-NOT: fast_math (
__device__ float unused(float x) { return __expf(x); }
__global__ void decoy(const float *x, float *y, int never) {
  int i = threadIdx.x;
  float thrown = __expf(x[i]); // __cosf(x)
  if (sizeof(int) == 8)
    thrown = __sinf(x[i]);
  y[i] = x[i] + 0.0f * float(thrown > 1e30f && thrown < 0.0f);
}

// One statement with both: which of the two became the unit is not known.
// BOTH-NOT: fast_math (
// BOTH: undecided: fast_math
// BOTH-NEXT: the unit `ex2` is used at source.cu:[[@LINE+4]], where the source has both `__expf` at source.cu:[[@LINE+4]]
// BOTH-NEXT: and the ordinary function `expf`
__global__ void both(const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = __expf(x[i]) + expf(x[i + 32]);
}

// SOURCE-NOT: fast_math (
// SOURCE: undecided: fast_math
// SOURCE: which functions of the source the kernel runs is seen in PTX
// PTX-NOT: fast_math (
// PTX: undecided: fast_math
// PTX-NEXT: the unit `ex2` is used at source.cu:{{[0-9]+}}; whether the author asked for it stands in the source

// Of functions of half types, one is named as an approximation; the others give
// what the type can hold.
// HALF: fast_math (op tanh), source
// HALF-NEXT: source.cu:[[@LINE+9]]
// HALF-NOT: undecided: fast_math
// HALF: `h2exp2` at source.cu:[[@LINE+8]] is an ordinary
// HALF: `operator/` at source.cu:[[@LINE+8]] is an ordinary
// HALF: `hrsqrt` at source.cu:[[@LINE+8]] is an ordinary
// HALF-NOT: undecided: fast_math
__global__ void halves(const __half2 *x, __half2 *y, const __nv_bfloat16 *u,
                     __nv_bfloat16 *v) {
  int i = threadIdx.x;
  y[i] = h2tanh_approx(x[i]);
  y[i + 32] = h2exp2(x[i + 32]);
  y[i + 64] = x[i + 64] / x[i + 96];
  v[i] = hrsqrt(u[i]);
}
