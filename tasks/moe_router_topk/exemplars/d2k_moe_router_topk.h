// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task moe_router_topk, generated from its task.json: L[t,e]
// = sum over h of X[t,h]*Wr[e,h] in fp32; for each token the k experts with the
// largest selection score, ties to the lower id, their weights, and how many
// tokens each expert got. Mode 0: score L, weights the softmax of the chosen
// logits. Mode 1: s = sigmoid(L) + bias, chosen among the 4 of 8 groups of E/8
// experts whose two largest s have the largest sum; weights 2.5*sigmoid(L) over
// the sum of the chosen sigmoids.

#ifndef D2K_MOE_ROUTER_TOPK_H
#define D2K_MOE_ROUTER_TOPK_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* groups of experts in mode 1; group g has the experts from g*E/8 on */
#define D2K_MOE_ROUTER_TOPK_GROUPS ((int64_t)8)
/* groups that mode 1 chooses from */
#define D2K_MOE_ROUTER_TOPK_TOP_GROUPS ((int64_t)4)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_moe_router_topk_args {
  int64_t T;         /* tokens */
  int64_t H;         /* hidden size */
  int64_t E;         /* experts */
  int64_t k;         /* experts chosen for each token */
  int64_t mode;      /* 0: softmax of the logits; 1: sigmoid, bias and groups */
  const void *X;     /* bfloat16 [T,H], tokens */
  const void *Wr;    /* bfloat16 [E,H], weights of the router, one row an expert */
  const float *bias; /* float32 [E], added to the sigmoid for the choice only; mode 0 does not use it */
  int32_t *ids;      /* int32 [T,k], chosen experts, largest score first */
  float *w;          /* float32 [T,k], their weights */
  int32_t *counts;   /* int32 [E], tokens of each expert */
  int32_t *offsets;  /* int32 [E+1], sum of the counts of all lower experts; offsets[E] = T*k */
} d2k_moe_router_topk_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_moe_router_topk(const d2k_moe_router_topk_args *args, void *workspace,
                        size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_MOE_ROUTER_TOPK_H
