// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_backward, the plainest design: one kernel for dQ, in which a warp
// has one query of one head and walks along its keys, and one for dK and dV, in
// which a warp has one key and walks along all queries that see it, in all
// heads that share it. Both compute every probability again from LSE. Nothing
// is summed by two warps, rows are read from global memory each time, and no
// tensor core is used. It is correct; it is where a faster kernel starts. Runs
// on sm_80 and later.

#include "d2k_attention_backward.h"

#include <cuda_bf16.h>

constexpr int kWarps = 8;

__device__ float sumOfWarp(float value) {
  for (int step = 16; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// The columns lane, lane + 32, ... of a row.
template <int kColumns>
__device__ void loadRow(float (&to)[kColumns], const void *tensor,
                        int64_t row) {
  auto *from = static_cast<const __nv_bfloat16 *>(tensor) +
               row * kColumns * 32 + threadIdx.x % 32;
  for (int c = 0; c < kColumns; ++c)
    to[c] = __bfloat162float(from[32 * c]);
}

template <int kColumns>
__device__ void storeRow(void *tensor, int64_t row,
                         const float (&from)[kColumns], float factor) {
  auto *to = static_cast<__nv_bfloat16 *>(tensor) + row * kColumns * 32 +
             threadIdx.x % 32;
  for (int c = 0; c < kColumns; ++c)
    to[32 * c] = __float2bfloat16_rn(from[c] * factor);
}

template <int kColumns>
__device__ float multiplyRows(const float (&a)[kColumns],
                              const float (&b)[kColumns]) {
  float sum = 0.0f;
  for (int c = 0; c < kColumns; ++c)
    sum += a[c] * b[c];
  return sumOfWarp(sum);
}

/// dQ, and delta = sum of dO * O for the other kernel.
template <int kColumns>
__global__ void __launch_bounds__(kWarps * 32)
    computeQ(d2k_attention_backward_args args, float *deltas) {
  int64_t query = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  int64_t head = blockIdx.y, begin = blockIdx.z * args.S;
  if (query >= args.S)
    return;
  int64_t row = (begin + query) * args.Hq + head;
  int64_t at = head * args.B * args.S + begin + query;
  float q[kColumns], gradientO[kColumns], o[kColumns];
  loadRow(q, args.Q, row);
  loadRow(gradientO, args.dO, row);
  loadRow(o, args.O, row);
  float delta = multiplyRows(gradientO, o);
  if (threadIdx.x % 32 == 0)
    deltas[at] = delta;

  float sum[kColumns] = {};
  for (int64_t key = 0; key <= query; ++key) {
    int64_t other = (begin + key) * args.Hkv + head / (args.Hq / args.Hkv);
    float k[kColumns], v[kColumns];
    loadRow(k, args.K, other);
    loadRow(v, args.V, other);
    float p = expf(args.scale * multiplyRows(q, k) - args.LSE[at]);
    float ds = p * (multiplyRows(gradientO, v) - delta);
    for (int c = 0; c < kColumns; ++c)
      sum[c] += ds * k[c];
  }
  storeRow(args.dQ, row, sum, args.scale);
}

/// dK and dV.
template <int kColumns>
__global__ void __launch_bounds__(kWarps * 32)
    computeKV(d2k_attention_backward_args args, const float *deltas) {
  int64_t key = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  int64_t headK = blockIdx.y, begin = blockIdx.z * args.S;
  if (key >= args.S)
    return;
  int64_t row = (begin + key) * args.Hkv + headK;
  float k[kColumns], v[kColumns];
  loadRow(k, args.K, row);
  loadRow(v, args.V, row);

  int64_t group = args.Hq / args.Hkv;
  float sumK[kColumns] = {}, sumV[kColumns] = {};
  for (int64_t head = headK * group; head < (headK + 1) * group; ++head)
    for (int64_t query = key; query < args.S; ++query) {
      int64_t other = (begin + query) * args.Hq + head;
      int64_t at = head * args.B * args.S + begin + query;
      float q[kColumns], gradientO[kColumns];
      loadRow(q, args.Q, other);
      loadRow(gradientO, args.dO, other);
      float p = expf(args.scale * multiplyRows(q, k) - args.LSE[at]);
      float ds = p * (multiplyRows(gradientO, v) - deltas[at]);
      for (int c = 0; c < kColumns; ++c) {
        sumK[c] += ds * q[c];
        sumV[c] += p * gradientO[c];
      }
    }
  storeRow(args.dK, row, sumK, args.scale);
  storeRow(args.dV, row, sumV, 1.0f);
}

template <int kColumns>
void launch(const d2k_attention_backward_args &args, float *deltas,
            cudaStream_t stream) {
  unsigned blocks = unsigned((args.S + kWarps - 1) / kWarps);
  computeQ<kColumns><<<dim3(blocks, unsigned(args.Hq), unsigned(args.B)),
                       kWarps * 32, 0, stream>>>(args, deltas);
  computeKV<kColumns><<<dim3(blocks, unsigned(args.Hkv), unsigned(args.B)),
                        kWarps * 32, 0, stream>>>(args, deltas);
}

extern "C" int d2k_attention_backward(const d2k_attention_backward_args *args,
                                      void *workspace, size_t workspace_bytes,
                                      cudaStream_t stream) {
  if (args->Hq > 65535 || args->B > 65535 || args->S > INT32_MAX ||
      workspace_bytes < size_t(args->Hq * args->B * args->S) * sizeof(float))
    return cudaErrorInvalidValue;
  auto *deltas = static_cast<float *>(workspace);
  if (args->D == 64)
    launch<2>(*args, deltas, stream);
  else if (args->D == 128)
    launch<4>(*args, deltas, stream);
  else
    return cudaErrorInvalidValue;
  return cudaGetLastError();
}
