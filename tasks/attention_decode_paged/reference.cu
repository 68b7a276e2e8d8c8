// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of attention_decode_paged in fp64, and its lengths, table and
// cache. One block a query head of a sequence, a thread a key and then a thread
// a column; scores are computed twice, first for the largest.

#include "d2k_attention_decode_paged.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/PagedCache.cuh"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cstring>
#include <vector>

using Bf16 = __nv_bfloat16;
using namespace d2k::task;

constexpr int kHead = D2K_ATTENTION_DECODE_PAGED_D;
constexpr int kThreads = kHead;
/// The error of lse, relative to S, that the rms of a result is compared with.
constexpr double kNominalError = 0x1p-22;

struct Attention {
  const Bf16 *q, *cache;
  const int32_t *table, *lengths;
  int64_t queryHeads, keyHeads, page, tableColumns;
  float scale;
};

/// Where the row of token \p t begins; \p isValue: that of V, else of K.
__device__ int64_t getRow(const Attention &attention, int64_t b, int64_t head,
                          int64_t t, bool isValue) {
  int64_t page =
      attention.table[b * attention.tableColumns + t / attention.page];
  int64_t slot = (page * 2 + isValue) * attention.page + t % attention.page;
  return (slot * attention.keyHeads + head) * kHead;
}

struct Score {
  double exact, magnitude;
  float working;
};

__device__ Score getScore(const Attention &attention, const Bf16 *q,
                          int64_t row) {
  double sum = 0, size = 0;
  float narrow = 0;
  for (int d = 0; d < kHead; ++d) {
    float a = __bfloat162float(q[d]);
    float b = __bfloat162float(attention.cache[row + d]);
    sum += double(a) * double(b);
    size += fabs(double(a) * double(b));
    narrow += a * b;
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
  int64_t b = blockIdx.y, h = blockIdx.x;
  int64_t head = h / (attention.queryHeads / attention.keyHeads);
  int64_t length = attention.lengths[b];
  int64_t output = b * attention.queryHeads + h;
  const Bf16 *q = attention.q + output * kHead;

  double largest = -INFINITY, size = 0;
  float largestWorking = -INFINITY;
  for (int64_t t = threadIdx.x; t < length; t += kThreads) {
    Score score = getScore(attention, q, getRow(attention, b, head, t, false));
    largest = fmax(largest, score.exact);
    largestWorking = fmaxf(largestWorking, score.working);
    size = fmax(size, score.magnitude);
  }
  auto larger = [](auto a, auto b) { return a > b ? a : b; };
  auto add = [](auto a, auto b) { return a + b; };
  largest = reduceBlock(largest, exactScratch, larger);
  size = reduceBlock(size, exactScratch, larger);
  largestWorking = reduceBlock(largestWorking, workingScratch, larger);

  double sum = 0, column = 0;
  float sumWorking = 0, columnWorking = 0;
  for (int64_t first = 0; first < length; first += kThreads) {
    int64_t t = first + threadIdx.x;
    double weight = 0;
    float weightWorking = 0;
    if (t < length) {
      Score score =
          getScore(attention, q, getRow(attention, b, head, t, false));
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
    for (int64_t i = 0; i < kThreads && first + i < length; ++i) {
      float value = __bfloat162float(
          attention.cache[getRow(attention, b, head, first + i, true) +
                          threadIdx.x]);
      column += exactScratch[i] * double(value);
      columnWorking += workingScratch[i] * value;
    }
  }
  sum = reduceBlock(sum, exactScratch, add);
  sumWorking = reduceBlock(sumWorking, workingScratch, add);

  int64_t at = output * kHead + threadIdx.x;
  if (O.exact)
    O.exact[at] = column / sum;
  if (O.working)
    O.working[at] = double(
        __bfloat162float(__float2bfloat16_rn(columnWorking / sumWorking)));
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

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

enum class Kind { Normal, UniformIntegers, LastToken };

/// Keys and values of all tokens, or of one in 256; a block a page of a
/// sequence, a warp a row. What is not written here stays NaN.
__global__ void drawTokens(Attention attention, Bf16 *cache, Kind kind,
                           bool isPerturbation, uint64_t seed) {
  int64_t b = blockIdx.y, first = int64_t(blockIdx.x) * attention.page;
  int64_t length = attention.lengths[b];
  int64_t rowSize = attention.keyHeads * kHead;
  for (int64_t row = threadIdx.x / 32; row < 2 * attention.page;
       row += blockDim.x / 32) {
    int64_t t = first + row % attention.page;
    bool isValue = row >= attention.page;
    if (t >= length)
      continue;
    if (isPerturbation && drawBits(seed, 7, uint64_t(b << 32 | t)) % 256 != 0)
      continue;
    DrawSpec spec;
    spec.type = DType::BFloat16;
    spec.kind = DrawKind::Normal;
    if (kind == Kind::LastToken && t == length - 1 && !isValue)
      spec.scale = 4;
    if (kind == Kind::UniformIntegers && isValue) {
      spec.kind = DrawKind::Integers;
      spec.low = -4;
      spec.high = 4;
    }
    int64_t to = getRow(attention, b, 0, t, isValue);
    int64_t index = ((b << 32 | t) * 2 + isValue) * rowSize;
    for (int64_t i = threadIdx.x % 32; i < rowSize; i += 32)
      cache[to + i] =
          __ushort_as_bfloat16(uint16_t(drawElement(spec, seed, index + i)));
  }
}

/// The lengths of a workload: evenly from a shortest to the longest, or those
/// beside multiples of a page and of powers of two.
static std::vector<int32_t>
makeLengths(const d2k_attention_decode_paged_args &args) {
  std::vector<int32_t> lengths =
      spreadLengths(args.B, args.longest, args.tokens);
  if (lengths.empty() && args.B == 17)
    lengths = {1,  15,  16,  17,  31,   32,   33,   63,  64,
               65, 127, 128, 129, 1000, 2047, 2048, 4095};
  return lengths;
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

static Attention getAttention(const d2k_attention_decode_paged_args &args) {
  return {static_cast<const Bf16 *>(args.q),
          static_cast<const Bf16 *>(args.cache),
          args.block_table,
          args.seq_lens,
          args.Hq,
          args.Hkv,
          args.page,
          (args.longest + args.page - 1) / args.page,
          args.scale};
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_attention_decode_paged_args *>(arguments);
  Attention attention = getAttention(args);
  auto *cache = static_cast<Bf16 *>(const_cast<void *>(args.cache));
  if (!request->perturbation) {
    if (int error = makePagedSequences(
            makeLengths(args), args.tokens, args.page, args.pages,
            attention.tableColumns, const_cast<int32_t *>(args.seq_lens),
            const_cast<int32_t *>(args.block_table), request->seed, stream))
      return error;
    // All bits set are a NaN.
    cudaMemsetAsync(cache, 0xff,
                    size_t(args.pages * 2 * args.page * args.Hkv * kHead) *
                        sizeof(Bf16),
                    stream);
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
  const auto &args =
      *static_cast<const d2k_attention_decode_paged_args *>(arguments);
  attend<<<dim3(unsigned(args.Hq), unsigned(args.B)), kThreads, 0, stream>>>(
      getAttention(args), request->outputs[0], request->outputs[1]);
  return cudaGetLastError();
}
