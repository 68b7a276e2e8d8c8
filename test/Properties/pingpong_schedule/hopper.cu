// Two groups of warps that multiply tiles of their own in turn, as CUTLASS's
// ping-pong kernels do, and the same without the barriers that keep the turn.
// Each group starts in the ring of slots where the other one's tile ends, at a
// slot that only the launch knows; the slots are used by both.
// REQUIRES: nvcc
// RUN: d2k-analyze --no-cache --arch sm_90a --tiers ptx --facts --format json %s -o %t.json
// RUN: %python %S/../async_pipeline/Inputs/verdicts.py %t.json async_mma_overlap async_pipeline pingpong_schedule warp_specialization smem_tiling | FileCheck %s

#include <cstdint>
#include <cuda.h>

constexpr int kStages = 4, kBytes = 64 * 64 * 2;
extern __shared__ __align__(1024) uint8_t dynamic[];

__device__ uint32_t toShared(const void *p) {
  return uint32_t(__cvta_generic_to_shared(p));
}
__device__ void init(uint32_t barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier)
               : "memory");
}
__device__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile("{\n.reg .pred p;\nretry:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@!p bra retry;\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}
__device__ void copy(uint32_t to, const CUtensorMap *map, uint32_t barrier,
                     int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(x), "r"(y)
               : "memory");
}
__device__ uint64_t describe(uint32_t at) {
  return uint64_t((at & 0x3ffff) >> 4) | uint64_t(1) << 16 |
         uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}
__device__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(a), "l"(b));
}

template <bool kInTurn>
__device__ void run(const CUtensorMap &a, const CUtensorMap &b, float *y, int k,
                    int tiles) {
  __shared__ __align__(8) uint64_t full[kStages], empty[kStages];
  uint32_t tileA = toShared(dynamic), tileB = tileA + kStages * kBytes;
  if (threadIdx.x == 0)
    for (int i = 0; i < kStages; ++i) {
      init(toShared(&full[i]));
      init(toShared(&empty[i]));
    }
  __syncthreads();
  int group = int(threadIdx.x) / 128 - 1, steps = k / 64;
  if (group < 0) {
    if (threadIdx.x != 0)
      return;
    int slot = 0, phase = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
      for (int i = 0; i < steps; ++i) {
        wait(toShared(&empty[slot]), phase ^ 1);
        uint32_t barrier = toShared(&full[slot]);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::
                         "r"(barrier),
                     "n"(2 * kBytes)
                     : "memory");
        copy(tileA + slot * kBytes, &a, barrier, i * 64, tile * 64);
        copy(tileB + slot * kBytes, &b, barrier, i * 64, 0);
        if (++slot == kStages) {
          slot = 0;
          phase ^= 1;
        }
      }
    return;
  }
  int step = group * steps;
  if (kInTurn && group == 0)
    asm volatile("bar.arrive 1, 256;" ::: "memory");
  for (int tile = blockIdx.x + group * gridDim.x; tile < tiles;
       tile += 2 * gridDim.x) {
    float d[4] = {};
    if (kInTurn)
      asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
    for (int i = 0; i < steps; ++i, ++step) {
      int slot = step % kStages;
      wait(toShared(&full[slot]), step / kStages & 1);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int j = 0; j < 4; ++j)
        multiply(d, describe(tileA + slot * kBytes + j * 32),
                 describe(tileB + slot * kBytes + j * 32));
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (threadIdx.x % 128 == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                         toShared(&empty[slot]))
                     : "memory");
    }
    if (kInTurn)
      asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory");
    step += steps;
    for (int i = 0; i < 4; ++i)
      y[(tile * 4 + i) * 128 + threadIdx.x % 128] = fmaxf(d[i], 0.0f);
  }
}

// CHECK-LABEL: aInTurn
// CHECK: near miss async_mma_overlap
// CHECK: async_pipeline depth 4 in_flight 3 mechanism tma
// CHECK: pingpong_schedule
// The slot that a group reads is a remainder of what only the launch knows.
// CHECK: undecided smem_tiling {{.*}} whether hopper.cu:{{.*}} reads it is not known
// CHECK: warp_specialization roles copy+matrix
extern "C" __global__ void __launch_bounds__(384)
    aInTurn(const __grid_constant__ CUtensorMap a,
            const __grid_constant__ CUtensorMap b, float *y, int k, int tiles) {
  run<true>(a, b, y, k, tiles);
}

// CHECK-LABEL: bBothAtOnce
// CHECK: async_pipeline depth 4 in_flight 3 mechanism tma
// CHECK-NOT: {{^}}  pingpong_schedule
// CHECK: warp_specialization roles copy+matrix
extern "C" __global__ void __launch_bounds__(384)
    bBothAtOnce(const __grid_constant__ CUtensorMap a,
                const __grid_constant__ CUtensorMap b, float *y, int k,
                int tiles) {
  run<false>(a, b, y, k, tiles);
}
