// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of layernorm_backward, as training code has it today: one kernel
// for the rows, and a reduction over the columns in two stages. dy and x are
// read twice. Accesses are 16 bytes wide; a row stays in registers between its
// sums and its result.

#include "d2k_layernorm_backward.h"

#include "d2k/Baseline/Device.h"

#include <cuda_bf16.h>

#include <cstring>

namespace {

using Bf16 = __nv_bfloat16;

/// Elements of a 16-byte vector.
constexpr int kVector = 8;

__device__ void load(const Bf16 *from, float (&values)[kVector]) {
  uint4 words = *reinterpret_cast<const uint4 *>(from);
  __nv_bfloat162 pairs[kVector / 2];
  memcpy(pairs, &words, sizeof(words));
  for (int i = 0; i < kVector / 2; ++i) {
    float2 pair = __bfloat1622float2(pairs[i]);
    values[2 * i] = pair.x;
    values[2 * i + 1] = pair.y;
  }
}

__device__ void store(Bf16 *to, const float (&values)[kVector]) {
  __nv_bfloat162 pairs[kVector / 2];
  for (int i = 0; i < kVector / 2; ++i)
    pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
  uint4 words;
  memcpy(&words, pairs, sizeof(words));
  *reinterpret_cast<uint4 *>(to) = words;
}

/// Sums of both over the block, to every thread.
template <int kThreads>
__device__ float2 sumBlock(float2 value) {
  __shared__ float2 partial[kThreads / 32];
  for (int step = 16; step; step /= 2) {
    value.x += __shfl_xor_sync(0xffffffffu, value.x, step);
    value.y += __shfl_xor_sync(0xffffffffu, value.y, step);
  }
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = value;
  __syncthreads();
  float2 sum = make_float2(0, 0);
  for (int i = 0; i < kThreads / 32; ++i) {
    sum.x += partial[i].x;
    sum.y += partial[i].y;
  }
  return sum;
}

/// A block a row of at most kThreads * kVectors vectors.
template <int kThreads, int kVectors>
__global__ void __launch_bounds__(kThreads)
    differentiateRows(const Bf16 *__restrict__ dy, const Bf16 *__restrict__ x,
                      const Bf16 *__restrict__ w,
                      const float *__restrict__ mean,
                      const float *__restrict__ rstd, Bf16 *__restrict__ dx,
                      int hidden) {
  int64_t base = int64_t(blockIdx.x) * hidden;
  float center = mean[blockIdx.x], factor = rstd[blockIdx.x];
  float g[kVectors][kVector], n[kVectors][kVector];
  float2 sums = make_float2(0, 0);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    int column = (v * kThreads + int(threadIdx.x)) * kVector;
    if (column >= hidden)
      break;
    float weights[kVector];
    load(dy + base + column, g[v]);
    load(x + base + column, n[v]);
    load(w + column, weights);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      g[v][i] *= weights[i];
      n[v][i] = (n[v][i] - center) * factor;
      sums.x += g[v][i];
      sums.y += g[v][i] * n[v][i];
    }
  }
  sums = sumBlock<kThreads>(sums);
  float meanG = sums.x / float(hidden), meanGn = sums.y / float(hidden);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    int column = (v * kThreads + int(threadIdx.x)) * kVector;
    if (column >= hidden)
      break;
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      g[v][i] = factor * (g[v][i] - meanG - n[v][i] * meanGn);
    store(dx + base + column, g[v]);
  }
}

/// The same for rows of any length, which are read twice.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    differentiateLongRows(const Bf16 *__restrict__ dy,
                          const Bf16 *__restrict__ x,
                          const Bf16 *__restrict__ w,
                          const float *__restrict__ mean,
                          const float *__restrict__ rstd, Bf16 *__restrict__ dx,
                          int hidden) {
  int64_t base = int64_t(blockIdx.x) * hidden;
  float center = mean[blockIdx.x], factor = rstd[blockIdx.x];
  float2 sums = make_float2(0, 0), means;
  for (int pass = 0; pass < 2; ++pass) {
    for (int column = int(threadIdx.x) * kVector; column < hidden;
         column += kThreads * kVector) {
      float g[kVector], n[kVector], weights[kVector];
      load(dy + base + column, g);
      load(x + base + column, n);
      load(w + column, weights);
      for (int i = 0; i < kVector; ++i) {
        g[i] *= weights[i];
        n[i] = (n[i] - center) * factor;
        if (pass == 0) {
          sums.x += g[i];
          sums.y += g[i] * n[i];
        } else {
          g[i] = factor * (g[i] - means.x - n[i] * means.y);
        }
      }
      if (pass == 1)
        store(dx + base + column, g);
    }
    if (pass == 0) {
      sums = sumBlock<kThreads>(sums);
      means = make_float2(sums.x / float(hidden), sums.y / float(hidden));
    }
  }
}

constexpr int kColumnLanes = 32, kColumnRows = 8;
/// Columns of a block of the first stage.
constexpr int kColumns = kColumnLanes * kVector;

/// Sums of the tokens blockIdx.y * kColumnRows + threadIdx.y, and every
/// gridDim.y * kColumnRows further: a partial sum of dw and db a block row.
__global__ void __launch_bounds__(kColumnLanes *kColumnRows)
    sumColumns(const Bf16 *__restrict__ dy, const Bf16 *__restrict__ x,
               const float *__restrict__ mean, const float *__restrict__ rstd,
               float *__restrict__ partial, int64_t tokens, int hidden) {
  __shared__ float scratch[2][kColumnRows][kColumns];
  int column = int(blockIdx.x) * kColumns + int(threadIdx.x) * kVector;
  float sumW[kVector] = {}, sumB[kVector] = {};
  if (column < hidden)
    for (int64_t token = int64_t(blockIdx.y) * kColumnRows + threadIdx.y;
         token < tokens; token += int64_t(gridDim.y) * kColumnRows) {
      float g[kVector], n[kVector];
      load(dy + token * hidden + column, g);
      load(x + token * hidden + column, n);
      float center = mean[token], factor = rstd[token];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        sumW[i] += g[i] * ((n[i] - center) * factor);
        sumB[i] += g[i];
      }
    }
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    scratch[0][threadIdx.y][threadIdx.x * kVector + i] = sumW[i];
    scratch[1][threadIdx.y][threadIdx.x * kVector + i] = sumB[i];
  }
  __syncthreads();
  // 256 threads, and as many columns.
  int local = int(threadIdx.y) * kColumnLanes + int(threadIdx.x);
  static_assert(kColumns == kColumnLanes * kColumnRows);
  column = int(blockIdx.x) * kColumns + local;
  if (column >= hidden)
    return;
  for (int which = 0; which < 2; ++which) {
    float sum = 0;
#pragma unroll
    for (int row = 0; row < kColumnRows; ++row)
      sum += scratch[which][row][local];
    partial[(int64_t(which) * gridDim.y + blockIdx.y) * hidden + column] = sum;
  }
}

constexpr int kFinishThreads = 128;

/// Adds the partial sums; blockIdx.y says whether of dw or of db.
__global__ void __launch_bounds__(kFinishThreads)
    finishColumns(const float *__restrict__ partial, float *__restrict__ dw,
                  float *__restrict__ db, int parts, int hidden) {
  int column = int(blockIdx.x) * kFinishThreads + int(threadIdx.x);
  if (column >= hidden)
    return;
  partial += int64_t(blockIdx.y) * parts * hidden + column;
  float sum = 0;
  for (int part = 0; part < parts; ++part)
    sum += partial[int64_t(part) * hidden];
  (blockIdx.y == 0 ? dw : db)[column] = sum;
}

} // namespace

extern "C" const char *d2k_baseline_identity() {
  return "one kernel for the rows; sums over the columns in two stages";
}

extern "C" int d2k_layernorm_backward(const d2k_layernorm_backward_args *args,
                                      void *workspace, size_t workspace_bytes,
                                      cudaStream_t stream) {
  if (args->T > INT32_MAX || args->H > INT32_MAX / kVector)
    return cudaErrorInvalidValue;
  auto *dy = static_cast<const Bf16 *>(args->dy);
  auto *x = static_cast<const Bf16 *>(args->x);
  auto *w = static_cast<const Bf16 *>(args->w);
  auto *dx = static_cast<Bf16 *>(args->dx);
  int hidden = int(args->H);
  auto run = [&](auto kernel, int threads) {
    kernel<<<unsigned(args->T), threads, 0, stream>>>(dy, x, w, args->mean,
                                                      args->rstd, dx, hidden);
  };
  if (hidden <= 128 * kVector)
    run(differentiateRows<128, 1>, 128);
  else if (hidden <= 2 * 128 * kVector)
    run(differentiateRows<128, 2>, 128);
  else if (hidden <= 4 * 256 * kVector)
    run(differentiateRows<256, 4>, 256);
  else
    run(differentiateLongRows<512>, 512);

  // Blocks for four waves of a large GPU, as far as there are tokens.
  int processors = 0;
  if (int error = d2k::baseline::countMultiprocessors(processors))
    return error;
  int columnBlocks = (hidden + kColumns - 1) / kColumns;
  int64_t parts = (int64_t(processors) * 4 + columnBlocks - 1) / columnBlocks;
  int64_t most = (args->T + kColumnRows - 1) / kColumnRows;
  parts = parts < most ? parts : most;
  int64_t fitting =
      int64_t(workspace_bytes / (2 * sizeof(float) * size_t(hidden)));
  parts = parts < fitting ? parts : fitting;
  if (parts < 1)
    return cudaErrorInvalidValue;
  auto *partial = static_cast<float *>(workspace);
  sumColumns<<<dim3(unsigned(columnBlocks), unsigned(parts)),
               dim3(kColumnLanes, kColumnRows), 0, stream>>>(
      dy, x, args->mean, args->rstd, partial, args->T, hidden);
  finishColumns<<<dim3(unsigned((hidden + kFinishThreads - 1) / kFinishThreads),
                       2),
                  kFinishThreads, 0, stream>>>(partial, args->dw, args->db,
                                               int(parts), hidden);
  return cudaGetLastError();
}
