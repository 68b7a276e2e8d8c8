// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of cross_entropy_fwd_bwd in fp64 and, as the working
// precision, in fp32. A unit is a row, in both outputs; a block computes it.

#include "d2k_cross_entropy_fwd_bwd.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cstring>

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int32_t kIgnored = -100;

template <typename T, typename Combine>
__device__ T reduceBlock(T value, T *partial, Combine combine) {
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] =
          combine(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  T result = partial[0];
  __syncthreads();
  return result;
}

__global__ void __launch_bounds__(kThreads)
    computeRows(d2k_expected loss, d2k_expected gradient, const Bf16 *logits,
                const int32_t *target, const int64_t *units, int64_t rows,
                int64_t columns) {
  __shared__ double partial[kThreads];
  __shared__ float workingSum;
  auto add = [](double a, double b) { return a + b; };
  auto larger = [](double a, double b) { return a > b ? a : b; };
  int64_t row = units ? units[blockIdx.x] : int64_t(blockIdx.x);
  const Bf16 *x = logits + row * columns;
  auto get = [&](int64_t column) { return __bfloat162float(x[column]); };
  double valid = 0, most = -INFINITY, sum = 0;
  for (int64_t i = threadIdx.x; i < rows; i += kThreads)
    valid += target[i] != kIgnored;
  valid = reduceBlock(valid, partial, add);
  for (int64_t i = threadIdx.x; i < columns; i += kThreads)
    most = larger(most, get(i));
  most = reduceBlock(most, partial, larger);
  for (int64_t i = threadIdx.x; i < columns; i += kThreads)
    sum += exp(double(get(i)) - most);
  sum = reduceBlock(sum, partial, add);
  // From left to right.
  if (threadIdx.x == 0) {
    float working = 0;
    for (int64_t i = 0; i < columns; ++i)
      working += expf(get(i) - float(most));
    workingSum = working;
  }
  __syncthreads();
  int32_t right = target[row];
  bool isIgnored = right == kIgnored;
  double g = isIgnored ? 0 : 1 / valid;
  if (threadIdx.x == 0) {
    double logit = isIgnored ? 0 : double(get(right));
    loss.exact[row] = isIgnored ? 0 : most + log(sum) - logit;
    loss.working[row] =
        isIgnored ? 0 : float(most) + logf(workingSum) - float(logit);
    loss.magnitude[row] =
        isIgnored ? 0 : float(fabs(most) + log(sum) + fabs(logit) + 1);
  }
  for (int64_t i = threadIdx.x; i < columns; i += kThreads) {
    double p = exp(double(get(i)) - most) / sum;
    double one = i == right;
    float working = expf(get(i) - float(most)) / workingSum;
    int64_t at = row * columns + i;
    gradient.exact[at] = g * (p - one);
    gradient.working[at] = __bfloat162float(
        __float2bfloat16_rn(float(g) * (working - float(one))));
    gradient.magnitude[at] = float(g * (p + one));
  }
}

/// Columns at random; a row is ignored with a probability of `ignored` in 256,
/// but for the first one unless all are.
__global__ void drawTargets(int32_t *target, int64_t rows, int64_t columns,
                            int ignored, uint64_t seed) {
  int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  uint64_t bits = d2k::task::drawBits(seed, 21, uint64_t(row));
  bool isIgnored =
      ignored == 256 || (row != 0 && int(bits & 255) < ignored);
  target[row] =
      isIgnored ? kIgnored : int32_t((bits >> 8) % uint64_t(columns));
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_cross_entropy_fwd_bwd_args *>(arguments);
  int ignored = 0;
  if (std::strcmp(request->trial, "all_ignored") == 0)
    ignored = 256;
  else if (std::strcmp(request->trial, "half_ignored") == 0)
    ignored = 128;
  else if (std::strcmp(request->workload, "gpt_oss_ragged") == 0)
    ignored = 77;
  drawTargets<<<unsigned((args.T + kThreads - 1) / kThreads), kThreads, 0,
                stream>>>(const_cast<int32_t *>(args.target), args.T, args.V,
                          ignored, request->seed);
  return cudaGetLastError();
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

extern "C" void d2k_reference_units(const void *arguments, int64_t *count,
                                    int64_t *always) {
  *count = static_cast<const d2k_cross_entropy_fwd_bwd_args *>(arguments)->T;
  *always = *count < 4 ? *count : 4;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_cross_entropy_fwd_bwd_args *>(arguments);
  int64_t units = request->tiles ? request->tile_count : args.T;
  if (units == 0)
    return cudaSuccess;
  if (units > INT32_MAX)
    return cudaErrorInvalidValue;
  computeRows<<<unsigned(units), kThreads, 0, stream>>>(
      request->outputs[0], request->outputs[1],
      static_cast<const Bf16 *>(args.logits), args.target, request->tiles,
      args.T, args.V);
  return cudaGetLastError();
}
