// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that one block of the grid or a few threads of a block do, while the
// others make the same outputs in another way: no property of the kernel.
//
// Example: `if (blockIdx.x == 0) v = __hmul2(v, v); else ...; o[i] = v;`. With
// `if (threadIdx.x < 32)` in a block of 256 threads it is 32 of 256.
//
// No such case, because the others do not make the outputs by themselves: one
// thread that issues copies for all, roles of warps, a leader whose result the
// others read from shared memory or get by a shuffle, a last step of a
// reduction that one warp does and stores alone. Nor are different outputs of
// different threads.
//
// Few blocks are those whose number equals one that the launch gives; few
// threads are a quarter of the block or less, by their enumerated numbers.
//
// Not detected: few blocks that a comparison other than equality picks, a
// number that is worked out by a mask or a division, choices that are read from
// memory.

#ifndef D2K_LIB_PROPERTIES_ENGINE_FEWWORKERS_H
#define D2K_LIB_PROPERTIES_ENGINE_FEWWORKERS_H

#include "d2k/Analysis/KernelContext.h"

#include "llvm/ADT/BitVector.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d2k::properties {

/// Who does some work, and what others do instead.
struct FewWorkers {
  /// "one block", "32 of 256 threads".
  std::string who;
  /// An operation that makes the same outputs in another way.
  analysis::OpId other = analysis::kNone;
};

class FewWorkersFinder {
public:
  explicit FewWorkersFinder(analysis::KernelContext &kernel);

  /// Whether few do all of \p where, operations that a claim is about. Takes
  /// time linear in the kernel for each choice between blocks, and for
  /// operations of few threads.
  std::optional<FewWorkers> find(llvm::ArrayRef<analysis::OpId> where);

private:
  enum class Side : uint8_t { Both, Few, Many };
  /// A comparison of the block's number, as a branch or as guards use it.
  struct Choice {
    /// Predicates that are true in few blocks, and those that are false.
    llvm::SmallVector<analysis::ValueId, 2> few, many;
    /// The block that branches on it, kNone for guards alone.
    analysis::BlockId branch = analysis::kNone;
    /// Blocks that each side leads to without passing the branch again.
    llvm::BitVector fewBlocks, manyBlocks;
  };
  /// Operations that work on data and that the same threads run.
  struct Group {
    analysis::OpId work;
    std::vector<bool> active;
  };

  void findChoices();
  Side getSide(const Choice &choice, analysis::OpId op) const;
  std::optional<FewWorkers> findBlock(llvm::ArrayRef<analysis::OpId> where);
  std::optional<FewWorkers> findThreads(llvm::ArrayRef<analysis::OpId> where);
  /// Whether threads that do not run \p op may use what it makes.
  bool isShared(analysis::OpId op);
  bool makesOutput(analysis::OpId op) const;
  llvm::BitVector reachFrom(analysis::BlockId start,
                            analysis::BlockId stop) const;
  llvm::ArrayRef<Group> getGroups();

  analysis::KernelContext &kernel;
  const analysis::KernelIndex &index;
  std::vector<Choice> choices;
  /// Stores of outputs, and their roots.
  llvm::BitVector stores;
  std::vector<Group> groups;
  bool grouped = false;
};

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_FEWWORKERS_H
