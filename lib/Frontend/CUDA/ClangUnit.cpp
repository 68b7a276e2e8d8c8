// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ClangUnit.h"

#include "Compat.h"
#include "HeaderCache.h"
#include "LeadingHeaders.h"
#include "VirtualFiles.h"

#include "d2k/Support/Files.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Tooling/Tooling.h"

using namespace d2k;
using namespace d2k::cuda;

/// Diagnostics that are repeated to the user.
static constexpr size_t kMaxDiagnostics = 20;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The target that Clang is told: it does not know those of a family
/// ("sm_100f"), whose features are a part of those of the first member.
static std::string getClangTarget(llvm::StringRef arch) {
  if (arch.consume_back("f"))
    return arch.str() + "a";
  return arch.str();
}

std::vector<std::string> cuda::getLanguageArguments(const HostRequest &request,
                                                    const NvccFlags &flags,
                                                    Pass pass) {
  std::vector<std::string> args = {
      "-xcuda",
      pass == Pass::Host ? "--cuda-host-only" : "--cuda-device-only",
      "--cuda-gpu-arch=" + getClangTarget(request.arch),
      "--cuda-path=" + request.toolkit,
      "-std=" + flags.standard,
      "-resource-dir",
      D2K_CLANG_RESOURCE_DIR,
      "-w",
      "-Wno-unknown-cuda-version",
      "-ferror-limit=0",
      // Clang counts errors on the terminal otherwise.
      "-fno-caret-diagnostics",
      // A header is built again when a file of the toolkit changed.
      "-fmodules-validate-system-headers",
  };
  if (flags.extendedLambda)
    args.push_back("-D__CUDACC_EXTENDED_LAMBDA__");
  if (flags.relaxedConstexpr)
    args.push_back("-D__CUDACC_RELAXED_CONSTEXPR__");
  llvm::StringRef arch = request.arch;
  if (pass == Pass::Device && arch.consume_front("sm_") &&
      (arch.ends_with("a") || arch.ends_with("f"))) {
    std::string number = arch.drop_back().str() + "0";
    if (arch.ends_with("a"))
      args.push_back("-D__CUDA_ARCH_SPECIFIC__=" + number);
    args.push_back("-D__CUDA_ARCH_FAMILY_SPECIFIC__=" + number);
  }
  if (pass == Pass::Host) {
    args.push_back("-isystem");
    args.push_back(kHostIncludePath);
  }
  // libcu++ and CUB, which Clang does not look for.
  std::string cccl = joinPath(request.toolkit, "include/cccl");
  if (isDirectory(cccl)) {
    args.push_back("-isystem");
    args.push_back(cccl);
  }
  args.push_back("-idirafter");
  args.push_back(kLastIncludePath);
  args.insert(args.end(), flags.macros.begin(), flags.macros.end());
  return args;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static void
visitScope(const clang::DeclContext *scope,
           llvm::function_ref<void(const clang::FunctionDecl *)> fn) {
  for (const clang::Decl *decl : scope->noload_decls()) {
    if (const auto *tmpl = llvm::dyn_cast<clang::TemplateDecl>(decl))
      decl = tmpl->getTemplatedDecl();
    if (!decl)
      continue;
    if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl))
      fn(function);
    else if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl,
                       clang::CXXRecordDecl, clang::ExportDecl>(decl))
      visitScope(llvm::cast<clang::DeclContext>(decl), fn);
  }
}

void cuda::forEachFunction(
    const clang::ASTContext &context,
    llvm::function_ref<void(const clang::FunctionDecl *)> fn) {
  visitScope(context.getTranslationUnitDecl(), fn);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

std::string cuda::formatError(const clang::Diagnostic &diagnostic) {
  llvm::SmallString<256> text;
  diagnostic.FormatDiagnostic(text);
  std::string place;
  if (diagnostic.hasSourceManager() && diagnostic.getLocation().isValid()) {
    clang::PresumedLoc presumed =
        diagnostic.getSourceManager().getPresumedLoc(diagnostic.getLocation());
    if (presumed.isValid())
      place = std::string(presumed.getFilename()) + ":" +
              std::to_string(presumed.getLine()) + ":" +
              std::to_string(presumed.getColumn()) + ": ";
  }
  return place + text.str().str();
}

namespace {
struct Error {
  clang::SourceLocation where;
  std::string text;
};

/// Keeps errors.
class Collector : public clang::DiagnosticConsumer {
public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic &info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < clang::DiagnosticsEngine::Error)
      return;
    if (isHeaderProblem(info.getID()))
      refusesHeader = true;
    clang::SourceLocation where;
    if (info.hasSourceManager() && info.getLocation().isValid())
      where = info.getSourceManager().getExpansionLoc(info.getLocation());
    errors.push_back({where, formatError(info)});
  }

  std::vector<Error> errors;
  /// The precompiled header cannot be used.
  bool refusesHeader = false;

private:
  static bool isHeaderProblem(unsigned id) {
    unsigned category = clang::DiagnosticIDs::getCategoryNumberForDiag(id);
    return clang::DiagnosticIDs::getCategoryNameFromID(category) ==
           "AST Deserialization Issue";
  }
};

/// The bodies of functions that run on the device only.
class DeviceBodies {
public:
  explicit DeviceBodies(clang::ASTContext &context)
      : sources(context.getSourceManager()) {
    forEachFunction(
        context, [&](const clang::FunctionDecl *function) { add(function); });
  }

  bool contains(clang::SourceLocation where) const {
    if (where.isInvalid())
      return false;
    auto [file, offset] = sources.getDecomposedLoc(where);
    for (const Range &range : ranges)
      if (range.file == file && range.begin <= offset && offset <= range.end)
        return true;
    return false;
  }

private:
  struct Range {
    clang::FileID file;
    unsigned begin = 0, end = 0;
  };

  void add(const clang::FunctionDecl *function) {
    bool onDevice = function->hasAttr<clang::CUDAGlobalAttr>() ||
                    (function->hasAttr<clang::CUDADeviceAttr>() &&
                     !function->hasAttr<clang::CUDAHostAttr>());
    const clang::Stmt *body = function->isThisDeclarationADefinition()
                                  ? function->getBody()
                                  : nullptr;
    if (!onDevice || !body)
      return;
    auto [file, begin] =
        sources.getDecomposedLoc(sources.getExpansionLoc(body->getBeginLoc()));
    auto [endFile, end] =
        sources.getDecomposedLoc(sources.getExpansionLoc(body->getEndLoc()));
    if (file == endFile)
      ranges.push_back({file, begin, end});
  }

  const clang::SourceManager &sources;
  std::vector<Range> ranges;
};
} // namespace

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static std::unique_ptr<clang::ASTUnit>
buildTree(std::vector<std::string> args,
          const std::optional<std::string> &header, const std::string &leading,
          const std::string &path, const std::string &text,
          const std::string &toolkit, Collector &collector) {
  if (header) {
    args.push_back("-include-pch");
    args.push_back(*header);
  } else {
    args.push_back("-include");
    args.push_back(kCompatPath);
  }
  return clang::tooling::buildASTFromCodeWithArgs(
      text, args, path, "clang",
      std::make_shared<clang::PCHContainerOperations>(),
      clang::tooling::getClangStripDependencyFileAdjuster(),
      getVirtualFiles(toolkit, leading), &collector);
}

/// Lines that include what \p text is sure to include.
static std::string findLeading(const HostRequest &request,
                               const NvccFlags &flags, const std::string &text,
                               const std::string &path) {
  std::vector<std::string> folders = request.includeDirectories;
  for (size_t i = 0; i + 1 < flags.includes.size(); i += 2) {
    // It may define macros.
    if (flags.includes[i] == "-include")
      return "";
    folders.push_back(flags.includes[i + 1]);
  }
  std::string lines;
  for (const std::string &name :
       findLeadingHeaders(text, path, folders, request.toolkit))
    lines += "#include <" + name + ">\n";
  return lines;
}

ClangUnit cuda::readUnit(const HostRequest &request, const NvccFlags &flags,
                         Pass pass, const std::string &path,
                         const std::string &text) {
  std::vector<std::string> language =
      getLanguageArguments(request, flags, pass);
  std::optional<HeaderCache> headers;
  if (request.headerFolder)
    headers.emplace(*request.headerFolder, language, request.toolkit);

  std::vector<std::string> args = language;
  for (const std::string &directory : request.includeDirectories)
    args.push_back("-I" + directory);
  args.insert(args.end(), flags.includes.begin(), flags.includes.end());

  ClangUnit unit;
  Collector collector;
  std::optional<std::string> header;
  std::string leading;
  if (headers)
    leading = findLeading(request, flags, text, path);
  // A header that is refused is built again once.
  for (int attempt = 0; attempt < 2 && headers && !unit.ast; ++attempt) {
    header = headers->getWith(leading);
    if (!header)
      break;
    unit.ast = buildTree(args, header, leading, path, text, request.toolkit,
                         collector);
    if (!unit.ast || collector.refusesHeader) {
      unit.ast.reset();
      collector = Collector();
      headers->drop();
    }
  }
  if (!unit.ast)
    unit.ast = buildTree(args, std::nullopt, "", path, text, request.toolkit,
                         collector);

  std::optional<DeviceBodies> bodies;
  if (unit.ast && !collector.errors.empty())
    bodies.emplace(unit.ast->getASTContext());
  for (Error &error : collector.errors) {
    if (bodies && bodies->contains(error.where))
      ++unit.numDeviceErrors;
    else
      ++unit.numHostErrors;
    if (unit.diagnostics.size() < kMaxDiagnostics)
      unit.diagnostics.push_back(std::move(error.text));
  }
  if (unit.ast) {
    const clang::SourceManager &sources = unit.ast->getSourceManager();
    // The unit's text and our headers were handed over in memory.
    for (auto it = sources.fileinfo_begin(); it != sources.fileinfo_end(); ++it)
      if (llvm::StringRef name = it->first.getName();
          name != path && !isVirtualHeader(name))
        unit.files.push_back(name.str());
  }
  return unit;
}
