// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task moe_permute_combine, generated from its task.json:
// Two independent halves in one call. Permute: order the T*k pairs (token,
// slot) by (expert ids[t,j], token t); pos[t,j] is a pair's place,
// Xp[pos[t,j],:] = X[t,:], offsets[e] the number of pairs with an expert below
// e. Combine: Y[t,:] = bf16(sum over j of w[t,j] * Z[pos[t,j],:]), the sum in
// fp32, rounded once.

#ifndef D2K_MOE_PERMUTE_COMBINE_H
#define D2K_MOE_PERMUTE_COMBINE_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_moe_permute_combine_args {
  int64_t T;          /* tokens */
  int64_t H;          /* hidden size: columns of X, Z, Xp and Y */
  int64_t E;          /* experts */
  int64_t k;          /* slots: experts that each token goes to */
  const void *X;      /* bfloat16 [T,H], tokens */
  const int32_t *ids; /* int32 [T,k], expert of each slot, 0 to E-1; those of one token are all different, in any order */
  const void *Z;      /* bfloat16 [T*k,H], outputs of the experts, in the order of Xp */
  const float *w;     /* float32 [T,k], weight of each slot */
  void *Xp;           /* bfloat16 [T*k,H], a copy of its token's row for each pair, grouped by expert */
  int32_t *offsets;   /* int32 [E+1], first row of each expert in Xp; offsets[E] = T*k */
  int32_t *pos;       /* int32 [T,k], row of each pair in Xp and Z */
  void *Y;            /* bfloat16 [T,H], combined tokens */
} d2k_moe_permute_combine_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_moe_permute_combine(const d2k_moe_permute_combine_args *args, void *workspace,
                            size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_MOE_PERMUTE_COMBINE_H
