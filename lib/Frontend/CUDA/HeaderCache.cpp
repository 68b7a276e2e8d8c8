// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HeaderCache.h"

#include "Compat.h"
#include "VirtualFiles.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Tooling/Tooling.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::cuda;

/// Headers that are kept in a folder; older ones make room.
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
                         const std::string &toolkit)
    : folder(std::move(folder)), arguments(std::move(arguments)),
      toolkit(toolkit) {
  std::string text = clang::getClangFullVersion();
  for (const std::string &argument : this->arguments)
    text += '\n' + argument;
  text += '\n' + describeToolkit(toolkit) + '\n' + kCompatText;
  key = sha256Hex(text).substr(0, 32);
}

std::string HeaderCache::getPointer() const {
  return joinPath(folder, key + ".name");
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

std::optional<std::string> HeaderCache::find() const {
  if (!isRegularFile(getPointer()))
    return std::nullopt;
  Result<std::string> name = readFile(getPointer());
  if (!name)
    return std::nullopt;
  std::string path = joinPath(folder, key + "-" + *name + ".pch");
  if (digest(path) != *name)
    return std::nullopt;
  return path;
}

namespace {
/// Writes the syntax tree of the header to a file.
class Builder : public clang::tooling::ToolAction {
public:
  explicit Builder(std::string path) : path(std::move(path)) {}

  bool runInvocation(std::shared_ptr<clang::CompilerInvocation> invocation,
                     clang::FileManager *files,
                     std::shared_ptr<clang::PCHContainerOperations> containers,
                     clang::DiagnosticConsumer *diagnostics) override {
    invocation->getFrontendOpts().OutputFile = path;
    clang::CompilerInstance compiler(std::move(invocation),
                                     std::move(containers));
    compiler.setVirtualFileSystem(files->getVirtualFileSystemPtr());
    compiler.setFileManager(files);
    compiler.createDiagnostics(diagnostics, /*ShouldOwnClient=*/false);
    compiler.createSourceManager();
    clang::GeneratePCHAction action;
    return compiler.ExecuteAction(action) &&
           !compiler.getDiagnostics().hasErrorOccurred();
  }

private:
  std::string path;
};
} // namespace

std::optional<std::string> HeaderCache::build() const {
  if (llvm::sys::fs::create_directories(folder))
    return std::nullopt;
  llvm::SmallString<256> scratch;
  if (llvm::sys::fs::createUniqueFile(joinPath(folder, key + "-%%%%%%%%.tmp"),
                                      scratch))
    return std::nullopt;

  auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(
      clang::FileSystemOptions(), makeFileSystem(toolkit));
  std::vector<std::string> command = {"clang"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.push_back("-fsyntax-only");
  command.push_back(kCompatPath);
  Builder builder(scratch.str().str());
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
    path = joinPath(folder, key + "-" + *name + ".pch");
  if (!name || llvm::sys::fs::rename(scratch, path)) {
    llvm::sys::fs::remove(scratch);
    return std::nullopt;
  }
  if (!writeFile(getPointer(), *name)) {
    llvm::sys::fs::remove(path);
    return std::nullopt;
  }
  removeOld();
  return path;
}

/// Removes the headers that were built longest ago.
void HeaderCache::removeOld() const {
  using Entry = std::pair<llvm::sys::TimePoint<>, std::string>;
  std::vector<Entry> headers;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error)) {
    llvm::sys::fs::file_status status;
    if (llvm::sys::path::extension(it->path()) == ".pch" &&
        !llvm::sys::fs::status(it->path(), status))
      headers.emplace_back(status.getLastModificationTime(), it->path());
  }
  if (headers.size() <= kMaxHeaders)
    return;
  std::sort(headers.begin(), headers.end());
  headers.resize(headers.size() - kMaxHeaders);
  for (const Entry &header : headers)
    llvm::sys::fs::remove(header.second);
}

std::optional<std::string> HeaderCache::get() {
  if (std::optional<std::string> found = find())
    return found;
  return build();
}

void HeaderCache::drop() { llvm::sys::fs::remove(getPointer()); }
