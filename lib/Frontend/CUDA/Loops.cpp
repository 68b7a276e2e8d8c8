// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of the host interpreter. A loop runs iteration by iteration while its
// condition is known and it is short. What remains is summarised: the body is
// run until it is known what it changes, and that becomes unknown.

#include "Interpreter.h"

#include "clang/AST/StmtCXX.h"

using namespace d2k;
using namespace d2k::cuda;

/// Iterations of a loop that are run one by one.
static constexpr unsigned kMaxIterations = 4096;
/// Steps and writes of a loop in which nothing was launched or allocated. Such
/// a loop fills data; what it counts is known after far fewer.
static constexpr uint64_t kQuietSteps = 20000;
/// Operations of a loop that are listed one by one.
static constexpr size_t kMaxLoopEvents = 1024;
/// Rounds until the set of cells that an unknown loop changes is stable.
static constexpr unsigned kMaxRounds = 8;

bool Interpreter::runsTooLong(const LoopStart &start,
                              unsigned iteration) const {
  if (iteration >= kMaxIterations || isHurried())
    return true;
  size_t numEvents = trace.events.size() - start.numEvents;
  if (numEvents == 0)
    return steps - start.steps > kQuietSteps ||
           storage.mark() - start.mark > kQuietSteps;
  return numEvents > kMaxLoopEvents;
}

Interpreter::Flow
Interpreter::executeUnknownLoop(llvm::function_ref<Flow()> iteration,
                                const std::string *reason, Origins origins) {
  // Find out what the body changes, make that unknown, and run it once more
  // for its events.
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
  for (unsigned iteration = 0;; ++iteration) {
    if (testFirst || !first) {
      Value value = test();
      conditionOrigins = conditionOrigins | value.origins;
      controls.back().origins = conditionOrigins;
      std::optional<bool> known = toBool(value);
      if (known && !*known)
        break;
      bool tooMany = runsTooLong(start, iteration);
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
    flow = runBody();
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
    bool tooMany = runsTooLong(start, iteration);
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
