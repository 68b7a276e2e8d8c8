// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/RingReaders.h"

#include "d2k/Analysis/SharedObjects.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Where in the ring an address is, as a distance from its lowest slot.
std::optional<int64_t> RingReaders::getSlot(const Ring &ring,
                                            IterationValue address) {
  IterationValues &values = async.values;
  std::optional<int64_t> lowest, slot;
  for (const IterationValue &other : ring.addresses) {
    std::optional<int64_t> step =
        values.distance(other, ring.addresses.front());
    if (!step)
      return std::nullopt;
    lowest = std::min(lowest.value_or(*step), *step);
  }
  slot = values.distance(address, ring.addresses.front());
  if (!slot || !lowest)
    return std::nullopt;
  return *slot - *lowest;
}

/// The reads of this loop that go through the slots of \p ring.
std::vector<RingReaders::Reader> RingReaders::getReaders(const CopySite &site,
                                                         const Ring &ring) {
  const MemoryRoots &memory = detector.getMemory();
  const SharedObjects &shared = detector.getKernel().getSharedObjects();
  std::set<int64_t> steps;
  for (const IterationValue &slot : ring.addresses) {
    std::optional<int64_t> step = getSlot(ring, slot);
    if (!step)
      return {};
    steps.insert(*step);
  }
  std::set<SharedObjectId> objects;
  for (OpId clone : site.clones)
    objects.insert(shared.getPlace(memory.getFirstAccess(clone) + 1).object);
  objects.erase(kNone);
  std::vector<Reader> readers;
  for (uint32_t i = 0; i < memory.getAccesses().size(); ++i) {
    const AccessInfo &info = memory.getAccesses()[i];
    bool descriptor = info.access.form == kern::MemoryAccess::Form::Descriptor;
    if (!info.access.read || info.access.barrier || getOwner(info.op) != loop ||
        (!descriptor &&
         info.access.form != kern::MemoryAccess::Form::Address) ||
        !objects.count(shared.getPlace(i).object))
      continue;
    Reader reader{info.op, {}};
    std::optional<uint32_t> sum;
    for (unsigned t = 0; t < async.rings.getIterations(loop); ++t) {
      IterationValue address = async.rings.getAddress(
          info.access.address, descriptor ? 0 : info.access.offset, info.op,
          loop, t);
      if (async.values.isUnknown(address) || (sum && *sum != address.sum))
        break;
      sum = address.sum;
      reader.slots.push_back(address.constant * (descriptor ? 16 : 1));
    }
    if (reader.slots.size() != async.rings.getIterations(loop))
      continue;
    int64_t lowest = *llvm::min_element(reader.slots);
    for (int64_t &slot : reader.slots)
      slot -= lowest;
    if (std::set<int64_t>(reader.slots.begin(), reader.slots.end()) == steps)
      readers.push_back(std::move(reader));
  }
  return readers;
}

/// Reads of a slot whose mbarrier the loop has waited for neither in that
/// iteration nor in the one before.
llvm::SmallVector<OpId, 4>
RingReaders::findUnwaited(const CopySite &site, const Ring &ring,
                          llvm::ArrayRef<OpId> waits) {
  llvm::SmallVector<OpId, 4> unwaited;
  // The slots of each mbarrier.
  std::map<IterationValue, std::set<int64_t>> slotsOf;
  for (unsigned t = 0; t < async.rings.getIterations(site.loop); ++t)
    for (const auto &[copy, barrier] : async.phases.getCompletions(site, t)) {
      std::optional<int64_t> slot =
          getSlot(ring, async.rings.getTarget(copy, site.loop, t));
      if (!slot)
        return {};
      slotsOf[barrier].insert(*slot);
    }
  unsigned iterations = async.rings.getIterations(loop);
  std::vector<std::set<int64_t>> waited(iterations);
  for (unsigned t = 0; t < iterations; ++t)
    for (OpId wait : waits) {
      std::optional<IterationValue> barrier =
          async.phases.getBarrier(wait, loop, t);
      auto found = barrier ? slotsOf.find(*barrier) : slotsOf.end();
      // A wait that stands for another one says nothing of a slot here.
      if (found == slotsOf.end())
        return {};
      waited[t].insert(found->second.begin(), found->second.end());
    }
  for (const Reader &reader : getReaders(site, ring)) {
    bool never = true;
    for (unsigned t = iterations / 2; t < iterations && never; ++t)
      never = !waited[t].count(reader.slots[t]) &&
              (t == 0 || !waited[t - 1].count(reader.slots[t]));
    if (never && !llvm::is_contained(unwaited, reader.op))
      unwaited.push_back(reader.op);
  }
  return unwaited;
}

llvm::SmallVector<OpId, 4>
RingReaders::findReleased(const CopySite &site, const Ring &ring,
                          llvm::ArrayRef<OpId> points,
                          llvm::ArrayRef<unsigned> inFlight, unsigned slots) {
  llvm::SmallVector<OpId, 4> released;
  for (const Reader &reader : getReaders(site, ring)) {
    const OpId *point = llvm::lower_bound(points, reader.op);
    if (point != points.end() && *point == reader.op &&
        inFlight[point - points.begin()] >= slots &&
        !llvm::is_contained(released, reader.op))
      released.push_back(reader.op);
  }
  return released;
}
