// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates between the forms that a front end knows, one file at a time: the
// front ends' test tool, as mlir-translate is MLIR's.
//
// Exit codes: 0 done, 2 bad usage, 3 the input could not be translated, 4 a
// tool of the CUDA Toolkit is missing.

#include "SASSActions.h"
#include "SASSLines.h"

#include "d2k/Dialect/Kern/Location.h"
#include "d2k/Frontend/PTX/Parser.h"
#include "d2k/Frontend/PTX/Printer.h"
#include "d2k/Frontend/PTXToKern/Lift.h"
#include "d2k/Frontend/SASSToKern/Lift.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace d2k;
namespace cl = llvm::cl;

namespace {
enum class Action {
  None,
  PTXToPTX,
  PTXToKern,
  PTXCheck,
  SASSCheck,
  SASSRegisters,
  SASSBlocks,
  SASSToKern,
  SASSLines
};
} // namespace

static cl::OptionCategory category("d2k-translate options");
static cl::opt<Action> action(
    cl::desc("Translation:"), cl::cat(category), cl::init(Action::None),
    cl::values(clEnumValN(Action::PTXToPTX, "ptx-to-ptx",
                          "Parse PTX and print the syntax tree as PTX"),
               clEnumValN(Action::PTXToKern, "ptx-to-kern",
                          "Translate PTX into the kern dialect, verify it "
                          "and print it"),
               clEnumValN(Action::PTXCheck, "ptx-check",
                          "Parse PTX and print nothing but diagnostics"),
               clEnumValN(Action::SASSCheck, "sass-check",
                          "Read machine code and print what is in it"),
               clEnumValN(Action::SASSRegisters, "sass-regs",
                          "Read machine code and print which registers each "
                          "instruction reads and writes"),
               clEnumValN(Action::SASSBlocks, "sass-blocks",
                          "Read machine code and print its basic blocks"),
               clEnumValN(Action::SASSToKern, "sass-to-kern",
                          "Translate machine code into the kern dialect, "
                          "verify it and print it"),
               clEnumValN(Action::SASSLines, "sass-lines",
                          "Print the source and PTX lines of the instructions "
                          "of a cubin")));
static cl::opt<std::string> inputName(cl::Positional, cl::desc("<input file>"),
                                      cl::init("-"), cl::cat(category));
static cl::opt<std::string> outputName("o", cl::desc("Output file"),
                                       cl::value_desc("file"), cl::init("-"),
                                       cl::cat(category));
static cl::opt<bool>
    renameAll("rename", cl::cat(category),
              cl::desc("Rename and renumber every register, label, parameter, "
                       "table and local variable (with --ptx-to-ptx)"));
static cl::opt<bool>
    quiet("quiet", cl::cat(category),
          cl::desc("Print errors only, not remarks about unknown opcodes, "
                   "modifiers and directives"));

static cl::opt<std::string>
    arch("arch", cl::cat(category), cl::value_desc("sm_XX"),
         cl::desc("Of files with code for several architectures take this one "
                  "(with --sass-...)"));

static bool printStatistics = false;

static constexpr int kUsage = 2;
static constexpr int kBadInput = 3;

/// Opens the output file; null after an error that was printed.
static std::unique_ptr<llvm::ToolOutputFile> openOutput() {
  std::error_code error;
  auto output = std::make_unique<llvm::ToolOutputFile>(outputName, error,
                                                       llvm::sys::fs::OF_None);
  if (!error)
    return output;
  llvm::WithColor::error(llvm::errs(), "d2k-translate")
      << outputName << ": cannot write: " << error.message() << '\n';
  return nullptr;
}

static void print(const LiftStatistics &statistics) {
  llvm::raw_ostream &os = llvm::errs();
  os << "functions: " << statistics.functions
     << "\nblocks: " << statistics.blocks
     << "\nblock arguments: " << statistics.blockArguments
     << "\ninstructions: " << statistics.instructions
     << "\nunreachable: " << statistics.unreachable
     << "\noperations: " << statistics.operations << '\n'
     << statistics.opaque << " opaque of " << statistics.instructions
     << " instructions\n";
  for (const auto &[mnemonic, count] : statistics.opaqueByMnemonic)
    os << "opaque " << mnemonic << ": " << count << '\n';
}

static int translateToKern(const ptx::Module &module,
                           llvm::SourceMgr &sourceMgr) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::SourceMgrDiagnosticHandler handler(sourceMgr, &context);
  mlir::ScopedDiagnosticHandler filter(
      &context, [](mlir::Diagnostic &diagnostic) {
        // Handled, and so silent, when only errors are wanted.
        return mlir::success(quiet && diagnostic.getSeverity() !=
                                          mlir::DiagnosticSeverity::Error);
      });
  LiftStatistics statistics;
  mlir::OwningOpRef<mlir::ModuleOp> lifted = liftToKern(
      module,
      sourceMgr.getMemoryBuffer(sourceMgr.getMainFileID())->getMemBufferRef(),
      context, &statistics);
  if (!lifted || mlir::failed(mlir::verify(*lifted)))
    return kBadInput;
  std::unique_ptr<llvm::ToolOutputFile> output = openOutput();
  if (!output)
    return kBadInput;
  lifted->print(output->os());
  output->os() << '\n';
  output->keep();
  if (printStatistics)
    print(statistics);
  return 0;
}

static int translatePTX(llvm::SourceMgr &sourceMgr) {
  const llvm::MemoryBuffer *buffer =
      sourceMgr.getMemoryBuffer(sourceMgr.getMainFileID());
  ptx::ParseOutcome outcome = ptx::parse(
      buffer->getMemBufferRef(), [&](const llvm::SMDiagnostic &diagnostic) {
        if (!quiet || diagnostic.getKind() == llvm::SourceMgr::DK_Error)
          sourceMgr.PrintMessage(llvm::errs(), diagnostic);
      });
  if (!outcome.succeeded()) {
    llvm::WithColor::error(llvm::errs(), "d2k-translate")
        << inputName << ": " << outcome.numErrors << " error"
        << (outcome.numErrors == 1 ? "" : "s") << "; nothing written\n";
    return kBadInput;
  }
  if (action == Action::PTXCheck)
    return 0;
  if (action == Action::PTXToKern)
    return translateToKern(*outcome.module, sourceMgr);
  std::unique_ptr<llvm::ToolOutputFile> output = openOutput();
  if (!output)
    return kBadInput;
  ptx::PrintOptions options;
  options.rename = renameAll;
  ptx::print(*outcome.module, output->os(), options);
  output->keep();
  return 0;
}

static int printLines(llvm::StringRef bytes) {
  std::unique_ptr<llvm::ToolOutputFile> output = openOutput();
  if (!output)
    return kBadInput;
  Result<void> printed = printSassLines(bytes, inputName, output->os());
  if (!printed) {
    llvm::WithColor::error(llvm::errs(), "d2k-translate")
        << printed.error().message << '\n';
    return kBadInput;
  }
  output->keep();
  return 0;
}

static const char *getWord(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return "note";
  case mlir::DiagnosticSeverity::Warning:
    return "warning";
  case mlir::DiagnosticSeverity::Error:
    return "error";
  case mlir::DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("no such severity");
}

/// Prints the kern modules of all images, one after the other.
static int translateToKern(llvm::ArrayRef<sass::Module> modules) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &diagnostic) {
        if (quiet &&
            diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return;
        if (mlir::FileLineColLoc place =
                kern::getSassLocation(diagnostic.getLocation()))
          llvm::errs() << place.getFilename().getValue() << ": offset 0x"
                       << llvm::Twine::utohexstr(place.getLine()) << ": ";
        llvm::errs() << getWord(diagnostic.getSeverity()) << ": "
                     << diagnostic.str() << '\n';
      });
  LiftStatistics statistics;
  std::unique_ptr<llvm::ToolOutputFile> output = openOutput();
  if (!output)
    return kBadInput;
  for (const sass::Module &module : modules) {
    mlir::OwningOpRef<mlir::ModuleOp> lifted =
        liftToKern(module, context, &statistics);
    if (!lifted || mlir::failed(mlir::verify(*lifted)))
      return kBadInput;
    lifted->print(output->os());
    output->os() << '\n';
  }
  output->keep();
  if (printStatistics)
    print(statistics);
  return 0;
}

static int translateSASS() {
  Result<std::vector<sass::Module>> modules = readSass(inputName, arch);
  if (!modules) {
    llvm::WithColor::error(llvm::errs(), "d2k-translate")
        << modules.error().message << '\n';
    return getExitCode(modules.error().kind);
  }
  if (!quiet)
    printSassRemarks(*modules, llvm::errs());
  if (action == Action::SASSToKern)
    return translateToKern(*modules);
  std::unique_ptr<llvm::ToolOutputFile> output = openOutput();
  if (!output)
    return kBadInput;
  if (action == Action::SASSCheck)
    printSassSummary(*modules, output->os());
  else if (action == Action::SASSRegisters)
    printSassRegisters(*modules, output->os());
  else
    printSassBlocks(*modules, output->os());
  output->keep();
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // LLVM has a --stats of its own, which counts what its passes do.
  if (cl::Option *option = cl::getRegisteredOptions().lookup("stats"))
    option->setArgStr("llvm-stats");
  cl::opt<bool, /*ExternalStorage=*/true> statistics(
      "stats", cl::location(printStatistics), cl::cat(category),
      cl::desc("Print what was translated, and what became opaque, to the "
               "standard error (with --ptx-to-kern, --sass-to-kern)"));
  // For --mlir-print-debuginfo.
  mlir::registerAsmPrinterCLOptions();
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "translates between the forms that the "
                                   "front ends know\n",
                                   &llvm::errs()))
    return kUsage;
  if (action == Action::None) {
    llvm::WithColor::error(llvm::errs(), "d2k-translate")
        << "no translation given: choose one of --ptx-to-ptx, "
           "--ptx-to-kern, --ptx-check, --sass-check, --sass-regs, "
           "--sass-blocks, --sass-to-kern, --sass-lines\n";
    return kUsage;
  }
  if (action == Action::SASSCheck || action == Action::SASSRegisters ||
      action == Action::SASSBlocks || action == Action::SASSToKern)
    return translateSASS();
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(inputName);
  if (!buffer) {
    llvm::WithColor::error(llvm::errs(), "d2k-translate")
        << inputName << ": cannot read: " << buffer.getError().message()
        << '\n';
    return kBadInput;
  }
  if (action == Action::SASSLines)
    return printLines((*buffer)->getBuffer());
  llvm::SourceMgr sourceMgr;
  sourceMgr.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  return translatePTX(sourceMgr);
}
