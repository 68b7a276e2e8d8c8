// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// topk_topp_sampling, the plainest design: one block a row and no sort. K and N
// are prefixes of the order (logit descending, column ascending), so each is
// described by a logit and a column; both are found by bisection, each step a
// pass over the row. It is correct; it is where a faster kernel starts. Runs on
// sm_80 and later, for any B and V.

#include "d2k_topk_topp_sampling.h"

#include <cuda_runtime.h>

constexpr int kThreads = 256;

/// The order of floats as that of unsigned numbers; both zeros are equal.
__device__ unsigned getKey(float logit) {
  unsigned bits = __float_as_uint(logit == 0.0f ? 0.0f : logit);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/// The sum of one value a thread, to all threads.
__device__ float sumBlock(float value, float *scratch) {
  __syncthreads();
  scratch[threadIdx.x] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int i = 0; i < kThreads; ++i)
    sum += scratch[i];
  return sum;
}

/// All columns with a larger key, and those with this key up to a column.
struct Prefix {
  unsigned key;
  int lastColumn;

  __device__ bool has(unsigned other, int column) const {
    return other > key || (other == key && column <= lastColumn);
  }
};

/// The shortest prefix of `all` whose values sum to `target`, or all of it.
template <typename Value>
__device__ Prefix findPrefix(const float *logits, int V, Prefix all,
                             float target, float *scratch, Value value) {
  auto sum = [&](auto isWanted) {
    float own = 0.0f;
    for (int i = threadIdx.x; i < V; i += kThreads) {
      unsigned key = getKey(logits[i]);
      if (all.has(key, i) && isWanted(key, i))
        own += value(logits[i]);
    }
    return sumBlock(own, scratch);
  };
  unsigned key = 0;
  for (int bit = 31; bit >= 0; --bit) {
    unsigned candidate = key | 1u << bit;
    if (sum([&](unsigned other, int) { return other >= candidate; }) >= target)
      key = candidate;
  }
  float above = sum([&](unsigned other, int) { return other > key; });
  int column = 0;
  for (int bit = 30; bit >= 0; --bit) {
    int candidate = column | 1 << bit;
    if (candidate >= V)
      continue;
    float before = sum([&](unsigned other, int i) {
      return other == key && i < candidate;
    });
    if (above + before < target)
      column = candidate;
  }
  return {key, column};
}

__global__ void __launch_bounds__(kThreads)
    sampleNaive(const float *logits, const float *temperature,
                const float *top_p, const float *u, const int32_t *top_k,
                int32_t *token, int V) {
  __shared__ float scratch[kThreads];
  int64_t row = blockIdx.x;
  logits += row * V;

  float most = -INFINITY;
  for (int i = threadIdx.x; i < V; i += kThreads)
    most = fmaxf(most, logits[i]);
  scratch[threadIdx.x] = most;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      scratch[threadIdx.x] =
          fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    __syncthreads();
  }
  most = scratch[0];
  float divisor = temperature[row];
  auto weigh = [&](float logit) { return expf((logit - most) / divisor); };
  auto count = [](float) { return 1.0f; };

  Prefix kept = {0, V - 1};
  int k = top_k[row];
  if (k > 0 && k < V) // Counts below 2^24 are exact in fp32.
    kept = findPrefix(logits, V, kept, float(k), scratch, count);
  auto sumKept = [&](int end) {
    float own = 0.0f;
    for (int i = threadIdx.x; i < end; i += kThreads)
      if (kept.has(getKey(logits[i]), i))
        own += weigh(logits[i]);
    return sumBlock(own, scratch);
  };
  float target = top_p[row] * sumKept(V);
  kept = findPrefix(logits, V, kept, target, scratch, weigh);

  // The largest column before which the sum is not above u's share.
  float limit = u[row] * sumKept(V);
  int column = 0;
  for (int bit = 30; bit >= 0; --bit) {
    int candidate = column | 1 << bit;
    if (candidate < V && sumKept(candidate) <= limit)
      column = candidate;
  }
  // When the sums are rounded it may lie behind the last column of N.
  __shared__ int last;
  if (threadIdx.x == 0)
    last = 0;
  __syncthreads();
  for (int i = threadIdx.x; i <= column; i += kThreads)
    if (kept.has(getKey(logits[i]), i))
      atomicMax(&last, i);
  __syncthreads();
  if (threadIdx.x == 0)
    token[row] = last;
}

extern "C" int d2k_topk_topp_sampling(const d2k_topk_topp_sampling_args *args,
                                      void *, size_t, cudaStream_t stream) {
  if (args->B > INT32_MAX || args->V >= 1 << 24)
    return cudaErrorInvalidValue;
  sampleNaive<<<unsigned(args->B), kThreads, 0, stream>>>(
      args->logits, args->temperature, args->top_p, args->u, args->top_k,
      args->token, int(args->V));
  return cudaGetLastError();
}
