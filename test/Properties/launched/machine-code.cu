// The same in machine code, where parameters are words of a constant bank. As in
// conditions.cu, <0> is launched with the numbers under which the mechanism runs,
// <1> with those under which it does not, <2> with others.
// REQUIRES: nvcc, nvdisasm
// RUN: rm -rf %t && mkdir %t
// RUN: d2k-analyze --arch sm_90a --tiers source,sass --cache %t --format json --facts %s \
// RUN:   | %python %S/Inputs/facts.py vector_global_access packed_math async_copy smem_tiling \
// RUN:   | FileCheck %s

#include <cuda_fp16.h>

__device__ int place() { return blockIdx.x * 256 + threadIdx.x; }

template <int kWay>
__global__ void wide(const float *a, float *o, int mode) {
  int i = place();
  float s;
  if (mode == 5) {
    float4 v = ((const float4 *)a)[i];
    s = v.x + v.y + v.z + v.w;
  } else {
    s = a[4 * i] + a[4 * i + 1] + a[4 * i + 2] * a[4 * i + 3];
  }
  o[i] = s;
}
template <int kWay>
__global__ void __launch_bounds__(256) tiled(const float *a, float *o, int mode) {
  __shared__ float s[256];
  int i = place();
  float v;
  if (mode == 5) {
    s[threadIdx.x] = a[i];
    __syncthreads();
    v = s[threadIdx.x] + s[threadIdx.x ^ 1] * s[threadIdx.x ^ 2];
  } else {
    v = a[i] + a[i ^ 1] * a[i ^ 2];
  }
  o[i] = v;
}
struct Options {
  const __half2 *x;
  short pad, mode;
};
template <int kWay>
__global__ void member(Options options, __half2 *o) {
  __half2 v = options.x[place()];
  if (options.mode == -9)
    v = __hmul2(v, v);
  o[place()] = v;
}
template <int kWay>
__global__ void extent(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 v = a[i];
  if (blockDim.x == 1024)
    v = __hmul2(v, v);
  o[i] = v;
}
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
template <int kWay>
__global__ void factor(const __half2 *a, float *o, float z) {
  __half2 v = a[place()], w = __hmul2(v, v);
  float2 f = __half22float2(v);
  o[place()] = f.x * f.y + z * (__low2float(w) + __high2float(w));
}
// Scratch that nobody reads, or somebody does.
template <int kWay>
__global__ void unread(const __half2 *a, float *o, __half2 *scratch) {
  __half2 v = a[place()];
  scratch[place()] = __hmul2(v, v);
  float2 f = __half22float2(v);
  o[place()] = f.x * f.y;
}

void run(const float *a, float *o, int n, float x, dim3 block, float *q) {
  auto *h = (const __half2 *)a;
  auto *p = (__half2 *)o;
  static __half2 *scratch = [] { __half2 *p; cudaMalloc(&p, 4 << 20); return p; }();
  wide<0><<<64, 256>>>(a, o, 5);
  wide<1><<<64, 256>>>(a, o + 65536, 4);
  wide<2><<<64, 256>>>(a, o + 2 * 65536, n);
  tiled<0><<<64, 256>>>(a, o + 3 * 65536, 5);
  tiled<1><<<64, 256>>>(a, o + 4 * 65536, 4);
  tiled<2><<<64, 256>>>(a, o + 5 * 65536, n);
  member<0><<<64, 256>>>({h, 9, -9}, p + 6 * 65536);
  member<1><<<64, 256>>>({h, -9, 9}, p + 7 * 65536);
  member<2><<<64, 256>>>({h, -9, short(n)}, p + 8 * 65536);
  extent<0><<<64, 1024>>>(h, p + 9 * 65536);
  extent<1><<<64, 256>>>(h, p + 10 * 65536);
  extent<2><<<64, block>>>(h, p + 11 * 65536);
  loop<0><<<64, 256>>>(a, o + 12 * 65536, 8192);
  loop<1><<<64, 256>>>(a, o + 13 * 65536, 64);
  loop<2><<<64, 256>>>(a, o + 14 * 65536, n);
  factor<0><<<64, 256>>>(h, o + 15 * 65536, 2.f);
  factor<1><<<64, 256>>>(h, o + 16 * 65536, -0.f);
  factor<2><<<64, 256>>>(h, o + 17 * 65536, x);
  unread<0><<<64, 256>>>(h, o + 18 * 65536, (__half2 *)q);
  unread<1><<<64, 256>>>(h, o + 19 * 65536, scratch);
}

// CHECK: {{^}}extent<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}extent<1> near miss packed_math {{.*}} does not run as launched at machine-code.cu:[[#]], where blockDim.x is 256
// CHECK-NEXT: {{^}}extent<2> undecided packed_math {{.*}} is on one side of a branch on launch parameters
// CHECK-NEXT: {{^}}factor<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}factor<1> near miss packed_math {{.*}} is not used: its result reaches no output
// CHECK-NEXT: {{^}}factor<1> near miss packed_math {{.*}} shows it in the code, but not as launched at machine-code.cu:[[#]], where argument 3 is -2147483648
// CHECK-NEXT: {{^}}factor<2> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}loop<0> fact async_copy bytes=4 mechanism=cp_async{{$}}
// CHECK-NEXT: {{^}}loop<0> fact async_copy bytes=4 mechanism=cp_async{{$}}
// CHECK-NEXT: {{^}}loop<0> fact smem_tiling buffers=1{{$}}
// CHECK-NEXT: {{^}}loop<1> near miss async_copy {{.*}} does not run as launched at machine-code.cu:[[#]], where argument 3 is 64
// CHECK-NEXT: {{^}}loop<2> fact async_copy bytes=4 mechanism=cp_async{{$}}
// CHECK-NEXT: {{^}}loop<2> fact async_copy bytes=4 mechanism=cp_async{{$}}
// CHECK-NEXT: {{^}}loop<2> undecided smem_tiling
// CHECK-NEXT: {{^}}member<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}member<1> near miss packed_math {{.*}} does not run as launched at machine-code.cu:[[#]], where argument 1 has
// CHECK-NEXT: {{^}}member<2> undecided packed_math {{.*}} is on one side of a branch on launch parameters
// CHECK-NEXT: {{^}}tiled<0> fact smem_tiling buffers=1 bytes=1024 reuse=3.0{{$}}
// CHECK-NEXT: {{^}}tiled<2> undecided smem_tiling {{.*}} is on one side of a branch on launch parameters
// CHECK-NEXT: {{^}}unread<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}unread<1> near miss packed_math {{.*}} is not used: its result reaches no output
// CHECK-NEXT: {{^}}unread<1> near miss packed_math `{{.*}} shows it in the code, but not as launched at machine-code.cu:[[#]], where nobody reads cudaMalloc at line [[#]], which argument 3 leads to
// CHECK-NEXT: {{^}}wide<0> fact vector_global_access bytes=16 direction=load share=1.0{{$}}
// CHECK-NEXT: {{^}}wide<2> undecided vector_global_access {{.*}} is on one side of a branch on launch parameters, and {{.*}} works in another way on the other{{$}}
// CHECK-NOT: {{.}}
