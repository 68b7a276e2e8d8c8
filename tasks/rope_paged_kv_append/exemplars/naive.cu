// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rope_paged_kv_append, the plainest design: one thread makes one element of a
// query, key or value head, and computes the norm of its head by itself. Runs
// on sm_80 and later, for any sizes.

#include "d2k_rope_paged_kv_append.h"

#include <cuda_bf16.h>

constexpr int kThreads = 256;

/// Element d of a head x, normalised if there is a weight.
__device__ float getElement(const __nv_bfloat16 *x, const __nv_bfloat16 *w,
                            float eps, int64_t d, int64_t D) {
  float value = __bfloat162float(x[d]);
  if (!w)
    return value;
  float squares = 0.0f;
  for (int64_t i = 0; i < D; ++i)
    squares += __bfloat162float(x[i]) * __bfloat162float(x[i]);
  return value * rsqrtf(squares / float(D) + eps) * __bfloat162float(w[d]);
}

/// Element d of a head, rotated: the first half of a head belongs with the
/// second one.
__device__ float rotate(const __nv_bfloat16 *x, const __nv_bfloat16 *w,
                        float eps, const float *factors, int64_t d, int64_t D) {
  int64_t i = d % (D / 2);
  float cosine = factors[i], sine = factors[D / 2 + i];
  float a = getElement(x, w, eps, i, D);
  float b = getElement(x, w, eps, i + D / 2, D);
  return d < D / 2 ? a * cosine - b * sine : b * cosine + a * sine;
}

__global__ void __launch_bounds__(kThreads)
    ropeNaive(d2k_rope_paged_kv_append_args args) {
  int64_t D = args.D, heads = args.Hq + 2 * args.Hkv;
  int64_t index = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= args.T * heads * D)
    return;
  int64_t d = index % D, head = index / D % heads, token = index / D / heads;
  auto *x = static_cast<const __nv_bfloat16 *>(args.qkv) + (index - d);
  auto *wq = args.norm ? static_cast<const __nv_bfloat16 *>(args.wq) : nullptr;
  auto *wk = args.norm ? static_cast<const __nv_bfloat16 *>(args.wk) : nullptr;
  const float *factors = args.table + args.pos[token] * D;
  if (head < args.Hq) {
    static_cast<__nv_bfloat16 *>(args.q_out)[(token * args.Hq + head) * D + d] =
        __float2bfloat16_rn(rotate(x, wq, args.eps, factors, d, D));
    return;
  }
  int64_t slot = args.slot[token];
  if (slot < 0)
    return;
  bool isValue = head >= args.Hq + args.Hkv;
  int64_t own = (head - args.Hq) % args.Hkv;
  int64_t row = (slot / args.page * 2 + isValue) * args.page + slot % args.page;
  static_cast<__nv_bfloat16 *>(args.cache)[(row * args.Hkv + own) * D + d] =
      isValue ? x[d]
              : __float2bfloat16_rn(rotate(x, wk, args.eps, factors, d, D));
}

extern "C" int
d2k_rope_paged_kv_append(const d2k_rope_paged_kv_append_args *args, void *,
                         size_t, cudaStream_t stream) {
  int64_t count = args->T * (args->Hq + 2 * args->Hkv) * args->D;
  int64_t blocks = (count + kThreads - 1) / kThreads;
  if (blocks > INT32_MAX)
    return cudaErrorInvalidValue;
  ropeNaive<<<unsigned(blocks), kThreads, 0, stream>>>(*args);
  return cudaGetLastError();
}
