// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether what a launch writes ends in an output of the call: condition (c) of
// provenance, along the order in which the host issues its work, and the part
// of (d) that the host's numbers can tell.
//
// From the last event to the first, each buffer is needed or not. Outputs are
// needed at the end, the workspace and allocations are not. A launch is used
// when a buffer that it writes is needed; then what it reads is needed before
// it. A launch that may write all of an output, and does not read it, makes the
// output unneeded before it.
//
// Example
//   fast<<<g, b>>>(x, d); slow<<<g, b>>>(x, d);
// slow is used, d is not needed before it, fast is not used: its result is
// overwritten. With one block, fast behind slow writes at most one tile of d:
// whether it is used is not known.
//
// Without a task nothing says how large an output is: whether a launch before
// another one that writes it is used is not known then.
//
// Not detected: overwriting of parts of a buffer, and of buffers between
// kernels; order between streams (with several of them nothing counts as
// overwritten). A launch of which it is not known what it writes is used.

#ifndef D2K_LIB_PROPERTIES_ENGINE_RESULTUSE_H
#define D2K_LIB_PROPERTIES_ENGINE_RESULTUSE_H

#include "Engine/HostDetector.h"

namespace d2k::properties {

struct ResultUse {
  Tristate used = Tristate::Yes;
  /// Why not, or perhaps not; about "it", the kernel.
  std::string because;
};

/// For each event of \p trace; Yes for what is no launch.
std::vector<ResultUse> getResultUses(const HostDetector &detector,
                                     const cuda::HostTrace &trace);

/// For each buffer of \p trace, whether nothing in the call reads it and nobody
/// else can: workspace, and allocations that the caller does not get. What a
/// kernel writes there is no result.
std::vector<bool> getUnreadBuffers(const HostDetector &detector,
                                   const cuda::HostTrace &trace);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_RESULTUSE_H
