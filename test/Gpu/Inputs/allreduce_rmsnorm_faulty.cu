// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task allreduce_rmsnorm with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                          1 the last rank's sums left out
//   2 sums rounded to fp8 first     3 squares in bf16, and 2% too large
//   4 an eps of 1                   5 the last token not written
//   6 one element past the end      7 ranks that differ in one bit
//   8 a peer's input changed

#include "d2k_allreduce_rmsnorm.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 8"
#endif

struct Peers {
  __nv_bfloat16 *x[8];
};

/// One thread a token: slow, and easy to put a fault into.
__global__ void faultyAllreduce(d2k_allreduce_rmsnorm_args args, Peers peers) {
  int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t H = args.H, base = t * H;
  if (t >= args.T || (D2K_FAULT == 5 && t == args.T - 1))
    return;
  auto *res = static_cast<const __nv_bfloat16 *>(args.res);
  auto *w = static_cast<const __nv_bfloat16 *>(args.w);
  auto *r = static_cast<__nv_bfloat16 *>(args.r);
  auto *y = static_cast<__nv_bfloat16 *>(args.y);
  float squares = 0;
  for (int64_t i = 0; i < H; ++i) {
    float sum = 0;
    for (int p = 0; p < args.world - (D2K_FAULT == 1); ++p) {
      float x = __bfloat162float(peers.x[p][base + i]);
      sum += D2K_FAULT == 2 ? float(__nv_fp8_e4m3(x)) : x;
    }
    sum += __bfloat162float(res[base + i]);
    r[base + i] = __float2bfloat16_rn(sum);
    float value = __bfloat162float(r[base + i]);
    squares += D2K_FAULT == 3
                   ? __bfloat162float(__float2bfloat16_rn(value * value)) * 1.02f
                   : value * value;
  }
  float factor = rsqrtf(squares / float(H) + (D2K_FAULT == 4 ? 1.0f : args.eps));
  for (int64_t i = 0; i < H; ++i)
    y[base + i] = __float2bfloat16_rn(__bfloat162float(r[base + i]) * factor *
                                      __bfloat162float(w[i]));
  if (t == args.T - 1) {
    if (D2K_FAULT == 6)
      y[args.T * H] = y[0];
    if (D2K_FAULT == 7 && args.rank == 1) {
      auto *bits = reinterpret_cast<uint16_t *>(y + base);
      bits[0] ^= 1;
    }
    if (D2K_FAULT == 8 && args.rank == 0)
      peers.x[1][0] = __float2bfloat16_rn(777);
  }
}

extern "C" int d2k_allreduce_rmsnorm(const d2k_allreduce_rmsnorm_args *args,
                                     void *, size_t, cudaStream_t stream) {
  Peers peers = {};
  for (int p = 0; p < args->world; ++p)
    peers.x[p] = static_cast<__nv_bfloat16 *>(const_cast<void *>(args->x[p]));
  faultyAllreduce<<<unsigned((args->T + 31) / 32), 32, 0, stream>>>(*args,
                                                                    peers);
  return cudaGetLastError();
}
