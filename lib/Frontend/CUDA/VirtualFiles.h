// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that Clang is shown and that are on no disk: the headers of Compat.h,
// and what it looks for in a toolkit.

#ifndef D2K_LIB_FRONTEND_CUDA_VIRTUALFILES_H
#define D2K_LIB_FRONTEND_CUDA_VIRTUALFILES_H

#include "clang/Tooling/Tooling.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <string>

namespace d2k::cuda {

/// Path and contents of each such file for the toolkit in \p toolkit. \p
/// leading is what stands in kLeadingPath, unless it is empty.
clang::tooling::FileContentMappings
getVirtualFiles(const std::string &toolkit, const std::string &leading = "");

/// Whether \p path is one of our headers.
bool isVirtualHeader(llvm::StringRef path);

/// The disk with these files.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
makeFileSystem(const std::string &toolkit, const std::string &leading = "");

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_VIRTUALFILES_H
