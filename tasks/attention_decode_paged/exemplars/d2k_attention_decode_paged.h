// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task attention_decode_paged, generated from its task.json:
// O[b,h,:] = sum over t < seq_lens[b] of softmax over t of (scale * q[b,h,:] .
// K_t) times V_t, with K_t and V_t of kv head h / (Hq/Hkv) in page
// block_table[b, t / page], slot t % page of the cache; lse[b,h] = log of the
// sum over t of exp(scale * q . K_t).

#ifndef D2K_ATTENTION_DECODE_PAGED_H
#define D2K_ATTENTION_DECODE_PAGED_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* size of a head */
#define D2K_ATTENTION_DECODE_PAGED_D ((int64_t)128)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_attention_decode_paged_args {
  int64_t B;                  /* sequences */
  int64_t Hq;                 /* query heads */
  int64_t Hkv;                /* key and value heads */
  int64_t page;               /* tokens of a page */
  int64_t pages;              /* pages of the cache, some of them not in use */
  int64_t longest;            /* tokens of the longest sequence */
  int64_t tokens;             /* tokens of all sequences together */
  const void *q;              /* bfloat16 [B,Hq,D], queries */
  const void *cache;          /* bfloat16 [pages,2,page,Hkv,D], keys, then values, of each page; NaN where no token is */
  const int32_t *block_table; /* int32 [B,ceil_div(longest,page)], pages of each sequence in the order of its tokens, then -1; no page is in it twice */
  const int32_t *seq_lens;    /* int32 [B], tokens of each sequence, 1 to longest */
  float scale;                /* float32, of the scores */
  void *O;                    /* bfloat16 [B,Hq,D], the result */
  float *lse;                 /* float32 [B,Hq], natural logarithm of the sum of exponentials */
} d2k_attention_decode_paged_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_attention_decode_paged(const d2k_attention_decode_paged_args *args, void *workspace,
                               size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_ATTENTION_DECODE_PAGED_H
