// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL for baselines on several GPUs: the ranks are threads of one process,
// each with its GPU current. Only for baseline.cu, which the harness compiles
// with this header's folder; the task names nccl in baseline_libraries.

#ifndef D2K_BASELINE_NCCL_H
#define D2K_BASELINE_NCCL_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace d2k::baseline {

/// Most ranks of a task.
constexpr int kMaxRanks = 8;

/// A library status as the cudaError that an entry returns.
inline int toError(ncclResult_t result) {
  return result == ncclSuccess ? cudaSuccess : cudaErrorUnknown;
}

/// The communicator of each rank of this process.
class Communicators {
public:
  /// That of the calling rank in \p comm. The first call of each rank makes it,
  /// which waits for all other ranks. NVLink SHARP is off, as for submissions.
  /// Returns a cudaError.
  int get(ncclComm_t &comm, int64_t world, int64_t rank) {
    if (world > kMaxRanks || rank >= world)
      return cudaErrorInvalidValue;
    ncclComm_t &own = comms[rank];
    if (!own) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (!hasId) {
          setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/1);
          if (int error = toError(ncclGetUniqueId(&id)))
            return error;
          hasId = true;
        }
      }
      if (int error =
              toError(ncclCommInitRank(&own, int(world), id, int(rank))))
        return error;
    }
    comm = own;
    return cudaSuccess;
  }

  /// "NCCL 2.28.3".
  static std::string getIdentity() {
    int version = 0;
    ncclGetVersion(&version);
    char text[32];
    std::snprintf(text, sizeof(text), "NCCL %d.%d.%d", version / 10000,
                  version / 100 % 100, version % 100);
    return text;
  }

private:
  std::mutex mutex;
  bool hasId = false;
  ncclUniqueId id;
  ncclComm_t comms[kMaxRanks] = {};
};

} // namespace d2k::baseline

#endif // D2K_BASELINE_NCCL_H
