// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected queries of rope_paged_kv_append in fp64 and in fp32, and a judge of
// its cache: keys within their bound, values and slots that no token has bit by
// bit. Also makes positions and slots.

#include "d2k_rope_paged_kv_append.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/PagedCache.cuh"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cstring>

using Bf16 = __nv_bfloat16;
using namespace d2k::task;

constexpr int kThreads = 128;
/// Keys: the bound of the rule product for q_out.
constexpr double kHalfUlp = 0x1p-8;
constexpr double kSumFactor = 32 * 0x1p-23;
/// One key element in so many may differ from the rounded exact value.
constexpr unsigned long long kDifferentOneIn = 100;

/// Key elements that are compared, and that differ.
__device__ unsigned long long keyCount, differentCount;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

enum class Placing {
  /// Sequences of 2048 tokens fill pages one after another, pages in random
  /// order.
  Prefill,
  /// Random positions and slots.
  Random,
};

/// Of `skipped` tokens, chosen at random, the slot is -1.
__global__ void __launch_bounds__(kThreads)
    placeTokens(int32_t *pos, int64_t *slot, int64_t tokens, int64_t page,
                int64_t pages, int64_t positions, Placing placing,
                int64_t skipped, uint64_t seed) {
  constexpr int64_t kSequence = 2048;
  int64_t t = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= tokens)
    return;
  if (placing == Placing::Prefill) {
    pos[t] = int32_t(t % kSequence % positions);
    slot[t] = permute(t / page, pages, seed) * page + t % page;
  } else {
    pos[t] = int32_t(drawBits(seed, 0, uint64_t(t)) % uint64_t(positions));
    slot[t] = permute(t, pages * page, seed);
  }
  if (permute(t, tokens, seed + 1) < skipped)
    slot[t] = -1;
}

/// Before a timed call they stay as they are.
extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_rope_paged_kv_append_args *>(arguments);
  if (request->perturbation)
    return cudaSuccess;
  auto isTrial = [&](const char *id) {
    return std::strcmp(request->trial, id) == 0;
  };
  auto isWorkload = [&](const char *id) {
    return std::strcmp(request->workload, id) == 0;
  };
  int64_t skipped = isTrial("all_skipped")         ? args.T
                    : isTrial("scaled_tokens")     ? args.T / 2
                    : isWorkload("gpt_oss_ragged") ? args.T / 10
                                                   : 0;
  Placing placing =
      isWorkload("llama3_8b_prefill") ? Placing::Prefill : Placing::Random;
  placeTokens<<<unsigned((args.T + kThreads - 1) / kThreads), kThreads, 0,
                stream>>>(
      const_cast<int32_t *>(args.pos), const_cast<int64_t *>(args.slot), args.T,
      args.page, args.pages, args.maxpos, placing, skipped, request->seed);
  return cudaGetLastError();
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

struct Element {
  double exact, magnitude;
  float working;
};

/// Element \p d of the head \p x with the norm's weight \p w, or null, and the
/// factors of its position.
__device__ Element rotate(const Bf16 *x, const Bf16 *w, float epsilon,
                          const float *factors, int64_t d, int64_t size) {
  double factor = 1;
  float factorWorking = 1;
  if (w) {
    double squares = 0;
    float squaresWorking = 0;
    for (int64_t i = 0; i < size; ++i) {
      float value = __bfloat162float(x[i]);
      squares += double(value) * double(value);
      squaresWorking += value * value;
    }
    factor = 1 / sqrt(squares / double(size) + double(epsilon));
    factorWorking = rsqrtf(squaresWorking / float(size) + epsilon);
  }
  int64_t half = size / 2, i = d % half;
  float a = __bfloat162float(x[i]), b = __bfloat162float(x[i + half]);
  float wa = w ? __bfloat162float(w[i]) : 1;
  float wb = w ? __bfloat162float(w[i + half]) : 1;
  double exactA = double(a) * factor * double(wa);
  double exactB = double(b) * factor * double(wb);
  float workingA = a * factorWorking * wa, workingB = b * factorWorking * wb;
  float cosine = factors[i], sine = factors[half + i];
  bool isFirst = d < half;
  // a cos - b sin, or b cos + a sin.
  double first = isFirst ? exactA * cosine : exactB * cosine;
  double second = isFirst ? -exactB * sine : exactA * sine;
  float working = isFirst ? workingA * cosine - workingB * sine
                          : workingB * cosine + workingA * sine;
  return {first + second, fabs(first) + fabs(second),
          __bfloat162float(__float2bfloat16_rn(working))};
}

/// A block a token.
__global__ void __launch_bounds__(kThreads)
    computeQueries(d2k_rope_paged_kv_append_args args, d2k_expected out) {
  int64_t token = blockIdx.x, size = args.D;
  const auto *row = static_cast<const Bf16 *>(args.qkv) +
                    token * (args.Hq + 2 * args.Hkv) * size;
  const auto *w = args.norm ? static_cast<const Bf16 *>(args.wq) : nullptr;
  for (int64_t i = threadIdx.x; i < args.Hq * size; i += kThreads) {
    Element element =
        rotate(row + i / size * size, w, args.eps,
               args.table + args.pos[token] * size, i % size, size);
    int64_t at = token * args.Hq * size + i;
    out.exact[at] = element.exact;
    out.working[at] = element.working;
    out.magnitude[at] = float(element.magnitude);
  }
}

/// Everything is computed at once: it costs less than one trial's comparison.
extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_rope_paged_kv_append_args *>(arguments);
  if (args.T > INT32_MAX)
    return cudaErrorInvalidValue;
  computeQueries<<<unsigned(args.T), kThreads, 0, stream>>>(
      args, request->outputs[0]);
  return cudaGetLastError();
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

__global__ void clearCounts() { keyCount = differentCount = 0; }

/// A block a slot: its keys and values.
__global__ void __launch_bounds__(kThreads)
    judgeSlots(d2k_rope_paged_kv_append_args args, const Bf16 *got,
               int64_t explain, d2k_acceptance *result) {
  __shared__ int owner;
  int64_t slot = blockIdx.x, size = args.D;
  if (threadIdx.x == 0)
    owner = -1;
  __syncthreads();
  for (int64_t t = threadIdx.x; t < args.T; t += kThreads)
    if (args.slot[t] == slot)
      owner = int(t);
  __syncthreads();
  int64_t token = owner;
  const auto *before = static_cast<const Bf16 *>(args.cache);
  const auto *row = static_cast<const Bf16 *>(args.qkv) +
                    (token * (args.Hq + 2 * args.Hkv) + args.Hq) * size;
  const auto *w = args.norm ? static_cast<const Bf16 *>(args.wk) : nullptr;
  for (int isValue = 0; isValue < 2; ++isValue)
    for (int64_t i = threadIdx.x; i < args.Hkv * size; i += kThreads) {
      int64_t at =
          ((slot / args.page * 2 + isValue) * args.page + slot % args.page) *
              args.Hkv * size +
          i;
      double value = __bfloat162float(got[at]), expected, allowed = 0;
      bool fails;
      if (token >= 0 && !isValue) {
        Element element =
            rotate(row + i / size * size, w, args.eps,
                   args.table + args.pos[token] * size, i % size, size);
        expected = element.exact;
        allowed = kHalfUlp * fabs(expected) + kSumFactor * element.magnitude;
        // A NaN fails.
        fails = !(fabs(value - expected) <= allowed);
        atomicAdd(&keyCount, 1ull);
        if (value != double(__bfloat162float(__double2bfloat16(expected))))
          atomicAdd(&differentCount, 1ull);
      } else {
        Bf16 right = token >= 0 ? row[args.Hkv * size + i] : before[at];
        expected = __bfloat162float(right);
        fails = __bfloat16_as_ushort(got[at]) != __bfloat16_as_ushort(right);
      }
      atomicAdd(&result->compared, 1ull);
      if (fails) {
        atomicAdd(&result->failed, 1ull);
        atomicMin(&result->first_failed, static_cast<unsigned long long>(at));
      }
      if (at == explain) {
        result->expected = expected;
        result->got = value;
        result->allowed = allowed;
      }
    }
}

/// All the keys that are not the rounded exact value fail when they are too
/// many.
__global__ void judgeShare(d2k_acceptance *result) {
  if (differentCount * kDifferentOneIn > keyCount)
    result->failed += differentCount;
}

extern "C" int d2k_reference_accept(const void *arguments,
                                    const d2k_accept_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_rope_paged_kv_append_args *>(arguments);
  int64_t slots = args.pages * args.page;
  if (request->output != 1 || args.T > INT32_MAX || slots > INT32_MAX)
    return cudaErrorInvalidValue;
  clearCounts<<<1, 1, 0, stream>>>();
  judgeSlots<<<unsigned(slots), kThreads, 0, stream>>>(
      args, static_cast<const Bf16 *>(request->outputs[1]), request->explain,
      request->result);
  judgeShare<<<1, 1, 0, stream>>>(request->result);
  return cudaGetLastError();
}
