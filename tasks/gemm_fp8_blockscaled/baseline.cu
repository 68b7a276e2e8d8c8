// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gemm_fp8_blockscaled: cuBLASLt with scales of blocks.
//
// On Hopper the library takes the task's scales as they are, one for 128
// columns of a row of X and one for 128x128 of W, but wants multiples of four
// rows and blocks: others go through copies in the workspace. On Blackwell it
// has scales of 32 columns instead, as exponents in a tiled layout; one kernel
// writes each scale as often as it is needed, within the timed call, because so
// many bytes are not allowed to be prepared.

#include "d2k_gemm_fp8_blockscaled.h"

#include "d2k/Baseline/CublasLt.h"

#include <cuda_bf16.h>

namespace {

constexpr int64_t kBlock = D2K_GEMM_FP8_BLOCKSCALED_B;
/// Columns that a scale of the tiled layout is for.
constexpr int64_t kTiledBlock = 32;
constexpr int kThreads = 256;

int64_t alignUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Where the scales of one operand are: that of row r and block b (of 128
/// columns) at r / rowsOfScale * rowStride + b * blockStride.
struct Scales {
  const float *data;
  int64_t rows, rowsOfScale, rowStride, blockStride;
};

/// Writes exponents (ue8m0) in tiles of 128 rows and 4 columns, as
/// cublasLtMatmul and tcgen05.mma read them; rows beyond the last have zeros. A
/// thread writes the four equal ones of a row and a block of 128 columns.
__global__ void __launch_bounds__(kThreads)
    tileScales(Scales scales, uint32_t *tiles, int64_t blocks) {
  int64_t index = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  int64_t row = index / blocks, block = index % blocks;
  if (row >= (scales.rows + 127) / 128 * 128)
    return;
  uint32_t exponent = 0;
  if (row < scales.rows)
    exponent = __float_as_uint(
                   scales.data[row / scales.rowsOfScale * scales.rowStride +
                               block * scales.blockStride]) >>
                   23 &
               0xff;
  // In words: a tile has 128, four of them for each of 32 rows.
  int64_t tile = row / 128 * blocks + block;
  tiles[tile * 128 + row % 32 * 4 + row % 128 / 32] = exponent * 0x01010101u;
}

/// The workspace, handed out piece by piece. The library has what is left (64
/// MiB).
class Workspace {
public:
  Workspace(void *data, size_t bytes)
      : next(static_cast<char *>(data)), end(next + bytes) {}

  /// Null when there is too little left.
  template <typename T>
  T *take(int64_t bytes) {
    char *data = next;
    // So that what comes next is aligned too.
    bytes = alignUp(bytes, 256);
    if (end - next < bytes)
      return nullptr;
    next += bytes;
    return reinterpret_cast<T *>(data);
  }

  void *getRest() const { return next; }
  size_t getRestBytes() const { return size_t(end - next); }

private:
  char *next, *end;
};

class Baseline {
public:
  int run(const d2k_gemm_fp8_blockscaled_args &args, void *workspace,
          size_t bytes, cudaStream_t stream) {
    int device = 0, major = 0;
    if (int error = cudaGetDevice(&device))
      return error;
    if (int error = cudaDeviceGetAttribute(
            &major, cudaDevAttrComputeCapabilityMajor, device))
      return error;
    product = {};
    product.m = args.M;
    product.n = args.N;
    product.k = args.K;
    product.x = args.X;
    product.w = args.W;
    product.d = args.D;
    product.inputType = CUDA_R_8F_E4M3;
    Workspace pieces(workspace, bytes);
    return major >= 10 ? runTiled(args, pieces, stream)
                       : runBlocked(args, pieces, stream);
  }

  std::string identity;

private:
  int runBlocked(const d2k_gemm_fp8_blockscaled_args &args,
                 Workspace &workspace, cudaStream_t stream) {
    product.xScale = args.sX;
    product.wScale = args.sW;
    // Rows of scales of W are multiples of four for the library.
    int64_t blocks = args.K / kBlock;
    if (blocks % 4 != 0) {
      int64_t rows = (args.N + kBlock - 1) / kBlock;
      size_t bytes = size_t(blocks) * sizeof(float);
      size_t paddedBytes = size_t(alignUp(blocks, 4)) * sizeof(float);
      auto *scales = workspace.take<float>(rows * int64_t(paddedBytes));
      if (!scales)
        return cudaErrorInvalidValue;
      if (int error =
              cudaMemcpy2DAsync(scales, paddedBytes, args.sW, bytes, bytes,
                                size_t(rows), cudaMemcpyDeviceToDevice, stream))
        return error;
      product.wScale = scales;
    }
    product.xScaleMode = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    product.wScaleMode = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    product.m = alignUp(args.M, 4);
    bool isPadded = product.m != args.M;
    size_t outputBytes = size_t(args.M * args.N) * sizeof(__nv_bfloat16);
    if (isPadded) {
      // What the rows beyond the last hold does not matter: they are not
      // copied back.
      auto *x = workspace.take<char>(product.m * args.K);
      auto *d = workspace.take<char>(product.m * args.N * 2);
      if (!x || !d)
        return cudaErrorInvalidValue;
      if (int error = cudaMemcpyAsync(x, args.X, size_t(args.M * args.K),
                                      cudaMemcpyDeviceToDevice, stream))
        return error;
      product.x = x;
      product.d = d;
    }
    if (int error = planner.run(product, workspace.getRest(),
                                workspace.getRestBytes(), stream))
      return error;
    identity = planner.getIdentity() + ", scales of 128 and 128x128";
    if (!isPadded)
      return cudaSuccess;
    identity += ", M padded to a multiple of 4 by copies";
    return cudaMemcpyAsync(args.D, product.d, outputBytes,
                           cudaMemcpyDeviceToDevice, stream);
  }

  int runTiled(const d2k_gemm_fp8_blockscaled_args &args, Workspace &workspace,
               cudaStream_t stream) {
    int64_t blocks = args.K / kBlock;
    auto writeTiles = [&](const Scales &scales) -> const void * {
      int64_t rows = alignUp(scales.rows, 128);
      auto *tiles = workspace.take<uint32_t>(rows * (args.K / kTiledBlock));
      int64_t grid = (rows * blocks + kThreads - 1) / kThreads;
      if (tiles && grid <= INT32_MAX)
        tileScales<<<unsigned(grid), kThreads, 0, stream>>>(scales, tiles,
                                                            blocks);
      return grid <= INT32_MAX ? tiles : nullptr;
    };
    product.xScale = writeTiles({args.sX, args.M, 1, 1, alignUp(args.M, 4)});
    product.wScale = writeTiles({args.sW, args.N, kBlock, blocks, 1});
    if (!product.xScale || !product.wScale)
      return cudaErrorInvalidValue;
    if (int error = cudaGetLastError())
      return error;
    product.xScaleMode = product.wScaleMode =
        CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    if (int error = planner.run(product, workspace.getRest(),
                                workspace.getRestBytes(), stream))
      return error;
    identity = planner.getIdentity() + ", scales of 32 as exponents, written "
                                       "by two kernels";
    return cudaSuccess;
  }

  d2k::baseline::MatmulPlanner planner;
  d2k::baseline::Matmul product;
};

Baseline &getBaseline() {
  static Baseline baseline;
  return baseline;
}

} // namespace

/// Library, version and algorithm of the last call.
extern "C" const char *d2k_baseline_identity() {
  return getBaseline().identity.c_str();
}

extern "C" int
d2k_gemm_fp8_blockscaled(const d2k_gemm_fp8_blockscaled_args *args,
                         void *workspace, size_t workspace_bytes,
                         cudaStream_t stream) {
  return getBaseline().run(*args, workspace, workspace_bytes, stream);
}
