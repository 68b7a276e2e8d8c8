// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompileCommands.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Json.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace d2k;

/// Files of options name others at most this deep.
static constexpr unsigned kMaxDepth = 16;

static std::string getAbsolute(const std::string &path,
                               const std::string &directory) {
  llvm::SmallString<256> result(path);
  llvm::sys::path::make_absolute(directory, result);
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/true);
  return result.str().str();
}

static std::string getRealPath(const std::string &path) {
  llvm::SmallString<256> result;
  if (llvm::sys::fs::real_path(path, result))
    return path;
  return result.str().str();
}

static std::vector<std::string> tokenize(const std::string &text) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  llvm::SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(text, saver, words);
  return {words.begin(), words.end()};
}

//===----------------------------------------------------------------------===//
// Files of options
//===----------------------------------------------------------------------===//

static Result<void> expandInto(const std::vector<std::string> &flags,
                               const std::string &directory, unsigned depth,
                               std::vector<std::string> &result) {
  for (size_t i = 0; i < flags.size(); ++i) {
    llvm::StringRef flag = flags[i];
    std::string file;
    if (flag.consume_front("@") || flag.consume_front("--options-file=") ||
        flag.consume_front("-optf="))
      file = flag.str();
    else if ((flag == "--options-file" || flag == "-optf") &&
             i + 1 < flags.size())
      file = flags[++i];
    if (file.empty()) {
      result.push_back(flags[i]);
      continue;
    }
    if (depth == kMaxDepth)
      return fail(FailureKind::Input,
                  file + ": files of options name each other more than " +
                      std::to_string(kMaxDepth) + " times deep");
    Result<std::string> text = readFile(getAbsolute(file, directory));
    if (!text)
      return forwardFailure(std::move(text));
    if (Result<void> expanded =
            expandInto(tokenize(*text), directory, depth + 1, result);
        !expanded)
      return expanded;
  }
  return {};
}

Result<std::vector<std::string>>
d2k::expandOptionFiles(const std::vector<std::string> &flags,
                       const std::string &directory) {
  std::vector<std::string> result;
  if (Result<void> expanded = expandInto(flags, directory, 0, result);
      !expanded)
    return forwardFailure(std::move(expanded));
  return result;
}

//===----------------------------------------------------------------------===//
// Compilation databases
//===----------------------------------------------------------------------===//

/// Flags with a value that concern the target, the outputs or dependencies.
static constexpr llvm::StringLiteral kDroppedWithValue[] = {
    "-o",
    "--output-file",
    "-x",
    "--x",
    "-MF",
    "-MT",
    "-MQ",
    "--dependency-output",
    "-arch",
    "-gencode",
    "-code",
    "--gpu-architecture",
    "--gpu-code",
    "--generate-code",
    "--dependency-target-name"};
/// The same without a value.
static constexpr llvm::StringLiteral kDropped[] = {
    "-c",    "-dc",     "-dw",     "--compile", "--device-c", "-MD",
    "-MMD",  "-MP",     "-M",      "-MM",       "-cubin",     "-ptx",
    "--ptx", "--cubin", "-fatbin", "--fatbin"};
/// Flags that are followed by a path.
static constexpr llvm::StringLiteral kPathFlags[] = {"-I",
                                                     "-isystem",
                                                     "-include",
                                                     "--include-path",
                                                     "--system-include",
                                                     "--pre-include"};

/// What is kept of the command line `words`, whose first one is the compiler.
static std::vector<std::string> cleanFlags(llvm::ArrayRef<std::string> words,
                                           const std::string &directory,
                                           const std::string &source) {
  std::vector<std::string> result;
  for (size_t i = 1; i < words.size(); ++i) {
    llvm::StringRef word = words[i];
    llvm::StringRef name = word.split('=').first;
    if (llvm::is_contained(kDropped, word) || word.starts_with("--cuda-") ||
        word == "--")
      continue;
    if (llvm::is_contained(kDroppedWithValue, name)) {
      i += name == word;
      continue;
    }
    bool isPath = false;
    for (llvm::StringRef flag : kPathFlags) {
      llvm::StringRef rest = word;
      if (!rest.consume_front(flag))
        continue;
      rest.consume_front("=");
      if (rest.empty() && i + 1 < words.size())
        rest = words[++i];
      result.push_back(flag.str());
      result.push_back(getAbsolute(rest.str(), directory));
      isPath = true;
      break;
    }
    if (isPath)
      continue;
    if (!word.starts_with("-") &&
        getRealPath(getAbsolute(word.str(), directory)) == source)
      continue;
    result.push_back(word.str());
  }
  return result;
}

Result<CompileCommands> CompileCommands::load(const std::string &path) {
  CompileCommands commands;
  commands.path =
      isDirectory(path) ? joinPath(path, "compile_commands.json") : path;
  Result<json::Document> document = json::Document::read(commands.path);
  if (!document)
    return forwardFailure(std::move(document));
  Result<std::vector<json::Cursor>> entries = document->getRoot().asArray();
  if (!entries)
    return forwardFailure(std::move(entries));
  for (const json::Cursor &entry : *entries) {
    Result<std::string> directory = entry.getString("directory");
    Result<std::string> file = entry.getString("file");
    if (!directory)
      return forwardFailure(std::move(directory));
    if (!file)
      return forwardFailure(std::move(file));
    std::vector<std::string> words;
    if (std::optional<json::Cursor> arguments = entry.find("arguments")) {
      Result<std::vector<std::string>> list = arguments->asStrings();
      if (!list)
        return forwardFailure(std::move(list));
      words = std::move(*list);
    } else {
      Result<std::string> command = entry.getString("command");
      if (!command)
        return forwardFailure(std::move(command));
      words = tokenize(*command);
    }
    std::string source = getRealPath(getAbsolute(*file, *directory));
    if (commands.flags.count(source))
      continue;
    Result<std::vector<std::string>> expanded =
        expandOptionFiles(words, *directory);
    // The files of another target may not have been written yet.
    if (expanded)
      commands.flags[source] = cleanFlags(*expanded, *directory, source);
  }
  return commands;
}

Result<std::vector<std::string>>
CompileCommands::getFlags(const std::string &source) const {
  auto found = flags.find(getRealPath(source));
  if (found == flags.end())
    return fail(FailureKind::Input,
                path + ": has no command that compiles " + source +
                    "; configure the project with it, or leave -p out and "
                    "give the flags behind --");
  return found->second;
}
