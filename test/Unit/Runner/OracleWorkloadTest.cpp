// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The owner and judge of a workload's buffers, on the fake driver: device
// memory is host memory, so that the tests play the submission themselves.

#include "Device/OracleWorkload.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace d2k;
using namespace d2k::runner;
using task::DType;

static const char *const kTask = R"({
  "schema": "d2k.task/1", "name": "sum", "title": "T", "op_type": "o",
  "description": "Y = sum of 2X over the ranks, plus B", "constraints": [],
  "axes": {"M": {"type": "var", "description": "rows"},
           "N": {"type": "var", "description": "columns"},
           "world": {"type": "machine", "values": [1, 2], "description": "ranks"}},
  "inputs": {
    "X": {"shape": ["M", "N"], "dtype": "bfloat16", "peers": true,
          "description": "x", "distribution": {"type": "normal"}},
    "B": {"shape": ["M", "N"], "dtype": "bfloat16", "description": "b",
          "distribution": {"type": "normal"}}},
  "outputs": {"Y": {"shape": ["M", "N"], "dtype": "bfloat16",
                    "replicated": true, "description": "y"}},
  "tolerance": {"Y": {"rule": "product", "factor": 64, "accumulator_bits": 23,
                      "rms_ratio": 1.25, "working_precision": "fp32",
                      "source": "s"}},
  "flops": 1, "bytes": 1,
  "trials": [{"id": "integers", "description": "d", "exact": true, "inputs": {
    "X": {"type": "integers", "low": -4, "high": 4},
    "B": {"type": "integers", "low": -4, "high": 4}}}],
  "workloads": [{"id": "w", "axes": {"M": 40, "N": 60}, "source": {"note": "n"}}],
  "held_out": []})";

namespace {

class OracleWorkloadTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    setenv("D2K_CUDA_DRIVER", D2K_FAKE_CUDA, /*overwrite=*/1);
  }

  void SetUp() override { open(1); }

  void open(unsigned ranks, bool keepsExpected = false) {
    Result<const CudaDriver *> loaded = CudaDriver::load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    driver = *loaded;
    Result<json::Document> document = json::Document::parse(kTask, "task.json");
    ASSERT_TRUE(document) << document.error().message;
    Result<task::Task> parsed = task::Task::fromDocument(*document);
    ASSERT_TRUE(parsed) << parsed.error().message;
    task = std::move(*parsed);
    CUcontext context = nullptr;
    ASSERT_EQ(driver->cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    OracleConfig config;
    config.task = &task;
    config.workload = &task.workloads.front();
    config.machine["world"] = ranks;
    config.contexts.assign(ranks, context);
    config.sets = 2;
    config.workspaceBytes = 1000;
    config.referenceLibrary = D2K_REFERENCE_STUB;
    config.keepsExpected = keepsExpected;
    Result<std::unique_ptr<OracleWorkload>> created =
        OracleWorkload::create(*driver, config);
    ASSERT_TRUE(created) << created.error().message;
    oracle = std::move(*created);
  }

  const BufferInfo &getBuffer(std::string_view name, unsigned rank = 0,
                              unsigned set = 0) {
    for (const BufferInfo &buffer : oracle->getBuffers())
      if (buffer.tensor == name && buffer.rank == rank &&
          (buffer.set == set || buffer.set == kAllSets))
        return buffer;
    ADD_FAILURE() << "no buffer " << name;
    return oracle->getBuffers().front();
  }
  template <typename T = uint16_t>
  T *getData(std::string_view name, unsigned rank = 0, unsigned set = 0) {
    return reinterpret_cast<T *>(getBuffer(name, rank, set).getAddress());
  }

  /// Fills and poisons set 0.
  void prepare(const char *trial = "random", bool isExact = false) {
    task::TrialSpec spec;
    spec.kind = trial;
    spec.seed = 7;
    spec.isExact = isExact;
    Result<void> done = oracle->fill(0, spec);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(oracle->prepare({0}));
  }
  /// What a correct submission does.
  void compute(unsigned ranks = 1) {
    for (unsigned rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < kCount; ++i) {
        double sum = read(getData("B", rank)[i]);
        for (unsigned peer = 0; peer < ranks; ++peer)
          sum += 2 * read(getData("X", peer)[i]);
        getData("Y", rank)[i] = write(sum);
      }
  }
  Judgement judge(std::optional<uint64_t> sampleSeed = std::nullopt) {
    Result<void> captured = oracle->capture(0);
    EXPECT_TRUE(captured) << captured.error().message;
    Result<Judgement> judgement = oracle->judge(0, sampleSeed);
    EXPECT_TRUE(judgement) << judgement.error().message;
    return *judgement;
  }
  static double read(uint16_t bits) {
    return task::decodeElement(DType::BFloat16, bits);
  }
  static uint16_t write(double value) {
    return uint16_t(task::encodeElement(DType::BFloat16, value));
  }

  static constexpr int kCount = 40 * 60;
  const CudaDriver *driver = nullptr;
  task::Task task;
  std::unique_ptr<OracleWorkload> oracle;
};

} // namespace

TEST_F(OracleWorkloadTest, Buffers) {
  // Two sets of three tensors, and one workspace for both.
  EXPECT_EQ(oracle->getBuffers().size(), 7u);
  EXPECT_EQ(getBuffer("X").bytes, kCount * 2u);
  EXPECT_EQ(getBuffer("X").getAddress() % 256, 0u);
  EXPECT_NE(getBuffer("X", 0, 0).base, getBuffer("X", 0, 1).base);
  EXPECT_EQ(getBuffer(".workspace").set, kAllSets);
  EXPECT_EQ(getBuffer(".workspace").bytes, 1000u);
}

TEST_F(OracleWorkloadTest, RightResultsPass) {
  prepare();
  // Poisoned, and the workspace too.
  EXPECT_TRUE(std::isnan(read(getData("Y")[kCount - 1])));
  EXPECT_EQ(getData<uint8_t>(".workspace")[999], 0xff);
  compute();
  Judgement judgement = judge();
  EXPECT_TRUE(judgement.passed) << judgement.reason;
  EXPECT_EQ(judgement.compared, unsigned(kCount));
  EXPECT_EQ(judgement.failed, 0u);
  EXPECT_LE(judgement.maxError, 1);
  EXPECT_GT(judgement.maxError, 0.5);
  EXPECT_EQ(judgement.rmsRatio, 1.0);
}

TEST_F(OracleWorkloadTest, SaysWhichElementIsWrong) {
  prepare();
  compute();
  int index = 7 * 60 + 3;
  double right = read(getData("Y")[index]);
  getData("Y")[index] = write(right + 8);
  getData("Y")[kCount - 1] = write(1000);
  Judgement judgement = judge();
  EXPECT_FALSE(judgement.passed);
  EXPECT_EQ(judgement.reason, "Y: 2 of 2400 elements are wrong");
  EXPECT_EQ(judgement.failed, 2u);
  ASSERT_TRUE(judgement.first);
  EXPECT_EQ(judgement.first->tensor, "Y");
  EXPECT_EQ(judgement.first->index, (std::vector<int64_t>{7, 3}));
  EXPECT_NEAR(judgement.first->expected, right, 0.05);
  EXPECT_EQ(judgement.first->got, read(write(right + 8)));
  EXPECT_GT(judgement.first->allowed, 0);
  EXPECT_GT(judgement.maxError, 1);
}

TEST_F(OracleWorkloadTest, UnwrittenOutputIsNotFinite) {
  prepare();
  compute();
  std::memset(getData("Y") + 100, 0xff, 20);
  Judgement judgement = judge();
  EXPECT_FALSE(judgement.passed);
  EXPECT_EQ(judgement.reason, "Y: 10 of 2400 elements are not finite");
  EXPECT_EQ(judgement.nonFinite, 10u);
  EXPECT_EQ(judgement.maxError, INFINITY);
}

TEST_F(OracleWorkloadTest, PrecisionIsSeenInTheRms) {
  prepare();
  compute();
  // Each element off by less than its bound, and all of them: the bound is
  // half an ulp for numbers just above a power of two only.
  for (int i = 0; i < kCount; ++i)
    getData("Y")[i] += 1;
  Judgement judgement = judge();
  EXPECT_FALSE(judgement.passed);
  EXPECT_GT(*judgement.rmsRatio, 1.25);
}

TEST_F(OracleWorkloadTest, LateWritesAreNotJudged) {
  prepare();
  ASSERT_TRUE(oracle->capture(0));
  compute();
  Result<Judgement> judgement = oracle->judge(0, std::nullopt);
  ASSERT_TRUE(judgement);
  EXPECT_FALSE(judgement->passed);
  EXPECT_EQ(judgement->nonFinite, unsigned(kCount));
}

TEST_F(OracleWorkloadTest, GuardsAndInputs) {
  prepare();
  compute();
  getData("Y")[kCount] = 0;
  Judgement judgement = judge();
  EXPECT_FALSE(judgement.passed);
  EXPECT_EQ(judgement.reason, "memory beside Y was written");
  EXPECT_EQ(judgement.brokenGuards, std::vector<std::string>{"Y"});

  prepare();
  compute();
  getData<uint8_t>(".workspace")[-1] = 0;
  EXPECT_EQ(judge().brokenGuards, std::vector<std::string>{"workspace"});

  prepare();
  compute();
  getData("B")[17] ^= 1;
  judgement = judge();
  EXPECT_FALSE(judgement.passed);
  EXPECT_EQ(judgement.reason, "the input B was changed");
  EXPECT_EQ(judgement.changedInputs, std::vector<std::string>{"B"});
}

TEST_F(OracleWorkloadTest, PerturbedInputsAreJudgedAnew) {
  prepare();
  compute();
  std::vector<uint16_t> before(getData("X"), getData("X") + kCount);
  // 1/256 of the lines, and there are few: until one is redrawn.
  bool isChanged = false;
  for (uint64_t seed = 1; seed < 100 && !isChanged; ++seed) {
    ASSERT_TRUE(oracle->prepare({0}, seed));
    isChanged = !std::equal(before.begin(), before.end(), getData("X"));
  }
  ASSERT_TRUE(isChanged);
  Judgement stale = judge();
  EXPECT_FALSE(stale.passed);
  EXPECT_TRUE(stale.changedInputs.empty());
  compute();
  EXPECT_TRUE(judge().passed);
}

TEST_F(OracleWorkloadTest, ExpectedValuesAreKeptUntilInputsAreDrawn) {
  for (bool isKept : {false, true}) {
    open(1, isKept);
    prepare();
    compute();
    EXPECT_TRUE(judge().passed);
    // Inputs are looked at when outputs are captured; what is written later
    // shows whether they were read again.
    getData("X")[17] = write(99);
    Result<Judgement> second = oracle->judge(0, std::nullopt);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(second->passed, isKept);

    // Other elements, the same inputs.
    prepare();
    compute();
    EXPECT_EQ(judge(11).compared, 54u * 16);
    getData("Y")[20 * 60 + 30] = write(99);
    EXPECT_EQ(judge().failed, 1u);

    // Other inputs: what was right is not.
    ASSERT_TRUE(oracle->fill(0, {std::string(task::kRandomTrial), 8}));
    EXPECT_FALSE(judge().passed);
    compute();
    EXPECT_TRUE(judge().passed);
    std::vector<uint16_t> before(getData("X"), getData("X") + kCount);
    for (uint64_t seed = 1;
         std::equal(before.begin(), before.end(), getData("X")); ++seed)
      ASSERT_TRUE(oracle->prepare({0}, seed));
    compute();
    EXPECT_TRUE(judge().passed);
  }
}

TEST_F(OracleWorkloadTest, SamplesTakeAllEdges) {
  prepare();
  compute();
  Judgement sampled = judge(11);
  EXPECT_TRUE(sampled.passed) << sampled.reason;
  // 10 x 15 tiles of 4 x 4: 46 at the edges, and 8 of the other 104.
  EXPECT_EQ(sampled.compared, 54u * 16);
  for (int corner : {0, 59, 39 * 60, kCount - 1}) {
    uint16_t right = getData("Y")[corner];
    getData("Y")[corner] = write(99);
    EXPECT_EQ(judge(11).failed, 1u);
    getData("Y")[corner] = right;
  }
  // Another seed, other tiles: a wrong element within is found by some seed
  // and not by each.
  getData("Y")[20 * 60 + 30] = write(99);
  unsigned found = 0;
  for (uint64_t seed = 0; seed < 60; ++seed)
    found += !judge(seed).passed;
  EXPECT_GT(found, 0u);
  EXPECT_LT(found, 30u);
}

TEST_F(OracleWorkloadTest, ExactTrialsAskForEveryBit) {
  prepare("integers", /*isExact=*/true);
  compute();
  EXPECT_TRUE(judge().passed);
  getData("Y")[5] ^= 1;
  EXPECT_EQ(judge().reason, "Y: 1 of 2400 elements are wrong");
  task::TrialSpec unknown;
  unknown.kind = "none";
  EXPECT_EQ(oracle->fill(0, unknown).error().message,
            "task sum has no trial \"none\"");
}

TEST_F(OracleWorkloadTest, HashesTellCapturesApart) {
  prepare();
  compute();
  ASSERT_TRUE(oracle->capture(0));
  std::string first = *oracle->hashCapture(0);
  ASSERT_TRUE(oracle->capture(0));
  EXPECT_EQ(*oracle->hashCapture(0), first);
  getData("Y")[5] ^= 1;
  ASSERT_TRUE(oracle->capture(0));
  EXPECT_NE(*oracle->hashCapture(0), first);
}

TEST_F(OracleWorkloadTest, TrivialOutputsFail) {
  for (TrivialOutput output : {TrivialOutput::Zeros, TrivialOutput::CopyOfInput,
                               TrivialOutput::Mean}) {
    prepare();
    ASSERT_TRUE(oracle->capture(0));
    ASSERT_TRUE(oracle->replaceCapture(0, output));
    Result<Judgement> judgement = oracle->judge(0, std::nullopt);
    ASSERT_TRUE(judgement);
    EXPECT_FALSE(judgement->passed);
    // Everything was replaced.
    EXPECT_EQ(judgement->nonFinite, 0u);
  }
}

TEST_F(OracleWorkloadTest, Ranks) {
  open(2);
  prepare();
  // Each rank has its own X and the same B.
  EXPECT_NE(std::memcmp(getData("X", 0), getData("X", 1), kCount * 2), 0);
  EXPECT_EQ(std::memcmp(getData("B", 0), getData("B", 1), kCount * 2), 0);
  compute(2);
  Judgement judgement = judge();
  EXPECT_TRUE(judgement.passed) << judgement.reason;
  EXPECT_EQ(judgement.compared, 2u * kCount);
  // One bit, within the tolerance and not the same on both.
  for (int i = 0; i < kCount; ++i)
    if (std::fabs(read(getData("Y", 1)[i])) < 1e-3) {
      getData("Y", 1)[i] ^= 1;
      break;
    }
  EXPECT_EQ(judge().reason, "Y: ranks 0 and 1 do not have the same bits");
}

TEST_F(OracleWorkloadTest, WrongNumberOfDevices) {
  OracleConfig config;
  config.task = &task;
  config.workload = &task.workloads.front();
  config.machine["world"] = 2;
  config.contexts.resize(1);
  Result<std::unique_ptr<OracleWorkload>> created =
      OracleWorkload::create(*driver, config);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().message,
            "sum runs on 2 devices here, and was given 1");
}
