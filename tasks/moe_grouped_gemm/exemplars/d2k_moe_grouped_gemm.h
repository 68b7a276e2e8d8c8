// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task moe_grouped_gemm, generated from its task.json: Rows
// of X are grouped by expert: for every row r in [offsets[e], offsets[e+1]),
// Y[r,n] = bf16(sum over k of X[r,k]*W[e,n,k]), accumulated in fp32. The
// offsets are on the device only.

#ifndef D2K_MOE_GROUPED_GEMM_H
#define D2K_MOE_GROUPED_GEMM_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_moe_grouped_gemm_args {
  int64_t R;              /* rows of X and Y, of all experts together */
  int64_t E;              /* experts */
  int64_t N;              /* rows of an expert's W, columns of Y (output features) */
  int64_t K;              /* columns of X and of W (input features) */
  const void *X;          /* bfloat16 [R,K], tokens, grouped by expert */
  const void *W;          /* bfloat16 [E,N,K], weights of the experts, one row an output feature */
  const int32_t *offsets; /* int32 [E+1], first row of each expert, never falling; offsets[0] = 0 and offsets[E] = R */
  void *Y;                /* bfloat16 [R,N], the result, in the order of X */
  const void *prepared;   /* what prepare wrote, or null */
  size_t prepared_bytes;  /* size of the above */
} d2k_moe_grouped_gemm_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_moe_grouped_gemm(const d2k_moe_grouped_gemm_args *args, void *workspace,
                         size_t workspace_bytes, cudaStream_t stream);

/* Optional and untimed: repacks the constant inputs, the only ones that
   `args` has then, into `prepared`. */
int d2k_moe_grouped_gemm_prepare(const d2k_moe_grouped_gemm_args *args, void *prepared,
                                 size_t prepared_bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_MOE_GROUPED_GEMM_H
