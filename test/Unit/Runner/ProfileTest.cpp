// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evidence file: what a worker sends, and what no honest one does.

#include "d2k/Runner/Profile.h"
#include "d2k/Support/Files.h"

#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::runner;

static const ProfileSubject kSubject = {"gemm_bf16", std::string(64, 'a'),
                                        "NVIDIA H200", "sm_90a"};

static constexpr const char *kWorkerProfile = R"({
  "launches": [{"kernel": "_Z4gemmv", "module": "submission", "device": 0,
    "grid": [132, 1, 1], "block": [128, 1, 1], "cluster": [2, 1, 1],
    "registers": 168, "static_shared_bytes": 0, "dynamic_shared_bytes": 200000,
    "local_bytes_per_thread": 0, "ns": 10400}],
  "counters_unavailable": "no permission"})";

static Result<json::Value> make(std::string text,
                                const std::string &folder = {}) {
  Result<json::Value> profile = json::parse(text, "reply");
  EXPECT_TRUE(profile) << profile.error().message;
  return makeProfile(kSubject, {{"small", *profile}}, folder);
}

TEST(Profile, KeepsWhatTheWorkerSent) {
  Result<json::Value> profile = make(kWorkerProfile);
  ASSERT_TRUE(profile) << profile.error().message;
  json::Cursor root(*profile, "profile");
  EXPECT_EQ(*root.getString("schema"), "d2k.profile/1");
  json::Cursor launch =
      root.at("workloads").at(0).at("profile").at("launches").at(0);
  EXPECT_EQ(*launch.getInteger("dynamic_shared_bytes"), 200000);
  EXPECT_EQ(root.at("modules").asArray()->size(), 0u);
}

TEST(Profile, HashesTheModules) {
  Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  ASSERT_TRUE(writeFile(joinPath(folder->getPath(), "a.cubin"), "abc"));
  Result<json::Value> profile = make(kWorkerProfile, folder->getPath());
  ASSERT_TRUE(profile) << profile.error().message;
  json::Cursor module = json::Cursor(*profile, "profile").at("modules").at(0);
  EXPECT_EQ(*module.getString("file"), "a.cubin");
  // FIPS 180-4, the first example.
  EXPECT_EQ(*module.getString("sha256"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Profile, RefusesOtherShapes) {
  Result<json::Value> profile = make(R"({"launches": "many"})");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().kind, FailureKind::Input);
  EXPECT_EQ(profile.error().message.find(
                "the worker's profile: workloads[0].profile.launches"),
            0u)
      << profile.error().message;
  std::string text = kWorkerProfile;
  text.replace(text.find("168"), 3, "-1 ");
  EXPECT_FALSE(make(text));
  EXPECT_FALSE(make(R"({"launches": [], "verdict": "correct"})"));
}
