// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and expected values of attention_prefill_gqa. A unit is 32 packed
// query rows of one head, in O and in LSE.

#include "d2k_attention_prefill_gqa.h"

#include "d2k/Task/AttentionReference.cuh"
#include "d2k/Task/Draw.h"

#include <cstring>

using namespace d2k::attention;

/// The sequences of a workload where they are not all of the same length.
static std::vector<SequenceLength> getLengths(const char *workload) {
  if (std::strcmp(workload, "llama3_8b_chunked_ragged") == 0)
    return {{1, 1},     {1, 778},    {17, 17},     {17, 794},   {128, 905},
            {333, 333}, {333, 1110}, {1000, 1777}, {2048, 2048}};
  if (std::strcmp(workload, "qwen3_next_short") == 0)
    return {{1, 1025}, {63, 63}, {65, 240}, {62, 62}, {700, 700}};
  return {};
}

static Problem makeProblem(const d2k_attention_prefill_gqa_args &args) {
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
  p.isCausal = args.causal != 0;
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
      *static_cast<const d2k_attention_prefill_gqa_args *>(arguments));
  *count = countUnits(p);
  *always = countUnitsAlways(p);
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  return computeForward(
      makeProblem(
          *static_cast<const d2k_attention_prefill_gqa_args *>(arguments)),
      request->outputs[0], request->outputs[1], request->tiles,
      request->tile_count, stream);
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_attention_prefill_gqa_args *>(arguments);
  if (request->perturbation)
    return cudaSuccess;
  Problem p = makeProblem(args);
  if (int error = writeStarts(p, getLengths(request->workload), stream))
    return error;
  if (std::strcmp(request->trial, "retrieval") == 0)
    return makeRetrieval(p, request->seed, stream);
  return cudaSuccess;
}
