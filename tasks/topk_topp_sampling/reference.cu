// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judges the tokens of topk_topp_sampling in fp64. One block a row; sets of the
// order are "all columns with a larger logit, and of those with this logit the
// ones up to a column", and both numbers are found by bisection.

#include "d2k_topk_topp_sampling.h"

#include "d2k/Task/Reference.h"

#include <cstdint>

namespace {

constexpr int kThreads = 128;
constexpr double kNear = 1e-5;

/// The order of floats as that of unsigned numbers; both zeros are equal.
__device__ uint32_t getKey(float logit) {
  uint32_t bits = __float_as_uint(logit == 0 ? 0.0f : logit);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/// A prefix of the order.
struct Prefix {
  uint32_t key;
  int64_t lastColumn;

  __device__ bool has(uint32_t other, int64_t column) const {
    return other > key || (other == key && column <= lastColumn);
  }
};

/// One row, and the block that looks at it.
struct Row {
  const float *logits;
  int64_t columns;
  double most, temperature;
  double *partial;

  /// exp((logit - maximum) / temperature)
  __device__ double getWeight(int64_t column) const {
    return exp((double(logits[column]) - most) / temperature);
  }

  /// The sum over the columns that are `wanted` of their values, to all.
  template <typename Wanted, typename Value>
  __device__ double sum(Wanted wanted, Value value) const {
    double own = 0;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads)
      if (wanted(i, getKey(logits[i])))
        own += value(i);
    __syncthreads();
    partial[threadIdx.x] = own;
    __syncthreads();
    own = 0;
    for (int i = 0; i < kThreads; ++i)
      own += partial[i];
    return own;
  }

  /// The shortest prefix of `all` whose values sum to `target` or more. Equal
  /// logits have equal values. All of `all` when it has less.
  template <typename Value>
  __device__ Prefix findPrefix(const Prefix &all, double target,
                               Value value) const {
    // The largest key that is low enough.
    uint32_t key = 0;
    for (int bit = 31; bit >= 0; --bit) {
      uint32_t candidate = key | 1u << bit;
      double reached = sum(
          [&](int64_t i, uint32_t k) { return k >= candidate && all.has(k, i); },
          value);
      if (reached >= target)
        key = candidate;
    }
    double above = sum(
        [&](int64_t i, uint32_t k) { return k > key && all.has(k, i); }, value);
    // The column of the last one with this key, likewise.
    int64_t column = 0;
    for (int bit = 30; bit >= 0; --bit) {
      int64_t candidate = column | int64_t(1) << bit;
      if (candidate >= columns)
        continue;
      double before = sum(
          [&](int64_t i, uint32_t k) {
            return k == key && i < candidate && all.has(k, i);
          },
          value);
      if (above + before < target)
        column = candidate;
    }
    return {key, column};
  }
};

__device__ double one(int64_t) { return 1; }

/// Sums over a prefix up to a column.
struct Shares {
  double before, upTo, whole;
};

__device__ Shares getShares(const Row &row, const Prefix &prefix,
                            int64_t column) {
  auto weight = [&](int64_t i) { return row.getWeight(i); };
  auto sumTo = [&](int64_t end) {
    return row.sum(
        [&](int64_t i, uint32_t key) { return i < end && prefix.has(key, i); },
        weight);
  };
  return {sumTo(column), sumTo(column + 1), sumTo(row.columns)};
}

__global__ void __launch_bounds__(kThreads)
    judgeTokens(d2k_topk_topp_sampling_args args, d2k_accept_request request) {
  __shared__ double partial[kThreads];
  int64_t index = request.tiles ? request.tiles[blockIdx.x] : blockIdx.x;
  if (request.explain >= 0 && index != request.explain)
    return;
  Row row = {args.logits + index * args.V, args.V, -INFINITY,
             double(args.temperature[index]), partial};
  double most = -INFINITY;
  for (int64_t i = threadIdx.x; i < args.V; i += kThreads)
    most = fmax(most, double(row.logits[i]));
  partial[threadIdx.x] = most;
  __syncthreads();
  for (int i = 0; i < kThreads; ++i)
    most = fmax(most, partial[i]);
  row.most = most;
  auto weight = [&](int64_t i) { return row.getWeight(i); };

  Prefix allColumns = {0, args.V - 1};
  int64_t k = args.top_k[index];
  Prefix first = k == 0 || k >= args.V
                     ? allColumns
                     : row.findPrefix(allColumns, double(k), one);
  double whole = row.sum(
      [&](int64_t i, uint32_t key) { return first.has(key, i); }, weight);
  auto findNucleus = [&](double share) {
    share = share < 1 ? share : 1;
    return row.findPrefix(first, share * whole, weight);
  };
  double top = args.top_p[index];
  double u = args.u[index];
  Prefix shortest = findNucleus(top - kNear), longest = findNucleus(top + kNear);

  int64_t token = static_cast<const int32_t *>(request.outputs[0])[index];
  bool isAccepted = false;
  if (token >= 0 && token < args.V) {
    uint32_t key = getKey(row.logits[token]);
    // Of the prefixes between the two, no sum differs by more than their share.
    double between = (row.sum([&](int64_t i, uint32_t other) {
                       return longest.has(other, i) &&
                              !shortest.has(other, i);
                     }, weight)) / whole;
    double near = kNear + (between < 3 * kNear ? between / top : 0);
    for (const Prefix &prefix : {shortest, longest}) {
      Shares shares = getShares(row, prefix, token);
      isAccepted |= prefix.has(key, token) &&
                    shares.before / shares.whole <= u + near &&
                    shares.upTo / shares.whole >= u - near;
    }
  }
  // What it should be, for a message.
  int64_t expected = 0;
  if (request.explain >= 0) {
    Prefix nucleus = findNucleus(top);
    double mass = row.sum(
        [&](int64_t i, uint32_t key) { return nucleus.has(key, i); }, weight);
    // The number of columns at which no more than u is reached yet.
    for (int bit = 30; bit >= 0; --bit) {
      int64_t candidate = expected | int64_t(1) << bit;
      if (candidate >= args.V)
        continue;
      double before = row.sum(
          [&](int64_t i, uint32_t key) {
            return i < candidate && nucleus.has(key, i);
          },
          weight);
      if (before <= u * mass)
        expected = candidate;
    }
  }
  if (threadIdx.x != 0)
    return;
  if (request.explain >= 0) {
    request.result->expected = double(expected);
    request.result->got = double(token);
    request.result->allowed = 0;
    return;
  }
  atomicAdd(&request.result->compared, 1ull);
  if (!isAccepted) {
    atomicAdd(&request.result->failed, 1ull);
    atomicMin(&request.result->first_failed,
              static_cast<unsigned long long>(index));
  }
}

} // namespace

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

/// A unit is a row.
extern "C" void d2k_reference_units(const void *arguments, int64_t *count,
                                    int64_t *always) {
  *count = static_cast<const d2k_topk_topp_sampling_args *>(arguments)->B;
  *always = *count < 8 ? *count : 8;
}

extern "C" int d2k_reference_accept(const void *arguments,
                                    const d2k_accept_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_topk_topp_sampling_args *>(arguments);
  int64_t units = request->tiles ? request->tile_count : args.B;
  if (request->output != 0 || units > INT32_MAX || args.V > INT32_MAX)
    return cudaErrorInvalidValue;
  if (units == 0)
    return cudaSuccess;
  judgeTokens<<<unsigned(units), kThreads, 0, stream>>>(args, *request);
  return cudaGetLastError();
}

/// The one output is judged above.
extern "C" int d2k_reference(const void *, const d2k_reference_request *,
                             cudaStream_t) {
  return cudaSuccess;
}
