// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of rmsnorm_residual_fp8 in fp64. One block a token. For q the
// value is n, which the acceptance rule divides by the submission's scales; for
// s it is max(amax, 1e-10) / 448, whose power of two the rule takes.

#include "d2k_rmsnorm_residual_fp8.h"

#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kGroup = D2K_RMSNORM_RESIDUAL_FP8_G;

struct Rows {
  const Bf16 *x, *res, *w;
  double *r, *n, *ratio;
  int64_t tokens, hidden;
  double epsilon;
};

/// x + res rounded to bf16. fp32 holds the sum to 24 bits, and rounding twice
/// is then the same as once.
__device__ double addResidual(const Rows &rows, int64_t at) {
  float sum = __bfloat162float(rows.x[at]) + __bfloat162float(rows.res[at]);
  return __bfloat162float(__float2bfloat16_rn(sum));
}

__global__ void __launch_bounds__(kThreads) computeRows(Rows rows) {
  __shared__ double partial[kThreads];
  int64_t token = blockIdx.x;
  int64_t base = token * rows.hidden;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < rows.hidden; i += kThreads) {
    double r = addResidual(rows, base + i);
    if (rows.r)
      rows.r[base + i] = r;
    sum += r * r;
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  double mean = partial[0] / double(rows.hidden);
  double factor = 1 / sqrt(mean + rows.epsilon);

  // A warp a group.
  int64_t groups = (rows.hidden + kGroup - 1) / kGroup;
  for (int64_t group = threadIdx.x / 32; group < groups;
       group += kThreads / 32) {
    double largest = 0;
    for (int64_t i = group * kGroup + threadIdx.x % 32;
         i < (group + 1) * kGroup && i < rows.hidden; i += 32) {
      double n = addResidual(rows, base + i) * factor *
                 double(__bfloat162float(rows.w[i]));
      if (rows.n)
        rows.n[base + i] = n;
      largest = fmax(largest, fabs(n));
    }
    for (int step = 16; step; step /= 2)
      largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    if (rows.ratio && threadIdx.x % 32 == 0)
      rows.ratio[group * rows.tokens + token] = fmax(largest, 1e-10) / 448;
  }
}

/// Everything is computed at once: it costs less than one trial's comparison.
extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_rmsnorm_residual_fp8_args *>(arguments);
  if (args.T > INT32_MAX)
    return cudaErrorInvalidValue;
  Rows rows = {static_cast<const Bf16 *>(args.x),
               static_cast<const Bf16 *>(args.res),
               static_cast<const Bf16 *>(args.w),
               request->outputs[0].exact,
               request->outputs[1].exact,
               request->outputs[2].exact,
               args.T,
               args.H,
               double(args.eps)};
  computeRows<<<unsigned(args.T), kThreads, 0, stream>>>(rows);
  return cudaGetLastError();
}
