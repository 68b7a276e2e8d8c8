// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task gemm_decode_splitk, generated from its task.json:
// D[m,n] = bf16(sum over k of X[m,k]*W[n,k]) with few rows: fp32 accumulation
// and fp32 partial sums, one rounding. So few output tiles that the sum over k
// has to be split to use the whole GPU.

#ifndef D2K_GEMM_DECODE_SPLITK_H
#define D2K_GEMM_DECODE_SPLITK_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_gemm_decode_splitk_args {
  int64_t M;     /* rows of X and D (sequences of a decode step) */
  int64_t N;     /* rows of W, columns of D (output features) */
  int64_t K;     /* columns of X and of W (input features) */
  const void *X; /* bfloat16 [M,K], activations */
  const void *W; /* bfloat16 [N,K], weights, one row an output feature */
  void *D;       /* bfloat16 [M,N], the result */
} d2k_gemm_decode_splitk_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_gemm_decode_splitk(const d2k_gemm_decode_splitk_args *args, void *workspace,
                           size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_GEMM_DECODE_SPLITK_H
