// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers of the toolkit and of the standard library that a source is sure
// to include, so that a precompiled header can hold them, too.

#ifndef D2K_LIB_FRONTEND_CUDA_LEADINGHEADERS_H
#define D2K_LIB_FRONTEND_CUDA_LEADINGHEADERS_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace d2k::cuda {

/// The names of headers that \p text, which stands for the file \p path,
/// includes on every path and outside of braces: itself or through other files,
/// which are looked for beside it and in \p folders. Only headers of \p toolkit
/// and of the C++ library that take Clang long. In the order of the text,
/// without doubles.
///
/// Such a header means the same wherever it is included, unless the code before
/// it defines a macro that it reads. The search therefore ends at a `#define`
/// of a name that belongs to the implementation (`__CUDA_NO_HALF_OPERATORS__`,
/// `CUB_STDERR`, `_GNU_SOURCE`) or that is no name of a macro by custom
/// (`private`).
///
/// Example: `#include "task.h"` and below `#include <vector>`, where task.h has
/// `#include <cuda_bf16.h>`: cuda_bf16.h and vector. `#ifdef DEBUG`, `#include
/// <iostream>`, `#endif`: none.
std::vector<std::string>
findLeadingHeaders(llvm::StringRef text, llvm::StringRef path,
                   const std::vector<std::string> &folders,
                   const std::string &toolkit);

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_LEADINGHEADERS_H
