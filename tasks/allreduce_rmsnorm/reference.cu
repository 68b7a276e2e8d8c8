// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of allreduce_rmsnorm, in fp64 and in the working precision:
// the ranks' sum rounded to bf16 before the residual is added. One block a
// token; the values are the same for all ranks.

#include "d2k_allreduce_rmsnorm.h"

#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kMaxRanks = 8;

struct Rows {
  const Bf16 *x[kMaxRanks];
  const Bf16 *res, *w;
  d2k_expected r, y;
  int64_t hidden;
  int ranks;
  float epsilon;
};

/// r of one element: exact, exact rounded to bf16, and as working precision
/// gives it.
struct Sums {
  double exact, rounded;
  float working;
};

__device__ Sums addRanks(const Rows &rows, int64_t at) {
  double exact = 0;
  float working = 0;
  for (int rank = 0; rank < rows.ranks; ++rank) {
    float x = __bfloat162float(rows.x[rank][at]);
    exact += x;
    working += x;
  }
  float res = __bfloat162float(rows.res[at]);
  exact += res;
  working = __bfloat162float(__float2bfloat16_rn(working)) + res;
  return {exact, double(__bfloat162float(__double2bfloat16(exact))),
          __bfloat162float(__float2bfloat16_rn(working))};
}

/// The sum of `value` over the block, to every thread.
template <typename T>
__device__ T sumBlock(T value, T *partial) {
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  return partial[0];
}

__global__ void __launch_bounds__(kThreads) computeRows(Rows rows) {
  __shared__ double partialExact[kThreads];
  __shared__ float partialWorking[kThreads];
  int64_t base = int64_t(blockIdx.x) * rows.hidden;
  double squares = 0;
  float squaresWorking = 0;
  for (int64_t i = threadIdx.x; i < rows.hidden; i += kThreads) {
    Sums r = addRanks(rows, base + i);
    rows.r.exact[base + i] = r.exact;
    rows.r.working[base + i] = r.working;
    squares += r.rounded * r.rounded;
    squaresWorking += r.working * r.working;
  }
  double mean = sumBlock(squares, partialExact) / double(rows.hidden);
  double factor = 1 / sqrt(mean + double(rows.epsilon));
  float meanWorking =
      sumBlock(squaresWorking, partialWorking) / float(rows.hidden);
  float factorWorking = rsqrtf(meanWorking + rows.epsilon);
  for (int64_t i = threadIdx.x; i < rows.hidden; i += kThreads) {
    Sums r = addRanks(rows, base + i);
    float w = __bfloat162float(rows.w[i]);
    rows.y.exact[base + i] = r.rounded * factor * double(w);
    rows.y.working[base + i] =
        __bfloat162float(__float2bfloat16_rn(r.working * factorWorking * w));
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
      *static_cast<const d2k_allreduce_rmsnorm_args *>(arguments);
  if (args.T > INT32_MAX || args.world > kMaxRanks)
    return cudaErrorInvalidValue;
  Rows rows = {};
  for (int rank = 0; rank < args.world; ++rank)
    rows.x[rank] = static_cast<const Bf16 *>(args.x[rank]);
  rows.res = static_cast<const Bf16 *>(args.res);
  rows.w = static_cast<const Bf16 *>(args.w);
  rows.r = request->outputs[0];
  rows.y = request->outputs[1];
  rows.hidden = args.H;
  rows.ranks = int(args.world);
  rows.epsilon = args.eps;
  computeRows<<<unsigned(args.T), kThreads, 0, stream>>>(rows);
  return cudaGetLastError();
}
