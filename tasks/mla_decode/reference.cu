// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of mla_decode, and its lengths, table and cache. A row is a
// head of a query.

#include "d2k_mla_decode.h"

#include "d2k/Task/PagedAttentionReference.cuh"

using Bf16 = __nv_bfloat16;
using namespace d2k::task;

namespace {

constexpr int kPage = D2K_MLA_DECODE_P;

struct Problem : PagedProblem {
  static constexpr int kKeyWidth = D2K_MLA_DECODE_R;
  static constexpr int kValueWidth = D2K_MLA_DECODE_V;
  static constexpr int kThreads = 256;
  static constexpr bool kIsSplit = false;
  int64_t queries, heads;

  /// Earlier queries do not see the tokens of later ones.
  __device__ int64_t countVisible(int64_t b, int64_t row) const {
    return lengths[b] - (queries - 1 - row / heads);
  }
  /// A value is the first part of a key.
  __device__ const Bf16 *getToken(int64_t b, int64_t, int64_t t, bool) const {
    return cache + getPlace(b, t, 0, kIsSplit);
  }
};

} // namespace

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = 0;
  *columns = 0;
}

static Problem makeProblem(const d2k_mla_decode_args &args) {
  Problem problem = {};
  problem.q = static_cast<const Bf16 *>(args.q);
  problem.cache = static_cast<const Bf16 *>(args.cache);
  problem.table = args.block_table;
  problem.lengths = args.seq_lens;
  problem.sequences = args.B;
  problem.rows = args.Sq * args.H;
  problem.page = kPage;
  problem.tableColumns = (args.longest + kPage - 1) / kPage;
  problem.tokenWidth = Problem::kKeyWidth;
  problem.scale = args.scale;
  problem.queries = args.Sq;
  problem.heads = args.H;
  return problem;
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_mla_decode_args *>(arguments);
  return makePagedInputs(makeProblem(args),
                         spreadLengths(args.B, args.longest, args.tokens),
                         args.tokens, args.pages, *request, stream);
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_mla_decode_args *>(arguments);
  return computePagedAttention(makeProblem(args), request->outputs[0],
                               request->outputs[1], stream);
}
