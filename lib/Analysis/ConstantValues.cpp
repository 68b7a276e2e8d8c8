// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse conditional constant propagation (Wegman and Zadeck) over dense value
// numbers, then one forward pass for integer ranges. When ranges decide a
// comparison, both run once more with that known.

#include "d2k/Analysis/ConstantValues.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::ElementType;

unsigned analysis::getWidth(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? integer.getWidth() : 0;
}

static uint64_t mask(uint64_t value, unsigned width) {
  return width >= 64 ? value : value & ((uint64_t(1) << width) - 1);
}

static int64_t asSigned(uint64_t value, unsigned width) {
  return width == 0 || width >= 64 ? int64_t(value)
                                   : llvm::SignExtend64(value, width);
}

static bool isSignedType(ElementType type) {
  return type == ElementType::S8 || type == ElementType::S16 ||
         type == ElementType::S32 || type == ElementType::S64;
}

bool ConstantValues::isFloatZero(ValueId value, ElementType type) const {
  if (states[value] != State::Constant)
    return false;
  uint64_t content = bits[value];
  switch (type) {
  case ElementType::F16:
  case ElementType::BF16:
    return (content & 0x7fff) == 0;
  case ElementType::F16X2:
  case ElementType::BF16X2:
    return (content & 0x7fff7fff) == 0;
  case ElementType::F64:
    return (content << 1) == 0;
  case ElementType::F32X2:
    return (content & 0x7fffffff7fffffffull) == 0;
  default:
    return kern::isFloat(type) ? (content & 0x7fffffff) == 0 : content == 0;
  }
}

std::optional<int64_t> ConstantValues::getSigned(ValueId value) const {
  if (states[value] != State::Constant)
    return std::nullopt;
  return asSigned(bits[value], getWidth(index.getValue(value).getType()));
}

bool ConstantValues::mayRun(OpId op) const {
  if (!reachable[index.getBlockOf(op)])
    return false;
  ValueId guard = index.getGuard(op);
  if (guard == kNone || states[guard] != State::Constant)
    return true;
  return (bits[guard] != 0) != index.isGuardNegated(op);
}

ConstantValues::ConstantValues(const KernelIndex &index) : index(index) {
  queued.assign(index.getNumOps(), false);
  solve();
  computeRanges();
  if (decideByRanges()) {
    solve();
    computeRanges();
  }
}

void ConstantValues::meetInto(ValueId value, Lattice with) {
  if (with.state == State::Undefined || states[value] == State::Varying)
    return;
  if (states[value] == State::Undefined) {
    states[value] = with.state;
    bits[value] = with.bits;
  } else if (with.state == State::Varying || with.bits != bits[value]) {
    states[value] = State::Varying;
  } else {
    return;
  }
  for (OpId user : index.getUsers(value))
    if (!queued[user] && reachable[index.getBlockOf(user)]) {
      queued[user] = true;
      worklist.push_back(user);
    }
}

void ConstantValues::visitArgs(BlockId block) {
  ValueId first = index.getFirstArg(block);
  for (uint32_t i = 0, e = index.getNumArgs(block); i < e; ++i)
    for (const KernelIndex::Incoming &in : index.getIncoming(first + i)) {
      if (!executable[in.edge])
        continue;
      if (in.value == kNone)
        meetInto(first + i, {State::Varying, 0});
      else
        meetInto(first + i, get(in.value, 0));
    }
}

void ConstantValues::reach(uint32_t edge, BlockId to) {
  if (executable[edge])
    return;
  executable[edge] = true;
  if (!reachable[to]) {
    reachable[to] = true;
    blockWorklist.push_back(to);
  }
  visitArgs(to);
}

void ConstantValues::solve() {
  states.assign(index.getNumValues(), State::Undefined);
  bits.assign(index.getNumValues(), 0);
  reachable.assign(index.getNumBlocks(), false);
  executable.assign(index.getNumEdges(), false);
  reachable[0] = true;
  blockWorklist.push_back(0);
  for (uint32_t i = 0, e = index.getNumArgs(0); i < e; ++i)
    meetInto(index.getFirstArg(0) + i, {State::Varying, 0});
  while (!blockWorklist.empty() || !worklist.empty()) {
    if (!worklist.empty()) {
      OpId op = worklist.back();
      worklist.pop_back();
      queued[op] = false;
      evaluate(op);
      continue;
    }
    BlockId block = blockWorklist.back();
    blockWorklist.pop_back();
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op)
      evaluate(op);
  }
}

void ConstantValues::evaluateTerminator(OpId id) {
  Operation *op = index.getOp(id);
  BlockId block = index.getBlockOf(id);
  llvm::ArrayRef<BlockId> to = index.getSuccessors(block);
  // A value that changed may be one that the terminator passes on.
  for (unsigned s = 0; s < to.size(); ++s)
    if (executable[index.getEdge(block, s)])
      visitArgs(to[s]);

  std::optional<unsigned> taken;
  if (auto branch = dyn_cast<kern::CondBranchOp>(op)) {
    ValueId condition = index.getId(branch.getCondition());
    if (states[condition] == State::Undefined)
      return;
    if (states[condition] == State::Constant)
      taken = bits[condition] ? 0 : 1;
  } else if (auto table = dyn_cast<kern::SwitchOp>(op)) {
    ValueId which = index.getId(table.getIndex());
    if (states[which] == State::Undefined)
      return;
    if (states[which] == State::Constant && bits[which] < to.size())
      taken = bits[which];
  }
  for (unsigned s = 0; s < to.size(); ++s)
    if (!taken || *taken == s)
      reach(index.getEdge(block, s), to[s]);
}

/// Value of an integer or bitwise function of constants.
static std::optional<uint64_t>
foldArith(kern::ArithOp op, llvm::ArrayRef<uint64_t> in, unsigned width) {
  ElementType type = op.getType();
  if (kern::isFloat(type) || op.getSaturate() || in.empty())
    return std::nullopt;
  unsigned bits = kern::getBits(type);
  if (type == ElementType::Pred)
    bits = 1;
  if (bits == 0 || bits > 64)
    return std::nullopt;
  bool isSigned = isSignedType(type);
  auto wide = [&](uint64_t value) {
    return isSigned ? uint64_t(asSigned(mask(value, bits), bits))
                    : mask(value, bits);
  };
  auto a = [&] { return mask(in[0], bits); };
  auto b = [&] { return mask(in[1], bits); };
  size_t count = in.size();
  switch (op.getKind()) {
  case ArithKind::Add:
    return count >= 2 ? std::optional(mask(in[0] + in[1], bits)) : std::nullopt;
  case ArithKind::Sub:
    return count >= 2 ? std::optional(mask(in[0] - in[1], bits)) : std::nullopt;
  case ArithKind::MulLo:
    return count >= 2 ? std::optional(mask(in[0] * in[1], bits)) : std::nullopt;
  case ArithKind::MadLo:
    return count >= 3 ? std::optional(mask(in[0] * in[1] + in[2], bits))
                      : std::nullopt;
  case ArithKind::MulWide:
    if (bits > 32 || count < 2)
      return std::nullopt;
    return mask(wide(in[0]) * wide(in[1]), 2 * bits);
  case ArithKind::MadWide:
    if (bits > 32 || count < 3)
      return std::nullopt;
    return mask(wide(in[0]) * wide(in[1]) + in[2], 2 * bits);
  case ArithKind::And:
    return count >= 2 ? std::optional(a() & b()) : std::nullopt;
  case ArithKind::Or:
    return count >= 2 ? std::optional(a() | b()) : std::nullopt;
  case ArithKind::Xor:
    return count >= 2 ? std::optional(a() ^ b()) : std::nullopt;
  case ArithKind::Not:
    return mask(~in[0], bits);
  case ArithKind::Neg:
    return mask(0 - in[0], bits);
  case ArithKind::Shl:
    if (count < 2)
      return std::nullopt;
    return in[1] >= bits ? 0 : mask(in[0] << in[1], bits);
  case ArithKind::Shr: {
    if (count < 2)
      return std::nullopt;
    uint64_t by = std::min<uint64_t>(in[1], bits);
    if (isSigned)
      return mask(uint64_t(asSigned(a(), bits) >> std::min<uint64_t>(by, 63)),
                  bits);
    return by >= bits ? 0 : a() >> by;
  }
  case ArithKind::Div:
  case ArithKind::Rem: {
    if (count < 2 || b() == 0)
      return std::nullopt;
    bool rem = op.getKind() == ArithKind::Rem;
    if (!isSigned)
      return rem ? a() % b() : a() / b();
    int64_t x = asSigned(a(), bits), y = asSigned(b(), bits);
    if (y == -1)
      return mask(rem ? 0 : uint64_t(0) - uint64_t(x), bits);
    return mask(uint64_t(rem ? x % y : x / y), bits);
  }
  case ArithKind::Min:
  case ArithKind::Max: {
    if (count < 2)
      return std::nullopt;
    bool less =
        isSigned ? asSigned(a(), bits) < asSigned(b(), bits) : a() < b();
    return less == (op.getKind() == ArithKind::Min) ? a() : b();
  }
  case ArithKind::Bfe: {
    if (count < 3 || isSigned || in[1] >= bits)
      return std::nullopt;
    unsigned length = std::min<uint64_t>(in[2], bits);
    return mask(a() >> in[1], length);
  }
  case ArithKind::Lop3: {
    if (count < 4)
      return std::nullopt;
    uint64_t result = 0, table = in[3];
    for (unsigned i = 0; i < 8; ++i)
      if (table >> i & 1)
        result |= (i & 4 ? in[0] : ~in[0]) & (i & 2 ? in[1] : ~in[1]) &
                  (i & 1 ? in[2] : ~in[2]);
    return mask(result, bits);
  }
  case ArithKind::Popc:
    return llvm::popcount(a());
  default:
    return std::nullopt;
  }
}

static std::optional<bool> foldCompare(kern::CompareOp op, uint64_t x,
                                       uint64_t y) {
  ElementType type = op.getType();
  unsigned bits = type == ElementType::Pred ? 1 : kern::getBits(type);
  if (kern::isFloat(type) || bits == 0 || bits > 64)
    return std::nullopt;
  x = mask(x, bits);
  y = mask(y, bits);
  int64_t sx = asSigned(x, bits), sy = asSigned(y, bits);
  bool isSigned = isSignedType(type);
  switch (op.getPredicate()) {
  case kern::Compare::Eq:
    return x == y;
  case kern::Compare::Ne:
    return x != y;
  case kern::Compare::Lt:
    return isSigned ? sx < sy : x < y;
  case kern::Compare::Le:
    return isSigned ? sx <= sy : x <= y;
  case kern::Compare::Gt:
    return isSigned ? sx > sy : x > y;
  case kern::Compare::Ge:
    return isSigned ? sx >= sy : x >= y;
  case kern::Compare::Lo:
    return x < y;
  case kern::Compare::Ls:
    return x <= y;
  case kern::Compare::Hi:
    return x > y;
  case kern::Compare::Hs:
    return x >= y;
  default:
    return std::nullopt;
  }
}

/// Conversion between integers, or of a zero, which is zero in every format.
static std::optional<uint64_t> foldConvert(kern::ConvertOp op, uint64_t x,
                                           unsigned width) {
  unsigned from = kern::getBits(op.getFrom()), to = kern::getBits(op.getTo());
  if (kern::isFloat(op.getFrom()) || kern::isFloat(op.getTo()))
    return mask(x, from) == 0 ? std::optional<uint64_t>(0) : std::nullopt;
  if (from == 0 || to == 0 || from > 64 || to > 64 || op.getSaturate())
    return std::nullopt;
  x = mask(x, from);
  if (isSignedType(op.getFrom()))
    x = uint64_t(asSigned(x, from));
  x = mask(x, to);
  if (isSignedType(op.getTo()))
    x = uint64_t(asSigned(x, to));
  return mask(x, width);
}

/// The truth table of a bitwise operation as in `lop3`: bit 4a + 2b + c is the
/// result for the bits a, b and c. Nothing for other operations.
static std::optional<uint8_t> getTruthTable(kern::ArithOp op,
                                            std::optional<uint64_t> table) {
  switch (op.getKind()) {
  case ArithKind::And:
    return 0xc0;
  case ArithKind::Or:
    return 0xfc;
  case ArithKind::Xor:
    return 0x3c;
  case ArithKind::Lop3:
    return table ? std::optional<uint8_t>(*table) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<uint64_t> ConstantValues::foldPartly(kern::ArithOp op,
                                                   ValueRange operands) const {
  ElementType type = op.getType();
  unsigned width = type == ElementType::Pred ? 1 : kern::getBits(type);
  if (kern::isFloat(type) || width == 0 || width > 64)
    return std::nullopt;
  llvm::SmallVector<ValueId, 4> in;
  for (Value operand : operands)
    in.push_back(index.getId(operand));
  auto known = [&](unsigned i) {
    return i < in.size() ? get(in[i]) : std::nullopt;
  };
  auto is = [&](unsigned i, uint64_t value) {
    std::optional<uint64_t> constant = known(i);
    return constant && mask(*constant, width) == mask(value, width);
  };
  bool isSigned = isSignedType(type);
  switch (op.getKind()) {
  case ArithKind::And:
  case ArithKind::Or:
  case ArithKind::Xor:
  case ArithKind::Lop3: {
    std::optional<uint8_t> table = getTruthTable(op, known(3));
    unsigned count = op.getKind() == ArithKind::Lop3 ? 3 : 2;
    if (!table || in.size() < count)
      return std::nullopt;
    // Bits do not mix: all ones and all zeros for each operand that is not
    // known stand for every number. An operand and its complement vary
    // together.
    llvm::SmallVector<ValueId, 3> varying;
    uint64_t fixed[3] = {0, 0, 0};
    int from[3] = {-1, -1, -1};
    bool inverted[3] = {false, false, false};
    for (unsigned i = 0; i < count; ++i) {
      ValueId value = in[i];
      if (std::optional<uint64_t> constant = get(value)) {
        fixed[i] = *constant;
        continue;
      }
      OpId def = index.getDef(value);
      if (def != kNone && index.getGuard(def) == kNone)
        if (auto inner = dyn_cast<kern::ArithOp>(index.getOp(def));
            inner && inner.getKind() == ArithKind::Not) {
          value = index.getOperands(def)[0];
          inverted[i] = true;
        }
      auto *place = llvm::find(varying, value);
      from[i] = place - varying.begin();
      if (place == varying.end())
        varying.push_back(value);
    }
    std::optional<uint64_t> result;
    for (unsigned choice = 0; choice < 1u << varying.size(); ++choice) {
      uint64_t word[3] = {0, 0, 0}, value = 0;
      for (unsigned i = 0; i < count; ++i)
        word[i] = from[i] < 0                                     ? fixed[i]
                  : ((choice >> from[i] & 1) != 0) != inverted[i] ? ~uint64_t(0)
                                                                  : 0;
      for (unsigned i = 0; i < 8; ++i)
        if (*table >> i & 1)
          value |= (i & 4 ? word[0] : ~word[0]) & (i & 2 ? word[1] : ~word[1]) &
                   (i & 1 ? word[2] : ~word[2]);
      value = mask(value, width);
      if (result && *result != value)
        return std::nullopt;
      result = value;
    }
    return result;
  }
  case ArithKind::Sub:
    return in.size() == 2 && in[0] == in[1] ? std::optional<uint64_t>(0)
                                            : std::nullopt;
  case ArithKind::MulLo:
  case ArithKind::MulHi:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
    return is(0, 0) || is(1, 0) ? std::optional<uint64_t>(0) : std::nullopt;
  case ArithKind::Shl:
  case ArithKind::Shr: {
    // Counts are 32 bits whatever the type, and not taken modulo the width.
    std::optional<uint64_t> by = known(1);
    bool out = by && mask(*by, 32) >= width &&
               !(op.getKind() == ArithKind::Shr && isSigned);
    return out || is(0, 0) ? std::optional<uint64_t>(0) : std::nullopt;
  }
  case ArithKind::Bfe: {
    std::optional<uint64_t> from = known(1), length = known(2);
    bool out = (length && (*length & 0xff) == 0) ||
               (!isSigned && from && (*from & 0xff) >= width);
    return out ? std::optional<uint64_t>(0) : std::nullopt;
  }
  case ArithKind::Min:
    return !isSigned && (is(0, 0) || is(1, 0)) ? std::optional<uint64_t>(0)
                                               : std::nullopt;
  case ArithKind::Max:
    return !isSigned && (is(0, ~uint64_t(0)) || is(1, ~uint64_t(0)))
               ? std::optional<uint64_t>(mask(~uint64_t(0), width))
               : std::nullopt;
  case ArithKind::Rem:
    return is(1, 1) ? std::optional<uint64_t>(0) : std::nullopt;
  case ArithKind::Prmt: {
    // Each nibble of the selector takes a byte, or its sign, from the eight.
    std::optional<uint64_t> selector = known(2);
    // The other modes of the instruction read the selector in another way.
    if (!selector || in.size() != 3 || op.getMnemonic() != "prmt.b32")
      return std::nullopt;
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned pick = *selector >> (4 * i) & 0xf;
      std::optional<uint64_t> source = known(pick & 4 ? 1 : 0);
      if (!source)
        return std::nullopt;
      uint64_t byte = *source >> (8 * (pick & 3)) & 0xff;
      if (pick & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
  default:
    return std::nullopt;
  }
}

/// Decides `x ? y` for all numbers of two ranges.
static std::optional<bool> compareRanges(kern::CompareOp op, Range x, Range y) {
  ElementType type = op.getType();
  if (x.full || y.full || kern::isFloat(type))
    return std::nullopt;
  // Negative numbers are large ones when read as unsigned.
  if ((x.low < 0 || y.low < 0) && !isSignedType(type))
    return std::nullopt;
  auto decide = [](bool always, bool never) -> std::optional<bool> {
    return always  ? std::optional(true)
           : never ? std::optional(false)
                   : std::nullopt;
  };
  bool apart = x.high < y.low || y.high < x.low;
  bool same = x.low == x.high && y.low == y.high && x.low == y.low;
  switch (op.getPredicate()) {
  case kern::Compare::Eq:
    return decide(same, apart);
  case kern::Compare::Ne:
    return decide(apart, same);
  case kern::Compare::Lt:
  case kern::Compare::Lo:
    return decide(x.high < y.low, x.low >= y.high);
  case kern::Compare::Le:
  case kern::Compare::Ls:
    return decide(x.high <= y.low, x.low > y.high);
  case kern::Compare::Gt:
  case kern::Compare::Hi:
    return decide(x.low > y.high, x.high <= y.low);
  case kern::Compare::Ge:
  case kern::Compare::Hs:
    return decide(x.low >= y.high, x.high < y.low);
  default:
    return std::nullopt;
  }
}

/// Decides `x ? x` for an integer x.
static std::optional<bool> compareSame(kern::CompareOp op) {
  if (kern::isFloat(op.getType()))
    return std::nullopt;
  switch (op.getPredicate()) {
  case kern::Compare::Eq:
  case kern::Compare::Le:
  case kern::Compare::Ls:
  case kern::Compare::Ge:
  case kern::Compare::Hs:
    return true;
  case kern::Compare::Ne:
  case kern::Compare::Lt:
  case kern::Compare::Lo:
  case kern::Compare::Gt:
  case kern::Compare::Hi:
    return false;
  default:
    return std::nullopt;
  }
}

std::optional<bool> ConstantValues::decide(OpId id) const {
  auto compare = cast<kern::CompareOp>(index.getOp(id));
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  if (in.size() < 2)
    return std::nullopt;
  std::optional<uint64_t> x = get(in[0]), y = get(in[1]);
  if (x && y)
    return foldCompare(compare, *x, *y);
  if (in[0] == in[1])
    return compareSame(compare);
  auto found = decided.find(id);
  return found == decided.end() ? std::nullopt : std::optional(found->second);
}

bool ConstantValues::decideByRanges() {
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    auto compare = dyn_cast<kern::CompareOp>(index.getOp(id));
    if (!compare || index.getOperands(id).size() < 2 ||
        get(index.getFirstResult(id)))
      continue;
    ValueId x = index.getOperands(id)[0], y = index.getOperands(id)[1];
    if (std::optional<bool> result =
            compareRanges(compare, ranges[x], ranges[y]))
      decided[id] = *result;
  }
  return !decided.empty();
}

void ConstantValues::evaluate(OpId id) {
  Operation *op = index.getOp(id);
  if (op->getNumSuccessors() != 0) {
    evaluateTerminator(id);
    return;
  }
  uint32_t numResults = index.getNumResults(id);
  if (numResults == 0)
    return;
  ValueId first = index.getFirstResult(id);
  llvm::ArrayRef<ValueId> operands = index.getOperands(id);

  // Operands end in [guard], [old...]; what precedes them are the inputs.
  llvm::ArrayRef<ValueId> inputs = operands;
  llvm::ArrayRef<ValueId> old;
  ValueId guard = index.getGuard(id);
  if (guard != kNone) {
    old = operands.take_back(numResults);
    inputs = operands.drop_back(numResults + 1);
  }

  llvm::SmallVector<Lattice, 4> out(numResults, {State::Varying, 0});
  bool anyUndefined = llvm::any_of(
      inputs, [&](ValueId v) { return states[v] == State::Undefined; });
  bool allConstant = llvm::all_of(
      inputs, [&](ValueId v) { return states[v] == State::Constant; });
  llvm::SmallVector<uint64_t, 8> in;
  if (allConstant)
    for (ValueId v : inputs)
      in.push_back(bits[v]);
  unsigned width = getWidth(index.getValue(first).getType());

  auto set = [&](std::optional<uint64_t> value) {
    if (value)
      out[0] = {State::Constant, *value};
  };
  // Operations whose result is known although an input is not.
  bool isDecided = false;
  if (auto constant = dyn_cast<kern::ConstantOp>(op)) {
    llvm::APInt value = constant.getBits();
    if (value.getActiveBits() <= 64 && value.getBitWidth() <= 64)
      set(value.getZExtValue());
    isDecided = true;
  } else if (auto select = dyn_cast<kern::SelectOp>(op)) {
    Lattice condition = get(inputs[0], 0);
    if (condition.state == State::Undefined)
      return;
    bool predicate = getWidth(select.getCondition().getType()) == 1;
    if (condition.state == State::Constant) {
      unsigned w = getWidth(select.getCondition().getType());
      bool chosen =
          predicate ? condition.bits != 0 : asSigned(condition.bits, w) >= 0;
      out[0] = get(inputs[chosen ? 1 : 2], 0);
    } else {
      Lattice x = get(inputs[1], 0), y = get(inputs[2], 0);
      if (x.state == State::Undefined)
        out[0] = y;
      else if (y.state == State::Undefined)
        out[0] = x;
      else if (x.state == State::Constant && y.state == State::Constant &&
               x.bits == y.bits)
        out[0] = x;
    }
    isDecided = true;
  } else if (auto arith = dyn_cast<kern::ArithOp>(op)) {
    // Some results are known whatever an operand is.
    if (!allConstant && numResults == 1)
      if (std::optional<uint64_t> value = foldPartly(
              arith, arith->getOperands().take_front(inputs.size()))) {
        set(value);
        isDecided = true;
      }
  } else if (auto compare = dyn_cast<kern::CompareOp>(op);
             compare && !compare.getResultType() && !anyUndefined) {
    std::optional<bool> result = decide(id);
    std::optional<bool> other;
    if (inputs.size() > 2 && states[inputs[2]] == State::Constant)
      other = (bits[inputs[2]] != 0) != compare.getCombineNegated();
    // Half of a conjunction may decide it.
    auto combine = [&](std::optional<bool> value) -> std::optional<uint64_t> {
      if (!compare.getCombine() || inputs.size() < 3)
        return value;
      bool both = value && other;
      switch (*compare.getCombine()) {
      case kern::BoolOp::And:
        if (value == false || other == false)
          return 0;
        return both ? std::optional<uint64_t>(1) : std::nullopt;
      case kern::BoolOp::Or:
        if (value == true || other == true)
          return 1;
        return both ? std::optional<uint64_t>(0) : std::nullopt;
      case kern::BoolOp::Xor:
        return both ? std::optional<uint64_t>(*value != *other) : std::nullopt;
      }
      return std::nullopt;
    };
    set(combine(result));
    if (numResults > 1)
      if (std::optional<uint64_t> value =
              combine(result ? std::optional(!*result) : std::nullopt))
        out[1] = {State::Constant, *value};
    isDecided = true;
  }
  if (!isDecided && anyUndefined)
    return;
  if (!isDecided && allConstant && width != 0 && width <= 64) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](kern::ArithOp arith) {
          if (numResults == 1)
            set(foldArith(arith, in, width));
        })
        .Case([&](kern::ConvertOp convert) {
          if (in.size() == 1 && numResults == 1)
            set(foldConvert(convert, in[0], width));
        })
        .Case([&](kern::PackOp pack) {
          uint64_t value = 0;
          unsigned at = 0;
          for (auto [i, v] : llvm::enumerate(inputs)) {
            unsigned w = getWidth(index.getValue(v).getType());
            value |= at < 64 ? mask(in[i], w) << at : 0;
            at += w;
          }
          set(value);
        })
        .Case([&](kern::UnpackOp unpack) {
          unsigned at = 0;
          for (uint32_t r = 0; r < numResults; ++r) {
            unsigned w = getWidth(index.getValue(first + r).getType());
            out[r] = {State::Constant, at < 64 ? mask(in[0] >> at, w) : 0};
            at += w;
          }
        });
  }
  if (guard != kNone) {
    if (states[guard] == State::Undefined)
      return;
    if (states[guard] == State::Constant) {
      bool runs = (bits[guard] != 0) != index.isGuardNegated(id);
      for (uint32_t r = 0; r < numResults; ++r)
        if (!runs)
          out[r] = get(old[r], 0);
    } else {
      for (uint32_t r = 0; r < numResults; ++r)
        meetInto(first + r, get(old[r], 0));
    }
  }
  for (uint32_t r = 0; r < numResults; ++r)
    meetInto(first + r, out[r]);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Smallest 2^n - 1 that is at least `value`.
static int64_t coverBits(int64_t value) {
  return int64_t(llvm::NextPowerOf2(uint64_t(value))) - 1;
}

/// The range when every number in it is one of the register, else full.
static Range clamp(__int128 low, __int128 high, unsigned width) {
  if (width == 0 || width > 64)
    return {};
  __int128 limit = (__int128(1) << (width - 1)) - 1;
  if (low < -limit || high > limit)
    return {};
  return Range::of(int64_t(low), int64_t(high));
}

Range ConstantValues::rangeOf(OpId id, unsigned resultNo) const {
  Operation *op = index.getOp(id);
  unsigned width =
      getWidth(index.getValue(index.getFirstResult(id) + resultNo).getType());
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  auto r = [&](unsigned i) { return ranges[in[i]]; };

  if (auto special = dyn_cast<kern::SpecialOp>(op)) {
    llvm::StringRef reg = special.getReg();
    auto dimension = [&]() -> unsigned {
      return reg.ends_with(".y") ? 1 : reg.ends_with(".z") ? 2 : 0;
    };
    if (reg.starts_with("tid.") || reg.starts_with("ntid.")) {
      kern::FuncOp func = index.getFunc();
      auto most = func.getDirective3("kern.reqntid");
      if (!most)
        most = func.getDirective3("kern.maxntid");
      int64_t limit = dimension() == 2 ? 64 : 1024;
      // maxntid bounds the product of the extents, so one extent as well.
      if (most)
        limit = std::min(limit, (*most)[0] * (*most)[1] * (*most)[2]);
      return reg.starts_with("tid.")
                 ? Range::of(0, std::max<int64_t>(limit, 1) - 1)
                 : Range::of(1, std::max<int64_t>(limit, 1));
    }
    if (reg == "laneid")
      return Range::of(0, 31);
    if (reg == "warpid")
      return Range::of(0, 63);
    if (reg.starts_with("cluster_ctarank") || reg.starts_with("cluster_ctaid"))
      return Range::of(0, 15);
    if (reg.starts_with("ctaid."))
      return Range::of(0, dimension() == 0 ? INT32_MAX - 1 : 65534);
    return {};
  }
  if (auto load = dyn_cast<kern::LoadOp>(op)) {
    switch (load.getType()) {
    case ElementType::U8:
    case ElementType::B8:
      return width > 8 ? Range::of(0, 255) : Range();
    case ElementType::U16:
    case ElementType::B16:
      return width > 16 ? Range::of(0, 65535) : Range();
    default:
      return {};
    }
  }
  if (isa<kern::SelectOp>(op)) {
    Range x = r(1), y = r(2);
    return x.full || y.full
               ? Range()
               : Range::of(std::min(x.low, y.low), std::max(x.high, y.high));
  }
  if (auto convert = dyn_cast<kern::ConvertOp>(op)) {
    if (in.empty() || kern::isFloat(convert.getFrom()) ||
        kern::isFloat(convert.getTo()))
      return {};
    Range x = r(0);
    unsigned to = kern::getBits(convert.getTo());
    if (x.isNonNegative() && to != 0 && to < 64 && x.high >> (to - 1) == 0)
      return x;
    if (!x.full && to == 64 && (x.low >= 0 || isSignedType(convert.getFrom())))
      return x;
    if (convert.getTo() == ElementType::U8)
      return Range::of(0, 255);
    if (convert.getTo() == ElementType::U16)
      return Range::of(0, 65535);
    return {};
  }
  if (isa<kern::ShuffleOp>(op))
    return resultNo == 0 && !in.empty() ? r(0) : Range();
  auto arith = dyn_cast<kern::ArithOp>(op);
  if (!arith || kern::isFloat(arith.getType()) || in.empty() || resultNo != 0)
    return {};
  using I = __int128;
  auto both = [&] { return in.size() >= 2 && !r(0).full && !r(1).full; };
  auto product = [&](Range x, Range y) -> std::pair<I, I> {
    I p[] = {I(x.low) * y.low, I(x.low) * y.high, I(x.high) * y.low,
             I(x.high) * y.high};
    I low = p[0], high = p[0];
    for (I v : p) {
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
    return {low, high};
  };
  switch (arith.getKind()) {
  case ArithKind::Add:
    return both()
               ? clamp(I(r(0).low) + r(1).low, I(r(0).high) + r(1).high, width)
               : Range();
  case ArithKind::Sub:
    return both()
               ? clamp(I(r(0).low) - r(1).high, I(r(0).high) - r(1).low, width)
               : Range();
  case ArithKind::MulLo:
  case ArithKind::MulWide: {
    if (!both())
      return {};
    auto [low, high] = product(r(0), r(1));
    return clamp(low, high, width);
  }
  case ArithKind::MadLo:
  case ArithKind::MadWide: {
    if (!both() || in.size() < 3 || r(2).full)
      return {};
    auto [low, high] = product(r(0), r(1));
    return clamp(low + r(2).low, high + r(2).high, width);
  }
  case ArithKind::And: {
    if (in.size() < 2)
      return {};
    Range x = r(0), y = r(1);
    if (x.isNonNegative() && y.isNonNegative())
      return Range::of(0, std::min(x.high, y.high));
    if (x.isNonNegative())
      return Range::of(0, x.high);
    return y.isNonNegative() ? Range::of(0, y.high) : Range();
  }
  case ArithKind::Or:
  case ArithKind::Xor:
    if (!both() || r(0).low < 0 || r(1).low < 0)
      return {};
    return Range::of(0, coverBits(std::max(r(0).high, r(1).high)));
  case ArithKind::Shl:
    if (!both() || r(0).low < 0 || r(1).low < 0 || r(1).high > 62)
      return {};
    return clamp(I(r(0).low) << r(1).low, I(r(0).high) << r(1).high, width);
  case ArithKind::Shr:
    if (!both() || r(0).low < 0 || r(1).low < 0)
      return {};
    return Range::of(r(0).low >> std::min<int64_t>(r(1).high, 63),
                     r(0).high >> std::min<int64_t>(r(1).low, 63));
  case ArithKind::Rem:
    if (in.size() < 2 || r(1).full || r(1).low <= 0)
      return {};
    if (r(0).isNonNegative())
      return Range::of(0, std::min(r(0).high, r(1).high - 1));
    // Unsigned reading of a register that may be negative is still below the
    // divisor; signed reading can be negative.
    return isSignedType(arith.getType())
               ? Range::of(-(r(1).high - 1), r(1).high - 1)
               : Range::of(0, r(1).high - 1);
  case ArithKind::Div:
    if (!both() || r(0).low < 0 || r(1).low <= 0)
      return {};
    return Range::of(r(0).low / r(1).high, r(0).high / r(1).low);
  case ArithKind::Min:
  case ArithKind::Max: {
    if (!both() || (r(0).low < 0 && !isSignedType(arith.getType())) ||
        (r(1).low < 0 && !isSignedType(arith.getType())))
      return {};
    bool isMin = arith.getKind() == ArithKind::Min;
    auto pick = [&](int64_t x, int64_t y) {
      return isMin ? std::min(x, y) : std::max(x, y);
    };
    return Range::of(pick(r(0).low, r(1).low), pick(r(0).high, r(1).high));
  }
  case ArithKind::Bfe: {
    std::optional<uint64_t> length = in.size() >= 3 ? get(in[2]) : std::nullopt;
    if (length && *length < 31 && !isSignedType(arith.getType()))
      return Range::of(0, (int64_t(1) << *length) - 1);
    return {};
  }
  default:
    return {};
  }
}

void ConstantValues::computeRanges() {
  ranges.assign(index.getNumValues(), {});
  // Layout order: a value whose definition comes later in the text, and every
  // block argument, keeps the full range unless it is constant.
  for (ValueId v = 0; v < index.getNumValues(); ++v)
    if (std::optional<int64_t> value = getSigned(v))
      ranges[v] = Range::of(*value, *value);
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    uint32_t count = index.getNumResults(op);
    for (uint32_t i = 0; i < count; ++i) {
      ValueId v = index.getFirstResult(op) + i;
      // A guarded result may be the old value.
      if (ranges[v].full && index.getGuard(op) == kNone && count <= 2)
        ranges[v] = rangeOf(op, i);
    }
  }
}
