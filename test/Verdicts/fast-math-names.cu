// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that look like approximate functions and are none, and approximate functions behind names
// of their own.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include <cuda_runtime.h>

#define PLACE int i = blockIdx.x * 256 + threadIdx.x
#define ARGS const float *a, float *o

namespace exact {
// A function of ours with the name of an intrinsic.
__device__ float __expf(float x) {
  return expf(x) + 1.f;
}
} // namespace exact

// EXPECT sameName: fast_math absent: the function of the namespace is meant, which calls expf
__global__ void sameName(ARGS) {
  PLACE;
  o[i] = exact::__expf(a[i]);
}

// EXPECT inComment: fast_math absent: the intrinsic stands in a comment and behind #if 0
__global__ void inComment(ARGS) {
  PLACE;
  // o[i] = __expf(a[i]);
#if 0
  o[i] = __expf(a[i]);
#endif
  o[i] = cosf(a[i]);
}

// EXPECT inString: fast_math absent: a string that nobody prints
__global__ void inString(ARGS) {
  PLACE;
  const char *name = "__sinf(x)";
  o[i] = sinf(a[i]) + (name[0] == 'x');
}

// EXPECT uncalledLambda: fast_math absent: a lambda that is not called
__global__ void uncalledLambda(ARGS) {
  PLACE;
  auto fast = [](float x) { return __logf(x); };
  (void)fast;
  o[i] = a[i] * 0.5f;
}

// EXPECT calledLambda: fast_math present op=log: the lambda is called
__global__ void calledLambda(ARGS) {
  PLACE;
  auto fast = [](float x) { return __logf(x); };
  o[i] = fast(a[i]);
}

template <class F>
__device__ float apply(F f, float x) {
  return f(x);
}
struct Fast {
  __device__ float operator()(float x) const {
    return __cosf(x);
  }
};
struct Exact {
  __device__ float operator()(float x) const {
    return cosf(x);
  }
};
// EXPECT functor: fast_math present op=cos: through a function object
__global__ void functor(ARGS) {
  PLACE;
  o[i] = apply(Fast(), a[i]);
}
// EXPECT exactFunctor: fast_math absent: the other function object
__global__ void exactFunctor(ARGS) {
  PLACE;
  o[i] = apply(Exact(), a[i]);
}

__device__ float choose(float x, bool fast) {
  return fast ? __sinf(x) : x * x;
}
// EXPECT constantFalse: fast_math absent: the caller passes false
__global__ void constantFalse(ARGS) {
  PLACE;
  o[i] = choose(a[i], false);
}
// EXPECT constantTrue: fast_math present op=sin: the caller passes true
__global__ void constantTrue(ARGS) {
  PLACE;
  o[i] = choose(a[i], true);
}

// EXPECT saturated: fast_math absent: __saturatef, __fmaf_rn and __int_as_float are exact
__global__ void saturated(ARGS) {
  PLACE;
  o[i] = __saturatef(__fmaf_rn(a[i], 2.f, 1.f)) + __int_as_float(0x3f800000);
}

// EXPECT onlyPlace: fast_math absent: the result chooses where the data is taken from
__global__ void onlyPlace(ARGS) {
  PLACE;
  int j = (int)(__expf((float)threadIdx.x * 1e-9f));
  o[i] = a[(i + j) & 16383];
}

// EXPECT bothParts: fast_math present op=sin: __sincosf
__global__ void bothParts(ARGS) {
  PLACE;
  float s, c;
  __sincosf(a[i], &s, &c);
  o[i] = s * c;
}

// EXPECT halfOfIt: fast_math not-present: only the sine is used, which sincosf computes exactly
__global__ void halfOfIt(ARGS) {
  PLACE;
  float s, c;
  sincosf(a[i], &s, &c);
  o[i] = s;
}

#define EXP2(x) exp2_of((x) * 1.4426950409f)
__device__ __forceinline__ float exp2_of(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// EXPECT ownMacro: fast_math present op=ex2: inline assembly behind a macro
__global__ void ownMacro(ARGS) {
  PLACE;
  o[i] = EXP2(a[i]);
}

// EXPECT reciprocalRoot: fast_math absent: rsqrtf is an ordinary function
__global__ void reciprocalRoot(ARGS) {
  PLACE;
  o[i] = rsqrtf(a[i]);
}

void run(float *a, float **o, cudaStream_t s) {
  sameName<<<64, 256, 0, s>>>(a, o[0]);
  inComment<<<64, 256, 0, s>>>(a, o[1]);
  inString<<<64, 256, 0, s>>>(a, o[2]);
  uncalledLambda<<<64, 256, 0, s>>>(a, o[3]);
  calledLambda<<<64, 256, 0, s>>>(a, o[4]);
  functor<<<64, 256, 0, s>>>(a, o[5]);
  exactFunctor<<<64, 256, 0, s>>>(a, o[6]);
  constantFalse<<<64, 256, 0, s>>>(a, o[7]);
  constantTrue<<<64, 256, 0, s>>>(a, o[8]);
  saturated<<<64, 256, 0, s>>>(a, o[9]);
  onlyPlace<<<64, 256, 0, s>>>(a, o[10]);
  bothParts<<<64, 256, 0, s>>>(a, o[11]);
  halfOfIt<<<64, 256, 0, s>>>(a, o[12]);
  ownMacro<<<64, 256, 0, s>>>(a, o[13]);
  reciprocalRoot<<<64, 256, 0, s>>>(a, o[14]);
}
