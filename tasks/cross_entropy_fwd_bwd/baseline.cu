// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of cross_entropy_fwd_bwd, as training code has it today: one
// kernel for maximum and sum of each row in one pass, and one for the gradient,
// which reads the logits again. Accesses are 16 bytes wide. A small kernel
// counts the rows that are not ignored.

#include "d2k_cross_entropy_fwd_bwd.h"

#include <cuda_bf16.h>

#include <cstring>

namespace {

using Bf16 = __nv_bfloat16;

constexpr int32_t kIgnored = -100;
/// Elements of a 16-byte vector.
constexpr int kVector = 8;
constexpr float kLog2e = 1.4426950408889634f;

__device__ void unpack(const uint4 &words, float (&values)[kVector]) {
  __nv_bfloat162 pairs[kVector / 2];
  memcpy(pairs, &words, sizeof(words));
#pragma unroll
  for (int i = 0; i < kVector / 2; ++i) {
    float2 pair = __bfloat1622float2(pairs[i]);
    values[2 * i] = pair.x;
    values[2 * i + 1] = pair.y;
  }
}

__device__ uint4 pack(const float (&values)[kVector]) {
  __nv_bfloat162 pairs[kVector / 2];
#pragma unroll
  for (int i = 0; i < kVector / 2; ++i)
    pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
  uint4 words;
  memcpy(&words, pairs, sizeof(words));
  return words;
}

/// The maximum of some logits, and the sum of exp(logit - maximum).
struct Part {
  float most, sum;
};

__device__ Part join(Part a, Part b) {
  float most = fmaxf(a.most, b.most);
  // Both may be of nothing, and then there is nothing to scale.
  if (most == -INFINITY)
    return a;
  return {most, a.sum * exp2f((a.most - most) * kLog2e) +
                    b.sum * exp2f((b.most - most) * kLog2e)};
}

constexpr int kCountThreads = 1024;

/// g: 1 / the number of rows that are not ignored, or 0. One block.
__global__ void __launch_bounds__(kCountThreads)
    countRows(const int32_t *__restrict__ target, float *__restrict__ g,
              int rows) {
  int valid = 0;
  for (int i = 0; i < rows; i += kCountThreads)
    valid += __syncthreads_count(i + int(threadIdx.x) < rows &&
                                 target[i + threadIdx.x] != kIgnored);
  if (threadIdx.x == 0)
    *g = valid == 0 ? 0.0f : 1.0f / float(valid);
}

constexpr int kRowThreads = 512;
/// Loads in flight a thread.
constexpr int kUnroll = 4;

/// Maximum and sum of a row, and its loss. A block a row.
__global__ void __launch_bounds__(kRowThreads)
    reduceRows(const Bf16 *__restrict__ logits,
               const int32_t *__restrict__ target, Part *__restrict__ parts,
               float *__restrict__ loss, int columns) {
  int64_t row = blockIdx.x;
  const Bf16 *x = logits + row * columns;
  int vectors = columns / kVector;
  Part own = {-INFINITY, 0};
  for (int first = int(threadIdx.x); first < vectors;
       first += kRowThreads * kUnroll) {
    uint4 words[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (first + u * kRowThreads < vectors)
        words[u] =
            reinterpret_cast<const uint4 *>(x)[first + u * kRowThreads];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (first + u * kRowThreads >= vectors)
        break;
      float values[kVector];
      unpack(words[u], values);
      float most = values[0];
#pragma unroll
      for (int i = 1; i < kVector; ++i)
        most = fmaxf(most, values[i]);
      // The sum is scaled again only where the maximum grows.
      if (most > own.most) {
        own.sum *= exp2f((own.most - most) * kLog2e);
        own.most = most;
      }
#pragma unroll
      for (int i = 0; i < kVector; ++i)
        own.sum += exp2f((values[i] - own.most) * kLog2e);
    }
  }
  __shared__ Part partial[kRowThreads / 32];
  for (int step = 16; step; step /= 2) {
    Part other = {__shfl_xor_sync(0xffffffffu, own.most, step),
                  __shfl_xor_sync(0xffffffffu, own.sum, step)};
    own = join(own, other);
  }
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  Part whole = partial[0];
  for (int i = 1; i < kRowThreads / 32; ++i)
    whole = join(whole, partial[i]);
  parts[row] = whole;
  int32_t right = target[row];
  loss[row] = right == kIgnored ? 0.0f
                                : whole.most + logf(whole.sum) -
                                      __bfloat162float(x[right]);
}

constexpr int kGradientThreads = 256;

/// A block takes kGradientThreads * kUnroll vectors of the row blockIdx.y.
__global__ void __launch_bounds__(kGradientThreads)
    differentiate(const Bf16 *__restrict__ logits,
                  const int32_t *__restrict__ target,
                  const Part *__restrict__ parts, const float *__restrict__ g,
                  Bf16 *__restrict__ dlogits, int columns, int64_t rows) {
  int vectors = columns / kVector;
  int first = int(blockIdx.x) * kGradientThreads * kUnroll + int(threadIdx.x);
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const auto *x =
        reinterpret_cast<const uint4 *>(logits + row * columns);
    auto *y = reinterpret_cast<uint4 *>(dlogits + row * columns);
    int32_t right = target[row];
    if (right == kIgnored) {
      for (int u = 0; u < kUnroll; ++u)
        if (first + u * kGradientThreads < vectors)
          y[first + u * kGradientThreads] = make_uint4(0, 0, 0, 0);
      continue;
    }
    Part part = parts[row];
    float factor = *g / part.sum, one = *g;
    uint4 words[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (first + u * kGradientThreads < vectors)
        words[u] = x[first + u * kGradientThreads];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      int vector = first + u * kGradientThreads;
      if (vector >= vectors)
        break;
      float values[kVector];
      unpack(words[u], values);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        values[i] = exp2f((values[i] - part.most) * kLog2e) * factor;
        if (vector * kVector + i == right)
          values[i] -= one;
      }
      y[vector] = pack(values);
    }
  }
}

} // namespace

extern "C" const char *d2k_baseline_identity() {
  return "count, maximum and sum in one pass, then the gradient";
}

extern "C" int
d2k_cross_entropy_fwd_bwd(const d2k_cross_entropy_fwd_bwd_args *args,
                          void *workspace, size_t workspace_bytes,
                          cudaStream_t stream) {
  if (args->T > INT32_MAX - kCountThreads || args->V > INT32_MAX / 2 ||
      workspace_bytes < size_t(args->T) * sizeof(Part) + 256)
    return cudaErrorInvalidValue;
  auto *logits = static_cast<const Bf16 *>(args->logits);
  auto *g = static_cast<float *>(workspace);
  auto *parts = reinterpret_cast<Part *>(static_cast<char *>(workspace) + 256);
  int columns = int(args->V);
  countRows<<<1, kCountThreads, 0, stream>>>(args->target, g, int(args->T));
  reduceRows<<<unsigned(args->T), kRowThreads, 0, stream>>>(
      logits, args->target, parts, args->loss, columns);
  constexpr int kBlock = kGradientThreads * kUnroll * kVector;
  int64_t rows = args->T < 65535 ? args->T : 65535;
  differentiate<<<dim3(unsigned((columns + kBlock - 1) / kBlock),
                       unsigned(rows)),
                  kGradientThreads, 0, stream>>>(
      logits, args->target, parts, g, static_cast<Bf16 *>(args->dlogits),
      columns, args->T);
  return cudaGetLastError();
}
