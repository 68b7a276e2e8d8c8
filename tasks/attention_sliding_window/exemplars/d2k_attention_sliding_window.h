// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task attention_sliding_window, generated from its
// task.json: O = P V with P[i,j] = e^s[i,j] / (e^sink + sum over j of e^s[i,j])
// over the W keys up to the query's own position, for sequences packed one
// behind the other; each key head serves Hq / Hkv query heads.

#ifndef D2K_ATTENTION_SLIDING_WINDOW_H
#define D2K_ATTENTION_SLIDING_WINDOW_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_attention_sliding_window_args {
  int64_t B;                   /* sequences */
  int64_t Tq;                  /* query tokens of all sequences together */
  int64_t Tk;                  /* key tokens of all sequences together */
  int64_t max_q;               /* query tokens of the sequence that has most */
  int64_t max_k;               /* key tokens of the sequence that has most */
  int64_t Hq;                  /* query heads */
  int64_t Hkv;                 /* key and value heads */
  int64_t D;                   /* elements of a head */
  int64_t W;                   /* keys that a query sees at most, that of its own position included */
  const void *Q;               /* bfloat16 [Tq,Hq,D], queries */
  const void *K;               /* bfloat16 [Tk,Hkv,D], keys */
  const void *V;               /* bfloat16 [Tk,Hkv,D], values */
  const int32_t *cu_seqlens_q; /* int32 [B+1], sequence b has the query tokens from cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1; 0 first, Tq last */
  const int32_t *cu_seqlens_k; /* int32 [B+1], the same of keys and values; no sequence has fewer keys than queries */
  const float *sink;           /* float32 [Hq], logit in the sum of the softmax, one a query head; -infinity is none */
  float scale;                 /* float32, of the scores */
  void *O;                     /* bfloat16 [Tq,Hq,D], the result */
  float *LSE;                  /* float32 [Hq,Tq], natural logarithm of the sum of exp(scale * q k) over the visible keys, without the sink */
} d2k_attention_sliding_window_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_attention_sliding_window(const d2k_attention_sliding_window_args *args, void *workspace,
                                 size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_ATTENTION_SLIDING_WINDOW_H
