// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of mamba2_ssd_scan: the recurrence, token by token, in fp64;
// and chunk by chunk in the working precision. A block a head of a sequence.

#include "d2k_mamba2_ssd_scan.h"

#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

using Bf16 = __nv_bfloat16;

constexpr int kHead = D2K_MAMBA2_SSD_SCAN_P;
constexpr int kState = D2K_MAMBA2_SSD_SCAN_N;

/// One head of one sequence: token t of x is at x + t * xStride, and so on.
struct Head {
  const Bf16 *x, *dt, *B, *C;
  int64_t xStride, dtStride, groupStride, tokens;
  const float *initial;
  float bias, A, D;
  /// Of y and of the state, where their first elements are.
  int64_t yOffset, stateOffset;
};

__device__ Head getHead(const d2k_mamba2_ssd_scan_args &args) {
  int64_t h = blockIdx.x, b = blockIdx.y;
  int64_t group = h / (args.H / args.G);
  Head head = {};
  head.yOffset = (b * args.T * args.H + h) * kHead;
  head.stateOffset = (b * args.H + h) * kHead * kState;
  int64_t groupOffset = (b * args.T * args.G + group) * kState;
  head.x = static_cast<const Bf16 *>(args.x) + head.yOffset;
  head.dt = static_cast<const Bf16 *>(args.dt) + b * args.T * args.H + h;
  head.B = static_cast<const Bf16 *>(args.B) + groupOffset;
  head.C = static_cast<const Bf16 *>(args.C) + groupOffset;
  head.xStride = args.H * kHead;
  head.dtStride = args.H;
  head.groupStride = args.G * kState;
  head.tokens = args.T;
  head.initial = args.initial_state + head.stateOffset;
  head.bias = args.dt_bias[h];
  head.A = args.A[h];
  head.D = args.D[h];
  return head;
}

//===----------------------------------------------------------------------===//
// Exact
//===----------------------------------------------------------------------===//

/// Eight lanes share a row of the state.
constexpr int kLanes = 8;
constexpr int kExactThreads = kHead * kLanes;
constexpr int kColumns = kState / kLanes;
/// Tokens that are loaded at a time.
constexpr int kStage = 16;

__global__ void __launch_bounds__(kExactThreads)
    scanExact(d2k_mamba2_ssd_scan_args args, double *y, double *finalState) {
  __shared__ float B[kStage][kState], C[kStage][kState], x[kStage][kHead];
  __shared__ double steps[kStage], decays[kStage];
  Head head = getHead(args);
  int row = int(threadIdx.x) / kLanes, lane = int(threadIdx.x) % kLanes;
  double state[kColumns];
  for (int i = 0; i < kColumns; ++i)
    state[i] = double(head.initial[row * kState + i * kLanes + lane]);
  for (int64_t first = 0; first < head.tokens; first += kStage) {
    int64_t left = head.tokens - first;
    int count = left < kStage ? int(left) : kStage;
    __syncthreads();
    for (int i = int(threadIdx.x); i < count * kState; i += kExactThreads) {
      int64_t at = (first + i / kState) * head.groupStride + i % kState;
      B[i / kState][i % kState] = __bfloat162float(head.B[at]);
      C[i / kState][i % kState] = __bfloat162float(head.C[at]);
    }
    for (int i = int(threadIdx.x); i < count * kHead; i += kExactThreads)
      x[i / kHead][i % kHead] = __bfloat162float(
          head.x[(first + i / kHead) * head.xStride + i % kHead]);
    if (int(threadIdx.x) < count) {
      double raw = double(__bfloat162float(
                       head.dt[(first + threadIdx.x) * head.dtStride])) +
                   double(head.bias);
      double step = fmax(raw, 0.0) + log1p(exp(-fabs(raw)));
      steps[threadIdx.x] = step;
      decays[threadIdx.x] = exp(step * double(head.A));
    }
    __syncthreads();
    for (int t = 0; t < count; ++t) {
      double scaled = steps[t] * double(x[t][row]), sum = 0;
      for (int i = 0; i < kColumns; ++i) {
        int column = i * kLanes + lane;
        state[i] = decays[t] * state[i] + scaled * double(B[t][column]);
        sum += state[i] * double(C[t][column]);
      }
      for (int step = kLanes / 2; step; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
      if (y && lane == 0)
        y[head.yOffset + (first + t) * head.xStride + row] =
            sum + double(head.D) * double(x[t][row]);
    }
  }
  if (finalState)
    for (int i = 0; i < kColumns; ++i)
      finalState[head.stateOffset + row * kState + i * kLanes + lane] =
          state[i];
}

//===----------------------------------------------------------------------===//
// Working precision
//===----------------------------------------------------------------------===//

constexpr int kChunk = 256;

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// A thread a token of the chunk; for the state, a column and half of the rows.
__global__ void __launch_bounds__(kChunk)
    scanChunks(d2k_mamba2_ssd_scan_args args, double *y, double *finalState) {
  extern __shared__ float shared[];
  float (*state)[kState] = reinterpret_cast<float (*)[kState]>(shared);
  __shared__ float steps[kChunk], sums[kChunk];
  Head head = getHead(args);
  int thread = int(threadIdx.x);
  for (int i = thread; i < kHead * kState; i += kChunk)
    shared[i] = head.initial[i];
  for (int64_t first = 0; first < head.tokens; first += kChunk) {
    int64_t left = head.tokens - first;
    int count = left < kChunk ? int(left) : kChunk;
    if (thread < count) {
      float raw = __bfloat162float(head.dt[(first + thread) * head.dtStride]) +
                  head.bias;
      steps[thread] = fmaxf(raw, 0.0f) + log1pf(expf(-fabsf(raw)));
    }
    __syncthreads();
    if (thread == 0) {
      float sum = 0;
      for (int t = 0; t < count; ++t) {
        sum += steps[t] * head.A;
        sums[t] = sum;
      }
    }
    __syncthreads();
    if (thread < count) {
      int64_t t = first + thread;
      const Bf16 *C = head.C + t * head.groupStride;
      float result[kHead] = {};
      for (int n = 0; n < kState; ++n) {
        float c = __bfloat162float(C[n]);
        for (int p = 0; p < kHead; ++p)
          result[p] += roundToBf16(state[p][n]) * c;
      }
      float decay = expf(sums[thread]);
      for (int p = 0; p < kHead; ++p)
        result[p] *= decay;
      for (int s = 0; s <= thread; ++s) {
        const Bf16 *B = head.B + (first + s) * head.groupStride;
        float product = 0;
        for (int n = 0; n < kState; ++n)
          product += __bfloat162float(C[n]) * __bfloat162float(B[n]);
        float weight =
            roundToBf16(product * expf(sums[thread] - sums[s]) * steps[s]);
        const Bf16 *x = head.x + (first + s) * head.xStride;
        for (int p = 0; p < kHead; ++p)
          result[p] += weight * __bfloat162float(x[p]);
      }
      const Bf16 *x = head.x + t * head.xStride;
      for (int p = 0; y && p < kHead; ++p)
        y[head.yOffset + t * head.xStride + p] =
            double(roundToBf16(result[p] + head.D * __bfloat162float(x[p])));
    }
    __syncthreads();
    constexpr int kRows = kHead / (kChunk / kState);
    int column = thread % kState, firstRow = thread / kState * kRows;
    float added[kRows] = {};
    for (int s = 0; s < count; ++s) {
      float b = roundToBf16(
          __bfloat162float(head.B[(first + s) * head.groupStride + column]) *
          expf(sums[count - 1] - sums[s]) * steps[s]);
      const Bf16 *x = head.x + (first + s) * head.xStride + firstRow;
      for (int i = 0; i < kRows; ++i)
        added[i] += __bfloat162float(x[i]) * b;
    }
    float decay = expf(sums[count - 1]);
    for (int i = 0; i < kRows; ++i) {
      float &place = state[firstRow + i][column];
      place = place * decay + added[i];
    }
    __syncthreads();
  }
  if (finalState)
    for (int i = thread; i < kHead * kState; i += kChunk)
      finalState[head.stateOffset + i] = double(shared[i]);
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_mamba2_ssd_scan_args *>(arguments);
  if (args.batch > 65535 || args.H > INT32_MAX)
    return cudaErrorInvalidValue;
  dim3 grid(unsigned(args.H), unsigned(args.batch));
  const d2k_expected &y = request->outputs[0];
  const d2k_expected &state = request->outputs[1];
  if (y.exact || state.exact)
    scanExact<<<grid, kExactThreads, 0, stream>>>(args, y.exact, state.exact);
  if (y.working || state.working)
    scanChunks<<<grid, kChunk, kHead * kState * sizeof(float), stream>>>(
        args, y.working, state.working);
  return cudaGetLastError();
}
