// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which slot of a ring a loop reads in each iteration, beside those whose
// mbarriers it has waited for and those that it has given back: a pipeline
// whose products use other data than what they waited for is none. What
// completes with groups is in EarlyReads.h.

#ifndef D2K_LIB_PROPERTIES_ENGINE_RINGREADERS_H
#define D2K_LIB_PROPERTIES_ENGINE_RINGREADERS_H

#include "Engine/AsyncAnalyses.h"
#include "Engine/Detector.h"

#include <functional>

namespace d2k::properties {

/// The reads of a loop that go through all slots of a ring. Slots are distances
/// from the lowest one, in bytes.
class RingReaders {
public:
  /// \p getOwner gives the loop of the main region that an operation is in.
  RingReaders(Detector &detector, AsyncAnalyses &async, uint32_t loop,
              std::function<uint32_t(OpId)> getOwner)
      : detector(detector), async(async), loop(loop),
        getOwner(std::move(getOwner)) {}

  /// Reads of a slot whose mbarrier the loop has waited for neither in that
  /// iteration nor in the one before; \p waits are the waits of the loop.
  llvm::SmallVector<OpId, 4> findUnwaited(const analysis::CopySite &site,
                                          const analysis::Ring &ring,
                                          llvm::ArrayRef<OpId> waits);
  /// Products that read a slot themselves while the loop holds none: it has
  /// given the slot back before. \p points are the products, \p inFlight the
  /// slots that can be in flight at each.
  llvm::SmallVector<OpId, 4> findReleased(const analysis::CopySite &site,
                                          const analysis::Ring &ring,
                                          llvm::ArrayRef<OpId> points,
                                          llvm::ArrayRef<unsigned> inFlight,
                                          unsigned slots);

private:
  struct Reader {
    OpId op;
    /// By iteration.
    std::vector<int64_t> slots;
  };
  std::vector<Reader> getReaders(const analysis::CopySite &site,
                                 const analysis::Ring &ring);
  std::optional<int64_t> getSlot(const analysis::Ring &ring,
                                 analysis::IterationValue address);

  Detector &detector;
  AsyncAnalyses &async;
  uint32_t loop;
  std::function<uint32_t(OpId)> getOwner;
};

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_RINGREADERS_H
