// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that the same kernel replaces, in full or in part, and results that nobody's number
// lets through.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include "Inputs/Sm90.h"
#include <cuda_fp16.h>

#define PLACE int i = blockIdx.x * 256 + threadIdx.x

// EXPECT pairThenLow: packed_math present type=f16x2: the upper half of the pair stays
__global__ void __launch_bounds__(256) pairThenLow(const __half2 *a, __half *o) {
  PLACE;
  __half2 v = a[i], t = __hmul2(v, v);
  ((volatile unsigned *)o)[i] = *(unsigned *)&t;
  ((volatile unsigned short *)o)[2 * i] = __half_as_ushort(__low2half(v));
}

// EXPECT wordsThenPair: packed_math present type=f16x2: the pair is what stays
__global__ void __launch_bounds__(256) wordsThenPair(const __half2 *a, __half *o) {
  PLACE;
  __half2 v = a[i], t = __hmul2(v, v);
  ((volatile unsigned short *)o)[2 * i] = __half_as_ushort(__low2half(v));
  ((volatile unsigned short *)o)[2 * i + 1] = __half_as_ushort(__high2half(v));
  ((volatile unsigned *)o)[i] = *(unsigned *)&t;
}

// EXPECT otherPair: packed_math present type=f16x2: the two halves are those of the next pair
__global__ void __launch_bounds__(256) otherPair(const __half2 *a, __half *o) {
  PLACE;
  __half2 v = a[i], t = __hmul2(v, v);
  ((volatile unsigned *)o)[2 * i] = *(unsigned *)&t;
  ((volatile unsigned short *)o)[4 * i + 2] = __half_as_ushort(__low2half(v));
  ((volatile unsigned short *)o)[4 * i + 3] = __half_as_ushort(__high2half(v));
}

// EXPECT fourThenWords: fast_math absent: four words at once, then each of them
__global__ void __launch_bounds__(256) fourThenWords(const float *a, float *o) {
  PLACE;
  float x = a[i], y = __sinf(x);
  asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(o + 4 * i), "f"(y) : "memory");
  volatile float *words = o + 4 * i;
  words[3] = x * 4.f;
  words[1] = x * 2.f;
  words[0] = x;
  words[2] = x * 3.f;
}

// EXPECT fourThenThree: fast_math present op=sin: the last word stays
__global__ void __launch_bounds__(256) fourThenThree(const float *a, float *o) {
  PLACE;
  float x = a[i], y = __sinf(x);
  asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(o + 4 * i), "f"(y) : "memory");
  volatile float *words = o + 4 * i;
  words[0] = x;
  words[1] = x * 2.f;
  words[2] = x * 3.f;
}

// EXPECT byNeighbour: fast_math absent: behind the barrier the neighbour stores over the result
__global__ void __launch_bounds__(256) byNeighbour(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = __cosf(x);
  __syncthreads();
  o[blockIdx.x * 256 + (threadIdx.x ^ 1)] = x * x;
}

// EXPECT byHalf: fast_math present op=cos: only half of the threads store again
__global__ void __launch_bounds__(256) byHalf(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = __cosf(x);
  __syncthreads();
  if (threadIdx.x < 128)
    o[blockIdx.x * 256 + 255 - threadIdx.x] = x * x;
}

// EXPECT beside: fast_math present op=cos: the other threads store next to the results
__global__ void __launch_bounds__(256) beside(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[blockIdx.x * 512 + threadIdx.x] = __cosf(x);
  __syncthreads();
  o[blockIdx.x * 512 + 511 - threadIdx.x] = x * x;
}

// EXPECT exchangedOut: fast_math present op=log: what is exchanged is stored elsewhere
__global__ void __launch_bounds__(256) exchangedOut(const float *a, float *o, float *old) {
  PLACE;
  float x = a[i];
  o[i] = __logf(x);
  old[i] = atomicExch(&o[i], x * x);
}

// EXPECT exchangedSome: fast_math present op=log: exchanged for positive numbers only
__global__ void __launch_bounds__(256) exchangedSome(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = __logf(x);
  if (x > 2.f)
    atomicExch(&o[i], x * x);
}

// EXPECT overInfinity: fast_math absent: the sine is divided by infinity
__global__ void __launch_bounds__(256) overInfinity(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = x * x + __sinf(x) / INFINITY;
}

// EXPECT overThree: fast_math present op=sin: the sine is divided by three
__global__ void __launch_bounds__(256) overThree(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = x * x + __sinf(x) / 3.f;
}

// EXPECT ninthBit: fast_math absent: a block of 256 threads has no ninth bit
__global__ void __launch_bounds__(256) ninthBit(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = threadIdx.x & 0x700 ? __sinf(x) : x * x;
}

// EXPECT eighthBit: fast_math present op=sin: half of the threads
__global__ void __launch_bounds__(256) eighthBit(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = threadIdx.x & 0x780 ? __sinf(x) : x * x;
}

void run(float *a, float **o, cudaStream_t s) {
  const __half2 *h = (__half2 *)a;
  pairThenLow<<<64, 256, 0, s>>>(h, (__half *)o[0]);
  wordsThenPair<<<64, 256, 0, s>>>(h, (__half *)o[1]);
  otherPair<<<64, 256, 0, s>>>(h, (__half *)o[2]);
  fourThenWords<<<64, 256, 0, s>>>(a, o[3]);
  fourThenThree<<<64, 256, 0, s>>>(a, o[4]);
  byNeighbour<<<64, 256, 0, s>>>(a, o[5]);
  byHalf<<<64, 256, 0, s>>>(a, o[6]);
  beside<<<64, 256, 0, s>>>(a, o[7]);
  exchangedOut<<<64, 256, 0, s>>>(a, o[8], o[9]);
  exchangedSome<<<64, 256, 0, s>>>(a, o[10]);
  overInfinity<<<64, 256, 0, s>>>(a, o[11]);
  overThree<<<64, 256, 0, s>>>(a, o[12]);
  ninthBit<<<64, 256, 0, s>>>(a, o[13]);
  eighthBit<<<64, 256, 0, s>>>(a, o[14]);
}
