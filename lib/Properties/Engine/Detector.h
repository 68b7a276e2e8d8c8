// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the file of a property is written against: the property's record, and a
// Detector that gives it the analyses of one kernel, the judgements that
// several properties share, and a place for its findings.
//
// Rules of the judgements. A claim about an operation is *proved* only when
//   - the operation may run (reachable, its guard not constantly off),
//   - what it works on comes from an input,
//   - its result reaches an output as data, and
//   - the output is not made in a rival way: no store of the kernel writes a
//     dot product or matrix product that goes another way, or (where matrix
//     products are claimed) what is worked out of many input words without
//     them; nothing overwrites the result, nothing that is not modelled can
//     write an output.
// What plainly fails one of the first three is a near miss; whatever is unsure
// is undecided. Judgements never claim more than that.

#ifndef D2K_LIB_PROPERTIES_ENGINE_DETECTOR_H
#define D2K_LIB_PROPERTIES_ENGINE_DETECTOR_H

#include "Engine/Property.h"

#include "d2k/Analysis/KernelContext.h"
#include "d2k/Properties/Properties.h"

#include "llvm/ADT/SmallVector.h"

#include <map>

namespace d2k::properties {

struct AsyncAnalyses;
class FewWorkersFinder;
struct LaunchForks;
struct MainProduct;
struct StagedTile;
class TileOrder;

using analysis::kNone;
using analysis::OpId;
using analysis::ValueId;

/// Outcome of a judgement about an operation.
struct Judgement {
  enum class Verdict : uint8_t { Proved, NearMiss, Undecided };
  Verdict verdict = Verdict::Proved;
  /// For a near miss and an undecided claim, the rest of the sentence that
  /// starts with the operation: "multiplies zeros, ...".
  std::string reason;
  std::string wouldDecide;
  /// Operations that the reason speaks of.
  llvm::SmallVector<OpId, 2> evidence;

  static Judgement proved() { return {}; }
  static Judgement nearMiss(std::string reason,
                            llvm::ArrayRef<OpId> evidence = {});
  static Judgement undecided(std::string reason, std::string wouldDecide,
                             llvm::ArrayRef<OpId> evidence = {});
  bool isProved() const { return verdict == Verdict::Proved; }
  /// This when it is not proved, else `next()`.
  template <typename Fn>
  Judgement then(Fn next) const {
    return isProved() ? next() : *this;
  }
};

/// One kernel as a property sees it.
class Detector {
public:
  Detector(analysis::KernelContext &kernel, const Options &options,
           const SnippetProvider &snippets)
      : kernel(kernel), options(options), snippets(snippets) {}

  analysis::KernelContext &getKernel() { return kernel; }
  kern::FuncOp getFunc() { return kernel.getFunc(); }
  const analysis::KernelIndex &getIndex() { return kernel.getIndex(); }
  const analysis::ConstantValues &getConstants() {
    return kernel.getConstants();
  }
  const analysis::MemoryRoots &getMemory() { return kernel.getMemory(); }
  const analysis::Provenance &getProvenance() { return kernel.getProvenance(); }
  const analysis::MainRegion &getMainRegion() { return kernel.getMainRegion(); }
  Tier getTier() const { return options.tier; }
  /// All tiles of input data that the kernel stages in shared memory, by
  /// object. Include StagedTiles.h to use them.
  llvm::ArrayRef<StagedTile> getStagedTiles();
  /// The products of the main region. Include Accumulators.h to use them.
  llvm::ArrayRef<MainProduct> getMainProducts();
  /// Include AsyncAnalyses.h to use them.
  AsyncAnalyses &getAsyncAnalyses();
  /// Include TileOrder.h to use it.
  const TileOrder &getTileOrder();

  /// Calls `fn(id, op)` for each operation of type `OpT`, dead ones included.
  template <typename OpT, typename Fn>
  void forEach(Fn fn) {
    const analysis::KernelIndex &index = getIndex();
    for (OpId id = 0; id < index.getNumOps(); ++id)
      if (auto op = llvm::dyn_cast<OpT>(index.getOp(id)))
        fn(id, op);
  }

  //===--- Judgements -----------------------------------------------------===//

  /// Near miss when `op` never runs.
  Judgement judgeRuns(OpId op);
  /// Undecided when something that is not modelled may write an output.
  Judgement judgeModelled();
  /// Whether the outputs are made through `product`, without rival.
  Judgement judgeSoleWay(analysis::ProductClass product);
  /// Whether the outputs are made in one way, whatever it is.
  Judgement judgeOneWay();
  /// Judges how far a result reaches; `what` names it ("its result").
  Judgement judgeReach(analysis::Reach reach, llvm::StringRef what);
  /// Whether access number `access` reads something that comes from an input.
  Judgement judgeInput(uint32_t access);
  /// Whether what asynchronous copy access `access` writes is what is read
  /// later, and how far it reaches.
  Judgement judgeCopied(uint32_t access);

  /// Near miss when one block or few threads do `where`, and the others make
  /// the same outputs in another way (see FewWorkers.h).
  Judgement judgeWorkers(llvm::ArrayRef<OpId> where);

  /// Whether control can go from `from` to `to` without starting the innermost
  /// loop around both anew: in one pass, `to` runs after `from`.
  bool runsAfter(OpId from, OpId to);

  //===--- Findings -------------------------------------------------------===//

  /// A fact at `op`, in its loop.
  void addFact(AttributeMap attributes, OpId op);
  /// A fact about several operations; loop and region are those of `at`, or
  /// none when it is kNone.
  void addFact(AttributeMap attributes, OpId at, llvm::ArrayRef<OpId> where);
  /// A fact about the kernel as a whole.
  void addKernelFact(AttributeMap attributes);
  /// An undecided claim about the kernel as a whole.
  void addKernelUndecided(std::string sentence, std::string wouldDecide);
  /// A near miss or undecided claim about `op`: the sentence is the
  /// instruction and its lines, then `judgement.reason`. Claims with the same
  /// reason become one.
  void add(const Judgement &judgement, OpId op);
  /// The same with the whole sentence given.
  void addNearMiss(std::string sentence, llvm::ArrayRef<OpId> where);
  void addUndecided(std::string sentence, std::string wouldDecide,
                    llvm::ArrayRef<OpId> where);
  /// A fact when proved, unless a branch on launch parameters chooses between
  /// it and another way (see LaunchForks.h) or few do it (judgeWorkers); else
  /// `add`.
  void conclude(const Judgement &judgement, AttributeMap attributes, OpId op);

  /// A claim that the launch settles, at `where`. It comes beside an undecided
  /// claim, which stays when no host code is known.
  void addLaunchClaim(LaunchClaim claim, llvm::ArrayRef<OpId> where);

  /// "gemm.cu:58", or "PTX line 120" without line information.
  std::string describe(OpId op);
  /// "gemm.cu:58, :61 and 3 more".
  std::string describe(llvm::ArrayRef<OpId> ops);
  SourceLocation getPlace(mlir::Location loc);
  SourceLocation getPlace(OpId op);

  /// Moves the findings under the name of `property` into `into`.
  void finish(llvm::StringRef property, KernelFacts &into);

private:
  struct Group {
    Judgement judgement;
    llvm::SmallVector<OpId, 4> ops;
  };
  /// A proved claim; it becomes a fact in `finish`.
  struct Claim {
    AttributeMap attributes;
    OpId op;
    llvm::SmallVector<OpId, 2> where;
    bool placed;
  };
  /// Whether a line of text can be read there.
  bool hasText(const SourceLocation &place) const {
    return snippets && place.line != 0 && place.kind != LocationKind::Sass;
  }
  /// Where `loc` is, without the text of the line.
  SourceLocation locate(mlir::Location loc) const;
  void addPlace(std::vector<SourceLocation> &places, OpId op);
  void record(const Claim &claim);
  /// Another way than `claim` that launch parameters choose.
  struct OtherWay {
    OpId op = analysis::kNone;
    /// It writes the same outputs, without working on anything that the claim's
    /// side does not work on.
    bool isStore = false;
  };
  /// Work on the other side of a condition on launch parameters that makes no
  /// claim equal to `claim`, or, if `isMechanism`, a store that is left there;
  /// kNone when there is none.
  OtherWay findOtherWay(const Claim &claim, bool isMechanism);
  /// Whether a claim like `claim` stands on the other side, or, when not
  /// `onOtherSide`, on both or on the other.
  bool isClaimedWithout(const Claim &claim, size_t fork, unsigned side,
                        bool onOtherSide);
  /// What `record` is not to be told, by claim: few do it, and nobody else
  /// makes an equal claim.
  std::vector<Judgement> judgeClaims(llvm::StringRef property);
  std::vector<SourceLocation> getPlaces(llvm::ArrayRef<OpId> ops);
  /// Ordinary stores of unprocessed input data to `object`.
  llvm::ArrayRef<uint32_t> getPlainStores(analysis::ObjectId object);

  analysis::KernelContext &kernel;
  const Options &options;
  const SnippetProvider &snippets;
  FactSet found;
  std::vector<Claim> claims;
  std::vector<LaunchClaim> launchClaims;
  std::shared_ptr<const LaunchForks> forks;
  /// By fork, side, whether on the other side itself, and attributes: the same
  /// is claimed elsewhere.
  std::map<std::tuple<size_t, unsigned, bool, AttributeMap>, bool>
      sameElsewhere;
  std::map<std::string, Group> groups;
  std::optional<Judgement> oneWay, modelled;
  std::map<analysis::ProductClass, Judgement> soleWay;
  std::map<analysis::ObjectId, std::vector<uint32_t>> plainStores;
  std::shared_ptr<const std::vector<StagedTile>> stagedTiles;
  std::shared_ptr<const std::vector<MainProduct>> mainProducts;
  std::shared_ptr<AsyncAnalyses> asyncAnalyses;
  std::shared_ptr<const TileOrder> tileOrder;
  std::shared_ptr<FewWorkersFinder> fewWorkers;
};

/// The spelling of an element type in attributes: "bf16", "f32".
std::string getTypeName(kern::ElementType type);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_DETECTOR_H
