// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches that all threads of a launch take alike, because their condition is
// made from parameters, constants and the grid's extents only. Which side runs
// is not known without the launch: what stands on one side alone is no fact of
// the kernel when the other side does the work in another way.
//
// Example: `if (flag == 777) { cp.async ...; } else { plain loads }`. Full
// tiles and edge tiles, or a vector loop and its remainder, are no such case:
// threads choose between them, or one leads to the other.
//
// Not detected: conditions read from memory, and those behind a block argument.

#ifndef D2K_LIB_PROPERTIES_ENGINE_LAUNCHFORKS_H
#define D2K_LIB_PROPERTIES_ENGINE_LAUNCHFORKS_H

#include "d2k/Analysis/KernelContext.h"

#include "llvm/ADT/BitVector.h"

#include <array>
#include <vector>

namespace d2k::properties {

/// A branch on launch parameters whose two sides both work on input data.
struct LaunchFork {
  struct Side {
    /// Blocks that only this side leads to (without passing the branch again).
    llvm::BitVector blocks;
    /// An operation there that works on input data.
    analysis::OpId work = analysis::kNone;
  };
  std::array<Side, 2> sides;
};

/// The forks of a kernel, in the order of its blocks.
struct LaunchForks {
  /// Branches on launch parameters that are looked at: each costs a walk over
  /// the blocks. Kernels that people and compilers write have a dozen.
  static constexpr unsigned kMaxBranches = 256;

  std::vector<LaunchFork> forks;
  /// The first branch beyond kMaxBranches: which side of it and of later ones
  /// an operation stands on was not looked at.
  analysis::OpId ignored = analysis::kNone;
};
LaunchForks findLaunchForks(analysis::KernelContext &kernel);

/// Whether `value` is the same in every thread of the grid, because it is made
/// from parameters, constants and the grid's extents alone. False when not
/// sure.
bool isChosenByLaunch(mlir::Value value);

/// Whether `op` reads input data, or computes on what was made from it.
bool worksOnData(analysis::KernelContext &kernel, analysis::OpId op);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_LAUNCHFORKS_H
