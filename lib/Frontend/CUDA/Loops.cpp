// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of the host interpreter. A loop runs iteration by iteration while its
// condition is known and it is short. What remains is summarised: the body is
// run until it is known what it changes, and that becomes unknown.

#include "Interpreter.h"

#include "clang/AST/StmtCXX.h"
#include "llvm/ADT/ScopeExit.h"

using namespace d2k;
using namespace d2k::cuda;

/// Iterations of a loop that are run one by one.
static constexpr unsigned kMaxIterations = 4096;
/// Steps and writes of a loop in which nothing was launched or allocated. Such
/// a loop fills data; what it counts is known after far fewer.
static constexpr uint64_t kQuietSteps = 20000;
/// The same of one that cannot launch, in a loop of which one iteration stands
/// for all.
static constexpr uint64_t kInnerQuietSteps = 1000;
/// Operations of a loop that are listed one by one.
static constexpr size_t kMaxLoopEvents = 1024;
/// With this many, iterations that do the same again are counted.
static constexpr size_t kMaxListedEvents = 64;
/// Rounds until the set of cells that an unknown loop changes is stable.
static constexpr unsigned kMaxRounds = 8;

bool Interpreter::runsTooLong(const LoopStart &start, unsigned iteration,
                              const clang::Stmt *loop) {
  if (iteration >= kMaxIterations)
    return true;
  // Loops that launch are few and short, those that fill and compare data are
  // neither.
  bool touchesDevice = mayTouchDevice(loop);
  if (isHurried() && !touchesDevice)
    return true;
  size_t limit =
      numSummaries && !touchesDevice ? kInnerQuietSteps : kQuietSteps;
  size_t numEvents = trace.events.size() - start.numEvents;
  if (numEvents == 0)
    return steps - start.steps > limit || storage.mark() - start.mark > limit;
  return numEvents > kMaxLoopEvents;
}

static bool isSame(const Quantity &a, const Quantity &b) {
  return a.value == b.value && a.unknown == b.unknown;
}

static bool isSame(const Argument &a, const Argument &b) {
  return a.kind == b.kind && isSame(a.integer, b.integer) && a.real == b.real &&
         a.buffer == b.buffer && a.offset == b.offset &&
         a.tensorMap == b.tensorMap &&
         llvm::equal(a.fields, b.fields,
                     [](const ArgumentField &x, const ArgumentField &y) {
                       return x.offset == y.offset && isSame(x.value, y.value);
                     });
}

/// Whether both ask the same of the device, however often.
static bool isSame(const Event &a, const Event &b) {
  auto areSame = [](const auto &x, const auto &y) {
    return llvm::equal(x, y, [](const auto &one, const auto &other) {
      return isSame(one, other);
    });
  };
  return a.kind == b.kind && a.certain == b.certain && a.stream == b.stream &&
         a.where.line == b.where.line && a.where.column == b.where.column &&
         a.where.file == b.where.file && a.call == b.call &&
         a.kernel == b.kernel && a.kernelFile == b.kernelFile &&
         areSame(a.grid, b.grid) && areSame(a.block, b.block) &&
         areSame(a.cluster, b.cluster) &&
         isSame(a.dynamicShared, b.dynamicShared) &&
         a.cooperative == b.cooperative &&
         a.programmaticSerialization == b.programmaticSerialization &&
         areSame(a.arguments, b.arguments) && a.captured == b.captured &&
         a.destination == b.destination && a.source == b.source &&
         isSame(a.bytes, b.bytes) && a.peer == b.peer && a.library == b.library;
}

/// Whether the events of an iteration, which begin at \p current, are those of
/// the one before it, which begin at \p previous; then they are counted there.
static bool countAgain(std::vector<Event> &events, size_t previous,
                       size_t current) {
  if (current == previous || events.size() - current != current - previous)
    return false;
  for (size_t i = previous; i < current; ++i) {
    const Event &again = events[i + current - previous];
    if (!isSame(events[i], again) || !events[i].count.value ||
        !again.count.value)
      return false;
  }
  for (size_t i = previous; i < current; ++i)
    *events[i].count.value += *events[i + current - previous].count.value;
  events.resize(current);
  return true;
}

Interpreter::Flow
Interpreter::executeUnknownLoop(llvm::function_ref<Flow()> iteration,
                                const std::string *reason, Origins origins) {
  // Find out what the body changes, make that unknown, and run it once more
  // for its events.
  ++numSummaries;
  llvm::scope_exit endSummary([&] { --numSummaries; });
  bool savedCertain = certain;
  certain = false;
  doubts.push_back(
      {"is in a loop whose trip count depends on " + *reason, origins});
  std::vector<Cell *> changed;
  llvm::DenseMap<Cell *, bool> known;
  size_t numEvents = trace.events.size();
  // What an iteration makes anew, the next one cannot reach.
  size_t firstNewCell = storage.getNextNumber();
  size_t numJumpsBefore = frame().jumps.size();
  Value unknown;
  unknown.text = reason;
  unknown.origins = origins;
  Flow flow = Flow::Normal;
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    trace.events.resize(numEvents);
    size_t mark = storage.mark();
    size_t numReturns = frame().returns.size();
    size_t numJumps = frame().jumps.size();
    for (Cell *cell : changed)
      storage.write(cell, unknown);
    flow = iteration();
    bool grew = false;
    for (const auto &[cell, value] : storage.getChanges(mark))
      if (cell->getRoot()->number < firstNewCell &&
          known.try_emplace(cell, true).second) {
        changed.push_back(cell);
        grew = true;
      }
    bool isLast = round + 1 == kMaxRounds;
    if (grew && isLast)
      markIncomplete("what a loop changes was not found, " + *reason);
    if (!grew || exhausted || isLast) {
      for (Cell *cell : changed)
        storage.write(cell, unknown);
      break;
    }
    storage.rollBack(mark);
    frame().returns.resize(numReturns);
    frame().jumps.resize(numJumps);
  }
  for (size_t i = numEvents; i < trace.events.size(); ++i) {
    Event &event = trace.events[i];
    event.count.value.reset();
    event.count.unknown = *reason;
    event.count.origins = origins;
  }
  doubts.pop_back();
  certain = savedCertain;
  if (flow == Flow::Return || frame().jumps.size() > numJumpsBefore) {
    // It may return in some iteration, or never.
    leave(flow, {{}, reason});
    certain = false;
    doubts.push_back(
        {"may have been left before, which depends on " + *reason, origins});
  }
  return exhausted ? Flow::Stop : Flow::Normal;
}

const std::string *Interpreter::describeLongLoop(const clang::Stmt *loop) {
  return storage.intern("a loop that is too long to be followed to its end, at "
                        "line " +
                        std::to_string(getPlace(loop->getBeginLoc()).line));
}

Interpreter::Flow Interpreter::executeLoop(const clang::Expr *condition,
                                           const clang::VarDecl *variable,
                                           const clang::Stmt *body,
                                           const clang::Expr *increment,
                                           bool testFirst,
                                           const clang::Stmt *loop) {
  Scope scope;
  scope.mark = storage.mark();
  frame().loops.push_back(&scope);
  bool savedCertain = certain;
  size_t savedDoubts = doubts.size();
  size_t numExits = getNumExits();
  Origins conditionOrigins;
  LoopStart start = {steps, storage.mark(), trace.events.size()};
  pushControl({});

  auto runBody = [&]() -> Flow {
    Flow flow = execute(body);
    if (flow == Flow::Continue)
      flow = Flow::Normal;
    for (const Exit &exit : scope.continues)
      joinWith(scope.mark, exit, {});
    scope.continues.clear();
    if (flow == Flow::Normal && increment)
      evaluate(increment);
    return flow;
  };
  auto test = [&]() -> Value {
    if (!condition)
      return Value::makeInteger(1);
    if (variable)
      declare(variable);
    return evaluate(condition);
  };

  Flow flow = Flow::Normal;
  bool first = true;
  size_t previous = start.numEvents;
  unsigned numRepeated = 0;
  for (unsigned iteration = 0;; ++iteration) {
    if (testFirst || !first) {
      Value value = test();
      conditionOrigins = conditionOrigins | value.origins;
      controls.back().origins = conditionOrigins;
      std::optional<bool> known = toBool(value);
      if (known && !*known)
        break;
      bool tooMany =
          runsTooLong(start, iteration, loop) ||
          (numRepeated && (isHurried() || numRepeated > kMaxLoopEvents));
      bool mayHaveLeft = !scope.breaks.empty();
      if (!known || tooMany || mayHaveLeft) {
        const std::string *reason =
            tooMany       ? describeLongLoop(loop)
            : mayHaveLeft ? scope.breaks.front().reason
            : value.text
                ? value.text
                : storage.intern("the condition " + describe(condition));
        flow = executeUnknownLoop(
            [&] {
              Flow inner = runBody();
              if (condition)
                test();
              return inner == Flow::Break ? Flow::Normal : inner;
            },
            reason, conditionOrigins);
        break;
      }
    }
    first = false;
    size_t current = trace.events.size();
    flow = runBody();
    if (current - start.numEvents >= kMaxListedEvents &&
        countAgain(trace.events, previous, current)) {
      ++numRepeated;
    } else {
      numRepeated = 0;
      previous = current;
    }
    if (flow == Flow::Break) {
      flow = Flow::Normal;
      break;
    }
    if (flow != Flow::Normal)
      break;
  }

  frame().loops.pop_back();
  controls.pop_back();
  for (const Exit &exit : scope.breaks)
    joinWith(scope.mark, exit, conditionOrigins);
  if (flow == Flow::Normal && getNumExits() == numExits) {
    certain = savedCertain;
    doubts.resize(std::min(doubts.size(), savedDoubts));
  }
  return flow;
}

Interpreter::Flow
Interpreter::executeRangeFor(const clang::CXXForRangeStmt *stmt) {
  for (const clang::Stmt *part :
       {stmt->getInit(), static_cast<const clang::Stmt *>(stmt->getRangeStmt()),
        static_cast<const clang::Stmt *>(stmt->getBeginStmt()),
        static_cast<const clang::Stmt *>(stmt->getEndStmt())})
    if (Flow flow = execute(part); flow != Flow::Normal)
      return flow;
  // The loop variable is declared anew in each iteration.
  struct Body {
    const clang::Stmt *variable, *body;
  };
  Scope scope;
  scope.mark = storage.mark();
  frame().loops.push_back(&scope);
  bool savedCertain = certain;
  size_t savedDoubts = doubts.size();
  size_t numExits = getNumExits();
  auto runIteration = [&]() -> Flow {
    execute(stmt->getLoopVarStmt());
    Flow flow = execute(stmt->getBody());
    if (flow == Flow::Continue)
      flow = Flow::Normal;
    for (const Exit &exit : scope.continues)
      joinWith(scope.mark, exit, {});
    scope.continues.clear();
    if (flow == Flow::Normal)
      evaluate(stmt->getInc());
    return flow;
  };
  Flow flow = Flow::Normal;
  LoopStart start = {steps, storage.mark(), trace.events.size()};
  for (unsigned iteration = 0;; ++iteration) {
    Value value = evaluate(stmt->getCond());
    std::optional<bool> known = toBool(value);
    if (known && !*known)
      break;
    bool tooMany = runsTooLong(start, iteration, stmt);
    if (!known || tooMany || !scope.breaks.empty()) {
      flow = executeUnknownLoop(
          [&] {
            Flow inner = runIteration();
            return inner == Flow::Break ? Flow::Normal : inner;
          },
          tooMany ? describeLongLoop(stmt)
          : value.text
              ? value.text
              : storage.intern("the range " + describe(stmt->getRangeInit())),
          value.origins);
      break;
    }
    flow = runIteration();
    if (flow == Flow::Break) {
      flow = Flow::Normal;
      break;
    }
    if (flow != Flow::Normal)
      break;
  }
  frame().loops.pop_back();
  for (const Exit &exit : scope.breaks)
    joinWith(scope.mark, exit, {});
  if (flow == Flow::Normal && getNumExits() == numExits) {
    certain = savedCertain;
    doubts.resize(std::min(doubts.size(), savedDoubts));
  }
  return flow;
}
