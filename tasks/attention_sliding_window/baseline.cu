// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of attention_sliding_window: attention with an online softmax
// that visits the keys of the window only and takes the sink into the sum at
// the end, on wgmma where the chip has it (d2k/Baseline/WgmmaAttention.cuh) and
// on mma.sync elsewhere (d2k/Baseline/FlashAttention.cuh), which leaves a part
// of the matrix rate of sm_100a unused.

#include "d2k_attention_sliding_window.h"

#include "d2k/Baseline/WgmmaAttention.cuh"

using namespace d2k::baseline;

static const char *design = "not yet called";

extern "C" const char *d2k_baseline_identity() { return design; }

extern "C" int
d2k_attention_sliding_window(const d2k_attention_sliding_window_args *args,
                             void *, size_t, cudaStream_t stream) {
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
  p.window = args->W;
  p.sinks = args->sink;
  return enqueueBestAttention(p, stream, design);
}
