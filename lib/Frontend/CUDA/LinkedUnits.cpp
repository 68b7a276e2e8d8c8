// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LinkedUnits.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Mangle.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/Support/Casting.h"

using namespace d2k;
using namespace d2k::cuda;

/// The name by which a linker knows \p decl; empty when it does not.
static std::string getLinkerName(const clang::NamedDecl *decl) {
  if (!decl->isExternallyVisible() || decl->isTemplated() ||
      !decl->getDeclName())
    return "";
  return clang::ASTNameGenerator(decl->getASTContext()).getName(decl);
}

/// Calls \p visit with the functions and variables that \p scope defines.
static void
forEachDefinition(const clang::DeclContext *scope,
                  llvm::function_ref<void(const clang::NamedDecl *)> visit) {
  // Of what a precompiled header holds every unit has a copy.
  for (const clang::Decl *decl : scope->noload_decls()) {
    if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl)) {
      if (function->isThisDeclarationADefinition())
        visit(function);
    } else if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(decl)) {
      if (variable->isThisDeclarationADefinition() ==
          clang::VarDecl::Definition)
        visit(variable);
    } else if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl,
                         clang::CXXRecordDecl, clang::ExportDecl>(decl)) {
      forEachDefinition(llvm::cast<clang::DeclContext>(decl), visit);
    } else if (const auto *tmpl =
                   llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      // An explicit instantiation serves other units.
      for (const clang::FunctionDecl *instance : tmpl->specializations())
        if (instance->getTemplateSpecializationKind() ==
                clang::TSK_ExplicitInstantiationDefinition &&
            instance->isDefined())
          visit(instance);
    }
  }
}

void LinkedUnits::add(clang::ASTContext &context) {
  contexts.push_back(&context);
  forEachDefinition(
      context.getTranslationUnitDecl(), [&](const clang::NamedDecl *decl) {
        if (context.getSourceManager().isInSystemHeader(decl->getLocation()))
          return;
        std::string name = getLinkerName(decl);
        if (!name.empty())
          definitions.try_emplace(name, decl);
      });
}

const clang::NamedDecl *
LinkedUnits::find(const clang::NamedDecl *declared) const {
  auto [entry, isNew] = found.try_emplace(declared, nullptr);
  if (!isNew)
    return entry->second;
  std::string name = getLinkerName(declared);
  auto definition = name.empty() ? definitions.end() : definitions.find(name);
  if (definition != definitions.end())
    entry->second = definition->second;
  return entry->second;
}

const clang::FunctionDecl *
LinkedUnits::findDefinition(const clang::FunctionDecl *function) const {
  const clang::FunctionDecl *definition = nullptr;
  if (function->hasBody(definition))
    return definition;
  const auto *other =
      llvm::dyn_cast_or_null<clang::FunctionDecl>(find(function));
  if (other)
    other->hasBody(definition);
  return definition;
}

bool LinkedUnits::isCopy(const clang::FunctionDecl *function) const {
  const clang::NamedDecl *first =
      contexts.size() > 1 ? find(function) : nullptr;
  return first && first != function;
}

const clang::VarDecl *
LinkedUnits::findDefinition(const clang::VarDecl *variable) const {
  if (const clang::VarDecl *own = variable->getDefinition())
    return own;
  return llvm::dyn_cast_or_null<clang::VarDecl>(find(variable));
}
