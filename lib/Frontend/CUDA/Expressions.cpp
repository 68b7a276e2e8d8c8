// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions of the host interpreter: storage, variables, glvalues, rvalues.

#include "Interpreter.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"

using namespace d2k;
using namespace d2k::cuda;

/// Why a value is not known that nothing wrote.
static constexpr const char *kNeverSet = "a value that was never set";

//===----------------------------------------------------------------------===//
// Loading and storing
//===----------------------------------------------------------------------===//

Value Interpreter::load(const Value &address, clang::QualType type) {
  type = type.getNonReferenceType().getCanonicalType();
  if (address.kind == Value::Kind::Function)
    return address;
  if (address.kind == Value::Kind::Device)
    return makeUnknown("device memory that the host reads");
  if (address.kind != Value::Kind::Pointer) {
    Value unknown = address;
    if (!unknown.isUnknown())
      unknown = makeUnknown("memory at an address that is not a pointer");
    unknown.cell = nullptr;
    return unknown;
  }
  Cell *cell = storage.getTarget(address);
  if (!cell)
    return makeUnknown("memory outside of a known object");
  if (cell->type.isNull()) {
    storage.giveType(cell, type);
  }
  // Memory from an allocator is an array; its address is that of its first
  // element.
  if (cell->rawBytes && cell->isArray && !cell->children.empty() &&
      !type->isArrayType())
    cell = cell->children[0];
  if (type->isRecordType() || type->isArrayType())
    return cell->isScalar() || cell->isOpaque
               ? (cell->value.isUnknown() && cell->value.text
                      ? cell->value
                      : makeUnknown("an object that is not modelled"))
               : Value::makeRecord(cell);
  // A scalar read of a larger object reads its first part.
  while (!cell->isScalar() && !cell->children.empty())
    cell = cell->children[0];
  if (cell->isOpaque)
    return makeUnknown("an object that is not modelled");
  if (cell->value.isUnknown() && !cell->value.text)
    return makeUnknown(kNeverSet);
  // The same bytes as another type are not modelled.
  if (cell->value.isInteger() && type->isRealFloatingType())
    return makeUnknown("an integer read as a floating-point number");
  if (cell->value.kind == Value::Kind::Real && !type->isRealFloatingType())
    return makeUnknown("a floating-point number read as another type");
  return cell->value;
}

void Interpreter::store(const Value &address, const Value &value) {
  if (address.kind == Value::Kind::Pointer) {
    Cell *cell = storage.getTarget(address);
    if (cell && cell->type.isNull() && !value.isUnknown() &&
        value.kind == Value::Kind::Record) {
      storage.giveType(cell, value.cell->type);
    }
    if (cell) {
      if (cell->isArray && !cell->children.empty() &&
          value.kind != Value::Kind::Record && !cell->type.isNull() &&
          cell->rawBytes)
        cell = cell->children[0];
      if (value.kind == Value::Kind::Record)
        storage.copy(cell, value.cell);
      else if (cell->isScalar()) {
        Value stored = value;
        for (const Control &control : controls)
          if (cell->getRoot()->number < control.firstNewCell)
            stored.origins = stored.origins | control.origins;
        storage.write(cell, stored);
      } else {
        storage.fill(cell, makeUnknown("an object written in part"));
        storage.escape(value);
      }
      return;
    }
  }
  // Somewhere in an object that is known, or anywhere that code outside knows.
  if (address.isUnknown() && address.cell) {
    storage.fill(address.cell,
                 makeUnknown("an element written at an index that is " +
                             std::string("not known")));
    storage.escape(value);
    return;
  }
  if (value.kind == Value::Kind::Device)
    storage.escape(value);
  if (address.kind == Value::Kind::Device)
    return;
  storage.havocEscaped(storage.intern("a write through a pointer that is not "
                                      "known"));
  if (value.kind == Value::Kind::Pointer)
    storage.escape(value);
}

Value Interpreter::wrap(const Value &value, clang::QualType type) {
  if (!value.isInteger())
    return value;
  type = type.getCanonicalType();
  Value result = value;
  if (type->isBooleanType()) {
    result.integer = value.integer != 0;
    return result;
  }
  if (!type->isIntegralOrEnumerationType())
    return result;
  uint64_t bits = getContext().getIntWidth(type);
  if (bits == 0 || bits >= 64)
    return result;
  uint64_t mask = (uint64_t(1) << bits) - 1;
  uint64_t low = uint64_t(value.integer) & mask;
  if (type->isSignedIntegerOrEnumerationType() && (low >> (bits - 1)) & 1)
    low |= ~mask;
  result.integer = int64_t(low);
  return result;
}

std::optional<bool> Interpreter::toBool(const Value &value) {
  switch (value.kind) {
  case Value::Kind::Integer:
    return value.integer != 0;
  case Value::Kind::Real:
    return value.real != 0;
  case Value::Kind::Pointer:
    return value.cell != nullptr;
  case Value::Kind::Function:
  case Value::Kind::Handle:
    return true;
  case Value::Kind::Device:
    return true;
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

Value Interpreter::getGlobal(const clang::VarDecl *variable) {
  // Other units name it by a declaration of their own.
  if (linked && !variable->getDefinition())
    if (const clang::VarDecl *other = linked->findDefinition(variable))
      variable = other;
  ContextScope unit(*this, variable->getASTContext());
  variable = variable->getCanonicalDecl();
  const clang::VarDecl *definition = variable->getDefinition();
  if (!definition)
    definition = variable->getInitializingDeclaration();
  if (!definition)
    definition = variable;
  if (variable->hasAttr<clang::CUDADeviceAttr>() ||
      variable->hasAttr<clang::CUDAConstantAttr>()) {
    auto [entry, isNew] = symbols.try_emplace(variable, 0);
    if (isNew) {
      Buffer buffer;
      buffer.kind = Buffer::Kind::Symbol;
      buffer.name = variable->getNameAsString();
      if (!variable->getType()->isIncompleteType() &&
          !variable->getType()->isDependentType())
        buffer.bytes =
            getContext().getTypeSizeInChars(variable->getType()).getQuantity();
      entry->second = addBuffer(std::move(buffer));
    }
    return Value::makeDevice(entry->second, 0);
  }
  if (variable->getType()->isReferenceType()) {
    auto found = globalReferences.find(variable);
    if (found != globalReferences.end())
      return found->second;
    globalReferences[variable] =
        makeUnknown("the reference " + variable->getNameAsString());
    if (const clang::Expr *init = definition->getAnyInitializer();
        init && !frames.empty())
      globalReferences[variable] = evaluateAddress(init);
    return globalReferences[variable];
  }
  auto [entry, isNew] = globals.try_emplace(variable, nullptr);
  if (!isNew)
    return Value::makePointer(entry->second);
  clang::QualType type = definition->getType();
  if (type->isIncompleteType() || type->isDependentType())
    return makeUnknown("the variable " + variable->getNameAsString());
  Cell *cell = storage.make(type);
  globals[variable] = cell;
  // A member of a class may have its initialiser there, or be defined in
  // another file; that of a template may not be instantiated.
  bool isElsewhere = variable->getStorageClass() == clang::SC_Extern;
  if (variable->isStaticDataMember()) {
    const clang::VarDecl *pattern = variable->getTemplateInstantiationPattern();
    isElsewhere = !variable->hasDefinition(getContext()) ||
                  (pattern && pattern->getAnyInitializer());
  }
  if (const clang::Expr *init = definition->getAnyInitializer()) {
    // Initialised once, wherever the first use stands.
    size_t mark = storage.mark();
    initialize(cell, init);
    storage.keep(mark);
  } else if (!isElsewhere) {
    size_t mark = storage.mark();
    storage.fillZero(cell);
    storage.keep(mark);
  }
  return Value::makePointer(cell);
}

Value Interpreter::evaluateVariable(const clang::ValueDecl *decl,
                                    const clang::Expr *expr) {
  if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl))
    return Value::makeFunction(function);
  if (auto found = frame().locals.find(decl); found != frame().locals.end())
    return found->second;
  if (const auto *binding = llvm::dyn_cast<clang::BindingDecl>(decl)) {
    if (const clang::VarDecl *holder = binding->getHoldingVar())
      return evaluateVariable(holder, expr);
    if (const clang::Expr *bound = binding->getBinding())
      return evaluateAddress(bound);
  }
  if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(decl)) {
    // A capture of the lambda whose body runs.
    if (frame().self.kind == Value::Kind::Pointer) {
      Cell *self = storage.getTarget(frame().self);
      const clang::CXXRecordDecl *closure =
          self && !self->type.isNull() ? self->type->getAsCXXRecordDecl()
                                       : nullptr;
      if (closure && closure->isLambda()) {
        llvm::DenseMap<const clang::ValueDecl *, clang::FieldDecl *> captures;
        clang::FieldDecl *thisCapture = nullptr;
        closure->getCaptureFields(captures, thisCapture);
        if (auto found = captures.find(variable); found != captures.end())
          if (Cell *cell = storage.getField(self, found->second))
            return found->second->getType()->isReferenceType()
                       ? cell->value
                       : Value::makePointer(cell);
      }
    }
    if (variable->hasGlobalStorage())
      return getGlobal(variable);
    // A constexpr local of an enclosing function that a lambda names without
    // capturing it.
    if (variable->getInit() &&
        variable->isUsableInConstantExpressions(getContext())) {
      Cell *cell = storage.make(variable->getType());
      initialize(cell, variable->getInit());
      return Value::makePointer(cell);
    }
  }
  return makeUnknown("the variable " + decl->getNameAsString());
}

//===----------------------------------------------------------------------===//
// Glvalues
//===----------------------------------------------------------------------===//

Value Interpreter::makeTemporary(const clang::Expr *expr) {
  Cell *cell = storage.make(expr->getType());
  initialize(cell, expr);
  return Value::makePointer(cell);
}

Value Interpreter::movePointer(const Value &pointer, const Value &index,
                               bool negative, clang::QualType pointee,
                               const clang::Expr *site) {
  Value result = pointer;
  result.origins = pointer.origins | index.origins;
  if (pointer.kind == Value::Kind::Device) {
    int64_t size = 1;
    if (!pointee->isVoidType() && !pointee->isIncompleteType() &&
        !pointee->isDependentType() && !pointee->isFunctionType())
      size = getContext().getTypeSizeInChars(pointee).getQuantity();
    int64_t bytes = 0;
    if (!index.isInteger() || !pointer.byteOffset ||
        __builtin_mul_overflow(index.integer, negative ? -size : size,
                               &bytes) ||
        __builtin_add_overflow(*pointer.byteOffset, bytes, &bytes))
      result.byteOffset.reset();
    else
      result.byteOffset = bytes;
    return result;
  }
  if (pointer.kind == Value::Kind::Pointer && pointer.cell) {
    Cell *cell = pointer.cell;
    if (cell->type.isNull()) {
      storage.giveType(cell, pointee);
      if (cell->isArray && !cell->children.empty())
        cell = cell->children[0];
    } else if (cell->isArray && cell->rawBytes && !cell->children.empty()) {
      cell = cell->children[0];
    }
    if (index.isInteger()) {
      result.cell = cell;
      result.offset =
          pointer.offset + (negative ? -index.integer : index.integer);
      // Kept at the element itself where there is one.
      if (Cell *target = storage.getTarget(result)) {
        result.cell = target;
        result.offset = 0;
      }
      return result;
    }
    Value unknown =
        index.text ? index : makeUnknown("the index " + describe(site));
    unknown.kind = Value::Kind::Unknown;
    unknown.cell = cell->parent && cell->parent->isArray ? cell->parent : cell;
    return unknown;
  }
  if (pointer.isUnknown())
    return pointer;
  return makeUnknown("pointer arithmetic in " + describe(site));
}

Value Interpreter::evaluateAddress(const clang::Expr *expr) {
  if (!step(expr))
    return makeUnknown("code that is not followed");
  if (!expr->isGLValue())
    return makeTemporary(expr);
  switch (expr->getStmtClass()) {
  case clang::Stmt::ParenExprClass:
    return evaluateAddress(llvm::cast<clang::ParenExpr>(expr)->getSubExpr());
  case clang::Stmt::ExprWithCleanupsClass:
  case clang::Stmt::ConstantExprClass:
    return evaluateAddress(llvm::cast<clang::FullExpr>(expr)->getSubExpr());
  case clang::Stmt::SubstNonTypeTemplateParmExprClass:
    return evaluateAddress(llvm::cast<clang::SubstNonTypeTemplateParmExpr>(expr)
                               ->getReplacement());
  case clang::Stmt::CXXDefaultArgExprClass:
    return evaluateAddress(
        llvm::cast<clang::CXXDefaultArgExpr>(expr)->getExpr());
  case clang::Stmt::MaterializeTemporaryExprClass:
    return makeTemporary(
        llvm::cast<clang::MaterializeTemporaryExpr>(expr)->getSubExpr());
  case clang::Stmt::DeclRefExprClass:
    return evaluateVariable(llvm::cast<clang::DeclRefExpr>(expr)->getDecl(),
                            expr);
  case clang::Stmt::MemberExprClass: {
    const auto *member = llvm::cast<clang::MemberExpr>(expr);
    if (const auto *variable =
            llvm::dyn_cast<clang::VarDecl>(member->getMemberDecl()))
      return getGlobal(variable);
    Value base = member->isArrow() ? evaluate(member->getBase())
                                   : evaluateAddress(member->getBase());
    const auto *field =
        llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (base.kind == Value::Kind::Pointer && field) {
      if (Cell *record = storage.getTarget(base)) {
        if (record->type.isNull())
          storage.giveType(
              record, getContext().getCanonicalTagType(field->getParent()));
        if (record->isArray && record->rawBytes && !record->children.empty())
          record = record->children[0];
        if (Cell *cell = storage.getField(record, field)) {
          if (field->getType()->isReferenceType())
            return cell->value;
          return Value::makePointer(cell);
        }
        if (record->value.isUnknown() && record->value.text)
          return record->value;
      }
      return makeUnknown("the member " + describe(expr));
    }
    if (base.kind == Value::Kind::Device && field && base.byteOffset) {
      base.byteOffset =
          *base.byteOffset +
          int64_t(getContext()
                      .toCharUnitsFromBits(getContext().getFieldOffset(field))
                      .getQuantity());
      return base;
    }
    if (base.isUnknown())
      return base;
    return makeUnknown("the member " + describe(expr));
  }
  case clang::Stmt::ArraySubscriptExprClass: {
    const auto *subscript = llvm::cast<clang::ArraySubscriptExpr>(expr);
    Value base = evaluate(subscript->getBase());
    Value index = evaluate(subscript->getIdx());
    return movePointer(base, index, false, subscript->getType(), expr);
  }
  case clang::Stmt::UnaryOperatorClass: {
    const auto *unary = llvm::cast<clang::UnaryOperator>(expr);
    switch (unary->getOpcode()) {
    case clang::UO_Deref: {
      Value pointer = evaluate(unary->getSubExpr());
      return pointer;
    }
    case clang::UO_PreInc:
    case clang::UO_PreDec: {
      Value address = evaluateAddress(unary->getSubExpr());
      clang::QualType type = unary->getType();
      Value old = load(address, type);
      Value one = Value::makeInteger(1);
      bool down = unary->getOpcode() == clang::UO_PreDec;
      Value next =
          type->isPointerType()
              ? movePointer(old, one, down, type->getPointeeType(), expr)
              : compute(down ? clang::BO_Sub : clang::BO_Add, old, one, type,
                        type, expr);
      store(address, next);
      return address;
    }
    case clang::UO_Extension:
    case clang::UO_Real:
      return evaluateAddress(unary->getSubExpr());
    default:
      break;
    }
    break;
  }
  case clang::Stmt::BinaryOperatorClass:
  case clang::Stmt::CompoundAssignOperatorClass: {
    const auto *binary = llvm::cast<clang::BinaryOperator>(expr);
    if (binary->getOpcode() == clang::BO_Comma) {
      if (binary->getLHS()->isGLValue())
        evaluateAddress(binary->getLHS());
      else
        evaluate(binary->getLHS());
      return evaluateAddress(binary->getRHS());
    }
    if (binary->getOpcode() == clang::BO_Assign) {
      Value value = evaluate(binary->getRHS());
      Value address = evaluateAddress(binary->getLHS());
      store(address, value);
      return address;
    }
    if (const auto *compound =
            llvm::dyn_cast<clang::CompoundAssignOperator>(binary)) {
      Value right = evaluate(binary->getRHS());
      Value address = evaluateAddress(binary->getLHS());
      Value left = load(address, binary->getLHS()->getType());
      clang::QualType type = compound->getComputationLHSType();
      clang::BinaryOperatorKind op =
          clang::BinaryOperator::getOpForCompoundAssignment(
              binary->getOpcode());
      Value result;
      if (binary->getLHS()->getType()->isPointerType()) {
        result =
            movePointer(left, right, op == clang::BO_Sub,
                        binary->getLHS()->getType()->getPointeeType(), expr);
      } else {
        if (type->isRealFloatingType() && left.isInteger())
          left = Value::makeReal(double(left.integer), left.origins);
        result = compute(op, left, right, type,
                         compound->getComputationResultType(), expr);
        clang::QualType target = binary->getLHS()->getType();
        if (result.kind == Value::Kind::Real && !target->isRealFloatingType())
          result = Value::makeInteger(int64_t(result.real), result.origins);
        result = wrap(result, target);
      }
      store(address, result);
      return address;
    }
    break;
  }
  case clang::Stmt::ConditionalOperatorClass:
  case clang::Stmt::BinaryConditionalOperatorClass:
    return evaluateConditional(
        llvm::cast<clang::AbstractConditionalOperator>(expr));
  case clang::Stmt::ImplicitCastExprClass:
  case clang::Stmt::CStyleCastExprClass:
  case clang::Stmt::CXXStaticCastExprClass:
  case clang::Stmt::CXXReinterpretCastExprClass:
  case clang::Stmt::CXXConstCastExprClass:
  case clang::Stmt::CXXDynamicCastExprClass:
  case clang::Stmt::CXXFunctionalCastExprClass: {
    const auto *cast = llvm::cast<clang::CastExpr>(expr);
    switch (cast->getCastKind()) {
    case clang::CK_DerivedToBase:
    case clang::CK_UncheckedDerivedToBase:
    case clang::CK_BaseToDerived:
      return toBase(evaluateAddress(cast->getSubExpr()), cast);
    case clang::CK_NoOp:
    case clang::CK_LValueBitCast:
    case clang::CK_UserDefinedConversion:
    case clang::CK_ConstructorConversion:
    case clang::CK_Dynamic:
      return evaluateAddress(cast->getSubExpr());
    default:
      break;
    }
    break;
  }
  case clang::Stmt::StringLiteralClass: {
    const auto *literal = llvm::cast<clang::StringLiteral>(expr);
    Cell *cell = storage.make(literal->getType());
    if (cell->isArray)
      for (size_t i = 0; i < cell->children.size(); ++i)
        cell->children[i]->value = Value::makeInteger(
            i < literal->getLength() ? int64_t(literal->getCodeUnit(i)) : 0);
    return Value::makePointer(cell);
  }
  case clang::Stmt::PredefinedExprClass:
    return evaluateAddress(
        llvm::cast<clang::PredefinedExpr>(expr)->getFunctionName());
  case clang::Stmt::CallExprClass:
  case clang::Stmt::CXXMemberCallExprClass:
  case clang::Stmt::CXXOperatorCallExprClass:
  case clang::Stmt::UserDefinedLiteralClass:
    return evaluateCall(llvm::cast<clang::CallExpr>(expr));
  case clang::Stmt::CompoundLiteralExprClass:
    return makeTemporary(
        llvm::cast<clang::CompoundLiteralExpr>(expr)->getInitializer());
  case clang::Stmt::InitListExprClass:
    // A glvalue in braces.
    if (llvm::cast<clang::InitListExpr>(expr)->getNumInits() == 1)
      return evaluateAddress(llvm::cast<clang::InitListExpr>(expr)->getInit(0));
    break;
  case clang::Stmt::OpaqueValueExprClass: {
    const auto *opaque = llvm::cast<clang::OpaqueValueExpr>(expr);
    if (auto found = opaqueValues.find(opaque); found != opaqueValues.end())
      return found->second;
    if (opaque->getSourceExpr())
      return evaluateAddress(opaque->getSourceExpr());
    break;
  }
  case clang::Stmt::CXXRewrittenBinaryOperatorClass:
    return evaluateAddress(
        llvm::cast<clang::CXXRewrittenBinaryOperator>(expr)->getSemanticForm());
  case clang::Stmt::CXXBindTemporaryExprClass:
    return evaluateAddress(
        llvm::cast<clang::CXXBindTemporaryExpr>(expr)->getSubExpr());
  case clang::Stmt::GenericSelectionExprClass:
    return evaluateAddress(
        llvm::cast<clang::GenericSelectionExpr>(expr)->getResultExpr());
  default:
    break;
  }
  return makeUnknown(describe(expr));
}

//===----------------------------------------------------------------------===//
// Rvalues
//===----------------------------------------------------------------------===//

Value Interpreter::evaluate(const clang::Expr *expr) {
  if (!expr)
    return Value();
  if (!step(expr))
    return makeUnknown("code that is not followed");
  if (!expr->isGLValue())
    return evaluateRvalue(expr);
  Value value = load(evaluateAddress(expr), expr->getType());
  if (value.isUnknown() && value.text && *value.text == kNeverSet)
    return makeUnknown(describe(expr) + ", which was never set");
  return value;
}

Value Interpreter::evaluateRvalue(const clang::Expr *expr) {
  // Wrappers first.
  if (const auto *full = llvm::dyn_cast<clang::FullExpr>(expr)) {
    if (const auto *constant = llvm::dyn_cast<clang::ConstantExpr>(full))
      if (constant->hasAPValueResult() &&
          constant->getAPValueResult().isInt() &&
          constant->getAPValueResult().getInt().getBitWidth() <= 64)
        return Value::makeInteger(
            getBits(constant->getAPValueResult().getInt()));
    return evaluate(full->getSubExpr());
  }
  if (const auto *paren = llvm::dyn_cast<clang::ParenExpr>(expr))
    return evaluate(paren->getSubExpr());
  if (const auto *cast = llvm::dyn_cast<clang::CastExpr>(expr))
    return evaluateCast(cast);
  if (const auto *unary = llvm::dyn_cast<clang::UnaryOperator>(expr))
    return evaluateUnary(unary);
  if (const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(expr))
    return evaluateBinary(binary);
  if (const auto *conditional =
          llvm::dyn_cast<clang::AbstractConditionalOperator>(expr))
    return evaluateConditional(conditional);
  if (const auto *kernelCall = llvm::dyn_cast<clang::CUDAKernelCallExpr>(expr))
    return evaluateKernelCall(kernelCall);
  if (const auto *callExpr = llvm::dyn_cast<clang::CallExpr>(expr))
    return evaluateCall(callExpr);

  switch (expr->getStmtClass()) {
  case clang::Stmt::IntegerLiteralClass: {
    llvm::APInt value = llvm::cast<clang::IntegerLiteral>(expr)->getValue();
    if (value.getBitWidth() > 64)
      return makeUnknown(describe(expr));
    return wrap(Value::makeInteger(int64_t(value.getZExtValue())),
                expr->getType());
  }
  case clang::Stmt::FloatingLiteralClass: {
    llvm::APFloat value = llvm::cast<clang::FloatingLiteral>(expr)->getValue();
    bool lost = false;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &lost);
    return Value::makeReal(value.convertToDouble());
  }
  case clang::Stmt::CXXBoolLiteralExprClass:
    return Value::makeInteger(
        llvm::cast<clang::CXXBoolLiteralExpr>(expr)->getValue());
  case clang::Stmt::CharacterLiteralClass:
    return Value::makeInteger(
        llvm::cast<clang::CharacterLiteral>(expr)->getValue());
  case clang::Stmt::CXXNullPtrLiteralExprClass:
  case clang::Stmt::GNUNullExprClass:
    return Value::makePointer(nullptr);
  case clang::Stmt::CXXThisExprClass:
    return frame().self;
  case clang::Stmt::DeclRefExprClass: {
    const clang::ValueDecl *decl =
        llvm::cast<clang::DeclRefExpr>(expr)->getDecl();
    if (const auto *constant = llvm::dyn_cast<clang::EnumConstantDecl>(decl))
      return Value::makeInteger(getBits(constant->getInitVal()));
    if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl))
      return Value::makeFunction(function);
    return makeUnknown(describe(expr));
  }
  case clang::Stmt::MemberExprClass:
    if (const auto *constant = llvm::dyn_cast<clang::EnumConstantDecl>(
            llvm::cast<clang::MemberExpr>(expr)->getMemberDecl()))
      return Value::makeInteger(getBits(constant->getInitVal()));
    return makeUnknown(describe(expr));
  case clang::Stmt::SubstNonTypeTemplateParmExprClass:
    return evaluate(llvm::cast<clang::SubstNonTypeTemplateParmExpr>(expr)
                        ->getReplacement());
  case clang::Stmt::CXXDefaultArgExprClass:
    return evaluate(llvm::cast<clang::CXXDefaultArgExpr>(expr)->getExpr());
  case clang::Stmt::CXXDefaultInitExprClass:
    return evaluate(llvm::cast<clang::CXXDefaultInitExpr>(expr)->getExpr());
  case clang::Stmt::CXXBindTemporaryExprClass:
    return evaluate(
        llvm::cast<clang::CXXBindTemporaryExpr>(expr)->getSubExpr());
  case clang::Stmt::CXXStdInitializerListExprClass:
  case clang::Stmt::CXXConstructExprClass:
  case clang::Stmt::CXXTemporaryObjectExprClass:
  case clang::Stmt::CXXInheritedCtorInitExprClass:
  case clang::Stmt::InitListExprClass:
  case clang::Stmt::CXXParenListInitExprClass:
  case clang::Stmt::ImplicitValueInitExprClass:
  case clang::Stmt::CXXScalarValueInitExprClass:
  case clang::Stmt::LambdaExprClass:
  case clang::Stmt::CompoundLiteralExprClass: {
    Cell *cell = storage.make(expr->getType());
    initialize(cell, expr);
    return load(Value::makePointer(cell), expr->getType());
  }
  case clang::Stmt::UnaryExprOrTypeTraitExprClass:
  case clang::Stmt::TypeTraitExprClass:
  case clang::Stmt::CXXNoexceptExprClass:
  case clang::Stmt::SizeOfPackExprClass:
  case clang::Stmt::OffsetOfExprClass:
  case clang::Stmt::ConceptSpecializationExprClass:
  case clang::Stmt::RequiresExprClass:
  case clang::Stmt::ArrayTypeTraitExprClass:
  case clang::Stmt::SourceLocExprClass: {
    clang::Expr::EvalResult result;
    if (!expr->isValueDependent() &&
        expr->EvaluateAsInt(result, getContext()) &&
        result.Val.getInt().getBitWidth() <= 64)
      return Value::makeInteger(getBits(result.Val.getInt()));
    return makeUnknown(describe(expr));
  }
  case clang::Stmt::OpaqueValueExprClass: {
    const auto *opaque = llvm::cast<clang::OpaqueValueExpr>(expr);
    if (auto found = opaqueValues.find(opaque); found != opaqueValues.end())
      return found->second;
    return evaluate(opaque->getSourceExpr());
  }
  case clang::Stmt::CXXRewrittenBinaryOperatorClass:
    return evaluate(
        llvm::cast<clang::CXXRewrittenBinaryOperator>(expr)->getSemanticForm());
  case clang::Stmt::GenericSelectionExprClass:
    return evaluate(
        llvm::cast<clang::GenericSelectionExpr>(expr)->getResultExpr());
  case clang::Stmt::ChooseExprClass:
    return evaluate(llvm::cast<clang::ChooseExpr>(expr)->getChosenSubExpr());
  case clang::Stmt::CXXNewExprClass:
    return evaluateNew(llvm::cast<clang::CXXNewExpr>(expr));
  case clang::Stmt::CXXDeleteExprClass: {
    const auto *deletion = llvm::cast<clang::CXXDeleteExpr>(expr);
    Value pointer = evaluate(deletion->getArgument());
    if (pointer.kind == Value::Kind::Pointer && pointer.cell)
      destroy(pointer, deletion->getDestroyedType());
    return Value();
  }
  case clang::Stmt::StmtExprClass: {
    const clang::CompoundStmt *body =
        llvm::cast<clang::StmtExpr>(expr)->getSubStmt();
    // The last expression is the value.
    Value result;
    for (const clang::Stmt *child : body->body()) {
      const auto *last = llvm::dyn_cast<clang::Expr>(child);
      if (child == body->body_back() && last)
        result = evaluate(last);
      else if (execute(child) != Flow::Normal)
        break;
    }
    return result;
  }
  case clang::Stmt::ArrayInitIndexExprClass:
    return frame().arrayIndices.empty()
               ? makeUnknown(describe(expr))
               : Value::makeInteger(frame().arrayIndices.back());
  case clang::Stmt::CXXThrowExprClass:
    return makeUnknown("a value after a throw");
  case clang::Stmt::PseudoObjectExprClass:
    return evaluate(llvm::cast<clang::PseudoObjectExpr>(expr)->getResultExpr());
  case clang::Stmt::CXXPseudoDestructorExprClass:
    return Value();
  default:
    break;
  }
  return makeUnknown(describe(expr));
}
