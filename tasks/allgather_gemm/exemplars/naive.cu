// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// allgather_gemm, the plainest design: every rank copies the rows of all ranks
// to its own scratch through its peer pointers, and then one thread makes one
// output. No rank waits for another, because the inputs of all are complete
// before the first one starts, and nobody writes to another's memory. Runs on
// sm_80 and later, for any sizes.

#include "d2k_allgather_gemm.h"

#include <cuda_bf16.h>

constexpr int kThreads = 256;
constexpr int kBlocks = 1024;
constexpr int kBlockX = 32;
constexpr int kBlockY = 8;

/// The rows of one rank, to their place among those of all.
__global__ void __launch_bounds__(kThreads)
    copyRows(const __nv_bfloat16 *from, __nv_bfloat16 *to, int64_t count) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * kThreads)
    to[i] = from[i];
}

__global__ void __launch_bounds__(kBlockX *kBlockY)
    multiplyNaive(const __nv_bfloat16 *X, const __nv_bfloat16 *W,
                  __nv_bfloat16 *Y, int64_t M, int64_t N, int64_t K) {
  int64_t n = int64_t(blockIdx.x) * kBlockX + threadIdx.x;
  int64_t m = int64_t(blockIdx.y) * kBlockY + threadIdx.y;
  if (m >= M || n >= N)
    return;

  // fp32 holds the running sum; bf16 would lose everything after a few terms.
  float sum = 0.0f;
  for (int64_t k = 0; k < K; ++k)
    sum += __bfloat162float(X[m * K + k]) * __bfloat162float(W[n * K + k]);
  Y[m * N + n] = __float2bfloat16_rn(sum);
}

extern "C" int d2k_allgather_gemm(const d2k_allgather_gemm_args *args, void *,
                                  size_t, cudaStream_t stream) {
  int64_t count = args->M / args->world * args->K;
  int64_t gridX = (args->N + kBlockX - 1) / kBlockX;
  int64_t gridY = (args->M + kBlockY - 1) / kBlockY;
  if (gridX > INT32_MAX || gridY > 65535 ||
      args->scratch_bytes < size_t(args->M * args->K) * sizeof(__nv_bfloat16))
    return cudaErrorInvalidValue;

  auto *all = static_cast<__nv_bfloat16 *>(args->scratch[args->rank]);
  for (int64_t rank = 0; rank < args->world; ++rank)
    copyRows<<<kBlocks, kThreads, 0, stream>>>(
        static_cast<const __nv_bfloat16 *>(args->X[rank]), all + rank * count,
        count);
  multiplyNaive<<<dim3(unsigned(gridX), unsigned(gridY)),
                  dim3(kBlockX, kBlockY), 0, stream>>>(
      all, static_cast<const __nv_bfloat16 *>(args->W[args->rank]),
      static_cast<__nv_bfloat16 *>(args->Y), args->M, args->N, args->K);
  return cudaGetLastError();
}
