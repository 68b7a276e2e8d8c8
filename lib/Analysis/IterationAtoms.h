// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the atoms of IterationValues are told apart; for its own sources only.

#ifndef D2K_ANALYSIS_ITERATIONATOMS_H
#define D2K_ANALYSIS_ITERATIONATOMS_H

#include <cstdint>

namespace d2k::analysis {

/// First words of the keys of atoms.
enum AtomKind : uint64_t {
  Plain,
  Fresh,
  Function,
  Steps,
  Quotient,
  Symbol,
  Turn,
  Choice
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_ITERATIONATOMS_H
