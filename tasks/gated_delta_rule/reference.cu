// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of gated_delta_rule: the recurrence, token by token, in fp64;
// and in the working precision chunk by chunk, in the UT form. A block a value
// head of a sequence. And the inputs that have a structure.

#include "d2k_gated_delta_rule.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cstring>

using Bf16 = __nv_bfloat16;
using namespace d2k::task;

constexpr int kHead = D2K_GATED_DELTA_RULE_D;

/// One head of one sequence: token t of q is at q + t * keyStride, and so on.
struct Head {
  const Bf16 *q, *k, *v, *beta;
  const float *g, *initial;
  int64_t keyStride, valueStride, gateStride, tokens;
  /// Of o and of the state, where their first elements are.
  int64_t outputOffset, stateOffset;
};

__device__ Head getHead(const d2k_gated_delta_rule_args &args) {
  int64_t h = blockIdx.x, b = blockIdx.y;
  int64_t first = args.cu_seqlens[b];
  int64_t keyOffset = (first * args.Hk + h / (args.Hv / args.Hk)) * kHead;
  Head head = {};
  head.outputOffset = (first * args.Hv + h) * kHead;
  head.stateOffset = (b * args.Hv + h) * kHead * kHead;
  head.q = static_cast<const Bf16 *>(args.q) + keyOffset;
  head.k = static_cast<const Bf16 *>(args.k) + keyOffset;
  head.v = static_cast<const Bf16 *>(args.v) + head.outputOffset;
  head.beta = static_cast<const Bf16 *>(args.beta) + first * args.Hv + h;
  head.g = args.g + first * args.Hv + h;
  head.initial = args.initial_state + head.stateOffset;
  head.keyStride = args.Hk * kHead;
  head.valueStride = args.Hv * kHead;
  head.gateStride = args.Hv;
  head.tokens = args.cu_seqlens[b + 1] - first;
  return head;
}

//===----------------------------------------------------------------------===//
// Exact
//===----------------------------------------------------------------------===//

/// Four lanes share a column of the state.
constexpr int kLanes = 4;
constexpr int kExactThreads = kHead * kLanes;
constexpr int kRows = kHead / kLanes;

__global__ void __launch_bounds__(kExactThreads)
    scanExact(d2k_gated_delta_rule_args args, double *o, double *finalState) {
  __shared__ double q[kHead], k[kHead];
  Head head = getHead(args);
  int column = int(threadIdx.x) / kLanes, lane = int(threadIdx.x) % kLanes;
  double state[kRows];
  for (int i = 0; i < kRows; ++i)
    state[i] = double(head.initial[(i * kLanes + lane) * kHead + column]);
  auto sumLanes = [](double sum) {
    for (int step = kLanes / 2; step; step /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
  };
  for (int64_t t = 0; t < head.tokens; ++t) {
    __syncthreads();
    if (threadIdx.x < kHead) {
      q[threadIdx.x] =
          double(__bfloat162float(head.q[t * head.keyStride + threadIdx.x]));
      k[threadIdx.x] =
          double(__bfloat162float(head.k[t * head.keyStride + threadIdx.x]));
    }
    __syncthreads();
    double decay = exp(double(head.g[t * head.gateStride]));
    double beta = double(__bfloat162float(head.beta[t * head.gateStride]));
    double value =
        double(__bfloat162float(head.v[t * head.valueStride + column]));
    double sum = 0;
    for (int i = 0; i < kRows; ++i) {
      state[i] *= decay;
      sum += state[i] * k[i * kLanes + lane];
    }
    double u = beta * (value - sumLanes(sum));
    sum = 0;
    for (int i = 0; i < kRows; ++i) {
      state[i] += k[i * kLanes + lane] * u;
      sum += state[i] * q[i * kLanes + lane];
    }
    sum = sumLanes(sum);
    if (o && lane == 0)
      o[head.outputOffset + t * head.valueStride + column] =
          double(args.scale) * sum;
  }
  if (finalState)
    for (int i = 0; i < kRows; ++i)
      finalState[head.stateOffset + (i * kLanes + lane) * kHead + column] =
          state[i];
}

//===----------------------------------------------------------------------===//
// Working precision
//===----------------------------------------------------------------------===//

constexpr int kChunk = 64;
constexpr int kThreads = 256;

struct ChunkMemory {
  float state[kHead][kHead];
  float U[kChunk][kHead], W[kChunk][kHead];
  float A[kChunk][kChunk], inverse[kChunk][kChunk];
  float sums[kChunk], betas[kChunk];
};

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

__device__ float multiplyRows(const Bf16 *a, const Bf16 *b) {
  float sum = 0;
  for (int d = 0; d < kHead; ++d)
    sum += __bfloat162float(a[d]) * __bfloat162float(b[d]);
  return sum;
}

/// With G_t the sum of g from the chunk's beginning, and S the state before it:
/// A[t][i] = beta_t e^(G_t - G_i) k_t.k_i for i < t, (I + A) U = beta (V - e^G
/// K S), o_t = scale (e^G_t S^T q_t + sum over i <= t of e^(G_t - G_i) q_t.k_i
/// u_i), and the state after it is e^G_end S + sum of e^(G_end - G_i) k_i
/// u_i^T.
__global__ void __launch_bounds__(kThreads)
    scanChunks(d2k_gated_delta_rule_args args, double *o, double *finalState) {
  extern __shared__ float shared[];
  ChunkMemory &memory = *reinterpret_cast<ChunkMemory *>(shared);
  Head head = getHead(args);
  int thread = int(threadIdx.x);
  for (int i = thread; i < kHead * kHead; i += kThreads)
    memory.state[i / kHead][i % kHead] = head.initial[i];
  for (int64_t first = 0; first < head.tokens; first += kChunk) {
    int64_t left = head.tokens - first;
    int count = left < kChunk ? int(left) : kChunk;
    const Bf16 *q = head.q + first * head.keyStride;
    const Bf16 *k = head.k + first * head.keyStride;
    const Bf16 *v = head.v + first * head.valueStride;
    __syncthreads();
    if (thread == 0) {
      float sum = 0;
      for (int t = 0; t < count; ++t) {
        sum += head.g[(first + t) * head.gateStride];
        memory.sums[t] = sum;
        memory.betas[t] =
            __bfloat162float(head.beta[(first + t) * head.gateStride]);
      }
    }
    __syncthreads();
    auto getDecay = [&](int from, int to) {
      return expf(memory.sums[to] - memory.sums[from]);
    };
    for (int i = thread; i < count * count; i += kThreads) {
      int t = i / count, s = i % count;
      memory.A[t][s] = s < t ? memory.betas[t] * getDecay(s, t) *
                                   multiplyRows(k + t * head.keyStride,
                                                k + s * head.keyStride)
                             : 0.0f;
    }
    __syncthreads();
    // The inverse of I + A, a thread a column.
    if (thread < count)
      for (int t = 0; t < count; ++t) {
        float sum = t == thread ? 1.0f : 0.0f;
        for (int s = thread; s < t; ++s)
          sum -= memory.A[t][s] * memory.inverse[s][thread];
        memory.inverse[t][thread] = t < thread ? 0.0f : sum;
      }
    __syncthreads();
    for (int i = thread; i < count * kHead; i += kThreads) {
      int t = i / kHead, d = i % kHead;
      float w = 0, u = 0;
      for (int s = 0; s <= t; ++s) {
        float factor = roundToBf16(memory.inverse[t][s]);
        float key = __bfloat162float(k[s * head.keyStride + d]);
        float value = __bfloat162float(v[s * head.valueStride + d]);
        w += factor * roundToBf16(memory.betas[s] * expf(memory.sums[s]) * key);
        u += factor * roundToBf16(memory.betas[s] * value);
      }
      memory.W[t][d] = roundToBf16(w);
      memory.U[t][d] = roundToBf16(u);
    }
    __syncthreads();
    for (int i = thread; i < count * kHead; i += kThreads) {
      int t = i / kHead, d = i % kHead;
      float sum = 0;
      for (int row = 0; row < kHead; ++row)
        sum += memory.W[t][row] * roundToBf16(memory.state[row][d]);
      memory.U[t][d] = roundToBf16(memory.U[t][d] - sum);
    }
    // Decayed q k^T where A was.
    for (int i = thread; i < count * count; i += kThreads) {
      int t = i / count, s = i % count;
      memory.A[t][s] = s <= t
                           ? roundToBf16(getDecay(s, t) *
                                         multiplyRows(q + t * head.keyStride,
                                                      k + s * head.keyStride))
                           : 0.0f;
    }
    __syncthreads();
    for (int i = thread; o && i < count * kHead; i += kThreads) {
      int t = i / kHead, d = i % kHead;
      float before = 0, within = 0;
      for (int row = 0; row < kHead; ++row)
        before += __bfloat162float(q[t * head.keyStride + row]) *
                  roundToBf16(memory.state[row][d]);
      for (int s = 0; s <= t; ++s)
        within += memory.A[t][s] * memory.U[s][d];
      o[head.outputOffset + (first + t) * head.valueStride + d] = double(
          roundToBf16(args.scale * (expf(memory.sums[t]) * before + within)));
    }
    __syncthreads();
    float decay = expf(memory.sums[count - 1]);
    for (int i = thread; i < kHead * kHead; i += kThreads) {
      int row = i / kHead, d = i % kHead;
      float sum = 0;
      for (int s = 0; s < count; ++s)
        sum += roundToBf16(getDecay(s, count - 1) *
                           __bfloat162float(k[s * head.keyStride + row])) *
               memory.U[s][d];
      memory.state[row][d] = memory.state[row][d] * decay + sum;
    }
  }
  __syncthreads();
  if (finalState)
    for (int i = thread; i < kHead * kHead; i += kThreads)
      finalState[head.stateOffset + i] =
          double(memory.state[i / kHead][i % kHead]);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

enum class Kind { Random, Basis, Correlated };

/// Rows of length 1, a block of kHead threads a row. Correlated: a direction
/// that all rows share and a third of its length in another one.
__global__ void drawRows(Bf16 *rows, Kind kind, bool isPerturbation,
                         uint64_t seed) {
  __shared__ double squares[kHead];
  int64_t row = blockIdx.x;
  int d = int(threadIdx.x);
  // Before a timed call one row in 256 is drawn anew.
  if (isPerturbation && drawBits(seed, 7, uint64_t(row)) % 256 != 0)
    return;
  DrawSpec spec;
  spec.kind = DrawKind::Normal;
  double value = drawValue(spec, seed, row * kHead + d);
  if (kind == Kind::Correlated)
    value = value / 3 + drawValue(spec, 1234, d);
  if (kind == Kind::Basis) {
    uint64_t bits = drawBits(seed, 8, uint64_t(row));
    value = bits % kHead == uint64_t(d) ? (bits >> 63 ? -1.0 : 1.0) : 0.0;
  }
  squares[d] = value * value;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < kHead; ++i)
    sum += squares[i];
  auto bits = uint16_t(encodeElement(DType::BFloat16, value / sqrt(sum)));
  rows[row * kHead + d] = __ushort_as_bfloat16(bits);
}

/// Where sequences begin: all alike where that comes out, else 1, 63, 64, 65,
/// 1000 tokens and the rest, or 1, 2, 3, ... and the rest.
__global__ void makeStarts(int32_t *starts, int64_t tokens, int64_t sequences) {
  constexpr int64_t kLengths[] = {1, 63, 64, 65, 1000};
  int64_t first = 0;
  for (int64_t b = 0; b < sequences; ++b) {
    starts[b] = int32_t(first);
    if (tokens % sequences == 0)
      first += tokens / sequences;
    else
      first += sequences == 6 && b < 5 ? kLengths[b] : b + 1;
  }
  starts[sequences] = int32_t(tokens);
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_gated_delta_rule_args *>(arguments);
  bool isPerturbation = request->perturbation != 0;
  if (!isPerturbation) {
    int64_t longest = args.B == 6 ? 1193 : args.B * (args.B - 1) / 2;
    if (args.T % args.B != 0 && args.T <= longest)
      return cudaErrorInvalidValue;
    makeStarts<<<1, 1, 0, stream>>>(const_cast<int32_t *>(args.cu_seqlens),
                                    args.T, args.B);
  }
  bool isBasis = std::strcmp(request->trial, "basis_vectors") == 0;
  bool isCorrelated = std::strcmp(request->trial, "correlated_keys") == 0;
  Kind kind = isBasis ? Kind::Basis : Kind::Random;
  auto rows = unsigned(args.T * args.Hk);
  drawRows<<<rows, kHead, 0, stream>>>(
      static_cast<Bf16 *>(const_cast<void *>(args.q)), kind, isPerturbation,
      drawBits(request->seed, 1, 0));
  drawRows<<<rows, kHead, 0, stream>>>(
      static_cast<Bf16 *>(const_cast<void *>(args.k)),
      isCorrelated ? Kind::Correlated : kind, isPerturbation,
      drawBits(request->seed, 2, 0));
  return cudaGetLastError();
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_gated_delta_rule_args *>(arguments);
  if (args.B > 65535 || args.Hv > INT32_MAX)
    return cudaErrorInvalidValue;
  dim3 grid(unsigned(args.Hv), unsigned(args.B));
  const d2k_expected &o = request->outputs[0];
  const d2k_expected &state = request->outputs[1];
  if (o.exact || state.exact)
    scanExact<<<grid, kExactThreads, 0, stream>>>(args, o.exact, state.exact);
  if (!o.working && !state.working)
    return cudaGetLastError();
  if (cudaError_t error = cudaFuncSetAttribute(
          scanChunks, cudaFuncAttributeMaxDynamicSharedMemorySize,
          int(sizeof(ChunkMemory))))
    return error;
  scanChunks<<<grid, kThreads, sizeof(ChunkMemory), stream>>>(args, o.working,
                                                              state.working);
  return cudaGetLastError();
}
