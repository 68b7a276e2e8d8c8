// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matches designs by the terms that they share.

#include "d2k/Agent/Design.h"

#include "d2k/Support/JsonSchema.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

using namespace d2k;
using namespace d2k::agent;

/// Shares of an item's terms from which on it counts as found. Chosen on the
/// gold set of test/Agent/Inputs/gold; see docs/Agents.md.
static constexpr double kDiscoveredOverlap = 0.45;
static constexpr double kPartlyOverlap = 0.34;

//===----------------------------------------------------------------------===//
// Designs
//===----------------------------------------------------------------------===//

std::string_view agent::getDesignSchemaText() {
  return R"({
  "type": "object",
  "properties": {
    "items": {
      "type": "array", "minItems": 1, "maxItems": 40,
      "items": {
        "type": "object",
        "properties": {
          "id": {"type": "string", "minLength": 1, "description": "such as A1"},
          "level": {"enum": ["L1", "L2", "L3"]},
          "title": {"type": "string", "minLength": 1},
          "description": {"type": "string", "description": "what to do, concretely: sizes, instructions, counts"},
          "reason": {"type": "string", "description": "why it pays, with the number that makes it pay"},
          "depends_on": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["id", "level", "title", "description", "reason", "depends_on"],
        "additionalProperties": false
      }
    }
  },
  "required": ["items"],
  "additionalProperties": false
})";
}

/// An item that waits for itself, if there is one: what is left when items
/// whose dependencies are all done are taken away again and again.
static std::optional<std::string> findCycle(const Design &design) {
  std::set<std::string> done;
  for (size_t before = design.items.size() + 1; before != done.size();) {
    before = done.size();
    for (const DesignItem &item : design.items)
      if (std::all_of(item.dependsOn.begin(), item.dependsOn.end(),
                      [&](const std::string &id) { return done.count(id); }))
        done.insert(item.id);
  }
  // Some of the rest only wait for the cycle; a walk along them ends in it.
  auto isLeft = [&](const std::string &id) { return !done.count(id); };
  std::map<std::string, const DesignItem *> items;
  for (const DesignItem &item : design.items)
    items[item.id] = &item;
  auto start =
      std::find_if(design.items.begin(), design.items.end(),
                   [&](const DesignItem &item) { return isLeft(item.id); });
  if (start == design.items.end())
    return std::nullopt;
  std::set<std::string> seen;
  std::string id = start->id;
  while (seen.insert(id).second) {
    const std::vector<std::string> &next = items[id]->dependsOn;
    id = *std::find_if(next.begin(), next.end(), isLeft);
  }
  return id;
}

Result<Design> Design::fromJson(const json::Cursor &cursor) {
  Result<json::Document> text =
      json::Document::parse(getDesignSchemaText(), "design schema");
  if (!text)
    return forwardFailure(std::move(text));
  Result<json::Schema> schema = json::Schema::create(std::move(*text));
  if (!schema)
    return forwardFailure(std::move(schema));
  std::string faults;
  for (const json::SchemaError &error : schema->validate(cursor.getValue()))
    faults += (faults.empty() ? "" : "; ") + error.toString();
  if (!faults.empty())
    return fail(FailureKind::Input, cursor.getFile() + ": " + faults);
  Design design;
  std::set<std::string> ids;
  std::vector<json::Cursor> elements = *cursor.at("items").asArray();
  for (const json::Cursor &element : elements) {
    DesignItem item;
    item.id = *element.getString("id");
    item.level = unsigned((*element.getString("level"))[1] - '1');
    item.title = *element.getString("title");
    item.description = *element.getString("description");
    item.reason = *element.getString("reason");
    item.dependsOn = *element.at("depends_on").asStrings();
    if (!ids.insert(item.id).second)
      return element.fail("the id \"" + item.id + "\" is given twice");
    design.items.push_back(std::move(item));
  }
  for (const DesignItem &item : design.items)
    for (const std::string &id : item.dependsOn)
      if (!ids.count(id))
        return fail(FailureKind::Input, cursor.getFile() + ": " + item.id +
                                            " depends on \"" + id +
                                            "\", which is no item");
  if (std::optional<std::string> id = findCycle(design))
    return fail(FailureKind::Input,
                cursor.getFile() + ": " + *id +
                    " depends on itself, if only by way of others");
  return design;
}

json::Value Design::toJson() const {
  json::Array list;
  for (const DesignItem &item : items) {
    json::Array dependencies;
    for (const std::string &id : item.dependsOn)
      dependencies.emplace_back(id);
    list.emplace_back(json::Object{{"id", item.id},
                                   {"level", rubric::getLevelName(item.level)},
                                   {"title", item.title},
                                   {"description", item.description},
                                   {"reason", item.reason},
                                   {"depends_on", std::move(dependencies)}});
  }
  return json::Object{{"items", std::move(list)}};
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

namespace {

using Words = std::vector<std::string>;

struct Term {
  std::string_view name;
  /// Alternatives, each a list of rows of words that must all occur.
  std::vector<std::vector<Words>> patterns;
};

} // namespace

static Words splitWords(std::string_view text) {
  Words words;
  std::string word;
  auto finish = [&] {
    // A full stop ends a sentence or stands inside a name.
    while (!word.empty() && word.back() == '.')
      word.pop_back();
    if (!word.empty())
      words.push_back(std::move(word));
    word.clear();
  };
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 128 && (std::isalnum(byte) || c == '.' || c == '*'))
      word += char(std::tolower(byte));
    else
      finish();
  }
  finish();
  return words;
}

static std::vector<Term> makeTerms() {
  struct Entry {
    std::string_view name, patterns;
  };
  constexpr Entry kEntries[] = {
#define D2K_DESIGN_TERM(name, patterns) {#name, patterns},
#include "DesignTerms.def"
  };
  std::vector<Term> terms;
  for (const Entry &entry : kEntries) {
    Term term{entry.name, {}};
    std::string_view rest = entry.patterns;
    while (!rest.empty()) {
      size_t end = std::min(rest.find('|'), rest.size());
      std::string_view pattern = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      std::vector<Words> rows;
      while (!pattern.empty()) {
        size_t plus = std::min(pattern.find('+'), pattern.size());
        rows.push_back(splitWords(pattern.substr(0, plus)));
        pattern.remove_prefix(std::min(plus + 1, pattern.size()));
      }
      term.patterns.push_back(std::move(rows));
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

static bool matches(const std::string &pattern, const std::string &word) {
  if (pattern.back() != '*')
    return word == pattern;
  return word.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) ==
         0;
}

static bool contains(const Words &words, const Words &row) {
  for (size_t at = 0; at + row.size() <= words.size(); ++at) {
    size_t i = 0;
    while (i < row.size() && matches(row[i], words[at + i]))
      ++i;
    if (i == row.size())
      return true;
  }
  return false;
}

std::set<std::string_view> agent::findDesignTerms(std::string_view text) {
  static const std::vector<Term> terms = makeTerms();
  Words words = splitWords(text);
  std::set<std::string_view> found;
  for (const Term &term : terms)
    if (std::any_of(term.patterns.begin(), term.patterns.end(),
                    [&](const std::vector<Words> &rows) {
                      return std::all_of(rows.begin(), rows.end(),
                                         [&](const Words &row) {
                                           return contains(words, row);
                                         });
                    }))
      found.insert(term.name);
  return found;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

std::string_view agent::getDiscoveryName(Discovery discovery) {
  switch (discovery) {
  case Discovery::Missed:
    return "missed";
  case Discovery::Partly:
    return "partly";
  case Discovery::Discovered:
    break;
  }
  return "discovered";
}

namespace {

/// Terms and how much each tells about an item.
using WeightedTerms = std::map<std::string_view, double>;

} // namespace

/// The terms of each item. What its title says counts twice what the rubric's
/// hints say; a term of many items tells less of each of them.
static std::vector<WeightedTerms> weighTerms(const rubric::Guidance &guidance,
                                             const rubric::Rubric &rubric) {
  std::vector<WeightedTerms> all;
  std::map<std::string_view, double> frequency;
  for (const rubric::GuidanceItem &item : guidance.items) {
    WeightedTerms terms;
    std::string hints, titles = item.title;
    for (const rubric::Property &property : rubric.properties)
      if (property.guidance == item.id) {
        titles += ". " + property.title;
        hints += ". " + property.hint;
      }
    for (std::string_view term : findDesignTerms(hints))
      terms[term] = 0.5;
    for (std::string_view term : findDesignTerms(titles))
      terms[term] = 1;
    for (const auto &[term, weight] : terms)
      ++frequency[term];
    all.push_back(std::move(terms));
  }
  double count = double(guidance.items.size());
  for (WeightedTerms &terms : all)
    for (auto &[term, weight] : terms)
      weight *= std::log(1 + count / frequency[term]);
  return all;
}

static double getOverlap(const WeightedTerms &wanted,
                         const std::set<std::string_view> &found) {
  double sum = 0, shared = 0;
  for (const auto &[term, weight] : wanted) {
    sum += weight;
    if (found.count(term))
      shared += weight;
  }
  return sum > 0 ? shared / sum : 0;
}

static LevelScore getScore(const std::vector<AssessedItem> &items,
                           const std::vector<unsigned> &proposedLevels,
                           const std::vector<bool> &isMatched,
                           std::optional<unsigned> level) {
  double found = 0, wanted = 0, right = 0, proposed = 0;
  for (const AssessedItem &item : items) {
    if (level && item.level != *level)
      continue;
    ++wanted;
    found += item.discovery == Discovery::Discovered ? 1
             : item.discovery == Discovery::Partly   ? 0.5
                                                     : 0;
  }
  for (size_t i = 0; i < proposedLevels.size(); ++i) {
    if (level && proposedLevels[i] != *level)
      continue;
    ++proposed;
    right += isMatched[i];
  }
  LevelScore score;
  if (wanted > 0)
    score.recall = found / wanted;
  if (proposed > 0)
    score.precision = right / proposed;
  return score;
}

Assessment agent::assessDesign(const Design &design,
                               const rubric::Guidance &guidance,
                               const rubric::Rubric &rubric) {
  std::vector<WeightedTerms> wanted = weighTerms(guidance, rubric);
  std::vector<std::set<std::string_view>> found;
  std::vector<unsigned> levels;
  for (const DesignItem &item : design.items) {
    // Reasons name what is avoided as well as what is done.
    found.push_back(findDesignTerms(item.title + ". " + item.description));
    levels.push_back(item.level);
  }
  Assessment assessment;
  std::vector<bool> isMatched(design.items.size());
  for (size_t i = 0; i < guidance.items.size(); ++i) {
    AssessedItem item;
    item.id = guidance.items[i].id;
    item.title = guidance.items[i].title;
    item.level = guidance.items[i].level;
    for (size_t j = 0; j < found.size(); ++j) {
      double overlap = getOverlap(wanted[i], found[j]);
      if (overlap >= kPartlyOverlap)
        isMatched[j] = true;
      if (overlap > item.overlap) {
        item.overlap = overlap;
        item.matched = design.items[j].id;
      }
    }
    item.discovery = item.overlap >= kDiscoveredOverlap ? Discovery::Discovered
                     : item.overlap >= kPartlyOverlap   ? Discovery::Partly
                                                        : Discovery::Missed;
    assessment.items.push_back(std::move(item));
  }
  for (unsigned level = 0; level < rubric::kNumLevels; ++level)
    assessment.levels[level] =
        getScore(assessment.items, levels, isMatched, level);
  assessment.all = getScore(assessment.items, levels, isMatched, std::nullopt);
  return assessment;
}
