// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of device code, by Clang's host pass, which parses the bodies of
// kernels and device functions although it makes no code of them. What stands
// under `#ifdef __CUDA_ARCH__` is not there.

#ifndef D2K_LIB_FRONTEND_CUDA_DEVICELOOPS_H
#define D2K_LIB_FRONTEND_CUDA_DEVICELOOPS_H

#include "d2k/Fact/SourceLoop.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace clang {
class ASTContext;
class FunctionDecl;
} // namespace clang

namespace d2k::cuda {

/// The loops in \p functions, definitions that depend on no template argument,
/// in the order of the text.
std::vector<SourceLoop>
findLoops(clang::ASTContext &context,
          llvm::ArrayRef<const clang::FunctionDecl *> functions);

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_DEVICELOOPS_H
