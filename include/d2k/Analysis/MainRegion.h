// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main region of a kernel: the loops in which it does its work.
//
// *Products* are the matrix instructions whose operands come from inputs and
// whose result reaches an output; in a kernel without one, the scalar
// multiplies and multiply-adds of that kind. The *core loop* is the innermost
// loop with the most product work: more enclosing loops of unknown trip count
// first, then FLOPs (shape times the known trip counts around it). It grows
// outward while nothing arrives in it (no copy, global load or wait), so that
// an inner step over a staged tile takes in the loop that stages it, also when
// it loads its other factor by itself. To the region belong
//   - the core loop,
//   - its clones: sibling loops with the same product instruction,
//   - for each other role, the loop that fills a shared or tensor memory object
//     that the core loop reads, or drains tensor memory that it writes.
// A kernel whose products stand in no loop has its body between the first
// global load and the last output store as region.
//
// Example: a producer warp loops over slices and issues copies (L0.0 in the
// tile loop L0), two consumer warpgroups loop over slices and issue wgmma
// (L1.0 in L1): the region is {L1.0, L0.0}. The epilogue in L1 is not in it.
//
// Not detected: regions of kernels without products but with loops, hand-over
// through unknown addresses.
//
// Unknown: irreducible loops, no products but loops, unmodelled operations
// before anything could be found. `contains` is then Unknown everywhere.

#ifndef D2K_ANALYSIS_MAINREGION_H
#define D2K_ANALYSIS_MAINREGION_H

#include "d2k/Analysis/LoopNest.h"
#include "d2k/Analysis/Provenance.h"
#include "d2k/Fact/Fact.h"

#include <memory>

namespace d2k::analysis {

class MainRegion {
public:
  MainRegion(const KernelIndex &index, const ConstantValues &constants,
             const Dominance &dominance, const LoopNest &loops,
             const MemoryRoots &memory, const Provenance &provenance);

  enum class Kind : uint8_t {
    /// A set of loops.
    Loops,
    /// The body between the first global load and the last output store.
    Body,
    /// Not decided; getReason says why.
    Unknown,
  };
  Kind getKind() const { return kind; }
  llvm::StringRef getReason() const { return reason; }
  /// Whether `op` lies in the region.
  Tristate contains(OpId op) const;
  /// The main loops, ascending; the core loop is among them.
  llvm::ArrayRef<uint32_t> getLoops() const { return mainLoops; }
  bool isMainLoop(uint32_t loop) const {
    return llvm::is_contained(mainLoops, loop);
  }
  /// The products, in the order of the text.
  llvm::ArrayRef<OpId> getProducts() const { return products; }
  /// This region; of a kernel with loops and without products, the one that
  /// floating-point arithmetic on inputs has in their place, by which warps
  /// that add up differ from warps that copy.
  const MainRegion &getWork() const;

private:
  /// What takes the place of products.
  enum class Work : uint8_t { Products, Arithmetic };
  MainRegion(const MainRegion &other, Work work);
  void find(Work work);
  void findProducts();
  void findArithmetic();
  void chooseLoops();
  void addClones();
  void addRoles();
  void findBody();
  /// Whether `loop` and the core loop belong to different ways through the
  /// code: no thread runs one after the other in the same pass.
  bool isExclusive(uint32_t loop) const;
  /// Enclosing loops of unknown trip count, and the product of the known ones.
  std::pair<unsigned, double> tripsAround(uint32_t loop) const;
  bool hasArrival(uint32_t loop) const;
  /// Loads from shared memory that the products of `loop` get a factor from,
  /// where all that the loop brings itself it loads; else none.
  std::vector<OpId> findSharedFactors(uint32_t loop) const;
  /// Whether something in `loop` brings inputs to where `loads` read.
  bool isFilledIn(llvm::ArrayRef<OpId> loads, uint32_t loop) const;

  const KernelIndex &index;
  const ConstantValues &constants;
  const Dominance &dominance;
  const LoopNest &loops;
  const MemoryRoots &memory;
  const Provenance &provenance;
  Kind kind = Kind::Unknown;
  std::string reason;
  std::vector<OpId> products;
  std::vector<double> flops;
  std::vector<uint32_t> mainLoops;
  uint32_t core = kNone;
  OpId bodyBegin = kNone, bodyEnd = kNone;
  mutable std::unique_ptr<const MainRegion> arithmetic;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_MAINREGION_H
