// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of mla_decode in fp64, and its lengths, table and cache. One
// block a head of a query, a thread a token and then a thread two columns;
// scores are computed twice, first for the largest.

#include "d2k_mla_decode.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/PagedCache.cuh"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cstring>

using Bf16 = __nv_bfloat16;
using namespace d2k::task;

constexpr int kRow = D2K_MLA_DECODE_R;
constexpr int kValues = D2K_MLA_DECODE_V;
constexpr int kPage = D2K_MLA_DECODE_P;
constexpr int kThreads = 256;
constexpr int kColumns = kValues / kThreads;
/// The error of lse, relative to S, that the rms of a result is compared with.
constexpr double kNominalError = 0x1p-22;

struct Attention {
  const Bf16 *q, *cache;
  const int32_t *table, *lengths;
  int64_t queries, heads, tableColumns;
  float scale;
};

__device__ int64_t getRow(const Attention &attention, int64_t b, int64_t t) {
  int64_t page = attention.table[b * attention.tableColumns + t / kPage];
  return (page * kPage + t % kPage) * kRow;
}

struct Score {
  double exact, magnitude;
  float working;
};

__device__ Score getScore(const Attention &attention, const float *q,
                          int64_t row) {
  double sum = 0, size = 0;
  float narrow = 0;
  // Eight numbers at a time: threads are in different rows.
  for (int first = 0; first < kRow; first += 8) {
    uint4 words =
        *reinterpret_cast<const uint4 *>(attention.cache + row + first);
    Bf16 values[8];
    memcpy(values, &words, sizeof(words));
    for (int i = 0; i < 8; ++i) {
      float a = q[first + i], b = __bfloat162float(values[i]);
      double product = double(a) * double(b);
      sum += product;
      size += fabs(product);
      narrow += a * b;
    }
  }
  double scale = double(attention.scale);
  return {sum * scale, size * fabs(scale), narrow * attention.scale};
}

/// Reduces one value a thread; all threads get the result.
template <typename T, typename Combine>
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

__global__ void __launch_bounds__(kThreads)
    attend(Attention attention, d2k_expected O, d2k_expected lse) {
  __shared__ double exactScratch[kThreads];
  __shared__ float workingScratch[kThreads];
  __shared__ float q[kRow];
  int64_t b = blockIdx.y, row = blockIdx.x;
  int64_t query = row / attention.heads;
  int64_t visible = attention.lengths[b] - (attention.queries - 1 - query);
  int64_t output = b * attention.queries * attention.heads + row;
  for (int d = int(threadIdx.x); d < kRow; d += kThreads)
    q[d] = __bfloat162float(attention.q[output * kRow + d]);
  __syncthreads();

  double largest = -INFINITY, size = 0;
  float largestWorking = -INFINITY;
  for (int64_t t = threadIdx.x; t < visible; t += kThreads) {
    Score score = getScore(attention, q, getRow(attention, b, t));
    largest = fmax(largest, score.exact);
    largestWorking = fmaxf(largestWorking, score.working);
    size = fmax(size, score.magnitude);
  }
  auto larger = [](auto a, auto b) { return a > b ? a : b; };
  auto add = [](auto a, auto b) { return a + b; };
  largest = reduceBlock(largest, exactScratch, larger);
  size = reduceBlock(size, exactScratch, larger);
  largestWorking = reduceBlock(largestWorking, workingScratch, larger);

  double sum = 0, columns[kColumns] = {};
  float sumWorking = 0, columnsWorking[kColumns] = {};
  for (int64_t first = 0; first < visible; first += kThreads) {
    int64_t t = first + threadIdx.x;
    double weight = 0;
    float weightWorking = 0;
    if (t < visible) {
      Score score = getScore(attention, q, getRow(attention, b, t));
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
      const Bf16 *values = attention.cache + getRow(attention, b, first + i);
      for (int j = 0; j < kColumns; ++j) {
        float value = __bfloat162float(values[j * kThreads + threadIdx.x]);
        columns[j] += exactScratch[i] * double(value);
        columnsWorking[j] += workingScratch[i] * value;
      }
    }
  }
  sum = reduceBlock(sum, exactScratch, add);
  sumWorking = reduceBlock(sumWorking, workingScratch, add);

  for (int j = 0; j < kColumns; ++j) {
    int64_t at = output * kValues + j * kThreads + threadIdx.x;
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
        double(float(largest + log(sum) + kNominalError * (1 + size)));
  if (lse.magnitude)
    lse.magnitude[output] = float(1 + size);
}

enum class Kind { Normal, UniformIntegers, LastToken };

/// The rows of all tokens, or of one in 256; a block a page of a sequence, a
/// warp a row. What is not written here stays NaN.
__global__ void drawTokens(Attention attention, Bf16 *cache, Kind kind,
                           bool isPerturbation, uint64_t seed) {
  int64_t b = blockIdx.y, first = int64_t(blockIdx.x) * kPage;
  int64_t length = attention.lengths[b];
  for (int64_t t = first + threadIdx.x / 32; t < first + kPage && t < length;
       t += blockDim.x / 32) {
    if (isPerturbation && drawBits(seed, 7, uint64_t(b << 32 | t)) % 256 != 0)
      continue;
    DrawSpec spec;
    spec.type = DType::BFloat16;
    spec.kind = DrawKind::Normal;
    if (kind == Kind::LastToken && t == length - 1)
      spec.scale = 4;
    if (kind == Kind::UniformIntegers) {
      spec.kind = DrawKind::Integers;
      spec.low = -4;
      spec.high = 4;
    }
    int64_t to = getRow(attention, b, t), index = (b << 32 | t) * kRow;
    for (int i = int(threadIdx.x) % 32; i < kRow; i += 32)
      cache[to + i] =
          __ushort_as_bfloat16(uint16_t(drawElement(spec, seed, index + i)));
  }
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

static Attention getAttention(const d2k_mla_decode_args &args) {
  return {static_cast<const Bf16 *>(args.q),
          static_cast<const Bf16 *>(args.cache),
          args.block_table,
          args.seq_lens,
          args.Sq,
          args.H,
          (args.longest + kPage - 1) / kPage,
          args.scale};
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_mla_decode_args *>(arguments);
  Attention attention = getAttention(args);
  auto *cache = static_cast<Bf16 *>(const_cast<void *>(args.cache));
  if (!request->perturbation) {
    if (int error = makePagedSequences(
            spreadLengths(args.B, args.longest, args.tokens), args.tokens,
            kPage, args.pages, attention.tableColumns,
            const_cast<int32_t *>(args.seq_lens),
            const_cast<int32_t *>(args.block_table), request->seed, stream))
      return error;
    // All bits set are a NaN.
    cudaMemsetAsync(cache, 0xff,
                    size_t(args.pages) * kPage * kRow * sizeof(Bf16), stream);
  }
  Kind kind = Kind::Normal;
  if (std::strcmp(request->trial, "uniform_integers") == 0)
    kind = Kind::UniformIntegers;
  if (std::strcmp(request->trial, "last_token") == 0)
    kind = Kind::LastToken;
  drawTokens<<<dim3(unsigned(attention.tableColumns), unsigned(args.B)), 256, 0,
               stream>>>(attention, cache, kind, request->perturbation != 0,
                         request->seed);
  return cudaGetLastError();
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_mla_decode_args *>(arguments);
  attend<<<dim3(unsigned(args.Sq * args.H), unsigned(args.B)), kThreads, 0,
           stream>>>(getAttention(args), request->outputs[0],
                     request->outputs[1]);
  return cudaGetLastError();
}
