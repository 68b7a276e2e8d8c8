// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/ExpectedBytes.h"

#include <map>
#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// What is known of the phases of one mbarrier, or of one in each slot of a
/// ring.
struct Phase {
  std::optional<int64_t> bytes;
  std::set<size_t> tiles;
  bool known = true;
};
} // namespace

void properties::addExpectedBytes(Detector &detector,
                                  std::vector<StagedTile> &tiles) {
  const KernelIndex &index = detector.getIndex();
  const MemoryRoots &memory = detector.getMemory();
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  if (llvm::none_of(tiles, [](const StagedTile &tile) {
        return tile.byBulkCopy && tile.bytes == 0;
      }))
    return;
  std::map<OpId, size_t> tileOf;
  for (auto [i, tile] : llvm::enumerate(tiles))
    for (uint32_t w : tile.writers)
      tileOf[memory.getAccesses()[w].op] = i;
  /// The mbarrier that an operation uses.
  auto getBarrier = [&](OpId op) {
    uint32_t access = memory.getFirstAccess(op);
    for (const AccessInfo &info : memory.getAccessesOf(op)) {
      if (info.access.barrier)
        return objects.getPlace(access).object;
      ++access;
    }
    return SharedObjectId(kNone);
  };
  std::map<SharedObjectId, Phase> phases;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (!detector.getConstants().mayRun(op))
      continue;
    mlir::Operation *operation = index.getOp(op);
    mlir::Value count;
    bool remote = false;
    if (auto copy = llvm::dyn_cast<kern::BulkCopyOp>(operation)) {
      if (!copy.getBarrier())
        continue;
      Phase &phase = phases[getBarrier(op)];
      auto tile = tileOf.find(op);
      phase.known &= tile != tileOf.end() && !copy.getMulticast() &&
                     copy.getCtaGroup() == 1;
      if (tile != tileOf.end())
        phase.tiles.insert(tile->second);
      continue;
    }
    if (auto arrive = llvm::dyn_cast<kern::MBarrierArriveOp>(operation)) {
      if (!arrive.getExpectTx())
        continue;
      count = arrive.getCount();
      remote = arrive.getSpace() != kern::Space::Shared;
    } else if (auto expect =
                   llvm::dyn_cast<kern::MBarrierExpectTxOp>(operation)) {
      count = expect.getBytes();
      remote = expect.getSpace() != kern::Space::Shared;
    } else {
      continue;
    }
    Phase &phase = phases[getBarrier(op)];
    std::optional<int64_t> bytes =
        count ? detector.getConstants().getSigned(index.getId(count))
              : std::nullopt;
    phase.known &= !remote && bytes && *bytes > 0 &&
                   (!phase.bytes || phase.bytes == bytes);
    phase.bytes = bytes;
  }
  for (const auto &[barrier, phase] : phases) {
    if (barrier == kNone || !phase.known || !phase.bytes)
      continue;
    int64_t left = *phase.bytes;
    size_t open = 0, unknown = 0;
    for (size_t i : phase.tiles) {
      left -= tiles[i].bytes;
      if (tiles[i].bytes == 0) {
        unknown = i;
        ++open;
      }
    }
    if (open == 1 && left > 0)
      tiles[unknown].bytes = left;
  }
}
