// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// smem_padding: rows in shared memory are longer than what they hold, so that
// lanes which use a column meet different banks.

#include "Engine/TileOrder.h"

#include "d2k/Analysis/LaneAddresses.h"

#include "llvm/ADT/DenseMap.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// Rows of one length at one distance.
struct Rows {
  int64_t bytes = 0, stride = 0;
};
} // namespace

/// What `writers` fill, as rows with gaps of the same length between; nothing
/// when there are no such gaps.
static std::optional<Rows> findRows(Detector &detector,
                                    llvm::ArrayRef<uint32_t> writers) {
  LaneAddresses &lanes = detector.getKernel().getLaneAddresses();
  std::vector<ByteRun> runs;
  for (uint32_t w : writers) {
    std::optional<unsigned> bytes = lanes.getLaneBytes(w);
    std::shared_ptr<const Touches> touches =
        detector.getTileOrder().getTouches(w);
    if (!bytes || !touches)
      return std::nullopt;
    llvm::append_range(runs,
                       touches->getRuns(*bytes, 0, touches->first.size()));
  }
  runs = joinRuns(std::move(runs));
  if (runs.size() < 4)
    return std::nullopt;
  Rows rows{runs[0].second - runs[0].first, runs[1].first - runs[0].first};
  for (size_t i = 0; i < runs.size(); ++i)
    if (runs[i].second - runs[i].first != rows.bytes ||
        (i && runs[i].first - runs[i - 1].first != rows.stride))
      return std::nullopt;
  return rows;
}

/// Conflicts of access `access` as it is, and with the gaps taken out; nothing
/// when it touches a gap.
static std::optional<std::pair<unsigned, unsigned>>
compare(Detector &detector, uint32_t access, Rows rows) {
  LaneAddresses &lanes = detector.getKernel().getLaneAddresses();
  std::optional<unsigned> bytes = lanes.getLaneBytes(access);
  std::shared_ptr<const Touches> touches =
      detector.getTileOrder().getTouches(access);
  if (!bytes || !touches)
    return std::nullopt;
  if (touches->any([&](const Touch &touch) {
        return touch.at < 0 ||
               touch.at % rows.stride + int64_t(*bytes) > rows.bytes;
      }))
    return std::nullopt;
  std::pair<unsigned, unsigned> worst{1, 1};
  // Most warps and iterations do the same.
  LaneSpans lastWith, lastWithout;
  auto raise = [](unsigned &degree, const LaneSpans &spans, LaneSpans &last) {
    if (spans.start == last.start)
      return;
    last = spans;
    degree = std::max(degree, LaneAddresses::countConflicts(spans));
  };
  for (int64_t move : touches->moves)
    for (size_t i = 0; i < touches->first.size();) {
      LaneSpans with, without;
      with.bytes = without.bytes = *bytes;
      unsigned warp = touches->first[i].thread / 32;
      for (; i < touches->first.size() && touches->first[i].thread / 32 == warp;
           ++i) {
        int64_t at = touches->first[i].at + move;
        unsigned lane = touches->first[i].thread % 32;
        with.start[lane] = at;
        without.start[lane] = at / rows.stride * rows.bytes + at % rows.stride;
      }
      with.moveToFront(LaneSpans::kBankRow);
      without.moveToFront(LaneSpans::kBankRow);
      raise(worst.first, with, lastWith);
      raise(worst.second, without, lastWithout);
    }
  return worst;
}

static void detect(Detector &detector) {
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  const Provenance &provenance = detector.getProvenance();
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  // Where padding helps one array, its uselessness for another tells nothing.
  llvm::SmallVector<std::pair<Judgement, OpId>, 2> missed;
  bool found = false;
  for (SharedObjectId id = 0; id < objects.getObjects().size(); ++id) {
    const SharedObject &object = objects.getObject(id);
    if (object.barrier || object.space != kern::Space::Shared)
      continue;
    llvm::SmallVector<uint32_t, 8> writers, readers;
    for (uint32_t i : objects.getAccessesTo(id)) {
      const AccessInfo &info = accesses[i];
      if (info.access.write)
        writers.push_back(i);
      if (info.access.read)
        readers.push_back(i);
    }
    if (writers.empty() || readers.empty())
      continue;
    std::optional<Rows> rows = findRows(detector, writers);
    if (!rows)
      continue;
    // The access that gains most, reads first.
    std::optional<std::pair<unsigned, unsigned>> best;
    uint32_t named = readers.front();
    bool inRows = true;
    for (uint32_t i : objects.getAccessesTo(id)) {
      std::optional<std::pair<unsigned, unsigned>> degrees =
          compare(detector, i, *rows);
      inRows &= degrees.has_value();
      if (!degrees || (best && degrees->second * best->first <=
                                   best->second * degrees->first))
        continue;
      best = degrees;
      named = i;
    }
    if (!inRows || !best)
      continue;
    OpId where = accesses[writers.front()].op, user = accesses[named].op;
    if (best->first >= best->second) {
      missed.push_back(
          {Judgement::nearMiss(
               "writes rows of " + std::to_string(rows->bytes) + " bytes at " +
                   std::to_string(rows->stride) +
                   " bytes from each other, which lowers the conflicts of no "
                   "access: " +
                   detector.describe(user) + " has degree " +
                   std::to_string(best->first) + " with the gap and " +
                   std::to_string(best->second) + " without",
               {user}),
           where});
      continue;
    }
    Judgement judgement =
        detector
            .judgeReach(provenance.getWriteReach(writers.front()),
                        "what it puts into padded rows")
            .then([&] { return detector.judgeOneWay(); });
    AttributeMap attributes;
    attributes["bytes"] = rows->stride - rows->bytes;
    found |= judgement.isProved();
    if (judgement.isProved())
      detector.addFact(std::move(attributes), where, {where, user});
    else
      detector.add(judgement, where);
  }
  if (!found)
    for (const auto &[judgement, where] : missed)
      detector.add(judgement, where);
}

namespace d2k::properties {
Property makeSmemPadding() {
  PropertyInfo info;
  info.id = "smem_padding";
  info.group = 'A';
  info.summary =
      "the row stride in shared memory exceeds the logical row and lowers the "
      "conflict degree of a named access: the second of the places";
  info.attributes = {{"bytes", AttrType::Integer, {}, "padding of a row"}};
  info.decidingTiers = {Tier::Source, Tier::Ptx};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
