// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs Clang's host pass over the sources, finds the entry and hands it to the
// interpreter, once a workload.

#include "d2k/Frontend/CUDA/HostReader.h"

#include "Compat.h"
#include "Interpreter.h"

#include "d2k/Support/Files.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/ASTUnit.h"
#include "clang/Tooling/Tooling.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace d2k;
using namespace d2k::cuda;

/// Diagnostics that are repeated to the user.
static constexpr size_t kMaxDiagnostics = 20;

//===----------------------------------------------------------------------===//
// Clang
//===----------------------------------------------------------------------===//

namespace {
/// Keeps errors as text.
class Collector : public clang::DiagnosticConsumer {
public:
  explicit Collector(std::vector<std::string> &messages) : messages(messages) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic &info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < clang::DiagnosticsEngine::Error)
      return;
    ++numErrors;
    if (messages.size() >= kMaxDiagnostics)
      return;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    std::string place;
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      clang::PresumedLoc presumed =
          info.getSourceManager().getPresumedLoc(info.getLocation());
      if (presumed.isValid())
        place = std::string(presumed.getFilename()) + ":" +
                std::to_string(presumed.getLine()) + ":" +
                std::to_string(presumed.getColumn()) + ": ";
    }
    messages.push_back(place + text.str().str());
  }

  size_t numErrors = 0;

private:
  std::vector<std::string> &messages;
};

struct Unit {
  std::unique_ptr<clang::ASTUnit> ast;
  std::vector<std::string> diagnostics;
  size_t numErrors = 0;
};
} // namespace

/// Flags of nvcc that Clang takes as well.
static void addUserFlags(std::vector<std::string> &args,
                         const std::vector<std::string> &flags) {
  for (size_t i = 0; i < flags.size(); ++i) {
    llvm::StringRef flag = flags[i];
    static constexpr llvm::StringRef kJoined[] = {"-D", "-U", "-I", "-isystem",
                                                  "-include"};
    bool taken = false;
    for (llvm::StringRef prefix : kJoined)
      if (flag.starts_with(prefix)) {
        args.push_back(flag.str());
        // The value may stand apart.
        if (flag == prefix && i + 1 < flags.size())
          args.push_back(flags[++i]);
        taken = true;
        break;
      }
    if (taken)
      continue;
    if (flag.consume_front("-std=") || flag.consume_front("--std=")) {
      args.push_back("-std=" + flag.str());
    } else if (flag == "-std" || flag == "--std") {
      if (i + 1 < flags.size())
        args.push_back("-std=" + flags[++i]);
    }
  }
}

static Unit parse(const HostRequest &request, const std::string &file,
                  const std::string &text) {
  std::vector<std::string> args = {
      "-xcuda",
      "--cuda-host-only",
      "--cuda-gpu-arch=sm_80",
      "--cuda-path=" + request.toolkit,
      "-std=c++20",
      "-resource-dir",
      D2K_CLANG_RESOURCE_DIR,
      "-w",
      "-Wno-unknown-cuda-version",
      "-ferror-limit=200",
      "-include",
      kCompatPath,
  };
  // libcu++ and CUB, which Clang does not look for.
  std::string cccl = joinPath(request.toolkit, "include/cccl");
  if (isDirectory(cccl)) {
    args.push_back("-isystem");
    args.push_back(cccl);
  }
  for (const std::string &directory : request.includeDirectories)
    args.push_back("-I" + directory);
  addUserFlags(args, request.flags);

  Unit unit;
  Collector collector(unit.diagnostics);
  unit.ast = clang::tooling::buildASTFromCodeWithArgs(
      text, args, file, "clang",
      std::make_shared<clang::PCHContainerOperations>(),
      clang::tooling::getClangStripDependencyFileAdjuster(),
      {{kCompatPath, kCompatText}}, &collector);
  unit.numErrors = collector.numErrors;
  return unit;
}

//===----------------------------------------------------------------------===//
// Functions of a translation unit
//===----------------------------------------------------------------------===//

namespace {
/// The host functions with bodies and the kernels that a unit holds.
class FunctionCollector {
public:
  explicit FunctionCollector(clang::ASTContext &context) : context(context) {
    visit(context.getTranslationUnitDecl());
  }

  std::vector<const clang::FunctionDecl *> host, kernels;

private:
  void visit(const clang::DeclContext *scope) {
    for (const clang::Decl *decl : scope->decls())
      visitDecl(decl);
  }

  void visitDecl(const clang::Decl *decl) {
    if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl))
      return add(function);
    if (const auto *tmpl = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      for (const clang::FunctionDecl *specialization : tmpl->specializations())
        add(specialization);
      return;
    }
    if (const auto *tmpl = llvm::dyn_cast<clang::ClassTemplateDecl>(decl)) {
      for (const auto *specialization : tmpl->specializations())
        visit(specialization);
      return;
    }
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl,
                  clang::CXXRecordDecl, clang::ExportDecl>(decl))
      visit(llvm::cast<clang::DeclContext>(decl));
  }

  void add(const clang::FunctionDecl *function) {
    if (function->isDependentContext() ||
        context.getSourceManager().isInSystemHeader(function->getLocation()))
      return;
    const clang::FunctionDecl *definition = nullptr;
    if (!function->hasBody(definition) || !seen.insert(definition).second)
      return;
    if (definition->hasAttr<clang::CUDAGlobalAttr>())
      kernels.push_back(definition);
    else if (!definition->hasAttr<clang::CUDADeviceAttr>() ||
             definition->hasAttr<clang::CUDAHostAttr>())
      host.push_back(definition);
  }

  clang::ASTContext &context;
  llvm::DenseSet<const clang::FunctionDecl *> seen;
};
} // namespace

/// Whether \p stmt launches; the functions that it names go to \p callees.
static bool scanBody(const clang::Stmt *stmt,
                     llvm::DenseSet<const clang::FunctionDecl *> &callees) {
  if (!stmt)
    return false;
  bool launches = llvm::isa<clang::CUDAKernelCallExpr>(stmt);
  if (const auto *ref = llvm::dyn_cast<clang::DeclRefExpr>(stmt))
    if (const auto *function =
            llvm::dyn_cast<clang::FunctionDecl>(ref->getDecl())) {
      const clang::FunctionDecl *definition = nullptr;
      callees.insert(function->hasBody(definition) ? definition : function);
      std::string name = function->getNameAsString();
      llvm::StringRef text = name;
      launches |= text.starts_with("cudaLaunch") ||
                  text.starts_with("cuLaunch") || text == "cudaGraphLaunch" ||
                  text == "cuGraphLaunch";
    }
  if (const auto *member = llvm::dyn_cast<clang::MemberExpr>(stmt))
    if (const auto *method =
            llvm::dyn_cast<clang::CXXMethodDecl>(member->getMemberDecl())) {
      const clang::FunctionDecl *definition = nullptr;
      callees.insert(method->hasBody(definition) ? definition : method);
    }
  if (const auto *construct = llvm::dyn_cast<clang::CXXConstructExpr>(stmt)) {
    const clang::FunctionDecl *definition = nullptr;
    if (construct->getConstructor()->hasBody(definition))
      callees.insert(definition);
  }
  if (const auto *lambda = llvm::dyn_cast<clang::LambdaExpr>(stmt))
    launches |= scanBody(lambda->getBody(), callees);
  for (const clang::Stmt *child : stmt->children())
    launches |= scanBody(child, callees);
  return launches;
}

/// Host functions that launch, directly or not, and that no other one names.
static std::vector<const clang::FunctionDecl *>
findRoots(const FunctionCollector &functions) {
  llvm::DenseMap<const clang::FunctionDecl *,
                 llvm::DenseSet<const clang::FunctionDecl *>>
      callees;
  llvm::DenseSet<const clang::FunctionDecl *> launching, called;
  for (const clang::FunctionDecl *function : functions.host)
    if (scanBody(function->getBody(), callees[function]))
      launching.insert(function);
  bool changed = true;
  while (changed) {
    changed = false;
    for (const clang::FunctionDecl *function : functions.host) {
      if (launching.contains(function))
        continue;
      for (const clang::FunctionDecl *callee : callees[function])
        if (launching.contains(callee)) {
          launching.insert(function);
          changed = true;
          break;
        }
    }
  }
  for (const clang::FunctionDecl *function : functions.host)
    for (const clang::FunctionDecl *callee : callees[function])
      if (callee != function)
        called.insert(callee);
  std::vector<const clang::FunctionDecl *> roots;
  for (const clang::FunctionDecl *function : functions.host) {
    const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
    if (launching.contains(function) && !called.contains(function) &&
        !(method && method->isInstance()))
      roots.push_back(function);
  }
  return roots;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static KernelDefinition describeKernel(clang::ASTContext &context,
                                       const clang::FunctionDecl *kernel) {
  Machine none;
  Interpreter interpreter(context, none);
  Event event;
  interpreter.addLaunch(std::move(event), Value::makeFunction(kernel));
  const Event &launch = interpreter.trace.events.back();
  return {launch.kernel, launch.kernelDemangled,
          interpreter.getPlace(kernel->getLocation())};
}

Result<HostProgram> d2k::cuda::readHost(const HostRequest &request) {
  auto start = std::chrono::steady_clock::now();
  HostProgram program;
  program.tool = "Clang " + clang::getClangToolFullVersion("").substr(0, 0) +
                 CLANG_VERSION_STRING;

  std::vector<std::pair<std::string, std::string>> files;
  std::string together;
  for (const std::string &source : request.sources) {
    Result<std::string> text = readFile(source);
    if (!text)
      return forwardFailure(std::move(text));
    llvm::SmallString<256> absolute(source);
    llvm::sys::fs::make_absolute(absolute);
    together += "#include \"" + absolute.str().str() + "\"\n";
    files.emplace_back(absolute.str().str(), std::move(*text));
  }

  // Several sources are read as one, so that calls between them are followed;
  // where that fails, the one with the entry is read alone.
  std::vector<Unit> units;
  if (files.size() == 1) {
    units.push_back(parse(request, files[0].first, files[0].second));
  } else {
    llvm::SmallString<256> unity(llvm::sys::path::parent_path(files[0].first));
    llvm::sys::path::append(unity, "d2k-all-sources.cu");
    Unit all = parse(request, unity.str().str(), together);
    if (all.numErrors == 0 && all.ast) {
      units.push_back(std::move(all));
    } else {
      for (auto &[file, text] : files)
        units.push_back(parse(request, file, text));
    }
  }

  std::optional<Machine> machine = getMachine(request.arch);
  Machine known = machine.value_or(Machine());
  bool foundEntry = false;
  for (Unit &unit : units) {
    program.diagnostics.insert(program.diagnostics.end(),
                               unit.diagnostics.begin(),
                               unit.diagnostics.end());
    if (unit.numErrors)
      program.complete = false;
    if (!unit.ast) {
      program.complete = false;
      program.diagnostics.push_back("Clang made no syntax tree");
      continue;
    }
    clang::ASTContext &context = unit.ast->getASTContext();
    FunctionCollector functions(context);
    for (const clang::FunctionDecl *kernel : functions.kernels)
      program.kernels.push_back(describeKernel(context, kernel));

    std::vector<const clang::FunctionDecl *> entries;
    if (request.entry.empty()) {
      entries = findRoots(functions);
    } else {
      for (const clang::FunctionDecl *function : functions.host)
        if (function->getNameAsString() == request.entry ||
            function->getQualifiedNameAsString() == request.entry)
          entries.push_back(function);
    }
    auto run = [&](const clang::FunctionDecl *entry,
                   const EntryArguments *arguments, std::string workload) {
      Interpreter interpreter(context, known);
      HostTrace trace = interpreter.callEntry(entry, arguments);
      trace.workload = std::move(workload);
      trace.entry = entry->getQualifiedNameAsString();
      return trace;
    };
    for (const clang::FunctionDecl *entry : entries) {
      foundEntry = true;
      if (request.workloads.empty()) {
        program.traces.push_back(run(entry, nullptr, ""));
        continue;
      }
      for (const HostWorkload &workload : request.workloads)
        program.traces.push_back(run(entry, &workload.arguments, workload.id));
      EntryArguments anyShape;
      anyShape.tensors = request.workloads.front().arguments.tensors;
      for (auto &[name, tensor] : anyShape.tensors)
        tensor.bytes.reset();
      program.anyShape = run(entry, &anyShape, "");
      break;
    }
  }
  if (!foundEntry)
    program.missingEntry = request.entry;
  program.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return program;
}
