// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_decode_splitk, the plainest design: one warp makes one output. Its lanes
// take every 32nd product and add up what they have at the end. W is read again
// for each row of X, two bytes a lane. It is correct; it is where a faster
// kernel starts. Runs on sm_80 and later, for any M, N and K.

#include "d2k_gemm_decode_splitk.h"

#include <cuda_bf16.h>

constexpr int kWarps = 4;

__global__ void __launch_bounds__(kWarps * 32)
    decodeNaive(const __nv_bfloat16 *X, const __nv_bfloat16 *W,
                __nv_bfloat16 *D, int64_t N, int64_t K) {
  int64_t n = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  int64_t m = blockIdx.y;
  int lane = threadIdx.x % 32;
  if (n >= N)
    return;

  float sum = 0.0f;
  for (int64_t k = lane; k < K; k += 32)
    sum += __bfloat162float(X[m * K + k]) * __bfloat162float(W[n * K + k]);
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, step);

  if (lane == 0)
    D[m * N + n] = __float2bfloat16_rn(sum);
}

extern "C" int d2k_gemm_decode_splitk(const d2k_gemm_decode_splitk_args *args,
                                      void *, size_t, cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  int64_t gridX = (args->N + kWarps - 1) / kWarps;
  if (gridX > INT32_MAX || args->M > 65535)
    return cudaErrorInvalidValue;

  decodeNaive<<<dim3(unsigned(gridX), unsigned(args->M)), kWarps * 32, 0,
                stream>>>(static_cast<const __nv_bfloat16 *>(args->X),
                          static_cast<const __nv_bfloat16 *>(args->W),
                          static_cast<__nv_bfloat16 *>(args->D), args->N,
                          args->K);
  return cudaGetLastError();
}
