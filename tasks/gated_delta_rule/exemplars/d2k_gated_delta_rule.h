// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task gated_delta_rule, generated from its task.json: For
// each sequence and value head h, over its tokens: S = exp(g_t) * S; u = beta_t
// * (v_t - S^T k_t); S = S + k_t u^T, a D x D matrix; o_t = bf16(scale * S^T
// q_t). q and k are those of key head h / (Hv/Hk). S before a sequence is
// initial_state, after it final_state.

#ifndef D2K_GATED_DELTA_RULE_H
#define D2K_GATED_DELTA_RULE_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* size of a head, of keys and of values */
#define D2K_GATED_DELTA_RULE_D ((int64_t)128)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_gated_delta_rule_args {
  int64_t T;                  /* tokens of all sequences */
  int64_t B;                  /* sequences */
  int64_t Hk;                 /* heads of q and k */
  int64_t Hv;                 /* heads of v, g, beta, o and the state */
  const void *q;              /* bfloat16 [T,Hk,D], queries, rows of length 1 */
  const void *k;              /* bfloat16 [T,Hk,D], keys, rows of length 1 */
  const void *v;              /* bfloat16 [T,Hv,D], values */
  const float *g;             /* float32 [T,Hv], logarithms of decays, at most 0 */
  const void *beta;           /* bfloat16 [T,Hv], rates of writing, above 0 and at most 1 */
  const int32_t *cu_seqlens;  /* int32 [B+1], sequence b has the tokens cu_seqlens[b] to cu_seqlens[b+1]-1, at least one; the first entry is 0, the last is T */
  const float *initial_state; /* float32 [B,Hv,D,D], S before each sequence, rows are keys, columns values */
  float scale;                /* float32, of the outputs */
  void *o;                    /* bfloat16 [T,Hv,D], the result */
  float *final_state;         /* float32 [B,Hv,D,D], S after each sequence */
} d2k_gated_delta_rule_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_gated_delta_rule(const d2k_gated_delta_rule_args *args, void *workspace,
                         size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_GATED_DELTA_RULE_H
