// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The judgements that properties share; Detector.h states their rules.

#include "Engine/SharedContents.h"

#include "d2k/Analysis/LaunchValues.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

static const char *const kProfile =
    "a profile of the launch, or the machine code, where the untaken way shows";

Judgement Detector::judgeRuns(OpId op) {
  if (getConstants().mayRun(op))
    return Judgement::proved();
  if (const LaunchDecisions *decisions = kernel.getDecisions())
    return Judgement::nearMiss("does not run " + decisions->launch);
  return Judgement::nearMiss(
      "never runs: the condition it stands under is constantly false");
}

Judgement Detector::judgeModelled() {
  if (modelled)
    return *modelled;
  llvm::ArrayRef<OpId> writers = getProvenance().getUnknownWriters();
  modelled = Judgement::proved();
  if (!writers.empty())
    modelled = Judgement::undecided(
        "is in a kernel whose outputs may also be written by what is called "
        "or not understood at " +
            describe(writers),
        "machine code of the kernel, in which calls are resolved", writers);
  return *modelled;
}

static std::string nameOf(unsigned classes) {
  static constexpr const char *names[] = {
      "a product",      "a dot product of scalar instructions",
      "wmma products",  "mma.sync products",
      "wgmma products", "tcgen05 products"};
  std::string text;
  for (unsigned i = 0; i < 6; ++i)
    if (classes >> i & 1)
      text += (text.empty() ? "" : " and ") + std::string(names[i]);
  return text;
}

bool Detector::runsAfter(OpId from, OpId to) {
  const KernelIndex &index = kernel.getIndex();
  const LoopNest &loops = kernel.getLoops();
  const Dominance &dominance = kernel.getDominance();
  BlockId a = index.getBlockOf(from), b = index.getBlockOf(to);
  if (a == b)
    return from < to;
  uint32_t common = loops.getInnermost(a);
  while (common != kNone && !loops.contains(common, b))
    common = loops.getLoop(common).parent;
  BlockId stop = common == kNone ? kNone : loops.getLoop(common).header;
  std::vector<bool> seen(index.getNumBlocks() + 1, false);
  std::vector<BlockId> stack{a};
  while (!stack.empty()) {
    BlockId block = stack.back();
    stack.pop_back();
    for (BlockId next : dominance.getSuccessors(block)) {
      if (next == b && next != stop)
        return true;
      if (next == stop || seen[next])
        continue;
      seen[next] = true;
      stack.push_back(next);
    }
  }
  return false;
}

/// Where access `a` is relative to `b`.
static LinearForm getDistance(Detector &detector, const AccessInfo &a,
                              const AccessInfo &b) {
  LinearForms &forms = detector.getKernel().getForms();
  const KernelIndex &index = detector.getIndex();
  LinearForm distance = forms.get(index.getId(a.access.address))
                            .plus(forms.get(index.getId(b.access.address)), -1);
  distance.low += a.access.offset - b.access.offset;
  distance.high += a.access.offset - b.access.offset;
  return distance;
}

/// Whether every symbol of the address keeps its value while a block runs.
static bool isFixedInBlock(Detector &detector, const AccessInfo &info) {
  LinearForms &forms = detector.getKernel().getForms();
  return llvm::all_of(
      forms.get(detector.getIndex().getId(info.access.address)).terms,
      [&](const auto &term) {
        return forms.getKind(term.first) <= SymbolKind::Index;
      });
}

/// Whether the bytes of two accesses are certain to be different.
static bool areDisjoint(Detector &detector, const AccessInfo &a,
                        const AccessInfo &b) {
  if (a.access.address && a.access.address == b.access.address &&
      a.access.bytes && b.access.bytes)
    return a.access.offset + int64_t(*a.access.bytes) <= b.access.offset ||
           b.access.offset + int64_t(*b.access.bytes) <= a.access.offset;
  if (a.bounded && b.bounded)
    return a.high <= b.low || b.high <= a.low;
  // The same run-time offset and different constants.
  constexpr auto kAddress = kern::MemoryAccess::Form::Address;
  if (a.access.form != kAddress || b.access.form != kAddress ||
      !a.access.bytes || !b.access.bytes || a.roots.size() != 1 ||
      a.roots != b.roots || !isFixedInBlock(detector, a) ||
      !isFixedInBlock(detector, b))
    return false;
  LinearForm distance = getDistance(detector, a, b);
  return distance.terms.empty() &&
         (distance.low >= int64_t(*b.access.bytes) ||
          distance.high + int64_t(*a.access.bytes) <= 0);
}

/// Whether two addresses have the same part that only the launch knows.
static bool haveSameLaunchPart(Detector &detector, const AccessInfo &a,
                               const AccessInfo &b) {
  return detector.getKernel()
      .getForms()
      .getLaunchPart(getDistance(detector, a, b))
      .terms.empty();
}

Judgement Detector::judgeSoleWay(ProductClass product) {
  auto [it, isNew] = soleWay.try_emplace(product);
  if (!isNew)
    return it->second;
  const Provenance &provenance = getProvenance();
  const MemoryRoots &memory = getMemory();
  auto judge = [&]() -> Judgement {
    Judgement world = judgeModelled();
    if (!world.isProved())
      return world;
    llvm::SmallVector<OpId, 4> rivals, unsure, beside;
    unsigned classes = 0;
    bool isMatrix = product >= ProductClass::Wmma;
    for (const OutputStore &store : provenance.getOutputStores()) {
      if (unsigned other = store.terms.getRivalsOf(product)) {
        rivals.push_back(store.op);
        classes |= other;
      } else if (store.unknown) {
        unsure.push_back(store.op);
      } else if (isMatrix && kernel.getResidue().getWritten(store.op) ==
                                 Residue::Kind::Mixed) {
        beside.push_back(store.op);
      }
    }
    if (!rivals.empty())
      return Judgement::undecided("has a rival: " + describe(rivals) +
                                      " writes " + nameOf(classes) +
                                      " that does not go through it",
                                  kProfile, rivals);
    if (!beside.empty())
      return Judgement::undecided(
          "may have a rival: " + describe(beside) +
              " writes what is worked out of many input values even if every "
              "matrix product is zero",
          kProfile, beside);
    if (!unsure.empty())
      return Judgement::undecided(
          "may have a rival: what " + describe(unsure) +
              " writes depends on something that is not understood",
          "machine code of the kernel, in which calls are resolved", unsure);
    // Something else written to the same place afterwards.
    for (const OutputStore &first : provenance.getOutputStores()) {
      if (!first.terms.has(product))
        continue;
      const AccessInfo &written = memory.getAccesses()[first.access];
      for (const OutputStore &second : provenance.getOutputStores()) {
        if (second.terms.has(product) || second.op == first.op)
          continue;
        const AccessInfo &over = memory.getAccesses()[second.access];
        bool sameRoot = written.roots.empty() || over.roots.empty() ||
                        llvm::any_of(written.roots, [&](RootId root) {
                          return llvm::is_contained(over.roots, root);
                        });
        if (!sameRoot || over.access.atomic ||
            areDisjoint(*this, written, over) ||
            !runsAfter(first.op, second.op))
          continue;
        bool certain = written.access.address == over.access.address &&
                       written.access.address &&
                       written.access.offset == over.access.offset &&
                       written.access.bytes == over.access.bytes &&
                       getIndex().getGuard(second.op) == kNone &&
                       kernel.getDominance().postDominates(
                           getIndex().getBlockOf(second.op),
                           getIndex().getBlockOf(first.op));
        if (certain)
          return Judgement::nearMiss("makes a result that " +
                                         describe(second.op) +
                                         " overwrites before anyone reads it",
                                     {first.op, second.op});
        return Judgement::undecided("makes a result that " +
                                        describe(second.op) +
                                        " may overwrite with something else",
                                    kProfile, {first.op, second.op});
      }
    }
    return Judgement::proved();
  };
  Judgement result = judge();
  soleWay[product] = result;
  return result;
}

Judgement Detector::judgeOneWay() {
  if (oneWay)
    return *oneWay;
  static constexpr ProductClass all[] = {
      ProductClass::Tcgen05, ProductClass::Wgmma, ProductClass::MmaSync,
      ProductClass::Wmma, ProductClass::Mac};
  oneWay = judgeModelled();
  if (!oneWay->isProved())
    return *oneWay;
  for (ProductClass product : all) {
    bool used = llvm::any_of(
        getProvenance().getOutputStores(),
        [&](const OutputStore &store) { return store.terms.has(product); });
    if (!used)
      continue;
    Judgement way = judgeSoleWay(product);
    if (way.isProved()) {
      oneWay = way;
      return *oneWay;
    }
    // Said of a copy or load, not of the product.
    if (oneWay->isProved())
      oneWay = Judgement::undecided(
          "is in a kernel that makes its output in more than one way: " +
              describe(way.evidence),
          kProfile, way.evidence);
  }
  return *oneWay;
}

Judgement Detector::judgeReach(Reach reach, llvm::StringRef what) {
  switch (reach) {
  case Reach::Must:
    return Judgement::proved();
  case Reach::None: {
    llvm::ArrayRef<OpId> lost = kernel.getFlow().getOverwritten();
    return Judgement::nearMiss(
        "is not used: " + what.str() + " reaches no output" +
            (lost.empty() ? ""
                          : "; what " + describe(lost) +
                                " stores is overwritten before anyone can "
                                "read it"),
        lost);
  }
  case Reach::Control:
    return Judgement::undecided(
        "steers the kernel, but " + what.str() +
            " reaches no output as data that was found",
        "machine code of the kernel, or a profile of its memory traffic");
  case Reach::May:
    return Judgement::undecided(
        "cannot be followed: " + what.str() +
            " reaches an output only through a choice, an unknown address or "
            "an instruction that is not understood",
        "machine code of the kernel, in which calls are resolved");
  }
  return Judgement::proved();
}

Judgement Detector::judgeInput(uint32_t access) {
  const Provenance &provenance = getProvenance();
  if (!provenance.getRead(access).empty())
    return Judgement::proved();
  if (provenance.isReadUnknown(access))
    return Judgement::undecided(
        "reads memory whose origin is not known, which may be no input",
        "host code, which shows what the pointer leads to");
  return Judgement::nearMiss(
      "reads what was not made from any input of the kernel");
}

/// Whether what `copy` fills may be read before one of `stores`, which go to
/// the same memory, has run; all are accesses, and `readers` follow the copy or
/// run in other roles.
static bool isReadBefore(KernelContext &kernel, OpId copy,
                         llvm::ArrayRef<OpId> stores,
                         llvm::ArrayRef<OpId> readers) {
  const KernelIndex &index = kernel.getIndex();
  const Dominance &dominance = kernel.getDominance();
  // The first event of each block on the way decides.
  std::map<BlockId, std::map<OpId, bool>> events;
  for (OpId op : readers)
    events[index.getBlockOf(op)][op] = true;
  for (OpId op : stores)
    events[index.getBlockOf(op)].try_emplace(op, false);
  enum class First { Nothing, Read, Write };
  auto firstEvent = [&](BlockId block, OpId after) {
    auto found = events.find(block);
    if (found == events.end())
      return First::Nothing;
    auto event = after == kNone ? found->second.begin()
                                : found->second.upper_bound(after);
    return event == found->second.end() ? First::Nothing
           : event->second              ? First::Read
                                        : First::Write;
  };
  BlockId start = index.getBlockOf(copy);
  First first = firstEvent(start, copy);
  if (first != First::Nothing)
    return first == First::Read;
  std::vector<bool> seen(index.getNumBlocks(), false);
  std::vector<BlockId> stack{start};
  while (!stack.empty()) {
    BlockId block = stack.back();
    stack.pop_back();
    for (BlockId next : dominance.getSuccessors(block)) {
      if (next >= seen.size() || seen[next])
        continue;
      seen[next] = true;
      First event = firstEvent(next, kNone);
      if (event == First::Read)
        return true;
      if (event == First::Nothing)
        stack.push_back(next);
    }
  }
  return false;
}

Judgement Detector::judgeCopied(uint32_t access) {
  const MemoryRoots &memory = getMemory();
  const Provenance &provenance = getProvenance();
  const AccessInfo &info = memory.getAccesses()[access];
  Judgement reach =
      judgeReach(provenance.getWriteReach(access), "what it copies");
  if (!reach.isProved())
    return reach;
  switch (SharedContents(*this).isRead(access)) {
  case Tristate::No:
    return Judgement::nearMiss("is not used: nothing reads what it fills");
  case Tristate::Unknown:
    return Judgement::undecided(
        "may not be used: nothing reads the first bytes that it fills, and how "
        "many it brings is not known",
        "the box of the tensor map, or reads from where the copy begins");
  case Tristate::Yes:
    break;
  }
  // The same memory may be filled by ordinary stores of the same input; then
  // it is not known which of the two the readers see.
  const KernelIndex &index = getIndex();
  const Dominance &dominance = kernel.getDominance();
  BlockId block = index.getBlockOf(info.op);
  llvm::SmallVector<OpId, 2> others;
  bool isRead = false, otherRole = false, sameOffset = false;
  llvm::SmallVector<OpId, 8> readers, stores;
  for (ObjectId object : memory.getObjectsOf(access)) {
    for (uint32_t i : memory.getAccessesTo(object)) {
      const AccessInfo &other = memory.getAccesses()[i];
      if (areDisjoint(*this, info, other))
        continue;
      if (!other.access.read) {
        auto store = llvm::dyn_cast<kern::StoreOp>(index.getOp(other.op));
        if (store && index.getGuard(other.op) == kNone)
          stores.push_back(other.op);
        continue;
      }
      // Other roles read without the copy ever leading to them; only a reader
      // that always comes first sees nothing of it.
      BlockId there = index.getBlockOf(other.op);
      bool before =
          there == block ? other.op < info.op : dominance.reaches(there, block);
      bool after = (there == block && other.op > info.op) ||
                   dominance.reaches(block, there);
      isRead |= after || !before;
      sameOffset = sameOffset || haveSameLaunchPart(*this, info, other);
      otherRole |= !after && !before;
      readers.push_back(other.op);
    }
    for (uint32_t i : getPlainStores(object))
      if (!areDisjoint(*this, info, memory.getAccesses()[i]))
        others.push_back(memory.getAccesses()[i].op);
  }
  if (readers.empty())
    return Judgement::nearMiss("is not used: nothing reads what it fills");
  if (!isRead)
    return Judgement::nearMiss(
        "fills memory that is only read before the copy is issued");
  if (!sameOffset)
    return Judgement::undecided(
        "fills memory at a run-time offset at which nothing is known to "
        "read: " +
            describe(readers) + " reads the same array at another offset",
        "one expression for the offset of a part, where it is filled and where "
        "it is read, or the values of the launch parameters",
        readers);
  if (!others.empty())
    return Judgement::undecided(
        "may not be what is read: " + describe(others) +
            " stores input data to the same memory through registers",
        "addresses in a form that can be told apart, or separate arrays",
        others);
  if (!otherRole && !stores.empty() &&
      !isReadBefore(kernel, info.op, stores, readers))
    return Judgement::undecided(
        "may be overwritten before it is read: " + describe(stores) +
            " stores to the same memory on every way from the copy to a reader",
        "addresses in a form that can be told apart, or separate arrays",
        stores);
  return Judgement::proved();
}

llvm::ArrayRef<uint32_t> Detector::getPlainStores(ObjectId object) {
  auto [it, isNew] = plainStores.try_emplace(object);
  if (!isNew)
    return it->second;
  const MemoryRoots &memory = getMemory();
  for (uint32_t i : memory.getAccessesTo(object)) {
    const AccessInfo &other = memory.getAccesses()[i];
    if (!other.access.write || other.access.async)
      continue;
    auto store = llvm::dyn_cast<kern::StoreOp>(getIndex().getOp(other.op));
    if (!store)
      continue;
    Terms terms;
    for (mlir::Value value : store.getValues())
      terms = terms | getProvenance().getTerms(getIndex().getId(value));
    if (terms.isPlain())
      it->second.push_back(i);
  }
  return it->second;
}
