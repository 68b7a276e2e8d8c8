// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which device memory a launch reads and writes: what the kernel does with its
// parameters, from its own code, joined with what the host passes.
//
// Parts. A kernel names memory by a pointer; two launches that get the same
// buffer at the same offset name the same part, and two offsets of one buffer
// are two parts. How far a part reaches is not known.
//
// Not detected: memory behind pointers that a kernel loads, and parts that
// overlap.

#ifndef D2K_LIB_PROPERTIES_ENGINE_BUFFERUSES_H
#define D2K_LIB_PROPERTIES_ENGINE_BUFFERUSES_H

#include "Engine/HostDetector.h"

namespace d2k::properties {

/// Index in HostTrace::buffers, and bytes from its start.
using BufferPart = std::pair<size_t, int64_t>;

struct BufferUses {
  std::set<BufferPart> reads;
  /// With the most bytes that the whole launch stores there; nothing when that
  /// is not known.
  std::map<BufferPart, std::optional<int64_t>> writes;
  /// It reads or writes more than that: addresses or arguments that could not
  /// be followed.
  bool readsUnknown = false, writesUnknown = false;
  /// Why they are not all known; empty when they are.
  std::string unknown;
};

/// The uses of \p event, a launch of \p trace.
BufferUses getBufferUses(const HostDetector &detector,
                         const cuda::HostTrace &trace,
                         const cuda::Event &event);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_BUFFERUSES_H
