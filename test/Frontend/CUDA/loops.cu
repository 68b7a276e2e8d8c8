// RUN: d2k-host %s | FileCheck %s
//
// The loops of device code: where they are, by how much their counter moves, and
// the memory accesses that a line of their body spells out.

#include <cuda_runtime.h>

struct Pair {
  float a, b;
};

__device__ float inner(const float *x, int n) {
  float sum = 0;
  // CHECK: loop line [[@LINE+1]]:3 head to [[@LINE+1]] end [[@LINE+2]] step 1 in _Z5innerPKfi
  for (int i = n; i > 0; --i)
    sum += x[i];
  // CHECK-NEXT: line [[@LINE-1]]: 4 bytes, 1 loads, 0 stores
  return sum;
}

// A template has a loop for each instance.
template <int kStep>
__global__ void strided(const float *x, float *y, int n) {
  // CHECK: loop line [[@LINE+2]]:3 head to [[@LINE+2]] end [[@LINE+4]] step 64 unroll 0 in _Z7stridedILi64EEvPKfPfi
  #pragma unroll
  for (int i = threadIdx.x; i < n; i = i + kStep) {
    y[i] = x[i] * x[i + 1];
  }
}
template __global__ void strided<64>(const float *, float *, int);
// CHECK-NEXT: line [[@LINE-4]]: 4 bytes, 2 loads, 1 stores

__global__ void forms(const float *x, float4 *v, Pair *p, double *d, int n) {
  __shared__ float tile[32];
  float acc[4] = {};
  float &reference = d ? acc[0] : tile[0];
  // CHECK: loop line [[@LINE+3]]:3 head to [[@LINE+4]] end [[@LINE+26]] step 2 unroll 4 in _Z5forms
  // An inner loop's accesses are its own; a head may have several lines.
  #pragma unroll 4
  for (int i = 0;
       i < n; i += 2) {
    tile[i] += x[i];
    // CHECK-NEXT: line [[@LINE-1]]: 4 bytes, 2 loads, 1 stores
    // Vectors are one access, other structures may become several.
    v[i] = v[i + 1];
    // CHECK-NEXT: line [[@LINE-1]]: 16 bytes, 1 loads, 1 stores
    p[i] = p[i + 1];
    *d = p[i].a;
    // CHECK-NEXT: line [[@LINE-1]]: 4 bytes, 1 loads, 0 stores
    // CHECK-NEXT: line [[@LINE-2]]: 8 bytes, 0 loads, 1 stores
    // Registers, perhaps.
    acc[i & 3] += 1;
    // What a reference or assembly accesses is not known.
    tile[0] = reference;
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(i), "f"(tile[1]));
    // A function's accesses are its own.
    tile[2] = inner(x, i);
    // CHECK-NEXT: line [[@LINE-1]]: 4 bytes, 0 loads, 1 stores
    // CHECK-NEXT: loop line [[@LINE+1]]:5
    for (int j = 0; j < 4; ++j)
      tile[j] = 0;
    // CHECK-NEXT: line [[@LINE-1]]: 4 bytes, 0 loads, 1 stores
  }
  // CHECK-NEXT: loop line [[@LINE+1]]:3 head to [[@LINE+1]] end [[@LINE+2]] in
  while (tile[3] > 0)
    tile[3] = x[int(tile[3])];
  // CHECK-NEXT: line [[@LINE-2]]: 4 bytes, 1 loads, 0 stores
  // CHECK-NEXT: line [[@LINE-2]]: 4 bytes, 2 loads, 1 stores
}
