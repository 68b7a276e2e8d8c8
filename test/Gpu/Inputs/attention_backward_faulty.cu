// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task attention_backward with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                              1 scores rounded to bf16
//   2 P and dS in e4m3                  3 dS in fp16
//   4 no delta                          5 the query does not see itself
//   6 key heads interleaved             7 dK and dV of the last head only
//   8 LSE taken to the base 2           9 dQ without the scale
//   10 dK without the scale             11 sums in bf16
//   12 delta of O alone                 13 the last key not written

#include "d2k_attention_backward.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 13"
#endif

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// What the fault makes of P, of dS and of a sum.
__device__ float spoilFactor(float value, bool isGradient) {
  if (D2K_FAULT == 2)
    return float(__nv_fp8_e4m3(value));
  if (D2K_FAULT == 3 && isGradient)
    return __half2float(__float2half_rn(value));
  return value;
}
__device__ float spoilSum(float value) {
  return D2K_FAULT == 11 ? roundToBf16(value) : value;
}

__device__ float getProbability(float score, float lse) {
  if (D2K_FAULT == 1)
    score = roundToBf16(score);
  return expf(score - (D2K_FAULT == 8 ? lse * 0.6931472f : lse));
}

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

__device__ int64_t getKeyHead(const d2k_attention_backward_args &args,
                              int64_t head) {
  return D2K_FAULT == 6 ? head % args.Hkv : head / (args.Hq / args.Hkv);
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
  float delta = multiplyRows(D2K_FAULT == 12 ? o : gradientO, o);
  if (D2K_FAULT == 4)
    delta = 0.0f;
  if (threadIdx.x % 32 == 0)
    deltas[at] = delta;

  float sum[kColumns] = {};
  for (int64_t key = 0; key < query + (D2K_FAULT != 5); ++key) {
    int64_t other = (begin + key) * args.Hkv + getKeyHead(args, head);
    float k[kColumns], v[kColumns];
    loadRow(k, args.K, other);
    loadRow(v, args.V, other);
    float p = getProbability(args.scale * multiplyRows(q, k), args.LSE[at]);
    float ds = p * (multiplyRows(gradientO, v) - delta);
    ds = spoilFactor(ds, true);
    for (int c = 0; c < kColumns; ++c)
      sum[c] = spoilSum(sum[c] + ds * k[c]);
  }
  storeRow(args.dQ, row, sum, D2K_FAULT == 9 ? 1.0f : args.scale);
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

  float sumK[kColumns] = {}, sumV[kColumns] = {};
  for (int64_t head = 0; head < args.Hq; ++head) {
    if (getKeyHead(args, head) != headK)
      continue;
    if (D2K_FAULT == 7)
      for (int c = 0; c < kColumns; ++c)
        sumK[c] = sumV[c] = 0.0f;
    for (int64_t query = key + (D2K_FAULT == 5); query < args.S; ++query) {
      int64_t other = (begin + query) * args.Hq + head;
      int64_t at = head * args.B * args.S + begin + query;
      float q[kColumns], gradientO[kColumns];
      loadRow(q, args.Q, other);
      loadRow(gradientO, args.dO, other);
      float p = getProbability(args.scale * multiplyRows(q, k), args.LSE[at]);
      float ds = p * (multiplyRows(gradientO, v) - deltas[at]);
      ds = spoilFactor(ds, true);
      p = spoilFactor(p, false);
      for (int c = 0; c < kColumns; ++c) {
        sumK[c] = spoilSum(sumK[c] + ds * q[c]);
        sumV[c] = spoilSum(sumV[c] + p * gradientO[c]);
      }
    }
  }
  if (D2K_FAULT == 13 && key == args.S - 1)
    return;
  storeRow(args.dK, row, sumK, D2K_FAULT == 10 ? 1.0f : args.scale);
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
