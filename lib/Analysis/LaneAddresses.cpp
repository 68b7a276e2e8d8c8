// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/LaneAddresses.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

namespace {
constexpr int64_t kSector = 32, kBankBytes = 4, kBanks = 32;
constexpr unsigned kWarp = 32;
/// All of shared memory.
constexpr uint64_t kMostLaneBytes = uint64_t(1) << 18;
/// Guards that forms are made for.
constexpr size_t kMaxGuards = 64;
/// Distance of rows whose stride the launch chooses.
constexpr int64_t kRow = int64_t(1) << 24;
} // namespace

static int64_t floorDiv(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

void LaneSpans::moveToFront(int64_t unit) {
  auto first = llvm::find_if(start, [](auto &at) { return bool(at); });
  if (first == start.end())
    return;
  int64_t by = floorDiv(**first, unit) * unit;
  for (std::optional<int64_t> &at : start)
    if (at)
      *at -= by;
}

unsigned LaneAddresses::countConflicts(const LaneSpans &spans) {
  // Lanes that are served together.
  unsigned group = spans.bytes <= 4 ? 32 : spans.bytes <= 8 ? 16 : 8;
  size_t worst = 1;
  // The different words of each bank, as chains, and how many it has.
  constexpr uint32_t kEnd = ~0u;
  struct Word {
    int64_t number;
    uint32_t next;
  };
  llvm::SmallVector<Word, 128> words;
  std::array<uint32_t, kBanks> head, length;
  for (unsigned first = 0; first < kWarp; first += group) {
    words.clear();
    head.fill(kEnd);
    length.fill(0);
    for (unsigned lane = first; lane < first + group; ++lane) {
      if (!spans.start[lane])
        continue;
      int64_t begin = floorDiv(*spans.start[lane], kBankBytes);
      int64_t end = floorDiv(*spans.start[lane] + spans.bytes - 1, kBankBytes);
      for (int64_t number = begin; number <= end; ++number) {
        // Of a power of two, also for negative numbers.
        unsigned bank = uint64_t(number) % kBanks;
        uint32_t word = head[bank];
        while (word != kEnd && words[word].number != number)
          word = words[word].next;
        if (word != kEnd)
          continue;
        words.push_back({number, head[bank]});
        head[bank] = words.size() - 1;
        worst = std::max<size_t>(worst, ++length[bank]);
      }
    }
  }
  return worst;
}

SectorCount LaneAddresses::countSectors(const LaneSpans &spans) {
  SectorCount count;
  llvm::SmallVector<int64_t, kWarp> starts;
  for (const std::optional<int64_t> &start : spans.start)
    if (start)
      starts.push_back(*start);
  count.broadcast = llvm::all_equal(starts);
  std::sort(starts.begin(), starts.end());
  // The first byte and sector beyond those that are counted.
  int64_t nextByte = INT64_MIN, nextSector = INT64_MIN;
  for (int64_t start : starts) {
    int64_t end = start + spans.bytes;
    count.bytes += std::max<int64_t>(end - std::max(start, nextByte), 0);
    nextByte = std::max(nextByte, end);
    int64_t endSector = floorDiv(end - 1, kSector) + 1;
    count.touched += std::max<int64_t>(
        endSector - std::max(floorDiv(start, kSector), nextSector), 0);
    nextSector = std::max(nextSector, endSector);
  }
  count.least = (count.bytes + kSector - 1) / kSector;
  return count;
}

std::optional<unsigned> LaneAddresses::getLaneBytes(uint32_t access) {
  const AccessInfo &info = kernel.getMemory().getAccesses()[access];
  if (!info.access.bytes ||
      info.access.form != kern::MemoryAccess::Form::Address)
    return std::nullopt;
  if (!info.access.warpWide)
    // Nothing that one lane does moves more; a copy that says so is wrong.
    return *info.access.bytes <= kMostLaneBytes
               ? std::optional(unsigned(*info.access.bytes))
               : std::nullopt;
  Operation *op = kernel.getIndex().getOp(info.op);
  auto load = dyn_cast<kern::MatrixLoadOp>(op);
  auto store = dyn_cast<kern::MatrixStoreOp>(op);
  if ((load && load.getOp() == "ldmatrix") ||
      (store && store.getOp() == "stmatrix"))
    return 16;
  return std::nullopt;
}

unsigned LaneAddresses::getLanes(OpId op) const {
  // Rows of ldmatrix x1 and x2 are named by the first 8 and 16 lanes.
  Operation *operation = kernel.getIndex().getOp(op);
  if (auto load = dyn_cast<kern::MatrixLoadOp>(operation))
    return std::min<unsigned>(kWarp, 8 * load.getCount());
  if (auto store = dyn_cast<kern::MatrixStoreOp>(operation))
    return std::min<unsigned>(kWarp, 8 * store.getCount());
  return kWarp;
}

std::optional<LaneAddresses::Pattern> LaneAddresses::getPattern(uint32_t access,
                                                                int64_t unit) {
  const AccessInfo &info = kernel.getMemory().getAccesses()[access];
  std::optional<unsigned> bytes = getLaneBytes(access);
  if (!bytes || !info.access.address)
    return std::nullopt;
  const KernelIndex &index = kernel.getIndex();
  return Pattern{index.getId(info.access.address),
                 info.access.offset - floorDiv(info.access.offset, unit) * unit,
                 *bytes,
                 getLanes(info.op),
                 index.getBlockOf(info.op),
                 index.getGuard(info.op),
                 index.isGuardNegated(info.op),
                 kernel.getLaneForms().getGuard(info.op)};
}

std::optional<std::vector<LaneSpans>>
LaneAddresses::getSpans(uint32_t access, LaneForms &forms, bool isGlobal) {
  const KernelIndex &index = kernel.getIndex();
  const AccessInfo &info = kernel.getMemory().getAccesses()[access];
  std::optional<unsigned> bytes = getLaneBytes(access);
  if (!bytes || !info.access.address)
    return std::nullopt;
  LaneForm form = forms.get(index.getId(info.access.address));
  if (!form.known) {
    blocker = form.blocker;
    return std::nullopt;
  }
  inside |= form.inside;
  std::vector<bool> active = forms.getActive(info.op);
  unsigned lanes = getLanes(info.op);
  // What lanes have in common moves nothing between sectors when it is a
  // multiple of a sector, and is not known otherwise.
  bool aligned = true;
  // Factors that lanes differ in, and the distance of their rows.
  llvm::SmallVector<std::pair<const ThreadNumbers *, int64_t>, 2> rows;
  int64_t row = 1;
  for (const auto &[symbol, factor] : form.terms) {
    row = row * 3 % 1009;
    if (!factor.isSame())
      rows.push_back({&factor, row * kRow});
    bool varies = !factor.isSameInWarps();
    if (varies && !isGlobal) {
      // Rows at a stride that only the launch knows have any banks.
      blocker = kAccess;
      return std::nullopt;
    }
    uint64_t alignment = forms.getSymbol(symbol).alignment;
    if (forms.getSymbol(symbol).kind == LaneSymbolKind::Base)
      alignment = kSector;
    aligned &= (uint64_t(1) << factor.getTrailingZeros()) * alignment >=
               uint64_t(kSector);
  }
  unsigned threads = forms.getNumThreads();
  const int64_t *rest = form.rest.data();
  unsigned step = form.rest.isSame() ? 0 : 1;
  bool everyActive = forms.countActive(info.op) == threads;
  std::vector<LaneSpans> result;
  result.reserve(threads / kWarp);
  for (unsigned warp = 0; warp < threads / kWarp; ++warp) {
    LaneSpans &spans = result.emplace_back();
    spans.bytes = *bytes;
    bool any = false;
    if (everyActive && rows.empty()) {
      const int64_t *of = rest + warp * kWarp * step;
      int64_t move = isGlobal && !aligned ? -of[0] : info.access.offset;
      for (unsigned lane = 0; lane < lanes; ++lane)
        spans.start[lane] = of[lane * step] + move;
      continue;
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
      unsigned t = warp * kWarp + lane;
      if (!everyActive && !active[t])
        continue;
      int64_t start = isGlobal && !aligned
                          ? rest[t * step] - rest[warp * kWarp * step]
                          : rest[t * step] + info.access.offset;
      for (auto [factor, distance] : rows)
        start += ((*factor)[t] - (*factor)[warp * kWarp]) * distance;
      spans.start[lane] = start;
      any = true;
    }
    if (!any)
      result.pop_back();
  }
  return result;
}

std::vector<LaneSpans> LaneAddresses::getAllSpans(uint32_t access,
                                                  bool isGlobal) {
  blocker = kNone;
  inside = false;
  // Global addresses are often made under the guard of their access alone.
  const AccessInfo &info = kernel.getMemory().getAccesses()[access];
  LaneForms &plain = kernel.getLaneForms();
  if (auto guard = plain.getGuard(info.op);
      isGlobal && guard && info.access.address && guarded.size() < kMaxGuards) {
    Guarded &under = guarded[*guard];
    if (under.dependents.empty())
      under.dependents = plain.getDependents(guard->first);
    // Most addresses are the same without it.
    if (plain.isDependent(info.op, kernel.getIndex().getId(info.access.address),
                          under.dependents)) {
      if (!under.forms)
        under.forms =
            std::make_unique<LaneForms>(plain, *guard, under.dependents);
      if (auto spans = getSpans(access, *under.forms, isGlobal))
        return *spans;
    }
  }
  if (auto spans = getSpans(access, plain, isGlobal))
    return *spans;
  OpId first = blocker;
  std::vector<LaneSpans> all;
  for (unsigned i = 0; i < iterations.size(); ++i) {
    if (!iterations[i])
      iterations[i] = std::make_unique<LaneForms>(kernel.getLaneForms(), i);
    auto spans = getSpans(access, *iterations[i], isGlobal);
    if (!spans) {
      blocker = first;
      return {};
    }
    all.insert(all.end(), spans->begin(), spans->end());
  }
  return all;
}

template <typename T>
std::optional<T>
LaneAddresses::answer(std::map<Pattern, Answer<T>> &known, uint32_t access,
                      int64_t unit,
                      llvm::function_ref<std::optional<T>()> find) {
  blocker = kNone;
  std::optional<Pattern> pattern = getPattern(access, unit);
  if (!pattern)
    return std::nullopt;
  auto [it, isNew] = known.try_emplace(*pattern);
  if (isNew)
    it->second = {find(), blocker};
  blocker = it->second.blocker == kAccess
                ? kernel.getMemory().getAccesses()[access].op
                : it->second.blocker;
  return it->second.value;
}

std::optional<SectorCount> LaneAddresses::getSectors(uint32_t access) {
  return answer<SectorCount>(
      sectors, access, kSector, [&]() -> std::optional<SectorCount> {
        std::optional<SectorCount> worst;
        LaneSpans last;
        for (LaneSpans &spans : getAllSpans(access, true)) {
          // Most warps do the same.
          spans.moveToFront(kSector);
          if (worst && spans.start == last.start)
            continue;
          last = spans;
          SectorCount count = countSectors(spans);
          if (!worst || uint64_t(count.touched) * worst->least >
                            uint64_t(worst->touched) * count.least)
            worst = count;
        }
        if (worst)
          worst->inside = inside;
        return worst;
      });
}

std::optional<unsigned> LaneAddresses::getConflicts(uint32_t access) {
  return answer<unsigned>(
      conflicts, access, LaneSpans::kBankRow, [&]() -> std::optional<unsigned> {
        std::optional<unsigned> worst;
        LaneSpans last;
        for (LaneSpans &spans : getAllSpans(access, false)) {
          spans.moveToFront(LaneSpans::kBankRow);
          if (worst && spans.start == last.start)
            continue;
          last = spans;
          worst = std::max(worst.value_or(1), countConflicts(spans));
        }
        return worst;
      });
}
