// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "VirtualFiles.h"

#include "Compat.h"

#include "d2k/Support/Files.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace d2k;
using namespace d2k::cuda;

clang::tooling::FileContentMappings
cuda::getVirtualFiles(const std::string &toolkit, const std::string &leading) {
  clang::tooling::FileContentMappings files = {{kCompatPath, kCompatText},
                                               {kOpenMPPath, kOpenMPText},
                                               {kTexturePath, kTextureText},
                                               {kCurandPath, ""}};
  if (!leading.empty())
    files.emplace_back(kLeadingPath, leading);
  // Clang takes no folder for a toolkit that has no programs. The headers and
  // libdevice of PyPI come without.
  if (std::string programs = joinPath(toolkit, "bin"); !isDirectory(programs))
    files.emplace_back(joinPath(programs, "none"), "");
  return files;
}

bool cuda::isVirtualHeader(llvm::StringRef path) {
  return path == kCompatPath || path == kLeadingPath || path == kOpenMPPath ||
         path == kCurandPath || path == kTexturePath;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
cuda::makeFileSystem(const std::string &toolkit, const std::string &leading) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (const auto &[path, text] : getVirtualFiles(toolkit, leading))
    memory->addFile(path, 0, llvm::MemoryBuffer::getMemBufferCopy(text, path));
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      llvm::vfs::getRealFileSystem());
  overlay->pushOverlay(memory);
  return overlay;
}
