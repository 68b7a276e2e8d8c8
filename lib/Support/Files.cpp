// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File access over plain POSIX calls: errno tells causes apart that streams
// merge into one "failed" bit.

#include "d2k/Support/Files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace d2k;

namespace {

/// Closes a descriptor at the end of a scope.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  int get() const { return fd; }
  /// Closes now; false when the kernel reports a late write error.
  bool close() { return ::close(std::exchange(fd, -1)) == 0; }

private:
  int fd;
};

} // namespace

static tl::unexpected<Failure> failWithErrno(const std::string &path,
                                             const char *action) {
  int error = errno;
  std::string message = path + ": ";
  if (error == ENOENT)
    message += "no such file or directory";
  else if (error == EACCES || error == EPERM)
    message += std::string("cannot ") + action +
               ": permission denied; check the owner and mode of the file";
  else
    message += std::string("cannot ") + action + ": " + std::strerror(error);
  return fail(FailureKind::Input, std::move(message));
}

Result<std::string> d2k::readFile(const std::string &path, uint64_t maxBytes) {
  // O_NONBLOCK keeps the open of a named pipe without a writer from hanging
  // before fstat can tell what it is.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0)
    return failWithErrno(path, "open it");
  struct stat status;
  if (::fstat(file.get(), &status) != 0)
    return failWithErrno(path, "read it");
  if (S_ISDIR(status.st_mode))
    return fail(FailureKind::Input, path + ": is a directory, expected a file");
  auto tooLarge = [&] {
    return fail(FailureKind::Input, path + ": is too large, the limit is " +
                                        std::to_string(maxBytes) + " bytes");
  };
  if (S_ISREG(status.st_mode) && uint64_t(status.st_size) > maxBytes)
    return tooLarge();
  int flags = ::fcntl(file.get(), F_GETFL);
  ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK);

  std::string contents;
  if (S_ISREG(status.st_mode))
    contents.reserve(size_t(status.st_size));
  char buffer[1 << 16];
  while (true) {
    ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failWithErrno(path, "read it");
    if (count == 0)
      return contents;
    if (contents.size() + size_t(count) > maxBytes)
      return tooLarge();
    contents.append(buffer, size_t(count));
  }
}

static bool writeAll(int fd, std::string_view contents) {
  while (!contents.empty()) {
    ssize_t count = ::write(fd, contents.data(), contents.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    contents.remove_prefix(size_t(count));
  }
  return true;
}

Result<void> d2k::writeFile(const std::string &path,
                            std::string_view contents) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode))
      return fail(FailureKind::Input,
                  path + ": is a directory, expected a file name");
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || !writeAll(file.get(), contents))
      return failWithErrno(path, "write it");
    return {};
  }

  std::string temporary = path + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0)
    return failWithErrno(path, "create it");
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (!writeAll(file.get(), contents) ||
      ::fchmod(file.get(), 0666 & ~mask) != 0 || !file.close() ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    auto failure = failWithErrno(path, "write it");
    ::unlink(temporary.c_str());
    return failure;
  }
  return {};
}

bool d2k::isDirectory(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool d2k::isRegularFile(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

Result<std::vector<std::string>> d2k::listDirectory(const std::string &path) {
  DIR *directory = ::opendir(path.c_str());
  if (!directory)
    return failWithErrno(path, "list it");
  std::vector<std::string> names;
  while (const dirent *entry = ::readdir(directory)) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..")
      names.emplace_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

std::string d2k::joinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/')
    path += '/';
  return path += name;
}

Result<TemporaryDirectory> TemporaryDirectory::create() {
  const char *base = std::getenv("TMPDIR");
  std::string path = joinPath(base && *base ? base : "/tmp", "d2k-XXXXXX");
  if (!::mkdtemp(path.data()))
    return fail(FailureKind::Environment,
                path + ": cannot create a temporary directory: " +
                    std::strerror(errno) + "; set TMPDIR to a writable one");
  return TemporaryDirectory(std::move(path));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory &&other) noexcept
    : path(std::exchange(other.path, {})) {}

TemporaryDirectory &
TemporaryDirectory::operator=(TemporaryDirectory &&other) noexcept {
  std::swap(path, other.path);
  return *this;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (path.empty())
    return;
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}
