/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a task's reference.cu defines: the functions by which the harness asks
 * for expected values. Plain C, because the harness finds them in a shared
 * library at run time.
 *
 * A reference computes from the inputs alone. It runs in a trusted process,
 * after the submission has written its outputs, and the submission never sees
 * what it computes.
 *
 * d2k_reference and d2k_reference_tile are required. The others are for tasks
 * that need them:
 *   d2k_reference_inputs   inputs with the distribution `derived`
 *   d2k_reference_accept   outputs with the acceptance rule `reference`
 *   d2k_reference_units    samples of several outputs, or of one that is no
 *                          matrix
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
   * output's type. Where it is an infinity, only that infinity is accepted. For
   * acceptance rules: the value that the rule is about. */
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
  /* The output tiles (or units, see d2k_reference_units) to compute, in device
   * memory, ascending; null for all. Tile i is in tile row i / C and tile
   * column i % C, with C tile columns in a row; those at the edges are partial.
   * Elsewhere the arrays are left alone. */
  const int64_t *tiles;
  int64_t tile_count;
} d2k_reference_request;

/* The size of a tile, or 0 and 0 when the reference always computes
 * everything. With tiles, every output is a matrix of one and the same shape.
 */
void d2k_reference_tile(int64_t *rows, int64_t *columns);

/* Enqueues the computation on `stream`; `args` is the task's argument
 * structure. Outputs and workspace in it are not used, except that an output
 * which is in place has there what it held before the call. On several GPUs it
 * runs on that of rank 0, which can read the inputs of all: once when all
 * outputs are replicated, else with the arguments of each rank. Returns a
 * cudaError. */
int d2k_reference(const void *args, const d2k_reference_request *request,
                  cudaStream_t stream);

/* How many units the work divides into, and how many of them, from unit 0 on,
 * every sample has: edges, short sequences, whatever goes wrong first. `args`
 * is the task's argument structure. With units, `tiles` of a request is a list
 * of them, d2k_reference writes every element of every output that belongs to
 * one of them, and the elements that it leaves alone are not compared. For
 * instance a unit is 64 rows of one head, in O and in LSE. Then
 * d2k_reference_tile says 0 and 0. */
void d2k_reference_units(const void *args, int64_t *count, int64_t *always);

/* For which inputs d2k_reference_inputs is called. */
typedef struct d2k_inputs_request {
  /* All that is random must follow from it. The same for all ranks. */
  uint64_t seed;
  /* The workload's id, and "random" or the id of one of the task's trials. */
  const char *workload, *trial;
  /* The trial is exact. */
  int32_t exact;
  /* Some of the inputs that are not derived were redrawn just now, before a
   * timed call. What costs much time may be left as it is. */
  int32_t perturbation;
} d2k_inputs_request;

/* Writes the inputs whose distribution is `derived`: offsets, tables, quantised
 * copies, the result of another computation. The others are drawn already. They
 * are const in `args`, and to be cast. In-place outputs are given as they will
 * be before the call, and can be derived too. Called for each rank on its own
 * GPU, with its own `args`. Enqueues on `stream`; may wait. */
int d2k_reference_inputs(const void *args, const d2k_inputs_request *request,
                         cudaStream_t stream);

/* What d2k_reference_accept finds, in device memory. `failed` is 0 and
 * `first_failed` is -1 before; a kernel adds with atomicAdd, and lowers
 * `first_failed`, taken as an unsigned number, with atomicMin. */
typedef struct d2k_acceptance {
  unsigned long long compared, failed, first_failed;
  /* Of the element `explain` of the request. `allowed` is 0 when there is no
   * bound on an error. */
  double expected, got, allowed;
} d2k_acceptance;

typedef struct d2k_accept_request {
  /* Which output is judged, and all of this rank's outputs as the submission
   * left them, in device memory. */
  int32_t output;
  int32_t exact;
  const void *outputs[D2K_REFERENCE_MAX_OUTPUTS];
  /* As in d2k_reference_request. */
  const int64_t *tiles;
  int64_t tile_count;
  /* -1; after a failure the element to say more about, in a second call. */
  int64_t explain;
  d2k_acceptance *result;
} d2k_accept_request;

/* Judges an output whose tolerance is the acceptance rule `reference`. */
int d2k_reference_accept(const void *args, const d2k_accept_request *request,
                         cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* D2K_TASK_REFERENCE_H */
