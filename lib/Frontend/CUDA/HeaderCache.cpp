// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HeaderCache.h"

#include "Compat.h"
#include "VirtualFiles.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"

#include "clang/AST/Attr.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Frontend/MultiplexConsumer.h"
#include "clang/Tooling/Tooling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <chrono>

using namespace d2k;
using namespace d2k::cuda;

/// Headers that are kept in a folder; those unused for long make room.
static constexpr size_t kMaxHeaders = 16;

/// What tells one toolkit from another: files that name its version.
static std::string describeToolkit(const std::string &toolkit) {
  std::string text = toolkit;
  for (const char *name :
       {"version.json", "include/cuda_runtime_api.h", "include/cuda.h"}) {
    llvm::sys::fs::file_status status;
    text += '\n';
    if (llvm::sys::fs::status(joinPath(toolkit, name), status))
      continue;
    text += std::to_string(status.getSize()) + " " +
            std::to_string(
                status.getLastModificationTime().time_since_epoch().count());
  }
  return text;
}

HeaderCache::HeaderCache(std::string folder, std::vector<std::string> arguments,
                         std::string toolkit)
    : folder(std::move(folder)), arguments(std::move(arguments)),
      toolkit(std::move(toolkit)) {}

std::string HeaderCache::makeKey(const std::string &extras) const {
  std::string text = clang::getClangFullVersion();
  for (const std::string &argument : arguments)
    text += '\n' + argument;
  text += '\n' + describeToolkit(toolkit) + '\n' + kCompatText + extras;
  return sha256Hex(text).substr(0, 32);
}

/// The basic header for an empty \p leading; else one on top of the basic one
/// in
/// \p parent, or one that holds both.
HeaderCache::Contents
HeaderCache::describe(const std::string &leading,
                      const std::optional<std::string> &parent) const {
  Contents contents;
  contents.key = makeKey(leading + parent.value_or(""));
  contents.path = leading.empty() ? kCompatPath : kLeadingPath;
  if (leading.empty())
    return contents;
  if (parent)
    contents.arguments = {"-include-pch", *parent};
  else
    contents.arguments = {"-include", kCompatPath};
  contents.leading = leading;
  return contents;
}

std::string HeaderCache::getPointer(const Contents &contents) const {
  return joinPath(folder, contents.key + ".name");
}

/// "1f0c..." of the bytes of a file; nothing when it cannot be read.
static std::optional<std::string> digest(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return std::nullopt;
  llvm::StringRef bytes = (*buffer)->getBuffer();
  return llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true) + "-" +
         std::to_string(bytes.size());
}

/// Notes that a header is in use.
static void touch(const std::string &pointer) {
  int file = -1;
  if (llvm::sys::fs::openFileForWrite(pointer, file,
                                      llvm::sys::fs::CD_OpenExisting,
                                      llvm::sys::fs::OF_Append))
    return;
  (void)llvm::sys::fs::setLastAccessAndModificationTime(
      file, std::chrono::system_clock::now());
  llvm::sys::Process::SafelyCloseFileDescriptor(file);
}

std::optional<std::string> HeaderCache::find(const Contents &contents) const {
  std::string pointer = getPointer(contents);
  if (!isRegularFile(pointer))
    return std::nullopt;
  Result<std::string> name = readFile(pointer);
  if (!name)
    return std::nullopt;
  std::string path = joinPath(folder, contents.key + "-" + *name + ".pch");
  if (digest(path) != *name)
    return std::nullopt;
  touch(pointer);
  return path;
}

/// In the place of a name: Clang finds errors in these headers.
static constexpr llvm::StringLiteral kRefused = "refused";

bool HeaderCache::isRefused(const Contents &contents) const {
  std::string pointer = getPointer(contents);
  if (!isRegularFile(pointer))
    return false;
  Result<std::string> name = readFile(pointer);
  return name && *name == kRefused;
}

/// One of the toolkit's types of 16 bits, or a pair of them.
static bool isHalfType(clang::QualType type) {
  const clang::CXXRecordDecl *record =
      type.getNonReferenceType()->getAsCXXRecordDecl();
  if (!record || !record->getIdentifier())
    return false;
  llvm::StringRef name = record->getName();
  return name == "__half" || name == "__half2" || name == "__nv_bfloat16" ||
         name == "__nv_bfloat162";
}

/// Arithmetic and comparisons of half types, of which the host code of kernels
/// makes no use: no parameter and no result has another type, but for truth
/// values. What converts from or to other types is none of them.
static bool isHalfArithmetic(const clang::FunctionDecl *function) {
  if (llvm::isa<clang::CXXMethodDecl>(function) || function->param_empty())
    return false;
  clang::QualType result = function->getReturnType();
  return (result->isBooleanType() || isHalfType(result)) &&
         llvm::all_of(function->parameters(),
                      [](const clang::ParmVarDecl *parameter) {
                        return isHalfType(parameter->getType());
                      });
}

namespace {
/// Leaves out bodies of functions that the host never calls.
class DeviceSkipper : public clang::ASTConsumer {
public:
  bool shouldSkipFunctionBody(clang::Decl *decl) override {
    if (!decl->hasAttr<clang::CUDADeviceAttr>())
      return false;
    if (!decl->hasAttr<clang::CUDAHostAttr>())
      return true;
    const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl);
    return function && isHalfArithmetic(function);
  }
};

class HeaderAction : public clang::GeneratePCHAction {
protected:
  std::unique_ptr<clang::ASTConsumer>
  CreateASTConsumer(clang::CompilerInstance &compiler,
                    llvm::StringRef file) override {
    auto writer = GeneratePCHAction::CreateASTConsumer(compiler, file);
    if (!writer)
      return nullptr;
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(std::move(writer));
    consumers.push_back(std::make_unique<DeviceSkipper>());
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }
};

/// Writes the syntax tree of the header to a file.
class Builder : public clang::tooling::ToolAction {
public:
  Builder(std::string path, bool forHost)
      : path(std::move(path)), forHost(forHost) {}

  bool runInvocation(std::shared_ptr<clang::CompilerInvocation> invocation,
                     clang::FileManager *files,
                     std::shared_ptr<clang::PCHContainerOperations> containers,
                     clang::DiagnosticConsumer *diagnostics) override {
    invocation->getFrontendOpts().OutputFile = path;
    invocation->getFrontendOpts().SkipFunctionBodies = forHost;
    clang::CompilerInstance compiler(std::move(invocation),
                                     std::move(containers));
    compiler.setVirtualFileSystem(files->getVirtualFileSystemPtr());
    compiler.setFileManager(files);
    compiler.createDiagnostics(diagnostics, /*ShouldOwnClient=*/false);
    compiler.createSourceManager();
    HeaderAction action;
    bool done = compiler.ExecuteAction(action);
    hasErrors = compiler.getDiagnostics().hasErrorOccurred();
    return done && !hasErrors;
  }

  bool hasErrors = false;

private:
  std::string path;
  bool forHost;
};
} // namespace

std::optional<std::string> HeaderCache::build(const Contents &contents) const {
  if (llvm::sys::fs::create_directories(folder))
    return std::nullopt;
  llvm::SmallString<256> scratch;
  if (llvm::sys::fs::createUniqueFile(
          joinPath(folder, contents.key + "-%%%%%%%%.tmp"), scratch))
    return std::nullopt;

  auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(
      clang::FileSystemOptions(), makeFileSystem(toolkit, contents.leading));
  std::vector<std::string> command = {"clang"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.insert(command.end(), contents.arguments.begin(),
                 contents.arguments.end());
  command.push_back("-fsyntax-only");
  command.push_back(contents.path);
  bool forHost = llvm::is_contained(arguments, "--cuda-host-only");
  Builder builder(scratch.str().str(), forHost);
  clang::IgnoringDiagConsumer silent;
  clang::tooling::ToolInvocation invocation(
      command, &builder, files.get(),
      std::make_shared<clang::PCHContainerOperations>());
  invocation.setDiagnosticConsumer(&silent);
  bool built = invocation.run();
  std::optional<std::string> name;
  if (built)
    name = digest(scratch.str().str());
  std::string path;
  if (name)
    path = joinPath(folder, contents.key + "-" + *name + ".pch");
  if (builder.hasErrors && !contents.leading.empty())
    (void)writeFile(getPointer(contents), std::string(kRefused));
  if (!name || llvm::sys::fs::rename(scratch, path)) {
    llvm::sys::fs::remove(scratch);
    return std::nullopt;
  }
  if (!writeFile(getPointer(contents), *name)) {
    llvm::sys::fs::remove(path);
    return std::nullopt;
  }
  removeOld();
  return path;
}

/// Removes the headers that were used longest ago.
void HeaderCache::removeOld() const {
  using Entry = std::pair<llvm::sys::TimePoint<>, std::string>;
  std::vector<Entry> headers;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(it->path());
    if (llvm::sys::path::extension(name) != ".pch")
      continue;
    llvm::sys::fs::file_status status;
    std::string pointer =
        joinPath(folder, (name.split('-').first + ".name").str());
    if (!llvm::sys::fs::status(pointer, status))
      headers.emplace_back(status.getLastModificationTime(), it->path());
    else
      headers.emplace_back(llvm::sys::TimePoint<>(), it->path());
  }
  if (headers.size() <= kMaxHeaders)
    return;
  std::sort(headers.begin(), headers.end());
  headers.resize(headers.size() - kMaxHeaders);
  for (const Entry &header : headers)
    llvm::sys::fs::remove(header.second);
}

std::optional<std::string> HeaderCache::findOrBuild(const Contents &contents) {
  std::optional<std::string> found = find(contents);
  if (!found)
    found = build(contents);
  if (found)
    used.push_back(getPointer(contents));
  return found;
}

std::optional<std::string> HeaderCache::get() {
  return findOrBuild(describe("", std::nullopt));
}

std::optional<std::string> HeaderCache::getWith(const std::string &leading) {
  if (leading.empty())
    return get();
  // What is there is used. Else the headers are put on top of a basic header
  // that is there, which takes the time of their text; a first run would spend
  // more on two headers than on one.
  Contents whole = describe(leading, std::nullopt);
  std::optional<std::string> found = find(whole);
  if (found)
    used.push_back(getPointer(whole));
  if (!found && !isRefused(whole)) {
    std::optional<std::string> basic = find(describe("", std::nullopt));
    Contents contents = basic ? describe(leading, basic) : whole;
    if (!isRefused(contents))
      found = findOrBuild(contents);
    if (found && basic)
      used.push_back(getPointer(describe("", std::nullopt)));
  }
  return found ? found : get();
}

void HeaderCache::drop() {
  for (const std::string &pointer : used)
    llvm::sys::fs::remove(pointer);
  used.clear();
}
