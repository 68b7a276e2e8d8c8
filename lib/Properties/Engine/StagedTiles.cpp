// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/StagedTiles.h"

#include "Engine/EarlyReads.h"
#include "Engine/ExpectedBytes.h"
#include "Engine/TileOrder.h"

#include "d2k/Analysis/LaneAddresses.h"

#include "llvm/ADT/DenseMap.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;
using kern::ArithKind;

namespace {
/// Touches that are listed for one access; more are not known.
constexpr size_t kMaxTouches = 1 << 18;
/// Shared memory of an SM; no block has more.
constexpr int64_t kSharedBytes = 228 * 1024;
/// Blocks that are walked through to find reads that come too early; in larger
/// tiles none are looked for.
constexpr uint64_t kMaxRaceSteps = 1 << 23;
/// Values that a stored one is traced through.
constexpr size_t kMaxTraced = 64;
} // namespace

//===----------------------------------------------------------------------===//
// Copies through registers
//===----------------------------------------------------------------------===//

/// Whether `op` hands on the bits of its inputs, or each by itself in another
/// type.
static bool handsOn(mlir::Operation *op) {
  if (llvm::isa<kern::ConvertOp, kern::PackOp, kern::UnpackOp, kern::SelectOp,
                kern::MatrixTransposeOp>(op))
    return true;
  auto arith = llvm::dyn_cast<kern::ArithOp>(op);
  if (!arith)
    return false;
  switch (arith.getKind()) {
  case ArithKind::And:
  case ArithKind::Or:
  case ArithKind::Xor:
  case ArithKind::Lop3:
  case ArithKind::Shl:
  case ArithKind::Shr:
  case ArithKind::ShfLeft:
  case ArithKind::ShfRight:
  case ArithKind::Prmt:
  case ArithKind::Bfe:
  case ArithKind::Bfi:
    return true;
  // A scale.
  case ArithKind::Mul:
    return arith.getInputs()[0] != arith.getInputs()[1];
  default:
    return false;
  }
}

bool properties::traceToLoads(Detector &detector, ValueId value,
                              llvm::SmallVectorImpl<ValueId> &loads) {
  const KernelIndex &index = detector.getIndex();
  const ConstantValues &constants = detector.getConstants();
  const Provenance &provenance = detector.getProvenance();
  // Sums and products of inputs are results, and no copies of them.
  Terms terms = provenance.getTerms(value);
  for (ProductClass product :
       {ProductClass::Mac, ProductClass::Wmma, ProductClass::MmaSync,
        ProductClass::Wgmma, ProductClass::Tcgen05})
    if (terms.has(product))
      return false;
  llvm::SmallVector<ValueId, 16> pending{value}, seen{value};
  auto visit = [&](ValueId v) {
    if (v != kNone && !llvm::is_contained(seen, v) &&
        !constants.get(v).has_value()) {
      seen.push_back(v);
      pending.push_back(v);
    }
  };
  while (!pending.empty()) {
    if (seen.size() > kMaxTraced)
      return false;
    ValueId v = pending.pop_back_val();
    OpId def = index.getDef(v);
    if (def == kNone) {
      for (const KernelIndex::Incoming &in : index.getIncoming(v))
        if (constants.isExecutableEdge(in.edge)) {
          if (in.value == kNone)
            return false;
          visit(in.value);
        }
      continue;
    }
    mlir::Operation *op = index.getOp(def);
    if (llvm::isa<kern::LoadOp>(op)) {
      llvm::ArrayRef<AccessInfo> accesses =
          detector.getMemory().getAccessesOf(def);
      if (!accesses.empty() && accesses[0].isGlobal() &&
          !provenance.getTerms(v).empty())
        loads.push_back(v);
      // A parameter, or a word of shared memory, scales at most.
      continue;
    }
    if (llvm::isa<kern::UndefOp, kern::SpecialOp>(op))
      continue;
    // What holds no input data only steers.
    if (provenance.getTerms(v).empty() && !provenance.isUnknown(v))
      continue;
    if (!handsOn(op))
      return false;
    llvm::ArrayRef<ValueId> in = index.getOperands(def);
    for (ValueId operand : in)
      if (!provenance.getTerms(operand).empty() ||
          provenance.isUnknown(operand) || index.getDef(operand) == kNone)
        visit(operand);
  }
  return !loads.empty();
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

std::vector<ByteRun> properties::joinRuns(std::vector<ByteRun> runs) {
  if (!llvm::is_sorted(runs))
    llvm::sort(runs);
  size_t last = 0;
  for (size_t i = 1; i < runs.size(); ++i)
    if (runs[i].first <= runs[last].second)
      runs[last].second = std::max(runs[last].second, runs[i].second);
    else
      runs[++last] = runs[i];
  if (!runs.empty())
    runs.resize(last + 1);
  return runs;
}

std::vector<ByteRun> Touches::getRuns(unsigned bytes, size_t from,
                                      size_t to) const {
  std::vector<ByteRun> still;
  still.reserve(to - from);
  for (size_t i = from; i < to; ++i)
    still.push_back({first[i].at, first[i].at + bytes});
  still = joinRuns(std::move(still));
  std::vector<ByteRun> moved;
  moved.reserve(still.size() * moves.size());
  for (int64_t move : moves)
    for (auto [begin, end] : still)
      moved.push_back({begin + move, end + move});
  return joinRuns(std::move(moved));
}

std::optional<Touches> properties::findTouches(Detector &detector,
                                               uint32_t access) {
  KernelContext &kernel = detector.getKernel();
  LaneForms &forms = kernel.getLaneForms();
  const SharedPlace &place = kernel.getSharedObjects().getPlace(access);
  const AccessInfo &info = detector.getMemory().getAccesses()[access];
  if (place.object == kNone || !place.bounded || !info.access.address)
    return std::nullopt;
  LaneForm form = forms.get(detector.getIndex().getId(info.access.address));
  if (!form.known)
    return std::nullopt;
  SymbolId base = forms.getBase(form);
  // Symbols that move inside the slot, with the numbers they add.
  std::vector<int64_t> inner{0};
  for (const auto &[symbol, factor] : form.terms) {
    if (symbol == base || symbol == place.ring)
      continue;
    const LaneSymbol &s = forms.getSymbol(symbol);
    // The launch picks a place for good.
    if (s.kind == LaneSymbolKind::Launch &&
        (s.range.full || s.values.size() > 1))
      continue;
    if (s.range.full || !factor.isSame() || s.range.high - s.range.low >= 1024)
      return std::nullopt;
    std::vector<int64_t> more;
    for (int64_t before : inner)
      for (int64_t v = s.range.low; v <= s.range.high; ++v)
        if (s.values.empty() || llvm::is_contained(s.values, v))
          more.push_back(before + v * factor.getSame());
    // Loops that move it alike come to the same places.
    llvm::sort(more);
    more.erase(std::unique(more.begin(), more.end()), more.end());
    inner = std::move(more);
    if (inner.size() > kMaxTouches)
      return std::nullopt;
  }
  std::vector<bool> active = forms.getActive(info.op);
  // Threads that would be outside of the memory do not come here, though the
  // branch that keeps them away is not understood; a loop that would lead
  // outside is not what moves the address.
  auto isInside = [&](int64_t at) { return at >= 0 && at < kSharedBytes; };
  const int64_t *rest = form.rest.data();
  unsigned step = form.rest.isSame() ? 0 : 1;
  bool anyInside = false;
  Touches touches;
  int64_t lowest = form.rest.getLow(), highest = form.rest.getHigh();
  if (isInside(lowest) && isInside(highest) &&
      forms.countActive(info.op) == active.size()) {
    // Most accesses are of this kind.
    anyInside = true;
    touches.first.resize(active.size());
    for (unsigned t = 0; t < active.size(); ++t)
      touches.first[t] = {t, rest[t * step]};
  } else {
    for (unsigned t = 0; t < active.size() && !anyInside; ++t)
      anyInside = active[t] && isInside(rest[t * step]);
    touches.first.reserve(active.size());
    lowest = INT64_MAX;
    highest = INT64_MIN;
    for (unsigned t = 0; t < active.size(); ++t) {
      int64_t at = rest[t * step];
      if (!active[t] || (anyInside && !isInside(at)))
        continue;
      touches.first.push_back({t, at});
      lowest = std::min(lowest, at);
      highest = std::max(highest, at);
    }
  }
  touches.moves = std::move(inner);
  if (touches.first.empty() || touches.moves.empty())
    return touches;
  lowest += touches.moves.front();
  highest += touches.moves.back();
  if (touches.first.size() * touches.moves.size() > kMaxTouches ||
      (anyInside && touches.moves.size() > 1 &&
       (!isInside(lowest) || !isInside(highest))))
    return std::nullopt;
  for (Touch &touch : touches.first)
    touch.at += place.low - lowest;
  return touches;
}

std::vector<OpId> properties::getReadSteps(const KernelIndex &index) {
  std::vector<OpId> stepOf(index.getNumOps());
  for (BlockId block = 0; block < index.getNumBlocks(); ++block) {
    auto [begin, end] = index.getOps(block);
    OpId step = begin;
    for (OpId op = begin; op < end; ++op) {
      auto barrier = llvm::dyn_cast<kern::BarrierOpInterface>(index.getOp(op));
      if (barrier && barrier.waits() &&
          barrier.getExtent() != kern::BarrierExtent::Warp)
        step = op;
      stepOf[op] = step;
    }
  }
  return stepOf;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// How often `op` runs in one iteration of `loop`.
static std::optional<double> getTripsInside(Detector &detector, OpId op,
                                            uint32_t loop) {
  const LoopNest &loops = detector.getKernel().getLoops();
  double trips = 1;
  for (uint32_t l = loops.getInnermost(detector.getIndex().getBlockOf(op));
       l != kNone && l != loop; l = loops.getLoop(l).parent) {
    if (loops.getLoop(l).spin)
      continue;
    if (!loops.getLoop(l).trip)
      return std::nullopt;
    trips *= double(*loops.getLoop(l).trip);
  }
  return trips;
}

namespace {
/// The thread that wrote each byte of a tile last.
class ByteWriters {
public:
  /// Notes \p thread for \p bytes from \p at.
  void set(int64_t at, unsigned bytes, unsigned thread) {
    int64_t end = at + bytes;
    if (at < 0 || end > kDense) {
      for (; at < end; ++at)
        far[at] = thread;
      return;
    }
    if (size_t(end) > near.size())
      near.resize(std::max<size_t>(end, 2 * near.size()), kNone);
    unsigned *first = near.data() + at, *last = near.data() + end;
    numNear += std::count(first, last, unsigned(kNone));
    std::fill(first, last, thread);
  }
  std::optional<unsigned> get(int64_t at) const {
    if (at >= 0 && size_t(at) < near.size() && near[at] != kNone)
      return near[at];
    auto found = far.find(at);
    return found == far.end() ? std::nullopt : std::optional(found->second);
  }
  size_t getNumBytes() const { return numNear + far.size(); }

private:
  /// Beyond what a block has of shared memory.
  static constexpr int64_t kDense = int64_t(1) << 18;
  std::vector<unsigned> near;
  size_t numNear = 0;
  llvm::DenseMap<int64_t, unsigned> far;
};
} // namespace

/// Notes what reads slots into which copies of the same loop are outstanding.
static void addEarlyReads(Detector &detector, StagedTile &tile) {
  const KernelIndex &index = detector.getIndex();
  const LoopNest &loops = detector.getKernel().getLoops();
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  AsyncAnalyses &async = detector.getAsyncAnalyses();
  llvm::SmallVector<uint32_t, 4> seen;
  for (uint32_t w : tile.writers) {
    OpId copy = accesses[w].op;
    if (!llvm::isa<kern::AsyncCopyOp>(index.getOp(copy)))
      continue;
    // The innermost loop around the copy that reads, too.
    uint32_t loop = loops.getInnermostWorking(index.getBlockOf(copy));
    auto readsIn = [&](uint32_t r) {
      return loop == kNone ||
             loops.contains(loop, index.getBlockOf(accesses[r].op));
    };
    while (loop != kNone && llvm::none_of(tile.readers, readsIn))
      loop = loops.getLoop(loop).parent;
    if (llvm::is_contained(seen, loop))
      continue;
    seen.push_back(loop);
    llvm::SmallVector<uint32_t, 8> readers;
    llvm::copy_if(tile.readers, std::back_inserter(readers), readsIn);
    llvm::SmallVector<uint32_t, 1> main;
    if (loop != kNone)
      main.push_back(loop);
    for (const CopySite &site : async.rings.findSites(loop, main)) {
      if (llvm::none_of(tile.writers, [&](uint32_t other) {
            return llvm::is_contained(site.clones, accesses[other].op);
          }))
        continue;
      EarlyReads early = findEarlyReads(detector, async, site, readers);
      for (OpId op : early.certain)
        if (!llvm::is_contained(tile.early, op))
          tile.early.push_back(op);
      for (OpId op : early.unannounced)
        if (!llvm::is_contained(tile.unannounced, op))
          tile.unannounced.push_back(op);
      for (OpId op : early.perhapsUnannounced)
        if (!llvm::is_contained(tile.perhapsUnannounced, op))
          tile.perhapsUnannounced.push_back(op);
    }
  }
}

/// \p results are operations that put results into the tile's memory.
static void measure(Detector &detector, const TileOrder &order,
                    llvm::ArrayRef<OpId> results, StagedTile &tile) {
  const KernelIndex &index = detector.getIndex();
  KernelContext &kernel = detector.getKernel();
  const LoopNest &loops = kernel.getLoops();
  LaneAddresses &lanes = kernel.getLaneAddresses();
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  // The loop of which one iteration fills and uses the tile.
  auto loopOf = [&](uint32_t access) {
    return loops.getInnermostWorking(index.getBlockOf(accesses[access].op));
  };
  uint32_t loop = loopOf(tile.readers[0]);
  auto holdsAll = [&](uint32_t l) {
    return llvm::all_of(tile.readers,
                        [&](uint32_t r) {
                          return loops.contains(
                              l, index.getBlockOf(accesses[r].op));
                        }) &&
           llvm::any_of(tile.writers, [&](uint32_t w) {
             return loops.contains(l, index.getBlockOf(accesses[w].op));
           });
  };
  while (loop != kNone && !holdsAll(loop))
    loop = loops.getLoop(loop).parent;

  tile.isUpdated = llvm::any_of(results, [&](OpId op) {
    return loop == kNone || loops.contains(loop, index.getBlockOf(op));
  });

  uint64_t steps = uint64_t(tile.writers.size()) * tile.readers.size() *
                   index.getNumBlocks();
  if (!tile.byBulkCopy && steps <= kMaxRaceSteps)
    for (uint32_t r : tile.readers)
      if (llvm::any_of(tile.writers,
                       [&](uint32_t w) { return order.races(w, r); }))
        tile.racing.push_back(r);

  // Who wrote each byte.
  ByteWriters writerOf;
  bool knownWriters = true, knownReaders = true;
  double written = 0, read = 0;
  bool counted = true;
  for (uint32_t w : tile.writers) {
    const AccessInfo &info = accesses[w];
    std::optional<unsigned> bytes = lanes.getLaneBytes(w);
    std::shared_ptr<const Touches> touches = order.getTouches(w);
    std::optional<double> trips = getTripsInside(detector, info.op, loop);
    bool prologue =
        loop != kNone && !loops.contains(loop, index.getBlockOf(info.op));
    if (!bytes || !touches) {
      knownWriters = counted = false;
      continue;
    }
    touches->forEach([&](const Touch &touch) {
      writerOf.set(touch.at, *bytes, touch.thread);
    });
    if (prologue)
      continue;
    // A bulk copy is one for all lanes, whichever of them issues it.
    bool bulk = llvm::isa<kern::BulkCopyOp>(index.getOp(info.op));
    if (trips)
      written += *trips * *bytes *
                 (bulk ? 1 : kernel.getLaneForms().countActive(info.op));
    else
      counted = false;
  }
  if (knownWriters)
    tile.bytes = writerOf.getNumBytes();
  else
    tile.bytes = kernel.getSharedObjects().getObject(tile.object).bytes;
  bool foreign = false;
  for (uint32_t r : tile.readers) {
    const AccessInfo &info = accesses[r];
    std::optional<unsigned> bytes = lanes.getLaneBytes(r);
    std::optional<double> trips = getTripsInside(detector, info.op, loop);
    if (!bytes || !trips) {
      counted = false;
      knownReaders &= bytes.has_value();
    } else {
      read += *trips * *bytes * kernel.getLaneForms().countActive(info.op);
    }
    if (foreign || !knownWriters || !bytes)
      continue;
    std::shared_ptr<const Touches> touches = order.getTouches(r);
    if (!touches) {
      knownReaders = false;
      continue;
    }
    foreign = touches->any([&](const Touch &touch) {
      std::optional<unsigned> writer = writerOf.get(touch.at);
      return writer && *writer != touch.thread;
    });
  }
  tile.shared = foreign || tile.byMatrix || tile.byBulkCopy ? Tristate::Yes
                : knownWriters && knownReaders              ? Tristate::No
                                                            : Tristate::Unknown;
  if (counted && written > 0)
    tile.reuse = read / written;
  addEarlyReads(detector, tile);
  uint64_t left = kMaxRaceSteps;
  tile.ordered = llvm::any_of(tile.writers, [&](uint32_t w) {
    return llvm::any_of(tile.readers, [&](uint32_t r) {
      if (left <= order.getNumWaitBlocks())
        return false;
      left -= order.getNumWaitBlocks() + 1;
      return order.canBeOrdered(accesses[w].op, accesses[r].op);
    });
  });
}

static std::vector<StagedTile> findStagedTiles(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  const Provenance &provenance = detector.getProvenance();
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  std::vector<StagedTile> tiles;
  const TileOrder &order = detector.getTileOrder();
  for (SharedObjectId id = 0; id < objects.getObjects().size(); ++id) {
    const SharedObject &object = objects.getObject(id);
    if (object.barrier || object.space != kern::Space::Shared)
      continue;
    StagedTile tile;
    tile.object = id;
    llvm::SmallVector<OpId, 4> results;
    for (uint32_t i : objects.getAccessesTo(id)) {
      const AccessInfo &info = accesses[i];
      mlir::Operation *op = index.getOp(info.op);
      if (info.access.write) {
        if (auto bulk = llvm::dyn_cast<kern::BulkCopyOp>(op)) {
          if (bulk.getSrcSpace() != kern::Space::Global)
            continue;
          tile.byBulkCopy = true;
          tile.writers.push_back(i);
        } else if (llvm::isa<kern::AsyncCopyOp>(op)) {
          tile.writers.push_back(i);
        } else if (auto store = llvm::dyn_cast<kern::StoreOp>(op)) {
          bool copies = false;
          for (mlir::Value value : store.getValues()) {
            llvm::SmallVector<ValueId, 4> loads;
            copies |= traceToLoads(detector, index.getId(value), loads);
          }
          if (copies)
            tile.writers.push_back(i);
          else if (llvm::any_of(store.getValues(), [&](mlir::Value value) {
                     return !provenance.getTerms(index.getId(value)).empty();
                   }))
            results.push_back(info.op);
        }
      } else if (info.access.read) {
        if (llvm::isa<kern::MatrixLoadOp, kern::MatrixProductOpInterface>(op)) {
          tile.byMatrix = true;
          tile.readers.push_back(i);
        } else if (llvm::isa<kern::LoadOp>(op) &&
                   (!provenance.getRead(i).empty() ||
                    provenance.isReadUnknown(i))) {
          tile.readers.push_back(i);
        }
      }
    }
    if (tile.writers.empty() || tile.readers.empty())
      continue;
    measure(detector, order, results, tile);
    tiles.push_back(std::move(tile));
  }
  addExpectedBytes(detector, tiles);
  return tiles;
}

llvm::ArrayRef<StagedTile> Detector::getStagedTiles() {
  if (!stagedTiles)
    stagedTiles =
        std::make_shared<const std::vector<StagedTile>>(findStagedTiles(*this));
  return *stagedTiles;
}
