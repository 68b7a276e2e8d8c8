// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// smem_swizzle: places in shared memory are permuted by bits of the row, where
// a tile is written and where it is read, so that lanes meet fewer conflicts.
//
// A permutation is recognised by taking it back: an address becomes a sum of
// one number for each bit of the lane's number, on both sides, and was none
// before. So it does not matter how the permutation is written, and one by a
// constant is none.

#include "Engine/AsyncAnalyses.h"
#include "Engine/TileOrder.h"

#include "d2k/Analysis/LaneAddresses.h"
#include "d2k/Analysis/MatrixDescriptors.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// Bits [unit, unit + bits) of an address are permuted by the `bits` bits that
/// lie `shift` above them: by exclusive-or, or by a sum modulo 2^bits. With a
/// row stride that is no power of two, the bits are those of the row's number,
/// from `shift` on.
struct Permutation {
  unsigned bits = 0, unit = 4, shift = 3;
  bool rotates = false;
  int64_t stride = 0;
  int64_t undo(int64_t at) const {
    if (stride != 0) {
      int64_t row = at / stride;
      int64_t low = (row >> shift) & ((int64_t(1) << bits) - 1);
      return row * stride + ((at - row * stride) ^ (low << unit));
    }
    int64_t mask = ((int64_t(1) << bits) - 1) << unit;
    int64_t row = at >> shift & mask;
    if (!rotates)
      return at ^ row;
    return (at & ~mask) | ((at - row) & mask);
  }
};

/// Lane addresses of one access, from the tile's base.
struct WarpTouches {
  std::shared_ptr<const Touches> touches;
  int64_t origin = 0;
  unsigned bytes = 0;

  /// Whether \p fn, which gets the lanes of a warp in one iteration, is true of
  /// all.
  template <typename Fn>
  bool all(Fn fn) const {
    llvm::ArrayRef<Touch> first = touches->first;
    for (int64_t move : touches->moves)
      for (const Touch *touch = first.begin(); touch != first.end();) {
        LaneSpans warp;
        warp.bytes = bytes;
        unsigned number = touch->thread / 32;
        for (; touch != first.end() && touch->thread / 32 == number; ++touch)
          warp.start[touch->thread % 32] = origin + touch->at + move;
        if (!fn(warp))
          return false;
      }
    return true;
  }
};
} // namespace

/// What access number `access` touches; nothing when it is not known.
static std::optional<WarpTouches> getWarps(Detector &detector, uint32_t access,
                                           int64_t origin) {
  LaneAddresses &lanes = detector.getKernel().getLaneAddresses();
  std::optional<unsigned> bytes = lanes.getLaneBytes(access);
  std::shared_ptr<const Touches> touches =
      detector.getTileOrder().getTouches(access);
  if (!bytes || !touches)
    return std::nullopt;
  return WarpTouches{std::move(touches), origin, *bytes};
}

/// Whether lane l is at a + sum of d[i] over the bits i of l, in every warp
/// of all `accesses` with the same d.
static bool isSum(llvm::ArrayRef<WarpTouches> accesses,
                  const Permutation &undo) {
  std::optional<std::array<int64_t, 5>> steps;
  auto isSumInWarp = [&](const WarpTouches &access, const Touch *warp,
                         int64_t move) {
    std::array<int64_t, 32> at;
    std::array<int64_t, 5> own;
    for (unsigned l = 0; l < 32; ++l) {
      int64_t start = access.origin + warp[l].at + move;
      at[l] = undo.bits == 0 ? start : undo.undo(start);
      if (l == 0)
        continue;
      unsigned bit = llvm::countr_zero(l), rest = l & (l - 1);
      if (rest == 0) {
        own[bit] = at[l] - at[0];
        if (steps && (*steps)[bit] != own[bit])
          return false;
      } else if (at[l] != at[rest] + own[bit]) {
        return false;
      }
    }
    steps = own;
    return true;
  };
  // Without a permutation all iterations are alike.
  for (const WarpTouches &access : accesses) {
    llvm::ArrayRef<Touch> first = access.touches->first;
    llvm::ArrayRef<int64_t> moves = access.touches->moves;
    if (undo.bits == 0)
      moves = moves.take_front(1);
    // Threads ascend: a warp with all its lanes is 32 in a row.
    if (first.size() % 32 != 0)
      return false;
    for (int64_t move : moves)
      for (size_t i = 0; i < first.size(); i += 32)
        if (first[i].thread % 32 != 0 ||
            first[i + 31].thread != first[i].thread + 31 ||
            !isSumInWarp(access, &first[i], move))
          return false;
  }
  return steps.has_value();
}

/// Conflicts as they are, and without the permutation.
static std::pair<unsigned, unsigned> compare(const WarpTouches &access,
                                             const Permutation &undo) {
  std::pair<unsigned, unsigned> worst{1, 1};
  // Most warps and iterations do the same.
  LaneSpans lastWith, lastWithout;
  auto raise = [](unsigned &degree, LaneSpans spans, LaneSpans &last) {
    spans.moveToFront(LaneSpans::kBankRow);
    if (spans.start == last.start)
      return;
    last = spans;
    degree = std::max(degree, LaneAddresses::countConflicts(spans));
  };
  access.all([&](const LaneSpans &with) {
    LaneSpans without = with;
    for (std::optional<int64_t> &start : without.start)
      if (start)
        start = undo.undo(*start);
    raise(worst.first, with, lastWith);
    raise(worst.second, without, lastWithout);
    return true;
  });
  return worst;
}

/// All permutations that are tried, exclusive-or first.
static const std::vector<Permutation> &getCandidates() {
  static const std::vector<Permutation> list = [] {
    std::vector<Permutation> all;
    for (bool rotates : {false, true})
      for (unsigned bits = 1; bits <= 5; ++bits)
        for (unsigned unit = 2; unit <= 5; ++unit)
          for (unsigned shift = bits; shift <= 7; ++shift)
            if (!rotates || bits > 1) // One bit rotates by exclusive-or.
              all.push_back({bits, unit, shift, rotates});
    return all;
  }();
  return list;
}

/// Permutations of rows whose stride is no power of two; the strides are those
/// between groups of lanes that write a row.
static std::vector<Permutation>
getStridedCandidates(llvm::ArrayRef<WarpTouches> written) {
  std::vector<Permutation> all;
  std::optional<LaneSpans> any;
  for (const WarpTouches &one : written)
    if (!any)
      one.all([&](const LaneSpans &warp) {
        any = warp;
        return false;
      });
  // No writer's addresses are known.
  if (!any)
    return all;
  llvm::SmallVector<int64_t, 4> strides;
  for (unsigned lanes : {2u, 4u, 8u, 16u}) {
    auto lowest = [&](unsigned first) -> std::optional<int64_t> {
      std::optional<int64_t> low;
      for (unsigned l = first; l < first + lanes; ++l) {
        const std::optional<int64_t> &at = any->start[l];
        if (!at)
          return std::nullopt;
        low = std::min(low.value_or(*at), *at);
      }
      return low;
    };
    std::optional<int64_t> a = lowest(0), b = lowest(lanes);
    if (!a || !b || *b <= *a || llvm::isPowerOf2_64(uint64_t(*b - *a)) ||
        llvm::is_contained(strides, *b - *a))
      continue;
    strides.push_back(*b - *a);
    for (unsigned bits = 1; bits <= 3; ++bits)
      for (unsigned unit = 2; unit <= 4; ++unit)
        for (unsigned shift = 0; shift <= 2; ++shift)
          all.push_back({bits, unit, shift, false, *b - *a});
  }
  return all;
}

static void report(Detector &detector, const StagedTile &tile,
                   llvm::StringRef kind, unsigned bits, uint32_t writer,
                   uint32_t reader) {
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  const Provenance &provenance = detector.getProvenance();
  OpId where = accesses[writer].op, user = accesses[reader].op;
  Judgement judgement =
      detector.judgeReach(provenance.getWriteReach(writer), "what it permutes")
          .then([&] { return detector.judgeOneWay(); });
  if (!judgement.isProved()) {
    detector.add(judgement, where);
    return;
  }
  AttributeMap attributes;
  attributes["kind"] = kind.str();
  attributes["bits"] = int64_t(bits);
  detector.addFact(std::move(attributes), user, {where, user});
}

/// A tile that the TMA unit fills: the map's mode shows in how it is read.
static void detectTensorMap(Detector &detector, const StagedTile &tile) {
  const KernelIndex &index = detector.getIndex();
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  uint32_t writer = kNone;
  for (uint32_t w : tile.writers)
    if (auto bulk =
            llvm::dyn_cast<kern::BulkCopyOp>(index.getOp(accesses[w].op)))
      if (bulk.getDims() != 0)
        writer = w;
  if (writer == kNone)
    return;
  int64_t origin =
      detector.getKernel().getSharedObjects().getObject(tile.object).low;
  for (uint32_t r : tile.readers) {
    if (auto descriptor = getMatrixDescriptor(detector.getKernel(), r)) {
      if (descriptor->swizzle != 0)
        report(detector, tile, "tma", llvm::Log2_32(descriptor->swizzle / 16),
               writer, r);
      continue;
    }
    auto warps = getWarps(detector, r, origin);
    if (!warps || isSum(*warps, {}))
      continue;
    // CU_TENSOR_MAP_SWIZZLE_128B, _64B and _32B exchange 3, 2 or 1 bits of the
    // 16-byte chunk with bits 7 and up of the address.
    for (unsigned bits : {3u, 2u, 1u}) {
      Permutation mode{bits, 4, 3, false};
      if (!isSum(*warps, mode))
        continue;
      auto [with, without] = compare(*warps, mode);
      if (with < without)
        report(detector, tile, "tma", bits, writer, r);
      break;
    }
  }
}

/// Reads that are permuted by exclusive-or from rows that were written in
/// order.
static void
reportReadsAlone(Detector &detector, uint32_t writer,
                 llvm::ArrayRef<std::pair<uint32_t, WarpTouches>> readers) {
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  for (const auto &[reader, warps] : readers) {
    if (isSum(warps, {}))
      continue;
    bool permuted =
        llvm::any_of(getCandidates(), [&](const Permutation &candidate) {
          return !candidate.rotates && isSum(warps, candidate);
        });
    if (!permuted)
      continue;
    OpId where = accesses[reader].op;
    detector.add(Judgement::nearMiss(
                     withChange("reads at places that are permuted by bits of "
                                "the row, and " +
                                    detector.describe(accesses[writer].op) +
                                    " fills the rows in order: the read side "
                                    "alone is permuted",
                                "write with the same permutation"),
                     {accesses[writer].op}),
                 where);
    return;
  }
}

/// A tile that threads fill.
static void detectByThreads(Detector &detector, const StagedTile &tile) {
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  int64_t origin =
      detector.getKernel().getSharedObjects().getObject(tile.object).low;
  // One permutation for all writes: bits of the row that are constant in one of
  // them are not in another.
  std::vector<WarpTouches> written;
  std::vector<std::pair<uint32_t, WarpTouches>> readers;
  for (uint32_t w : tile.writers) {
    auto warps = getWarps(detector, w, origin);
    if (!warps)
      return;
    written.push_back(std::move(*warps));
  }
  unsigned descriptorBits = 0;
  uint32_t descriptorReader = kNone;
  for (uint32_t r : tile.readers) {
    if (auto descriptor = getMatrixDescriptor(detector.getKernel(), r)) {
      if (descriptor->swizzle != 0) {
        descriptorBits = llvm::Log2_32(descriptor->swizzle / 16);
        descriptorReader = r;
      }
      continue;
    }
    if (auto warps = getWarps(detector, r, origin))
      readers.push_back({r, std::move(*warps)});
  }
  if (isSum(written, {})) {
    reportReadsAlone(detector, tile.writers[0], readers);
    return;
  }
  uint32_t missedReader = kNone;
  bool permuted = false;
  std::vector<Permutation> candidates = getCandidates();
  llvm::append_range(candidates, getStridedCandidates(written));
  for (const Permutation &candidate : candidates) {
    if (!isSum(written, candidate))
      continue;
    permuted = true;
    if (descriptorReader != kNone && !candidate.rotates &&
        candidate.stride == 0 && candidate.bits == descriptorBits &&
        candidate.unit == 4 && candidate.shift == 3) {
      report(detector, tile, "xor", candidate.bits, tile.writers[0],
             descriptorReader);
      return;
    }
    for (const auto &[reader, warps] : readers) {
      if (isSum(warps, {}) || !isSum(warps, candidate))
        continue;
      // The side that gains may be the write.
      auto gains = [&](const WarpTouches &touches) {
        auto [with, without] = compare(touches, candidate);
        return with < without;
      };
      if (!gains(warps) && !llvm::any_of(written, gains)) {
        missedReader = reader;
        continue;
      }
      report(detector, tile, candidate.rotates ? "rotate" : "xor",
             candidate.bits, tile.writers[0], reader);
      return;
    }
  }
  OpId where = accesses[tile.writers[0]].op;
  if (missedReader != kNone) {
    OpId user = accesses[missedReader].op;
    detector.add(Judgement::nearMiss("permutes places by bits of the row, as " +
                                         detector.describe(user) +
                                         " does, but no access has fewer bank "
                                         "conflicts for it",
                                     {user}),
                 where);
    return;
  }
  if (!permuted || readers.empty())
    return;
  llvm::SmallVector<OpId, 4> users;
  for (const auto &[reader, warps] : readers)
    users.push_back(accesses[reader].op);
  // Another permutation, or one that cannot be followed, may belong to it.
  bool plain = readers.size() == tile.readers.size() &&
               llvm::all_of(readers, [](const auto &reader) {
                 return isSum(reader.second, {});
               });
  detector.add(
      plain ? Judgement::nearMiss(
                  withChange("permutes places by bits of the row, and " +
                                 detector.describe(users) +
                                 " reads the rows in order: the write side "
                                 "alone is permuted",
                             "read with the same permutation, from the row "
                             "that is kept there"),
                  users)
            : Judgement::undecided(
                  "permutes places by bits of the row, and whether " +
                      detector.describe(users) + " takes it back is not known",
                  "the same exclusive-or on both sides", users),
      where);
}

static void detect(Detector &detector) {
  for (const StagedTile &tile : detector.getStagedTiles()) {
    if (tile.byBulkCopy)
      detectTensorMap(detector, tile);
    else
      detectByThreads(detector, tile);
  }
}

namespace d2k::properties {
Property makeSmemSwizzle() {
  PropertyInfo info;
  info.id = "smem_swizzle";
  info.group = 'A';
  info.summary =
      "shared addresses are permuted by row bits on both the write and the "
      "read side, lowering the conflict degree of a named access: the second "
      "of the places";
  info.attributes = {
      {"kind",
       AttrType::String,
       {"xor", "rotate", "tma"},
       "how addresses are permuted: by exclusive-or, by a sum modulo a power "
       "of two, or by a tensor map's mode"},
      {"bits", AttrType::Integer, {}, "row bits that enter the permutation"}};
  info.decidingTiers = {Tier::Source, Tier::Ptx};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
