// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Approximate functions by intrinsics, inline assembly and templates, against ordinary functions
// that the compiler lowers to the same units.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include <cuda_fp16.h>
#include <cuda_runtime.h>

template <bool F>
__device__ float ex(float x) {
  if constexpr (F)
    return __expf(x);
  else
    return expf(x);
}

template <int Mode>
struct Op {
  __device__ float operator()(float x) const {
    if (Mode == 0)
      return x * 0.5f;
    return __logf(x);
  }
};

// EXPECT off: fast_math absent: if constexpr off
__global__ void off(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = ex<false>(a[i]);
}

// EXPECT on: fast_math present op=exp: the template takes the intrinsic
__global__ void on(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = ex<true>(a[i]);
}

// EXPECT mode0: fast_math absent: template constant switches it off; sqrtf only
__global__ void mode0(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = Op<0>()(a[i]) + logf(a[i]);
}

// EXPECT mode1: fast_math present op=log: the template takes the intrinsic
__global__ void mode1(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = Op<1>()(a[i]);
}

// EXPECT silu1: fast_math present op=exp: sigmoid with __expf and a plain division
__global__ void silu1(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i];
  o[i] = x / (1.f + __expf(-x));
}

// EXPECT silu2: fast_math present op=div: __fdividef and __expf
// EXPECT silu2: fast_math present op=exp: __fdividef and __expf
__global__ void silu2(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i];
  o[i] = __fdividef(x, 1.f + __expf(-x));
}

// EXPECT silu3: fast_math present op=div: __fdividef on a line of its own
__global__ void silu3(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i];
  float d = 1.f + expf(-x);
  o[i] = __fdividef(x, d);
}

// EXPECT runtimeFalse: fast_math absent: the launch passes 0: the way with the intrinsic never runs
__global__ void runtimeFalse(const float *a, float *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i];
  if (mode == 3)
    x = __sinf(x);
  o[i] = x + 1.f;
}

// EXPECT overwritten: fast_math absent: the fast value is stored, then the exact one over it
__global__ void overwritten(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  volatile float *v = o;
  float x = a[i];
  v[i] = __sinf(x);
  v[i] = x * x;
}

// EXPECT asmEx2: fast_math present op=ex2: flash attention form: exp2 by inline asm with a scale
__global__ void asmEx2(const float *a, float *o, float sc) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float r;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a[i] * sc));
  o[i] = r;
}

// EXPECT rs: fast_math present op=rsqrt: rsqrt.approx by asm
__global__ void rs(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float r;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(a[i]));
  o[i] = r;
}

// EXPECT frs: fast_math absent: __frsqrt_rn is rounded (IEEE)
__global__ void frs(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __frsqrt_rn(a[i]);
}

// EXPECT fmExp: fast_math present op=exp: __expf
__global__ void fmExp(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __expf(a[i]);
}

// EXPECT fmPlain: fast_math absent: expf, rsqrtf, tanhf: ordinary
__global__ void fmPlain(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = expf(a[i]) * rsqrtf(a[i] + 1.f) + tanhf(a[i]);
}

// EXPECT fmAsm: fast_math present op=tanh: inline assembly
__global__ void fmAsm(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a[i]));
  o[i] = r;
}

// EXPECT fmDeadFn: fast_math absent: the intrinsic stands in a device function nobody calls
__global__ void fmDeadFn(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = sinf(a[i]);
}

// EXPECT fmUnused: fast_math absent: result thrown away
__global__ void fmUnused(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float z = __logf(a[i]);
  (void)z;
  o[i] = logf(a[i]);
}

// EXPECT fmDiv: fast_math present op=div: __fdividef in a sigmoid with ordinary expf
__global__ void fmDiv(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __fdividef(1.f, 1.f + expf(-a[i]));
}

// EXPECT fmFrcp: fast_math absent: __frcp_rn is the exactly rounded one
__global__ void fmFrcp(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __frcp_rn(a[i]) + __fsqrt_rn(a[i]) + __fdiv_rn(a[i], 3.f);
}

// EXPECT fmRow: fast_math present op=exp:
//   softmax over a row in registers with __expf; reduction by shuffles
__global__ void fmRow(const float4 *a, float4 *o) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float4 v = a[i];
  float m = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
  for (int k = 16; k; k /= 2)
    m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
  v.x = __expf(v.x - m);
  v.y = __expf(v.y - m);
  v.z = __expf(v.z - m);
  v.w = __expf(v.w - m);
  float s = v.x + v.y + v.z + v.w;
  for (int k = 16; k; k /= 2)
    s += __shfl_xor_sync(~0u, s, k);
  s = 1.f / s;
  o[i] = make_float4(v.x * s, v.y * s, v.z * s, v.w * s);
}

// EXPECT fmExp2: fast_math absent: exp2f is the ordinary function, which is lowered to ex2
__global__ void fmExp2(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = exp2f(a[i] * 1.4427f);
}

#define WAVE(x) (__sinf(x) * 0.5f)

// EXPECT fmMacro: fast_math present op=sin: a macro hides the intrinsic
__global__ void fmMacro(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = WAVE(a[i]);
}

// EXPECT fmDebug: fast_math absent:
//   the intrinsic feeds a debugging buffer only, which the launch passes as nullptr
__global__ void fmDebug(const float *a, float *o, float *dbg) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i];
  if (dbg)
    dbg[i] = __cosf(x);
  o[i] = cosf(x);
}

// EXPECT fmHalf: fast_math absent:
//   h2exp, hrsqrt: half functions; the library's half functions are implemented by approximations,
//   no choice
__global__ void fmHalf(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = h2exp(a[i]);
}

static void runPart1(float *a, float **o, cudaStream_t s) {
  off<<<64, 256, 0, s>>>(a, o[0]);
  on<<<64, 256, 0, s>>>(a, o[1]);
  mode0<<<64, 256, 0, s>>>(a, o[2]);
  mode1<<<64, 256, 0, s>>>(a, o[3]);
  silu1<<<64, 256, 0, s>>>(a, o[4]);
  silu2<<<64, 256, 0, s>>>(a, o[5]);
  silu3<<<64, 256, 0, s>>>(a, o[6]);
  runtimeFalse<<<64, 256, 0, s>>>(a, o[7], 0);
  overwritten<<<64, 256, 0, s>>>(a, o[8]);
  asmEx2<<<64, 256, 0, s>>>(a, o[9], 0.1f);
  rs<<<64, 256, 0, s>>>(a, o[10]);
  frs<<<64, 256, 0, s>>>(a, o[11]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  fmExp<<<64, 256, 0, s>>>(a, o[12]);
  fmPlain<<<64, 256, 0, s>>>(a, o[13]);
  fmAsm<<<64, 256, 0, s>>>(a, o[14]);
  fmDeadFn<<<64, 256, 0, s>>>(a, o[15]);
  fmUnused<<<64, 256, 0, s>>>(a, o[16]);
  fmDiv<<<64, 256, 0, s>>>(a, o[17]);
  fmFrcp<<<64, 256, 0, s>>>(a, o[18]);
  fmExp2<<<64, 256, 0, s>>>(a, o[19]);
  fmMacro<<<64, 256, 0, s>>>(a, o[20]);
  fmDebug<<<64, 256, 0, s>>>(a, o[21], nullptr);
  fmRow<<<64, 32, 0, s>>>((const float4 *)a, (float4 *)o[22]);
  fmHalf<<<64, 256, 0, s>>>((const __half2 *)a, (__half2 *)o[23]);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, o, s);
  runPart2(a, b, o, s);
}
