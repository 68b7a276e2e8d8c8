// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task attention_block_sparse, generated from its task.json:
// O = softmax(scale * Q K^T + mask) V, where query rows of a block of 128 see
// the keys of the blocks of 128 that a list names for this block and head, and
// of these the keys up to their own position; a row that sees no key has O = 0
// and LSE = -infinity.

#ifndef D2K_ATTENTION_BLOCK_SPARSE_H
#define D2K_ATTENTION_BLOCK_SPARSE_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* elements of a head */
#define D2K_ATTENTION_BLOCK_SPARSE_D ((int64_t)128)
/* queries, and keys, of a block; the last block of a sequence may have fewer */
#define D2K_ATTENTION_BLOCK_SPARSE_BS ((int64_t)128)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_attention_block_sparse_args {
  int64_t B;              /* sequences */
  int64_t S;              /* tokens of a sequence */
  int64_t Hq;             /* query heads */
  int64_t Hkv;            /* key and value heads */
  int64_t nnz;            /* entries of the list of all sequences and heads together */
  const void *Q;          /* bfloat16 [B,S,Hq,D], queries */
  const void *K;          /* bfloat16 [B,S,Hkv,D], keys */
  const void *V;          /* bfloat16 [B,S,Hkv,D], values */
  const int32_t *row_ptr; /* int32 [B,Hq,ceil_div(S,BS)+1], the blocks of query block i of a head are col_idx[row_ptr[i]] to col_idx[row_ptr[i + 1] - 1]; the last entry of a head is the first of the next */
  const int32_t *col_idx; /* int32 [nnz], key blocks, ascending in each query block, none beyond the query block itself */
  float scale;            /* float32, of the scores */
  void *O;                /* bfloat16 [B,S,Hq,D], the result */
  float *LSE;             /* float32 [Hq,B*S], natural logarithm of the sum of exp(scale * q k) over the visible keys */
} d2k_attention_block_sparse_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_attention_block_sparse(const d2k_attention_block_sparse_args *args, void *workspace,
                               size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_ATTENTION_BLOCK_SPARSE_H
