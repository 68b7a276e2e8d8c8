// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings of one property in one kernel: facts, and near misses and undecided
// claims grouped by their reason.

#include "Engine/Detector.h"

#include "Engine/AsyncAnalyses.h"
#include "Engine/FewWorkers.h"
#include "Engine/LaunchForks.h"
#include "Engine/TileOrder.h"

#include "d2k/Dialect/Kern/Location.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Places listed for one finding; more add nothing for a reader.
static constexpr size_t kMaxPlaces = 32;
/// Places named in a sentence.
static constexpr size_t kMaxNamed = 3;

Judgement Judgement::nearMiss(std::string reason,
                              llvm::ArrayRef<OpId> evidence) {
  Judgement result;
  result.verdict = Verdict::NearMiss;
  result.reason = std::move(reason);
  result.evidence.assign(evidence.begin(), evidence.end());
  return result;
}

Judgement Judgement::undecided(std::string reason, std::string wouldDecide,
                               llvm::ArrayRef<OpId> evidence) {
  Judgement result = nearMiss(std::move(reason), evidence);
  result.verdict = Verdict::Undecided;
  result.wouldDecide = std::move(wouldDecide);
  return result;
}

std::string properties::getTypeName(kern::ElementType type) {
  return kern::stringifyElementType(type).str();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

SourceLocation Detector::locate(mlir::Location loc) const {
  SourceLocation place;
  mlir::FileLineColLoc ptx = kern::getPtxLocation(loc);
  mlir::FileLineColLoc sass = kern::getSassLocation(loc);
  auto stack = kern::getSourceLocations(loc);
  if (!stack.empty()) {
    place.kind = LocationKind::Source;
    size_t shown = 0;
    if (options.isAuthored)
      while (shown < stack.size() && !options.isAuthored(stack[shown].file))
        ++shown;
    // Of code that is nobody's, the line itself.
    if (shown == stack.size())
      shown = 0;
    place.file = stack[shown].file.str();
    place.line = stack[shown].line;
    place.column = stack[shown].column;
    if (shown != 0) {
      place.inlinedFile = stack[0].file.str();
      place.inlinedLine = stack[0].line;
    }
    if (ptx)
      place.ptxLine = ptx.getLine();
  } else if (sass) {
    place.kind = LocationKind::Sass;
    place.file = sass.getFilename().str();
    place.line = sass.getLine();
    if (ptx)
      place.ptxLine = ptx.getLine();
  } else if (ptx) {
    place.kind = LocationKind::Ptx;
    place.file = ptx.getFilename().str();
    place.line = ptx.getLine();
    place.column = ptx.getColumn();
  }
  if (sass)
    place.sassOffset = sass.getLine();
  return place;
}

SourceLocation Detector::getPlace(mlir::Location loc) {
  SourceLocation place = locate(loc);
  if (hasText(place))
    place.snippet = snippets(place.file, place.line);
  return place;
}

SourceLocation Detector::getPlace(OpId op) {
  return getPlace(getIndex().getOp(op)->getLoc());
}

void Detector::addPlace(std::vector<SourceLocation> &places, OpId op) {
  SourceLocation place = locate(getIndex().getOp(op)->getLoc());
  bool known = llvm::any_of(places, [&](const SourceLocation &other) {
    return other.line == place.line && other.kind == place.kind &&
           other.file == place.file;
  });
  if (known || places.size() == kMaxPlaces)
    return;
  if (auto inst = llvm::dyn_cast<kern::InstOpInterface>(getIndex().getOp(op)))
    (place.sassOffset ? place.sassInstruction : place.instruction) =
        inst.getMnemonic().str();
  places.push_back(std::move(place));
}

std::vector<SourceLocation> Detector::getPlaces(llvm::ArrayRef<OpId> ops) {
  std::vector<SourceLocation> places;
  for (OpId op : ops)
    addPlace(places, op);
  return places;
}

static std::string nameOf(const SourceLocation &place) {
  if (place.kind == LocationKind::Sass)
    return "offset 0x" + llvm::utohexstr(place.line, /*LowerCase=*/true);
  if (place.line == 0)
    return "an unknown line";
  std::string line = std::to_string(place.line);
  if (place.kind == LocationKind::Ptx)
    return "PTX line " + line;
  return llvm::sys::path::filename(place.file).str() + ":" + line;
}

std::string Detector::describe(OpId op) {
  return nameOf(locate(getIndex().getOp(op)->getLoc()));
}

std::string Detector::describe(llvm::ArrayRef<OpId> ops) {
  std::vector<SourceLocation> places = getPlaces(ops);
  std::string text;
  for (size_t i = 0; i < std::min(places.size(), kMaxNamed); ++i)
    text += (i ? ", " : "") + nameOf(places[i]);
  if (places.size() > kMaxNamed)
    text += " and " + std::to_string(places.size() - kMaxNamed) + " more";
  return text;
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

void Detector::addFact(AttributeMap attributes, OpId at,
                       llvm::ArrayRef<OpId> where) {
  claims.push_back({std::move(attributes),
                    where.front(),
                    {where.begin(), where.end()},
                    at != kNone});
}

void Detector::record(const Claim &claim) {
  Fact fact;
  fact.attributes = claim.attributes;
  fact.tier = getTier();
  fact.tiers.insert(getTier());
  fact.inMain = Tristate::No;
  if (claim.placed) {
    OpId at = claim.op;
    const LoopNest &loops = kernel.getLoops();
    uint32_t loop = loops.getInnermostWorking(getIndex().getBlockOf(at));
    if (loop != kNone)
      fact.loop = loops.getLoop(loop).id;
    fact.inMain = getMainRegion().contains(at);
  }
  // Unrolled copies of one source line are one place: a list of each of them
  // would tell a reader nothing.
  for (Fact &known : found.facts)
    if (known.attributes == fact.attributes && known.loop == fact.loop &&
        known.inMain == fact.inMain) {
      for (OpId op : claim.where)
        addPlace(known.where, op);
      return;
    }
  for (OpId op : claim.where)
    addPlace(fact.where, op);
  found.facts.push_back(std::move(fact));
}

bool Detector::isClaimedWithout(const Claim &claim, size_t fork, unsigned side,
                                bool onOtherSide) {
  // Thousands of unrolled copies ask the same. What runs on both sides, as a
  // remainder behind an unrolled loop does, may see less of it.
  auto [answer, isNew] = sameElsewhere.try_emplace(
      {fork, side, onOtherSide,
       onOtherSide ? claim.attributes : AttributeMap()},
      false);
  if (isNew)
    answer->second = llvm::any_of(claims, [&](const Claim &other) {
      const LaunchFork &at = forks->forks[fork];
      return onOtherSide ? other.attributes == claim.attributes &&
                               runsOnSide(kernel, at, 1 - side, other.op)
                         : llvm::none_of(other.where, [&](OpId op) {
                             return isOnSide(kernel, at, side, op);
                           });
    });
  return answer->second;
}

Detector::OtherWay Detector::findOtherWay(const Claim &claim,
                                          bool isMechanism) {
  if (!forks)
    forks = std::make_shared<const LaunchForks>(findLaunchForks(kernel));
  for (size_t i = 0; i < forks->forks.size(); ++i)
    for (unsigned side : {0u, 1u}) {
      const LaunchFork &fork = forks->forks[i];
      bool runsHere = llvm::any_of(claim.where, [&](OpId op) {
        return runsOnSide(kernel, fork, side, op);
      });
      if (runsHere && fork.bothWork() &&
          !isClaimedWithout(claim, i, side, /*onOtherSide=*/true))
        return {fork.sides[1 - side].work, /*isStore=*/false};
      if (!isMechanism ||
          !llvm::all_of(
              claim.where,
              [&](OpId op) { return isOnSide(kernel, fork, side, op); }) ||
          isClaimedWithout(claim, i, side, /*onOtherSide=*/false))
        continue;
      if (OpId store = findStoreWithout(kernel, fork, side, claim.where);
          store != kNone)
        return {store, /*isStore=*/true};
    }
  return {};
}

void Detector::addFact(AttributeMap attributes, OpId op) {
  addFact(std::move(attributes), op, op);
}

/// Where the kernel begins. A front end may know no source line of a function,
/// but its first instruction that has one is, when all inlined calls are left
/// out, at the kernel's own.
static mlir::Location getPlaceOf(kern::FuncOp func) {
  mlir::Location loc = func.getLoc();
  mlir::FileLineColLoc ptx = kern::getPtxLocation(loc);
  if (!ptx || kern::getSassLocation(loc) ||
      !kern::getSourceLocations(loc).empty() || func.getBody().empty())
    return loc;
  for (mlir::Operation &op : func.getBody().front()) {
    auto stack = kern::getSourceLocations(op.getLoc());
    if (stack.empty())
      continue;
    const kern::SourceLocation &outermost = stack.back();
    return kern::makeLocation(ptx, mlir::FileLineColLoc::get(outermost.file,
                                                             outermost.line,
                                                             outermost.column));
  }
  return loc;
}

void Detector::addKernelFact(AttributeMap attributes) {
  Fact fact;
  fact.attributes = std::move(attributes);
  fact.tier = getTier();
  fact.tiers.insert(getTier());
  fact.inMain = Tristate::No;
  fact.where.push_back(getPlace(getPlaceOf(getFunc())));
  found.facts.push_back(std::move(fact));
}

void Detector::addKernelUndecided(std::string sentence,
                                  std::string wouldDecide) {
  addUndecided(std::move(sentence), std::move(wouldDecide), {});
  found.undecided.back().where.push_back(getPlace(getPlaceOf(getFunc())));
}

void Detector::add(const Judgement &judgement, OpId op) {
  std::string key =
      std::to_string(unsigned(judgement.verdict)) + judgement.reason;
  Group &group = groups[key];
  group.judgement = judgement;
  group.ops.push_back(op);
}

void Detector::addNearMiss(std::string sentence, llvm::ArrayRef<OpId> where) {
  // Clones of a loop miss it in the same words.
  if (llvm::any_of(found.nearMisses, [&](const NearMiss &other) {
        return other.reason == sentence;
      }))
    return;
  NearMiss miss;
  miss.reason = std::move(sentence);
  miss.where = getPlaces(where);
  found.nearMisses.push_back(std::move(miss));
}

void Detector::addUndecided(std::string sentence, std::string wouldDecide,
                            llvm::ArrayRef<OpId> where) {
  if (llvm::any_of(found.undecided, [&](const Undecided &other) {
        return other.reason == sentence;
      }))
    return;
  Undecided entry;
  entry.reason = std::move(sentence);
  entry.wouldDecide = std::move(wouldDecide);
  entry.where = getPlaces(where);
  found.undecided.push_back(std::move(entry));
}

void Detector::addLaunchClaim(LaunchClaim claim, llvm::ArrayRef<OpId> where) {
  claim.where = getPlaces(where);
  launchClaims.push_back(std::move(claim));
}

void Detector::conclude(const Judgement &judgement, AttributeMap attributes,
                        OpId op) {
  if (judgement.isProved())
    addFact(std::move(attributes), op);
  else
    add(judgement, op);
}

Judgement Detector::judgeWorkers(llvm::ArrayRef<OpId> where) {
  if (!fewWorkers)
    fewWorkers = std::make_shared<FewWorkersFinder>(kernel);
  std::optional<FewWorkers> few = fewWorkers->find(where);
  if (!few)
    return Judgement::proved();
  return Judgement::nearMiss(
      withChange("is done by " + few->who + " only, and " +
                     describe(few->other) +
                     " makes the same outputs in another way for the others",
                 "let all of them do it"),
      {few->other});
}

/// Properties whose attributes are a share or a degree, whoever has it.
static bool isMeasure(llvm::StringRef property) {
  static constexpr llvm::StringLiteral kMeasured[] = {
      "coalesced_global_access", "local_spills", "smem_bank_conflict",
      "vector_global_access"};
  return llvm::is_contained(kMeasured, property);
}

/// Properties that instructions have by themselves. The others describe what
/// the kernel does where it works at all: how its loops and its tiles are made,
/// and what goes with its products.
static bool isMechanism(llvm::StringRef property) {
  static constexpr llvm::StringLiteral kMechanisms[] = {
      "async_copy", "bulk_store_epilogue",    "dependent_launch",
      "fast_math",  "distributed_smem",       "packed_math",
      "tma",        "matrix_fragment_access", "tensor_core",
      "smem_tiling"};
  return llvm::is_contained(kMechanisms, property);
}

std::vector<Judgement> Detector::judgeClaims(llvm::StringRef property) {
  std::vector<Judgement> judgements(claims.size());
  if (isMeasure(property))
    return judgements;
  std::set<AttributeMap> ofAll;
  for (auto [claim, judgement] : llvm::zip(claims, judgements)) {
    judgement = judgeWorkers(claim.where);
    if (judgement.isProved())
      ofAll.insert(claim.attributes);
  }
  for (auto [claim, judgement] : llvm::zip(claims, judgements))
    if (ofAll.count(claim.attributes))
      judgement = Judgement::proved();
  return judgements;
}

void Detector::finish(llvm::StringRef property, KernelFacts &into) {
  std::vector<Judgement> judgements = judgeClaims(property);
  std::vector<OtherWay> ways;
  std::set<AttributeMap> without;
  for (auto [claim, judgement] : llvm::zip(claims, judgements)) {
    ways.push_back(judgement.isProved()
                       ? findOtherWay(claim, isMechanism(property))
                       : OtherWay());
    if (judgement.isProved() && ways.back().op == kNone)
      without.insert(claim.attributes);
  }
  for (auto [claim, judgement, way] : llvm::zip(claims, judgements, ways)) {
    if (!judgement.isProved()) {
      add(judgement, claim.op);
      continue;
    }
    // A peeled copy of what a loop does.
    OpId other =
        way.isStore && without.count(claim.attributes) ? kNone : way.op;
    // What runs whatever the branches do is on no side of any.
    bool runsAlways = llvm::all_of(claim.where, [&](OpId op) {
      return kernel.getDominance().postDominates(getIndex().getBlockOf(op), 0);
    });
    if (other == kNone && forks->ignored != kNone && !runsAlways)
      add(Judgement::undecided(
              "may be on one side of a branch on launch parameters: the kernel "
              "has more than " +
                  std::to_string(LaunchForks::kMaxBranches) +
                  ", and those from " + describe(forks->ignored) +
                  " on were not looked at",
              kLaunchDecides, {forks->ignored}),
          claim.op);
    else if (other == kNone)
      record(claim);
    else
      add(Judgement::undecided(
              "is on one side of a branch on launch parameters, and " +
                  describe(other) +
                  (way.isStore ? " writes the same outputs without it"
                               : " works in another way on the other"),
              kLaunchDecides, {other}),
          claim.op);
  }
  claims.clear();
  sameElsewhere.clear();
  for (auto &[key, group] : groups) {
    OpId first = group.ops.front();
    std::string sentence;
    if (auto inst =
            llvm::dyn_cast<kern::InstOpInterface>(getIndex().getOp(first)))
      sentence = "`" + inst.getMnemonic().str() + "` ";
    sentence += "at " + describe(group.ops) + " " + group.judgement.reason;
    llvm::SmallVector<OpId, 8> where(group.ops.begin(), group.ops.end());
    llvm::append_range(where, group.judgement.evidence);
    if (group.judgement.verdict == Judgement::Verdict::NearMiss)
      addNearMiss(std::move(sentence), where);
    else
      addUndecided(std::move(sentence), group.judgement.wouldDecide, where);
  }
  groups.clear();
  // Text is read last, for the places that are kept.
  auto addSnippets = [&](std::vector<SourceLocation> &places) {
    for (SourceLocation &place : places)
      if (hasText(place))
        place.snippet = snippets(place.file, place.line);
  };
  for (Fact &fact : found.facts)
    addSnippets(fact.where);
  for (NearMiss &miss : found.nearMisses)
    addSnippets(miss.where);
  for (Undecided &entry : found.undecided)
    addSnippets(entry.where);
  for (Fact &fact : found.facts) {
    fact.property = property.str();
    into.facts.push_back(std::move(fact));
  }
  for (NearMiss &miss : found.nearMisses) {
    miss.property = property.str();
    into.nearMisses.push_back(std::move(miss));
  }
  for (Undecided &entry : found.undecided) {
    entry.property = property.str();
    into.undecided.push_back(std::move(entry));
  }
  for (LaunchClaim &claim : launchClaims) {
    addSnippets(claim.where);
    claim.property = property.str();
    into.launchClaims.push_back(std::move(claim));
  }
  launchClaims.clear();
  found = {};
}

AsyncAnalyses &Detector::getAsyncAnalyses() {
  if (!asyncAnalyses)
    asyncAnalyses = std::make_shared<AsyncAnalyses>(kernel);
  return *asyncAnalyses;
}

const TileOrder &Detector::getTileOrder() {
  if (!tileOrder)
    tileOrder = std::make_shared<const TileOrder>(*this);
  return *tileOrder;
}
