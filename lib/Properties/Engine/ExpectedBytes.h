// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The size of tiles that tensor copies fill: a tensor map's box is not in the
// kernel, but the mbarrier is told how many bytes a phase brings.

#ifndef D2K_LIB_PROPERTIES_ENGINE_EXPECTEDBYTES_H
#define D2K_LIB_PROPERTIES_ENGINE_EXPECTEDBYTES_H

#include "Engine/StagedTiles.h"

namespace d2k::properties {

/// Sets the bytes of tiles that have none: where all copies that complete on an
/// mbarrier fill tiles, and the size of one of these alone is not known, it is
/// what is left of the bytes that the mbarrier expects (PTX ISA,
/// "mbarrier.expect_tx"). Not so for copies to or from other blocks.
void addExpectedBytes(Detector &detector, std::vector<StagedTile> &tiles);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_EXPECTEDBYTES_H
