// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of attention over a paged cache in fp64, and the inputs of
// such tasks, for their references: O also in the working precision, the error
// of lse with a nominal one. One block a row of the result, a thread a token
// and then a thread its columns; scores are computed twice, first for the
// largest. What a row is and where its tokens are is the task's:
//
//   struct Problem : d2k::task::PagedProblem {
//     // Elements of a query and key, and of a value.
//     static constexpr int kKeyWidth = 128, kValueWidth = 128;
//     // A thread has kValueWidth / kThreads columns.
//     static constexpr int kThreads = 128;
//     // Keys and values lie apart, or values are the first part of keys.
//     static constexpr bool kIsSplit = true;
//     // Of a sequence's row: the tokens that it sees, and one of them.
//     __device__ int64_t countVisible(int64_t b, int64_t row) const;
//     __device__ const __nv_bfloat16 *
//     getToken(int64_t b, int64_t row, int64_t t, bool isValue) const;
//   };

#ifndef D2K_TASK_PAGEDATTENTIONREFERENCE_CUH
#define D2K_TASK_PAGEDATTENTIONREFERENCE_CUH

#include "d2k/Task/Draw.h"
#include "d2k/Task/PagedCache.cuh"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace d2k::task {

/// The error of lse, relative to its magnitude, that the rms of a result is
/// compared with: what approximate instructions (ex2.approx, lg2.approx) cost.
constexpr double kNominalLseError = 0x1p-22;

/// What all problems have.
struct PagedProblem {
  /// [sequences, rows, kKeyWidth], and pages of tokens.
  const __nv_bfloat16 *q, *cache;
  /// [sequences, tableColumns] and [sequences].
  const int32_t *table, *lengths;
  int64_t sequences, rows, page, tableColumns;
  /// Elements of a token in a page, and, when they lie apart, of its value.
  int64_t tokenWidth;
  float scale;

  /// Where the part \p isValue of token \p t begins in the cache.
  __device__ int64_t getPlace(int64_t b, int64_t t, int64_t isValue,
                              bool isSplit) const {
    int64_t of = table[b * tableColumns + t / page];
    int64_t slot = ((isSplit ? of * 2 + isValue : of) * page) + t % page;
    return slot * tokenWidth;
  }
};

/// One score, in both precisions, and the sum of the magnitudes of its terms.
struct PagedScore {
  double exact, magnitude;
  float working;
};

template <int kWidth>
__device__ PagedScore getPagedScore(const float *q, const __nv_bfloat16 *key,
                                    float scale) {
  double sum = 0, size = 0;
  float narrow = 0;
  // Eight numbers at a time: threads are in different rows.
  for (int first = 0; first < kWidth; first += 8) {
    uint4 words = *reinterpret_cast<const uint4 *>(key + first);
    __nv_bfloat16 values[8];
    memcpy(values, &words, sizeof(words));
    for (int i = 0; i < 8; ++i) {
      float a = q[first + i], b = __bfloat162float(values[i]);
      double product = double(a) * double(b);
      sum += product;
      size += fabs(product);
      narrow += a * b;
    }
  }
  return {sum * double(scale), size * fabs(double(scale)), narrow * scale};
}

/// Reduces one value a thread; all threads get the result.
template <int kThreads, typename T, typename Combine>
__device__ T reduceBlock(T value, T *scratch, Combine combine) {
  __syncthreads();
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      scratch[threadIdx.x] =
          combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    __syncthreads();
  }
  return scratch[0];
}

template <typename Problem>
__global__ void __launch_bounds__(Problem::kThreads)
    attendPaged(Problem problem, d2k_expected O, d2k_expected lse) {
  constexpr int kThreads = Problem::kThreads, kWidth = Problem::kKeyWidth;
  constexpr int kColumns = Problem::kValueWidth / kThreads;
  __shared__ double exactScratch[kThreads];
  __shared__ float workingScratch[kThreads];
  __shared__ float q[kWidth];
  int64_t b = blockIdx.y, row = blockIdx.x;
  int64_t visible = problem.countVisible(b, row);
  int64_t output = b * problem.rows + row;
  for (int d = int(threadIdx.x); d < kWidth; d += kThreads)
    q[d] = __bfloat162float(problem.q[output * kWidth + d]);
  __syncthreads();
  auto getScore = [&](int64_t t) {
    return getPagedScore<kWidth>(q, problem.getToken(b, row, t, false),
                                 problem.scale);
  };

  double largest = -INFINITY, size = 0;
  float largestWorking = -INFINITY;
  for (int64_t t = threadIdx.x; t < visible; t += kThreads) {
    PagedScore score = getScore(t);
    largest = fmax(largest, score.exact);
    largestWorking = fmaxf(largestWorking, score.working);
    size = fmax(size, score.magnitude);
  }
  auto larger = [](auto a, auto b) { return a > b ? a : b; };
  auto add = [](auto a, auto b) { return a + b; };
  largest = reduceBlock<kThreads>(largest, exactScratch, larger);
  size = reduceBlock<kThreads>(size, exactScratch, larger);
  largestWorking =
      reduceBlock<kThreads>(largestWorking, workingScratch, larger);

  double sum = 0, columns[kColumns] = {};
  float sumWorking = 0, columnsWorking[kColumns] = {};
  for (int64_t first = 0; first < visible; first += kThreads) {
    int64_t t = first + threadIdx.x;
    double weight = 0;
    float weightWorking = 0;
    if (t < visible) {
      PagedScore score = getScore(t);
      weight = exp(score.exact - largest);
      weightWorking = expf(score.working - largestWorking);
    }
    sum += weight;
    sumWorking += weightWorking;
    __syncthreads();
    exactScratch[threadIdx.x] = weight;
    workingScratch[threadIdx.x] =
        __bfloat162float(__float2bfloat16_rn(weightWorking));
    __syncthreads();
    for (int64_t i = 0; i < kThreads && first + i < visible; ++i) {
      const __nv_bfloat16 *values = problem.getToken(b, row, first + i, true);
      for (int j = 0; j < kColumns; ++j) {
        float value = __bfloat162float(values[j * kThreads + threadIdx.x]);
        columns[j] += exactScratch[i] * double(value);
        columnsWorking[j] += workingScratch[i] * value;
      }
    }
  }
  sum = reduceBlock<kThreads>(sum, exactScratch, add);
  sumWorking = reduceBlock<kThreads>(sumWorking, workingScratch, add);

  for (int j = 0; j < kColumns; ++j) {
    int64_t at =
        output * Problem::kValueWidth + j * kThreads + int64_t(threadIdx.x);
    if (O.exact)
      O.exact[at] = columns[j] / sum;
    if (O.working)
      O.working[at] = double(__bfloat162float(
          __float2bfloat16_rn(columnsWorking[j] / sumWorking)));
  }
  if (threadIdx.x != 0)
    return;
  if (lse.exact)
    lse.exact[output] = largest + log(sum);
  if (lse.working)
    lse.working[output] =
        double(float(largest + log(sum) + kNominalLseError * (1 + size)));
  if (lse.magnitude)
    lse.magnitude[output] = float(1 + size);
}

/// Enqueues the computation of all rows. The magnitude of lse is 1 + the
/// largest scale * sum |q||k| of the tokens that a row sees.
template <typename Problem>
int computePagedAttention(const Problem &problem, const d2k_expected &O,
                          const d2k_expected &lse, cudaStream_t stream) {
  attendPaged<<<dim3(unsigned(problem.rows), unsigned(problem.sequences)),
                Problem::kThreads, 0, stream>>>(problem, O, lse);
  return cudaGetLastError();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

enum class PagedKind { Normal, UniformIntegers, LastToken };

/// The rows of all tokens, or of one in 256; a block a page of a sequence, a
/// warp a row. What is not written here stays NaN.
template <typename Problem>
__global__ void drawTokens(Problem problem, PagedKind kind, bool isPerturbation,
                           uint64_t seed) {
  constexpr int64_t kParts = Problem::kIsSplit ? 2 : 1;
  int64_t b = blockIdx.y, first = int64_t(blockIdx.x) * problem.page;
  int64_t length = problem.lengths[b];
  for (int64_t row = threadIdx.x / 32; row < kParts * problem.page;
       row += blockDim.x / 32) {
    int64_t t = first + row % problem.page, part = row / problem.page;
    bool isKey = part == 0, isValue = part == kParts - 1;
    if (t >= length)
      continue;
    if (isPerturbation && drawBits(seed, 7, uint64_t(b << 32 | t)) % 256 != 0)
      continue;
    DrawSpec spec;
    spec.type = DType::BFloat16;
    spec.kind = DrawKind::Normal;
    if (kind == PagedKind::LastToken && t == length - 1 && isKey)
      spec.scale = 4;
    if (kind == PagedKind::UniformIntegers && isValue) {
      spec.kind = DrawKind::Integers;
      spec.low = -4;
      spec.high = 4;
    }
    auto *to = const_cast<__nv_bfloat16 *>(problem.cache) +
               problem.getPlace(b, t, part, Problem::kIsSplit);
    int64_t index = ((b << 32 | t) * kParts + part) * problem.tokenWidth;
    for (int64_t i = threadIdx.x % 32; i < problem.tokenWidth; i += 32)
      to[i] =
          __ushort_as_bfloat16(uint16_t(drawElement(spec, seed, index + i)));
  }
}

/// Writes lengths, table and cache, which has \p pages pages. Trials:
/// `uniform_integers` has small integers as values, `last_token` keys of 4
/// times the size for the last token.
template <typename Problem>
int makePagedInputs(const Problem &problem, std::vector<int32_t> lengths,
                    int64_t tokens, int64_t pages,
                    const d2k_inputs_request &request, cudaStream_t stream) {
  if (!request.perturbation) {
    if (int error = makePagedSequences(
            std::move(lengths), tokens, problem.page, pages,
            problem.tableColumns, const_cast<int32_t *>(problem.lengths),
            const_cast<int32_t *>(problem.table), request.seed, stream))
      return error;
    // All bits set are a NaN.
    int64_t elements =
        pages * problem.page * problem.tokenWidth * (Problem::kIsSplit ? 2 : 1);
    cudaMemsetAsync(const_cast<__nv_bfloat16 *>(problem.cache), 0xff,
                    size_t(elements) * sizeof(__nv_bfloat16), stream);
  }
  PagedKind kind = PagedKind::Normal;
  if (std::strcmp(request.trial, "uniform_integers") == 0)
    kind = PagedKind::UniformIntegers;
  if (std::strcmp(request.trial, "last_token") == 0)
    kind = PagedKind::LastToken;
  drawTokens<<<dim3(unsigned(problem.tableColumns),
                    unsigned(problem.sequences)),
               256, 0, stream>>>(problem, kind, request.perturbation != 0,
                                 request.seed);
  return cudaGetLastError();
}

} // namespace d2k::task

#endif // D2K_TASK_PAGEDATTENTIONREFERENCE_CUH
