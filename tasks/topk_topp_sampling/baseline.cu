// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of topk_topp_sampling: one kernel, one block a row or, where
// there are few rows, a cluster of eight; no sort of the row: sorting it, as
// frameworks do, moves each logit about 20 times more.
//
// With top_k from 1 to kMostCandidates a quarter of a row is read first. The
// k-th largest of the threads' maxima there is no more than the k-th largest
// logit, so the columns of the row that reach it have all of K and are few, as
// long as logits lie in no order; they are ranked in shared memory.
//
// Otherwise sums of exponentials above a few logits bound N from below; the
// columns above that bound are copied, each thread's to places of its own, and
// the borders of K and N are found among them by bisection, two bits a pass.
// The blocks of a cluster share this work, and the other way each of them goes
// alone.

#include "d2k_topk_topp_sampling.h"

#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
/// Blocks of a row where there are few rows.
constexpr int kCluster = 8;
constexpr int64_t kFewRows = 16;
/// Room for candidates in shared memory; with equal logits there may be more,
/// and then the other way is taken.
constexpr int kMostCandidates = kThreads;
/// Of so many parts of a row the first says what a candidate is.
constexpr int kParts = 4;
constexpr float kLog2e = 1.4426950408889634f;

/// The order of floats as that of unsigned numbers; both zeros are equal.
__device__ unsigned getKey(float logit) {
  unsigned bits = __float_as_uint(logit == 0.0f ? 0.0f : logit);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

struct Shared {
  unsigned keys[kMostCandidates];
  int columns[kMostCandidates];
  /// By rank.
  float weights[kMostCandidates];
  int ranked[kMostCandidates];
  float partial[3][kWarps];
  unsigned maxima[kThreads];
  int size;
  unsigned threshold;
  int column;
};

/// Sums of three values a thread, to all threads.
__device__ float3 sumBlock(float3 value, Shared &shared) {
  for (int step = 16; step; step /= 2) {
    value.x += __shfl_xor_sync(0xffffffffu, value.x, step);
    value.y += __shfl_xor_sync(0xffffffffu, value.y, step);
    value.z += __shfl_xor_sync(0xffffffffu, value.z, step);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    shared.partial[0][threadIdx.x / 32] = value.x;
    shared.partial[1][threadIdx.x / 32] = value.y;
    shared.partial[2][threadIdx.x / 32] = value.z;
  }
  __syncthreads();
  value = make_float3(0, 0, 0);
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) {
    value.x += shared.partial[0][warp];
    value.y += shared.partial[1][warp];
    value.z += shared.partial[2][warp];
  }
  return value;
}

/// What the blocks of a row do together.
template <int kBlocks>
struct Team {
  /// Number of the thread, and how many there are.
  __device__ int getThread() const {
    return rank * kThreads + int(threadIdx.x);
  }
  static constexpr int kTeamThreads = kBlocks * kThreads;

  /// Sums of three values a thread, to all threads, the same in all blocks.
  __device__ float3 sum(float3 value) {
    value = sumBlock(value, shared);
    if (kBlocks == 1)
      return value;
    const float4 *turn = exchange(value);
    value = make_float3(0, 0, 0);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      float4 other = __ldcg(turn + block);
      value.x += other.x;
      value.y += other.y;
      value.z += other.z;
    }
    return value;
  }

  /// The largest column that a thread has, to all threads; -1 is none.
  __device__ int findLast(int column) {
    column = __reduce_max_sync(0xffffffffu, column);
    if (threadIdx.x == 0)
      shared.column = -1;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
      atomicMax(&shared.column, column);
    __syncthreads();
    column = shared.column;
    if (kBlocks == 1)
      return column;
    const float4 *turn = exchange(make_float3(float(column), 0, 0));
    for (int block = 0; block < kBlocks; ++block) {
      int other = int(__ldcg(turn + block).x);
      column = column > other ? column : other;
    }
    return column;
  }

  /// Where the values of all blocks are, each given by its first thread.
  __device__ const float4 *exchange(float3 value) {
    // A block that is a turn ahead writes to the other half; two turns ahead it
    // cannot be before all have read.
    float4 *turn = slots + turns++ % 2 * kBlocks;
    if (threadIdx.x == 0)
      __stcg(turn + rank, make_float4(value.x, value.y, value.z, 0));
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    return turn;
  }

  Shared &shared;
  /// In global memory, twice kBlocks.
  float4 *slots;
  int rank;
  int turns = 0;
};

/// Calls `visit(logit, column)` for each element of a row that is thread
/// `thread` of `threads` to visit, four a load.
template <typename Visit>
__device__ void visitRow(const float *logits, int size, int thread, int threads,
                         Visit visit) {
  constexpr int kUnroll = 4;
  const auto *vectors = reinterpret_cast<const float4 *>(logits);
  for (int first = thread; first < size / 4; first += threads * kUnroll) {
    float4 values[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (first + u * threads < size / 4)
        values[u] = vectors[first + u * threads];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      int vector = first + u * threads;
      if (vector >= size / 4)
        break;
      visit(values[u].x, 4 * vector);
      visit(values[u].y, 4 * vector + 1);
      visit(values[u].z, 4 * vector + 2);
      visit(values[u].w, 4 * vector + 3);
    }
  }
}

//===----------------------------------------------------------------------===//
// Few candidates
//===----------------------------------------------------------------------===//

/// The logit of the largest of \p size keys; every warp finds it.
__device__ float findMost(const unsigned *keys, int size) {
  unsigned most = 0;
  for (int i = int(threadIdx.x) % 32; i < size; i += 32)
    most = most > keys[i] ? most : keys[i];
  most = __reduce_max_sync(0xffffffffu, most);
  return __uint_as_float(most & 0x80000000u ? most & 0x7fffffffu : ~most);
}

/// The `rank`-th largest of the threads' maxima.
__device__ unsigned findThreshold(unsigned own, int rank) {
  // By bisection, because counting is cheap.
  unsigned key = 0;
  for (int bit = 31; bit >= 0; --bit) {
    unsigned candidate = key | 1u << bit;
    if (__syncthreads_count(own >= candidate) >= rank)
      key = candidate;
  }
  return key;
}

/// Samples from the first k of the candidates in shared memory.
__device__ int sampleCandidates(Shared &shared, int k, float most, float scale,
                                float topP, float u) {
  int size = shared.size;
  for (int i = int(threadIdx.x); i < size; i += kThreads) {
    unsigned key = shared.keys[i];
    int column = shared.columns[i], rank = 0;
    for (int j = 0; j < size; ++j)
      rank += shared.keys[j] > key ||
              (shared.keys[j] == key && shared.columns[j] < column);
    unsigned bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    shared.weights[rank] = exp2f((__uint_as_float(bits) - most) * scale);
    shared.ranked[rank] = column;
  }
  __syncthreads();
  k = k < size ? k : size;
  // Sums of the weights up to each rank: a scan by all threads.
  int i = int(threadIdx.x);
  float own = i < k ? shared.weights[i] : 0.0f, sum = own;
  for (int step = 1; step < 32; step *= 2) {
    float other = __shfl_up_sync(0xffffffffu, sum, step);
    sum += i % 32 >= step ? other : 0.0f;
  }
  if (i % 32 == 31)
    shared.partial[0][i / 32] = sum;
  __syncthreads();
  float before = 0, whole = 0;
  for (int warp = 0; warp < kWarps; ++warp) {
    before += warp < i / 32 ? shared.partial[0][warp] : 0.0f;
    whole += shared.partial[0][warp];
  }
  sum += before;
  // N: the ranks before which the share is not reached.
  int n = __syncthreads_count(i < k && sum - own < topP * whole);
  n = n > 0 ? n : 1;
  if (i == 0)
    shared.column = 0x7fffffff;
  float mass = 0, upTo = 0;
  int last = 0;
  __syncthreads();
  if (i < n) {
    int column = shared.ranked[i];
    for (int j = 0; j < n; ++j) {
      mass += shared.weights[j];
      upTo += shared.ranked[j] <= column ? shared.weights[j] : 0.0f;
      last = last > shared.ranked[j] ? last : shared.ranked[j];
    }
    if (upTo > u * mass || column == last)
      atomicMin(&shared.column, column);
  }
  __syncthreads();
  return shared.column;
}

//===----------------------------------------------------------------------===//
// Many candidates
//===----------------------------------------------------------------------===//

/// All columns with a larger key, and those with this key up to a column.
struct Prefix {
  unsigned key;
  int lastColumn;

  __device__ bool has(unsigned other, int column) const {
    return other > key || (other == key && column <= lastColumn);
  }
};

/// Columns of a row that a thread has, by fours: element i is in vector
/// i / 4 * stride of both, so that what the threads of a warp read is together.
/// No thread has more than it visits of the row, hence all fit.
struct List {
  uint4 *keys;
  int4 *columns;
  int stride;
  int size = 0;

  __device__ void append(unsigned key, int column) {
    int64_t at = int64_t(size / 4) * stride * 4 + size % 4;
    reinterpret_cast<unsigned *>(keys)[at] = key;
    reinterpret_cast<int *>(columns)[at] = column;
    ++size;
  }

  /// Calls `visit(key, column)` for each.
  template <typename Visit>
  __device__ void visit(Visit visit) const {
#pragma unroll 2
    for (int first = 0; first < size; first += 4) {
      uint4 four = keys[int64_t(first / 4) * stride];
      int4 places = columns[int64_t(first / 4) * stride];
      visit(four.x, places.x);
      if (first + 1 < size)
        visit(four.y, places.y);
      if (first + 2 < size)
        visit(four.z, places.z);
      if (first + 3 < size)
        visit(four.w, places.w);
    }
  }
};

/// The sums over a list of `value(key, column)` where `choose` has bits 0, 1
/// and 2.
template <typename Team, typename Choose, typename Value>
__device__ float3 sumList(const List &list, Team &team, Choose choose,
                          Value value) {
  float3 own = make_float3(0, 0, 0);
  list.visit([&](unsigned key, int column) {
    int chosen = choose(key, column);
    float amount = chosen ? value(key) : 0.0f;
    own.x += chosen & 1 ? amount : 0.0f;
    own.y += chosen & 2 ? amount : 0.0f;
    own.z += chosen & 4 ? amount : 0.0f;
  });
  return team.sum(own);
}

/// The largest number below 2^(2 * digits) for which `reached` of it holds;
/// `reached` tests three ascending numbers at once, and holds of 0.
template <typename Reached>
__device__ unsigned bisect(int digits, Reached reached) {
  unsigned found = 0;
  for (int digit = digits - 1; digit >= 0; --digit) {
    unsigned step = 1u << 2 * digit;
    found += step * unsigned(reached(found + step, found + 2 * step,
                                     found + 3 * step));
  }
  return found;
}

/// Columns are below 2^24, so that fp32 holds them.
constexpr int kColumnDigits = 12;

/// The shortest prefix of `all` whose values sum to `target`, or all of it.
template <typename Team, typename Value>
__device__ Prefix findPrefix(const List &list, const Prefix &all, float target,
                             Team &team, Value value) {
  unsigned key = bisect(16, [&](unsigned a, unsigned b, unsigned c) {
    float3 sums = sumList(
        list, team,
        [&](unsigned k, int column) {
          return all.has(k, column) ? (k >= a) | (k >= b) << 1 | (k >= c) << 2
                                    : 0;
        },
        value);
    return (sums.x >= target) + (sums.y >= target) + (sums.z >= target);
  });
  // What is above this key, how many have it, and the column of the only one.
  float3 own = make_float3(0, 0, 0);
  list.visit([&](unsigned k, int column) {
    if (!all.has(k, column))
      return;
    own.x += k > key ? value(k) : 0.0f;
    own.y += k == key ? 1.0f : 0.0f;
    own.z += k == key ? float(column) : 0.0f;
  });
  own = team.sum(own);
  float above = own.x;
  if (own.y == 1.0f)
    return {key, int(own.z)};
  unsigned column =
      bisect(kColumnDigits, [&](unsigned a, unsigned b, unsigned c) {
        float3 before = sumList(
            list, team,
            [&](unsigned k, int i) {
              return k == key && all.has(k, i)
                         ? (unsigned(i) < a) | (unsigned(i) < b) << 1 |
                               (unsigned(i) < c) << 2
                         : 0;
            },
            value);
        return (above + before.x < target) + (above + before.y < target) +
               (above + before.z < target);
      });
  return {key, int(column)};
}

template <int kBlocks>
__global__ void __launch_bounds__(kThreads)
    sample(const float *__restrict__ allLogits,
           const float *__restrict__ temperatures,
           const float *__restrict__ topPs, const float *__restrict__ us,
           const int *__restrict__ topKs, int *__restrict__ tokens,
           unsigned *__restrict__ workspace, float4 *slots, int columns) {
  __shared__ Shared shared;
  int64_t row = blockIdx.x / kBlocks;
  Team<kBlocks> team = {shared, slots + row * 2 * kBlocks,
                        int(blockIdx.x) % kBlocks};
  const float *logits = allLogits + row * columns;
  int k = topKs[row];
  float topP = topPs[row], u = us[row];
  if (k == 0 || k > columns)
    k = columns;

  unsigned own = 0;
  int thread = int(threadIdx.x);
  auto takeMaxima = [&](float logit, int) {
    unsigned key = getKey(logit);
    own = own > key ? own : key;
  };
  float scale = kLog2e / temperatures[row];
  unsigned threshold;
  // Of a short row each thread would have next to nothing of a part.
  int part =
      columns >= kThreads * 4 * kParts ? columns / kParts / 4 * 4 : columns;
  if (k <= kMostCandidates) {
    visitRow(logits, part, thread, kThreads, takeMaxima);
    threshold = findThreshold(own, k);
    if (threadIdx.x == 0)
      shared.size = 0;
    __syncthreads();
    visitRow(logits, columns, thread, kThreads, [&](float logit, int column) {
      unsigned key = getKey(logit);
      if (key < threshold)
        return;
      int place = atomicAdd(&shared.size, 1);
      if (place < kMostCandidates) {
        shared.keys[place] = key;
        shared.columns[place] = column;
      }
    });
    __syncthreads();
    if (shared.size <= kMostCandidates) {
      float most = findMost(shared.keys, shared.size);
      int token = sampleCandidates(shared, k, most, scale, topP, u);
      if (team.getThread() == 0)
        tokens[row] = token;
      return;
    }
  }

  visitRow(logits, columns, thread, kThreads, takeMaxima);
  shared.maxima[threadIdx.x] = own;
  __syncthreads();
  float most = findMost(shared.maxima, kThreads);
  auto weigh = [&](unsigned key) {
    unsigned bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    return exp2f((__uint_as_float(bits) - most) * scale);
  };
  // What is above three logits, and in all: 6, 12 and 24 octaves below.
  unsigned pivots[3];
#pragma unroll
  for (int i = 0; i < 3; ++i)
    pivots[i] = getKey(most - float(6 << i) / scale);
  float3 sums = make_float3(0, 0, 0), counts = make_float3(0, 0, 0);
  float whole = 0;
  thread = team.getThread();
  constexpr int kTeamThreads = Team<kBlocks>::kTeamThreads;
  visitRow(logits, columns, thread, kTeamThreads, [&](float logit, int) {
    unsigned key = getKey(logit);
    float weight = weigh(key);
    whole += weight;
    sums.x += key >= pivots[0] ? weight : 0.0f;
    sums.y += key >= pivots[1] ? weight : 0.0f;
    sums.z += key >= pivots[2] ? weight : 0.0f;
    counts.x += key >= pivots[0];
    counts.y += key >= pivots[1];
    counts.z += key >= pivots[2];
  });
  sums = team.sum(sums);
  counts = team.sum(counts);
  whole = team.sum(make_float3(whole, 0, 0)).x;
  // With a limit of k the list has to have k columns, else N's share.
  bool isLimited = k < columns;
  auto suffices = [&](float count, float sum) {
    return isLimited ? count >= float(k) : sum >= topP * whole;
  };
  threshold = suffices(counts.x, sums.x)   ? pivots[0]
              : suffices(counts.y, sums.y) ? pivots[1]
              : suffices(counts.z, sums.z) ? pivots[2]
                                           : 0;
  auto *vectors = reinterpret_cast<uint4 *>(workspace + row * columns * 2);
  List list = {vectors + thread,
               reinterpret_cast<int4 *>(vectors + columns / 4) + thread,
               kTeamThreads};
  visitRow(logits, columns, thread, kTeamThreads, [&](float logit, int column) {
    unsigned key = getKey(logit);
    if (key >= threshold)
      list.append(key, column);
  });

  Prefix kept = {0, columns - 1};
  if (isLimited) {
    kept =
        findPrefix(list, kept, float(k), team, [](unsigned) { return 1.0f; });
    whole = sumList(
                list, team,
                [&](unsigned key, int column) {
                  return int(kept.has(key, column));
                },
                weigh)
                .x;
  }
  kept = findPrefix(list, kept, topP * whole, team, weigh);
  float mass =
      sumList(
          list, team,
          [&](unsigned key, int column) { return int(kept.has(key, column)); },
          weigh)
          .x;
  // The largest column of N before which there is no more than u's share.
  unsigned end = bisect(kColumnDigits, [&](unsigned a, unsigned b, unsigned c) {
    float3 before = sumList(
        list, team,
        [&](unsigned key, int i) {
          return kept.has(key, i) ? (unsigned(i) < a) | (unsigned(i) < b) << 1 |
                                        (unsigned(i) < c) << 2
                                  : 0;
        },
        weigh);
    return (before.x <= u * mass) + (before.y <= u * mass) +
           (before.z <= u * mass);
  });
  // The last column of N up to there.
  int last = -1;
  list.visit([&](unsigned key, int column) {
    if (unsigned(column) <= end && kept.has(key, column))
      last = last > column ? last : column;
  });
  last = team.findLast(last);
  if (thread == 0)
    tokens[row] = last;
}

const char *identity = "hand-written, not yet called";

} // namespace

extern "C" const char *d2k_baseline_identity() { return identity; }

extern "C" int d2k_topk_topp_sampling(const d2k_topk_topp_sampling_args *args,
                                      void *workspace, size_t workspace_bytes,
                                      cudaStream_t stream) {
  size_t listBytes = size_t(args->B) * size_t(args->V) * 8;
  if (args->B > INT32_MAX || args->V >= 1 << 24 || args->V % 8 != 0 ||
      workspace_bytes < listBytes)
    return cudaErrorInvalidValue;
  auto *lists = static_cast<unsigned *>(workspace);
  auto *slots = reinterpret_cast<float4 *>(lists + args->B * args->V * 2);
  size_t slotBytes = size_t(args->B) * 2 * kCluster * sizeof(float4);
  // In a cluster not every thread would have a vector.
  bool isShort = args->V < kCluster * kThreads * 4;
  if (args->B > kFewRows || isShort ||
      workspace_bytes < listBytes + slotBytes) {
    identity = "one kernel, a block a row: candidates by the threads' maxima, "
               "else bisection";
    sample<1><<<unsigned(args->B), kThreads, 0, stream>>>(
        args->logits, args->temperature, args->top_p, args->u, args->top_k,
        args->token, lists, nullptr, int(args->V));
    return cudaGetLastError();
  }
  identity = "one kernel, a cluster of 8 blocks a row: candidates by the "
             "threads' maxima, else bisection";
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(args->B) * kCluster);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {kCluster, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(
      &config, sample<kCluster>, args->logits, args->temperature, args->top_p,
      args->u, args->top_k, args->token, lists, slots, int(args->V));
}
