// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task causal_conv1d_silu, generated from its task.json:
// y[t,c] = bf16(silu(bias[c] + sum over j < 4 of w[c,j]*x[t-3+j,c])) within
// each sequence of a packed batch, where rows before a sequence's first token
// are its initial state; and the last three rows of each sequence, its final
// state.

#ifndef D2K_CAUSAL_CONV1D_SILU_H
#define D2K_CAUSAL_CONV1D_SILU_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* taps */
#define D2K_CAUSAL_CONV1D_SILU_K ((int64_t)4)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_causal_conv1d_silu_args {
  int64_t T;                 /* tokens of all sequences: rows of x and y */
  int64_t C;                 /* channels */
  int64_t B;                 /* sequences */
  const void *x;             /* bfloat16 [T,C], the sequences one after another, channels contiguous */
  const void *w;             /* bfloat16 [C,K], taps; the last one is for the current token */
  const float *bias;         /* float32 [C], added to the sum */
  const int32_t *cu_seqlens; /* int32 [B+1], sequence b has the rows cu_seqlens[b] to cu_seqlens[b+1]-1, at least one; the first entry is 0, the last is T */
  const void *initial_state; /* bfloat16 [B,K-1,C], the three rows before each sequence, oldest first */
  void *y;                   /* bfloat16 [T,C], the result */
  void *final_state;         /* bfloat16 [B,K-1,C], the last three rows of each sequence with its initial state before it, oldest first */
} d2k_causal_conv1d_silu_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_causal_conv1d_silu(const d2k_causal_conv1d_silu_args *args, void *workspace,
                           size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_CAUSAL_CONV1D_SILU_H
