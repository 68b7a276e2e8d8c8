// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task rope_paged_kv_append with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                              1 neighbours rotated, not halves
//   2 rotated the other way             3 the norm rounded to bf16
//   4 values rotated too                5 skipped tokens written to slot 0
//   6 queries of skipped tokens left    7 keys and values exchanged
//   8 one element past the end          9 an input changed
//   10 eps left out                     11 a slot that no token has changed
//   12 the weight of queries for keys

#include "d2k_rope_paged_kv_append.h"

#include <cuda_bf16.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 12"
#endif

/// One thread a head: slow, and easy to put a fault into.
__global__ void faultyRope(d2k_rope_paged_kv_append_args args) {
  int64_t heads = args.Hq + 2 * args.Hkv, D = args.D, half = D / 2;
  int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= args.T * heads)
    return;
  int64_t token = index / heads, head = index % heads;
  auto *x = static_cast<const __nv_bfloat16 *>(args.qkv) + index * D;
  auto *q = static_cast<__nv_bfloat16 *>(args.q_out);
  auto *cache = static_cast<__nv_bfloat16 *>(args.cache);
  bool isQuery = head < args.Hq, isValue = head >= args.Hq + args.Hkv;
  auto *w = static_cast<const __nv_bfloat16 *>(
      isQuery || D2K_FAULT == 12 ? args.wq : args.wk);
  float factor = 1;
  if (args.norm && !isValue) {
    float squares = 0;
    for (int64_t d = 0; d < D; ++d)
      squares += __bfloat162float(x[d]) * __bfloat162float(x[d]);
    factor = rsqrtf(squares / float(D) + (D2K_FAULT == 10 ? 0 : args.eps));
  }
  auto get = [&](int64_t d) {
    float value = __bfloat162float(x[d]);
    if (args.norm && !isValue)
      value *= factor * __bfloat162float(w[d]);
    return D2K_FAULT == 3 ? __bfloat162float(__float2bfloat16_rn(value))
                          : value;
  };
  int64_t slot = args.slot[token];
  if (D2K_FAULT == 5 && slot < 0)
    slot = 0;
  if (isQuery ? D2K_FAULT == 6 && slot < 0 : slot < 0)
    return;
  int64_t row = token * args.Hq + head;
  if (!isQuery) {
    bool isSecond = D2K_FAULT == 7 ? !isValue : isValue;
    row = ((slot / args.page * 2 + isSecond) * args.page + slot % args.page) *
              args.Hkv +
          (head - args.Hq) % args.Hkv;
  }
  __nv_bfloat16 *to = (isQuery ? q : cache) + row * D;
  const float *factors = args.table + args.pos[token] * D;
  for (int64_t i = 0; i < half; ++i) {
    int64_t first = D2K_FAULT == 1 ? 2 * i : i;
    int64_t second = D2K_FAULT == 1 ? 2 * i + 1 : i + half;
    float a = get(first), b = get(second);
    float cosine = factors[i], sine = factors[half + i];
    if (D2K_FAULT == 2)
      sine = -sine;
    if (isValue && D2K_FAULT != 4) {
      to[first] = x[first];
      to[second] = x[second];
      continue;
    }
    to[first] = __float2bfloat16_rn(a * cosine - b * sine);
    to[second] = __float2bfloat16_rn(b * cosine + a * sine);
  }
  if (index == 0) {
    if (D2K_FAULT == 8)
      q[args.T * args.Hq * D] = q[0];
    if (D2K_FAULT == 9)
      const_cast<__nv_bfloat16 *>(x)[0] = __float2bfloat16_rn(777);
    if (D2K_FAULT == 11) {
      // The first slot that no token has.
      int64_t free = 0;
      for (int64_t t = 0; t < args.T; ++t)
        if (args.slot[t] == free) {
          ++free;
          t = -1;
        }
      if (free < args.pages * args.page)
        cache[(free / args.page * 2 * args.page + free % args.page) * args.Hkv *
              D] = __float2bfloat16_rn(777);
    }
  }
}

extern "C" int
d2k_rope_paged_kv_append(const d2k_rope_paged_kv_append_args *args, void *,
                         size_t, cudaStream_t stream) {
  int64_t count = args->T * (args->Hq + 2 * args->Hkv);
  faultyRope<<<unsigned((count + 63) / 64), 64, 0, stream>>>(*args);
  return cudaGetLastError();
}
