// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ring indices of LaneForms, functions of them, and choices between two sums.

#include "d2k/Analysis/LaneForms.h"

#include <numeric>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

namespace {
/// Codes of symbols; those of LaneArithmetic.cpp come before.
constexpr int64_t kCodeTable = -7, kCodeChoice = -8, kCodeRing = 0x400;
/// A ring of more slots is none.
constexpr size_t kMaxRing = 64;
} // namespace

void LaneForms::foldRings(LaneForm &form) {
  auto sourceOf = [&](const std::pair<SymbolId, ThreadNumbers> &term) {
    const LaneSymbol &s = symbols[term.first];
    return s.values.empty() || !term.second.isSame() ? kNone
           : s.source == kNone                       ? term.first
                                                     : s.source;
  };
  for (size_t i = 0; i < form.terms.size(); ++i) {
    SymbolId source = sourceOf(form.terms[i]);
    bool again = source != kNone &&
                 llvm::any_of(llvm::ArrayRef(form.terms).drop_front(i + 1),
                              [&](const auto &term) {
                                return sourceOf(term) == source;
                              });
    // Slots count upwards: the next of two slots is 1 - ring.
    if (!again && (source == kNone || form.terms[i].second.getSame() > 0))
      continue;
    llvm::SmallVector<int64_t, 8> sums(symbols[source].values.size(), 0);
    LaneForm rest = form;
    rest.terms.clear();
    for (const auto &term : form.terms) {
      if (sourceOf(term) != source) {
        rest.terms.push_back(term);
        continue;
      }
      const LaneSymbol &s = symbols[term.first];
      for (size_t j = 0; j < sums.size(); ++j)
        sums[j] += term.second.getSame() *
                   (s.source == kNone ? s.values[j] : s.table[j]);
    }
    form = add(rest, ofTable(source, sums));
    return;
  }
}

std::optional<LaneForm> LaneForms::tabulate(
    llvm::ArrayRef<const LaneForm *> in,
    llvm::function_ref<std::optional<int64_t>(llvm::ArrayRef<int64_t>)> fn) {
  SymbolId source = kNone;
  for (const LaneForm *form : in) {
    if (!form->known || !form->rest.isSame())
      return std::nullopt;
    for (const auto &[symbol, by] : form->terms) {
      const LaneSymbol &s = symbols[symbol];
      SymbolId from = s.source == kNone ? symbol : s.source;
      if (s.values.empty() || !by.isSame() ||
          (source != kNone && source != from))
        return std::nullopt;
      source = from;
    }
  }
  if (source == kNone)
    return std::nullopt;
  llvm::SmallVector<int64_t, 8> at(symbols[source].values.begin(),
                                   symbols[source].values.end());
  llvm::SmallVector<int64_t, 8> outcomes;
  for (size_t i = 0; i < at.size(); ++i) {
    llvm::SmallVector<int64_t, 4> x;
    for (const LaneForm *form : in) {
      int64_t sum = form->rest.getSame();
      for (const auto &[symbol, by] : form->terms)
        sum += by.getSame() *
               (symbol == source ? at[i] : symbols[symbol].table[i]);
      x.push_back(sum);
    }
    std::optional<int64_t> outcome = fn(x);
    if (!outcome)
      return std::nullopt;
    outcomes.push_back(*outcome);
  }
  return ofTable(source, std::move(outcomes));
}

llvm::SmallVector<LaneForm, 8> LaneForms::expandRing(const LaneForm &form) {
  for (const auto &[symbol, by] : form.terms) {
    const LaneSymbol &s = symbols[symbol];
    if (s.values.empty() || !by.isSame() || s.kind != LaneSymbolKind::Ring)
      continue;
    LaneForm rest = form;
    llvm::erase_if(rest.terms, [&, id = symbol](const auto &term) {
      return term.first == id;
    });
    llvm::SmallVector<LaneForm, 8> all;
    for (int64_t value : s.values)
      all.push_back(add(rest, ofNumber(value * by.getSame())));
    return all;
  }
  return {form};
}

LaneForm LaneForms::ofTable(SymbolId source,
                            llvm::SmallVector<int64_t, 8> outcomes) {
  llvm::SmallVector<int64_t, 8> at(symbols[source].values.begin(),
                                   symbols[source].values.end());
  if (llvm::all_equal(outcomes))
    return ofNumber(outcomes[0]);
  int64_t slope = (outcomes[1] - outcomes[0]) / (at[1] - at[0]);
  bool linear = slope > 0;
  for (size_t i = 0; i < at.size(); ++i)
    linear &= outcomes[i] == outcomes[0] + slope * (at[i] - at[0]);
  if (linear)
    return add(ofNumber(outcomes[0] - slope * at[0]), ofSymbol(source), slope);
  int64_t low = *llvm::min_element(outcomes), common = 0;
  for (int64_t outcome : outcomes)
    common = std::gcd(common, outcome - low);
  for (int64_t &outcome : outcomes)
    outcome = (outcome - low) / common;
  Key key{kCodeTable, source};
  llvm::append_range(key, outcomes);
  auto [it, isNew] = symbolOf.try_emplace(key, 0);
  if (isNew) {
    LaneSymbol symbol;
    symbol.kind = symbols[source].kind;
    symbol.source = source;
    symbol.table.assign(outcomes.begin(), outcomes.end());
    symbol.values.assign(outcomes.begin(), outcomes.end());
    llvm::sort(symbol.values);
    symbol.values.erase(llvm::unique(symbol.values), symbol.values.end());
    symbol.range = Range::of(0, symbol.values.back());
    it->second = makeSymbol(std::move(symbol));
  }
  return add(ofNumber(low), ofSymbol(it->second), common);
}

LaneForm LaneForms::choose(const LaneForm *condition, const LaneForm &a,
                           const LaneForm &b, ValueId value, OpId op,
                           bool uniformChoice) {
  if (condition && condition->isNumber()) {
    const ThreadNumbers &c = condition->rest;
    if (c.isSame())
      return c.getSame() ? a : b;
    if (!a.known || !b.known)
      return unknown(op);
    // By thread.
    auto pick = [&](const ThreadNumbers &x, const ThreadNumbers &y) {
      std::vector<int64_t> result(numThreads);
      for (unsigned t = 0; t < numThreads; ++t)
        result[t] = c[t] ? x[t] : y[t];
      return ThreadNumbers(std::move(result));
    };
    LaneForm result;
    result.inside = a.inside || b.inside;
    result.rest = pick(a.rest, b.rest);
    llvm::SmallVector<SymbolId, 8> all;
    for (const auto &term : a.terms)
      all.push_back(term.first);
    for (const auto &term : b.terms)
      all.push_back(term.first);
    llvm::sort(all);
    all.erase(llvm::unique(all), all.end());
    for (SymbolId symbol : all)
      result.terms.push_back(
          {symbol, pick(a.getFactor(symbol), b.getFactor(symbol))});
    return result;
  }
  if (!a.known || !b.known) {
    // One way that cannot be followed and one that is the same in all lanes:
    // the way that matters is not known.
    return unknown(op);
  }
  if (a == b)
    return a;
  if (condition && condition->known) {
    // By the value of a ring index.
    LaneForm distance = add(a, b, -1);
    const LaneForm *of[] = {condition, &distance};
    auto chosen = [](llvm::ArrayRef<int64_t> x) -> std::optional<int64_t> {
      return x[0] ? x[1] : 0;
    };
    if (std::optional<LaneForm> table = tabulate(of, chosen))
      return add(b, *table);
  }
  bool sameA = isSameInWarps(a), sameB = isSameInWarps(b);
  if (sameA != sameB) {
    LaneForm result = sameA ? b : a;
    result.inside = true;
    return result;
  }
  if (std::optional<LaneForm> ring = ringOf({a, b}, value))
    return *ring;
  if (sameA)
    return atom(value);
  // Lanes differ in the same way on both sides.
  LaneForm distance = add(a, b, -1);
  if (!uniformChoice || !isSameInWarps(distance))
    return unknown(op);
  Key key{kCodeChoice, int64_t(value)};
  auto [it, isNew] = symbolOf.try_emplace(key, 0);
  if (isNew)
    it->second = makeSymbol({});
  LaneForm result = add(b, ofSymbol(it->second));
  result.inside = true;
  return result;
}

std::optional<LaneForm> LaneForms::ringOf(llvm::ArrayRef<LaneForm> list,
                                          ValueId value) {
  // The first one plus one of several numbers.
  if (list.empty() || !list[0].known)
    return std::nullopt;
  llvm::SmallVector<int64_t, 8> values;
  bool inside = false;
  for (const LaneForm &form : list) {
    LaneForm distance = add(form, list[0], -1);
    if (!distance.isConstant())
      return std::nullopt;
    inside |= form.inside;
    values.push_back(distance.rest.getSame());
  }
  llvm::sort(values);
  values.erase(llvm::unique(values), values.end());
  if (values.size() > kMaxRing)
    return std::nullopt;
  if (values.size() == 1)
    return list[0];
  int64_t common = 0, low = values[0];
  for (int64_t &v : values) {
    v -= low;
    common = std::gcd(common, v);
  }
  if (iteration)
    return add(list[0], ofNumber(low + values[*iteration % values.size()]));
  for (int64_t &v : values)
    v /= common;
  Key key{kCodeRing, int64_t(value)};
  llvm::append_range(key, values);
  auto [it, isNew] = symbolOf.try_emplace(key, 0);
  if (isNew) {
    LaneSymbol symbol;
    symbol.kind = LaneSymbolKind::Ring;
    symbol.values.assign(values.begin(), values.end());
    symbol.range = Range::of(0, values.back());
    symbol.value = value;
    it->second = makeSymbol(std::move(symbol));
  }
  LaneForm result = add(list[0], ofSymbol(it->second), common);
  result = add(result, ofNumber(low));
  result.inside |= inside;
  return result;
}
