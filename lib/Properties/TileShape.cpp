// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile_shape: the part of the output that a block makes at a time. Its area is
// what the threads of a block accumulate; its sides are as the staged parts of
// the two operands, which have one depth:
//   m * n = sums of a block,  m / n = bytes of A / bytes of B,
//   k = bytes of A / (m * bytes of an element).

#include "Engine/Accumulators.h"
#include "Engine/StagedTiles.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// Products of one pair of staged objects.
struct Group {
  std::vector<const MainProduct *> products;
  /// Where the operands are; kNone for what is not in shared memory.
  std::set<SharedObjectId> a, b;
};
} // namespace

/// Bits of an element of tcgen05's A, by the kind of the instruction.
static int64_t getBits(llvm::StringRef kind) {
  return kind == "tf32"                         ? 32
         : kind == "f16"                        ? 16
         : kind == "mxf4" || kind == "mxf4nvf4" ? 4
                                                : 8;
}

/// The sums of a block that `products` build up; nothing when not known.
static std::optional<int64_t> countSums(Detector &detector,
                                        const Group &group) {
  const KernelIndex &index = detector.getIndex();
  KernelContext &kernel = detector.getKernel();
  LaneForms &forms = kernel.getLaneForms();
  mlir::Operation *first = index.getOp(group.products[0]->op);
  if (auto tensor = llvm::dyn_cast<kern::TmemMmaOp>(first)) {
    unsigned at = tensor.getSparse() ? 1 : 0;
    if (tensor.getExtra().size() <= at)
      return std::nullopt;
    // PTX ISA, tcgen05 "Instruction Descriptor": N / 8 in bits 17 to 22, M / 16
    // in bits 24 to 28.
    std::optional<uint64_t> word =
        detector.getConstants().get(index.getId(tensor.getExtra()[at]));
    if (!word)
      return std::nullopt;
    int64_t n = int64_t(*word >> 17 & 63) << 3;
    int64_t m = int64_t(*word >> 24 & 31) << 4;
    // Accumulators are told apart by where they are in their slot.
    llvm::DenseSet<std::pair<uint32_t, int64_t>> places;
    const MemoryRoots &memory = detector.getMemory();
    for (const MainProduct *product : group.products) {
      uint32_t access = memory.getFirstAccess(product->op);
      for (const AccessInfo &info : memory.getAccessesOf(product->op)) {
        if (info.access.write) {
          const SharedPlace &place = kernel.getSharedObjects().getPlace(access);
          if (place.object == kNone)
            return std::nullopt;
          places.insert({place.object, place.low});
        }
        ++access;
      }
    }
    return int64_t(places.size()) * m * n / int64_t(tensor.getCtaGroup());
  }
  // By thread: the sums of all products that it runs.
  std::vector<int64_t> sums(forms.getNumThreads(), 0);
  std::map<std::vector<bool>, llvm::DenseSet<uint64_t>> rootsOf;
  for (const MainProduct *product : group.products)
    rootsOf[forms.getActive(product->op)].insert(product->root);
  int64_t perRoot = 1;
  if (auto matrix = llvm::dyn_cast<kern::MatrixProductOpInterface>(first)) {
    kern::MatrixShape shape = matrix.getShape();
    int64_t lanes =
        matrix.getMatrixFamily() == kern::MatrixFamily::Wgmma ? 128 : 32;
    if (shape.m * shape.n % lanes != 0)
      return std::nullopt;
    perRoot = shape.m * shape.n / lanes;
  } else if (auto arith = llvm::dyn_cast<kern::ArithOp>(first)) {
    switch (arith.getType()) {
    case kern::ElementType::F16X2:
    case kern::ElementType::BF16X2:
    case kern::ElementType::F32X2:
      perRoot = 2;
      break;
    default:
      break;
    }
  }
  if (!forms.getShape().known)
    return std::nullopt;
  int64_t total = 0;
  for (const auto &[active, roots] : rootsOf)
    total +=
        int64_t(llvm::count(active, true)) * int64_t(roots.size()) * perRoot;
  return total;
}

/// Bytes of an element of operand A as it is staged.
static std::optional<double>
getElementBytes(Detector &detector, const Group &group,
                const std::set<SharedObjectId> &in) {
  const KernelIndex &index = detector.getIndex();
  mlir::Operation *first = index.getOp(group.products[0]->op);
  if (auto tensor = llvm::dyn_cast<kern::TmemMmaOp>(first))
    return double(getBits(tensor.getInputKind())) / 8;
  if (auto matrix = llvm::dyn_cast<kern::MatrixProductOpInterface>(first)) {
    unsigned bits = kern::getBits(matrix.getAElement());
    return bits == 0 ? std::nullopt : std::optional(double(bits) / 8);
  }
  // What is loaded for so many different operands.
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  llvm::DenseSet<uint64_t> operands;
  llvm::DenseSet<OpId> loads;
  double bytes = 0;
  for (const MainProduct *product : group.products)
    for (const ProductOperand &operand : product->operands) {
      if (operand.access == kNone ||
          !in.count(objects.getPlace(operand.access).object))
        continue;
      const AccessInfo &info =
          detector.getMemory().getAccesses()[operand.access];
      operands.insert(operand.number);
      if (loads.insert(info.op).second && info.access.bytes)
        bytes += double(*info.access.bytes);
    }
  if (operands.empty() || bytes == 0)
    return std::nullopt;
  return bytes / double(operands.size());
}

/// Whether rows of the output go with `a` and columns with `b`: of two threads
/// that store neighbours of one row, the reads of A are the same. Nothing when
/// no such threads are found.
static std::optional<bool> isRowOperand(Detector &detector, uint32_t a,
                                        uint32_t b) {
  KernelContext &kernel = detector.getKernel();
  LaneForms &forms = kernel.getLaneForms();
  const KernelIndex &index = detector.getIndex();
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  LaneForm readA = forms.get(index.getId(accesses[a].access.address));
  LaneForm readB = forms.get(index.getId(accesses[b].access.address));
  if (!readA.known || !readB.known)
    return std::nullopt;
  for (const OutputStore &store : detector.getProvenance().getOutputStores()) {
    if (!store.terms.has(ProductClass::Mac))
      continue;
    const AccessInfo &info = accesses[store.access];
    if (!info.access.address)
      continue;
    LaneForm form = forms.get(index.getId(info.access.address));
    if (!form.known)
      continue;
    std::optional<std::pair<unsigned, unsigned>> best;
    int64_t closest = INT64_MAX;
    std::vector<bool> active = forms.getActive(info.op);
    unsigned threads = std::min(forms.getNumThreads(), 256u);
    for (unsigned p = 0; p < threads; ++p)
      for (unsigned q = p + 1; q < threads; ++q) {
        if (!active[p] || !active[q])
          continue;
        bool sameRow = llvm::all_of(form.terms, [&](const auto &term) {
          return term.second[p] == term.second[q];
        });
        int64_t distance = std::abs(form.rest[p] - form.rest[q]);
        if (sameRow && distance != 0 && distance < closest) {
          closest = distance;
          best = {p, q};
        }
      }
    if (!best)
      continue;
    bool sameA = readA.rest[best->first] == readA.rest[best->second];
    bool sameB = readB.rest[best->first] == readB.rest[best->second];
    if (sameA != sameB)
      return sameA;
  }
  return std::nullopt;
}

/// How far along K one accumulator goes in one iteration of the main loop;
/// nothing when it is not known.
static std::optional<int64_t> getDepth(Detector &detector, const Group &group) {
  const KernelIndex &index = detector.getIndex();
  const LoopNest &loops = detector.getKernel().getLoops();
  const MainRegion &region = detector.getMainRegion();
  const MainProduct &first = *group.products[0];
  int64_t depth = 0;
  for (const MainProduct *product : group.products) {
    if (product->root != first.root)
      continue;
    int64_t step = 1;
    if (auto matrix = llvm::dyn_cast<kern::MatrixProductOpInterface>(
            index.getOp(product->op)))
      step = matrix.getShape().k;
    for (uint32_t loop = loops.getInnermost(index.getBlockOf(product->op));
         loop != kNone && !region.isMainLoop(loop);
         loop = loops.getLoop(loop).parent) {
      if (!loops.getLoop(loop).trip)
        return std::nullopt;
      step *= *loops.getLoop(loop).trip;
    }
    depth += step;
  }
  return depth;
}

static std::optional<int64_t> exactRoot(double square) {
  int64_t root = std::llround(std::sqrt(square));
  if (root <= 0 || std::abs(double(root) * double(root) - square) > 1e-6)
    return std::nullopt;
  return root;
}

static void detect(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  const Provenance &provenance = detector.getProvenance();
  llvm::ArrayRef<MainProduct> products = detector.getMainProducts();
  if (products.empty())
    return;
  // Products of one accumulator, or of one operand, are one product; its
  // operands may be in several parts of shared memory.
  std::vector<Group> groups;
  for (const MainProduct &product : products) {
    uint32_t a = product.operands[0].access, b = product.operands[1].access;
    SharedObjectId inA = a == kNone ? kNone : objects.getPlace(a).object;
    SharedObjectId inB = b == kNone ? kNone : objects.getPlace(b).object;
    bool scalar =
        !llvm::isa<kern::MatrixProductOpInterface>(index.getOp(product.op));
    // Compilers swap the factors of a scalar product.
    if (scalar && inA > inB)
      std::swap(inA, inB);
    Group own;
    own.products.push_back(&product);
    own.a.insert(inA);
    own.b.insert(inB);
    auto meets = [&](const Group &other) {
      return other.a.count(inA) || other.b.count(inB) ||
             llvm::any_of(other.products, [&](const MainProduct *p) {
               return p->root == product.root;
             });
    };
    for (Group &other : groups)
      if (meets(other)) {
        own.products.insert(own.products.begin(), other.products.begin(),
                            other.products.end());
        own.a.insert(other.a.begin(), other.a.end());
        own.b.insert(other.b.begin(), other.b.end());
        other.products.clear();
      }
    llvm::erase_if(groups,
                   [](const Group &group) { return group.products.empty(); });
    groups.push_back(std::move(own));
  }
  const Group *most = nullptr;
  for (const Group &group : groups)
    if (!most || group.products.size() > most->products.size())
      most = &group;
  OpId at = most->products[0]->op;
  bool isMatrix = llvm::isa<kern::MatrixProductOpInterface>(index.getOp(at));
  Reach reach = isMatrix ? provenance.getProductReach(at)
                         : provenance.getReach(index.getFirstResult(at));
  Judgement judgement = detector.judgeReach(reach, "its result").then([&] {
    return detector.judgeOneWay();
  });
  if (!judgement.isProved()) {
    detector.add(judgement, at);
    return;
  }
  // A kernel that stages nothing has no tile to speak of.
  if (most->a.count(kNone) && most->b.count(kNone))
    return;
  auto undecided = [&](std::string what) {
    detector.add(
        Judgement::undecided(
            "makes a tile whose shape is not known: " + what,
            "staged operands at addresses computed from the thread's number, "
            "and a block size that the kernel declares"),
        at);
  };
  bool apart = llvm::none_of(
      most->a, [&](SharedObjectId id) { return most->b.count(id) != 0; });
  if (most->a.count(kNone) || most->b.count(kNone) || !apart)
    return undecided("its operands are not two staged objects");
  // Where more is read than is known to be written, the size of the operand is
  // not known; the gaps of padded rows are small.
  std::map<SharedObjectId, int64_t> bytesOf;
  for (const StagedTile &tile : detector.getStagedTiles())
    if (4 * objects.getObject(tile.object).bytes <= 5 * tile.bytes)
      bytesOf[tile.object] = tile.bytes;
  // Parts that are read in one step along K make up one slot; those that are
  // read in another one are another slot.
  std::vector<OpId> stepOf = getReadSteps(detector.getIndex());
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  auto sum = [&](const std::set<SharedObjectId> &in) {
    std::map<OpId, std::set<SharedObjectId>> parts;
    for (const MainProduct *product : most->products)
      for (const ProductOperand &operand : product->operands) {
        SharedObjectId id = operand.access == kNone
                                ? kNone
                                : objects.getPlace(operand.access).object;
        if (in.count(id))
          parts[stepOf[accesses[operand.access].op]].insert(id);
      }
    double most = 0;
    for (const auto &[step, ids] : parts) {
      double bytes = 0;
      for (SharedObjectId id : ids) {
        if (bytesOf[id] == 0)
          return 0.0;
        bytes += double(bytesOf[id]);
      }
      most = std::max(most, bytes);
    }
    return most;
  };
  double bytesA = sum(most->a), bytesB = sum(most->b);
  std::optional<int64_t> sums = countSums(detector, *most);
  std::optional<double> element = getElementBytes(detector, *most, most->a);
  if (bytesA == 0 || bytesB == 0)
    return undecided("how much of an operand is staged is not known");
  if (!sums || *sums == 0)
    return undecided("how many sums a block keeps is not known");
  if (!element)
    return undecided("the type of its operands is not known");
  if (auto tensor = llvm::dyn_cast<kern::TmemMmaOp>(index.getOp(at)))
    bytesB *= double(tensor.getCtaGroup()); // Each block stages a part of B.
  if (!isMatrix && bytesA != bytesB) {
    uint32_t readA = kNone, readB = kNone;
    for (const MainProduct *product : most->products)
      for (const ProductOperand &operand : product->operands) {
        if (operand.access == kNone)
          continue;
        if (most->a.count(objects.getPlace(operand.access).object))
          readA = operand.access;
        else if (most->b.count(objects.getPlace(operand.access).object))
          readB = operand.access;
      }
    std::optional<bool> rows = readA == kNone || readB == kNone
                                   ? std::nullopt
                                   : isRowOperand(detector, readA, readB);
    if (!rows)
      return undecided("which operand has its rows is not known");
    if (!*rows)
      std::swap(bytesA, bytesB);
  }
  std::optional<int64_t> m = exactRoot(double(*sums) * bytesA / bytesB);
  if (!m || *sums % *m != 0)
    return undecided("its " + std::to_string(*sums) +
                     " sums do not fit the staged operands");
  double k = bytesA / (double(*m) * *element);
  if (k < 1 || k != std::floor(k))
    return undecided("the staged operands have no whole depth");
  // Warps that share an output and divide K among them would count its sums
  // several times.
  if (!llvm::isa<kern::TmemMmaOp>(index.getOp(at))) {
    std::optional<int64_t> depth = getDepth(detector, *most);
    if (depth && *depth % int64_t(k) != 0)
      return undecided("an accumulator takes " + std::to_string(*depth) +
                       " steps along K where " + std::to_string(int64_t(k)) +
                       " are staged");
  }
  AttributeMap attributes;
  attributes["m"] = *m;
  attributes["n"] = *sums / *m;
  attributes["k"] = int64_t(k);
  llvm::SmallVector<OpId, 8> where;
  for (const MainProduct *product : most->products)
    where.push_back(product->op);
  detector.addFact(std::move(attributes), at, where);
}

namespace d2k::properties {
Property makeTileShape() {
  PropertyInfo info;
  info.id = "tile_shape";
  info.group = 'A';
  info.summary =
      "the block tile of the main product is known from the sums that a block "
      "keeps and the operands that it stages";
  info.attributes = {{"m", AttrType::Integer, {}, "rows of the tile"},
                     {"n", AttrType::Integer, {}, "columns of the tile"},
                     {"k", AttrType::Integer, {}, "depth of one step"}};
  info.decidingTiers = {Tier::Ptx, Tier::Source};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
