// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task mla_decode with one fault each, chosen by D2K_FAULT. The
// judge must reject every one but 0.
//   0 none                              1 scores rounded to bf16
//   2 the whole last page attended to   3 the last token left out
//   4 pages in order, no table          5 scores of the latent part only
//   6 all queries see all tokens        7 lse to base 2
//   8 exponentials without the largest  9 weights rounded to 3 bits (fp8)
//   10 splits joined as equals          11 one element past the end
//   12 an input changed                 13 values from column 64 on

#include "d2k_mla_decode.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 13"
#endif

constexpr int kRow = D2K_MLA_DECODE_R;
constexpr int kValues = D2K_MLA_DECODE_V;
constexpr int kPage = D2K_MLA_DECODE_P;
constexpr int kColumns = kValues / 32;

/// One warp a head of a query.
__global__ void faultyDecode(d2k_mla_decode_args args) {
  auto *cache = static_cast<const __nv_bfloat16 *>(args.cache);
  auto *q = static_cast<const __nv_bfloat16 *>(args.q);
  auto *O = static_cast<__nv_bfloat16 *>(args.O);
  int64_t b = blockIdx.y, row = b * args.Sq * args.H + blockIdx.x;
  int lane = int(threadIdx.x);
  int64_t visible = args.seq_lens[b];
  if (D2K_FAULT != 6)
    visible -= args.Sq - 1 - blockIdx.x / args.H;
  if (D2K_FAULT == 2)
    visible = (visible + kPage - 1) / kPage * kPage;
  if (D2K_FAULT == 3 && visible > 1)
    --visible;
  int64_t pages = (args.longest + kPage - 1) / kPage;
  auto getToken = [&](int64_t t) {
    int64_t page =
        D2K_FAULT == 4 ? t / kPage : args.block_table[b * pages + t / kPage];
    return cache + (page * kPage + t % kPage) * kRow;
  };
  float total[kColumns] = {}, totalSum = 0, totalLargest = -INFINITY;
  int64_t half = D2K_FAULT == 10 ? (visible + 1) / 2 : visible;
  float column[kColumns] = {}, sum = 0, largest = -INFINITY;
  for (int64_t t = 0; t < visible; ++t) {
    const __nv_bfloat16 *token = getToken(t);
    float score = 0;
    for (int d = lane; d < (D2K_FAULT == 5 ? kValues : kRow); d += 32)
      score += __bfloat162float(q[row * kRow + d]) * __bfloat162float(token[d]);
    for (int step = 16; step; step /= 2)
      score += __shfl_xor_sync(0xffffffffu, score, step);
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
    for (int i = 0; i < kColumns; ++i)
      column[i] =
          column[i] * factor +
          weight * __bfloat162float(
                       token[i * 32 + lane + (D2K_FAULT == 13 ? 64 : 0)]);
    if (t == half - 1 && half < visible) {
      for (int i = 0; i < kColumns; ++i) {
        total[i] = column[i] / sum;
        column[i] = 0;
      }
      totalSum = sum;
      totalLargest = largest;
      sum = 0;
      largest = -INFINITY;
    }
  }
  for (int i = 0; i < kColumns; ++i) {
    float value = column[i] / sum;
    if (totalSum != 0)
      value = (value + total[i]) / 2;
    O[row * kValues + i * 32 + lane] = __float2bfloat16_rn(value);
  }
  if (totalSum != 0) {
    float best = fmaxf(largest, totalLargest);
    sum = sum * expf(largest - best) + totalSum * expf(totalLargest - best);
    largest = best;
  }
  if (lane == 0)
    args.lse[row] = (largest + logf(sum)) * (D2K_FAULT == 7 ? 1.442695f : 1);
  if (D2K_FAULT == 11 && row == 0 && lane == 0)
    args.lse[args.B * args.Sq * args.H] = 1;
  if (D2K_FAULT == 12 && row == 0 && lane == 0)
    const_cast<__nv_bfloat16 *>(q)[0] = __float2bfloat16_rn(777);
}

extern "C" int d2k_mla_decode(const d2k_mla_decode_args *args, void *, size_t,
                              cudaStream_t stream) {
  faultyDecode<<<dim3(unsigned(args->Sq * args->H), unsigned(args->B)), 32, 0,
                 stream>>>(*args);
  return cudaGetLastError();
}
