// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparison by blocks: what cancels, what the verdicts are, and how often the
// whole procedure (pilot, plan, one extension) is right.

#include "d2k/Metrics/Comparison.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace d2k::metrics;

using Random = std::mt19937_64;

TEST(Comparison, LogSpeedupOfABlock) {
  EXPECT_DOUBLE_EQ((AbbaBlock{10, 5, 5, 10}).getLogSpeedup(), std::log(2.0));
  EXPECT_DOUBLE_EQ((AbbaBlock{3, 3, 3, 3}).getLogSpeedup(), 0);
  // A drift of the logarithm that is linear in time cancels.
  AbbaBlock drifting{10 * std::exp(0.0), 10 * std::exp(0.1), 10 * std::exp(0.2),
                     10 * std::exp(0.3)};
  EXPECT_NEAR(drifting.getLogSpeedup(), 0, 1e-12);
}

TEST(Comparison, Verdicts) {
  EXPECT_EQ(judge({0.995, 1.004}, 0.01), ComparisonVerdict::Same);
  // Excludes 1 but is inside the band: too small to matter.
  EXPECT_EQ(judge({1.002, 1.008}, 0.01), ComparisonVerdict::Same);
  EXPECT_EQ(judge({1.002, 1.012}, 0.01), ComparisonVerdict::Faster);
  EXPECT_EQ(judge({0.93, 0.97}, 0.01), ComparisonVerdict::Slower);
  EXPECT_EQ(judge({0.98, 1.03}, 0.01), ComparisonVerdict::Ambiguous);
  EXPECT_EQ(getVerdictName(ComparisonVerdict::Slower), "slower");
}

TEST(Comparison, ResolutionOfASteppingClock) {
  // 96 equal readings a side: the rest is below 3/96 of 32 ns = 1 ns.
  EXPECT_DOUBLE_EQ(getLogResolution(32, 96, 2000, 1000), 0.0005 + 0.001);
  // Two readings say nothing about the rest.
  EXPECT_DOUBLE_EQ(getLogResolution(32, 2, 3200, 3200), 0.02);
}

TEST(Comparison, PlansByTheWidth) {
  ComparisonConfig config;
  std::vector<AbbaBlock> quiet(20, AbbaBlock{10, 10, 10, 10});
  EXPECT_EQ(planBlocks(quiet, config, 1000), 20u);
  EXPECT_EQ(planExtension(quiet, config, 1000), std::nullopt);

  // Log ratios of +-5%: far from 0.4% with 20 blocks, so all that is
  // affordable, and the cap beyond.
  std::vector<AbbaBlock> noisy;
  for (unsigned i = 0; i != 20; ++i) {
    double time = 10 * std::exp(((i * 7) % 20 < 10) ? 0.05 : -0.05);
    noisy.push_back({time, 10, 10, time});
  }
  EXPECT_EQ(planBlocks(noisy, config, 30), 30u);
  EXPECT_EQ(planBlocks(noisy, config, 100000), config.maxBlocks);
  EXPECT_EQ(planExtension(noisy, config, 30), 30u);
  EXPECT_EQ(planExtension(noisy, config, 1000), 40u);
  EXPECT_EQ(planExtension(noisy, config, 20), std::nullopt);
  // Five samples are taken even where time does not allow them.
  EXPECT_EQ(planBlocks(std::span(noisy).first(5), config, 1), 5u);
}

/// Samples of two programs whose times differ by \p speedup, with noise and a
/// slow wave that both share, read by a clock that steps by 32 ns.
class SimulatedMachine {
public:
  SimulatedMachine(uint64_t seed, double nanoseconds, double speedup,
                   double noise)
      : random(seed), baseline(nanoseconds), candidate(nanoseconds / speedup),
        noise(noise) {}

  AbbaBlock measure() {
    AbbaBlock block;
    block.baselineFirst = sample(baseline);
    block.candidateFirst = sample(candidate);
    block.candidateSecond = sample(candidate);
    block.baselineSecond = sample(baseline);
    return block;
  }

private:
  double sample(double nanoseconds) {
    std::normal_distribution<> normal;
    std::uniform_real_distribution<> phase;
    wave = 0.9 * wave + 0.004 * normal(random);
    double time = nanoseconds * std::exp(wave + noise * normal(random));
    return 32 * std::floor(time / 32 + phase(random));
  }

  Random random;
  double baseline, candidate, noise;
  double wave = 0;
};

static Comparison runProcedure(SimulatedMachine &machine, uint64_t seed) {
  ComparisonConfig config;
  config.seed = seed;
  std::vector<AbbaBlock> blocks;
  auto measureTo = [&](unsigned count) {
    while (blocks.size() < count)
      blocks.push_back(machine.measure());
  };
  measureTo(config.pilotBlocks);
  measureTo(planBlocks(blocks, config, 200));
  if (std::optional<unsigned> more = planExtension(blocks, config, 200))
    measureTo(*more);
  double resolution =
      getLogResolution(32, unsigned(2 * blocks.size()), blocks[0].baselineFirst,
                       blocks[0].candidateFirst);
  return compare(blocks, config, resolution);
}

TEST(Comparison, ProcedureIsRight) {
  struct Case {
    double nanoseconds, speedup, noise;
  };
  // The lower bounds leave three standard errors of 100 repetitions to 95%.
  for (const Case &test : {Case{2200, 1, 0.01}, Case{10600, 1, 0.006},
                           Case{270000, 1, 0.002}, Case{10600, 1.5, 0.01}}) {
    unsigned covered = 0, same = 0, wrong = 0;
    for (uint64_t i = 0; i != 100; ++i) {
      SimulatedMachine machine(i, test.nanoseconds, test.speedup, test.noise);
      Comparison result = runProcedure(machine, i + 1);
      covered += result.interval.contains(test.speedup);
      same += result.verdict == ComparisonVerdict::Same;
      wrong +=
          result.verdict == ComparisonVerdict::Slower ||
          (result.verdict == ComparisonVerdict::Faster) != (test.speedup > 1);
    }
    EXPECT_GE(covered, 88u) << test.nanoseconds;
    EXPECT_EQ(wrong, 0u) << test.nanoseconds;
    if (test.speedup == 1)
      EXPECT_GE(same, 90u) << test.nanoseconds;
    else
      EXPECT_EQ(same, 0u) << test.nanoseconds;
  }
}

TEST(Comparison, ThreePercentAreNeverTheSame) {
  for (uint64_t i = 0; i != 100; ++i) {
    SimulatedMachine machine(i, 10600, 1.03, 0.006);
    EXPECT_NE(runProcedure(machine, i + 1).verdict, ComparisonVerdict::Same);
  }
}

TEST(Comparison, TaskSpeedupIsTheGeometricMean) {
  Comparison twice, half;
  twice.speedup = 4;
  twice.logHalfWidth = 0.03;
  half.speedup = 1;
  half.logHalfWidth = 0.04;
  TaskSpeedup task = combineWorkloads(std::vector<Comparison>{twice, half});
  EXPECT_DOUBLE_EQ(task.value, 2);
  // sqrt(0.03^2 + 0.04^2) / 2 = 0.025.
  EXPECT_NEAR(task.interval.high, 2 * std::exp(0.025), 1e-12);
  EXPECT_NEAR(task.interval.low, 2 * std::exp(-0.025), 1e-12);
}
