// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=5 %s | FileCheck %s
//
// Inline assembly with operands that Clang's host pass has no constraint for:
// 64-bit and 16-bit registers, references into arrays, casts. The bodies of
// device functions do not matter to the host.

#include <cstdint>
#include <cuda_runtime.h>

struct Args {
  long n;
  float *y;
};

__device__ void commit(uint64_t *barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%0];" ::
                   "l"(barrier)
               : "memory");
}

template <class T>
__device__ void load(T &value, const T *p) {
  asm volatile("ld.global.u16 %0, [%1];"
               : "=h"(reinterpret_cast<uint16_t &>(value))
               : "l"(p));
}

__global__ void kernel(float *y, int n) {
  uint32_t r[2] = {1, 2};
  uint64_t barrier;
  commit(&barrier);
  asm volatile("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1, %2};" ::"r"(n),
               "r"(r[0]), "r"(r[1]));
  short s;
  load(s, (short *)y);
}

// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK-NEXT: launch kernel(float*, int) grid 5px1x1 block 32x1x1 shared 0 (y, 5p)
extern "C" void run(const Args *a) { kernel<<<a->n, 32>>>(a->y, a->n); }
