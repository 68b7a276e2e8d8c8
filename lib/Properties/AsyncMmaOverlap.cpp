// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// async_mma_overlap: asynchronous matrix products (wgmma, tcgen05) run beside
// other work instead of being waited for as soon as they are committed.

#include "Engine/AsyncAnalyses.h"
#include "Engine/Detector.h"

#include "llvm/ADT/bit.h"

#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// Looks at the products of one loop of the main region.
class LoopOverlap {
public:
  LoopOverlap(Detector &detector, AsyncAnalyses &async, uint32_t loop,
              llvm::ArrayRef<uint32_t> main)
      : detector(detector), kernel(detector.getKernel()),
        index(detector.getIndex()), async(async), loop(loop),
        order(async.rings.getOrder(loop)) {
    const LoopNest &loops = kernel.getLoops();
    for (OpId op : detector.getMainRegion().getProducts()) {
      uint32_t owner = loops.getInnermostWorking(index.getBlockOf(op));
      while (owner != kNone && !llvm::is_contained(main, owner))
        owner = loops.getLoop(owner).parent;
      if (owner != loop)
        continue;
      if (llvm::isa<kern::AsyncMmaOp>(index.getOp(op)))
        groups.push_back(op);
      else if (llvm::isa<kern::TmemMmaOp>(index.getOp(op)))
        tensor.push_back(op);
    }
  }

  void run() {
    if (!groups.empty())
      runGroups();
    if (!tensor.empty())
      runTensor();
  }

private:
  Judgement judgeProduct(OpId op) {
    return detector.judgeRuns(op)
        .then([&] {
          return detector.judgeReach(
              detector.getProvenance().getProductReach(op), "its result");
        })
        .then([&] { return detector.judgeModelled(); });
  }
  void addNearMiss(std::string sentence, llvm::ArrayRef<OpId> where,
                   const std::string &change) {
    detector.addNearMiss(withChange(std::move(sentence), change), where);
  }
  std::string name(OpId op) {
    auto inst = llvm::cast<kern::InstOpInterface>(index.getOp(op));
    std::string text = "`" + inst.getMnemonic().str();
    if (auto wait = llvm::dyn_cast<kern::AsyncWaitOp>(index.getOp(op)))
      text += " " + std::to_string(wait.getPending());
    return text + "` at " + detector.describe(op);
  }
  /// Work that counts as overlapped: a copy, or arithmetic on numbers that come
  /// from inputs and reach an output.
  bool isOtherWork(OpId op) {
    mlir::Operation *operation = index.getOp(op);
    if (getCopyToShared(operation))
      return true;
    const Provenance &provenance = detector.getProvenance();
    auto matters = [&] {
      ValueId value = index.getFirstResult(op);
      return provenance.getReach(value) == Reach::Must &&
             !provenance.getTerms(value).empty();
    };
    if (auto arith = llvm::dyn_cast<kern::ArithOp>(operation))
      return kern::isFloat(arith.getType()) && matters();
    return llvm::isa<kern::MathOp>(operation) && matters();
  }
  void runGroups();
  void runTensor();

  Detector &detector;
  KernelContext &kernel;
  const KernelIndex &index;
  AsyncAnalyses &async;
  uint32_t loop;
  std::vector<OpId> order;
  std::vector<OpId> groups, tensor;
};
} // namespace

void LoopOverlap::runGroups() {
  Judgement judgement = judgeProduct(groups.front());
  if (!judgement.isProved()) {
    detector.add(judgement, groups.front());
    return;
  }
  const InFlight &inFlight = async.inFlight;
  std::vector<OpId> waits;
  for (OpId op : order) {
    auto wait = llvm::dyn_cast<kern::AsyncWaitOp>(index.getOp(op));
    if (wait && wait.getGroup() == kern::Completion::WgmmaGroup)
      waits.push_back(op);
  }
  AttributeMap attributes;
  llvm::SmallVector<OpId, 6> where{groups.front()};
  if (waits.empty()) {
    // Outstanding through the loop: the next group is issued beside it.
    if (loop == kNone) {
      detector.add(Judgement::undecided("is followed by no wait that was found",
                                        "a wait for its group"),
                   groups.front());
      return;
    }
    detector.addFact(std::move(attributes), groups.front(), where);
    return;
  }

  // Committed groups that are outstanding where the next product is issued.
  std::vector<Ages> before(groups.size());
  for (OpId product : groups)
    for (auto [sum, ages] :
         llvm::zip(before, inFlight.getSteady(product, loop, groups))) {
      sum.must |= ages.must;
      sum.may |= ages.may;
    }
  int64_t outstanding = 0, largest = 0;
  bool onSomeWays = false;
  for (const Ages &ages : before) {
    // Age 0 is not committed: it is no group.
    outstanding =
        std::max<int64_t>(outstanding, llvm::popcount(ages.must & ~1u));
    onSomeWays |= (ages.may & ~1u) != 0;
  }
  OpId longest = waits.front();
  for (OpId wait : waits) {
    auto op = llvm::cast<kern::AsyncWaitOp>(index.getOp(wait));
    int64_t pending = int64_t(std::min<uint64_t>(op.getPending(), 30));
    if (pending > largest) {
      largest = pending;
      longest = wait;
    }
  }
  where.push_back(longest);
  if (outstanding == 0) {
    // What runs between the last product of a group and the wait that ends it.
    std::vector<OpId> drains;
    for (OpId product : groups)
      for (OpId drain : inFlight.getDrains(product, loop))
        if (!llvm::is_contained(drains, drain))
          drains.push_back(drain);
    OpId work = kNone;
    bool between = false;
    // Twice around: a wait may stand in the next iteration.
    for (unsigned round = 0; round < (loop == kNone ? 1u : 2u); ++round)
      for (OpId op : order) {
        auto commit = llvm::dyn_cast<kern::AsyncCommitOp>(index.getOp(op));
        if (commit && commit.getGroup() == kern::Completion::WgmmaGroup)
          between = true;
        else if (llvm::is_contained(drains, op))
          between = false;
        else if (between && work == kNone && isOtherWork(op))
          work = op;
      }
    if (work == kNone) {
      OpId wait = drains.empty() ? waits.front() : drains.front();
      if (onSomeWays) {
        detector.add(Judgement::undecided(
                         "is outstanding behind a wait on some ways only",
                         "one wait on all ways"),
                     groups.front());
        return;
      }
      llvm::SmallVector<OpId, 3> places{wait, groups.front()};
      addNearMiss(
          name(wait) + " waits for the products issued at " +
              detector.describe(groups.front()) +
              " as soon as they are committed: no later group, copy or "
              "arithmetic runs beside them",
          places,
          "wait for the group before the last (wait_group 1), or move the wait "
          "behind the next group, copy or other arithmetic");
      return;
    }
    where.push_back(work);
    where.append(drains.begin(), drains.end());
  }
  attributes["outstanding"] = std::min(outstanding, largest);
  detector.addFact(std::move(attributes), groups.front(), where);
}

void LoopOverlap::runTensor() {
  OpId first = tensor.front();
  Judgement judgement = judgeProduct(first);
  if (!judgement.isProved()) {
    detector.add(judgement, first);
    return;
  }
  BarrierPhases &phases = async.phases;
  IterationValues &values = async.values;
  unsigned iterations = async.rings.getIterations(loop);
  std::vector<OpId> commits, waits;
  for (OpId op : order) {
    if (llvm::isa<kern::TmemCommitOp>(index.getOp(op)))
      commits.push_back(op);
    else if (phases.isWait(op))
      waits.push_back(op);
  }
  if (commits.empty()) {
    // Committed behind the loop: all of its products are one group.
    detector.addNearMiss(
        "the products issued at " + detector.describe(first) +
            " are committed outside of their loop: there is one group, and it "
            "is waited for as a whole",
        {first});
    return;
  }

  // Commits that are outstanding when the first product behind another commit
  // is issued, and what runs between a commit and its wait.
  std::set<IterationValue> all, outstanding;
  std::set<OpId> matched;
  std::vector<unsigned> counts;
  OpId work = kNone;
  bool fresh = false, unknown = false;
  for (unsigned iteration = 0; iteration < iterations; ++iteration)
    for (OpId op : order) {
      if (llvm::is_contained(commits, op)) {
        IterationValue barrier = *phases.getBarrier(op, loop, iteration);
        unknown |= values.isUnknown(barrier);
        all.insert(barrier);
        outstanding.insert(barrier);
        fresh = true;
      } else if (llvm::is_contained(waits, op)) {
        IterationValue barrier = *phases.getBarrier(op, loop, iteration);
        if (all.count(barrier))
          matched.insert(op);
        outstanding.erase(barrier);
      } else if (llvm::is_contained(tensor, op)) {
        if (fresh && iteration >= iterations / 2)
          counts.push_back(outstanding.size());
        fresh = false;
      } else if (work == kNone && !outstanding.empty() && isOtherWork(op)) {
        work = op;
      }
    }
  if (unknown || all.size() > RingSlots::kIterations / 2) {
    detector.add(Judgement::undecided(
                     "is committed to a barrier whose address is not known "
                     "from one iteration to the next",
                     "barrier addresses that are computed from a ring index"),
                 first);
    return;
  }
  int64_t least = counts.empty() ? 0 : *llvm::min_element(counts);
  llvm::SmallVector<OpId, 6> where{first, commits.front()};
  where.append(matched.begin(), matched.end());
  AttributeMap attributes;
  if (matched.empty()) {
    // Other roles wait: they give a stage back when its products are done, and
    // all stages but the one that is asked for next can be outstanding.
    least = int64_t(all.size()) - 1;
    if (least == 0) {
      addNearMiss(
          "the products issued at " + detector.describe(first) +
              " are committed to one barrier, " + detector.describe(commits) +
              ": the stage that they read is the only one, so that the next "
              "products wait for them",
          where, "give each stage of a ring a barrier of its own");
      return;
    }
  } else if (least == 0 && work == kNone) {
    OpId wait = *matched.begin();
    addNearMiss(name(wait) + " waits for the products issued at " +
                    detector.describe(first) +
                    " as soon as they are committed: no later group, "
                    "copy or arithmetic runs beside them",
                where,
                "wait for the products of the iteration before, or "
                "let another role wait");
    return;
  }
  if (least == 0)
    where.push_back(work);
  attributes["outstanding"] = least;
  detector.addFact(std::move(attributes), first, where);
}

static void detect(Detector &detector) {
  const MainRegion &region = detector.getMainRegion();
  if (region.getKind() == MainRegion::Kind::Unknown) {
    llvm::SmallVector<OpId, 4> products;
    for (OpId op : region.getProducts())
      if (llvm::isa<kern::AsyncMmaOp, kern::TmemMmaOp>(
              detector.getIndex().getOp(op)))
        products.push_back(op);
    if (!products.empty())
      detector.addUndecided(
          "the main region is not known: " + region.getReason().str(),
          "a loop with one entry around the products", products);
    return;
  }
  AsyncAnalyses &async = detector.getAsyncAnalyses();
  if (region.getKind() == MainRegion::Kind::Body) {
    LoopOverlap(detector, async, kNone, {}).run();
    return;
  }
  for (uint32_t loop : region.getLoops())
    LoopOverlap(detector, async, loop, region.getLoops()).run();
}

namespace d2k::properties {
Property makeAsyncMmaOverlap() {
  PropertyInfo info;
  info.id = "async_mma_overlap";
  info.group = 'B';
  info.summary =
      "matrix work is waited for only after a later commit group, a copy "
      "issue, or arithmetic outside its own group; mma.sync is synchronous and "
      "has no such property";
  info.attributes = {
      {"outstanding",
       AttrType::Integer,
       {},
       "commit groups that the waits of the main region leave outstanding, at "
       "most the largest N of a wait; for tcgen05 the commits that nothing has "
       "waited for when the next product is issued, or all stages but one when "
       "other roles wait; absent when nothing in the loop waits"}};
  info.perTier = {"outstanding"};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
