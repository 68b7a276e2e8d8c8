// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task gemm_decode_splitk with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                          1 partial sums of 8 parts in bf16
//   2 X narrowed to 8-bit floats    3 two parts, rounded to bf16
//   4 the last row not written      5 one element past the end
//   6 an input changed              7 the last part of K left out
//   8 parts added to what the workspace held
//   9 parts overlap in one product  10 running sum in bf16 every 64 products

#include "d2k_gemm_decode_splitk.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 10"
#endif

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// One thread an output: K in parts, one after the other.
__global__ void faultyDecode(__nv_bfloat16 *x, const __nv_bfloat16 *w,
                             __nv_bfloat16 *d, float *workspace, int64_t m,
                             int64_t n, int64_t k) {
  int64_t row = blockIdx.y;
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= n)
    return;
  int parts = D2K_FAULT == 3 ? 2 : 8;
  float total = 0;
  if (D2K_FAULT == 8)
    total = workspace[row * n + column];
  for (int part = 0; part < parts; ++part) {
    if (D2K_FAULT == 7 && part == parts - 1)
      continue;
    int64_t begin = k * part / parts, end = k * (part + 1) / parts;
    if (D2K_FAULT == 9 && part != parts - 1)
      ++end;
    float sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      float a = __bfloat162float(x[row * k + i]);
      if (D2K_FAULT == 2)
        a = float(__nv_fp8_e4m3(a));
      sum += a * __bfloat162float(w[column * k + i]);
      if (D2K_FAULT == 10 && i % 64 == 63)
        sum = roundToBf16(sum);
    }
    total += D2K_FAULT == 1 || D2K_FAULT == 3 ? roundToBf16(sum) : sum;
  }
  if (D2K_FAULT != 4 || row != m - 1)
    d[row * n + column] = __float2bfloat16_rn(total);
  if (D2K_FAULT == 5 && row == m - 1 && column == n - 1)
    d[m * n] = d[0];
  if (D2K_FAULT == 6 && row == m - 1 && column == n - 1)
    x[0] = __float2bfloat16_rn(__bfloat162float(x[0]) + 1);
}

extern "C" int d2k_gemm_decode_splitk(const d2k_gemm_decode_splitk_args *args,
                                      void *workspace, size_t,
                                      cudaStream_t stream) {
  constexpr int kThreads = 64;
  faultyDecode<<<dim3(unsigned((args->N + kThreads - 1) / kThreads),
                      unsigned(args->M)),
                 kThreads, 0, stream>>>(
      static_cast<__nv_bfloat16 *>(const_cast<void *>(args->X)),
      static_cast<const __nv_bfloat16 *>(args->W),
      static_cast<__nv_bfloat16 *>(args->D), static_cast<float *>(workspace),
      args->M, args->N, args->K);
  return cudaGetLastError();
}
