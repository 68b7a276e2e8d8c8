// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gated_delta_rule, the plainest design: the recurrence as it is written, token
// by token, one block a value head of a sequence, the state in registers. A
// single sequence fills few SMs, and nothing is a matrix product. It is
// correct; it is where a faster kernel starts. Runs on sm_80 and later, for any
// shape.

#include "d2k_gated_delta_rule.h"

#include <cuda_bf16.h>

constexpr int kHead = D2K_GATED_DELTA_RULE_D;
/// Two lanes share a column of the state.
constexpr int kLanes = 2;
constexpr int kThreads = kHead * kLanes;
constexpr int kRows = kHead / kLanes;

__global__ void __launch_bounds__(kThreads)
    deltaRuleNaive(d2k_gated_delta_rule_args args) {
  __shared__ float query[kHead], key[kHead];
  int64_t h = blockIdx.x, b = blockIdx.y;
  int64_t keyHead = h / (args.Hv / args.Hk);
  int column = int(threadIdx.x) / kLanes, lane = int(threadIdx.x) % kLanes;
  auto *q = static_cast<const __nv_bfloat16 *>(args.q);
  auto *k = static_cast<const __nv_bfloat16 *>(args.k);
  auto *v = static_cast<const __nv_bfloat16 *>(args.v);
  auto *beta = static_cast<const __nv_bfloat16 *>(args.beta);
  auto *o = static_cast<__nv_bfloat16 *>(args.o);

  int64_t base = (b * args.Hv + h) * kHead * kHead + column;
  float state[kRows];
  for (int i = 0; i < kRows; ++i)
    state[i] = args.initial_state[base + (i * kLanes + lane) * kHead];

  for (int64_t t = args.cu_seqlens[b]; t < args.cu_seqlens[b + 1]; ++t) {
    __syncthreads(); // All are done with the rows of the token before.
    if (threadIdx.x < kHead) {
      int64_t at = (t * args.Hk + keyHead) * kHead + threadIdx.x;
      query[threadIdx.x] = __bfloat162float(q[at]);
      key[threadIdx.x] = __bfloat162float(k[at]);
    }
    __syncthreads();

    float decay = expf(args.g[t * args.Hv + h]);
    float sum = 0.0f;
    for (int i = 0; i < kRows; ++i) {
      state[i] *= decay;
      sum += state[i] * key[i * kLanes + lane];
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);

    int64_t at = (t * args.Hv + h) * kHead + column;
    float u = __bfloat162float(beta[t * args.Hv + h]) *
              (__bfloat162float(v[at]) - sum);
    sum = 0.0f;
    for (int i = 0; i < kRows; ++i) {
      state[i] += key[i * kLanes + lane] * u;
      sum += state[i] * query[i * kLanes + lane];
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    if (lane == 0)
      o[at] = __float2bfloat16_rn(args.scale * sum);
  }
  for (int i = 0; i < kRows; ++i)
    args.final_state[base + (i * kLanes + lane) * kHead] = state[i];
}

extern "C" int d2k_gated_delta_rule(const d2k_gated_delta_rule_args *args,
                                    void *, size_t, cudaStream_t stream) {
  if (args->B > 65535 || args->Hv > INT32_MAX)
    return cudaErrorInvalidValue;
  deltaRuleNaive<<<dim3(unsigned(args->Hv), unsigned(args->B)), kThreads, 0,
                   stream>>>(*args);
  return cudaGetLastError();
}
