// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/EarlyReads.h"

#include "Engine/TileOrder.h"

#include "d2k/Analysis/BarrierGroups.h"
#include "d2k/Analysis/SharedObjects.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/bit.h"

#include <limits>
#include <optional>
#include <set>
#include <utility>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// The bit of ages that are no longer told apart.
static constexpr uint32_t kOldest = 1u << 31;

/// Whether two accesses to shared memory at places \p a and \p b may touch the
/// same bytes, in any iteration.
static bool mayOverlap(const MemoryRoots &memory, uint32_t access,
                       const SharedPlace &a, uint32_t other,
                       const SharedPlace &b) {
  if (a.object != kNone && b.object != kNone) {
    if (a.object != b.object)
      return false;
    if (!a.bounded || !b.bounded)
      return true;
    return a.low < b.high && b.low < a.high &&
           (a.ring != kNone || b.ring != kNone || a.slot == b.slot);
  }
  return llvm::any_of(memory.getObjectsOf(access), [&](ObjectId object) {
    return llvm::is_contained(memory.getObjectsOf(other), object);
  });
}

namespace {
/// Looks at the copies of one site.
class Finder {
public:
  Finder(Detector &detector, AsyncAnalyses &async, const CopySite &site)
      : detector(detector), kernel(detector.getKernel()),
        index(detector.getIndex()),
        accesses(detector.getMemory().getAccesses()), async(async), site(site),
        iterations(async.rings.getIterations(site.loop)) {}

  EarlyReads find(llvm::ArrayRef<uint32_t> readers);

private:
  enum class Answer : uint8_t { No, Unknown, Yes };
  /// Addresses of the same atoms: the bounds of their constants, and whether a
  /// matrix descriptor holds them.
  struct Constants {
    int64_t low = std::numeric_limits<int64_t>::max();
    int64_t high = std::numeric_limits<int64_t>::min();
    int64_t unit = 1;

    void add(int64_t constant) {
      low = std::min(low, constant);
      high = std::max(high, constant);
    }
  };
  /// An access in each iteration.
  struct Path {
    std::vector<IterationValue> addresses;
    /// By distance from the lowest slot of the ring.
    std::vector<std::optional<int64_t>> slots;
    /// In its shared object; worked out where `slots` does not tell.
    std::vector<std::optional<int64_t>> places;
  };

  void findStride();
  /// Follows the addresses of all copies and of \p readers through the
  /// iterations; once, when the first question needs them.
  void follow(llvm::ArrayRef<uint32_t> readers);
  bool isDescriptor(uint32_t access) const {
    return accesses[access].access.form == kern::MemoryAccess::Form::Descriptor;
  }
  std::optional<int64_t> getRingValue(const LaneSymbol &symbol,
                                      unsigned iteration);
  std::optional<int64_t> getPlace(uint32_t access, unsigned iteration);
  std::optional<int64_t> getPlace(uint32_t access, Path &path,
                                  unsigned iteration);
  void findSlots(Path &path, const llvm::DenseMap<uint32_t, Constants> &all,
                 int64_t unit = 1) const;
  /// The slot of \p address, whose access has the constants \p own and, with
  /// others of the same atoms, \p all.
  std::optional<int64_t> getSlot(IterationValue address, const Constants &own,
                                 const Constants &all) const;
  Answer readsOutstanding(OpId copy, Path &write, uint32_t reader, Path &read,
                          unsigned outstanding);
  /// Whether \p reader reads what threads of other warps issued with \p copy,
  /// of the ages \p unheard, or of other groups where \p groups are given;
  /// both are numbers of the site and of \p readers.
  bool isUnannounced(size_t copy, size_t reader, uint32_t unheard,
                     llvm::ArrayRef<uint32_t> readers,
                     const WarpGroups *groups = nullptr);
  /// Whether an iteration comes from a wait for \p copy to \p reader past no
  /// barrier, and \p reader reads what that wait was for; numbers as above.
  Answer skipsBarrier(size_t copy, size_t reader, uint32_t outstanding,
                      llvm::ArrayRef<uint32_t> readers);
  /// The part of skipsBarrier that looks at one iteration.
  Answer findOpenWay(OpId wait, OpId read, unsigned iteration);
  /// Whether \p op runs there, by its guard.
  Answer runsByGuard(OpId op, unsigned iteration);
  const llvm::DenseMap<BlockId, llvm::SmallVector<OpId, 2>> &getMeetings();
  /// Who meets at barriers of parts of the block in the loop.
  const WarpGroups &getMet();
  bool arrives() const;
  bool neverEnds() const;

  Detector &detector;
  KernelContext &kernel;
  const KernelIndex &index;
  llvm::ArrayRef<AccessInfo> accesses;
  AsyncAnalyses &async;
  const CopySite &site;
  unsigned iterations;
  /// Of the site's ring; a stride of 0 when its slots are not at equal
  /// distances.
  unsigned slots = 0;
  int64_t stride = 0;
  /// Of the copies of the site, and of the readers that were followed.
  std::vector<Path> writes, reads;
  bool followed = false;
  /// By block, what threads of several warps wait at for one another.
  llvm::DenseMap<BlockId, llvm::SmallVector<OpId, 2>> meetings;
  bool hasMeetings = false;
  std::optional<WarpGroups> met;
  /// By way that was looked at.
  llvm::DenseMap<std::pair<OpId, OpId>, Answer> openWays;
};
} // namespace

void Finder::findStride() {
  const Ring &ring = async.rings.getRing(site);
  slots = ring.slots;
  // Two rounds in which all copies are steady tell what all tell.
  if (slots != 0)
    iterations = std::min(iterations, std::max(8u, 4 * ring.period));
  std::set<int64_t> steps;
  for (const IterationValue &address : ring.addresses) {
    std::optional<int64_t> step =
        async.values.distance(address, ring.addresses.front());
    if (!step)
      return;
    steps.insert(*step);
  }
  if (steps.size() < 2)
    return;
  int64_t first = *std::next(steps.begin()) - *steps.begin();
  int64_t next = *steps.begin();
  for (int64_t step : steps) {
    if (step != next)
      return;
    next += first;
  }
  stride = first;
}

void Finder::follow(llvm::ArrayRef<uint32_t> readers) {
  if (std::exchange(followed, true))
    return;
  findStride();
  // By sum, of all copies and of all readers.
  llvm::DenseMap<uint32_t, Constants> written, read;
  for (OpId copy : site.clones) {
    Path &path = writes.emplace_back();
    for (unsigned i = 0; i < iterations; ++i) {
      path.addresses.push_back(async.rings.getTarget(copy, site.loop, i));
      written[path.addresses.back().sum].add(path.addresses.back().constant);
    }
  }
  for (uint32_t reader : readers) {
    Path &path = reads.emplace_back();
    const kern::MemoryAccess &access = accesses[reader].access;
    for (unsigned i = 0; i < iterations; ++i) {
      path.addresses.push_back(async.rings.getAddress(
          access.address, isDescriptor(reader) ? 0 : access.offset,
          accesses[reader].op, site.loop, i));
      Constants &constants = read[path.addresses.back().sum];
      constants.add(path.addresses.back().constant);
      constants.unit = isDescriptor(reader) ? 16 : 1;
    }
  }
  for (Path &path : writes)
    findSlots(path, written);
  for (auto [reader, path] : llvm::zip(readers, reads))
    findSlots(path, read, isDescriptor(reader) ? 16 : 1);
}

void Finder::findSlots(Path &path,
                       const llvm::DenseMap<uint32_t, Constants> &all,
                       int64_t unit) const {
  path.slots.assign(iterations, std::nullopt);
  if (stride == 0)
    return;
  Constants own;
  own.unit = unit;
  for (const IterationValue &address : path.addresses)
    own.add(address.constant);
  for (auto [slot, address] : llvm::zip(path.slots, path.addresses))
    slot = getSlot(address, own, all.find(address.sum)->second);
}

/// Ranks tell where an access is in a ring whose place in memory is not known:
/// the lowest of its addresses is in the lowest slot.
std::optional<int64_t> Finder::getSlot(IterationValue address,
                                       const Constants &own,
                                       const Constants &all) const {
  for (const Constants *constants : {&own, &all}) {
    if (stride % constants->unit != 0)
      continue;
    int64_t step = stride / constants->unit;
    int64_t low = constants->low, high = constants->high;
    // All slots, and nothing beyond them.
    if (high - low < step * (int64_t(slots) - 1) ||
        high - low >= step * int64_t(slots))
      continue;
    return (address.constant - low) / step;
  }
  return std::nullopt;
}

std::optional<int64_t> Finder::getRingValue(const LaneSymbol &symbol,
                                            unsigned iteration) {
  if (symbol.value != kNone) {
    IterationValue value = async.values.get(symbol.value, site.loop, iteration);
    if (value.isConstant())
      return value.constant;
  }
  if (symbol.source == kNone)
    return std::nullopt;
  const LaneSymbol &source = kernel.getLaneForms().getSymbol(symbol.source);
  std::optional<int64_t> value = getRingValue(source, iteration);
  if (!value)
    return std::nullopt;
  const auto *at = llvm::find(source.values, *value);
  if (at == source.values.end())
    return std::nullopt;
  return symbol.table[at - source.values.begin()];
}

/// The slot of the shared object that \p access touches in one iteration.
std::optional<int64_t> Finder::getPlace(uint32_t access, unsigned iteration) {
  const SharedPlace &place = kernel.getSharedObjects().getPlace(access);
  if (place.object == kNone)
    return std::nullopt;
  if (place.ring == kNone)
    return place.slot;
  std::optional<int64_t> value =
      getRingValue(kernel.getLaneForms().getSymbol(place.ring), iteration);
  if (!value)
    return std::nullopt;
  return place.slot + place.step * *value;
}

std::optional<int64_t> Finder::getPlace(uint32_t access, Path &path,
                                        unsigned iteration) {
  if (path.places.empty())
    for (unsigned i = 0; i < iterations; ++i)
      path.places.push_back(getPlace(access, i));
  return path.places[iteration];
}

bool Finder::arrives() const {
  return llvm::any_of(async.rings.getOrder(site.loop), [&](OpId op) {
    return llvm::isa<kern::AsyncArriveOp>(index.getOp(op));
  });
}

/// Whether nothing in the loop commits the copy or waits for all copies, so
/// that all that it ever issued is of age 0.
bool Finder::neverEnds() const {
  for (OpId op : async.rings.getOrder(site.loop)) {
    mlir::Operation *operation = index.getOp(op);
    if (auto commit = llvm::dyn_cast<kern::AsyncCommitOp>(operation))
      if (commit.getGroup() == kern::Completion::CpAsyncGroup)
        return false;
    if (llvm::isa<kern::AsyncWaitOp>(operation) &&
        llvm::cast<kern::InstOpInterface>(operation).getMnemonic().contains(
            "wait_all"))
      return false;
  }
  return true;
}

/// Whether one of the \p outstanding newest instances of \p copy writes the
/// slot that \p reader reads, in an iteration that is not one of the first.
Finder::Answer Finder::readsOutstanding(OpId copy, Path &write, uint32_t reader,
                                        Path &read, unsigned outstanding) {
  const Dominance &dominance = kernel.getDominance();
  OpId op = accesses[reader].op;
  BlockId a = index.getBlockOf(copy), b = index.getBlockOf(op);
  bool before =
      a == b ? copy < op : dominance.getPosition(a) < dominance.getPosition(b);
  unsigned newest = before ? 0 : 1;
  uint32_t target = detector.getMemory().getFirstAccess(copy) + 1;
  const SharedObjects &shared = kernel.getSharedObjects();
  const SharedPlace &to = shared.getPlace(target);
  const SharedPlace &from = shared.getPlace(reader);
  bool isPlaced = to.object != kNone && from.object == to.object &&
                  to.bounded && from.bounded;
  bool isRing = isPlaced && shared.getObject(to.object).stride != 0;
  Answer answer = Answer::No;
  for (unsigned i = iterations / 2; i < iterations; ++i) {
    IterationValue address = read.addresses[i];
    for (unsigned k = 0; k < outstanding && newest + k <= i; ++k) {
      unsigned then = i - newest - k;
      if (async.values.differ(write.addresses[then], address))
        continue;
      std::optional<int64_t> slot = write.slots[then], other = read.slots[i];
      bool isCertain = true;
      if (!slot || !other) {
        slot = getPlace(target, write, then);
        other = getPlace(reader, read, i);
        isCertain = isRing;
      }
      if (!slot || !other)
        answer = Answer::Unknown;
      else if (*slot == *other && isCertain)
        return Answer::Yes;
      else if (*slot == *other)
        answer = Answer::Unknown;
    }
  }
  return answer;
}

bool Finder::isUnannounced(size_t copy, size_t reader, uint32_t unheard,
                           llvm::ArrayRef<uint32_t> readers,
                           const WarpGroups *groups) {
  OpId op = site.clones[copy];
  uint32_t target = detector.getMemory().getFirstAccess(op) + 1;
  if (!detector.getTileOrder().crossesWarps(target, readers[reader], groups))
    return false;
  if (unheard & kOldest)
    return true;
  follow(readers);
  return readsOutstanding(op, writes[copy], readers[reader], reads[reader],
                          llvm::popcount(unheard)) == Answer::Yes;
}

const llvm::DenseMap<BlockId, llvm::SmallVector<OpId, 2>> &
Finder::getMeetings() {
  if (std::exchange(hasMeetings, true))
    return meetings;
  for (OpId op = 0; op < index.getNumOps(); ++op)
    if (InFlight::isMeeting(index.getOp(op)) &&
        detector.getConstants().mayRun(op))
      meetings[index.getBlockOf(op)].push_back(op);
  return meetings;
}

const WarpGroups &Finder::getMet() {
  if (!met)
    met = kernel.getBarrierGroups().join([&](OpId op) {
      return site.loop == kNone ||
             kernel.getLoops().contains(site.loop, index.getBlockOf(op));
    });
  return *met;
}

Finder::Answer Finder::runsByGuard(OpId op, unsigned iteration) {
  ValueId guard = index.getGuard(op);
  if (guard == kNone)
    return Answer::Yes;
  IterationValue value = async.values.get(guard, site.loop, iteration);
  if (!value.isConstant())
    return Answer::Unknown;
  return ((value.constant & 1) != 0) != index.isGuardNegated(op) ? Answer::Yes
                                                                 : Answer::No;
}

/// Goes from \p wait in \p iteration to \p read in the same one or the next.
Finder::Answer Finder::findOpenWay(OpId wait, OpId read, unsigned iteration) {
  const LoopNest &loops = kernel.getLoops();
  BlockId target = index.getBlockOf(read);
  bool reaches = false, meets = false;
  /// Goes on behind \p from; whether control leaves the block.
  auto pass = [&](BlockId block, OpId from, unsigned now) {
    bool readsHere = block == target && read >= from;
    auto here = getMeetings().find(block);
    // Guards under which some have met.
    llvm::SmallVector<std::pair<ValueId, bool>, 4> met;
    if (here != getMeetings().end())
      for (OpId op : here->second) {
        if (op < from || (readsHere && op > read))
          continue;
        Answer runs = runsByGuard(op, now);
        if (runs == Answer::No)
          continue;
        meets = true;
        ValueId guard = index.getGuard(op);
        bool negated = runs == Answer::Unknown && index.isGuardNegated(op);
        met.push_back({guard, negated});
        // One or the other of two.
        if (runs == Answer::Yes ||
            llvm::is_contained(met, std::pair(guard, !negated)))
          return false;
      }
    reaches |= readsHere;
    return !readsHere;
  };
  llvm::SmallDenseSet<std::pair<BlockId, unsigned>, 16> seen;
  llvm::SmallVector<std::pair<BlockId, unsigned>, 16> pending;
  auto leave = [&](BlockId block, unsigned now) {
    for (BlockId next : kernel.getDominance().getSuccessors(block)) {
      if (next >= index.getNumBlocks() || !loops.contains(site.loop, next) ||
          !async.values.mayTake(block, next, site.loop, now))
        continue;
      unsigned then = now + (next == loops.getLoop(site.loop).header);
      if (then <= iteration + 1 && seen.insert({next, then}).second)
        pending.push_back({next, then});
    }
  };
  if (pass(index.getBlockOf(wait), wait + 1, iteration))
    leave(index.getBlockOf(wait), iteration);
  while (!pending.empty()) {
    auto [block, now] = pending.pop_back_val();
    if (pass(block, index.getOps(block).first, now))
      leave(block, now);
  }
  if (!reaches)
    return Answer::No;
  return meets ? Answer::Unknown : Answer::Yes;
}

Finder::Answer Finder::skipsBarrier(size_t copy, size_t reader,
                                    uint32_t outstanding,
                                    llvm::ArrayRef<uint32_t> readers) {
  OpId op = site.clones[copy], read = accesses[readers[reader]].op;
  uint32_t target = detector.getMemory().getFirstAccess(op) + 1;
  if (site.loop == kNone ||
      !detector.getTileOrder().crossesWarps(target, readers[reader]))
    return Answer::No;
  Answer answer = Answer::No;
  for (OpId wait : async.inFlight.getDrains(op, site.loop)) {
    auto [it, isNew] = openWays.try_emplace({wait, read}, Answer::No);
    unsigned all = async.rings.getIterations(site.loop);
    for (unsigned i = all / 2;
         isNew && i + 1 < all && it->second != Answer::Yes; ++i)
      if (async.values.mayRun(index.getBlockOf(wait), site.loop, i) &&
          runsByGuard(wait, i) != Answer::No)
        it->second = std::max(it->second, findOpenWay(wait, read, i));
    answer = std::max(answer, it->second);
  }
  if (answer == Answer::No)
    return answer;
  // What the wait has ended last is what is read.
  follow(readers);
  return std::min(answer, readsOutstanding(op, writes[copy], readers[reader],
                                           reads[reader],
                                           llvm::popcount(outstanding) + 1));
}

EarlyReads Finder::find(llvm::ArrayRef<uint32_t> readers) {
  EarlyReads early;
  if (!llvm::isa<kern::AsyncCopyOp>(index.getOp(site.clones.front())) ||
      arrives())
    return early;
  const MemoryRoots &memory = detector.getMemory();
  const SharedObjects &shared = kernel.getSharedObjects();
  llvm::SmallVector<uint32_t, 16> targets;
  llvm::SmallVector<SharedPlace, 16> filled, read;
  for (OpId copy : site.clones) {
    targets.push_back(memory.getFirstAccess(copy) + 1);
    filled.push_back(shared.getPlace(targets.back()));
  }
  llvm::SmallVector<uint32_t, 16> candidates;
  std::vector<OpId> points;
  for (uint32_t reader : readers) {
    const SharedPlace &place = shared.getPlace(reader);
    bool overlaps = false;
    for (size_t i = 0; i < targets.size() && !overlaps; ++i)
      overlaps = mayOverlap(memory, targets[i], filled[i], reader, place);
    if (!overlaps)
      continue;
    candidates.push_back(reader);
    read.push_back(place);
    points.push_back(accesses[reader].op);
  }
  if (candidates.empty())
    return early;
  llvm::SmallDenseSet<OpId, 16> certain, unsure, unannounced, perhaps;
  auto add = [](llvm::SmallVector<OpId, 4> &list,
                llvm::SmallDenseSet<OpId, 16> &seen, OpId op) {
    if (seen.insert(op).second)
      list.push_back(op);
  };
  bool isOpen = neverEnds();
  for (auto [number, copy] : llvm::enumerate(site.clones)) {
    // What is certain to read early stays so; nothing else is said of it where
    // no wait ends anything.
    if (isOpen &&
        llvm::all_of(points, [&](OpId op) { return certain.contains(op); }))
      break;
    std::vector<Ages> steady =
        async.inFlight.getSteady(copy, site.loop, points);
    for (auto [nth, reader] : llvm::enumerate(candidates)) {
      OpId op = points[nth];
      Ages ages = steady[nth];
      if (ages.mayUnheard == 0 ||
          !mayOverlap(memory, targets[number], filled[number], reader,
                      read[nth]))
        continue;
      if (!unannounced.contains(op)) {
        bool isCertain =
            ages.mustUnheard != ages.must &&
            isUnannounced(number, nth, ages.mustUnheard, candidates);
        // Barriers of parts of the block are enough for those who meet there.
        if (!isCertain && ages.mustApart != ages.mustUnheard)
          isCertain =
              isUnannounced(number, nth, ages.mustApart, candidates, &getMet());
        Answer skips = Answer::No;
        if (!isCertain && ages.mayUnheard != ages.may)
          skips = skipsBarrier(number, nth, ages.must, candidates);
        if (isCertain || skips == Answer::Yes)
          add(early.unannounced, unannounced, op);
        else if (skips == Answer::Unknown)
          add(early.perhapsUnannounced, perhaps, op);
      }
      if (ages.may == 0 || certain.contains(op))
        continue;
      if ((ages.must & kOldest) || (isOpen && (ages.must & 1))) {
        add(early.certain, certain, op);
        continue;
      }
      if (ages.may & kOldest) {
        add(early.unsure, unsure, op);
        continue;
      }
      follow(candidates);
      Path &write = writes[number], &path = reads[nth];
      unsigned least = llvm::popcount(ages.must),
               most = llvm::popcount(ages.may);
      Answer answer = readsOutstanding(copy, write, reader, path, least);
      if (answer == Answer::Yes)
        add(early.certain, certain, op);
      else if (answer == Answer::Unknown ||
               (most != least && readsOutstanding(copy, write, reader, path,
                                                  most) != Answer::No))
        add(early.unsure, unsure, op);
    }
  }
  return early;
}

EarlyReads properties::findEarlyReads(Detector &detector, AsyncAnalyses &async,
                                      const CopySite &site,
                                      llvm::ArrayRef<uint32_t> readers) {
  return Finder(detector, async, site).find(readers);
}

std::string properties::describeUnannounced(std::string start,
                                            Detector &detector,
                                            llvm::ArrayRef<OpId> reads) {
  return withChange(std::move(start) + detector.describe(reads) +
                        " reads in threads of other warps, with no barrier "
                        "behind the wait for it at which they meet: a wait is "
                        "for the copies of the thread alone",
                    "put __syncthreads() between the wait and the reads");
}

Judgement properties::judgePerhapsUnannounced(std::string start,
                                              Detector &detector,
                                              llvm::ArrayRef<OpId> reads) {
  return Judgement::undecided(
      std::move(start) + detector.describe(reads) +
          " reads in threads of other warps, and a condition that is not known "
          "decides whether they meet at a barrier behind the wait for it",
      "a barrier between the wait and the reads that no condition leaves out",
      reads);
}
