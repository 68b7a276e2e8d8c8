// Decoy of naive.cu: a loop over tiles that looks persistent; the grid has a
// block for each tile, so that the loop runs once. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;

__global__ void __launch_bounds__(kBlockX *kBlockY)
    gemm(const __nv_bfloat16 *X, const __nv_bfloat16 *W, const __nv_bfloat16 *R,
         __nv_bfloat16 *D, int64_t M, int64_t N, int64_t K) {
  int64_t tilesN = (N + kBlockX - 1) / kBlockX;
  int64_t tiles = tilesN * ((M + kBlockY - 1) / kBlockY);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    int64_t n = tile % tilesN * kBlockX + threadIdx.x;
    int64_t m = tile / tilesN * kBlockY + threadIdx.y;
    if (m >= M || n >= N)
      continue;
    float sum = 0.0f;
    for (int64_t k = 0; k < K; ++k)
      sum += __bfloat162float(X[m * K + k]) * __bfloat162float(W[n * K + k]);
    D[m * N + n] = __float2bfloat16_rn(sum + __bfloat162float(R[m * N + n]));
  }
}

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *, size_t,
                             cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  int64_t tiles =
      (args->N + kBlockX - 1) / kBlockX * ((args->M + kBlockY - 1) / kBlockY);
  if (tiles > INT32_MAX)
    return cudaErrorInvalidValue;
  unsigned grid = unsigned(tiles);
  gemm<<<grid, dim3(kBlockX, kBlockY), 0, stream>>>(
      static_cast<const __nv_bfloat16 *>(args->X),
      static_cast<const __nv_bfloat16 *>(args->W),
      static_cast<const __nv_bfloat16 *>(args->R),
      static_cast<__nv_bfloat16 *>(args->D), args->M, args->N, args->K);
  return cudaGetLastError();
}
