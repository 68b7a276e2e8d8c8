// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of gemm_bf16: the sum in fp64, the same in fp32 as the task
// allows, and the sum of magnitudes. Plain tiling through shared memory, 4x4
// outputs a thread, any shape; a tile is 64x64 outputs.

#include "d2k_gemm_bf16.h"

#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

using Bf16 = __nv_bfloat16;

constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    computeTiles(d2k_expected out, const int64_t *tiles, const Bf16 *x,
                 const Bf16 *w, const Bf16 *r, int64_t m, int64_t n,
                 int64_t k) {
  __shared__ double xd[kDepth][kTile + 1], wd[kDepth][kTile + 1];
  __shared__ float xf[kDepth][kTile + 1], wf[kDepth][kTile + 1];
  int64_t tileColumns = (n + kTile - 1) / kTile;
  int64_t tile = tiles ? tiles[blockIdx.x] : int64_t(blockIdx.x);
  int64_t row0 = tile / tileColumns * kTile;
  int64_t col0 = tile % tileColumns * kTile;
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  double exact[4][4] = {};
  float magnitude[4][4] = {}, working[4][4] = {};

  for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
    for (int e = threadIdx.x; e < kTile * kDepth; e += kThreads) {
      int line = e / kDepth, kk = e % kDepth;
      bool inK = k0 + kk < k;
      float a = inK && row0 + line < m
                    ? __bfloat162float(x[(row0 + line) * k + k0 + kk])
                    : 0.0f;
      float b = inK && col0 + line < n
                    ? __bfloat162float(w[(col0 + line) * k + k0 + kk])
                    : 0.0f;
      xf[kk][line] = a;
      wf[kk][line] = b;
      xd[kk][line] = a;
      wd[kk][line] = b;
    }
    __syncthreads();
    for (int kk = 0; kk < kDepth; ++kk)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
          float a = xf[kk][ty + 16 * i], b = wf[kk][tx + 16 * j];
          exact[i][j] =
              fma(xd[kk][ty + 16 * i], wd[kk][tx + 16 * j], exact[i][j]);
          working[i][j] = fmaf(a, b, working[i][j]);
          magnitude[i][j] = fmaf(fabsf(a), fabsf(b), magnitude[i][j]);
        }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      int64_t row = row0 + ty + 16 * i, col = col0 + tx + 16 * j;
      if (row >= m || col >= n)
        continue;
      int64_t at = row * n + col;
      float residual = __bfloat162float(r[at]);
      out.exact[at] = exact[i][j] + residual;
      out.working[at] =
          __bfloat162float(__float2bfloat16_rn(working[i][j] + residual));
      out.magnitude[at] = magnitude[i][j] + fabsf(residual);
    }
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = kTile;
  *columns = kTile;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_gemm_bf16_args *>(arguments);
  int64_t tiles = (args.M + kTile - 1) / kTile * ((args.N + kTile - 1) / kTile);
  if (request->tiles)
    tiles = request->tile_count;
  if (tiles == 0)
    return cudaSuccess;
  if (tiles > INT32_MAX)
    return cudaErrorInvalidValue;
  computeTiles<<<unsigned(tiles), kThreads, 0, stream>>>(
      request->outputs[0], request->tiles, static_cast<const Bf16 *>(args.X),
      static_cast<const Bf16 *>(args.W), static_cast<const Bf16 *>(args.R),
      args.M, args.N, args.K);
  return cudaGetLastError();
}
