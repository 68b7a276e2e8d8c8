// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task causal_conv1d_silu with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                              1 zeros for the initial state
//   2 history from the sequence before  3 the sum rounded to bf16 before silu
//   4 products rounded to bf16          5 taps in reverse
//   6 bias left out                     7 final state of short sequences zeros
//   8 final state one row early         9 one element past the end
//   10 an input changed                 11 the exponent kept below 20

#include "d2k_causal_conv1d_silu.h"

#include <cuda_bf16.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 11"
#endif

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// One thread a channel of a sequence: slow, and easy to put a fault into.
__global__ void faultyConvolution(d2k_causal_conv1d_silu_args args) {
  int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t C = args.C, c = index % C, b = index / C;
  if (b >= args.B)
    return;
  auto *x = static_cast<const __nv_bfloat16 *>(args.x);
  auto *w = static_cast<const __nv_bfloat16 *>(args.w);
  auto *before = static_cast<const __nv_bfloat16 *>(args.initial_state);
  auto *y = static_cast<__nv_bfloat16 *>(args.y);
  auto *after = static_cast<__nv_bfloat16 *>(args.final_state);
  int64_t start = args.cu_seqlens[b];
  int64_t length = args.cu_seqlens[b + 1] - start;
  auto getRow = [&](int64_t row) {
    if (row >= 0 || (D2K_FAULT == 2 && start + row >= 0))
      return x[(start + row) * C + c];
    if (D2K_FAULT == 1)
      return __float2bfloat16_rn(0);
    return before[(b * 3 + 3 + row) * C + c];
  };
  for (int64_t t = 0; t < length; ++t) {
    float z = D2K_FAULT == 6 ? 0 : args.bias[c];
    for (int j = 0; j < 4; ++j) {
      float product =
          __bfloat162float(w[c * 4 + (D2K_FAULT == 5 ? 3 - j : j)]) *
          __bfloat162float(getRow(t - 3 + j));
      z += D2K_FAULT == 4 ? roundToBf16(product) : product;
    }
    if (D2K_FAULT == 3)
      z = roundToBf16(z);
    float e = expf(D2K_FAULT == 11 ? fminf(-z, 20) : -z);
    y[(start + t) * C + c] = __float2bfloat16_rn(z / (1 + e));
  }
  for (int i = 0; i < 3; ++i) {
    int64_t row = length - 3 + i - (D2K_FAULT == 8 ? 1 : 0);
    after[(b * 3 + i) * C + c] = D2K_FAULT == 7 && row < 0
                                     ? __float2bfloat16_rn(0)
                                     : getRow(row < -3 ? -3 : row);
  }
  if (D2K_FAULT == 9 && index == 0)
    y[args.T * C] = y[0];
  if (D2K_FAULT == 10 && index == 0)
    const_cast<__nv_bfloat16 *>(x)[0] = __float2bfloat16_rn(777);
}

extern "C" int d2k_causal_conv1d_silu(const d2k_causal_conv1d_silu_args *args,
                                      void *, size_t, cudaStream_t stream) {
  faultyConvolution<<<unsigned((args->B * args->C + 127) / 128), 128, 0,
                      stream>>>(*args);
  return cudaGetLastError();
}
