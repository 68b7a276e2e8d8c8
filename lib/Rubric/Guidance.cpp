// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the items of a guidance file.

#include "d2k/Rubric/Guidance.h"

#include <algorithm>
#include <set>

using namespace d2k::rubric;

static constexpr size_t kFewestItems = 8;
static constexpr size_t kMostItems = 14;

/// Reads "L2.13" at the front of \p text and removes it; empty when there is
/// none.
static std::string takeId(std::string_view &text) {
  auto isDigit = [&](size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  if (text.size() < 4 || text[0] != 'L' || text[1] < '1' || text[1] > '3' ||
      text[2] != '.' || text[3] == '0' || !isDigit(3))
    return {};
  size_t end = 3;
  while (isDigit(end))
    ++end;
  std::string id(text.substr(0, end));
  text.remove_prefix(end);
  return id;
}

static std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' ||
                           text.back() == '\r' || text.back() == '.'))
    text.remove_suffix(1);
  return text;
}

namespace {

class GuidanceParser {
public:
  Guidance run(std::string_view text);

private:
  void report(size_t line, const std::string &message) {
    guidance.faults.push_back(std::to_string(line) + ": " + message);
  }
  void takeHeading(std::string_view text);
  void takeDependencies(std::string_view text);
  void finishItem();
  void checkDependencies();
  bool reaches(const GuidanceItem &from, const std::string &id,
               std::set<std::string> &seen) const;

  Guidance guidance;
  size_t line = 0;
  bool open = false;
  bool hasDependencies = false;
};

} // namespace

const GuidanceItem *Guidance::find(std::string_view id) const {
  for (const GuidanceItem &item : items)
    if (item.id == id)
      return &item;
  return nullptr;
}

void GuidanceParser::finishItem() {
  if (open && !hasDependencies)
    report(guidance.items.back().line,
           guidance.items.back().id +
               " has no line `Depends on:`; write `Depends on: nothing` when "
               "it depends on no other item");
  open = hasDependencies = false;
}

void GuidanceParser::takeHeading(std::string_view text) {
  finishItem();
  GuidanceItem item;
  item.line = line;
  item.id = takeId(text);
  item.title = std::string(trim(text));
  if (item.id.empty() || item.title.empty()) {
    report(line, "expected a heading `## L2.3 Title`");
    return;
  }
  if (guidance.find(item.id))
    report(line, item.id + " is given twice");
  item.level = unsigned(item.id[1] - '1');
  guidance.items.push_back(std::move(item));
  open = true;
}

void GuidanceParser::takeDependencies(std::string_view text) {
  if (!open || hasDependencies) {
    report(line, "`Depends on:` belongs under a heading, once");
    return;
  }
  hasDependencies = true;
  text = trim(text);
  if (text == "nothing")
    return;
  while (true) {
    std::string id = takeId(text);
    if (id.empty()) {
      report(line, "expected items like L1.1, L2.2 or `nothing` after "
                   "`Depends on:`");
      return;
    }
    guidance.items.back().dependsOn.push_back(std::move(id));
    text = trim(text);
    if (text.empty())
      return;
    if (text.front() == ',')
      text.remove_prefix(1);
    text = trim(text);
  }
}

bool GuidanceParser::reaches(const GuidanceItem &from, const std::string &id,
                             std::set<std::string> &seen) const {
  for (const std::string &next : from.dependsOn) {
    if (next == id)
      return true;
    const GuidanceItem *item = guidance.find(next);
    if (item && seen.insert(next).second && reaches(*item, id, seen))
      return true;
  }
  return false;
}

void GuidanceParser::checkDependencies() {
  for (const GuidanceItem &item : guidance.items) {
    for (const std::string &id : item.dependsOn) {
      const GuidanceItem *other = guidance.find(id);
      if (!other)
        report(item.line,
               item.id + " depends on " + id + ", which does not exist");
      else if (other->level > item.level)
        report(item.line,
               item.id + " depends on " + id + ", which is of a later level");
    }
    std::set<std::string> seen;
    if (reaches(item, item.id, seen))
      report(item.line, item.id + " depends on itself in a cycle");
  }
}

Guidance GuidanceParser::run(std::string_view text) {
  bool inCode = false;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view current = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (current.substr(0, 3) == "```")
      inCode = !inCode;
    if (inCode)
      continue;
    constexpr std::string_view kDepends = "Depends on:";
    if (current.substr(0, 3) == "## ")
      takeHeading(trim(current.substr(3)));
    else if (current.substr(0, kDepends.size()) == kDepends)
      takeDependencies(current.substr(kDepends.size()));
  }
  finishItem();
  checkDependencies();
  size_t count = guidance.items.size();
  if (count < kFewestItems || count > kMostItems)
    report(line, "has " + std::to_string(count) + " items, expected " +
                     std::to_string(kFewestItems) + " to " +
                     std::to_string(kMostItems));
  return std::move(guidance);
}

Guidance d2k::rubric::parseGuidance(std::string_view text) {
  return GuidanceParser().run(text);
}

std::string d2k::rubric::selectGuidance(std::string_view text,
                                        unsigned levels) {
  Guidance guidance = parseGuidance(text);
  std::string selected;
  size_t line = 1;
  auto item = guidance.items.begin();
  bool isShown = true;
  while (!text.empty()) {
    if (item != guidance.items.end() && item->line == line) {
      isShown = item->level < levels;
      ++item;
    }
    size_t end = text.find('\n');
    size_t length = end == std::string_view::npos ? text.size() : end + 1;
    if (isShown)
      selected += text.substr(0, length);
    text.remove_prefix(length);
    ++line;
  }
  return selected;
}
