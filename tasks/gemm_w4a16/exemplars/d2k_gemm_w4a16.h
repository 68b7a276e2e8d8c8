// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task gemm_w4a16, generated from its task.json: D[m,n] =
// bf16(sum over k of X[m,k] * s[n,k/128] * (q[n,k] - z[n,k/128])): bf16
// activations, weights of 4 bits with a scale and a zero point for each group
// of 128, fp32 accumulation, one rounding.

#ifndef D2K_GEMM_W4A16_H
#define D2K_GEMM_W4A16_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* columns of a group of weights */
#define D2K_GEMM_W4A16_G ((int64_t)128)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_gemm_w4a16_args {
  int64_t M;             /* rows of X and D (tokens) */
  int64_t N;             /* rows of q, columns of D (output features) */
  int64_t K;             /* columns of X and of q (input features) */
  const void *X;         /* bfloat16 [M,K], activations */
  const void *q;         /* uint4 [N,K], weights before scaling, from 0 to 15; two a byte, the even column in the low half */
  const void *s;         /* bfloat16 [N,K//G], scales */
  const uint8_t *z;      /* uint8 [N,K//G], zero points, from 0 to 15 */
  void *D;               /* bfloat16 [M,N], the result */
  const void *prepared;  /* what prepare wrote, or null */
  size_t prepared_bytes; /* size of the above */
} d2k_gemm_w4a16_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_gemm_w4a16(const d2k_gemm_w4a16_args *args, void *workspace,
                   size_t workspace_bytes, cudaStream_t stream);

/* Optional and untimed: repacks the constant inputs, the only ones that
   `args` has then, into `prepared`. */
int d2k_gemm_w4a16_prepare(const d2k_gemm_w4a16_args *args, void *prepared,
                           size_t prepared_bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_GEMM_W4A16_H
