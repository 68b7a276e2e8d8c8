// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The property catalog, and the rows of the vocabulary without a detector.

#include "d2k/Fact/PropertyInfo.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace d2k;

std::string_view d2k::getAttrTypeName(AttrType type) {
  static constexpr std::string_view kNames[] = {"boolean", "integer", "real",
                                                "string"};
  return kNames[static_cast<size_t>(type)];
}

const AttributeInfo *PropertyInfo::findAttribute(std::string_view name) const {
  for (const AttributeInfo &attribute : attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

bool PropertyInfo::isDecidedAt(Tier tier) const {
  return decidingTiers.contains(tier == Tier::PtxClang ? Tier::Ptx : tier);
}

bool PropertyInfo::isDetectedAt(Tier tier) const {
  return detectorTiers.contains(tier == Tier::PtxClang ? Tier::Ptx : tier);
}

bool PropertyInfo::agree(const AttributeMap &a, const AttributeMap &b) const {
  for (const auto &[name, value] : a) {
    auto other = b.find(name);
    if (other == b.end() || other->second == value)
      continue;
    if (std::find(perTier.begin(), perTier.end(), name) == perTier.end())
      return false;
  }
  return true;
}

bool PropertyInfo::canRefute(TierSet completeTiers) const {
  TierSet usable = completeTiers;
  if (usable.contains(Tier::PtxClang))
    usable.insert(Tier::Ptx);
  return !usable.intersect(decidingTiers).intersect(detectorTiers).empty();
}

static bool isBefore(const PropertyInfo &a, const PropertyInfo &b) {
  return std::tie(a.group, a.id) < std::tie(b.group, b.id);
}

bool PropertyCatalog::add(PropertyInfo info) {
  if (find(info.id))
    return false;
  auto place =
      std::lower_bound(properties.begin(), properties.end(), info, isBefore);
  properties.insert(place, std::move(info));
  return true;
}

const PropertyInfo *PropertyCatalog::find(std::string_view id) const {
  for (const PropertyInfo &info : properties)
    if (info.id == id)
      return &info;
  return nullptr;
}

std::string PropertyCatalog::suggest(std::string_view id) const {
  std::vector<std::string> ids;
  for (const PropertyInfo &info : properties)
    ids.push_back(info.id);
  return findClosest(id, ids);
}

/// Levenshtein distance with unit costs.
static size_t getEditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string d2k::findClosest(std::string_view word,
                             const std::vector<std::string> &candidates) {
  // Longer words are hostile input, not a slip of the finger.
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest)
    return {};
  std::string best;
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = getEditDistance(word, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/// Splits at blanks.
static std::vector<std::string> splitWords(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    if (end != 0)
      words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<PropertyInfo> d2k::getUndetectedVocabulary() {
  std::vector<PropertyInfo> list;
  auto addRow = [&](const char *id, char group, Subject subject,
                    const char *tiers, const char *summary, bool inverse) {
    PropertyInfo info;
    info.id = id;
    info.group = group;
    info.subject = subject;
    info.summary = summary;
    info.inverse = inverse;
    for (const std::string &name : splitWords(tiers))
      if (std::optional<Tier> tier = parseTier(name))
        info.decidingTiers.insert(*tier);
    list.push_back(std::move(info));
  };
#define PROPERTY(ID, GROUP, SUBJECT, TIERS, SUMMARY)                           \
  addRow(#ID, GROUP, Subject::SUBJECT, TIERS, SUMMARY, false);
#define INVERSE_PROPERTY(ID, GROUP, SUBJECT, TIERS, SUMMARY)                   \
  addRow(#ID, GROUP, Subject::SUBJECT, TIERS, SUMMARY, true);
#define ATTRIBUTE(NAME, TYPE, VALUES, MEANING)                                 \
  list.back().attributes.push_back(                                            \
      {#NAME, AttrType::TYPE, splitWords(VALUES), MEANING});
#include "Vocabulary.def"
  return list;
}
