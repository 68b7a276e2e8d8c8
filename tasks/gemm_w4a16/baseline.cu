// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gemm_w4a16. No library has this product. Two designs, of
// which the faster one of a shape runs, as the first call finds out:
//   - for few rows, a kernel that widens weights in registers, in the order in
//     which mma.sync wants them, so that they go from memory to the matrix
//     units without shared memory;
//   - weights widened to bf16 in the workspace, then cuBLASLt.

#include "d2k_gemm_w4a16.h"

#include "d2k/Baseline/CublasLt.h"
#include "d2k/Baseline/FewRows.cuh"

namespace {

using namespace d2k::baseline;

constexpr int kGroup = D2K_GEMM_W4A16_G;
/// Rows of X above which the first design is not tried.
constexpr int64_t kMostRows = 128;

//===----------------------------------------------------------------------===//
// Widening
//===----------------------------------------------------------------------===//

/// The weights of a row and what 128 of them share.
struct Weights {
  /// Scale, and 128 and zero point, each twice.
  struct Group {
    __nv_bfloat162 scale, offset;
  };

  __device__ uint4 load(int64_t row, int group, int t) const {
    return __ldg(reinterpret_cast<const uint4 *>(
        q + row * (k / 2) + group * (kGroup / 2) + 16 * t));
  }
  __device__ Group loadGroup(int64_t row, int group, int) const {
    int64_t index = row * (k / kGroup) + group;
    // 128 + z has eight bits: exact.
    return {__bfloat162bfloat162(s[index]),
            __float2bfloat162_rn(128.0f + float(z[index]))};
  }
  /// A nibble in the fraction of 128.0 adds itself; taking 128 + z away is
  /// exact, and the product is rounded once.
  static __device__ uint32_t widen(uint32_t word, int i, int,
                                   const Group &group) {
    uint32_t bits = (word >> (4 * i) & 0x000f000f) | 0x43004300;
    __nv_bfloat162 pair;
    memcpy(&pair, &bits, sizeof(pair));
    pair = __hmul2(__hsub2(pair, group.offset), group.scale);
    memcpy(&bits, &pair, sizeof(bits));
    return bits;
  }
  __device__ float finish(float sum) const { return sum; }

  const uint8_t *q;
  const Bf16 *s;
  const uint8_t *z;
  int k;
};

constexpr int kWidenThreads = 256;

/// w = s (q - z) in bf16. A thread widens eight weights of a row and stores
/// them at once; a row of blocks is a row of q.
__global__ void __launch_bounds__(kWidenThreads)
    widenWeights(Weights weights, uint4 *w, int words) {
  int index = int(blockIdx.x) * kWidenThreads + int(threadIdx.x);
  if (index >= words)
    return;
  int64_t row = blockIdx.y;
  uint32_t word = __ldcs(reinterpret_cast<const uint32_t *>(weights.q) +
                         row * words + index);
  Weights::Group group = weights.loadGroup(row, index / (kGroup / 8), 0);
  uint32_t pairs[4];
  for (int i = 0; i < 4; ++i)
    pairs[i] = Weights::widen(word, i, 0, group);
  w[row * words + index] =
      make_uint4(takeLow(pairs[0], pairs[1]), takeLow(pairs[2], pairs[3]),
                 takeHigh(pairs[0], pairs[1]), takeHigh(pairs[2], pairs[3]));
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

class Baseline {
public:
  int run(const d2k_gemm_w4a16_args &args, void *workspace, size_t bytes,
          cudaStream_t stream) {
    // Widened weights come first; the library has what is left (64 MiB).
    size_t widened = size_t(args.N) * size_t(args.K) * sizeof(Bf16);
    if (args.N > 65535 || args.K > 1 << 24 || args.M > 1 << 24 ||
        bytes < widened)
      return cudaErrorInvalidValue;
    Memory memory = {static_cast<uint4 *>(workspace),
                     static_cast<char *>(workspace) + widened, bytes - widened};
    Shape shape = {args.M, args.N, args.K};
    auto at = choices.find(shape);
    if (at == choices.end()) {
      int choice = 0;
      if (args.M <= kMostRows)
        if (int error = timer.findFastest(
                choice, 1 + kFewRowsVariants,
                [&](int i) { return call(i, args, memory, stream); },
                memory.library, memory.libraryBytes, stream))
          return error;
      at = choices.emplace(shape, choice).first;
    }
    int error = call(at->second, args, memory, stream);
    identity = at->second == 0
                   ? "weights widened to bf16, then " + planner.getIdentity()
                   : std::string("mma.sync kernel, weights widened in "
                                 "registers, ") +
                         describeFewRows(at->second - 1);
    return error;
  }

  std::string identity;

private:
  using Shape = std::array<int64_t, 3>;

  /// The parts of the workspace.
  struct Memory {
    uint4 *weights;
    void *library;
    size_t libraryBytes;
  };

  /// \p choice is 0 for the library, or one more than the variant of the kernel
  /// for few rows.
  int call(int choice, const d2k_gemm_w4a16_args &args, const Memory &memory,
           cudaStream_t stream) {
    Weights weights = {static_cast<const uint8_t *>(args.q),
                       static_cast<const Bf16 *>(args.s), args.z, int(args.K)};
    if (choice != 0)
      return launchFewRows(choice - 1, static_cast<const Bf16 *>(args.X),
                           weights, static_cast<Bf16 *>(args.D), int(args.M),
                           int(args.N), int(args.K), stream);
    int words = int(args.K / 8);
    dim3 grid(unsigned((words + kWidenThreads - 1) / kWidenThreads),
              unsigned(args.N));
    widenWeights<<<grid, kWidenThreads, 0, stream>>>(weights, memory.weights,
                                                     words);
    if (int error = cudaGetLastError())
      return error;
    Matmul product;
    product.m = args.M;
    product.n = args.N;
    product.k = args.K;
    product.x = args.X;
    product.w = memory.weights;
    product.d = args.D;
    return planner.run(product, memory.library, memory.libraryBytes, stream);
  }

  MatmulPlanner planner;
  CallTimer timer;
  std::map<Shape, int> choices;
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

extern "C" int d2k_gemm_w4a16(const d2k_gemm_w4a16_args *args, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  return getBaseline().run(*args, workspace, workspace_bytes, stream);
}
