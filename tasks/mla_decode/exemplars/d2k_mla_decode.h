// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task mla_decode, generated from its task.json: For each
// sequence b, its query i of Sq and head h, over the tokens t < seq_lens[b] -
// (Sq-1-i) of a paged cache c with one row of 576 numbers a token: w = softmax
// over t of scale * q[b,i,h,:] . c_t, all 576; O[b,i,h,:] = sum of w_t *
// c_t[0:512]; lse[b,i,h] = log of the sum of exp(scale * q . c_t).

#ifndef D2K_MLA_DECODE_H
#define D2K_MLA_DECODE_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* tokens of a page */
#define D2K_MLA_DECODE_P ((int64_t)64)
/* numbers of a query and of a row of the cache: 512 latent, 64 rotary */
#define D2K_MLA_DECODE_R ((int64_t)576)
/* numbers of a row of the result, and of a row of the cache that are values as well */
#define D2K_MLA_DECODE_V ((int64_t)512)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_mla_decode_args {
  int64_t B;                  /* sequences */
  int64_t Sq;                 /* queries of each sequence, its last tokens */
  int64_t H;                  /* heads, which share the cache */
  int64_t pages;              /* pages of the cache, some of them not in use */
  int64_t longest;            /* tokens of the longest sequence */
  int64_t tokens;             /* tokens of all sequences together */
  const void *q;              /* bfloat16 [B,Sq,H,R], queries, with the key projection absorbed */
  const void *cache;          /* bfloat16 [pages,P,R], a row a token; NaN where no token is */
  const int32_t *block_table; /* int32 [B,ceil_div(longest,P)], pages of each sequence in the order of its tokens, then -1; no page is in it twice */
  const int32_t *seq_lens;    /* int32 [B], tokens of each sequence, the queries' own included: Sq to longest */
  float scale;                /* float32, of the scores */
  void *O;                    /* bfloat16 [B,Sq,H,V], the result, in the latent space */
  float *lse;                 /* float32 [B,Sq,H], natural logarithm of the sum of exponentials */
} d2k_mla_decode_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_mla_decode(const d2k_mla_decode_args *args, void *workspace,
                   size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_MLA_DECODE_H
