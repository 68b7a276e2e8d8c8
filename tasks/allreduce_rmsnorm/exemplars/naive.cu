// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// allreduce_rmsnorm, the plainest design: every rank reads the partial sums of
// all ranks through its peer pointers, one element at a time, and does the
// whole work of each token by itself. No rank waits for another, because the
// inputs of all are complete before the first one starts. Runs on sm_80 and
// later, for any T and H.

#include "d2k_allreduce_rmsnorm.h"

#include <cuda_bf16.h>

constexpr int kThreads = 256;
constexpr int kMaxRanks = 8;

struct Peers {
  const __nv_bfloat16 *x[kMaxRanks];
  int count;
};

__global__ void __launch_bounds__(kThreads)
    allreduceNaive(Peers peers, const __nv_bfloat16 *res,
                   const __nv_bfloat16 *w, float eps, __nv_bfloat16 *r,
                   __nv_bfloat16 *y, int64_t H) {
  __shared__ float scratch[kThreads];
  int64_t base = int64_t(blockIdx.x) * H;

  // Each rank adds in the same order, so that all get the same bits.
  float squares = 0.0f;
  for (int64_t i = threadIdx.x; i < H; i += kThreads) {
    float sum = 0.0f;
    for (int rank = 0; rank < peers.count; ++rank)
      sum += __bfloat162float(peers.x[rank][base + i]);
    sum += __bfloat162float(res[base + i]);
    r[base + i] = __float2bfloat16_rn(sum);
    float value = __bfloat162float(r[base + i]);
    squares += value * value;
  }
  scratch[threadIdx.x] = squares;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  float factor = rsqrtf(scratch[0] / float(H) + eps);
  for (int64_t i = threadIdx.x; i < H; i += kThreads)
    y[base + i] = __float2bfloat16_rn(__bfloat162float(r[base + i]) * factor *
                                      __bfloat162float(w[i]));
}

extern "C" int d2k_allreduce_rmsnorm(const d2k_allreduce_rmsnorm_args *args,
                                     void *, size_t, cudaStream_t stream) {
  if (args->T < 1 || args->H < 1)
    return cudaSuccess;
  if (args->T > INT32_MAX || args->world > kMaxRanks)
    return cudaErrorInvalidValue;
  Peers peers = {};
  peers.count = int(args->world);
  for (int rank = 0; rank < peers.count; ++rank)
    peers.x[rank] = static_cast<const __nv_bfloat16 *>(args->x[rank]);
  allreduceNaive<<<unsigned(args->T), kThreads, 0, stream>>>(
      peers, static_cast<const __nv_bfloat16 *>(args->res),
      static_cast<const __nv_bfloat16 *>(args->w), args->eps,
      static_cast<__nv_bfloat16 *>(args->r),
      static_cast<__nv_bfloat16 *>(args->y), args->H);
  return cudaGetLastError();
}
