// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task rope_paged_kv_append, generated from its task.json:
// Every row of qkv has the query, key and value heads of a token. Query and key
// heads are normalised (if norm is 1) and rotated by the token's row of the
// table; queries go to q_out, keys and values to the token's slot of the paged
// cache, in place; slot -1 leaves the cache alone. All arithmetic in fp32, one
// rounding to bf16.

#ifndef D2K_ROPE_PAGED_KV_APPEND_H
#define D2K_ROPE_PAGED_KV_APPEND_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_rope_paged_kv_append_args {
  int64_t T;           /* tokens */
  int64_t Hq;          /* query heads */
  int64_t Hkv;         /* key heads, and value heads */
  int64_t D;           /* size of a head */
  int64_t page;        /* slots of a page */
  int64_t pages;       /* pages of the cache */
  int64_t maxpos;      /* rows of the table */
  int64_t norm;        /* 1: query and key heads are normalised before they are rotated; 0: they are not */
  const void *qkv;     /* bfloat16 [T,(Hq+2*Hkv)*D], of each token Hq query heads, Hkv key heads and Hkv value heads */
  const int32_t *pos;  /* int32 [T], row of the table for each token */
  const float *table;  /* float32 [maxpos,D], of each position D/2 factors cos and then D/2 factors sin; any numbers */
  const int64_t *slot; /* int64 [T], where each token's key and value go: page * slots of a page + slot in it, all different; -1: nowhere */
  const void *wq;      /* bfloat16 [D], weight of the norm of query heads; not used when norm is 0 */
  const void *wk;      /* bfloat16 [D], weight of the norm of key heads; not used when norm is 0 */
  float eps;           /* float32, added to the mean of squares */
  void *q_out;         /* bfloat16 [T,Hq,D], rotated queries */
  void *cache;         /* bfloat16 [pages,2,page,Hkv,D], keys (0) and values (1) of each page; slots that no token has stay as they are */
} d2k_rope_paged_kv_append_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_rope_paged_kv_append(const d2k_rope_paged_kv_append_args *args, void *workspace,
                             size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_ROPE_PAGED_KV_APPEND_H
