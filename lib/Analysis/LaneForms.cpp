// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms of what operations compute. LaneOperations.cpp has comparisons and
// arithmetic, LaneArithmetic.cpp calculates with forms, and LaneChoices.cpp has
// the values that control flow chooses.

#include "d2k/Analysis/LaneForms.h"

#include "ConstantFolding.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

namespace {
/// Deeper expressions are not followed: no address is so long.
constexpr unsigned kMaxDepth = 400;
/// Values that a counter consists of at most.
constexpr size_t kMaxCounter = 32;
/// Numbers of threads worked out before everything else is given up: for each
/// operation of the kernel, and for small ones, so that no input takes longer
/// than a second a megabyte.
constexpr uint64_t kMaxWorkOfOp = 12'000, kLeastMaxWork = 100'000'000;
/// What looking at a value costs at least, in such numbers.
constexpr uint64_t kWorkOfValue = 128;
constexpr unsigned kWarp = 32;
/// Addresses in shared memory are below this.
constexpr int64_t kSharedEnd = int64_t(1) << 18;
} // namespace

LaneForms::LaneForms(const KernelIndex &index, const ConstantValues &constants,
                     const Dominance &dominance, const LoopNest &loops,
                     const MemoryRoots &memory, const Uniformity &uniformity,
                     BlockShape shape, std::optional<unsigned> iteration)
    : index(index), constants(constants), dominance(dominance), loops(loops),
      memory(memory), uniformity(uniformity), shape(shape),
      iteration(iteration) {
  numThreads =
      std::min(1024u, (shape.getThreads() + kWarp - 1) / kWarp * kWarp);
  forms.resize(index.getNumValues());
  asked.assign(index.getNumValues(), kNone);
  maxWork = std::max(kLeastMaxWork, kMaxWorkOfOp * index.getNumOps());
}

LaneForms::LaneForms(const LaneForms &base, unsigned iteration)
    : LaneForms(base.index, base.constants, base.dominance, base.loops,
                base.memory, base.uniformity, base.shape, iteration) {
  work = base.work;
}

LaneForms::LaneForms(const LaneForms &base, std::pair<ValueId, bool> assumed,
                     const llvm::BitVector &dependents)
    : LaneForms(base) {
  assert(depth == 0 && "copied while a form is worked out");
  this->assumed = assumed;
  activeIn.clear();
  numActive.clear();
  for (unsigned value : dependents.set_bits())
    forms[value].reset();
}

llvm::BitVector LaneForms::getDependents(ValueId predicate) const {
  if (!choices) {
    auto all = std::make_shared<Choices>();
    all->passedTo.resize(index.getNumValues());
    for (ValueId value = 0; value < index.getNumValues(); ++value)
      if (index.getDef(value) == kNone)
        for (const KernelIndex::Incoming &in : index.getIncoming(value))
          if (in.value != kNone)
            all->passedTo[in.value].push_back(value);
    for (OpId op = 0; op < index.getNumOps(); ++op) {
      bool holds = true;
      ValueId by = index.getGuard(op);
      if (isa<kern::SelectOp>(index.getOp(op)))
        by = index.getOperands(op)[0];
      if (by == kNone || (by = stripNot(by, holds)) == kNone)
        continue;
      for (uint32_t i = 0; i < index.getNumResults(op); ++i)
        all->chosenBy[by].push_back(index.getFirstResult(op) + i);
    }
    choices = std::move(all);
  }
  llvm::BitVector dependents(index.getNumValues());
  std::vector<ValueId> pending;
  auto visit = [&](ValueId value) {
    if (dependents[value])
      return;
    dependents.set(value);
    pending.push_back(value);
  };
  if (auto chosen = choices->chosenBy.find(predicate);
      chosen != choices->chosenBy.end())
    llvm::for_each(chosen->second, visit);
  while (!pending.empty()) {
    ValueId value = pending.back();
    pending.pop_back();
    for (OpId user : index.getUsers(value))
      for (uint32_t i = 0; i < index.getNumResults(user); ++i)
        visit(index.getFirstResult(user) + i);
    llvm::for_each(choices->passedTo[value], visit);
  }
  return dependents;
}

bool LaneForms::isDependent(OpId op, ValueId value,
                            const llvm::BitVector &dependents) const {
  if (dependents[value])
    return true;
  if (ValueId guard = index.getGuard(op); guard != kNone && dependents[guard])
    return true;
  for (BlockId block = dominance.getImmediateDominator(index.getBlockOf(op));
       block != kNone; block = dominance.getImmediateDominator(block))
    if (auto branch = dyn_cast<kern::CondBranchOp>(
            index.getOp(index.getTerminator(block))))
      if (dependents[index.getId(branch.getCondition())])
        return true;
  return false;
}

const LaneForm &LaneForms::get(ValueId value) {
  if (forms[value])
    return *forms[value];
  if (depth >= kMaxDepth || isExhausted() || asked[value] != kNone) {
    // Not kept: asked for on its own, it may be known.
    lowestCut = std::min(lowestCut, asked[value] == kNone ? 0u : asked[value]);
    cut = unknown(index.getDef(value));
    return cut;
  }
  uint32_t own = depth++, lowestBefore = std::exchange(lowestCut, kNone);
  size_t tentativeBefore = tentative.size();
  asked[value] = own;
  LaneForm form = compute(value);
  asked[value] = kNone;
  --depth;
  *work += form.terms.empty() && form.rest.isSame() ? kWorkOfValue
                                                    : kWorkOfValue + numThreads;
  bool poor = !form.known || llvm::any_of(form.terms, [&](const auto &term) {
    return symbols[term.first].kind == LaneSymbolKind::Other;
  });
  forms[value] = std::make_shared<const LaneForm>(std::move(form));
  made.push_back(value);
  if (lowestCut < own) {
    // Something that asked for this value was cut off in it.
    if (poor)
      tentative.push_back(value);
  } else {
    // What is made of this value asks anew from here on, and finds it known.
    for (ValueId other : llvm::ArrayRef(tentative).drop_front(tentativeBefore))
      if (other != value)
        forms[other].reset();
    tentative.resize(tentativeBefore);
  }
  lowestCut = std::min(lowestBefore, lowestCut < own ? lowestCut : kNone);
  if (depth == 0)
    made.clear();
  return *forms[value];
}

ValueId LaneForms::stripNot(ValueId predicate, bool &holds) const {
  while (predicate != kNone && index.getDef(predicate) != kNone) {
    OpId def = index.getDef(predicate);
    auto arith = dyn_cast<kern::ArithOp>(index.getOp(def));
    if (!arith || arith.getKind() != ArithKind::Not ||
        arith.getType() != kern::ElementType::Pred)
      break;
    holds = !holds;
    predicate = index.getOperands(def)[0];
  }
  return predicate;
}

std::optional<std::pair<ValueId, bool>> LaneForms::getGuard(OpId op) const {
  ValueId guard = index.getGuard(op);
  bool holds = !index.isGuardNegated(op);
  auto copy = dyn_cast<kern::AsyncCopyOp>(index.getOp(op));
  if (guard == kNone && copy && copy.getIgnoreSrc()) {
    guard = index.getId(copy.getIgnoreSrc());
    holds = false;
  }
  if (guard == kNone)
    return std::nullopt;
  guard = stripNot(guard, holds);
  return std::pair(guard, holds);
}

/// Leaves those threads for which `form` is `outcome`, as far as it is known.
static void keepWhere(const LaneForm &form, bool outcome,
                      std::vector<bool> &active) {
  if (form.isNumber())
    for (unsigned t = 0; t < active.size(); ++t)
      active[t] = active[t] && ((form.rest[t] & 1) != 0) == outcome;
}

const std::vector<bool> &LaneForms::getActiveIn(BlockId block) {
  // From the closest block above that is known, downwards.
  llvm::SmallVector<BlockId, 16> open;
  while (block != kNone && !activeIn.contains(block)) {
    open.push_back(block);
    block = dominance.getImmediateDominator(block);
  }
  while (!open.empty()) {
    std::vector<bool> active;
    if (block == kNone) {
      active.assign(numThreads, true);
      for (unsigned t = shape.getThreads(); t < numThreads; ++t)
        active[t] = false;
    } else {
      active = activeIn[block];
    }
    BlockId above = block;
    block = open.pop_back_val();
    if (above != kNone && dominance.getPredecessors(block).size() == 1) {
      auto branch =
          dyn_cast<kern::CondBranchOp>(index.getOp(index.getTerminator(above)));
      llvm::ArrayRef<BlockId> next = index.getSuccessors(above);
      if (branch && next.size() == 2 && next[0] != next[1])
        for (unsigned side : {0u, 1u})
          if (next[side] == block)
            keepWhere(get(index.getId(branch.getCondition())), side == 0,
                      active);
    }
    activeIn[block] = std::move(active);
  }
  return activeIn[block];
}

std::vector<bool> LaneForms::getActive(OpId op) {
  std::vector<bool> active = getActiveIn(index.getBlockOf(op));
  if (ValueId guard = index.getGuard(op); guard != kNone)
    keepWhere(get(guard), !index.isGuardNegated(op), active);
  return active;
}

unsigned LaneForms::countActive(OpId op) {
  ValueId guard = index.getGuard(op);
  std::pair<BlockId, uint64_t> key(
      index.getBlockOf(op),
      uint64_t(guard) << 1 | (guard != kNone && index.isGuardNegated(op)));
  if (auto it = numActive.find(key); it != numActive.end())
    return it->second;
  return numActive[key] = llvm::count(getActive(op), true);
}

/// Whether loops only count \p value upwards, from constants that are not
/// negative, by constants: a number of steps that goes on from tile to tile.
static bool isCounter(const KernelIndex &index, const ConstantValues &constants,
                      ValueId value) {
  llvm::SmallVector<ValueId, 8> pending{value}, seen;
  bool counts = false;
  while (!pending.empty()) {
    ValueId at = pending.pop_back_val();
    if (llvm::is_contained(seen, at))
      continue;
    if (seen.size() == kMaxCounter)
      return false;
    seen.push_back(at);
    if (std::optional<int64_t> number = constants.getSigned(at)) {
      if (*number < 0)
        return false;
      continue;
    }
    OpId def = index.getDef(at);
    if (def == kNone) {
      llvm::ArrayRef<KernelIndex::Incoming> ways = index.getIncoming(at);
      if (ways.empty())
        return false;
      for (const KernelIndex::Incoming &in : ways)
        if (constants.isExecutableEdge(in.edge)) {
          if (in.value == kNone)
            return false;
          pending.push_back(in.value);
        }
      continue;
    }
    auto sum = dyn_cast<kern::ArithOp>(index.getOp(def));
    if (!sum || sum.getKind() != ArithKind::Add || index.getGuard(def) != kNone)
      return false;
    for (ValueId term : index.getOperands(def)) {
      std::optional<int64_t> number = constants.getSigned(term);
      counts |= number && *number > 0;
      pending.push_back(term);
    }
  }
  return counts;
}

LaneForm LaneForms::atom(ValueId value) {
  if (uniformity.get(value) == Agreement::Thread)
    return unknown(index.getDef(value));
  Key key{0x500, int64_t(value)};
  auto [it, isNew] = symbolOf.try_emplace(key, 0);
  if (isNew) {
    LaneSymbol symbol;
    symbol.range = constants.getRange(value);
    if (symbol.range.full && isCounter(index, constants, value))
      symbol.range = Range::of(0, INT32_MAX);
    symbol.value = value;
    it->second = makeSymbol(std::move(symbol));
  }
  return ofSymbol(it->second);
}

LaneForm LaneForms::compute(ValueId value) {
  if (std::optional<int64_t> constant = constants.getSigned(value))
    return ofNumber(*constant);
  return index.getDef(value) == kNone ? computeArg(value) : computeOp(value);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LaneForm LaneForms::computeSpecial(StringRef reg, ValueId value) {
  auto each = [&](auto fn) {
    std::vector<int64_t> numbers(numThreads);
    for (unsigned t = 0; t < numThreads; ++t)
      numbers[t] = fn(t);
    LaneForm form;
    form.rest = ThreadNumbers(std::move(numbers));
    return form;
  };
  if (reg == "tid.x")
    return each([&](unsigned t) { return t % shape.x; });
  if (reg == "tid.y")
    return each([&](unsigned t) { return t / shape.x % shape.y; });
  if (reg == "tid.z")
    return each([&](unsigned t) { return t / shape.x / shape.y % shape.z; });
  if (reg == "laneid")
    return each([&](unsigned t) { return t % kWarp; });
  if (reg == "warpid")
    return each([&](unsigned t) { return t / kWarp; });
  if (shape.known && reg.starts_with("ntid."))
    return ofNumber(reg == "ntid.x"   ? shape.x
                    : reg == "ntid.y" ? shape.y
                                      : shape.z);
  LaneForm form = atom(value);
  if (!form.known)
    return form;
  if (reg == "cluster_ctarank")
    if (auto extent = index.getFunc().getDirective3("kern.reqnctapercluster"))
      symbols[form.terms[0].first].range = Range::of(
          0,
          std::max<int64_t>((*extent)[0] * (*extent)[1] * (*extent)[2] - 1, 0));
  // One symbol for all reads of a register.
  Key key{0x600};
  key.insert(key.end(), reg.begin(), reg.end());
  auto [it, isNew] = symbolOf.try_emplace(key, form.terms[0].first);
  LaneSymbol &symbol = symbols[it->second];
  if (reg.starts_with("ctaid") || reg.starts_with("cluster_cta"))
    symbol.kind = LaneSymbolKind::Index;
  else if (reg.starts_with("n") || reg.ends_with("_smem_size"))
    symbol.kind = LaneSymbolKind::Launch;
  return ofSymbol(it->second);
}

SymbolId LaneForms::getBaseOf(RootId root, ValueId value) {
  auto [it, isNew] = symbolOf.try_emplace(Key{0x700, root}, 0);
  if (isNew) {
    LaneSymbol symbol;
    symbol.kind = LaneSymbolKind::Base;
    symbol.root = root;
    // cudaMalloc aligns to 256 bytes; what is inside a buffer to less. What is
    // no access's address may be a number.
    symbol.alignment =
        llvm::any_of(memory.getAccesses(),
                     [&](const AccessInfo &info) {
                       return llvm::is_contained(info.roots, root);
                     })
            ? 16
            : 1;
    symbol.value = value;
    it->second = makeSymbol(std::move(symbol));
  }
  return it->second;
}

LaneForm LaneForms::computeLoad(kern::LoadOp load, ValueId value) {
  // One symbol for all reads of a pointer or of an allocation.
  llvm::ArrayRef<RootId> roots = memory.getRoots(value);
  if (roots.size() == 1) {
    const Root &root = memory.getRoot(roots[0]);
    bool whole = root.kind == Root::Kind::TensorMemory ||
                 (root.kind == Root::Kind::Pointer && root.offset >= 0);
    if (whole)
      return ofSymbol(getBaseOf(roots[0], value));
  }
  if (load.getSpace() == kern::Space::Param) {
    LaneForm base = get(index.getId(load.getBase()));
    ValueId first = index.getFirstResult(index.getDef(value));
    LaneForm place = ofNumber(int64_t(load.getOffset()) * 8 + value - first);
    LaneForm type = ofNumber(int64_t(load.getType()));
    const LaneForm *of[] = {&base, &place, &type};
    LaneForm form =
        function(0x800, of, index.getDef(value), constants.getRange(value));
    if (form.known && symbols[form.terms[0].first].value == kNone)
      symbols[form.terms[0].first].value = value;
    return form;
  }
  return atom(value);
}

LaneForm LaneForms::computeShuffle(kern::ShuffleOp shuffle, OpId op,
                                   ValueId value) {
  llvm::ArrayRef<ValueId> in = index.getOperands(op);
  if (value != index.getFirstResult(op) || in.size() < 2)
    return atom(value);
  LaneForm source = get(in[0]), lane = get(in[1]);
  if (isSameInWarps(source))
    return source;
  if (!source.known || !lane.isConstant() ||
      shuffle.getMode() != kern::ShuffleMode::Idx)
    return atom(value);
  unsigned from = unsigned(lane.rest.getSame()) % kWarp;
  auto pick = [&](const ThreadNumbers &numbers) {
    std::vector<int64_t> result(numThreads);
    for (unsigned t = 0; t < numThreads; ++t)
      result[t] = numbers[t / kWarp * kWarp + from];
    return ThreadNumbers(std::move(result));
  };
  LaneForm form;
  form.inside = source.inside;
  form.rest = pick(source.rest);
  for (const auto &[symbol, by] : source.terms)
    if (ThreadNumbers picked = pick(by); !picked.isZero())
      form.terms.push_back({symbol, picked});
  return form;
}

LaneForm LaneForms::computeOp(ValueId value) {
  OpId def = index.getDef(value);
  Operation *op = index.getOp(def);
  llvm::ArrayRef<ValueId> in = index.getOperands(def);
  uint32_t number = value - index.getFirstResult(def);

  auto unguarded = [&]() -> LaneForm {
    if (auto address = dyn_cast<kern::AddressOfOp>(op)) {
      llvm::ArrayRef<RootId> roots = memory.getRoots(value);
      if (roots.size() != 1)
        return atom(value);
      auto [it, isNew] = symbolOf.try_emplace(Key{0x700, roots[0]}, 0);
      if (isNew) {
        LaneSymbol symbol;
        symbol.kind = LaneSymbolKind::Base;
        symbol.root = roots[0];
        symbol.value = value;
        if (memory.getRoot(roots[0]).space == kern::Space::Shared)
          symbol.range = Range::of(0, kSharedEnd - 1);
        if (auto object = dyn_cast_or_null<kern::ObjectOp>(
                memory.getRoot(roots[0]).symbol))
          // The start of shared memory is a multiple of 1024; extern arrays
          // begin at a multiple of 16 at least.
          symbol.alignment = std::max<uint64_t>(
              llvm::bit_floor(
                  uint64_t(std::max<int64_t>(object.getAlignment(), 1))),
              object.getSpace() == kern::Space::Shared && !object.getSize()
                  ? 16
                  : 1);
        it->second = makeSymbol(std::move(symbol));
      }
      return ofSymbol(it->second);
    }
    if (isa<kern::UndefOp>(op))
      return unknown(def);
    if (isa<kern::SpaceCastOp, kern::MapSharedOp>(op))
      return get(in[0]);
    if (auto special = dyn_cast<kern::SpecialOp>(op))
      return computeSpecial(special.getReg(), value);
    if (auto load = dyn_cast<kern::LoadOp>(op))
      return computeLoad(load, value);
    if (auto shuffle = dyn_cast<kern::ShuffleOp>(op))
      return computeShuffle(shuffle, def, value);
    if (auto convert = dyn_cast<kern::ConvertOp>(op)) {
      if (in.size() != 1 || kern::isFloat(convert.getFrom()) ||
          kern::isFloat(convert.getTo()))
        return atom(value);
      LaneForm from = get(in[0]);
      if (!from.isNumber())
        return from;
      unsigned width = getWidth(index.getValue(value).getType());
      std::vector<int64_t> numbers;
      unsigned threads = from.rest.isSame() ? 1 : numThreads;
      numbers.reserve(threads);
      NumberConversion conversion(convert);
      for (unsigned t = 0; t < threads; ++t) {
        std::optional<uint64_t> bits =
            foldConvert(conversion, uint64_t(from.rest[t]), width);
        if (!bits)
          return atom(value);
        numbers.push_back(asSigned(*bits, width));
      }
      from.rest = ThreadNumbers(std::move(numbers));
      return from;
    }
    if (auto pack = dyn_cast<kern::PackOp>(op)) {
      // The low half counts: addresses are compared modulo 2^32 at least.
      LaneForm low = get(in[0]);
      if (!low.known || in.size() != 2)
        return low;
      LaneForm high = get(in[1]);
      unsigned width = getWidth(index.getValue(in[0]).getType());
      if (!high.isNumber() || width >= 64)
        return low;
      // The upper half of a descriptor.
      if (!low.isNumber())
        return high.isConstant() && width == 32
                   ? add(low, multiply(high, int64_t(1) << width))
                   : low;
      std::vector<int64_t> numbers;
      bool same = low.rest.isSame() && high.rest.isSame();
      for (unsigned t = 0; t < (same ? 1 : numThreads); ++t)
        numbers.push_back(int64_t(mask(uint64_t(low.rest[t]), width) |
                                  uint64_t(high.rest[t]) << width));
      low.rest = ThreadNumbers(std::move(numbers));
      return low;
    }
    if (isa<kern::UnpackOp>(op)) {
      LaneForm from = get(in[0]);
      unsigned width = getWidth(index.getValue(value).getType());
      if (!from.known || width == 0 || width >= 64)
        return from;
      if (number != 0 && !from.isNumber())
        return shiftRight(from, width * number, true, 64, def);
      if (!from.isNumber())
        return from;
      std::vector<int64_t> numbers;
      for (unsigned t = 0; t < (from.rest.isSame() ? 1 : numThreads); ++t)
        numbers.push_back(
            asSigned(uint64_t(from.rest[t] >> (width * number)), width));
      from.rest = ThreadNumbers(std::move(numbers));
      return from;
    }
    if (isa<kern::SelectOp>(op)) {
      if (assumed) {
        bool holds = true;
        if (stripNot(in[0], holds) == assumed->first)
          return get(in[holds == assumed->second ? 1 : 2]);
      }
      LaneForm condition = get(in[0]), a = get(in[1]), b = get(in[2]);
      bool wide = getWidth(index.getValue(in[0]).getType()) > 1;
      auto undefined = [&](ValueId v) {
        OpId d = index.getDef(v);
        return d != kNone && isa<kern::UndefOp>(index.getOp(d));
      };
      if (undefined(in[1]) || undefined(in[2]))
        return undefined(in[1]) ? b : a;
      return choose(wide ? nullptr : &condition, a, b, value, def,
                    uniformity.get(in[0]) != Agreement::Thread);
    }
    if (auto compare = dyn_cast<kern::CompareOp>(op))
      return computeCompare(compare, def, value);
    if (auto arith = dyn_cast<kern::ArithOp>(op))
      return computeArith(arith, def, value);
    return atom(value);
  };

  ValueId guard = index.getGuard(def);
  if (guard == kNone)
    return unguarded();
  // What is used under the same guard is the new value; the old one is kept by
  // lanes that do not use it, or that are known by number.
  if (assumed) {
    bool holds = !index.isGuardNegated(def);
    if (stripNot(guard, holds) == assumed->first)
      return holds == assumed->second
                 ? unguarded()
                 : get(in[in.size() - index.getNumResults(def) + number]);
  }
  LaneForm form = unguarded();
  LaneForm condition = get(guard);
  bool byRing = condition.known && !condition.terms.empty() &&
                llvm::all_of(condition.terms, [&](const auto &term) {
                  return !symbols[term.first].values.empty();
                });
  if (!condition.isNumber() && !byRing)
    return form;
  ValueId old = in[in.size() - index.getNumResults(def) + number];
  LaneForm kept = get(old);
  if (!kept.known)
    return form;
  return index.isGuardNegated(def) ? choose(&condition, kept, form, value, def)
                                   : choose(&condition, form, kept, value, def);
}
