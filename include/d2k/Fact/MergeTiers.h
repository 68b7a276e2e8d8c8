// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins what PTX and machine code say about one kernel.
//
// For a property that both tiers decide:
//   - a fact that both have is one fact, proved in PTX and corroborated; its
//     places name the PTX and the machine instruction;
//   - a fact that PTX has alone is kept when the machine code may have it
//     unseen (not whole, or the property undecided there). When the machine
//     code was seen whole and decides that it is not there, the GPU does not
//     execute it: a near miss;
//   - a fact that machine code has alone holds: the GPU executes it. Not so a
//     pipeline of copies that PTX, seen whole, misses: the author places copies
//     and waits, and ptxas only moves some work of a serial loop behind the
//     next copy;
//   - what is undecided in one tier is settled by the other when that one saw
//     the kernel whole and leaves nothing undecided about the property.
// A property that one tier decides is taken from there.
//
// Example: `ld.global.v4.f32` at copy.cu:7 is a fact of 16 bytes in PTX; ptxas
// makes four LDG.E of it, and the whole machine code has no fact of 16 bytes.
// The result is the near miss "is in the PTX at copy.cu:7, and the machine code
// does not have it".

#ifndef D2K_FACT_MERGETIERS_H
#define D2K_FACT_MERGETIERS_H

#include "d2k/Fact/Fact.h"
#include "d2k/Fact/PropertyInfo.h"

namespace d2k {

/// The findings of \p ptx and \p sass about one kernel as one. Loops are those
/// of the PTX; facts that machine code has alone name the loop with the same
/// place, if there is exactly one.
KernelFacts mergeTiers(KernelFacts ptx, KernelFacts sass,
                       const PropertyCatalog &catalog);

/// Joins the kernels of both tiers by mangled name and, where names differ
/// because they hold a hash of the path, by a demangled name that is the only
/// one of its kind on both sides. What has no partner is kept as it is.
std::vector<KernelFacts> mergeKernels(std::vector<KernelFacts> ptx,
                                      std::vector<KernelFacts> sass,
                                      const PropertyCatalog &catalog);

} // namespace d2k

#endif // D2K_FACT_MERGETIERS_H
