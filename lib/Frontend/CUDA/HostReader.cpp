// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs Clang's host pass over the sources, finds the entry and hands it to the
// interpreter, once a workload.

#include "d2k/Frontend/CUDA/HostReader.h"

#include "ClangUnit.h"
#include "DeviceLoops.h"
#include "Interpreter.h"
#include "LinkedUnits.h"
#include "MathSites.h"

#include "d2k/Support/Files.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/Stack.h"
#include "clang/Basic/Version.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace d2k;
using namespace d2k::cuda;

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

  /// `device` has the kernels, too.
  std::vector<const clang::FunctionDecl *> host, kernels, device;
  /// Kernel templates without an instance that is defined.
  std::vector<const clang::FunctionDecl *> unusedTemplates;

private:
  void visit(const clang::DeclContext *scope) {
    // What a precompiled header holds belongs to the toolkit.
    for (const clang::Decl *decl : scope->noload_decls())
      visitDecl(decl);
  }

  void visitDecl(const clang::Decl *decl) {
    if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl))
      return add(function);
    if (const auto *tmpl = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      size_t numKernels = kernels.size();
      for (const clang::FunctionDecl *specialization : tmpl->specializations())
        add(specialization);
      const clang::FunctionDecl *pattern = tmpl->getTemplatedDecl();
      if (kernels.size() == numKernels &&
          pattern->hasAttr<clang::CUDAGlobalAttr>() &&
          pattern->isThisDeclarationADefinition() && isOurs(pattern))
        unusedTemplates.push_back(pattern);
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

  bool isOurs(const clang::FunctionDecl *function) const {
    return !context.getSourceManager().isInSystemHeader(
        function->getLocation());
  }

  void add(const clang::FunctionDecl *function) {
    if (function->isDependentContext() || !isOurs(function))
      return;
    const clang::FunctionDecl *definition = nullptr;
    if (!function->hasBody(definition) || !seen.insert(definition).second)
      return;
    if (definition->hasAttr<clang::CUDAGlobalAttr>() ||
        definition->hasAttr<clang::CUDADeviceAttr>())
      device.push_back(definition);
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

/// Whether \p stmt launches; the functions that it names, also through the
/// initialisers of variables, go to \p callees.
static bool scanBody(const clang::Stmt *stmt,
                     llvm::DenseSet<const clang::FunctionDecl *> &callees,
                     llvm::DenseSet<const clang::VarDecl *> &variables) {
  if (!stmt)
    return false;
  bool launches = llvm::isa<clang::CUDAKernelCallExpr>(stmt);
  // A table of functions.
  if (const auto *ref = llvm::dyn_cast<clang::DeclRefExpr>(stmt))
    if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(ref->getDecl());
        variable && variable->hasGlobalStorage() &&
        variables.insert(variable->getCanonicalDecl()).second)
      launches |= scanBody(variable->getAnyInitializer(), callees, variables);
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
    launches |= scanBody(lambda->getBody(), callees, variables);
  for (const clang::Stmt *child : stmt->children())
    launches |= scanBody(child, callees, variables);
  return launches;
}

/// Host functions that launch, directly or not, and that no other one names, of
/// all units.
static std::vector<const clang::FunctionDecl *>
findRoots(llvm::ArrayRef<const clang::FunctionDecl *> host,
          const LinkedUnits &linked) {
  llvm::DenseMap<const clang::FunctionDecl *,
                 llvm::DenseSet<const clang::FunctionDecl *>>
      callees;
  llvm::DenseSet<const clang::FunctionDecl *> launching, called;
  for (const clang::FunctionDecl *function : host) {
    llvm::DenseSet<const clang::VarDecl *> variables;
    llvm::DenseSet<const clang::FunctionDecl *> named;
    if (scanBody(function->getBody(), named, variables))
      launching.insert(function);
    for (const clang::FunctionDecl *callee : named) {
      const clang::FunctionDecl *definition = linked.findDefinition(callee);
      callees[function].insert(definition ? definition : callee);
    }
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (const clang::FunctionDecl *function : host) {
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
  for (const clang::FunctionDecl *function : host)
    for (const clang::FunctionDecl *callee : callees[function])
      if (callee != function)
        called.insert(callee);
  std::vector<const clang::FunctionDecl *> roots;
  for (const clang::FunctionDecl *function : host) {
    const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
    if (launching.contains(function) && !called.contains(function) &&
        !(method && method->isInstance()))
      roots.push_back(function);
  }
  return roots;
}

/// The functions among \p host that a caller from outside means by \p name: the
/// one with that C name, or the free functions, before members that are called
/// the same.
static std::vector<const clang::FunctionDecl *>
findNamed(llvm::ArrayRef<const clang::FunctionDecl *> host,
          const std::string &name) {
  std::vector<const clang::FunctionDecl *> entries;
  for (const clang::FunctionDecl *function : host)
    if (function->getNameAsString() == name ||
        function->getQualifiedNameAsString() == name)
      entries.push_back(function);
  auto keepOnly = [&](auto isBetter) {
    if (llvm::any_of(entries, isBetter))
      llvm::erase_if(entries, [&](const clang::FunctionDecl *function) {
        return !isBetter(function);
      });
  };
  keepOnly([](const clang::FunctionDecl *function) {
    return !llvm::isa<clang::CXXMethodDecl>(function);
  });
  keepOnly([](const clang::FunctionDecl *function) {
    return function->isExternC();
  });
  return entries;
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

/// A unit and the flags that it was read with.
using ReadUnit = std::pair<ClangUnit, NvccFlags>;

/// Reads the sources of \p request: as one unit, so that calls between them are
/// followed, or one by one where that fails.
static Result<std::vector<ReadUnit>> readUnits(const HostRequest &request,
                                               Pass pass) {
  clang::noteBottomOfStack();
  struct Source {
    std::string path, text;
    std::vector<std::string> flags;
  };
  std::vector<Source> sources;
  Source all;
  for (size_t i = 0; i < request.sources.size(); ++i) {
    Result<std::string> text = readFile(request.sources[i]);
    if (!text)
      return forwardFailure(std::move(text));
    llvm::SmallString<256> absolute(request.sources[i]);
    llvm::sys::fs::make_absolute(absolute);
    Source source = {absolute.str().str(), std::move(*text), {}};
    if (i < request.sourceFlags.size())
      source.flags = request.sourceFlags[i];
    all.text += "#include \"" + source.path + "\"\n";
    all.flags.insert(all.flags.end(), source.flags.begin(), source.flags.end());
    sources.push_back(std::move(source));
  }

  std::vector<ReadUnit> units;
  auto read = [&](const Source &source) {
    NvccFlags flags = readNvccFlags(source.flags);
    ClangUnit unit = readUnit(request, flags, pass, source.path, source.text);
    units.emplace_back(std::move(unit), std::move(flags));
  };
  if (sources.size() > 1) {
    llvm::SmallString<256> path(llvm::sys::path::parent_path(sources[0].path));
    llvm::sys::path::append(path, "d2k-all-sources.cu");
    all.path = path.str().str();
    read(all);
    if (units[0].first.ast && units[0].first.numHostErrors == 0)
      return units;
    units.clear();
  }
  for (const Source &source : sources)
    read(source);
  return units;
}

Result<std::vector<MathSite>>
d2k::cuda::readDeviceMath(const HostRequest &request) {
  Result<std::vector<ReadUnit>> units = readUnits(request, Pass::Device);
  if (!units)
    return forwardFailure(std::move(units));
  std::vector<MathSite> sites;
  for (const auto &[unit, flags] : *units)
    for (MathSite &site : findMathSites(unit, flags))
      sites.push_back(std::move(site));
  return sites;
}

Result<HostProgram> d2k::cuda::readHost(const HostRequest &request) {
  auto start = std::chrono::steady_clock::now();
  HostProgram program;
  program.tool = "Clang " CLANG_VERSION_STRING;
  Result<std::vector<ReadUnit>> units = readUnits(request, Pass::Host);
  if (!units)
    return forwardFailure(std::move(units));

  std::optional<Machine> machine = getMachine(request.arch);
  Machine known = machine.value_or(Machine());
  LinkedUnits linked;
  std::vector<const clang::FunctionDecl *> host;
  for (auto &[unit, flags] : *units) {
    program.diagnostics.insert(program.diagnostics.end(),
                               unit.diagnostics.begin(),
                               unit.diagnostics.end());
    program.files.insert(program.files.end(), unit.files.begin(),
                         unit.files.end());
    if (unit.numHostErrors)
      program.complete = false;
    if (unit.numDeviceErrors)
      program.deviceComplete = false;
    if (!unit.ast) {
      program.complete = false;
      program.diagnostics.push_back("Clang made no syntax tree");
      continue;
    }
    std::vector<MathSite> sites = findMathSites(unit, flags);
    program.mathSites.insert(program.mathSites.end(), sites.begin(),
                             sites.end());
    clang::ASTContext &context = unit.ast->getASTContext();
    linked.add(context);
    FunctionCollector functions(context);
    llvm::append_range(host, functions.host);
    for (SourceLoop &loop : findLoops(context, functions.device))
      program.loops.push_back(std::move(loop));
    for (const clang::FunctionDecl *kernel : functions.kernels)
      program.kernels.push_back(describeKernel(context, kernel));
    for (const clang::FunctionDecl *tmpl : functions.unusedTemplates) {
      std::string name = tmpl->getQualifiedNameAsString();
      program.unusedTemplates.push_back(
          {name, name,
           findPlace(context.getSourceManager(), tmpl->getLocation())});
    }
  }
  // Of a function in a header each unit has a copy.
  llvm::erase_if(host, [&](const clang::FunctionDecl *function) {
    return linked.isCopy(function);
  });

  std::vector<const clang::FunctionDecl *> entries =
      request.entry.empty() ? findRoots(host, linked)
                            : findNamed(host, request.entry);
  auto run = [&](const clang::FunctionDecl *entry,
                 const EntryArguments *arguments, std::string workload) {
    Interpreter interpreter(entry->getASTContext(), known, &linked);
    HostTrace trace = interpreter.callEntry(entry, arguments);
    trace.workload = std::move(workload);
    trace.entry = entry->getQualifiedNameAsString();
    return trace;
  };
  for (const clang::FunctionDecl *entry : entries) {
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
  if (entries.empty()) {
    program.missingEntry = request.entry;
    if (!request.entry.empty())
      for (const clang::FunctionDecl *function : findRoots(host, linked))
        program.possibleEntries.push_back(function->getQualifiedNameAsString());
  }
  program.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return program;
}
