// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Frontend/CUDA/ClangCompiler.h"

#include "ClangUnit.h"
#include "Compat.h"
#include "VirtualFiles.h"

#include "d2k/Support/Files.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Basic/Stack.h"
#include "clang/Basic/Version.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Tooling/Tooling.h"
#include "llvm-c/Target.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace d2k;
using namespace d2k::cuda;

/// Errors that are repeated to the user.
static constexpr size_t kMaxErrors = 20;

namespace {
/// Keeps errors as text.
class ErrorTexts : public clang::DiagnosticConsumer {
public:
  explicit ErrorTexts(std::vector<std::string> &texts) : texts(texts) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic &info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < clang::DiagnosticsEngine::Error || texts.size() >= kMaxErrors)
      return;
    texts.push_back(formatError(info));
  }

private:
  std::vector<std::string> &texts;
};

/// Writes PTX to memory.
class PtxAction : public clang::tooling::ToolAction {
public:
  explicit PtxAction(ClangPtx &result) : result(result) {}

  bool runInvocation(std::shared_ptr<clang::CompilerInvocation> invocation,
                     clang::FileManager *files,
                     std::shared_ptr<clang::PCHContainerOperations> containers,
                     clang::DiagnosticConsumer *diagnostics) override {
    clang::CompilerInstance compiler(std::move(invocation),
                                     std::move(containers));
    compiler.setVirtualFileSystem(files->getVirtualFileSystemPtr());
    compiler.setFileManager(files);
    compiler.createDiagnostics(diagnostics, /*ShouldOwnClient=*/false);
    compiler.createSourceManager();
    llvm::SmallString<0> text;
    compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(text));
    clang::EmitAssemblyAction action;
    bool done = compiler.ExecuteAction(action);
    if (compiler.hasSourceManager()) {
      const clang::SourceManager &sources = compiler.getSourceManager();
      for (auto it = sources.fileinfo_begin(); it != sources.fileinfo_end();
           ++it)
        result.files.push_back(it->first.getName().str());
    }
    if (done)
      result.ptx = text.str().str();
    return done;
  }

private:
  ClangPtx &result;
};
} // namespace

Result<ClangPtx> cuda::compileWithClang(const HostRequest &request,
                                        size_t index) {
  auto start = std::chrono::steady_clock::now();
  clang::noteBottomOfStack();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();

  llvm::SmallString<256> path(request.sources[index]);
  llvm::sys::fs::make_absolute(path);
  if (Result<std::string> text = readFile(request.sources[index]); !text)
    return forwardFailure(std::move(text));
  NvccFlags flags = readNvccFlags(index < request.sourceFlags.size()
                                      ? request.sourceFlags[index]
                                      : std::vector<std::string>());
  std::vector<std::string> command = {"clang"};
  std::vector<std::string> language =
      getLanguageArguments(request, flags, Pass::Device);
  command.insert(command.end(), language.begin(), language.end());
  for (const std::string &directory : request.includeDirectories)
    command.push_back("-I" + directory);
  command.insert(command.end(), flags.includes.begin(), flags.includes.end());
  if (flags.fastMath)
    command.push_back("-ffast-math");
  command.insert(command.end(), {"-O3", "-gline-tables-only", "-S", "-include",
                                 kCompatPath, path.str().str()});

  auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(
      clang::FileSystemOptions(), makeFileSystem(request.toolkit));

  ClangPtx result;
  result.tool = "Clang " CLANG_VERSION_STRING;
  ErrorTexts errors(result.diagnostics);
  PtxAction action(result);
  clang::tooling::ToolInvocation invocation(
      command, &action, files.get(),
      std::make_shared<clang::PCHContainerOperations>());
  invocation.setDiagnosticConsumer(&errors);
  if (!invocation.run() && result.diagnostics.empty())
    result.diagnostics.push_back("Clang made no PTX and said nothing");
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}
