// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls, construction of objects and kernel launches of the host interpreter.

#include "Interpreter.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "llvm/ADT/ScopeExit.h"

using namespace d2k;
using namespace d2k::cuda;

/// Calls inside calls. Template libraries nest deeply.
static constexpr size_t kMaxCallDepth = 96;
/// Recorded events of one call of the entry.
static constexpr size_t kMaxEvents = 4096;

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

/// The object is the address of an array and its length, or its end
/// ([support.initlist]).
void Interpreter::initializeStdList(
    Cell *target, const clang::CXXStdInitializerListExpr *list) {
  Cell *array = storage.getTarget(evaluateAddress(list->getSubExpr()));
  if (!array || !array->isArray || array->children.empty() ||
      !target->isRecord || target->children.size() != 2)
    return storage.fill(target, makeUnknown(describe(list)));
  storage.write(target->children[0],
                Value::makePointer(array->children.front()));
  int64_t count = int64_t(array->children.size());
  bool hasLength = target->children[1]->type->isIntegerType();
  storage.write(target->children[1],
                hasLength ? Value::makeInteger(count)
                          : Value::makePointer(array->children.front(), count));
}

void Interpreter::initialize(Cell *target, const clang::Expr *init) {
  if (!step(init))
    return;
  init = init->IgnoreParens();
  if (const auto *full = llvm::dyn_cast<clang::FullExpr>(init))
    return initialize(target, full->getSubExpr());
  if (const auto *bind = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(init))
    return initialize(target, bind->getSubExpr());
  if (const auto *temporary =
          llvm::dyn_cast<clang::MaterializeTemporaryExpr>(init))
    if (!target->type->isReferenceType())
      return initialize(target, temporary->getSubExpr());
  if (const auto *argument = llvm::dyn_cast<clang::CXXDefaultArgExpr>(init))
    return initialize(target, argument->getExpr());
  if (const auto *member = llvm::dyn_cast<clang::CXXDefaultInitExpr>(init))
    return initialize(target, member->getExpr());
  if (const auto *list = llvm::dyn_cast<clang::InitListExpr>(init))
    return initializeList(target, list);
  if (const auto *list = llvm::dyn_cast<clang::CXXStdInitializerListExpr>(init))
    return initializeStdList(target, list);
  if (const auto *list = llvm::dyn_cast<clang::CXXParenListInitExpr>(init)) {
    size_t i = 0;
    for (const clang::Expr *part : list->getInitExprs())
      if (i < target->children.size())
        initialize(target->children[i++], part);
    return;
  }
  if (const auto *creation = llvm::dyn_cast<clang::CXXConstructExpr>(init))
    return construct(target, creation);
  if (const auto *inherited =
          llvm::dyn_cast<clang::CXXInheritedCtorInitExpr>(init)) {
    // It gets the arguments of the constructor around it.
    std::vector<Value> arguments;
    for (const clang::ParmVarDecl *parameter : frame().function->parameters()) {
      Value place = frame().locals.lookup(parameter);
      arguments.push_back(parameter->getType()->isReferenceType()
                              ? place
                              : load(place, parameter->getType()));
    }
    return runConstructor(target, inherited->getConstructor(),
                          std::move(arguments), init);
  }
  if (const auto *literal = llvm::dyn_cast<clang::CompoundLiteralExpr>(init))
    return initialize(target, literal->getInitializer());
  if (llvm::isa<clang::ImplicitValueInitExpr, clang::CXXScalarValueInitExpr>(
          init))
    return storage.fillZero(target);
  if (const auto *lambda = llvm::dyn_cast<clang::LambdaExpr>(init)) {
    auto capture = lambda->capture_init_begin();
    for (const clang::FieldDecl *field : lambda->getLambdaClass()->fields()) {
      if (capture == lambda->capture_init_end())
        break;
      if (Cell *cell = storage.getField(target, field)) {
        if (field->getType()->isReferenceType())
          storage.write(cell, evaluateAddress(*capture));
        else if (*capture)
          initialize(cell, *capture);
      }
      ++capture;
    }
    return;
  }
  if (const auto *loop = llvm::dyn_cast<clang::ArrayInitLoopExpr>(init)) {
    opaqueValues[loop->getCommonExpr()] =
        evaluateAddress(loop->getCommonExpr()->getSourceExpr());
    for (size_t i = 0; i < target->children.size(); ++i) {
      frame().arrayIndices.push_back(int64_t(i));
      initialize(target->children[i], loop->getSubExpr());
      frame().arrayIndices.pop_back();
    }
    return;
  }
  if (const auto *literal = llvm::dyn_cast<clang::StringLiteral>(init)) {
    for (size_t i = 0; i < target->children.size(); ++i)
      storage.write(target->children[i],
                    Value::makeInteger(i < literal->getLength()
                                           ? int64_t(literal->getCodeUnit(i))
                                           : 0));
    return;
  }
  if (target->type->isReferenceType()) {
    storage.write(target, evaluateAddress(init));
    return;
  }
  Value value = evaluate(init);
  if (value.kind == Value::Kind::Record)
    storage.copy(target, value.cell);
  else if (target->isScalar())
    storage.write(target, value);
  else
    storage.fill(target, value.isUnknown() ? value
                                           : makeUnknown("an object made in " +
                                                         describe(init)));
}

void Interpreter::initializeList(Cell *target,
                                 const clang::InitListExpr *list) {
  if (list->getSemanticForm())
    list = list->getSemanticForm();
  if (list->isTransparent() || target->isScalar()) {
    if (list->getNumInits() == 0)
      storage.fillZero(target);
    else
      initialize(target, list->getInit(0));
    return;
  }
  if (target->isOpaque)
    return storage.fill(target, makeUnknown("an object that is not modelled"));
  if (target->isArray) {
    for (size_t i = 0; i < target->children.size(); ++i) {
      if (i < list->getNumInits())
        initialize(target->children[i], list->getInit(unsigned(i)));
      else if (list->hasArrayFiller())
        initialize(target->children[i], list->getArrayFiller());
      else
        storage.fillZero(target->children[i]);
    }
    return;
  }
  const clang::RecordDecl *record = target->type->getAsRecordDecl();
  if (record && record->isUnion()) {
    const clang::FieldDecl *field = list->getInitializedFieldInUnion();
    Cell *cell = field ? storage.getField(target, field) : nullptr;
    if (cell && list->getNumInits())
      initialize(cell, list->getInit(0));
    return;
  }
  // Unnamed bit-fields have no initialiser.
  unsigned next = 0, child = 0;
  if (const auto *cxx = llvm::dyn_cast_or_null<clang::CXXRecordDecl>(record))
    for (unsigned i = 0; i < cxx->getNumBases(); ++i, ++child)
      if (next < list->getNumInits())
        initialize(target->children[child], list->getInit(next++));
  if (record)
    for (const clang::FieldDecl *field : record->fields()) {
      if (child >= target->children.size())
        break;
      Cell *cell = target->children[child++];
      if (field->isUnnamedBitField())
        continue;
      if (next < list->getNumInits())
        initialize(cell, list->getInit(next++));
    }
}

void Interpreter::construct(Cell *target, const clang::CXXConstructExpr *expr) {
  if (target->isArray) {
    for (Cell *child : target->children)
      construct(child, expr);
    return;
  }
  const clang::CXXConstructorDecl *constructor = expr->getConstructor();
  if (expr->requiresZeroInitialization())
    storage.fillZero(target);
  if (constructor->isDefaultConstructor() && constructor->isTrivial())
    return;
  if (constructor->isCopyOrMoveConstructor() && expr->getNumArgs() >= 1 &&
      (constructor->isTrivial() || constructor->isDefaulted())) {
    Value from = evaluateAddress(expr->getArg(0));
    Cell *cell = storage.getTarget(from);
    if (cell && !cell->isOpaque)
      storage.copy(target, cell);
    else
      storage.fill(target,
                   from.isUnknown()
                       ? from
                       : makeUnknown("a copy of " + describe(expr->getArg(0))));
    return;
  }
  llvm::SmallVector<const clang::Expr *> written(expr->arg_begin(),
                                                 expr->arg_end());
  runConstructor(target, constructor,
                 evaluateArguments(constructor, written, nullptr), expr);
}

void Interpreter::runConstructor(Cell *target,
                                 const clang::CXXConstructorDecl *constructor,
                                 std::vector<Value> arguments,
                                 const clang::Expr *site) {
  const clang::FunctionDecl *found = nullptr;
  found = findBody(constructor);
  if (!found || target->isOpaque) {
    if (constructor->isDefaulted() && constructor->isDefaultConstructor()) {
      // Implicit: members get their own defaults.
      found = nullptr;
    }
    for (const Value &argument : arguments)
      storage.escape(argument);
    storage.fill(target,
                 makeUnknown("an object of " + constructor->getNameAsString() +
                             ", whose constructor is not in the "
                             "sources"));
    return;
  }
  runBody(found, arguments, Value::makePointer(target), site);
}

Value Interpreter::evaluateNew(const clang::CXXNewExpr *expr) {
  clang::QualType type = expr->getAllocatedType();
  if (expr->getNumPlacementArgs()) {
    Value place = castPointer(evaluate(expr->getPlacementArg(0)),
                              getContext().getPointerType(type));
    if (Cell *cell = storage.getTarget(place))
      if (expr->getInitializer() && !expr->isArray())
        initialize(cell, expr->getInitializer());
    return place;
  }
  if (expr->isArray()) {
    Value count = Value::makeInteger(0);
    if (std::optional<const clang::Expr *> size = expr->getArraySize())
      if (*size)
        count = evaluate(*size);
    if (!count.isInteger() || count.integer < 0)
      return Value::makePointer(storage.makeRaw(std::nullopt));
    clang::QualType array = getContext().getConstantArrayType(
        type, llvm::APInt(64, uint64_t(count.integer)), nullptr,
        clang::ArraySizeModifier::Normal, 0);
    Cell *cell = storage.make(array);
    if (expr->getInitializer())
      initialize(cell, expr->getInitializer());
    return cell->children.empty() ? Value::makePointer(cell)
                                  : Value::makePointer(cell->children[0]);
  }
  Cell *cell = storage.make(type);
  if (expr->getInitializer())
    initialize(cell, expr->getInitializer());
  return Value::makePointer(cell);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::vector<Value>
Interpreter::evaluateArguments(const clang::FunctionDecl *callee,
                               llvm::ArrayRef<const clang::Expr *> args,
                               std::vector<clang::QualType> *types) {
  std::vector<Value> result;
  for (size_t i = 0; i < args.size(); ++i) {
    clang::QualType type = args[i]->getType();
    if (callee && i < callee->getNumParams())
      type = callee->getParamDecl(unsigned(i))->getType();
    if (types)
      types->push_back(type);
    if (type->isReferenceType()) {
      result.push_back(evaluateAddress(args[i]));
    } else if (type->isRecordType()) {
      Cell *cell = storage.make(type);
      initialize(cell, args[i]);
      result.push_back(load(Value::makePointer(cell), type));
    } else {
      result.push_back(evaluate(args[i]));
    }
  }
  return result;
}

const clang::CXXMethodDecl *
Interpreter::findOverrider(const clang::CXXMethodDecl *method,
                           const Value &self) {
  Cell *cell = storage.getTarget(self);
  while (cell && cell->parent && cell->parent->isRecord)
    cell = cell->parent;
  if (!cell || cell->type.isNull())
    return nullptr;
  const clang::CXXRecordDecl *record = cell->type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition())
    return nullptr;
  return method->getCorrespondingMethodInClass(record, /*MayBeBase=*/true);
}

/// `p->~T()` of a T that is no class: it does nothing.
static bool isPseudoDestructor(const clang::CallExpr *expr) {
  return llvm::isa<clang::CXXPseudoDestructorExpr>(
      expr->getCallee()->IgnoreParens());
}

Value Interpreter::evaluateCall(const clang::CallExpr *expr) {
  if (const auto *kernelCall = llvm::dyn_cast<clang::CUDAKernelCallExpr>(expr))
    return evaluateKernelCall(kernelCall);
  if (isPseudoDestructor(expr))
    return Value();
  std::vector<clang::QualType> types;
  llvm::SmallVector<const clang::Expr *> args(expr->arg_begin(),
                                              expr->arg_end());
  // Builtins that Clang can fold.
  if (const clang::FunctionDecl *callee = expr->getDirectCallee())
    if (callee->getBuiltinID() && !expr->isValueDependent()) {
      clang::Expr::EvalResult folded;
      if (expr->EvaluateAsRValue(folded, getContext()) &&
          !folded.HasSideEffects) {
        if (folded.Val.isInt() && folded.Val.getInt().getBitWidth() <= 64)
          return Value::makeInteger(getBits(folded.Val.getInt()));
        if (folded.Val.isFloat())
          return Value::makeReal(folded.Val.getFloat().convertToDouble());
      }
    }

  if (const auto *memberCall = llvm::dyn_cast<clang::CXXMemberCallExpr>(expr)) {
    const clang::CXXMethodDecl *method = memberCall->getMethodDecl();
    const clang::Expr *object = memberCall->getImplicitObjectArgument();
    Value self = object->getType()->isPointerType() ? evaluate(object)
                                                    : evaluateAddress(object);
    // `(object.*pointer)(...)`
    if (const auto *access = llvm::dyn_cast<clang::BinaryOperator>(
            memberCall->getCallee()->IgnoreParens());
        !method && access) {
      Value target = evaluate(access->getRHS());
      if (target.kind == Value::Kind::Function)
        method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(target.function);
    }
    if (!method) {
      for (const Value &value : evaluateArguments(nullptr, args, nullptr))
        storage.escape(value);
      storage.escape(self);
      std::string reason =
          "a call through a pointer that is not known, " + describe(expr);
      storage.havocEscaped(storage.intern(reason));
      markIncomplete(reason + ", may launch anything");
      return makeUnknown("the call " + describe(expr));
    }
    if (llvm::isa<clang::CXXDestructorDecl>(method) && method->isTrivial())
      return Value();
    // `Base::get()` names the function.
    const auto *member = llvm::dyn_cast<clang::MemberExpr>(
        memberCall->getCallee()->IgnoreParens());
    bool isFixed = member && member->hasQualifier();
    if (method->isVirtual() && !isFixed &&
        !llvm::isa<clang::CXXDestructorDecl>(method)) {
      const clang::CXXMethodDecl *overrider = findOverrider(method, self);
      // While a constructor or destructor runs, its class is that of the object
      // ([class.cdtor]).
      const auto *around =
          llvm::dyn_cast<clang::CXXMethodDecl>(frame().function);
      if (around &&
          llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(
              around) &&
          llvm::isa<clang::CXXThisExpr>(object->IgnoreParenImpCasts()))
        overrider = method->getCorrespondingMethodInClass(around->getParent(),
                                                          /*MayBeBase=*/true);
      if (!overrider) {
        for (const Value &value : evaluateArguments(method, args, nullptr))
          storage.escape(value);
        storage.escape(self);
        storage.havocEscaped(
            storage.intern("the virtual call " + describe(expr)));
        markIncomplete("the virtual call " + describe(expr) +
                       " may do anything");
        return makeUnknown("the virtual call " + describe(expr));
      }
      method = overrider;
    }
    std::vector<Value> values = evaluateArguments(method, args, &types);
    return call(method, std::move(values), std::move(types), self, expr);
  }
  if (const auto *operatorCall =
          llvm::dyn_cast<clang::CXXOperatorCallExpr>(expr)) {
    const auto *method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(
        operatorCall->getDirectCallee());
    if (method && !method->isStatic() && !args.empty()) {
      Value self = evaluateAddress(args[0]);
      args.erase(args.begin());
      std::vector<Value> values = evaluateArguments(method, args, &types);
      return call(method, std::move(values), std::move(types), self, expr);
    }
    if (method && method->isStatic() && !args.empty())
      args.erase(args.begin());
  }

  const clang::FunctionDecl *callee = expr->getDirectCallee();
  Value function;
  if (!callee) {
    function = evaluate(expr->getCallee());
    if (function.kind == Value::Kind::Function)
      callee = function.function;
  }
  if (!callee && function.kind == Value::Kind::Function && function.text) {
    // A driver function that was looked up by name.
    CallSite site;
    site.name = *function.text;
    site.qualifiedName = *function.text;
    site.arguments = evaluateArguments(nullptr, args, &types);
    site.types = types;
    site.site = expr;
    if (std::optional<Value> result = callCudaApi(*this, site))
      return *result;
    return callOpaque(site);
  }
  std::vector<Value> values = evaluateArguments(callee, args, &types);
  if (!callee) {
    for (const Value &value : values)
      storage.escape(value);
    std::string reason =
        "a call through a pointer that is not known, " + describe(expr);
    markIncomplete(reason + ", may launch anything");
    storage.havocEscaped(storage.intern(reason));
    return makeUnknown(reason);
  }
  return call(callee, std::move(values), std::move(types), std::nullopt, expr);
}

Value Interpreter::callValue(const Value &function,
                             std::vector<Value> arguments,
                             const clang::Expr *site) {
  if (function.kind == Value::Kind::Function && function.function)
    return call(function.function, std::move(arguments), {}, std::nullopt,
                site);
  return makeUnknown("a callback in " + describe(site));
}

/// The call operator that a lambda's conversion to a function pointer stands
/// for: Clang gives the function that is pointed to an empty body.
static const clang::CXXMethodDecl *
getLambdaOperator(const clang::CXXMethodDecl *invoker) {
  const clang::CXXRecordDecl *lambda = invoker->getParent();
  const clang::CXXMethodDecl *result = lambda->getLambdaCallOperator();
  if (!result || !lambda->isGenericLambda())
    return result;
  const clang::TemplateArgumentList *arguments =
      invoker->getTemplateSpecializationArgs();
  clang::FunctionTemplateDecl *pattern = result->getDescribedFunctionTemplate();
  if (!arguments || !pattern)
    return nullptr;
  void *position = nullptr;
  return llvm::dyn_cast_or_null<clang::CXXMethodDecl>(
      pattern->findSpecialization(arguments->asArray(), position));
}

/// Whether \p stmt runs each of its statements once, and calls nothing.
static bool isShort(const clang::Stmt *stmt) {
  if (!stmt)
    return true;
  if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt,
                clang::CXXForRangeStmt, clang::GotoStmt, clang::CallExpr,
                clang::CXXConstructExpr, clang::CXXNewExpr>(stmt))
    return false;
  return llvm::all_of(stmt->children(), isShort);
}

Value Interpreter::call(const clang::FunctionDecl *callee,
                        std::vector<Value> arguments,
                        std::vector<clang::QualType> types,
                        std::optional<Value> self, const clang::Expr *site) {
  if (const auto *invoker = llvm::dyn_cast<clang::CXXMethodDecl>(callee);
      invoker && invoker->isLambdaStaticInvoker()) {
    if (const clang::CXXMethodDecl *body = getLambdaOperator(invoker)) {
      callee = body;
      // It captures nothing.
      self = Value::makePointer(
          storage.make(getContext().getCanonicalTagType(invoker->getParent())));
    } else {
      markIncomplete("the lambda called at " +
                     (site ? describe(site) : invoker->getNameAsString()) +
                     " is not known");
      return makeUnknown("the result of a lambda");
    }
  }
  llvm::scope_exit end([&] { endsPath |= callee->isNoReturn(); });
  CallSite callSite;
  callSite.callee = callee;
  std::string name = callee->getNameAsString();
  callSite.name = name;
  callSite.qualifiedName = callee->getQualifiedNameAsString();
  callSite.site = site;
  callSite.arguments = std::move(arguments);
  callSite.types = std::move(types);
  callSite.self = self;
  while (callSite.types.size() < callSite.arguments.size()) {
    unsigned i = unsigned(callSite.types.size());
    callSite.types.push_back(i < callee->getNumParams()
                                 ? callee->getParamDecl(i)->getType()
                                 : clang::QualType());
  }

  if (std::optional<Value> result = callCudaApi(*this, callSite))
    return *result;
  if (std::optional<Value> result = callLibrary(*this, callSite))
    return *result;
  if (std::optional<Value> result = callStandard(*this, callSite))
    return *result;
  if (std::optional<Value> result = callContainer(*this, callSite))
    return *result;

  const clang::FunctionDecl *definition = nullptr;
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(callee);
  if (method && self &&
      (method->isCopyAssignmentOperator() ||
       method->isMoveAssignmentOperator()) &&
      (method->isTrivial() || method->isDefaulted())) {
    Value value =
        load(callSite.arguments[0], method->getFunctionObjectParameterType());
    store(*self, value);
    return *self;
  }
  if (!callee->isDependentContext())
    definition = findBody(callee);
  if (definition) {
    if (isHurried() && !isShort(definition->getBody()) &&
        !mayTouchDevice(definition))
      return callOpaque(callSite);
    if (frames.size() >= kMaxCallDepth) {
      markIncomplete("calls nest deeper than " + std::to_string(kMaxCallDepth) +
                     " at " + describe(site));
      return callOpaque(callSite);
    }
    return runBody(definition, callSite.arguments, self, site);
  }
  return callOpaque(callSite);
}

Value Interpreter::callOpaque(const CallSite &call) {
  bool usesDevice = false;
  // An object is at hand for the function that works on it.
  const auto *method =
      llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call.callee);
  if (call.self && method && !method->isConst())
    storage.escape(*call.self);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Value &argument = call.arguments[i];
    clang::QualType type = i < call.types.size() && !call.types[i].isNull()
                               ? call.types[i]->getPointeeType()
                               : clang::QualType();
    // Through a reference to something constant nobody writes it, only what it
    // points to.
    if (!type.isNull() && type.isConstQualified())
      storage.escapeTargets(argument);
    else
      storage.escape(argument);
    usesDevice |= argument.kind == Value::Kind::Device ||
                  argument.kind == Value::Kind::Handle ||
                  (argument.kind == Value::Kind::Function &&
                   argument.function && mayTouchDevice(argument.function));
  }
  // What the thread does is in an object behind a pointer.
  usesDevice |= call.name == "_M_start_thread";
  std::string where = call.site ? describe(call.site) : call.qualifiedName;
  std::string reason = "the result of " + where;
  if (usesDevice) {
    Event &event = addEvent(EventKind::Opaque, call.site);
    event.call = call.qualifiedName;
    markIncomplete(call.qualifiedName +
                   "(), whose body is not in the sources, gets device memory, "
                   "a stream or a kernel: it may launch anything");
  }
  storage.havocEscaped(storage.intern(reason));
  return makeUnknown(reason);
}

const clang::FunctionDecl *
Interpreter::findBody(const clang::FunctionDecl *function) const {
  const clang::FunctionDecl *definition = nullptr;
  if (!function->hasBody(definition) && linked)
    definition = linked->findDefinition(function);
  return definition;
}

Value Interpreter::runBody(const clang::FunctionDecl *definition,
                           const std::vector<Value> &arguments,
                           std::optional<Value> self, const clang::Expr *site) {
  ContextScope unit(*this, definition->getASTContext());
  Frame inner;
  inner.function = definition;
  inner.mark = storage.mark();
  inner.firstControl = controls.size();
  if (self)
    inner.self = *self;
  for (unsigned i = 0; i < definition->getNumParams(); ++i) {
    const clang::ParmVarDecl *parameter = definition->getParamDecl(i);
    Value value =
        i < arguments.size() ? arguments[i] : makeUnknown("a missing argument");
    if (parameter->getType()->isReferenceType()) {
      inner.locals[parameter] = value;
      continue;
    }
    Cell *cell = storage.make(parameter->getType());
    if (value.kind == Value::Kind::Record)
      storage.copy(cell, value.cell);
    else if (cell->isScalar())
      storage.write(cell, value);
    else
      storage.fill(cell, value);
    inner.locals[parameter] = Value::makePointer(cell);
  }
  bool savedCertain = certain;
  size_t savedDoubts = doubts.size();
  frames.push_back(&inner);

  if (const auto *constructor =
          llvm::dyn_cast<clang::CXXConstructorDecl>(definition))
    if (Cell *target = self ? storage.getTarget(*self) : nullptr)
      for (const clang::CXXCtorInitializer *init : constructor->inits()) {
        Cell *cell = nullptr;
        if (init->isAnyMemberInitializer()) {
          if (const clang::FieldDecl *field = init->getAnyMember())
            cell = storage.getField(target, field);
        } else if (init->isDelegatingInitializer()) {
          cell = target;
        } else if (init->isBaseInitializer()) {
          unsigned index = 0;
          for (const clang::CXXBaseSpecifier &base :
               constructor->getParent()->bases()) {
            if (index < target->children.size() &&
                getContext().hasSameUnqualifiedType(
                    base.getType(), clang::QualType(init->getBaseClass(), 0)))
              cell = target->children[index];
            ++index;
          }
        }
        if (cell && init->getInit())
          initialize(cell, init->getInit());
      }

  const clang::Stmt *body = definition->getBody();
  Flow flow = execute(body);
  // It may also have returned before.
  if (flow != Flow::Stop || inner.result || !inner.returns.empty())
    leaving = Leaving::No;
  frames.pop_back();
  certain = savedCertain;
  doubts.resize(std::min(doubts.size(), savedDoubts));
  for (const Exit &exit : inner.returns)
    joinWith(inner.mark, exit, {});
  if (inner.result)
    return *inner.result;
  if (definition->getReturnType()->isVoidType())
    return Value();
  return makeUnknown("the result of " + definition->getNameAsString() + "()");
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The x, y and z of a dim3 or uint3, or of the one number of which a dim3 is
/// made: where Clang found errors it leaves out the conversion.
static std::array<Quantity, 3> toExtent(Interpreter &interpreter,
                                        const Value &value) {
  std::array<Quantity, 3> result;
  if (value.kind == Value::Kind::Integer) {
    result[0] = interpreter.toQuantity(value);
    result[1].value = result[2].value = 1;
    return result;
  }
  static constexpr const char *kNames[] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i) {
    Cell *field = value.kind == Value::Kind::Record
                      ? interpreter.findField(value.cell, kNames[i])
                      : nullptr;
    result[i] = interpreter.toQuantity(
        field ? interpreter.load(Value::makePointer(field), field->type)
              : value);
  }
  return result;
}

Value Interpreter::evaluateKernelCall(const clang::CUDAKernelCallExpr *expr) {
  Event event;
  event.kind = EventKind::Launch;
  event.call = "<<<>>>";
  for (Quantity &extent : event.cluster)
    extent.value = 1;
  event.where = getPlace(expr->getBeginLoc());
  const clang::CallExpr *config = expr->getConfig();
  auto makeDim = [&](const clang::Expr *arg) {
    Cell *cell = storage.make(arg->getType());
    initialize(cell, arg);
    return load(Value::makePointer(cell), arg->getType());
  };
  event.grid = toExtent(*this, makeDim(config->getArg(0)));
  event.block = toExtent(*this, makeDim(config->getArg(1)));
  Value shared = Value::makeInteger(0);
  if (config->getNumArgs() > 2)
    shared = evaluate(config->getArg(2));
  event.dynamicShared = toQuantity(shared);
  Value stream = Value::makePointer(nullptr);
  if (config->getNumArgs() > 3)
    stream = evaluate(config->getArg(3));
  event.stream = toStream(stream);

  Value kernel;
  if (const clang::FunctionDecl *callee = expr->getDirectCallee())
    kernel = Value::makeFunction(callee);
  else
    kernel = evaluate(expr->getCallee());
  std::vector<clang::QualType> types;
  llvm::SmallVector<const clang::Expr *> args(expr->arg_begin(),
                                              expr->arg_end());
  std::vector<Value> values = evaluateArguments(
      kernel.kind == Value::Kind::Function ? kernel.function : nullptr, args,
      &types);
  for (size_t i = 0; i < values.size(); ++i)
    event.arguments.push_back(toArgument(values[i], types[i]));
  addLaunch(std::move(event), kernel);
  return Value();
}

Event &Interpreter::addEvent(EventKind kind, const clang::Expr *site) {
  if (trace.events.size() >= kMaxEvents) {
    if (trace.events.size() == kMaxEvents)
      markIncomplete("more than " + std::to_string(kMaxEvents) +
                     " operations in one call; the rest is left out");
    exhausted = true;
  }
  Event &event = trace.events.emplace_back();
  event.kind = kind;
  event.certain = certain;
  for (const Doubt &doubt : doubts) {
    event.uncertainBecause.push_back(doubt.text);
    event.dependsOnArguments &= doubt.origins.problem;
  }
  event.count.value = 1;
  if (site)
    event.where = getPlace(site->getBeginLoc());
  return event;
}
