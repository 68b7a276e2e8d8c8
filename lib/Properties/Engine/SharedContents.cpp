// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/SharedContents.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>
#include <optional>
#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

SharedContents::SharedContents(Detector &detector)
    : detector(detector), index(detector.getIndex()),
      objects(detector.getKernel().getSharedObjects()),
      accesses(detector.getMemory().getAccesses()) {
  isOpenWorld = !detector.getProvenance().getUnknownWriters().empty() ||
                llvm::any_of(accesses, [](const AccessInfo &info) {
                  return info.access.write && !info.access.barrier &&
                         (info.space == kern::Space::Unknown ||
                          info.space == kern::Space::SharedCluster);
                });
}

bool SharedContents::isKnown(uint32_t access) const {
  SharedObjectId object = objects.getPlace(access).object;
  return !isOpenWorld && object != kNone &&
         objects.getObject(object).space == kern::Space::Shared &&
         isComparable(objects.getObject(object).root);
}

bool SharedContents::bringsData(uint32_t writer) const {
  const Provenance &provenance = detector.getProvenance();
  auto store = llvm::dyn_cast<kern::StoreOp>(index.getOp(accesses[writer].op));
  return !store || llvm::any_of(store.getValues(), [&](mlir::Value value) {
    ValueId id = index.getId(value);
    return !provenance.getTerms(id).empty() || provenance.isUnknown(id);
  });
}

bool SharedContents::isComparable(RootId root) const {
  if (objects.isDivided(root))
    return true;
  auto [it, isNew] = comparable.try_emplace(root, false);
  if (!isNew)
    return it->second;
  // Stores of constants may go anywhere.
  for (uint32_t i : objects.getUnplaced())
    if ((accesses[i].roots.empty() ||
         llvm::is_contained(accesses[i].roots, root)) &&
        (accesses[i].access.read || bringsData(i)))
      return false;
  // The launch may add numbers to one base.
  LaneForms &forms = detector.getKernel().getLaneForms();
  SymbolId base = kNone;
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    SharedObjectId object = objects.getPlace(i).object;
    if (object == kNone || objects.getObject(object).root != root)
      continue;
    if (base != kNone && objects.getObject(object).base != base)
      return false;
    base = objects.getObject(object).base;
    // Of the address in a descriptor, the base is all that is not a number.
    if (accesses[i].access.form == kern::MemoryAccess::Form::Descriptor)
      continue;
    for (const auto &[symbol, factor] :
         forms.get(index.getId(accesses[i].access.address)).terms)
      if (forms.getSymbol(symbol).kind == LaneSymbolKind::Launch)
        return false;
  }
  return it->second = true;
}

bool SharedContents::isSameSlot(uint32_t a, uint32_t b) const {
  const SharedPlace &x = objects.getPlace(a), &y = objects.getPlace(b);
  return x.ring != kNone || y.ring != kNone || x.slot == y.slot;
}

/// Past the last byte of all slots.
static int64_t getEnd(const SharedObject &object) {
  if (object.bytes == 0 || (object.stride != 0 && object.slots == 0))
    return std::numeric_limits<int64_t>::max();
  return object.low + object.bytes + object.stride * (object.slots - 1);
}

bool SharedContents::isSharedBy(
    SharedObjectId id, llvm::function_ref<bool(uint32_t)> counts) const {
  const SharedObject &object = objects.getObject(id);
  for (SharedObjectId i = 0; i < objects.getObjects().size(); ++i) {
    const SharedObject &other = objects.getObject(i);
    if (i != id && other.root == object.root && !other.barrier &&
        other.low < getEnd(object) && object.low < getEnd(other) &&
        llvm::any_of(objects.getAccessesTo(i), counts))
      return true;
  }
  return false;
}

bool SharedContents::isOpen(uint32_t access) const {
  return !objects.getPlace(access).bounded &&
         llvm::isa<kern::BulkCopyOp>(index.getOp(accesses[access].op));
}

int64_t SharedContents::getReachEnd(uint32_t writer) const {
  const SharedPlace &place = objects.getPlace(writer);
  int64_t end = std::numeric_limits<int64_t>::max();
  for (uint32_t i : objects.getAccessesTo(place.object))
    if (accesses[i].access.write && isOpen(i) && isSameSlot(writer, i) &&
        objects.getPlace(i).low > place.low)
      end = std::min(end, objects.getPlace(i).low);
  return end;
}

SharedContents::Need SharedContents::getNeed(uint32_t writer) const {
  const SharedPlace &place = objects.getPlace(writer);
  int64_t end = getReachEnd(writer);
  Need need;
  need.gap = std::numeric_limits<int64_t>::max();
  // What matrices at different places cover, as far as is known of them.
  std::set<std::pair<int64_t, int64_t>> matrices;
  for (uint32_t i : objects.getAccessesTo(place.object)) {
    const SharedPlace &read = objects.getPlace(i);
    if (!accesses[i].access.read || accesses[i].access.barrier ||
        !isSameSlot(writer, i) || read.low >= end || read.high <= place.low)
      continue;
    int64_t from = std::max(read.low, place.low) - place.low;
    need.gap = std::min(need.gap, from);
    need.bytes = std::max(need.bytes, from + 1);
    if (accesses[i].access.form == kern::MemoryAccess::Form::Descriptor)
      matrices.insert({from, read.high - read.low});
  }
  int64_t sum = 0;
  for (auto [from, bytes] : matrices)
    sum += bytes;
  if (!matrices.empty())
    need.bytes = std::max(need.bytes, need.gap + sum);
  return need;
}

/// The mbarrier of \p op, as object and slot; nothing when it is not known.
static std::optional<std::pair<SharedObjectId, int64_t>>
getBarrier(Detector &detector, OpId op) {
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  uint32_t access = detector.getMemory().getFirstAccess(op);
  for (const AccessInfo &info : detector.getMemory().getAccessesOf(op)) {
    const SharedPlace &place = objects.getPlace(access++);
    if (!info.access.barrier || place.object == kNone)
      continue;
    // All slots of a ring are alike.
    bool isRing = objects.getObject(place.object).stride != 0;
    return std::pair(place.object, isRing ? 0 : place.slot);
  }
  return std::nullopt;
}

Tristate SharedContents::canReach(uint32_t writer, int64_t gap) const {
  auto copy = llvm::cast<kern::BulkCopyOp>(index.getOp(accesses[writer].op));
  auto barrier = getBarrier(detector, accesses[writer].op);
  if (!barrier || copy.getMulticast() || copy.getCtaGroup() != 1)
    return Tristate::Unknown;
  std::optional<int64_t> expected;
  // By object and place in a slot, one copy for each.
  std::map<std::pair<SharedObjectId, int64_t>, uint32_t> copies;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    mlir::Operation *operation = index.getOp(op);
    auto bulk = llvm::dyn_cast<kern::BulkCopyOp>(operation);
    auto arrive = llvm::dyn_cast<kern::MBarrierArriveOp>(operation);
    auto expect = llvm::dyn_cast<kern::MBarrierExpectTxOp>(operation);
    if ((!bulk && !(arrive && arrive.getExpectTx()) && !expect) ||
        !detector.getConstants().mayRun(op))
      continue;
    auto other = getBarrier(detector, op);
    if (bulk && !bulk.getBarrier())
      continue;
    // It may be any barrier.
    if (!other)
      return Tristate::Unknown;
    if (*other != *barrier)
      continue;
    if (bulk) {
      uint32_t access = detector.getMemory().getFirstAccess(op) + 1;
      const SharedPlace &place = objects.getPlace(access);
      // Of a ring of mbarriers, each slot is for other copies.
      bool isRing = objects.getObject(barrier->first).stride != 0;
      if (bulk.getMulticast() || bulk.getCtaGroup() != 1 ||
          place.object == kNone ||
          (isRing && objects.getObject(place.object).stride == 0))
        return Tristate::Unknown;
      copies[{place.object, place.low}] = access;
      continue;
    }
    mlir::Value count = arrive ? arrive.getCount() : expect.getBytes();
    std::optional<int64_t> bytes =
        count ? detector.getConstants().getSigned(index.getId(count))
              : std::nullopt;
    if (!bytes || *bytes <= 0 || (expected && *expected != *bytes))
      return Tristate::Unknown;
    expected = bytes;
  }
  if (!expected)
    return Tristate::Unknown;
  // Least bytes of the others; and of all, if every box is read that far.
  int64_t others = 0, all = 0;
  const SharedPlace &own = objects.getPlace(writer);
  for (const auto &[place, access] : copies) {
    Need need{0, 1};
    if (isOpen(access))
      need = getNeed(access);
    else
      need.bytes = objects.getPlace(access).high - objects.getPlace(access).low;
    if (need.gap == std::numeric_limits<int64_t>::max())
      need = {0, 1};
    all += need.bytes;
    if (place != std::pair(own.object, own.low))
      others += need.gap == 0 ? need.bytes : 1;
  }
  if (gap >= *expected - others || all > *expected)
    return Tristate::No;
  return Tristate::Unknown;
}

Tristate SharedContents::meets(uint32_t writer, uint32_t reader) const {
  const SharedPlace &to = objects.getPlace(writer);
  const SharedPlace &from = objects.getPlace(reader);
  if (!isSameSlot(writer, reader))
    return Tristate::No;
  if (from.bounded && from.high <= to.low)
    return Tristate::No;
  if (to.bounded)
    return to.high <= from.low ? Tristate::No : Tristate::Yes;
  if (!isOpen(writer) || from.low <= to.low)
    return Tristate::Yes;
  if (from.low >= getReachEnd(writer))
    return Tristate::No;
  Need need = getNeed(writer);
  if (need.gap == 0)
    return Tristate::Yes;
  Tristate reaches = canReach(writer, from.low - to.low);
  // Threads may have reasons to skip what comes first.
  bool isMatrix = llvm::isa<kern::MatrixLoadOp, kern::MatrixProductOpInterface>(
      index.getOp(accesses[reader].op));
  return reaches == Tristate::Unknown && !isMatrix ? Tristate::Yes : reaches;
}

Tristate SharedContents::isFilled(uint32_t reader) const {
  if (!isKnown(reader))
    return Tristate::Yes;
  Tristate filled = Tristate::No;
  SharedObjectId object = objects.getPlace(reader).object;
  auto counts = [&](uint32_t i) {
    return accesses[i].access.write && !accesses[i].access.barrier &&
           bringsData(i);
  };
  for (uint32_t i : objects.getAccessesTo(object)) {
    if (!counts(i))
      continue;
    filled = std::max(filled, meets(i, reader));
    if (filled == Tristate::Yes)
      break;
  }
  return filled != Tristate::Yes && isSharedBy(object, counts) ? Tristate::Yes
                                                               : filled;
}

Tristate SharedContents::isRead(uint32_t writer) const {
  if (!isKnown(writer))
    return Tristate::Yes;
  Tristate read = Tristate::No;
  SharedObjectId object = objects.getPlace(writer).object;
  auto counts = [&](uint32_t i) {
    return accesses[i].access.read && !accesses[i].access.barrier;
  };
  for (uint32_t i : objects.getAccessesTo(object)) {
    if (!counts(i))
      continue;
    read = std::max(read, meets(writer, i));
    if (read == Tristate::Yes)
      break;
  }
  return read != Tristate::Yes && isSharedBy(object, counts) ? Tristate::Yes
                                                             : read;
}
