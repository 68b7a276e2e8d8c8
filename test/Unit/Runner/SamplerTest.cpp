// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sampler on the fake driver, whose times are those of the host: what is
// in a record, and how calls that fail end. A call is a memset, which the fake
// runs and traces.

#include "Cuda/Sampler.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace d2k;
using namespace d2k::runner;

namespace {

/// Two GPUs, and buffers on each.
class SamplerTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    for (const char *variable : {"D2K_CUDA_DRIVER", "D2K_CUPTI", "D2K_NVML"})
      ::setenv(variable, D2K_FAKE_CUDA_LIBRARY, 1);
    ::setenv("D2K_FAKE_CUDA", "devices=2", 1);
    Result<const CudaDriver *> loaded = CudaDriver::load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    driver = *loaded;
    Result<void> started = Sampler::startTracing();
    ASSERT_TRUE(started) << started.error().message;
    // Shared, because making one fills its flush buffer.
    single = makeSampler(1);
    ASSERT_TRUE(single);
  }
  static void TearDownTestSuite() { single.reset(); }

  /// A rank on GPU \p number. Each call writes kBytes bytes, twice.
  static RankContext makeRank(int number) {
    RankContext rank;
    EXPECT_EQ(driver->cuDeviceGet(&rank.device, number), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuDevicePrimaryCtxRetain(&rank.context, rank.device),
              CUDA_SUCCESS);
    EXPECT_EQ(driver->cuCtxSetCurrent(rank.context), CUDA_SUCCESS);
    EXPECT_EQ(driver->cuStreamCreate(&rank.stream, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    CUdeviceptr buffer = 0;
    EXPECT_EQ(driver->cuMemAlloc(&buffer, kBytes), CUDA_SUCCESS);
    rank.call = [buffer, stream = rank.stream](unsigned set) {
      if (set == kBadSet)
        return 700; // cudaErrorIllegalAddress
      for (unsigned i = 0; i != 2; ++i)
        if (CUresult error =
                driver->cuMemsetD8Async(buffer, set, kBytes, stream))
          return int(error);
      return 0;
    };
    return rank;
  }

  static std::unique_ptr<Sampler> makeSampler(unsigned ranks) {
    std::vector<RankContext> contexts;
    for (unsigned rank = 0; rank != ranks; ++rank)
      contexts.push_back(makeRank(int(rank)));
    Result<std::unique_ptr<Sampler>> sampler =
        Sampler::create(*driver, std::move(contexts), /*wantCounters=*/false);
    if (sampler)
      return std::move(*sampler);
    ADD_FAILURE() << sampler.error().message;
    return nullptr;
  }

  static const CudaDriver *driver;
  static constexpr uint64_t kBytes = 1 << 20;
  static constexpr unsigned kBadSet = 99;
  static std::unique_ptr<Sampler> single;
};

const CudaDriver *SamplerTest::driver = nullptr;
std::unique_ptr<Sampler> SamplerTest::single;

} // namespace

TEST_F(SamplerTest, ColdSample) {
  Result<SampleRecord> record = single->sample({{0, 1, 2}, true, 1});
  ASSERT_TRUE(record) << record.error().message;
  // Three calls of two memsets; nothing of the harness's own.
  EXPECT_EQ(record->kernels,
            (std::vector<KernelUse>{{"[memset]", "driver", 6}}));
  EXPECT_GT(record->spanNs, 0);
  EXPECT_GT(record->hostNs, 0);
  EXPECT_TRUE(record->rankSpanNs.empty());
  // What was measured also goes through the protocol.
  json::Value value = toJson(*record);
  Result<SampleRecord> read =
      sampleRecordFromJson(json::Cursor(value, "reply"));
  EXPECT_TRUE(read) << read.error().message;
}

TEST_F(SamplerTest, WarmSample) {
  Result<SampleRecord> record = single->sample({{0}, false, 1});
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->kernels,
            (std::vector<KernelUse>{{"[memset]", "driver", 2}}));
}

TEST_F(SamplerTest, Batches) {
  BatchRequest request;
  request.rounds = 5;
  request.callsPerRound = 2;
  request.sets = {0, 1, 2};
  request.spinNs = 1000;
  BatchRequest collect = request;
  collect.rounds = 0;
  Result<BatchRecord> record = single->batch(request);
  ASSERT_TRUE(record) << record.error().message;
  record = single->batch(collect);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_GT(record->spanNsPerCall, 0);
  request.call = false;
  record = single->batch(request);
  ASSERT_TRUE(record) << record.error().message;
  record = single->batch(collect);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->spanNsPerCall, 0);
}

TEST_F(SamplerTest, FailingCallIsTheSubmissionsFault) {
  Result<SampleRecord> record = single->sample({{0, kBadSet}, true, 1});
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().kind, FailureKind::Input);
  EXPECT_EQ(record.error().message.find("the entry function returned 700: "),
            0u)
      << record.error().message;
}

TEST_F(SamplerTest, SeveralGpus) {
  std::unique_ptr<Sampler> sampler = makeSampler(2);
  ASSERT_TRUE(sampler);
  for (unsigned round = 0; round != 3; ++round) {
    Result<SampleRecord> record = sampler->sample({{0}, true, 1});
    ASSERT_TRUE(record) << record.error().message;
    // Of both.
    EXPECT_EQ(record->kernels,
              (std::vector<KernelUse>{{"[memset]", "driver", 4}}));
    ASSERT_EQ(record->rankSpanNs.size(), 2u);
    EXPECT_EQ(record->spanNs,
              std::max(record->rankSpanNs[0], record->rankSpanNs[1]));
  }
}

TEST_F(SamplerTest, ProfileWithoutCounters) {
  Result<json::Value> profile = single->profile(0);
  ASSERT_TRUE(profile) << profile.error().message;
  json::Cursor root(*profile, "profile");
  // Memsets are no launches.
  EXPECT_EQ(root.at("launches").asArray()->size(), 0u);
  EXPECT_EQ(*root.getString("counters_unavailable"),
            "counters were not asked for");
}
