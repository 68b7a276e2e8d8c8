// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms are computed on demand, operands first. Loop-carried values are seen
// through when all ways back into the loop add the same step.

#include "d2k/Analysis/LinearForms.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

namespace {
/// Deeper expressions are not taken apart: no address is so long.
constexpr unsigned kMaxDepth = 64;
/// Longer sums say nothing.
constexpr size_t kMaxTerms = 12;
/// A wider range is a symbol and no remainder: the largest shared memory and
/// the rows that one thread block reaches are below it.
constexpr int64_t kMaxRemainder = int64_t(1) << 20;
/// Coefficients and remainders beyond this are cut off.
constexpr int64_t kMaxNumber = int64_t(1) << 40;
} // namespace

LinearForm LinearForm::plus(const LinearForm &other, int64_t factor) const {
  LinearForm sum;
  auto a = terms.begin(), b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->first < b->first)) {
      sum.terms.push_back(*a++);
    } else if (a == terms.end() || b->first < a->first) {
      sum.terms.push_back({b->first, b->second * factor});
      ++b;
    } else {
      if (int64_t both = a->second + b->second * factor)
        sum.terms.push_back({a->first, both});
      ++a, ++b;
    }
  }
  llvm::erase_if(sum.terms, [](const auto &term) { return term.second == 0; });
  int64_t x = other.low * factor, y = other.high * factor;
  sum.low = low + std::min(x, y);
  sum.high = high + std::max(x, y);
  return sum;
}

/// Whether all numbers of `form` are small enough to be calculated with.
static bool isSmall(const LinearForm &form) {
  auto small = [](int64_t x) { return x > -kMaxNumber && x < kMaxNumber; };
  return form.terms.size() <= kMaxTerms && small(form.low) &&
         small(form.high) && llvm::all_of(form.terms, [&](const auto &term) {
           return small(term.second);
         });
}

LinearForms::LinearForms(const KernelIndex &index,
                         const ConstantValues &constants, const LoopNest &loops)
    : index(index), constants(constants), loops(loops) {
  forms.assign(index.getNumValues(), std::nullopt);
  numbers.assign(index.getNumValues(), kNone);
  kinds.assign(index.getNumValues(), 0);
}

uint32_t LinearForms::makeSymbol(Symbol symbol) {
  symbols.push_back(std::move(symbol));
  return symbols.size() - 1;
}

//===----------------------------------------------------------------------===//
// Equal computations
//===----------------------------------------------------------------------===//

/// Whether equal operands give equal results.
static bool isFunction(Operation *op) {
  if (auto load = dyn_cast<kern::LoadOp>(op))
    return load.getSpace() == kern::Space::Param;
  return isa<kern::ConstantOp, kern::AddressOfOp, kern::SpecialOp,
             kern::ArithOp, kern::MathOp, kern::CompareOp, kern::ConvertOp,
             kern::SelectOp, kern::PackOp, kern::UnpackOp, kern::SpaceCastOp>(
      op);
}

uint32_t LinearForms::getNumber(ValueId value) {
  if (numbers[value] != kNone)
    return numbers[value];
  OpId def = index.getDef(value);
  std::vector<uint64_t> key;
  if (def == kNone || depth >= kMaxDepth || !isFunction(index.getOp(def))) {
    key = {0, value};
  } else {
    Operation *op = index.getOp(def);
    key = {1, reinterpret_cast<uintptr_t>(op->getName().getAsOpaquePointer()),
           reinterpret_cast<uintptr_t>(
               op->getAttrDictionary().getAsOpaquePointer()),
           value - index.getFirstResult(def)};
    ++depth;
    for (ValueId operand : index.getOperands(def))
      key.push_back(getNumber(operand));
    --depth;
  }
  numbers[value] = numberOf.try_emplace(key, numberOf.size()).first->second;
  return numbers[value];
}

SymbolKind LinearForms::getKindOf(ValueId value) {
  if (kinds[value])
    return SymbolKind(kinds[value] - 1);
  SymbolKind kind = SymbolKind::Other;
  OpId def = index.getDef(value);
  // The parameter block is the same everywhere.
  if (def == kNone && index.getDefBlock(value) == 0)
    kind = SymbolKind::Fixed;
  if (def != kNone && depth < kMaxDepth) {
    Operation *op = index.getOp(def);
    if (auto special = dyn_cast<kern::SpecialOp>(op)) {
      StringRef reg = special.getReg();
      kind = reg.starts_with("ntid") || reg.starts_with("nctaid") ||
                     reg.ends_with("_smem_size")
                 ? SymbolKind::Launch
             : reg.starts_with("ctaid") ? SymbolKind::Index
                                        : SymbolKind::Other;
    } else if (isFunction(op)) {
      kind = isa<kern::LoadOp>(op) ? SymbolKind::Launch : SymbolKind::Fixed;
      ++depth;
      for (ValueId operand : index.getOperands(def))
        kind = std::max(kind, getKindOf(operand));
      --depth;
    }
  }
  kinds[value] = uint8_t(kind) + 1;
  return kind;
}

LinearForm LinearForms::atom(ValueId value) {
  Range range = constants.getRange(value);
  SymbolKind kind = getKindOf(value);
  LinearForm form;
  // What the launch chooses stays a symbol even when it is masked.
  if (kind != SymbolKind::Launch && !range.full && range.low > -kMaxRemainder &&
      range.high < kMaxRemainder) {
    form.low = range.low;
    form.high = range.high;
    return form;
  }
  auto [it, isNew] = symbolOfNumber.try_emplace(getNumber(value), 0);
  if (isNew) {
    Symbol symbol;
    symbol.kind = kind;
    it->second = makeSymbol(symbol);
  }
  form.terms.push_back({it->second, 1});
  return form;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

const LinearForm &LinearForms::get(ValueId value) {
  if (!forms[value]) {
    bool deep = depth >= kMaxDepth;
    ++depth;
    LinearForm form = deep ? atom(value) : compute(value);
    --depth;
    forms[value] = isSmall(form) ? std::move(form) : atom(value);
    made.push_back(value);
  }
  return *forms[value];
}

LinearForm LinearForms::compute(ValueId value) {
  if (std::optional<int64_t> constant = constants.getSigned(value)) {
    LinearForm form;
    form.low = form.high = *constant;
    return form;
  }
  return index.getDef(value) == kNone ? computeArg(value) : computeOp(value);
}

LinearForm LinearForms::computeArg(ValueId value) {
  BlockId block = index.getDefBlock(value);
  uint32_t loop = loops.getInnermost(block);
  LinearForm self = atom(value);
  if (loop == kNone || loops.getLoop(loop).header != block ||
      self.terms.size() != 1)
    return self;
  // What the loop computes from the value is first seen in terms of the value
  // itself; that is forgotten afterwards.
  forms[value] = self;
  size_t before = made.size();
  LinearForm result = seeThrough(value, loop, self);
  for (ValueId other : llvm::ArrayRef(made).drop_front(before))
    if (llvm::any_of(forms[other]->terms, [&](const auto &term) {
          return term.first == self.terms[0].first;
        }))
      forms[other].reset();
  made.resize(before);
  return result;
}

LinearForm LinearForms::seeThrough(ValueId value, uint32_t loop,
                                   const LinearForm &self) {
  std::optional<LinearForm> start, step;
  for (const KernelIndex::Incoming &in : index.getIncoming(value)) {
    if (!constants.isExecutableEdge(in.edge))
      continue;
    if (in.value == kNone)
      return self;
    bool back = loops.contains(loop, in.from);
    LinearForm form = get(in.value);
    if (back)
      form = form.plus(self, -1);
    std::optional<LinearForm> &slot = back ? step : start;
    if (slot && (slot->terms != form.terms || slot->low != form.low ||
                 slot->high != form.high))
      return self;
    slot = form;
  }
  // A step is a constant or a number of the launch.
  if (!start || !step || step->low != step->high ||
      llvm::any_of(step->terms, [&](const auto &term) {
        return symbols[term.first].kind != SymbolKind::Launch;
      }))
    return self;
  if (step->isConstant() && step->low == 0)
    return *start;
  // A constant step counts iterations; they are one symbol for all of them.
  int64_t factor = step->isConstant() ? step->low : 1;
  LinearForm unit = *step;
  if (step->isConstant())
    unit.low = unit.high = 1;
  std::vector<int64_t> key{int64_t(loop), unit.low};
  for (const auto &[symbol, coefficient] : unit.terms) {
    key.push_back(symbol);
    key.push_back(coefficient);
  }
  auto [it, isNew] = steps.try_emplace(key, 0);
  if (isNew) {
    Symbol symbol;
    symbol.kind = SymbolKind::Loop;
    symbol.loop = loop;
    symbol.step = unit;
    it->second = makeSymbol(symbol);
  }
  LinearForm iterations;
  iterations.terms.push_back({it->second, 1});
  return start->plus(iterations, factor);
}

LinearForm LinearForms::scale(const LinearForm &form, uint32_t factor) {
  LinearForm result;
  for (const auto &[symbol, coefficient] : form.terms) {
    auto key = std::minmax(symbol, factor);
    auto [it, isNew] = products.try_emplace({key.first, key.second}, 0);
    if (isNew) {
      Symbol product;
      product.kind = std::max(symbols[symbol].kind, symbols[factor].kind);
      if (symbols[symbol].kind == SymbolKind::Loop &&
          symbols[factor].kind == SymbolKind::Launch) {
        product.loop = symbols[symbol].loop;
        product.step = scale(symbols[symbol].step, factor);
      }
      it->second = makeSymbol(product);
    }
    LinearForm term;
    term.terms.push_back({it->second, 1});
    result = result.plus(term, coefficient);
  }
  LinearForm rest;
  rest.terms.push_back({factor, 1});
  return result.plus(rest, form.low);
}

LinearForm LinearForms::computeOp(ValueId value) {
  OpId def = index.getDef(value);
  Operation *op = index.getOp(def);
  llvm::ArrayRef<ValueId> in = index.getOperands(def);
  // A guarded result may be the old one.
  if (index.getGuard(def) != kNone || value != index.getFirstResult(def))
    return atom(value);
  if (isa<kern::AddressOfOp>(op))
    return {};
  if (isa<kern::SpaceCastOp, kern::MapSharedOp>(op))
    return get(in[0]);
  if (auto convert = dyn_cast<kern::ConvertOp>(op)) {
    if (in.size() != 1 || kern::isFloat(convert.getFrom()) ||
        kern::isFloat(convert.getTo()))
      return atom(value);
    return get(in[0]);
  }
  auto arith = dyn_cast<kern::ArithOp>(op);
  if (!arith || kern::isFloat(arith.getType()))
    return atom(value);
  auto product = [&](unsigned i, unsigned j) -> std::optional<LinearForm> {
    LinearForm a = get(in[i]), b = get(in[j]);
    if (a.isConstant())
      return b.times(a.low);
    if (b.isConstant())
      return a.times(b.low);
    auto isSymbol = [&](const LinearForm &form) {
      return form.terms.size() == 1 && form.terms[0].second == 1 &&
             form.low == 0 && form.high == 0;
    };
    if (isSymbol(a) && b.low == b.high)
      return scale(b, a.terms[0].first);
    if (isSymbol(b) && a.low == a.high)
      return scale(a, b.terms[0].first);
    return std::nullopt;
  };
  switch (arith.getKind()) {
  case ArithKind::Add:
    return get(in[0]).plus(LinearForm(get(in[1])), 1);
  case ArithKind::Sub:
    return get(in[0]).plus(LinearForm(get(in[1])), -1);
  case ArithKind::Shl:
    if (std::optional<uint64_t> by = constants.get(in[1]); by && *by < 32)
      return get(in[0]).times(int64_t(1) << *by);
    return atom(value);
  case ArithKind::MulLo:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
    return product(0, 1).value_or(LinearForm(atom(value)));
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24:
    if (std::optional<LinearForm> sum = product(0, 1))
      return sum->plus(get(in[2]), 1);
    return atom(value);
  default:
    return atom(value);
  }
}

LinearForm LinearForms::getLaunchPart(const LinearForm &form) const {
  LinearForm part;
  for (const auto &term : form.terms)
    if (symbols[term.first].kind == SymbolKind::Launch)
      part.terms.push_back(term);
  return part;
}

std::string LinearForms::toString(const LinearForm &form) const {
  static constexpr const char *names[] = {"fixed", "launch", "index", "loop",
                                          "other"};
  std::string text;
  for (const auto &[symbol, coefficient] : form.terms) {
    text += text.empty() ? "" : " + ";
    if (coefficient != 1)
      text += std::to_string(coefficient) + "*";
    text += names[unsigned(symbols[symbol].kind)] + std::to_string(symbol);
  }
  if (!text.empty() && form.low == 0 && form.high == 0)
    return text;
  text += text.empty() ? "" : " + ";
  if (form.low == form.high)
    return text + std::to_string(form.low);
  return text + "[" + std::to_string(form.low) + ", " +
         std::to_string(form.high) + "]";
}
