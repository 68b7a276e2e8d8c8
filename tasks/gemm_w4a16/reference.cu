// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of gemm_w4a16: exact weights, which have 13 significant bits,
// multiplied and added in fp64, and weights rounded to bf16 in fp32 as the task
// allows.

#include "d2k_gemm_w4a16.h"

#include "d2k/Task/ProductReference.cuh"

#include <cuda_bf16.h>

using namespace d2k::task;
using Bf16 = __nv_bfloat16;

namespace {

constexpr int64_t kGroup = D2K_GEMM_W4A16_G;

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

struct Operands {
  static constexpr int kSums = 1;

  __device__ float getX(int64_t row, int64_t i) const {
    return __bfloat162float(x[row * k + i]);
  }
  __device__ float getW(int, int64_t row, int64_t i) const {
    int64_t at = row * k + i, group = row * (k / kGroup) + i / kGroup;
    int weight = q[at / 2] >> (at % 2 * 4) & 15;
    return __bfloat162float(s[group]) * float(weight - int(z[group]));
  }
  __device__ float roundW(float value) const { return roundToBf16(value); }
  __device__ void store(int64_t row, int64_t column,
                        const ProductSums (&sums)[1]) const {
    int64_t at = row * n + column;
    out.exact[at] = sums[0].exact;
    out.working[at] = roundToBf16(sums[0].working);
  }

  const Bf16 *x;
  const uint8_t *q;
  const Bf16 *s;
  const uint8_t *z;
  int64_t n, k;
  d2k_expected out;
};

} // namespace

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = kProductTile;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_gemm_w4a16_args *>(arguments);
  Operands operands = {static_cast<const Bf16 *>(args.X),
                       static_cast<const uint8_t *>(args.q),
                       static_cast<const Bf16 *>(args.s),
                       args.z,
                       args.N,
                       args.K,
                       request->outputs[0]};
  return launchProduct(operands, args.M, args.N, args.K, *request, stream);
}
