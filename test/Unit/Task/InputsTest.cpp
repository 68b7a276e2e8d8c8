// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input distributions: their numbers, and what task.json may say about them.

#include "d2k/Task/Inputs.h"
#include "d2k/Task/Trials.h"

#include "TestPaths.h"
#include "gtest/gtest.h"

#include <set>

using namespace d2k;
using namespace d2k::task;

static Task loadTask(const std::string &name) {
  Result<Task> task =
      Task::load(test::getSourcePath("tasks/" + name + "/task.json"));
  EXPECT_TRUE(task) << task.error().message;
  return *task;
}

/// How `name` is drawn in a workload, or in a trial of it.
static DrawSpec getSpec(const Task &task, std::string_view workload,
                        std::string_view name, std::string_view trial = {}) {
  const Workload &load = *task.findWorkload(workload);
  const Tensor &input = *task.findTensor(name);
  Result<DrawSpec> spec = getDrawSpec(
      task, input, task.getDistribution(input, load, findTrial(task, trial)),
      task.getAxisValues(load));
  EXPECT_TRUE(spec) << spec.error().message;
  return *spec;
}

TEST(Inputs, NormalQuantiles) {
  // Python's statistics.NormalDist().inv_cdf.
  const double expected[][2] = {{0.5, 0.0},
                                {0.1, -1.2815515655446008},
                                {0.075, -1.4395314709384557},
                                {0.9, 1.2815515655446008},
                                {0.025, -1.9599639845400538},
                                {1e-3, -3.090232306167813},
                                {1e-10, -6.361340902404056},
                                {1e-12, -7.034483825301132},
                                {0x1p-53, -8.209536151601386}};
  for (auto [p, quantile] : expected)
    EXPECT_NEAR(normalQuantile(p), quantile, 4e-15 * (1 + std::fabs(quantile)));
}

TEST(Inputs, MomentsOfNormalAndUniform) {
  DrawSpec spec;
  spec.mean = 2;
  spec.scale = 3;
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    double z = (drawValue(spec, 11, i) - 2) / 3;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  // Five standard errors: sqrt(1/n), sqrt(2/n), sqrt(96/n).
  EXPECT_NEAR(sum / kCount, 0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourth / kCount, 3, 5 * std::sqrt(96.0 / kCount));

  spec.kind = DrawKind::Uniform;
  spec.low = -1;
  spec.high = 3;
  sum = 0;
  for (int i = 0; i < kCount; ++i) {
    double value = drawValue(spec, 12, i);
    ASSERT_GT(value, -1);
    ASSERT_LT(value, 3);
    sum += value;
  }
  EXPECT_NEAR(sum / kCount, 1, 5 * std::sqrt(16.0 / 12 / kCount));
}

TEST(Inputs, IntegersIncludeBothEnds) {
  DrawSpec spec;
  spec.kind = DrawKind::Integers;
  spec.low = -2;
  spec.high = 1;
  std::set<double> seen;
  for (int i = 0; i < 200; ++i)
    seen.insert(drawValue(spec, 5, i));
  EXPECT_EQ(seen, (std::set<double>{-2, -1, 0, 1}));
}

TEST(Inputs, WorkloadAndTrialReplaceTheDistribution) {
  Task task = loadTask("rmsnorm_residual_fp8");
  EXPECT_EQ(getSpec(task, "llama3_8b", "x").kind, DrawKind::Normal);
  DrawSpec zeros = getSpec(task, "row_of_zeros", "x");
  EXPECT_EQ(zeros.kind, DrawKind::ZeroRows);
  EXPECT_EQ(zeros.every, 5);
  EXPECT_EQ(zeros.rowLength, 4096);
  // The trial's own comes before that of the workload.
  EXPECT_EQ(getSpec(task, "row_of_zeros", "x", "scaled_tokens").kind,
            DrawKind::ScaledRows);
  EXPECT_EQ(getSpec(task, "row_of_zeros", "w", "scaled_tokens").kind,
            DrawKind::Normal);
  // W ~ N(0,1)/sqrt(K).
  Task gemm = loadTask("gemm_bf16");
  EXPECT_EQ(getSpec(gemm, "llama3_8b_down_proj", "W").scale,
            1 / std::sqrt(14336.0));
}

TEST(Inputs, Generators) {
  DrawSpec spec;
  spec.rowLength = 10;
  spec.kind = DrawKind::ZeroRows;
  spec.every = 3;
  for (int i = 0; i < 60; ++i)
    EXPECT_EQ(drawValue(spec, 1, i) == 0, i / 10 % 3 == 0) << i;

  spec.kind = DrawKind::RowOutlier;
  spec.high = 1e6;
  for (int row = 0; row < 20; ++row) {
    int outliers = 0;
    for (int i = 0; i < 10; ++i)
      outliers += std::fabs(drawValue(spec, 1, row * 10 + i)) == 1e6;
    EXPECT_EQ(outliers, 1);
  }

  spec.kind = DrawKind::ScaledRows;
  spec.low = 3;
  spec.high = 4;
  DrawSpec plain = spec;
  plain.kind = DrawKind::Normal;
  std::set<double> factors;
  for (int row = 0; row < 20; ++row) {
    double factor =
        drawValue(spec, 1, row * 10) / drawValue(plain, 1, row * 10);
    EXPECT_EQ(drawValue(spec, 1, row * 10 + 9),
              drawValue(plain, 1, row * 10 + 9) * factor);
    factors.insert(factor);
  }
  EXPECT_EQ(factors, (std::set<double>{8, 16}));

  spec.kind = DrawKind::OutlierColumns;
  spec.every = 2;
  spec.high = 100;
  int large = 0;
  for (int column = 0; column < 10; ++column) {
    bool isLarge = drawValue(spec, 1, column) != drawValue(plain, 1, column);
    EXPECT_EQ(drawValue(spec, 1, 50 + column),
              drawValue(plain, 1, 50 + column) * (isLarge ? 100 : 1));
    large += isLarge;
  }
  EXPECT_GT(large, 0);
  EXPECT_LT(large, 10);

  spec.kind = DrawKind::PowersOfTwo;
  spec.low = -2;
  spec.high = 1;
  std::set<double> powers;
  for (int i = 0; i < 200; ++i)
    powers.insert(drawValue(spec, 1, i));
  EXPECT_EQ(powers, (std::set<double>{0.25, 0.5, 1, 2}));
}

TEST(Inputs, FaultsOfGenerators) {
  Task task = loadTask("rmsnorm_residual_fp8");
  auto getFault = [&](std::string generator, json::Object parameters) {
    Distribution distribution;
    distribution.kind = DistributionKind::Generator;
    distribution.generator = std::move(generator);
    distribution.parameters = json::Value(std::move(parameters));
    Result<DrawSpec> spec =
        getDrawSpec(task, *task.findTensor("x"), distribution,
                    task.getAxisValues(task.workloads.front()));
    return spec ? "" : spec.error().message;
  };
  auto make = [](std::vector<std::pair<const char *, double>> members) {
    json::Object object;
    for (auto [name, value] : members)
      object.set(name, json::Value(value));
    return object;
  };
  EXPECT_EQ(getFault("zero_rows", make({{"std", 1}, {"every", 2}})), "");
  EXPECT_EQ(getFault("zero_row", {}), "there is no generator \"zero_row\"");
  EXPECT_EQ(getFault("zero_rows", make({{"std", 1}})),
            "the generator zero_rows needs the number \"every\"");
  EXPECT_EQ(getFault("zero_rows", make({{"std", 1}, {"rate", 2}})),
            "the generator zero_rows has no parameter \"rate\"");
  EXPECT_EQ(getFault("zero_rows", make({{"std", 1}, {"every", 0}})),
            "\"every\" of zero_rows is below 1");
  EXPECT_EQ(getFault("zero_rows", make({{"std", 1}, {"every", 2.5}})),
            "\"every\" of zero_rows is no whole number");
  EXPECT_EQ(getFault("powers_of_two", make({{"low", -6}, {"high", 2}})), "");
  EXPECT_EQ(getFault("powers_of_two", make({{"low", -6}})),
            "the generator powers_of_two needs the number \"high\"");
  EXPECT_EQ(
      getFault("scaled_rows", make({{"std", 1}, {"low", 3}, {"high", 2}})),
      "\"low\" and \"high\" of scaled_rows are no rising range of "
      "exponents");
}

TEST(Trials, Plan) {
  Task task = loadTask("gemm_bf16");
  std::vector<TrialSpec> trials = planTrials(task, 1);
  // random, the three of the task, and one more random.
  ASSERT_EQ(trials.size(), 5u);
  EXPECT_EQ(trials[0].kind, "random");
  EXPECT_TRUE(trials[0].isComplete);
  EXPECT_FALSE(trials[0].isExact);
  EXPECT_EQ(trials[1].kind, "small_integers");
  EXPECT_TRUE(trials[1].isExact);
  EXPECT_TRUE(trials[1].isComplete);
  EXPECT_EQ(trials[4].kind, "random");
  EXPECT_FALSE(trials[4].isComplete);
  std::set<uint64_t> seeds;
  for (const TrialSpec &trial : trials)
    seeds.insert(trial.seed);
  EXPECT_EQ(seeds.size(), trials.size());
  EXPECT_NE(planTrials(task, 2)[0].seed, trials[0].seed);

  task.trials.clear();
  EXPECT_EQ(planTrials(task, 1).size(), 5u);
}

TEST(Trials, SeedsOfInputs) {
  Task task = loadTask("allreduce_rmsnorm");
  const Tensor &x = *task.findTensor("x"), &res = *task.findTensor("res");
  // Each rank has its own x; res is the same on all.
  EXPECT_NE(getInputSeed(task, x, 0, 9), getInputSeed(task, x, 1, 9));
  EXPECT_EQ(getInputSeed(task, res, 0, 9), getInputSeed(task, res, 1, 9));
  EXPECT_NE(getInputSeed(task, x, 0, 9), getInputSeed(task, res, 0, 9));
}
