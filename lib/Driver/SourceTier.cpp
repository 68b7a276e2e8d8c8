// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SourceTier.h"

#include "Sources.h"

#include "d2k/Properties/HostProperties.h"
#include "d2k/Support/CudaTools.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace d2k;

/// "a, b"
static std::string list(const std::vector<std::string> &words) {
  return llvm::join(words, ", ");
}

/// Why nothing was followed.
static std::string explainNoTrace(const AnalyzeRequest &request,
                                  const cuda::HostProgram &program) {
  if (request.entry.empty())
    return "no host function launches a kernel";
  std::string reason = "no host function is named " + request.entry +
                       ", so that nothing is launched and nothing counts; ";
  if (!program.possibleEntries.empty())
    return reason + "name the one that is called with --entry: " +
           list(program.possibleEntries);
  return reason + "add one that launches the kernels" +
         (request.workloads.empty()
              ? ", or leave --entry out"
              : " (d2k-run new makes a skeleton), or name yours with --entry");
}

/// Templates of which no kernel was made, when there are no other kernels.
static std::string
explainNoKernel(const std::vector<cuda::KernelDefinition> &templates) {
  std::vector<std::string> names;
  for (const cuda::KernelDefinition &kernel : templates)
    names.push_back(kernel.demangled + " (line " +
                    std::to_string(kernel.where.line) + ")");
  return (templates.size() == 1 ? "the kernel template "
                                : "the kernel templates ") +
         list(names) + (templates.size() == 1 ? " is" : " are") +
         " never instantiated, so that nothing is compiled: launch " +
         (templates.size() == 1 ? "it" : "them") +
         ", or instantiate by `template __global__ void " +
         templates.front().demangled + "<...>(...);`";
}

/// Why the tier is not whole, or nothing.
static std::string findGap(const AnalyzeRequest &request,
                           const cuda::HostProgram &program,
                           const Analysis &analysis) {
  if (analysis.kernels.empty() && !program.unusedTemplates.empty())
    return explainNoKernel(program.unusedTemplates);
  if (program.traces.empty())
    return explainNoTrace(request, program);
  if (!program.complete)
    return "Clang does not understand everything that nvcc compiles; what it "
           "read of the host code counts";
  for (const cuda::HostTrace &trace : program.traces)
    if (!trace.complete)
      return trace.incompleteBecause.empty()
                 ? "the host code was not followed to its end"
                 : trace.incompleteBecause.front();
  if (!program.deviceComplete)
    return "Clang does not understand every device function that nvcc "
           "compiles; the host code was read whole";
  return "";
}

Result<cuda::HostRequest>
d2k::makeHostRequest(const AnalyzeRequest &request,
                     const std::vector<const Input *> &sources,
                     const std::string &arch) {
  Result<std::string> toolkit = findCudaToolkit();
  if (!toolkit)
    return forwardFailure(std::move(toolkit));
  cuda::HostRequest host;
  for (const Input *source : sources) {
    host.sources.push_back(source->path);
    host.sourceFlags.push_back(source->flags);
  }
  host.arch = arch;
  host.includeDirectories = request.includeDirectories;
  host.toolkit = *toolkit;
  host.headerFolder = request.headerFolder;
  host.entry = request.entry;
  host.workloads = request.workloads;
  return host;
}

Result<cuda::HostProgram>
d2k::readHostCode(const AnalyzeRequest &request,
                  const std::vector<const Input *> &sources,
                  const std::string &arch) {
  Result<cuda::HostRequest> host = makeHostRequest(request, sources, arch);
  if (!host)
    return forwardFailure(std::move(host));
  return cuda::readHost(*host);
}

void d2k::addSourceTier(const AnalyzeRequest &request,
                        const std::vector<const Input *> &sources,
                        Result<cuda::HostProgram> program, Analysis &analysis) {
  TierStatus &status = analysis.tiers[Tier::Source];
  status = {};
  if (!program) {
    status.state = program.error().kind == FailureKind::Environment
                       ? TierState::Unavailable
                       : TierState::Failed;
    status.reason = program.error().message;
    return;
  }
  status.tool = program->tool;
  status.seconds = program->seconds;
  status.diagnostics = program->diagnostics;
  // Without PTX and machine code, the kernels are those that the source
  // defines.
  if (analysis.kernels.empty())
    for (const cuda::KernelDefinition &kernel : program->kernels) {
      if (request.kernelFilter &&
          !request.kernelFilter(kernel.mangled, kernel.demangled))
        continue;
      KernelFacts facts;
      facts.name = kernel.mangled;
      facts.demangled = kernel.demangled;
      facts.readsUnknown = facts.writesUnknown = true;
      analysis.kernels.push_back(std::move(facts));
    }
  status.reason = findGap(request, *program, analysis);
  status.state = status.reason.empty() ? TierState::Ok : TierState::Partial;
  if (properties::needsDeviceSource(*program, analysis))
    if (Result<cuda::HostRequest> host =
            makeHostRequest(request, sources, analysis.target))
      if (Result<std::vector<cuda::MathSite>> sites =
              cuda::readDeviceMath(*host))
        llvm::append_range(program->mathSites, *sites);
  SourceCache texts;
  properties::analyzeHost(*program, analysis,
                          [&](llvm::StringRef file, int64_t line) {
                            return texts.getLine(file, line);
                          });
}
