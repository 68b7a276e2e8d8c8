// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on the sums of LaneForms: what shifts, masks, exclusive-ors,
// quotients and choices make of symbols and of the numbers of threads.

#include "d2k/Analysis/LaneForms.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

namespace {
/// Longer sums say nothing.
constexpr size_t kMaxTerms = 12;
/// Factors and numbers of symbols beyond this are cut off. Descriptors have
/// 64 bits; sums that reach them are only taken apart again.
constexpr int64_t kMaxNumber = int64_t(1) << 48;
/// No address in shared memory is as large (PTX ISA, "Matrix descriptor
/// format": addresses have 18 bits).
constexpr int64_t kSharedEnd = int64_t(1) << 18;
/// Operations of `function`.
constexpr int64_t kCodeShift = -1, kCodeQuotient = -2, kCodeRemainder = -3,
                  kCodeAligned = -4, kCodeLongRemainder = -5, kCodePart = -6,
                  kCodeBits = 0x100;
/// A ring of more slots is none.
constexpr size_t kMaxRing = 64;
} // namespace

//===----------------------------------------------------------------------===//
// Numbers of threads
//===----------------------------------------------------------------------===//

ThreadNumbers::ThreadNumbers(std::vector<int64_t> numbers) {
  all = numbers.empty() ? 0 : numbers[0];
  if (!llvm::all_equal(numbers))
    each = std::make_shared<const std::vector<int64_t>>(std::move(numbers));
}

int64_t ThreadNumbers::getLow() const {
  return each ? *llvm::min_element(*each) : all;
}

int64_t ThreadNumbers::getHigh() const {
  return each ? *llvm::max_element(*each) : all;
}

unsigned ThreadNumbers::getTrailingZeros() const {
  uint64_t bits = uint64_t(1) << 40;
  if (each)
    for (int64_t number : *each)
      bits |= uint64_t(number);
  else
    bits |= uint64_t(all);
  return llvm::countr_zero(bits);
}

bool ThreadNumbers::isSameInWarps() const {
  if (!each)
    return true;
  for (size_t i = 0; i < each->size(); ++i)
    if ((*each)[i] != (*each)[i & ~size_t(31)])
      return false;
  return true;
}

bool ThreadNumbers::operator==(const ThreadNumbers &other) const {
  if (each == other.each)
    return all == other.all;
  return each && other.each && *each == *other.each;
}

/// Calls `fn` with the numbers of each thread.
template <typename Fn>
static ThreadNumbers map(unsigned threads, const ThreadNumbers &a,
                         const ThreadNumbers &b, Fn fn) {
  if (a.isSame() && b.isSame())
    return ThreadNumbers(fn(a.getSame(), b.getSame()));
  std::vector<int64_t> result(threads);
  const int64_t *x = a.data(), *y = b.data();
  if (b.isSame())
    for (unsigned i = 0; i < threads; ++i)
      result[i] = fn(x[i], *y);
  else if (a.isSame())
    for (unsigned i = 0; i < threads; ++i)
      result[i] = fn(*x, y[i]);
  else
    for (unsigned i = 0; i < threads; ++i)
      result[i] = fn(x[i], y[i]);
  return ThreadNumbers(std::move(result));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

ThreadNumbers LaneForm::getFactor(SymbolId symbol) const {
  for (const auto &[s, factor] : terms)
    if (s == symbol)
      return factor;
  return 0;
}

LaneForm LaneForms::unknown(OpId blocker) {
  LaneForm form;
  form.known = false;
  form.blocker = blocker;
  return form;
}

LaneForm LaneForms::ofNumber(int64_t number) {
  LaneForm form;
  form.rest = number;
  return form;
}

LaneForm LaneForms::ofSymbol(SymbolId symbol) const {
  LaneForm form;
  form.terms.push_back({symbol, ThreadNumbers(1)});
  return form;
}

LaneForm LaneForms::add(const LaneForm &a, const LaneForm &b, int64_t factor) {
  if (!a.known)
    return a;
  if (!b.known)
    return b;
  auto sum = [&](const ThreadNumbers &x, const ThreadNumbers &y) {
    return map(numThreads, x, y, [&](int64_t p, int64_t q) {
      // Wraps around like the register.
      return int64_t(uint64_t(p) + uint64_t(q) * uint64_t(factor));
    });
  };
  LaneForm result;
  result.inside = a.inside || b.inside;
  auto i = a.terms.begin(), j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first)) {
      result.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->first < i->first) {
      result.terms.push_back({j->first, sum(0, j->second)});
      ++j;
    } else {
      ThreadNumbers both = sum(i->second, j->second);
      if (!both.isZero())
        result.terms.push_back({i->first, both});
      ++i, ++j;
    }
  }
  result.rest = sum(a.rest, b.rest);
  if (result.terms.size() > kMaxTerms)
    return unknown(kNone);
  foldRemainder(result);
  foldRings(result);
  return result;
}

LaneForm LaneForms::multiply(const LaneForm &a, int64_t factor) {
  if (!a.known || factor == 1)
    return a;
  if (factor == 0)
    return ofNumber(0);
  auto scaled = [&](const ThreadNumbers &x) {
    return map(numThreads, x, 0, [&](int64_t p, int64_t) {
      return int64_t(uint64_t(p) * uint64_t(factor));
    });
  };
  LaneForm result;
  result.inside = a.inside;
  LaneForm back;
  for (const auto &[symbol, by] : a.terms) {
    ThreadNumbers product = scaled(by);
    if (product.getHigh() > kMaxNumber || product.getLow() < -kMaxNumber)
      return unknown(kNone);
    // What was divided without remainder is made whole again.
    const LaneOrigin &origin = origins[symbol];
    if (origin.exact && product.isSame() &&
        product.getSame() % origin.by == 0) {
      back = add(back, *origin.of, product.getSame() / origin.by);
      continue;
    }
    result.terms.push_back({symbol, product});
  }
  result.rest = scaled(a.rest);
  foldRings(result);
  return back.terms.empty() ? result : add(result, back);
}

void LaneForms::foldRemainder(LaneForm &form) {
  // n - d * floor(n / d) is n mod d.
  for (const auto &[symbol, by] : form.terms) {
    LaneOrigin origin = origins[symbol];
    if (origin.by <= 1 || origin.exact || !origin.of || !by.isSame() ||
        by.getSame() % origin.by != 0)
      continue;
    int64_t times = -by.getSame() / origin.by;
    bool holds = llvm::all_of(origin.of->terms, [&](const auto &term) {
      ThreadNumbers have = form.getFactor(term.first);
      return have.isSame() && term.second.isSame() &&
             have.getSame() == times * term.second.getSame();
    });
    if (!holds || origin.of->terms.empty())
      continue;
    LaneForm without = form;
    llvm::erase_if(without.terms, [&](const auto &term) {
      return term.first == symbol || !origin.of->getFactor(term.first).isZero();
    });
    without.rest = map(numThreads, form.rest, origin.of->rest,
                       [&](int64_t p, int64_t q) { return p - times * q; });
    LaneForm remainder = divide(*origin.of, origin.by, true, kNone);
    if (!remainder.known)
      continue;
    form = add(without, remainder, times);
    return;
  }
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

SymbolId LaneForms::makeSymbol(LaneSymbol symbol, LaneOrigin origin) {
  symbols.push_back(std::move(symbol));
  origins.push_back(std::move(origin));
  factors.push_back({SymbolId(symbols.size() - 1)});
  return symbols.size() - 1;
}

LaneSymbolKind LaneForms::kindOf(const LaneForm &form) const {
  LaneSymbolKind kind = LaneSymbolKind::Launch;
  for (const auto &[symbol, by] : form.terms)
    kind = std::max(kind, symbols[symbol].kind);
  return kind;
}

bool LaneForms::isSameInWarps(const LaneForm &form) {
  return form.known && form.rest.isSameInWarps() &&
         llvm::all_of(form.terms, [](const auto &term) {
           return term.second.isSameInWarps();
         });
}

LaneForm LaneForms::function(int64_t code, llvm::ArrayRef<const LaneForm *> of,
                             OpId op, Range range, uint64_t alignment,
                             LaneOrigin origin) {
  Key key{code};
  LaneSymbol symbol;
  symbol.kind = LaneSymbolKind::Launch;
  bool inside = false;
  for (const LaneForm *form : of) {
    if (!form->known)
      return *form;
    inside |= form->inside;
    if (!isSameInWarps(*form))
      return unknown(op);
    key.push_back(form->terms.size());
    auto put = [&](const ThreadNumbers &numbers) {
      key.push_back(numbers.isSame());
      if (numbers.isSame())
        key.push_back(numbers.getSame());
      else
        for (unsigned i = 0; i < numThreads; i += 32)
          key.push_back(numbers[i]);
    };
    for (const auto &[s, by] : form->terms) {
      key.push_back(s);
      put(by);
    }
    put(form->rest);
    symbol.kind = std::max(symbol.kind, kindOf(*form));
  }
  // A function of an address or of a ring index is neither.
  if (symbol.kind == LaneSymbolKind::Ring ||
      symbol.kind == LaneSymbolKind::Loop)
    symbol.kind = LaneSymbolKind::Other;
  symbol.range = range;
  symbol.alignment = alignment;
  if (code == kCodeRemainder) {
    if (symbol.kind > LaneSymbolKind::Index)
      symbol.kind = LaneSymbolKind::Ring;
    for (int64_t i = range.low; i <= range.high; ++i)
      symbol.values.push_back(i);
  }
  if (code == kCodeAligned) {
    SymbolId base = getBase(*of[0]);
    symbol.kind = LaneSymbolKind::Base;
    symbol.root = symbols[base].root;
    symbol.slack = symbols[base].slack + int64_t(alignment);
    symbol.range = symbols[base].range;
  }
  auto [it, isNew] = symbolOf.try_emplace(key, 0);
  if (isNew)
    it->second = makeSymbol(std::move(symbol), std::move(origin));
  LaneForm form = ofSymbol(it->second);
  form.inside = inside;
  return form;
}

SymbolId LaneForms::getBase(const LaneForm &form) const {
  SymbolId base = kNone;
  for (const auto &[symbol, by] : form.terms) {
    // A 64-bit parameter that is multiplied is a number.
    if (symbols[symbol].kind != LaneSymbolKind::Base || !by.isSame() ||
        by.getSame() != 1)
      continue;
    if (base != kNone)
      return kNone;
    base = symbol;
  }
  return base;
}

Range LaneForms::getRange(const LaneForm &form) const {
  if (!form.known)
    return {};
  __int128 low = form.rest.getLow(), high = form.rest.getHigh();
  for (const auto &[symbol, by] : form.terms) {
    Range range = symbols[symbol].range;
    if (range.full)
      return {};
    __int128 ends[] = {__int128(range.low) * by.getLow(),
                       __int128(range.low) * by.getHigh(),
                       __int128(range.high) * by.getLow(),
                       __int128(range.high) * by.getHigh()};
    __int128 least = ends[0], most = ends[0];
    for (__int128 end : ends) {
      least = end < least ? end : least;
      most = end > most ? end : most;
    }
    low += least;
    high += most;
  }
  if (low < -kMaxNumber || high > kMaxNumber)
    return {};
  return Range::of(int64_t(low), int64_t(high));
}

unsigned LaneForms::getTermAlignment(
    const std::pair<SymbolId, ThreadNumbers> &term) const {
  return term.second.getTrailingZeros() +
         llvm::countr_zero(symbols[term.first].alignment);
}

unsigned LaneForms::getTermsAlignment(const LaneForm &form) const {
  unsigned least = 40;
  for (const auto &term : form.terms)
    least = std::min(least, getTermAlignment(term));
  return least;
}

//===----------------------------------------------------------------------===//
// Products, shifts, masks
//===----------------------------------------------------------------------===//

LaneForm LaneForms::product(const LaneForm &a, const LaneForm &b, OpId op) {
  if (!a.known)
    return a;
  if (!b.known)
    return b;
  if (b.isConstant())
    return multiply(a, b.rest.getSame());
  if (a.isConstant())
    return multiply(b, a.rest.getSame());
  auto times = [&](const ThreadNumbers &x, const ThreadNumbers &y) {
    return map(numThreads, x, y, [](int64_t p, int64_t q) {
      return int64_t(uint64_t(p) * uint64_t(q));
    });
  };
  LaneForm result;
  result.inside = a.inside || b.inside;
  result.rest = times(a.rest, b.rest);
  auto addTerm = [&](SymbolId symbol, const ThreadNumbers &by) {
    if (by.isZero())
      return;
    LaneForm term;
    term.terms.push_back({symbol, by});
    result = add(result, term);
  };
  for (const auto &[symbol, by] : a.terms)
    addTerm(symbol, times(by, b.rest));
  for (const auto &[symbol, by] : b.terms)
    addTerm(symbol, times(by, a.rest));
  for (const auto &[x, byX] : a.terms)
    for (const auto &[y, byY] : b.terms) {
      llvm::SmallVector<SymbolId, 2> list(factors[x]);
      llvm::append_range(list, factors[y]);
      llvm::sort(list);
      if (list.size() > 4)
        return unknown(op);
      Key key{0};
      llvm::append_range(key, list);
      auto [it, isNew] = symbolOf.try_emplace(key, 0);
      if (isNew) {
        LaneSymbol symbol;
        symbol.kind = LaneSymbolKind::Launch;
        symbol.alignment = 1;
        symbol.range = Range::of(1, 1);
        for (SymbolId s : list) {
          symbol.kind = std::max(symbol.kind, symbols[s].kind);
          symbol.alignment =
              std::min(symbol.alignment * symbols[s].alignment, uint64_t(4096));
          Range r = symbols[s].range;
          bool small = symbol.range.isNonNegative() && r.isNonNegative() &&
                       r.high < (1 << 24) && symbol.range.high < (1 << 24);
          symbol.range = small ? Range::of(symbol.range.low * r.low,
                                           symbol.range.high * r.high)
                               : Range();
        }
        if (symbol.kind == LaneSymbolKind::Ring ||
            symbol.kind == LaneSymbolKind::Loop)
          symbol.kind = LaneSymbolKind::Other;
        it->second = makeSymbol(std::move(symbol));
        factors[it->second] = list;
      }
      addTerm(it->second, times(byX, byY));
    }
  return result;
}

/// d when `x * factor >> shift` is floor(x / d) for every 32-bit x.
static int64_t getMagicDivisor(int64_t factor, unsigned shift) {
  if (factor < (1 << 16) || shift < 32 || shift > 62)
    return 0;
  __int128 power = __int128(1) << shift;
  int64_t divisor = int64_t((power + factor - 1) / factor);
  __int128 excess = __int128(factor) * divisor - power;
  return divisor > 1 && excess >= 0 && excess <= (__int128(1) << (shift - 31))
             ? divisor
             : 0;
}

LaneForm LaneForms::divide(const LaneForm &a, int64_t by, bool remainder,
                           OpId op) {
  if (!a.known || by <= 0)
    return a.known ? unknown(op) : a;
  // Terms that the divisor divides stay terms; the rest is worked out.
  LaneForm whole;
  whole.inside = a.inside;
  bool divides = true;
  for (const auto &[symbol, factor] : a.terms) {
    ThreadNumbers mod =
        map(numThreads, factor, 0, [&](int64_t p, int64_t) { return p % by; });
    if (!mod.isZero()) {
      divides = false;
      break;
    }
    whole.terms.push_back(
        {symbol, map(numThreads, factor, 0,
                     [&](int64_t p, int64_t) { return p / by; })});
  }
  Range range = getRange(a);
  if (divides && (a.rest.getLow() >= 0 || range.isNonNegative())) {
    auto floorDiv = [&](int64_t p) {
      return p >= 0 ? p / by : -((-p + by - 1) / by);
    };
    LaneForm result;
    result.inside = a.inside;
    if (remainder) {
      result.rest = map(numThreads, a.rest, 0, [&](int64_t p, int64_t) {
        return p - floorDiv(p) * by;
      });
      return result;
    }
    result = whole;
    result.rest = map(numThreads, a.rest, 0,
                      [&](int64_t p, int64_t) { return floorDiv(p); });
    return result;
  }
  if (!range.full && range.low >= 0 && range.high < by)
    return remainder ? a : ofNumber(0);
  LaneForm divisor = ofNumber(by);
  const LaneForm *both[] = {&a, &divisor};
  if (remainder)
    return function(by > int64_t(kMaxRing) ? kCodeLongRemainder
                                           : kCodeRemainder,
                    both, op, Range::of(0, by - 1));
  LaneOrigin origin;
  origin.of = std::make_shared<const LaneForm>(a);
  origin.by = by;
  Range quotient = range.isNonNegative()
                       ? Range::of(range.low / by, range.high / by)
                       : Range();
  return function(kCodeQuotient, both, op, quotient, 1, origin);
}

LaneForm LaneForms::shiftRight(const LaneForm &a, unsigned by, bool isSigned,
                               unsigned width, OpId op) {
  if (!a.known || by == 0)
    return a;
  Range range = getRange(a);
  if (!range.full && range.low >= 0 && by < 62 &&
      range.high < (int64_t(1) << by))
    return ofNumber(0);
  // The sign of an address or of a count is that of a positive number.
  if (by + 1 >= width && !a.terms.empty() &&
      (getBase(a) != kNone || range.isNonNegative()))
    return ofNumber(0);
  // Shifted before: once by the sum.
  if (a.terms.size() == 1 && a.rest.isZero() && a.terms[0].second.isSame() &&
      a.terms[0].second.getSame() == 1) {
    LaneOrigin origin = origins[a.terms[0].first];
    if (origin.shift != 0)
      return shiftRight(*origin.of, origin.shift + by, isSigned, 64, op);
  }
  if (by >= 40)
    ;
  else if (getTermsAlignment(a) >= by) {
    LaneForm result;
    result.inside = a.inside;
    result.rest =
        map(numThreads, a.rest, 0, [&](int64_t p, int64_t) { return p >> by; });
    for (const auto &[symbol, factor] : a.terms) {
      unsigned own = std::min(factor.getTrailingZeros(), by);
      ThreadNumbers left = map(numThreads, factor, 0,
                               [&](int64_t p, int64_t) { return p >> own; });
      LaneForm term;
      term.terms.push_back({symbol, left});
      if (own < by) {
        LaneForm whole = ofSymbol(symbol);
        LaneForm amount = ofNumber(by - own);
        LaneOrigin origin;
        origin.of = std::make_shared<const LaneForm>(whole);
        origin.by = int64_t(1) << (by - own);
        origin.exact = true;
        Range r = symbols[symbol].range;
        if (!r.full)
          r = Range::of(r.low >> (by - own), r.high >> (by - own));
        const LaneForm *of[] = {&whole, &amount};
        LaneForm part =
            function(kCodePart, of, op, r,
                     symbols[symbol].alignment >> (by - own), origin);
        term.terms.clear();
        term.terms.push_back({part.terms[0].first, left});
      }
      result = add(result, term);
    }
    return result;
  }
  // A division by a constant.
  int64_t common = 0;
  bool same = a.rest.isSame();
  for (const auto &[symbol, factor] : a.terms) {
    same &= factor.isSame();
    if (same)
      common = std::gcd(common, std::abs(factor.getSame()));
  }
  if (same && common > 1 && a.rest.getSame() % common == 0) {
    if (int64_t divisor = getMagicDivisor(common, by)) {
      LaneForm small;
      small.inside = a.inside;
      for (const auto &[symbol, factor] : a.terms)
        small.terms.push_back(
            {symbol, ThreadNumbers(factor.getSame() / common)});
      small.rest = a.rest.getSame() / common;
      return divide(small, divisor, false, op);
    }
  }
  if (by < 32 && !isSigned && getBase(a) == kNone)
    return divide(a, int64_t(1) << by, false, op);
  if (by < 32 && range.isNonNegative())
    return divide(a, int64_t(1) << by, false, op);
  LaneForm amount = ofNumber(by);
  const LaneForm *of[] = {&a, &amount};
  LaneOrigin origin;
  origin.of = std::make_shared<const LaneForm>(a);
  origin.shift = by;
  return function(kCodeShift, of, op, {}, 1, origin);
}

int64_t LaneForms::getSharedEnd(const LaneForm &form) const {
  for (const auto &[symbol, by] : form.terms) {
    if (!by.isSame() || by.getSame() != 1)
      continue;
    int64_t end = kSharedEnd;
    SymbolId s = symbol;
    while (origins[s].exact && origins[s].of->terms.size() == 1) {
      end /= origins[s].by;
      s = origins[s].of->terms[0].first;
    }
    if (symbols[s].kind == LaneSymbolKind::Base &&
        memory.getRoot(symbols[s].root).space == kern::Space::Shared)
      return end;
  }
  return 0;
}

LaneForm LaneForms::bitwise(llvm::ArrayRef<const LaneForm *> in, uint8_t table,
                            unsigned width, OpId op) {
  bool inside = false;
  llvm::SmallVector<const LaneForm *, 3> symbolic;
  for (const LaneForm *form : in) {
    if (!form->known)
      return *form;
    inside |= form->inside;
    if (!form->terms.empty())
      symbolic.push_back(form);
  }
  unsigned count = in.size();
  auto apply = [&](llvm::ArrayRef<int64_t> x) {
    int64_t result = 0;
    for (unsigned i = 0; i < 8; ++i)
      if (table >> i & 1) {
        int64_t part = -1;
        for (unsigned j = 0; j < 3; ++j) {
          int64_t v = j < count ? x[j] : 0;
          part &= (i >> (2 - j) & 1) ? v : ~v;
        }
        result |= part;
      }
    return width < 64 ? llvm::SignExtend64(uint64_t(result), width) : result;
  };
  auto number = [&](auto select) {
    std::vector<int64_t> result;
    bool same = llvm::all_of(
        in, [](const LaneForm *form) { return form->rest.isSame(); });
    unsigned threads = same ? 1 : numThreads;
    result.reserve(threads);
    for (unsigned t = 0; t < threads; ++t) {
      int64_t x[3] = {0, 0, 0};
      for (unsigned j = 0; j < count; ++j)
        x[j] = select(in[j]->rest[t]);
      result.push_back(apply(x));
    }
    return ThreadNumbers(std::move(result));
  };
  if (symbolic.empty()) {
    LaneForm result;
    result.inside = inside;
    result.rest = number([](int64_t x) { return x; });
    return result;
  }
  const LaneForm &s = *symbolic[0];
  if (symbolic.size() > 1) {
    // Disjoint bits: or, exclusive-or and sum are the same.
    bool isOr = table == 0xfc || table == 0x3c;
    if (isOr && count == 2) {
      for (unsigned i = 0; i < 2; ++i) {
        const LaneForm &high = *in[i], &low = *in[1 - i];
        unsigned k =
            std::min(getTermsAlignment(high), high.rest.getTrailingZeros());
        Range range = getRange(low);
        if (range.isNonNegative() && range.high < (int64_t(1) << k))
          return add(high, low);
      }
    }
    return function(kCodeBits + table, in, op, {});
  }
  unsigned position = 0;
  while (in[position] != &s)
    ++position;
  unsigned k = getTermsAlignment(s);
  // Above bit k, every other operand must be all zeros or all ones, as far as
  // the symbolic one reaches.
  Range range = getRange(s);
  int64_t end = range.isNonNegative() ? range.high + 1 : 0;
  if (int64_t shared = getSharedEnd(s))
    end = shared;
  int64_t x[3] = {0, 0, 0};
  bool simple = true;
  for (unsigned j = 0; j < count && simple; ++j) {
    if (j == position)
      continue;
    auto highOf = [&](int64_t v) -> std::optional<int64_t> {
      int64_t high = v >> k;
      if (high == 0 || high == -1)
        return high;
      if (width < 64 && high == int64_t((uint64_t(1) << (width - k)) - 1))
        return -1;
      if (end != 0 && (high & (high + 1)) == 0 &&
          end <= (v | ((int64_t(1) << k) - 1)) + 1)
        return -1;
      return std::nullopt;
    };
    std::optional<int64_t> high = highOf(in[j]->rest[0]);
    simple &= high.has_value();
    if (!in[j]->rest.isSame())
      for (unsigned t = 1; t < numThreads && simple; ++t)
        simple &= highOf(in[j]->rest[t]) == high;
    x[j] = high.value_or(0);
  }
  // Bits above everything that the symbolic operand reaches are added.
  if (!simple && (table == 0xfc || table == 0x3c) && count == 2 && end != 0) {
    int64_t lowMask = (int64_t(1) << k) - 1;
    const LaneForm &other = *in[1 - position];
    LaneForm above, below;
    above.rest = map(numThreads, other.rest, 0,
                     [&](int64_t p, int64_t) { return p & ~lowMask; });
    below.rest = map(numThreads, other.rest, 0,
                     [&](int64_t p, int64_t) { return p & lowMask; });
    if (end <= (int64_t(1) << above.rest.getTrailingZeros())) {
      const LaneForm *low[] = {&s, &below};
      return add(bitwise(low, table, width, op), above);
    }
  }
  int64_t lowMask = (int64_t(1) << k) - 1;
  // Where the others leave each bit above k to the symbolic operand, as in
  // a | (b & 31).
  bool stays = !simple && count == 3;
  for (unsigned t = 0; t < numThreads && stays; ++t) {
    int64_t y[3] = {in[0]->rest[t], in[1]->rest[t], in[2]->rest[t]};
    y[position] = 0;
    int64_t zeros = apply(y);
    y[position] = -1;
    int64_t above = width < 64 ? lowMask | -(int64_t(1) << width) : lowMask;
    stays = ((apply(y) & ~zeros) | above) == -1;
  }
  if (simple || stays) {
    int64_t ones[3] = {x[0], x[1], x[2]}, zeros[3] = {x[0], x[1], x[2]};
    ones[position] = -1;
    zeros[position] = 0;
    int64_t whenOne = apply(ones), whenZero = apply(zeros);
    ThreadNumbers low = number([&](int64_t v) { return v & lowMask; });
    low = map(numThreads, low, 0,
              [&](int64_t p, int64_t) { return p & lowMask; });
    LaneForm result;
    result.inside = inside;
    if (stays || (whenOne == -1 && whenZero == 0)) {
      // The high part stays.
      result.terms = s.terms;
      result.rest = map(numThreads, s.rest, low, [&](int64_t p, int64_t q) {
        return (p & ~lowMask) + q;
      });
      return result;
    }
    if (whenOne == 0 && whenZero == 0) {
      result.rest = low;
      return result;
    }
  }
  // Aligning up or down makes another base, at which offsets start anew.
  if (count == 2 && table == 0xc0 && in[1 - position]->isConstant()) {
    int64_t mask = in[1 - position]->rest.getSame();
    uint64_t alignment = uint64_t(1) << llvm::countr_zero(uint64_t(mask));
    bool top = (mask >> llvm::countr_zero(uint64_t(mask))) == -1 ||
               (width == 32 && uint32_t(mask) + alignment == uint64_t(1) << 32);
    // An address in shared memory has no more bits than the mask.
    top |= mask > 0 && llvm::isShiftedMask_64(uint64_t(mask)) &&
           getSharedEnd(s) != 0 && mask + int64_t(alignment) >= getSharedEnd(s);
    if (top && getBase(s) != kNone && s.rest.isSame() && alignment > 1) {
      // Whole units are added behind it, and bits below those of the base do
      // not matter: parts of one memory have one base.
      LaneForm from = s, kept = ofNumber(-int64_t(alignment));
      int64_t below = (int64_t(1) << getTermsAlignment(s)) - 1;
      from.rest = s.rest.getSame() & int64_t(alignment - 1);
      int64_t units = s.rest.getSame() - from.rest.getSame();
      from.rest = from.rest.getSame() & ~below;
      const LaneForm *both[] = {&from, &kept};
      return add(function(kCodeAligned, both, op, {}, alignment),
                 ofNumber(units));
    }
    // x & -4 is x / 4 * 4, from which x % 4 is told.
    if (mask < 0 && top && getBase(s) == kNone && alignment > 1 &&
        range.isNonNegative())
      return multiply(divide(s, int64_t(alignment), false, op),
                      int64_t(alignment));
    // (x >> n) & mask is (x & mask << n) >> n.
    if (mask > 0 && mask < kMaxNumber && s.terms.size() == 1 &&
        s.rest.isSame() && s.terms[0].second == ThreadNumbers(1)) {
      LaneOrigin origin = origins[s.terms[0].first];
      unsigned by = origin.shift;
      if (by == 0 && origin.by > 1 && llvm::isPowerOf2_64(uint64_t(origin.by)))
        by = llvm::countr_zero(uint64_t(origin.by));
      if (by != 0 && by < 16 && origin.of && getBase(*origin.of) != kNone) {
        LaneForm whole =
            add(*origin.of, ofNumber(s.rest.getSame()), int64_t(1) << by);
        LaneForm shifted = ofNumber(mask << by);
        const LaneForm *both[] = {&whole, &shifted};
        return shiftRight(bitwise(both, table, 64, op), by, false, 64, op);
      }
    }
    if (mask > 0 && (mask & (mask + 1)) == 0 && mask < (int64_t(1) << 32))
      return divide(s, mask + 1, true, op);
    // Bits from the middle, such as i << 14 & 16384: a remainder, shifted. Not
    // of an address, whose bits the rule above takes in place.
    unsigned low = llvm::countr_zero(uint64_t(mask));
    if (mask > 0 && low != 0 && getBase(s) == kNone &&
        llvm::isShiftedMask_64(uint64_t(mask)) && mask < (int64_t(1) << 32)) {
      LaneForm from = shiftRight(s, low, /*isSigned=*/false, width, op);
      LaneForm left = ofNumber(mask >> low);
      const LaneForm *both[] = {&from, &left};
      return multiply(bitwise(both, table, width, op), int64_t(1) << low);
    }
  }
  Range result;
  uint64_t alignment = 1;
  if (table == 0xc0)
    for (const LaneForm *form : in)
      if (form->isNumber()) {
        alignment = uint64_t(1) << std::min(form->rest.getTrailingZeros(), 12u);
        if (form->rest.getLow() >= 0)
          result = Range::of(0, form->rest.getHigh());
      }
  return function(kCodeBits + table, in, op, result, alignment);
}

std::string LaneForms::toString(const LaneForm &form, unsigned lanes) const {
  if (!form.known)
    return "unknown";
  static constexpr const char *names[] = {"base", "launch", "index",
                                          "loop", "ring",   "other"};
  auto numbers = [&](const ThreadNumbers &n) {
    if (n.isSame())
      return std::to_string(n.getSame());
    std::string text = "{";
    for (unsigned i = 0; i < std::min(lanes, numThreads); ++i)
      text += (i ? ", " : "") + std::to_string(n[i]);
    return text + (lanes < numThreads ? ", ...}" : "}");
  };
  std::string text;
  for (const auto &[symbol, by] : form.terms) {
    text += text.empty() ? "" : " + ";
    if (!by.isSame() || by.getSame() != 1)
      text += numbers(by) + "*";
    text += names[unsigned(symbols[symbol].kind)] + std::to_string(symbol);
  }
  if (text.empty() || !form.rest.isZero())
    text += (text.empty() ? "" : " + ") + numbers(form.rest);
  return form.inside ? text + " inside" : text;
}
