// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of attention_block_sparse: attention with an online softmax that
// walks along the list, on wgmma where the chip has it
// (d2k/Baseline/WgmmaAttention.cuh) and on mma.sync elsewhere
// (d2k/Baseline/FlashAttention.cuh). No library takes such a list, and dense
// attention at twice the rate is slower at the densities of the workloads (6%
// to 22% of the blocks).

#include "d2k_attention_block_sparse.h"

#include "d2k/Baseline/WgmmaAttention.cuh"

using namespace d2k::baseline;

static_assert(D2K_ATTENTION_BLOCK_SPARSE_BS == kListBlock,
              "a block of the kernel is one of the list");

static const char *design = "not yet called";

extern "C" const char *d2k_baseline_identity() { return design; }

extern "C" int
d2k_attention_block_sparse(const d2k_attention_block_sparse_args *args, void *,
                           size_t, cudaStream_t stream) {
  AttentionProblem p = {};
  p.q = static_cast<const Bf16 *>(args->Q);
  p.k = static_cast<const Bf16 *>(args->K);
  p.v = static_cast<const Bf16 *>(args->V);
  p.o = static_cast<Bf16 *>(args->O);
  p.lse = args->LSE;
  p.sequences = args->B;
  p.tokensQ = p.tokensK = args->B * args->S;
  p.maxQ = args->S;
  p.headsQ = int(args->Hq);
  p.headsK = int(args->Hkv);
  p.width = D2K_ATTENTION_BLOCK_SPARSE_D;
  p.scale = args->scale;
  p.rowStarts = args->row_ptr;
  p.columns = args->col_idx;
  return enqueueBestAttention(p, stream, design);
}
