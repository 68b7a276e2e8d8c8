// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inline PTX: what is emulated, and what is said of what is not.
//
// REQUIRES: host-cuda
// RUN: %host-nvcc %s -o %t.so
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(0)" | FileCheck %s
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(1)" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(2)" 2>&1 | FileCheck %s --check-prefix=EARLY
//
// UNKNOWN: asm in line [[#UNKNOWN_LINE:]]: the host has no vadd4.u32.u32.u32 before
// EARLY: read before the wait: nan, after it: 1

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

__device__ uint32_t sharedAddress(const void *pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}

__device__ float decode(uint32_t word, int half) {
  return __uint_as_float(word >> 16 * half << 16);
}

// C = A B with A 16x16 from shared memory by ldmatrix, and B 16x8 by
// ldmatrix.trans: A[i][k] = i - k / 2, B[k][j] = k == j + 8.
__global__ void matrices(float *c, float *transposed) {
  __shared__ alignas(16) __nv_bfloat16 a[16][16], b[16][8];
  unsigned lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32)
    a[i / 16][i % 16] = __float2bfloat16_rn(i / 16 - i % 16 / 2.0f);
  for (int i = lane; i < 128; i += 32)
    b[i / 8][i % 8] = __float2bfloat16_rn(i / 8 == i % 8 + 8);
  __syncwarp();
  uint32_t ra[4], rb[2];
  // Matrices 0 and 1 are rows 0-7 and 8-15 of columns 0-7; then columns 8-15.
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(sharedAddress(&a[lane % 16][lane / 16 * 8])));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0,%1}, "
               "[%2];\n"
               : "=r"(rb[0]), "=r"(rb[1])
               : "r"(sharedAddress(&b[lane % 16][0])));
  // Column lane % 4 * 2 of row lane / 4, and of row 8 + lane / 4 of A.
  float d[4] = {0.5f, 0.5f, 0.5f, 0.5f};
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i)
    c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
  if (lane == 9)
    for (int i = 0; i < 4; ++i)
      transposed[i] = i < 2 ? decode(ra[1], i) : decode(rb[1], i - 2);
}

// c[i][j] = a[i][j + 8] + 0.5: i - (j + 8) / 2 + 0.5.
// CHECK: matrices -3.5 -4 11.5 8
// Lane 9 has of A's second matrix row 8 + 2, columns 2 and 3; of B's second one
// rows 8 + 2 and 8 + 3 of column 2.
// CHECK: lane 9: 9 8.5 1 0
static void runMatrices() {
  float c[128], lane9[4];
  matrices<<<1, 32>>>(c, lane9);
  std::printf("matrices %g %g %g %g\n", c[0], c[1], c[15 * 8], c[15 * 8 + 7]);
  std::printf("lane 9: %g %g %g %g\n", lane9[0], lane9[1], lane9[2], lane9[3]);
}

__global__ void scalars(uint32_t *out, const uint32_t *in) {
  uint32_t lane, sum, selected, permuted, table;
  float power;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{\n\t.reg .pred p;\n\t.reg .b32 t<2>;\n\t"
      "add.u32 t0, %2, 5; setp.gt.s32 p, %3, 0;\n\t"
      "mov.b32 t1, 7; @p add.u32 t1, t1, t0; mov.b32 %0, t1;\n\t"
      "selp.b32 %1, 1, 2, !p;\n\t}"
      : "=r"(sum), "=r"(selected)
      : "r"(10), "r"(-1));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-3.0f));
  asm("prmt.b32 %0, %1, %2, 0x5410;"
      : "=r"(permuted)
      : "r"(0x11112222), "r"(0x33334444));
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" // (a & b) | c
      : "=r"(table)
      : "r"(0xc), "r"(0xa), "r"(1));
  uint32_t pair, fp8;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(2.0f), "f"(1.0f));
  uint16_t narrow;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(narrow)
      : "f"(1000.0f), "f"(1.0f));
  fp8 = narrow;
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4+16];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(in));
  if (lane == 3) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(out), "r"(sum),
                 "r"(selected)
                 : "memory");
    out[2] = permuted, out[3] = table, out[4] = pair, out[5] = fp8;
    out[6] = v.x + v.w, out[7] = __float_as_uint(power);
  }
}

// The predicate is false: 7, and the first choice of !p. 448 is 0x7e, 1 is 0x38.
// CHECK: scalars 7 1 44442222 9 40003f80 7e38 15 0.125
static void runScalars() {
  uint32_t out[8], in[8] = {0, 1, 2, 3, 4, 5, 6, 11};
  scalars<<<1, 32>>>(out, in);
  std::printf("scalars %u %u %x %x %x %x %u %g\n", out[0], out[1], out[2],
              out[3], out[4], out[5], out[6], __uint_as_float(out[7]));
}

__global__ void copies(const float *from, float *to) {
  __shared__ alignas(16) float stage[2][4];
  for (int i = 0; i < 2; ++i) {
    // Of the second copy one element, and zeros.
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(
                     sharedAddress(stage[i])),
                 "l"(from + 4 * i), "n"(16), "r"(i ? 4 : 16));
    asm volatile("cp.async.commit_group;" ::);
  }
  asm volatile("cp.async.wait_group %0;" ::"n"(1));
  to[0] = stage[0][3];
  to[1] = stage[1][0];
  asm volatile("cp.async.wait_all;" ::: "memory");
  to[2] = stage[1][0];
  to[3] = stage[1][1];
}

// CHECK: copies 3 4 0
static void runCopies(bool printEarly) {
  float from[8] = {0, 1, 2, 3, 4, 5, 6, 7}, to[4];
  copies<<<1, 1>>>(from, to);
  if (printEarly)
    std::printf("read before the wait: %s, after it: %d\n",
                to[1] != to[1] ? "nan" : "a number", to[2] == 4);
  else
    std::printf("copies %g %g %g\n", to[0], to[2], to[3]);
}

__global__ void unknown(uint32_t *out) {
  uint32_t a;
  asm("vadd4.u32.u32.u32 %0, %1, %1, %1;" : "=r"(a) : "r"(1));
  *out = a;
}

extern "C" void run(int what) {
  uint32_t out;
  if (what == 1) {
    unknown<<<1, 1>>>(&out);
  } else if (what == 2) {
    runCopies(true);
  } else {
    runMatrices();
    runScalars();
    runCopies(false);
  }
}
