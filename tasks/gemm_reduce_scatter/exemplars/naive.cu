// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_reduce_scatter, the plainest design: one thread makes one output of this
// rank, and reads its rows of X and W of all ranks through peer pointers. No
// rank waits for another, because the inputs of all are complete before the
// first one starts; but W of every rank crosses the link. Runs on sm_80 and
// later, for any sizes.

#include "d2k_gemm_reduce_scatter.h"

#include <cuda_bf16.h>

constexpr int kBlockX = 32;
// As many rows as fit, because each block reads its columns of W from peers.
constexpr int kBlockY = 32;
constexpr int kMaxRanks = 8;

struct Peers {
  const __nv_bfloat16 *X[kMaxRanks], *W[kMaxRanks];
  int count;
};

/// `first` is this rank's first row of X.
__global__ void __launch_bounds__(kBlockX *kBlockY)
    multiplyNaive(Peers peers, __nv_bfloat16 *Y, int64_t first, int64_t rows,
                  int64_t N, int64_t K) {
  int64_t n = int64_t(blockIdx.x) * kBlockX + threadIdx.x;
  int64_t m = int64_t(blockIdx.y) * kBlockY + threadIdx.y;
  if (m >= rows || n >= N)
    return;

  // fp32 holds the running sum over all ranks; the only rounding comes last.
  float sum = 0.0f;
  for (int rank = 0; rank < peers.count; ++rank) {
    const __nv_bfloat16 *x = peers.X[rank] + (first + m) * K;
    const __nv_bfloat16 *w = peers.W[rank] + n * K;
    for (int64_t k = 0; k < K; ++k)
      sum += __bfloat162float(x[k]) * __bfloat162float(w[k]);
  }
  Y[m * N + n] = __float2bfloat16_rn(sum);
}

extern "C" int d2k_gemm_reduce_scatter(const d2k_gemm_reduce_scatter_args *args,
                                       void *, size_t, cudaStream_t stream) {
  int64_t rows = args->M / args->world;
  int64_t gridX = (args->N + kBlockX - 1) / kBlockX;
  int64_t gridY = (rows + kBlockY - 1) / kBlockY;
  if (args->world > kMaxRanks || gridX > INT32_MAX || gridY > 65535)
    return cudaErrorInvalidValue;
  Peers peers = {};
  peers.count = int(args->world);
  for (int rank = 0; rank < peers.count; ++rank) {
    peers.X[rank] = static_cast<const __nv_bfloat16 *>(args->X[rank]);
    peers.W[rank] = static_cast<const __nv_bfloat16 *>(args->W[rank]);
  }
  multiplyNaive<<<dim3(unsigned(gridX), unsigned(gridY)),
                  dim3(kBlockX, kBlockY), 0, stream>>>(
      peers, static_cast<__nv_bfloat16 *>(args->Y), args->rank * rows, rows,
      args->N, args->K);
  return cudaGetLastError();
}
