// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and expected values of attention_backward, in fp64 and in the working
// precision. A unit is 32 query rows of a query head in dQ, or 32 key rows of a
// key head in dK and dV. Either way a warp computes four of its rows and walks
// along the other side, a lane one row of 32 at a time: it recomputes the
// probabilities from LSE.

#include "d2k_attention_backward.h"

#include "d2k/Task/AttentionReference.cuh"

#include <cstring>

using namespace d2k::attention;

/// What the kernels need beside the problem of the forward pass.
struct Gradients {
  Problem p;
  const Bf16 *o, *gradientO;
  const float *lse;
  /// [tokens, heads, width]; null when not wanted.
  double *q, *k, *v;
};

/// Units are ordered as those of the forward pass, with query heads and then
/// key heads: the first and the last rows come first.
__host__ __device__ static int64_t countHeads(const Problem &p) {
  return p.headsQ + p.headsK;
}

__device__ static float roundGradient(float x) { return roundProbability(x); }
__device__ static double roundGradient(double x) { return x; }

template <typename Real>
__device__ double roundResult(Real value) {
  return sizeof(Real) == sizeof(float)
             ? __bfloat162float(__float2bfloat16_rn(float(value)))
             : double(value);
}

/// One unit a block. A lane has \p kColumns columns of the sums.
template <typename Real, int kColumns>
__global__ void __launch_bounds__(kThreads)
    computeGradients(Gradients g, const int64_t *units) {
  extern __shared__ double shared[]; // [2][kUnitRows][width]
  const Problem &p = g.p;
  constexpr int64_t kWidth = kColumns * 32;
  int64_t unit = units ? units[blockIdx.x] : int64_t(blockIdx.x);
  int64_t order = unit / countHeads(p), head = unit % countHeads(p);
  int64_t blocks = p.countRowBlocks();
  int64_t row0 = (order == 0   ? 0
                  : order == 1 ? blocks - 1
                               : order - 1) *
                 kUnitRows;
  bool isOfQueries = head < p.headsQ;
  int64_t group = p.headsQ / p.headsK;
  if (!isOfQueries)
    head -= p.headsQ;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;

  // Q and dO of queries, K and V of keys.
  auto *first = reinterpret_cast<Real *>(shared);
  Real *second = first + kUnitRows * kWidth;
  int64_t heads = isOfQueries ? p.headsQ : p.headsK;
  for (int64_t at = threadIdx.x; at < kUnitRows * kWidth; at += kThreads) {
    int64_t token = row0 + at / kWidth;
    bool isThere = token < p.tokensQ;
    int64_t from = (token * heads + head) * kWidth + at % kWidth;
    const Bf16 *a = isOfQueries ? p.q : p.k;
    const Bf16 *b = isOfQueries ? g.gradientO : p.v;
    first[at] = isThere ? Real(__bfloat162float(a[from])) : Real(0);
    second[at] = isThere ? Real(__bfloat162float(b[from])) : Real(0);
  }
  __syncthreads();
  first += warp * kWarpRows * kWidth;
  second += warp * kWarpRows * kWidth;
  row0 += warp * kWarpRows;

  Real toBase = 1 / kLogOfBase<Real>, scale = Real(p.scale) * toBase;
  Real one[kWarpRows][kColumns], two[kWarpRows][kColumns];
  for (int r = 0; r < kWarpRows; ++r)
    for (int c = 0; c < kColumns; ++c)
      one[r][c] = two[r][c] = 0;
  int64_t length = p.tokensQ / p.sequences;
  // LSE and delta of query token of a head.
  auto getLse = [&](int64_t token, int64_t headQ) {
    return Real(g.lse[headQ * p.tokensQ + token]) * toBase;
  };
  auto getDelta = [&](int64_t token, int64_t headQ) {
    Real sum = 0;
    int64_t at = (token * p.headsQ + headQ) * kWidth;
    for (int64_t d = 0; d < kWidth; ++d)
      sum += Real(__bfloat162float(g.gradientO[at + d])) *
             Real(__bfloat162float(g.o[at + d]));
    return sum;
  };
  Real lse[kWarpRows] = {}, delta[kWarpRows] = {};
  for (int r = 0; isOfQueries && r < kWarpRows; ++r)
    if (row0 + r < p.tokensQ) {
      lse[r] = getLse(row0 + r, head);
      delta[r] = getDelta(row0 + r, head);
    }

  // Rows of a warp may be of more than one sequence; all tokens of these are
  // visited, and who sees whom is decided for each pair. Keys are visited for
  // one query head after the other.
  int64_t end = row0 + kWarpRows < p.tokensQ ? row0 + kWarpRows : p.tokensQ;
  int64_t begin = isOfQueries ? row0 / length * length : row0;
  if (!isOfQueries)
    end = row0 < p.tokensQ ? ((end - 1) / length + 1) * length : 0;
  for (int64_t turn = 0; turn < (isOfQueries ? 1 : group); ++turn) {
    int64_t headQ = isOfQueries ? head : head * group + turn;
    int64_t headOther = isOfQueries ? head / group : headQ;
    int64_t headsOther = isOfQueries ? p.headsK : p.headsQ;
    const Bf16 *otherFirst = isOfQueries ? p.k : p.q;
    const Bf16 *otherSecond = isOfQueries ? p.v : g.gradientO;
    for (int64_t other0 = begin; other0 < end; other0 += 32) {
      int64_t other = other0 + lane;
      Real s[kWarpRows] = {}, t[kWarpRows] = {};
      Real otherLse = 0, otherDelta = 0;
      if (other < end) {
        int64_t at = (other * headsOther + headOther) * kWidth;
        for (int64_t d0 = 0; d0 < kWidth; d0 += 8) {
          alignas(16) Bf16 x[8], y[8]; // 16 bytes at once.
          *reinterpret_cast<uint4 *>(x) =
              *reinterpret_cast<const uint4 *>(otherFirst + at + d0);
          *reinterpret_cast<uint4 *>(y) =
              *reinterpret_cast<const uint4 *>(otherSecond + at + d0);
          for (int d = 0; d < 8; ++d) {
            Real xValue = Real(__bfloat162float(x[d]));
            Real yValue = Real(__bfloat162float(y[d]));
            for (int r = 0; r < kWarpRows; ++r) {
              s[r] += first[r * kWidth + d0 + d] * xValue;
              t[r] += second[r * kWidth + d0 + d] * yValue;
            }
          }
        }
        if (!isOfQueries) {
          otherLse = getLse(other, headQ);
          otherDelta = getDelta(other, headQ);
        }
      }
      Real probability[kWarpRows], gradient[kWarpRows];
      for (int r = 0; r < kWarpRows; ++r) {
        int64_t query = isOfQueries ? row0 + r : other;
        int64_t key = isOfQueries ? other : row0 + r;
        bool isVisible = other < end && query < p.tokensQ && key < p.tokensQ &&
                         key <= query && key / length == query / length;
        Real weight =
            isVisible ? power(scale * s[r] - (isOfQueries ? lse[r] : otherLse))
                      : Real(0);
        Real ds = weight * (t[r] - (isOfQueries ? delta[r] : otherDelta));
        probability[r] = roundProbability(weight);
        gradient[r] = isVisible ? roundGradient(ds) : Real(0);
      }
      for (int j = 0; j < 32 && other0 + j < end; ++j) {
        int64_t at = ((other0 + j) * headsOther + headOther) * kWidth + lane;
        Real x[kColumns], y[kColumns];
        for (int c = 0; c < kColumns; ++c) {
          x[c] = Real(__bfloat162float(otherFirst[at + 32 * c]));
          y[c] = isOfQueries ? Real(0)
                             : Real(__bfloat162float(otherSecond[at + 32 * c]));
        }
        for (int r = 0; r < kWarpRows; ++r) {
          Real weightOne = __shfl_sync(0xffffffffu, gradient[r], j);
          Real weightTwo = __shfl_sync(0xffffffffu, probability[r], j);
          for (int c = 0; c < kColumns; ++c) {
            one[r][c] += weightOne * x[c];
            two[r][c] += weightTwo * y[c];
          }
        }
      }
    }
  }

  for (int r = 0; r < kWarpRows; ++r) {
    if (row0 + r >= p.tokensQ)
      break;
    for (int c = 0; c < kColumns; ++c) {
      int64_t at = ((row0 + r) * heads + head) * kWidth + lane + 32 * c;
      double *to = isOfQueries ? g.q : g.k;
      if (to)
        to[at] = roundResult(one[r][c] * Real(p.scale));
      if (!isOfQueries && g.v)
        g.v[at] = roundResult(two[r][c]);
    }
  }
}

static Problem makeProblem(const d2k_attention_backward_args &args) {
  Problem p = {};
  p.q = static_cast<const Bf16 *>(args.Q);
  p.k = static_cast<const Bf16 *>(args.K);
  p.v = static_cast<const Bf16 *>(args.V);
  p.sequences = args.B;
  p.tokensQ = p.tokensK = args.B * args.S;
  p.headsQ = args.Hq;
  p.headsK = args.Hkv;
  p.width = args.D;
  p.scale = args.scale;
  p.isCausal = true;
  return p;
}

template <typename Real>
static int enqueue(const Gradients &g, const int64_t *units, int64_t count,
                   cudaStream_t stream) {
  auto *kernel =
      g.p.width == 64 ? computeGradients<Real, 2> : computeGradients<Real, 4>;
  int bytes = int(2 * kUnitRows * g.p.width * int64_t(sizeof(Real)));
  cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess)
    return error;
  kernel<<<unsigned(count), kThreads, size_t(bytes), stream>>>(g, units);
  return cudaGetLastError();
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
}

extern "C" void d2k_reference_units(const void *arguments, int64_t *count,
                                    int64_t *always) {
  Problem p =
      makeProblem(*static_cast<const d2k_attention_backward_args *>(arguments));
  int64_t blocks = p.countRowBlocks();
  *count = countHeads(p) * blocks;
  *always = countHeads(p) * (blocks < 2 ? 1 : 2);
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_attention_backward_args *>(arguments);
  const d2k_expected *out = request->outputs;
  Gradients g = {};
  g.p = makeProblem(args);
  g.o = static_cast<const Bf16 *>(args.O);
  g.gradientO = static_cast<const Bf16 *>(args.dO);
  g.lse = args.LSE;
  int64_t count = request->tiles ? request->tile_count
                                 : countHeads(g.p) * g.p.countRowBlocks();
  if (count == 0)
    return cudaSuccess;
  if (count > INT32_MAX || (args.D != 64 && args.D != 128))
    return cudaErrorInvalidValue;
  g.q = out[0].exact;
  g.k = out[1].exact;
  g.v = out[2].exact;
  if (int error = enqueue<double>(g, request->tiles, count, stream))
    return error;
  g.q = out[0].working;
  g.k = out[1].working;
  g.v = out[2].working;
  return enqueue<float>(g, request->tiles, count, stream);
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_attention_backward_args *>(arguments);
  // Of slightly other Q, K and V the old O and LSE do as well: the definition
  // is in terms of what is given.
  if (request->perturbation)
    return cudaSuccess;
  Problem p = makeProblem(args);
  int error = cudaSuccess;
  if (std::strcmp(request->trial, "retrieval") == 0)
    error = makeRetrieval(p, request->seed, stream, 64);
  if (error == cudaSuccess)
    error = computeRounded(p, static_cast<Bf16 *>(const_cast<void *>(args.O)),
                           const_cast<float *>(args.LSE), stream);
  return error;
}
