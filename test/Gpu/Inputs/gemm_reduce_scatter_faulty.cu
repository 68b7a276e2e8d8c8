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

#include "FaultyProduct.cuh"

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
  int64_t N = args.N, K = args.K, rows = args.M / args.world;
  int64_t owner = (args.rank + (D2K_FAULT == 8)) % args.world;
  faulty::Sums total;
  for (int p = 0; p < args.world - (D2K_FAULT == 1); ++p) {
    auto getX = [&](int64_t row, int64_t k) {
      float a = __bfloat162float(peers.x[p][(owner * rows + row) * K + k]);
      return D2K_FAULT == 3 ? float(__nv_fp8_e4m3(a)) : a;
    };
    auto getW = [&](int64_t column, int64_t k) {
      return __bfloat162float(peers.w[p][column * K + k]);
    };
    faulty::Sums sums;
    faulty::forAllDepths(rows, N, K, getX, getW,
                         [&](const faulty::Operands &operands, int64_t) {
                           for (int k = 0; k < faulty::kDepth; k += 16) {
                             sums.add(operands, k, 16);
                             if (D2K_FAULT == 4)
                               sums.round();
                           }
                         });
    // What a rank sends is bf16.
    sums.change([&](float sum) {
      return D2K_FAULT == 2 && p != args.rank ? float(__nv_fp8_e4m3(sum))
                                              : faulty::roundToBf16(sum);
    });
    total.add(sums);
  }
  auto *y = static_cast<__nv_bfloat16 *>(args.Y);
  faulty::forAllOutputs(
      rows, N, [&](int64_t row, int64_t column, int i, int j) {
        if (D2K_FAULT == 5 && row == rows - 1)
          return;
        y[row * N + column] = __float2bfloat16_rn(total.at[i][j]);
        if (D2K_FAULT == 6 && row == rows - 1 && column == 0)
          y[rows * N] = y[0];
        if (D2K_FAULT == 7 && row == rows - 1 && column == 0 && args.rank == 0)
          peers.x[1][0] = __float2bfloat16_rn(777);
      });
}

extern "C" int d2k_gemm_reduce_scatter(const d2k_gemm_reduce_scatter_args *args,
                                       void *, size_t, cudaStream_t stream) {
  Peers peers = {};
  for (int p = 0; p < args->world; ++p) {
    peers.x[p] = static_cast<__nv_bfloat16 *>(const_cast<void *>(args->X[p]));
    peers.w[p] = static_cast<const __nv_bfloat16 *>(args->W[p]);
  }
  faultyReduce<<<faulty::getGrid(args->M / args->world, args->N),
                 faulty::kThreads, 0, stream>>>(*args, peers);
  return cudaGetLastError();
}
