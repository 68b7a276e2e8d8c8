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
#include "d2k/Baseline/MmaSync.cuh"

namespace {

using namespace d2k::baseline;

constexpr int kGroup = D2K_GEMM_W4A16_G;
/// Rows of X above which the first design is not tried.
constexpr int64_t kMostRows = 128;

//===----------------------------------------------------------------------===//
// Widening
//===----------------------------------------------------------------------===//

/// Scale and zero point of a group, each twice.
struct Group {
  __nv_bfloat162 scale, offset;
};

__device__ Group loadGroup(const Bf16 *s, const uint8_t *z, int64_t index) {
  // 128 + z has eight bits: exact.
  return {__bfloat162bfloat162(s[index]),
          __float2bfloat162_rn(128.0f + float(z[index]))};
}

/// Weights i and i + 4 of the eight in \p word, widened and scaled. A nibble
/// in the fraction of 128.0 adds itself; taking 128 + z away is exact, and the
/// product is rounded once.
__device__ uint32_t widen(uint32_t word, int i, const Group &group) {
  uint32_t bits = (word >> (4 * i) & 0x000f000f) | 0x43004300;
  __nv_bfloat162 pair;
  memcpy(&pair, &bits, sizeof(pair));
  pair = __hmul2(__hsub2(pair, group.offset), group.scale);
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

/// The lower halves of two words, and the upper ones.
__device__ uint32_t takeLow(uint32_t first, uint32_t second) {
  return __byte_perm(first, second, 0x5410);
}
__device__ uint32_t takeHigh(uint32_t first, uint32_t second) {
  return __byte_perm(first, second, 0x7632);
}

constexpr int kWidenThreads = 256;

/// w = s (q - z) in bf16. A thread widens eight weights of a row and stores
/// them at once; a row of blocks is a row of q.
__global__ void __launch_bounds__(kWidenThreads)
    widenWeights(const uint32_t *q, const Bf16 *s, const uint8_t *z, uint4 *w,
                 int words) {
  int index = int(blockIdx.x) * kWidenThreads + int(threadIdx.x);
  if (index >= words)
    return;
  int64_t row = blockIdx.y;
  uint32_t word = __ldcs(q + row * words + index);
  constexpr int kWordsOfGroup = kGroup / 8;
  Group group =
      loadGroup(s, z, row * (words / kWordsOfGroup) + index / kWordsOfGroup);
  uint32_t pairs[4];
  for (int i = 0; i < 4; ++i)
    pairs[i] = widen(word, i, group);
  w[row * words + index] =
      make_uint4(takeLow(pairs[0], pairs[1]), takeLow(pairs[2], pairs[3]),
                 takeHigh(pairs[0], pairs[1]), takeHigh(pairs[2], pairs[3]));
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

constexpr int kWarps = 8;

/// D = X * W^T for 8 * kColumns rows of X and 16 * kTiles rows of W: W is the
/// left operand of mma.sync, and the block's warps share the groups of k.
///
/// The order of k within a group is free as long as both operands have the
/// same. Lane t of four gets the columns 32 t .. 32 t + 31 of its rows of q,
/// which it loads as 16 bytes, and the same columns of its row of X.
template <int kTiles, int kColumns>
__global__ void __launch_bounds__(kWarps * 32,
                                  kTiles == 4 && kColumns == 2 ? 1 : 2)
    multiplyFewRows(const Bf16 *x, const uint8_t *q, const Bf16 *s,
                    const uint8_t *z, Bf16 *d, int m, int n, int k) {
  constexpr int kRows = 16 * kTiles, kOutputs = kRows * 8 * kColumns;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int quad = lane / 4, t = lane % 4;
  int row0 = int(blockIdx.x) * kRows, m0 = int(blockIdx.y) * 8 * kColumns;
  int groups = k / kGroup;
  float sums[kTiles][kColumns][4] = {};

  for (int group = warp; group < groups; group += kWarps) {
    uint4 words[kTiles][2];
    Group scales[kTiles][2];
    for (int tile = 0; tile < kTiles; ++tile)
      for (int half = 0; half < 2; ++half) {
        int64_t row = row0 + 16 * tile + 8 * half + quad;
        words[tile][half] = __ldg(reinterpret_cast<const uint4 *>(
            q + row * (k / 2) + group * (kGroup / 2) + 16 * t));
        scales[tile][half] = loadGroup(s, z, row * groups + group);
      }
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      // Eight columns of X, in the pairs that widen() makes.
      uint32_t b[kColumns][4];
      for (int column = 0; column < kColumns; ++column) {
        int row = m0 + 8 * column + quad;
        uint4 values = {};
        if (row < m)
          values = __ldg(reinterpret_cast<const uint4 *>(
              x + int64_t(row) * k + group * kGroup + 32 * t + 8 * part));
        b[column][0] = takeLow(values.x, values.z);
        b[column][1] = takeHigh(values.x, values.z);
        b[column][2] = takeLow(values.y, values.w);
        b[column][3] = takeHigh(values.y, values.w);
      }
      for (int tile = 0; tile < kTiles; ++tile) {
        uint32_t word[2];
        for (int half = 0; half < 2; ++half) {
          const uint4 &all = words[tile][half];
          word[half] = part == 0   ? all.x
                       : part == 1 ? all.y
                       : part == 2 ? all.z
                                   : all.w;
        }
        for (int step = 0; step < 2; ++step) {
          uint32_t a[4];
          for (int pair = 0; pair < 2; ++pair)
            for (int half = 0; half < 2; ++half)
              a[2 * pair + half] =
                  widen(word[half], 2 * step + pair, scales[tile][half]);
          for (int column = 0; column < kColumns; ++column)
            multiply(sums[tile][column], a, b[column][2 * step],
                     b[column][2 * step + 1]);
        }
      }
    }
  }

  // [column][row], so that threads that follow each other write outputs that
  // do.
  __shared__ float partial[kWarps][kOutputs];
  for (int tile = 0; tile < kTiles; ++tile)
    for (int column = 0; column < kColumns; ++column)
      for (int i = 0; i < 4; ++i) {
        int row = 16 * tile + quad + (i < 2 ? 0 : 8);
        int inColumn = 8 * column + 2 * t + i % 2;
        partial[warp][inColumn * kRows + row] = sums[tile][column][i];
      }
  __syncthreads();
  for (int i = int(threadIdx.x); i < kOutputs; i += kWarps * 32) {
    float sum = 0;
    for (int from = 0; from < kWarps; ++from)
      sum += partial[from][i];
    int row = m0 + i / kRows;
    if (row < m)
      d[int64_t(row) * n + row0 + i % kRows] = __float2bfloat16_rn(sum);
  }
}

template <int kTiles, int kColumns>
int launchFewRows(const d2k_gemm_w4a16_args &args, cudaStream_t stream) {
  dim3 grid(unsigned(args.N / (16 * kTiles)),
            unsigned((args.M + 8 * kColumns - 1) / (8 * kColumns)));
  multiplyFewRows<kTiles, kColumns><<<grid, kWarps * 32, 0, stream>>>(
      static_cast<const Bf16 *>(args.X), static_cast<const uint8_t *>(args.q),
      static_cast<const Bf16 *>(args.s), args.z, static_cast<Bf16 *>(args.D),
      int(args.M), int(args.N), int(args.K));
  return cudaGetLastError();
}

/// With \p tiles of 16 rows of W a block, 2 or 4.
int launchFewRows(const d2k_gemm_w4a16_args &args, int tiles,
                  cudaStream_t stream) {
  if (args.M <= 8)
    return tiles == 4 ? launchFewRows<4, 1>(args, stream)
                      : launchFewRows<2, 1>(args, stream);
  if (args.M <= 16)
    return tiles == 4 ? launchFewRows<4, 2>(args, stream)
                      : launchFewRows<2, 2>(args, stream);
  return tiles == 4 ? launchFewRows<4, 2>(args, stream)
                    : launchFewRows<2, 4>(args, stream);
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
      if (int error = choose(choice, args, memory, stream))
        return error;
      at = choices.emplace(shape, choice).first;
    }
    int error = call(at->second, args, memory, stream);
    identity = at->second == 0
                   ? "weights widened to bf16, then " + planner.getIdentity()
                   : "mma.sync kernel, weights widened in "
                     "registers, " +
                         std::to_string(16 * at->second) + " rows of W a block";
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

  /// \p choice is the number of tiles of the kernel for few rows, or 0 for the
  /// library.
  int call(int choice, const d2k_gemm_w4a16_args &args, const Memory &memory,
           cudaStream_t stream) {
    if (choice != 0)
      return launchFewRows(args, choice, stream);
    int words = int(args.K / 8);
    dim3 grid(unsigned((words + kWidenThreads - 1) / kWidenThreads),
              unsigned(args.N));
    widenWeights<<<grid, kWidenThreads, 0, stream>>>(
        static_cast<const uint32_t *>(args.q),
        static_cast<const Bf16 *>(args.s), args.z, memory.weights, words);
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

  int choose(int &choice, const d2k_gemm_w4a16_args &args, const Memory &memory,
             cudaStream_t stream) {
    choice = 0;
    if (args.M > kMostRows)
      return cudaSuccess;
    float best = 0;
    for (int candidate : {0, 2, 4}) {
      float milliseconds = 0;
      auto run = [&] { return call(candidate, args, memory, stream); };
      if (int error = timer.measure(milliseconds, run, memory.library,
                                    memory.libraryBytes, stream))
        return error;
      if (candidate == 0 || milliseconds < best) {
        best = milliseconds;
        choice = candidate;
      }
    }
    return cudaSuccess;
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
