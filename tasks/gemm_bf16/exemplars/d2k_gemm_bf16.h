// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task gemm_bf16: D[M,N] = bf16(X[M,K] . W[N,K]^T + R[M,N]).
// All tensors are row-major, contiguous bf16 in device memory whose base is
// aligned to 256 bytes; sums are kept in fp32 and rounded once.

#ifndef D2K_GEMM_BF16_H
#define D2K_GEMM_BF16_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Axes first, then the tensors in the order of task.json.
typedef struct d2k_gemm_bf16_args {
  int64_t M;
  int64_t N;
  int64_t K;
  const void *X; /* bf16 [M,K], activations */
  const void *W; /* bf16 [N,K], weights */
  const void *R; /* bf16 [M,N], residual, added in fp32 */
  void *D;       /* bf16 [M,N], output */
} d2k_gemm_bf16_args;

/// Enqueues the product on `stream` and returns a cudaError. Neither allocates
/// nor waits. `workspace` may be null when `workspace_bytes` is 0.
int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *workspace,
                  size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_GEMM_BF16_H
