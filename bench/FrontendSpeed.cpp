// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times parsing, lifting and analysing of PTX files, all in one process, and
// prints one line a file and the totals. bench/frontend-speed sets the figures
// beside ptxas; run that.
//
//   d2k-bench-frontend a.ptx b.ptx ...
//
// Output, tab-separated: file, bytes, seconds of parse, lift (verification and
// inlining included), analysis (CPU
// time of this thread), operations, peak resident memory so far in KiB.

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Dialect/Kern/Transforms/Passes.h"
#include "d2k/Frontend/PTX/Parser.h"
#include "d2k/Frontend/PTXToKern/Lift.h"
#include "d2k/Properties/Properties.h"
#include "d2k/Support/Files.h"

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

static int run(const char *path) {
  Result<std::string> text = readFile(path);
  if (!text) {
    llvm::errs() << "error: " << text.error().message << '\n';
    return 1;
  }
  auto buffer = llvm::MemoryBuffer::getMemBuffer(*text, path);
  double start = now();
  ptx::ParseOutcome parsed =
      ptx::parse(buffer->getMemBufferRef(), [](const llvm::SMDiagnostic &) {});
  double afterParse = now();
  if (!parsed.succeeded()) {
    llvm::errs() << "error: " << path << ": does not parse\n";
    return 1;
  }
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
  mlir::OwningOpRef<mlir::ModuleOp> module =
      liftToKern(*parsed.module, buffer->getMemBufferRef(), context);
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
  std::vector<KernelFacts> kernels = properties::analyzeModule(
      *module, properties::Options(),
      [](llvm::StringRef, int64_t) { return std::string(); });
  double afterAnalysis = now();
  uint64_t operations = 0;
  module->walk([&](mlir::Operation *) { ++operations; });
  llvm::outs() << path << '\t' << text->size() << '\t'
               << llvm::format("%.6f\t%.6f\t%.6f", afterParse - start,
                               afterLift - beforeLift,
                               afterAnalysis - afterLift)
               << '\t' << operations << '\t' << peakMemory() << '\n';
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    llvm::errs() << "usage: d2k-bench-frontend FILE.ptx...\n";
    return 2;
  }
  int status = 0;
  for (int i = 1; i < argc; ++i)
    status |= run(argv[i]);
  return status;
}
