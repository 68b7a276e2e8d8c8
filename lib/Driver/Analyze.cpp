// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline of d2k-analyze: inputs, compilation, each tier, and one list of
// kernels made of what the tiers say.

#include "d2k/Driver/Analyze.h"

#include "Inputs.h"
#include "SourceTier.h"
#include "TierReader.h"

#include "d2k/Driver/Compile.h"
#include "d2k/Fact/MergeTiers.h"
#include "d2k/Properties/Properties.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>
#include <set>

using namespace d2k;

namespace {
/// What one input, or the compiler, gives each tier.
struct Unit {
  struct Ptx {
    std::string name, text;
  };
  std::optional<Ptx> ptx;
  std::vector<sass::Image> images;
  /// An nvdisasm listing.
  const Input *disassembly = nullptr;
  KernelExtras extras;
  /// The cubin is what nvcc made of an input: that it cannot be read fails the
  /// tier and not the analysis.
  bool isCompiled = false;
};

class Pipeline {
public:
  Pipeline(const AnalyzeRequest &request, bool keepKern)
      : request(request), reader(request, keepKern) {}

  Result<AnalyzeOutcome> run();

private:
  Result<void> collectInputs();
  Result<Unit> makeUnit(const Input &input);
  Result<void> compile(const Input &input, Unit &unit);
  Result<void> addImages(const std::string &path, Unit &unit);
  Result<void> checkTarget(const std::string &name, const std::string &found);
  Result<void> addResult(const std::string &name, TierResult result,
                         std::vector<KernelFacts> &kernels);
  Result<void> readPtx(Unit &unit);
  Result<void> readSass(Unit &unit);
  void finishTier(Tier tier, bool wanted, bool found, const char *missing,
                  const std::vector<KernelFacts> &kernels);
  void nameSourcesAsGiven();

  const AnalyzeRequest &request;
  TierReader reader;
  std::vector<Input> inputs;
  AnalyzeOutcome outcome;
  std::vector<KernelFacts> ptxKernels, sassKernels;
  bool hasPtx = false, hasSass = false;
  double ptxSeconds = 0, sassSeconds = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Result<void> Pipeline::collectInputs() {
  for (const std::string &path : request.inputs) {
    if (isDirectory(path)) {
      Result<std::vector<Input>> found = readFolder(path);
      if (!found)
        return forwardFailure(std::move(found));
      for (Input &input : *found)
        inputs.push_back(std::move(input));
      continue;
    }
    Result<Input> input = readInput(path);
    if (!input)
      return forwardFailure(std::move(input));
    inputs.push_back(std::move(*input));
  }
  if (inputs.empty())
    return fail(FailureKind::Usage,
                "no input; name a .cu, .ptx or .cubin file, or a folder that "
                "holds some");
  bool oneSource = inputs.size() == 1 && inputs[0].kind == InputKind::Cuda;
  if ((request.withPtx || request.withCubin) && !oneSource)
    return fail(FailureKind::Usage,
                std::string(request.withPtx ? "--with-ptx" : "--with-cubin") +
                    " needs exactly one source as input");
  for (const Input &input : inputs)
    outcome.analysis.inputs.push_back({input.path, sha256Hex(input.bytes)});
  return {};
}

Result<void> Pipeline::compile(const Input &input, Unit &unit) {
  CompileRequest compile;
  compile.source = input.path;
  compile.arch = request.arch.value_or(request.defaultArch);
  compile.includeDirectories = request.includeDirectories;
  compile.flags = request.compilerFlags;
  Result<CompiledSource> compiled = compileCuda(compile);
  if (!compiled)
    return forwardFailure(std::move(compiled));
  TierStatus &status = outcome.analysis.tiers[Tier::Ptx];
  status.tool = compiled->tool;
  status.diagnostics.insert(status.diagnostics.end(),
                            compiled->diagnostics.begin(),
                            compiled->diagnostics.end());
  ptxSeconds += compiled->seconds;
  unit.ptx = {input.path + ".ptx", std::move(compiled->ptx)};
  std::optional<sass::Target> target = sass::parseTarget(compile.arch);
  unit.images.push_back({input.path + ".cubin", target.value_or(sass::Target()),
                         std::move(compiled->cubin)});
  unit.isCompiled = true;
  unit.extras.resources = std::move(compiled->resources);
  return {};
}

/// "sm_80, sm_90a"
static std::string listTargets(const std::vector<sass::Image> &images) {
  std::set<sass::Target> targets;
  for (const sass::Image &image : images)
    targets.insert(image.target);
  std::string text;
  for (const sass::Target &target : targets)
    text += (text.empty() ? "" : ", ") + target.getName();
  return text;
}

/// The images in file `path` for the one target that is analysed.
Result<void> Pipeline::addImages(const std::string &path, Unit &unit) {
  Result<std::vector<sass::Image>> images = sass::listImages(path);
  if (!images)
    return forwardFailure(std::move(images));
  std::string targets = listTargets(*images);
  if (request.arch && images->size() > 1)
    std::erase_if(*images, [&](const sass::Image &image) {
      return image.target.getName() != *request.arch;
    });
  if (images->empty())
    return fail(FailureKind::Usage, path + ": has no machine code for the " +
                                        "--arch " + *request.arch +
                                        "; it has " + targets);
  if (listTargets(*images).find(',') != std::string::npos)
    return fail(FailureKind::Usage, path + ": has machine code for " + targets +
                                        "; choose one with --arch");
  for (sass::Image &image : *images)
    unit.images.push_back(std::move(image));
  return {};
}

Result<Unit> Pipeline::makeUnit(const Input &input) {
  Unit unit;
  switch (input.kind) {
  case InputKind::Ptx:
    unit.ptx = {input.path, input.bytes};
    return unit;
  case InputKind::Disassembly:
    unit.disassembly = &input;
    return unit;
  case InputKind::MachineCode:
    unit.extras.launches = input.launches;
    if (Result<void> added = addImages(input.path, unit); !added)
      return forwardFailure(std::move(added));
    return unit;
  case InputKind::Cuda:
    break;
  }
  if (request.withPtx || request.withCubin) {
    if (request.withPtx) {
      Result<std::string> text = readFile(*request.withPtx);
      if (!text)
        return forwardFailure(std::move(text));
      unit.ptx = {*request.withPtx, std::move(*text)};
    }
    if (request.withCubin)
      if (Result<void> added = addImages(*request.withCubin, unit); !added)
        return forwardFailure(std::move(added));
    return unit;
  }
  if (request.compiler == PtxCompiler::None)
    return fail(FailureKind::Usage,
                input.path + ": is source, and --compiler none forbids to "
                             "compile it; add --with-ptx FILE");
  if (Result<void> compiled = compile(input, unit); !compiled)
    return forwardFailure(std::move(compiled));
  return unit;
}

//===----------------------------------------------------------------------===//
// Tiers
//===----------------------------------------------------------------------===//

namespace {
/// Adds the time until its end to a sum.
class Timer {
public:
  explicit Timer(double &seconds) : seconds(seconds) {}
  ~Timer() {
    seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  }

private:
  double &seconds;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};
} // namespace

/// Fails when `found`, the target of `name`, is not the one that was asked for
/// or that of the inputs before it.
Result<void> Pipeline::checkTarget(const std::string &name,
                                   const std::string &found) {
  if (request.arch && found != *request.arch)
    return fail(FailureKind::Usage,
                name + ": was made for " + found + ", not for the --arch " +
                    *request.arch + "; compile it again or leave --arch out");
  std::string &target = outcome.analysis.target;
  if (target.empty())
    target = found;
  if (target != found)
    return fail(FailureKind::Usage, name + ": was made for " + found +
                                        ", the other inputs for " + target +
                                        "; analyse them one by one");
  return {};
}

/// Adds what ptxas said when it compiled.
static void addResources(const Unit &unit, std::vector<KernelFacts> &kernels) {
  for (KernelFacts &kernel : kernels) {
    auto found = unit.extras.resources.find(kernel.name);
    if (found == unit.extras.resources.end())
      continue;
    if (found->second.registers)
      kernel.registers = found->second.registers;
    if (found->second.spillBytes)
      kernel.spillBytes = found->second.spillBytes;
    if (found->second.sharedBytes)
      kernel.sharedBytes = found->second.sharedBytes;
  }
}

/// Takes over what a tier said about one input.
Result<void> Pipeline::addResult(const std::string &name, TierResult result,
                                 std::vector<KernelFacts> &kernels) {
  if (Result<void> checked = checkTarget(name, result.target); !checked)
    return checked;
  llvm::move(result.remarks, std::back_inserter(outcome.remarks));
  llvm::move(result.kernels, std::back_inserter(kernels));
  return {};
}

Result<void> Pipeline::readPtx(Unit &unit) {
  Timer timer(ptxSeconds);
  hasPtx = true;
  Result<TierResult> result =
      reader.readPtx(unit.ptx->name, std::move(unit.ptx->text));
  if (!result)
    return forwardFailure(std::move(result));
  addResources(unit, result->kernels);
  return addResult(unit.ptx->name, std::move(*result), ptxKernels);
}

Result<void> Pipeline::readSass(Unit &unit) {
  Timer timer(sassSeconds);
  TierStatus &status = outcome.analysis.tiers[Tier::Sass];
  auto take = [&](const std::string &name,
                  Result<TierResult> result) -> Result<void> {
    if (!result) {
      if (!unit.isCompiled)
        return forwardFailure(std::move(result));
      status.state = result.error().kind == FailureKind::Environment
                         ? TierState::Unavailable
                         : TierState::Failed;
      status.reason = result.error().message;
      return {};
    }
    hasSass = true;
    status.tool = result->tool;
    addResources(unit, result->kernels);
    return addResult(name, std::move(*result), sassKernels);
  };
  if (unit.disassembly)
    return take(unit.disassembly->path,
                reader.readDisassembly(*unit.disassembly));
  for (const sass::Image &image : unit.images)
    if (Result<void> taken =
            take(image.name, reader.readCode(image, unit.extras));
        !taken)
      return taken;
  return {};
}

/// Sets the state of a tier that nothing has set yet.
void Pipeline::finishTier(Tier tier, bool wanted, bool found,
                          const char *missing,
                          const std::vector<KernelFacts> &kernels) {
  TierStatus &status = outcome.analysis.tiers[tier];
  if (!status.reason.empty())
    return;
  if (!wanted || !found) {
    status.state = TierState::Unavailable;
    status.reason = wanted ? missing : "not asked for (--tiers)";
    return;
  }
  status.state = TierState::Ok;
  for (const KernelFacts &kernel : kernels)
    if (!kernel.completeTiers.contains(tier)) {
      status.state = TierState::Partial;
      status.reason = "kernel " + kernel.demangled +
                      " holds operations whose effects are not known";
      return;
    }
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

void Pipeline::nameSourcesAsGiven() {
  // nvcc records absolute paths; a report shows an input as the user wrote it.
  std::map<std::string, std::string> given;
  for (const Input &input : inputs) {
    llvm::SmallString<256> real;
    if (!llvm::sys::fs::real_path(input.path, real))
      given[real.str().str()] = input.path;
    llvm::SmallString<256> absolute(input.path);
    if (!llvm::sys::fs::make_absolute(absolute))
      given[absolute.str().str()] = input.path;
  }
  auto rename = [&](std::vector<SourceLocation> &places) {
    for (SourceLocation &place : places)
      if (auto found = given.find(place.file); found != given.end())
        place.file = found->second;
  };
  auto renameAll = [&](FactSet &set) {
    for (Fact &fact : set.facts)
      rename(fact.where);
    for (NearMiss &miss : set.nearMisses)
      rename(miss.where);
    for (Undecided &entry : set.undecided)
      rename(entry.where);
  };
  renameAll(outcome.analysis.host);
  for (KernelFacts &kernel : outcome.analysis.kernels) {
    renameAll(kernel);
    for (KernelLoop &loop : kernel.loops)
      if (auto found = given.find(loop.where.file); found != given.end())
        loop.where.file = found->second;
  }
}

Result<AnalyzeOutcome> Pipeline::run() {
  Analysis &analysis = outcome.analysis;
  analysis.tiers[Tier::Source].reason = "not asked for (--tiers)";
  if (Result<void> collected = collectInputs(); !collected)
    return forwardFailure(std::move(collected));
  if (request.readPtx || request.readSass)
    for (const Input &input : inputs) {
      Result<Unit> unit = makeUnit(input);
      if (!unit)
        return forwardFailure(std::move(unit));
      if (request.readPtx && unit->ptx)
        if (Result<void> read = readPtx(*unit); !read)
          return forwardFailure(std::move(read));
      if (request.readSass)
        if (Result<void> read = readSass(*unit); !read)
          return forwardFailure(std::move(read));
    }

  finishTier(Tier::Ptx, request.readPtx, hasPtx, "no PTX among the inputs",
             ptxKernels);
  finishTier(Tier::Sass, request.readSass, hasSass,
             "no machine code among the inputs", sassKernels);
  analysis.tiers[Tier::Ptx].seconds = ptxSeconds;
  TierStatus &sass = analysis.tiers[Tier::Sass];
  sass.seconds = sassSeconds;
  sass.toolSeconds = reader.getDisassemblySeconds();
  if (analysis.target.empty())
    analysis.target = request.arch.value_or(request.defaultArch);
  analysis.kernels = mergeKernels(std::move(ptxKernels), std::move(sassKernels),
                                  properties::getCatalog());
  outcome.kern = reader.takeKern();
  if (request.readSource) {
    std::vector<std::string> files;
    for (const Input &input : inputs)
      if (input.kind == InputKind::Cuda)
        files.push_back(input.path);
    readSourceTier(request, files, analysis, reader.getSources());
  }
  nameSourcesAsGiven();
  analysis.normalize();
  return std::move(outcome);
}

Result<AnalyzeOutcome> d2k::analyze(const AnalyzeRequest &request,
                                    bool keepKern) {
  return Pipeline(request, keepKern).run();
}
