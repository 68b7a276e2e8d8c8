// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task mamba2_ssd_scan with one fault each, chosen by D2K_FAULT.
// The judge must reject every one but 0.
//   0 none                              1 initial state taken for zeros
//   2 D * x left out                    3 dt_bias left out
//   4 group h % G                       5 state rounded to bf16 at each token
//   6 x rounded to e4m3                 7 final state of the token before
//   8 final state transposed            9 one element past the end
//   10 an input changed                 11 x not multiplied by the step
//   12 y from the state before the token
//   13 decays as quotients of products, in chunks of 64

#include "d2k_mamba2_ssd_scan.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 13"
#endif

constexpr int kHead = D2K_MAMBA2_SSD_SCAN_P;
constexpr int kState = D2K_MAMBA2_SSD_SCAN_N;

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// One thread a row of the state of a head.
__global__ void faultyScan(d2k_mamba2_ssd_scan_args args) {
  int64_t h = blockIdx.x, b = blockIdx.y;
  int row = int(threadIdx.x);
  int64_t group = D2K_FAULT == 4 ? h % args.G : h / (args.H / args.G);
  auto *x = static_cast<const __nv_bfloat16 *>(args.x);
  auto *dt = static_cast<const __nv_bfloat16 *>(args.dt);
  auto *B = static_cast<const __nv_bfloat16 *>(args.B);
  auto *C = static_cast<const __nv_bfloat16 *>(args.C);
  auto *y = static_cast<__nv_bfloat16 *>(args.y);
  int64_t base = (b * args.H + h) * kHead * kState;
  float state[kState];
  for (int n = 0; n < kState; ++n)
    state[n] = D2K_FAULT == 1 ? 0 : args.initial_state[base + row * kState + n];
  auto storeState = [&] {
    for (int n = 0; n < kState; ++n)
      args.final_state[base + (D2K_FAULT == 8 ? n * kHead + row
                                              : row * kState + n)] = state[n];
  };
  float product = 1;
  for (int64_t t = 0; t < args.T; ++t) {
    if (D2K_FAULT == 7 && t == args.T - 1)
      storeState();
    int64_t token = b * args.T + t;
    float raw = __bfloat162float(dt[token * args.H + h]) +
                (D2K_FAULT == 3 ? 0 : args.dt_bias[h]);
    float step = fmaxf(raw, 0) + log1pf(expf(-fabsf(raw)));
    float decay = expf(step * args.A[h]);
    if (D2K_FAULT == 13) {
      if (t % 64 == 0)
        product = 1;
      float next = product * decay;
      decay = next / product;
      product = next;
    }
    float value = __bfloat162float(x[(token * args.H + h) * kHead + row]);
    float narrow = D2K_FAULT == 6 ? float(__nv_fp8_e4m3(value)) : value;
    float scaled = D2K_FAULT == 11 ? narrow : step * narrow;
    float sum = 0;
    for (int n = 0; n < kState; ++n) {
      int64_t at = (token * args.G + group) * kState + n;
      float before = state[n];
      state[n] = decay * state[n] + scaled * __bfloat162float(B[at]);
      if (D2K_FAULT == 5)
        state[n] = roundToBf16(state[n]);
      sum += (D2K_FAULT == 12 ? before : state[n]) * __bfloat162float(C[at]);
    }
    if (D2K_FAULT != 2)
      sum += args.D[h] * value;
    y[(token * args.H + h) * kHead + row] = __float2bfloat16_rn(sum);
  }
  if (D2K_FAULT != 7)
    storeState();
  bool isFirst = h == 0 && b == 0 && row == 0;
  if (D2K_FAULT == 9 && isFirst)
    y[args.batch * args.T * args.H * kHead] = y[0];
  if (D2K_FAULT == 10 && isFirst)
    const_cast<__nv_bfloat16 *>(x)[0] = __float2bfloat16_rn(777);
}

extern "C" int d2k_mamba2_ssd_scan(const d2k_mamba2_ssd_scan_args *args, void *,
                                   size_t, cudaStream_t stream) {
  faultyScan<<<dim3(unsigned(args->H), unsigned(args->batch)), kHead, 0,
               stream>>>(*args);
  return cudaGetLastError();
}
