// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a front end's translation into kern counts.

#ifndef D2K_FRONTEND_LIFTING_STATISTICS_H
#define D2K_FRONTEND_LIFTING_STATISTICS_H

#include <cstdint>
#include <map>
#include <string>

namespace d2k {

/// What was translated, and how much of it was not understood.
struct LiftStatistics {
  /// PTX or machine instructions in the functions' bodies; those in blocks that
  /// control cannot reach are counted too.
  uint64_t instructions = 0;
  /// Instructions that no path from the function's start reaches. They are not
  /// executed and have no operation.
  uint64_t unreachable = 0;
  /// Instructions that became `kern.opaque`.
  uint64_t opaque = 0;
  /// How often each spelling (mnemonic with modifiers) was opaque.
  std::map<std::string, uint64_t> opaqueByMnemonic;
  uint64_t functions = 0;
  uint64_t blocks = 0;
  /// Block arguments other than parameters: phi nodes.
  uint64_t blockArguments = 0;
  uint64_t operations = 0;
};

} // namespace d2k

#endif // D2K_FRONTEND_LIFTING_STATISTICS_H
