// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints what the host code of CUDA sources does, as the analyser understands
// it: the test tool of the CUDA front end.
//
// Exit codes: 0 done, 2 bad usage, 3 an input could not be read.

#include "d2k/Frontend/CUDA/HostReader.h"
#include "d2k/Frontend/CUDA/TaskWorkloads.h"
#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace d2k;
namespace cl = llvm::cl;

static cl::OptionCategory category("d2k-host options");
static cl::list<std::string>
    axes("axis", cl::cat(category), cl::value_desc("name=value"),
         cl::desc("An axis of the entry's arguments; all of them together are "
                  "one workload"));
static cl::list<std::string> inputs(cl::Positional, cl::OneOrMore,
                                    cl::desc("<sources>"), cl::cat(category));
static cl::opt<std::string> arch("arch", cl::init("sm_90a"), cl::desc("Target"),
                                 cl::cat(category));
static cl::opt<std::string> entry("entry", cl::desc("Entry function"),
                                  cl::cat(category));
static cl::opt<std::string> taskFile("task", cl::desc("A task.json"),
                                     cl::cat(category));
static cl::list<std::string>
    includes("I", cl::Prefix, cl::desc("Folder of headers"), cl::cat(category));
static cl::opt<std::string>
    headers("headers", cl::cat(category), cl::value_desc("folder"),
            cl::desc("Keep precompiled headers there and use what is kept"));
static cl::list<std::string> defines("D", cl::Prefix, cl::desc("Macro"),
                                     cl::cat(category));

static cl::list<std::string>
    compilerFlags("flag", cl::cat(category), cl::value_desc("flag"),
                  cl::desc("A flag of nvcc for all sources"));

static int report(const Failure &failure) {
  llvm::WithColor::error(llvm::errs(), "d2k-host") << failure.message << '\n';
  return getExitCode(failure.kind);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Follows the host code\n");
  cuda::HostRequest request;
  request.sources.assign(inputs.begin(), inputs.end());
  request.arch = arch;
  request.entry = entry;
  if (!headers.empty())
    request.headerFolder = headers;
  request.includeDirectories.assign(includes.begin(), includes.end());
  std::vector<std::string> flags(compilerFlags.begin(), compilerFlags.end());
  for (const std::string &define : defines)
    flags.push_back("-D" + define);
  request.sourceFlags.assign(inputs.size(), flags);
  Result<std::string> toolkit = findCudaToolkit();
  if (!toolkit)
    return report(toolkit.error());
  request.toolkit = *toolkit;
  if (!taskFile.empty()) {
    Result<task::Task> task = task::Task::load(taskFile);
    if (!task)
      return report(task.error());
    if (entry.empty())
      request.entry = "d2k_" + task->name;
    request.workloads = cuda::makeHostWorkloads(*task);
  }
  if (!axes.empty()) {
    cuda::HostWorkload workload;
    for (llvm::StringRef axis : axes) {
      auto [name, text] = axis.split('=');
      int64_t value = 0;
      if (text.getAsInteger(10, value)) {
        llvm::WithColor::error(llvm::errs(), "d2k-host")
            << "--axis " << axis << ": expected name=integer\n";
        return 2;
      }
      workload.arguments.integers[name.str()] = value;
    }
    request.workloads.push_back(std::move(workload));
  }
  Result<cuda::HostProgram> program = cuda::readHost(request);
  if (!program)
    return report(program.error());
  llvm::outs() << cuda::printHostProgram(*program);
  return 0;
}
