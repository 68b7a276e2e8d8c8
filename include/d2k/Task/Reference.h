/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a task's reference.cu defines: the functions by which the harness asks
 * for expected values. Plain C, because the harness finds them in a shared
 * library at run time.
 *
 * A reference computes from the inputs alone. It runs in a trusted process,
 * after the submission has written its outputs, and the submission never sees
 * what it computes.
 */

#ifndef D2K_TASK_REFERENCE_H
#define D2K_TASK_REFERENCE_H

#include <cuda_runtime_api.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most outputs of a task. */
#define D2K_REFERENCE_MAX_OUTPUTS 8

/* Where the expected values of one output go: device arrays with an element for
 * each of the output, in row-major order. An array that the output's tolerance
 * rule does not use is null and is left alone. */
typedef struct d2k_expected {
  /* The value in exact arithmetic, as well as fp64 gives it, not rounded to the
   * output's type. For acceptance rules: the value that the rule is about. */
  double *exact;
  /* The value computed in the working precision that
   * tolerance.working_precision names, rounded to the output's type. Rules
   * product and reference_error. */
  double *working;
  /* S of the rule product: the sum of the magnitudes of all terms. */
  float *magnitude;
} d2k_expected;

typedef struct d2k_reference_request {
  /* In the order of task.json. */
  d2k_expected outputs[D2K_REFERENCE_MAX_OUTPUTS];
  /* The output tiles to compute, in device memory, ascending; null for all.
   * Tile i is in tile row i / C and tile column i % C, with C tile columns in a
   * row; those at the edges are partial. Elsewhere the arrays are left alone.
   */
  const int64_t *tiles;
  int64_t tile_count;
} d2k_reference_request;

/* The size of a tile, or 0 and 0 when the reference always computes
 * everything. With tiles, every output is a matrix of one and the same shape.
 */
void d2k_reference_tile(int64_t *rows, int64_t *columns);

/* Enqueues the computation on `stream`; `args` is the task's argument
 * structure. Outputs and workspace in it are not used. On several GPUs it runs
 * on that of rank 0, which can read the inputs of all. Returns a cudaError. */
int d2k_reference(const void *args, const d2k_reference_request *request,
                  cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* D2K_TASK_REFERENCE_H */
