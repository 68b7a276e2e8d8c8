// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gemm_nvfp4. On Blackwell one cublasLtMatmul on operands and
// scales as they are. Hopper has no such unit: there X is widened to bf16 in
// the workspace, which loses nothing, and then the faster of two designs runs,
// as the first call of a shape finds out:
//   - for few rows, a kernel that widens W in registers for mma.sync;
//   - W widened in the workspace too, then cuBLASLt. Widened weights are four
//     times as large, more than may be prepared, so that this is in the timed
//     call.

#include "d2k_gemm_nvfp4.h"

#include "d2k/Baseline/CublasLt.h"
#include "d2k/Baseline/FewRows.cuh"

#include <cuda_fp8.h>

#include <cstring>

namespace {

using namespace d2k::baseline;

constexpr int kBlock = D2K_GEMM_NVFP4_B;
constexpr int kThreads = 256;
/// Rows of X above which the first design is not tried.
constexpr int64_t kMostRows = 128;

/// Where the scale of a row and of 16 columns is, with so many \p tiles of 128
/// rows and 4 scales beside each other.
__device__ int64_t getScaleIndex(int64_t row, int block, int tiles) {
  return (row / 128 * tiles + block / 4) * 512 + row % 32 * 16 +
         row / 32 % 4 * 4 + block % 4;
}

/// The e2m1 number in the lowest bits, times \p scale. As fp32, exponent and
/// fraction of e2m1 are the number times 2^-126.
__device__ float widen(uint32_t bits, float scale) {
  uint32_t word = (bits & 7) << 22 | (bits & 8) << 28;
  return __uint_as_float(word) * 0x1p126f * scale;
}

/// Widens rows of a matrix with \p words times eight columns. A thread takes
/// eight numbers of a row, half of what a scale is for, and stores them at
/// once; a row of blocks is a row of the matrix.
__global__ void __launch_bounds__(kThreads)
    widenOperand(const uint32_t *packed, const __nv_fp8_e4m3 *scales, uint4 *to,
                 int words) {
  int index = int(blockIdx.x) * kThreads + int(threadIdx.x);
  if (index >= words)
    return;
  int64_t row = blockIdx.y;
  int block = index / (kBlock / 8), tiles = words / (kBlock / 8) / 4;
  float scale = float(scales[getScaleIndex(row, block, tiles)]);
  uint32_t word = __ldcs(packed + row * words + index), pairs[4];
  for (int i = 0; i < 4; ++i) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(
        widen(word >> (8 * i), scale), widen(word >> (8 * i + 4), scale));
    memcpy(&pairs[i], &pair, sizeof(pair));
  }
  to[row * words + index] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

int launchWiden(const void *packed, const void *scales, Bf16 *to, int64_t rows,
                int64_t columns, cudaStream_t stream) {
  if (rows > 65535 || columns > 1 << 24)
    return cudaErrorInvalidValue;
  int words = int(columns / 8);
  widenOperand<<<dim3(unsigned((words + kThreads - 1) / kThreads),
                      unsigned(rows)),
                 kThreads, 0, stream>>>(
      static_cast<const uint32_t *>(packed),
      static_cast<const __nv_fp8_e4m3 *>(scales), reinterpret_cast<uint4 *>(to),
      words);
  return cudaGetLastError();
}

/// W as multiplyFewRows() reads it.
struct Weights {
  /// The scales of two times 16 columns.
  using Group = __nv_bfloat162;

  __device__ uint4 load(int64_t row, int group, int t) const {
    return __ldg(reinterpret_cast<const uint4 *>(
        packed + row * (k / 2) + group * (kFewRowsGroup / 2) + 16 * t));
  }
  __device__ Group loadGroup(int64_t row, int group, int t) const {
    // Two that are beside each other in their tile.
    int block = (kFewRowsGroup * group + 32 * t) / kBlock;
    const __nv_fp8_e4m3 *pair = scales + getScaleIndex(row, block, k / 64);
    return __floats2bfloat162_rn(float(pair[0]), float(pair[1]));
  }
  /// As bf16, exponent and fraction of e2m1 are the number times 2^-126.
  static __device__ uint32_t widen(uint32_t word, int i, int part,
                                   const Group &group) {
    uint32_t nibbles = word >> (4 * i);
    uint32_t bits = (nibbles & 0x00070007) << 6 | (nibbles & 0x00080008) << 12;
    __nv_bfloat162 pair;
    memcpy(&pair, &bits, sizeof(pair));
    __nv_bfloat162 scale =
        part < 2 ? __low2bfloat162(group) : __high2bfloat162(group);
    pair = __hmul2(__hmul2(pair, __float2bfloat162_rn(0x1p126f)), scale);
    memcpy(&bits, &pair, sizeof(bits));
    return bits;
  }
  __device__ float finish(float sum) const { return *alpha * sum; }

  const uint8_t *packed;
  const __nv_fp8_e4m3 *scales;
  const float *alpha;
  int k;
};

class Baseline {
public:
  int run(const d2k_gemm_nvfp4_args &args, void *workspace, size_t bytes,
          cudaStream_t stream) {
    size_t widened = size_t(args.M + args.N) * size_t(args.K) * sizeof(Bf16);
    if (bytes < widened)
      return cudaErrorInvalidValue;
    // Widened operands come first; the library has what is left (64 MiB).
    void *library = static_cast<char *>(workspace) + widened;
    size_t libraryBytes = bytes - widened;
    Matmul product;
    product.m = args.M;
    product.n = args.N;
    product.k = args.K;
    product.x = args.X;
    product.w = args.W;
    product.d = args.D;
    product.alpha = args.alpha;
    product.inputType = CUDA_R_4F_E2M1;
    product.xScale = args.sX;
    product.wScale = args.sW;
    product.xScaleMode = product.wScaleMode =
        CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
    if (takesScales(product, libraryBytes)) {
      int error = planner.run(product, library, libraryBytes, stream);
      identity = planner.getIdentity() + ", on e2m1";
      return error;
    }
    auto *w = static_cast<Bf16 *>(workspace);
    Bf16 *x = w + args.N * args.K;
    auto call = [&](int choice) {
      if (int error = launchWiden(args.X, args.sX, x, args.M, args.K, stream))
        return error;
      if (choice != 0) {
        Weights weights = {static_cast<const uint8_t *>(args.W),
                           static_cast<const __nv_fp8_e4m3 *>(args.sW),
                           args.alpha, int(args.K)};
        return launchFewRows(choice - 1, x, weights,
                             static_cast<Bf16 *>(args.D), int(args.M),
                             int(args.N), int(args.K), stream);
      }
      if (int error = launchWiden(args.W, args.sW, w, args.N, args.K, stream))
        return error;
      product.inputType = CUDA_R_16BF;
      product.xScale = product.wScale = nullptr;
      product.x = x;
      product.w = w;
      return planner.run(product, library, libraryBytes, stream);
    };
    std::array<int64_t, 3> shape = {args.M, args.N, args.K};
    auto at = choices.find(shape);
    if (at == choices.end()) {
      int choice = 0;
      if (args.M <= kMostRows && args.K % kFewRowsGroup == 0)
        if (int error = timer.findFastest(choice, 1 + kFewRowsVariants, call,
                                          library, libraryBytes, stream))
          return error;
      at = choices.emplace(shape, choice).first;
    }
    int error = call(at->second);
    identity = at->second == 0
                   ? "operands widened to bf16, then " + planner.getIdentity()
                   : std::string("X widened to bf16, then an mma.sync kernel, "
                                 "W widened in registers, ") +
                         describeFewRows(at->second - 1);
    return error;
  }

  std::string identity;

private:
  /// Whether the library multiplies e2m1 with scales here.
  bool takesScales(const Matmul &product, size_t bytes) {
    std::array<int64_t, 3> shape = {product.m, product.n, product.k};
    auto at = scaled.find(shape);
    if (at == scaled.end())
      at = scaled.emplace(shape, planner.supports(product, bytes)).first;
    return at->second;
  }

  MatmulPlanner planner;
  CallTimer timer;
  std::map<std::array<int64_t, 3>, bool> scaled;
  /// 0 for the library, or one more than the variant of the kernel for few
  /// rows.
  std::map<std::array<int64_t, 3>, int> choices;
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

extern "C" int d2k_gemm_nvfp4(const d2k_gemm_nvfp4_args *args, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  return getBaseline().run(*args, workspace, workspace_bytes, stream);
}
