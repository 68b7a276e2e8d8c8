// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of the host interpreter.

#include "Interpreter.h"

#include "clang/AST/ASTContext.h"

#include <cmath>

using namespace d2k;
using namespace d2k::cuda;

Value Interpreter::toBase(Value address, const clang::CastExpr *cast) {
  if (address.kind != Value::Kind::Pointer || !address.cell)
    return address;
  Cell *cell = storage.getTarget(address);
  bool up = cast->getCastKind() != clang::CK_BaseToDerived;
  llvm::SmallVector<const clang::CXXBaseSpecifier *> path(cast->path_begin(),
                                                          cast->path_end());
  for (size_t i = 0; cell && i < path.size(); ++i) {
    if (up) {
      Cell *next = nullptr;
      const clang::CXXRecordDecl *record =
          cell->type.isNull() ? nullptr : cell->type->getAsCXXRecordDecl();
      const clang::CXXRecordDecl *wanted =
          path[i]->getType()->getAsCXXRecordDecl();
      if (record && record->hasDefinition() && cell->isRecord) {
        unsigned index = 0;
        for (const clang::CXXBaseSpecifier &base : record->bases()) {
          const clang::CXXRecordDecl *decl =
              base.getType()->getAsCXXRecordDecl();
          if (decl && wanted &&
              decl->getCanonicalDecl() == wanted->getCanonicalDecl())
            next = cell->children[index];
          ++index;
        }
      }
      cell = next;
    } else {
      cell = cell->parent;
    }
  }
  if (!cell)
    return makeUnknown("a conversion to a base class in " + describe(cast));
  return Value::makePointer(cell);
}

Value Interpreter::castPointer(Value value, clang::QualType to) {
  if (value.kind == Value::Kind::Pointer && value.cell &&
      value.cell->type.isNull() && to->isPointerType()) {
    storage.giveType(value.cell, to->getPointeeType());
    if (value.cell->isArray && !value.cell->children.empty())
      value.cell = value.cell->children[0];
  }
  return value;
}

Value Interpreter::evaluateCast(const clang::CastExpr *cast) {
  const clang::Expr *sub = cast->getSubExpr();
  clang::QualType to = cast->getType();
  switch (cast->getCastKind()) {
  case clang::CK_LValueToRValue:
    return load(evaluateAddress(sub), sub->getType());
  case clang::CK_NoOp:
    return sub->isGLValue() ? load(evaluateAddress(sub), sub->getType())
                            : evaluate(sub);
  case clang::CK_ArrayToPointerDecay: {
    Value address = evaluateAddress(sub);
    if (address.kind == Value::Kind::Pointer) {
      Cell *cell = storage.getTarget(address);
      if (cell && cell->isArray && !cell->children.empty())
        return Value::makePointer(cell->children[0]);
    }
    return address;
  }
  case clang::CK_FunctionToPointerDecay:
  case clang::CK_BuiltinFnToFnPtr:
    return evaluateAddress(sub);
  case clang::CK_NullToPointer:
    return Value::makePointer(nullptr);
  case clang::CK_BitCast:
  case clang::CK_CPointerToObjCPointerCast:
  case clang::CK_AddressSpaceConversion:
    return castPointer(evaluate(sub), to);
  case clang::CK_DerivedToBase:
  case clang::CK_UncheckedDerivedToBase:
  case clang::CK_BaseToDerived: {
    Value value = evaluate(sub);
    if (value.kind == Value::Kind::Record)
      return load(toBase(Value::makePointer(value.cell), cast), to);
    return toBase(value, cast);
  }
  case clang::CK_IntegralCast:
  case clang::CK_BooleanToSignedIntegral: {
    Value value = evaluate(sub);
    return wrap(value, to);
  }
  case clang::CK_IntegralToBoolean:
  case clang::CK_PointerToBoolean:
  case clang::CK_FloatingToBoolean:
  case clang::CK_MemberPointerToBoolean: {
    Value value = evaluate(sub);
    if (std::optional<bool> known = toBool(value))
      return Value::makeInteger(*known, value.origins);
    return value;
  }
  case clang::CK_IntegralToFloating: {
    Value value = evaluate(sub);
    if (!value.isInteger())
      return value;
    double real = sub->getType()->isUnsignedIntegerOrEnumerationType()
                      ? double(uint64_t(value.integer))
                      : double(value.integer);
    return Value::makeReal(real, value.origins);
  }
  case clang::CK_FloatingToIntegral: {
    Value value = evaluate(sub);
    if (value.kind != Value::Kind::Real)
      return value;
    if (!(std::abs(value.real) < 9.2e18))
      return makeUnknown("a conversion out of range in " + describe(cast));
    return wrap(Value::makeInteger(int64_t(value.real), value.origins), to);
  }
  case clang::CK_FloatingCast: {
    Value value = evaluate(sub);
    if (value.kind == Value::Kind::Real &&
        getContext().getTypeSize(to.getCanonicalType()) == 32)
      value.real = double(float(value.real));
    return value;
  }
  case clang::CK_IntegralToPointer: {
    Value value = evaluate(sub);
    if (value.isInteger() && value.integer == 0)
      return Value::makePointer(nullptr);
    // cudaStreamLegacy and cudaStreamPerThread are small integers.
    return value;
  }
  case clang::CK_PointerToIntegral: {
    Value value = evaluate(sub);
    if (value.isNull())
      return Value::makeInteger(0);
    return value;
  }
  case clang::CK_ToVoid:
    if (sub->isGLValue())
      evaluateAddress(sub);
    else
      evaluate(sub);
    return Value();
  case clang::CK_UserDefinedConversion:
  case clang::CK_ConstructorConversion:
    return evaluate(sub);
  default:
    break;
  }
  if (sub->isGLValue())
    evaluateAddress(sub);
  else
    evaluate(sub);
  return makeUnknown(describe(cast));
}
