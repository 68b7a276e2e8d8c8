// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DeviceLoops.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Mangle.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

using namespace d2k;
using namespace d2k::cuda;

/// Whether \p type is one that an instruction loads or stores whole: a scalar,
/// or a vector type of CUDA, which is aligned to its size.
static bool isWhole(clang::ASTContext &context, clang::QualType type) {
  if (type->isDependentType() || type->isIncompleteType())
    return false;
  if (type->isScalarType())
    return true;
  const clang::CXXRecordDecl *record = type->getAsCXXRecordDecl();
  clang::TypeInfoChars info = context.getTypeInfoInChars(type);
  return record && record->isTriviallyCopyable() && info.Width == info.Align;
}

namespace {
/// Finds out what each line of a loop's body accesses.
class AccessFinder {
public:
  explicit AccessFinder(clang::ASTContext &context)
      : context(context), sources(context.getSourceManager()) {}

  /// Inner loops and lambdas are left out.
  void visit(const clang::Stmt *stmt);
  std::vector<SourceAccess> take();

private:
  /// What an lvalue designates.
  enum class Place : uint8_t { Memory, Variable, Unknown };
  Place classify(const clang::Expr *lvalue) const;
  void access(const clang::Expr *lvalue, bool loads, bool stores);
  /// The line of \p stmt has accesses that cannot be counted.
  void giveUp(const clang::Stmt *stmt) { unclear.insert(getLine(stmt)); }
  int64_t getLine(const clang::Stmt *stmt) const {
    return sources.getExpansionLineNumber(stmt->getBeginLoc());
  }
  void visitCall(const clang::CallExpr *call);

  clang::ASTContext &context;
  const clang::SourceManager &sources;
  /// By line and bytes.
  std::map<std::pair<int64_t, int64_t>, SourceAccess> accesses;
  std::set<int64_t> unclear;
};

class LoopFinder {
public:
  explicit LoopFinder(clang::ASTContext &context)
      : context(context), sources(context.getSourceManager()),
        mangler(context.createMangleContext()) {}

  void visitFunction(const clang::FunctionDecl *function);

  std::vector<SourceLoop> loops;

private:
  void visit(const clang::Stmt *stmt, const clang::AttributedStmt *attributes);
  void add(const clang::Stmt *loop, const clang::Stmt *body,
           clang::SourceLocation headEnd, std::optional<int64_t> step,
           const clang::AttributedStmt *attributes);
  std::optional<int64_t> getStep(const clang::Expr *increment) const;
  std::optional<int64_t> evaluate(const clang::Expr *expr) const;
  std::optional<int64_t>
  getUnroll(const clang::AttributedStmt *attributes) const;

  clang::ASTContext &context;
  const clang::SourceManager &sources;
  std::unique_ptr<clang::MangleContext> mangler;
  /// Of the function that is visited.
  std::string name;
};
} // namespace

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

AccessFinder::Place AccessFinder::classify(const clang::Expr *lvalue) const {
  lvalue = lvalue->IgnoreParenImpCasts();
  if (const auto *member = llvm::dyn_cast<clang::MemberExpr>(lvalue))
    return member->isArrow() ? Place::Memory : classify(member->getBase());
  if (const auto *unary = llvm::dyn_cast<clang::UnaryOperator>(lvalue))
    return unary->getOpcode() == clang::UO_Deref ? Place::Memory
                                                 : Place::Unknown;
  if (const auto *subscript =
          llvm::dyn_cast<clang::ArraySubscriptExpr>(lvalue)) {
    const clang::Expr *base = subscript->getBase()->IgnoreParenImpCasts();
    return base->getType()->isArrayType() ? classify(base) : Place::Memory;
  }
  const auto *ref = llvm::dyn_cast<clang::DeclRefExpr>(lvalue);
  const auto *variable =
      ref ? llvm::dyn_cast<clang::VarDecl>(ref->getDecl()) : nullptr;
  if (!variable || variable->getType()->isReferenceType())
    return Place::Unknown;
  bool inMemory = variable->hasGlobalStorage() ||
                  variable->hasAttr<clang::CUDASharedAttr>();
  return inMemory ? Place::Memory : Place::Variable;
}

void AccessFinder::access(const clang::Expr *lvalue, bool loads, bool stores) {
  Place place = classify(lvalue);
  if (place == Place::Variable)
    return;
  if (place == Place::Unknown || !isWhole(context, lvalue->getType()))
    return giveUp(lvalue);
  int64_t bytes = context.getTypeSizeInChars(lvalue->getType()).getQuantity();
  // A statement may be on several lines; code is where the operand begins or
  // where its parts do.
  int64_t line = getLine(lvalue);
  if (sources.getExpansionLineNumber(lvalue->getEndLoc()) != line)
    return giveUp(lvalue);
  SourceAccess &entry = accesses[{line, bytes}];
  entry.line = line;
  entry.bytes = bytes;
  entry.loads += loads;
  entry.stores += stores;
}

void AccessFinder::visitCall(const clang::CallExpr *call) {
  // What a function with a body does is in its own lines.
  const clang::FunctionDecl *callee = call->getDirectCallee();
  const auto *method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(callee);
  bool isCopy = method && method->isTrivial() &&
                (method->isCopyAssignmentOperator() ||
                 method->isMoveAssignmentOperator());
  if (isCopy && call->getNumArgs() == 2) {
    access(call->getArg(0), /*loads=*/false, /*stores=*/true);
    if (call->getArg(1)->isGLValue())
      access(call->getArg(1), /*loads=*/true, /*stores=*/false);
    return;
  }
  if (!callee || callee->getBuiltinID() || !callee->hasBody())
    giveUp(call);
}

void AccessFinder::visit(const clang::Stmt *stmt) {
  if (!stmt || llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt,
                         clang::CXXForRangeStmt, clang::LambdaExpr>(stmt))
    return;
  if (llvm::isa<clang::AsmStmt>(stmt)) {
    giveUp(stmt);
  } else if (const auto *call = llvm::dyn_cast<clang::CallExpr>(stmt)) {
    visitCall(call);
  } else if (const auto *copy = llvm::dyn_cast<clang::CXXConstructExpr>(stmt)) {
    if (copy->getConstructor()->isTrivial() && copy->getNumArgs() == 1 &&
        copy->getArg(0)->isGLValue())
      access(copy->getArg(0), /*loads=*/true, /*stores=*/false);
  } else if (const auto *cast = llvm::dyn_cast<clang::CastExpr>(stmt)) {
    if (cast->getCastKind() == clang::CK_LValueToRValue)
      access(cast->getSubExpr(), /*loads=*/true, /*stores=*/false);
  } else if (const auto *assign = llvm::dyn_cast<clang::BinaryOperator>(stmt)) {
    if (assign->isAssignmentOp())
      access(assign->getLHS(), assign->isCompoundAssignmentOp(),
             /*stores=*/true);
  } else if (const auto *unary = llvm::dyn_cast<clang::UnaryOperator>(stmt)) {
    if (unary->isIncrementDecrementOp())
      access(unary->getSubExpr(), /*loads=*/true, /*stores=*/true);
  }
  for (const clang::Stmt *child : stmt->children())
    visit(child);
}

std::vector<SourceAccess> AccessFinder::take() {
  std::vector<SourceAccess> list;
  for (const auto &[place, entry] : accesses)
    if (!unclear.count(entry.line))
      list.push_back(entry);
  return list;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void LoopFinder::visitFunction(const clang::FunctionDecl *function) {
  name.clear();
  if (!llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(
          function)) {
    llvm::raw_string_ostream stream(name);
    if (mangler->shouldMangleDeclName(function))
      mangler->mangleName(
          function->hasAttr<clang::CUDAGlobalAttr>()
              ? clang::GlobalDecl(function, clang::KernelReferenceKind::Kernel)
              : clang::GlobalDecl(function),
          stream);
    else
      stream << function->getName();
  }
  visit(function->getBody(), nullptr);
}

std::optional<int64_t> LoopFinder::evaluate(const clang::Expr *expr) const {
  clang::Expr::EvalResult result;
  if (!expr || expr->isValueDependent() || expr->isTypeDependent() ||
      !expr->getType()->isIntegralOrEnumerationType() ||
      !expr->EvaluateAsInt(result, context))
    return std::nullopt;
  const llvm::APSInt &value = result.Val.getInt();
  return value.isRepresentableByInt64() ? std::optional(value.getExtValue())
                                        : std::nullopt;
}

std::optional<int64_t> LoopFinder::getStep(const clang::Expr *increment) const {
  if (!increment)
    return std::nullopt;
  increment = increment->IgnoreParenImpCasts();
  if (const auto *cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(increment))
    return getStep(cleanups->getSubExpr());
  // Pointers step by elements, and the machine code by bytes.
  auto isCounter = [](const clang::Expr *expr) {
    return expr->getType()->isIntegerType();
  };
  if (const auto *unary = llvm::dyn_cast<clang::UnaryOperator>(increment)) {
    if (unary->isIncrementDecrementOp() && isCounter(unary->getSubExpr()))
      return 1;
    return std::nullopt;
  }
  const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(increment);
  if (!binary || !isCounter(binary->getLHS()))
    return std::nullopt;
  std::optional<int64_t> step;
  if (binary->getOpcode() == clang::BO_AddAssign ||
      binary->getOpcode() == clang::BO_SubAssign) {
    step = evaluate(binary->getRHS());
  } else if (binary->getOpcode() == clang::BO_Assign) {
    // k = k + 8
    auto getVariable = [](const clang::Expr *expr) -> const clang::ValueDecl * {
      const auto *ref =
          llvm::dyn_cast<clang::DeclRefExpr>(expr->IgnoreParenImpCasts());
      return ref ? ref->getDecl() : nullptr;
    };
    const auto *sum = llvm::dyn_cast<clang::BinaryOperator>(
        binary->getRHS()->IgnoreParenImpCasts());
    const clang::ValueDecl *counter = getVariable(binary->getLHS());
    if (sum && counter && sum->isAdditiveOp() &&
        getVariable(sum->getLHS()) == counter)
      step = evaluate(sum->getRHS());
  }
  if (!step || *step == 0 || *step == INT64_MIN)
    return std::nullopt;
  return std::abs(*step);
}

std::optional<int64_t>
LoopFinder::getUnroll(const clang::AttributedStmt *attributes) const {
  if (!attributes)
    return std::nullopt;
  for (const clang::Attr *attr : attributes->getAttrs()) {
    const auto *hint = llvm::dyn_cast<clang::LoopHintAttr>(attr);
    if (!hint)
      continue;
    if (hint->getOption() == clang::LoopHintAttr::UnrollCount)
      return evaluate(hint->getValue());
    if (hint->getOption() == clang::LoopHintAttr::Unroll)
      return hint->getState() == clang::LoopHintAttr::Disable ? 1 : 0;
  }
  return std::nullopt;
}

void LoopFinder::add(const clang::Stmt *loop, const clang::Stmt *body,
                     clang::SourceLocation headEnd, std::optional<int64_t> step,
                     const clang::AttributedStmt *attributes) {
  auto place = [&](clang::SourceLocation loc) {
    return sources.getPresumedLoc(sources.getExpansionLoc(loc));
  };
  clang::PresumedLoc start = place(loop->getBeginLoc());
  clang::PresumedLoc head = place(headEnd);
  clang::PresumedLoc end = place(body->getEndLoc());
  if (start.isInvalid() || head.isInvalid() || end.isInvalid())
    return;
  llvm::SmallString<256> file(start.getFilename());
  if (llvm::sys::fs::make_absolute(file))
    return;
  llvm::sys::path::remove_dots(file, /*remove_dot_dot=*/true);
  AccessFinder accesses(context);
  const auto *counted = llvm::dyn_cast<clang::ForStmt>(loop);
  for (const clang::Stmt *child : loop->children())
    if (!counted || child != counted->getInit())
      accesses.visit(child);
  loops.push_back({file.str().str(), start.getLine(), head.getLine(),
                   end.getLine(), start.getColumn(), step,
                   getUnroll(attributes), name, accesses.take()});
}

void LoopFinder::visit(const clang::Stmt *stmt,
                       const clang::AttributedStmt *attributes) {
  if (!stmt)
    return;
  if (const auto *attributed = llvm::dyn_cast<clang::AttributedStmt>(stmt))
    return visit(attributed->getSubStmt(), attributed);
  if (const auto *loop = llvm::dyn_cast<clang::ForStmt>(stmt))
    add(loop, loop->getBody(), loop->getRParenLoc(), getStep(loop->getInc()),
        attributes);
  else if (const auto *loop = llvm::dyn_cast<clang::WhileStmt>(stmt))
    add(loop, loop->getBody(), loop->getRParenLoc(), std::nullopt, attributes);
  else if (const auto *loop = llvm::dyn_cast<clang::DoStmt>(stmt))
    add(loop, loop, loop->getDoLoc(), std::nullopt, attributes);
  else if (const auto *loop = llvm::dyn_cast<clang::CXXForRangeStmt>(stmt))
    add(loop, loop->getBody(), loop->getRParenLoc(), std::nullopt, attributes);
  if (const auto *lambda = llvm::dyn_cast<clang::LambdaExpr>(stmt))
    visit(lambda->getBody(), nullptr);
  for (const clang::Stmt *child : stmt->children())
    visit(child, nullptr);
}

std::vector<SourceLoop>
cuda::findLoops(clang::ASTContext &context,
                llvm::ArrayRef<const clang::FunctionDecl *> functions) {
  LoopFinder finder(context);
  for (const clang::FunctionDecl *function : functions)
    finder.visitFunction(function);
  return std::move(finder.loops);
}
