// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/Occupancy.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace d2k::analysis;

/// The same for every target from sm_80 on.
static constexpr int64_t kRegisters = 65536;
static constexpr int64_t kMaxRegistersOfThread = 255;
static constexpr int64_t kRegisterUnit = 256; // of a warp
static constexpr int64_t kSharedUnit = 128;
static constexpr int64_t kReservedShared = 1024; // of a block
static constexpr int64_t kPartitions = 4;
static constexpr int64_t kWarpSize = 32;

std::optional<SmLimits> d2k::analysis::getSmLimits(std::string_view target) {
  llvm::StringRef name(target);
  if (!name.consume_front("sm_"))
    return std::nullopt;
  name = name.take_while([](char c) { return c >= '0' && c <= '9'; });
  constexpr int64_t kib = 1024;
  return llvm::StringSwitch<std::optional<SmLimits>>(name)
      .Case("80", SmLimits{64, 32, 164 * kib})
      .Case("86", SmLimits{48, 16, 100 * kib})
      .Case("89", SmLimits{48, 24, 100 * kib})
      .Case("87", SmLimits{48, 16, 164 * kib})
      .Cases({"90", "100", "103"}, SmLimits{64, 32, 228 * kib})
      .Cases({"120", "121"}, SmLimits{48, 24, 100 * kib})
      .Default(std::nullopt);
}

std::string_view d2k::analysis::getLimiterName(OccupancyLimiter limiter) {
  static constexpr std::string_view kNames[] = {"registers", "shared",
                                                "threads", "blocks"};
  return kNames[static_cast<size_t>(limiter)];
}

Occupancy d2k::analysis::computeOccupancy(const SmLimits &limits,
                                          const BlockNeeds &needs) {
  assert(needs.threads > 0 && needs.threads <= 1024 && "no block's size");
  int64_t warps = llvm::divideCeil(needs.threads, kWarpSize);
  Occupancy result{INT64_MAX, OccupancyLimiter::Registers};
  auto limit = [&](OccupancyLimiter by, int64_t blocks) {
    if (blocks < result.blocks)
      result = {blocks, by};
  };
  if (needs.registers > 0) {
    int64_t ofWarp = llvm::alignTo(needs.registers * kWarpSize, kRegisterUnit);
    // Registers belong to a quarter of the SM, warps are dealt out to quarters.
    int64_t residentWarps = kRegisters / kPartitions / ofWarp * kPartitions;
    // The launch is checked as if a block filled all quarters evenly.
    bool fits =
        needs.registers <= kMaxRegistersOfThread &&
        ofWarp * int64_t(llvm::alignTo(warps, kPartitions)) <= kRegisters;
    limit(OccupancyLimiter::Registers, fits ? residentWarps / warps : 0);
  }
  int64_t shared =
      llvm::alignTo(needs.sharedBytes + kReservedShared, kSharedUnit);
  limit(OccupancyLimiter::Shared, limits.sharedBytes / shared);
  limit(OccupancyLimiter::Threads, limits.warps / warps);
  limit(OccupancyLimiter::Blocks, limits.blocks);
  return result;
}
