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

#include "FaultyAttention.cuh"

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 13"
#endif

using namespace faulty;

constexpr int kHead = D2K_ATTENTION_DECODE_PAGED_D;

/// One warp a query head of a sequence.
__global__ void faultyDecode(d2k_attention_decode_paged_args args) {
  auto *cache = static_cast<const Bf16 *>(args.cache);
  auto *q = static_cast<const Bf16 *>(args.q);
  auto *O = static_cast<Bf16 *>(args.O);
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
    int64_t slot = (page * 2 + isValue) * args.page + t % args.page;
    return cache + (slot * args.Hkv + head) * kHead;
  };
  AttentionFaults faults = {};
  faults.bf16Scores = D2K_FAULT == 1;
  faults.noMaximum = D2K_FAULT == 8;
  faults.e4m3Weights = D2K_FAULT == 9;
  using Row = AttentionRow<kHead / 32>;
  auto attend = [&](int64_t first, int64_t end) {
    Row part;
    part.add(
        faults, q + row * kHead, kHead, kHead,
        D2K_FAULT == 5 ? 1.0f : args.scale, first, end,
        [&](int64_t t) { return getRow(t, 0); },
        [&](int64_t t) { return getRow(t, 1); });
    return part;
  };
  Row result = attendInParts(attend, length, D2K_FAULT == 10);
  for (int i = 0; i < kHead / 32; ++i)
    O[row * kHead + i * 32 + lane] = __float2bfloat16_rn(result.o[i]);
  if (lane == 0)
    args.lse[row] =
        (result.maximum + logf(result.sum)) * (D2K_FAULT == 7 ? 1.442695f : 1);
  if (D2K_FAULT == 11 && row == 0 && lane == 0)
    args.lse[args.B * args.Hq] = 1;
  if (D2K_FAULT == 12 && row == 0 && lane == 0)
    const_cast<Bf16 *>(q)[0] = __float2bfloat16_rn(float(whole));
}

extern "C" int
d2k_attention_decode_paged(const d2k_attention_decode_paged_args *args, void *,
                           size_t, cudaStream_t stream) {
  faultyDecode<<<dim3(unsigned(args->Hq), unsigned(args->B)), 32, 0, stream>>>(
      *args);
  return cudaGetLastError();
}
