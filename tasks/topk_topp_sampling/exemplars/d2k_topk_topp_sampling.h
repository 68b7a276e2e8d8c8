// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task topk_topp_sampling, generated from its task.json: For
// each row: p = softmax(logits / temperature); order the columns by (logit
// descending, column ascending); K = the first top_k of them, or all when top_k
// is 0; N = the shortest prefix of K whose p sums to at least top_p times that
// of K; token = the smallest column i for which the p of the columns of N up to
// i sum to more than u times that of N.

#ifndef D2K_TOPK_TOPP_SAMPLING_H
#define D2K_TOPK_TOPP_SAMPLING_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_topk_topp_sampling_args {
  int64_t B;                /* rows (sequences) */
  int64_t V;                /* columns (vocabulary) */
  const float *logits;      /* float32 [B,V], logits of the next token */
  const float *temperature; /* float32 [B], positive */
  const float *top_p;       /* float32 [B], in (0, 1] */
  const float *u;           /* float32 [B], the random number of each row, in [0, 1) */
  const int32_t *top_k;     /* int32 [B], 0 to V; 0 is no limit */
  int32_t *token;           /* int32 [B], the column that is chosen */
} d2k_topk_topp_sampling_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_topk_topp_sampling(const d2k_topk_topp_sampling_args *args, void *workspace,
                           size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_TOPK_TOPP_SAMPLING_H
