// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_bf16, the plainest design: one thread makes one output, and reads its
// row of X and its row of W from global memory by itself. Nothing is shared,
// staged, vectorised or overlapped; it is the floor that the other exemplars
// are compared with. Runs on sm_80 and later, for any M, N and K.
// Measured on H200: docs/measurements/gemm_bf16-exemplars.md.

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;

__global__ void __launch_bounds__(kBlockX *kBlockY)
    gemmBf16Naive(const __nv_bfloat16 *X, const __nv_bfloat16 *W,
                  const __nv_bfloat16 *R, __nv_bfloat16 *D, int64_t M,
                  int64_t N, int64_t K) {
  int64_t n = int64_t(blockIdx.x) * kBlockX + threadIdx.x;
  int64_t m = int64_t(blockIdx.y) * kBlockY + threadIdx.y;
  if (m >= M || n >= N)
    return;

  // fp32 holds the running sum; bf16 would lose everything after a few terms.
  float sum = 0.0f;
  for (int64_t k = 0; k < K; ++k)
    sum += __bfloat162float(X[m * K + k]) * __bfloat162float(W[n * K + k]);

  // The residual joins before the only rounding.
  D[m * N + n] = __float2bfloat16_rn(sum + __bfloat162float(R[m * N + n]));
}

namespace {
/// The tensors of the arguments, typed.
struct Tensors {
  explicit Tensors(const d2k_gemm_bf16_args &args)
      : x(reinterpret_cast<const __nv_bfloat16 *>(args.X)),
        w(reinterpret_cast<const __nv_bfloat16 *>(args.W)),
        r(reinterpret_cast<const __nv_bfloat16 *>(args.R)),
        d(reinterpret_cast<__nv_bfloat16 *>(args.D)) {}
  const __nv_bfloat16 *x, *w, *r;
  __nv_bfloat16 *d;
};
} // namespace

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *, size_t,
                             cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  int64_t gridX = (args->N + kBlockX - 1) / kBlockX;
  int64_t gridY = (args->M + kBlockY - 1) / kBlockY;
  if (args->K < 0 || gridX > INT32_MAX || gridY > 65535)
    return cudaErrorInvalidValue;

  Tensors t(*args);
  gemmBf16Naive<<<dim3(unsigned(gridX), unsigned(gridY)),
                  dim3(kBlockX, kBlockY), 0, stream>>>(
      t.x, t.w, t.r, t.d, args->M, args->N, args->K);
  return cudaGetLastError();
}
