// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Global accesses: lanes next to each other or not, wide or not; two-wide arithmetic.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// EXPECT oneOff: coalesced_global_access present direction=load share=1:
//   words from an odd start: five sectors instead of four, which is 1.25 times
__global__ void oneOff(const float *a, float *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  c[i] = a[i + 1] * 3.f;
}

// EXPECT oneOffHalf: coalesced_global_access absent direction=load:
//   halves from an odd start: three sectors instead of two
// EXPECT oneOffHalf: coalesced_global_access present direction=store share=1: from an even start
__global__ void oneOffHalf(const __half *a, __half *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  c[i] = __float2half(__half2float(a[i + 1]) * 3.f);
}

// EXPECT everySecond: coalesced_global_access absent direction=load: half of each sector is used
// EXPECT everySecond: vector_global_access absent: single words
__global__ void everySecond(const float *a, float *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  c[i] = a[2 * i] * 3.f;
}

// EXPECT bothOfPair: coalesced_global_access present direction=load share=1: pairs of words
// EXPECT bothOfPair: vector_global_access present direction=load bytes=8: float2
__global__ void bothOfPair(const float2 *a, float *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float2 v = a[i];
  c[i] = v.x * v.y;
}

struct __align__(16) Aligned {
  float x, y, z, w;
};
struct Plain {
  float x, y, z, w;
};
template <class T> __device__ __forceinline__ float norm(const T *a, int i) {
  T v = a[i];
  return sqrtf(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
}
// EXPECT aligned: vector_global_access present direction=load bytes=16: a structure aligned to 16
// EXPECT aligned: coalesced_global_access present direction=load share=1: consecutive
__global__ void aligned(const Aligned *a, float *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  c[i] = norm(a, i);
}
// EXPECT unaligned: vector_global_access absent: the same structure without alignment: four words
// EXPECT unaligned: coalesced_global_access absent direction=load:
//   each of the four loads touches 16 sectors for 128 bytes
__global__ void unaligned(const Plain *a, float *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  c[i] = norm(a, i);
}

// EXPECT wideByAsm: vector_global_access present direction=load bytes=16: ld.global.v4 as inline assembly
// EXPECT wideByAsm: vector_global_access present direction=store bytes=16: and st.global.v4
__global__ void wideByAsm(const float *a, float *c) {
  size_t i = (size_t)(blockIdx.x * 256 + threadIdx.x) * 4;
  float x, y, z, w;
  asm volatile("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
               : "l"(a + i));
  asm volatile("st.global.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(c + i), "f"(x * 2.f), "f"(y * 3.f),
               "f"(z * 4.f), "f"(w * 5.f)
               : "memory");
}

// EXPECT narrowByAsm: vector_global_access absent: four loads and stores of a word
__global__ void narrowByAsm(const float *a, float *c) {
  size_t i = (size_t)(blockIdx.x * 256 + threadIdx.x) * 4;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    float x;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(a + i + j));
    asm volatile("st.global.f32 [%0], %1;" ::"l"(c + i + j), "f"(x * (2.f + j)) : "memory");
  }
}

// EXPECT rowsFirst: coalesced_global_access present direction=load share=1: lanes along a row
__global__ void rowsFirst(const float *a, float *c, int n) {
  float s = 0;
  for (int r = 0; r < n; ++r)
    s += a[(size_t)r * 8192 + blockIdx.x * 256 + threadIdx.x];
  c[blockIdx.x * 256 + threadIdx.x] = s;
}
// EXPECT columnsFirst: coalesced_global_access absent direction=load: each lane has a row of its own
// EXPECT columnsFirst: coalesced_global_access present direction=store share=1: a sum a lane
__global__ void columnsFirst(const float *a, float *c, int n) {
  float s = 0;
  for (int r = 0; r < n; ++r)
    s += a[(size_t)(blockIdx.x * 256 + threadIdx.x) * 8192 + r];
  c[blockIdx.x * 256 + threadIdx.x] = s;
}

// wideHeader: verdict on vector_global_access withdrawn: share 0 of the loop, but the access is there
__global__ void wideHeader(const float *a, const float4 *head, float *c, int n) {
  float4 h = head[threadIdx.x];
  float s = h.x + h.y + h.z + h.w;
  for (int r = 0; r < n; ++r)
    s = s * 0.5f + a[(size_t)r * 8192 + blockIdx.x * 256 + threadIdx.x];
  c[blockIdx.x * 256 + threadIdx.x] = s;
}

// EXPECT byHalves: packed_math present type=f16x2: two halves an instruction
// EXPECT byHalves: vector_global_access present direction=load bytes=8: two pairs
__global__ void byHalves(const uint2 *a, uint2 *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  uint2 v = a[i];
  __half2 x = __hmul2(*(__half2 *)&v.x, *(__half2 *)&v.y);
  __half2 y = __hadd2(*(__half2 *)&v.x, *(__half2 *)&v.y);
  c[i] = make_uint2(*(unsigned *)&x, *(unsigned *)&y);
}
// EXPECT byHalf: packed_math absent: one half an instruction, though machine code has HMUL2 for it
__global__ void byHalf(const __half *a, const __half *b, __half *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  c[i] = __hfma(a[i], b[i], a[i]);
}
// EXPECT throughFloat: packed_math absent: pairs are converted, arithmetic is in floats
__global__ void throughFloat(const __half2 *a, const __half2 *b, __half2 *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float2 x = __half22float2(a[i]), y = __half22float2(b[i]);
  c[i] = __floats2half2_rn(x.x * y.x, x.y * y.y);
}
// EXPECT pairKept: packed_math present type=bf16x2: both halves of the pair are stored
__global__ void pairKept(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  c[i] = __hfma2(a[i], b[i], a[i]);
}
// EXPECT pairDead: packed_math absent: what the pair makes is compared with itself only
__global__ void pairDead(const __nv_bfloat162 *a, const __nv_bfloat162 *b, float *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __nv_bfloat162 p;
  asm volatile("fma.rn.bf16x2 %0, %1, %2, %3;"
               : "=r"(*(unsigned *)&p)
               : "r"(*(const unsigned *)&a[i]), "r"(*(const unsigned *)&b[i]),
                 "r"(*(const unsigned *)&a[i]));
  unsigned u = *(unsigned *)&p;
  c[i] = u == u ? __bfloat162float(a[i].x) : 0.f;
}

void run(const float *a, const float *b, float **o, cudaStream_t s) {
  oneOff<<<1024, 256, 0, s>>>(a, o[0]);
  oneOffHalf<<<1024, 256, 0, s>>>((const __half *)a, (__half *)o[1]);
  everySecond<<<1024, 256, 0, s>>>(a, o[2]);
  bothOfPair<<<1024, 256, 0, s>>>((const float2 *)a, o[3]);
  aligned<<<1024, 256, 0, s>>>((const Aligned *)a, o[4]);
  unaligned<<<1024, 256, 0, s>>>((const Plain *)a, o[5]);
  wideByAsm<<<1024, 256, 0, s>>>(a, o[6]);
  narrowByAsm<<<1024, 256, 0, s>>>(a, o[7]);
  rowsFirst<<<32, 256, 0, s>>>(a, o[8], 4096);
  columnsFirst<<<32, 256, 0, s>>>(a, o[9], 4096);
  wideHeader<<<32, 256, 0, s>>>(a, (const float4 *)b, o[10], 4096);
  byHalves<<<1024, 256, 0, s>>>((const uint2 *)a, (uint2 *)o[11]);
  byHalf<<<1024, 256, 0, s>>>((const __half *)a, (const __half *)b, (__half *)o[12]);
  throughFloat<<<1024, 256, 0, s>>>((const __half2 *)a, (const __half2 *)b, (__half2 *)o[13]);
  pairKept<<<1024, 256, 0, s>>>((const __nv_bfloat162 *)a, (const __nv_bfloat162 *)b,
                                (__nv_bfloat162 *)o[14]);
  pairDead<<<1024, 256, 0, s>>>((const __nv_bfloat162 *)a, (const __nv_bfloat162 *)b, o[15]);
}
