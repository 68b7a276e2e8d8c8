// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses are gathered by base, those with a ring index give the strides, and
// what overlaps within a slot is one object.

#include "d2k/Analysis/SharedObjects.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::Space;

namespace {
/// Bytes that one lane of ldmatrix or stmatrix names.
constexpr int64_t kMatrixRow = 16;
/// A descriptor holds an address in units of 16 bytes in its low 14 bits (PTX
/// ISA, "Matrix descriptor format").
constexpr int64_t kDescriptorUnit = 16, kDescriptorField = 1 << 14;
/// Bits 16 and up of a tensor-memory address are the lane.
constexpr int64_t kTensorColumns = 1 << 16;
/// Shared memory of an SM; no block has more.
constexpr int64_t kSharedBytes = 228 * 1024;
} // namespace

/// Bytes that a product reads at least from where its descriptor points; 1 when
/// its shape or its types are not known.
static int64_t getLeastBytes(Operation *op, Value descriptor) {
  auto product = dyn_cast<kern::MatrixProductOpInterface>(op);
  if (!product)
    return 1;
  bool isA = product.getASource() == kern::OperandSource::Descriptor &&
             llvm::is_contained(product.getAValues(), descriptor);
  kern::MatrixShape shape = product.getShape();
  unsigned bits =
      kern::getBits(isA ? product.getAElement() : product.getBElement());
  // Blocks that cooperate each have their part of the rows.
  int64_t rows = int64_t(isA ? shape.m : shape.n) /
                 int64_t(std::max<uint64_t>(product.getCtaGroupSize(), 1));
  int64_t columns =
      int64_t(shape.k) / (isA && product.isSparseProduct() ? 2 : 1);
  return std::max<int64_t>(rows * columns * bits / 8, 1);
}

SharedObjects::SharedObjects(const KernelIndex &index,
                             const MemoryRoots &memory, LaneForms &forms)
    : index(index), memory(memory), forms(forms) {
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  places.resize(accesses.size());
  // By base, by what the launch adds to it, barriers apart.
  using Key = std::pair<std::vector<std::pair<SymbolId, int64_t>>, bool>;
  std::map<Key, std::vector<Entry>> arenas;
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    if (info.space != Space::Shared && info.space != Space::TensorMemory)
      continue;
    if (!info.access.address) {
      unplaced.push_back(i);
      continue;
    }
    LaneForm form = getAddress(i);
    Key key{{}, info.access.barrier};
    std::optional<Entry> entry = makeEntry(form, i, key.first);
    if (!entry) {
      unplaced.push_back(i);
      continue;
    }
    arenas[key].push_back(*entry);
  }
  llvm::DenseMap<RootId, const decltype(Key::first) *> baseOf;
  for (auto &[key, entries] : arenas) {
    RootId root = forms.getSymbol(entries.front().base).root;
    auto [it, isNew] = baseOf.try_emplace(root, &key.first);
    if (!isNew && *it->second != key.first)
      severalBases.insert(root);
    divide(entries);
  }

  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t i = 0; i < places.size(); ++i)
    if (places[i].object != kNone)
      pairs.push_back({i, places[i].object});
  accessesTo = FlatLists::invert(objects.size(), pairs);
}

LaneForm SharedObjects::getAddress(uint32_t access) {
  const AccessInfo &info = memory.getAccesses()[access];
  LaneForm form = forms.get(index.getId(info.access.address));
  LaneForm offset;
  offset.rest = info.access.offset;
  if (info.access.form != kern::MemoryAccess::Form::Descriptor)
    return forms.add(form, offset);
  // The address is the low field; what is above it is constant.
  if (!form.known)
    return form;
  std::vector<int64_t> numbers;
  for (unsigned t = 0; t < forms.getNumThreads(); ++t)
    numbers.push_back(form.rest[t] & (kDescriptorField - 1));
  form.rest = ThreadNumbers(std::move(numbers));
  return forms.multiply(form, kDescriptorUnit);
}

std::optional<SharedObjects::Entry> SharedObjects::makeEntry(
    const LaneForm &form, uint32_t access,
    std::vector<std::pair<SymbolId, int64_t>> &arena) const {
  const AccessInfo &info = memory.getAccesses()[access];
  SymbolId base = forms.getBase(form);
  // A number in tensor memory counts from the only allocation, and one in the
  // shared memory of machine code from the start of its window.
  if (base == kNone && info.roots.size() == 1 &&
      !llvm::is_contained(memory.getRoots(index.getId(info.access.address)),
                          info.roots[0]))
    base = forms.getBaseOf(info.roots[0]);
  if (!form.known || base == kNone)
    return std::nullopt;
  Entry entry;
  entry.access = access;
  entry.base = base;
  bool tensor = info.space == Space::TensorMemory;
  int64_t low = form.rest.getLow(), high = form.rest.getHigh();
  bool isPlain = !tensor && low >= 0 && high < kSharedBytes &&
                 forms.countActive(info.op) == forms.getNumThreads();
  if (low != high && !isPlain) {
    std::vector<bool> active = forms.getActive(info.op);
    bool any = false;
    // Threads that would be outside of the memory do not come here, though
    // the branch that keeps them away is not understood.
    for (bool all : {false, true}) {
      for (unsigned t = 0; t < forms.getNumThreads(); ++t) {
        // Warps use their own lanes of the same columns of tensor memory.
        int64_t at =
            tensor ? form.rest[t] & (kTensorColumns - 1) : form.rest[t];
        bool inside = active[t] && at >= 0 && at < kSharedBytes;
        if (!inside && !all)
          continue;
        low = any ? std::min(low, at) : at;
        high = any ? std::max(high, at) : at;
        any = true;
      }
      if (any)
        break;
    }
  }
  arena.push_back({base, 1});
  for (const auto &[symbol, factor] : form.terms) {
    if (symbol == base)
      continue;
    const LaneSymbol &s = forms.getSymbol(symbol);
    if (s.kind == LaneSymbolKind::Ring && factor.isSame() &&
        factor.getSame() > 0 &&
        (entry.ring == kNone || factor.getSame() > entry.factor)) {
      if (entry.ring != kNone)
        high += entry.factor * forms.getSymbol(entry.ring).range.high;
      entry.ring = symbol;
      entry.factor = factor.getSame();
      continue;
    }
    // One of a few buffers, the same one for the whole launch.
    bool picked = s.kind == LaneSymbolKind::Launch && s.values.size() > 1 &&
                  factor.isSame();
    if (!picked && !s.range.full && s.range.high < INT32_MAX) {
      LaneForm term;
      term.terms.push_back({symbol, factor});
      Range range = forms.getRange(term);
      if (range.full)
        return std::nullopt;
      low += range.low;
      high += range.high;
      continue;
    }
    // What the launch chooses is part of the base.
    if (s.kind != LaneSymbolKind::Launch || !factor.isSame())
      return std::nullopt;
    arena.push_back({symbol, factor.getSame()});
  }
  entry.low = low;
  entry.high = high + 1;
  std::optional<uint64_t> bytes = info.access.bytes;
  bool descriptor = info.access.form == kern::MemoryAccess::Form::Descriptor;
  if (descriptor || tensor)
    bytes.reset();
  // What copies put side by side and one product reads is one object.
  if (descriptor)
    entry.high =
        high + getLeastBytes(index.getOp(info.op), info.access.address);
  if (bytes && info.access.warpWide) {
    auto load = dyn_cast<kern::MatrixLoadOp>(index.getOp(info.op));
    auto store = dyn_cast<kern::MatrixStoreOp>(index.getOp(info.op));
    bool rows = (load && load.getOp() == "ldmatrix") ||
                (store && store.getOp() == "stmatrix");
    if (rows)
      bytes = kMatrixRow;
    else
      bytes.reset();
  }
  if (bytes) {
    entry.bounded = true;
    entry.high = high + int64_t(*bytes);
  }
  // A variable's extent bounds what threads beyond the block would touch.
  if (auto object = dyn_cast_or_null<kern::ObjectOp>(
          memory.getRoot(forms.getSymbol(base).root).symbol))
    if (object.getSize() && !tensor && entry.ring == kNone &&
        forms.getSymbol(base).slack == 0) {
      int64_t size = int64_t(*object.getSize());
      entry.low = std::clamp<int64_t>(entry.low, 0, size);
      entry.high = std::clamp<int64_t>(entry.high, entry.low, size);
    }
  return entry;
}

void SharedObjects::divide(std::vector<Entry> &entries) {
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  // The strides, and how far the rings of each reach. Rings that do not meet
  // are two, such as the full and the empty barriers of a pipeline.
  struct Ring {
    int64_t stride, low, high, slots;
  };
  std::vector<Ring> rings;
  for (Entry &e : entries) {
    if (e.ring == kNone)
      continue;
    int64_t last = forms.getSymbol(e.ring).range.high;
    if (e.high - e.low > e.factor) {
      // Wider than a slot: the index picks no slot of its own.
      e.high += e.factor * last;
      e.ring = kNone;
      continue;
    }
    rings.push_back({e.factor, e.low, e.high + e.factor * last, last + 1});
  }
  llvm::sort(rings, [](const Ring &a, const Ring &b) {
    return std::pair(-a.stride, a.low) < std::pair(-b.stride, b.low);
  });
  size_t kept = 0;
  for (const Ring &ring : rings) {
    if (kept != 0 && rings[kept - 1].stride == ring.stride &&
        ring.low < rings[kept - 1].high) {
      Ring &last = rings[kept - 1];
      last.high = std::max(last.high, ring.high);
      last.slots = std::max(last.slots, ring.slots);
      continue;
    }
    rings[kept++] = ring;
  }
  rings.resize(kept);
  // An unrolled loop steps through every other slot of a ring at each place.
  auto fits = [&](const Ring &wide, int64_t stride) {
    return llvm::none_of(entries, [&](const Entry &e) {
      return e.ring != kNone && e.factor == wide.stride && e.low >= wide.low &&
             e.low < wide.high && e.high - e.low > stride;
    });
  };
  for (size_t i = 0; i + 1 < rings.size(); ++i)
    for (size_t j = rings.size() - 1; j > i; --j) {
      Ring &wide = rings[i], &narrow = rings[j];
      if (wide.stride % narrow.stride != 0 || wide.low >= narrow.high ||
          narrow.low >= wide.high ||
          (wide.low - narrow.low) % narrow.stride != 0 ||
          !fits(wide, narrow.stride))
        continue;
      narrow.low = std::min(narrow.low, wide.low);
      narrow.high = std::max(narrow.high, wide.high);
      narrow.slots = std::max<int64_t>(
          narrow.slots,
          llvm::divideCeil(narrow.high - narrow.low, narrow.stride));
      rings.erase(rings.begin() + i);
      --i;
      break;
    }
  // Each entry with the stride it belongs to, 0 for none.
  struct Part {
    Entry *entry;
    int64_t slot, low, high;
  };
  /// By position in `rings`; those without one come last.
  std::map<size_t, std::vector<Part>> groups;
  for (Entry &e : entries) {
    size_t key = rings.size();
    Part part{&e, 0, e.low, e.high};
    for (const auto &[i, ring] : llvm::enumerate(rings)) {
      if (e.low < ring.low || e.low >= ring.high ||
          (e.ring != kNone && e.factor % ring.stride != 0))
        continue;
      int64_t slot = (e.low - ring.low) / ring.stride;
      int64_t low = e.low - slot * ring.stride;
      if (e.bounded && low - ring.low + (e.high - e.low) > ring.stride)
        continue; // It spans slots: another use of the memory.
      key = i;
      part.slot = slot;
      part.low = low;
      part.high = low + (e.high - e.low);
      break;
    }
    groups[key].push_back(part);
  }
  for (auto &[key, parts] : groups) {
    bool isRing = key != rings.size();
    int64_t stride = isRing ? rings[key].stride : 0;
    int64_t origin = isRing ? rings[key].low : 0;
    // A write without an end reaches to the next one.
    std::vector<int64_t> starts;
    for (const Part &p : parts)
      if (!p.entry->bounded && accesses[p.entry->access].access.write)
        starts.push_back(p.low);
    llvm::sort(starts);
    for (Part &p : parts) {
      if (p.entry->bounded || !accesses[p.entry->access].access.write)
        continue;
      auto next = std::upper_bound(starts.begin(), starts.end(), p.high - 1);
      if (next != starts.end())
        p.high = *next;
      else if (stride != 0)
        p.high = origin + stride;
      else
        p.high = INT64_MAX;
    }
    llvm::sort(parts, [](const Part &a, const Part &b) {
      return std::pair(a.low, a.entry->access) <
             std::pair(b.low, b.entry->access);
    });
    int64_t reach = INT64_MIN;
    for (const Part &p : parts) {
      if (p.low >= reach) {
        SharedObject object;
        object.base = p.entry->base;
        object.root = forms.getSymbol(object.base).root;
        object.space = memory.getRoot(object.root).space;
        object.low = p.low;
        object.stride = stride;
        object.barrier = accesses[p.entry->access].access.barrier;
        if (isRing)
          object.slots = rings[key].slots;
        objects.push_back(object);
        reach = p.high;
      }
      reach = std::max(reach, p.high);
      SharedObject &object = objects.back();
      object.bytes = reach == INT64_MAX ? 0 : reach - object.low;
      SharedPlace &place = places[p.entry->access];
      place.object = objects.size() - 1;
      place.bounded = p.entry->bounded;
      place.low = p.low - object.low;
      place.high = p.low - object.low + (p.entry->high - p.entry->low);
      place.slot = p.slot;
      place.ring = p.entry->ring;
      place.step =
          stride != 0 && place.ring != kNone ? p.entry->factor / stride : 1;
    }
  }
}

bool SharedObjects::isWhole(RootId root) const {
  return llvm::none_of(unplaced, [&](uint32_t i) {
    llvm::ArrayRef<RootId> roots = memory.getAccesses()[i].roots;
    return roots.empty() || llvm::is_contained(roots, root);
  });
}

std::string SharedObjects::describe(SharedObjectId id) const {
  const SharedObject &object = objects[id];
  std::string text = memory.describe(object.root);
  if (forms.getSymbol(object.base).slack != 0)
    text += " aligned";
  text += object.space == Space::TensorMemory ? " columns [" : " bytes [";
  text += std::to_string(object.low) + ", ";
  text += object.bytes == 0 ? "?)"
                            : std::to_string(object.low + object.bytes) + ")";
  if (object.stride != 0)
    text += " of " + std::to_string(object.slots) + " slots of " +
            std::to_string(object.stride);
  return object.barrier ? "barrier " + text : text;
}
