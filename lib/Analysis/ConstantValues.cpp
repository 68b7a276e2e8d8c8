// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse conditional constant propagation (Wegman and Zadeck) over dense value
// numbers, then one forward pass for integer ranges. When ranges decide a
// comparison, both run once more with that known.

#include "ConstantFolding.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::ElementType;

unsigned analysis::getWidth(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? integer.getWidth() : 0;
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

ConstantValues::ConstantValues(const KernelIndex &index,
                               const KnownValues *known)
    : index(index), known(known) {
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

std::optional<uint64_t> ConstantValues::getKnown(ValueId value) const {
  if (!known)
    return std::nullopt;
  auto found = known->constants.find(value);
  return found == known->constants.end() ? std::nullopt
                                         : std::optional(found->second);
}

void ConstantValues::visitArgs(uint32_t edge, BlockId block) {
  ValueId arg = index.getFirstArg(block);
  for (ValueId value : index.getPassed(edge)) {
    if (std::optional<uint64_t> constant = getKnown(arg))
      meetInto(arg++, {State::Constant, *constant});
    else
      meetInto(arg++,
               value == kNone ? Lattice{State::Varying, 0} : get(value, 0));
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
  visitArgs(edge, to);
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
      visitArgs(index.getEdge(block, s), to[s]);

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
    bool isPlain = op.getMnemonic() == "prmt.b32" || op.getMnemonic() == "PRMT";
    if (!selector || in.size() != 3 || !isPlain)
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

std::optional<bool> ConstantValues::decide(OpId id) const {
  auto compare = cast<kern::CompareOp>(index.getOp(id));
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  if (in.size() < 2)
    return std::nullopt;
  std::optional<uint64_t> x = get(in[0]), y = get(in[1]);
  if (x && y)
    return kern::isFloat(compare.getType()) ? foldFloatCompare(compare, *x, *y)
                                            : foldCompare(compare, *x, *y);
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

  if (known)
    for (uint32_t r = 0; r < numResults; ++r)
      if (std::optional<uint64_t> constant = getKnown(first + r))
        meetInto(first + r, {State::Constant, *constant});

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
    bool isPermutation = arith.getKind() == ArithKind::Prmt;
    if ((!allConstant || isPermutation) && numResults == 1)
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
            set(foldArith(IntegerFunction(arith), in));
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
        if (!getKnown(first + r))
          meetInto(first + r, get(old[r], 0));
    }
  }
  for (uint32_t r = 0; r < numResults; ++r)
    if (!getKnown(first + r))
      meetInto(first + r, out[r]);
}
