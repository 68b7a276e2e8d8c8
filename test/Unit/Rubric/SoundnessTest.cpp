// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intervals are sound: whatever turns out about what an analysis could not
// decide, the credit that it then has lies in the interval that it had before.
// Small random analyses and predicates, every resolution of each.

#include "d2k/Rubric/Evaluate.h"

#include "RubricTestSupport.h"

#include <random>

using namespace d2k;
using namespace d2k::rubric;
using namespace d2k::test;

namespace {

/// What is known about one property of one kernel.
enum class Known : uint8_t {
  Absent,
  Outside,   // present, outside of the main region
  Main,      // present, in the main region
  Somewhere, // present, region not known
  Nothing,   // undecided
};

struct KernelModel {
  Known copy = Known::Absent;
  Known pipe = Known::Absent;
  Tristate reachable = Tristate::Yes;
};

using Model = std::vector<KernelModel>;

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  /// 0 to `count` - 1, the same on every platform.
  unsigned pick(unsigned count) { return unsigned(engine() % count); }

private:
  std::mt19937 engine;
};

} // namespace

static void addKnowledge(KernelFacts &kernel, const char *property,
                         Known known) {
  if (known == Known::Absent)
    return;
  if (known == Known::Nothing) {
    kernel.undecided.push_back({property, "why", "what", {}, {}});
    return;
  }
  Fact fact = makeFact(property);
  fact.inMain = known == Known::Main      ? Tristate::Yes
                : known == Known::Outside ? Tristate::No
                                          : Tristate::Unknown;
  kernel.facts.push_back(fact);
}

static Analysis makeAnalysis(const Model &model) {
  std::vector<KernelFacts> kernels;
  for (const KernelModel &one : model) {
    KernelFacts kernel = makeKernel("k" + std::to_string(kernels.size()), {});
    kernel.reachable = one.reachable;
    addKnowledge(kernel, "copy", one.copy);
    addKnowledge(kernel, "pipe", one.pipe);
    kernels.push_back(std::move(kernel));
  }
  return test::makeAnalysis(std::move(kernels));
}

/// What a state can turn out to be.
static std::vector<Known> resolve(Known known) {
  if (known == Known::Nothing)
    return {Known::Absent, Known::Outside, Known::Main};
  if (known == Known::Somewhere)
    return {Known::Outside, Known::Main};
  return {known};
}

/// All models without anything unknown that `model` can turn out to be.
static std::vector<Model> resolve(const Model &model) {
  std::vector<Model> list = {{}};
  for (const KernelModel &one : model) {
    std::vector<Model> longer;
    std::vector<Tristate> reach = {one.reachable};
    if (one.reachable == Tristate::Unknown)
      reach = {Tristate::No, Tristate::Yes};
    for (const Model &begun : list)
      for (Known copy : resolve(one.copy))
        for (Known pipe : resolve(one.pipe))
          for (Tristate reachable : reach) {
            longer.push_back(begun);
            longer.back().push_back({copy, pipe, reachable});
          }
    list = std::move(longer);
  }
  return list;
}

static Predicate makePredicate(Random &random, unsigned depth) {
  Predicate predicate;
  unsigned kind = depth == 0 ? 3 : random.pick(4);
  predicate.kind = static_cast<Predicate::Kind>(kind);
  if (predicate.kind == Predicate::Kind::Fact) {
    static constexpr Scope kScopes[] = {Scope::Main, Scope::Kernel, Scope::Any,
                                        Scope::Every};
    predicate.property = random.pick(2) == 0 ? "copy" : "pipe";
    predicate.scope = kScopes[random.pick(4)];
    return predicate;
  }
  unsigned operands =
      predicate.kind == Predicate::Kind::Not ? 1 : 1 + random.pick(3);
  for (unsigned i = 0; i < operands; ++i)
    predicate.operands.push_back(makePredicate(random, depth - 1));
  return predicate;
}

static Model makeModel(Random &random) {
  Model model(1 + random.pick(2));
  for (KernelModel &kernel : model) {
    kernel.copy = static_cast<Known>(random.pick(5));
    kernel.pipe = static_cast<Known>(random.pick(5));
    kernel.reachable = static_cast<Tristate>(random.pick(3));
  }
  return model;
}

TEST(Soundness, ResolvingNeverLeavesTheInterval) {
  Random random(20240229);
  PropertyCatalog catalog = makeCatalog();
  unsigned open = 0;
  for (unsigned round = 0; round < 600; ++round) {
    Model model = makeModel(random);
    Target target;
    target.arch = {"*"};
    target.detect = makePredicate(random, 3);
    if (random.pick(2) == 0)
      target.partial.push_back({0.5, makePredicate(random, 2), "half"});
    Analysis analysis = makeAnalysis(model);
    Interval before =
        Evaluator(analysis, catalog, "w").evaluateTarget(target).credit;
    EXPECT_LE(before.lo, before.hi);
    open += before.lo < before.hi;
    for (const Model &resolved : resolve(model)) {
      Analysis decided = makeAnalysis(resolved);
      Interval after =
          Evaluator(decided, catalog, "w").evaluateTarget(target).credit;
      ASSERT_EQ(after.lo, after.hi) << toString(*target.detect);
      ASSERT_TRUE(before.lo <= after.lo && after.hi <= before.hi)
          << "round " << round << ": " << toString(*target.detect) << " was ["
          << before.lo << ", " << before.hi << "] and is " << after.lo;
    }
  }
  // The test is about intervals that are open: there must be many.
  EXPECT_GE(open, 100u);
}
