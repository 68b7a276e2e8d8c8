// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task layernorm_backward, generated from its task.json:
// With g = dy * w and n = (x - mean) * rstd: dx = bf16(rstd * (g - mean_h(g) -
// n * mean_h(g * n))) for each token; dw = sum over tokens of dy * n, db = sum
// over tokens of dy, both fp32.

#ifndef D2K_LAYERNORM_BACKWARD_H
#define D2K_LAYERNORM_BACKWARD_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_layernorm_backward_args {
  int64_t T;         /* tokens: rows of dy, x and dx */
  int64_t H;         /* hidden size: columns of dy, x and dx */
  const void *dy;    /* bfloat16 [T,H], gradient of the norm's output */
  const void *x;     /* bfloat16 [T,H], the norm's input */
  const void *w;     /* bfloat16 [H], weight of the norm */
  const float *mean; /* float32 [T], mean of each row of x, as the forward pass has left it */
  const float *rstd; /* float32 [T], 1 / sqrt(variance + 1e-5) of each row of x, as the forward pass has left it */
  void *dx;          /* bfloat16 [T,H], gradient of x */
  float *dw;         /* float32 [H], gradient of w */
  float *db;         /* float32 [H], gradient of the bias */
} d2k_layernorm_backward_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_layernorm_backward(const d2k_layernorm_backward_args *args, void *workspace,
                           size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_LAYERNORM_BACKWARD_H
