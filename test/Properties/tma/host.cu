// REQUIRES: nvcc
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry run --kernel '^load' %s | FileCheck %s --check-prefix=LOAD
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry run --kernel '^pair' %s | FileCheck %s --check-prefix=PAIR
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry run --kernel '^mixed' %s | FileCheck %s --check-prefix=MIXED
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry run --kernel '^mixed' %s -- -DSAME | FileCheck %s --check-prefix=SAME
// RUN: d2k-analyze --arch sm_90a --tiers ptx --kernel '^load' %s | FileCheck %s --check-prefix=PTX
//
// tma: the swizzle is in the tensor map that the host encodes.

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ __forceinline__ void copyTile(void *shared, const CUtensorMap *map,
                                         uint64_t *barrier, int at) {
  uint32_t to = __cvta_generic_to_shared(shared);
  uint32_t by = __cvta_generic_to_shared(barrier);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(
                   by)
               : "memory");
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
               "l"(map), "r"(0), "r"(at), "r"(by)
               : "memory");
}

__device__ __forceinline__ void waitFor(uint64_t *barrier, int phase) {
  uint32_t by = __cvta_generic_to_shared(barrier);
  asm volatile("{\n.reg .pred p;\nL:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@!p bra L;\n}" ::"r"(by),
               "r"(phase)
               : "memory");
}

__device__ __forceinline__ void start(uint64_t *barrier) {
  uint32_t by = __cvta_generic_to_shared(barrier);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(by) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

template <class Map>
__device__ __forceinline__ void work(const Map &first, const Map &second,
                                     unsigned short *y) {
  __shared__ alignas(1024) unsigned short tile[2048];
  __shared__ alignas(8) uint64_t barrier;
  if (threadIdx.x == 0) {
    start(&barrier);
    copyTile(tile, &first, &barrier, blockIdx.x);
  }
  __syncthreads();
  waitFor(&barrier, 0);
  unsigned short value = tile[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0)
    copyTile(tile, &second, &barrier, blockIdx.x + 1);
  waitFor(&barrier, 1);
  y[threadIdx.x] = value + tile[threadIdx.x];
}

struct Maps {
  int tag;
  CUtensorMap maps[2];
};

// LOAD: tma (dims 2, multicast false, op load, swizzle 128)
// PTX: tma (dims 2, multicast false, op load)
__global__ void load(const __grid_constant__ CUtensorMap x, unsigned short *y) {
  work(x, x, y);
}

// In an array in a structure.
// PAIR: tma (dims 2, multicast false, op load, swizzle 64)
__global__ void pair(const __grid_constant__ Maps maps, unsigned short *y) {
  work(maps.maps[0], maps.maps[1], y);
}

// Two modes: which copy uses which map is not followed.
// MIXED: tma (dims 2, multicast false, op load)
// SAME: tma (dims 2, multicast false, op load, swizzle none)
__global__ void mixed(const __grid_constant__ CUtensorMap a,
                      const __grid_constant__ CUtensorMap b,
                      unsigned short *y) {
  work(a, b, y);
}

using Encode = decltype(&cuTensorMapEncodeTiled);

static Encode find() {
  static void *found = nullptr;
  if (!found) {
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                     cudaEnableDefault, &result);
  }
  return (Encode)found;
}

static CUtensorMap encode(const void *base, long rows,
                          CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  cuuint64_t sizes[] = {64, (cuuint64_t)rows};
  cuuint64_t strides[] = {128};
  cuuint32_t box[] = {16, 32}, step[] = {1, 1};
  find()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)base, sizes,
         strides, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
         CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

#ifdef SAME
#define OTHER CU_TENSOR_MAP_SWIZZLE_NONE
#else
#define OTHER CU_TENSOR_MAP_SWIZZLE_32B
#endif

void run(const void *x, const void *w, unsigned short *y, long rows,
         cudaStream_t s) {
  load<<<1, 128, 0, s>>>(encode(x, rows, CU_TENSOR_MAP_SWIZZLE_128B), y);
  Maps maps;
  for (int i = 0; i < 2; ++i)
    maps.maps[i] = encode(i ? w : x, rows, CU_TENSOR_MAP_SWIZZLE_64B);
  pair<<<1, 128, 0, s>>>(maps, y);
  mixed<<<1, 128, 0, s>>>(encode(x, rows, CU_TENSOR_MAP_SWIZZLE_NONE),
                          encode(w, rows, OTHER), y);
}
