// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of layernorm_backward in fp64 and, as the working precision,
// in fp32: a block a row for dx, a thread a column for dw and db. mean and rstd
// are made here too.

#include "d2k_layernorm_backward.h"

#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cstring>

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;

struct Tensors {
  const Bf16 *dy, *x, *w;
  const float *mean, *rstd;
  d2k_expected dx, dw, db;
  int64_t tokens, hidden;
};

/// g = dy * w and n of one element, in the precision of T. The mean is
/// subtracted before the multiplication.
template <typename T>
struct Terms {
  T g, n;
};

template <typename T>
__device__ Terms<T> getTerms(const Tensors &tensors, int64_t token,
                             int64_t column) {
  int64_t at = token * tensors.hidden + column;
  T dy = __bfloat162float(tensors.dy[at]);
  T x = __bfloat162float(tensors.x[at]);
  return {dy * T(__bfloat162float(tensors.w[column])),
          (x - T(tensors.mean[token])) * T(tensors.rstd[token])};
}

__global__ void __launch_bounds__(kThreads) computeRows(Tensors tensors) {
  __shared__ double partialG[kThreads], partialGn[kThreads];
  __shared__ float workingG, workingGn;
  int64_t token = blockIdx.x, hidden = tensors.hidden;
  double sumG = 0, sumGn = 0;
  for (int64_t i = threadIdx.x; i < hidden; i += kThreads) {
    Terms<double> terms = getTerms<double>(tensors, token, i);
    sumG += terms.g;
    sumGn += terms.g * terms.n;
  }
  partialG[threadIdx.x] = sumG;
  partialGn[threadIdx.x] = sumGn;
  // The sums of the working precision go from left to right.
  if (threadIdx.x == 0) {
    float g = 0, gn = 0;
    for (int64_t i = 0; i < hidden; ++i) {
      Terms<float> terms = getTerms<float>(tensors, token, i);
      g += terms.g;
      gn = fmaf(terms.g, terms.n, gn);
    }
    workingG = g / float(hidden);
    workingGn = gn / float(hidden);
  }
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      partialG[threadIdx.x] += partialG[threadIdx.x + half];
      partialGn[threadIdx.x] += partialGn[threadIdx.x + half];
    }
    __syncthreads();
  }
  double meanG = partialG[0] / double(hidden);
  double meanGn = partialGn[0] / double(hidden);
  for (int64_t i = threadIdx.x; i < hidden; i += kThreads) {
    int64_t at = token * hidden + i;
    Terms<double> exact = getTerms<double>(tensors, token, i);
    tensors.dx.exact[at] = double(tensors.rstd[token]) *
                           (exact.g - meanG - exact.n * meanGn);
    Terms<float> working = getTerms<float>(tensors, token, i);
    tensors.dx.working[at] = __bfloat162float(
        __float2bfloat16_rn(tensors.rstd[token] *
                            (working.g - workingG - working.n * workingGn)));
  }
}

__global__ void __launch_bounds__(kThreads) computeColumns(Tensors tensors) {
  int64_t column = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (column >= tensors.hidden)
    return;
  double dw = 0, db = 0;
  float dwWorking = 0, dbWorking = 0, dwMagnitude = 0, dbMagnitude = 0;
  for (int64_t token = 0; token < tensors.tokens; ++token) {
    float dy = __bfloat162float(tensors.dy[token * tensors.hidden + column]);
    double n = getTerms<double>(tensors, token, column).n;
    dw += double(dy) * n;
    db += double(dy);
    dwWorking =
        fmaf(dy, getTerms<float>(tensors, token, column).n, dwWorking);
    dbWorking += dy;
    dwMagnitude += fabsf(dy * float(n));
    dbMagnitude += fabsf(dy);
  }
  tensors.dw.exact[column] = dw;
  tensors.dw.working[column] = dwWorking;
  tensors.dw.magnitude[column] = dwMagnitude;
  tensors.db.exact[column] = db;
  tensors.db.working[column] = dbWorking;
  tensors.db.magnitude[column] = dbMagnitude;
}

/// mean and rstd of each row, or the given ones. A block a row.
__global__ void __launch_bounds__(kThreads)
    makeStatistics(const Bf16 *x, float *mean, float *rstd, int64_t hidden,
                   bool isGiven) {
  __shared__ double partial[kThreads];
  int64_t token = blockIdx.x;
  x += token * hidden;
  auto sumBlock = [&](double value) {
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half)
        partial[threadIdx.x] += partial[threadIdx.x + half];
      __syncthreads();
    }
    double sum = partial[0];
    __syncthreads();
    return sum;
  };
  double sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < hidden; i += kThreads)
    sum += double(__bfloat162float(x[i]));
  double center = sumBlock(sum) / double(hidden);
  for (int64_t i = threadIdx.x; i < hidden; i += kThreads) {
    double distance = double(__bfloat162float(x[i])) - center;
    squares += distance * distance;
  }
  double variance = sumBlock(squares) / double(hidden);
  if (threadIdx.x == 0) {
    mean[token] = isGiven ? 1.0f : float(center);
    rstd[token] = isGiven ? 0.5f : float(1 / sqrt(variance + 1e-5));
  }
}

/// Everything is computed at once.
extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_layernorm_backward_args *>(arguments);
  if (args.T > INT32_MAX)
    return cudaErrorInvalidValue;
  makeStatistics<<<unsigned(args.T), kThreads, 0, stream>>>(
      static_cast<const Bf16 *>(args.x), const_cast<float *>(args.mean),
      const_cast<float *>(args.rstd), args.H,
      std::strcmp(request->trial, "small_integers") == 0);
  return cudaGetLastError();
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_layernorm_backward_args *>(arguments);
  if (args.T > INT32_MAX)
    return cudaErrorInvalidValue;
  Tensors tensors = {static_cast<const Bf16 *>(args.dy),
                     static_cast<const Bf16 *>(args.x),
                     static_cast<const Bf16 *>(args.w),
                     args.mean,
                     args.rstd,
                     request->outputs[0],
                     request->outputs[1],
                     request->outputs[2],
                     args.T,
                     args.H};
  computeRows<<<unsigned(args.T), kThreads, 0, stream>>>(tensors);
  computeColumns<<<unsigned((args.H + kThreads - 1) / kThreads), kThreads, 0,
                   stream>>>(tensors);
  return cudaGetLastError();
}
