// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values are computed on demand, operands first, and kept for each iteration.

#include "d2k/Analysis/IterationValues.h"

#include "ConstantFolding.h"

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
/// Operations that the wrap of a ring index is looked for in.
constexpr size_t kMaxRingSteps = 64;
/// An unrolled loop steps a ring index by so much at most.
constexpr int64_t kMaxRingStep = 16;
/// A mask with these bits set keeps every address in shared memory.
constexpr uint64_t kSharedAddress = 0x3ffff;
/// First words of the keys of atoms.
enum AtomKind : uint64_t {
  Plain,
  Fresh,
  Function,
  Steps,
  Quotient,
  Symbol,
  Turn
};
} // namespace

IterationValues::IterationValues(const KernelIndex &index,
                                 const ConstantValues &constants,
                                 const LoopNest &loops)
    : index(index), constants(constants), loops(loops) {
  sums.emplace_back();
  unknownSum.push_back(false);
  sumOf[{}] = 0;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

IterationValue IterationValues::makeAtom(std::vector<uint64_t> key, Atom atom) {
  auto [it, isNew] = atomOf.try_emplace(std::move(key), atoms.size());
  if (isNew)
    atoms.push_back(atom);
  return makeSum({{it->second, 1}}, 0, 64);
}

IterationValue IterationValues::makeOpaque(ValueId value, Place place,
                                           bool fresh) {
  if (!fresh || place.loop == kNone)
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
  llvm::erase_if(sum, [](const auto &term) { return term.second == 0; });
  std::vector<uint64_t> key;
  for (const auto &[atom, factor] : sum) {
    key.push_back(atom);
    key.push_back(uint64_t(factor));
  }
  auto [it, isNew] = sumOf.try_emplace(std::move(key), sums.size());
  if (isNew) {
    unknownSum.push_back(llvm::any_of(
        sum, [&](const auto &term) { return atoms[term.first].unknown; }));
    sums.push_back(std::move(sum));
  }
  return {it->second, constant};
}

IterationValue IterationValues::add(IterationValue a, IterationValue b,
                                    int64_t factor, unsigned width) {
  Sum sum;
  const Sum &x = sums[a.sum], &y = sums[b.sum];
  auto i = x.begin(), j = y.begin();
  auto times = [&](int64_t n) {
    return int64_t(uint64_t(n) * uint64_t(factor));
  };
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
  int64_t constant =
      int64_t(uint64_t(a.constant) + uint64_t(times(b.constant)));
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
  const Sum &sum = sums[value.sum];
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
  auto isSymbol = [&](const Sum &sum) {
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

bool IterationValues::mayRun(BlockId block, uint32_t loop, unsigned iteration) {
  if (loop == kNone ? block == 0 : loops.getLoop(loop).header == block)
    return constants.isReachable(block);
  if (!constants.isReachable(block) || !isInside(block, loop))
    return false;
  auto key = std::pair(loop, iteration);
  auto [it, isNew] = runs[key].try_emplace(block, false);
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
  runs[key][block] = result;
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

IterationValue IterationValues::get(ValueId value, uint32_t loop,
                                    unsigned iteration) {
  if (std::optional<int64_t> constant = constants.getSigned(value))
    return makeConstant(getWidth(index.getValue(value).getType()) == 1
                            ? *constant & 1
                            : *constant);
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
  auto &known = values[{loop, iteration}];
  if (auto it = known.find(value); it != known.end())
    return it->second;
  if (depth >= kMaxDepth)
    return makeOpaque(value, place, /*fresh=*/true);
  // A value that leads back to itself other than through a header is opaque.
  known[value] = makeOpaque(value, place, /*fresh=*/true);
  ++depth;
  IterationValue result = compute(value, place);
  --depth;
  if (sums[result.sum].size() > kMaxAtoms)
    result = makeOpaque(value, place, /*fresh=*/true);
  values[{loop, iteration}][value] = result;
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
    if (!mayRun(way.from, place.loop, place.iteration))
      continue;
    IterationValue from = get(way.value, place.loop, place.iteration);
    same &= !start || *start == from;
    start = from;
  }
  if (!start || !same)
    return makeOpaque(value, place, /*fresh=*/true);
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
  return makeOpaque(value, place, /*fresh=*/true);
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

IterationValue IterationValues::computeOp(OpId op, unsigned result,
                                          Place place) {
  Operation *operation = index.getOp(op);
  ValueId value = index.getFirstResult(op) + result;
  if (auto address = dyn_cast<kern::AddressOfOp>(operation)) {
    std::vector<uint64_t> key{
        Symbol, reinterpret_cast<uintptr_t>(
                    address.getSymbolAttr().getAsOpaquePointer())};
    Atom atom;
    atom.symbol = true;
    if (!atomOf.count(key))
      if (auto object = SymbolTable::lookupNearestSymbolFrom<kern::ObjectOp>(
              operation, address.getSymbolAttr()))
        atom.trailingZeros = llvm::countr_zero(
            uint64_t(std::max<int64_t>(object.getAlignment(), 1)));
    return makeAtom(std::move(key), atom);
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
    if (!guard.isConstant())
      return makeOpaque(value, place, /*fresh=*/true);
    if (bool(guard.constant & 1) == index.isGuardNegated(op))
      return get(index.getId(inst.getOldValues()[result]), place.loop,
                 place.iteration);
  }
  return computeArith(op, result, place, in);
}

/// Bits of a result in which each bit depends on the same bit of one operand
/// only: kept, inverted, set or cleared.
namespace {
struct BitMap {
  uint64_t kept = 0, flipped = 0, set = 0;
};
} // namespace

static BitMap mapBits(uint8_t table, unsigned which,
                      llvm::ArrayRef<IterationValue> in, unsigned width) {
  BitMap map;
  for (unsigned bit = 0; bit < width; ++bit) {
    auto at = [&](bool x) {
      unsigned row = 0;
      for (unsigned i = 0; i < 3; ++i) {
        bool b = i == which      ? x
                 : i < in.size() ? (uint64_t(in[i].constant) >> bit) & 1
                                 : false;
        row |= unsigned(b) << (2 - i);
      }
      return (table >> row) & 1;
    };
    bool zero = at(false), one = at(true);
    uint64_t mark = uint64_t(1) << bit;
    if (!zero && one)
      map.kept |= mark;
    else if (zero && !one)
      map.flipped |= mark;
    else if (zero)
      map.set |= mark;
  }
  return map;
}

std::optional<IterationValue> IterationValues::computeBits(
    OpId op, Place place, llvm::ArrayRef<IterationValue> in, unsigned width) {
  auto arith = cast<kern::ArithOp>(index.getOp(op));
  std::optional<uint64_t> lut;
  if (arith.getKind() == ArithKind::Lop3 && in.size() >= 4 &&
      in[3].isConstant())
    lut = uint64_t(in[3].constant);
  std::optional<uint8_t> table = getTruthTable(arith, lut);
  if (!table)
    return std::nullopt;
  in = in.take_front(std::min<size_t>(in.size(), 3));
  // Bits that one operand has only where the other has none are added.
  bool joins =
      arith.getKind() == ArithKind::Or || arith.getKind() == ArithKind::Xor;
  if (joins && in.size() == 2 && !in[0].isConstant() && !in[1].isConstant())
    for (unsigned i = 0; i < 2; ++i) {
      const IterationValue &high = in[i];
      unsigned zeros = std::min(trailingZeros(high.sum), 62u);
      Range low = constants.getRange(index.getOperands(op)[1 - i]);
      int64_t unit = int64_t(1) << zeros;
      if (!low.full && low.low >= 0 && low.high < unit &&
          high.constant % unit == 0)
        return add(high, in[1 - i], 1, width);
    }
  // One operand that is no constant, as often as it likes.
  unsigned which = 3;
  for (unsigned i = 0; i < in.size(); ++i)
    if (!in[i].isConstant()) {
      if (which != 3)
        return std::nullopt;
      which = i;
    }
  if (which == 3)
    return std::nullopt;
  IterationValue x = in[which];
  BitMap map = mapBits(*table, which, in, width);
  uint64_t all = mask(~uint64_t(0), width);
  if (map.flipped) {
    // Bits below those of the sum, as when two buffers are swapped.
    unsigned zeros = trailingZeros(x.sum);
    uint64_t below = zeros >= 64 ? ~uint64_t(0) : (uint64_t(1) << zeros) - 1;
    if (map.set != 0 || (map.kept | map.flipped) != all)
      return std::nullopt;
    if ((map.flipped & ~below) != 0)
      return turn(x, int64_t(map.flipped));
    int64_t turned = x.constant ^ int64_t(map.flipped);
    return add(x, makeConstant(turned - x.constant), 1, width);
  }
  // Bits set where the sum has none are added.
  auto plus = [&](IterationValue sum) -> std::optional<IterationValue> {
    if (map.set == 0)
      return sum;
    unsigned zeros = trailingZeros(sum.sum);
    uint64_t below = zeros >= 64 ? ~uint64_t(0) : (uint64_t(1) << zeros) - 1;
    bool low =
        (map.set & ~below) == 0 && (map.set & uint64_t(sum.constant)) == 0;
    // The fields of a matrix descriptor above the address.
    bool high = (map.set & (kSharedAddress >> 4)) == 0;
    if (!low && !high)
      return std::nullopt;
    return add(sum, makeConstant(int64_t(map.set)), 1, width);
  };
  // An address that was shifted right, as in a matrix descriptor, has fewer
  // bits.
  uint64_t address = kSharedAddress;
  ValueId shifted = index.getOperands(op)[which];
  OpId def = index.getDef(shifted);
  while (def != kNone && isa<kern::ConvertOp>(index.getOp(def)) &&
         index.getGuard(def) == kNone) {
    shifted = index.getOperands(def)[0];
    def = index.getDef(shifted);
  }
  if (auto shift = def == kNone ? kern::ArithOp()
                                : dyn_cast<kern::ArithOp>(index.getOp(def)))
    if (shift.getKind() == ArithKind::Shr)
      if (std::optional<uint64_t> by = constants.get(index.getOperands(def)[1]);
          by && *by < 8)
        address >>= *by;
  uint64_t keep = map.kept | map.set;
  if (keep == all || (map.kept & address) == address)
    return plus(x);
  // Low bits cleared.
  unsigned cleared = llvm::countr_zero(map.kept);
  uint64_t rest = map.kept | ((uint64_t(1) << cleared) - 1);
  if (map.kept != 0 && cleared > 0 && cleared < 18 &&
      (rest == all || (rest & address) == address))
    return plus(align(dropStart(x, place), cleared, width));
  // x % 2^n: whole multiples do not matter.
  if (map.set == 0 && llvm::isMask_64(map.kept)) {
    x = dropStart(x, place);
    int64_t unit = int64_t(map.kept) + 1;
    return add(x, divide(x, unit), -unit, width);
  }
  return std::nullopt;
}

/// The divisor when `x * factor >> shift` is how compilers divide 32-bit
/// numbers by a constant.
static std::optional<int64_t> getDivisor(uint64_t factor, uint64_t shift) {
  if (factor == 0 || shift < 32 || shift > 62)
    return std::nullopt;
  uint64_t power = uint64_t(1) << shift;
  uint64_t divisor = (power + factor - 1) / factor;
  if (divisor < 2 || divisor > (1 << 16))
    return std::nullopt;
  // Granlund and Montgomery: exact when factor * divisor - 2^shift is at most
  // 2^(shift - 32).
  for (uint64_t d : {divisor, divisor + 1, divisor - 1}) {
    uint64_t error = factor * d - power;
    if (d >= 2 && factor * d >= power && error <= (power >> 31))
      return int64_t(d);
  }
  return std::nullopt;
}

IterationValue
IterationValues::computeArith(OpId op, unsigned result, Place place,
                              llvm::ArrayRef<IterationValue> in) {
  Operation *operation = index.getOp(op);
  ValueId value = index.getFirstResult(op) + result;
  unsigned width = getWidth(index.getValue(value).getType());
  bool pure =
      llvm::all_of(in, [](const IterationValue &x) { return x.isConstant(); });
  auto bitsOf = [&](unsigned i) {
    return mask(uint64_t(in[i].constant),
                getWidth(index.getValue(index.getOperands(op)[i]).getType()));
  };
  auto signedOf = [&](uint64_t bits) {
    return makeConstant(width == 1 ? int64_t(bits & 1) : asSigned(bits, width));
  };
  // Anything else: a function of its operands.
  auto function = [&] {
    std::vector<uint64_t> key{
        Function,
        reinterpret_cast<uintptr_t>(operation->getName().getAsOpaquePointer()),
        reinterpret_cast<uintptr_t>(
            operation->getAttrDictionary().getAsOpaquePointer()),
        result};
    Atom atom;
    for (const IterationValue &x : in) {
      key.push_back(x.sum);
      key.push_back(uint64_t(x.constant));
      atom.unknown |= unknownSum[x.sum];
    }
    return makeAtom(std::move(key), atom);
  };

  if (isa<kern::SpaceCastOp, kern::MapSharedOp>(operation))
    return in[0];
  if (auto select = dyn_cast<kern::SelectOp>(operation)) {
    if (in[0].isConstant() && getWidth(select.getCondition().getType()) == 1)
      return in[in[0].constant & 1 ? 1 : 2];
    return in[1] == in[2] ? in[1] : function();
  }
  if (auto compare = dyn_cast<kern::CompareOp>(operation)) {
    if (in.size() > 3 || result > 1 || in.size() < 2 ||
        compare.getResultType() || (in.size() == 3 && !in[2].isConstant()))
      return function();
    std::optional<bool> holds;
    if (in[0].isConstant() && in[1].isConstant())
      holds = foldCompare(compare, bitsOf(0), bitsOf(1));
    else if (in[0].sum == in[1].sum && !kern::isFloat(compare.getType()))
      // The same sum on both sides: what is left are the constants.
      holds = foldCompare(
          compare,
          uint64_t(std::max<int64_t>(in[0].constant - in[1].constant, 0)),
          uint64_t(std::max<int64_t>(in[1].constant - in[0].constant, 0)));
    if (!holds)
      return function();
    bool outcome = *holds != (result == 1);
    if (in.size() == 3) {
      bool with = bool(in[2].constant & 1) != compare.getCombineNegated();
      switch (compare.getCombine().value_or(kern::BoolOp::And)) {
      case kern::BoolOp::And:
        outcome &= with;
        break;
      case kern::BoolOp::Or:
        outcome |= with;
        break;
      case kern::BoolOp::Xor:
        outcome ^= with;
        break;
      }
    }
    return makeConstant(outcome);
  }
  if (auto convert = dyn_cast<kern::ConvertOp>(operation)) {
    if (in.size() != 1 || kern::isFloat(convert.getFrom()) ||
        kern::isFloat(convert.getTo()))
      return function();
    if (pure) {
      std::optional<uint64_t> bits = foldConvert(convert, bitsOf(0), width);
      return bits ? signedOf(*bits) : function();
    }
    return add({}, in[0], 1, width);
  }
  if (isa<kern::PackOp>(operation) && in.size() == 2 && width == 64 &&
      getWidth(index.getValue(index.getOperands(op)[0]).getType()) == 32)
    return add(in[0], in[1], int64_t(1) << 32, 64);
  if (isa<kern::UnpackOp>(operation) && in.size() == 1 && width == 32 &&
      index.getNumResults(op) == 2) {
    if (result == 0)
      return add({}, in[0], 1, 32);
    return in[0].isConstant() ? signedOf(uint64_t(in[0].constant) >> 32)
                              : function();
  }

  auto arith = dyn_cast<kern::ArithOp>(operation);
  if (!arith || kern::isFloat(arith.getType()))
    return function();
  if (pure) {
    llvm::SmallVector<uint64_t, 4> bits;
    for (unsigned i = 0; i < in.size(); ++i)
      bits.push_back(bitsOf(i));
    std::optional<uint64_t> folded =
        result == 0 ? foldArith(IntegerFunction(arith), bits) : std::nullopt;
    return folded ? signedOf(*folded) : function();
  }
  if (result != 0)
    return function();
  auto product = [&]() -> std::optional<IterationValue> {
    if (in[0].isConstant())
      return add({}, in[1], in[0].constant, width);
    if (in[1].isConstant())
      return add({}, in[0], in[1].constant, width);
    return std::nullopt;
  };
  // Whether operand `i` is a number that is known for this iteration only: in
  // x - n * (x / n), whole periods of a counter.
  auto isPeriods = [&](unsigned i) {
    return in[i].isConstant() && !constants.get(index.getOperands(op)[i]);
  };
  switch (arith.getKind()) {
  case ArithKind::Add:
    return in.size() == 2 ? add(in[0], in[1], 1, width) : function();
  case ArithKind::Sub:
    if (in.size() != 2)
      return function();
    return add(isPeriods(1) ? dropStart(in[0], place) : in[0], in[1], -1,
               width);
  case ArithKind::Shl:
    if (in[1].isConstant() && in[1].constant >= 0 && in[1].constant < width)
      return add({}, in[0], int64_t(uint64_t(1) << in[1].constant), width);
    return function();
  case ArithKind::MulLo:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
    return product().value_or(function());
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24:
    if (std::optional<IterationValue> sum = product())
      return add(*sum,
                 sum->isConstant() && (isPeriods(0) || isPeriods(1))
                     ? dropStart(in[2], place)
                     : in[2],
                 1, width);
    return function();
  case ArithKind::Shr: {
    if (!in[1].isConstant() || in[1].constant <= 0 || in[1].constant >= 63)
      return function();
    // A product shifted right may be a division.
    ValueId shifted = index.getOperands(op)[0];
    OpId def = index.getDef(shifted);
    auto multiply = def == kNone ? kern::ArithOp()
                                 : dyn_cast<kern::ArithOp>(index.getOp(def));
    uint64_t extra = 0;
    if (multiply && multiply.getKind() == ArithKind::MulHi)
      extra = 32;
    if (multiply && (extra || multiply.getKind() == ArithKind::MulWide))
      for (unsigned i = 0; i < 2; ++i) {
        ValueId factor = index.getOperands(def)[i];
        std::optional<uint64_t> bits = constants.get(factor);
        if (!bits || getWidth(index.getValue(factor).getType()) != 32)
          continue;
        if (std::optional<int64_t> divisor =
                getDivisor(*bits, uint64_t(in[1].constant) + extra))
          return divide(dropStart(get(index.getOperands(def)[1 - i], place.loop,
                                      place.iteration),
                                  place),
                        *divisor);
      }
    return divide(dropStart(in[0], place), int64_t(1) << in[1].constant);
  }
  case ArithKind::Div:
    if (in[1].isConstant() && in[1].constant > 0)
      return divide(dropStart(in[0], place), in[1].constant);
    return function();
  case ArithKind::Rem:
    if (in[1].isConstant() && in[1].constant > 0) {
      IterationValue x = dropStart(in[0], place);
      return add(x, divide(x, in[1].constant), -in[1].constant, width);
    }
    return function();
  default:
    if (std::optional<IterationValue> bits = computeBits(op, place, in, width))
      return *bits;
    return function();
  }
}
