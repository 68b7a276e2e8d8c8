// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements of the host interpreter, and how paths split and join.

#include "Interpreter.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/StmtCXX.h"
#include "llvm/ADT/ScopeExit.h"

using namespace d2k;
using namespace d2k::cuda;

/// Statements and calls of one entry call that are followed in full. Host code
/// of a launch path runs a few thousand. Afterwards every loop is summarised at
/// once, and functions that cannot touch the device are not run.
static constexpr uint64_t kHurrySteps = 400000;
/// Where even that ends.
static constexpr uint64_t kMaxSteps = 4000000;
/// Writes that may have to be undone: 100 MB, then 400 MB of them.
static constexpr size_t kHurryWrites = 1000000;
static constexpr size_t kMaxWrites = 4000000;

bool Interpreter::isHurried() const {
  return steps > kHurrySteps || storage.mark() > kHurryWrites;
}

bool Interpreter::step(const clang::Stmt *stmt) {
  if (exhausted)
    return false;
  bool tooMany = storage.mark() > kMaxWrites;
  if (++steps <= kMaxSteps && !tooMany)
    return true;
  exhausted = true;
  markIncomplete("the host code runs longer than the analysis follows it (" +
                 (tooMany ? std::to_string(kMaxWrites) + " writes"
                          : std::to_string(kMaxSteps) + " steps") +
                 "); it stopped at line " +
                 std::to_string(getPlace(stmt->getBeginLoc()).line));
  return false;
}

//===----------------------------------------------------------------------===//
// Splitting and joining
//===----------------------------------------------------------------------===//

void Interpreter::joinWith(size_t mark, const Exit &exit, Origins origins) {
  // Cells that only the path at hand changed had their old value on the other.
  llvm::DenseMap<Cell *, Value> other;
  for (const auto &[cell, value] : storage.getOldValues(mark))
    other[cell] = value;
  for (const auto &[cell, value] : exit.changes)
    other[cell] = value;
  storage.join(Changes(other.begin(), other.end()), exit.reason, origins);
}

void Interpreter::leave(Flow flow, const Exit &exit) {
  switch (flow) {
  case Flow::Normal:
  case Flow::Stop:
    return;
  case Flow::Return:
    frame().returns.push_back({storage.getChanges(frame().mark), exit.reason});
    return;
  case Flow::Break:
  case Flow::Continue: {
    if (frame().loops.empty())
      return;
    Scope *scope = frame().loops.back();
    Exit full = {storage.getChanges(scope->mark), exit.reason};
    (flow == Flow::Break ? scope->breaks : scope->continues)
        .push_back(std::move(full));
    return;
  }
  }
}

Interpreter::Flow Interpreter::branch(const Value &condition,
                                      const clang::Expr *why,
                                      llvm::function_ref<Flow()> ifTrue,
                                      llvm::function_ref<Flow()> ifFalse) {
  pushControl(condition.origins);
  llvm::scope_exit popControl([&] { controls.pop_back(); });
  if (std::optional<bool> known = toBool(condition))
    return *known ? ifTrue() : ifFalse();

  const std::string *reason =
      condition.text ? condition.text
                     : storage.intern("the condition " + describe(why));
  bool savedCertain = certain;
  certain = false;
  doubts.push_back({"depends on " + *reason, condition.origins});
  size_t mark = storage.mark();
  size_t numJumps = frame().jumps.size();

  bool endedBefore = std::exchange(endsPath, false);
  Flow first = ifTrue();
  bool firstEnds = std::exchange(endsPath, false);
  Exit exit = {{}, reason};
  // A path that leaves is remembered with all that it changed since the loop or
  // function began; this must be taken before it is rolled back.
  leave(first, exit);
  exit.changes = storage.rollBack(mark);
  Flow second = ifFalse();
  endsPath = endedBefore || (firstEnds && endsPath);

  doubts.pop_back();
  certain = savedCertain;
  auto keepDoubt = [&] {
    certain = false;
    doubts.push_back({"may have been left before, which depends on " + *reason,
                      condition.origins});
  };
  if (frame().jumps.size() > numJumps)
    keepDoubt();
  if (first == Flow::Stop)
    return second;
  if (second == Flow::Stop || (first == Flow::Normal && second != first)) {
    // Go on with the state of the first branch.
    if (second != Flow::Stop)
      leave(second, exit);
    storage.rollBack(mark);
    for (const auto &[cell, value] : exit.changes)
      storage.write(cell, value);
    if (second != Flow::Stop)
      keepDoubt();
    return first;
  }
  if (first == second) {
    // A return is in the list of the frame already; both go on as one.
    joinWith(mark, exit, condition.origins);
    return first;
  }
  keepDoubt();
  return second;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Interpreter::Flow Interpreter::execute(const clang::Stmt *stmt) {
  if (!stmt)
    return Flow::Normal;
  if (leaving != Leaving::No || !step(stmt))
    return Flow::Stop;
  switch (stmt->getStmtClass()) {
  case clang::Stmt::CompoundStmtClass:
    return executeCompound(llvm::cast<clang::CompoundStmt>(stmt));
  case clang::Stmt::DeclStmtClass:
    return executeDeclarations(llvm::cast<clang::DeclStmt>(stmt));
  case clang::Stmt::IfStmtClass:
    return executeIf(llvm::cast<clang::IfStmt>(stmt));
  case clang::Stmt::SwitchStmtClass:
    return executeSwitch(llvm::cast<clang::SwitchStmt>(stmt));
  case clang::Stmt::CaseStmtClass:
  case clang::Stmt::DefaultStmtClass:
    return execute(llvm::cast<clang::SwitchCase>(stmt)->getSubStmt());
  case clang::Stmt::WhileStmtClass: {
    const auto *loop = llvm::cast<clang::WhileStmt>(stmt);
    return executeLoop(loop->getCond(), loop->getConditionVariable(),
                       loop->getBody(), nullptr, true, stmt);
  }
  case clang::Stmt::DoStmtClass: {
    const auto *loop = llvm::cast<clang::DoStmt>(stmt);
    return executeLoop(loop->getCond(), nullptr, loop->getBody(), nullptr,
                       false, stmt);
  }
  case clang::Stmt::ForStmtClass: {
    const auto *loop = llvm::cast<clang::ForStmt>(stmt);
    if (Flow flow = execute(loop->getInit()); flow != Flow::Normal)
      return flow;
    return executeLoop(loop->getCond(), loop->getConditionVariable(),
                       loop->getBody(), loop->getInc(), true, stmt);
  }
  case clang::Stmt::CXXForRangeStmtClass:
    return executeRangeFor(llvm::cast<clang::CXXForRangeStmt>(stmt));
  case clang::Stmt::ReturnStmtClass:
    return executeReturn(llvm::cast<clang::ReturnStmt>(stmt));
  case clang::Stmt::BreakStmtClass:
    return Flow::Break;
  case clang::Stmt::ContinueStmtClass:
    return Flow::Continue;
  case clang::Stmt::NullStmtClass:
    return Flow::Normal;
  case clang::Stmt::AttributedStmtClass:
    return execute(llvm::cast<clang::AttributedStmt>(stmt)->getSubStmt());
  case clang::Stmt::LabelStmtClass:
    return execute(llvm::cast<clang::LabelStmt>(stmt)->getSubStmt());
  case clang::Stmt::CXXTryStmtClass: {
    return executeTry(llvm::cast<clang::CXXTryStmt>(stmt));
  }
  case clang::Stmt::GotoStmtClass:
    return executeGoto(llvm::cast<clang::GotoStmt>(stmt));
  case clang::Stmt::IndirectGotoStmtClass:
    markIncomplete("a goto at line " +
                   std::to_string(getPlace(stmt->getBeginLoc()).line) +
                   " is not followed");
    certain = false;
    doubts.push_back({"follows a goto", {}});
    return Flow::Normal;
  default:
    break;
  }
  if (const auto *expr = llvm::dyn_cast<clang::Expr>(stmt)) {
    if (const auto *cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(expr))
      expr = cleanups->getSubExpr();
    if (llvm::isa<clang::CXXThrowExpr>(expr))
      return leave(Leaving::Throw);
    endsPath = false;
    if (expr->isGLValue())
      evaluateAddress(expr);
    else
      evaluate(expr);
    if (std::exchange(endsPath, false) && leaving == Leaving::No)
      return leave(Leaving::Exit);
    return hasEnded() ? Flow::Stop : Flow::Normal;
  }
  return Flow::Normal;
}

Interpreter::Flow Interpreter::leave(Leaving how) {
  // On a path that is perhaps not taken the others go on.
  if (certain && !exhausted)
    leaving = how;
  return Flow::Stop;
}

Interpreter::Flow Interpreter::executeTry(const clang::CXXTryStmt *stmt) {
  // Handlers run only when something throws, and CUDA calls succeed.
  Flow flow = execute(stmt->getTryBlock());
  if (leaving != Leaving::Throw || stmt->getNumHandlers() == 0)
    return flow;
  leaving = Leaving::No;
  const clang::CXXCatchStmt *handler = stmt->getHandler(0);
  std::string line = std::to_string(getPlace(handler->getBeginLoc()).line);
  if (stmt->getNumHandlers() > 1)
    markIncomplete("which handler catches the exception is not known, only "
                   "the one at line " +
                   line + " is followed");
  // Whether it catches the exception is not looked at.
  certain = false;
  doubts.push_back(
      {"is behind an exception that is perhaps caught at line " + line, {}});
  if (const clang::VarDecl *exception = handler->getExceptionDecl())
    declare(exception);
  return execute(handler->getHandlerBlock());
}

void Interpreter::destroy(const Value &object, clang::QualType type) {
  const clang::CXXRecordDecl *record = type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || record->hasTrivialDestructor())
    return;
  const clang::CXXDestructorDecl *destructor = record->getDestructor();
  if (const clang::FunctionDecl *definition =
          destructor ? findBody(destructor) : nullptr)
    runBody(definition, {}, object, nullptr);
}

Interpreter::Flow Interpreter::executeGoto(const clang::GotoStmt *stmt) {
  if (stmt->getBeginLoc() < stmt->getLabel()->getStmt()->getBeginLoc()) {
    frame().jumps.push_back(
        {stmt->getLabel(),
         {storage.getChanges(frame().mark),
          storage.intern("a goto at line " +
                         std::to_string(getPlace(stmt->getBeginLoc()).line))}});
    return Flow::Stop;
  }
  markIncomplete("a goto at line " +
                 std::to_string(getPlace(stmt->getBeginLoc()).line) +
                 " to a line before it is not followed");
  certain = false;
  doubts.push_back({"follows a goto", {}});
  return Flow::Normal;
}

Interpreter::Flow Interpreter::arrive(const clang::Stmt *stmt, Flow flow,
                                      size_t mark) {
  while (const auto *label = llvm::dyn_cast<clang::LabelStmt>(stmt)) {
    std::vector<Jump> &jumps = frame().jumps;
    for (size_t i = 0; i < jumps.size();) {
      if (jumps[i].label != label->getDecl()) {
        ++i;
        continue;
      }
      Exit exit = std::move(jumps[i].exit);
      jumps.erase(jumps.begin() + long(i));
      if (flow == Flow::Normal) {
        joinWith(frame().mark, exit, {});
        continue;
      }
      // Only this path goes on; the one at hand left.
      leave(flow, exit);
      storage.rollBack(mark);
      for (const auto &[cell, value] : exit.changes)
        storage.write(cell, value);
      flow = Flow::Normal;
    }
    stmt = label->getSubStmt();
  }
  return flow;
}

Interpreter::Flow
Interpreter::executeCompound(const clang::CompoundStmt *stmt) {
  std::vector<const clang::VarDecl *> declared;
  Flow flow = Flow::Normal;
  size_t mark = storage.mark();
  bool savedCertain = certain;
  size_t savedDoubts = doubts.size();
  size_t numExits = getNumExits();
  for (const clang::Stmt *child : stmt->body()) {
    if (llvm::isa<clang::LabelStmt>(child) && !frame().jumps.empty() &&
        !exhausted) {
      flow = arrive(child, flow, mark);
      if (getNumExits() == numExits && frame().loops.empty()) {
        certain = savedCertain;
        doubts.resize(std::min(doubts.size(), savedDoubts));
      }
    }
    // A label further down may be where a path goes on.
    if (flow != Flow::Normal)
      continue;
    flow = execute(child);
    if (const auto *declarations = llvm::dyn_cast<clang::DeclStmt>(child))
      for (const clang::Decl *decl : declarations->decls())
        if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(decl))
          if (variable->hasLocalStorage() &&
              !variable->getType()->isReferenceType())
            declared.push_back(variable);
  }
  if (flow != Flow::Stop)
    for (auto it = declared.rbegin(); it != declared.rend(); ++it)
      if (auto found = frame().locals.find(*it); found != frame().locals.end())
        destroy(found->second, (*it)->getType());
  return flow;
}

void Interpreter::declare(const clang::VarDecl *variable) {
  if (variable->isStaticLocal()) {
    getGlobal(variable);
    return;
  }
  if (!variable->hasLocalStorage())
    return;
  if (variable->getType()->isReferenceType()) {
    frame().locals[variable] =
        variable->getInit() ? evaluateAddress(variable->getInit())
                            : makeUnknown("a reference without an initialiser");
    return;
  }
  clang::QualType type = variable->getType();
  // The length of a variable-length array is that of now.
  if (const auto *array = getContext().getAsVariableArrayType(type)) {
    Value length =
        array->getSizeExpr() ? evaluateRvalue(array->getSizeExpr()) : Value();
    if (length.isInteger() && length.integer > 0)
      type = getContext().getConstantArrayType(
          array->getElementType(), llvm::APInt(64, uint64_t(length.integer)),
          nullptr, clang::ArraySizeModifier::Normal, 0);
  }
  Cell *cell = storage.make(type);
  frame().locals[variable] = Value::makePointer(cell);
  if (variable->getInit())
    initialize(cell, variable->getInit());
}

Interpreter::Flow
Interpreter::executeDeclarations(const clang::DeclStmt *stmt) {
  for (const clang::Decl *decl : stmt->decls()) {
    const auto *variable = llvm::dyn_cast<clang::VarDecl>(decl);
    if (!variable)
      continue;
    declare(variable);
    if (const auto *group = llvm::dyn_cast<clang::DecompositionDecl>(variable))
      for (const clang::BindingDecl *binding : group->bindings())
        if (const clang::VarDecl *holder = binding->getHoldingVar())
          declare(holder);
    if (hasEnded())
      break;
  }
  return hasEnded() ? Flow::Stop : Flow::Normal;
}

namespace {
/// Whether a return statement is somewhere in \p stmt (not in a lambda).
bool mayReturn(const clang::Stmt *stmt) {
  if (!stmt || llvm::isa<clang::LambdaExpr>(stmt))
    return false;
  if (llvm::isa<clang::ReturnStmt>(stmt))
    return true;
  for (const clang::Stmt *child : stmt->children())
    if (mayReturn(child))
      return true;
  return false;
}
} // namespace

Interpreter::Flow Interpreter::executeIf(const clang::IfStmt *stmt) {
  if (stmt->isConsteval())
    return execute(stmt->isNonNegatedConsteval() ? stmt->getElse()
                                                 : stmt->getThen());
  if (Flow flow = execute(stmt->getInit()); flow != Flow::Normal)
    return flow;
  if (const clang::VarDecl *variable = stmt->getConditionVariable())
    declare(variable);
  Value condition = evaluate(stmt->getCond());
  Flow flow = branch(
      condition, stmt->getCond(), [&] { return execute(stmt->getThen()); },
      [&] { return execute(stmt->getElse()); });
  // Which return is taken depends on it, also for the returns that follow.
  if (mayReturn(stmt->getThen()) || mayReturn(stmt->getElse()))
    frame().returnControl = frame().returnControl | condition.origins;
  return flow;
}

Interpreter::Flow Interpreter::executeFrom(const clang::CompoundStmt *body,
                                           size_t first) {
  Flow flow = Flow::Normal;
  size_t index = 0;
  for (const clang::Stmt *child : body->body()) {
    if (index++ < first)
      continue;
    flow = execute(child);
    if (flow != Flow::Normal)
      break;
  }
  return flow;
}

Interpreter::Flow Interpreter::executeSwitch(const clang::SwitchStmt *stmt) {
  if (Flow flow = execute(stmt->getInit()); flow != Flow::Normal)
    return flow;
  if (const clang::VarDecl *variable = stmt->getConditionVariable())
    declare(variable);
  Value condition = evaluate(stmt->getCond());
  const auto *body = llvm::dyn_cast<clang::CompoundStmt>(stmt->getBody());
  if (!body) {
    markIncomplete("a switch without braces");
    return Flow::Normal;
  }

  // Labels that stand directly in the body: value range and where they start.
  struct Label {
    size_t index;
    /// Nothing for default.
    std::optional<std::pair<int64_t, int64_t>> range;
  };
  std::vector<Label> labels;
  size_t numLabels = 0;
  for (const clang::SwitchCase *label = stmt->getSwitchCaseList(); label;
       label = label->getNextSwitchCase())
    ++numLabels;
  size_t index = 0;
  for (const clang::Stmt *child : body->body()) {
    const clang::Stmt *inner = child;
    while (const auto *label = llvm::dyn_cast<clang::SwitchCase>(inner)) {
      Label entry = {index, std::nullopt};
      if (const auto *caseLabel = llvm::dyn_cast<clang::CaseStmt>(label)) {
        llvm::APSInt low =
            caseLabel->getLHS()->EvaluateKnownConstInt(getContext());
        llvm::APSInt high =
            caseLabel->getRHS()
                ? caseLabel->getRHS()->EvaluateKnownConstInt(getContext())
                : low;
        entry.range = {getBits(low), getBits(high)};
      }
      labels.push_back(entry);
      inner = label->getSubStmt();
    }
    ++index;
  }
  if (labels.size() != numLabels)
    markIncomplete("a switch with labels inside nested statements at line " +
                   std::to_string(getPlace(stmt->getBeginLoc()).line));

  // The switch is what a break leaves.
  Scope scope;
  scope.mark = storage.mark();
  frame().loops.push_back(&scope);
  bool savedCertain = certain;
  size_t savedDoubts = doubts.size();
  pushControl(condition.origins);

  Flow flow = Flow::Normal;
  if (condition.isInteger()) {
    const Label *chosen = nullptr;
    for (const Label &label : labels)
      if (label.range ? condition.integer >= label.range->first &&
                            condition.integer <= label.range->second
                      : !chosen)
        if (label.range || !chosen)
          chosen = &label;
    if (chosen)
      flow = executeFrom(body, chosen->index);
  } else {
    std::function<Flow(size_t)> tryFrom = [&](size_t at) -> Flow {
      if (at >= labels.size()) {
        for (const Label &label : labels)
          if (!label.range)
            return Flow::Stop; // The default was one of those tried.
        return Flow::Normal;
      }
      return branch(
          condition, stmt->getCond(),
          [&] { return executeFrom(body, labels[at].index); },
          [&] { return tryFrom(at + 1); });
    };
    flow = tryFrom(0);
  }

  frame().loops.pop_back();
  controls.pop_back();
  if (flow == Flow::Break)
    flow = Flow::Normal;
  for (const Exit &exit : scope.breaks)
    joinWith(scope.mark, exit, condition.origins);
  // A continue belongs to the loop around the switch.
  if (!scope.continues.empty())
    for (const Exit &exit : scope.continues)
      if (!frame().loops.empty())
        frame().loops.back()->continues.push_back(exit);
  if (flow == Flow::Normal && frame().returns.empty() &&
      scope.continues.empty()) {
    certain = savedCertain;
    doubts.resize(std::min(doubts.size(), savedDoubts));
  }
  return flow;
}

//===----------------------------------------------------------------------===//
// Return
//===----------------------------------------------------------------------===//

Interpreter::Flow Interpreter::executeReturn(const clang::ReturnStmt *stmt) {
  const clang::Expr *expr = stmt->getRetValue();
  if (!expr)
    return Flow::Return;
  clang::QualType type = frame().function->getReturnType();
  Value result;
  if (type->isReferenceType()) {
    result = evaluateAddress(expr);
  } else if (type->isRecordType()) {
    Cell *cell = storage.make(type);
    initialize(cell, expr);
    result = Value::makeRecord(cell);
  } else {
    result = evaluate(expr);
  }
  result.origins = result.origins | frame().returnControl;
  for (size_t i = frame().firstControl; i < controls.size(); ++i)
    result.origins = result.origins | controls[i].origins;
  if (std::optional<Value> &earlier = frame().result) {
    if (earlier->kind == Value::Kind::Record &&
        result.kind == Value::Kind::Record) {
      // Joined part by part, so that equal parts stay known.
      size_t mark = storage.mark();
      storage.copy(earlier->cell, result.cell);
      Exit exit = {storage.rollBack(mark),
                   storage.intern("which return of " +
                                  frame().function->getNameAsString() +
                                  " is taken")};
      joinWith(storage.mark(), exit, result.origins);
    } else if (!isSameValue(*earlier, result)) {
      Value unknown =
          makeUnknown("which return of " + frame().function->getNameAsString() +
                          " is taken",
                      earlier->origins | result.origins);
      earlier = unknown;
    }
  } else {
    frame().result = result;
  }
  return Flow::Return;
}
