// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory through a file, for machines on which processes cannot share it
// (CUDA IPC is missing in some containers and on some virtual GPUs): the oracle
// writes what a worker is to have, the worker writes what became of it.
//
// The file is read and written, never mapped: who shortens it makes a read fail
// and kills nobody.

#ifndef D2K_RUNNER_SERVER_EXCHANGE_H
#define D2K_RUNNER_SERVER_EXCHANGE_H

#include "Cuda/CudaDriver.h"

#include <memory>
#include <string>
#include <vector>

namespace d2k::runner {

class Exchange {
public:
  /// Makes the file \p path, which must not exist.
  static Result<std::unique_ptr<Exchange>> create(const CudaDriver &driver,
                                                  const std::string &path);
  /// Opens the file that another process has made.
  static Result<std::unique_ptr<Exchange>> open(const CudaDriver &driver,
                                                const std::string &path);
  ~Exchange();
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;

  const std::string &getPath() const { return path; }

  /// Copies \p bytes bytes of device memory of \p context to the place
  /// \p position of the file, and back. Both wait.
  Result<void> copyOut(CUcontext context, CUdeviceptr from, uint64_t position,
                       uint64_t bytes);
  Result<void> copyIn(CUcontext context, CUdeviceptr to, uint64_t position,
                      uint64_t bytes);

private:
  Exchange(const CudaDriver &driver, std::string path, int fd, bool isOwner);

  const CudaDriver &driver;
  std::string path;
  int fd;
  bool isOwner;
  std::vector<char> chunk;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_SERVER_EXCHANGE_H
