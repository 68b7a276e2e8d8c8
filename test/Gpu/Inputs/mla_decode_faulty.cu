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

#include "FaultyAttention.cuh"

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 13"
#endif

using namespace faulty;

constexpr int kRow = D2K_MLA_DECODE_R;
constexpr int kValues = D2K_MLA_DECODE_V;
constexpr int kPage = D2K_MLA_DECODE_P;

/// One warp a head of a query.
__global__ void faultyDecode(d2k_mla_decode_args args) {
  auto *cache = static_cast<const Bf16 *>(args.cache);
  auto *q = static_cast<const Bf16 *>(args.q);
  auto *O = static_cast<Bf16 *>(args.O);
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
  AttentionFaults faults = {};
  faults.bf16Scores = D2K_FAULT == 1;
  faults.noMaximum = D2K_FAULT == 8;
  faults.e4m3Weights = D2K_FAULT == 9;
  using Row = AttentionRow<kValues / 32>;
  auto attend = [&](int64_t first, int64_t end) {
    Row part;
    part.add(faults, q + row * kRow, D2K_FAULT == 5 ? kValues : kRow, kValues,
             args.scale, first, end, getToken, [&](int64_t t) {
               return getToken(t) + (D2K_FAULT == 13 ? 64 : 0);
             });
    return part;
  };
  Row result = attendInParts(attend, visible, D2K_FAULT == 10);
  for (int i = 0; i < kValues / 32; ++i)
    O[row * kValues + i * 32 + lane] = __float2bfloat16_rn(result.o[i]);
  if (lane == 0)
    args.lse[row] =
        (result.maximum + logf(result.sum)) * (D2K_FAULT == 7 ? 1.442695f : 1);
  if (D2K_FAULT == 11 && row == 0 && lane == 0)
    args.lse[args.B * args.Sq * args.H] = 1;
  if (D2K_FAULT == 12 && row == 0 && lane == 0)
    const_cast<Bf16 *>(q)[0] = __float2bfloat16_rn(777);
}

extern "C" int d2k_mla_decode(const d2k_mla_decode_args *args, void *, size_t,
                              cudaStream_t stream) {
  faultyDecode<<<dim3(unsigned(args->Sq * args->H), unsigned(args->B)), 32, 0,
                 stream>>>(*args);
  return cudaGetLastError();
}
