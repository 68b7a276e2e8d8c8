// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The translation units of a submission as a linker sees them: a function or
// variable that one unit only declares is the one that another defines under
// the same name, and names that only their own unit sees stay apart.

#ifndef D2K_LIB_FRONTEND_CUDA_LINKEDUNITS_H
#define D2K_LIB_FRONTEND_CUDA_LINKEDUNITS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace clang {
class ASTContext;
class FunctionDecl;
class NamedDecl;
class VarDecl;
} // namespace clang

namespace d2k::cuda {

class LinkedUnits {
public:
  /// Adds what the unit in \p context defines for others; of two definitions of
  /// one name, as headers have them, the first counts. The unit has to live as
  /// long as this object.
  void add(clang::ASTContext &context);

  /// The definition of \p function, in its own unit or in another one; null
  /// when no unit has it.
  const clang::FunctionDecl *
  findDefinition(const clang::FunctionDecl *function) const;
  /// The same for a variable outside of functions.
  const clang::VarDecl *findDefinition(const clang::VarDecl *variable) const;

  /// Whether \p function is a definition of which another unit has one, too,
  /// that counts.
  bool isCopy(const clang::FunctionDecl *function) const;

  llvm::ArrayRef<clang::ASTContext *> getContexts() const { return contexts; }

private:
  const clang::NamedDecl *find(const clang::NamedDecl *declared) const;

  std::vector<clang::ASTContext *> contexts;
  llvm::StringMap<const clang::NamedDecl *> definitions;
  mutable llvm::DenseMap<const clang::NamedDecl *, const clang::NamedDecl *>
      found;
};

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_LINKEDUNITS_H
