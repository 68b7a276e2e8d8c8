// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_decode_paged, the plainest design: one block a query head of a
// sequence, which walks the whole sequence in tiles of 128 tokens. Each thread
// computes one score of the tile, then one column of the result. Query heads
// that share a kv head read it again, and a single sequence fills few SMs. It
// is correct; it is where a faster kernel starts. Runs on sm_80 and later.

#include "d2k_attention_decode_paged.h"

#include <cuda_bf16.h>

constexpr int kHead = D2K_ATTENTION_DECODE_PAGED_D;
constexpr int kThreads = kHead;

__global__ void __launch_bounds__(kThreads)
    decodeNaive(d2k_attention_decode_paged_args args) {
  __shared__ float query[kHead];
  __shared__ float weights[kThreads];
  __shared__ float scratch[kThreads];
  auto *cache = static_cast<const __nv_bfloat16 *>(args.cache);
  int64_t b = blockIdx.y, h = blockIdx.x;
  int64_t kvHead = h / (args.Hq / args.Hkv);
  int64_t length = args.seq_lens[b];
  const int32_t *table =
      args.block_table + b * ((args.longest + args.page - 1) / args.page);
  int64_t row = b * args.Hq + h;
  query[threadIdx.x] = __bfloat162float(
      static_cast<const __nv_bfloat16 *>(args.q)[row * kHead + threadIdx.x]);

  // Keys of a page come first, then its values.
  auto getRow = [&](int64_t t, int64_t isValue) {
    int64_t slot = (table[t / args.page] * int64_t(2) + isValue) * args.page +
                   t % args.page;
    return cache + (slot * args.Hkv + kvHead) * kHead;
  };

  // The largest score so far, the sum of this thread's exponentials relative to
  // it (added one by one, a long sequence's would lose the small ones), and
  // this thread's column of the result, not yet divided by the sum.
  float largest = -INFINITY, sum = 0.0f, column = 0.0f;
  for (int64_t first = 0; first < length; first += kThreads) {
    __syncthreads();
    int64_t t = first + threadIdx.x;
    float score = -INFINITY;
    if (t < length) {
      const __nv_bfloat16 *key = getRow(t, 0);
      score = 0.0f;
      for (int d = 0; d < kHead; ++d)
        score += query[d] * __bfloat162float(key[d]);
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
    column *= factor;
    for (int i = 0; i < kThreads && first + i < length; ++i)
      column +=
          weights[i] * __bfloat162float(getRow(first + i, 1)[threadIdx.x]);
  }
  scratch[threadIdx.x] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int i = 0; i < kThreads; ++i)
    sum += scratch[i];
  static_cast<__nv_bfloat16 *>(args.O)[row * kHead + threadIdx.x] =
      __float2bfloat16_rn(column / sum);
  if (threadIdx.x == 0)
    args.lse[row] = largest + logf(sum);
}

extern "C" int
d2k_attention_decode_paged(const d2k_attention_decode_paged_args *args, void *,
                           size_t, cudaStream_t stream) {
  if (args->B > 65535 || args->Hq > INT32_MAX)
    return cudaErrorInvalidValue;
  decodeNaive<<<dim3(unsigned(args->Hq), unsigned(args->B)), kThreads, 0,
                stream>>>(*args);
  return cudaGetLastError();
}
