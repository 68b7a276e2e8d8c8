// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of gemm_decode_splitk: the sum in fp64, the same in fp32, and
// the sum of magnitudes.

#include "d2k_gemm_decode_splitk.h"

#include "d2k/Task/ProductReference.cuh"

#include <cuda_bf16.h>

using namespace d2k::task;
using Bf16 = __nv_bfloat16;

namespace {

struct Operands {
  static constexpr int kSums = 1;

  __device__ float getX(int64_t row, int64_t i) const {
    return __bfloat162float(x[row * k + i]);
  }
  __device__ float getW(int, int64_t row, int64_t i) const {
    return __bfloat162float(w[row * k + i]);
  }
  __device__ float roundW(float value) const { return value; }
  __device__ void store(int64_t row, int64_t column,
                        const ProductSums (&sums)[1]) const {
    int64_t at = row * n + column;
    out.exact[at] = sums[0].exact;
    out.working[at] = __bfloat162float(__float2bfloat16_rn(sums[0].working));
    out.magnitude[at] = sums[0].magnitude;
  }

  const Bf16 *x, *w;
  int64_t n, k;
  d2k_expected out;
};

} // namespace

/// Everything at once: there are few rows.
extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_gemm_decode_splitk_args *>(arguments);
  Operands operands = {static_cast<const Bf16 *>(args.X),
                       static_cast<const Bf16 *>(args.W), args.N, args.K,
                       request->outputs[0]};
  return launchProduct(operands, args.M, args.N, args.K, *request, stream);
}
