// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of causal_conv1d_silu: one kernel, as serving code has it. A
// thread takes eight channels of a run of tokens, reads each row once in 16
// bytes and keeps the three rows before it in registers; four rows are in
// flight at a time. The thread that has a sequence's last token has its final
// state in those registers.

#include "d2k_causal_conv1d_silu.h"

#include <cuda_bf16.h>

#include <cstring>

namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kTaps = D2K_CAUSAL_CONV1D_SILU_K;
constexpr int kHistory = kTaps - 1;
/// Channels of a thread: 16 bytes.
constexpr int kVector = 8;
/// Rows that are loaded before the first of them is used.
constexpr int kInFlight = 4;
/// Tokens of a thread: many where there are threads enough, because each run
/// reads three rows more than it has.
constexpr int kLongRun = 32, kShortRun = 8;
/// Threads from which on long runs fill a GPU several times: an H200 has 67584
/// at a time.
constexpr int64_t kManyThreads = 1 << 18;

struct Tensors {
  const Bf16 *x, *w;
  const float *bias;
  const int32_t *starts;
  const Bf16 *before;
  Bf16 *y, *after;
  int64_t tokens, channels, sequences;
};

struct Row {
  float values[kVector];
};

__device__ Row load(const Bf16 *from) {
  uint4 words = *reinterpret_cast<const uint4 *>(from);
  __nv_bfloat162 pairs[kVector / 2];
  memcpy(pairs, &words, sizeof(words));
  Row row;
  for (int i = 0; i < kVector / 2; ++i) {
    float2 pair = __bfloat1622float2(pairs[i]);
    row.values[2 * i] = pair.x;
    row.values[2 * i + 1] = pair.y;
  }
  return row;
}

__device__ void store(Bf16 *to, const Row &row) {
  __nv_bfloat162 pairs[kVector / 2];
  for (int i = 0; i < kVector / 2; ++i)
    pairs[i] = __floats2bfloat162_rn(row.values[2 * i], row.values[2 * i + 1]);
  uint4 words;
  memcpy(&words, pairs, sizeof(words));
  *reinterpret_cast<uint4 *>(to) = words;
}

/// The last sequence that begins at or before token \p t.
__device__ int64_t findSequence(const Tensors &tensors, int64_t t) {
  int64_t low = 0, high = tensors.sequences - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (tensors.starts[middle] <= t)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// One output row of eight channels from four rows.
__device__ Row convolve(const Row (&taps)[kTaps], const Row &bias, const Row &a,
                        const Row &b, const Row &c, const Row &d) {
  Row result;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    float z = bias.values[i];
    z = fmaf(taps[0].values[i], a.values[i], z);
    z = fmaf(taps[1].values[i], b.values[i], z);
    z = fmaf(taps[2].values[i], c.values[i], z);
    z = fmaf(taps[3].values[i], d.values[i], z);
    result.values[i] = __fdividef(z, 1.0f + __expf(-z));
  }
  return result;
}

template <int kRun>
__global__ void __launch_bounds__(kThreads) convolveRuns(Tensors tensors) {
  int64_t channels = tensors.channels;
  int64_t vectors = channels / kVector;
  int64_t index = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  int64_t t = index / vectors * kRun;
  if (t >= tensors.tokens)
    return;
  int64_t channel = index % vectors * kVector;
  int64_t end = t + kRun < tensors.tokens ? t + kRun : tensors.tokens;

  // The four taps of a channel are 8 bytes.
  Row taps[kTaps], bias;
#pragma unroll
  for (int i = 0; i < kVector / 2; ++i) {
    Row two = load(tensors.w + (channel + 2 * i) * kTaps);
#pragma unroll
    for (int j = 0; j < kTaps; ++j) {
      taps[j].values[2 * i] = two.values[j];
      taps[j].values[2 * i + 1] = two.values[kTaps + j];
    }
  }
#pragma unroll
  for (int i = 0; i < kVector; i += 4) {
    float4 four = *reinterpret_cast<const float4 *>(tensors.bias + channel + i);
    bias.values[i] = four.x;
    bias.values[i + 1] = four.y;
    bias.values[i + 2] = four.z;
    bias.values[i + 3] = four.w;
  }

  const Bf16 *x = tensors.x + channel;
  Bf16 *y = tensors.y + channel;
  int64_t b = findSequence(tensors, t);
  Row history[kHistory];
  // Rows before this run: of the same sequence, or of its initial state.
#pragma unroll
  for (int i = 0; i < kHistory; ++i) {
    int64_t row = t - tensors.starts[b] - kHistory + i;
    history[i] =
        load(row < 0 ? tensors.before +
                           (b * kHistory + kHistory + row) * channels + channel
                     : x + (t - kHistory + i) * channels);
  }
  while (true) {
    int64_t last = tensors.starts[b + 1];
    int64_t stop = end < last ? end : last;
    for (; t + kInFlight <= stop; t += kInFlight) {
      Row rows[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i)
        rows[i] = load(x + (t + i) * channels);
      store(y + t * channels,
            convolve(taps, bias, history[0], history[1], history[2], rows[0]));
      store(y + (t + 1) * channels,
            convolve(taps, bias, history[1], history[2], rows[0], rows[1]));
      store(y + (t + 2) * channels,
            convolve(taps, bias, history[2], rows[0], rows[1], rows[2]));
      store(y + (t + 3) * channels,
            convolve(taps, bias, rows[0], rows[1], rows[2], rows[3]));
#pragma unroll
      for (int i = 0; i < kHistory; ++i)
        history[i] = rows[kInFlight - kHistory + i];
    }
    for (; t < stop; ++t) {
      Row row = load(x + t * channels);
      store(y + t * channels,
            convolve(taps, bias, history[0], history[1], history[2], row));
      history[0] = history[1];
      history[1] = history[2];
      history[2] = row;
    }
    if (t < last)
      return;
    // bf16 to fp32 and back is exact.
#pragma unroll
    for (int i = 0; i < kHistory; ++i)
      store(tensors.after + (b * kHistory + i) * channels + channel,
            history[i]);
    if (t >= end)
      return;
    ++b;
#pragma unroll
    for (int i = 0; i < kHistory; ++i)
      history[i] =
          load(tensors.before + (b * kHistory + i) * channels + channel);
  }
}

template <int kRun>
int launch(const Tensors &tensors, cudaStream_t stream) {
  int64_t threads =
      (tensors.tokens + kRun - 1) / kRun * (tensors.channels / kVector);
  int64_t blocks = (threads + kThreads - 1) / kThreads;
  if (blocks > INT32_MAX)
    return cudaErrorInvalidValue;
  convolveRuns<kRun><<<unsigned(blocks), kThreads, 0, stream>>>(tensors);
  return cudaGetLastError();
}

} // namespace

extern "C" const char *d2k_baseline_identity() {
  return "one kernel: eight channels and a run of 8 or 32 tokens a thread, "
         "rows kept in registers";
}

extern "C" int d2k_causal_conv1d_silu(const d2k_causal_conv1d_silu_args *args,
                                      void *, size_t, cudaStream_t stream) {
  Tensors tensors = {static_cast<const Bf16 *>(args->x),
                     static_cast<const Bf16 *>(args->w),
                     args->bias,
                     args->cu_seqlens,
                     static_cast<const Bf16 *>(args->initial_state),
                     static_cast<Bf16 *>(args->y),
                     static_cast<Bf16 *>(args->final_state),
                     args->T,
                     args->C,
                     args->B};
  if (args->T / kLongRun * (args->C / kVector) >= kManyThreads)
    return launch<kLongRun>(tensors, stream);
  return launch<kShortRun>(tensors, stream);
}
