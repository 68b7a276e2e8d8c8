// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies in pieces through host memory.

#include "Server/Exchange.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;

static constexpr size_t kChunkBytes = size_t(16) << 20;

static tl::unexpected<Failure> failFile(const std::string &path,
                                        const char *what) {
  return fail(FailureKind::Environment,
              path + ": cannot " + what + ": " + std::strerror(errno));
}

Exchange::Exchange(const CudaDriver &driver, std::string path, int fd,
                   bool isOwner)
    : driver(driver), path(std::move(path)), fd(fd), isOwner(isOwner),
      chunk(kChunkBytes) {}

Exchange::~Exchange() {
  ::close(fd);
  if (isOwner)
    ::unlink(path.c_str());
}

Result<std::unique_ptr<Exchange>> Exchange::create(const CudaDriver &driver,
                                                   const std::string &path) {
  // The worker is another user inside its namespace.
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return failFile(path, "be made");
  return std::unique_ptr<Exchange>(new Exchange(driver, path, fd, true));
}

Result<std::unique_ptr<Exchange>> Exchange::open(const CudaDriver &driver,
                                                 const std::string &path) {
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return failFile(path, "be opened");
  return std::unique_ptr<Exchange>(new Exchange(driver, path, fd, false));
}

Result<void> Exchange::copyOut(CUcontext context, CUdeviceptr from,
                               uint64_t position, uint64_t bytes) {
  Result<void> done =
      driver.check(driver.cuCtxSetCurrent(context), "use the device");
  for (uint64_t at = 0; done && at < bytes;) {
    size_t count = size_t(std::min<uint64_t>(kChunkBytes, bytes - at));
    done = driver.check(driver.cuMemcpyDtoH(chunk.data(), from + at, count),
                        "copy from the device");
    if (done && ::pwrite(fd, chunk.data(), count, off_t(position + at)) !=
                    ssize_t(count))
      return failFile(path, "be written");
    at += count;
  }
  return done;
}

Result<void> Exchange::copyIn(CUcontext context, CUdeviceptr to,
                              uint64_t position, uint64_t bytes) {
  Result<void> done =
      driver.check(driver.cuCtxSetCurrent(context), "use the device");
  for (uint64_t at = 0; done && at < bytes;) {
    size_t count = size_t(std::min<uint64_t>(kChunkBytes, bytes - at));
    if (::pread(fd, chunk.data(), count, off_t(position + at)) !=
        ssize_t(count))
      return failFile(path, "be read");
    done = driver.check(driver.cuMemcpyHtoD(to + at, chunk.data(), count),
                        "copy to the device");
    // A copy from pageable memory may return before the data is there.
    if (done)
      done = driver.check(driver.cuCtxSynchronize(), "copy to the device");
    at += count;
  }
  return done;
}
