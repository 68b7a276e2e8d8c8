// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile comes by TMA or a bulk copy, is changed in place in shared memory, and goes out by the same
// way.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"

// Sets up one barrier and returns when all threads see it.
__device__ __forceinline__ void beginBarrier(uint64_t *bar) {
  if (threadIdx.x == 0) {
    mbInit(bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
}

// EXPECT geluTile: tma present op=load dims=2: a 64 x 64 tile by a tensor map
// EXPECT geluTile: tma present op=store dims=2: the same tile goes out by TMA
// EXPECT geluTile: bulk_store_epilogue present op=tma_tensor: the results go out by TMA
// EXPECT geluTile: async_copy present mechanism=tma_tensor: what is copied is read and changed
// EXPECT geluTile: async_pipeline absent: one tile a block
__global__ void __launch_bounds__(256)
    geluTile(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) bf tile[64 * 64];
  __shared__ uint64_t full;
  beginBarrier(&full);
  int x = blockIdx.x * 64, y = blockIdx.y * 64;
  if (threadIdx.x == 0) {
    mbTx(&full, sizeof(tile));
    tma2(tile, &from, &full, x, y);
  }
  MBWAIT(&full, 0);
  for (int i = threadIdx.x; i < 64 * 64; i += 256) {
    float v = __bfloat162float(tile[i]);
    tile[i] = __float2bfloat16(v * normcdff(v));
  }
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
                 :
                 : "l"(&to), "r"(sa(tile)), "r"(x), "r"(y)
                 : "memory");
    bulkCommit();
    bulkWait();
  }
}

// EXPECT squareRow: tma present op=load dims=0: 4 KiB by cp.async.bulk
// EXPECT squareRow: tma present op=store dims=0: and back
// EXPECT squareRow: bulk_store_epilogue present op=bulk: the results go out by a bulk store
__global__ void __launch_bounds__(256) squareRow(const float *a, float *o) {
  __shared__ alignas(128) float row[1024];
  __shared__ uint64_t full;
  beginBarrier(&full);
  if (threadIdx.x == 0) {
    mbTx(&full, sizeof(row));
    bulkLoad(row, a + (size_t)blockIdx.x * 1024, sizeof(row), &full);
  }
  MBWAIT(&full, 0);
  for (int i = threadIdx.x; i < 1024; i += 256)
    row[i] *= row[i];
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(o + (size_t)blockIdx.x * 1024, row, sizeof(row));
    bulkCommit();
    bulkWait();
  }
}

// EXPECT otherRow: tma absent op=load: what the copy brought is overwritten, not changed
// EXPECT otherRow: bulk_store_epilogue present op=bulk: the results go out by a bulk store
__global__ void __launch_bounds__(256) otherRow(const float *a, const float *b, float *o) {
  __shared__ alignas(128) float row[1024];
  __shared__ uint64_t full;
  beginBarrier(&full);
  if (threadIdx.x == 0) {
    mbTx(&full, sizeof(row));
    bulkLoad(row, a + (size_t)blockIdx.x * 1024, sizeof(row), &full);
  }
  MBWAIT(&full, 0);
  for (int i = threadIdx.x; i < 1024; i += 256)
    row[i] = b[(size_t)blockIdx.x * 1024 + i] * 2.f;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(o + (size_t)blockIdx.x * 1024, row, sizeof(row));
    bulkCommit();
    bulkWait();
  }
}

static CUtensorMap mapOf(void *p) {
  CUtensorMap m;
  cuuint64_t extent[2] = {4096, 4096}, pitch[1] = {8192};
  cuuint32_t box[2] = {64, 64}, step[2] = {1, 1};
  cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, extent, pitch, box, step,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return m;
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  geluTile<<<dim3(64, 64), 256, 0, s>>>(mapOf(a), mapOf(o[0]));
  squareRow<<<64, 256, 0, s>>>(a, o[1]);
  otherRow<<<64, 256, 0, s>>>(a, b, o[2]);
}
