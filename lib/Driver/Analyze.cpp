// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline of d2k-analyze: inputs, compilation, PTX to kern, detectors.

#include "d2k/Driver/Analyze.h"

#include "Sources.h"

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Dialect/Kern/Transforms/Passes.h"
#include "d2k/Driver/Compile.h"
#include "d2k/Frontend/PTX/Parser.h"
#include "d2k/Frontend/PTXToKern/Lift.h"
#include "d2k/Properties/Properties.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace d2k;

namespace {
enum class InputKind { Cuda, Ptx };

struct Input {
  std::string path;
  InputKind kind;
  std::string text;
};

/// PTX of one input, with what is known about it.
struct PtxUnit {
  /// Name that locations in the PTX itself carry.
  std::string name;
  std::string text;
  std::map<std::string, KernelResources> resources;
};

/// At most this many front-end errors of one input are repeated to the user.
constexpr unsigned kMaxReportedErrors = 10;

class Pipeline {
public:
  Pipeline(const AnalyzeRequest &request, bool keepKern)
      : request(request), keepKern(keepKern) {}

  Result<AnalyzeOutcome> run();

private:
  Result<void> collectInputs();
  Result<void> collectFolder(const std::string &path);
  Result<void> addInput(const std::string &path);
  Result<PtxUnit> makePtx(const Input &input);
  Result<void> analyzePtx(PtxUnit unit);
  Result<void> checkTarget(llvm::StringRef name, llvm::StringRef target);
  void nameSourcesAsGiven();

  const AnalyzeRequest &request;
  bool keepKern;
  std::vector<Input> inputs;
  AnalyzeOutcome outcome;
  SourceCache sources;
  double ptxSeconds = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// What the file holds, by its name and, failing that, by its first bytes.
static Result<InputKind> classify(const std::string &path,
                                  llvm::StringRef text) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (text.starts_with("\x7f"
                       "ELF") ||
      extension == ".cubin" || extension == ".fatbin" || extension == ".o" ||
      extension == ".so")
    return fail(FailureKind::Input,
                path + ": is machine code, which this version does not read; "
                       "give it the CUDA source or the PTX (cuobjdump -ptx)");
  if (text.trim().empty())
    return fail(FailureKind::Input, path + ": is empty");
  if (extension == ".ptx")
    return InputKind::Ptx;
  if (extension == ".cu" || extension == ".cuh" || extension == ".cpp" ||
      extension == ".cc" || extension == ".cxx")
    return InputKind::Cuda;
  if (text.take_front(4096).contains(".version"))
    return InputKind::Ptx;
  return fail(FailureKind::Input,
              path + ": is neither CUDA source (.cu) nor PTX (.ptx)");
}

Result<void> Pipeline::addInput(const std::string &path) {
  Result<std::string> text = readFile(path);
  if (!text)
    return forwardFailure(std::move(text));
  Result<InputKind> kind = classify(path, *text);
  if (!kind)
    return forwardFailure(std::move(kind));
  outcome.analysis.inputs.push_back({path, sha256Hex(*text)});
  inputs.push_back({path, *kind, std::move(*text)});
  return {};
}

Result<void> Pipeline::collectFolder(const std::string &path) {
  Result<std::vector<std::string>> names = listDirectory(path);
  if (!names)
    return forwardFailure(std::move(names));
  // A submission is its sources; PTX beside them is compiler output.
  for (const char *extension : {".cu", ".ptx"}) {
    bool found = false;
    for (const std::string &name : *names) {
      std::string file = joinPath(path, name);
      if (llvm::sys::path::extension(name) != extension || isDirectory(file))
        continue;
      if (Result<void> added = addInput(file); !added)
        return added;
      found = true;
    }
    if (found)
      return {};
  }
  return fail(FailureKind::Input, path + ": holds no .cu and no .ptx file");
}

Result<void> Pipeline::collectInputs() {
  for (const std::string &path : request.inputs) {
    Result<void> added =
        isDirectory(path) ? collectFolder(path) : addInput(path);
    if (!added)
      return added;
  }
  if (inputs.empty())
    return fail(FailureKind::Usage, "no input; name a .cu or .ptx file, or a "
                                    "folder that holds them");
  bool oneSource = inputs.size() == 1 && inputs[0].kind == InputKind::Cuda;
  if (request.withPtx && !oneSource)
    return fail(FailureKind::Usage,
                "--with-ptx needs exactly one source as input");
  return {};
}

Result<PtxUnit> Pipeline::makePtx(const Input &input) {
  PtxUnit unit;
  if (input.kind == InputKind::Ptx) {
    unit.name = input.path;
    unit.text = input.text;
    return unit;
  }
  if (request.withPtx) {
    Result<std::string> text = readFile(*request.withPtx);
    if (!text)
      return forwardFailure(std::move(text));
    unit.name = *request.withPtx;
    unit.text = std::move(*text);
    return unit;
  }
  if (request.compiler == PtxCompiler::None)
    return fail(FailureKind::Usage,
                input.path + ": is source, and --compiler none forbids to "
                             "compile it; add --with-ptx FILE");
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
  unit.name = input.path + ".ptx";
  unit.text = std::move(compiled->ptx);
  unit.resources = std::move(compiled->resources);
  return unit;
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// The message with its place and caret, as the front end prints it.
static std::string render(const llvm::SMDiagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  diagnostic.print(nullptr, stream, /*ShowColors=*/false);
  return text;
}

Result<void> Pipeline::checkTarget(llvm::StringRef name,
                                   llvm::StringRef target) {
  if (request.arch && target != *request.arch)
    return fail(FailureKind::Usage,
                name.str() + ": was made for " + target.str() +
                    ", not for the --arch " + *request.arch +
                    "; compile it again or leave --arch out");
  std::string &known = outcome.analysis.target;
  if (known.empty())
    known = target.str();
  if (known != target)
    return fail(FailureKind::Usage, name.str() + ": was made for " +
                                        target.str() +
                                        ", the other inputs for " + known +
                                        "; analyse them one by one");
  return {};
}

Result<void> Pipeline::analyzePtx(PtxUnit unit) {
  auto buffer = llvm::MemoryBuffer::getMemBuffer(
      unit.text, unit.name, /*RequiresNullTerminator=*/true);
  std::string errors;
  unsigned numReported = 0;
  ptx::ParseOutcome parsed = ptx::parse(
      buffer->getMemBufferRef(), [&](const llvm::SMDiagnostic &diagnostic) {
        if (diagnostic.getKind() != llvm::SourceMgr::DK_Error)
          outcome.remarks.push_back(render(diagnostic));
        else if (numReported++ < kMaxReportedErrors)
          errors += "\n" + render(diagnostic);
      });
  if (!parsed.succeeded()) {
    if (parsed.numErrors > kMaxReportedErrors)
      errors += "\nand " +
                std::to_string(parsed.numErrors - kMaxReportedErrors) + " more";
    return fail(FailureKind::Input, unit.name + ": is not valid PTX (" +
                                        std::to_string(parsed.numErrors) +
                                        " errors):" + errors);
  }

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kern::KernDialect>();
  std::string failures;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        std::string text;
        llvm::raw_string_ostream(text)
            << diagnostic.getLocation() << ": " << diagnostic;
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          failures += "\n" + text;
        else
          outcome.remarks.push_back(text);
        return mlir::success();
      });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      liftToKern(*parsed.module, buffer->getMemBufferRef(), context);
  // Ill-typed PTX, which ptxas would refuse, lifts to IR that does not verify.
  if (!module || mlir::failed(mlir::verify(*module)))
    return fail(FailureKind::Input,
                unit.name + ": cannot be lifted to kern:" + failures);
  mlir::PassManager passes(&context);
  passes.enableVerifier(false);
  passes.addPass(kern::createInlineCalls());
  if (mlir::failed(passes.run(*module)))
    return fail(FailureKind::Internal,
                unit.name +
                    ": inlining of device functions failed:" + failures);

  llvm::StringRef target;
  if (auto attr = (*module)->getAttrOfType<mlir::StringAttr>("kern.target"))
    target = attr.getValue();
  if (Result<void> checked = checkTarget(unit.name, target); !checked)
    return checked;
  if (keepKern) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    (*module)->print(stream);
    outcome.kern.push_back(std::move(text));
  }

  properties::Options options;
  options.tier = Tier::Ptx;
  if (request.kernelFilter)
    options.kernelFilter = [&](llvm::StringRef name,
                               llvm::StringRef demangled) {
      return request.kernelFilter(name.str(), demangled.str());
    };
  std::string unitName = unit.name;
  sources.add(unitName, std::move(unit.text));
  std::vector<KernelFacts> kernels = properties::analyzeModule(
      *module, options, [&](llvm::StringRef file, int64_t line) {
        return sources.getLine(file, line);
      });
  for (KernelFacts &kernel : kernels) {
    auto found = unit.resources.find(kernel.name);
    if (found != unit.resources.end()) {
      kernel.registers = found->second.registers;
      kernel.spillBytes = found->second.spillBytes;
      if (found->second.sharedBytes)
        kernel.sharedBytes = found->second.sharedBytes;
    }
    outcome.analysis.kernels.push_back(std::move(kernel));
  }
  return {};
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
  for (KernelFacts &kernel : outcome.analysis.kernels) {
    for (Fact &fact : kernel.facts)
      rename(fact.where);
    for (NearMiss &miss : kernel.nearMisses)
      rename(miss.where);
    for (Undecided &entry : kernel.undecided)
      rename(entry.where);
    for (KernelLoop &loop : kernel.loops)
      if (auto found = given.find(loop.where.file); found != given.end())
        loop.where.file = found->second;
  }
}

Result<AnalyzeOutcome> Pipeline::run() {
  auto unread = [&](Tier tier, const char *reason) {
    outcome.analysis.tiers[tier] = {};
    outcome.analysis.tiers[tier].reason = reason;
  };
  unread(Tier::Source, "this version does not read the host and device source");
  unread(Tier::Sass, "this version does not read machine code");
  if (Result<void> collected = collectInputs(); !collected)
    return forwardFailure(std::move(collected));
  if (!request.readPtx) {
    unread(Tier::Ptx, "not asked for (--tiers)");
    outcome.analysis.target = request.arch.value_or(request.defaultArch);
    return std::move(outcome);
  }
  outcome.analysis.tiers[Tier::Ptx].state = TierState::Ok;

  for (const Input &input : inputs) {
    Result<PtxUnit> unit = makePtx(input);
    if (!unit)
      return forwardFailure(std::move(unit));
    auto start = std::chrono::steady_clock::now();
    if (Result<void> analyzed = analyzePtx(std::move(*unit)); !analyzed)
      return forwardFailure(std::move(analyzed));
    ptxSeconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  }
  TierStatus &ptx = outcome.analysis.tiers[Tier::Ptx];
  ptx.seconds = ptxSeconds;
  for (const KernelFacts &kernel : outcome.analysis.kernels)
    if (!kernel.completeTiers.contains(Tier::Ptx)) {
      ptx.state = TierState::Partial;
      ptx.reason = "kernel " + kernel.demangled +
                   " holds operations whose effects are not known";
      break;
    }
  nameSourcesAsGiven();
  outcome.analysis.normalize();
  return std::move(outcome);
}

Result<AnalyzeOutcome> d2k::analyze(const AnalyzeRequest &request,
                                    bool keepKern) {
  return Pipeline(request, keepKern).run();
}
