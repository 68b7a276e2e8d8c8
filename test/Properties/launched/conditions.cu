// Conditions that the launch decides. Each kernel is there three times: <0> is
// launched with the numbers under which the mechanism runs, <1> with those under
// which it does not, <2> with numbers that the host code does not tell.
// REQUIRES: nvcc
// RUN: rm -rf %t && mkdir %t
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --cache %t --format json --facts %s \
// RUN:   | %python %S/Inputs/facts.py packed_math fast_math async_copy \
// RUN:   | FileCheck %s

#include <cuda_fp16.h>

__device__ int place() { return blockIdx.x * 256 + threadIdx.x; }
__device__ __half2 square(__half2 v) {
  float2 f = __half22float2(v);
  return __floats2half2_rn(f.x * f.x, f.y * f.y);
}

// A parameter.
template <int kWay>
__global__ void scalar(const __half2 *a, __half2 *o, int mode) {
  __half2 v = a[place()];
  if (mode == 5)
    v = __hmul2(v, v);
  else
    v = square(v);
  o[place()] = v;
}

// The other side only keeps what is there.
template <int kWay>
__global__ void oneSided(const __half2 *a, __half2 *o, int mode) {
  __half2 v = a[place()];
  if (mode == 5)
    v = __hmul2(v, v);
  o[place()] = v;
}

// A member of a structure.
struct Options {
  char pad[3];
  short mode;
  float scale;
};
template <int kWay>
__global__ void member(const float *a, float *o, Options options) {
  float v = a[place()];
  if (options.mode == -9)
    v = __cosf(v);
  o[place()] = v * 2.f;
}

// A floating-point number.
template <int kWay>
__global__ void real(const float *a, float *o, float scale) {
  float v = a[place()];
  if (scale > 0.5f)
    v = __sinf(v) * scale;
  o[place()] = v;
}

// An extent of the block.
template <int kWay>
__global__ void extent(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 v = a[i];
  if (blockDim.x == 1024)
    v = __hmul2(v, v);
  o[i] = v;
}

// Threads that there are, or are not.
template <int kWay>
__global__ void thread(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x >= 128)
    o[i] = __hmul2(a[i], a[i]);
  else
    o[i] = square(a[i]);
}

// A loop, of k / 4096 iterations.
template <int kWay>
__global__ void loop(const float *a, float *o, int k) {
  __shared__ float s[256];
  float v = a[place()];
  for (int i = 0; i < k / 4096; ++i) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n"
                 "cp.async.wait_all;" ::"r"(
                     unsigned(__cvta_generic_to_shared(&s[threadIdx.x]))),
                 "l"(a + i * 256 + threadIdx.x));
    __syncthreads();
    v += s[threadIdx.x ^ 1] * s[threadIdx.x ^ 2];
    __syncthreads();
  }
  o[place()] = v;
}

// A choice without a branch.
template <int kWay>
__global__ void choice(const __half2 *a, __half2 *o, int mode) {
  __half2 v = a[place()], w = __hmul2(v, v);
  unsigned x = *(unsigned *)&v, y = *(unsigned *)&w;
  x = mode == 5 ? y : x;
  o[place()] = *(__half2 *)&x;
}

// A factor that is zero.
template <int kWay>
__global__ void factor(const __half2 *a, float *o, float z) {
  __half2 v = a[place()], w = __hmul2(v, v);
  float2 f = __half22float2(v);
  o[place()] = f.x * f.y + z * __low2float(w);
}

// A pointer that is null.
template <int kWay>
__global__ void pointer(const __half2 *a, __half2 *o, const float *bias) {
  __half2 v = a[place()];
  if (bias)
    v = __hmul2(v, v);
  o[place()] = v;
}

// A pointer that is aligned.
template <int kWay>
__global__ void aligned(const __half2 *a, __half2 *o, const __half2 *b) {
  __half2 v = a[place()];
  if ((size_t)b % 16 == 0)
    v = __hmul2(v, b[place()]);
  else
    v = __floats2half2_rn(__low2float(v) * __low2float(b[place()]), 0.f);
  o[place()] = v;
}

void run(const float *a, float *o, int n, float x, dim3 block,
         const float *bias) {
  auto *h = (const __half2 *)a;
  auto *p = (__half2 *)o;
  static float *scratch = [] { float *p; cudaMalloc(&p, 4096); return p; }();
  scalar<0><<<64, 256>>>(h, p, 5);
  scalar<1><<<64, 256>>>(h, p + 65536, 4);
  scalar<2><<<64, 256>>>(h, p + 2 * 65536, n);
  oneSided<0><<<64, 256>>>(h, p + 3 * 65536, 5);
  oneSided<1><<<64, 256>>>(h, p + 4 * 65536, 4);
  oneSided<2><<<64, 256>>>(h, p + 5 * 65536, n);
  member<0><<<64, 256>>>(a, o + 6 * 65536, Options{{}, -9, 0});
  member<1><<<64, 256>>>(a, o + 7 * 65536, Options{{}, 9, 0});
  member<2><<<64, 256>>>(a, o + 8 * 65536, Options{{}, short(n), 0});
  real<0><<<64, 256>>>(a, o + 9 * 65536, 2.f);
  real<1><<<64, 256>>>(a, o + 10 * 65536, 0.25f);
  real<2><<<64, 256>>>(a, o + 11 * 65536, x);
  extent<0><<<64, 1024>>>(h, p + 12 * 65536);
  extent<1><<<64, 256>>>(h, p + 13 * 65536);
  extent<2><<<64, block>>>(h, p + 14 * 65536);
  thread<0><<<64, 256>>>(h, p + 15 * 65536);
  thread<1><<<64, 128>>>(h, p + 16 * 65536);
  thread<2><<<64, block>>>(h, p + 17 * 65536);
  loop<0><<<64, 256>>>(a, o + 18 * 65536, 8192);
  loop<1><<<64, 256>>>(a, o + 19 * 65536, 64);
  loop<2><<<64, 256>>>(a, o + 20 * 65536, n);
  choice<0><<<64, 256>>>(h, p + 21 * 65536, 5);
  choice<1><<<64, 256>>>(h, p + 22 * 65536, 4);
  choice<2><<<64, 256>>>(h, p + 23 * 65536, n);
  factor<0><<<64, 256>>>(h, o + 24 * 65536, 2.f);
  factor<1><<<64, 256>>>(h, o + 25 * 65536, -0.f);
  factor<2><<<64, 256>>>(h, o + 26 * 65536, x);
  pointer<0><<<64, 256>>>(h, p + 27 * 65536, scratch);
  pointer<1><<<64, 256>>>(h, p + 28 * 65536, nullptr);
  pointer<2><<<64, 256>>>(h, p + 29 * 65536, n > 7 ? bias : nullptr);
  aligned<0><<<64, 256>>>(h, p + 30 * 65536, (const __half2 *)scratch);
  aligned<1><<<64, 256>>>(h, p + 31 * 65536, (const __half2 *)(scratch + 1));
  aligned<2><<<64, 256>>>(h, p + 32 * 65536, (const __half2 *)bias);
}

// CHECK: {{^}}aligned<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}aligned<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] does not run as launched at conditions.cu:[[#]], where argument 3 is an address that is 4 modulo 256
// CHECK-NEXT: {{^}}aligned<2> undecided packed_math `mul.f16x2` at conditions.cu:[[#]] is on one side of a branch on launch parameters
// CHECK-NEXT: {{^}}choice<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}choice<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] is not used: its result reaches no output
// CHECK-NEXT: {{^}}choice<2> undecided packed_math `mul.f16x2` at conditions.cu:[[#]] is on one side of a branch on launch parameters, and conditions.cu:[[#]] writes the same outputs without it
// CHECK-NEXT: {{^}}extent<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}extent<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] does not run as launched at conditions.cu:[[#]], where blockDim.x is 256
// CHECK-NEXT: {{^}}extent<2> undecided packed_math `mul.f16x2` at conditions.cu:[[#]] is on one side of a branch on launch parameters, and conditions.cu:[[#]] writes the same outputs without it
// CHECK-NEXT: {{^}}factor<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}factor<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] is not used: its result reaches no output
// CHECK-NEXT: {{^}}factor<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] shows it in the code, but not as launched at conditions.cu:[[#]], where argument 3 is -0
// CHECK-NEXT: {{^}}factor<2> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}loop<0> fact async_copy bytes=4 mechanism=cp_async{{$}}
// CHECK-NEXT: {{^}}loop<0> fact async_copy bytes=4 mechanism=cp_async{{$}}
// CHECK-NEXT: {{^}}loop<1> near miss async_copy `cp.async.ca.shared.global` at conditions.cu:[[#]] does not run as launched at conditions.cu:[[#]], where argument 3 is 64
// CHECK-NEXT: {{^}}loop<2> fact async_copy bytes=4 mechanism=cp_async{{$}}
// CHECK-NEXT: {{^}}loop<2> fact async_copy bytes=4 mechanism=cp_async{{$}}
// CHECK-NEXT: {{^}}member<0> fact fast_math op=cos{{$}}
// CHECK-NEXT: {{^}}member<2> fact fast_math op=cos{{$}}
// CHECK-NEXT: {{^}}oneSided<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}oneSided<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] does not run as launched at conditions.cu:[[#]], where argument 3 is 4
// CHECK-NEXT: {{^}}oneSided<2> undecided packed_math `mul.f16x2` at conditions.cu:[[#]] is on one side of a branch on launch parameters, and conditions.cu:[[#]] writes the same outputs without it
// CHECK-NEXT: {{^}}pointer<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}pointer<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] does not run as launched at conditions.cu:[[#]], where argument 3 is 0
// CHECK-NEXT: {{^}}pointer<2> undecided packed_math `mul.f16x2` at conditions.cu:[[#]] is on one side of a branch on launch parameters, and conditions.cu:[[#]] writes the same outputs without it
// CHECK-NEXT: {{^}}real<0> fact fast_math op=sin{{$}}
// CHECK-NEXT: {{^}}real<2> fact fast_math op=sin{{$}}
// CHECK-NEXT: {{^}}scalar<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}scalar<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] does not run as launched at conditions.cu:[[#]], where argument 3 is 4
// CHECK-NEXT: {{^}}scalar<2> undecided packed_math `mul.f16x2` at conditions.cu:[[#]] is on one side of a branch on launch parameters
// CHECK-NEXT: {{^}}thread<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}thread<1> near miss packed_math `mul.f16x2` at conditions.cu:[[#]] does not run as launched at conditions.cu:[[#]], where blockDim.x is 128
// CHECK-NEXT: {{^}}thread<2> fact packed_math type=f16x2{{$}}
// CHECK-NOT: <
