// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// moe_permute_combine, the plainest design: each pair counts the pairs that
// come before it, and one thread moves or adds one element. Runs on sm_80 and
// later, for any sizes.

#include "d2k_moe_permute_combine.h"

#include <cuda_bf16.h>

constexpr int kThreads = 256;

/// A pair's place is the number of pairs that come before it: those of lower
/// experts, and earlier ones of its own. Pairs are in the order of the tokens.
__global__ void __launch_bounds__(kThreads)
    placePairs(const int32_t *ids, int32_t *pos, int64_t pairs) {
  int64_t pair = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (pair >= pairs)
    return;
  int32_t expert = ids[pair], before = 0;
  for (int64_t other = 0; other < pairs; ++other)
    before +=
        ids[other] < expert || (ids[other] == expert && other < pair) ? 1 : 0;
  pos[pair] = before;
}

__global__ void __launch_bounds__(kThreads)
    countPairs(const int32_t *ids, int32_t *offsets, int64_t pairs,
               int64_t experts) {
  int64_t expert = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (expert > experts)
    return;
  int32_t before = 0;
  for (int64_t pair = 0; pair < pairs; ++pair)
    before += ids[pair] < expert ? 1 : 0;
  offsets[expert] = before;
}

/// A block a pair.
__global__ void __launch_bounds__(kThreads)
    permuteRows(const __nv_bfloat16 *X, const int32_t *pos, __nv_bfloat16 *Xp,
                int64_t H, int64_t k) {
  int64_t pair = blockIdx.x;
  for (int64_t h = threadIdx.x; h < H; h += kThreads)
    Xp[pos[pair] * H + h] = X[pair / k * H + h];
}

/// A block a token.
__global__ void __launch_bounds__(kThreads)
    combineRows(const __nv_bfloat16 *Z, const float *w, const int32_t *pos,
                __nv_bfloat16 *Y, int64_t H, int64_t k) {
  int64_t token = blockIdx.x;
  for (int64_t h = threadIdx.x; h < H; h += kThreads) {
    float sum = 0.0f;
    for (int64_t j = 0; j < k; ++j)
      sum += w[token * k + j] * __bfloat162float(Z[pos[token * k + j] * H + h]);
    Y[token * H + h] = __float2bfloat16_rn(sum);
  }
}

extern "C" int d2k_moe_permute_combine(const d2k_moe_permute_combine_args *args,
                                       void *, size_t, cudaStream_t stream) {
  int64_t pairs = args->T * args->k;
  if (pairs < 1 || pairs > INT32_MAX)
    return cudaErrorInvalidValue;
  placePairs<<<unsigned((pairs + kThreads - 1) / kThreads), kThreads, 0,
               stream>>>(args->ids, args->pos, pairs);
  countPairs<<<unsigned(args->E / kThreads + 1), kThreads, 0, stream>>>(
      args->ids, args->offsets, pairs, args->E);
  permuteRows<<<unsigned(pairs), kThreads, 0, stream>>>(
      static_cast<const __nv_bfloat16 *>(args->X), args->pos,
      static_cast<__nv_bfloat16 *>(args->Xp), args->H, args->k);
  combineRows<<<unsigned(args->T), kThreads, 0, stream>>>(
      static_cast<const __nv_bfloat16 *>(args->Z), args->w, args->pos,
      static_cast<__nv_bfloat16 *>(args->Y), args->H, args->k);
  return cudaGetLastError();
}
