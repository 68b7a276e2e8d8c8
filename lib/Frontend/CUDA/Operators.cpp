// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic, comparisons and choices of the host interpreter.

#include "Interpreter.h"

#include "clang/AST/ASTContext.h"

using namespace d2k;
using namespace d2k::cuda;

/// The operation on known integers of \p bits, nothing when it is undefined.
static std::optional<int64_t> computeInteger(clang::BinaryOperatorKind op,
                                             int64_t a, int64_t b,
                                             bool isUnsigned, unsigned bits) {
  uint64_t ua = uint64_t(a), ub = uint64_t(b);
  switch (op) {
  case clang::BO_Add:
    return int64_t(ua + ub);
  case clang::BO_Sub:
    return int64_t(ua - ub);
  case clang::BO_Mul:
    return int64_t(ua * ub);
  case clang::BO_Div:
    if (b == 0 || (!isUnsigned && b == -1 && a == INT64_MIN))
      return std::nullopt;
    return isUnsigned ? int64_t(ua / ub) : a / b;
  case clang::BO_Rem:
    if (b == 0 || (!isUnsigned && b == -1))
      return b == 0 ? std::nullopt : std::optional<int64_t>(0);
    return isUnsigned ? int64_t(ua % ub) : a % b;
  case clang::BO_Shl:
    if (ub >= bits)
      return std::nullopt;
    return int64_t(ua << ub);
  case clang::BO_Shr:
    if (ub >= bits)
      return std::nullopt;
    return isUnsigned ? int64_t(ua >> ub) : a >> b;
  case clang::BO_And:
    return a & b;
  case clang::BO_Or:
    return a | b;
  case clang::BO_Xor:
    return a ^ b;
  case clang::BO_LT:
    return isUnsigned ? ua < ub : a < b;
  case clang::BO_GT:
    return isUnsigned ? ua > ub : a > b;
  case clang::BO_LE:
    return isUnsigned ? ua <= ub : a <= b;
  case clang::BO_GE:
    return isUnsigned ? ua >= ub : a >= b;
  case clang::BO_EQ:
    return a == b;
  case clang::BO_NE:
    return a != b;
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> Interpreter::computeLowBits(clang::BinaryOperatorKind op,
                                                   const Value &address,
                                                   const Value &number) const {
  // The tensors of a task start at a multiple of 256 bytes (the header of the
  // task), and so does what cudaMalloc returns (CUDA C++ Programming Guide,
  // "Device Memory Accesses").
  constexpr int64_t kAlignment = 256;
  if (address.kind != Value::Kind::Device || !address.byteOffset ||
      !number.isInteger() || address.integer < 0 ||
      size_t(address.integer) >= trace.buffers.size())
    return std::nullopt;
  auto buffer = size_t(address.integer);
  if (!tensors.contains(buffer) &&
      trace.buffers[buffer].kind != Buffer::Kind::Allocation)
    return std::nullopt;
  int64_t mask = op == clang::BO_Rem ? number.integer - 1 : number.integer;
  if (mask < 0 || mask >= kAlignment ||
      (op == clang::BO_Rem && (number.integer & mask) != 0))
    return std::nullopt;
  return *address.byteOffset & mask;
}

Value Interpreter::compute(clang::BinaryOperatorKind op, const Value &left,
                           const Value &right, clang::QualType operandType,
                           clang::QualType resultType,
                           const clang::Expr *site) {
  Origins origins = left.origins | right.origins;
  auto unknown = [&](const Value &cause) {
    Value result;
    result.text = cause.text ? cause.text : storage.intern(describe(site));
    result.origins = origins;
    return result;
  };
  if (left.isInteger() && right.isInteger()) {
    clang::QualType type = operandType.getCanonicalType();
    bool isUnsigned =
        type->isUnsignedIntegerOrEnumerationType() || type->isPointerType();
    unsigned bits = type->isIntegralOrEnumerationType()
                        ? getContext().getIntWidth(type)
                        : 64;
    std::optional<int64_t> value =
        computeInteger(op, left.integer, right.integer, isUnsigned, bits);
    if (!value)
      return unknown(Value());
    return wrap(Value::makeInteger(*value, origins), resultType);
  }
  if (op == clang::BO_Rem || op == clang::BO_And) {
    std::optional<int64_t> bits = computeLowBits(op, left, right);
    if (!bits && op == clang::BO_And)
      bits = computeLowBits(op, right, left);
    if (bits)
      return Value::makeInteger(*bits, origins);
  }
  auto toReal = [](const Value &value) -> std::optional<double> {
    if (value.kind == Value::Kind::Real)
      return value.real;
    if (value.isInteger())
      return double(value.integer);
    return std::nullopt;
  };
  std::optional<double> a = toReal(left), b = toReal(right);
  if (a && b) {
    bool isFloat =
        operandType->isRealFloatingType() &&
        getContext().getTypeSize(operandType.getCanonicalType()) == 32;
    auto real = [&](double value) {
      return Value::makeReal(isFloat ? double(float(value)) : value, origins);
    };
    switch (op) {
    case clang::BO_Add:
      return real(*a + *b);
    case clang::BO_Sub:
      return real(*a - *b);
    case clang::BO_Mul:
      return real(*a * *b);
    case clang::BO_Div:
      return real(*a / *b);
    case clang::BO_LT:
      return Value::makeInteger(*a < *b, origins);
    case clang::BO_GT:
      return Value::makeInteger(*a > *b, origins);
    case clang::BO_LE:
      return Value::makeInteger(*a <= *b, origins);
    case clang::BO_GE:
      return Value::makeInteger(*a >= *b, origins);
    case clang::BO_EQ:
      return Value::makeInteger(*a == *b, origins);
    case clang::BO_NE:
      return Value::makeInteger(*a != *b, origins);
    default:
      return unknown(Value());
    }
  }
  if (op == clang::BO_EQ || op == clang::BO_NE) {
    bool equal = isSameValue(left, right);
    auto isAddress = [](const Value &value) {
      return value.kind == Value::Kind::Pointer ||
             value.kind == Value::Kind::Function ||
             value.kind == Value::Kind::Handle ||
             value.kind == Value::Kind::Device;
    };
    // Addresses of different objects differ; equality of device addresses
    // needs their offsets.
    if (isAddress(left) && isAddress(right)) {
      bool bothDevice = left.kind == Value::Kind::Device &&
                        right.kind == Value::Kind::Device &&
                        left.integer == right.integer;
      if (!bothDevice || (left.byteOffset && right.byteOffset))
        return Value::makeInteger(equal == (op == clang::BO_EQ), origins);
    }
  }
  // What does not depend on the unknown side.
  if (op == clang::BO_Mul && ((left.isInteger() && left.integer == 0) ||
                              (right.isInteger() && right.integer == 0)))
    return Value::makeInteger(0, origins);
  return unknown(left.isUnknown() ? left : right);
}

Value Interpreter::evaluateLogical(const clang::BinaryOperator *expr) {
  bool isAnd = expr->getOpcode() == clang::BO_LAnd;
  Value left = evaluate(expr->getLHS());
  std::optional<bool> known = toBool(left);
  if (known && *known != isAnd)
    return Value::makeInteger(*known, left.origins);
  Value right;
  if (known) {
    right = evaluate(expr->getRHS());
    right.origins = right.origins | left.origins;
    if (std::optional<bool> value = toBool(right))
      return Value::makeInteger(*value, right.origins);
    return right;
  }
  // The right side may or may not run.
  branch(
      left, expr->getLHS(),
      [&] {
        if (isAnd)
          right = evaluate(expr->getRHS());
        return Flow::Normal;
      },
      [&] {
        if (!isAnd)
          right = evaluate(expr->getRHS());
        return Flow::Normal;
      });
  std::optional<bool> value = toBool(right);
  if (value && *value != isAnd)
    return Value::makeInteger(*value, left.origins | right.origins);
  Value unknown = left;
  unknown.kind = Value::Kind::Unknown;
  unknown.cell = nullptr;
  unknown.origins = left.origins | right.origins;
  return unknown;
}

Value Interpreter::evaluateConditional(
    const clang::AbstractConditionalOperator *expr) {
  Value condition;
  const auto *withOpaque =
      llvm::dyn_cast<clang::BinaryConditionalOperator>(expr);
  if (withOpaque) {
    const clang::Expr *common = withOpaque->getCommon();
    opaqueValues[withOpaque->getOpaqueValue()] =
        common->isGLValue() ? evaluateAddress(common) : evaluate(common);
  }
  condition = evaluate(expr->getCond());
  Value first, second;
  bool ranFirst = false, ranSecond = false;
  auto run = [&](const clang::Expr *side) {
    if (expr->isGLValue())
      return evaluateAddress(side);
    Value value = evaluate(side);
    return value;
  };
  branch(
      condition, expr->getCond(),
      [&] {
        first = run(expr->getTrueExpr());
        ranFirst = true;
        return Flow::Normal;
      },
      [&] {
        second = run(expr->getFalseExpr());
        ranSecond = true;
        return Flow::Normal;
      });
  Value result;
  if (ranFirst != ranSecond) {
    result = ranFirst ? first : second;
  } else if (isSameValue(first, second)) {
    result = first;
  } else {
    result.text =
        condition.text
            ? condition.text
            : storage.intern("the condition " + describe(expr->getCond()));
  }
  result.origins =
      result.origins | condition.origins | first.origins | second.origins;
  return result;
}

Value Interpreter::evaluateUnary(const clang::UnaryOperator *expr) {
  const clang::Expr *sub = expr->getSubExpr();
  clang::QualType type = expr->getType();
  switch (expr->getOpcode()) {
  case clang::UO_AddrOf:
    if (type->isMemberPointerType()) {
      const auto *ref = llvm::dyn_cast<clang::DeclRefExpr>(sub->IgnoreParens());
      if (const auto *method =
              ref ? llvm::dyn_cast<clang::CXXMethodDecl>(ref->getDecl())
                  : nullptr)
        return Value::makeFunction(method);
      return makeUnknown("a pointer to a member");
    }
    if (sub->getType()->isMemberPointerType())
      return makeUnknown("a pointer to a pointer to a member");
    return evaluateAddress(sub);
  case clang::UO_PostInc:
  case clang::UO_PostDec: {
    Value address = evaluateAddress(sub);
    Value old = load(address, type);
    bool down = expr->getOpcode() == clang::UO_PostDec;
    Value one = Value::makeInteger(1);
    store(address,
          type->isPointerType()
              ? movePointer(old, one, down, type->getPointeeType(), expr)
              : compute(down ? clang::BO_Sub : clang::BO_Add, old, one, type,
                        type, expr));
    return old;
  }
  case clang::UO_Plus:
  case clang::UO_Extension:
    return evaluate(sub);
  case clang::UO_Minus: {
    Value value = evaluate(sub);
    if (value.kind == Value::Kind::Real)
      value.real = -value.real;
    else if (value.isInteger())
      value = wrap(
          Value::makeInteger(int64_t(-uint64_t(value.integer)), value.origins),
          type);
    return value;
  }
  case clang::UO_Not: {
    Value value = evaluate(sub);
    if (value.isInteger())
      value = wrap(Value::makeInteger(~value.integer, value.origins), type);
    return value;
  }
  case clang::UO_LNot: {
    Value value = evaluate(sub);
    if (std::optional<bool> known = toBool(value))
      return Value::makeInteger(!*known, value.origins);
    return value;
  }
  default:
    break;
  }
  return makeUnknown(describe(expr));
}

Value Interpreter::evaluateBinary(const clang::BinaryOperator *expr) {
  switch (expr->getOpcode()) {
  case clang::BO_LAnd:
  case clang::BO_LOr:
    return evaluateLogical(expr);
  case clang::BO_Comma:
    if (expr->getLHS()->isGLValue())
      evaluateAddress(expr->getLHS());
    else
      evaluate(expr->getLHS());
    return evaluate(expr->getRHS());
  case clang::BO_Assign: {
    Value value = evaluate(expr->getRHS());
    store(evaluateAddress(expr->getLHS()), value);
    return value;
  }
  default:
    break;
  }
  Value left = evaluate(expr->getLHS());
  Value right = evaluate(expr->getRHS());
  clang::QualType leftType = expr->getLHS()->getType();
  clang::QualType rightType = expr->getRHS()->getType();
  if (expr->isAdditiveOp() && expr->getType()->isPointerType()) {
    bool negative = expr->getOpcode() == clang::BO_Sub;
    if (leftType->isPointerType())
      return movePointer(left, right, negative, leftType->getPointeeType(),
                         expr);
    return movePointer(right, left, false, rightType->getPointeeType(), expr);
  }
  if (leftType->isPointerType() && rightType->isPointerType() &&
      (expr->getOpcode() == clang::BO_Sub || expr->isRelationalOp() ||
       expr->isEqualityOp()) &&
      left.kind == Value::Kind::Pointer && right.kind == Value::Kind::Pointer &&
      left.cell && right.cell && left.cell->parent &&
      left.cell->parent == right.cell->parent && left.cell->parent->isArray) {
    int64_t a = int64_t(left.cell->index) + left.offset;
    int64_t b = int64_t(right.cell->index) + right.offset;
    if (expr->getOpcode() == clang::BO_Sub)
      return Value::makeInteger(a - b);
    return compute(expr->getOpcode(), Value::makeInteger(a),
                   Value::makeInteger(b), getContext().LongTy, expr->getType(),
                   expr);
  }
  // An empty range of null pointers.
  if (leftType->isPointerType() && rightType->isPointerType() &&
      expr->getOpcode() == clang::BO_Sub && left.isNull() && right.isNull())
    return Value::makeInteger(0);
  if (leftType->isPointerType() && rightType->isPointerType() &&
      expr->getOpcode() == clang::BO_Sub && left.kind == Value::Kind::Device &&
      right.kind == Value::Kind::Device && left.integer == right.integer &&
      left.byteOffset && right.byteOffset) {
    int64_t size = 1;
    if (!leftType->getPointeeType()->isVoidType())
      size = getContext()
                 .getTypeSizeInChars(leftType->getPointeeType())
                 .getQuantity();
    if (size > 0)
      return Value::makeInteger((*left.byteOffset - *right.byteOffset) / size);
  }
  return compute(expr->getOpcode(), left, right, leftType, expr->getType(),
                 expr);
}
