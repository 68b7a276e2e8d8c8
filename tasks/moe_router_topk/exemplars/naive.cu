// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// moe_router_topk, the plainest design: a thread a logit, then a thread a token
// that looks for the next best expert k times, then a thread an expert that
// counts its tokens. Runs on sm_80 and later, for any sizes.

#include "d2k_moe_router_topk.h"

#include <cuda_bf16.h>

constexpr int kThreads = 128;
constexpr int kGroups = D2K_MOE_ROUTER_TOPK_GROUPS;
constexpr int kTopGroups = D2K_MOE_ROUTER_TOPK_TOP_GROUPS;
constexpr float kScale = 2.5f;

__global__ void __launch_bounds__(kThreads)
    computeLogits(const __nv_bfloat16 *X, const __nv_bfloat16 *Wr,
                  float *logits, int64_t T, int64_t E, int64_t H) {
  int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= T * E)
    return;
  int64_t token = i / E, expert = i % E;
  float sum = 0.0f;
  for (int64_t h = 0; h < H; ++h)
    sum += __bfloat162float(X[token * H + h]) *
           __bfloat162float(Wr[expert * H + h]);
  logits[i] = sum;
}

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/// What experts of one token are chosen by.
struct Scores {
  const float *logits, *bias;
  int experts, mode;
  /// The groups that can be chosen from, a bit each.
  unsigned groups;

  __device__ float get(int expert) const {
    return mode == 0 ? logits[expert] : sigmoid(logits[expert]) + bias[expert];
  }
  __device__ bool isOpen(int expert) const {
    return mode == 0 || groups >> (expert / (experts / kGroups)) & 1;
  }

  /// The best open expert after \p last in the order of falling scores and
  /// rising ids; the first one for -1.
  __device__ int findNext(int last) const {
    int best = -1;
    for (int expert = 0; expert < experts; ++expert) {
      if (!isOpen(expert))
        continue;
      float score = get(expert);
      bool isLater = last < 0 || score < get(last) ||
                     (score == get(last) && expert > last);
      if (isLater && (best < 0 || score > get(best)))
        best = expert;
    }
    return best;
  }
};

/// The groups with the largest sums of their two largest scores.
__device__ unsigned chooseGroups(const Scores &scores) {
  int size = scores.experts / kGroups;
  float sums[kGroups];
  for (int group = 0; group < kGroups; ++group) {
    float first = -INFINITY, second = -INFINITY;
    for (int i = 0; i < size; ++i) {
      float score = scores.get(group * size + i);
      if (score > first) {
        second = first;
        first = score;
      } else if (score > second) {
        second = score;
      }
    }
    sums[group] = first + second;
  }
  unsigned chosen = 0;
  for (int i = 0; i < kTopGroups; ++i) {
    int best = -1;
    for (int group = 0; group < kGroups; ++group)
      if (!(chosen >> group & 1) && (best < 0 || sums[group] > sums[best]))
        best = group;
    chosen |= 1u << best;
  }
  return chosen;
}

__global__ void __launch_bounds__(kThreads)
    chooseExperts(const float *logits, const float *bias, int32_t *ids,
                  float *w, int64_t T, int E, int k, int mode) {
  int64_t token = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (token >= T)
    return;
  Scores scores = {logits + token * E, bias, E, mode, 0};
  if (mode == 1)
    scores.groups = chooseGroups(scores);
  ids += token * k;
  w += token * k;
  float sum = 0.0f;
  for (int j = 0; j < k; ++j) {
    ids[j] = scores.findNext(j == 0 ? -1 : ids[j - 1]);
    // The first logit is the largest of all.
    float logit = scores.logits[ids[j]];
    w[j] = mode == 0 ? expf(logit - scores.logits[ids[0]]) : sigmoid(logit);
    sum += w[j];
  }
  for (int j = 0; j < k; ++j)
    w[j] = (mode == 0 ? 1.0f : kScale) * w[j] / sum;
}

/// Offsets by counting all that is lower, so that no thread waits for another.
__global__ void __launch_bounds__(kThreads)
    countTokens(const int32_t *ids, int32_t *counts, int32_t *offsets,
                int64_t pairs, int64_t E) {
  int64_t expert = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (expert > E)
    return;
  int32_t own = 0, lower = 0;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    own += ids[pair] == expert ? 1 : 0;
    lower += ids[pair] < expert ? 1 : 0;
  }
  if (expert < E)
    counts[expert] = own;
  offsets[expert] = lower;
}

extern "C" int d2k_moe_router_topk(const d2k_moe_router_topk_args *args,
                                   void *workspace, size_t workspace_bytes,
                                   cudaStream_t stream) {
  auto countBlocks = [](int64_t threads) {
    return unsigned((threads + kThreads - 1) / kThreads);
  };
  auto *logits = static_cast<float *>(workspace);
  int64_t T = args->T, E = args->E;
  if (size_t(T * E) * sizeof(float) > workspace_bytes)
    return cudaErrorInvalidValue;
  computeLogits<<<countBlocks(T * E), kThreads, 0, stream>>>(
      static_cast<const __nv_bfloat16 *>(args->X),
      static_cast<const __nv_bfloat16 *>(args->Wr), logits, T, E, args->H);
  chooseExperts<<<countBlocks(T), kThreads, 0, stream>>>(
      logits, args->bias, args->ids, args->w, T, int(E), int(args->k),
      int(args->mode));
  countTokens<<<countBlocks(E + 1), kThreads, 0, stream>>>(
      args->ids, args->counts, args->offsets, T * args->k, E);
  return cudaGetLastError();
}
