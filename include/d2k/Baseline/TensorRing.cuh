// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ring of stages in shared memory that tensor copies fill, for the kernels of
// baselines on sm_90a.

#ifndef D2K_BASELINE_TENSORRING_CUH
#define D2K_BASELINE_TENSORRING_CUH

#include "d2k/Baseline/Wgmma.cuh"

#if D2K_HAS_WGMMA

namespace d2k::baseline {

/// Stages of a ring in shared memory: an address, and barriers that say that
/// one is full, or empty.
template <int kStages>
struct TensorRing {
  uint32_t data, full;
  int bytes, stage = 0;
  uint32_t parity = 0;

  __device__ uint32_t getFull() const { return full + uint32_t(stage) * 8; }
  __device__ uint32_t getEmpty() const {
    return full + uint32_t(kStages + stage) * 8;
  }
  __device__ uint32_t getData() const { return data + uint32_t(stage * bytes); }
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ void init(int readers) const {
    for (int i = 0; i < kStages; ++i) {
      initBarrier(full + uint32_t(i) * 8, 1);
      initBarrier(full + uint32_t(kStages + i) * 8, readers);
    }
  }

  /// Fills the stage with boxes of 64 columns from (column, row) on.
  template <int kBoxes>
  __device__ void fill(const CUtensorMap &map, int column, int row) {
    // A fresh barrier counts its previous phase as complete: the first round
    // finds every stage empty.
    waitForBarrier(getEmpty(), parity ^ 1);
    arriveExpecting(getFull(), bytes);
#pragma unroll
    for (int box = 0; box < kBoxes; ++box)
      copyBox(getData() + uint32_t(bytes / kBoxes * box), map,
              column + box * 64, row, getFull());
    advance();
  }
  __device__ void wait() const { waitForBarrier(getFull(), parity); }
  /// One lane of each warp that reads.
  __device__ void release() {
    if (threadIdx.x % 32 == 0)
      arrive(getEmpty());
    advance();
  }
};

} // namespace d2k::baseline

#endif // D2K_HAS_WGMMA

#endif // D2K_BASELINE_TENSORRING_CUH
