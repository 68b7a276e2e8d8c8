// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task cross_entropy_fwd_bwd with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                           1 g counts ignored rows too
//   2 no -1 at the target            3 ignored rows get a gradient
//   4 the sum kept in bf16           5 the maximum is not subtracted
//   6 p to 8 bits                    7 the loss in bits
//   8 the last 8 columns not written 9 one element past the end of dlogits
//   10 an input changed              11 ignored rows get a loss
//   12 gradients below 2^-100 are 0  13 the maximum starts at 0
//   14 g is 1 / 0 without rows       15 loss rounded to bf16

#include "d2k_cross_entropy_fwd_bwd.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 15"
#endif

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// One thread a row: slow, and easy to put a fault into.
__global__ void faultyCrossEntropy(d2k_cross_entropy_fwd_bwd_args args) {
  int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t V = args.V;
  if (t >= args.T)
    return;
  auto *x = static_cast<const __nv_bfloat16 *>(args.logits) + t * V;
  auto *y = static_cast<__nv_bfloat16 *>(args.dlogits) + t * V;
  int valid = 0;
  for (int64_t i = 0; i < args.T; ++i)
    valid += D2K_FAULT == 1 || args.target[i] >= 0;
  float most = D2K_FAULT == 13 ? 0 : -INFINITY, sum = 0;
  for (int64_t i = 0; i < V; ++i)
    most = fmaxf(most, __bfloat162float(x[i]));
  if (D2K_FAULT == 5)
    most = 0;
  // One sum of 10^5 terms loses more than a good kernel does: parts of it first.
  for (int64_t first = 0; first < V; first += 64) {
    float part = 0;
    for (int64_t i = first; i < first + 64; ++i) {
      part += expf(__bfloat162float(x[i]) - most);
      if (D2K_FAULT == 4)
        part = roundToBf16(part);
    }
    sum += part;
    if (D2K_FAULT == 4)
      sum = roundToBf16(sum);
  }
  float logSum = most + logf(sum), g = 1 / float(valid);
  if (D2K_FAULT != 14 && valid == 0)
    g = 0;
  int right = args.target[t];
  bool isIgnored = right < 0;
  float loss = isIgnored ? D2K_FAULT == 11 ? logSum : 0
                         : logSum - __bfloat162float(x[right]);
  if (D2K_FAULT == 7)
    loss *= 1.44269504f;
  args.loss[t] = D2K_FAULT == 15 ? roundToBf16(loss) : loss;
  if (isIgnored && D2K_FAULT != 3)
    g *= 0; // Not a number when it was infinite.
  for (int64_t i = 0; i < V - (D2K_FAULT == 8 ? 8 : 0); ++i) {
    float p = expf(__bfloat162float(x[i]) - most) / sum;
    if (D2K_FAULT == 6)
      p = float(__nv_fp8_e4m3(p));
    float value = g * (p - (D2K_FAULT != 2 && i == right));
    if (D2K_FAULT == 12 && fabsf(value) < 0x1p-100f)
      value = 0;
    y[i] = __float2bfloat16_rn(value);
  }
  if (D2K_FAULT == 9 && t == args.T - 1)
    y[V] = y[0];
  if (D2K_FAULT == 10 && t == 0)
    const_cast<__nv_bfloat16 *>(x)[1] = __float2bfloat16_rn(77);
}

extern "C" int
d2k_cross_entropy_fwd_bwd(const d2k_cross_entropy_fwd_bwd_args *args, void *,
                          size_t, cudaStream_t stream) {
  constexpr int kThreads = 32;
  faultyCrossEntropy<<<unsigned((args->T + kThreads - 1) / kThreads), kThreads,
                       0, stream>>>(*args);
  return cudaGetLastError();
}
