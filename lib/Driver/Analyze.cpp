// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline of d2k-analyze: inputs, compilation, each tier, and one list of
// kernels made of what the tiers say.

#include "d2k/Driver/Analyze.h"

#include "AnalysisCache.h"
#include "CompileCommands.h"
#include "Inputs.h"
#include "SourceTier.h"
#include "Tasks.h"
#include "TierReader.h"

#include "d2k/Driver/Compile.h"
#include "d2k/Fact/MergeTiers.h"
#include "d2k/Frontend/CUDA/ClangCompiler.h"
#include "d2k/Frontend/SASS/PreparedDisassembler.h"
#include "d2k/Properties/Properties.h"
#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
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
  /// Who made the PTX.
  Tier ptxTier = Tier::Ptx;
};

/// What a tier said about a part of an input.
struct Reading {
  std::string name;
  Result<TierResult> result;
};

/// Everything that is known about one input. Inputs are read at the same time
/// and taken over in their order.
struct UnitOutcome {
  /// Why it could not be compiled or opened.
  Result<void> opened;
  std::string compiler;
  std::vector<std::string> diagnostics;
  std::vector<std::string> files;
  /// What was read, and who has read it: its code is looked at again when the
  /// launches are known.
  std::unique_ptr<Unit> unit;
  std::unique_ptr<TierReader> ptxReader, sassReader;
  Tier ptxTier = Tier::Ptx;
  std::optional<Reading> ptx;
  std::vector<Reading> sass;
  double ptxSeconds = 0, sassSeconds = 0, disassemblySeconds = 0;
  std::vector<std::string> kern;
};

class Pipeline {
public:
  Pipeline(const AnalyzeRequest &request, bool keepKern)
      : request(request), keepKern(keepKern), jobs(getJobCount(request.jobs)) {}

  Result<AnalyzeOutcome> run();

private:
  Result<void> collectInputs();
  Result<void> collectFlags();
  Result<Unit> makeUnit(const Input &input, UnitOutcome &outcome);
  Result<void> compile(const Input &input, Unit &unit, UnitOutcome &outcome);
  Result<void> compileByClang(const Input &input, Unit &unit,
                              UnitOutcome &outcome);
  Result<void> addImages(const std::string &path, Unit &unit);
  Result<void> checkTarget(const std::string &name, const std::string &found);
  Result<void> addResult(const std::string &name, TierResult result,
                         std::vector<KernelFacts> &kernels);
  UnitOutcome readUnit(const Input &input);
  void readHost(const std::string &arch);
  void readPtx(Unit &unit, UnitOutcome &outcome);
  void readSass(Unit &unit, UnitOutcome &outcome);
  Result<void> specialize(std::vector<UnitOutcome> &units);
  Result<void> takeUnit(UnitOutcome &unit);
  void finishTier(Tier tier, bool wanted, bool found, const char *missing,
                  const std::vector<KernelFacts> &kernels);
  void finishClangTier();
  void nameSourcesAsGiven();
  Result<void> failWithoutMatch();

  const AnalyzeRequest &request;
  bool keepKern;
  unsigned jobs;
  /// Clang compiles: it was asked for, or there is no nvcc.
  bool usesClang = false;
  std::vector<Input> inputs;
  std::vector<const Input *> sources;
  /// The host code is read once, by whoever needs it first.
  bool readsHost = false;
  std::once_flag hostIsRead;
  std::optional<Result<cuda::HostProgram>> host;
  AnalyzeOutcome outcome;
  /// Everything that compilers read.
  std::vector<std::string> files;
  std::vector<KernelFacts> ptxKernels, sassKernels;
  bool hasPtx = false, hasSass = false;
  double ptxSeconds = 0, sassSeconds = 0, disassemblySeconds = 0;
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
      if (Result<void> picked = pickTarget(path, request.arch, *found); !picked)
        return picked;
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
  return collectFlags();
}

/// Finds the flags of each source.
Result<void> Pipeline::collectFlags() {
  std::optional<CompileCommands> commands;
  if (request.compileCommands) {
    Result<CompileCommands> loaded =
        CompileCommands::load(*request.compileCommands);
    if (!loaded)
      return forwardFailure(std::move(loaded));
    commands = std::move(*loaded);
  }
  Result<std::vector<std::string>> own =
      expandOptionFiles(request.compilerFlags, ".");
  if (!own)
    return forwardFailure(std::move(own));
  for (Input &input : inputs) {
    if (input.kind != InputKind::Cuda)
      continue;
    if (commands) {
      Result<std::vector<std::string>> found = commands->getFlags(input.path);
      if (!found)
        return forwardFailure(std::move(found));
      input.flags = std::move(*found);
    }
    llvm::append_range(input.flags, *own);
  }
  return {};
}

Result<void> Pipeline::compile(const Input &input, Unit &unit,
                               UnitOutcome &outcome) {
  CompileRequest compile;
  compile.source = input.path;
  compile.arch = request.arch.value_or(request.defaultArch);
  compile.includeDirectories = request.includeDirectories;
  compile.flags = input.flags;
  std::optional<sass::Target> target = sass::parseTarget(compile.arch);
  // nvdisasm makes its tables while the compiler runs. With several inputs
  // every processor has enough to do.
  if (request.readSass && target && jobs > 1 && inputs.size() == 1)
    unit.extras.disassembler = sass::PreparedDisassembler::start(*target);
  Result<CompiledSource> compiled = compileCuda(compile);
  if (!compiled)
    return forwardFailure(std::move(compiled));
  outcome.compiler = std::move(compiled->tool);
  outcome.diagnostics = std::move(compiled->diagnostics);
  outcome.files = std::move(compiled->files);
  outcome.ptxSeconds += compiled->seconds;
  unit.ptx = {input.path + ".ptx", std::move(compiled->ptx)};
  unit.images.push_back({input.path + ".cubin", target.value_or(sass::Target()),
                         std::move(compiled->cubin)});
  unit.isCompiled = true;
  unit.extras.resources = std::move(compiled->resources);
  return {};
}

Result<void> Pipeline::compileByClang(const Input &input, Unit &unit,
                                      UnitOutcome &outcome) {
  outcome.ptxTier = unit.ptxTier = Tier::PtxClang;
  Result<cuda::HostRequest> host = makeHostRequest(
      request, {&input}, request.arch.value_or(request.defaultArch));
  if (!host)
    return forwardFailure(std::move(host));
  Result<cuda::ClangPtx> compiled = cuda::compileWithClang(*host, 0);
  if (!compiled)
    return forwardFailure(std::move(compiled));
  outcome.compiler = std::move(compiled->tool);
  outcome.diagnostics = std::move(compiled->diagnostics);
  outcome.files = std::move(compiled->files);
  outcome.ptxSeconds += compiled->seconds;
  if (!compiled->ptx.empty())
    unit.ptx = {input.path + ".ptx", std::move(compiled->ptx)};
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

Result<Unit> Pipeline::makeUnit(const Input &input, UnitOutcome &outcome) {
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
  Result<void> compiled = usesClang ? compileByClang(input, unit, outcome)
                                    : compile(input, unit, outcome);
  if (!compiled)
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

void Pipeline::readPtx(Unit &unit, UnitOutcome &outcome) {
  Timer timer(outcome.ptxSeconds);
  outcome.ptxReader = std::make_unique<TierReader>(request, keepKern);
  TierReader &reader = *outcome.ptxReader;
  outcome.ptx = {
      unit.ptx->name,
      reader.readPtx(unit.ptx->name, std::move(unit.ptx->text), unit.ptxTier)};
  outcome.kern = reader.takeKern();
}

void Pipeline::readHost(const std::string &arch) {
  std::call_once(hostIsRead,
                 [&] { host = readHostCode(request, sources, arch); });
}

void Pipeline::readSass(Unit &unit, UnitOutcome &outcome) {
  // Machine code is compared with the loops of the source.
  if (readsHost && !unit.images.empty()) {
    readHost(request.arch      ? *request.arch
             : unit.isCompiled ? request.defaultArch
                               : unit.images.front().target.getName());
    if (*host)
      unit.extras.loops = (*host)->loops;
  }
  Timer timer(outcome.sassSeconds);
  outcome.sassReader = std::make_unique<TierReader>(request, keepKern);
  TierReader &reader = *outcome.sassReader;
  if (unit.disassembly)
    outcome.sass.push_back(
        {unit.disassembly->path, reader.readDisassembly(*unit.disassembly)});
  else
    for (const sass::Image &image : unit.images)
      outcome.sass.push_back({image.name, reader.readCode(image, unit.extras)});
  outcome.disassemblySeconds = reader.getDisassemblySeconds();
  if (keepKern)
    llvm::move(reader.takeKern(), std::back_inserter(outcome.kern));
}

/// Compiles `input` where that is needed and reads its tiers.
UnitOutcome Pipeline::readUnit(const Input &input) {
  UnitOutcome outcome;
  Result<Unit> made = makeUnit(input, outcome);
  if (!made) {
    outcome.opened = forwardFailure(std::move(made));
    return outcome;
  }
  outcome.unit = std::make_unique<Unit>(std::move(*made));
  Unit &unit = *outcome.unit;
  std::vector<std::function<void()>> tasks;
  if (request.readPtx && unit.ptx)
    tasks.push_back([&] { readPtx(unit, outcome); });
  if (request.readSass)
    tasks.push_back([&] { readSass(unit, outcome); });
  // The IR is in the order of the tiers; with several inputs every processor
  // has enough to do.
  runTasks(keepKern || inputs.size() > 1 ? 1 : jobs, tasks);
  return outcome;
}

/// Adds what ptxas said when it compiled.
static void addResources(const KernelExtras &extras,
                         std::vector<KernelFacts> &kernels) {
  for (KernelFacts &kernel : kernels) {
    auto found = extras.resources.find(kernel.name);
    if (found == extras.resources.end())
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

/// Adds to what the code of kernels says what their launches make of it.
Result<void> Pipeline::specialize(std::vector<UnitOutcome> &units) {
  auto visit = [&](auto visitTier) -> Result<void> {
    for (UnitOutcome &unit : units) {
      if (unit.ptx && unit.ptx->result)
        if (Result<void> done =
                visitTier(*unit.ptx, *unit.ptxReader, unit.ptxSeconds);
            !done)
          return done;
      for (Reading &reading : unit.sass)
        if (reading.result)
          if (Result<void> done =
                  visitTier(reading, *unit.sassReader, unit.sassSeconds);
              !done)
            return done;
    }
    return {};
  };
  // What PTX says of the use of parameters comes first: machine code says
  // less.
  Analysis known;
  known.inputs = outcome.analysis.inputs;
  std::set<std::string> names;
  for (bool isPtx : {true, false})
    for (const UnitOutcome &unit : units) {
      auto add = [&](const Reading &reading) {
        if (!reading.result)
          return;
        known.target = reading.result->target;
        for (const KernelFacts &kernel : reading.result->kernels)
          if (isPtx || !names.contains(kernel.name))
            known.kernels.push_back(kernel);
      };
      if (isPtx && unit.ptx)
        add(*unit.ptx);
      else if (!isPtx)
        llvm::for_each(unit.sass, add);
      for (const KernelFacts &kernel : known.kernels)
        names.insert(kernel.name);
    }
  if (known.kernels.empty())
    return {};
  readHost(known.target);
  if (!*host)
    return {};
  properties::LaunchMap launches =
      properties::findLaunches((*host).value(), known);
  return visit([&](Reading &reading, TierReader &reader, double &seconds) {
    Timer timer(seconds);
    return reader.specialize(reading.name, launches, reading.result->kernels);
  });
}

Result<void> Pipeline::takeUnit(UnitOutcome &unit) {
  if (!unit.opened)
    return std::move(unit.opened);
  TierStatus &ptx = outcome.analysis.tiers[unit.ptxTier];
  if (!unit.compiler.empty())
    ptx.tool = unit.compiler;
  llvm::move(unit.diagnostics, std::back_inserter(ptx.diagnostics));
  llvm::append_range(files, unit.files);
  ptxSeconds += unit.ptxSeconds;
  sassSeconds += unit.sassSeconds;
  disassemblySeconds += unit.disassemblySeconds;
  llvm::move(unit.kern, std::back_inserter(outcome.kern));
  if (unit.ptx) {
    hasPtx = true;
    Result<TierResult> &result = unit.ptx->result;
    if (!result)
      return forwardFailure(std::move(result));
    addResources(unit.unit->extras, result->kernels);
    if (Result<void> added =
            addResult(unit.ptx->name, std::move(*result), ptxKernels);
        !added)
      return added;
  }
  TierStatus &sass = outcome.analysis.tiers[Tier::Sass];
  for (Reading &reading : unit.sass) {
    Result<TierResult> &result = reading.result;
    if (!result) {
      if (!unit.unit->isCompiled)
        return forwardFailure(std::move(result));
      sass.state = result.error().kind == FailureKind::Environment
                       ? TierState::Unavailable
                       : TierState::Failed;
      sass.reason = result.error().message;
      continue;
    }
    hasSass = true;
    sass.tool = result->tool;
    addResources(unit.unit->extras, result->kernels);
    if (Result<void> added =
            addResult(reading.name, std::move(*result), sassKernels);
        !added)
      return added;
  }
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

/// Says what Clang's code is worth.
void Pipeline::finishClangTier() {
  TierStatus &status = outcome.analysis.tiers[Tier::PtxClang];
  if (!request.readPtx) {
    status.reason = "not asked for (--tiers)";
    return;
  }
  if (!hasPtx) {
    status.state = TierState::Failed;
    status.reason = "Clang does not compile this source; only nvcc can say "
                    "whether it is at fault";
    return;
  }
  finishTier(Tier::PtxClang, /*wanted=*/true, /*found=*/true, "", ptxKernels);
  if (status.state != TierState::Ok)
    return;
  status.reason =
      "this is Clang's code, not nvcc's: it may unroll, vectorize, spill and "
      "schedule in another way, macros of nvcc are missing, and registers, "
      "spills, occupancy and machine code are not known";
  if (!status.diagnostics.empty())
    status.state = TierState::Partial;
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

/// Whether there is an nvcc, or the user named one, which then has to work.
static bool hasNvcc() {
  return std::getenv(getCudaToolVariable(CudaTool::Nvcc).c_str()) ||
         findCudaTool(CudaTool::Nvcc);
}

/// Says which kernels there are that --kernel does not match, if there are any.
Result<void> Pipeline::failWithoutMatch() {
  AnalyzeRequest everything = request;
  everything.kernelFilter = nullptr;
  everything.kernelPattern.clear();
  Result<AnalyzeOutcome> all = Pipeline(everything, keepKern).run();
  if (!all)
    return forwardFailure(std::move(all));
  std::string names;
  for (const KernelFacts &kernel : all->analysis.kernels)
    names += (names.empty() ? "" : "; ") + kernel.demangled;
  if (names.empty())
    return {};
  return fail(FailureKind::Usage,
              "--kernel: '" + request.kernelPattern +
                  "' matches no kernel; there are: " + names);
}

Result<AnalyzeOutcome> Pipeline::run() {
  Analysis &analysis = outcome.analysis;
  analysis.tiers[Tier::Source].reason = "not asked for (--tiers)";
  if (Result<void> collected = collectInputs(); !collected)
    return forwardFailure(std::move(collected));
  std::optional<AnalysisCache> cache;
  // The IR is not kept.
  if (!keepKern)
    cache.emplace(request, inputs);
  if (cache)
    if (std::optional<AnalyzeOutcome> found = cache->find())
      return std::move(*found);

  usesClang = !request.withPtx && !request.withCubin &&
              (request.compiler == PtxCompiler::Clang ||
               (request.compiler == PtxCompiler::Auto && !hasNvcc()));
  for (const Input &input : inputs)
    if (input.kind == InputKind::Cuda)
      sources.push_back(&input);
  usesClang &= !sources.empty();
  readsHost = request.readSource && !sources.empty();
  // PTX and machine code that are handed in know the target better.
  bool knowsTarget = request.arch || !(request.withPtx || request.withCubin);

  std::vector<UnitOutcome> units(inputs.size());
  std::vector<std::function<void()>> tasks;
  if (request.readPtx || request.readSass)
    for (size_t i = 0; i < inputs.size(); ++i)
      tasks.push_back([&, i] { units[i] = readUnit(inputs[i]); });
  // After the first compiler has been started.
  if (readsHost && knowsTarget)
    tasks.insert(tasks.begin() + (tasks.empty() ? 0 : 1),
                 [&] { readHost(request.arch.value_or(request.defaultArch)); });
  runTasks(jobs, tasks);
  if (readsHost)
    if (Result<void> done = specialize(units); !done)
      return forwardFailure(std::move(done));
  for (UnitOutcome &unit : units)
    if (Result<void> taken = takeUnit(unit); !taken)
      return forwardFailure(std::move(taken));

  if (usesClang)
    finishClangTier();
  finishTier(Tier::Ptx, request.readPtx, hasPtx && !usesClang,
             usesClang ? "Clang made the PTX, see ptx:clang"
                       : "no PTX among the inputs",
             ptxKernels);
  finishTier(Tier::Sass, request.readSass, hasSass,
             usesClang ? "machine code is made of nvcc's PTX only"
                       : "no machine code among the inputs",
             sassKernels);
  analysis.tiers[usesClang ? Tier::PtxClang : Tier::Ptx].seconds = ptxSeconds;
  TierStatus &sass = analysis.tiers[Tier::Sass];
  sass.seconds = sassSeconds;
  sass.toolSeconds = disassemblySeconds;
  if (analysis.target.empty())
    analysis.target = request.arch.value_or(request.defaultArch);
  analysis.kernels = mergeKernels(std::move(ptxKernels), std::move(sassKernels),
                                  properties::getCatalog());
  if (readsHost && !host)
    readHost(analysis.target);
  if (host) {
    if (*host)
      llvm::append_range(files, (*host)->files);
    addSourceTier(request, sources, std::move(*host), analysis);
  } else if (request.readSource) {
    analysis.tiers[Tier::Source].reason = "no CUDA source among the inputs";
  }
  nameSourcesAsGiven();
  analysis.normalize();
  if (request.kernelFilter && analysis.kernels.empty())
    if (Result<void> matched = failWithoutMatch(); !matched)
      return forwardFailure(std::move(matched));
  if (cache) {
    if (Result<void> added = cache->add(outcome, files); !added)
      return forwardFailure(std::move(added));
  }
  return std::move(outcome);
}

Result<AnalyzeOutcome> d2k::analyze(const AnalyzeRequest &request,
                                    bool keepKern) {
  return Pipeline(request, keepKern).run();
}
