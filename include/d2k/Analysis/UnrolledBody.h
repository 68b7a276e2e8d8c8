// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many iterations the compiler made one body of: a main region without a
// loop is looked through for the longest stretch of copies, global loads,
// barriers and products that is one sequence several times over. Equal
// neighbours count as one.
//
// Example: load, barrier, fma, fma, load, barrier, fma, load, barrier, fma is
// the sequence (load, barrier, fma) three times: 3.
//
// Not detected: bodies of more than 4096 such instructions, iterations that the
// compiler interleaved.
//
// Unknown: 1, as for a body that does not repeat.

#ifndef D2K_ANALYSIS_UNROLLEDBODY_H
#define D2K_ANALYSIS_UNROLLEDBODY_H

#include "d2k/Analysis/MainRegion.h"

namespace d2k::analysis {

/// Repetitions of the body of \p region; 1 for a region of loops.
unsigned countRepeats(const KernelIndex &index, const ConstantValues &constants,
                      const MemoryRoots &memory, const MainRegion &region);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_UNROLLEDBODY_H
