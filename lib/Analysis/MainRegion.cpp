// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the core loop by product work, then its clones and the loops of the
// roles that hand data to or take data from it.

#include "d2k/Analysis/MainRegion.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

/// A loop with less product work than this fraction of the core loop's is
/// beside the point.
static constexpr double kOtherWork = 1.0 / 8;
/// FLOPs of one tcgen05.mma when its descriptor is not read: 128x256x16.
static constexpr double kTypicalTensorFlops = 2.0 * 128 * 256 * 16;

MainRegion::MainRegion(const KernelIndex &index,
                       const ConstantValues &constants,
                       const Dominance &dominance, const LoopNest &loops,
                       const MemoryRoots &memory, const Provenance &provenance)
    : index(index), constants(constants), dominance(dominance), loops(loops),
      memory(memory), provenance(provenance) {
  find(Work::Products);
}

MainRegion::MainRegion(const MainRegion &other, Work work)
    : index(other.index), constants(other.constants),
      dominance(other.dominance), loops(other.loops), memory(other.memory),
      provenance(other.provenance) {
  find(work);
}

const MainRegion &MainRegion::getWork() const {
  if (kind != Kind::Unknown || !products.empty() || loops.isIrreducible() ||
      loops.isTooDeep())
    return *this;
  if (!arithmetic)
    arithmetic.reset(new MainRegion(*this, Work::Arithmetic));
  return *arithmetic;
}

void MainRegion::find(Work work) {
  if (work == Work::Products)
    findProducts();
  else
    findArithmetic();
  if (loops.isIrreducible()) {
    reason = "a loop of the kernel has several entries";
    return;
  }
  if (loops.isTooDeep()) {
    reason =
        "loops are nested deeper than " + std::to_string(LoopNest::kMaxDepth);
    return;
  }
  chooseLoops();
  if (kind != Kind::Loops)
    return;
  addClones();
  addRoles();
  llvm::sort(mainLoops);
}

void MainRegion::findProducts() {
  std::vector<OpId> scalar;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (!constants.mayRun(op))
      continue;
    Operation *operation = index.getOp(op);
    if (auto product = dyn_cast<kern::MatrixProductOpInterface>(operation)) {
      auto [a, b] = provenance.getProductOperands(op);
      if (a.empty() || b.empty() || provenance.getProductReach(op) < Reach::May)
        continue;
      kern::MatrixShape shape = product.getShape();
      products.push_back(op);
      flops.push_back(shape.m && shape.n && shape.k
                          ? 2.0 * shape.m * shape.n * shape.k
                          : kTypicalTensorFlops);
      continue;
    }
    auto arith = dyn_cast<kern::ArithOp>(operation);
    if (!arith)
      continue;
    switch (arith.getKind()) {
    case kern::ArithKind::Fma:
    case kern::ArithKind::Mul:
    case kern::ArithKind::MulLo:
    case kern::ArithKind::MadLo:
    case kern::ArithKind::Dp2a:
    case kern::ArithKind::Dp4a: {
      llvm::ArrayRef<ValueId> in = index.getOperands(op);
      if (in.size() >= 2 && !provenance.getTerms(in[0]).empty() &&
          !provenance.getTerms(in[1]).empty() &&
          provenance.getReach(index.getFirstResult(op)) >= Reach::May)
        scalar.push_back(op);
      break;
    }
    default:
      break;
    }
  }
  if (products.empty()) {
    products = std::move(scalar);
    flops.assign(products.size(), 2);
  }
}

void MainRegion::findArithmetic() {
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    auto arith = dyn_cast<kern::ArithOp>(index.getOp(op));
    if (!arith || !kern::isFloat(arith.getType()) || !constants.mayRun(op) ||
        index.getNumResults(op) == 0)
      continue;
    ValueId result = index.getFirstResult(op);
    if (!provenance.getTerms(result).empty() &&
        provenance.getReach(result) >= Reach::May)
      products.push_back(op);
  }
  flops.assign(products.size(), 1);
}

std::pair<unsigned, double> MainRegion::tripsAround(uint32_t loop) const {
  unsigned unknown = 0;
  double known = 1;
  for (; loop != kNone; loop = loops.getLoop(loop).parent) {
    if (std::optional<int64_t> trip = loops.getLoop(loop).trip)
      known *= double(*trip);
    else
      ++unknown;
  }
  return {unknown, known};
}

bool MainRegion::hasArrival(uint32_t loop) const {
  for (BlockId block : loops.getLoop(loop).blocks) {
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op) {
      Operation *operation = index.getOp(op);
      if (isa<kern::AsyncEffectOpInterface>(operation)) {
        auto effect = cast<kern::AsyncEffectOpInterface>(operation);
        if (isa<kern::MatrixProductOpInterface>(operation))
          continue;
        // Waiting for one's own products brings no data.
        if (effect.getCompletion() == kern::Completion::WgmmaGroup)
          continue;
        return true;
      }
      if (isa<kern::BarrierOpInterface>(operation))
        return true;
      if (isa<kern::LoadOp>(operation))
        for (const AccessInfo &access : memory.getAccessesOf(op))
          if (access.isGlobal())
            return true;
    }
  }
  return false;
}

std::vector<OpId> MainRegion::findSharedFactors(uint32_t loop) const {
  std::vector<OpId> loads;
  for (BlockId block : loops.getLoop(loop).blocks) {
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op)
      // What brings data by itself is no plain inner loop.
      if (isa<kern::AsyncEffectOpInterface, kern::BarrierOpInterface>(
              index.getOp(op)) &&
          !isa<kern::MatrixProductOpInterface>(index.getOp(op)))
        return {};
  }
  llvm::DenseSet<ValueId> seen;
  std::vector<ValueId> work;
  for (OpId product : products) {
    if (!loops.contains(loop, index.getBlockOf(product)))
      continue;
    llvm::append_range(work, index.getOperands(product));
    while (!work.empty()) {
      ValueId value = work.back();
      work.pop_back();
      OpId def = index.getDef(value);
      if (def == kNone || !seen.insert(value).second ||
          !loops.contains(loop, index.getBlockOf(def)))
        continue;
      Operation *operation = index.getOp(def);
      if (isa<kern::LoadOp, kern::MatrixLoadOp>(operation)) {
        if (llvm::any_of(memory.getAccessesOf(def), [](const AccessInfo &info) {
              return info.access.read && info.space == kern::Space::Shared;
            }))
          loads.push_back(def);
      } else if (!isa<kern::MemoryAccessOpInterface>(operation)) {
        llvm::append_range(work, index.getOperands(def));
      }
    }
  }
  return loads;
}

bool MainRegion::isFilledIn(llvm::ArrayRef<OpId> loads, uint32_t loop) const {
  llvm::DenseSet<ObjectId> read;
  for (OpId load : loads) {
    uint32_t first = memory.getFirstAccess(load);
    for (uint32_t i = 0; i < memory.getAccessesOf(load).size(); ++i)
      for (ObjectId object : memory.getObjectsOf(first + i))
        read.insert(object);
  }
  // What the loop computes and hands on is another layer, and no operand of
  // this one.
  auto isInput = [&](OpId op) {
    auto store = dyn_cast<kern::StoreOp>(index.getOp(op));
    if (!store)
      return isa<kern::AsyncCopyOp, kern::BulkCopyOp>(index.getOp(op));
    return llvm::all_of(store.getValues(), [&](Value value) {
      return provenance.getTerms(index.getId(value)).isPlain();
    });
  };
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    if (info.access.write && !info.access.barrier && isInput(info.op) &&
        loops.contains(loop, index.getBlockOf(info.op)) &&
        llvm::any_of(memory.getObjectsOf(i),
                     [&](ObjectId object) { return read.contains(object); }))
      return true;
  }
  return false;
}

void MainRegion::chooseLoops() {
  uint32_t numLoops = loops.getLoops().size();
  if (products.empty()) {
    // A spin loop is one wait, and no loop.
    if (llvm::all_of(loops.getLoops(),
                     [](const Loop &loop) { return loop.spin; })) {
      findBody();
      return;
    }
    reason = "no product of inputs reaches an output, so that no loop can be "
             "told to be the main one";
    return;
  }
  std::vector<double> work(numLoops, 0);
  double outside = 0;
  for (auto [op, cost] : llvm::zip(products, flops)) {
    uint32_t loop = loops.getInnermostWorking(index.getBlockOf(op));
    (loop == kNone ? outside : work[loop]) += cost;
  }
  std::pair<unsigned, double> best{0, outside};
  for (uint32_t loop = 0; loop < numLoops; ++loop) {
    if (work[loop] == 0)
      continue;
    auto [unknown, known] = tripsAround(loop);
    std::pair<unsigned, double> here{unknown, work[loop] * known};
    if (here > best) {
      best = here;
      core = loop;
    }
  }
  if (core == kNone) {
    findBody();
    return;
  }
  for (uint32_t loop = core; loop != kNone; loop = loops.getLoop(loop).parent)
    if (hasArrival(loop)) {
      core = loop;
      break;
    }
  // One operand may be loaded inside, and the other be staged around it.
  std::vector<OpId> staged = findSharedFactors(core);
  for (uint32_t loop = core; !staged.empty() && loop != kNone;
       loop = loops.getLoop(loop).parent)
    if (loop != core && isFilledIn(staged, loop)) {
      core = loop;
      break;
    }
  kind = Kind::Loops;
  mainLoops.push_back(core);
}

void MainRegion::addClones() {
  llvm::DenseSet<StringRef> mnemonics;
  auto mnemonicOf = [&](OpId op) {
    return cast<kern::InstOpInterface>(index.getOp(op)).getMnemonic();
  };
  for (OpId op : products)
    if (loops.contains(core, index.getBlockOf(op)))
      mnemonics.insert(mnemonicOf(op));
  uint32_t parent = loops.getLoop(core).parent;
  for (OpId op : products) {
    uint32_t loop = loops.getInnermostWorking(index.getBlockOf(op));
    while (loop != kNone && loops.getLoop(loop).parent != parent)
      loop = loops.getLoop(loop).parent;
    if (loop == kNone || isMainLoop(loop) ||
        !mnemonics.contains(mnemonicOf(op)))
      continue;
    mainLoops.push_back(loop);
  }

  // Other loops with much product work, whatever their instructions: the second
  // product of attention, a second layer.
  std::map<uint32_t, double> work;
  for (auto [op, cost] : llvm::zip(products, flops)) {
    uint32_t loop = loops.getInnermostWorking(index.getBlockOf(op));
    if (loop != kNone)
      work[loop] += cost;
  }
  std::pair<unsigned, double> most{0, 0};
  for (auto [loop, cost] : work) {
    auto [unknown, known] = tripsAround(loop);
    if (loops.encloses(core, loop))
      most = std::max(most, std::pair(unknown, cost * known));
  }
  for (auto [loop, cost] : work) {
    auto [unknown, known] = tripsAround(loop);
    if (unknown < most.first || cost * known < most.second * kOtherWork)
      continue;
    uint32_t other = loop;
    while (other != kNone && !hasArrival(other))
      other = loops.getLoop(other).parent;
    // A loop around the core loop would take in everything beside it.
    if (other == kNone || loops.encloses(other, core))
      other = loop;
    if (loops.encloses(other, core) ||
        llvm::any_of(mainLoops, [&](uint32_t main) {
          return loops.encloses(main, other) || loops.encloses(other, main);
        }))
      continue;
    mainLoops.push_back(other);
  }
}

void MainRegion::addRoles() {
  // Objects through which the region is fed, and tensor memory it writes.
  llvm::DenseSet<ObjectId> fed, drained;
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    if (contains(accesses[i].op) != Tristate::Yes)
      continue;
    for (ObjectId object : memory.getObjectsOf(i)) {
      kern::Space space = memory.getObjects()[object].space;
      if (space != kern::Space::Shared && space != kern::Space::TensorMemory)
        continue;
      if (accesses[i].access.read)
        fed.insert(object);
      if (accesses[i].access.write && space == kern::Space::TensorMemory)
        drained.insert(object);
    }
  }
  // What the region itself writes is a hand-over between its own iterations:
  // another loop that writes it beside the region is a prologue.
  llvm::DenseSet<ObjectId> filledInside;
  for (uint32_t i = 0; i < accesses.size(); ++i)
    if (accesses[i].access.write && contains(accesses[i].op) == Tristate::Yes)
      for (ObjectId object : memory.getObjectsOf(i))
        filledInside.insert(object);

  // Candidate loops by role: the outermost loop that does not hold the core.
  struct Candidate {
    unsigned unknown = 0;
    double amount = 0;
  };
  std::map<uint32_t, std::map<uint32_t, Candidate>> byRole;
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    bool joins = false, filled = false;
    for (ObjectId object : memory.getObjectsOf(i)) {
      joins |= (info.access.write && fed.contains(object)) ||
               (info.access.read && drained.contains(object));
      filled |= filledInside.contains(object);
    }
    if (!joins)
      continue;
    uint32_t loop = loops.getInnermostWorking(index.getBlockOf(info.op));
    if (loop == kNone || loops.encloses(loop, core) ||
        contains(info.op) == Tristate::Yes)
      continue;
    if (!isExclusive(loop) && filled)
      continue;
    uint32_t role = loop;
    while (loops.getLoop(role).parent != kNone &&
           !loops.encloses(loops.getLoop(role).parent, core))
      role = loops.getLoop(role).parent;
    auto [unknown, known] = tripsAround(loop);
    Candidate &candidate = byRole[role][loop];
    candidate.unknown = unknown;
    candidate.amount += known;
  }
  for (auto &[role, candidates] : byRole) {
    auto best = candidates.begin();
    for (auto it = candidates.begin(); it != candidates.end(); ++it)
      if (std::pair(it->second.unknown, it->second.amount) >
          std::pair(best->second.unknown, best->second.amount))
        best = it;
    if (!isMainLoop(best->first))
      mainLoops.push_back(best->first);
  }
}

bool MainRegion::isExclusive(uint32_t loop) const {
  // Neither leads to the other within one iteration of what encloses both.
  uint32_t common = loop;
  while (common != kNone && !loops.encloses(common, core))
    common = loops.getLoop(common).parent;
  BlockId stop = common == kNone ? kNone : loops.getLoop(common).header;
  auto leadsTo = [&](BlockId from, BlockId to) {
    std::vector<bool> seen(index.getNumBlocks() + 1, false);
    std::vector<BlockId> stack{from};
    while (!stack.empty()) {
      BlockId block = stack.back();
      stack.pop_back();
      for (BlockId next : dominance.getSuccessors(block)) {
        if (next == to)
          return true;
        if (next == stop || seen[next])
          continue;
        seen[next] = true;
        stack.push_back(next);
      }
    }
    return false;
  };
  BlockId a = loops.getLoop(loop).header, b = loops.getLoop(core).header;
  return !leadsTo(a, b) && !leadsTo(b, a);
}

void MainRegion::findBody() {
  // From the first read of an input to the last write of an output, in
  // reverse post-order, which is the order of execution without loops.
  kind = Kind::Body;
  for (uint32_t i = 0; i < memory.getAccesses().size(); ++i)
    if (memory.getAccesses()[i].access.read &&
        provenance.isParameterMemory(i)) {
      bodyBegin = memory.getAccesses()[i].op;
      break;
    }
  for (const OutputStore &store : provenance.getOutputStores())
    bodyEnd = store.op;
  if (bodyBegin == kNone || bodyEnd == kNone) {
    kind = Kind::Unknown;
    reason = "the kernel reads no input or writes no output that was found";
  }
}

Tristate MainRegion::contains(OpId op) const {
  switch (kind) {
  case Kind::Unknown:
    return Tristate::Unknown;
  case Kind::Loops: {
    uint32_t loop = loops.getInnermost(index.getBlockOf(op));
    for (; loop != kNone; loop = loops.getLoop(loop).parent)
      if (isMainLoop(loop))
        return Tristate::Yes;
    return Tristate::No;
  }
  case Kind::Body: {
    if (op >= bodyBegin && op <= bodyEnd)
      return Tristate::Yes;
    return Tristate::No;
  }
  }
  return Tristate::Unknown;
}
