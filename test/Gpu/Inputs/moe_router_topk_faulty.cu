// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task moe_router_topk with one fault each, chosen by D2K_FAULT.
// The judge must reject every one but 0.
//   0 none                             1 logits rounded to bf16
//   2 logits rounded to fp16           3 ties to the higher id
//   4 weights of all experts sum to 1  5 the bias in the weights
//   6 groups left out                  7 groups by their best expert alone
//   8 counts without the last token    9 offsets that include their own count
//   10 the order of ids reversed       11 one weight past the end
//   12 an input changed

#include "d2k_moe_router_topk.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 12"
#endif

__global__ void computeLogits(d2k_moe_router_topk_args args, float *logits) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= args.T * args.E)
    return;
  auto *x = static_cast<const __nv_bfloat16 *>(args.X) + i / args.E * args.H;
  auto *w = static_cast<const __nv_bfloat16 *>(args.Wr) + i % args.E * args.H;
  float sum = 0;
  for (int64_t h = 0; h < args.H; ++h)
    sum += __bfloat162float(x[h]) * __bfloat162float(w[h]);
  if (D2K_FAULT == 1)
    sum = __bfloat162float(__float2bfloat16_rn(sum));
  if (D2K_FAULT == 2)
    sum = __half2float(__float2half_rn(sum));
  logits[i] = sum;
}

/// One thread a token: slow, and easy to put a fault into.
__global__ void chooseExperts(d2k_moe_router_topk_args args,
                              const float *logits) {
  int64_t token = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (token >= args.T)
    return;
  int E = int(args.E), k = int(args.k), size = E / 8;
  const float *logit = logits + token * E;
  auto sigmoid = [](float x) { return 1 / (1 + expf(-x)); };
  auto getScore = [&](int e) {
    return args.mode == 0 ? logit[e] : sigmoid(logit[e]) + args.bias[e];
  };
  bool isOpen[8];
  float sums[8];
  for (int group = 0; group < 8; ++group) {
    float first = -1e30f, second = -1e30f;
    for (int e = group * size; e < (group + 1) * size; ++e) {
      float score = getScore(e);
      second = fmaxf(second, fminf(first, score));
      first = fmaxf(first, score);
    }
    sums[group] = D2K_FAULT == 7 ? first : first + second;
  }
  for (int group = 0; group < 8; ++group) {
    int better = 0;
    for (int other = 0; other < 8; ++other)
      better += sums[other] > sums[group] ||
                (sums[other] == sums[group] && other < group);
    isOpen[group] = args.mode == 0 || D2K_FAULT == 6 || better < 4;
  }
  int32_t *ids = args.ids + token * k;
  float *w = args.w + token * k;
  for (int j = 0; j < k; ++j) {
    int best = -1;
    for (int e = 0; e < E; ++e) {
      bool isFree = isOpen[e / size];
      for (int i = 0; i < j; ++i)
        isFree = isFree && ids[i] != e;
      if (isFree && (best < 0 || getScore(e) > getScore(best) ||
                     (D2K_FAULT == 3 && getScore(e) == getScore(best))))
        best = e;
    }
    ids[j] = best;
  }
  auto getShare = [&](int e) {
    return args.mode == 0   ? expf(logit[e] - logit[ids[0]])
           : D2K_FAULT == 5 ? sigmoid(logit[e]) + args.bias[e]
                            : sigmoid(logit[e]);
  };
  float sum = 0;
  for (int j = 0; j < k; ++j)
    sum += getShare(ids[j]);
  if (D2K_FAULT == 4) {
    sum = 0;
    for (int e = 0; e < E; ++e)
      sum += getShare(e);
  }
  for (int j = 0; j < k; ++j)
    w[j] = (args.mode == 0 ? 1.0f : 2.5f) * getShare(ids[j]) / sum;
  if (D2K_FAULT == 10)
    for (int j = 0; j < k / 2; ++j) {
      int32_t id = ids[j];
      ids[j] = ids[k - 1 - j];
      ids[k - 1 - j] = id;
      float weight = w[j];
      w[j] = w[k - 1 - j];
      w[k - 1 - j] = weight;
    }
  if (token == args.T - 1) {
    if (D2K_FAULT == 11)
      w[k] = w[0];
    if (D2K_FAULT == 12)
      *static_cast<__nv_bfloat16 *>(const_cast<void *>(args.X)) =
          __float2bfloat16_rn(777);
  }
}

/// One thread does it all.
__global__ void countTokens(d2k_moe_router_topk_args args) {
  for (int64_t e = 0; e < args.E; ++e)
    args.counts[e] = 0;
  for (int64_t i = 0; i < (args.T - (D2K_FAULT == 8)) * args.k; ++i)
    ++args.counts[args.ids[i]];
  int32_t sum = 0;
  for (int64_t e = 0; e <= args.E; ++e) {
    if (D2K_FAULT == 9 && e < args.E)
      sum += args.counts[e];
    args.offsets[e] = sum;
    if (D2K_FAULT != 9 && e < args.E)
      sum += args.counts[e];
  }
}

extern "C" int d2k_moe_router_topk(const d2k_moe_router_topk_args *args,
                                   void *workspace, size_t workspace_bytes,
                                   cudaStream_t stream) {
  auto *logits = static_cast<float *>(workspace);
  int64_t count = args->T * args->E;
  if (size_t(count) * sizeof(float) > workspace_bytes)
    return cudaErrorInvalidValue;
  computeLogits<<<unsigned((count + 255) / 256), 256, 0, stream>>>(*args,
                                                                   logits);
  chooseExperts<<<unsigned((args->T + 31) / 32), 32, 0, stream>>>(*args,
                                                                  logits);
  countTokens<<<1, 1, 0, stream>>>(*args);
  return cudaGetLastError();
}
