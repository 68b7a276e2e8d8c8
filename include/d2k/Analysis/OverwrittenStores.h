// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores to global memory that are overwritten before anyone can read them:
// what they write is no output.
//
// A store is overwritten when on every way from it to the end of the kernel the
// same thread stores to all of its bytes again, in one store or in several,
// under no condition or under the store's own guard; or when all threads do
// so behind a barrier of the block, in one store of which each thread writes a
// part. An atomic exchange whose result nobody uses is such a store. Only
// memory that the kernel itself never reads counts, so that no other thread
// can have seen the first store; the host sees what is there at the end.
//
// Example
//   st.volatile.global.b32 [q], fancy     overwritten
//   st.volatile.global.b16 [q], plain
//   st.volatile.global.b16 [q + 2], plain
// With `@p st [q], plain` the first one is an output, too. In a block of 256
// threads, `o[tid] = fancy; bar.sync; o[255 - tid] = plain` is the same.
//
// Not detected: overwriting by other threads in several stores or in a block
// whose size is not known, or at addresses that are no sums; memory that the
// kernel reads. A kernel with calls or opaque operations has no overwritten
// stores.
//
// Method: a backward must analysis over the stores whose addresses are the same
// sum of values (AddressSums.h); linear in the kernel for each of them, and
// nothing to do without any.

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
