// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, ordering and merging of facts.

#include "d2k/Fact/Fact.h"

#include <algorithm>
#include <array>
#include <charconv>

using namespace d2k;

static constexpr std::array<std::string_view, kNumTiers> kTierNames = {
    "source", "ptx", "ptx:clang", "sass", "runtime"};

std::string_view d2k::getTierName(Tier tier) {
  return kTierNames[static_cast<size_t>(tier)];
}

std::optional<Tier> d2k::parseTier(std::string_view name) {
  for (unsigned i = 0; i < kNumTiers; ++i)
    if (kTierNames[i] == name)
      return static_cast<Tier>(i);
  return std::nullopt;
}

std::vector<Tier> TierSet::toVector() const {
  std::vector<Tier> tiers;
  for (unsigned i = 0; i < kNumTiers; ++i)
    if (contains(static_cast<Tier>(i)))
      tiers.push_back(static_cast<Tier>(i));
  return tiers;
}

std::string_view d2k::getTierStateName(TierState state) {
  static constexpr std::string_view kNames[] = {"ok", "partial", "unavailable",
                                                "failed"};
  return kNames[static_cast<size_t>(state)];
}

std::string d2k::toString(const AttrValue &value) {
  if (const bool *boolean = std::get_if<bool>(&value))
    return *boolean ? "true" : "false";
  if (const int64_t *integer = std::get_if<int64_t>(&value))
    return std::to_string(*integer);
  if (const std::string *string = std::get_if<std::string>(&value))
    return *string;
  char buffer[32];
  auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), std::get<double>(value));
  return std::string(buffer, end);
}

/// Everything of a fact but its locations: facts that agree in this are one.
static auto getIdentity(const Fact &fact) {
  return std::tie(fact.property, fact.attributes, fact.tier, fact.loop,
                  fact.inMain, fact.workloads);
}

static auto getKey(const NearMiss &miss) {
  return std::tie(miss.property, miss.where, miss.reason);
}

static auto getKey(const Undecided &entry) {
  return std::tie(entry.property, entry.where, entry.reason, entry.wouldDecide,
                  entry.workloads);
}

template <typename T>
static void sortUnique(std::vector<T> &list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

template <typename T>
static void sortUniqueByKey(std::vector<T> &list) {
  std::sort(list.begin(), list.end(),
            [](const T &a, const T &b) { return getKey(a) < getKey(b); });
  list.erase(std::unique(
                 list.begin(), list.end(),
                 [](const T &a, const T &b) { return getKey(a) == getKey(b); }),
             list.end());
}

void FactSet::normalize() {
  for (Fact &fact : facts) {
    fact.tiers.insert(fact.tier);
    sortUnique(fact.workloads);
  }
  std::sort(facts.begin(), facts.end(), [](const Fact &a, const Fact &b) {
    return getIdentity(a) < getIdentity(b);
  });
  std::vector<Fact> merged;
  for (Fact &fact : facts) {
    if (!merged.empty() && getIdentity(merged.back()) == getIdentity(fact)) {
      Fact &into = merged.back();
      into.tiers.insert(fact.tiers);
      into.where.insert(into.where.end(), fact.where.begin(), fact.where.end());
    } else {
      merged.push_back(std::move(fact));
    }
  }
  facts = std::move(merged);
  for (Fact &fact : facts)
    sortUnique(fact.where);
  for (NearMiss &miss : nearMisses)
    sortUnique(miss.where);
  sortUniqueByKey(nearMisses);
  for (Undecided &entry : undecided) {
    sortUnique(entry.where);
    sortUnique(entry.workloads);
  }
  sortUniqueByKey(undecided);
}

void Analysis::normalize() {
  host.normalize();
  for (KernelFacts &kernel : kernels) {
    kernel.normalize();
    std::sort(kernel.loops.begin(), kernel.loops.end(),
              [](const KernelLoop &a, const KernelLoop &b) {
                return std::tie(a.where.line, a.id) <
                       std::tie(b.where.line, b.id);
              });
  }
  std::sort(kernels.begin(), kernels.end(),
            [](const KernelFacts &a, const KernelFacts &b) {
              return std::tie(a.demangled, a.name) <
                     std::tie(b.demangled, b.name);
            });
}

TierState Analysis::getTierState(Tier tier) const {
  auto found = tiers.find(tier);
  return found == tiers.end() ? TierState::Unavailable : found->second.state;
}
