// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What takes the place of d2k/Baseline/Wgmma.cuh on the host: the same
// functions, without inline PTX. Tensor copies write the swizzle of 128 bytes
// and products read it as their descriptors say (PTX ISA, "Matrix Descriptor
// Format" of wgmma), so that a wrong offset, layout or fragment shows. Products
// are computed when they are waited for, out of what shared memory has then: a
// stage that is given back too early shows too. Copies arrive at once.

#ifndef D2K_TEST_HOSTCUDA_WGMMA_CUH
#define D2K_TEST_HOSTCUDA_WGMMA_CUH

#include "Execution.h"
#include "d2k/Baseline/Device.h"
#include "d2k/Baseline/MatrixDescriptor.cuh"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>

#define D2K_HAS_WGMMA 1

namespace d2k::baseline {

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

/// Where the hardware looks for an address in the swizzle of 128 bytes.
inline uint32_t swizzle(uint32_t address) {
  return address ^ (address >> 7 & 7) << 4;
}

/// What stands in a tensor map.
struct HostTensorMap {
  const char *base;
  int64_t rows, columns;
  int boxRows, bytes;

  /// Calls \p use with a pointer to 16 bytes of the box at the shared address
  /// \p place and the ones of the matrix, null outside.
  template <typename Use>
  void forAllChunks(uint32_t place, int column, int row, const Use &use) const {
    if (place % 1024 != 0)
      host::failLaunch("a tensor copy with 0x%x, which is no multiple of the "
                       "swizzle's period",
                       place);
    for (int r = 0; r < boxRows; ++r)
      for (int chunk = 0; chunk < 8; ++chunk) {
        uint32_t at = place + uint32_t(r * 128 + chunk * 16);
        void *own = host::getSharedPointer(swizzle(at), 16);
        int64_t ownRow = int64_t(row) + r;
        int64_t ownColumn = column + chunk * (16 / bytes);
        bool isThere = ownRow >= 0 && ownRow < rows && ownColumn >= 0 &&
                       ownColumn < columns;
        use(own, isThere ? const_cast<char *>(base) +
                               (ownRow * columns + ownColumn) * bytes
                         : nullptr);
      }
  }
};
static_assert(sizeof(HostTensorMap) <= sizeof(CUtensorMap));

inline int describeBoxes(CUtensorMap &map, int bytes, const void *base,
                         int64_t rows, int64_t columns, int boxRows) {
  if (reinterpret_cast<uintptr_t>(base) % 16 != 0 ||
      columns * bytes % 16 != 0 || rows <= 0 || columns <= 0 || boxRows < 1 ||
      boxRows > 256)
    return cudaErrorInvalidValue;
  HostTensorMap host = {static_cast<const char *>(base), rows, columns, boxRows,
                        bytes};
  std::memcpy(&map, &host, sizeof(host));
  return cudaSuccess;
}
inline int describeMatrix(CUtensorMap &map, const void *base, int64_t rows,
                          int64_t columns, int boxRows) {
  return describeBoxes(map, 2, base, rows, columns, boxRows);
}
inline int describeSums(CUtensorMap &map, float *base, int64_t rows,
                        int64_t columns, int boxRows) {
  return describeBoxes(map, 4, base, rows, columns, boxRows);
}

//===----------------------------------------------------------------------===//
// Barriers and copies
//===----------------------------------------------------------------------===//

inline bool electOneLane() { return host::getLane() == 0; }

/// The eight bytes of a barrier.
struct HostBarrier {
  int16_t count, missing;
  int32_t bytes : 31;
  uint32_t phase : 1;

  static HostBarrier &at(uint32_t address) {
    return *static_cast<HostBarrier *>(host::getSharedPointer(address, 8));
  }
  void advance() {
    if (missing < 0)
      host::failLaunch("an mbarrier of %d arrivals gets more", int(count));
    if (missing == 0 && bytes == 0) {
      missing = count;
      phase ^= 1;
    }
  }
};
static_assert(sizeof(HostBarrier) == 8);

inline void initBarrier(uint32_t barrier, int arrivals) {
  HostBarrier::at(barrier) = {int16_t(arrivals), int16_t(arrivals), 0, 0};
}
inline void fenceBarriers() {}

inline void waitForBarrier(uint32_t barrier, uint32_t parity) {
  for (int i = 0; HostBarrier::at(barrier).phase == (parity & 1); ++i) {
    if (i == 1 << 20)
      host::failLaunch("an mbarrier's phase never ends");
    host::yield();
  }
}

inline void arrive(uint32_t barrier) {
  HostBarrier &state = HostBarrier::at(barrier);
  --state.missing;
  state.advance();
}

inline void arriveExpecting(uint32_t barrier, int bytes) {
  HostBarrier &state = HostBarrier::at(barrier);
  state.bytes += bytes;
  --state.missing;
  state.advance();
}

inline void meetAt(int barrier, int threads) {
  host::waitForBlock(0, false, barrier, unsigned(threads));
}
inline void arriveAt(int barrier, int threads) {
  host::arriveAtBarrier(barrier, unsigned(threads));
}

inline void copyBox(uint32_t to, const CUtensorMap &map, int column, int row,
                    uint32_t barrier) {
  HostTensorMap from;
  std::memcpy(&from, &map, sizeof(from));
  from.forAllChunks(to, column, row, [](void *own, const void *there) {
    if (there)
      std::memcpy(own, there, 16);
    else
      std::memset(own, 0, 16);
  });
  HostBarrier &state = HostBarrier::at(barrier);
  state.bytes -= from.boxRows * 128;
  state.advance();
}

/// Additions of the running thread that it has not waited for: shared memory is
/// read when it does, so that what is overwritten too early shows.
struct HostAdditions {
  struct Addition {
    HostTensorMap map;
    int column, row;
    uint32_t from;
  };
  std::deque<Addition> waiting;

  static HostAdditions &get() {
    static std::map<unsigned, HostAdditions> all;
    return all[host::getClusterRank() * 1024 + host::getThreadRank()];
  }
};

inline void addBox(const CUtensorMap &map, int column, int row, uint32_t from) {
  HostTensorMap to;
  std::memcpy(&to, &map, sizeof(to));
  HostAdditions::get().waiting.push_back({to, column, row, from});
}
inline void commitBulk() {}
inline void waitForBulkReads() {
  for (auto &waiting = HostAdditions::get().waiting; !waiting.empty();
       waiting.pop_front()) {
    const auto &[map, column, row, from] = waiting.front();
    map.forAllChunks(from, column, row, [](const void *own, void *there) {
      if (there)
        for (int i = 0; i < 4; ++i)
          static_cast<float *>(there)[i] += static_cast<const float *>(own)[i];
    });
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

template <int kCount>
inline void takeRegisters() {}
template <int kCount>
inline void giveRegisters() {}
inline void fenceForProducts() {}
inline void fenceAccumulators() {}

template <int kCount>
inline void pin(float (&)[kCount]) {}
template <int kCount>
inline void pin(uint32_t (&)[kCount][4]) {}
inline void pin(uint64_t &) {}

/// One operand of a product of depth 16 out of shared memory, as numbers.
struct HostOperand {
  static constexpr int kMostRows = 256;
  /// 8 numbers each, in the order of their places.
  char chunks[kMostRows * 2][16];
  double values[kMostRows][16];

  /// Of \p rows rows along M or N from \p first on. Threads of a warpgroup need
  /// the same one after the other: it is decoded once as long as nothing of it
  /// changes.
  void read(uint64_t descriptor, int first, int rows, bool isTransposed) {
    auto start = uint32_t(descriptor & 0x3fff) << 4;
    auto leading = uint32_t(descriptor >> 16 & 0x3fff) << 4;
    auto stride = uint32_t(descriptor >> 32 & 0x3fff) << 4;
    if (descriptor >> 62 != 1)
      host::failLaunch("an operand without the swizzle of 128 bytes");
    bool isSame = true;
    for (int i = 0; i < rows * 2; ++i) {
      uint32_t at = start;
      if (isTransposed) { // Chunks of 8 rows, then along K.
        uint32_t row = uint32_t(first + i % (rows / 8) * 8);
        uint32_t k = uint32_t(i / (rows / 8));
        at += row / 64 * leading + row % 64 * 2 + k / 8 * stride + k % 8 * 128;
      } else {
        uint32_t row = uint32_t(first + i / 2);
        at += row / 8 * stride + row % 8 * 128 + uint32_t(i % 2) * 16;
      }
      const void *from = host::getSharedPointer(swizzle(at), 16);
      if (std::memcmp(chunks[i], from, 16) != 0) {
        std::memcpy(chunks[i], from, 16);
        isSame = false;
      }
    }
    if (isSame && lastRows == rows && wasTransposed == isTransposed)
      return;
    lastRows = rows;
    wasTransposed = isTransposed;
    for (int i = 0; i < rows * 2; ++i)
      for (int j = 0; j < 8; ++j) {
        uint16_t bits;
        std::memcpy(&bits, &chunks[i][2 * j], 2);
        double value = std::bit_cast<float>(uint32_t(bits) << 16);
        if (isTransposed)
          values[i % (rows / 8) * 8 + j][i / (rows / 8)] = value;
        else
          values[i / 2][i % 2 * 8 + j] = value;
      }
  }

private:
  int lastRows = 0;
  bool wasTransposed = false;
};

/// A product that has not been waited for.
struct HostProduct {
  float *sums;
  int columns;
  bool accumulates, hasRegisters, isTransposed;
  uint64_t x, w;
  uint32_t a[4];
  int group;

  void compute() const {
    static HostOperand left, right;
    int lane = int(host::getLane()), warp = int(host::getThreadRank() / 32 % 4);
    double rows[2][16];
    if (hasRegisters) {
      uint32_t all[32][4];
      host::Exchange found = host::exchange(~0u, "wgmma", a, sizeof(a));
      std::memcpy(all, found.values, sizeof(all));
      for (int half = 0; half < 2; ++half)
        for (int k = 0; k < 16; ++k) {
          uint32_t word = all[lane / 4 * 4 + k % 8 / 2][half + (k / 8 ? 2 : 0)];
          rows[half][k] = std::bit_cast<float>(word >> 16 * (k % 2) << 16);
        }
    } else {
      left.read(x, warp * 16, 16, isTransposed);
      for (int half = 0; half < 2; ++half)
        std::memcpy(rows[half], left.values[lane / 4 + 8 * half],
                    sizeof(rows[half]));
    }
    right.read(w, 0, columns, hasRegisters || isTransposed);
    for (int j = 0; j < columns / 8; ++j)
      for (int i = 0; i < 4; ++i) {
        const double *b = right.values[8 * j + lane % 4 * 2 + i % 2];
        double sum = 0;
        for (int k = 0; k < 16; ++k)
          sum += rows[i / 2][k] * b[k];
        float &to = sums[4 * j + i];
        if (accumulates)
          sum += double(to);
        // Cut off, as tensor cores do.
        float rounded = float(sum);
        if (std::fabs(double(rounded)) > std::fabs(sum))
          rounded = std::nextafter(rounded, 0.0f);
        to = rounded;
      }
  }
};

/// Of the running thread.
struct HostProducts {
  std::deque<HostProduct> waiting;
  int nextGroup = 0;
  uint3 block = {};

  static HostProducts &get() {
    // By the thread's number in the block.
    static std::map<unsigned, HostProducts> all;
    HostProducts &own =
        all[host::getClusterRank() * 1024 + host::getThreadRank()];
    if (std::memcmp(&own.block, &blockIdx, sizeof(uint3)) != 0) {
      if (!own.waiting.empty())
        host::failLaunch("a block before ended with products under way");
      own.block = blockIdx;
    }
    return own;
  }
};

inline void commitProducts() { ++HostProducts::get().nextGroup; }

/// Lanes are together here, as wgmma has it: none is still at a barrier whose
/// stage the others give back.
template <int kPending>
inline void waitForProductsBut() {
  host::exchange(~0u, "wgmma.wait_group", nullptr, 0);
  HostProducts &products = HostProducts::get();
  while (!products.waiting.empty() &&
         products.waiting.front().group < products.nextGroup - kPending) {
    HostProduct product = products.waiting.front();
    products.waiting.pop_front();
    product.compute();
  }
  host::exchange(~0u, "wgmma.wait_group", nullptr, 0);
}

inline void enqueue(HostProduct product) {
  HostProducts &products = HostProducts::get();
  product.group = products.nextGroup;
  products.waiting.push_back(product);
}

template <int kCount>
inline void multiplyAsync(float (&sums)[kCount], uint64_t x, uint64_t w,
                          int accumulate) {
  enqueue({sums, 2 * kCount, accumulate != 0, false, false, x, w});
}

template <int kCount>
inline void multiplyAsync(float (&sums)[kCount], const uint32_t (&a)[4],
                          uint64_t v, int accumulate) {
  enqueue({sums,
           2 * kCount,
           accumulate != 0,
           true,
           false,
           0,
           v,
           {a[0], a[1], a[2], a[3]}});
}

inline void multiplyTransposedAsync(float (&sums)[32], uint64_t a, uint64_t v,
                                    int accumulate) {
  enqueue({sums, 64, accumulate != 0, false, true, a, v});
}

} // namespace d2k::baseline

#endif // D2K_TEST_HOSTCUDA_WGMMA_CUH
