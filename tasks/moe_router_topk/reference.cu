// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judges the outputs of moe_router_topk. One block a token computes its logits
// in fp64 and their bounds delta, and then looks whether the submission's ids
// are right for some logits within the bounds, and its weights for its ids.
// Counts and offsets are compared with the submission's ids alone.

#include "d2k_moe_router_topk.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int kMaxExperts = 1024;
constexpr int kMaxSlots = 16;
constexpr int kGroups = D2K_MOE_ROUTER_TOPK_GROUPS;
constexpr int kTopGroups = D2K_MOE_ROUTER_TOPK_TOP_GROUPS;
constexpr double kScale = 2.5;
/// delta as a part of the sum of magnitudes.
constexpr double kLogitError = 64 * 0x1p-23;
/// What sigmoids in fp32 may err by, relative to 1 + |bias|.
constexpr double kSigmoidError = 0x1p-20;
/// Relative error of weights beside that of the logits.
constexpr double kWeightError = 0x1p-16;
/// Of the weights' errors one in so many may be above a quarter of the bound.
constexpr unsigned long long kCoarseOneIn = 100;

/// Weights that err by more than a quarter of the bound.
__device__ unsigned long long coarseCount;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// -1/64, 0 or 1/64.
__global__ void __launch_bounds__(kThreads)
    drawWeights(Bf16 *weights, int64_t count, uint64_t seed) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * kThreads) {
    int step = int(d2k::task::drawBits(seed, 0, uint64_t(i)) % 3) - 1;
    weights[i] = __float2bfloat16_rn(float(step) * 0x1p-6f);
  }
}

/// Wr of the exact trial.
extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_moe_router_topk_args *>(arguments);
  drawWeights<<<1024, kThreads, 0, stream>>>(
      static_cast<Bf16 *>(const_cast<void *>(args.Wr)), args.E * args.H,
      request->seed);
  return cudaGetLastError();
}

//===----------------------------------------------------------------------===//
// One token
//===----------------------------------------------------------------------===//

/// The experts of a token, in shared memory.
struct Token {
  double logit[kMaxExperts];
  double delta[kMaxExperts];
  /// The score that experts are chosen by, and its bounds.
  double score[kMaxExperts], low[kMaxExperts], high[kMaxExperts];
};

__device__ double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/// Logits: a warp an expert.
__device__ void computeToken(Token &token, const d2k_moe_router_topk_args &args,
                             int64_t index, bool isExact) {
  const Bf16 *x = static_cast<const Bf16 *>(args.X) + index * args.H;
  for (int expert = int(threadIdx.x) / kWarp; expert < args.E;
       expert += kThreads / kWarp) {
    const Bf16 *weights = static_cast<const Bf16 *>(args.Wr) + expert * args.H;
    double sum = 0, magnitude = 0;
    for (int64_t h = threadIdx.x % kWarp; h < args.H; h += kWarp) {
      double product =
          double(__bfloat162float(x[h])) * double(__bfloat162float(weights[h]));
      sum += product;
      magnitude += fabs(product);
    }
    for (int step = kWarp / 2; step; step /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, step);
      magnitude += __shfl_xor_sync(0xffffffffu, magnitude, step);
    }
    if (threadIdx.x % kWarp != 0)
      continue;
    double delta = isExact ? 0 : kLogitError * magnitude;
    token.logit[expert] = token.score[expert] = sum;
    token.delta[expert] = delta;
    token.low[expert] = sum - delta;
    token.high[expert] = sum + delta;
    if (args.mode == 1) {
      double bias = args.bias[expert];
      double error = kSigmoidError * (1 + fabs(bias));
      token.score[expert] = sigmoid(sum) + bias;
      token.low[expert] = sigmoid(sum - delta) + bias - error;
      token.high[expert] = sigmoid(sum + delta) + bias + error;
    }
  }
}

/// What one thread finds out about a token.
class Judge {
public:
  __device__ Judge(const Token &token, const d2k_moe_router_topk_args &args)
      : token(token), bias(args.mode == 1 ? args.bias : nullptr),
        experts(int(args.E)), slots(int(args.k)) {}

  /// Whether the ids can be right.
  __device__ bool accepts(const int32_t *ids) const;
  /// In range, and all different.
  __device__ bool areExperts(const int32_t *ids) const;
  /// The ids of the definition.
  __device__ void choose(int32_t *ids) const;

private:
  __device__ int getSize() const { return experts / kGroups; }
  __device__ bool isOpen(unsigned groups, int expert) const {
    return !bias || (groups >> (expert / getSize()) & 1);
  }
  /// Both have the same exact score whatever is computed in fp32.
  __device__ bool areTied(int a, int b) const {
    return token.delta[a] == 0 && token.delta[b] == 0 &&
           token.logit[a] == token.logit[b] && (!bias || bias[a] == bias[b]);
  }
  __device__ bool mayPrecede(int a, int b) const {
    return areTied(a, b) ? a < b : token.high[a] >= token.low[b];
  }
  /// The experts with the largest and the second largest of \p values.
  __device__ void findTwo(const double *values, int group, int &first,
                          int &second) const;
  __device__ bool mayGroupPrecede(int a, int b) const;
  __device__ bool acceptsWithin(const int32_t *ids, unsigned groups) const;

  const Token &token;
  const float *bias;
  int experts, slots;
};

__device__ bool Judge::areExperts(const int32_t *ids) const {
  for (int i = 0; i < slots; ++i) {
    if (ids[i] < 0 || ids[i] >= experts)
      return false;
    for (int j = 0; j < i; ++j)
      if (ids[i] == ids[j])
        return false;
  }
  return true;
}

__device__ void Judge::findTwo(const double *values, int group, int &first,
                               int &second) const {
  int size = getSize();
  first = second = -1;
  for (int expert = group * size; expert < (group + 1) * size; ++expert)
    if (first < 0 || values[expert] > values[first]) {
      second = first;
      first = expert;
    } else if (second < 0 || values[expert] > values[second]) {
      second = expert;
    }
}

__device__ bool Judge::mayGroupPrecede(int a, int b) const {
  int a0, a1, b0, b1;
  findTwo(token.score, a, a0, a1);
  findTwo(token.score, b, b0, b1);
  if (areTied(a0, b0) && areTied(a1, b1))
    return a < b;
  findTwo(token.high, a, a0, a1);
  findTwo(token.low, b, b0, b1);
  return token.high[a0] + token.high[a1] >= token.low[b0] + token.low[b1];
}

/// With these groups to choose from: the ids are in order, and nothing that was
/// left out is surely better than one of them.
__device__ bool Judge::acceptsWithin(const int32_t *ids,
                                     unsigned groups) const {
  for (int i = 0; i < slots; ++i) {
    if (!isOpen(groups, ids[i]))
      return false;
    for (int j = i + 1; j < slots; ++j)
      if (!mayPrecede(ids[i], ids[j]))
        return false;
  }
  for (int other = 0; other < experts; ++other) {
    bool isLeftOut = isOpen(groups, other);
    for (int i = 0; i < slots; ++i)
      isLeftOut = isLeftOut && ids[i] != other;
    for (int i = 0; isLeftOut && i < slots; ++i)
      if (!mayPrecede(ids[i], other))
        return false;
  }
  return true;
}

__device__ bool Judge::accepts(const int32_t *ids) const {
  if (!areExperts(ids))
    return false;
  if (!bias)
    return acceptsWithin(ids, 0);
  unsigned used = 0;
  for (int i = 0; i < slots; ++i)
    used |= 1u << (ids[i] / getSize());
  // Of each group, those that may be left out when it is chosen.
  unsigned worse[kGroups] = {};
  for (int a = 0; a < kGroups; ++a)
    for (int b = 0; b < kGroups; ++b)
      if (a == b || mayGroupPrecede(a, b))
        worse[a] |= 1u << b;
  for (unsigned groups = 0; groups < 1u << kGroups; ++groups) {
    bool isChoice = __popc(groups) == kTopGroups && (used & ~groups) == 0;
    unsigned others = ~groups & ((1u << kGroups) - 1);
    for (int a = 0; a < kGroups; ++a)
      if (groups >> a & 1)
        isChoice = isChoice && (others & ~worse[a]) == 0;
    if (isChoice && acceptsWithin(ids, groups))
      return true;
  }
  return false;
}

__device__ void Judge::choose(int32_t *ids) const {
  unsigned groups = 0;
  for (int i = 0; bias && i < kTopGroups; ++i) {
    int best = -1;
    double most = 0;
    for (int group = 0; group < kGroups; ++group) {
      int first, second;
      findTwo(token.score, group, first, second);
      double sum = token.score[first] + token.score[second];
      if (!(groups >> group & 1) && (best < 0 || sum > most)) {
        best = group;
        most = sum;
      }
    }
    groups |= 1u << best;
  }
  for (int i = 0; i < slots; ++i) {
    ids[i] = -1;
    for (int expert = 0; expert < experts; ++expert) {
      bool isFree = isOpen(groups, expert);
      for (int j = 0; j < i; ++j)
        isFree = isFree && ids[j] != expert;
      if (isFree && (ids[i] < 0 || token.score[expert] > token.score[ids[i]]))
        ids[i] = expert;
    }
  }
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

__device__ void countFailure(d2k_acceptance *result, int64_t element) {
  atomicAdd(&result->failed, 1ull);
  atomicMin(&result->first_failed, static_cast<unsigned long long>(element));
}

/// Ids: one thread a block decides. A token counts as k elements, and when it
/// fails as one failure, where its first id differs from the definition's.
__global__ void __launch_bounds__(kThreads)
    judgeIds(d2k_moe_router_topk_args args, d2k_accept_request request) {
  extern __shared__ double storage[];
  Token &token = *reinterpret_cast<Token *>(storage);
  int64_t index = blockIdx.x;
  computeToken(token, args, index, request.exact);
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  Judge judge(token, args);
  const auto *ids =
      static_cast<const int32_t *>(request.outputs[0]) + index * args.k;
  atomicAdd(&request.result->compared, static_cast<unsigned long long>(args.k));
  if (judge.accepts(ids))
    return;
  int32_t right[kMaxSlots];
  judge.choose(right);
  int slot = 0;
  while (slot < args.k - 1 && ids[slot] == right[slot])
    ++slot;
  countFailure(request.result, index * args.k + slot);
  if (request.explain == index * args.k + slot) {
    request.result->expected = right[slot];
    request.result->got = ids[slot];
    request.result->allowed = 0;
  }
}

/// Weights: a thread a slot.
__global__ void __launch_bounds__(kThreads)
    judgeWeights(d2k_moe_router_topk_args args, d2k_accept_request request) {
  extern __shared__ double storage[];
  Token &token = *reinterpret_cast<Token *>(storage);
  int64_t index = blockIdx.x;
  computeToken(token, args, index, request.exact);
  __syncthreads();
  if (threadIdx.x >= args.k)
    return;
  const auto *ids =
      static_cast<const int32_t *>(request.outputs[0]) + index * args.k;
  int64_t element = index * args.k + threadIdx.x;
  double got = static_cast<const float *>(request.outputs[1])[element];
  atomicAdd(&request.result->compared, 1ull);
  if (!Judge(token, args).areExperts(ids)) {
    countFailure(request.result, element);
    return;
  }
  int own = ids[threadIdx.x];
  // What delta makes of exp(L) or sigmoid(L), relative: the derivative of the
  // logarithm of the latter is 1 - sigmoid.
  auto getError = [&](int expert) {
    double delta = token.delta[expert];
    return args.mode == 0 ? delta
                          : delta * (1 - sigmoid(token.logit[expert] - delta));
  };
  double sum = 0, largest = 0;
  for (int j = 0; j < args.k; ++j) {
    double logit = token.logit[ids[j]];
    sum += args.mode == 0 ? exp(logit - token.logit[own])
                          : sigmoid(logit) / sigmoid(token.logit[own]);
    largest = fmax(largest, getError(ids[j]));
  }
  double right = (args.mode == 0 ? 1.0 : kScale) / sum;
  double allowed = right * (getError(own) + largest + kWeightError);
  double error = fabs(got - right);
  // A NaN fails.
  if (!(error <= allowed))
    countFailure(request.result, element);
  else if (error > allowed / 4)
    atomicAdd(&coarseCount, 1ull);
  if (request.explain == element) {
    request.result->expected = right;
    request.result->got = got;
    request.result->allowed = allowed;
  }
}

__global__ void clearCoarse() { coarseCount = 0; }

/// All the weights that are rather wrong fail when they are too many.
__global__ void judgeCoarse(d2k_acceptance *result) {
  if (coarseCount * kCoarseOneIn > result->compared)
    result->failed += coarseCount;
}

/// Counts or offsets: block e sums over all ids.
__global__ void __launch_bounds__(kThreads)
    judgeCounts(d2k_accept_request request, int64_t pairs, bool isOffset) {
  __shared__ int partial[kThreads];
  const auto *ids = static_cast<const int32_t *>(request.outputs[0]);
  int expert = int(blockIdx.x), count = 0;
  for (int64_t pair = threadIdx.x; pair < pairs; pair += kThreads)
    count += isOffset ? ids[pair] < expert : ids[pair] == expert;
  partial[threadIdx.x] = count;
  __syncthreads();
  for (int half = kThreads / 2; half; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x != 0)
    return;
  int got =
      static_cast<const int32_t *>(request.outputs[isOffset ? 3 : 2])[expert];
  atomicAdd(&request.result->compared, 1ull);
  if (got != partial[0])
    countFailure(request.result, expert);
  if (request.explain == expert) {
    request.result->expected = partial[0];
    request.result->got = got;
    request.result->allowed = 0;
  }
}

extern "C" int d2k_reference_accept(const void *arguments,
                                    const d2k_accept_request *request,
                                    cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_moe_router_topk_args *>(arguments);
  if (args.E > kMaxExperts || args.k > kMaxSlots || args.T > INT32_MAX)
    return cudaErrorInvalidValue;
  switch (request->output) {
  case 0:
    judgeIds<<<unsigned(args.T), kThreads, sizeof(Token), stream>>>(args,
                                                                    *request);
    break;
  case 1:
    clearCoarse<<<1, 1, 0, stream>>>();
    judgeWeights<<<unsigned(args.T), kThreads, sizeof(Token), stream>>>(
        args, *request);
    judgeCoarse<<<1, 1, 0, stream>>>(request->result);
    break;
  case 2:
    judgeCounts<<<unsigned(args.E), kThreads, 0, stream>>>(
        *request, args.T * args.k, /*isOffset=*/false);
    break;
  case 3:
    judgeCounts<<<unsigned(args.E + 1), kThreads, 0, stream>>>(
        *request, args.T * args.k, /*isOffset=*/true);
    break;
  default:
    return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

/// All outputs are judged above, and all of each.
extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

extern "C" int d2k_reference(const void *, const d2k_reference_request *,
                             cudaStream_t) {
  return cudaSuccess;
}
