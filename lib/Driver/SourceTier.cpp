// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SourceTier.h"

#include "d2k/Properties/HostProperties.h"
#include "d2k/Support/CudaTools.h"

using namespace d2k;

/// Why the tier is not whole, or nothing.
static std::string findGap(const AnalyzeRequest &request,
                           const cuda::HostProgram &program) {
  if (program.traces.empty())
    return request.entry.empty() ? "no host function launches a kernel"
                                 : "no host function is named " + request.entry;
  if (!program.complete)
    return "Clang does not understand everything that nvcc compiles; what it "
           "read of the host code counts";
  for (const cuda::HostTrace &trace : program.traces)
    if (!trace.complete)
      return trace.incompleteBecause.empty()
                 ? "the host code was not followed to its end"
                 : trace.incompleteBecause.front();
  return "";
}

void d2k::readSourceTier(const AnalyzeRequest &request,
                         const std::vector<std::string> &files,
                         Analysis &analysis, SourceCache &sources) {
  TierStatus &status = analysis.tiers[Tier::Source];
  status = {};
  if (files.empty()) {
    status.reason = "no CUDA source among the inputs";
    return;
  }
  Result<std::string> toolkit = findCudaToolkit();
  if (!toolkit) {
    status.reason = toolkit.error().message;
    return;
  }
  cuda::HostRequest host;
  host.sources = files;
  host.arch = analysis.target;
  host.includeDirectories = request.includeDirectories;
  host.flags = request.compilerFlags;
  host.toolkit = *toolkit;
  host.entry = request.entry;
  host.workloads = request.workloads;
  Result<cuda::HostProgram> program = cuda::readHost(host);
  if (!program) {
    status.state = TierState::Failed;
    status.reason = program.error().message;
    return;
  }
  status.tool = program->tool;
  status.seconds = program->seconds;
  status.diagnostics = program->diagnostics;
  status.reason = findGap(request, *program);
  status.state = status.reason.empty() ? TierState::Ok : TierState::Partial;
  // Without PTX and machine code, the kernels are those that the source
  // defines.
  if (analysis.kernels.empty())
    for (const cuda::KernelDefinition &kernel : program->kernels) {
      KernelFacts facts;
      facts.name = kernel.mangled;
      facts.demangled = kernel.demangled;
      facts.readsUnknown = facts.writesUnknown = true;
      analysis.kernels.push_back(std::move(facts));
    }
  properties::analyzeHost(*program, analysis,
                          [&](llvm::StringRef file, int64_t line) {
                            return sources.getLine(file, line);
                          });
}
