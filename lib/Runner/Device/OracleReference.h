// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loaded reference of a task. Only the oracle's own sources include this.

#ifndef D2K_RUNNER_DEVICE_ORACLEREFERENCE_H
#define D2K_RUNNER_DEVICE_ORACLEREFERENCE_H

#include "OracleWorkload.h"
#include "d2k/Task/Reference.h"

namespace d2k::runner {

/// The shared library of a reference.cu and its functions.
struct OracleWorkload::Reference {
  Reference() = default;
  ~Reference();
  Reference(const Reference &) = delete;
  Reference &operator=(const Reference &) = delete;

  void *library = nullptr;
  decltype(&d2k_reference) compute = nullptr;
  decltype(&d2k_reference_tile) getTile = nullptr;
  /// Null when the reference does not define them.
  decltype(&d2k_reference_units) getUnits = nullptr;
  decltype(&d2k_reference_inputs) makeInputs = nullptr;
  decltype(&d2k_reference_accept) accept = nullptr;
  /// Tile sizes; 0 when it has no tiles.
  int64_t tileRows = 0, tileColumns = 0;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_DEVICE_ORACLEREFERENCE_H
