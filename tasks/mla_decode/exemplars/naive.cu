// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mla_decode, the plainest design: one block a head of a query, which walks the
// whole sequence in tiles of 128 tokens. Each thread computes one score of the
// tile, then four columns of the result. Every head reads the cache again,
// twice over. It is correct; it is where a faster kernel starts. Runs on sm_80
// and later.

#include "d2k_mla_decode.h"

#include <cuda_bf16.h>

constexpr int kRow = D2K_MLA_DECODE_R;
constexpr int kValues = D2K_MLA_DECODE_V;
constexpr int kPage = D2K_MLA_DECODE_P;
constexpr int kThreads = 128;
constexpr int kColumns = kValues / kThreads;

__global__ void __launch_bounds__(kThreads)
    decodeNaive(d2k_mla_decode_args args) {
  __shared__ float query[kRow];
  __shared__ float weights[kThreads];
  __shared__ float scratch[kThreads];
  int64_t b = blockIdx.y;
  int64_t row = b * args.Sq * args.H + blockIdx.x;
  // Earlier queries do not see the tokens of later ones.
  int64_t visible = args.seq_lens[b] - (args.Sq - 1 - blockIdx.x / args.H);
  const int32_t *table =
      args.block_table + b * ((args.longest + kPage - 1) / kPage);
  auto *cache = static_cast<const __nv_bfloat16 *>(args.cache);
  auto *q = static_cast<const __nv_bfloat16 *>(args.q) + row * kRow;
  for (int d = int(threadIdx.x); d < kRow; d += kThreads)
    query[d] = __bfloat162float(q[d]);
  auto getToken = [&](int64_t t) {
    return cache + (int64_t(table[t / kPage]) * kPage + t % kPage) * kRow;
  };

  // The largest score so far, the sum of this thread's exponentials relative to
  // it (added one by one, a long sequence's would lose the small ones), and
  // this thread's columns of the result, not yet divided by the sum.
  float largest = -INFINITY, sum = 0.0f, columns[kColumns] = {};
  for (int64_t first = 0; first < visible; first += kThreads) {
    __syncthreads();
    int64_t t = first + threadIdx.x;
    float score = -INFINITY;
    if (t < visible) {
      const __nv_bfloat16 *token = getToken(t);
      score = 0.0f;
      for (int d = 0; d < kRow; ++d)
        score += query[d] * __bfloat162float(token[d]);
      score *= args.scale;
    }
    scratch[threadIdx.x] = score;
    __syncthreads();
    float tileLargest = scratch[0];
    for (int i = 1; i < kThreads; ++i)
      tileLargest = fmaxf(tileLargest, scratch[i]);
    float newLargest = fmaxf(largest, tileLargest);
    weights[threadIdx.x] = expf(score - newLargest); // 0 beyond the end
    __syncthreads();

    float factor = expf(largest - newLargest);
    largest = newLargest;
    sum = sum * factor + weights[threadIdx.x];
    for (int j = 0; j < kColumns; ++j)
      columns[j] *= factor;
    for (int i = 0; i < kThreads && first + i < visible; ++i) {
      const __nv_bfloat16 *token = getToken(first + i);
      for (int j = 0; j < kColumns; ++j)
        columns[j] +=
            weights[i] * __bfloat162float(token[j * kThreads + threadIdx.x]);
    }
  }
  scratch[threadIdx.x] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int i = 0; i < kThreads; ++i)
    sum += scratch[i];
  auto *O = static_cast<__nv_bfloat16 *>(args.O) + row * kValues;
  for (int j = 0; j < kColumns; ++j)
    O[j * kThreads + threadIdx.x] = __float2bfloat16_rn(columns[j] / sum);
  if (threadIdx.x == 0)
    args.lse[row] = largest + logf(sum);
}

extern "C" int d2k_mla_decode(const d2k_mla_decode_args *args, void *, size_t,
                              cudaStream_t stream) {
  if (args->B > 65535 || args->Sq * args->H > INT32_MAX)
    return cudaErrorInvalidValue;
  decodeNaive<<<dim3(unsigned(args->Sq * args->H), unsigned(args->B)), kThreads,
                0, stream>>>(*args);
  return cudaGetLastError();
}
