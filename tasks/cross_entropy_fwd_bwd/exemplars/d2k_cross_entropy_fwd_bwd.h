// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task cross_entropy_fwd_bwd, generated from its task.json:
// For each row t with 0 <= target[t] < V: loss[t] = log(sum_v exp(logits[t,v]))
// - logits[t,target[t]], and dlogits[t,v] = bf16(g * (softmax(logits[t,:])[v] -
// (v == target[t]))) with g = 1 / the number of such rows. Rows with target
// -100 are ignored: loss 0 and gradients 0.

#ifndef D2K_CROSS_ENTROPY_FWD_BWD_H
#define D2K_CROSS_ENTROPY_FWD_BWD_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_cross_entropy_fwd_bwd_args {
  int64_t T;             /* rows (tokens) */
  int64_t V;             /* columns (vocabulary) */
  const void *logits;    /* bfloat16 [T,V], logits of the next token */
  const int32_t *target; /* int32 [T], the right column of each row, or -100 to ignore the row */
  float *loss;           /* float32 [T], cross entropy of each row, in nats */
  void *dlogits;         /* bfloat16 [T,V], gradient of the mean loss of the rows that are not ignored */
} d2k_cross_entropy_fwd_bwd_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_cross_entropy_fwd_bwd(const d2k_cross_entropy_fwd_bwd_args *args, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_CROSS_ENTROPY_FWD_BWD_H
