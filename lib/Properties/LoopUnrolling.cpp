// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// loop_unrolling: one iteration of a loop in machine code does the work of
// several iterations of the source.
//
// The loop of the source is the one in whose head the line table puts the test
// that ends the loop. Two things must agree:
//   counter  by how much what the test compares moves in an iteration; over the
//            step in the source's head this is the factor. A counter that the
//            compiler made counts iterations instead: then its step is none of
//            the source's steps.
//   copies   how many loads or stores a line of the source's body has that run
//            in every iteration, over how many accesses of that size the line
//            spells out. An iteration of the source does no more than it spells
//            out: at least that many iterations are done at a time. Inner loops
//            of the source are not looked at, as their accesses are repeated
//            when they are unrolled.
// Where they disagree (two loads became a wider one, the counter is a multiple
// of the author's) nothing is claimed.
//
// Example: `for (int k = 0; k < n; k += 2) s += x[k];` with a counter that
// moves by 8 and 4 loads for `x[k]`: factor 4. With `s += x[k] + x[k + 1];` the
// line spells out two loads, and 4 of them are 2 iterations: the counter moves
// by 4.
//
// Of a loop that was unrolled whole nothing is left but its body, which does
// not tell how many iterations it does: undecided.
//
// Not detected: loops that hold another one; loops whose accesses are all in
// functions that they call or in inline assembly.

#include "Engine/Detector.h"

#include "d2k/Dialect/Kern/Location.h"
#include "d2k/Frontend/CUDA/KernelName.h"
#include "d2k/Properties/SourceLoops.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Values that a condition is made of are followed this far.
static constexpr unsigned kMaxConditionDepth = 8;

namespace {
/// The source loops, and where instructions are in them.
class SourceHeads {
public:
  SourceHeads(llvm::ArrayRef<SourceLoop> loops, llvm::StringRef kernel)
      : loops(loops), kernel(kernel) {}

  /// Adds the loops in whose head the operation is, in the innermost of the
  /// functions that it was inlined through that has one there; one for each
  /// place.
  void find(mlir::Location loc, std::set<const SourceLoop *> &heads);
  /// The innermost loop in whose body the operation is, null when it is in
  /// none; and in how many it is, those around calls included.
  std::pair<const SourceLoop *, unsigned> findBody(mlir::Location loc);
  /// The instantiations of `loop` that may be meant by an operation at `loc`.
  llvm::SmallVector<const SourceLoop *, 4>
  getInstantiations(const SourceLoop &loop, mlir::Location loc) const;
  /// The path of a line table in the form of SourceLoop::file.
  const std::string &getPath(mlir::StringAttr file);

private:
  llvm::ArrayRef<SourceLoop> loops;
  llvm::StringRef kernel;
  llvm::DenseMap<mlir::StringAttr, std::string> paths;
};

/// What was found out about a loop in machine code.
struct Reading {
  /// The test that ends it, and by how much what it compares moves.
  OpId test = kNone;
  int64_t step = 0;
  const SourceLoop *source = nullptr;
  int64_t sourceStep = 0;
  /// Iterations of the source that the accesses prove; 0 when there are none.
  int64_t copies = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Loops of the source
//===----------------------------------------------------------------------===//

const std::string &SourceHeads::getPath(mlir::StringAttr file) {
  auto [entry, isNew] = paths.try_emplace(file);
  if (isNew) {
    llvm::SmallString<256> path(file.getValue());
    if (!llvm::sys::fs::make_absolute(path)) {
      llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
      entry->second = path.str().str();
    }
  }
  return entry->second;
}

static bool isSamePlace(const SourceLoop &a, const SourceLoop &b) {
  return a.line == b.line && a.column == b.column && a.file == b.file;
}

void SourceHeads::find(mlir::Location loc,
                       std::set<const SourceLoop *> &heads) {
  for (const kern::SourceLocation &frame : kern::getSourceLocations(loc)) {
    bool any = false;
    for (const SourceLoop &loop : loops) {
      if (frame.line < loop.line || frame.line > loop.headEnd ||
          getPath(frame.file) != loop.file)
        continue;
      any = true;
      if (llvm::none_of(heads, [&](const SourceLoop *other) {
            return isSamePlace(*other, loop);
          }))
        heads.insert(&loop);
    }
    if (any)
      return;
  }
}

std::pair<const SourceLoop *, unsigned>
SourceHeads::findBody(mlir::Location loc) {
  const SourceLoop *innermost = nullptr;
  unsigned depth = 0;
  for (const kern::SourceLocation &frame : kern::getSourceLocations(loc)) {
    // Instantiations of one loop count once.
    llvm::SmallVector<const SourceLoop *, 4> around;
    for (const SourceLoop &loop : loops)
      if (frame.line > loop.headEnd && frame.line <= loop.end &&
          getPath(frame.file) == loop.file &&
          llvm::none_of(around, [&](const SourceLoop *other) {
            return isSamePlace(*other, loop);
          }))
        around.push_back(&loop);
    depth += around.size();
    if (!innermost && !around.empty())
      innermost = *llvm::min_element(around, [](auto *a, auto *b) {
        return a->end - a->line < b->end - b->line;
      });
  }
  return {innermost, depth};
}

llvm::SmallVector<const SourceLoop *, 4>
SourceHeads::getInstantiations(const SourceLoop &loop,
                               mlir::Location loc) const {
  llvm::SmallVector<const SourceLoop *, 4> all, named;
  for (const SourceLoop &candidate : loops) {
    if (!isSamePlace(candidate, loop))
      continue;
    all.push_back(&candidate);
    auto isCalled = [&](llvm::StringRef name) {
      return cuda::isSameKernelName(candidate.function, name.str());
    };
    bool isNamed = isCalled(kernel);
    for (const kern::SourceLocation &frame : kern::getSourceLocations(loc))
      isNamed |= frame.function && isCalled(frame.function);
    if (isNamed)
      named.push_back(&candidate);
  }
  return named.empty() ? all : named;
}

//===----------------------------------------------------------------------===//
// The loop in machine code
//===----------------------------------------------------------------------===//

/// The comparisons that `value`, a condition, is made of.
static void findTests(const KernelIndex &index, mlir::Value value,
                      unsigned depth, llvm::SmallVectorImpl<OpId> &tests) {
  mlir::Operation *operation = value.getDefiningOp();
  if (!operation || depth == 0)
    return;
  if (mlir::isa<kern::CompareOp>(operation))
    tests.push_back(index.getId(operation));
  for (mlir::Value input : operation->getOperands())
    if (input.getType().isInteger(1))
      findTests(index, input, depth - 1, tests);
}

/// By how much the values that `test` compares move in an iteration of `loop`.
static void findSteps(Detector &detector, OpId test, uint32_t loop,
                      std::set<int64_t> &steps) {
  LinearForms &forms = detector.getKernel().getForms();
  const KernelIndex &index = detector.getIndex();
  auto compare = mlir::cast<kern::CompareOp>(index.getOp(test));
  for (mlir::Value input : compare->getOperands()) {
    if (!input.getType().isInteger(32) && !input.getType().isInteger(64))
      continue;
    int64_t moved = 0;
    for (auto [symbol, factor] : forms.get(index.getId(input)).terms) {
      if (forms.getKind(symbol) != SymbolKind::Loop ||
          forms.getLoop(symbol) != loop)
        continue;
      const LinearForm &step = forms.getStep(symbol);
      if (!step.isConstant())
        return;
      moved += factor * step.low;
    }
    if (moved != 0)
      steps.insert(std::abs(moved));
  }
}

/// How many iterations of the source an iteration of `loop` does at least, by
/// the accesses that run in every one; 0 when none can be counted.
static int64_t countCopies(Detector &detector, uint32_t loop,
                           SourceHeads &heads,
                           llvm::ArrayRef<const SourceLoop *> instantiations) {
  const KernelIndex &index = detector.getIndex();
  const LoopNest &loops = detector.getKernel().getLoops();
  const Dominance &dominance = detector.getKernel().getDominance();
  // By line and size.
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>> found;
  for (BlockId block : loops.getLoop(loop).blocks) {
    bool always = loops.getInnermost(block) == loop &&
                  llvm::all_of(loops.getLoop(loop).latches, [&](BlockId latch) {
                    return dominance.dominates(block, latch);
                  });
    auto [first, last] = index.getOps(block);
    for (OpId op = first; always && op < last; ++op) {
      mlir::Operation *operation = index.getOp(op);
      auto inst = mlir::dyn_cast<kern::InstOpInterface>(operation);
      if (!inst || inst.getGuardValue())
        continue;
      auto frames = kern::getSourceLocations(operation->getLoc());
      if (frames.empty() ||
          heads.getPath(frames.front().file) != instantiations.front()->file)
        continue;
      for (const AccessInfo &info : detector.getMemory().getAccessesOf(op)) {
        const kern::MemoryAccess &access = info.access;
        bool isData = info.space == kern::Space::Global ||
                      info.space == kern::Space::Shared ||
                      info.space == kern::Space::Unknown;
        if (!isData || access.barrier || access.warpWide || access.async ||
            access.atomic || !access.bytes)
          continue;
        auto &[loads, stores] =
            found[{frames.front().line, int64_t(*access.bytes)}];
        loads += access.read;
        stores += access.write;
      }
    }
  }
  // How many times `spelled` accesses are needed for `done`.
  auto divide = [](int64_t done, int64_t spelled) {
    return spelled ? (done + spelled - 1) / spelled : 0;
  };
  std::set<int64_t> proved;
  for (const SourceLoop *source : instantiations) {
    int64_t most = 0;
    for (const SourceAccess &access : source->accesses)
      if (auto it = found.find({access.line, access.bytes}); it != found.end())
        most = std::max({most, divide(it->second.first, access.loads),
                         divide(it->second.second, access.stores)});
    proved.insert(most);
  }
  return proved.size() == 1 ? *proved.begin() : 0;
}

namespace {
/// Why nothing can be said, and what would have to be otherwise; both empty
/// when something can.
struct Unclear {
  std::string reason, wouldDecide;
};
} // namespace

static Unclear read(Detector &detector, uint32_t number, SourceHeads &sources,
                    Reading &reading) {
  const KernelIndex &index = detector.getIndex();
  const LoopNest &loops = detector.getKernel().getLoops();
  std::set<int64_t> steps;
  std::set<const SourceLoop *> heads;
  for (BlockId block : loops.getLoop(number).blocks) {
    if (loops.getInnermost(block) != number)
      continue;
    OpId last = index.getOps(block).second - 1;
    auto branch = mlir::dyn_cast<kern::CondBranchOp>(index.getOp(last));
    bool isExit =
        branch &&
        llvm::any_of(detector.getKernel().getDominance().getSuccessors(block),
                     [&](BlockId to) { return !loops.contains(number, to); });
    if (!isExit)
      continue;
    llvm::SmallVector<OpId, 4> tests;
    findTests(index, branch.getCondition(), kMaxConditionDepth, tests);
    for (OpId test : tests) {
      std::set<int64_t> moved;
      findSteps(detector, test, number, moved);
      if (moved.empty())
        continue;
      reading.test = test;
      steps.insert(moved.begin(), moved.end());
      sources.find(index.getOp(test)->getLoc(), heads);
      if (heads.empty())
        sources.find(branch.getLoc(), heads);
    }
  }
  if (reading.test == kNone || steps.size() != 1)
    return {"no single counter with a constant step ends the loop",
            "an end that compares one counter with a constant step"};
  if (heads.size() != 1)
    return {"the test that ends the loop is in the head of no single loop of "
            "the source",
            "a line table (-lineinfo) that puts it into the head of one loop"};
  reading.step = *steps.begin();
  reading.source = *heads.begin();
  auto instantiations = sources.getInstantiations(
      *reading.source, index.getOp(reading.test)->getLoc());
  std::set<int64_t> sourceSteps;
  for (const SourceLoop *loop : instantiations)
    sourceSteps.insert(loop->step.value_or(0));
  if (sourceSteps.size() != 1 || *sourceSteps.begin() == 0)
    return {"the head of the loop at line " +
                std::to_string(reading.source->line) +
                " does not step by one constant",
            "a step in the source that is a constant"};
  reading.sourceStep = *sourceSteps.begin();
  reading.copies = countCopies(detector, number, sources, instantiations);
  return {};
}

//===----------------------------------------------------------------------===//
// The property
//===----------------------------------------------------------------------===//

/// Adds the loops of which a body is left that no loop of the machine code
/// repeats.
static void addUnrolledWhole(Detector &detector, SourceHeads &sources) {
  const KernelIndex &index = detector.getIndex();
  const LoopNest &loops = detector.getKernel().getLoops();
  // The loops of the source that a branch backwards or a way out of a loop
  // tests.
  std::set<const SourceLoop *> left;
  for (uint32_t i = 0; i < loops.getLoops().size(); ++i)
    for (BlockId block : loops.getLoop(i).blocks) {
      auto branch = mlir::dyn_cast<kern::CondBranchOp>(
          index.getOp(index.getTerminator(block)));
      if (!branch)
        continue;
      sources.find(branch.getLoc(), left);
      llvm::SmallVector<OpId, 4> tests;
      findTests(index, branch.getCondition(), kMaxConditionDepth, tests);
      for (OpId test : tests)
        sources.find(index.getOp(test)->getLoc(), left);
    }
  std::map<std::pair<std::string, int64_t>, OpId> whole;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    mlir::Operation *operation = index.getOp(op);
    if (!mlir::isa<kern::InstOpInterface>(operation) ||
        !detector.getConstants().mayRun(op))
      continue;
    auto [loop, depth] = sources.findBody(operation->getLoc());
    for (uint32_t around = loops.getInnermost(index.getBlockOf(op));
         around != kNone && depth != 0; around = loops.getLoop(around).parent)
      --depth;
    if (depth == 0 || llvm::any_of(left, [&](const SourceLoop *other) {
          return isSamePlace(*other, *loop);
        }))
      continue;
    whole.try_emplace({loop->file, loop->line}, op);
  }
  for (const auto &[place, op] : whole)
    detector.add(
        Judgement::undecided(
            "is from the body of the loop at line " +
                std::to_string(place.second) +
                ", of which no test is left: it was unrolled whole, or runs "
                "once, and how many iterations it had is not in the machine "
                "code",
            "a trip count that only the launch knows, which leaves a loop"),
        op);
}

/// Adds what is known about the loop whose test `reading` has.
static void conclude(Detector &detector, const Reading &reading,
                     std::set<std::pair<std::string, int64_t>> &unrolled,
                     std::vector<Reading> &rolled) {
  // A counter of the compiler counts iterations: its step is the factor.
  int64_t factor = reading.step % reading.sourceStep == 0
                       ? reading.step / reading.sourceStep
                       : reading.step;
  if (factor != reading.copies) {
    std::string copies =
        reading.copies == 0
            ? std::string("no access in its body that could be counted")
            : "accesses of " + std::to_string(reading.copies) +
                  " iterations of the source";
    detector.add(Judgement::undecided("ends a loop whose counter moves by " +
                                          std::to_string(reading.step) +
                                          " for a step of " +
                                          std::to_string(reading.sourceStep) +
                                          " in the source, with " + copies,
                                      "a body that has the accesses of as many "
                                      "iterations as the counter counts"),
                 reading.test);
    return;
  }
  if (factor == 1) {
    rolled.push_back(reading);
    return;
  }
  unrolled.insert({reading.source->file, reading.source->line});
  AttributeMap attributes;
  attributes["factor"] = factor;
  detector.addFact(std::move(attributes), reading.test);
}

static void detect(Detector &detector) {
  const LoopNest &loops = detector.getKernel().getLoops();
  const KernelIndex &index = detector.getIndex();
  std::vector<bool> isLookedAt(loops.getLoops().size(), true);
  for (auto [i, loop] : llvm::enumerate(loops.getLoops())) {
    if (loop.spin)
      isLookedAt[i] = false;
    else if (loop.parent != kNone)
      isLookedAt[loop.parent] = false;
  }
  std::optional<std::vector<SourceLoop>> known =
      getSourceLoops(detector.getFunc()->getParentOfType<mlir::ModuleOp>());
  bool anyLoop = llvm::any_of(isLookedAt, [](bool is) { return is; });
  if (!known && !anyLoop)
    return;
  if (!known)
    return detector.addKernelUndecided("the loops of the source are not known",
                                       "the source, beside the machine code");
  SourceHeads sources(*known, detector.getFunc().getSymName());
  std::set<std::pair<std::string, int64_t>> unrolled;
  std::vector<Reading> rolled;
  for (uint32_t i = 0; i < isLookedAt.size(); ++i) {
    if (!isLookedAt[i])
      continue;
    Reading reading;
    Unclear unclear = read(detector, i, sources, reading);
    if (unclear.reason.empty()) {
      conclude(detector, reading, unrolled, rolled);
      continue;
    }
    OpId at = reading.test != kNone
                  ? reading.test
                  : index.getOps(loops.getLoop(i).header).first;
    detector.add(
        Judgement::undecided("ends or begins a loop that may be unrolled: " +
                                 unclear.reason,
                             unclear.wouldDecide),
        at);
  }
  addUnrolledWhole(detector, sources);
  // The rest of an unrolled loop is a loop of its own.
  for (const Reading &reading : rolled) {
    const SourceLoop &source = *reading.source;
    if (!source.unroll || *source.unroll == 1 ||
        unrolled.contains({source.file, source.line}))
      continue;
    detector.addNearMiss(
        "`#pragma unroll" +
            (*source.unroll ? " " + std::to_string(*source.unroll)
                            : std::string()) +
            "` asks for more than one iteration at a time, and the loop that "
            "ends at " +
            detector.describe(reading.test) +
            " does one: its trip count or what it calls is in the way",
        reading.test);
  }
}

namespace d2k::properties {
Property makeLoopUnrolling() {
  PropertyInfo info;
  info.id = "loop_unrolling";
  info.group = 'C';
  info.summary = "the induction step in machine code is a multiple of the step "
                 "in the source";
  info.attributes = {{"factor", AttrType::Integer, {}, "the multiple"}};
  info.decidingTiers = {Tier::Sass};
  info.detectorTiers = {Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
