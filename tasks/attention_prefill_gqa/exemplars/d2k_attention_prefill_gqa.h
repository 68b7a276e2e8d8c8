// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task attention_prefill_gqa, generated from its task.json:
// O = softmax(scale * Q K^T + mask) V and the logarithm of the softmax's sum,
// for sequences packed one behind the other; each key head serves Hq / Hkv
// query heads, and the causal mask is aligned to the last key.

#ifndef D2K_ATTENTION_PREFILL_GQA_H
#define D2K_ATTENTION_PREFILL_GQA_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_attention_prefill_gqa_args {
  int64_t B;                   /* sequences */
  int64_t Tq;                  /* query tokens of all sequences together */
  int64_t Tk;                  /* key tokens of all sequences together */
  int64_t max_q;               /* query tokens of the sequence that has most */
  int64_t max_k;               /* key tokens of the sequence that has most */
  int64_t Hq;                  /* query heads */
  int64_t Hkv;                 /* key and value heads */
  int64_t D;                   /* elements of a head */
  const void *Q;               /* bfloat16 [Tq,Hq,D], queries */
  const void *K;               /* bfloat16 [Tk,Hkv,D], keys */
  const void *V;               /* bfloat16 [Tk,Hkv,D], values */
  const int32_t *cu_seqlens_q; /* int32 [B+1], sequence b has the query tokens from cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1; 0 first, Tq last */
  const int32_t *cu_seqlens_k; /* int32 [B+1], the same of keys and values; with a causal mask no sequence has fewer keys than queries */
  float scale;                 /* float32, of the scores */
  int32_t causal;              /* int32, 1: query i of a sequence sees the keys up to i + (its keys - its queries); 0: all keys of its sequence */
  void *O;                     /* bfloat16 [Tq,Hq,D], the result */
  float *LSE;                  /* float32 [Hq,Tq], natural logarithm of the sum of exp(scale * q k) over the visible keys */
} d2k_attention_prefill_gqa_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_attention_prefill_gqa(const d2k_attention_prefill_gqa_args *args, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_ATTENTION_PREFILL_GQA_H
