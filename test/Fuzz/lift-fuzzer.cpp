// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any text that parses as PTX lifts to IR that verifies or is refused; what
// verifies still does after inlining, and all analyses and detectors give the
// same findings for it twice, each with a place in the text.

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Dialect/Kern/Transforms/Passes.h"
#include "d2k/Frontend/PTX/Parser.h"
#include "d2k/Frontend/PTXToKern/Lift.h"
#include "d2k/Properties/Properties.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <cstdlib>

using namespace d2k;

/// Small enough for many runs a second, large enough to nest a few calls.
static constexpr unsigned kMaxOperations = 20000;

[[noreturn]] static void fault(const char *what) {
  llvm::errs() << "lift-fuzzer: " << what << '\n';
  abort();
}

/// What a reader of the report sees of \p kernels, as text.
static std::string summarize(const std::vector<KernelFacts> &kernels) {
  std::string text;
  auto add = [&](const std::string &property, const std::string &detail,
                 const std::vector<SourceLocation> &where) {
    text += property + ' ' + detail;
    for (const SourceLocation &place : where)
      text += ' ' + place.file + ':' + std::to_string(place.line);
    text += '\n';
  };
  for (const KernelFacts &kernel : kernels) {
    text += kernel.name + '\n';
    for (const Fact &fact : kernel.facts) {
      if (fact.where.empty())
        fault("a fact has no place");
      std::string attributes;
      for (const auto &[name, value] : fact.attributes)
        attributes += name + '=' + toString(value) + ' ';
      add(fact.property, attributes, fact.where);
    }
    for (const NearMiss &miss : kernel.nearMisses)
      add(miss.property, miss.reason, miss.where);
    for (const Undecided &entry : kernel.undecided)
      add(entry.property, entry.reason, entry.where);
  }
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  auto buffer = llvm::MemoryBuffer::getMemBuffer(text, "input.ptx");
  ptx::ParseOutcome parsed =
      ptx::parse(buffer->getMemBufferRef(), [](const llvm::SMDiagnostic &) {});
  if (!parsed.succeeded())
    return 0;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kern::KernDialect>();
  bool hasError = false;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        hasError |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        // What the driver does with each message.
        std::string message;
        llvm::raw_string_ostream(message)
            << diagnostic.getLocation() << ": " << diagnostic;
        return mlir::success();
      });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      liftToKern(*parsed.module, buffer->getMemBufferRef(), context);
  if (!module || mlir::failed(mlir::verify(*module))) {
    if (!hasError)
      fault("refused without a message");
    return 0;
  }
  mlir::PassManager passes(&context);
  passes.enableVerifier(false);
  kern::InlineCallsOptions inlining;
  inlining.maxOperations = kMaxOperations;
  passes.addPass(kern::createInlineCalls(inlining));
  if (mlir::failed(passes.run(*module)))
    fault("inlining failed");
  if (mlir::failed(mlir::verify(*module)))
    fault("does not verify after inlining");
  auto snippets = [](llvm::StringRef, int64_t) { return std::string(); };
  std::string first = summarize(
      properties::analyzeModule(*module, properties::Options(), snippets));
  if (summarize(properties::analyzeModule(*module, properties::Options(),
                                          snippets)) != first)
    fault("the findings differ from run to run");
  return 0;
}
