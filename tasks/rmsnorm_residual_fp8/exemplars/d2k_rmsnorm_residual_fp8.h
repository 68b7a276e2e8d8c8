// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task rmsnorm_residual_fp8, generated from its task.json: r
// = bf16(x + res); n = r * rsqrt(mean(r*r) + eps) * w from the rounded r; for
// each token and group of 128 columns a power-of-two scale s =
// 2^ceil(log2(max(amax(|n|), 1e-10) / 448)) and q = e4m3(n / s), round to
// nearest even.

#ifndef D2K_RMSNORM_RESIDUAL_FP8_H
#define D2K_RMSNORM_RESIDUAL_FP8_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* columns of a quantisation group; the last group of a row may have fewer */
#define D2K_RMSNORM_RESIDUAL_FP8_G ((int64_t)128)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_rmsnorm_residual_fp8_args {
  int64_t T;       /* tokens: rows of x, res, r and q */
  int64_t H;       /* hidden size: columns of x, res, r and q */
  const void *x;   /* bfloat16 [T,H], output of the layer before */
  const void *res; /* bfloat16 [T,H], residual stream */
  const void *w;   /* bfloat16 [H], weight of the norm */
  float eps;       /* float32, added to the mean of squares */
  void *r;         /* bfloat16 [T,H], x + res, the new residual stream */
  void *q;         /* float8_e4m3fn [T,H], normalised and quantised */
  float *s;        /* float32 [ceil_div(H,G),T], scales, a row a group (tokens are contiguous) */
} d2k_rmsnorm_residual_fp8_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args, void *workspace,
                             size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_RMSNORM_RESIDUAL_FP8_H
