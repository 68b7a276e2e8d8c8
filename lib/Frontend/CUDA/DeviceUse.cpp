// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether code of the host may use the device: launch, or call an API or a
// library of it. What cannot needs to be followed less far.

#include "Interpreter.h"

#include "clang/AST/Attr.h"
#include "clang/AST/StmtVisitor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace d2k;
using namespace d2k::cuda;

namespace {
/// Looks for a use of the device in one function, and for what it calls.
class DeviceUse : public clang::ConstStmtVisitor<DeviceUse> {
public:
  bool found = false;
  std::vector<const clang::FunctionDecl *> callees;

  void visit(const clang::Stmt *stmt) {
    if (!stmt || found)
      return;
    Visit(stmt);
    for (const clang::Stmt *child : stmt->children())
      visit(child);
  }
  void VisitCUDAKernelCallExpr(const clang::CUDAKernelCallExpr *) {
    found = true;
  }
  void VisitCallExpr(const clang::CallExpr *expr) {
    // Through a pointer it may be anything.
    found |=
        !expr->getDirectCallee() && !llvm::isa<clang::CXXPseudoDestructorExpr>(
                                        expr->getCallee()->IgnoreParens());
    if (const auto *call = llvm::dyn_cast<clang::CXXMemberCallExpr>(expr))
      if (const clang::CXXMethodDecl *method = call->getMethodDecl())
        found |= method->isVirtual();
  }
  void VisitCXXConstructExpr(const clang::CXXConstructExpr *expr) {
    callees.push_back(expr->getConstructor());
    if (const clang::CXXRecordDecl *record =
            expr->getConstructor()->getParent();
        record->hasDefinition() && !record->hasTrivialDestructor())
      if (const clang::CXXDestructorDecl *destructor = record->getDestructor())
        callees.push_back(destructor);
  }
  void VisitDeclRefExpr(const clang::DeclRefExpr *expr) {
    if (const auto *function =
            llvm::dyn_cast<clang::FunctionDecl>(expr->getDecl()))
      callees.push_back(function);
  }
  void VisitMemberExpr(const clang::MemberExpr *expr) {
    if (const auto *function =
            llvm::dyn_cast<clang::FunctionDecl>(expr->getMemberDecl()))
      callees.push_back(function);
  }
};
} // namespace

bool Interpreter::mayTouchDevice(const clang::Stmt *stmt) {
  auto [known, isNew] = deviceStatements.try_emplace(stmt, false);
  if (!isNew)
    return known->second;
  DeviceUse use;
  use.visit(stmt);
  bool result = use.found || llvm::any_of(use.callees, [&](const auto *callee) {
                  return mayTouchDevice(callee);
                });
  return deviceStatements[stmt] = result;
}

bool Interpreter::mayTouchDevice(const clang::FunctionDecl *function) {
  if (auto known = deviceFunctions.find(function);
      known != deviceFunctions.end())
    return known->second;
  // The body is that of the call operator.
  if (const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
      method && method->isLambdaStaticInvoker())
    return true;
  bool result = false;
  llvm::SetVector<const clang::FunctionDecl *> work;
  work.insert(function);
  for (size_t i = 0; i < work.size() && !result; ++i) {
    const clang::FunctionDecl *definition = nullptr;
    definition = findBody(work[i]);
    if (!definition) {
      // An API, or a library of the device.
      std::string name = work[i]->getNameAsString();
      result = llvm::StringRef(name).starts_with("cu") ||
               llvm::StringRef(name).starts_with("nccl");
      continue;
    }
    DeviceUse use;
    use.visit(definition->getBody());
    if (const auto *constructor =
            llvm::dyn_cast<clang::CXXConstructorDecl>(definition))
      for (const clang::CXXCtorInitializer *init : constructor->inits())
        use.visit(init->getInit());
    result = use.found || definition->hasAttr<clang::CUDAGlobalAttr>();
    work.insert_range(use.callees);
  }
  deviceFunctions[function] = result;
  return result;
}
