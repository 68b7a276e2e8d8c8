// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mamba2_ssd_scan, the plainest design: the recurrence as it is written, token
// by token, one block a head of a sequence, the state in registers. No more
// blocks than heads, and no matrix products. It is correct; it is where a
// faster kernel starts. Runs on sm_80 and later, for any shape.

#include "d2k_mamba2_ssd_scan.h"

#include <cuda_bf16.h>

constexpr int kHead = D2K_MAMBA2_SSD_SCAN_P;
constexpr int kState = D2K_MAMBA2_SSD_SCAN_N;
/// Four lanes share a row of the state.
constexpr int kLanes = 4;
constexpr int kThreads = kHead * kLanes;
constexpr int kColumns = kState / kLanes;

__global__ void __launch_bounds__(kThreads)
    scanNaive(d2k_mamba2_ssd_scan_args args) {
  int64_t h = blockIdx.x, b = blockIdx.y;
  int64_t group = h / (args.H / args.G);
  int row = int(threadIdx.x) / kLanes, lane = int(threadIdx.x) % kLanes;
  auto *x = static_cast<const __nv_bfloat16 *>(args.x);
  auto *dt = static_cast<const __nv_bfloat16 *>(args.dt);
  auto *B = static_cast<const __nv_bfloat16 *>(args.B);
  auto *C = static_cast<const __nv_bfloat16 *>(args.C);
  auto *y = static_cast<__nv_bfloat16 *>(args.y);
  float bias = args.dt_bias[h], A = args.A[h], D = args.D[h];

  int64_t stateRow = ((b * args.H + h) * kHead + row) * kState;
  float state[kColumns];
  for (int i = 0; i < kColumns; ++i)
    state[i] = args.initial_state[stateRow + i * kLanes + lane];

  for (int64_t t = 0; t < args.T; ++t) {
    int64_t token = b * args.T + t;
    float raw = __bfloat162float(dt[token * args.H + h]) + bias;
    float step = fmaxf(raw, 0.0f) + log1pf(expf(-fabsf(raw)));
    float decay = expf(step * A);
    float value = __bfloat162float(x[(token * args.H + h) * kHead + row]);
    float scaled = step * value;
    float sum = 0.0f;
    for (int i = 0; i < kColumns; ++i) {
      int64_t at = (token * args.G + group) * kState + i * kLanes + lane;
      state[i] = decay * state[i] + scaled * __bfloat162float(B[at]);
      sum += state[i] * __bfloat162float(C[at]);
    }
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane == 0)
      y[(token * args.H + h) * kHead + row] =
          __float2bfloat16_rn(sum + D * value);
  }
  for (int i = 0; i < kColumns; ++i)
    args.final_state[stateRow + i * kLanes + lane] = state[i];
}

extern "C" int d2k_mamba2_ssd_scan(const d2k_mamba2_ssd_scan_args *args, void *,
                                   size_t, cudaStream_t stream) {
  if (args->batch > 65535 || args->H > INT32_MAX)
    return cudaErrorInvalidValue;
  scanNaive<<<dim3(unsigned(args->H), unsigned(args->batch)), kThreads, 0,
              stream>>>(*args);
  return cudaGetLastError();
}
