// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of allreduce_rmsnorm: NCCL's all-reduce into the workspace, then
// one kernel that adds the residual and normalises. NVLink SHARP is off, as for
// submissions. The first call of each rank makes the communicators and has to
// be made by all ranks at once; it allocates and waits, later calls do not.

#include "d2k_allreduce_rmsnorm.h"

#include "d2k/Baseline/Nccl.h"

#include <cuda_bf16.h>

#include <cstring>
#include <string>

namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 512;
/// Elements of a 16-byte vector, and vectors that a thread keeps: rows of up to
/// kThreads * kVector * kKept elements are read once.
constexpr int kVector = 8;
constexpr int kKept = 2;

/// The four pairs of a 16-byte vector. Through uint4, because the compiler
/// copies a structure of pairs pair by pair.
struct Vector {
  __nv_bfloat162 pairs[kVector / 2];
};

__device__ Vector load(const Bf16 *from) {
  uint4 words = *reinterpret_cast<const uint4 *>(from);
  Vector vector;
  memcpy(&vector, &words, sizeof(vector));
  return vector;
}

__device__ void store(Bf16 *to, const Vector &vector) {
  uint4 words;
  memcpy(&words, &vector, sizeof(words));
  *reinterpret_cast<uint4 *>(to) = words;
}

/// r = sum + res; y = r * rsqrt(mean(r*r) + eps) * w. A block a token. Longer
/// rows than a block keeps in registers are read back from r.
__global__ void __launch_bounds__(kThreads)
    addAndNormalise(const Bf16 *sum, const Bf16 *res, const Bf16 *w, Bf16 *r,
                    Bf16 *y, int hidden, float eps) {
  int64_t base = int64_t(blockIdx.x) * hidden;
  Vector kept[kKept];
  float squares = 0;
  auto add = [&](int i) {
    Vector a = load(sum + base + i), b = load(res + base + i), result;
    for (int j = 0; j < kVector / 2; ++j) {
      float2 u = __bfloat1622float2(a.pairs[j]);
      float2 v = __bfloat1622float2(b.pairs[j]);
      result.pairs[j] = __floats2bfloat162_rn(u.x + v.x, u.y + v.y);
      float2 rounded = __bfloat1622float2(result.pairs[j]);
      squares += rounded.x * rounded.x + rounded.y * rounded.y;
    }
    store(r + base + i, result);
    return result;
  };
  constexpr int kStep = kThreads * kVector;
  int first = int(threadIdx.x) * kVector;
#pragma unroll
  for (int k = 0; k < kKept; ++k)
    if (first + k * kStep < hidden)
      kept[k] = add(first + k * kStep);
  for (int i = first + kKept * kStep; i < hidden; i += kStep)
    add(i);

  __shared__ float partial[kThreads / 32];
  for (int step = 16; step; step /= 2)
    squares += __shfl_xor_sync(0xffffffffu, squares, step);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = squares;
  __syncthreads();
  float total = 0;
  for (float part : partial)
    total += part;
  float factor = rsqrtf(total / float(hidden) + eps);

  auto normalise = [&](int i, const Vector &values) {
    Vector weights = load(w + i), result;
    for (int j = 0; j < kVector / 2; ++j) {
      float2 value = __bfloat1622float2(values.pairs[j]);
      float2 weight = __bfloat1622float2(weights.pairs[j]);
      result.pairs[j] = __floats2bfloat162_rn(value.x * factor * weight.x,
                                              value.y * factor * weight.y);
    }
    store(y + base + i, result);
  };
#pragma unroll
  for (int k = 0; k < kKept; ++k)
    if (first + k * kStep < hidden)
      normalise(first + k * kStep, kept[k]);
  for (int i = first + kKept * kStep; i < hidden; i += kStep)
    normalise(i, load(r + base + i));
}

d2k::baseline::Communicators &getCommunicators() {
  static d2k::baseline::Communicators communicators;
  return communicators;
}

} // namespace

extern "C" const char *d2k_baseline_identity() {
  static const std::string text =
      d2k::baseline::Communicators::getIdentity() +
      " all-reduce without NVLS, then add and norm in one kernel";
  return text.c_str();
}

extern "C" int d2k_allreduce_rmsnorm(const d2k_allreduce_rmsnorm_args *args,
                                     void *workspace, size_t workspace_bytes,
                                     cudaStream_t stream) {
  int64_t count = args->T * args->H;
  if (args->H > INT32_MAX || args->T > INT32_MAX ||
      workspace_bytes < size_t(count) * sizeof(Bf16))
    return cudaErrorInvalidValue;
  ncclComm_t comm;
  if (int error = getCommunicators().get(comm, args->world, args->rank))
    return error;
  auto *sum = static_cast<Bf16 *>(workspace);
  if (ncclAllReduce(args->x[args->rank], sum, size_t(count), ncclBfloat16,
                    ncclSum, comm, stream) != ncclSuccess)
    return cudaErrorUnknown;
  addAndNormalise<<<unsigned(args->T), kThreads, 0, stream>>>(
      sum, static_cast<const Bf16 *>(args->res),
      static_cast<const Bf16 *>(args->w), static_cast<Bf16 *>(args->r),
      static_cast<Bf16 *>(args->y), int(args->H), args->eps);
  return cudaGetLastError();
}
