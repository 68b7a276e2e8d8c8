// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads one tier of one input: front end, kern, property detectors.

#ifndef D2K_LIB_DRIVER_TIERREADER_H
#define D2K_LIB_DRIVER_TIERREADER_H

#include "AuthoredFiles.h"
#include "Inputs.h"
#include "ResultCache.h"
#include "Sources.h"

#include "d2k/Driver/Analyze.h"
#include "d2k/Driver/Compile.h"
#include "d2k/Fact/SourceLoop.h"
#include "d2k/Frontend/SASS/Module.h"
#include "d2k/Properties/LaunchedKernels.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <map>

namespace d2k {

/// What is known about the kernels of one input besides their code; by mangled
/// name.
struct KernelExtras {
  /// The loops of the source, when it was read.
  std::optional<std::vector<SourceLoop>> loops;
  std::map<std::string, KernelResources> resources;
  std::map<std::string, LaunchInfo> launches;
  /// Waits for the code that the compiler makes.
  std::shared_ptr<sass::PreparedDisassembler> disassembler;
};

class TierReader {
public:
  TierReader(const AnalyzeRequest &request, bool keepKern);

  /// The kernels of the PTX \p text; \p name is the file that places in the
  /// PTX itself carry. \p tier says who made it.
  Result<TierResult> readPtx(const std::string &name, std::string text,
                             Tier tier);

  /// The kernels in the machine code of \p image.
  Result<TierResult> readCode(const sass::Image &image,
                              const KernelExtras &extras);

  /// The kernels of what `nvdisasm -json` printed.
  Result<TierResult> readDisassembly(const Input &input);

  /// Replaces what \p kernels, those of input \p name that it read, say by what
  /// holds under \p launches. Fails when the input has to be read again and
  /// cannot.
  Result<void> specialize(const std::string &name,
                          const properties::LaunchMap &launches,
                          std::vector<KernelFacts> &kernels);

  /// Seconds that nvdisasm took.
  double getDisassemblySeconds() const { return disassemblySeconds; }
  /// Takes the IR that was kept, one text an input.
  std::vector<std::string> takeKern() { return std::move(kern); }

private:
  /// Of everything that the result depends on besides the program.
  std::string makeKey(llvm::StringRef kind, llvm::StringRef name,
                      llvm::StringRef content, llvm::StringRef extras = {});
  using LiftFn = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::MLIRContext &)>;
  /// An input as kern.
  struct Lifted {
    Tier tier = Tier::Ptx;
    std::unique_ptr<mlir::MLIRContext> context;
    mlir::OwningOpRef<mlir::ModuleOp> module;
  };
  /// Lifts with `lift` and inlines device functions; keeps the module.
  Result<Lifted *> liftKern(const std::string &name, Tier tier,
                            std::vector<std::string> &remarks, LiftFn lift);
  properties::Options makeOptions(Tier tier);
  Result<TierResult> analyzeKern(const std::string &name, Tier tier,
                                 LiftFn lift);
  Result<TierResult> analyzeCode(const sass::Module &module,
                                 const KernelExtras &extras);
  /// `make()`, or what the cache has under `key`; `make` reads input `name`
  /// again when its code is needed after all.
  Result<TierResult> cached(const std::string &name, const std::string &key,
                            std::function<Result<TierResult>()> make);

  const AnalyzeRequest &request;
  bool keepKern;
  ResultCache cache;
  AuthoredFiles authored;
  double disassemblySeconds = 0;
  SourceCache sources;
  std::vector<std::string> kern;
  /// By input. Those that the cache had are read again when they are needed.
  std::map<std::string, Lifted> lifted;
  std::map<std::string, std::function<Result<TierResult>()>> unread;
};

} // namespace d2k

#endif // D2K_LIB_DRIVER_TIERREADER_H
