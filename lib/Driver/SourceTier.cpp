// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SourceTier.h"

#include "Sources.h"

#include "d2k/Properties/HostProperties.h"
#include "d2k/Support/CudaTools.h"

#include "llvm/ADT/STLExtras.h"

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
