// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// async_pipeline: what an iteration of the main region works on was requested
// earlier, so that other copies are outstanding while it computes.
//
// For each loop of the region that holds products, the copies that feed it are
// looked at: how many groups or slots are outstanding at its products, and
// whether what is read steps through the slots that the copies write.

#include "Engine/AsyncAnalyses.h"
#include "Engine/Detector.h"
#include "Engine/EarlyReads.h"
#include "Engine/RegisterPrefetch.h"
#include "Engine/RingReaders.h"
#include "Engine/UnusedBuffers.h"

#include "d2k/Analysis/SharedObjects.h"

#include "llvm/ADT/bit.h"

#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// More products of one loop are not looked at one by one: every n-th then.
constexpr size_t kMaxPoints = 256;

/// What is known about one way of fetching ahead for one loop.
struct Stream {
  std::string mechanism;
  unsigned depth = 0;
  /// Operations to show.
  llvm::SmallVector<OpId, 4> where;
};

/// Looks at one loop of the main region with products.
class LoopPipeline {
public:
  LoopPipeline(Detector &detector, AsyncAnalyses &async, uint32_t loop,
               llvm::ArrayRef<uint32_t> main)
      : detector(detector), kernel(detector.getKernel()),
        index(detector.getIndex()), async(async), loop(loop), main(main) {
    std::vector<OpId> all;
    for (OpId op : detector.getMainRegion().getProducts())
      if (getOwner(op) == loop)
        all.push_back(op);
    size_t step = (all.size() + kMaxPoints - 1) / kMaxPoints;
    for (size_t i = 0; i < all.size(); i += step)
      points.push_back(all[i]);
    total.assign(points.size(), 0);
    groups.assign(points.size(), 0);
  }

  void run();

private:
  /// The innermost main loop that holds `op`.
  uint32_t getOwner(OpId op) {
    const LoopNest &loops = kernel.getLoops();
    uint32_t owner = loops.getInnermostWorking(index.getBlockOf(op));
    while (owner != kNone && !llvm::is_contained(main, owner))
      owner = loops.getLoop(owner).parent;
    return owner;
  }
  bool isInOrder(OpId first, OpId second) {
    const Dominance &dominance = kernel.getDominance();
    BlockId a = index.getBlockOf(first), b = index.getBlockOf(second);
    return a == b ? first < second
                  : dominance.getPosition(a) < dominance.getPosition(b);
  }
  RingReaders getReaders() {
    return {detector, async, loop, [this](OpId op) { return getOwner(op); }};
  }
  std::string name(OpId op);
  void addNearMiss(std::string sentence, llvm::ArrayRef<OpId> where,
                   const std::string &change) {
    detector.addNearMiss(withChange(std::move(sentence), change), where);
  }
  bool completesOnBarrier(const CopySite &site);
  void addSite(const CopySite &site);
  void addGroups(const CopySite &site);
  void addBarriers(const CopySite &site);
  void accept(const CopySite &site, llvm::ArrayRef<OpId> waits);
  Judgement judgeRing(const CopySite &site, const Ring &ring);
  Judgement judgeArrival(const CopySite &site, const Ring &ring);
  bool isReadInLoop(OpId copy);
  void addRegisters();
  void conclude();

  Detector &detector;
  KernelContext &kernel;
  const KernelIndex &index;
  AsyncAnalyses &async;
  uint32_t loop;
  llvm::ArrayRef<uint32_t> main;
  std::vector<OpId> points;
  /// By point: what is outstanding of mbarrier rings and register sets, and the
  /// ages of cp.async groups.
  std::vector<unsigned> total;
  std::vector<uint32_t> groups;
  std::set<std::vector<IterationValue>> rings;
  std::vector<Stream> streams;
  /// Something was found about a site other than that nothing waits for it.
  bool judged = false;
  /// A copy that this loop does not wait for, and what it waits for instead.
  OpId unwaited = kNone;
  llvm::SmallVector<OpId, 4> otherWaits;
  /// A copy of another role that may be what this loop waits for.
  OpId unsureCopy = kNone;
  Judgement unsure;
};
} // namespace

/// The judgement that async_copy makes of the copy itself.
static Judgement judgeCopy(Detector &detector, OpId op) {
  uint32_t access = detector.getMemory().getFirstAccess(op);
  return detector.judgeRuns(op)
      .then([&] { return detector.judgeInput(access); })
      .then([&] { return detector.judgeCopied(access + 1); })
      .then([&] { return detector.judgeOneWay(); });
}

/// The instruction as its author wrote it, and its place.
std::string LoopPipeline::name(OpId op) {
  auto inst = llvm::cast<kern::InstOpInterface>(index.getOp(op));
  std::string text = "`" + inst.getMnemonic().str();
  if (auto wait = llvm::dyn_cast<kern::AsyncWaitOp>(index.getOp(op)))
    if (!inst.getMnemonic().contains("wait_all"))
      text += " " + std::to_string(wait.getPending());
  return text + "` at " + detector.describe(op);
}

bool LoopPipeline::completesOnBarrier(const CopySite &site) {
  if (site.bulk)
    return true;
  bool arrives = false, commits = false;
  for (OpId op : async.rings.getOrder(site.loop)) {
    arrives |= llvm::isa<kern::AsyncArriveOp>(index.getOp(op));
    auto commit = llvm::dyn_cast<kern::AsyncCommitOp>(index.getOp(op));
    commits |= commit && commit.getGroup() == kern::Completion::CpAsyncGroup;
  }
  return arrives && !commits;
}

void LoopPipeline::addGroups(const CopySite &site) {
  OpId first = site.clones.front();
  if (site.loop != loop) {
    detector.add(
        Judgement::undecided(
            "is issued in another loop than the products that use it, and what "
            "hands it over is no mbarrier",
            "mbarriers that the copies complete, or one loop that copies and "
            "computes"),
        first);
    return;
  }
  const InFlight &inFlight = async.inFlight;
  std::vector<uint32_t> must(points.size(), 0), may(points.size(), 0);
  for (OpId clone : site.clones) {
    std::vector<Ages> ages = inFlight.getSteady(clone, loop, points);
    for (size_t i = 0; i < points.size(); ++i) {
      must[i] |= ages[i].must;
      may[i] |= ages[i].may;
    }
  }
  auto any = [](llvm::ArrayRef<uint32_t> ages) {
    return llvm::any_of(ages, [](uint32_t bits) { return bits != 0; });
  };
  std::vector<OpId> drains = inFlight.getDrains(site.clones.back(), loop);
  if (!any(must) && any(may)) {
    std::string waits;
    for (OpId drain : drains)
      waits += (waits.empty() ? "" : ", ") + name(drain);
    detector.add(Judgement::undecided(
                     "is outstanding while the loop computes on some ways "
                     "only: " +
                         (waits.empty() ? "some wait" : waits) +
                         " may end it before",
                     "one wait on all ways, with the number of groups that may "
                     "stay outstanding",
                     drains),
                 first);
    return;
  }
  if (!any(must)) {
    if (drains.empty()) {
      detector.add(Judgement::undecided(
                       "is followed by no wait for it in the loop that uses "
                       "what it copies",
                       "a wait for its group in the loop"),
                   first);
      return;
    }
    bool same = isInOrder(first, drains.front());
    llvm::SmallVector<OpId, 3> where{first, drains.front()};
    addNearMiss(
        name(drains.front()) + " drains the copy issued at " +
            detector.describe(first) +
            (same ? " in the same iteration" : " before any product runs") +
            ": nothing is in flight while the loop computes",
        where,
        "issue the copy of a later iteration before the products, into another "
        "slot, and let the wait leave its group outstanding (wait_group 1 or "
        "more)");
    return;
  }
  Ring ring = async.rings.getRing(site);
  Judgement judgement = judgeRing(site, ring);
  if (judgement.isProved())
    judgement = judgeArrival(site, ring);
  if (!judgement.isProved()) {
    // Buffers that are filled from one tensor by turns are no ring.
    std::vector<CopySite> batches = async.rings.getFixedBatches(site);
    if (batches.size() < 2 || !llvm::all_of(batches, [&](const auto &batch) {
          return isReadInLoop(batch.clones.front()) &&
                 judgeCopy(detector, batch.clones.front()).isProved() &&
                 judgeArrival(batch, async.rings.getRing(batch)).isProved();
        })) {
      detector.add(judgement, first);
      return;
    }
    ring.slots = 1;
  }
  for (size_t i = 0; i < points.size(); ++i)
    groups[i] |= must[i];
  Stream stream{"cp_async", ring.slots, {}};
  stream.where.push_back(first);
  stream.where.append(drains.begin(), drains.end());
  streams.push_back(std::move(stream));
}

void LoopPipeline::addBarriers(const CopySite &site) {
  OpId first = site.clones.front();
  PhasePairing pairing = async.phases.getPairing(site, loop, points);
  switch (pairing.kind) {
  case PhasePairing::Kind::Unknown: {
    Judgement judgement = Judgement::undecided(
        "is not known to be what the products wait for: " + pairing.reason,
        "barrier addresses that are computed from a ring index, and a barrier "
        "on which each slot is given back");
    // Another role may copy for others than this loop.
    if (site.loop != loop && pairing.waits.empty()) {
      if (unsureCopy == kNone) {
        unsureCopy = first;
        unsure = judgement;
      }
      return;
    }
    judged = true;
    detector.add(judgement, first);
    return;
  }
  case PhasePairing::Kind::NoWait:
    // It may be another loop's data, such as what an epilogue adds.
    if (unwaited == kNone) {
      unwaited = first;
      otherWaits = pairing.waits;
    }
    return;
  case PhasePairing::Kind::SameParity: {
    judged = true;
    llvm::SmallVector<OpId, 4> where{pairing.waits.front(), first};
    addNearMiss(
        name(pairing.waits.front()) +
            " waits for the same parity each time: from the second round on it "
            "returns before the copy issued at " +
            detector.describe(first) +
            " is complete; toggle the parity once a wrap of the ring",
        where, "toggle the parity each time the ring index wraps");
    return;
  }
  case PhasePairing::Kind::Paired:
    judged = true;
    break;
  }
  if (llvm::all_of(pairing.inFlight, [](unsigned n) { return n == 0; })) {
    llvm::SmallVector<OpId, 4> where{pairing.waits.front(), first};
    std::string text = name(pairing.waits.front()) +
                       " waits for the copy issued at " +
                       detector.describe(first);
    text += pairing.barriers.size() == 1 ? ", whose ring has one slot"
                                         : " before any product runs";
    addNearMiss(
        text + ": nothing is in flight while the loop computes", where,
        pairing.barriers.size() == 1
            ? "give the ring a second slot with barriers of its own"
            : "issue the copy of a later iteration before the products, and "
              "wait for the oldest slot only");
    return;
  }
  Ring ring = async.rings.getRing(site);
  Judgement judgement = judgeRing(site, ring);
  if (!judgement.isProved()) {
    detector.add(judgement, first);
    return;
  }
  llvm::SmallVector<OpId, 4> unwaited;
  if (ring.slots > 1 && site.bulk)
    unwaited = getReaders().findUnwaited(site, ring, pairing.waits);
  if (!unwaited.empty()) {
    std::string places = detector.describe(unwaited);
    unwaited.insert(unwaited.begin(), first);
    addNearMiss(places + " reads another slot than the one that " +
                    name(pairing.waits.front()) + " has waited for",
                unwaited, "read the slot whose copy has been waited for");
    return;
  }
  llvm::SmallVector<OpId, 4> released;
  if (ring.slots > 1 && site.bulk && site.loop != loop)
    released = getReaders().findReleased(site, ring, points, pairing.inFlight,
                                         pairing.barriers.size());
  if (!released.empty()) {
    std::string places = detector.describe(released);
    released.insert(released.begin(), first);
    addNearMiss(places +
                    " reads a slot that was given back before: the copy "
                    "issued at " +
                    detector.describe(first) + " may overwrite it",
                released, "give the slot back when the products are done");
    return;
  }
  // Sites with the same barriers fill the same slots.
  if (rings.insert(pairing.barriers).second)
    for (size_t i = 0; i < points.size(); ++i)
      total[i] += pairing.inFlight[i];
  Stream stream{site.bulk ? "tma" : "cp_async",
                std::min<unsigned>(ring.slots, pairing.barriers.size()),
                {}};
  // One barrier serves all slots of a ring that one thread waits for in turn.
  if (site.loop == loop)
    stream.depth = ring.slots;
  stream.where.push_back(first);
  stream.where.append(pairing.waits.begin(), pairing.waits.end());
  streams.push_back(std::move(stream));
}

Judgement LoopPipeline::judgeRing(const CopySite &site, const Ring &ring) {
  if (ring.slots == 0)
    return Judgement::undecided(
        "is outstanding while the loop computes, but the slots of its ring are "
        "not known: " +
            ring.reason,
        "slots that are computed from a ring index");
  if (ring.slots == 1)
    return Judgement::proved();
  // What is read must step through the same slots.
  IterationValues &values = async.values;
  const MemoryRoots &memory = detector.getMemory();
  std::set<int64_t> steps;
  for (const IterationValue &slot : ring.addresses) {
    std::optional<int64_t> step = values.distance(slot, ring.addresses.front());
    if (!step)
      return Judgement::proved();
    steps.insert(*step);
  }
  std::set<ObjectId> objects;
  for (OpId clone : site.clones)
    for (ObjectId object :
         memory.getObjectsOf(memory.getFirstAccess(clone) + 1))
      objects.insert(object);
  unsigned iterations = async.rings.getIterations(loop);
  std::map<std::pair<uint32_t, bool>, std::set<int64_t>> read;
  // Whether what is read in one way steps through the slots.
  auto follows = [&](const auto &way) {
    int64_t unit = way.first.second ? 16 : 1;
    return llvm::any_of(way.second, [&](int64_t start) {
      return llvm::all_of(steps, [&](int64_t step) {
        return step % unit == 0 && way.second.count(start + step / unit);
      });
    });
  };
  // An address in each iteration, as far as it can be compared.
  struct Rounds {
    uint32_t sum = 0;
    llvm::SmallVector<int64_t, 8> constants;
    bool unknown = false;
  };
  // By address and guard: many accesses have the same one.
  std::map<std::tuple<ValueId, ValueId, bool>, Rounds> rounds;
  llvm::SmallVector<OpId, 4> readers;
  bool unknown = false;
  for (uint32_t i = 0; i < memory.getAccesses().size(); ++i) {
    const AccessInfo &info = memory.getAccesses()[i];
    bool descriptor = info.access.form == kern::MemoryAccess::Form::Descriptor;
    if (!info.access.read || info.access.barrier || getOwner(info.op) != loop ||
        (!descriptor && info.access.form != kern::MemoryAccess::Form::Address))
      continue;
    if (llvm::none_of(memory.getObjectsOf(i), [&](ObjectId object) {
          return objects.count(object) != 0;
        }))
      continue;
    readers.push_back(info.op);
    ValueId guard = index.getGuard(info.op);
    auto [it, isNew] =
        rounds.try_emplace({index.getId(info.access.address), guard,
                            guard != kNone && index.isGuardNegated(info.op)});
    Rounds &address = it->second;
    for (unsigned i = 0; isNew && i < iterations; ++i) {
      IterationValue at =
          async.rings.getAddress(info.access.address, 0, info.op, loop, i);
      // An address that has other terms each time cannot be compared.
      if (values.isUnknown(at) || (i != 0 && at.sum != address.sum)) {
        address.unknown = true;
        break;
      }
      address.sum = at.sum;
      address.constants.push_back(at.constant);
    }
    unknown |= address.unknown;
    if (address.constants.empty())
      continue;
    auto &way = *read.try_emplace({address.sum, descriptor}).first;
    for (int64_t constant : address.constants)
      way.second.insert(constant + (descriptor ? 0 : info.access.offset));
    // One that does is enough; each takes as long as all iterations.
    if (follows(way))
      return Judgement::proved();
  }
  if (read.empty())
    return Judgement::proved();
  if (unknown)
    return Judgement::undecided(
        "fills " + std::to_string(ring.slots) +
            " slots in turn, and it is not known which of them " +
            detector.describe(readers) + " reads",
        "addresses that are computed from the same ring index");
  return Judgement::nearMiss(
      withChange("fills " + std::to_string(ring.slots) +
                     " slots in turn, but " + detector.describe(readers) +
                     " does not step through them: what is in flight is not "
                     "what the products use next",
                 "read the slot that was filled for the iteration"),
      readers);
}

/// Whether the loop reads the object that a copy writes.
bool LoopPipeline::isReadInLoop(OpId copy) {
  const MemoryRoots &memory = detector.getMemory();
  const SharedObjects &shared = kernel.getSharedObjects();
  SharedObjectId object =
      shared.getPlace(memory.getFirstAccess(copy) + 1).object;
  return object != kNone &&
         llvm::any_of(shared.getAccessesTo(object), [&](uint32_t i) {
           const AccessInfo &info = memory.getAccesses()[i];
           return info.access.read && getOwner(info.op) == loop;
         });
}

/// A slot cannot be read while a copy into it is in flight: where that seems to
/// happen, the data is not waited for, or it is another slot that is read.
Judgement LoopPipeline::judgeArrival(const CopySite &site, const Ring &ring) {
  const MemoryRoots &memory = detector.getMemory();
  std::vector<uint32_t> readers;
  for (uint32_t i = 0; i < memory.getAccesses().size(); ++i) {
    const AccessInfo &info = memory.getAccesses()[i];
    if (info.access.read && !info.access.barrier &&
        info.space == kern::Space::Shared && getOwner(info.op) == loop)
      readers.push_back(i);
  }
  EarlyReads early = findEarlyReads(detector, async, site, readers);
  if (!early.certain.empty())
    return Judgement::nearMiss(
        withChange("is outstanding where " + detector.describe(early.certain) +
                       " reads what it copies: no wait says before that it "
                       "has arrived",
                   "let the wait before the reads leave fewer groups "
                   "outstanding than were committed since the one whose "
                   "slot is read"),
        early.certain);
  if (!early.unannounced.empty())
    return Judgement::nearMiss(
        describeUnannounced("brings data that ", detector, early.unannounced),
        early.unannounced);
  if (!early.perhapsUnannounced.empty())
    return judgePerhapsUnannounced("brings data that ", detector,
                                   early.perhapsUnannounced);
  if (early.unsure.empty())
    return Judgement::proved();
  return Judgement::undecided(
      (ring.slots == 1
           ? "fills one buffer, and "
           : "fills " + std::to_string(ring.slots) + " slots in turn, and ") +
          detector.describe(early.unsure) +
          " reads while it is in flight what cannot be told apart from it",
      "separate arrays, or launch bounds from which the threads' addresses are "
      "known",
      early.unsure);
}

void LoopPipeline::addSite(const CopySite &site) {
  OpId first = site.clones.front();
  // A loop of another role feeds this one or none.
  if (site.loop != loop && !completesOnBarrier(site)) {
    if (llvm::none_of(detector.getMainRegion().getProducts(),
                      [&](OpId op) { return getOwner(op) == site.loop; }))
      addGroups(site);
    return;
  }
  Judgement judgement = judgeCopy(detector, first);
  if (!judgement.isProved()) {
    detector.add(judgement, first);
    return;
  }
  if (completesOnBarrier(site))
    addBarriers(site);
  else
    addGroups(site);
}

void LoopPipeline::addRegisters() {
  std::vector<unsigned> sets(points.size(), 0), ahead(points.size(), 0);
  llvm::SmallVector<OpId, 8> unsure;
  Stream stream{"register_prefetch", 0, {}};
  for (const RegisterPrefetch &prefetch :
       findRegisterPrefetches(detector, loop, points)) {
    Judgement judgement = detector.judgeRuns(prefetch.load).then([&] {
      return detector.judgeOneWay();
    });
    if (!judgement.isProved()) {
      detector.add(judgement, prefetch.load);
      continue;
    }
    if (!prefetch.isSure) {
      unsure.push_back(prefetch.load);
      for (size_t i = 0; i < points.size(); ++i)
        ahead[i] = std::max(ahead[i], prefetch.outstanding[i]);
      continue;
    }
    // Loads of one iteration are one set.
    for (size_t i = 0; i < points.size(); ++i) {
      sets[i] = std::max(sets[i], prefetch.outstanding[i]);
      stream.depth = std::max(stream.depth, 1 + prefetch.outstanding[i]);
    }
    stream.where.push_back(prefetch.load);
    stream.where.push_back(prefetch.uses.front());
  }
  // Loads that the compiler moved in front of a few products are a schedule.
  auto isMostly = [](std::vector<unsigned> counts) {
    llvm::sort(counts, std::greater<>());
    return counts[(counts.size() - 1) / 2] != 0;
  };
  if (stream.where.empty() || !isMostly(sets)) {
    if (streams.empty() && isMostly(ahead))
      detector.addUndecided(
          "the unrolled products use what was loaded into registers some "
          "products before: whether a later step is fetched ahead cannot be "
          "told from where a compiler places loads",
          "a loop, or shared memory that the registers are put into", unsure);
    return;
  }
  for (size_t i = 0; i < points.size(); ++i)
    total[i] += sets[i];
  streams.push_back(std::move(stream));
}

void LoopPipeline::conclude() {
  if (streams.empty()) {
    if (!judged && unsureCopy != kNone) {
      detector.add(unsure, unsureCopy);
      return;
    }
    if (unwaited == kNone || judged)
      return;
    llvm::SmallVector<OpId, 4> where{unwaited};
    where.append(otherWaits.begin(), otherWaits.end());
    addNearMiss(
        otherWaits.empty()
            ? "nothing in the loop with the products waits for the copy issued "
              "at " +
                  detector.describe(unwaited)
            : name(otherWaits.front()) +
                  " waits for a barrier that no copy completes; the copy "
                  "issued at " +
                  detector.describe(unwaited) + " completes on another one",
        where, "wait for the barrier that the copy completes");
    return;
  }
  std::vector<unsigned> counts;
  for (size_t i = 0; i < points.size(); ++i)
    counts.push_back(total[i] + llvm::popcount(groups[i]));
  // What at least half of the products see.
  llvm::sort(counts, std::greater<>());
  unsigned inFlight = counts[(counts.size() - 1) / 2];
  std::set<std::string> mechanisms;
  unsigned depth = ~0u;
  llvm::SmallVector<OpId, 8> where;
  for (const Stream &stream : streams) {
    mechanisms.insert(stream.mechanism);
    depth = std::min(depth, stream.depth);
    for (OpId op : stream.where)
      if (!llvm::is_contained(where, op))
        where.push_back(op);
  }
  if (inFlight == 0) {
    addNearMiss(
        "the copy issued at " + detector.describe(where.front()) +
            " is in flight at less than half of the products: it is issued too "
            "late, or waited for too early",
        where, "issue the copy before the first product of the iteration");
    return;
  }
  AttributeMap attributes;
  attributes["mechanism"] =
      mechanisms.size() == 1 ? *mechanisms.begin() : std::string("mixed");
  attributes["depth"] = int64_t(depth);
  attributes["in_flight"] = int64_t(inFlight);
  detector.addFact(std::move(attributes), where.front(), where);
}

void LoopPipeline::run() {
  if (points.empty())
    return;
  RingSlots &slots = async.rings;
  std::vector<CopySite> sites = slots.findSites(loop, main);
  // A clone of the loop copies for itself.
  bool copies = !sites.empty();
  auto multiplies = [&](uint32_t other) {
    return llvm::any_of(detector.getMainRegion().getProducts(),
                        [&](OpId op) { return getOwner(op) == other; });
  };
  for (uint32_t other : main)
    if (other != loop && !(copies && multiplies(other)))
      llvm::append_range(sites, slots.findSites(other, main));
  for (const CopySite &site : sites)
    addSite(site);
  addRegisters();
  conclude();
}

static void detect(Detector &detector) {
  const MainRegion &region = detector.getMainRegion();
  if (region.getKind() == MainRegion::Kind::Unknown) {
    llvm::SmallVector<OpId, 4> copies;
    for (OpId op = 0; op < detector.getIndex().getNumOps(); ++op)
      if (detector.getConstants().mayRun(op) &&
          getCopyToShared(detector.getIndex().getOp(op)))
        copies.push_back(op);
    if (!copies.empty())
      detector.addUndecided("the main region is not known: " +
                                region.getReason().str(),
                            "a loop whose products can be followed from the "
                            "inputs to the output",
                            copies);
    return;
  }
  if (std::optional<PickedBuffer> picked = findPickedBuffer(detector))
    detector.addNearMiss(
        withChange("of " + std::to_string(picked->buffers) + " buffers, " +
                       detector.describe(picked->writes) +
                       " fills the one that a number of the launch picks: it "
                       "is the same one all the time, and the others are not "
                       "used",
                   "step the index of the buffer from one iteration to the "
                   "next, and fill the next one while this one is read"),
        picked->writes);
  AsyncAnalyses &async = detector.getAsyncAnalyses();
  if (region.getKind() == MainRegion::Kind::Body) {
    LoopPipeline(detector, async, kNone, {}).run();
    return;
  }
  for (uint32_t loop : region.getLoops())
    LoopPipeline(detector, async, loop, region.getLoops()).run();
}

namespace d2k::properties {
Property makeAsyncPipeline() {
  PropertyInfo info;
  info.id = "async_pipeline";
  info.group = 'A';
  info.summary =
      "in the main region, data consumed in an iteration was requested "
      "earlier, so that at least one copy is outstanding at half of the "
      "products or more; copies that are waited for at once, slots that are "
      "filled and not read, and waits on barriers that no copy completes are "
      "near misses";
  info.attributes = {
      {"mechanism",
       AttrType::String,
       {"cp_async", "tma", "register_prefetch", "mixed"},
       "how data is fetched ahead; mixed: more than one way"},
      {"depth",
       AttrType::Integer,
       {},
       "distinct slots that one copy site writes over a period of the ring, "
       "the "
       "fewest of all sites; for registers 1 + the sets that are fetched "
       "ahead"},
      {"in_flight",
       AttrType::Integer,
       {},
       "groups, slots and register sets outstanding at half of the products or "
       "more; of a ring between two roles, the slots that the consumer does "
       "not "
       "hold"}};
  // ptxas moves copies and products past one another.
  info.perTier = {"in_flight"};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
