// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The skeleton of a guidance file: its items, their levels and dependencies.
// The prose is for agents and is not interpreted.

#ifndef D2K_RUBRIC_GUIDANCE_H
#define D2K_RUBRIC_GUIDANCE_H

#include <string>
#include <string_view>
#include <vector>

namespace d2k::rubric {

/// One item: a heading `## L2.3 Title` and the line `Depends on: ...` below.
struct GuidanceItem {
  /// "L2.3"
  std::string id;
  /// 0 for L1.
  unsigned level = 0;
  std::string title;
  std::vector<std::string> dependsOn;
  /// 1-based line of the heading.
  size_t line = 0;
};

/// A guidance file and what is wrong with its skeleton.
struct Guidance {
  std::vector<GuidanceItem> items;
  /// `LINE: message`, in document order.
  std::vector<std::string> faults;

  const GuidanceItem *find(std::string_view id) const;
};

/// Reads the skeleton of \p text. Faults: headings that are no items, ids given
/// twice, a missing `Depends on:` line (`Depends on: nothing` says that there
/// is none), dependencies that do not exist, are of a later level or form a
/// cycle, and fewer than 8 or more than 14 items.
Guidance parseGuidance(std::string_view text);

/// The text before the first item, and the items of the first \p levels levels:
/// what a reader gets who is shown no more.
std::string selectGuidance(std::string_view text, unsigned levels);

} // namespace d2k::rubric

#endif // D2K_RUBRIC_GUIDANCE_H
