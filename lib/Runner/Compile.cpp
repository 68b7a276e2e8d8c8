// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls nvcc. The runtime is linked as a shared library, so that the functions
// that a submission uses of it can be read from its imports.

#include "d2k/Runner/Compile.h"

#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"
#include "d2k/Support/Subprocess.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;

std::string runner::getArchName(int major, int minor) {
  std::string name = "sm_" + std::to_string(major) + std::to_string(minor);
  // From Hopper on, wgmma, tcgen05 and their kin exist in the architecture's
  // own variant only.
  return major >= 9 ? name + "a" : name;
}

Result<Compiler> Compiler::create(const std::string &worker) {
  Compiler compiler;
  compiler.worker = worker;
  Result<std::string> nvcc = findCudaTool(CudaTool::Nvcc);
  if (!nvcc)
    return forwardFailure(std::move(nvcc));
  compiler.nvcc = *nvcc;
  Result<ToolVersion> version = queryToolVersion(*nvcc);
  if (!version)
    return forwardFailure(std::move(version));
  compiler.version = version->text;
  return compiler;
}

std::string Compiler::getToolkitFolder() const {
  std::error_code error;
  std::filesystem::path real = std::filesystem::canonical(nvcc, error);
  return error ? "" : real.parent_path().parent_path().string();
}

std::string Compiler::getLibraryFolder() const {
  std::string toolkit = getToolkitFolder();
  for (const char *folder : {"lib64", "lib"}) {
    Result<std::vector<std::string>> names =
        listDirectory(joinPath(toolkit, folder));
    if (!names)
      continue;
    for (const std::string &name : *names)
      if (name.compare(0, 12, "libcudart.so") == 0)
        return joinPath(toolkit, folder);
  }
  return {};
}

std::vector<std::string>
Compiler::makeCommand(const CompileRequest &request) const {
  // Not -arch: with -shared, nvcc 13.0 then compiles for the architecture
  // without its suffix too.
  std::string target = request.arch.substr(3);
  std::vector<std::string> command = {nvcc,
                                      "-O3",
                                      "-std=c++20",
                                      "-lineinfo",
                                      "-gencode=arch=compute_" + target +
                                          ",code=sm_" + target,
                                      "-shared",
                                      "--cudart=shared",
                                      "-no-compress",
                                      "-Xcompiler",
                                      "-fPIC"};
  if (!request.keepFolder.empty())
    for (const std::string &flag :
         {std::string("-Xptxas=-v"), std::string("--keep"),
          "--keep-dir=" + request.keepFolder})
      command.push_back(flag);
  for (const std::string &folder : request.includeFolders)
    command.push_back("-I" + folder);
  command.insert(command.end(), request.sources.begin(), request.sources.end());
  command.push_back("-o");
  command.push_back(request.output);
  for (const std::string &library : request.libraries)
    command.push_back("-l" + library);
  return command;
}

Result<CompileOutcome> Compiler::compile(const CompileRequest &request) const {
  Command command;
  command.argv = makeCommand(request);
  if (request.sandbox) {
    std::vector<std::string> confined =
        makeConfinedCommand(worker, "exec", *request.sandbox);
    confined.emplace_back("--");
    confined.insert(confined.end(), command.argv.begin(), command.argv.end());
    command.argv = std::move(confined);
    // The private /tmp of the sandbox, wherever the caller's is.
    command.environment.emplace_back("TMPDIR", std::nullopt);
    command.maxFileBytes = request.sandbox->maxFileBytes;
  }
  command.timeout = request.timeout;
  command.maxOutputBytes = 1 << 20;
  Result<CommandResult> result = runCommand(command);
  if (!result)
    return forwardFailure(std::move(result));
  CompileOutcome outcome;
  outcome.seconds = result->seconds;
  outcome.diagnostics = result->error + result->output;
  outcome.succeeded = result->succeeded() && isRegularFile(request.output);
  // A supervisor of the sandbox reports a signal N as 128 + N.
  outcome.wasKilled = !result->timedOut && (result->signal == SIGKILL ||
                                            result->exitCode == 128 + SIGKILL);
  if (!outcome.succeeded && (outcome.diagnostics.empty() || !result->exitCode ||
                             *result->exitCode > 2))
    outcome.diagnostics += "nvcc: " + result->describeEnd() + "\n";
  return outcome;
}

/// Adds names and contents of everything below \p folder.
static void addFolder(const std::string &folder, std::string &key) {
  for (const std::string &name :
       listDirectory(folder).value_or(std::vector<std::string>())) {
    std::string path = joinPath(folder, name);
    key += '\0' + name;
    if (isDirectory(path))
      addFolder(path, key);
    else
      key += '\0' + readFile(path).value_or("");
  }
}

Result<std::string> Compiler::compileCached(CompileRequest request,
                                            const std::string &cache) const {
  // Where files are is no part of the key, what is in them is.
  CompileRequest flags = request;
  flags.output.clear();
  flags.includeFolders.clear();
  std::string key = version;
  for (const std::string &argument : makeCommand(flags))
    key += '\0' + argument;
  for (const std::string &source : request.sources) {
    Result<std::string> text = readFile(source);
    if (!text)
      return forwardFailure(std::move(text));
    key += '\0' + *text;
  }
  for (const std::string &folder : request.includeFolders)
    addFolder(folder, key);
  std::string path = joinPath(cache, sha256Hex(key) + ".so");
  if (isRegularFile(path))
    return path;
  std::error_code error;
  std::filesystem::create_directories(cache, error);
  if (error)
    return fail(FailureKind::Environment,
                cache + ": cannot be made: " + error.message() +
                    "; set D2K_CACHE to a folder that can be written");
  // Two evaluations may come here at once: each makes its own file, and
  // renaming decides.
  request.output = path + "." + std::to_string(::getpid()) + ".so";
  Result<CompileOutcome> outcome = compile(request);
  if (!outcome)
    return forwardFailure(std::move(outcome));
  if (!outcome->succeeded)
    return fail(FailureKind::Environment,
                request.sources.front() +
                    ": does not compile: " + outcome->diagnostics);
  std::filesystem::rename(request.output, path, error);
  if (error)
    return fail(FailureKind::Environment,
                path + ": cannot be written: " + error.message());
  return path;
}

std::string runner::getCacheFolder() {
  const char *named = std::getenv("D2K_CACHE");
  if (named && *named)
    return named;
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && *cache)
    return joinPath(cache, "d2k-bench");
  if (home && *home)
    return std::string(home) + "/.cache/d2k-bench";
  return "/tmp/d2k-bench-" + std::to_string(::geteuid());
}
