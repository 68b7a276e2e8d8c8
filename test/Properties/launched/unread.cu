// Results that go to memory which nobody reads, while plain code makes the
// outputs: the mechanism behind them is none of the kernel's. Where somebody
// reads that memory, it is.
// REQUIRES: nvcc
// RUN: rm -rf %t && mkdir %t
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --cache %t --format json --facts %s \
// RUN:   | %python %S/Inputs/facts.py packed_math bulk_store_epilogue smem_tiling vector_global_access \
// RUN:   | FileCheck %s

#include <cuda_fp16.h>

__device__ int place() { return blockIdx.x * 256 + threadIdx.x; }

// <0> to an output, <1> to scratch that nobody reads, <2> to scratch of which
// it is not known.
template <int kWay>
__global__ void packed(const __half2 *a, float *o, __half2 *scratch) {
  __half2 v = a[place()];
  scratch[place()] = __hmul2(v, v);
  float2 f = __half22float2(v);
  o[place()] = f.x * f.y;
}
template <int kWay>
__global__ void bulk(const float *a, float *o, float *scratch) {
  __shared__ alignas(128) float s[256];
  float v = a[place()];
  s[threadIdx.x] = v * 2.f;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;\n"
                 "cp.async.bulk.commit_group;\n"
                 "cp.async.bulk.wait_group 0;" ::"l"(
                     __cvta_generic_to_global(scratch + blockIdx.x * 256)),
                 "r"(unsigned(__cvta_generic_to_shared(s)))
                 : "memory");
  o[place()] = v * v;
}
template <int kWay>
__global__ void __launch_bounds__(256) tiled(const float *a, float *o, float *scratch) {
  __shared__ float s[256];
  s[threadIdx.x] = a[place()];
  __syncthreads();
  scratch[place()] = s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2] + s[threadIdx.x ^ 3];
  o[place()] = a[place()] * 2.f;
}
template <int kWay>
__global__ void wide(const float4 *a, const float *b, float *o, float *scratch) {
  float4 v = a[place()];
  scratch[place()] = v.x + v.y + v.z + v.w;
  o[place()] = b[place() * 3] * 2.f;
}

// Scratch that is read: by a later kernel, by the kernel itself, by the host
// with a copy and without, by the caller.
__global__ void later(const __half2 *scratch, __half2 *o) {
  o[place()] = __hneg2(scratch[place() + 1]);
}
__global__ void itself(const __half2 *a, float *o, __half2 *scratch, unsigned *count) {
  __shared__ bool isLast;
  scratch[place()] = __hmul2(a[place()], a[place()]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    isLast = atomicAdd(count, 1) == gridDim.x - 1;
  __syncthreads();
  if (isLast)
    for (int i = threadIdx.x; i < gridDim.x * 256; i += 256)
      o[i] = __low2float(scratch[i]);
}
struct Names {
  float *scratch;
};

template <typename T>
T *allocate() {
  T *p;
  cudaMalloc(&p, 4 << 20);
  return p;
}

void output(const float *a, float *o, float *q) {
  packed<0><<<64, 256>>>((const __half2 *)a, o, (__half2 *)q);
  bulk<0><<<64, 256>>>(a, o + 65536, q + 65536);
  tiled<0><<<64, 256>>>(a, o + 2 * 65536, q + 2 * 65536);
  wide<0><<<64, 256>>>((const float4 *)a, a, o + 3 * 65536, q + 3 * 65536);
}
void scratch(const float *a, float *o) {
  static float *scratch = allocate<float>();
  packed<1><<<64, 256>>>((const __half2 *)a, o, (__half2 *)scratch);
  bulk<1><<<64, 256>>>(a, o + 65536, scratch + 65536);
  tiled<1><<<64, 256>>>(a, o + 2 * 65536, scratch + 2 * 65536);
  wide<1><<<64, 256>>>((const float4 *)a, a, o + 3 * 65536, scratch + 3 * 65536);
}
void unknown(const float *a, float *o, float **q) {
  packed<2><<<64, 256>>>((const __half2 *)a, o, (__half2 *)q[0]);
  bulk<2><<<64, 256>>>(a, o + 65536, q[1]);
  tiled<2><<<64, 256>>>(a, o + 2 * 65536, q[2]);
  wide<2><<<64, 256>>>((const float4 *)a, a, o + 3 * 65536, q[3]);
}
void reads(const float *a, float *o, float *host) {
  static __half2 *first = allocate<__half2>();
  packed<3><<<64, 256>>>((const __half2 *)a, o, first);
  later<<<64, 256>>>(first, (__half2 *)o + 65536);
  static __half2 *second = allocate<__half2>();
  static unsigned *count = allocate<unsigned>();
  itself<<<64, 256>>>((const __half2 *)a, o + 2 * 65536, second, count);
}
void copies(const float *a, float *o, float *host) {
  static __half2 *scratch = allocate<__half2>();
  packed<4><<<64, 256>>>((const __half2 *)a, o, scratch);
  cudaMemcpy(host, scratch, 65536, cudaMemcpyDeviceToHost);
}
void manages(const float *a, float *o) {
  static __half2 *shared = [] { __half2 *p; cudaMallocManaged(&p, 4 << 20); return p; }();
  packed<5><<<64, 256>>>((const __half2 *)a, o, shared);
}
__half2 *returns(const float *a, float *o) {
  auto *result = allocate<__half2>();
  packed<6><<<64, 256>>>((const __half2 *)a, o, result);
  return result;
}
void gives(const float *a, float *o, float **to, Names *names) {
  auto *first = allocate<float>(), *second = allocate<float>();
  *to = first;
  names->scratch = second;
  packed<7><<<64, 256>>>((const __half2 *)a, o, (__half2 *)first);
  packed<8><<<64, 256>>>((const __half2 *)a, o + 65536, (__half2 *)second);
}

// CHECK: {{^}}itself fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}bulk<0> fact bulk_store_epilogue op=bulk{{$}}
// CHECK-NEXT: {{^}}bulk<1> near miss bulk_store_epilogue `cp.async.bulk.global.shared::cta.bulk_group` at unread.cu:[[#]] is not used: what it stores reaches no output
// CHECK-NEXT: {{^}}bulk<1> near miss bulk_store_epilogue `cp.async.bulk.global.shared::cta.bulk_group` at unread.cu:[[#]] shows it in the code, but not as launched at unread.cu:[[#]], where nobody reads cudaMalloc at line 78, which argument 3 leads to
// CHECK-NEXT: {{^}}bulk<2> fact bulk_store_epilogue op=bulk{{$}}
// CHECK-NEXT: {{^}}packed<0> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}packed<1> near miss packed_math `mul.f16x2` at unread.cu:[[#]] is not used: its result reaches no output
// CHECK-NEXT: {{^}}packed<1> near miss packed_math `mul.f16x2` at unread.cu:[[#]] shows it in the code, but not as launched at unread.cu:[[#]], where nobody reads cudaMalloc at line 78, which argument 3 leads to
// CHECK-NEXT: {{^}}packed<2> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}packed<3> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}packed<4> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}packed<5> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}packed<6> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}packed<7> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}packed<8> fact packed_math type=f16x2{{$}}
// CHECK-NEXT: {{^}}tiled<0> fact smem_tiling buffers=1 bytes=1024 reuse=3.0{{$}}
// CHECK-NEXT: {{^}}tiled<1> near miss smem_tiling `st.shared.f32` at unread.cu:[[#]] is not used: what it stages reaches no output
// CHECK-NEXT: {{^}}tiled<1> near miss smem_tiling `st.shared.f32` at unread.cu:[[#]] shows it in the code, but not as launched at unread.cu:[[#]], where nobody reads cudaMalloc at line 78, which argument 3 leads to
// CHECK-NEXT: {{^}}tiled<2> fact smem_tiling buffers=1 bytes=1024 reuse=3.0{{$}}
// CHECK-NEXT: {{^}}wide<0> fact vector_global_access bytes=16 direction=load share=0.8{{$}}
// CHECK-NEXT: {{^}}wide<1> near miss vector_global_access `ld.global.v4.f32` at unread.cu:[[#]] is not used: what it loads reaches no output
// CHECK-NEXT: {{^}}wide<1> near miss vector_global_access `ld.global.v4.f32` at unread.cu:[[#]] shows it in the code, but not as launched at unread.cu:[[#]], where nobody reads cudaMalloc at line 78, which argument 4 leads to
// CHECK-NEXT: {{^}}wide<2> fact vector_global_access bytes=16 direction=load share=0.8{{$}}
// CHECK-NOT: {{.}}
