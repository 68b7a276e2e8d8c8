// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times reading, lifting and analysing of PTX files and cubins, all in one
// process, and prints one line a file. bench/frontend-speed sets the figures
// beside ptxas; run that.
//
//   d2k-bench-frontend [--facts FILE] a.ptx b.cubin ...
//
// With --facts, what is found out about the kernels goes to FILE as JSON, so
// that the facts before and after a change can be compared with diff.
//
// Output, tab-separated: file, bytes, seconds of parse (of a cubin: of reading
// its sections and what nvdisasm prints), lift (verification and inlining
// included), analysis (CPU time of this thread), operations, peak resident
// memory so far in KiB, CPU seconds of nvdisasm.

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Dialect/Kern/Transforms/Passes.h"
#include "d2k/Frontend/PTX/Parser.h"
#include "d2k/Frontend/PTXToKern/Lift.h"
#include "d2k/Frontend/SASS/Module.h"
#include "d2k/Frontend/SASSToKern/Lift.h"
#include "d2k/Properties/Properties.h"
#include "d2k/Report/ReadFacts.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Memory.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/resource.h>
#include <time.h>

using namespace d2k;

/// CPU time of the calling thread in seconds.
static double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Largest resident set of this process so far, in KiB.
static long peakMemory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// CPU time of all programs that ran and ended, in seconds.
static double childTime() {
  rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  auto seconds = [](const timeval &time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Where --facts writes; null without it.
static llvm::raw_ostream *factsOut = nullptr;

using LiftFn =
    llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(mlir::MLIRContext &)>;

/// Lifts and analyses, and prints the line of the file.
static int analyze(const char *path, size_t bytes, Tier tier,
                   double parseSeconds, double childSeconds, LiftFn lift) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kern::KernDialect>();
  std::string firstError;
  mlir::ScopedDiagnosticHandler quiet(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (firstError.empty() &&
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          firstError = diagnostic.str();
        return mlir::success();
      });
  double beforeLift = now();
  mlir::OwningOpRef<mlir::ModuleOp> module = lift(context);
  mlir::PassManager passes(&context);
  passes.enableVerifier(false);
  passes.addPass(kern::createInlineCalls());
  if (!module || mlir::failed(mlir::verify(*module)) ||
      mlir::failed(passes.run(*module))) {
    llvm::errs() << "error: " << path << ": does not lift: " << firstError
                 << '\n';
    return 1;
  }
  double afterLift = now();
  properties::Options options;
  options.tier = tier;
  std::vector<KernelFacts> kernels = properties::analyzeModule(
      *module, options, [](llvm::StringRef, int64_t) { return std::string(); });
  double afterAnalysis = now();
  uint64_t operations = 0;
  module->walk([&](mlir::Operation *) { ++operations; });
  llvm::outs() << path << '\t' << bytes << '\t'
               << llvm::format("%.6f\t%.6f\t%.6f", parseSeconds,
                               afterLift - beforeLift,
                               afterAnalysis - afterLift)
               << '\t' << operations << '\t' << peakMemory() << '\t'
               << llvm::format("%.6f", childSeconds) << '\n';
  if (factsOut)
    for (const KernelFacts &kernel : kernels)
      *factsOut << path << '\n'
                << json::dump(report::writeKernelFacts(kernel)) << '\n';
  return 0;
}

static int runPtx(const char *path) {
  Result<std::string> text = readFile(path);
  if (!text) {
    llvm::errs() << "error: " << text.error().message << '\n';
    return 1;
  }
  auto buffer = llvm::MemoryBuffer::getMemBuffer(*text, path);
  double start = now();
  ptx::ParseOutcome parsed =
      ptx::parse(buffer->getMemBufferRef(), [](const llvm::SMDiagnostic &) {});
  double seconds = now() - start;
  if (!parsed.succeeded()) {
    llvm::errs() << "error: " << path << ": does not parse\n";
    return 1;
  }
  return analyze(path, text->size(), Tier::Ptx, seconds, /*childSeconds=*/0,
                 [&](mlir::MLIRContext &context) {
                   return liftToKern(*parsed.module, buffer->getMemBufferRef(),
                                     context);
                 });
}

static int runCubin(const char *path) {
  Result<std::vector<sass::Image>> images = sass::listImages(path);
  if (!images) {
    llvm::errs() << "error: " << images.error().message << '\n';
    return 1;
  }
  for (const sass::Image &image : *images) {
    double start = now(), childStart = childTime();
    Result<sass::Module> code = sass::readImage(image);
    double seconds = now() - start, childSeconds = childTime() - childStart;
    if (!code) {
      llvm::errs() << "error: " << code.error().message << '\n';
      return 1;
    }
    if (int status = analyze(path, image.bytes.size(), Tier::Sass, seconds,
                             childSeconds, [&](mlir::MLIRContext &context) {
                               return liftToKern(*code, context);
                             }))
      return status;
  }
  return 0;
}

int main(int argc, char **argv) {
  keepFreedMemory();
  int first = 1;
  std::optional<llvm::raw_fd_ostream> facts;
  if (argc > 2 && llvm::StringRef(argv[1]) == "--facts") {
    std::error_code error;
    facts.emplace(argv[2], error);
    if (error) {
      llvm::errs() << "error: " << argv[2] << ": " << error.message() << '\n';
      return 2;
    }
    factsOut = &*facts;
    first = 3;
  }
  if (argc <= first) {
    llvm::errs()
        << "usage: d2k-bench-frontend [--facts FILE] FILE.ptx|FILE.cubin...\n";
    return 2;
  }
  int status = 0;
  for (int i = first; i < argc; ++i)
    status |= llvm::StringRef(argv[i]).ends_with(".cubin") ? runCubin(argv[i])
                                                           : runPtx(argv[i]);
  return status;
}
