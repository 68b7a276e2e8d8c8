// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of moe_permute_combine: a warp an expert walks over all pairs
// in order and hands out places; rows are copied, and combined in fp64 and in
// the working precision, fp32 in slot order. Also draws the experts.

#include "d2k_moe_permute_combine.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <cstring>

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kWarp = 32;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// How tokens choose experts.
enum class Routing {
  /// Each expert is as likely.
  Uniform,
  /// The first k of a random order of the experts, the same for all tokens.
  Same,
  /// Every other token has the last expert; low numbers are likelier.
  Hot,
};

constexpr int kMaxSlots = 16;

/// k different experts a token: the j-th is drawn from those that are left.
__global__ void __launch_bounds__(kThreads)
    drawExperts(int32_t *ids, int64_t tokens, int experts, int slots,
                Routing routing, uint64_t seed) {
  int64_t token = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (token >= tokens)
    return;
  // What was chosen before, ascending.
  int chosen[kMaxSlots];
  uint64_t stream = routing == Routing::Same ? 0 : uint64_t(token) + 1;
  int hotSlot = -1;
  if (routing == Routing::Hot && token % 2 == 0)
    hotSlot =
        int(d2k::task::drawBits(seed, stream, kMaxSlots) % uint64_t(slots));
  // The last expert is not drawn for another slot of such a token.
  int choices = hotSlot < 0 ? experts : experts - 1;
  int count = 0;
  for (int j = 0; j < slots; ++j) {
    if (j == hotSlot) {
      ids[token * slots + j] = experts - 1;
      continue;
    }
    double unit =
        d2k::task::toUnit(d2k::task::drawBits(seed, stream, uint64_t(j)));
    if (routing == Routing::Hot)
      unit *= unit;
    // The place among those that are left, and then the expert there.
    int expert = int(unit * double(choices - count));
    int at = 0;
    for (; at < count && chosen[at] <= expert; ++at)
      ++expert;
    for (int i = count; i > at; --i)
      chosen[i] = chosen[i - 1];
    chosen[at] = expert;
    ++count;
    ids[token * slots + j] = expert;
  }
}

/// All of ids, also before a timed call: routing is new for each.
extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_moe_permute_combine_args *>(arguments);
  if (args.k > kMaxSlots || args.k > args.E || args.E > INT32_MAX)
    return cudaErrorInvalidValue;
  Routing routing = Routing::Uniform;
  if (std::strcmp(request->trial, "same_experts") == 0 ||
      std::strcmp(request->workload, "deepseek_v3_one_hot") == 0)
    routing = Routing::Same;
  else if (std::strcmp(request->trial, "hot_expert") == 0)
    routing = Routing::Hot;
  drawExperts<<<unsigned((args.T + kThreads - 1) / kThreads), kThreads, 0,
                stream>>>(const_cast<int32_t *>(args.ids), args.T, int(args.E),
                          int(args.k), routing, request->seed);
  return cudaGetLastError();
}

//===----------------------------------------------------------------------===//
// Expected values
//===----------------------------------------------------------------------===//

/// Block e, one warp: offsets[e], and the places of its pairs. Block E writes
/// the last offset.
__global__ void __launch_bounds__(kWarp)
    placePairs(const int32_t *ids, int64_t pairs, double *offsets,
               double *pos) {
  int32_t expert = int32_t(blockIdx.x);
  int64_t place = 0;
  for (int64_t first = 0; first < pairs; first += kWarp) {
    int64_t pair = first + threadIdx.x;
    bool isBelow = pair < pairs && ids[pair] < expert;
    place += __popc(__ballot_sync(0xffffffffu, isBelow));
  }
  if (threadIdx.x == 0)
    offsets[expert] = double(place);
  for (int64_t first = 0; first < pairs; first += kWarp) {
    int64_t pair = first + threadIdx.x;
    bool isOwn = pair < pairs && ids[pair] == expert;
    unsigned own = __ballot_sync(0xffffffffu, isOwn);
    if (isOwn)
      pos[pair] = double(place + __popc(own & ((1u << threadIdx.x) - 1)));
    place += __popc(own);
  }
}

/// A block a token.
__global__ void __launch_bounds__(kThreads)
    computeRows(const Bf16 *x, const Bf16 *z, const float *w, const double *pos,
                double *permuted, d2k_expected y, int64_t hidden, int slots) {
  int64_t token = blockIdx.x;
  for (int64_t h = threadIdx.x; h < hidden; h += kThreads) {
    double value = __bfloat162float(x[token * hidden + h]);
    double exact = 0;
    float working = 0, magnitude = 0;
    for (int j = 0; j < slots; ++j) {
      int64_t at = int64_t(pos[token * slots + j]) * hidden + h;
      permuted[at] = value;
      float weight = w[token * slots + j];
      float term = __bfloat162float(z[at]);
      exact += double(weight) * double(term);
      working += weight * term;
      magnitude += fabsf(weight * term);
    }
    int64_t at = token * hidden + h;
    y.exact[at] = exact;
    y.working[at] = __bfloat162float(__float2bfloat16_rn(working));
    y.magnitude[at] = magnitude;
  }
}

/// Everything is computed at once: it costs less than one trial's comparison.
extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_moe_permute_combine_args *>(arguments);
  int64_t pairs = args.T * args.k;
  if (pairs > INT32_MAX)
    return cudaErrorInvalidValue;
  double *pos = request->outputs[2].exact;
  placePairs<<<unsigned(args.E + 1), kWarp, 0, stream>>>(
      args.ids, pairs, request->outputs[1].exact, pos);
  if (int error = cudaGetLastError())
    return error;
  computeRows<<<unsigned(args.T), kThreads, 0, stream>>>(
      static_cast<const Bf16 *>(args.X), static_cast<const Bf16 *>(args.Z),
      args.w, pos, request->outputs[0].exact, request->outputs[3], args.H,
      int(args.k));
  return cudaGetLastError();
}
