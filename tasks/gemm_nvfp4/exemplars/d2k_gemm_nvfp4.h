// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task gemm_nvfp4, generated from its task.json: D[m,n] =
// bf16(alpha * sum over k of (sX*X)[m,k] * (sW*W)[n,k]): operands of e2m1 with
// one ue4m3 scale for 16 columns, in the tiled layout of matrix units that take
// scales; fp32 accumulation, one rounding.

#ifndef D2K_GEMM_NVFP4_H
#define D2K_GEMM_NVFP4_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* columns of a scale */
#define D2K_GEMM_NVFP4_B ((int64_t)16)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_gemm_nvfp4_args {
  int64_t M;             /* rows of X and D (tokens) */
  int64_t N;             /* rows of W, columns of D (output features) */
  int64_t K;             /* columns of X and of W (input features) */
  const void *X;         /* float4_e2m1 [M,K], activations; two a byte, the even column in the low half */
  const void *sX;        /* float8_e4m3fn [align_up(M,128)*(K//B)], scales of X, no sign, tiled; rows from M on have zeros */
  const void *W;         /* float4_e2m1 [N,K], weights, one row an output feature; two a byte, the even column in the low half */
  const void *sW;        /* float8_e4m3fn [N*(K//B)], scales of W, no sign, tiled */
  const float *alpha;    /* float32 [1], factor of everything, in device memory */
  void *D;               /* bfloat16 [M,N], the result */
  const void *prepared;  /* what prepare wrote, or null */
  size_t prepared_bytes; /* size of the above */
} d2k_gemm_nvfp4_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_gemm_nvfp4(const d2k_gemm_nvfp4_args *args, void *workspace,
                   size_t workspace_bytes, cudaStream_t stream);

/* Optional and untimed: repacks the constant inputs, the only ones that
   `args` has then, into `prepared`. */
int d2k_gemm_nvfp4_prepare(const d2k_gemm_nvfp4_args *args, void *prepared,
                           size_t prepared_bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_GEMM_NVFP4_H
