// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gemm_dual_swiglu: one cublasLtMatmul for both projections,
// [M,2F] in bf16 in the workspace, of which the library has what is left (64
// MiB), then one kernel for silu(G) * U with 16-byte
// accesses, as serving code has it today.

#include "d2k_gemm_dual_swiglu.h"

#include "d2k/Baseline/CublasLt.h"

#include <cuda_bf16.h>

#include <cstring>

namespace {

using Bf16 = __nv_bfloat16;

/// Elements of a 16-byte vector.
constexpr int kVector = 8;
constexpr int kThreads = 256;

/// Two floats rounded to bf16, the first in the lower half.
__device__ uint32_t packPair(float low, float high) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t word;
  memcpy(&word, &pair, sizeof(word));
  return word;
}

/// H = silu(G) * U, with a row of G and the row of U one after the other. A
/// thread makes one vector; blocks in x share a row.
__global__ void __launch_bounds__(kThreads)
    multiplyGated(const Bf16 *gateAndUp, Bf16 *h, int64_t f) {
  int64_t column = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (column >= f)
    return;
  const Bf16 *row = gateAndUp + int64_t(blockIdx.y) * 2 * f;
  uint4 gateWords = *reinterpret_cast<const uint4 *>(row + column);
  uint4 upWords = *reinterpret_cast<const uint4 *>(row + f + column);
  __nv_bfloat162 gate[kVector / 2], up[kVector / 2];
  memcpy(gate, &gateWords, sizeof(gate));
  memcpy(up, &upWords, sizeof(up));
  uint32_t words[kVector / 2];
  for (int i = 0; i < kVector / 2; ++i) {
    float2 g = __bfloat1622float2(gate[i]), u = __bfloat1622float2(up[i]);
    words[i] = packPair(__fdividef(g.x, 1 + __expf(-g.x)) * u.x,
                        __fdividef(g.y, 1 + __expf(-g.y)) * u.y);
  }
  // Not an assignment, which the compiler splits into four words.
  __stcg(reinterpret_cast<uint4 *>(h + int64_t(blockIdx.y) * f + column),
         make_uint4(words[0], words[1], words[2], words[3]));
}

/// The planner and what the last call did.
struct Baseline {
  d2k::baseline::MatmulPlanner planner;
  std::string identity;
};

Baseline &getBaseline() {
  static Baseline baseline;
  return baseline;
}

} // namespace

/// Library, version and algorithm of the last call.
extern "C" const char *d2k_baseline_identity() {
  Baseline &baseline = getBaseline();
  baseline.identity =
      baseline.planner.getIdentity() + ", then a kernel for silu and product";
  return baseline.identity.c_str();
}

extern "C" int d2k_gemm_dual_swiglu(const d2k_gemm_dual_swiglu_args *args,
                                    void *workspace, size_t workspace_bytes,
                                    cudaStream_t stream) {
  size_t productBytes = size_t(args->M) * size_t(args->F) * 2 * sizeof(Bf16);
  int64_t blocks = (args->F / kVector + kThreads - 1) / kThreads;
  if (workspace_bytes < productBytes || args->M > 65535 || blocks > INT32_MAX)
    return cudaErrorInvalidValue;
  // M * F is a multiple of 64, so that what follows is aligned.
  auto *gateAndUp = static_cast<Bf16 *>(workspace);
  d2k::baseline::Matmul product;
  product.m = args->M;
  product.n = 2 * args->F;
  product.k = args->K;
  product.x = args->X;
  product.w = args->W;
  product.d = gateAndUp;
  if (int error = getBaseline().planner.run(
          product, static_cast<char *>(workspace) + productBytes,
          workspace_bytes - productBytes, stream))
    return error;
  multiplyGated<<<dim3(unsigned(blocks), unsigned(args->M)), kThreads, 0,
                  stream>>>(gateAndUp, static_cast<Bf16 *>(args->H), args->F);
  return cudaGetLastError();
}
