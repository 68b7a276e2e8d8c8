// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools of an agent. A tool is a function and a table entry; a group of
// them is a file here.

#ifndef D2K_LIB_AGENT_TOOLS_TOOLS_H
#define D2K_LIB_AGENT_TOOLS_TOOLS_H

#include "d2k/Agent/Message.h"
#include "d2k/Agent/WorkDirectory.h"
#include "d2k/Agent/Workbench.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::agent {

/// Most characters of a tool's answer that a model gets.
inline constexpr size_t kMaxToolCharacters = 16000;

/// What a submission came to, as transcripts and reports have it.
struct SubmissionRecord {
  /// 1, 2, ...
  unsigned number = 0;
  unsigned turn = 0;
  std::string sha256;
  std::string verdict;
  std::string reason;
  /// Present when correct.
  std::optional<double> speedup;
  /// An earlier submission with the same files, whose result this is; else 0.
  unsigned sameAs = 0;

  bool isEligible() const { return verdict == "correct" && speedup; }
  json::Value toJson() const;
  static Result<SubmissionRecord> fromJson(const json::Cursor &cursor);
};

/// What a tool works on.
struct ToolContext {
  WorkDirectory &files;
  Workbench &bench;
  /// Has a folder for each submission, named by getSubmissionFolder.
  std::string submissionsFolder;
  const std::vector<SubmissionRecord> &submissions;
  unsigned turn = 0;
};

/// "001" below the folder of submissions; it has `source` and `result.json`.
std::string getSubmissionFolder(const std::string &submissionsFolder,
                                unsigned number);

struct ToolOutcome {
  std::string text;
  bool isError = false;
  std::optional<SubmissionRecord> submission;

  static ToolOutcome makeError(std::string text) {
    return {std::move(text), true, std::nullopt};
  }
};

/// A tool. `run` fails only when the harness or the machine does not work:
/// what the model does wrong is an outcome.
struct Tool {
  std::string_view name;
  std::string_view description;
  /// JSON Schema of the arguments.
  std::string_view schema;
  /// It changes files and nothing else: a run that goes on repeats it.
  bool changesFiles = false;
  Result<ToolOutcome> (*run)(ToolContext &context,
                             const json::Cursor &arguments);
};

/// All tools, in the order in which a model is told of them.
const std::vector<Tool> &getTools();
std::vector<ToolDefinition> getToolDefinitions();

/// Calls the tool \p name with \p arguments, JSON as a model wrote it. Unknown
/// names, ill-formed JSON and wrong arguments are outcomes; long text is cut.
Result<ToolOutcome> callTool(ToolContext &context, const std::string &name,
                             const std::string &arguments);
/// Whether the tool \p name changes files.
bool changesFiles(const std::string &name);

/// The middle of a long \p text replaced by a note.
std::string cutText(std::string text, size_t most = kMaxToolCharacters);

/// The entries of each file.
void addFileTools(std::vector<Tool> &tools);
void addCompileTools(std::vector<Tool> &tools);
void addEvaluateTools(std::vector<Tool> &tools);

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_TOOLS_TOOLS_H
