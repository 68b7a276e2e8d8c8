// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of an evaluation: one a rank, each with its primary context,
// which the CUDA runtime uses too, and a stream.

#ifndef D2K_RUNNER_SERVER_DEVICESET_H
#define D2K_RUNNER_SERVER_DEVICESET_H

#include "Cuda/CudaDriver.h"

#include "d2k/Support/Json.h"

#include <vector>

namespace d2k::runner {

class DeviceSet {
public:
  struct Rank {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
  };

  DeviceSet(const CudaDriver &driver) : driver(driver) {}

  /// Retains the primary contexts of the devices with these \p ordinals and
  /// lets each reach the memory of the others. The first is current
  /// afterwards. Fails when two devices cannot reach each other.
  Result<void> open(const std::vector<int> &ordinals);

  const std::vector<Rank> &getRanks() const { return ranks; }

  /// Waits for all work on all devices; what went wrong in it.
  CUresult synchronize() const;

  /// That of each of \p ordinals, or of each device of the machine. These make
  /// no context.
  Result<json::Array> describe(const std::vector<int> &ordinals) const;
  Result<json::Array> describeAll() const;

private:
  /// Name, UUID, architecture, sizes and clocks of a device.
  Result<json::Object> describe(CUdevice device) const;

  const CudaDriver &driver;
  std::vector<Rank> ranks;
};

/// The list of device ordinals in the member `devices` of a request.
Result<std::vector<int>> getDevices(const json::Cursor &request);

} // namespace d2k::runner

#endif // D2K_RUNNER_SERVER_DEVICESET_H
