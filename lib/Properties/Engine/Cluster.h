// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several properties ask about the cluster that a kernel runs in.

#ifndef D2K_LIB_PROPERTIES_ENGINE_CLUSTER_H
#define D2K_LIB_PROPERTIES_ENGINE_CLUSTER_H

#include "Engine/Detector.h"

namespace d2k::properties {

/// Blocks in a cluster when the kernel says so itself.
std::optional<int64_t> getClusterSize(Detector &detector);

/// Whether a copy reaches other blocks; nothing when that is not known.
std::optional<bool> isMulticast(Detector &detector, kern::BulkCopyOp op);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_CLUSTER_H
