// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resident blocks of one multiprocessor (SM), from what a block needs and what
// an SM has: the rules of the CUDA C++ Programming Guide, "Compute
// Capabilities", and of the toolkit's cuda_occupancy.h.
//
// Example: 256 threads with 64 registers each on sm_90: a warp takes 2048
// registers, a quarter of the SM has 16384 of them and so 8 warps; 32 warps
// hold 4 blocks of 8, and registers are what allows no more.
//
// Not modelled: the shared-memory carve-out that a launch may ask for (the
// largest is assumed), named barriers, clusters that do not fit a GPC.

#ifndef D2K_ANALYSIS_OCCUPANCY_H
#define D2K_ANALYSIS_OCCUPANCY_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace d2k::analysis {

/// What an SM has.
struct SmLimits {
  int64_t warps = 0;
  int64_t blocks = 0;
  /// Bytes of shared memory, what the driver reserves included.
  int64_t sharedBytes = 0;
};

/// The limits of \p target ("sm_90a"); nothing for a target not listed in the
/// guide of CUDA 13.
std::optional<SmLimits> getSmLimits(std::string_view target);

/// What a block needs.
struct BlockNeeds {
  int64_t threads = 0;
  /// Registers of a thread.
  int64_t registers = 0;
  /// Static and dynamic shared memory in bytes.
  int64_t sharedBytes = 0;
};

enum class OccupancyLimiter : uint8_t { Registers, Shared, Threads, Blocks };

/// "registers", "shared", "threads", "blocks".
std::string_view getLimiterName(OccupancyLimiter limiter);

struct Occupancy {
  /// Resident blocks of an SM; 0 when a block does not fit.
  int64_t blocks = 0;
  /// What allows no more; the first in the order of the enumerators when
  /// several do.
  OccupancyLimiter limiter = OccupancyLimiter::Registers;
};

/// \p needs.threads must be from 1 to 1024.
Occupancy computeOccupancy(const SmLimits &limits, const BlockNeeds &needs);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_OCCUPANCY_H
