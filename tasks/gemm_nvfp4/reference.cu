// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of gemm_nvfp4: scaled operands, which have at most six
// significant bits, multiplied and added in fp64 and in fp32, and the sum of
// magnitudes. Makes the scales of X, because those of rows that do not exist
// are zeros.

#include "d2k_gemm_nvfp4.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/ProductReference.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

using namespace d2k::task;

namespace {

constexpr int64_t kBlock = D2K_GEMM_NVFP4_B;
/// Rows and columns of a tile of scales.
constexpr int64_t kTileRows = 128, kTileColumns = 4;

/// Where the scale of a row and a block is; \p blocks is the number of a row, a
/// multiple of four.
__device__ int64_t getScaleIndex(int64_t row, int64_t block, int64_t blocks) {
  int64_t tile =
      row / kTileRows * (blocks / kTileColumns) + block / kTileColumns;
  return tile * kTileRows * kTileColumns + row % 32 * 16 + row / 32 % 4 * 4 +
         block % kTileColumns;
}

/// An operand: packed e2m1 and its scales.
struct Matrix {
  __device__ float get(int64_t row, int64_t i) const {
    int64_t at = row * k + i;
    int bits = data[at / 2] >> (at % 2 * 4) & 15;
    float value = float(decodeElement(DType::Float4E2M1, uint64_t(bits)));
    return value * float(scales[getScaleIndex(row, i / kBlock, k / kBlock)]);
  }

  const uint8_t *data;
  const __nv_fp8_e4m3 *scales;
  int64_t k;
};

struct Operands {
  static constexpr int kSums = 1;

  __device__ float getX(int64_t row, int64_t i) const { return x.get(row, i); }
  __device__ float getW(int, int64_t row, int64_t i) const {
    return w.get(row, i);
  }
  __device__ float roundW(float value) const { return value; }
  __device__ void store(int64_t row, int64_t column,
                        const ProductSums (&sums)[1]) const {
    int64_t at = row * n + column;
    out.exact[at] = double(*alpha) * sums[0].exact;
    out.working[at] =
        __bfloat162float(__float2bfloat16_rn(*alpha * sums[0].working));
    out.magnitude[at] = fabsf(*alpha) * sums[0].magnitude;
  }

  Matrix x, w;
  const float *alpha;
  int64_t n;
  d2k_expected out;
};

/// Scales from 0.5 to 4, or 1 and 2 where the result must be exact; zeros in
/// rows that X does not have.
__global__ void makeScales(__nv_fp8_e4m3 *scales, int64_t rows,
                           int64_t paddedRows, int64_t blocks, uint64_t seed,
                           bool exact) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < paddedRows * blocks; i += int64_t(gridDim.x) * blockDim.x) {
    int64_t row = i / blocks, block = i % blocks;
    uint64_t bits = drawBits(seed, 0, uint64_t(i));
    float value = exact ? float(1 + bits % 2) : float(0.5 + 3.5 * toUnit(bits));
    scales[getScaleIndex(row, block, blocks)] =
        __nv_fp8_e4m3(row < rows ? value : 0.0f);
  }
}

} // namespace

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = kProductTile;
}

extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_gemm_nvfp4_args *>(arguments);
  if (request->perturbation)
    return cudaSuccess;
  int64_t paddedRows = (args.M + kTileRows - 1) / kTileRows * kTileRows;
  makeScales<<<256, 256, 0, stream>>>(
      static_cast<__nv_fp8_e4m3 *>(const_cast<void *>(args.sX)), args.M,
      paddedRows, args.K / kBlock, request->seed, request->exact != 0);
  return cudaGetLastError();
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_gemm_nvfp4_args *>(arguments);
  Operands operands = {{static_cast<const uint8_t *>(args.X),
                        static_cast<const __nv_fp8_e4m3 *>(args.sX), args.K},
                       {static_cast<const uint8_t *>(args.W),
                        static_cast<const __nv_fp8_e4m3 *>(args.sW), args.K},
                       args.alpha,
                       args.N,
                       request->outputs[0]};
  return launchProduct(operands, args.M, args.N, args.K, *request, stream);
}
