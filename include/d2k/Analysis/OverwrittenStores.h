// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores to global memory that the same thread overwrites before anyone can
// read them: what they write is no output.
//
// A store is overwritten when on every way from it to the end of the kernel the
// same thread stores to the same address again, all bytes of it, under no
// condition or under the store's own guard. The address is the same when it is
// the same value, not computed anew in between. Only memory that the kernel
// itself never reads counts, so that no other thread can have seen the first
// store; the host sees what is there at the end.
//
// Example
//   st.volatile.global [q], fancy     overwritten
//   st.volatile.global [q], plain
// With `@p st [q], plain` the first one is an output, too.
//
// Not detected: overwriting by another thread, or through an address that is
// computed twice; memory that the kernel reads. A kernel with calls or opaque
// operations has no overwritten stores.
//
// Method: a backward must analysis over the stores that share an address;
// linear in the kernel for each of them, and nothing to do without any.

#ifndef D2K_ANALYSIS_OVERWRITTENSTORES_H
#define D2K_ANALYSIS_OVERWRITTENSTORES_H

#include "d2k/Analysis/ConstantValues.h"
#include "d2k/Analysis/MemoryRoots.h"

namespace d2k::analysis {

/// The overwritten stores, ascending.
std::vector<OpId> findOverwrittenStores(const KernelIndex &index,
                                        const ConstantValues &constants,
                                        const MemoryRoots &memory);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_OVERWRITTENSTORES_H
