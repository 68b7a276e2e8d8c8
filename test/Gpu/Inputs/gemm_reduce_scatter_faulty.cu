// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task gemm_reduce_scatter with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                             1 the last rank's product left out
//   2 products of peers as 8-bit floats 3 X narrowed to 8-bit floats
//   4 sums rounded to bf16 every 16    5 the last row not written
//   6 one element past the end         7 a peer's input changed
//   8 the rows of the next rank

#include "d2k_gemm_reduce_scatter.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 8"
#endif

struct Peers {
  __nv_bfloat16 *x[8];
  const __nv_bfloat16 *w[8];
};

__global__ void faultyReduce(d2k_gemm_reduce_scatter_args args, Peers peers) {
  int64_t N = args.N, K = args.K, rows = args.M / args.world, row = blockIdx.y;
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= N || (D2K_FAULT == 5 && row == rows - 1))
    return;
  int64_t owner = (args.rank + (D2K_FAULT == 8)) % args.world;
  float total = 0;
  for (int p = 0; p < args.world - (D2K_FAULT == 1); ++p) {
    const __nv_bfloat16 *x = peers.x[p] + (owner * rows + row) * K;
    const __nv_bfloat16 *w = peers.w[p] + column * K;
    float sum = 0;
    for (int64_t k = 0; k < K; ++k) {
      float a = __bfloat162float(x[k]);
      if (D2K_FAULT == 3)
        a = float(__nv_fp8_e4m3(a));
      sum += a * __bfloat162float(w[k]);
      if (D2K_FAULT == 4 && k % 16 == 15)
        sum = __bfloat162float(__float2bfloat16_rn(sum));
    }
    if (D2K_FAULT == 2 && p != args.rank)
      total += float(__nv_fp8_e4m3(sum));
    else // What a rank sends is bf16.
      total += __bfloat162float(__float2bfloat16_rn(sum));
  }
  auto *y = static_cast<__nv_bfloat16 *>(args.Y);
  y[row * N + column] = __float2bfloat16_rn(total);
  if (row == rows - 1 && column == 0) {
    if (D2K_FAULT == 6)
      y[rows * N] = y[0];
    if (D2K_FAULT == 7 && args.rank == 0)
      peers.x[1][0] = __float2bfloat16_rn(777);
  }
}

extern "C" int d2k_gemm_reduce_scatter(const d2k_gemm_reduce_scatter_args *args,
                                       void *, size_t, cudaStream_t stream) {
  Peers peers = {};
  for (int p = 0; p < args->world; ++p) {
    peers.x[p] = static_cast<__nv_bfloat16 *>(const_cast<void *>(args->X[p]));
    peers.w[p] = static_cast<const __nv_bfloat16 *>(args->W[p]);
  }
  dim3 grid(unsigned((args->N + 127) / 128), unsigned(args->M / args->world));
  faultyReduce<<<grid, 128, 0, stream>>>(*args, peers);
  return cudaGetLastError();
}
