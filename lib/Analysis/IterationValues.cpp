// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values are computed on demand, operands first, and kept for each iteration.

#include "d2k/Analysis/IterationValues.h"

#include "ConstantFolding.h"
#include "IterationAtoms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

namespace {
/// Deeper expressions are atoms; it bounds the stack.
constexpr unsigned kMaxDepth = 800;
/// Loops that run so often are run to their end.
constexpr int64_t kMaxTrip = 64;
/// Longer sums are atoms.
constexpr size_t kMaxAtoms = 16;
/// Values behind a guarded operand that are looked at under the guard.
constexpr size_t kMaxGuarded = 24;
/// Operations that the wrap of a ring index is looked for in.
constexpr size_t kMaxRingSteps = 64;
/// Branches that a choice is looked back along.
constexpr unsigned kMaxBranches = 8;
/// An unrolled loop steps a ring index by so much at most.
constexpr int64_t kMaxRingStep = 16;
/// Sum of a value that is being worked out.
constexpr uint32_t kPending = ~0u;
} // namespace

IterationValues::IterationValues(const KernelIndex &index,
                                 const ConstantValues &constants,
                                 const LoopNest &loops)
    : index(index), constants(constants), loops(loops),
      frames(loops.getLoops().size() + 1) {
  sums.emplace_back();
  unknownSum.push_back(false);
  sumOf[{}] = 0;
}

IterationValues::Frame &IterationValues::getFrame(uint32_t loop,
                                                  unsigned iteration) {
  std::vector<Frame> &iterations = frames[loop + 1];
  if (iteration >= iterations.size())
    iterations.resize(iteration + 1);
  return iterations[iteration];
}

void IterationValues::assume(
    llvm::ArrayRef<std::pair<ValueId, int64_t>> numbers) {
  for (std::vector<Frame> &iterations : frames)
    iterations.clear();
  assumed.clear();
  assumed.insert(numbers.begin(), numbers.end());
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

IterationValue IterationValues::makeAtom(llvm::ArrayRef<uint64_t> key,
                                         Atom atom) {
  auto [it, isNew] = atomOf.try_emplace(key, atoms.size());
  if (isNew) {
    it->getFirst() = key.copy(storage);
    atoms.push_back(atom);
    atoms.back().sum = makeSum({{it->second, 1}}, 0, 64).sum;
  }
  return {atoms[it->second].sum, 0};
}

IterationValue IterationValues::makeOpaque(ValueId value, Place place,
                                           bool fresh) {
  if (!fresh || (place.loop == kNone && assumed.empty()))
    return makeAtom({Plain, value});
  Atom atom;
  atom.unknown = true;
  return makeAtom({Fresh, value, place.loop, place.iteration}, atom);
}

IterationValue IterationValues::makeSum(Sum sum, int64_t constant,
                                        unsigned width) {
  if (width < 64) {
    constant = asSigned(uint64_t(constant), width);
    for (auto &term : sum)
      term.second = asSigned(uint64_t(term.second), width);
  }
  llvm::erase_if(sum, [](const Term &term) { return term.second == 0; });
  auto [it, isNew] = sumOf.try_emplace(sum, sums.size());
  if (isNew) {
    it->getFirst() = Terms(sum).copy(storage);
    sums.push_back(it->getFirst());
    unknownSum.push_back(llvm::any_of(
        sum, [&](const Term &term) { return atoms[term.first].unknown; }));
  }
  return {it->second, constant};
}

IterationValue IterationValues::add(IterationValue a, IterationValue b,
                                    int64_t factor, unsigned width) {
  auto times = [&](int64_t n) {
    return int64_t(uint64_t(n) * uint64_t(factor));
  };
  int64_t constant =
      int64_t(uint64_t(a.constant) + uint64_t(times(b.constant)));
  Terms x = sums[a.sum], y = sums[b.sum];
  // The terms of one alone.
  if (y.empty() || (x.empty() && factor == 1)) {
    Terms all = y.empty() ? x : y;
    if (width >= 64 || llvm::all_of(all, [&](const Term &term) {
          return asSigned(uint64_t(term.second), width) == term.second;
        }))
      return {y.empty() ? a.sum : b.sum,
              width >= 64 ? constant : asSigned(uint64_t(constant), width)};
  }
  Sum sum;
  const auto *i = x.begin(), *j = y.begin();
  while (i != x.end() || j != y.end()) {
    if (j == y.end() || (i != x.end() && i->first < j->first)) {
      sum.push_back(*i++);
    } else if (i == x.end() || j->first < i->first) {
      sum.push_back({j->first, times(j->second)});
      ++j;
    } else {
      sum.push_back({i->first, int64_t(uint64_t(i->second) +
                                       uint64_t(times(j->second)))});
      ++i, ++j;
    }
  }
  return makeSum(std::move(sum), constant, width);
}

IterationValue IterationValues::turn(IterationValue value, int64_t bits) {
  if (std::optional<Turned> before = getTurned(value)) {
    value = before->of;
    bits ^= before->bits;
  }
  if (bits == 0)
    return value;
  Atom atom;
  atom.unknown = unknownSum[value.sum];
  atom.turned = Turned{value, bits};
  return makeAtom({Turn, value.sum, uint64_t(value.constant), uint64_t(bits)},
                  atom);
}

std::optional<IterationValues::Turned>
IterationValues::getTurned(IterationValue value) const {
  Terms sum = sums[value.sum];
  if (value.constant != 0 || sum.size() != 1 || sum[0].second != 1)
    return std::nullopt;
  return atoms[sum[0].first].turned;
}

bool IterationValues::differInBit0(IterationValue a, IterationValue b) const {
  Turned x = getTurned(a).value_or(Turned{a, 0});
  Turned y = getTurned(b).value_or(Turned{b, 0});
  if (x.of.sum != y.of.sum)
    return false;
  return ((x.of.constant ^ y.of.constant ^ x.bits ^ y.bits) & 1) != 0 &&
         (x.of.isConstant() || x.of.constant == y.of.constant);
}

unsigned IterationValues::trailingZeros(uint32_t sum) const {
  unsigned zeros = 64;
  for (const auto &[atom, factor] : sums[sum])
    zeros = std::min<unsigned>(zeros, atoms[atom].trailingZeros +
                                          llvm::countr_zero(uint64_t(factor)));
  return zeros;
}

IterationValue IterationValues::divide(IterationValue value, int64_t divisor) {
  // Whole multiples of the divisor come out of the division, whatever is left.
  int64_t quotient = value.constant / divisor;
  int64_t rest = value.constant % divisor;
  if (rest < 0) {
    rest += divisor;
    --quotient;
  }
  Sum inside, outside;
  for (const auto &term : sums[value.sum]) {
    if (term.second % divisor == 0)
      outside.push_back({term.first, term.second / divisor});
    else
      inside.push_back(term);
  }
  IterationValue result = makeSum(outside, quotient, 64);
  if (inside.empty())
    return result;
  IterationValue left = makeSum(inside, rest, 64);
  Atom atom;
  atom.unknown = unknownSum[left.sum];
  unsigned zeros = rest == 0 ? trailingZeros(left.sum) : 0;
  unsigned lost = llvm::countr_zero(uint64_t(divisor));
  if (llvm::isPowerOf2_64(uint64_t(divisor)) && zeros > lost)
    atom.trailingZeros = zeros - lost;
  return add(
      result,
      makeAtom({Quotient, left.sum, uint64_t(left.constant), uint64_t(divisor)},
               atom),
      1, 64);
}

IterationValue IterationValues::align(IterationValue value, unsigned bits,
                                      unsigned width) {
  int64_t unit = int64_t(1) << bits;
  IterationValue units = divide(value, unit);
  IterationValue result = add({}, units, unit, width);
  return result;
}

bool IterationValues::isUnknown(IterationValue value) const {
  return unknownSum[value.sum];
}

bool IterationValues::differ(IterationValue a, IterationValue b) const {
  if (a.sum == b.sum)
    return a.constant != b.constant;
  auto isSymbol = [&](Terms sum) {
    return sum.size() == 1 && sum[0].second == 1 && atoms[sum[0].first].symbol;
  };
  return isSymbol(sums[a.sum]) && isSymbol(sums[b.sum]);
}

std::optional<int64_t> IterationValues::distance(IterationValue a,
                                                 IterationValue b) const {
  if (a.sum != b.sum)
    return std::nullopt;
  return a.constant - b.constant;
}

IterationValue
IterationValues::makeAtomOf(llvm::SmallVectorImpl<uint64_t> &key,
                            llvm::ArrayRef<IterationValue> operands) {
  Atom atom;
  for (const IterationValue &x : operands) {
    key.push_back(x.sum);
    key.push_back(uint64_t(x.constant));
    atom.unknown |= unknownSum[x.sum];
  }
  return makeAtom(key, atom);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

bool IterationValues::mayTake(BlockId from, uint32_t edge, Place place) {
  if (!constants.isExecutableEdge(edge))
    return false;
  auto branch =
      dyn_cast<kern::CondBranchOp>(index.getOp(index.getTerminator(from)));
  if (!branch)
    return true;
  IterationValue condition =
      get(index.getId(branch.getCondition()), place.loop, place.iteration);
  if (!condition.isConstant())
    return true;
  return edge == index.getEdge(from, (condition.constant & 1) ? 0 : 1);
}

bool IterationValues::mayTake(BlockId from, BlockId to, uint32_t loop,
                              unsigned iteration) {
  llvm::ArrayRef<BlockId> next = index.getSuccessors(from);
  for (unsigned i = 0; i < next.size(); ++i)
    if (next[i] == to &&
        mayTake(from, index.getEdge(from, i), {loop, iteration}))
      return true;
  return false;
}

bool IterationValues::mayRun(BlockId block, uint32_t loop, unsigned iteration) {
  if (loop == kNone ? block == 0 : loops.getLoop(loop).header == block)
    return constants.isReachable(block);
  if (!constants.isReachable(block) || !isInside(block, loop))
    return false;
  auto [it, isNew] = getFrame(loop, iteration).runs.try_emplace(block, false);
  if (!isNew || depth >= kMaxDepth)
    return isNew ? (it->second = true) : it->second;
  ++depth;
  bool result = false;
  for (BlockId from : index.getPredecessors(block)) {
    if (!isInside(from, loop) || !mayRun(from, loop, iteration))
      continue;
    llvm::ArrayRef<BlockId> next = index.getSuccessors(from);
    for (unsigned i = 0; i < next.size() && !result; ++i)
      result = next[i] == block &&
               mayTake(from, index.getEdge(from, i), {loop, iteration});
    if (result)
      break;
  }
  --depth;
  getFrame(loop, iteration).runs[block] = result;
  return result;
}

std::optional<IterationValue>
IterationValues::agree(llvm::ArrayRef<KernelIndex::Incoming> ways,
                       Place place) {
  std::optional<IterationValue> common;
  for (const KernelIndex::Incoming &way : ways) {
    if (!mayRun(way.from, place.loop, place.iteration) ||
        !mayTake(way.from, way.edge, place))
      continue;
    if (way.value == kNone)
      return std::nullopt;
    IterationValue value = get(way.value, place.loop, place.iteration);
    if (common && !(*common == value))
      return std::nullopt;
    common = value;
  }
  return common;
}

IterationValue IterationValues::makeChoice(
    ValueId value, llvm::ArrayRef<KernelIndex::Incoming> ways, Place place) {
  llvm::SmallVector<KernelIndex::Incoming, 4> taken;
  for (const KernelIndex::Incoming &way : ways)
    if (mayRun(way.from, place.loop, place.iteration) &&
        mayTake(way.from, way.edge, place))
      taken.push_back(way);
  if (!taken.empty())
    ways = taken;
  llvm::SmallVector<IterationValue, 8> operands;
  // Back along each way as long as there is one; where all meet it is decided.
  llvm::SmallVector<llvm::SmallVector<BlockId, 8>, 4> chains;
  for (const KernelIndex::Incoming &way : ways) {
    if (way.value == kNone)
      return makeOpaque(value, place, /*fresh=*/true);
    operands.push_back(get(way.value, place.loop, place.iteration));
    llvm::SmallVector<BlockId, 8> &chain = chains.emplace_back();
    for (BlockId from = way.from; chain.size() < kMaxBranches;) {
      chain.push_back(from);
      llvm::ArrayRef<BlockId> before = index.getPredecessors(from);
      if (before.size() != 1)
        break;
      from = before[0];
    }
  }
  auto isCommon = [&](BlockId block) {
    return llvm::all_of(chains, [&](const auto &chain) {
      return llvm::is_contained(chain, block);
    });
  };
  for (llvm::ArrayRef<BlockId> chain : chains) {
    const BlockId *meeting = llvm::find_if(chain, isCommon);
    size_t length = meeting == chain.end() ? 1 : meeting - chain.begin() + 1;
    for (BlockId block : chain.take_front(length))
      if (auto branch = dyn_cast<kern::CondBranchOp>(
              index.getOp(index.getTerminator(block))))
        operands.push_back(get(index.getId(branch.getCondition()), place.loop,
                               place.iteration));
  }
  llvm::SmallVector<uint64_t, 24> key{Choice, value};
  return makeAtomOf(key, operands);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

IterationValue IterationValues::get(ValueId value, uint32_t loop,
                                    unsigned iteration) {
  if (std::optional<int64_t> constant = constants.getSigned(value))
    return makeConstant(getWidth(index.getValue(value).getType()) == 1
                            ? *constant & 1
                            : *constant);
  if (auto it = assumed.find(value); it != assumed.end())
    return makeConstant(it->second);
  if (depth == 0)
    frame = loop;
  if (loop != kNone && !loops.contains(loop, index.getDefBlock(value))) {
    loop = kNone;
    iteration = 0;
  }
  // A finished loop leaves what its last iteration made.
  if (loop == kNone) {
    uint32_t inner = loops.getInnermost(index.getDefBlock(value));
    if (inner != kNone && (frame == kNone || !loops.encloses(inner, frame)) &&
        !loops.getLoop(inner).spin) {
      int64_t trip = loops.getLoop(inner).trip.value_or(0);
      if (trip > 0 && trip <= kMaxTrip) {
        loop = inner;
        iteration = unsigned(trip) - 1;
      }
    }
  }
  Place place{loop, iteration};
  auto &known = getFrame(loop, iteration).values;
  // A value that leads back to itself other than through a header is opaque.
  if (auto it = known.find(value); it != known.end())
    return it->second.sum != kPending
               ? it->second
               : makeOpaque(value, place, /*fresh=*/true);
  if (depth >= kMaxDepth)
    return makeOpaque(value, place, /*fresh=*/true);
  known[value] = {kPending, 0};
  ++depth;
  IterationValue result = compute(value, place);
  --depth;
  if (sums[result.sum].size() > kMaxAtoms)
    result = makeOpaque(value, place, /*fresh=*/true);
  getFrame(loop, iteration).values[value] = result;
  return result;
}

IterationValue IterationValues::compute(ValueId value, Place place) {
  OpId def = index.getDef(value);
  if (def == kNone)
    return computeArg(value, index.getDefBlock(value), place);
  return computeOp(def, value - index.getFirstResult(def), place);
}

IterationValue IterationValues::computeHeader(ValueId value, Place place) {
  llvm::SmallVector<KernelIndex::Incoming, 4> ways;
  for (const KernelIndex::Incoming &way : index.getIncoming(value))
    if (constants.isExecutableEdge(way.edge) &&
        loops.contains(place.loop, way.from) == (place.iteration > 0))
      ways.push_back(way);
  if (place.iteration > 0) {
    Place before{place.loop, place.iteration - 1};
    if (std::optional<IterationValue> common = agree(ways, before))
      return *common;
    return makeOpaque(value, place, /*fresh=*/true);
  }
  std::optional<IterationValue> start;
  for (const KernelIndex::Incoming &way : ways) {
    if (way.value == kNone)
      return makeOpaque(value, place, /*fresh=*/false);
    IterationValue from = get(way.value, kNone, 0);
    if (start && !(*start == from))
      return makeOpaque(value, place, /*fresh=*/false);
    start = from;
  }
  if (!start)
    return makeOpaque(value, place, /*fresh=*/false);
  if (!start->isConstant() && !hasSymbol(*start)) {
    switch (getWrap(value, place.loop)) {
    case Wrap::Wraps:
      return makeConstant(0);
    case Wrap::Counts:
      starts.insert(start->sum);
      break;
    case Wrap::None:
      break;
    }
  }
  return *start;
}

bool IterationValues::hasSymbol(IterationValue value) const {
  return llvm::any_of(sums[value.sum], [&](const auto &term) {
    return atoms[term.first].symbol;
  });
}

IterationValues::Wrap IterationValues::getWrap(ValueId value,
                                               uint32_t loop) const {
  // Back from the ends of the loop, through what keeps a number a ring index.
  Wrap wrap = Wrap::None;
  llvm::SmallVector<ValueId, 8> pending, seen{value};
  auto visit = [&](ValueId from) {
    if (from != kNone && !constants.get(from) &&
        !llvm::is_contained(seen, from)) {
      seen.push_back(from);
      pending.push_back(from);
    }
    return from != kNone;
  };
  auto visitWays = [&](ValueId arg) {
    for (const KernelIndex::Incoming &way : index.getIncoming(arg))
      if (constants.isExecutableEdge(way.edge) &&
          loops.contains(loop, way.from) && !visit(way.value))
        return false;
    return true;
  };
  if (!visitWays(value))
    return Wrap::None;
  while (!pending.empty()) {
    ValueId at = pending.pop_back_val();
    if (seen.size() > kMaxRingSteps ||
        !loops.contains(loop, index.getDefBlock(at)))
      return Wrap::None;
    OpId def = index.getDef(at);
    if (def == kNone) {
      // A second number that the loop carries is another ring.
      if (index.getDefBlock(at) == loops.getLoop(loop).header || !visitWays(at))
        return Wrap::None;
      continue;
    }
    llvm::ArrayRef<ValueId> in = index.getOperands(def);
    Operation *op = index.getOp(def);
    if (index.getGuard(def) != kNone) {
      auto inst = cast<kern::InstOpInterface>(op);
      visit(index.getId(inst.getOldValues()[at - index.getFirstResult(def)]));
      in = in.drop_back(1 + inst.getOldValues().size());
      wrap = Wrap::Wraps;
    }
    if (isa<kern::SelectOp>(op)) {
      wrap = Wrap::Wraps;
      visit(in[1]);
      visit(in[2]);
      continue;
    }
    if (isa<kern::ConvertOp>(op)) {
      visit(in[0]);
      continue;
    }
    auto arith = dyn_cast<kern::ArithOp>(op);
    if (!arith || kern::isFloat(arith.getType()))
      return Wrap::None;
    std::optional<int64_t> by =
        in.size() == 2 ? constants.getSigned(in[1]) : std::nullopt;
    ValueId from = in[0];
    if (in.size() == 2 && !by) {
      by = constants.getSigned(in[0]);
      from = in[1];
    }
    switch (arith.getKind()) {
    case ArithKind::Not:
      wrap = Wrap::Wraps;
      break;
    case ArithKind::Add:
    case ArithKind::Sub:
      if (!by || std::abs(*by) > kMaxRingStep)
        return Wrap::None;
      if (wrap == Wrap::None)
        wrap = Wrap::Counts;
      break;
    case ArithKind::And:
    case ArithKind::Xor:
    case ArithKind::Rem:
      if (!by)
        return Wrap::None;
      wrap = Wrap::Wraps;
      break;
    default:
      return Wrap::None;
    }
    visit(from);
  }
  return wrap;
}

IterationValue IterationValues::dropStart(IterationValue value,
                                          Place place) const {
  if (place.loop != kNone && starts.count(value.sum))
    value.sum = 0;
  return value;
}

IterationValue IterationValues::computeInnerHeader(ValueId value,
                                                   uint32_t inner,
                                                   Place place) {
  // The start, and for a loop inside the one that is run, some steps.
  std::optional<IterationValue> start;
  bool same = true, steps = true;
  llvm::SmallVector<KernelIndex::Incoming, 4> entries;
  for (const KernelIndex::Incoming &way : index.getIncoming(value)) {
    if (!constants.isExecutableEdge(way.edge))
      continue;
    if (loops.contains(inner, way.from)) {
      OpId def = way.value == kNone ? kNone : index.getDef(way.value);
      auto arith = def == kNone ? kern::ArithOp()
                                : dyn_cast<kern::ArithOp>(index.getOp(def));
      steps &= arith && index.getGuard(def) == kNone &&
               (arith.getKind() == ArithKind::Add ||
                arith.getKind() == ArithKind::Sub) &&
               !kern::isFloat(arith.getType()) &&
               llvm::is_contained(index.getOperands(def), value);
      continue;
    }
    if (way.value == kNone)
      return makeOpaque(value, place, /*fresh=*/true);
    entries.push_back(way);
    if (!mayRun(way.from, place.loop, place.iteration))
      continue;
    IterationValue from = get(way.value, place.loop, place.iteration);
    same &= !start || *start == from;
    start = from;
  }
  if (!start || !same)
    return assumed.empty() ? makeOpaque(value, place, /*fresh=*/true)
                           : makeChoice(value, entries, place);
  // A loop around, or before, the one that is run: as in its first iteration.
  if (place.loop == kNone)
    return *start;
  if (!steps)
    return makeOpaque(value, place, /*fresh=*/true);
  return add(*start, makeAtom({Steps, value}), 1,
             getWidth(index.getValue(value).getType()));
}

IterationValue IterationValues::computeArg(ValueId value, BlockId block,
                                           Place place) {
  if (place.loop != kNone && loops.getLoop(place.loop).header == block)
    return computeHeader(value, place);
  if (block == 0)
    return makeOpaque(value, place, /*fresh=*/false);
  uint32_t loop = loops.getInnermost(block);
  if (loop != kNone && loops.getLoop(loop).header == block)
    return computeInnerHeader(value, loop, place);
  if (std::optional<IterationValue> common =
          agree(index.getIncoming(value), place))
    return *common;
  return assumed.empty() ? makeOpaque(value, place, /*fresh=*/true)
                         : makeChoice(value, index.getIncoming(value), place);
}

/// Whether equal operands give equal results.
static bool isFunction(Operation *op) {
  if (auto special = dyn_cast<kern::SpecialOp>(op))
    return !special.getReg().contains("clock") &&
           !special.getReg().contains("timer");
  if (auto load = dyn_cast<kern::LoadOp>(op))
    return load.getSpace() == kern::Space::Param ||
           load.getSpace() == kern::Space::Constant;
  return isa<kern::ArithOp, kern::MathOp, kern::CompareOp, kern::ConvertOp,
             kern::SelectOp, kern::PackOp, kern::UnpackOp, kern::ShuffleOp,
             kern::AddressQueryOp, kern::ElectOp, kern::VoteOp>(op);
}

IterationValue IterationValues::getWhereRuns(ValueId value, OpId user,
                                             uint32_t loop,
                                             unsigned iteration) {
  ValueId guard = index.getGuard(user);
  if (guard == kNone)
    return get(value, loop, iteration);
  bool holds = !index.isGuardNegated(user);
  auto key = std::pair(value, uint64_t(guard) << 1 | uint64_t(holds));
  auto &before = getFrame(loop, iteration).whereRuns;
  if (auto it = before.find(key); it != before.end())
    return it->second;
  llvm::SmallDenseMap<ValueId, IterationValue, 8> known;
  IterationValue result =
      getWhere(value, {guard, holds}, {loop, iteration}, known);
  getFrame(loop, iteration).whereRuns[key] = result;
  return result;
}

IterationValue IterationValues::getWhere(
    ValueId value, std::pair<ValueId, bool> holds, Place place,
    llvm::SmallDenseMap<ValueId, IterationValue, 8> &known) {
  OpId def = index.getDef(value);
  if (auto it = known.find(value); it != known.end())
    return it->second;
  if (def == kNone || known.size() >= kMaxGuarded ||
      !isFunction(index.getOp(def)))
    return get(value, place.loop, place.iteration);
  // Whatever happens below, the value is not asked for again.
  known[value] = {};
  unsigned result = value - index.getFirstResult(def);
  llvm::ArrayRef<ValueId> operands = index.getOperands(def);
  ValueId guard = index.getGuard(def);
  auto is = [&](IterationValue found) { return known[value] = found; };
  if (guard == kNone && isa<kern::SelectOp>(index.getOp(def)) &&
      operands[0] == holds.first)
    return is(getWhere(operands[holds.second ? 1 : 2], holds, place, known));
  auto inst = dyn_cast<kern::InstOpInterface>(index.getOp(def));
  bool isGuarded = guard == holds.first && inst;
  if (isGuarded && holds.second == index.isGuardNegated(def))
    return is(getWhere(index.getId(inst.getOldValues()[result]), holds, place,
                       known));
  if (guard != kNone && !isGuarded)
    return is(get(value, place.loop, place.iteration));
  // The guard and the old values come last.
  if (isGuarded)
    operands = operands.drop_back(1 + inst.getOldValues().size());
  llvm::SmallVector<IterationValue, 6> in;
  bool differs = isGuarded;
  for (ValueId operand : operands) {
    in.push_back(getWhere(operand, holds, place, known));
    differs |= !(in.back() == get(operand, place.loop, place.iteration));
  }
  return is(differs ? computeArith(def, result, place, in)
                    : get(value, place.loop, place.iteration));
}

IterationValue IterationValues::computeOp(OpId op, unsigned result,
                                          Place place) {
  Operation *operation = index.getOp(op);
  ValueId value = index.getFirstResult(op) + result;
  if (auto address = dyn_cast<kern::AddressOfOp>(operation)) {
    uint64_t key[] = {Symbol,
                      reinterpret_cast<uintptr_t>(
                          address.getSymbolAttr().getAsOpaquePointer())};
    Atom atom;
    atom.symbol = true;
    if (!atomOf.contains(key))
      if (auto object = SymbolTable::lookupNearestSymbolFrom<kern::ObjectOp>(
              operation, address.getSymbolAttr()))
        atom.trailingZeros = llvm::countr_zero(
            uint64_t(std::max<int64_t>(object.getAlignment(), 1)));
    return makeAtom(key, atom);
  }
  if (!isFunction(operation) &&
      !isa<kern::SpaceCastOp, kern::MapSharedOp>(operation))
    return makeOpaque(value, place, /*fresh=*/true);

  // A guard and the old values come last.
  auto inst = dyn_cast<kern::InstOpInterface>(operation);
  size_t extra = 0;
  if (inst && index.getGuard(op) != kNone)
    extra = 1 + inst.getOldValues().size();
  llvm::SmallVector<IterationValue, 6> in;
  for (ValueId operand : index.getOperands(op).drop_back(extra))
    in.push_back(get(operand, place.loop, place.iteration));

  // A guarded result is the new or the old value.
  if (inst && index.getGuard(op) != kNone) {
    IterationValue guard = get(index.getGuard(op), place.loop, place.iteration);
    if (!guard.isConstant()) {
      if (assumed.empty())
        return makeOpaque(value, place, /*fresh=*/true);
      IterationValue old = get(index.getId(inst.getOldValues()[result]),
                               place.loop, place.iteration);
      llvm::SmallVector<uint64_t, 8> key{Choice, value};
      return makeAtomOf(key, {guard, old, computeArith(op, result, place, in)});
    }
    if (bool(guard.constant & 1) == index.isGuardNegated(op))
      return get(index.getId(inst.getOldValues()[result]), place.loop,
                 place.iteration);
  }
  return computeArith(op, result, place, in);
}
