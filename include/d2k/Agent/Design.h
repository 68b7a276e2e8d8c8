// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Designs that a model states before it writes code, and how much of an
// expert's design is in them. docs/Agents.md has the rule and how well it
// agrees with people.

#ifndef D2K_AGENT_DESIGN_H
#define D2K_AGENT_DESIGN_H

#include "d2k/Rubric/Guidance.h"
#include "d2k/Rubric/Rubric.h"
#include "d2k/Support/Json.h"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::agent {

/// One decision of a proposed design.
struct DesignItem {
  std::string id;
  /// 0 for L1.
  unsigned level = 0;
  std::string title, description, reason;
  std::vector<std::string> dependsOn;
};

struct Design {
  std::vector<DesignItem> items;

  /// Takes {"items": [...]}; fails with kind Input, in words for a model.
  static Result<Design> fromJson(const json::Cursor &cursor);
  json::Value toJson() const;
};

/// The JSON Schema of a design.
std::string_view getDesignSchemaText();

/// The terms of DesignTerms.def that \p text has, by name.
std::set<std::string_view> findDesignTerms(std::string_view text);

enum class Discovery : uint8_t { Missed, Partly, Discovered };
/// "missed", "partly", "discovered".
std::string_view getDiscoveryName(Discovery discovery);

/// What became of one item of the guidance.
struct AssessedItem {
  std::string id, title;
  unsigned level = 0;
  Discovery discovery = Discovery::Missed;
  /// The part of the item's terms, by weight, that the best item of the design
  /// has.
  double overlap = 0;
  /// That item; empty when none shares a term.
  std::string matched;
};

struct LevelScore {
  /// Items of the guidance, discovered counting 1 and partly 1/2, by their
  /// number; nothing for a level without items.
  std::optional<double> recall;
  /// Proposed items of this level that some item of the guidance matches, by
  /// their number.
  std::optional<double> precision;
};

struct Assessment {
  std::vector<AssessedItem> items;
  std::array<LevelScore, rubric::kNumLevels> levels;
  LevelScore all;
};

/// Compares \p design with the expert's: a function of its arguments only.
Assessment assessDesign(const Design &design, const rubric::Guidance &guidance,
                        const rubric::Rubric &rubric);

} // namespace d2k::agent

#endif // D2K_AGENT_DESIGN_H
