// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task gated_delta_rule with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                              1 initial state taken for zeros
//   2 no decay                          3 decay after the write
//   4 u from the state before its decay 5 beta left out
//   6 state rounded to bf16             7 key head h % Hk
//   8 scale left out                    9 o from the state before the write
//   10 final state transposed           11 one element past the end
//   12 an input changed                 13 k rounded to e4m3
//   14 sequences joined: the state goes on from one to the next
//   15 no delta: v is written without what the key has

#include "d2k_gated_delta_rule.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 15"
#endif

constexpr int kHead = D2K_GATED_DELTA_RULE_D;

/// One thread a column of the state of a head.
__global__ void faultyDeltaRule(d2k_gated_delta_rule_args args) {
  int64_t h = blockIdx.x, b = blockIdx.y;
  int column = int(threadIdx.x);
  int64_t keyHead = D2K_FAULT == 7 ? h % args.Hk : h / (args.Hv / args.Hk);
  auto *q = static_cast<const __nv_bfloat16 *>(args.q);
  auto *k = static_cast<const __nv_bfloat16 *>(args.k);
  auto *v = static_cast<const __nv_bfloat16 *>(args.v);
  auto *beta = static_cast<const __nv_bfloat16 *>(args.beta);
  auto *o = static_cast<__nv_bfloat16 *>(args.o);
  int64_t base = (b * args.Hv + h) * kHead * kHead;
  float state[kHead];
  for (int i = 0; i < kHead; ++i)
    state[i] =
        D2K_FAULT == 1
            ? 0
            : args.initial_state[(D2K_FAULT == 14 ? h * kHead * kHead : base) +
                                 i * kHead + column];
  int64_t first = D2K_FAULT == 14 ? 0 : args.cu_seqlens[b];
  for (int64_t t = first; t < args.cu_seqlens[b + 1]; ++t) {
    int64_t keyRow = (t * args.Hk + keyHead) * kHead;
    int64_t gate = t * args.Hv + h;
    float decay = D2K_FAULT == 2 ? 1 : expf(args.g[gate]);
    auto getKey = [&](int i) {
      float value = __bfloat162float(k[keyRow + i]);
      return D2K_FAULT == 13 ? float(__nv_fp8_e4m3(value)) : value;
    };
    float sum = 0, before = 0;
    for (int i = 0; i < kHead; ++i) {
      float old = state[i];
      if (D2K_FAULT != 3)
        state[i] *= decay;
      sum += (D2K_FAULT == 4 ? old : state[i]) * getKey(i);
      before += state[i] * __bfloat162float(q[keyRow + i]);
    }
    if (D2K_FAULT == 15)
      sum = 0;
    float u = (D2K_FAULT == 5 ? 1 : __bfloat162float(beta[gate])) *
              (__bfloat162float(v[gate * kHead + column]) - sum);
    sum = 0;
    for (int i = 0; i < kHead; ++i) {
      state[i] += getKey(i) * u;
      if (D2K_FAULT == 3)
        state[i] *= decay;
      if (D2K_FAULT == 6)
        state[i] = __bfloat162float(__float2bfloat16_rn(state[i]));
      sum += state[i] * __bfloat162float(q[keyRow + i]);
    }
    if (D2K_FAULT == 9)
      sum = before;
    if (D2K_FAULT != 8)
      sum *= args.scale;
    if (t >= args.cu_seqlens[b])
      o[gate * kHead + column] = __float2bfloat16_rn(sum);
  }
  for (int i = 0; i < kHead; ++i)
    args.final_state[base + (D2K_FAULT == 10 ? column * kHead + i
                                             : i * kHead + column)] = state[i];
  bool isFirst = h == 0 && b == 0 && column == 0;
  if (D2K_FAULT == 11 && isFirst)
    o[args.T * args.Hv * kHead] = o[0];
  if (D2K_FAULT == 12 && isFirst)
    const_cast<__nv_bfloat16 *>(v)[0] = __float2bfloat16_rn(777);
}

extern "C" int d2k_gated_delta_rule(const d2k_gated_delta_rule_args *args,
                                    void *, size_t, cudaStream_t stream) {
  faultyDeltaRule<<<dim3(unsigned(args->Hv), unsigned(args->B)), kHead, 0,
                    stream>>>(*args);
  return cudaGetLastError();
}
