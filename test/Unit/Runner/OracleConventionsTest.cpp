// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tasks can ask of the oracle beyond drawn inputs and bounded errors:
// derived inputs, outputs that the reference judges, outputs in place, outputs
// that differ between ranks, and samples of units. On the fake driver.

#include "Device/OracleWorkload.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

using namespace d2k;
using namespace d2k::runner;
using task::DType;

static const char *const kTask = R"({
  "schema": "d2k.task/1", "name": "gather", "title": "T", "op_type": "o",
  "description": "d", "constraints": [],
  "axes": {"M": {"type": "var", "description": "rows"},
           "N": {"type": "var", "description": "columns"},
           "world": {"type": "machine", "values": [1, 2], "description": "ranks"}},
  "inputs": {
    "X": {"shape": ["M", "N"], "dtype": "bfloat16", "peers": true,
          "description": "x", "distribution": {"type": "integers", "low": 0, "high": 9}},
    "idx": {"shape": ["M"], "dtype": "int32", "description": "a permutation",
            "distribution": {"type": "derived"}}},
  "outputs": {
    "Y": {"shape": ["M", "N"], "dtype": "bfloat16", "description": "y"},
    "top": {"shape": ["M"], "dtype": "int32", "description": "place of a maximum"},
    "C": {"shape": ["M", "N"], "dtype": "bfloat16", "description": "c", "in_place": true,
          "distribution": {"type": "integers", "low": -8, "high": 8}}},
  "tolerance": {"Y": {"rule": "exact", "source": "s"},
                "top": {"rule": "acceptance", "name": "reference", "source": "s"},
                "C": {"rule": "exact", "source": "s"}},
  "flops": 1, "bytes": 1,
  "trials": [{"id": "reversed", "description": "d",
              "inputs": {"C": {"type": "constant", "value": 2}}}],
  "workloads": [{"id": "w", "axes": {"M": 600, "N": 20}, "source": {"note": "n"}}],
  "held_out": []})";

namespace {

class OracleConventionsTest : public testing::Test {
protected:
  static constexpr int kRows = 600, kColumns = 20;

  static void SetUpTestSuite() {
    setenv("D2K_CUDA_DRIVER", D2K_FAKE_CUDA, /*overwrite=*/1);
  }

  void SetUp() override {
    ASSERT_TRUE(open(1, D2K_CONVENTIONS_STUB));
    fill();
  }

  Result<void> open(unsigned ranks, const char *reference) {
    Result<const CudaDriver *> driver = CudaDriver::load();
    if (!driver)
      return forwardFailure(std::move(driver));
    Result<json::Document> document = json::Document::parse(kTask, "task.json");
    if (!document)
      return forwardFailure(std::move(document));
    Result<task::Task> parsed = task::Task::fromDocument(*document);
    if (!parsed)
      return forwardFailure(std::move(parsed));
    oracle.reset();
    task = std::move(*parsed);
    CUcontext context = nullptr;
    (*driver)->cuDevicePrimaryCtxRetain(&context, 0);
    OracleConfig config;
    config.task = &task;
    config.workload = &task.workloads.front();
    config.machine["world"] = ranks;
    config.contexts.assign(ranks, context);
    config.workspaceBytes = 256;
    config.referenceLibrary = reference;
    Result<std::unique_ptr<OracleWorkload>> created =
        OracleWorkload::create(**driver, config);
    if (!created)
      return forwardFailure(std::move(created));
    oracle = std::move(*created);
    return {};
  }

  template <typename T = uint16_t>
  T *getData(std::string_view name, unsigned rank = 0) {
    for (const BufferInfo &buffer : oracle->getBuffers())
      if (buffer.tensor == name && buffer.rank == rank)
        return reinterpret_cast<T *>(buffer.getAddress());
    ADD_FAILURE() << "no buffer " << name;
    return nullptr;
  }
  int32_t *getIndices() { return getData<int32_t>("idx"); }

  void fill(const char *trial = "random", uint64_t seed = 7) {
    task::TrialSpec spec;
    spec.kind = trial;
    spec.seed = seed;
    Result<void> done = oracle->fill(0, spec);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(oracle->prepare({0}));
  }
  static double read(uint16_t bits) {
    return task::decodeElement(DType::BFloat16, bits);
  }
  static uint16_t write(double value) {
    return uint16_t(task::encodeElement(DType::BFloat16, value));
  }
  /// What a correct submission does; of several maxima it takes the last.
  void compute(unsigned rank = 0) {
    const uint16_t *x = getData("X", rank);
    for (int m = 0; m < kRows; ++m) {
      int row = getData<int32_t>("idx", rank)[m];
      std::memcpy(getData("Y", rank) + m * kColumns, x + row * kColumns,
                  2 * kColumns);
      int top = 0;
      for (int n = 0; n < kColumns; ++n)
        if (read(x[m * kColumns + n]) >= read(x[m * kColumns + top]))
          top = n;
      getData<int32_t>("top", rank)[m] = top;
      for (int n = 0; m % 2 == 0 && n < kColumns; ++n) {
        uint16_t &c = getData("C", rank)[row * kColumns + n];
        c = write(read(c) + 1);
      }
    }
  }
  Judgement judge(std::optional<uint64_t> sampleSeed = std::nullopt) {
    Result<void> captured = oracle->capture(0);
    EXPECT_TRUE(captured) << captured.error().message;
    Result<Judgement> judgement = oracle->judge(0, sampleSeed);
    EXPECT_TRUE(judgement) << judgement.error().message;
    return *judgement;
  }

  task::Task task;
  std::unique_ptr<OracleWorkload> oracle;
};

} // namespace

TEST_F(OracleConventionsTest, DerivedInputs) {
  std::vector<int32_t> first(getIndices(), getIndices() + kRows);
  std::vector<int32_t> sorted = first, all(kRows);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  fill("random", 8);
  EXPECT_FALSE(std::equal(first.begin(), first.end(), getIndices()));
  // The reference knows which trial it is, and perturbation leaves them alone.
  fill("reversed");
  for (uint64_t seed = 0; seed < 20; ++seed)
    ASSERT_TRUE(oracle->prepare({0}, seed));
  EXPECT_EQ(getIndices()[0], kRows - 1);
  EXPECT_EQ(getIndices()[kRows - 1], 0);
  // They are inputs: a change is seen.
  compute();
  EXPECT_TRUE(judge().passed);
  ++getIndices()[3];
  EXPECT_EQ(judge().reason, "the input idx was changed");
}

TEST_F(OracleConventionsTest, TheReferenceAccepts) {
  compute();
  Judgement judgement = judge();
  EXPECT_TRUE(judgement.passed) << judgement.reason;
  EXPECT_EQ(judgement.compared, unsigned(2 * kRows * kColumns + kRows));
  int32_t *top = getData<int32_t>("top");
  const uint16_t *x = getData("X");
  int wrong = 0;
  while (read(x[5 * kColumns + wrong]) == read(x[5 * kColumns + top[5]]))
    ++wrong;
  top[5] = wrong;
  top[9] = -1;
  judgement = judge();
  EXPECT_FALSE(judgement.passed);
  EXPECT_EQ(judgement.reason, "top: 2 of 600 elements are wrong");
  ASSERT_TRUE(judgement.first);
  EXPECT_EQ(judgement.first->tensor, "top");
  EXPECT_EQ(judgement.first->index, std::vector<int64_t>{5});
  EXPECT_EQ(judgement.first->got, wrong);
  EXPECT_EQ(judgement.maxError, INFINITY);
}

TEST_F(OracleConventionsTest, OutputsInPlace) {
  std::vector<uint16_t> before(getData("C"), getData("C") + kRows * kColumns);
  EXPECT_TRUE(std::all_of(before.begin(), before.end(), [](uint16_t bits) {
    return std::fabs(read(bits)) <= 8;
  }));
  compute();
  EXPECT_TRUE(judge().passed);
  // Restored before the next call, so that the sum does not grow.
  ASSERT_TRUE(oracle->prepare({0}, 5));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), getData("C")));
  compute();
  EXPECT_TRUE(judge().passed);
  // A row that nobody was to touch.
  getData("C")[getIndices()[1] * kColumns] = write(77);
  Judgement judgement = judge();
  EXPECT_EQ(judgement.reason, "C: 1 of 12000 elements are wrong");
  EXPECT_EQ(judgement.first->got, 77);
  // A trial may say what they hold.
  fill("reversed");
  EXPECT_EQ(read(getData("C")[0]), 2);
}

TEST_F(OracleConventionsTest, SamplesOfUnits) {
  compute();
  Judgement judgement = judge(11);
  EXPECT_TRUE(judgement.passed) << judgement.reason;
  // Rows 0 and 1, and one in 50 of the other 598, in each of the outputs.
  EXPECT_EQ(judgement.compared, 14u * (2 * kColumns + 1));
  getData<int32_t>("top")[1] = -1;
  EXPECT_EQ(judge(11).reason, "top: 1 of 14 elements are wrong");
  compute();
  getData("Y")[0] = write(99);
  EXPECT_EQ(judge(12).first->tensor, "Y");
}

TEST_F(OracleConventionsTest, RanksDiffer) {
  ASSERT_TRUE(open(2, D2K_CONVENTIONS_STUB));
  fill();
  compute(0);
  compute(1);
  EXPECT_NE(std::memcmp(getData("Y", 0), getData("Y", 1), 2 * kColumns * kRows),
            0);
  Judgement judgement = judge();
  EXPECT_TRUE(judgement.passed) << judgement.reason;
  // Rank 0's result is not rank 1's.
  std::memcpy(getData("Y", 1), getData("Y", 0), 2 * kColumns * kRows);
  judgement = judge();
  EXPECT_FALSE(judgement.passed);
  EXPECT_EQ(judgement.first->rank, 1u);
}

TEST_F(OracleConventionsTest, ReferenceWithoutTheFunctions) {
  Result<void> opened = open(1, D2K_REFERENCE_STUB);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find(
                "defines no d2k_reference_accept for the output top"),
            std::string::npos);
}
