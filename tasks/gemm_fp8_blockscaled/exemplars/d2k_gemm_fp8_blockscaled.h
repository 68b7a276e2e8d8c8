// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task gemm_fp8_blockscaled, generated from its task.json:
// D[m,n] = bf16(sum over blocks b of 128 columns: sX[b,m] * sW[n/128,b] * sum
// over k in b of X[m,k]*W[n,k]): e4m3 operands, scales that are powers of two,
// sums over blocks in fp32, one rounding.

#ifndef D2K_GEMM_FP8_BLOCKSCALED_H
#define D2K_GEMM_FP8_BLOCKSCALED_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* columns of a block of X; rows and columns of a block of W, whose last row of blocks may have 64 */
#define D2K_GEMM_FP8_BLOCKSCALED_B ((int64_t)128)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_gemm_fp8_blockscaled_args {
  int64_t M;             /* rows of X and D (tokens) */
  int64_t N;             /* rows of W, columns of D (output features) */
  int64_t K;             /* columns of X and of W (input features) */
  const void *X;         /* float8_e4m3fn [M,K], activations */
  const float *sX;       /* float32 [K//B,align_up(M,4)], scales of X, a power of two for each row and block; rows are contiguous, and padded */
  const void *W;         /* float8_e4m3fn [N,K], weights, one row an output feature */
  const float *sW;       /* float32 [ceil_div(N,B),K//B], scales of W, a power of two for each block */
  void *D;               /* bfloat16 [M,N], the result */
  const void *prepared;  /* what prepare wrote, or null */
  size_t prepared_bytes; /* size of the above */
} d2k_gemm_fp8_blockscaled_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_gemm_fp8_blockscaled(const d2k_gemm_fp8_blockscaled_args *args, void *workspace,
                             size_t workspace_bytes, cudaStream_t stream);

/* Optional and untimed: repacks the constant inputs, the only ones that
   `args` has then, into `prepared`. */
int d2k_gemm_fp8_blockscaled_prepare(const d2k_gemm_fp8_blockscaled_args *args, void *prepared,
                                     size_t prepared_bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_GEMM_FP8_BLOCKSCALED_H
