// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tools that ask the compiler.

#include "Tools/Tools.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::agent;

/// A submission without a .cu file, or too large a one, is the model's fault.
static Result<ToolOutcome> refuse(const ToolContext &context,
                                  const Failure &failure) {
  if (failure.kind != FailureKind::Input)
    return tl::unexpected<Failure>(failure);
  std::string text = failure.message;
  const std::string &path = context.files.getPath();
  if (size_t at = text.find(path); at != std::string::npos)
    text.replace(at, path.size(), "your files");
  return ToolOutcome::makeError(std::move(text));
}

static Result<ToolOutcome> compile(ToolContext &context, const json::Cursor &) {
  bool passed = false;
  Result<std::string> text =
      context.bench.compile(context.files.getPath(), passed);
  if (!text)
    return refuse(context, text.error());
  return ToolOutcome{std::move(*text), !passed, std::nullopt};
}

/// The lines of \p text from \p first on; with \p wanted only around the lines
/// that have it.
static std::string selectLines(const std::string &text,
                               const std::string &wanted, int64_t first,
                               int64_t count) {
  constexpr int64_t kAround = 3;
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  std::vector<bool> isShown(lines.size(), wanted.empty());
  for (int64_t i = 0; !wanted.empty() && i < int64_t(lines.size()); ++i)
    if (lines[size_t(i)].find(wanted) != std::string_view::npos)
      for (int64_t j = std::max<int64_t>(0, i - kAround);
           j <= std::min<int64_t>(int64_t(lines.size()) - 1, i + kAround); ++j)
        isShown[size_t(j)] = true;
  std::string shown;
  int64_t taken = 0, last = 0;
  for (int64_t i = first - 1; i < int64_t(lines.size()) && taken < count &&
                              shown.size() < kMaxToolCharacters;
       ++i) {
    if (!isShown[size_t(i)])
      continue;
    if (!wanted.empty() && last != 0 && last != i)
      shown += "...\n";
    shown +=
        std::to_string(i + 1) + ": " + std::string(lines[size_t(i)]) + "\n";
    last = i + 1;
    ++taken;
  }
  if (shown.empty())
    shown =
        wanted.empty() ? "no such line\n" : "no line has \"" + wanted + "\"\n";
  return shown + "[" + std::to_string(taken) + " of " +
         std::to_string(lines.size()) + " lines]\n";
}

static Result<ToolOutcome> inspect(ToolContext &context,
                                   const json::Cursor &arguments) {
  bool isSass = *arguments.getString("what") == "sass";
  Result<Workbench::Listing> listing =
      context.bench.inspect(context.files.getPath(), isSass);
  if (!listing)
    return refuse(context, listing.error());
  if (!listing->problem.empty())
    return ToolOutcome::makeError(listing->problem);
  std::string text;
  for (const auto &[name, content] : listing->files)
    text += "== " + name + "\n" +
            selectLines(content, arguments.getString("find").value_or(""),
                        arguments.getInteger("first_line").value_or(1),
                        arguments.getInteger("lines").value_or(400));
  return ToolOutcome{std::move(text), false, std::nullopt};
}

void agent::addCompileTools(std::vector<Tool> &tools) {
  tools.push_back(
      {"compile",
       "Compiles your files as an evaluation does. Shows the compiler's words, "
       "and registers, shared memory and spills of each kernel.",
       R"({"type": "object", "properties": {}, "additionalProperties": false})",
       false, compile});
  tools.push_back(
      {"inspect",
       "Shows the PTX or the machine code (SASS) that the compiler makes of "
       "your files. `find` shows only the lines with that text and what is "
       "around them.",
       R"({"type": "object", "properties": {
             "what": {"enum": ["ptx", "sass"]},
             "find": {"type": "string"},
             "first_line": {"type": "integer", "minimum": 1},
             "lines": {"type": "integer", "minimum": 1}},
           "required": ["what"], "additionalProperties": false})",
       false, inspect});
}
