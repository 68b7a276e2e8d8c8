// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argument structures against the checked-in entry headers, compiled here.

#include "d2k/Task/Arguments.h"

#include "TestPaths.h"
#include "gtest/gtest.h"

#include "d2k_allreduce_rmsnorm.h"
#include "d2k_gemm_bf16.h"
#include "d2k_rmsnorm_residual_fp8.h"

#include <cstring>

using namespace d2k;
using namespace d2k::task;

static Task loadTask(const std::string &name) {
  Result<Task> task =
      Task::load(test::getSourcePath("tasks/" + name + "/task.json"));
  EXPECT_TRUE(task) << task.error().message;
  return *task;
}

/// An address that tells rank and buffer apart.
static uint64_t makeAddress(unsigned rank, std::string_view name) {
  uint64_t address = 4096 + rank;
  for (char c : name)
    address = address * 131 + uint64_t(c);
  return address << 8;
}

static const void *asPointer(uint64_t address) {
  return reinterpret_cast<const void *>(address);
}

template <typename T>
static T unpack(const ArgumentBlock &block) {
  EXPECT_EQ(block.getSize(), sizeof(T));
  T args;
  std::memcpy(&args, block.getData(), sizeof(T));
  return args;
}

TEST(Arguments, Gemm) {
  Task task = loadTask("gemm_bf16");
  Result<std::vector<ArgumentBlock>> blocks = packArguments(
      task, *task.findWorkload("llama3_8b_qkv_ragged"), {}, makeAddress);
  ASSERT_TRUE(blocks) << blocks.error().message;
  ASSERT_EQ(blocks->size(), 1u);
  auto args = unpack<d2k_gemm_bf16_args>(blocks->front());
  EXPECT_EQ(args.M, 1000);
  EXPECT_EQ(args.N, 6144);
  EXPECT_EQ(args.K, 4096);
  EXPECT_EQ(args.X, asPointer(makeAddress(0, "X")));
  EXPECT_EQ(args.D, asPointer(makeAddress(0, "D")));
}

TEST(Arguments, ScalarsAreAligned) {
  Task task = loadTask("rmsnorm_residual_fp8");
  Result<std::vector<ArgumentBlock>> blocks = packArguments(
      task, *task.findWorkload("gpt_oss_ragged"), {}, makeAddress);
  ASSERT_TRUE(blocks) << blocks.error().message;
  auto args = unpack<d2k_rmsnorm_residual_fp8_args>(blocks->front());
  EXPECT_EQ(args.H, 2880);
  // This workload's own value.
  EXPECT_EQ(args.eps, 1e-5f);
  EXPECT_EQ(args.r, asPointer(makeAddress(0, "r")));
  EXPECT_EQ(args.s, asPointer(makeAddress(0, "s")));
}

TEST(Arguments, Ranks) {
  Task task = loadTask("allreduce_rmsnorm");
  Result<std::vector<ArgumentBlock>> blocks =
      packArguments(task, *task.findWorkload("llama3_70b_decode"),
                    {{"world", 4}}, makeAddress);
  ASSERT_TRUE(blocks) << blocks.error().message;
  ASSERT_EQ(blocks->size(), 4u);
  for (unsigned rank = 0; rank < 4; ++rank) {
    auto args = unpack<d2k_allreduce_rmsnorm_args>((*blocks)[rank]);
    EXPECT_EQ(args.world, 4);
    EXPECT_EQ(args.rank, rank);
    EXPECT_EQ(args.res, asPointer(makeAddress(rank, "res")));
    EXPECT_EQ(args.scratch_bytes, 8u * 8 * 8192);
    EXPECT_EQ(args.signal_words, 4096u);
    for (unsigned peer = 0; peer < 4; ++peer) {
      EXPECT_EQ(args.x[peer], asPointer(makeAddress(peer, "x")));
      EXPECT_EQ(args.scratch[peer], asPointer(makeAddress(peer, ".scratch")));
      EXPECT_EQ(args.signals[peer], asPointer(makeAddress(peer, ".signals")));
    }
  }
}

TEST(Arguments, MissingBuffer) {
  Task task = loadTask("allreduce_rmsnorm");
  auto lookup = [](unsigned rank, std::string_view name) {
    return rank == 1 && name == "x" ? 0 : makeAddress(rank, name);
  };
  EXPECT_EQ(
      packArguments(task, task.workloads.front(), {}, lookup).error().message,
      "x: rank 1 has no buffer for it");
}
