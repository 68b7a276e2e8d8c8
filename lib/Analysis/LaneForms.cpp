// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms of what operations compute. LaneArithmetic.cpp calculates, and
// LaneChoices.cpp has the values that control flow chooses.

#include "d2k/Analysis/LaneForms.h"

#include "ConstantFolding.h"

#include "llvm/Support/MathExtras.h"

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

LaneForm LaneForms::computeCompare(kern::CompareOp compare, OpId op,
                                   ValueId value) {
  llvm::ArrayRef<ValueId> in = index.getOperands(op);
  size_t count = compare.getInputs().size();
  if (compare.getResultType() || count < 2 || count > 3 ||
      (count == 3) != compare.getCombine().has_value() ||
      kern::isFloat(compare.getType()))
    return atom(value);
  bool second = value != index.getFirstResult(op);
  LaneForm a = get(in[0]), b = get(in[1]);
  LaneForm c = count == 3 ? get(in[2]) : ofNumber(1);
  IntegerComparison comparison(compare);
  std::optional<kern::BoolOp> combine = compare.getCombine();
  bool negated = compare.getCombineNegated();
  auto decide = [&](llvm::ArrayRef<int64_t> x) -> std::optional<int64_t> {
    std::optional<bool> outcome =
        foldCompare(comparison, uint64_t(x[0]), uint64_t(x[1]));
    if (!outcome)
      return std::nullopt;
    bool result = *outcome != second;
    if (!combine)
      return result;
    bool other = (x[2] & 1) != negated;
    switch (*combine) {
    case kern::BoolOp::And:
      return result && other;
    case kern::BoolOp::Or:
      return result || other;
    case kern::BoolOp::Xor:
      return result != other;
    }
    return std::nullopt;
  };
  if (a.isNumber() && b.isNumber() && c.isNumber()) {
    std::vector<int64_t> numbers;
    bool same = a.rest.isSame() && b.rest.isSame() && c.rest.isSame();
    numbers.reserve(same ? 1 : numThreads);
    for (unsigned t = 0; t < (same ? 1 : numThreads); ++t) {
      std::optional<int64_t> outcome =
          decide({a.rest[t], b.rest[t], c.rest[t]});
      if (!outcome)
        return atom(value);
      numbers.push_back(*outcome);
    }
    LaneForm form;
    form.rest = ThreadNumbers(std::move(numbers));
    return form;
  }
  const LaneForm *of[] = {&a, &b, &c};
  if (std::optional<LaneForm> table = tabulate(of, decide))
    return *table;
  if (count == 2 && a.known && b.known) {
    // Sums of symbols are compared by their distance.
    std::optional<bool> decided =
        compareRanges(compare, getRange(add(a, b, -1)), Range::of(0, 0));
    if (decided)
      return ofNumber(*decided != second);
  }
  return atom(value);
}

/// What `foldArith` leaves out: high halves, funnel shifts, fields.
static std::optional<uint64_t>
foldMore(kern::ArithOp arith, llvm::ArrayRef<uint64_t> in, unsigned width) {
  unsigned bits = kern::getBits(arith.getType());
  bool isSigned = isSignedType(arith.getType());
  auto wide = [&](uint64_t v) -> __int128 {
    return isSigned ? __int128(asSigned(mask(v, bits), bits))
                    : __int128(mask(v, bits));
  };
  switch (arith.getKind()) {
  case ArithKind::MulHi:
    if (in.size() < 2 || bits > 64)
      return std::nullopt;
    return mask(uint64_t(wide(in[0]) * wide(in[1]) >> bits), bits);
  case ArithKind::MadHi:
    if (in.size() < 3 || bits > 64)
      return std::nullopt;
    return mask(uint64_t(wide(in[0]) * wide(in[1]) >> bits) + in[2], bits);
  case ArithKind::ShfLeft:
  case ArithKind::ShfRight: {
    if (in.size() < 3)
      return std::nullopt;
    uint64_t both = mask(in[0], 32) | in[1] << 32;
    unsigned by = in[2] & 31;
    return arith.getKind() == ArithKind::ShfLeft ? mask(both << by >> 32, 32)
                                                 : mask(both >> by, 32);
  }
  case ArithKind::Bfe: {
    if (in.size() < 3)
      return std::nullopt;
    unsigned position = in[1] & 0xff, length = in[2] & 0xff;
    if (length == 0 || position >= bits)
      return std::nullopt;
    length = std::min(length, bits - position);
    uint64_t field = mask(mask(in[0], bits) >> position, length);
    return isSigned ? mask(uint64_t(asSigned(field, length)), width) : field;
  }
  case ArithKind::Bfi: {
    if (in.size() < 4)
      return std::nullopt;
    unsigned position = in[2] & 0xff, length = in[3] & 0xff;
    if (position >= bits)
      return mask(in[1], bits);
    uint64_t field = mask(~uint64_t(0), std::min(length, bits - position))
                     << position;
    return mask((in[1] & ~field) | (in[0] << position & field), bits);
  }
  case ArithKind::Prmt: {
    if (in.size() < 3)
      return std::nullopt;
    uint64_t both = mask(in[0], 32) | in[1] << 32, result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned select = in[2] >> (4 * i) & 15;
      uint64_t byte = both >> (8 * (select & 7)) & 0xff;
      if (select & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
  case ArithKind::Szext: {
    if (in.size() < 2 || in[1] == 0 || in[1] > 32)
      return std::nullopt;
    uint64_t low = mask(in[0], in[1]);
    return isSigned ? mask(uint64_t(asSigned(low, in[1])), 32) : low;
  }
  case ArithKind::Abs:
    return mask(uint64_t(std::abs(asSigned(in[0], bits))), bits);
  case ArithKind::Brev: {
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; ++i)
      result |= (in[0] >> i & 1) << (bits - 1 - i);
    return result;
  }
  default:
    return std::nullopt;
  }
}

LaneForm LaneForms::computeArith(kern::ArithOp arith, OpId op, ValueId value) {
  llvm::ArrayRef<ValueId> operands = index.getOperands(op);
  size_t count = arith.getInputs().size();
  uint32_t result = value - index.getFirstResult(op);
  unsigned width = getWidth(index.getValue(value).getType());
  if (kern::isFloat(arith.getType()) || result != 0 || count == 0)
    return atom(value);
  ArithKind kind = arith.getKind();
  // A carry says nothing about the low half of an address.
  if (kind == ArithKind::AddCarry || kind == ArithKind::SubCarry)
    count = std::min<size_t>(count, 2);
  llvm::SmallVector<LaneForm, 4> in;
  bool numbers = true, known = true, same = true;
  for (size_t i = 0; i < count; ++i) {
    in.push_back(get(operands[i]));
    known &= in.back().known;
    numbers &= in.back().isNumber();
    same &= in.back().rest.isSame();
  }
  bool isSigned = isSignedType(arith.getType());
  unsigned bits = kern::getBits(arith.getType());
  IntegerFunction integers(arith);
  llvm::SmallVector<unsigned, 4> widths;
  for (size_t i = 0; i < count; ++i)
    widths.push_back(getWidth(index.getValue(operands[i]).getType()));
  auto foldBits = [&](llvm::ArrayRef<uint64_t> x) -> std::optional<int64_t> {
    std::optional<uint64_t> y;
    if (kind == ArithKind::AddCarry)
      y = mask(x[0] + x[1], bits);
    else if (kind == ArithKind::SubCarry)
      y = mask(x[0] - x[1], bits);
    else if (!(y = foldArith(integers, x)))
      y = foldMore(arith, x, width);
    return y ? std::optional(asSigned(mask(*y, width), width)) : std::nullopt;
  };
  auto fold = [&](llvm::ArrayRef<int64_t> v) {
    llvm::SmallVector<uint64_t, 4> x;
    for (size_t i = 0; i < v.size(); ++i)
      x.push_back(mask(uint64_t(v[i]), widths[i]));
    return foldBits(x);
  };
  auto foldPredicate =
      [&](llvm::ArrayRef<int64_t> v) -> std::optional<int64_t> {
    bool a = v[0] & 1, b = v.size() > 1 && (v[1] & 1);
    switch (kind) {
    case ArithKind::Not:
      return !a;
    case ArithKind::And:
      return a && b;
    case ArithKind::Or:
      return a || b;
    case ArithKind::Xor:
      return a != b;
    default:
      return std::nullopt;
    }
  };
  llvm::SmallVector<const LaneForm *, 4> operandsOf;
  for (const LaneForm &f : in)
    operandsOf.push_back(&f);

  if (numbers && arith.getType() != kern::ElementType::Pred) {
    unsigned threads = same ? 1 : numThreads;
    std::vector<int64_t> out(threads);
    llvm::SmallVector<OperandNumbers, 4> rests;
    for (size_t i = 0; i < count; ++i)
      rests.push_back(
          {in[i].rest.data(), in[i].rest.isSame() ? 0u : 1u, widths[i]});
    IntegerFunction each = integers;
    if (kind == ArithKind::AddCarry || kind == ArithKind::SubCarry) {
      each.kind = kind == ArithKind::AddCarry ? ArithKind::Add : ArithKind::Sub;
      each.bits = bits;
    }
    bool whole = foldArithEach(each, rests, width, out);
    if (!whole) {
      llvm::SmallVector<uint64_t, 4> x(count);
      unsigned t = 0;
      for (; t < threads; ++t) {
        for (size_t i = 0; i < count; ++i)
          x[i] = mask(uint64_t(in[i].rest[t]), widths[i]);
        std::optional<int64_t> y = foldBits(x);
        if (!y)
          break;
        out[t] = *y;
      }
      whole = t == threads;
    }
    *work += threads;
    if (whole) {
      LaneForm form;
      for (const LaneForm &f : in)
        form.inside |= f.inside;
      form.rest = ThreadNumbers(std::move(out));
      return form;
    }
  }
  auto constant = [&](size_t i) -> std::optional<int64_t> {
    if (i < count && in[i].isConstant())
      return in[i].rest.getSame();
    return std::nullopt;
  };
  if (arith.getType() == kern::ElementType::Pred) {
    if (!numbers) {
      std::optional<LaneForm> table = tabulate(operandsOf, foldPredicate);
      return table ? *table : atom(value);
    }
    std::vector<int64_t> out;
    llvm::SmallVector<int64_t, 4> x(count);
    for (unsigned t = 0; t < (same ? 1 : numThreads); ++t) {
      for (size_t i = 0; i < count; ++i)
        x[i] = in[i].rest[t];
      std::optional<int64_t> y = foldPredicate(x);
      if (!y)
        return atom(value);
      out.push_back(*y);
    }
    LaneForm form;
    form.rest = ThreadNumbers(std::move(out));
    return form;
  }
  switch (kind) {
  case ArithKind::Add:
  case ArithKind::AddCarry:
  case ArithKind::Sub:
  case ArithKind::SubCarry:
  case ArithKind::Neg:
  case ArithKind::Not:
  case ArithKind::Shl:
  case ArithKind::MulLo:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24:
  case ArithKind::MadCarryLo:
    break;
  default:
    if (std::optional<LaneForm> table = tabulate(operandsOf, fold))
      return *table;
  }
  // The smaller of a row and the last row: the row.
  if ((kind == ArithKind::Min || kind == ArithKind::Max) && count == 2)
    return choose(nullptr, in[0], in[1], value, op);
  if (!known) {
    // Lanes may agree even where the value cannot be followed.
    LaneForm form = atom(value);
    if (form.known)
      return form;
    for (const LaneForm &f : in)
      if (!f.known)
        return f;
  }
  switch (kind) {
  case ArithKind::Add:
  case ArithKind::AddCarry:
    return count >= 2 ? add(in[0], in[1]) : atom(value);
  case ArithKind::Sub:
  case ArithKind::SubCarry:
    return count >= 2 ? add(in[0], in[1], -1) : atom(value);
  case ArithKind::Neg:
    return multiply(in[0], -1);
  case ArithKind::Not:
    return add(ofNumber(-1), in[0], -1);
  case ArithKind::Shl:
    if (std::optional<int64_t> by = constant(1); by && *by >= 0 && *by < 40)
      return multiply(in[0], int64_t(1) << *by);
    break;
  case ArithKind::MulLo:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
    if (count >= 2) {
      // Division by a constant multiplies with a large unsigned number.
      for (LaneForm &f : in)
        if (!isSigned && f.isConstant() && bits < 64 && f.rest.getSame() < 0)
          f.rest = int64_t(mask(uint64_t(f.rest.getSame()), bits));
      return product(in[0], in[1], op);
    }
    break;
  case ArithKind::MulHi:
    if (count >= 2) {
      for (LaneForm &f : in)
        if (!isSigned && f.isConstant() && bits < 64 && f.rest.getSame() < 0)
          f.rest = int64_t(mask(uint64_t(f.rest.getSame()), bits));
      return shiftRight(product(in[0], in[1], op), bits, isSigned, 2 * bits,
                        op);
    }
    break;
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24:
  case ArithKind::MadCarryLo:
    if (count >= 3)
      return add(product(in[0], in[1], op), in[2]);
    break;
  case ArithKind::Shr:
    if (std::optional<int64_t> by = constant(1); by && *by >= 0)
      return shiftRight(in[0], unsigned(std::min<int64_t>(*by, bits)), isSigned,
                        bits, op);
    break;
  case ArithKind::ShfRight:
    if (std::optional<int64_t> by = constant(2); by)
      return shiftRight(in[0], unsigned(*by) & 31, false, 64, op);
    break;
  case ArithKind::ShfLeft:
    // The high word of a value shifted left: its sign word when by is small.
    if (std::optional<int64_t> by = constant(2);
        by && in[1].isConstant() && in[1].rest.isZero())
      return shiftRight(in[0], 32 - (unsigned(*by) & 31), false, 32, op);
    break;
  case ArithKind::And:
  case ArithKind::Or:
  case ArithKind::Xor:
  case ArithKind::Lop3: {
    std::optional<uint64_t> table;
    if (kind == ArithKind::Lop3) {
      std::optional<int64_t> t = constant(3);
      if (!t)
        break;
      table = uint64_t(*t);
    }
    std::optional<uint8_t> truth = getTruthTable(arith, table);
    if (!truth)
      break;
    llvm::SmallVector<const LaneForm *, 3> of;
    for (size_t i = 0; i < std::min<size_t>(count, 3); ++i)
      of.push_back(&in[i]);
    return bitwise(of, *truth, width, op);
  }
  case ArithKind::Bfe: {
    std::optional<int64_t> position = constant(1), length = constant(2);
    if (!position || !length || isSigned || *length >= 63)
      break;
    LaneForm shifted = shiftRight(in[0], unsigned(*position), false, bits, op);
    if (*position + *length >= int64_t(bits))
      return shifted;
    LaneForm field = ofNumber((int64_t(1) << *length) - 1);
    const LaneForm *of[] = {&shifted, &field};
    return bitwise(of, 0xc0, width, op);
  }
  case ArithKind::Bfi: {
    std::optional<int64_t> position = constant(2), length = constant(3);
    if (!position || !length || *length >= 63 || *position >= 40)
      break;
    LaneForm field = ofNumber((int64_t(1) << *length) - 1);
    const LaneForm *low[] = {&in[0], &field};
    LaneForm insert =
        multiply(bitwise(low, 0xc0, width, op), int64_t(1) << *position);
    LaneForm hole = ofNumber(~(field.rest.getSame() << *position));
    const LaneForm *rest[] = {&in[1], &hole};
    LaneForm around = bitwise(rest, 0xc0, width, op);
    return add(around, insert);
  }
  case ArithKind::Div:
  case ArithKind::Rem:
    if (std::optional<int64_t> by = constant(1);
        by && *by > 0 && (!isSigned || getRange(in[0]).isNonNegative()))
      return divide(in[0], *by, kind == ArithKind::Rem, op);
    break;
  default:
    break;
  }
  LaneForm form =
      known ? function(0x1000 + int64_t(kind) * 64 + int64_t(arith.getType()),
                       operandsOf, op, constants.getRange(value))
            : unknown(op);
  return form.known ? form : atom(value);
}
