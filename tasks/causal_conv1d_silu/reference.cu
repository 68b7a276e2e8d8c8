// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of causal_conv1d_silu in fp64, and the lengths of its
// sequences. A thread an element: the whole costs less than comparing it.

#include "d2k_causal_conv1d_silu.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cstring>

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kTaps = D2K_CAUSAL_CONV1D_SILU_K;
/// Added to S: from z = -88.7 down exp(-z) is infinite in fp32 and silu zero,
/// while the exact value is up to 3e-37.
constexpr double kTiny = 1e-30;

struct Convolution {
  const Bf16 *x, *w;
  const float *bias;
  const int32_t *starts;
  const Bf16 *before;
  int64_t tokens, channels, sequences;
};

/// The sequence of row \p t.
__device__ int64_t findSequence(const Convolution &conv, int64_t t) {
  int64_t low = 0, high = conv.sequences - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (conv.starts[middle] <= t)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// Row \p row of sequence \p b, counted from its first token; from -3 on.
__device__ Bf16 getRow(const Convolution &conv, int64_t b, int64_t row,
                       int64_t c) {
  return row < 0
             ? conv.before[(b * (kTaps - 1) + row + kTaps - 1) * conv.channels +
                           c]
             : conv.x[(conv.starts[b] + row) * conv.channels + c];
}

__global__ void convolve(Convolution conv, d2k_expected y) {
  int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= conv.tokens * conv.channels)
    return;
  int64_t t = at / conv.channels, c = at % conv.channels;
  int64_t b = findSequence(conv, t);
  double z = double(conv.bias[c]), size = fabs(z);
  float narrow = conv.bias[c];
  for (int j = 0; j < kTaps; ++j) {
    float weight = __bfloat162float(conv.w[c * kTaps + j]);
    float value = __bfloat162float(
        getRow(conv, b, t - conv.starts[b] - (kTaps - 1) + j, c));
    z += double(weight) * double(value);
    size += fabs(double(weight) * double(value));
    narrow += weight * value;
  }
  double sigmoid = 1 / (1 + exp(-z));
  double result = z * sigmoid;
  double slope = sigmoid * (1 + z * (1 - sigmoid));
  if (y.exact)
    y.exact[at] = result;
  if (y.working)
    y.working[at] = double(
        __bfloat162float(__float2bfloat16_rn(narrow / (1 + expf(-narrow)))));
  if (y.magnitude)
    y.magnitude[at] = float(fabs(slope) * size + fabs(result) + kTiny);
}

__global__ void copyLastRows(Convolution conv, double *exact) {
  int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= conv.sequences * (kTaps - 1) * conv.channels)
    return;
  int64_t c = at % conv.channels;
  int64_t b = at / conv.channels / (kTaps - 1);
  int64_t row = at / conv.channels % (kTaps - 1) - (kTaps - 1);
  int64_t length = conv.starts[b + 1] - conv.starts[b];
  exact[at] = double(__bfloat162float(getRow(conv, b, length + row, c)));
}

/// Where sequences begin. Random: each gets one token and a random share of the
/// others. Else all are alike or, where that does not come out, the first ones
/// have 1, 2, 3, ... tokens and the last one the others.
__global__ void makeStarts(int32_t *starts, int64_t tokens, int64_t sequences,
                           bool isRandom, uint64_t seed) {
  auto draw = [&](int64_t b) {
    return int64_t(d2k::task::drawBits(seed, 0, uint64_t(b)) % 1000) + 1;
  };
  bool isRising = tokens % sequences != 0;
  if (isRising && sequences * (sequences - 1) / 2 >= tokens)
    isRandom = true;
  int64_t total = 0, sum = 0;
  for (int64_t b = 0; b < sequences; ++b)
    total += draw(b);
  for (int64_t b = 0; b < sequences; ++b) {
    starts[b] = int32_t(isRandom   ? b + (tokens - sequences) * sum / total
                        : isRising ? b * (b + 1) / 2
                                   : tokens / sequences * b);
    sum += draw(b);
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
  const auto &args =
      *static_cast<const d2k_causal_conv1d_silu_args *>(arguments);
  if (request->perturbation)
    return cudaSuccess;
  if (args.T > INT32_MAX || args.B > args.T)
    return cudaErrorInvalidValue;
  bool isRandom = std::strcmp(request->trial, "random_lengths") == 0;
  makeStarts<<<1, 1, 0, stream>>>(const_cast<int32_t *>(args.cu_seqlens),
                                  args.T, args.B, isRandom, request->seed);
  return cudaGetLastError();
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_causal_conv1d_silu_args *>(arguments);
  Convolution conv = {static_cast<const Bf16 *>(args.x),
                      static_cast<const Bf16 *>(args.w),
                      args.bias,
                      args.cu_seqlens,
                      static_cast<const Bf16 *>(args.initial_state),
                      args.T,
                      args.C,
                      args.B};
  auto countBlocks = [](int64_t elements) {
    return unsigned((elements + kThreads - 1) / kThreads);
  };
  if (args.T * args.C > int64_t(INT32_MAX) * kThreads)
    return cudaErrorInvalidValue;
  convolve<<<countBlocks(args.T * args.C), kThreads, 0, stream>>>(
      conv, request->outputs[0]);
  if (request->outputs[1].exact)
    copyLastRows<<<countBlocks(args.B * (kTaps - 1) * args.C), kThreads, 0,
                   stream>>>(conv, request->outputs[1].exact);
  return cudaGetLastError();
}
