// Rings in the forms in which people write them, with pairs that only look like
// them: a block of 128 threads multiplies slices of 64 x 32 on the tensor cores.
// REQUIRES: nvcc
// RUN: d2k-analyze --no-cache --arch sm_90a --tiers ptx --facts --format json %s -o %t.json
// RUN: %python %S/Inputs/verdicts.py %t.json async_pipeline tile_shape smem_tiling warp_specialization | FileCheck %s

#include <cstdint>
#include <cuda_bf16.h>

constexpr int kSlice = 8192; // Bytes of both operands.
extern __shared__ uint8_t dynamic[];

__device__ uint32_t toShared(const void *p) {
  return uint32_t(__cvta_generic_to_shared(p));
}

/// Byte of (row, chunk) in an operand: rows of 64 bytes, chunks of 16.
__device__ uint32_t at(int row, int chunk) {
  return row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4);
}

__device__ void copy16(uint32_t to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from)
               : "memory");
}
__device__ void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kLeft>
__device__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

/// Copies slice `i` with the 128 threads from `first` on.
__device__ void fill(uint32_t to, const __nv_bfloat16 *x,
                     const __nv_bfloat16 *w, int i, int k, int first = 0) {
#pragma unroll
  for (int pass = 0; pass < 2; ++pass) {
    int chunk = threadIdx.x - first + pass * 128, row = chunk / 4;
    uint32_t place = to + at(row, chunk % 4);
    int64_t column = i * 32 + chunk % 4 * 8;
    copy16(place, x + int64_t(blockIdx.y * 64 + row) * k + column);
    copy16(place + 4096, w + int64_t(blockIdx.x * 64 + row) * k + column);
  }
}

__device__ void loadMatrices(uint32_t (&out)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(from)
               : "memory");
}

__device__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                         uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

using Sums = float[2][4][4];

__device__ void compute(Sums &sums, uint32_t from) {
  int m = threadIdx.x / 64 * 32, n = threadIdx.x / 32 % 2 * 32;
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    uint32_t a[2][4], b[4];
    loadMatrices(a[0], from + at(m + lane % 16, k * 2 + lane / 16));
    loadMatrices(a[1], from + at(m + 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      int row = n + j * 8 + lane % 8 + lane / 16 * 8;
      loadMatrices(b, from + 4096 + at(row, k * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply(sums[i][j], a[i], b[0], b[1]);
        multiply(sums[i][j + 1], a[i], b[2], b[3]);
      }
    }
  }
}

__device__ void store(const Sums &sums, float *y) {
  float *to = y + (blockIdx.y * gridDim.x + blockIdx.x) * 4096;
#pragma unroll
  for (int i = 0; i < 32; ++i)
    to[i * 128 + threadIdx.x] = sums[i / 16][i / 4 % 4][i % 4];
}

__device__ void initBarrier(uint32_t barrier) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
__device__ void waitBarrier(uint32_t barrier, uint32_t parity) {
  asm volatile("{\n.reg .pred p;\nretry:\n"
               "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
               "@!p bra retry;\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/// Copies slice `i`, packed, by one thread.
__device__ void fetch(uint32_t to, uint32_t barrier, const __nv_bfloat16 *x,
                      const __nv_bfloat16 *w, int i) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared.b64 _, [%0], 8192;" ::"r"(barrier)
      : "memory");
  for (int operand = 0; operand < 2; ++operand)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1], 4096, [%2];" ::"r"(to + operand * 4096),
        "l"((operand ? w : x) + int64_t(i) * 2048), "r"(barrier)
        : "memory");
}

#define KERNEL(name, threads)                                                  \
  extern "C" __global__ void __launch_bounds__(threads)                        \
      name(const __nv_bfloat16 *x, const __nv_bfloat16 *w, float *y, int k,    \
           int flag)

// The number of the buffer is turned over.
// CHECK-LABEL: aTurnedNumber
// CHECK: async_pipeline depth 2 in_flight 1 mechanism cp_async
// ptxas makes the address under the guard of the copy.
// SASS-LABEL: aTurnedNumber
// SASS: async_pipeline depth 2 in_flight 1 mechanism cp_async
// SASS: smem_tiling buffers 2 bytes 8192 reuse 2.0
KERNEL(aTurnedNumber, 128) {
  uint32_t ring = toShared(dynamic);
  Sums sums = {};
  int now = 0;
  fill(ring, x, w, 0, k);
  commit();
  for (int i = 0; i < k / 32; ++i) {
    wait<0>();
    __syncthreads();
    if ((i + 1) * 32 < k)
      fill(ring + (now ^ 1) * kSlice, x, w, i + 1, k);
    commit();
    compute(sums, ring + now * kSlice);
    now ^= 1;
    __syncthreads();
  }
  store(sums, y);
}

// So is a bit of the address, which is aligned for that.
// CHECK-LABEL: bTurnedAddress
// CHECK: async_pipeline depth 2 in_flight 1 mechanism cp_async
KERNEL(bTurnedAddress, 128) {
  uint32_t now = (toShared(dynamic) + 16383) & ~16383u;
  Sums sums = {};
  fill(now, x, w, 0, k);
  commit();
  for (int i = 0; i < k / 32; ++i) {
    wait<0>();
    __syncthreads();
    if ((i + 1) * 32 < k)
      fill(now ^ kSlice, x, w, i + 1, k);
    commit();
    compute(sums, now);
    now ^= kSlice;
    __syncthreads();
  }
  store(sums, y);
}

// No loop is left: a step is what stands between two waits.
// CHECK-LABEL: cUnrolled
// CHECK: async_pipeline depth 2 in_flight 1 mechanism cp_async
// CHECK: tile_shape k 32 m 64 n 64
KERNEL(cUnrolled, 128) {
  uint32_t ring = toShared(dynamic);
  Sums sums = {};
  fill(ring, x, w, 0, 128);
  commit();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    wait<0>();
    __syncthreads();
    if (i < 3)
      fill(ring + (i + 1) % 2 * kSlice, x, w, i + 1, 128);
    commit();
    compute(sums, ring + i % 2 * kSlice);
    __syncthreads();
  }
  store(sums, y);
}

// The same, and each copy is waited for where it is issued.
// CHECK-LABEL: dUnrolledWaits
// CHECK: near miss async_pipeline {{.*}} drains the copy issued {{.*}} in the
// same iteration CHECK: tile_shape k 32 m 64 n 64
KERNEL(dUnrolledWaits, 128) {
  uint32_t ring = toShared(dynamic);
  Sums sums = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    fill(ring + i % 2 * kSlice, x, w, i, 128);
    commit();
    wait<0>();
    __syncthreads();
    compute(sums, ring + i % 2 * kSlice);
    __syncthreads();
  }
  store(sums, y);
}

/// A ring of 3 slots that one thread fills; `parity` tells it from the slot and
/// the number of the slice.
template <typename Parity>
__device__ void runRing(const __nv_bfloat16 *x, const __nv_bfloat16 *w,
                        float *y, int k, Parity parity) {
  uint32_t ring = (toShared(dynamic) + 1023) & ~1023u, full = ring + 3 * kSlice;
  Sums sums = {};
  if (threadIdx.x == 0)
    for (int s = 0; s < 3; ++s)
      initBarrier(full + s * 8);
  __syncthreads();
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; ++s)
      fetch(ring + s * kSlice, full + s * 8, x, w, s);
  int slot = 0;
  for (int i = 0; i < k / 32; ++i) {
    waitBarrier(full + slot * 8, parity(slot, i));
    int next = slot > 0 ? slot - 1 : 2;
    if (threadIdx.x == 0 && (i + 2) * 32 < k)
      fetch(ring + next * kSlice, full + next * 8, x, w, i + 2);
    compute(sums, ring + slot * kSlice);
    slot = slot == 2 ? 0 : slot + 1;
    __syncthreads();
  }
  store(sums, y);
}

// A word holds the parity of each slot. A byte of X is read by two warps.
// CHECK-LABEL: eParityBits
// CHECK: async_pipeline depth 3 in_flight 2 mechanism tma
// CHECK: smem_tiling buffers 2 bytes 8192 reuse 2.0
KERNEL(eParityBits, 128) {
  uint32_t bits = 0;
  runRing(x, w, y, k, [&](int slot, int) {
    uint32_t parity = bits >> slot & 1;
    bits ^= 1u << slot;
    return parity;
  });
}

// The parity is that of the round.
// CHECK-LABEL: fParityOfRound
// CHECK: async_pipeline depth 3 in_flight 2 mechanism tma
KERNEL(fParityOfRound, 128) {
  runRing(x, w, y, k, [](int, int i) { return i / 3 & 1; });
}

// The parity is an argument: from the second round on no wait waits.
// CHECK-LABEL: gParityOfArgument
// CHECK: near miss async_pipeline {{.*}} waits for the same parity each time
KERNEL(gParityOfArgument, 128) {
  runRing(x, w, y, k, [&](int, int) { return uint32_t(flag & 1); });
}

// The parity is read from memory: nobody knows what it is.
// CHECK-LABEL: hParityFromMemory
// CHECK: undecided async_pipeline {{.*}} the parity that it is waited for with
// does not turn
KERNEL(hParityFromMemory, 128) {
  runRing(x, w, y, k, [&](int, int i) { return uint32_t(y[i] != 0); });
}

// Roles that hand over by named barriers, one of a pair for each slot.
// CHECK-LABEL: iNamedBarriers
// CHECK: smem_tiling buffers 2 bytes 8192
// CHECK: warp_specialization roles copy+matrix
KERNEL(iNamedBarriers, 256) {
  uint32_t ring = toShared(dynamic);
  if (threadIdx.x >= 128) {
    for (int i = 0; i < k / 32; ++i) {
      if (i >= 2)
        asm volatile("bar.sync %0, 256;" ::"r"(3 + i % 2) : "memory");
      fill(ring + i % 2 * kSlice, x, w, i, k, 128);
      commit();
      wait<0>();
      asm volatile("bar.arrive %0, 256;" ::"r"(1 + i % 2) : "memory");
    }
  } else {
    Sums sums = {};
    for (int i = 0; i < k / 32; ++i) {
      asm volatile("bar.sync %0, 256;" ::"r"(1 + i % 2) : "memory");
      compute(sums, ring + i % 2 * kSlice);
      if ((i + 2) * 32 < k)
        asm volatile("bar.arrive %0, 256;" ::"r"(3 + i % 2) : "memory");
    }
    store(sums, y);
  }
}

// Roles that hand over by mbarriers, in loops that the compiler unrolls by the
// number of slots; the rest of the slices has a loop of its own.
// CHECK-LABEL: jUnrolledRoles
// CHECK: async_pipeline depth 4 in_flight 3 mechanism tma
// CHECK: warp_specialization roles copy+matrix
// The compiler does not know that one thread copies: it lets lanes take turns.
// SASS-LABEL: jUnrolledRoles
// SASS: async_pipeline depth 4 in_flight 3 mechanism tma
// SASS: warp_specialization roles copy+matrix
KERNEL(jUnrolledRoles, 160) {
  uint32_t ring = (toShared(dynamic) + 1023) & ~1023u;
  uint32_t full = ring + 4 * kSlice, empty = full + 32;
  if (threadIdx.x == 0)
    for (int s = 0; s < 4; ++s) {
      initBarrier(full + s * 8);
      asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(empty + s * 8)
                   : "memory");
    }
  __syncthreads();
  if (threadIdx.x >= 128) {
    uint32_t parity = 1;
    if (threadIdx.x == 128)
#pragma unroll 4
      for (int i = 0; i < k / 32; ++i) {
        waitBarrier(empty + i % 4 * 8, parity);
        fetch(ring + i % 4 * kSlice, full + i % 4 * 8, x, w, i);
        if (i % 4 == 3)
          parity ^= 1;
      }
    return;
  }
  Sums sums = {};
  uint32_t parity = 0;
#pragma unroll 4
  for (int i = 0; i < k / 32; ++i) {
    waitBarrier(full + i % 4 * 8, parity);
    compute(sums, ring + i % 4 * kSlice);
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(empty + i % 4 * 8)
                 : "memory");
    if (i % 4 == 3)
      parity ^= 1;
  }
  store(sums, y);
}

__device__ void loadTransposed(uint32_t (&out)[4], uint32_t from) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
      : "r"(from)
      : "memory");
}

/// Copies 64 rows of 32 numbers that lie one behind the other.
__device__ void fillRows(uint32_t to, const __nv_bfloat16 *from) {
#pragma unroll
  for (int pass = 0; pass < 2; ++pass) {
    int chunk = threadIdx.x + pass * 128;
    copy16(to + at(chunk / 4, chunk % 4), from + chunk * 8);
  }
}

/// sums += a times the first 16 of each of 32 rows, or the first 16 rows.
template <bool kByRows>
__device__ void multiplyRows(float (&sums)[4][4], const uint32_t (&a)[4],
                             uint32_t from) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < 4; j += 2) {
    uint32_t b[4];
    if (kByRows)
      loadTransposed(b, from + at(lane % 16, j + lane / 16));
    else
      loadMatrices(b,
                   from + at(j * 8 + lane % 8 + lane / 16 * 8, lane / 8 % 2));
    multiply(sums[j], a, b[0], b[1]);
    multiply(sums[j + 1], a, b[2], b[3]);
  }
}

/// Attention without its softmax, of keys and values that lie in one tensor.
/// `kReadsValues` is false in a decoy that never reads them.
template <bool kReadsValues>
__device__ void attend(const __nv_bfloat16 *x, const __nv_bfloat16 *w, float *y,
                       int k) {
  uint32_t keys = toShared(dynamic), values = keys + 4096;
  uint4 first = reinterpret_cast<const uint4 *>(x)[threadIdx.x];
  uint32_t query[4] = {first.x, first.y, first.z, first.w};
  float out[4][4] = {};
  fillRows(keys, w);
  commit();
  for (int i = 0; i < k / 32; ++i) {
    wait<0>();
    __syncthreads();
    fillRows(values, w + int64_t(k + i * 32) * 64);
    commit();
    float scores[4][4] = {};
    multiplyRows<false>(scores, query, keys);
    uint32_t p[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      __nv_bfloat162 both = __floats2bfloat162_rn(scores[j][0], scores[j][1]);
      p[j] = *reinterpret_cast<uint32_t *>(&both);
    }
    if (!kReadsValues)
      multiplyRows<false>(out, p, keys);
    wait<0>();
    __syncthreads();
    if ((i + 1) * 32 < k)
      fillRows(keys, w + int64_t(i + 1) * 2048);
    commit();
    if (kReadsValues)
      multiplyRows<true>(out, p, values);
  }
#pragma unroll
  for (int i = 0; i < 16; ++i)
    y[blockIdx.x * 2048 + i * 128 + threadIdx.x] = out[i / 4][i % 4];
}

// Two single buffers that are filled from one tensor by turns, each while the
// other one is read.
// CHECK-LABEL: kOneTensor
// CHECK: async_pipeline depth 1 in_flight 1 mechanism cp_async
// CHECK: smem_tiling buffers 2
// SASS-LABEL: kOneTensor
// SASS: async_pipeline depth 1 in_flight 1 mechanism cp_async
// SASS: smem_tiling buffers 2
KERNEL(kOneTensor, 128) { attend<true>(x, w, y, k); }

// One of them is never read, and the other one waited for before any product.
// CHECK-LABEL: lUnreadBuffer
// CHECK-NOT: {{^}}  async_pipeline
// CHECK: near miss async_pipeline
// CHECK: smem_tiling buffers 1
// SASS-LABEL: lUnreadBuffer
// SASS-NOT: {{^}}  async_pipeline
// SASS: near miss async_pipeline
KERNEL(lUnreadBuffer, 128) { attend<false>(x, w, y, k); }

// Rows that are padded: what is between the rows that one instruction reads and
// those that the next one reads makes no second buffer. W lies with its columns
// in a row.
// CHECK-LABEL: mPadded
// CHECK: smem_tiling buffers 2 bytes 8192 reuse 2.0
KERNEL(mPadded, 128) {
  uint32_t tileX = toShared(dynamic), tileW = tileX + 8192;
  int m = threadIdx.x / 64 * 32, n = threadIdx.x / 32 % 2 * 32;
  int lane = threadIdx.x % 32;
  Sums sums = {};
  for (int i = 0; i < k / 32; ++i) {
#pragma unroll
    for (int pass = 0; pass < 2; ++pass) {
      int chunk = threadIdx.x + pass * 128;
      copy16(tileX + chunk / 4 * 80 + chunk % 4 * 16,
             x + int64_t(blockIdx.y * 64 + chunk / 4) * k + i * 32 +
                 chunk % 4 * 8);
      copy16(tileW + chunk / 8 * 144 + chunk % 8 * 16,
             w + int64_t(i * 32 + chunk / 8) * gridDim.x * 64 +
                 blockIdx.x * 64 + chunk % 8 * 8);
    }
    commit();
    wait<0>();
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      uint32_t a[2][4], b[4];
      loadMatrices(a[0],
                   tileX + (m + lane % 16) * 80 + (q * 2 + lane / 16) * 16);
      loadMatrices(a[1], tileX + (m + 16 + lane % 16) * 80 +
                             (q * 2 + lane / 16) * 16);
#pragma unroll
      for (int j = 0; j < 4; j += 2) {
        uint32_t from = tileW + (q * 16 + lane % 16) * 144 +
                        (n + j * 8 + lane / 16 * 8) * 2;
        loadTransposed(b, from);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          multiply(sums[r][j], a[r], b[0], b[1]);
          multiply(sums[r][j + 1], a[r], b[2], b[3]);
        }
      }
    }
    __syncthreads();
  }
  store(sums, y);
}

// The barrier of one slot is waited for, and the next slot is read.
// CHECK-LABEL: nReadsOther
// CHECK-NOT: {{^}}  async_pipeline
// CHECK: near miss async_pipeline {{.*}} reads another slot than the one that
// {{.*}} has waited for
KERNEL(nReadsOther, 128) {
  uint32_t ring = (toShared(dynamic) + 1023) & ~1023u, full = ring + 4 * kSlice;
  Sums sums = {};
  if (threadIdx.x == 0)
    for (int s = 0; s < 4; ++s)
      initBarrier(full + s * 8);
  __syncthreads();
  if (threadIdx.x == 0)
    for (int s = 0; s < 3; ++s)
      fetch(ring + s * kSlice, full + s * 8, x, w, s);
  for (unsigned i = 0; i < k / 32u; ++i) {
    waitBarrier(full + i % 4 * 8, i / 4 & 1);
    if (threadIdx.x == 0 && (i + 3) * 32 < k)
      fetch(ring + (i + 3) % 4 * kSlice, full + (i + 3) % 4 * 8, x, w, i + 3);
    compute(sums, ring + (i + 2) % 4 * kSlice);
    __syncthreads();
  }
  store(sums, y);
}
