// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and expected values of attention_sliding_window. A unit is 32 packed
// query rows of one head, in O and in LSE.

#include "d2k_attention_sliding_window.h"

#include "d2k/Task/AttentionReference.cuh"
#include "d2k/Task/Draw.h"

#include <cstring>

using namespace d2k::attention;

/// The sequences of a workload where they are not all of the same length.
static std::vector<SequenceLength> getLengths(const char *workload) {
  if (std::strcmp(workload, "gpt_oss_120b_ragged") == 0)
    return {{1, 1},     {127, 127},   {128, 128},
            {129, 129}, {1000, 1000}, {3333, 3333}};
  if (std::strcmp(workload, "gpt_oss_120b_chunked") == 0)
    return {{1, 500}, {300, 300}, {100, 1000}, {65, 129}};
  return {};
}

/// The workload whose heads have no sinks.
static const char *const kWithoutSinks = "mistral_7b";

static Problem makeProblem(const d2k_attention_sliding_window_args &args) {
  Problem p = {};
  p.q = static_cast<const Bf16 *>(args.Q);
  p.k = static_cast<const Bf16 *>(args.K);
  p.v = static_cast<const Bf16 *>(args.V);
  p.sequences = args.B;
  p.tokensQ = args.Tq;
  p.tokensK = args.Tk;
  p.headsQ = args.Hq;
  p.headsK = args.Hkv;
  p.width = args.D;
  p.scale = args.scale;
  p.isCausal = true;
  p.window = args.W;
  p.sinks = args.sink;
  p.startsQ = args.cu_seqlens_q;
  p.startsK = args.cu_seqlens_k;
  return p;
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
}

extern "C" void d2k_reference_units(const void *arguments, int64_t *count,
                                    int64_t *always) {
  Problem p = makeProblem(
      *static_cast<const d2k_attention_sliding_window_args *>(arguments));
  *count = countUnits(p);
  *always = countUnitsAlways(p);
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  return computeForward(
      makeProblem(
          *static_cast<const d2k_attention_sliding_window_args *>(arguments)),
      request->outputs[0], request->outputs[1], request->tiles,
      request->tile_count, stream);
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_attention_sliding_window_args *>(arguments);
  if (request->perturbation)
    return cudaSuccess;
  Problem p = makeProblem(args);
  if (int error = writeStarts(p, getLengths(request->workload), stream))
    return error;
  // -infinity, which no distribution draws.
  if (std::strcmp(request->workload, kWithoutSinks) == 0 &&
      std::strcmp(request->trial, "large_sinks") != 0) {
    std::vector<float> sinks(size_t(args.Hq), -INFINITY);
    if (cudaError_t error = cudaMemcpyAsync(
            const_cast<float *>(args.sink), sinks.data(),
            sinks.size() * sizeof(float), cudaMemcpyHostToDevice, stream);
        error != cudaSuccess)
      return error;
  }
  if (std::strcmp(request->trial, "retrieval") == 0)
    return makeRetrieval(p, request->seed, stream);
  return cudaSuccess;
}
