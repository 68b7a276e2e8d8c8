// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of gemm_fp8_blockscaled: scaled operands, which fp32 holds
// exactly because scales are powers of two, multiplied and added in fp64 and in
// fp32, and the sum of magnitudes.

#include "d2k_gemm_fp8_blockscaled.h"

#include "d2k/Task/ProductReference.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

using namespace d2k::task;

namespace {

constexpr int64_t kBlock = D2K_GEMM_FP8_BLOCKSCALED_B;

struct Operands {
  static constexpr int kSums = 1;

  __device__ float getX(int64_t row, int64_t i) const {
    return float(x[row * k + i]) * xScales[i / kBlock * scaleRow + row];
  }
  __device__ float getW(int, int64_t row, int64_t i) const {
    return float(w[row * k + i]) *
           wScales[row / kBlock * (k / kBlock) + i / kBlock];
  }
  __device__ float roundW(float value) const { return value; }
  __device__ void store(int64_t row, int64_t column,
                        const ProductSums (&sums)[1]) const {
    int64_t at = row * n + column;
    out.exact[at] = sums[0].exact;
    out.working[at] = __bfloat162float(__float2bfloat16_rn(sums[0].working));
    out.magnitude[at] = sums[0].magnitude;
  }

  const __nv_fp8_e4m3 *x, *w;
  const float *xScales, *wScales;
  int64_t n, k;
  /// Elements of a row of xScales: M, padded.
  int64_t scaleRow;
  d2k_expected out;
};

} // namespace

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = kProductTile;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_gemm_fp8_blockscaled_args *>(arguments);
  Operands operands = {static_cast<const __nv_fp8_e4m3 *>(args.X),
                       static_cast<const __nv_fp8_e4m3 *>(args.W),
                       args.sX,
                       args.sW,
                       args.N,
                       args.K,
                       (args.M + 3) / 4 * 4,
                       request->outputs[0]};
  return launchProduct(operands, args.M, args.N, args.K, *request, stream);
}
