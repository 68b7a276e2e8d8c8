// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Global loads into registers that are still on their way while a loop
// computes, because what they load is first used after products that do not
// need it.
//
// Example
//   loop: ld.global a'            the next slice
//         mma ...                 out of shared memory: a' is outstanding
//         st.shared a'            the first use
//         bar.sync
// One register set is prefetched. Loads whose values products use themselves
// count only when they are used in a later iteration: that a load stands a few
// instructions before its use is scheduling and no prefetch.

#ifndef D2K_LIB_PROPERTIES_ENGINE_REGISTERPREFETCH_H
#define D2K_LIB_PROPERTIES_ENGINE_REGISTERPREFETCH_H

#include "Engine/Detector.h"

namespace d2k::properties {

/// One load that is outstanding at products.
struct RegisterPrefetch {
  OpId load = kNone;
  /// Where its value is used first.
  llvm::SmallVector<OpId, 2> uses;
  /// By point: how many times it is outstanding there on every way; 2 when it
  /// is issued two iterations ahead of its use.
  std::vector<unsigned> outstanding;
  /// False where no loop is left and products use the value themselves: whether
  /// the author fetches ahead, or the compiler placed a load so, is not known.
  bool isSure = true;
};

/// The register prefetches of \p loop, one of the main region; \p points are
/// its products, ascending.
std::vector<RegisterPrefetch>
findRegisterPrefetches(Detector &detector, uint32_t loop,
                       llvm::ArrayRef<OpId> points);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_REGISTERPREFETCH_H
