// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of attention_decode_paged, and its lengths, table and cache.
// A row is a query head.

#include "d2k_attention_decode_paged.h"

#include "d2k/Task/PagedAttentionReference.cuh"

using Bf16 = __nv_bfloat16;
using namespace d2k::task;

namespace {

constexpr int kHead = D2K_ATTENTION_DECODE_PAGED_D;

struct Problem : PagedProblem {
  static constexpr int kKeyWidth = kHead, kValueWidth = kHead;
  static constexpr int kThreads = kHead;
  /// Keys of a page come first, then its values.
  static constexpr bool kIsSplit = true;
  int64_t queryHeads, keyHeads;

  __device__ int64_t countVisible(int64_t b, int64_t) const {
    return lengths[b];
  }
  __device__ const Bf16 *getToken(int64_t b, int64_t row, int64_t t,
                                  bool isValue) const {
    int64_t head = row / (queryHeads / keyHeads);
    return cache + getPlace(b, t, isValue, kIsSplit) + head * kHead;
  }
};

} // namespace

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

static Problem makeProblem(const d2k_attention_decode_paged_args &args) {
  Problem problem = {};
  problem.q = static_cast<const Bf16 *>(args.q);
  problem.cache = static_cast<const Bf16 *>(args.cache);
  problem.table = args.block_table;
  problem.lengths = args.seq_lens;
  problem.sequences = args.B;
  problem.rows = args.Hq;
  problem.page = args.page;
  problem.tableColumns = (args.longest + args.page - 1) / args.page;
  problem.tokenWidth = args.Hkv * kHead;
  problem.scale = args.scale;
  problem.queryHeads = args.Hq;
  problem.keyHeads = args.Hkv;
  return problem;
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_attention_decode_paged_args *>(arguments);
  return makePagedInputs(makeProblem(args), makeLengths(args), args.tokens,
                         args.pages, *request, stream);
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_attention_decode_paged_args *>(arguments);
  return computePagedAttention(makeProblem(args), request->outputs[0],
                               request->outputs[1], stream);
}
