// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared buffers of which the launch picks one: the index of the buffer is a
// number of the launch, such as `K % 2`, and never changes while the kernel
// runs. What looks like a ring is one buffer.

#ifndef D2K_LIB_PROPERTIES_ENGINE_UNUSEDBUFFERS_H
#define D2K_LIB_PROPERTIES_ENGINE_UNUSEDBUFFERS_H

#include "Engine/Detector.h"

namespace d2k::properties {

/// Writes of input data to one of several buffers that the launch picks.
struct PickedBuffer {
  unsigned buffers = 0;
  llvm::SmallVector<OpId, 4> writes;
};

/// Nothing when no kernel writes in this way.
std::optional<PickedBuffer> findPickedBuffer(Detector &detector);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_UNUSEDBUFFERS_H
