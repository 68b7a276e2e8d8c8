// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task topk_topp_sampling with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                             1 logits rounded to bf16
//   2 one column too many in K         3 N without the column that crosses
//   top_p 4 top_p of all columns, not of K   5 u runs in the order of p 6 equal
//   logits to the last column  7 temperature left out 8 always the most likely
//   column    9 top_k of 0 taken for 1 10 the last row not written        11
//   one element past the end of token 12 an input changed                13
//   maximum not subtracted 14 u runs over K, not over N

#include "d2k_topk_topp_sampling.h"

#include <cuda_bf16.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 14"
#endif

constexpr int kThreads = 512;

/// One block a row, which sorts every column: slow, and easy to put a fault
/// into. The workspace has a column a rank and a weight a column.
__global__ void __launch_bounds__(kThreads)
    faultySampling(d2k_topk_topp_sampling_args args, int *ranks,
                   float *weights) {
  int64_t row = blockIdx.x;
  int V = int(args.V);
  const float *logits = args.logits + row * V;
  ranks += row * V;
  weights += row * V;
  auto get = [&](int i) {
    return D2K_FAULT == 1 ? __bfloat162float(__float2bfloat16_rn(logits[i]))
                          : logits[i];
  };
  auto isBefore = [&](int i, int j) {
    return get(i) > get(j) ||
           (get(i) == get(j) && (D2K_FAULT == 6 ? i > j : i < j));
  };
  for (int i = int(threadIdx.x); i < V; i += kThreads)
    ranks[i] = i;
  // Merges pairs of sorted runs, the second backwards; what is past the end
  // counts as the last of all, and never moves.
  for (int run = 1; run < V; run *= 2)
    for (int distance = run; distance > 0; distance /= 2) {
      int mask = distance == run ? 2 * run - 1 : distance;
      __syncthreads();
      for (int i = int(threadIdx.x); i < V; i += kThreads) {
        int other = i ^ mask;
        if (other > i && other < V && isBefore(ranks[other], ranks[i])) {
          int swapped = ranks[i];
          ranks[i] = ranks[other];
          ranks[other] = swapped;
        }
      }
    }
  __syncthreads();
  float most = D2K_FAULT == 13 ? 0 : get(ranks[0]);
  float divisor = D2K_FAULT == 7 ? 1 : args.temperature[row];
  for (int i = int(threadIdx.x); i < V; i += kThreads)
    weights[i] = expf((get(i) - most) / divisor);
  __syncthreads();
  if (threadIdx.x != 0 || (D2K_FAULT == 10 && row == args.B - 1))
    return;
  int k = args.top_k[row];
  if (D2K_FAULT == 9 && k == 0)
    k = 1;
  if (k == 0 || k > V)
    k = V;
  if (D2K_FAULT == 2 && k < V)
    ++k;
  // In fp64, because one long sum in fp32 is no better than it should be.
  double whole = 0, mass = 0;
  for (int i = 0; i < (D2K_FAULT == 4 ? V : k); ++i)
    whole += double(weights[ranks[i]]);
  int n = 0;
  while (n < k && (n == 0 || mass < double(args.top_p[row]) * whole))
    mass += double(weights[ranks[n++]]);
  if (D2K_FAULT == 3 && n > 1)
    mass -= double(weights[ranks[--n]]);
  if (D2K_FAULT == 14)
    n = k, mass = whole;
  if (D2K_FAULT == 8)
    n = 1;
  double limit = double(args.u[row]) * mass, sum = 0;
  int token = ranks[0];
  if (D2K_FAULT == 5) {
    for (int i = 0; i < n && sum <= limit; ++i) {
      token = ranks[i];
      sum += double(weights[token]);
    }
  } else if (D2K_FAULT != 8) {
    // Marks the columns of N by their sign.
    for (int i = 0; i < n; ++i)
      weights[ranks[i]] = -weights[ranks[i]] - 1e-38f;
    for (int i = 0; i < V && sum <= limit; ++i)
      if (weights[i] < 0) {
        token = i;
        sum -= double(weights[i]);
      }
  }
  args.token[row] = token;
  if (D2K_FAULT == 11 && row == args.B - 1)
    args.token[args.B] = token;
  if (D2K_FAULT == 12 && row == 0)
    const_cast<float *>(logits)[3] = 1;
}

extern "C" int d2k_topk_topp_sampling(const d2k_topk_topp_sampling_args *args,
                                      void *workspace, size_t,
                                      cudaStream_t stream) {
  auto *ranks = static_cast<int *>(workspace);
  faultySampling<<<unsigned(args->B), kThreads, 0, stream>>>(
      *args, ranks, reinterpret_cast<float *>(ranks + args->B * args->V));
  return cudaGetLastError();
}
