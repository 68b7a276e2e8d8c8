// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens each folder of a path by itself and without following links.

#include "d2k/Agent/WorkDirectory.h"

#include "d2k/Support/Files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::agent;

static constexpr size_t kMaxDepth = 8;
static constexpr size_t kMaxNameBytes = 100;

namespace {

class Descriptor {
public:
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  int get() const { return fd; }

private:
  int fd;
};

/// Where a file is: its folder, opened, and its name there.
struct Place {
  Descriptor folder;
  std::string name;
};

} // namespace

static tl::unexpected<Failure> refuse(const std::string &file,
                                      const std::string &why) {
  return fail(FailureKind::Input, file + ": " + why);
}

/// Why the last call of the system failed: \p why when that lies in what the
/// model asked for. A full disk or too few descriptors do not.
static tl::unexpected<Failure> refuseErrno(const std::string &file,
                                           const std::string &why) {
  for (int own : {ENOENT, ENOTDIR, EISDIR, EEXIST, ELOOP, ENXIO, ENAMETOOLONG})
    if (errno == own)
      return refuse(file, why);
  return fail(
      FailureKind::Environment,
      file + ": the work directory is out of order: " + std::strerror(errno));
}

/// The names of \p file, or why it is refused.
static Result<std::vector<std::string>> split(const std::string &file) {
  std::vector<std::string> names;
  for (size_t at = 0; at <= file.size();) {
    size_t end = std::min(file.find('/', at), file.size());
    std::string name = file.substr(at, end - at);
    at = end + 1;
    bool isPlain = !name.empty() && name.size() <= kMaxNameBytes &&
                   name.front() != '.' && name.front() != '-' &&
                   std::all_of(name.begin(), name.end(), [](unsigned char c) {
                     return (c < 128 && std::isalnum(c)) || c == '_' ||
                            c == '-' || c == '.';
                   });
    if (!isPlain)
      return refuse(file.substr(0, 200),
                    "not a path in the work directory; use names of letters, "
                    "digits, _, - and . with / between, such as kernel.cu");
    names.push_back(std::move(name));
  }
  if (names.size() > kMaxDepth)
    return refuse(file, "more than 8 folders deep");
  return names;
}

static Result<Place> find(int root, const std::string &file, bool make) {
  Result<std::vector<std::string>> names = split(file);
  if (!names)
    return forwardFailure(std::move(names));
  Descriptor folder(::fcntl(root, F_DUPFD_CLOEXEC, 0));
  if (folder.get() < 0)
    return refuseErrno(file, std::strerror(errno));
  for (size_t i = 0; i + 1 < names->size(); ++i) {
    const char *name = (*names)[i].c_str();
    if (make && ::mkdirat(folder.get(), name, 0755) != 0 && errno != EEXIST)
      return refuseErrno(file, std::strerror(errno));
    int next = ::openat(folder.get(), name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
      return refuseErrno(file, errno == ENOENT ? "there is no such file"
                                               : "its folder is none");
    folder = Descriptor(next);
  }
  return Place{std::move(folder), names->back()};
}

Result<WorkDirectory> WorkDirectory::open(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  WorkDirectory directory(path);
  directory.root =
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory.root < 0)
    return fail(FailureKind::Environment,
                path + ": cannot be opened: " + std::strerror(errno));
  return directory;
}

WorkDirectory::WorkDirectory(WorkDirectory &&other) noexcept
    : path(std::move(other.path)), root(std::exchange(other.root, -1)) {}

WorkDirectory &WorkDirectory::operator=(WorkDirectory &&other) noexcept {
  std::swap(path, other.path);
  std::swap(root, other.root);
  return *this;
}

WorkDirectory::~WorkDirectory() {
  if (root >= 0)
    ::close(root);
}

Result<std::string> WorkDirectory::read(const std::string &file) const {
  Result<Place> place = find(root, file, /*make=*/false);
  if (!place)
    return forwardFailure(std::move(place));
  // Not blocking: somebody may have put a pipe there.
  Descriptor fd(::openat(place->folder.get(), place->name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0)
    return refuseErrno(file, errno == ELOOP
                                 ? "it is a link, which is not followed"
                                 : "there is no such file");
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
    return refuse(file, "it is no file of its own");
  if (uint64_t(status.st_size) > kMaxWorkBytes)
    return refuse(file, "it has more than 4 MiB");
  std::string text(size_t(status.st_size), '\0');
  size_t at = 0;
  while (at < text.size()) {
    ssize_t count = ::read(fd.get(), text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    at += size_t(count);
  }
  text.resize(at);
  return text;
}

Result<void> WorkDirectory::write(const std::string &file,
                                  std::string_view text) {
  uint64_t others = 0;
  size_t count = 0;
  for (const Entry &entry : list())
    if (entry.file != file) {
      others += entry.bytes;
      ++count;
    }
  if (others + text.size() > kMaxWorkBytes)
    return refuse(file, "the files would have " +
                            std::to_string(others + text.size()) +
                            " bytes together, more than 4 MiB");
  if (count >= kMaxWorkFiles)
    return refuse(file, "there are 256 files already");
  Result<Place> place = find(root, file, /*make=*/true);
  if (!place)
    return forwardFailure(std::move(place));
  // A new file beside it, so that a kill leaves the old or the new one, and a
  // link that lies there is replaced and not written through.
  std::string temporary = ".new";
  ::unlinkat(place->folder.get(), temporary.c_str(), 0);
  {
    Descriptor fd(::openat(place->folder.get(), temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           0644));
    if (fd.get() < 0)
      return refuseErrno(file, std::strerror(errno));
    while (!text.empty()) {
      ssize_t written = ::write(fd.get(), text.data(), text.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return fail(FailureKind::Environment,
                    joinPath(path, file) +
                        ": cannot be written: " + std::strerror(errno));
      text.remove_prefix(size_t(written));
    }
  }
  if (::renameat(place->folder.get(), temporary.c_str(), place->folder.get(),
                 place->name.c_str()) != 0)
    return refuseErrno(file, errno == EISDIR ? "it is a folder"
                                             : std::strerror(errno));
  return {};
}

Result<void> WorkDirectory::remove(const std::string &file) {
  Result<Place> place = find(root, file, /*make=*/false);
  if (!place)
    return forwardFailure(std::move(place));
  if (::unlinkat(place->folder.get(), place->name.c_str(), 0) != 0)
    return refuseErrno(file, errno == EISDIR ? "it is a folder"
                                             : "there is no such file");
  return {};
}

static void collect(const std::string &root, const std::string &folder,
                    std::vector<WorkDirectory::Entry> &entries) {
  for (const std::string &name : listDirectory(joinPath(root, folder))
                                     .value_or(std::vector<std::string>())) {
    std::string file = folder.empty() ? name : joinPath(folder, name);
    struct stat status = {};
    if (name.front() == '.' ||
        ::lstat(joinPath(root, file).c_str(), &status) != 0)
      continue;
    if (S_ISDIR(status.st_mode))
      collect(root, file, entries);
    else if (S_ISREG(status.st_mode))
      entries.push_back({file, uint64_t(status.st_size)});
  }
}

std::vector<WorkDirectory::Entry> WorkDirectory::list() const {
  std::vector<Entry> entries;
  collect(path, "", entries);
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.file < b.file; });
  return entries;
}

Result<void> WorkDirectory::clear() {
  std::error_code error;
  for (const std::string &name :
       listDirectory(path).value_or(std::vector<std::string>())) {
    std::filesystem::remove_all(joinPath(path, name), error);
    if (error)
      return fail(FailureKind::Environment,
                  joinPath(path, name) +
                      ": cannot be removed: " + error.message());
  }
  return {};
}
