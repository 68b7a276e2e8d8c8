// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task attention_backward, generated from its task.json: dQ,
// dK and dV of O = softmax(scale * Q K^T + causal mask) V for a given dO, from
// O and the logarithm of the softmax's sum; each key head serves Hq / Hkv query
// heads, over which dK and dV are summed.

#ifndef D2K_ATTENTION_BACKWARD_H
#define D2K_ATTENTION_BACKWARD_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_attention_backward_args {
  int64_t B;        /* sequences */
  int64_t S;        /* tokens of a sequence */
  int64_t Hq;       /* query heads */
  int64_t Hkv;      /* key and value heads */
  int64_t D;        /* elements of a head */
  const void *Q;    /* bfloat16 [B,S,Hq,D], queries */
  const void *K;    /* bfloat16 [B,S,Hkv,D], keys */
  const void *V;    /* bfloat16 [B,S,Hkv,D], values */
  const void *O;    /* bfloat16 [B,S,Hq,D], result of the forward pass, rounded */
  const float *LSE; /* float32 [Hq,B*S], natural logarithm of the sum of exp(scale * q k) over the visible keys, rounded */
  const void *dO;   /* bfloat16 [B,S,Hq,D], gradient of the loss by O */
  float scale;      /* float32, of the scores */
  void *dQ;         /* bfloat16 [B,S,Hq,D], gradient by Q */
  void *dK;         /* bfloat16 [B,S,Hkv,D], gradient by K, summed over the query heads of a key head */
  void *dV;         /* bfloat16 [B,S,Hkv,D], gradient by V, summed over the query heads of a key head */
} d2k_attention_backward_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_attention_backward(const d2k_attention_backward_args *args, void *workspace,
                           size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_ATTENTION_BACKWARD_H
