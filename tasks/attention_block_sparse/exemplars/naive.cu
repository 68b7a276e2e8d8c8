// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_block_sparse, the plainest design: a warp computes one query of one
// head, block by block of its list and key by key in it, with the online
// softmax: when a larger score comes along, what has been summed so far is
// scaled down. K and V are read from global memory for every query again, and
// no tensor core is used. It is correct; it is where a faster kernel starts.
// Runs on sm_80 and later.

#include "d2k_attention_block_sparse.h"

#include <cuda_bf16.h>

#include <math.h>

constexpr int kWarps = 8;
constexpr int64_t kWidth = D2K_ATTENTION_BLOCK_SPARSE_D;
constexpr int64_t kBlock = D2K_ATTENTION_BLOCK_SPARSE_BS;
/// A lane has the columns lane, lane + 32, ... of Q, V and O.
constexpr int kColumns = kWidth / 32;

__global__ void __launch_bounds__(kWarps * 32)
    attentionNaive(d2k_attention_block_sparse_args args) {
  int64_t query = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  int64_t head = blockIdx.y, sequence = blockIdx.z;
  int lane = int(threadIdx.x) % 32;
  if (query >= args.S)
    return;
  int64_t headK = head / (args.Hq / args.Hkv);
  int64_t token = sequence * args.S + query;
  auto *q = static_cast<const __nv_bfloat16 *>(args.Q) +
            (token * args.Hq + head) * kWidth + lane;
  float values[kColumns], o[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    values[c] = __bfloat162float(q[32 * c]);
    o[c] = 0.0f;
  }

  int64_t blocks = (args.S + kBlock - 1) / kBlock;
  const int32_t *row = args.row_ptr +
                       (sequence * args.Hq + head) * (blocks + 1) +
                       query / kBlock;
  float maximum = -INFINITY, sum = 0.0f;
  for (int32_t entry = row[0]; entry < row[1]; ++entry) {
    int64_t first = args.col_idx[entry] * kBlock;
    // Causal: in the block of the query itself, up to the query.
    int64_t last = first + kBlock - 1 < query ? first + kBlock - 1 : query;
    for (int64_t key = first; key <= last; ++key) {
      int64_t at =
          ((sequence * args.S + key) * args.Hkv + headK) * kWidth + lane;
      auto *k = static_cast<const __nv_bfloat16 *>(args.K) + at;
      auto *v = static_cast<const __nv_bfloat16 *>(args.V) + at;
      float score = 0.0f;
      for (int c = 0; c < kColumns; ++c)
        score += values[c] * __bfloat162float(k[32 * c]);
      for (int step = 16; step > 0; step /= 2)
        score += __shfl_xor_sync(0xffffffffu, score, step);
      score *= args.scale;

      float larger = fmaxf(maximum, score);
      float kept = expf(maximum - larger); // 0 at the first key.
      float weight = expf(score - larger);
      maximum = larger;
      sum = sum * kept + weight;
      for (int c = 0; c < kColumns; ++c)
        o[c] = o[c] * kept + weight * __bfloat162float(v[32 * c]);
    }
  }

  // Without a key O is 0 and LSE, maximum + log(0), is -infinity.
  float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
  auto *out = static_cast<__nv_bfloat16 *>(args.O) +
              (token * args.Hq + head) * kWidth + lane;
  for (int c = 0; c < kColumns; ++c)
    out[32 * c] = __float2bfloat16_rn(o[c] * factor);
  if (lane == 0)
    args.LSE[head * args.B * args.S + token] = maximum + logf(sum);
}

extern "C" int
d2k_attention_block_sparse(const d2k_attention_block_sparse_args *args, void *,
                           size_t, cudaStream_t stream) {
  int64_t blocks = (args->S + kWarps - 1) / kWarps;
  if (blocks > INT32_MAX || args->Hq > 65535 || args->B > 65535)
    return cudaErrorInvalidValue;
  dim3 grid{unsigned(blocks), unsigned(args->Hq), unsigned(args->B)};
  attentionNaive<<<grid, kWarps * 32, 0, stream>>>(*args);
  return cudaGetLastError();
}
