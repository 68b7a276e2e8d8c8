// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task attention_block_sparse with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                            1 scores rounded to bf16
//   2 probabilities in e4m3           3 the sum of the rounded probabilities
//   4 no causal mask in the diagonal  5 the last block of a list left out
//   6 one list for all heads          7 no maximum subtracted
//   8 LSE of empty rows 0             9 O of empty rows not written
//   10 a mask without the query       11 all blocks up to the diagonal
//   12 key heads interleaved          13 LSE with heads contiguous

#include "d2k_attention_block_sparse.h"

#include "FaultyAttention.cuh"

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 13"
#endif

using namespace faulty;

constexpr int kWarps = 8;
constexpr int64_t kWidth = D2K_ATTENTION_BLOCK_SPARSE_D;
constexpr int64_t kBlock = D2K_ATTENTION_BLOCK_SPARSE_BS;
/// A lane has the columns lane, lane + 32, ... of Q, V and O.
constexpr int kColumns = kWidth / 32;

__global__ void __launch_bounds__(kWarps * 32)
    faultyAttention(d2k_attention_block_sparse_args args) {
  int64_t query = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  int64_t head = blockIdx.y, sequence = blockIdx.z;
  int lane = int(threadIdx.x) % 32;
  if (query >= args.S)
    return;
  int64_t headK =
      D2K_FAULT == 12 ? head % args.Hkv : head / (args.Hq / args.Hkv);
  int64_t token = sequence * args.S + query;
  auto *q =
      static_cast<const Bf16 *>(args.Q) + (token * args.Hq + head) * kWidth;
  int64_t stride = args.Hkv * kWidth;
  int64_t offset = sequence * args.S * stride + headK * kWidth;
  auto *k = static_cast<const Bf16 *>(args.K) + offset;
  auto *v = static_cast<const Bf16 *>(args.V) + offset;
  AttentionFaults faults = {};
  faults.bf16Scores = D2K_FAULT == 1;
  faults.e4m3Weights = D2K_FAULT == 2;
  faults.roundedSum = D2K_FAULT == 3;
  faults.noMaximum = D2K_FAULT == 7;

  int64_t blocks = (args.S + kBlock - 1) / kBlock;
  const int32_t *list =
      args.row_ptr +
      (sequence * args.Hq + (D2K_FAULT == 6 ? 0 : head)) * (blocks + 1) +
      query / kBlock;
  int32_t begin = list[0], end = list[1] - (D2K_FAULT == 5);
  AttentionRow<kColumns> row;
  if (D2K_FAULT == 11) {
    begin = 0;
    end = int32_t(query / kBlock + 1);
  }
  for (int32_t entry = begin; entry < end; ++entry) {
    int64_t first = (D2K_FAULT == 11 ? entry : args.col_idx[entry]) * kBlock;
    // Causal: in the block of the query itself, up to the query.
    int64_t last = first + kBlock - 1 < query ? first + kBlock - 1 : query;
    if (D2K_FAULT == 4)
      last = first + kBlock <= args.S ? first + kBlock - 1 : args.S - 1;
    if (D2K_FAULT == 10 && last == query)
      --last;
    row.add(
        faults, q, kWidth, kWidth, args.scale, first, last + 1,
        [&](int64_t key) { return k + key * stride; },
        [&](int64_t key) { return v + key * stride; });
  }

  // Without a key O is 0 and LSE, maximum + log(0), is -infinity.
  float sum = row.sum;
  float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
  auto *out = static_cast<__nv_bfloat16 *>(args.O) +
              (token * args.Hq + head) * kWidth + lane;
  for (int c = 0; c < kColumns && !(D2K_FAULT == 9 && sum == 0.0f); ++c)
    out[32 * c] = __float2bfloat16_rn(row.o[c] * factor);
  float lse = row.maximum + logf(sum);
  if (D2K_FAULT == 8 && sum == 0.0f)
    lse = 0.0f;
  if (lane == 0)
    args.LSE[D2K_FAULT == 13 ? token * args.Hq + head
                             : head * args.B * args.S + token] = lse;
}

extern "C" int
d2k_attention_block_sparse(const d2k_attention_block_sparse_args *args, void *,
                           size_t, cudaStream_t stream) {
  int64_t blocks = (args->S + kWarps - 1) / kWarps;
  if (blocks > INT32_MAX || args->Hq > 65535 || args->B > 65535)
    return cudaErrorInvalidValue;
  dim3 grid{unsigned(blocks), unsigned(args->Hq), unsigned(args->B)};
  faultyAttention<<<grid, kWarps * 32, 0, stream>>>(*args);
  return cudaGetLastError();
}
