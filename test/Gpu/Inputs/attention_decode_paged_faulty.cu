// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task attention_decode_paged with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                              1 scores rounded to bf16
//   2 the whole last page attended to   3 the last token left out
//   4 pages in order, no table          5 scale left out
//   6 kv head h % Hkv                   7 lse to base 2
//   8 exponentials without the largest  9 weights rounded to 3 bits (fp8)
//   10 splits joined as equals          11 one element past the end
//   12 an input changed                 13 V read from where K is

#include "d2k_attention_decode_paged.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 13"
#endif

constexpr int kHead = D2K_ATTENTION_DECODE_PAGED_D;

/// One warp a query head of a sequence; a lane has four columns.
__global__ void faultyDecode(d2k_attention_decode_paged_args args) {
  auto *cache = static_cast<const __nv_bfloat16 *>(args.cache);
  auto *q = static_cast<const __nv_bfloat16 *>(args.q);
  auto *O = static_cast<__nv_bfloat16 *>(args.O);
  int64_t b = blockIdx.y, h = blockIdx.x, row = b * args.Hq + h;
  int lane = int(threadIdx.x);
  int64_t head = D2K_FAULT == 6 ? h % args.Hkv : h / (args.Hq / args.Hkv);
  int64_t length = args.seq_lens[b], whole = length;
  int64_t columns = (args.longest + args.page - 1) / args.page;
  if (D2K_FAULT == 2)
    length = (length + args.page - 1) / args.page * args.page;
  if (D2K_FAULT == 3 && length > 1)
    --length;
  auto getRow = [&](int64_t t, int64_t isValue) {
    int64_t page = args.block_table[b * columns + t / args.page];
    if (D2K_FAULT == 4)
      page = t / args.page;
    if (D2K_FAULT == 13)
      isValue = 0;
    return ((page * 2 + isValue) * args.page + t % args.page) * args.Hkv *
               kHead +
           head * kHead;
  };
  float total[4] = {}, totalSum = 0, totalLargest = -INFINITY;
  int64_t half = D2K_FAULT == 10 ? (length + 1) / 2 : length;
  float column[4] = {}, sum = 0, largest = -INFINITY;
  for (int64_t t = 0; t < length; ++t) {
    float score = 0;
    for (int i = 0; i < 4; ++i)
      score += __bfloat162float(q[row * kHead + lane * 4 + i]) *
               __bfloat162float(cache[getRow(t, 0) + lane * 4 + i]);
    for (int step = 16; step; step /= 2)
      score += __shfl_xor_sync(0xffffffffu, score, step);
    if (D2K_FAULT != 5)
      score *= args.scale;
    if (D2K_FAULT == 1)
      score = __bfloat162float(__float2bfloat16_rn(score));
    float best = D2K_FAULT == 8 ? 0 : fmaxf(largest, score);
    float factor = largest == -INFINITY ? 0 : expf(largest - best);
    largest = best;
    float weight = expf(score - largest);
    sum = sum * factor + weight;
    if (D2K_FAULT == 9)
      weight = float(__nv_fp8_e4m3(weight));
    for (int i = 0; i < 4; ++i)
      column[i] = column[i] * factor +
                  weight * __bfloat162float(cache[getRow(t, 1) + lane * 4 + i]);
    if (t == half - 1 && half < length) {
      for (int i = 0; i < 4; ++i) {
        total[i] = column[i] / sum;
        column[i] = 0;
      }
      totalSum = sum;
      totalLargest = largest;
      sum = 0;
      largest = -INFINITY;
    }
  }
  for (int i = 0; i < 4; ++i) {
    float value = column[i] / sum;
    if (totalSum != 0)
      value = (value + total[i]) / 2;
    O[row * kHead + lane * 4 + i] = __float2bfloat16_rn(value);
  }
  if (totalSum != 0) {
    float best = fmaxf(largest, totalLargest);
    sum = sum * expf(largest - best) + totalSum * expf(totalLargest - best);
    largest = best;
  }
  if (lane == 0)
    args.lse[row] = (largest + logf(sum)) * (D2K_FAULT == 7 ? 1.442695f : 1);
  if (D2K_FAULT == 11 && row == 0 && lane == 0)
    args.lse[args.B * args.Hq] = 1;
  if (D2K_FAULT == 12 && row == 0 && lane == 0)
    const_cast<__nv_bfloat16 *>(q)[0] = __float2bfloat16_rn(float(whole));
}

extern "C" int
d2k_attention_decode_paged(const d2k_attention_decode_paged_args *args, void *,
                           size_t, cudaStream_t stream) {
  faultyDecode<<<dim3(unsigned(args->Hq), unsigned(args->B)), 32, 0, stream>>>(
      *args);
  return cudaGetLastError();
}
