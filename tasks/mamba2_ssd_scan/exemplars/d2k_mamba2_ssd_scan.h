// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task mamba2_ssd_scan, generated from its task.json: For
// each sequence b and head h: step_t = softplus(dt[b,t,h] + dt_bias[h]); S_t =
// exp(step_t * A[h]) * S_(t-1) + step_t * x_t B_t^T, a P x N matrix; y_t =
// bf16(S_t C_t + D[h] * x_t). B_t and C_t are those of group h / (H/G). S
// before the first token is initial_state, after the last final_state.

#ifndef D2K_MAMBA2_SSD_SCAN_H
#define D2K_MAMBA2_SSD_SCAN_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* size of a head */
#define D2K_MAMBA2_SSD_SCAN_P ((int64_t)64)
/* size of the state */
#define D2K_MAMBA2_SSD_SCAN_N ((int64_t)128)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_mamba2_ssd_scan_args {
  int64_t batch;              /* sequences */
  int64_t T;                  /* tokens of each sequence */
  int64_t H;                  /* heads */
  int64_t G;                  /* groups of heads that share B and C */
  const void *x;              /* bfloat16 [batch,T,H,P], inputs of the heads */
  const void *dt;             /* bfloat16 [batch,T,H], steps before bias and softplus */
  const float *dt_bias;       /* float32 [H], added to dt */
  const float *A;             /* float32 [H], rate of decay, negative */
  const void *B;              /* bfloat16 [batch,T,G,N], what a token writes to */
  const void *C;              /* bfloat16 [batch,T,G,N], what a token reads from */
  const float *D;             /* float32 [H], weight of x in y */
  const float *initial_state; /* float32 [batch,H,P,N], state before the first token */
  void *y;                    /* bfloat16 [batch,T,H,P], the result */
  float *final_state;         /* float32 [batch,H,P,N], state after the last token */
} d2k_mamba2_ssd_scan_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_mamba2_ssd_scan(const d2k_mamba2_ssd_scan_args *args, void *workspace,
                        size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_MAMBA2_SSD_SCAN_H
