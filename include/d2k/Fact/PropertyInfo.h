// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a property *is*: its id, its meaning in words, its attributes and the
// tiers that decide it. A detector defines the PropertyInfo of its property in
// its own file; properties of the vocabulary that have no detector yet are rows
// of lib/Fact/Vocabulary.def. Documentation, `--list-properties`, rubric lint
// and scoring all read the catalog made of both.

#ifndef D2K_FACT_PROPERTYINFO_H
#define D2K_FACT_PROPERTYINFO_H

#include "d2k/Fact/Fact.h"

#include <string>
#include <string_view>
#include <vector>

namespace d2k {

/// Type of an attribute's value.
enum class AttrType : uint8_t { Boolean, Integer, Real, String };

/// "boolean", "integer", "real", "string".
std::string_view getAttrTypeName(AttrType type);

/// One attribute of a property.
struct AttributeInfo {
  std::string name;
  AttrType type = AttrType::String;
  /// The values a String attribute can have; empty means any text.
  std::vector<std::string> values;
  /// What it says, with its unit.
  std::string meaning;
};

/// Whose property it is: facts about Kernel properties stand in
/// Analysis::kernels, about Host properties in Analysis::host.
enum class Subject : uint8_t { Kernel, Host };

/// One property of the vocabulary.
struct PropertyInfo {
  /// Lower case with underscores: "async_copy".
  std::string id;
  /// Section of the vocabulary: 'A' moving data, 'B' computing, 'C' dividing
  /// and scheduling, 'D' reductions and algorithms, 'E' fusing and the host,
  /// 'F' between GPUs.
  char group = 'A';
  /// "holds when ...": the claim in words.
  std::string summary;
  std::vector<AttributeInfo> attributes;
  /// Tiers whose evidence proves or refutes it.
  TierSet decidingTiers;
  /// Deciding tiers for which this version has a detector. Empty: the property
  /// is defined and every question about it is undecided.
  TierSet detectorTiers;
  Subject subject = Subject::Kernel;
  /// Present is bad (spills): rubrics ask for its absence or a threshold.
  bool inverse = false;
  /// Attributes in which PTX and machine code may rightly differ, because
  /// ptxas splits, joins or unrolls: facts that differ in nothing else agree.
  std::vector<std::string> perTier;

  /// This version has a detector.
  bool isImplemented() const { return !detectorTiers.empty(); }
  /// The attribute \p name, or null.
  const AttributeInfo *findAttribute(std::string_view name) const;
  /// Whether a fact proved at \p tier counts; Clang's PTX decides what PTX
  /// decides.
  bool isDecidedAt(Tier tier) const;
  /// Whether this version has a detector for \p tier; that of PTX reads Clang's
  /// PTX too.
  bool isDetectedAt(Tier tier) const;
  /// Whether facts with attributes \p a and \p b, read at two tiers, are one:
  /// what both know is equal, but for `perTier`.
  bool agree(const AttributeMap &a, const AttributeMap &b) const;
  /// Whether the absence of a fact proves anything about a subject that was
  /// seen whole at \p completeTiers.
  bool canRefute(TierSet completeTiers) const;
};

/// The properties that a build knows, by id.
class PropertyCatalog {
public:
  /// Adds \p info; false when its id is there already (nothing changes).
  [[nodiscard]] bool add(PropertyInfo info);
  /// The property \p id, or null.
  const PropertyInfo *find(std::string_view id) const;
  /// All properties, ordered by group and id.
  const std::vector<PropertyInfo> &getProperties() const { return properties; }
  /// The known id that is closest to the unknown \p id, for "did you mean";
  /// empty when none is near.
  std::string suggest(std::string_view id) const;

private:
  std::vector<PropertyInfo> properties;
};

/// The closest of \p candidates to \p word by edit distance; empty when more
/// than a third of the word would have to change.
std::string findClosest(std::string_view word,
                        const std::vector<std::string> &candidates);

/// The rows of lib/Fact/Vocabulary.def: properties that are defined and have no
/// detector in this version.
std::vector<PropertyInfo> getUndetectedVocabulary();

} // namespace d2k

#endif // D2K_FACT_PROPERTYINFO_H
