// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and expected values of attention_block_sparse. A unit is 32 query rows
// of one head, in O and in LSE.

#include "d2k_attention_block_sparse.h"

#include "d2k/Task/AttentionReference.cuh"
#include "d2k/Task/Draw.h"

#include <cstring>
#include <vector>

using namespace d2k::attention;

static_assert(D2K_ATTENTION_BLOCK_SPARSE_BS == kListBlock,
              "blocks of the reference are those of the list");

static Problem makeProblem(const d2k_attention_block_sparse_args &args) {
  Problem p = {};
  p.q = static_cast<const Bf16 *>(args.Q);
  p.k = static_cast<const Bf16 *>(args.K);
  p.v = static_cast<const Bf16 *>(args.V);
  p.sequences = args.B;
  p.tokensQ = p.tokensK = args.B * args.S;
  p.headsQ = args.Hq;
  p.headsK = args.Hkv;
  p.width = D2K_ATTENTION_BLOCK_SPARSE_D;
  p.scale = args.scale;
  p.isCausal = true;
  p.rowStarts = args.row_ptr;
  p.columns = args.col_idx;
  return p;
}

/// What a query block of a head sees, of itself and the blocks before it.
struct RowPattern {
  /// Blocks from 0 on, blocks up to its own, and so many random ones of the
  /// others that come before it.
  int64_t first = 0, local = 0, random = 0;
};

static RowPattern getPattern(const char *workload, int64_t head, int64_t heads,
                             int64_t row) {
  auto isIt = [&](const char *name) {
    return std::strcmp(workload, name) == 0;
  };
  if (isIt("qwen3_8b_sinks_and_local"))
    return {8, 16, 0};
  if (isIt("llama3_8b_1m_top16"))
    return {0, 1, 15};
  if (isIt("one_partial_block"))
    return {0, (row + head) % 2 == 0, 0};
  if (isIt("mixed_densities_ragged")) {
    if ((row + head) % 13 == 5)
      return {};
    // 5% of the blocks up to the diagonal in the first head, 40% in the last.
    int64_t permille = 50 + 350 * head / (heads - 1);
    int64_t count = ((row + 1) * permille + 999) / 1000;
    if ((row + head) % 7 == 3 && count <= row)
      return {0, 0, count};
    return {0, 1, count - 1};
  }
  return {0, row + 1, 0};
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
}

extern "C" void d2k_reference_units(const void *arguments, int64_t *count,
                                    int64_t *always) {
  Problem p = makeProblem(
      *static_cast<const d2k_attention_block_sparse_args *>(arguments));
  *count = countUnits(p);
  *always = countUnitsAlways(p);
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  return computeForward(
      makeProblem(
          *static_cast<const d2k_attention_block_sparse_args *>(arguments)),
      request->outputs[0], request->outputs[1], request->tiles,
      request->tile_count, stream);
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_attention_block_sparse_args *>(arguments);
  if (request->perturbation)
    return cudaSuccess;
  int64_t blocks = (args.S + kListBlock - 1) / kListBlock;
  std::vector<int32_t> starts, columns;
  for (int64_t b = 0; b < args.B; ++b)
    for (int64_t head = 0; head < args.Hq; ++head) {
      for (int64_t row = 0; row < blocks; ++row) {
        starts.push_back(int32_t(columns.size()));
        RowPattern pattern = getPattern(request->workload, head, args.Hq, row);
        auto isFixed = [&](int64_t column) {
          return column < pattern.first || column > row - pattern.local;
        };
        // Selection sampling: each of the columns left is taken with the
        // probability that leaves the right number.
        int64_t left = 0;
        for (int64_t column = 0; column <= row; ++column)
          left += !isFixed(column) && column < row;
        int64_t wanted = pattern.random < left ? pattern.random : left;
        for (int64_t column = 0; column <= row; ++column) {
          if (isFixed(column)) {
            columns.push_back(int32_t(column));
            continue;
          }
          if (column == row)
            continue;
          uint64_t place =
              uint64_t(((b * args.Hq + head) * blocks + row) * blocks + column);
          uint64_t bits = d2k::task::drawBits(request->seed, 0x626c, place);
          if (int64_t(bits % uint64_t(left)) < wanted) {
            columns.push_back(int32_t(column));
            --wanted;
          }
          --left;
        }
      }
      // One more entry a head: where its last row ends.
      starts.push_back(int32_t(columns.size()));
    }
  if (int64_t(columns.size()) != args.nnz)
    return cudaErrorInvalidValue;
  cudaError_t error = cudaMemcpyAsync(
      const_cast<int32_t *>(args.row_ptr), starts.data(),
      starts.size() * sizeof(int32_t), cudaMemcpyHostToDevice, stream);
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(const_cast<int32_t *>(args.col_idx), columns.data(),
                            columns.size() * sizeof(int32_t),
                            cudaMemcpyHostToDevice, stream);
  if (error == cudaSuccess && std::strcmp(request->trial, "retrieval") == 0)
    return makeRetrieval(makeProblem(args), request->seed, stream);
  return error;
}
