// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// smem_tiling: global data is staged in shared memory and used there by many
// threads.

#include "Engine/AsyncAnalyses.h"
#include "Engine/EarlyReads.h"
#include "Engine/StagedTiles.h"

#include "d2k/Analysis/RingSlots.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Says of copies to shared memory which reads may see them, where the place of
/// the reads is not known.
static void addUnplacedReads(Detector &detector,
                             llvm::ArrayRef<StagedTile> tiles) {
  const MemoryRoots &memory = detector.getMemory();
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    if (!accesses[i].access.write || accesses[i].access.barrier ||
        !getCopyToShared(detector.getIndex().getOp(accesses[i].op)) ||
        llvm::any_of(tiles, [&](const StagedTile &tile) {
          return tile.object == objects.getPlace(i).object;
        }))
      continue;
    llvm::SmallVector<OpId, 4> readers;
    for (uint32_t r : objects.getUnplaced())
      if (accesses[r].access.read && !accesses[r].access.barrier &&
          llvm::any_of(memory.getObjectsOf(r), [&](ObjectId object) {
            return llvm::is_contained(memory.getObjectsOf(i), object);
          }))
        readers.push_back(accesses[r].op);
    if (!readers.empty())
      detector.add(Judgement::undecided(
                       "stages data; whether " + detector.describe(readers) +
                           " reads it is not known",
                       "addresses computed from the thread's number and a ring "
                       "index that starts at a constant",
                       readers),
                   accesses[i].op);
  }
}

/// Uses of a staged byte from which on staging saves global reads.
static constexpr double kLeastReuse = 2;

static Judgement judge(Detector &detector, const StagedTile &tile) {
  const Provenance &provenance = detector.getProvenance();
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  uint32_t writer = tile.writers.front();
  llvm::SmallVector<OpId, 4> readers;
  for (uint32_t r : tile.readers)
    readers.push_back(accesses[r].op);
  std::string places = detector.describe(readers);
  // A copy that a compiler peeled off the end of a loop stages nothing more.
  auto judgeWriter = [&](uint32_t w) {
    return detector.judgeReach(provenance.getWriteReach(w), "what it stages")
        .then([&] {
          return accesses[w].access.async ? detector.judgeCopied(w)
                                          : Judgement::proved();
        });
  };
  Judgement written = judgeWriter(writer);
  for (uint32_t w : tile.writers)
    if (!written.isProved())
      if (Judgement other = judgeWriter(w); other.isProved())
        written = other;
  return written
      .then([&]() -> Judgement {
        if (!tile.racing.empty()) {
          llvm::SmallVector<OpId, 4> early;
          for (uint32_t r : tile.racing)
            early.push_back(accesses[r].op);
          return Judgement::nearMiss(
              withChange("stages data that " + detector.describe(early) +
                             " reads with no barrier behind the writes of "
                             "other warps",
                         "put __syncthreads() between the writes and the "
                         "reads"),
              early);
        }
        if (!tile.early.empty())
          return Judgement::nearMiss(
              withChange("stages data that " + detector.describe(tile.early) +
                             " reads while the copy into the same slot is "
                             "outstanding: no wait says before that it has "
                             "arrived",
                         "let the wait before the reads leave fewer groups "
                         "outstanding than were committed since the one whose "
                         "slot is read"),
              tile.early);
        if (!tile.unannounced.empty())
          return Judgement::nearMiss(describeUnannounced("stages data that ",
                                                         detector,
                                                         tile.unannounced),
                                     tile.unannounced);
        if (!tile.perhapsUnannounced.empty())
          return judgePerhapsUnannounced("stages data that ", detector,
                                         tile.perhapsUnannounced);
        if (!tile.ordered)
          return Judgement::undecided(
              "stages data that " + places +
                  " reads without a barrier or a wait that was found between",
              "a barrier between the writes and the reads", readers);
        if (tile.shared == Tristate::No)
          return Judgement::nearMiss(
              "stages data that only the thread which wrote it reads, at " +
                  places,
              readers);
        if (tile.byMatrix)
          return Judgement::proved();
        if (tile.isUpdated)
          return Judgement::undecided(
              "stages data that results overwrite in place: which of the two " +
                  places + " reads is not known",
              "memory of their own for the results", readers);
        if (tile.shared == Tristate::Unknown)
          return Judgement::undecided(
              "stages data; which threads read it at " + places +
                  " is not known",
              "addresses computed from the thread's number, with strides that "
              "are constant",
              readers);
        if (!tile.reuse)
          return Judgement::undecided(
              "stages data; how often " + places +
                  " reads a byte of it is not known",
              "constant trip counts of the loops that read the tile", readers);
        if (*tile.reuse < kLeastReuse)
          return Judgement::nearMiss(
              llvm::formatv("stages data of which a byte is read {0:F2} times "
                            "on average, at {1}: that reorders it and saves "
                            "no global read; tiling reads it twice or more",
                            *tile.reuse, places)
                  .str(),
              readers);
        return Judgement::proved();
      })
      .then([&] { return detector.judgeOneWay(); });
}

/// Which tensors a tile holds, and how it is read: equal for parts of a tile
/// that are told apart because of the padding between them, or because a loop
/// that fills them in turn was unrolled. The number of the object where that is
/// not known.
static std::vector<std::string> describeUse(Detector &detector,
                                            const StagedTile &tile) {
  const MemoryRoots &memory = detector.getMemory();
  const KernelIndex &index = detector.getIndex();
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  std::set<std::string> use;
  auto addSource = [&](uint32_t access) {
    for (RootId root : accesses[access].roots)
      use.insert(memory.describe(root));
    return !accesses[access].roots.empty();
  };
  bool known = true;
  for (uint32_t w : tile.writers) {
    if (auto store =
            llvm::dyn_cast<kern::StoreOp>(index.getOp(accesses[w].op))) {
      for (mlir::Value value : store.getValues()) {
        llvm::SmallVector<ValueId, 4> loads;
        traceToLoads(detector, index.getId(value), loads);
        for (ValueId load : loads)
          known &= addSource(memory.getFirstAccess(index.getDef(load)));
      }
      continue;
    }
    known &= addSource(memory.getFirstAccess(accesses[w].op));
  }
  for (uint32_t r : tile.readers) {
    mlir::Operation *op = index.getOp(accesses[r].op);
    if (auto load = llvm::dyn_cast<kern::MatrixLoadOp>(op))
      use.insert(load.getTransposed() ? "transposed" : "plain");
    else if (auto product = llvm::dyn_cast<kern::MatrixProductOpInterface>(op))
      use.insert(
          llvm::is_contained(product.getAValues(), accesses[r].access.address)
              ? "A"
              : "B");
    else
      use.insert("load");
  }
  // Two rings that are filled from one tensor, as of keys and of values, have
  // barriers of their own.
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  if (objects.getObject(tile.object).stride != 0 && tile.byBulkCopy) {
    uint32_t copy = memory.getFirstAccess(accesses[tile.writers.front()].op);
    for (uint32_t i = copy;
         i < accesses.size() && accesses[i].op == accesses[copy].op; ++i)
      if (accesses[i].access.barrier)
        use.insert("barrier " + std::to_string(objects.getPlace(i).object));
  }
  if (!known)
    return {std::to_string(tile.object)};
  return {use.begin(), use.end()};
}

/// Tiles that hold one tensor for one use, by the step that reads them.
using TilesOfSteps = std::map<OpId, std::set<const StagedTile *>>;

/// Bytes of one slot: what one step reads, and what other threads read in steps
/// of their own.
static int64_t countSlot(Detector &detector, const TilesOfSteps &steps) {
  std::map<std::vector<bool>, int64_t> byThreads;
  int64_t most = 0;
  for (const auto &[step, parts] : steps) {
    int64_t sum = 0;
    for (const StagedTile *part : parts)
      sum += part->bytes;
    most = std::max(most, sum);
    std::vector<bool> threads =
        step == kNone ? std::vector<bool>()
                      : detector.getKernel().getLaneForms().getActive(step);
    int64_t &bytes = byThreads[threads];
    bytes = std::max(bytes, sum);
  }
  std::vector<bool> seen;
  int64_t all = 0;
  for (const auto &[threads, bytes] : byThreads) {
    seen.resize(std::max(seen.size(), threads.size()), false);
    for (size_t t = 0; t < threads.size(); ++t) {
      if (threads[t] && seen[t])
        return most;
      seen[t] = seen[t] || threads[t];
    }
    all += bytes;
  }
  return all;
}

static void detect(Detector &detector) {
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  llvm::ArrayRef<StagedTile> tiles = detector.getStagedTiles();
  llvm::SmallVector<const StagedTile *> proved, main;
  std::vector<Judgement> judgements;
  for (const StagedTile &tile : tiles) {
    judgements.push_back(judge(detector, tile));
    if (!judgements.back().isProved())
      continue;
    proved.push_back(&tile);
    if (llvm::any_of(tile.readers, [&](uint32_t r) {
          return detector.getMainRegion().contains(accesses[r].op) ==
                 Tristate::Yes;
        }))
      main.push_back(&tile);
  }
  if (proved.empty()) {
    for (auto [tile, judgement] : llvm::zip(tiles, judgements))
      detector.add(judgement, accesses[tile.writers.front()].op);
    addUnplacedReads(detector, tiles);
    // Copies to places that cannot be followed may be a tile all the same.
    if (tiles.empty())
      for (uint32_t i : detector.getKernel().getSharedObjects().getUnplaced()) {
        mlir::Operation *op = detector.getIndex().getOp(accesses[i].op);
        if (accesses[i].space != kern::Space::Shared ||
            !accesses[i].access.write || accesses[i].access.barrier)
          continue;
        bool copies = getCopyToShared(op).has_value();
        if (auto store = llvm::dyn_cast<kern::StoreOp>(op))
          copies = llvm::any_of(store.getValues(), [&](mlir::Value value) {
            llvm::SmallVector<ValueId, 4> loads;
            return traceToLoads(detector, detector.getIndex().getId(value),
                                loads);
          });
        if (copies)
          detector.add(
              Judgement::undecided(
                  "stages data at a place that cannot be followed",
                  "addresses computed from the thread's number, and loops with "
                  "constant trip counts"),
              accesses[i].op);
      }
    return;
  }
  // Where the main region reads tiles, those are what counts.
  llvm::ArrayRef<const StagedTile *> counted =
      main.empty() ? llvm::ArrayRef(proved) : llvm::ArrayRef(main);
  double reads = 0, writes = 0;
  bool sized = true, measured = true;
  llvm::SmallVector<OpId, 8> where;
  for (const StagedTile *tile : counted) {
    sized &= tile->bytes != 0;
    measured &= tile->reuse.has_value() && tile->bytes != 0;
    if (measured) {
      writes += double(tile->bytes);
      reads += *tile->reuse * double(tile->bytes);
    }
    for (uint32_t w : tile->writers)
      where.push_back(accesses[w].op);
  }
  // Parts of one array that no access joins are one buffer still, and so are
  // those of dynamic shared memory that hold one tensor for one use. Of these,
  // what is read in one step is a slot.
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  std::vector<OpId> stepOf = getReadSteps(detector.getIndex());
  std::map<std::pair<RootId, std::vector<std::string>>, TilesOfSteps> buffers;
  for (const StagedTile *tile : counted) {
    RootId root = objects.getObject(tile->object).root;
    auto array = llvm::dyn_cast_or_null<kern::ObjectOp>(
        detector.getMemory().getRoot(root).symbol);
    bool isArray = array && array.getSize();
    auto &steps = buffers[{root, isArray ? std::vector<std::string>()
                                         : describeUse(detector, *tile)}];
    for (uint32_t r : tile->readers)
      steps[isArray ? kNone : stepOf[accesses[r].op]].insert(tile);
  }
  int64_t bytes = 0;
  for (const auto &[use, steps] : buffers)
    bytes += countSlot(detector, steps);
  bool known = detector.getKernel().getLaneForms().getShape().known;
  AttributeMap attributes;
  attributes["buffers"] = int64_t(buffers.size());
  sized &= known;
  if (sized)
    attributes["bytes"] = bytes;
  if (measured && known && writes > 0)
    attributes["reuse"] = reads / writes;
  // The fact is in the main region when a part of it is.
  for (OpId &op : where)
    if (detector.getMainRegion().contains(op) == Tristate::Yes) {
      std::swap(where.front(), op);
      break;
    }
  detector.addFact(std::move(attributes), where.front(), where);
}

namespace d2k::properties {
Property makeSmemTiling() {
  PropertyInfo info;
  info.id = "smem_tiling";
  info.group = 'A';
  info.summary =
      "global data is staged in shared memory and, after a barrier or "
      "completion wait, each staged byte is read on average at least twice, "
      "or by ldmatrix or the matrix unit, by threads other than the writer; "
      "pure reordering is not tiling";
  info.attributes = {
      {"buffers", AttrType::Integer, {}, "staged memory objects"},
      {"bytes", AttrType::Integer, {}, "bytes staged in one iteration"},
      {"reuse",
       AttrType::Real,
       {},
       "average reads of a staged byte; not known where the matrix unit reads "
       "through descriptors"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  // Machine code divides memory, and unrolls loops, in its own way.
  info.perTier = {"buffers", "bytes", "reuse"};
  return {info, detect};
}
} // namespace d2k::properties
