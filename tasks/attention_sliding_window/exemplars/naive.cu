// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_sliding_window, the plainest design: a warp computes one query of
// one head, key by key, with the online softmax: when a larger score comes
// along, what has been summed so far is scaled down. K and V are read from
// global memory for every query again, and no tensor core is used. It is
// correct; it is where a faster kernel starts. Runs on sm_80 and later.

#include "d2k_attention_sliding_window.h"

#include <cuda_bf16.h>

#include <math.h>

constexpr int kWarps = 8;

/// A lane has the columns lane, lane + 32, ... of Q, V and O.
template <int kColumns>
__global__ void __launch_bounds__(kWarps * 32)
    attentionNaive(d2k_attention_sliding_window_args args) {
  int64_t token = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  int64_t head = blockIdx.y;
  int lane = int(threadIdx.x) % 32;
  if (token >= args.Tq)
    return;

  // The sequence of this token.
  int64_t sequence = 0;
  while (args.cu_seqlens_q[sequence + 1] <= token)
    ++sequence;
  int64_t beginQ = args.cu_seqlens_q[sequence];
  int64_t beginK = args.cu_seqlens_k[sequence];
  int64_t lengthQ = args.cu_seqlens_q[sequence + 1] - beginQ;
  int64_t lengthK = args.cu_seqlens_k[sequence + 1] - beginK;
  int64_t last = token - beginQ + lengthK - lengthQ;
  int64_t first = last - args.W + 1 > 0 ? last - args.W + 1 : 0;

  constexpr int64_t kWidth = kColumns * 32;
  int64_t headK = head / (args.Hq / args.Hkv);
  auto *q = static_cast<const __nv_bfloat16 *>(args.Q) +
            (token * args.Hq + head) * kWidth + lane;
  auto *k = static_cast<const __nv_bfloat16 *>(args.K) +
            ((beginK + first) * args.Hkv + headK) * kWidth + lane;
  auto *v = static_cast<const __nv_bfloat16 *>(args.V) +
            ((beginK + first) * args.Hkv + headK) * kWidth + lane;

  float query[kColumns], o[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    query[c] = __bfloat162float(q[32 * c]);
    o[c] = 0.0f;
  }
  float maximum = -INFINITY, sum = 0.0f;
  for (int64_t key = first; key <= last; ++key) {
    float score = 0.0f;
    for (int c = 0; c < kColumns; ++c)
      score += query[c] * __bfloat162float(k[32 * c]);
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
    k += args.Hkv * kWidth;
    v += args.Hkv * kWidth;
  }

  // The sink is one more term of the sum, and may be the largest one.
  float sink = args.sink[head];
  float largest = fmaxf(maximum, sink);
  float kept = expf(maximum - largest);
  float factor = kept / (sum * kept + expf(sink - largest));
  auto *out = static_cast<__nv_bfloat16 *>(args.O) +
              (token * args.Hq + head) * kWidth + lane;
  for (int c = 0; c < kColumns; ++c)
    out[32 * c] = __float2bfloat16_rn(o[c] * factor);
  if (lane == 0)
    args.LSE[head * args.Tq + token] = maximum + logf(sum);
}

extern "C" int
d2k_attention_sliding_window(const d2k_attention_sliding_window_args *args,
                             void *, size_t, cudaStream_t stream) {
  int64_t blocks = (args->Tq + kWarps - 1) / kWarps;
  if (blocks > INT32_MAX || args->Hq > 65535)
    return cudaErrorInvalidValue;
  dim3 grid{unsigned(blocks), unsigned(args->Hq)};
  switch (args->D) {
  case 64:
    attentionNaive<2><<<grid, kWarps * 32, 0, stream>>>(*args);
    break;
  case 128:
    attentionNaive<4><<<grid, kWarps * 32, 0, stream>>>(*args);
    break;
  default:
    return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}
