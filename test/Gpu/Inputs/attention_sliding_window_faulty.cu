// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task attention_sliding_window with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                              1 scores rounded to bf16
//   2 probabilities in e4m3             3 the sum of the rounded probabilities
//   4 mask from the first key           5 one key too many at the end
//   6 key heads interleaved             7 no maximum subtracted
//   8 LSE with the sink                 9 LSE with heads contiguous
//   10 a window of W + 1                11 a window of W - 1
//   12 no sink                          13 the sink scaled as a score
//   14 the sink of the key head         15 a sink of -infinity as 0

#include "d2k_attention_sliding_window.h"

#include "FaultyAttention.cuh"

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 15"
#endif

using namespace faulty;

/// A warp a query and head.
__global__ void faultyAttention(d2k_attention_sliding_window_args args) {
  int64_t token = int64_t(blockIdx.x) * 8 + threadIdx.x / 32;
  int64_t head = blockIdx.y, D = args.D;
  int lane = int(threadIdx.x) % 32;
  if (token >= args.Tq)
    return;
  int64_t b = 0;
  while (args.cu_seqlens_q[b + 1] <= token)
    ++b;
  int64_t beginQ = args.cu_seqlens_q[b];
  int64_t lengthQ = args.cu_seqlens_q[b + 1] - beginQ;
  int64_t beginK = args.cu_seqlens_k[b];
  int64_t lengthK = args.cu_seqlens_k[b + 1] - beginK;
  int64_t shift = D2K_FAULT == 4 ? 0 : lengthK - lengthQ;
  int64_t last = token - beginQ + shift;
  if (D2K_FAULT == 5 && last + 1 < lengthK)
    ++last;
  int64_t window = args.W + (D2K_FAULT == 10) - (D2K_FAULT == 11);
  int64_t first = last - window + 1 > 0 ? last - window + 1 : 0;
  int64_t headK =
      D2K_FAULT == 6 ? head % args.Hkv : head / (args.Hq / args.Hkv);
  auto *q = static_cast<const Bf16 *>(args.Q) + (token * args.Hq + head) * D;
  auto *k = static_cast<const Bf16 *>(args.K) + (beginK * args.Hkv + headK) * D;
  auto *v = static_cast<const Bf16 *>(args.V) + (beginK * args.Hkv + headK) * D;
  AttentionFaults faults = {};
  faults.bf16Scores = D2K_FAULT == 1;
  faults.e4m3Weights = D2K_FAULT == 2;
  faults.roundedSum = D2K_FAULT == 3;
  faults.noMaximum = D2K_FAULT == 7;
  AttentionRow<8> row;
  row.add(
      faults, q, D, D, args.scale, first, last + 1,
      [&](int64_t key) { return k + key * args.Hkv * D; },
      [&](int64_t key) { return v + key * args.Hkv * D; });
  float maximum = row.maximum, sum = row.sum;
  float sink = args.sink[D2K_FAULT == 14 ? headK : head];
  if (D2K_FAULT == 13)
    sink *= args.scale;
  if (D2K_FAULT == 15 && sink == -INFINITY)
    sink = 0;
  float largest = fmaxf(maximum, sink), kept = expf(maximum - largest);
  float term = D2K_FAULT == 12 ? 0 : expf(sink - largest);
  float factor = kept / (sum * kept + term);
  auto *out =
      static_cast<__nv_bfloat16 *>(args.O) + (token * args.Hq + head) * D;
  for (int64_t d = lane; d < D; d += 32)
    out[d] = __float2bfloat16_rn(row.o[d / 32] * factor);
  float lse = maximum + logf(sum);
  if (D2K_FAULT == 8)
    lse = largest + logf(sum * kept + term);
  if (lane == 0)
    args.LSE[D2K_FAULT == 9 ? token * args.Hq + head : head * args.Tq + token] =
        lse;
}

extern "C" int
d2k_attention_sliding_window(const d2k_attention_sliding_window_args *args,
                             void *, size_t, cudaStream_t stream) {
  dim3 grid{unsigned((args->Tq + 7) / 8), unsigned(args->Hq)};
  faultyAttention<<<grid, 256, 0, stream>>>(*args);
  return cudaGetLastError();
}
