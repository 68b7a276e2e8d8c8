// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the host code of a submission on abstract values: integers that are
// known are computed, everything else is unknown with a reason. A condition
// that is not known runs both branches from the same state and joins them; a
// loop whose trip count is not known runs its body until nothing new changes.
// CUDA and library functions are models (Api*.cpp) that record events; other
// functions without a body make what they could reach unknown.

#ifndef D2K_LIB_FRONTEND_CUDA_INTERPRETER_H
#define D2K_LIB_FRONTEND_CUDA_INTERPRETER_H

#include "LinkedUnits.h"
#include "Value.h"

#include "d2k/Frontend/CUDA/HostReader.h"

#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace d2k::cuda {

class Interpreter;

/// A call that a model handles.
struct CallSite {
  const clang::FunctionDecl *callee = nullptr;
  /// Name of the function, without its scope.
  llvm::StringRef name;
  /// "cudaMalloc", "cub::DeviceReduce::Sum"
  std::string qualifiedName;
  /// One an argument; the address for a parameter of reference type.
  std::vector<Value> arguments;
  std::vector<clang::QualType> types;
  /// The object of a member function: its address.
  std::optional<Value> self;
  const clang::Expr *site = nullptr;
};

class Interpreter {
public:
  /// Of several units, \p context is that of the entry; null when there is one.
  Interpreter(clang::ASTContext &context, const Machine &machine,
              const LinkedUnits *linked = nullptr);

  /// Calls \p entry twice and returns what the second call does: the first may
  /// fill caches that live in static variables. \p arguments is null when
  /// nothing is known about them.
  HostTrace callEntry(const clang::FunctionDecl *entry,
                      const EntryArguments *arguments);

  //===--- For the models of API functions --------------------------------===//

  /// The value of argument \p i, loaded when it is passed by reference.
  Value getArgument(const CallSite &call, unsigned i);
  /// Writes \p value to what argument \p i points or refers to.
  void setOutput(const CallSite &call, unsigned i, const Value &value);
  /// The record that argument \p i points or refers to, or is; null when not
  /// known.
  Cell *getRecord(const CallSite &call, unsigned i);
  /// A field of \p record by name; null when there is none.
  Cell *findField(Cell *record, llvm::StringRef name);

  Event &addEvent(EventKind kind, const clang::Expr *site);
  Quantity toQuantity(const Value &value);
  /// The buffer that \p value points to.
  std::optional<size_t> toBuffer(const Value &value);
  StreamId toStream(const Value &value);
  Argument toArgument(const Value &value, clang::QualType type);
  size_t addBuffer(Buffer buffer);
  void markIncomplete(std::string reason);
  /// Records a launch of the kernel that \p kernel is.
  void addLaunch(Event event, const Value &kernel);
  /// "f(x) at k.cu:12"
  std::string describe(const clang::Expr *expr);
  SourceLocation getPlace(clang::SourceLocation location);
  Value load(const Value &address, clang::QualType type);
  void store(const Value &address, const Value &value);
  Value makeUnknown(std::string reason, Origins origins = {}) {
    return storage.makeUnknown(std::move(reason), origins);
  }
  /// Calls a function value, as a callback of an API would.
  Value callValue(const Value &function, std::vector<Value> arguments,
                  const clang::Expr *site);
  void assume(std::string what);

  /// That of the function at hand.
  clang::ASTContext &getContext() const { return *context; }

  const Machine &machine;
  Storage storage;
  HostTrace trace;
  int nextHandle = 2;
  /// Streams that are being captured.
  std::map<int, bool> captures;
  /// What a graph runs, by its handle: events that were captured. They are in
  /// the trace only when the graph is launched.
  std::map<int64_t, std::vector<Event>> graphs;

private:
  /// What every path that is followed does now: it leaves its function and the
  /// callers, by an exception or with the program.
  enum class Leaving : uint8_t { No, Throw, Exit };
  /// How a statement ends.
  enum class Flow : uint8_t {
    Normal,
    Return,
    Break,
    Continue,
    /// The program ends (abort, throw), or the path waits at a label (goto).
    Stop
  };

  /// Where a path may have left a loop or function.
  struct Exit {
    Changes changes;
    const std::string *reason = nullptr;
  };

  /// A path that left for a label.
  struct Jump {
    const clang::LabelDecl *label = nullptr;
    Exit exit;
  };

  struct Scope {
    size_t mark = 0;
    std::vector<Exit> breaks;
    std::vector<Exit> continues;
  };

  /// What had been done when a loop began.
  struct LoopStart {
    uint64_t steps = 0;
    size_t mark = 0;
    size_t numEvents = 0;
  };

  struct Frame {
    const clang::FunctionDecl *function = nullptr;
    llvm::DenseMap<const clang::ValueDecl *, Value> locals;
    /// Address of the object of a member function.
    Value self;
    size_t mark = 0;
    std::vector<Exit> returns;
    /// Paths that wait at a label.
    std::vector<Jump> jumps;
    /// Results of the returns so far; joined.
    std::optional<Value> result;
    Cell *resultCell = nullptr;
    std::vector<Scope *> loops;
    /// On what it depends which return is taken.
    Origins returnControl;
    /// Number of conditions around the call.
    size_t firstControl = 0;
    /// Values of the index in nested ArrayInitLoopExprs.
    std::vector<int64_t> arrayIndices;
  };

  // Statements.
  Flow execute(const clang::Stmt *stmt);
  Flow executeCompound(const clang::CompoundStmt *stmt);
  Flow executeGoto(const clang::GotoStmt *stmt);
  /// How the paths that wait at the label \p stmt go on, together with the
  /// path at hand, which came there with \p flow. \p mark is that of the start
  /// of the block.
  Flow arrive(const clang::Stmt *stmt, Flow flow, size_t mark);
  Flow executeDeclarations(const clang::DeclStmt *stmt);
  void declare(const clang::VarDecl *variable);
  Flow executeIf(const clang::IfStmt *stmt);
  Flow executeTry(const clang::CXXTryStmt *stmt);
  /// Ends the path; the callers' too when it is taken for sure.
  Flow leave(Leaving how);
  bool hasEnded() const { return exhausted || leaving != Leaving::No; }
  Flow executeSwitch(const clang::SwitchStmt *stmt);
  Flow executeFrom(const clang::CompoundStmt *body, size_t first);
  Flow executeLoop(const clang::Expr *condition, const clang::VarDecl *variable,
                   const clang::Stmt *body, const clang::Expr *increment,
                   bool testFirst, const clang::Stmt *loop);
  Flow executeUnknownLoop(llvm::function_ref<Flow()> iteration,
                          const std::string *reason, Origins origins);
  /// Whether \p loop, which began at \p start, is summarised from now on.
  bool runsTooLong(const LoopStart &start, unsigned iteration,
                   const clang::Stmt *loop);
  /// Whether so much was followed that the rest is summarised.
  bool isHurried() const;
  /// Why a loop that runs too long is not followed.
  const std::string *describeLongLoop(const clang::Stmt *loop);
  Flow executeRangeFor(const clang::CXXForRangeStmt *stmt);
  Flow executeReturn(const clang::ReturnStmt *stmt);
  Flow branch(const Value &condition, const clang::Expr *why,
              llvm::function_ref<Flow()> ifTrue,
              llvm::function_ref<Flow()> ifFalse);
  void leave(Flow flow, const Exit &exit);
  /// Paths that left the function, or wait at a label of it.
  size_t getNumExits() { return frame().returns.size() + frame().jumps.size(); }
  void joinWith(size_t mark, const Exit &exit, Origins origins);
  void destroy(const Value &object, clang::QualType type);

  // Expressions.
  Value evaluate(const clang::Expr *expr);
  Value evaluateRvalue(const clang::Expr *expr);
  /// The address of a glvalue.
  Value evaluateAddress(const clang::Expr *expr);
  Value evaluateVariable(const clang::ValueDecl *decl, const clang::Expr *expr);
  Value getGlobal(const clang::VarDecl *variable);
  Value evaluateCast(const clang::CastExpr *cast);
  Value castPointer(Value value, clang::QualType to);
  Value toBase(Value address, const clang::CastExpr *cast);
  Value evaluateUnary(const clang::UnaryOperator *expr);
  Value evaluateBinary(const clang::BinaryOperator *expr);
  /// The remainder, or the masked low bits, of an address whose alignment is
  /// known.
  std::optional<int64_t> computeLowBits(clang::BinaryOperatorKind op,
                                        const Value &address,
                                        const Value &number) const;
  Value compute(clang::BinaryOperatorKind op, const Value &left,
                const Value &right, clang::QualType operandType,
                clang::QualType resultType, const clang::Expr *site);
  Value movePointer(const Value &pointer, const Value &index, bool negative,
                    clang::QualType pointee, const clang::Expr *site);
  Value evaluateConditional(const clang::AbstractConditionalOperator *expr);
  Value evaluateLogical(const clang::BinaryOperator *expr);
  Value evaluateLambda(const clang::LambdaExpr *expr);
  Value evaluateNew(const clang::CXXNewExpr *expr);
  Value makeTemporary(const clang::Expr *expr);
  void initialize(Cell *target, const clang::Expr *init);
  /// Runs the initialisers of variables outside of functions, in their order.
  void initializeGlobals(const clang::DeclContext *scope);
  void initializeStdList(Cell *target,
                         const clang::CXXStdInitializerListExpr *list);
  void initializeList(Cell *target, const clang::InitListExpr *list);
  void construct(Cell *target, const clang::CXXConstructExpr *expr);
  void runConstructor(Cell *target,
                      const clang::CXXConstructorDecl *constructor,
                      std::vector<Value> arguments, const clang::Expr *site);
  Value wrap(const Value &value, clang::QualType type);
  std::optional<bool> toBool(const Value &value);

  // Calls.
  Value evaluateCall(const clang::CallExpr *expr);
  Value evaluateKernelCall(const clang::CUDAKernelCallExpr *expr);
  std::vector<Value> evaluateArguments(const clang::FunctionDecl *callee,
                                       llvm::ArrayRef<const clang::Expr *> args,
                                       std::vector<clang::QualType> *types);
  Value call(const clang::FunctionDecl *callee, std::vector<Value> arguments,
             std::vector<clang::QualType> types, std::optional<Value> self,
             const clang::Expr *site);
  Value runBody(const clang::FunctionDecl *definition,
                const std::vector<Value> &arguments, std::optional<Value> self,
                const clang::Expr *site);
  Value callOpaque(const CallSite &call);
  const clang::CXXMethodDecl *findOverrider(const clang::CXXMethodDecl *method,
                                            const Value &self);
  Frame &frame() { return *frames.back(); }
  bool step(const clang::Stmt *stmt);
  /// Whether \p function, or what it calls, may use the device.
  bool mayTouchDevice(const clang::FunctionDecl *function);
  /// The same for a statement.
  bool mayTouchDevice(const clang::Stmt *stmt);
  std::vector<Value> makeEntryArguments(const clang::FunctionDecl *entry,
                                        const EntryArguments *arguments);
  /// Forgets the first \p count tensor maps, which the first call made, unless
  /// the second uses them.
  void dropTensorMaps(size_t count);
  void fillArguments(Cell *record, const EntryArguments *arguments);

  /// Makes a unit the one whose code runs, until the end of the scope.
  class ContextScope {
  public:
    ContextScope(Interpreter &interpreter, clang::ASTContext &unit)
        : interpreter(interpreter), outer(interpreter.context) {
      enter(&unit);
    }
    ContextScope(const ContextScope &) = delete;
    ContextScope &operator=(const ContextScope &) = delete;
    ~ContextScope() { enter(outer); }

  private:
    void enter(clang::ASTContext *unit) {
      interpreter.context = unit;
      interpreter.storage.enter(*unit);
    }

    Interpreter &interpreter;
    clang::ASTContext *outer;
  };
  /// The definition of \p function in any unit; null when there is none.
  const clang::FunctionDecl *
  findBody(const clang::FunctionDecl *function) const;

  clang::ASTContext *context;
  const LinkedUnits *linked;
  std::vector<Frame *> frames;
  llvm::DenseMap<const clang::VarDecl *, Cell *> globals;
  llvm::DenseMap<const clang::VarDecl *, Value> globalReferences;
  llvm::DenseMap<const clang::ValueDecl *, size_t> symbols;
  llvm::DenseMap<const clang::OpaqueValueExpr *, Value> opaqueValues;
  llvm::DenseMap<const clang::FunctionDecl *, bool> deviceFunctions;
  llvm::DenseMap<const clang::Stmt *, bool> deviceStatements;
  /// Buffers that are tensors of the task.
  llvm::DenseSet<size_t> tensors;
  bool certain = true;
  /// Why the code at hand may not run.
  struct Doubt {
    std::string text;
    Origins origins;
  };
  std::vector<Doubt> doubts;
  /// Conditions under which the code at hand runs. A value that is written to
  /// storage from before the condition depends on it.
  struct Control {
    Origins origins;
    size_t firstNewCell = 0;
  };
  void pushControl(Origins origins) {
    controls.push_back({origins, storage.getNextNumber()});
  }
  std::vector<Control> controls;
  uint64_t steps = 0;
  bool exhausted = false;
  /// A function that never returns was called in the expression at hand.
  bool endsPath = false;
  /// Loops around the code at hand that are summarised.
  unsigned numSummaries = 0;
  Leaving leaving = Leaving::No;
};

/// File, line and column of \p location, of the place where a macro is used.
SourceLocation findPlace(const clang::SourceManager &manager,
                         clang::SourceLocation location);

/// Whether a model exists for a function, and its result.
/// Handles the CUDA runtime and driver.
std::optional<Value> callCudaApi(Interpreter &interpreter,
                                 const CallSite &call);
/// Handles libraries that run work on the device.
std::optional<Value> callLibrary(Interpreter &interpreter,
                                 const CallSite &call);
/// Handles functions of the C and C++ standard libraries whose bodies are not
/// in headers.
std::optional<Value> callStandard(Interpreter &interpreter,
                                  const CallSite &call);
/// Handles what libstdc++'s maps and sets call.
std::optional<Value> callContainer(Interpreter &interpreter,
                                   const CallSite &call);

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_INTERPRETER_H
