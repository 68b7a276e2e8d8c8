// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the runner.

#include "d2k/Agent/Workbench.h"

#include "d2k/Runner/CompileSubmission.h"
#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Subprocess.h"

#include <cxxabi.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

using namespace d2k;
using namespace d2k::agent;
using namespace d2k::runner;

Result<Workbench> Workbench::create(WorkbenchOptions options) {
  Workbench bench;
  Result<task::Task> task =
      task::Task::load(joinPath(options.evaluate.taskFolder, "task.json"));
  if (!task)
    return forwardFailure(std::move(task));
  bench.task = std::move(*task);
  Result<std::string> description =
      readFile(joinPath(options.evaluate.taskFolder, "description.md"));
  if (!description)
    return forwardFailure(std::move(description));
  bench.description = std::move(*description);
  bench.arch = options.arch;
  bench.options = std::move(options);
  return bench;
}

Result<std::string> Workbench::getArch() {
  if (!arch.empty())
    return arch;
  Result<json::Array> devices = queryDevices(options.evaluate);
  if (!devices)
    return forwardFailure(std::move(devices));
  if (devices->empty())
    return fail(FailureKind::Environment, "the driver names no device");
  Result<std::string> name =
      json::Cursor(devices->front(), "device").getString("arch");
  if (!name)
    return forwardFailure(std::move(name));
  arch = *name;
  return arch;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static std::string demangle(const std::string &name) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

/// The number directly before \p unit in \p line, or 0.
static int64_t findCount(const std::string &line, const std::string &unit) {
  size_t at = line.find(unit);
  if (at == std::string::npos)
    return 0;
  size_t start = at;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9')
    --start;
  return std::strtoll(line.c_str() + start, nullptr, 10);
}

std::vector<KernelUsage> agent::parseKernelUsage(const std::string &diagnostics,
                                                 std::string &rest) {
  std::vector<KernelUsage> kernels;
  std::istringstream lines(diagnostics);
  for (std::string line; std::getline(lines, line);) {
    bool isInfo = line.compare(0, 10, "ptxas info") == 0;
    size_t entry = line.find("Compiling entry function '");
    if (isInfo && entry != std::string::npos) {
      entry += 26;
      KernelUsage kernel;
      kernel.name =
          demangle(line.substr(entry, line.find('\'', entry) - entry));
      kernels.push_back(std::move(kernel));
    } else if (line.find("bytes stack frame") != std::string::npos) {
      if (kernels.empty())
        continue;
      kernels.back().stackBytes = findCount(line, " bytes stack frame");
      kernels.back().spillStoreBytes = findCount(line, " bytes spill stores");
      kernels.back().spillLoadBytes = findCount(line, " bytes spill loads");
    } else if (isInfo) {
      if (line.find("Used ") == std::string::npos || kernels.empty())
        continue;
      kernels.back().registers = findCount(line, " registers");
      kernels.back().sharedBytes = findCount(line, " bytes smem");
    } else if (!line.empty()) {
      rest += line + "\n";
    }
  }
  return kernels;
}

static std::string describeUsage(const std::vector<KernelUsage> &kernels) {
  std::string text;
  for (const KernelUsage &kernel : kernels)
    text += kernel.name + ": " + std::to_string(kernel.registers) +
            " registers, " + std::to_string(kernel.sharedBytes) +
            " bytes of static shared memory, " +
            std::to_string(kernel.stackBytes) + " bytes of stack, spills " +
            std::to_string(kernel.spillStoreBytes) + " bytes stored, " +
            std::to_string(kernel.spillLoadBytes) + " bytes loaded\n";
  return text;
}

Result<void> Workbench::build(const std::string &folder) {
  Result<Submission> submission = Submission::read(folder);
  if (!submission)
    return forwardFailure(std::move(submission));
  if (built && builtSha256 == submission->sha256)
    return {};
  builtSha256.clear();
  Result<std::string> target = getArch();
  if (!target)
    return forwardFailure(std::move(target));
  Result<Compiler> compiler = Compiler::create(options.evaluate.worker);
  if (!compiler)
    return forwardFailure(std::move(compiler));
  Result<TemporaryDirectory> made = TemporaryDirectory::create();
  if (!made)
    return forwardFailure(std::move(made));
  built.emplace(std::move(*made));
  if (progress)
    progress("compiling");
  CompiledSubmission compiled = checkSubmission(*submission, task);
  if (compiled.verdict == Verdict::Correct) {
    if (Result<void> done =
            layOutSubmission(*submission, task, built->getPath());
        !done)
      return done;
    Result<CompiledSubmission> result =
        compileSubmission(*compiler, *submission, task, built->getPath(),
                          options.evaluate.dataRoot, *target, /*details=*/true);
    if (!result)
      return forwardFailure(std::move(result));
    compiled = std::move(*result);
  }
  builtPassed = compiled.verdict == Verdict::Correct;
  std::string words;
  std::vector<KernelUsage> kernels =
      parseKernelUsage(compiled.diagnostics, words);
  if (builtPassed)
    builtText = "compiles for " + *target + "\n" + describeUsage(kernels) +
                (words.empty() ? "" : "the compiler says:\n" + words);
  else if (compiled.verdict == Verdict::Exploit)
    builtText = "breaks the rules:\n" + compiled.reason + "\n";
  else
    builtText =
        "does not compile:\n" + (words.empty() ? compiled.reason : words);
  builtSha256 = submission->sha256;
  return {};
}

Result<std::string> Workbench::compile(const std::string &folder,
                                       bool &passed) {
  if (Result<void> done = build(folder); !done)
    return forwardFailure(std::move(done));
  passed = builtPassed;
  return builtText;
}

/// Without the encoding of each instruction, which takes most of the room.
static std::string removeEncodings(const std::string &listing) {
  std::string out;
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    size_t encoding = line.rfind("/* 0x");
    if (encoding != std::string::npos)
      line.resize(encoding);
    while (!line.empty() && line.back() == ' ')
      line.pop_back();
    if (!line.empty() || encoding == std::string::npos)
      out += line + "\n";
  }
  return out;
}

Result<Workbench::Listing> Workbench::inspect(const std::string &folder,
                                              bool isSass) {
  if (Result<void> done = build(folder); !done)
    return forwardFailure(std::move(done));
  Listing listing;
  if (!builtPassed) {
    listing.problem = builtText;
    return listing;
  }
  std::string output = joinPath(built->getPath(), "output");
  if (!isSass) {
    for (const std::string &name :
         listDirectory(output).value_or(std::vector<std::string>())) {
      if (name.size() < 4 || name.compare(name.size() - 4, 4, ".ptx") != 0)
        continue;
      Result<std::string> text = readFile(joinPath(output, name));
      if (!text)
        return forwardFailure(std::move(text));
      listing.files.emplace_back(name, std::move(*text));
    }
    if (listing.files.empty())
      listing.problem = "the compiler left no PTX";
    return listing;
  }
  Result<std::string> tool = findCudaTool(CudaTool::Cuobjdump);
  if (!tool) {
    // A run can do without it.
    listing.problem = "machine code cannot be shown on this machine, which has "
                      "no cuobjdump";
    return listing;
  }
  Result<Compiler> compiler = Compiler::create(options.evaluate.worker);
  if (!compiler)
    return forwardFailure(std::move(compiler));
  // The library was made of somebody else's source: its reader stays inside.
  SandboxConfig sandbox = makeCompilerSandbox(*compiler, built->getPath(),
                                              options.evaluate.dataRoot);
  std::error_code error;
  sandbox.readOnly.push_back(
      std::filesystem::canonical(*tool, error).parent_path().string());
  Command command;
  command.argv =
      makeConfinedCommand(options.evaluate.worker, "exec", std::move(sandbox));
  for (const std::string &argument :
       {std::string("--"), std::filesystem::canonical(*tool, error).string(),
        std::string("-sass"), joinPath(output, "submission.so")})
    command.argv.push_back(argument);
  command.environment.emplace_back("TMPDIR", std::nullopt);
  command.timeout = std::chrono::minutes(2);
  Result<CommandResult> result = runCommand(command);
  if (!result)
    return forwardFailure(std::move(result));
  if (!result->succeeded())
    listing.problem =
        "cuobjdump: " + result->describeEnd() + " " + result->error;
  else
    listing.files.emplace_back("SASS", removeEncodings(result->output));
  return listing;
}

//===----------------------------------------------------------------------===//
// Evaluating
//===----------------------------------------------------------------------===//

Result<Evaluation>
Workbench::evaluate(const std::string &folder, Depth depth,
                    const std::vector<std::string> &workloads) {
  EvaluateOptions request = options.evaluate;
  request.submission = folder;
  request.workloads = workloads;
  request.heldOut = false;
  // The score of the implementation is not for the agent.
  request.analyzer.clear();
  request.onlyValidate = depth == Depth::Validate;
  request.profile = depth == Depth::Profile;
  request.progress = progress;
  return runner::evaluate(request);
}

Result<Evaluation> Workbench::evaluateFinally(const std::string &folder,
                                              bool heldOut, bool score) {
  EvaluateOptions request = options.evaluate;
  request.submission = folder;
  if (heldOut)
    for (const task::Workload &workload : task.heldOut)
      request.workloads.push_back(workload.id);
  if (!score)
    request.analyzer.clear();
  request.progress = progress;
  return runner::evaluate(request);
}
