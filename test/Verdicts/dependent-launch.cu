// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programmatic dependent launches.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include "Inputs/Sm90.h"

// EXPECT pdlFirst: dependent_launch present side=trigger: triggers, and a dependent follows
__global__ void pdlFirst(const float *a, float *t) {
  cudaTriggerProgrammaticLaunchCompletion();
  t[blockIdx.x * 128 + threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x] + 1.f;
}

// EXPECT pdlBoth: dependent_launch present side=wait: waits, launched with the attribute
__global__ void pdlBoth(const float *t, float *o) {
  cudaGridDependencySynchronize();
  o[blockIdx.x * 128 + threadIdx.x] = t[blockIdx.x * 128 + threadIdx.x] * 2.f;
}

// EXPECT pdlZero: dependent_launch absent: the attribute's value is 0
__global__ void pdlZero(const float *t, float *o) {
  cudaGridDependencySynchronize();
  o[blockIdx.x * 128 + threadIdx.x] = t[blockIdx.x * 128 + threadIdx.x] * 2.f;
}

// EXPECT pdlPlain: dependent_launch absent: launched with <<<>>>
__global__ void pdlPlain(const float *t, float *o) {
  cudaGridDependencySynchronize();
  o[blockIdx.x * 128 + threadIdx.x] = t[blockIdx.x * 128 + threadIdx.x] * 2.f;
}

// EXPECT pdlNoWait: dependent_launch absent:
//   launched with the attribute, but the kernel neither waits nor triggers
__global__ void pdlNoWait(const float *t, float *o) {
  o[blockIdx.x * 128 + threadIdx.x] = t[blockIdx.x * 128 + threadIdx.x] * 2.f;
}

template <class... P, class... A>
void launchP(void (*k)(P...), int grid, int block, cudaStream_t st, int on, A... args) {
  cudaLaunchConfig_t c = {};
  c.gridDim = grid;
  c.blockDim = block;
  c.stream = st;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  at[0].val.programmaticStreamSerializationAllowed = on;
  c.attrs = at;
  c.numAttrs = 1;
  cudaLaunchKernelEx(&c, k, (P)args...);
}

// EXPECT pdlDead: dependent_launch absent: the wait stands under n < 0, and the launch passes 4096
__global__ void pdlDead(const float *a, float *o, int n) {
  if (n < 0)
    asm volatile("griddepcontrol.wait;" ::: "memory");
  o[blockIdx.x * 256 + threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x] * 2.f;
}

// EXPECT pdlLate: dependent_launch present side=wait: waits before it reads
__global__ void pdlLate(const float *a, float *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  o[i] = a[i] * 2.f;
}

// EXPECT coReverse: coalesced_global_access present direction=load share=1:
//   reversed order is coalesced
__global__ void coReverse(const float *a, float *o) {
  o[blockIdx.x * 256 + threadIdx.x] = sqrtf(a[blockIdx.x * 256 + 255 - threadIdx.x]);
}

template <class... P, class... A>
void launchDependent(void (*k)(P...), int grid, int block, cudaStream_t st, A... args) {
  cudaLaunchConfig_t c = {};
  c.gridDim = grid;
  c.blockDim = block;
  c.stream = st;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  at[0].val.programmaticStreamSerializationAllowed = 1;
  c.attrs = at;
  c.numAttrs = 1;
  cudaLaunchKernelEx(&c, k, (P)args...);
}

static void runPart1(float *a, float *b, float **o, cudaStream_t st) {
  pdlPlain<<<64, 128, 0, st>>>(a, o[0]);
  launchP(pdlZero, 64, 128, st, 0, a, o[1]);
  pdlFirst<<<64, 128, 0, st>>>(a, o[2]);
  launchP(pdlBoth, 64, 128, st, 1, o[2], o[3]);
  launchP(pdlNoWait, 64, 128, st, 1, o[3], o[4]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  coReverse<<<64, 256, 0, s>>>(a, o[5]);
  coReverse<<<64, 256, 0, s>>>(a, o[6]);
  launchDependent(pdlDead, 64, 256, s, o[6], o[7], 4096);
  launchDependent(pdlLate, 64, 256, s, o[7], o[8], 4096);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
}
