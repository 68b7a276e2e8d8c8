// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions that all threads of a launch take alike, because they are made
// from parameters, constants and the grid's extents only: those of branches,
// and of instructions and choices that they guard, which is what machine code
// makes of short branches. Which side runs is not known without the launch.
// What stands on one side alone is no fact of the kernel when the other side
// does the work in another way, or when the same outputs are written without
// it.
//
// Example: `if (flag == 777) { cp.async ...; } else { plain loads }`, and
// `if (flag == 777) v = __hmul2(v, v); o[i] = v;`. Full tiles and edge tiles,
// or a vector loop and its remainder, are no such case: threads choose between
// them, or one leads to the other. Nor is the question whether a loop runs at
// all, or an output that only one side writes.
//
// Not detected: conditions read from memory, and those behind a block argument.

#ifndef D2K_LIB_PROPERTIES_ENGINE_LAUNCHFORKS_H
#define D2K_LIB_PROPERTIES_ENGINE_LAUNCHFORKS_H

#include "d2k/Analysis/KernelContext.h"

#include "llvm/ADT/BitVector.h"

#include <array>
#include <vector>

namespace d2k::properties {

/// A condition on launch parameters and what stands on its two sides, that on
/// which it is true first.
struct LaunchFork {
  struct Side {
    /// Blocks that only this side leads to (without passing the branch again);
    /// none where the condition only guards.
    llvm::BitVector blocks;
    /// The condition: what is true on this side alone.
    llvm::SmallVector<analysis::ValueId, 2> predicates;
    /// An operation there that works on input data.
    analysis::OpId work = analysis::kNone;
  };
  std::array<Side, 2> sides;
  /// Whether values are chosen by the condition.
  bool chooses = false;

  bool bothWork() const {
    return sides[0].work != analysis::kNone && sides[1].work != analysis::kNone;
  }
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

/// What would decide a claim that stands on one side.
inline constexpr const char *kLaunchDecides =
    "the values of the launch parameters under the workload";

/// Whether `op` runs on side number `side` only: it stands in a block of that
/// side or is guarded.
bool runsOnSide(analysis::KernelContext &kernel, const LaunchFork &fork,
                unsigned side, analysis::OpId op);

/// Whether it runs there only, or what it makes is chosen there alone.
bool isOnSide(analysis::KernelContext &kernel, const LaunchFork &fork,
              unsigned side, analysis::OpId op);

/// A store that writes input data, when side number `side` of `fork` does not
/// run, to the same outputs that `where`, which stands on it, goes into; kNone
/// when there is none, or when the condition only asks whether a loop around
/// `where` runs at all.
analysis::OpId findStoreWithout(analysis::KernelContext &kernel,
                                const LaunchFork &fork, unsigned side,
                                llvm::ArrayRef<analysis::OpId> where);

/// Whether `value` is the same in every thread of the grid, because it is made
/// from parameters, constants and the grid's extents alone. False when not
/// sure.
bool isChosenByLaunch(mlir::Value value);

/// Whether `op` reads input data, or computes on what was made from it.
bool worksOnData(analysis::KernelContext &kernel, analysis::OpId op);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_LAUNCHFORKS_H
