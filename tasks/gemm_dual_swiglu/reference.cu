// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of gemm_dual_swiglu: both sums and silu in fp64, and the same
// with G and U rounded to bf16 as the task allows. Makes the weights of the
// trial exact_products.

#include "d2k_gemm_dual_swiglu.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/ProductReference.cuh"

#include <cuda_bf16.h>

using namespace d2k::task;
using Bf16 = __nv_bfloat16;

namespace {

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

struct Operands {
  static constexpr int kSums = 2;

  __device__ float getX(int64_t row, int64_t i) const {
    return __bfloat162float(x[row * k + i]);
  }
  __device__ float getW(int sum, int64_t row, int64_t i) const {
    return __bfloat162float(w[(sum * f + row) * k + i]);
  }
  __device__ float roundW(float value) const { return value; }
  __device__ void store(int64_t row, int64_t column,
                        const ProductSums (&sums)[2]) const {
    int64_t at = row * f + column;
    double gate = sums[0].exact;
    out.exact[at] = gate / (1 + exp(-gate)) * sums[1].exact;
    float g = roundToBf16(sums[0].working), u = roundToBf16(sums[1].working);
    out.working[at] = roundToBf16(g / (1 + expf(-g)) * u);
  }

  const Bf16 *x, *w;
  int64_t f, k;
  d2k_expected out;
};

/// Ones in each row of the weights of exact_products. With X from 1 to 2 every
/// sum is from 96 to 192: few enough for 8 significant bits, and exp(-96) is
/// nothing beside 1, in fp64 too.
constexpr int64_t kOnes = 96;

/// Cuts each row into kOnes parts, the last one the longest, and sets one
/// random element of each to 1.
__global__ void makeSparseWeights(Bf16 *w, int64_t rows, int64_t k,
                                  uint64_t seed) {
  int64_t part = k / kOnes;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * k;
       i += int64_t(gridDim.x) * blockDim.x) {
    int64_t row = i / k, column = i % k;
    int64_t mine = column / part < kOnes - 1 ? column / part : kOnes - 1;
    int64_t begin = mine * part, end = mine == kOnes - 1 ? k : begin + part;
    uint64_t bits = drawBits(seed, 0, uint64_t(row * kOnes + mine));
    int64_t place = begin + int64_t(bits % uint64_t(end - begin));
    w[i] = __float2bfloat16_rn(column == place ? 1.0f : 0.0f);
  }
}

} // namespace

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = kProductTile;
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_gemm_dual_swiglu_args *>(arguments);
  makeSparseWeights<<<1024, 256, 0, stream>>>(
      static_cast<Bf16 *>(const_cast<void *>(args.W)), 2 * args.F, args.K,
      request->seed);
  return cudaGetLastError();
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_gemm_dual_swiglu_args *>(arguments);
  Operands operands = {static_cast<const Bf16 *>(args.X),
                       static_cast<const Bf16 *>(args.W), args.F, args.K,
                       request->outputs[0]};
  return launchProduct(operands, args.M, args.F, args.K, *request, stream);
}
