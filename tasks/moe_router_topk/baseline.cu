// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of moe_router_topk: logits in fp32 by one cublasLtMatmul, then a
// warp a token that keeps its scores in registers and takes the largest k
// times, with counts by atomics in shared and then in global memory, and a scan
// of the counts in one block. Counting where the ids are made saves the passes
// of a separate histogram.

#include "d2k_moe_router_topk.h"

#include "d2k/Baseline/CublasLt.h"

#include <cuda_bf16.h>

#include <string>

namespace {

constexpr int kWarp = 32;
constexpr int kTokens = 8; // of a block, a warp each
constexpr int kMaxExperts = 1024;
constexpr int kScanThreads = 1024;
constexpr int kGroups = D2K_MOE_ROUTER_TOPK_GROUPS;
constexpr int kTopGroups = D2K_MOE_ROUTER_TOPK_TOP_GROUPS;
constexpr float kScale = 2.5f;
constexpr unsigned kAll = 0xffffffffu;

/// A score and an expert as a number that is larger for a larger score, and for
/// the lower one of two experts with the same score. Never 0.
__device__ uint64_t makeKey(float score, int expert) {
  uint32_t bits = __float_as_uint(score + 0.0f); // -0 is 0.
  bits = bits >> 31 ? ~bits : bits | 0x80000000u;
  return uint64_t(bits) << 32 | (0xffffffffu - unsigned(expert));
}
__device__ int getExpert(uint64_t key) {
  return int(0xffffffffu - uint32_t(key));
}
__device__ float getScore(uint64_t key) {
  uint32_t bits = uint32_t(key >> 32);
  return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

__device__ uint64_t findLargest(uint64_t key) {
  for (int step = kWarp / 2; step; step /= 2) {
    uint64_t other = __shfl_xor_sync(kAll, key, step);
    key = other > key ? other : key;
  }
  return key;
}

__device__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

/// Experts lane, lane + 32, ... of one token, kHeld a lane; 0 for none.
template <int kHeld>
struct Held {
  uint64_t keys[kHeld];

  __device__ uint64_t findLargest(int from, int to, int lane) const {
    uint64_t best = 0;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      int expert = i * kWarp + lane;
      if (expert >= from && expert < to && keys[i] > best)
        best = keys[i];
    }
    return ::findLargest(best);
  }
  __device__ void remove(uint64_t key) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      if (keys[i] == key)
        keys[i] = 0;
  }
  __device__ void removeBetween(int from, int to, int lane) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      int expert = i * kWarp + lane;
      if (expert >= from && expert < to)
        keys[i] = 0;
    }
  }
};

/// Leaves the experts of the best groups.
template <int kHeld>
__device__ void keepBestGroups(Held<kHeld> &held, int experts, int lane) {
  int size = experts / kGroups;
  // Lane g has the sum of group g.
  float sum = 0;
  for (int group = 0; group < kGroups; ++group) {
    Held<kHeld> rest = held;
    uint64_t first = rest.findLargest(group * size, (group + 1) * size, lane);
    rest.remove(first);
    uint64_t second = rest.findLargest(group * size, (group + 1) * size, lane);
    if (lane == group)
      sum = getScore(first) + getScore(second);
  }
  uint64_t key = lane < kGroups ? makeKey(sum, lane) : 0;
  unsigned kept = 0;
  for (int i = 0; i < kTopGroups; ++i) {
    uint64_t best = findLargest(key);
    kept |= 1u << getExpert(best);
    if (key == best)
      key = 0;
  }
  for (int group = 0; group < kGroups; ++group)
    if (!(kept >> group & 1))
      held.removeBetween(group * size, (group + 1) * size, lane);
}

template <int kHeld>
__global__ void __launch_bounds__(kTokens *kWarp)
    chooseExperts(const float *logits, const float *bias, int32_t *ids,
                  float *w, int32_t *counts, int tokens, int experts, int slots,
                  int mode) {
  __shared__ int32_t own[kMaxExperts];
  for (int e = int(threadIdx.x); e < experts; e += kTokens * kWarp)
    own[e] = 0;
  __syncthreads();
  int lane = int(threadIdx.x) % kWarp;
  int64_t token = int64_t(blockIdx.x) * kTokens + threadIdx.x / kWarp;
  if (token < tokens) {
    const float *row = logits + token * experts;
    Held<kHeld> held;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      int expert = i * kWarp + lane;
      held.keys[i] = 0;
      if (expert < experts) {
        float logit = row[expert];
        held.keys[i] =
            makeKey(mode == 0 ? logit : sigmoid(logit) + bias[expert], expert);
      }
    }
    if (mode == 1)
      keepBestGroups(held, experts, lane);
    // Lane j has slot j.
    int chosen = 0;
    float largest = 0;
    for (int j = 0; j < slots; ++j) {
      uint64_t best = held.findLargest(0, experts, lane);
      held.remove(best);
      if (j == 0)
        largest = getScore(best);
      if (lane == j)
        chosen = getExpert(best);
    }
    float weight = 0;
    if (lane < slots) {
      float logit = row[chosen];
      weight = mode == 0 ? __expf(logit - largest) : sigmoid(logit);
      atomicAdd(&own[chosen], 1);
    }
    float sum = weight;
    for (int step = kWarp / 2; step; step /= 2)
      sum += __shfl_xor_sync(kAll, sum, step);
    if (lane < slots) {
      ids[token * slots + lane] = chosen;
      w[token * slots + lane] = (mode == 0 ? 1.0f : kScale) * weight / sum;
    }
  }
  __syncthreads();
  for (int e = int(threadIdx.x); e < experts; e += kTokens * kWarp)
    if (own[e])
      atomicAdd(&counts[e], own[e]);
}

/// One block: offsets[e] is the sum of the counts below e.
__global__ void __launch_bounds__(kScanThreads)
    scanCounts(const int32_t *counts, int32_t *offsets, int experts) {
  __shared__ int32_t sums[kWarp];
  int e = int(threadIdx.x), lane = e % kWarp, warp = e / kWarp;
  int32_t value = e < experts ? counts[e] : 0;
  int32_t total = value;
  for (int step = 1; step < kWarp; step *= 2) {
    int32_t other = __shfl_up_sync(kAll, total, step);
    total += lane >= step ? other : 0;
  }
  if (lane == kWarp - 1)
    sums[warp] = total;
  __syncthreads();
  for (int before = 0; before < warp; ++before)
    total += sums[before];
  if (e < experts)
    offsets[e + 1] = total;
  if (e == 0)
    offsets[0] = 0;
}

d2k::baseline::MatmulPlanner &getPlanner() {
  static d2k::baseline::MatmulPlanner planner;
  return planner;
}

} // namespace

extern "C" const char *d2k_baseline_identity() {
  static std::string text;
  text = getPlanner().getIdentity() +
         "; then a warp a token in registers, and a scan in one block";
  return text.c_str();
}

extern "C" int d2k_moe_router_topk(const d2k_moe_router_topk_args *args,
                                   void *workspace, size_t workspace_bytes,
                                   cudaStream_t stream) {
  int64_t T = args->T, E = args->E;
  size_t logitBytes = (size_t(T * E) * sizeof(float) + 255) / 256 * 256;
  if (E > kMaxExperts || args->k > kWarp || T > INT32_MAX ||
      logitBytes > workspace_bytes)
    return cudaErrorInvalidValue;
  auto *logits = static_cast<float *>(workspace);
  d2k::baseline::Matmul product;
  product.m = T;
  product.n = E;
  product.k = args->H;
  product.x = args->X;
  product.w = args->Wr;
  product.d = logits;
  product.outputType = CUDA_R_32F;
  if (int error =
          getPlanner().run(product, static_cast<char *>(workspace) + logitBytes,
                           workspace_bytes - logitBytes, stream))
    return error;
  if (cudaError_t error =
          cudaMemsetAsync(args->counts, 0, size_t(E) * sizeof(int32_t), stream))
    return error;
  auto *choose = E <= 128   ? chooseExperts<4>
                 : E <= 256 ? chooseExperts<8>
                 : E <= 512 ? chooseExperts<16>
                            : chooseExperts<32>;
  choose<<<unsigned((T + kTokens - 1) / kTokens), kTokens * kWarp, 0, stream>>>(
      logits, args->bias, args->ids, args->w, args->counts, int(T), int(E),
      int(args->k), int(args->mode));
  scanCounts<<<1, kScanThreads, 0, stream>>>(args->counts, args->offsets,
                                             int(E));
  return cudaGetLastError();
}
