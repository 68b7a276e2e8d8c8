// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From PTX text and from cubins to the facts of their kernels.

#include "TierReader.h"

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Dialect/Kern/Location.h"
#include "d2k/Dialect/Kern/Transforms/Passes.h"
#include "d2k/Frontend/PTX/Parser.h"
#include "d2k/Frontend/PTXToKern/Lift.h"
#include "d2k/Frontend/SASSToKern/Lift.h"
#include "d2k/Properties/Properties.h"
#include "d2k/Properties/SourceLoops.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace d2k;

/// At most this many front-end errors of one input are repeated to the user.
static constexpr unsigned kMaxReportedErrors = 10;

TierReader::TierReader(const AnalyzeRequest &request, bool keepKern)
    : request(request), keepKern(keepKern), cache(request.cacheFolder),
      authored(request.inputs) {}

std::string TierReader::makeKey(llvm::StringRef kind, llvm::StringRef name,
                                llvm::StringRef content,
                                llvm::StringRef extras) {
  if (!cache.isEnabled())
    return {};
  return cache.makeKey({kind, name, request.kernelPattern, content,
                        llvm::join(authored.getFolders(), "\n"), extras});
}

/// Reads the text of the places in `kernel` again: the sources may have changed
/// where the machine code has not.
static void refreshSnippets(KernelFacts &kernel, SourceCache &sources) {
  auto refresh = [&](std::vector<SourceLocation> &places) {
    for (SourceLocation &place : places)
      if (place.line != 0 && place.kind != LocationKind::Sass)
        place.snippet = sources.getLine(place.file, place.line);
  };
  for (Fact &fact : kernel.facts)
    refresh(fact.where);
  for (NearMiss &miss : kernel.nearMisses)
    refresh(miss.where);
  for (Undecided &entry : kernel.undecided)
    refresh(entry.where);
  for (KernelLoop &loop : kernel.loops)
    if (loop.where.line != 0 && loop.where.kind != LocationKind::Sass)
      loop.where.snippet = sources.getLine(loop.where.file, loop.where.line);
}

Result<TierResult>
TierReader::cached(const std::string &name, const std::string &key,
                   std::function<Result<TierResult>()> make) {
  // The IR is not kept.
  if (!cache.isEnabled() || keepKern)
    return make();
  if (std::optional<TierResult> found = cache.find(key)) {
    for (KernelFacts &kernel : found->kernels)
      refreshSnippets(kernel, sources);
    unread[name] = std::move(make);
    return std::move(*found);
  }
  Result<TierResult> made = make();
  if (made)
    if (Result<void> added = cache.add(key, *made); !added)
      return forwardFailure(std::move(added));
  return made;
}

/// Where in the file `name` a remark is: "k.cubin: 0x15a0 (gemm.cu:178): ",
/// "k.ptx:120:5 (gemm.cu:178): ".
static std::string describePlace(const std::string &name, mlir::Location loc) {
  std::string place = name;
  if (mlir::FileLineColLoc sass = kern::getSassLocation(loc))
    place += ": 0x" + llvm::utohexstr(sass.getLine(), /*LowerCase=*/true);
  else if (mlir::FileLineColLoc ptx = kern::getPtxLocation(loc))
    place += ":" + std::to_string(ptx.getLine()) + ":" +
             std::to_string(ptx.getColumn());
  // The author's line is the outermost.
  auto frames = kern::getSourceLocations(loc);
  if (!frames.empty())
    place += " (" +
             llvm::sys::path::filename(frames.back().file.getValue()).str() +
             ":" + std::to_string(frames.back().line) + ")";
  return place + ": ";
}

Result<TierReader::Lifted *>
TierReader::liftKern(const std::string &name, Tier tier,
                     std::vector<std::string> &remarks, LiftFn lift) {
  Lifted result;
  result.tier = tier;
  result.context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  mlir::MLIRContext &context = *result.context;
  context.loadDialect<kern::KernDialect>();
  std::string failures;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        std::string text = describePlace(name, diagnostic.getLocation());
        llvm::raw_string_ostream(text) << diagnostic;
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          failures += "\n" + text;
        else
          remarks.push_back(text);
        return mlir::success();
      });
  result.module = lift(context);
  // Ill-typed PTX, which ptxas would refuse, lifts to IR that does not verify.
  if (!result.module || mlir::failed(mlir::verify(*result.module)))
    return fail(FailureKind::Input,
                name + ": cannot be lifted to kern:" + failures);
  mlir::PassManager passes(&context);
  passes.enableVerifier(false);
  passes.addPass(kern::createInlineCalls());
  if (mlir::failed(passes.run(*result.module)))
    return fail(FailureKind::Internal,
                name + ": inlining of device functions failed:" + failures);
  // A module goes before its context does.
  lifted.erase(name);
  return &lifted.emplace(name, std::move(result)).first->second;
}

properties::Options TierReader::makeOptions(Tier tier) {
  properties::Options options;
  options.tier = tier;
  options.isAuthored = [this](llvm::StringRef file) {
    return authored.contains(file);
  };
  if (request.kernelFilter)
    options.kernelFilter = [this](llvm::StringRef mangled,
                                  llvm::StringRef demangled) {
      return request.kernelFilter(mangled.str(), demangled.str());
    };
  return options;
}

/// Lifts with `lift` and runs the detectors of `tier`.
Result<TierResult> TierReader::analyzeKern(const std::string &name, Tier tier,
                                           LiftFn lift) {
  TierResult result;
  Result<Lifted *> made = liftKern(name, tier, result.remarks, lift);
  if (!made)
    return forwardFailure(std::move(made));
  mlir::ModuleOp module = *(*made)->module;
  if (auto attr = module->getAttrOfType<mlir::StringAttr>("kern.target"))
    result.target = attr.getValue().str();
  if (keepKern) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    kern.push_back(std::move(text));
  }
  result.kernels = properties::analyzeModule(
      module, makeOptions(tier), [&](llvm::StringRef file, int64_t line) {
        return sources.getLine(file, line);
      });
  return result;
}

Result<void> TierReader::specialize(const std::string &name,
                                    const properties::LaunchMap &launches,
                                    std::vector<KernelFacts> &kernels) {
  bool anyLaunch = llvm::any_of(kernels, [&](const KernelFacts &kernel) {
    return launches.contains(kernel.name);
  });
  if (!anyLaunch)
    return {};
  if (auto make = unread.find(name); make != unread.end())
    if (Result<TierResult> made = make->second(); !made)
      return forwardFailure(std::move(made));
  auto found = lifted.find(name);
  if (found == lifted.end())
    return {};
  properties::specializeKernels(
      *found->second.module, makeOptions(found->second.tier),
      [&](llvm::StringRef file, int64_t line) {
        return sources.getLine(file, line);
      },
      launches, kernels);
  return {};
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

Result<TierResult> TierReader::readPtx(const std::string &name,
                                       std::string text, Tier tier) {
  // From here on its lines are snippets.
  llvm::StringRef kept = sources.add(name, std::move(text));
  auto read = [this, name, kept, tier]() -> Result<TierResult> {
    auto buffer = llvm::MemoryBuffer::getMemBuffer(
        kept, name, /*RequiresNullTerminator=*/true);
    std::string errors;
    std::vector<std::string> remarks;
    unsigned numReported = 0;
    ptx::ParseOutcome parsed = ptx::parse(
        buffer->getMemBufferRef(), [&](const llvm::SMDiagnostic &diagnostic) {
          if (diagnostic.getKind() != llvm::SourceMgr::DK_Error)
            remarks.push_back(render(diagnostic));
          else if (numReported++ < kMaxReportedErrors)
            errors += "\n" + render(diagnostic);
        });
    if (!parsed.succeeded()) {
      if (parsed.numErrors > kMaxReportedErrors)
        errors += "\nand " +
                  std::to_string(parsed.numErrors - kMaxReportedErrors) +
                  " more";
      return fail(FailureKind::Input, name + ": is not valid PTX (" +
                                          std::to_string(parsed.numErrors) +
                                          " errors):" + errors);
    }
    Result<TierResult> result =
        analyzeKern(name, tier, [&](mlir::MLIRContext &context) {
          return liftToKern(*parsed.module, buffer->getMemBufferRef(), context);
        });
    if (result)
      result->remarks.insert(result->remarks.begin(), remarks.begin(),
                             remarks.end());
    return result;
  };
  return cached(name, makeKey(getTierName(tier), name, kept), read);
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

/// Tells the detectors what stands beside the code.
static void setDirectives(mlir::ModuleOp module, const sass::Module &code,
                          const KernelExtras &extras) {
  mlir::Builder builder(module.getContext());
  for (auto func : module.getOps<kern::FuncOp>()) {
    std::string name = func.getSymName().str();
    auto set = [&](llvm::StringRef directive, std::optional<int64_t> value) {
      if (value)
        func->setAttr(directive, builder.getI64IntegerAttr(*value));
    };
    if (const sass::Function *function = code.findFunction(name)) {
      set("kern.registers", function->info.registers);
      set("kern.static_shared", function->info.staticShared);
      set("kern.frame_bytes", function->info.frameSize);
    }
    if (auto it = extras.resources.find(name); it != extras.resources.end())
      set("kern.spill_bytes", it->second.spillBytes);
    if (auto it = extras.launches.find(name); it != extras.launches.end()) {
      set("kern.launch_threads", it->second.threads);
      set("kern.launch_dynamic_shared", it->second.dynamicShared);
    }
  }
}

Result<TierResult> TierReader::analyzeCode(const sass::Module &module,
                                           const KernelExtras &extras) {
  disassemblySeconds += module.disassemblySeconds;
  Result<TierResult> result =
      analyzeKern(module.name, Tier::Sass, [&](mlir::MLIRContext &context) {
        mlir::OwningOpRef<mlir::ModuleOp> lifted = liftToKern(module, context);
        if (lifted)
          setDirectives(*lifted, module, extras);
        if (lifted && extras.loops)
          properties::setSourceLoops(*lifted, *extras.loops);
        return lifted;
      });
  if (!result)
    return result;
  result->tool = module.disassembler;
  for (const sass::Remark &remark : module.remarks) {
    std::string text = module.name + ": ";
    if (!remark.function.empty())
      text += remark.function + "+0x" +
              llvm::utohexstr(remark.offset, /*LowerCase=*/true) + ": ";
    result->remarks.push_back(text + remark.message);
  }
  for (KernelFacts &kernel : result->kernels) {
    const sass::Function *function = module.findFunction(kernel.name);
    if (function && function->info.registers)
      kernel.registers = *function->info.registers;
    if (function && function->info.staticShared)
      kernel.sharedBytes = *function->info.staticShared;
    else
      kernel.sharedBytes.reset();
    for (const Fact &fact : kernel.facts)
      if (fact.property == "local_spills")
        kernel.spillBytes = std::get<int64_t>(fact.attributes.at("bytes"));
  }
  return result;
}

/// Everything in `extras`, for a cache key.
static std::string describe(const KernelExtras &extras) {
  std::string text = extras.loops ? "source" : "no source";
  auto add = [&](const std::optional<int64_t> &number) {
    text += number ? " " + std::to_string(*number) : " -";
  };
  if (extras.loops)
    for (const SourceLoop &loop : *extras.loops) {
      text += "\n" + loop.file + "\n" + loop.function + "\n";
      for (int64_t number : {loop.line, loop.column, loop.headEnd, loop.end})
        add(number);
      add(loop.step);
      add(loop.unroll);
      for (const SourceAccess &access : loop.accesses)
        for (int64_t number :
             {access.line, access.bytes, access.loads, access.stores})
          add(number);
    }
  for (const auto &[name, resources] : extras.resources) {
    text += "\n" + name;
    add(resources.spillBytes);
  }
  for (const auto &[name, launch] : extras.launches) {
    text += "\n" + name;
    add(launch.threads);
    add(launch.dynamicShared);
  }
  return text;
}

Result<TierResult> TierReader::readCode(const sass::Image &image,
                                        const KernelExtras &extras) {
  auto read = [this, &image, &extras]() -> Result<TierResult> {
    sass::ReadOptions options;
    options.prepared = extras.disassembler.get();
    Result<sass::Module> module = sass::readImage(image, options);
    if (!module)
      return forwardFailure(std::move(module));
    return analyzeCode(*module, extras);
  };
  return cached(image.name,
                makeKey("sass", image.name, image.bytes, describe(extras)),
                read);
}

Result<TierResult> TierReader::readDisassembly(const Input &input) {
  auto read = [this, &input]() -> Result<TierResult> {
    Result<sass::Module> module =
        sass::readNvdisasmJson(input.bytes, input.path);
    if (!module)
      return forwardFailure(std::move(module));
    return analyzeCode(*module, {});
  };
  return cached(input.path, makeKey("disassembly", input.path, input.bytes),
                read);
}
