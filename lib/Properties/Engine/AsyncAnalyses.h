// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analyses of asynchronous work that async_pipeline and async_mma_overlap
// share, for one kernel.

#ifndef D2K_LIB_PROPERTIES_ENGINE_ASYNCANALYSES_H
#define D2K_LIB_PROPERTIES_ENGINE_ASYNCANALYSES_H

#include "d2k/Analysis/BarrierPhases.h"
#include "d2k/Analysis/InFlight.h"
#include "d2k/Analysis/KernelContext.h"

namespace d2k::properties {

struct AsyncAnalyses {
  explicit AsyncAnalyses(analysis::KernelContext &kernel)
      : values(kernel.getIndex(), kernel.getConstants(), kernel.getLoops()),
        rings(kernel.getIndex(), kernel.getConstants(), kernel.getDominance(),
              kernel.getLoops(), kernel.getMemory(), values),
        phases(kernel.getIndex(), kernel.getConstants(), values, rings),
        inFlight(kernel.getIndex(), kernel.getConstants(),
                 kernel.getDominance(), kernel.getLoops(),
                 kernel.getBarrierGroups(), values, rings) {}

  analysis::IterationValues values;
  analysis::RingSlots rings;
  analysis::BarrierPhases phases;
  analysis::InFlight inFlight;
};

/// \p sentence with the smallest change that would make the property hold.
inline std::string withChange(std::string sentence, const std::string &change) {
  return sentence + " (to make it hold: " + change + ")";
}

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_ASYNCANALYSES_H
