// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tools for the files of the work directory. What a tool that changes files
// says must not depend on what was there before: it is repeated when a run
// goes on.

#include "Tools/Tools.h"

#include "d2k/Support/Subprocess.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::agent;

static size_t countLines(std::string_view text) {
  size_t lines = size_t(std::count(text.begin(), text.end(), '\n'));
  return lines + (!text.empty() && text.back() != '\n');
}

/// A refusal of the work directory is an outcome; anything else is ours.
static Result<ToolOutcome> refuse(const Failure &failure) {
  if (failure.kind != FailureKind::Input)
    return tl::unexpected<Failure>(failure);
  return ToolOutcome::makeError(failure.message);
}

static Result<ToolOutcome> listFiles(ToolContext &context,
                                     const json::Cursor &) {
  std::string text;
  for (const WorkDirectory::Entry &entry : context.files.list())
    text += entry.file + "  " + std::to_string(entry.bytes) + " bytes\n";
  return ToolOutcome{text.empty() ? "no files" : text, false, std::nullopt};
}

static Result<ToolOutcome> readFileTool(ToolContext &context,
                                        const json::Cursor &arguments) {
  std::string file = *arguments.getString("path");
  Result<std::string> text = context.files.read(file);
  if (!text)
    return refuse(text.error());
  int64_t first = arguments.getInteger("first_line").value_or(1);
  int64_t count = arguments.getInteger("lines").value_or(INT64_MAX);
  std::string shown;
  int64_t line = 1, taken = 0;
  for (size_t at = 0; at < text->size(); ++line) {
    size_t end = std::min(text->find('\n', at), text->size() - 1) + 1;
    if (line >= first && taken < count && shown.size() < kMaxToolCharacters) {
      shown += text->substr(at, end - at);
      ++taken;
    }
    at = end;
  }
  if (taken == 0 && !text->empty())
    shown = "no such line; there are " + std::to_string(line - 1);
  else if (first > 1 || taken < line - 1)
    shown += "\n[lines " + std::to_string(first) + " to " +
             std::to_string(first + taken - 1) + " of " +
             std::to_string(line - 1) + "]";
  return ToolOutcome{shown.empty() ? "(empty)" : shown, false, std::nullopt};
}

static Result<ToolOutcome> writeFileTool(ToolContext &context,
                                         const json::Cursor &arguments) {
  std::string file = *arguments.getString("path");
  std::string text = *arguments.getString("content");
  if (Result<void> done = context.files.write(file, text); !done)
    return refuse(done.error());
  return ToolOutcome{"wrote " + file + ", " + std::to_string(countLines(text)) +
                         " lines, " + std::to_string(text.size()) + " bytes",
                     false, std::nullopt};
}

static Result<ToolOutcome> editFile(ToolContext &context,
                                    const json::Cursor &arguments) {
  std::string file = *arguments.getString("path");
  std::string before = *arguments.getString("old_text");
  std::string after = *arguments.getString("new_text");
  Result<std::string> text = context.files.read(file);
  if (!text)
    return refuse(text.error());
  size_t at = text->find(before);
  if (at == std::string::npos)
    return ToolOutcome::makeError(file +
                                  ": old_text does not occur; it must "
                                  "match with all blanks and line feeds");
  if (text->find(before, at + 1) != std::string::npos)
    return ToolOutcome::makeError(
        file + ": old_text occurs more than once; give more of what is around "
               "the place");
  text->replace(at, before.size(), after);
  if (Result<void> done = context.files.write(file, *text); !done)
    return refuse(done.error());
  size_t line = countLines(std::string_view(*text).substr(0, at)) + 1;
  return ToolOutcome{"edited " + file + " near line " + std::to_string(line) +
                         "; it has " + std::to_string(countLines(*text)) +
                         " lines now",
                     false, std::nullopt};
}

static Result<ToolOutcome> deleteFile(ToolContext &context,
                                      const json::Cursor &arguments) {
  std::string file = *arguments.getString("path");
  if (Result<void> done = context.files.remove(file); !done)
    return refuse(done.error());
  return ToolOutcome{"deleted " + file, false, std::nullopt};
}

static Result<ToolOutcome> diffFiles(ToolContext &context,
                                     const json::Cursor &arguments) {
  if (context.submissions.empty())
    return ToolOutcome::makeError("nothing was submitted yet");
  int64_t number = arguments.getInteger("submission")
                       .value_or(context.submissions.back().number);
  if (number < 1 || number > int64_t(context.submissions.size()))
    return ToolOutcome::makeError("there is no submission " +
                                  std::to_string(number) + "; there are " +
                                  std::to_string(context.submissions.size()));
  // The same files again have no folder of their own.
  unsigned sameAs = context.submissions[size_t(number) - 1].sameAs;
  Command command;
  std::string folder = getSubmissionFolder(context.submissionsFolder,
                                           sameAs ? sameAs : unsigned(number));
  command.argv = {"diff", "-ruN", "--no-dereference", "source",
                  context.files.getPath()};
  command.directory = folder;
  command.maxOutputBytes = 1 << 20;
  Result<CommandResult> result = runCommand(command);
  if (!result)
    return forwardFailure(std::move(result));
  if (!result->exitCode || *result->exitCode > 1)
    return fail(FailureKind::Environment,
                "diff: " + result->describeEnd() + " " + result->error);
  // Where the folders are is nobody's business.
  std::string text = std::move(result->output);
  const std::string &path = context.files.getPath();
  for (size_t at = 0; (at = text.find(path, at)) != std::string::npos;)
    text.replace(at, path.size(), "work");
  if (text.empty())
    text = "no difference to submission " + std::to_string(number);
  return ToolOutcome{std::move(text), false, std::nullopt};
}

void agent::addFileTools(std::vector<Tool> &tools) {
  tools.push_back({"list_files", "Lists the files in your work directory.",
                   R"({"type": "object", "properties": {},
                       "additionalProperties": false})",
                   false, listFiles});
  tools.push_back(
      {"read_file",
       "Shows a file of your work directory. Give first_line and lines to see "
       "part of a long one.",
       R"({"type": "object", "properties": {
             "path": {"type": "string"},
             "first_line": {"type": "integer", "minimum": 1},
             "lines": {"type": "integer", "minimum": 1}},
           "required": ["path"], "additionalProperties": false})",
       false, readFileTool});
  tools.push_back({"write_file",
                   "Makes a file or replaces its whole content. All .cu, .cuh, "
                   ".h, .hpp and .inl files together are your submission.",
                   R"({"type": "object", "properties": {
                         "path": {"type": "string"},
                         "content": {"type": "string"}},
                       "required": ["path", "content"],
                       "additionalProperties": false})",
                   true, writeFileTool});
  tools.push_back(
      {"edit_file",
       "Replaces the one place where old_text stands in a file by new_text.",
       R"({"type": "object", "properties": {
             "path": {"type": "string"},
             "old_text": {"type": "string", "minLength": 1},
             "new_text": {"type": "string"}},
           "required": ["path", "old_text", "new_text"],
           "additionalProperties": false})",
       true, editFile});
  tools.push_back({"delete_file", "Deletes a file.",
                   R"({"type": "object", "properties": {
                         "path": {"type": "string"}},
                       "required": ["path"], "additionalProperties": false})",
                   true, deleteFile});
  tools.push_back(
      {"diff_files",
       "Shows what changed between a submission (default: the last one) and "
       "your files.",
       R"({"type": "object", "properties": {
             "submission": {"type": "integer", "minimum": 1}},
           "additionalProperties": false})",
       false, diffFiles});
}
