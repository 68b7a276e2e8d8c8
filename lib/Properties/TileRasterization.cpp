// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile_rasterization: blocks that run side by side take tiles of a patch of the
// output, so that few parts of both operands are in use at a time. In plain
// order they take one row (or column) of tiles: one part of one operand and a
// different part of the other one for each of them.
//
// The order is found by calculation. Block numbers, and parameters that are no
// pointers, are assumed; what each operand is then read from first is the
// *part* that a block takes. Of 64 blocks in a row,
//   plain order         1 part of one operand, 64 of the other one
//   groups of G rows    G parts, 64 / G
// The number G that does not grow with the number of blocks is the group. It is
// one only when other parts follow where the group ends, together with parts
// of the wide operand that were there before: in a matrix that is G tiles wide,
// none do. Blocks of a cluster count as one.
//
// Example, G = 8:
//   first = t / (8 * columns) * 8;  m = first + t % 8;  n = t % (8 * columns) /
//   8

#include "Engine/Accumulators.h"
#include "Engine/Cluster.h"
#include "Engine/StagedTiles.h"

#include "d2k/Analysis/IterationValues.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Blocks in a row that are compared.
static constexpr int64_t kWindow = 64;
/// Where a group has not ended then, it is the whole matrix.
static constexpr int64_t kMaxBlocks = 1 << 22;
/// Extent of the grid's rows, where the kernel asks for it.
static constexpr int64_t kGridX = 2048;
/// Assumed of every parameter that is a number, so that a matrix is wider than
/// kWindow tiles of any size.
static constexpr int64_t kExtent = 40000;
/// Assumed of one parameter at a time when no order is found: it may be the
/// group's size, or its logarithm.
static constexpr int64_t kGroupSizes[] = {8, 3};
/// Places of one operand that are looked at: a block reads them one by one, and
/// the first of them tell where its part is.
static constexpr size_t kMaxPlaces = 4;
/// Values behind an address that are looked at.
static constexpr size_t kMaxSlice = 4096;

namespace {
/// Where one operand is read from global memory.
struct Operand {
  llvm::SmallVector<OpId, 4> sites;
  /// What says where.
  llvm::SmallVector<ValueId, 8> place;
};

class BlockOrder {
public:
  explicit BlockOrder(Detector &detector)
      : detector(detector), index(detector.getIndex()),
        memory(detector.getMemory()),
        values(index, detector.getConstants(), detector.getKernel().getLoops()),
        clusterSize(getClusterSize(detector)) {}

  void run();

private:
  void addSite(uint32_t access);
  void collectOperands();
  void collectSlice();
  void findSizes(llvm::ArrayRef<ValueId> slice, llvm::ArrayRef<ValueId> blocks,
                 llvm::ArrayRef<OpId> remapping);
  /// Whether every part that a block takes is known; `parts` has a number for
  /// each operand's.
  bool getParts(int64_t block, llvm::SmallVectorImpl<uint32_t> &parts);
  /// The group, 0 for a plain order; nothing when parts are not known.
  std::optional<int64_t> findGroup();
  std::optional<bool> escapes(unsigned narrow, unsigned wide,
                              llvm::ArrayRef<std::vector<uint32_t>> window);

  Detector &detector;
  const KernelIndex &index;
  const MemoryRoots &memory;
  IterationValues values;
  std::optional<int64_t> clusterSize;
  llvm::ArrayRef<MainProduct> products;
  /// Some operand is read from a tile in shared memory.
  bool staged = false;
  /// By root, and the offset of a tensor map in its parameter.
  llvm::MapVector<std::pair<RootId, int64_t>, Operand> operands;

  //===--- What is behind the places --------------------------------------===//
  std::map<llvm::StringRef, llvm::SmallVector<ValueId, 2>> specials;
  /// Parameters that are numbers, and what is assumed of them.
  llvm::MapVector<ValueId, int64_t> numbers;
  /// Of these, what may be a group's size: what block numbers are divided,
  /// shifted or masked by, among others.
  llvm::SmallVector<ValueId, 4> sizes;
  /// The slice divides, shifts or masks: it may do so with block numbers.
  bool remaps = false;
  /// It multiplies by a parameter and keeps the high bits, which is how hosts
  /// prepare divisions.
  OpId prepared = kNone;

  /// By operand, places that were met.
  std::vector<std::map<std::vector<IterationValue>, uint32_t>> partOf;
};
} // namespace

void BlockOrder::addSite(uint32_t access) {
  const AccessInfo &info = memory.getAccesses()[access];
  if (info.roots.size() != 1 || !info.access.address)
    return;
  auto copy = llvm::dyn_cast<kern::BulkCopyOp>(index.getOp(info.op));
  bool isMap = info.access.form == kern::MemoryAccess::Form::TensorMap;
  int64_t offset = 0;
  if (isMap)
    if (auto at = memory.getOffset(index.getId(info.access.address)))
      offset = at->first + info.access.offset;
  Operand &operand = operands[{info.roots[0], offset}];
  if (llvm::is_contained(operand.sites, info.op))
    return;
  operand.sites.push_back(info.op);
  if (operand.place.size() >= kMaxPlaces)
    return;
  if (!isMap)
    operand.place.push_back(index.getId(info.access.address));
  else if (copy)
    for (mlir::Value coordinate : copy.getCoordinates())
      operand.place.push_back(index.getId(coordinate));
}

void BlockOrder::collectOperands() {
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  auto addReads = [&](OpId op) {
    uint32_t first = memory.getFirstAccess(op);
    for (auto [i, info] : llvm::enumerate(memory.getAccessesOf(op)))
      if (info.access.read &&
          (info.isGlobal() ||
           info.access.form == kern::MemoryAccess::Form::TensorMap))
        addSite(first + i);
  };
  llvm::DenseSet<SharedObjectId> objectsOf;
  for (const MainProduct &product : products)
    for (const ProductOperand &operand : product.operands) {
      if (operand.access != kNone) {
        if (SharedObjectId id = objects.getPlace(operand.access).object;
            id != kNone)
          objectsOf.insert(id);
      } else if (operand.load != kNone) {
        addReads(operand.load);
      }
    }
  for (const StagedTile &tile : detector.getStagedTiles()) {
    if (!objectsOf.count(tile.object))
      continue;
    staged = true;
    for (uint32_t writer : tile.writers) {
      OpId op = memory.getAccesses()[writer].op;
      auto store = llvm::dyn_cast<kern::StoreOp>(index.getOp(op));
      if (!store) {
        addReads(op);
        continue;
      }
      llvm::SmallVector<ValueId, 4> loads;
      for (mlir::Value value : store.getValues())
        traceToLoads(detector, index.getId(value), loads);
      for (ValueId load : loads)
        addReads(index.getDef(load));
    }
  }
}

void BlockOrder::collectSlice() {
  llvm::DenseSet<RootId> pointers;
  for (const AccessInfo &info : memory.getAccesses())
    pointers.insert(info.roots.begin(), info.roots.end());
  // A number, converted at most.
  auto isParameter = [&](ValueId value) {
    OpId def = index.getDef(value);
    while (def != kNone && llvm::isa<kern::ConvertOp>(index.getOp(def))) {
      value = index.getOperands(def)[0];
      def = index.getDef(value);
    }
    return numbers.count(value) != 0;
  };
  llvm::SmallVector<ValueId, 32> pending;
  llvm::DenseSet<ValueId> seen;
  llvm::SmallVector<OpId, 8> products, remapping;
  // Block numbers, or numbers that stand for them, are behind the places.
  llvm::SmallVector<ValueId, 8> blocks;
  std::vector<ValueId> slice;
  auto visit = [&](ValueId value) {
    if (value != kNone && seen.size() < kMaxSlice &&
        !detector.getConstants().get(value) && seen.insert(value).second) {
      pending.push_back(value);
      slice.push_back(value);
    }
  };
  // What decides which way a value comes from belongs to it.
  llvm::DenseSet<BlockId> branches;
  for (const auto &[key, operand] : operands)
    for (ValueId value : operand.place)
      visit(value);
  while (!pending.empty()) {
    ValueId value = pending.pop_back_val();
    OpId def = index.getDef(value);
    if (def == kNone) {
      for (const KernelIndex::Incoming &way : index.getIncoming(value)) {
        visit(way.value);
        for (BlockId from = way.from;;) {
          if (branches.insert(from).second)
            if (auto branch = llvm::dyn_cast<kern::CondBranchOp>(
                    index.getOp(index.getTerminator(from))))
              visit(index.getId(branch.getCondition()));
          llvm::ArrayRef<BlockId> before = index.getPredecessors(from);
          if (before.size() != 1 || branches.count(before[0]))
            break;
          from = before[0];
        }
      }
      continue;
    }
    mlir::Operation *op = index.getOp(def);
    if (auto special = llvm::dyn_cast<kern::SpecialOp>(op)) {
      if (special.getReg().starts_with("ctaid") ||
          special.getReg().starts_with("clusterid"))
        blocks.push_back(value);
      specials[special.getReg()].push_back(value);
      continue;
    }
    if (auto load = llvm::dyn_cast<kern::LoadOp>(op)) {
      if (load.getSpace() != kern::Space::Param) {
        // The tile may come from memory.
        if (!kern::isFloat(load.getType()))
          blocks.push_back(value);
        continue;
      }
      unsigned width = getWidth(index.getValue(value).getType());
      llvm::ArrayRef<RootId> roots = memory.getRoots(value);
      if (width >= 8 && llvm::none_of(roots, [&](RootId root) {
            return pointers.count(root) != 0;
          }))
        numbers[value] = kExtent;
      continue;
    }
    if (auto arith = llvm::dyn_cast<kern::ArithOp>(op)) {
      switch (arith.getKind()) {
      case kern::ArithKind::Div:
      case kern::ArithKind::Rem:
      case kern::ArithKind::Shr:
      case kern::ArithKind::ShfRight:
      case kern::ArithKind::And:
      case kern::ArithKind::Lop3:
      case kern::ArithKind::Bfe:
        remapping.push_back(def);
        break;
      case kern::ArithKind::MulHi:
        remapping.push_back(def);
        [[fallthrough]];
      case kern::ArithKind::MulWide:
        products.push_back(def);
        break;
      default:
        break;
      }
    }
    for (ValueId operand : index.getOperands(def))
      visit(operand);
  }
  remaps = !blocks.empty() && !remapping.empty();
  if (remaps)
    findSizes(slice, blocks, remapping);
  // What is kept of a wide product is its high part, where something shifts.
  for (OpId product : products) {
    auto arith = llvm::cast<kern::ArithOp>(index.getOp(product));
    bool high =
        arith.getKind() == kern::ArithKind::MulHi ||
        llvm::any_of(
            index.getUsers(index.getFirstResult(product)), [&](OpId user) {
              auto shift = llvm::dyn_cast<kern::ArithOp>(index.getOp(user));
              return shift && shift.getKind() == kern::ArithKind::Shr;
            });
    if (high && llvm::any_of(index.getOperands(product), isParameter))
      prepared = product;
  }
}

void BlockOrder::findSizes(llvm::ArrayRef<ValueId> slice,
                           llvm::ArrayRef<ValueId> blocks,
                           llvm::ArrayRef<OpId> remapping) {
  // What each value is made from: a bit for each number, the last one for the
  // numbers of blocks.
  constexpr unsigned kBlocks = 63;
  llvm::DenseMap<ValueId, uint64_t> from;
  for (ValueId block : blocks)
    from[block] = uint64_t(1) << kBlocks;
  for (const auto &[i, entry] : llvm::enumerate(numbers))
    from[entry.first] = uint64_t(1) << std::min<size_t>(i, kBlocks - 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (ValueId value : llvm::reverse(slice)) {
      OpId def = index.getDef(value);
      if (def != kNone &&
          llvm::isa<kern::LoadOp, kern::SpecialOp>(index.getOp(def)))
        continue;
      uint64_t bits = 0;
      if (def == kNone)
        for (const KernelIndex::Incoming &way : index.getIncoming(value))
          bits |= way.value == kNone ? 0 : from.lookup(way.value);
      else
        for (ValueId operand : index.getOperands(def))
          bits |= from.lookup(operand);
      uint64_t &known = from[value];
      changed |= bits & ~known;
      known |= bits;
    }
  }
  uint64_t meets = 0;
  for (OpId op : remapping) {
    uint64_t bits = 0;
    for (ValueId operand : index.getOperands(op))
      bits |= from.lookup(operand);
    if (bits >> kBlocks)
      meets |= bits;
  }
  for (const auto &[i, entry] : llvm::enumerate(numbers))
    if (meets >> std::min<size_t>(i, kBlocks - 1) & 1)
      sizes.push_back(entry.first);
}

bool BlockOrder::getParts(int64_t block,
                          llvm::SmallVectorImpl<uint32_t> &parts) {
  int64_t size = clusterSize.value_or(1);
  int64_t x = block * size, y = 0;
  if (specials.count("ctaid.y")) {
    y = x / kGridX;
    x %= kGridX;
  }
  std::vector<std::pair<ValueId, int64_t>> assumed(numbers.begin(),
                                                   numbers.end());
  auto assume = [&](llvm::StringRef reg, int64_t number) {
    if (auto it = specials.find(reg); it != specials.end())
      for (ValueId value : it->second)
        assumed.push_back({value, number});
  };
  assume("ctaid.x", x);
  assume("ctaid.y", y);
  assume("ctaid.z", 0);
  assume("nctaid.x", kGridX);
  assume("nctaid.y", kGridX);
  assume("nctaid.z", 1);
  assume("clusterid.x", x / size);
  assume("clusterid.y", y);
  assume("clusterid.z", 0);
  assume("nclusterid.x", kGridX / size);
  assume("nclusterid.y", kGridX);
  assume("nclusterid.z", 1);
  for (llvm::StringRef reg : {"cluster_ctaid.x", "cluster_ctaid.y",
                              "cluster_ctaid.z", "cluster_ctarank"})
    assume(reg, 0);
  values.assume(assumed);
  bool known = true;
  for (const auto &[i, entry] : llvm::enumerate(operands)) {
    std::vector<IterationValue> place;
    for (ValueId value : entry.second.place) {
      place.push_back(values.get(value, kNone, 0));
      known &= !values.isUnknown(place.back());
    }
    auto [it, isNew] =
        partOf[i].try_emplace(std::move(place), partOf[i].size());
    parts.push_back(it->second);
  }
  return known;
}

/// Whether other parts of operand `narrow` follow those of the first blocks,
/// together with a part of `wide` that was there before.
std::optional<bool>
BlockOrder::escapes(unsigned narrow, unsigned wide,
                    llvm::ArrayRef<std::vector<uint32_t>> window) {
  llvm::DenseSet<uint32_t> narrowParts, wideParts;
  for (const std::vector<uint32_t> &parts : window) {
    narrowParts.insert(parts[narrow]);
    wideParts.insert(parts[wide]);
  }
  bool known = true;
  llvm::SmallVector<uint32_t, 4> parts;
  auto isOutside = [&](int64_t block) {
    parts.clear();
    known &= getParts(block, parts);
    return !narrowParts.count(parts[narrow]);
  };
  int64_t inside = kWindow - 1, outside = kMaxBlocks;
  for (int64_t block = kWindow; block < kMaxBlocks; block *= 2) {
    if (isOutside(block)) {
      outside = block;
      break;
    }
    inside = block;
  }
  while (known && outside < kMaxBlocks && outside - inside > 1) {
    int64_t middle = inside + (outside - inside) / 2;
    (isOutside(middle) ? outside : inside) = middle;
  }
  if (!known)
    return std::nullopt;
  return outside < kMaxBlocks && isOutside(outside) &&
         wideParts.count(parts[wide]);
}

std::optional<int64_t> BlockOrder::findGroup() {
  partOf.assign(operands.size(), {});
  std::vector<std::vector<uint32_t>> window(kWindow);
  auto evaluate = [&](int64_t block) {
    llvm::SmallVector<uint32_t, 4> parts;
    bool known = getParts(block, parts);
    window[block] = {parts.begin(), parts.end()};
    return known;
  };
  // Most orders are told by a few blocks: neighbours share a part, and both
  // parts of a pair change within the window.
  constexpr int64_t few[] = {0, 1, kWindow / 2, kWindow - 1};
  for (int64_t block : few)
    if (!evaluate(block))
      return std::nullopt;
  std::vector<bool> changes;
  unsigned shared = 0;
  for (unsigned i = 0; i < operands.size(); ++i) {
    changes.push_back(llvm::any_of(
        few, [&](int64_t block) { return window[block][i] != window[0][i]; }));
    shared += changes[i] && window[0][i] == window[1][i];
  }
  if (shared == 0 || llvm::count(changes, true) < 2)
    return 0;
  for (int64_t block = 0; block < kWindow; ++block)
    if (window[block].empty() && !evaluate(block))
      return std::nullopt;
  auto count = [&](unsigned operand, int64_t blocks) {
    llvm::DenseSet<uint32_t> parts;
    for (int64_t block = 0; block < blocks; ++block)
      parts.insert(window[block][operand]);
    return int64_t(parts.size());
  };
  for (unsigned narrow = 0; narrow < operands.size(); ++narrow)
    for (unsigned wide = 0; wide < operands.size(); ++wide) {
      int64_t group = count(narrow, kWindow), others = count(wide, kWindow);
      if (narrow == wide || group < 2 || others < 2 ||
          group * others > 2 * kWindow || count(narrow, kWindow / 2) != group ||
          count(wide, kWindow / 2) == others)
        continue;
      std::optional<bool> found = escapes(narrow, wide, window);
      if (!found)
        return std::nullopt;
      if (*found)
        return group;
    }
  return 0;
}

void BlockOrder::run() {
  products = detector.getMainProducts();
  if (products.empty())
    return;
  collectOperands();
  // Without a tile there is no order of tiles.
  if (operands.size() < 2 || !staged)
    return;
  collectSlice();
  if (!remaps)
    return;
  OpId at = products[0].op;
  llvm::SmallVector<OpId, 8> sites;
  for (const auto &[key, operand] : operands)
    sites.append(operand.sites.begin(), operand.sites.end());
  auto undecided = [&](std::string what, std::string wouldDecide) {
    detector.addUndecided("blocks may take tiles in groups: " + std::move(what),
                          wouldDecide, sites);
  };
  if (prepared != kNone)
    return undecided("the division at " + detector.describe(prepared) +
                         " is by numbers that the host prepares",
                     "a division by the number of tiles in the kernel");
  std::optional<int64_t> group = findGroup();
  if (!group)
    return undecided("which part of an operand a block reads first goes "
                     "through memory, or through a choice that is not known",
                     "tiles that follow from the block's number by arithmetic");
  if (*group == 0) {
    for (ValueId value : sizes)
      for (int64_t size : kGroupSizes) {
        numbers[value] = size;
        std::optional<int64_t> then = findGroup();
        numbers[value] = kExtent;
        if (then != int64_t(0))
          return undecided("the parameter read at " +
                               detector.describe(index.getDef(value)) +
                               " says how",
                           "a group whose size is a constant of the kernel");
      }
    return;
  }
  bool clusters = llvm::any_of(specials, [](const auto &special) {
    return llvm::StringRef(special.first).starts_with("cluster");
  });
  if (!clusterSize && clusters && *group <= 16)
    return undecided("a cluster, whose size the launch decides, shares " +
                         std::to_string(*group) + " parts of an operand",
                     "a kernel with __cluster_dims__");
  bool isMatrix = llvm::isa<kern::MatrixProductOpInterface>(index.getOp(at));
  const Provenance &provenance = detector.getProvenance();
  Reach reach = isMatrix ? provenance.getProductReach(at)
                         : provenance.getReach(index.getFirstResult(at));
  Judgement judgement = detector.judgeReach(reach, "its result").then([&] {
    return detector.judgeOneWay();
  });
  if (!judgement.isProved()) {
    detector.add(judgement, at);
    return;
  }
  AttributeMap attributes;
  attributes["group"] = *group;
  detector.addFact(std::move(attributes), kNone, sites);
}

static void detect(Detector &detector) { BlockOrder(detector).run(); }

namespace d2k::properties {
Property makeTileRasterization() {
  PropertyInfo info;
  info.id = "tile_rasterization";
  info.group = 'C';
  info.summary =
      "blocks that run side by side take the tiles of a patch of the output, "
      "several parts of each operand, for reuse in L2, where one row of tiles "
      "would be the plain order";
  info.attributes = {{"group",
                      AttrType::Integer,
                      {},
                      "rows or columns of tiles that are walked together; the "
                      "tiles of a cluster count as one"}};
  info.decidingTiers = {Tier::Ptx};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
