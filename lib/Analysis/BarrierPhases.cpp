// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the loops symbolically and follows which barriers are outstanding, and
// which slots are held.

#include "d2k/Analysis/BarrierPhases.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

namespace {
/// What the parities that a barrier is waited for with amount to.
enum class Parities { Toggle, Same, Unknown };
} // namespace

/// Whether the parity changes from each visit of a barrier to the next. A look
/// ahead of the wait itself uses the same parity as the wait: what each
/// operation sees by itself counts, too. \p visits are operations with the
/// parities, in the order in which they run; \p isAgain says which ask in a
/// loop.
static Parities
judgeParities(llvm::ArrayRef<std::pair<OpId, IterationValue>> visits,
              llvm::function_ref<bool(OpId)> isAgain,
              const IterationValues &values) {
  auto toggles = [&](llvm::ArrayRef<IterationValue> list) {
    for (size_t i = 0; i + 1 < list.size(); ++i)
      if (!values.differInBit0(list[i], list[i + 1]))
        return false;
    return true;
  };
  std::vector<IterationValue> all;
  std::map<OpId, std::vector<IterationValue>> byOp;
  for (const auto &[i, visit] : llvm::enumerate(visits)) {
    const auto &[op, parity] = visit;
    byOp[op].push_back(parity);
    // A loop that asks again after a first try is part of it.
    if (i == 0 || !isAgain(op) || isAgain(visits[i - 1].first) ||
        !(visits[i - 1].second == parity))
      all.push_back(parity);
  }
  if (toggles(all) || llvm::all_of(byOp, [&](const auto &entry) {
        return toggles(entry.second);
      }))
    return Parities::Toggle;
  bool same = llvm::all_of(all, [&](const IterationValue &parity) {
    return parity == all.front() && !values.isUnknown(parity);
  });
  return same ? Parities::Same : Parities::Unknown;
}

bool BarrierPhases::isWait(OpId op) const {
  auto wait = dyn_cast<kern::MBarrierWaitOp>(index.getOp(op));
  return wait && constants.mayRun(op) && !wait.getDone().use_empty();
}

std::optional<IterationValue> BarrierPhases::getBarrier(OpId op, uint32_t loop,
                                                        unsigned iteration) {
  Operation *operation = index.getOp(op);
  auto at = [&](Value base, int64_t offset) {
    return rings.getAddress(base, offset, op, loop, iteration);
  };
  if (auto wait = dyn_cast<kern::MBarrierWaitOp>(operation))
    return at(wait.getBase(), wait.getOffset());
  if (auto arrive = dyn_cast<kern::MBarrierArriveOp>(operation))
    return at(arrive.getBase(), arrive.getOffset());
  if (auto arrive = dyn_cast<kern::AsyncArriveOp>(operation))
    return at(arrive.getBase(), arrive.getOffset());
  if (auto commit = dyn_cast<kern::TmemCommitOp>(operation))
    return at(commit.getBase(), commit.getOffset());
  return std::nullopt;
}

std::vector<std::pair<OpId, IterationValue>>
BarrierPhases::getCompletions(const CopySite &site, unsigned iteration) {
  std::vector<std::pair<OpId, IterationValue>> result;
  if (site.bulk) {
    for (OpId op : site.clones) {
      CopyOperands copy = *getCopyToShared(index.getOp(op));
      if (copy.barrier)
        result.push_back({op, rings.getAddress(copy.barrier, copy.barrierOffset,
                                               op, site.loop, iteration)});
    }
    return result;
  }
  // cp.async: the next arrival that counts them.
  OpId first = kNone;
  for (OpId op : rings.getOrder(site.loop)) {
    if (llvm::is_contained(site.clones, op)) {
      if (first == kNone)
        first = op;
    } else if (first != kNone && isa<kern::AsyncArriveOp>(index.getOp(op))) {
      result.push_back({first, *getBarrier(op, site.loop, iteration)});
      first = kNone;
    }
  }
  return result;
}

bool BarrierPhases::findBarriers(const CopySite &site, PhasePairing &result) {
  std::set<IterationValue> barriers;
  unsigned iterations = rings.getIterations(site.loop);
  for (unsigned iteration = 0; iteration < iterations; ++iteration)
    for (const auto &[op, barrier] : getCompletions(site, iteration)) {
      if (values.isUnknown(barrier)) {
        result.reason = "the mbarrier that it completes on is not known from "
                        "one iteration to the next";
        return false;
      }
      barriers.insert(barrier);
    }
  result.barriers.assign(barriers.begin(), barriers.end());
  if (barriers.empty())
    result.reason = "it completes on no mbarrier that was found";
  else if (barriers.size() > RingSlots::kIterations / 2)
    result.reason = "it completes on another mbarrier in every iteration";
  return result.reason.empty();
}

void BarrierPhases::findRelays(const CopySite &site, uint32_t loop,
                               PhasePairing &result) {
  const LoopNest &loops = rings.getLoops();
  auto isCopys = [&](const IterationValue &barrier) {
    return std::binary_search(result.barriers.begin(), result.barriers.end(),
                              barrier);
  };
  // What the loop with the copies waits for gives slots back.
  std::set<IterationValue> given;
  for (OpId op : rings.getOrder(site.loop))
    if (isWait(op))
      for (unsigned i = 0; i < rings.getIterations(site.loop); ++i)
        given.insert(*getBarrier(op, site.loop, i));
  for (uint32_t role = 0; role < loops.getLoops().size(); ++role) {
    if (loops.getLoop(role).spin || loops.encloses(role, loop) ||
        loops.encloses(loop, role) ||
        (site.loop != kNone &&
         (loops.encloses(role, site.loop) || loops.encloses(site.loop, role))))
      continue;
    std::vector<OpId> order;
    bool waits = false;
    for (OpId op : rings.getOrder(role)) {
      bool isArrival =
          isa<kern::MBarrierArriveOp, kern::AsyncArriveOp>(index.getOp(op));
      if (!isWait(op) && !isArrival)
        continue;
      waits |= isWait(op);
      order.push_back(op);
    }
    if (!waits)
      continue;
    std::optional<IterationValue> last;
    for (unsigned i = 0; i < rings.getIterations(role); ++i)
      for (OpId op : order) {
        IterationValue barrier = *getBarrier(op, role, i);
        if (values.isUnknown(barrier))
          continue;
        if (isWait(op))
          last = isCopys(barrier) ? std::optional(barrier) : std::nullopt;
        else if (last && !isCopys(barrier) && !given.count(barrier))
          result.relays[barrier] = *last;
      }
  }
}

std::optional<IterationValue>
BarrierPhases::resolve(const PhasePairing &result,
                       IterationValue barrier) const {
  if (auto relay = result.relays.find(barrier); relay != result.relays.end())
    return relay->second;
  if (std::binary_search(result.barriers.begin(), result.barriers.end(),
                         barrier))
    return barrier;
  return std::nullopt;
}

bool BarrierPhases::findWaits(uint32_t loop, PhasePairing &result) {
  unsigned iterations = rings.getIterations(loop);
  llvm::SmallVector<OpId, 4> others, unknown;
  // Parities in the order in which a barrier is come to.
  std::map<IterationValue, std::vector<std::pair<OpId, IterationValue>>>
      parities;
  std::vector<OpId> waits;
  for (OpId op : rings.getOrder(loop))
    if (isWait(op))
      waits.push_back(op);
  std::set<OpId> matched;
  for (unsigned iteration = 0; iteration < iterations; ++iteration)
    for (OpId op : waits) {
      IterationValue barrier = *getBarrier(op, loop, iteration);
      if (!resolve(result, barrier)) {
        if (values.isUnknown(barrier) && !llvm::is_contained(unknown, op))
          unknown.push_back(op);
        continue;
      }
      matched.insert(op);
      auto wait = cast<kern::MBarrierWaitOp>(index.getOp(op));
      if (!wait.getParity())
        continue;
      IterationValue parity =
          values.get(index.getId(wait.getPhase()), loop, iteration);
      parities[barrier].push_back({op, parity});
    }
  if (matched.empty() && !unknown.empty()) {
    result.reason = "the loop with the products waits for an mbarrier whose "
                    "address is not known from one iteration to the next";
    return false;
  }
  if (matched.empty()) {
    // Addresses whose distance is not known may be the same.
    bool comparable = llvm::all_of(waits, [&](OpId op) {
      IterationValue barrier = *getBarrier(op, loop, 0);
      return llvm::all_of(result.barriers, [&](const IterationValue &other) {
        return values.differ(barrier, other);
      });
    });
    if (!comparable) {
      result.reason = "the loop with the products waits for an mbarrier whose "
                      "address cannot be compared with that of the copy's";
      return false;
    }
    result.kind = PhasePairing::Kind::NoWait;
    result.waits.assign(waits.begin(), waits.end());
    return false;
  }
  result.waits.assign(matched.begin(), matched.end());
  for (const auto &[barrier, visits] : parities) {
    switch (judgeParities(
        visits,
        [&](OpId op) {
          return rings.getLoops().isSpinning(index.getBlockOf(op));
        },
        values)) {
    case Parities::Toggle:
      continue;
    case Parities::Same:
      result.kind = PhasePairing::Kind::SameParity;
      return false;
    case Parities::Unknown:
      result.reason =
          "the parity that it is waited for with does not turn from "
          "one visit of the mbarrier to the next, as far as it can "
          "be followed";
      return false;
    }
  }
  return true;
}

PhasePairing BarrierPhases::getPairing(const CopySite &site, uint32_t loop,
                                       llvm::ArrayRef<OpId> points) {
  PhasePairing result;
  if (!findBarriers(site, result))
    return result;
  bool found = findWaits(loop, result);
  if (!found && result.kind == PhasePairing::Kind::NoWait &&
      site.loop != loop && loop != kNone) {
    findRelays(site, loop, result);
    if (!result.relays.empty()) {
      result.kind = PhasePairing::Kind::Unknown;
      result.waits.clear();
      found = findWaits(loop, result);
    }
  }
  if (!found)
    return result;
  if (site.loop == loop)
    countInOneLoop(site, points, result);
  else
    countInTwoLoops(site, loop, points, result);
  return result;
}

/// Notes \p count for \p point: the fewest of all iterations that count.
static void note(std::vector<unsigned> &counts, llvm::ArrayRef<OpId> points,
                 OpId point, unsigned count) {
  const OpId *found = std::lower_bound(points.begin(), points.end(), point);
  if (found != points.end() && *found == point)
    counts[found - points.begin()] =
        std::min(counts[found - points.begin()], count);
}

void BarrierPhases::countInOneLoop(const CopySite &site,
                                   llvm::ArrayRef<OpId> points,
                                   PhasePairing &result) {
  result.kind = PhasePairing::Kind::Paired;
  result.inFlight.assign(points.size(), ~0u);
  unsigned iterations = rings.getIterations(site.loop);
  llvm::SmallDenseSet<OpId, 16> counts(site.clones.begin(), site.clones.end());
  counts.insert(result.waits.begin(), result.waits.end());
  counts.insert(points.begin(), points.end());
  std::vector<OpId> order;
  llvm::copy_if(rings.getOrder(site.loop), std::back_inserter(order),
                [&](OpId op) { return counts.contains(op); });
  std::set<IterationValue> outstanding;
  for (unsigned iteration = 0; iteration < iterations; ++iteration) {
    std::map<OpId, IterationValue> issued;
    for (const auto &[op, barrier] : getCompletions(site, iteration))
      issued[op] = barrier;
    for (OpId op : order) {
      if (auto it = issued.find(op); it != issued.end())
        outstanding.insert(it->second);
      else if (llvm::is_contained(result.waits, op))
        outstanding.erase(*getBarrier(op, site.loop, iteration));
      else if (iteration >= iterations / 2)
        note(result.inFlight, points, op, outstanding.size());
    }
  }
}

void BarrierPhases::countInTwoLoops(const CopySite &site, uint32_t loop,
                                    llvm::ArrayRef<OpId> points,
                                    PhasePairing &result) {
  // What the loop that copies waits for before it fills a slot.
  std::map<IterationValue, IterationValue> slotOf;
  llvm::SmallDenseSet<OpId, 16> copies(site.clones.begin(), site.clones.end());
  std::vector<OpId> order;
  llvm::copy_if(rings.getOrder(site.loop), std::back_inserter(order),
                [&](OpId op) { return copies.contains(op) || isWait(op); });
  unsigned slots = result.barriers.size(), limit = slots;
  std::set<IterationValue> outstanding;
  bool waitsItself = false;
  unsigned most = 0;
  for (unsigned iteration = 0; iteration < rings.getIterations(site.loop);
       ++iteration) {
    std::map<OpId, IterationValue> issued;
    for (const auto &[op, barrier] : getCompletions(site, iteration))
      issued[op] = barrier;
    std::optional<IterationValue> empty;
    for (OpId op : order) {
      if (auto it = issued.find(op); it != issued.end()) {
        outstanding.insert(it->second);
        most = std::max<unsigned>(most, outstanding.size());
        if (empty)
          slotOf[*empty] = it->second;
        continue;
      }
      if (!isWait(op))
        continue;
      IterationValue barrier = *getBarrier(op, site.loop, iteration);
      if (std::binary_search(result.barriers.begin(), result.barriers.end(),
                             barrier)) {
        waitsItself = true;
        outstanding.erase(barrier);
      } else if (!values.isUnknown(barrier)) {
        empty = barrier;
      }
    }
  }
  if (waitsItself)
    limit = most;
  if (slotOf.empty()) {
    result.reason = "the loop that issues the copies waits for no mbarrier "
                    "before it overwrites a slot";
    return;
  }

  result.inFlight.assign(points.size(), ~0u);
  std::set<IterationValue> held;
  bool givesBack = false;
  unsigned iterations = rings.getIterations(loop);
  llvm::SmallDenseSet<OpId, 16> counts(points.begin(), points.end());
  counts.insert(result.waits.begin(), result.waits.end());
  std::vector<OpId> consumer;
  llvm::copy_if(
      rings.getOrder(loop), std::back_inserter(consumer), [&](OpId op) {
        return counts.contains(op) ||
               isa<kern::MBarrierArriveOp, kern::TmemCommitOp>(index.getOp(op));
      });
  for (unsigned iteration = 0; iteration < iterations; ++iteration)
    for (OpId op : consumer) {
      if (llvm::is_contained(result.waits, op)) {
        if (std::optional<IterationValue> barrier =
                resolve(result, *getBarrier(op, loop, iteration)))
          held.insert(*barrier);
      } else if (isa<kern::MBarrierArriveOp, kern::TmemCommitOp>(
                     index.getOp(op))) {
        auto it = slotOf.find(*getBarrier(op, loop, iteration));
        if (it != slotOf.end()) {
          givesBack = true;
          held.erase(it->second);
        }
      } else if (iteration >= iterations / 2) {
        unsigned free = slots - std::min<unsigned>(slots, held.size());
        note(result.inFlight, points, op, std::min(free, limit));
      }
    }
  if (!givesBack) {
    result.reason = "the loop with the products arrives at no mbarrier that "
                    "the loop with the copies waits for";
    return;
  }
  result.kind = PhasePairing::Kind::Paired;
}
