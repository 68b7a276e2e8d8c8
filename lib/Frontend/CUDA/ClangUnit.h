// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One translation unit as Clang sees it. Clang is asked for a syntax tree and
// judges nothing: its errors are kept, with a note on whether they concern host
// code or only the bodies of device functions.

#ifndef D2K_LIB_FRONTEND_CUDA_CLANGUNIT_H
#define D2K_LIB_FRONTEND_CUDA_CLANGUNIT_H

#include "d2k/Frontend/CUDA/HostReader.h"
#include "d2k/Frontend/CUDA/NvccFlags.h"

#include "clang/Frontend/ASTUnit.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>
#include <vector>

namespace d2k::cuda {

/// Clang compiles CUDA once for the host and once for the device.
enum class Pass : uint8_t { Host, Device };

struct ClangUnit {
  /// Null when Clang made no syntax tree at all.
  std::unique_ptr<clang::ASTUnit> ast;
  /// Errors, with their places.
  std::vector<std::string> diagnostics;
  /// Errors outside of the bodies of device functions.
  size_t numHostErrors = 0;
  /// Errors in bodies of device functions.
  size_t numDeviceErrors = 0;
  /// Files that were read, apart from those of a precompiled header.
  std::vector<std::string> files;
};

/// "k.cu:3:5: expected ';'" of a diagnostic.
std::string formatError(const clang::Diagnostic &diagnostic);

/// Clang's arguments for \p request and \p flags, without a precompiled header
/// and without the include path.
std::vector<std::string> getLanguageArguments(const HostRequest &request,
                                              const NvccFlags &flags,
                                              Pass pass);

/// Reads \p text, which stands for the file \p path.
ClangUnit readUnit(const HostRequest &request, const NvccFlags &flags,
                   Pass pass, const std::string &path, const std::string &text);

/// Calls \p fn for each function of the unit that was read from text, the
/// patterns of templates included, their instances not.
void forEachFunction(const clang::ASTContext &context,
                     llvm::function_ref<void(const clang::FunctionDecl *)> fn);

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_CLANGUNIT_H
