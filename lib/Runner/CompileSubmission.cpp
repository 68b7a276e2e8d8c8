// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the files of a submission to a library that may be loaded.

#include "d2k/Runner/CompileSubmission.h"

#include "d2k/Runner/CodeRules.h"
#include "d2k/Support/Files.h"
#include "d2k/Task/EntryHeader.h"

#include <filesystem>

using namespace d2k;
using namespace d2k::runner;

/// How often a compiler that somebody kills is started.
static constexpr unsigned kMostLosses = 3;

Result<void> runner::layOutSubmission(const Submission &submission,
                                      const task::Task &task,
                                      const std::string &folder) {
  for (const char *name : {"source", "include", "output"}) {
    std::error_code error;
    std::string path = joinPath(folder, name);
    std::filesystem::create_directories(path, error);
    if (error)
      return fail(FailureKind::Environment,
                  path + ": cannot be made: " + error.message());
  }
  if (Result<void> done = submission.write(joinPath(folder, "source")); !done)
    return done;
  return writeFile(
      joinPath(folder, "include/" + task::getEntryName(task) + ".h"),
      task::generateEntryHeader(task));
}

static void addFaults(const std::vector<CodeFault> &faults,
                      CompiledSubmission &compiled) {
  for (const CodeFault &fault : faults) {
    compiled.verdict = Verdict::Exploit;
    compiled.reason += (compiled.reason.empty() ? "" : "\n") + fault.toString();
  }
}

CompiledSubmission runner::checkSubmission(const Submission &submission,
                                           const task::Task &task) {
  CompiledSubmission compiled;
  addFaults(checkSource(submission, task.name), compiled);
  return compiled;
}

SandboxConfig runner::makeCompilerSandbox(const Compiler &compiler,
                                          const std::string &folder,
                                          const std::string &dataRoot) {
  SandboxConfig sandbox;
  sandbox.devices = false;
  sandbox.readOnly = {
      joinPath(folder, "source"), joinPath(folder, "include"),
      compiler.getToolkitFolder(),
      std::filesystem::path(compiler.getPath()).parent_path().string()};
  sandbox.writable = {joinPath(folder, "output")};
  for (const char *hidden : {"tasks", "rubrics", "guidance"})
    sandbox.hidden.push_back(joinPath(dataRoot, hidden));
  return sandbox;
}

/// Where the files were for the compiler is nobody's business.
static std::string hideFolder(std::string text, const std::string &folder) {
  for (const char *name : {"source/", "output/", "include/"}) {
    std::string path = joinPath(folder, name);
    for (size_t at = 0; (at = text.find(path, at)) != std::string::npos;)
      text.erase(at, path.size());
  }
  return text;
}

Result<CompiledSubmission> runner::compileSubmission(
    const Compiler &compiler, const Submission &submission,
    const task::Task &task, const std::string &folder,
    const std::string &dataRoot, const std::string &arch, bool details) {
  CompileRequest request;
  for (const SourceFile &file : submission.files)
    if (file.isUnit())
      request.sources.push_back(
          joinPath(joinPath(folder, "source"), file.path));
  request.includeFolders = {joinPath(folder, "include"),
                            joinPath(folder, "source")};
  request.arch = arch;
  request.output = joinPath(folder, "output/submission.so");
  if (details)
    request.keepFolder = joinPath(folder, "output");
  request.sandbox = makeCompilerSandbox(compiler, folder, dataRoot);
  Result<CompileOutcome> outcome = compiler.compile(request);
  for (unsigned attempt = 1;
       outcome && outcome->wasKilled && attempt < kMostLosses; ++attempt)
    outcome = compiler.compile(request);
  if (!outcome)
    return forwardFailure(std::move(outcome));
  CompiledSubmission compiled;
  compiled.seconds = outcome->seconds;
  compiled.library = request.output;
  compiled.diagnostics = hideFolder(std::move(outcome->diagnostics), folder);
  if (!outcome->succeeded) {
    compiled.verdict = Verdict::CompileError;
    compiled.reason = compiled.diagnostics;
    return compiled;
  }
  Result<std::vector<CodeFault>> faults = checkImports(request.output);
  if (!faults)
    return forwardFailure(std::move(faults));
  addFaults(*faults, compiled);
  std::string entry = task::getEntryName(task);
  Result<bool> isThere = isDefined(request.output, entry);
  if (!isThere)
    return forwardFailure(std::move(isThere));
  if (!*isThere && compiled.verdict == Verdict::Correct) {
    compiled.verdict = Verdict::CompileError;
    compiled.reason = "there is no function " + entry +
                      " in the library: define it extern \"C\", as " + entry +
                      ".h declares it";
  }
  return compiled;
}
