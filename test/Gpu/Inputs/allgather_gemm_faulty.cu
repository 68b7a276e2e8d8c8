// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task allgather_gemm with one fault each, chosen by D2K_FAULT.
// The judge must reject every one but 0.
//   0 none                             1 the own rows in place of all others
//   2 the ranks' rows in another order 3 rows of peers through 8-bit floats
//   4 sums rounded to bf16 every 16    5 the last row not written
//   6 one element past the end         7 a peer's input changed
//   8 the weights of rank 0 everywhere

#include "d2k_allgather_gemm.h"

#include "FaultyProduct.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 8"
#endif

struct Peers {
  __nv_bfloat16 *x[8];
};

__global__ void faultyGather(d2k_allgather_gemm_args args, Peers peers,
                             const __nv_bfloat16 *w) {
  int64_t N = args.N, K = args.K, own = args.M / args.world;
  auto getX = [&](int64_t row, int64_t k) {
    int64_t rank = row / own;
    if (D2K_FAULT == 1)
      rank = args.rank;
    // From the own rank on, as a ring delivers them.
    if (D2K_FAULT == 2)
      rank = (rank + args.rank) % args.world;
    float a = __bfloat162float(peers.x[rank][row % own * K + k]);
    return D2K_FAULT == 3 && rank != args.rank ? float(__nv_fp8_e4m3(a)) : a;
  };
  auto getW = [&](int64_t column, int64_t k) {
    return __bfloat162float(w[column * K + k]);
  };
  faulty::Sums sums;
  faulty::forAllDepths(args.M, N, K, getX, getW,
                       [&](const faulty::Operands &operands, int64_t) {
                         for (int k = 0; k < faulty::kDepth; k += 16) {
                           sums.add(operands, k, 16);
                           if (D2K_FAULT == 4)
                             sums.round();
                         }
                       });
  auto *y = static_cast<__nv_bfloat16 *>(args.Y);
  faulty::forAllOutputs(
      args.M, N, [&](int64_t row, int64_t column, int i, int j) {
        if (D2K_FAULT == 5 && row == args.M - 1)
          return;
        y[row * N + column] = __float2bfloat16_rn(sums.at[i][j]);
        if (D2K_FAULT == 6 && row == args.M - 1 && column == 0)
          y[args.M * N] = y[0];
        if (D2K_FAULT == 7 && row == args.M - 1 && column == 0 &&
            args.rank == 0)
          peers.x[1][0] = __float2bfloat16_rn(777);
      });
}

extern "C" int d2k_allgather_gemm(const d2k_allgather_gemm_args *args, void *,
                                  size_t, cudaStream_t stream) {
  Peers peers = {};
  for (int p = 0; p < args->world; ++p)
    peers.x[p] = static_cast<__nv_bfloat16 *>(const_cast<void *>(args->X[p]));
  faultyGather<<<faulty::getGrid(args->M, args->N), faulty::kThreads, 0,
                 stream>>>(*args, peers,
                           static_cast<const __nv_bfloat16 *>(
                               args->W[D2K_FAULT == 8 ? 0 : args->rank]));
  return cudaGetLastError();
}
