// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of attention_prefill_gqa: attention with an online softmax, on
// wgmma where the chip has it (d2k/Baseline/WgmmaAttention.cuh) and on mma.sync
// elsewhere (d2k/Baseline/FlashAttention.cuh). The latter leaves a part of the
// matrix rate of sm_100a unused, which tcgen05 reaches only; a speedup over it
// says that too.

#include "d2k_attention_prefill_gqa.h"

#include "d2k/Baseline/WgmmaAttention.cuh"

using namespace d2k::baseline;

static const char *design = "not yet called";

extern "C" const char *d2k_baseline_identity() { return design; }

extern "C" int
d2k_attention_prefill_gqa(const d2k_attention_prefill_gqa_args *args, void *,
                          size_t, cudaStream_t stream) {
  AttentionProblem p = {};
  p.q = static_cast<const Bf16 *>(args->Q);
  p.k = static_cast<const Bf16 *>(args->K);
  p.v = static_cast<const Bf16 *>(args->V);
  p.o = static_cast<Bf16 *>(args->O);
  p.lse = args->LSE;
  p.startsQ = args->cu_seqlens_q;
  p.startsK = args->cu_seqlens_k;
  p.sequences = args->B;
  p.tokensQ = args->Tq;
  p.tokensK = args->Tk;
  p.maxQ = args->max_q;
  p.headsQ = int(args->Hq);
  p.headsK = int(args->Hkv);
  p.width = int(args->D);
  p.scale = args->scale;
  p.isCausal = args->causal != 0;
  return enqueueBestAttention(p, stream, design);
}
