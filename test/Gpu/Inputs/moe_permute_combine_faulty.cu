// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task moe_permute_combine with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                            1 later tokens of an expert first
//   2 weights rounded to bf16         3 sums kept in bf16
//   4 Z taken in the order of tokens  5 the last offset not written
//   6 the last token not combined     7 weights left out
//   8 one row past the end of Xp      9 an input changed

#include "d2k_moe_permute_combine.h"

#include <cuda_bf16.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 9"
#endif

constexpr int kThreads = 256;

__global__ void place(d2k_moe_permute_combine_args args) {
  int64_t pairs = args.T * args.k;
  int64_t pair = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (pair < pairs) {
    int32_t expert = args.ids[pair], before = 0;
    for (int64_t other = 0; other < pairs; ++other) {
      bool isEarlier = D2K_FAULT == 1 ? other > pair : other < pair;
      before +=
          args.ids[other] < expert || (args.ids[other] == expert && isEarlier);
    }
    args.pos[pair] = before;
  }
  if (pair <= args.E - (D2K_FAULT == 5)) {
    int32_t before = 0;
    for (int64_t other = 0; other < pairs; ++other)
      before += args.ids[other] < pair;
    args.offsets[pair] = before;
  }
}

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

__global__ void move(d2k_moe_permute_combine_args args) {
  auto *x = static_cast<const __nv_bfloat16 *>(args.X);
  auto *z = static_cast<const __nv_bfloat16 *>(args.Z);
  auto *xp = static_cast<__nv_bfloat16 *>(args.Xp);
  auto *y = static_cast<__nv_bfloat16 *>(args.Y);
  int64_t token = blockIdx.x, H = args.H, k = args.k;
  for (int64_t h = threadIdx.x; h < H; h += kThreads) {
    float sum = 0;
    for (int64_t j = 0; j < k; ++j) {
      int64_t pair = token * k + j, row = args.pos[pair];
      xp[row * H + h] = x[token * H + h];
      float weight = D2K_FAULT == 2   ? roundToBf16(args.w[pair])
                     : D2K_FAULT == 7 ? 1.0f
                                      : args.w[pair];
      sum +=
          weight * __bfloat162float(z[(D2K_FAULT == 4 ? pair : row) * H + h]);
      if (D2K_FAULT == 3)
        sum = roundToBf16(sum);
    }
    if (D2K_FAULT != 6 || token != args.T - 1)
      y[token * H + h] = __float2bfloat16_rn(sum);
    if (D2K_FAULT == 8 && token == args.T - 1)
      xp[args.T * k * H + h] = x[h];
    if (D2K_FAULT == 9 && token == 0 && h == 0)
      const_cast<__nv_bfloat16 *>(x)[0] = __float2bfloat16_rn(777);
  }
}

extern "C" int d2k_moe_permute_combine(const d2k_moe_permute_combine_args *args,
                                       void *, size_t, cudaStream_t stream) {
  // Offsets need E + 1 threads, which may be more than there are pairs.
  int64_t threads = args->T * args->k + args->E + 1;
  place<<<unsigned((threads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      *args);
  move<<<unsigned(args->T), kThreads, 0, stream>>>(*args);
  return cudaGetLastError();
}
