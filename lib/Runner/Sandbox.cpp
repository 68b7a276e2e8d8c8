// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Namespaces, mounts, limits and capabilities, by system calls. The process has
// one thread here, so that fork needs no care. The filter of system calls is in
// SystemCallFilter.cpp.

#include "d2k/Runner/Sandbox.h"

#include "d2k/Support/Files.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;

//===----------------------------------------------------------------------===//
// Configuration and report as JSON
//===----------------------------------------------------------------------===//

static json::Value makeStrings(const std::vector<std::string> &strings) {
  json::Array array;
  for (const std::string &string : strings)
    array.emplace_back(string);
  return array;
}

static Result<std::vector<std::string>> getStrings(const json::Cursor &cursor,
                                                   std::string_view name) {
  Result<json::Cursor> member = cursor.get(name);
  if (!member)
    return forwardFailure(std::move(member));
  return member->asStrings();
}

json::Value SandboxConfig::toJson() const {
  return json::Object{{"read_only", makeStrings(readOnly)},
                      {"writable", makeStrings(writable)},
                      {"hidden", makeStrings(hidden)},
                      {"devices", devices},
                      {"temporary_bytes", int64_t(temporaryBytes)},
                      {"max_file_bytes", int64_t(maxFileBytes)},
                      {"max_descriptors", int64_t(maxDescriptors)},
                      {"max_program_bytes", int64_t(maxProgramBytes)},
                      {"outside_namespaces", makeStrings(outsideNamespaces)}};
}

Result<SandboxConfig> SandboxConfig::fromJson(const json::Cursor &cursor) {
  SandboxConfig config;
  for (auto [name, list] : {std::pair{"read_only", &config.readOnly},
                            std::pair{"writable", &config.writable},
                            std::pair{"hidden", &config.hidden}}) {
    Result<std::vector<std::string>> strings = getStrings(cursor, name);
    if (!strings)
      return forwardFailure(std::move(strings));
    *list = std::move(*strings);
  }
  if (cursor.find("outside_namespaces")) {
    Result<std::vector<std::string>> outside =
        getStrings(cursor, "outside_namespaces");
    if (!outside)
      return forwardFailure(std::move(outside));
    config.outsideNamespaces = std::move(*outside);
  }
  Result<bool> devices = cursor.getBoolean("devices");
  if (!devices)
    return forwardFailure(std::move(devices));
  config.devices = *devices;
  for (auto [name, number] :
       {std::pair{"temporary_bytes", &config.temporaryBytes},
        std::pair{"max_file_bytes", &config.maxFileBytes},
        std::pair{"max_descriptors", &config.maxDescriptors},
        std::pair{"max_program_bytes", &config.maxProgramBytes}}) {
    Result<int64_t> value = cursor.getInteger(name);
    if (!value)
      return forwardFailure(std::move(value));
    *number = uint64_t(*value);
  }
  return config;
}

json::Value Isolation::toJson() const {
  return json::Object{{"method", method},
                      {"user_namespace", userNamespace},
                      {"mount_namespace", mountNamespace},
                      {"process_namespace", processNamespace},
                      {"network_namespace", networkNamespace},
                      {"ipc_namespace", ipcNamespace},
                      {"system_call_filter", systemCallFilter},
                      {"missing", makeStrings(missing)}};
}

Result<Isolation> Isolation::fromJson(const json::Cursor &cursor) {
  Isolation isolation;
  Result<std::string> method = cursor.getString("method");
  if (!method)
    return forwardFailure(std::move(method));
  isolation.method = *method;
  for (auto [name, wall] :
       {std::pair{"user_namespace", &isolation.userNamespace},
        std::pair{"mount_namespace", &isolation.mountNamespace},
        std::pair{"process_namespace", &isolation.processNamespace},
        std::pair{"network_namespace", &isolation.networkNamespace},
        std::pair{"ipc_namespace", &isolation.ipcNamespace},
        std::pair{"system_call_filter", &isolation.systemCallFilter}}) {
    Result<bool> value = cursor.getBoolean(name);
    if (!value)
      return forwardFailure(std::move(value));
    *wall = *value;
  }
  Result<std::vector<std::string>> missing = getStrings(cursor, "missing");
  if (!missing)
    return forwardFailure(std::move(missing));
  isolation.missing = std::move(*missing);
  return isolation;
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

void runner::dieWithParent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void runner::forbidInspection() { ::prctl(PR_SET_DUMPABLE, 0); }

/// Waits for \p child and ends as it did. Holds no descriptor meanwhile, so
/// that the ends of sockets and pipes show the end of the confined process.
[[noreturn]] static void superviseAndExit(pid_t child) {
  int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && null >= 0; ++fd)
    ::dup2(null, fd);
  ::syscall(SYS_close_range, 3u, ~0u, 0u);
  for (;;) {
    int status = 0;
    pid_t ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR)
      continue;
    if (ended < 0)
      ::_exit(127);
    if (ended != child)
      continue; // An orphan that process 1 inherited.
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

static bool writeText(const char *path, const std::string &text) {
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  bool written = ::write(fd, text.data(), text.size()) == ssize_t(text.size());
  ::close(fd);
  return written;
}

/// The user namespace gives an unprivileged caller the right to make the
/// others. Inside, the caller is the unprivileged user 1000.
static bool enterUserNamespace() {
  std::string user = std::to_string(::geteuid());
  std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0)
    return false;
  writeText("/proc/self/setgroups", "deny");
  return writeText("/proc/self/uid_map", "1000 " + user + " 1") &&
         writeText("/proc/self/gid_map", "1000 " + group + " 1");
}

/// NCCL, which a baseline may use, meets its own ranks over the loopback
/// interface; a new network namespace has one that is down.
static void startLoopback() {
  int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  if (socket < 0)
    return;
  if (::ioctl(socket, SIOCGIFFLAGS, &request) == 0) {
    request.ifr_flags |= IFF_UP;
    ::ioctl(socket, SIOCSIFFLAGS, &request);
  }
  ::close(socket);
}

//===----------------------------------------------------------------------===//
// File system
//===----------------------------------------------------------------------===//

namespace {

/// The fields of the kernel's mount_attr (linux/mount.h), which older C
/// libraries cannot include beside sys/mount.h.
struct MountAttributes {
  uint64_t set = 0;
  uint64_t clear = 0;
  uint64_t propagation = 0;
  uint64_t userNamespace = 0;
};

constexpr uint64_t kReadOnly = 1, kNoSetuid = 2, kNoDevices = 4;

/// Builds the new root. The first step that the kernel refuses ends it.
class Root {
public:
  explicit Root(const SandboxConfig &config) : config(config) {}

  /// Replaces the root of this mount namespace; the reason when it cannot.
  std::optional<std::string> build();
  bool hasOwnProc() const { return ownProc; }

private:
  bool failed(const std::string &what) {
    problem = what + ": " + std::strerror(errno);
    return false;
  }
  bool mountTmpfs(const std::string &path, uint64_t bytes, const char *mode) {
    std::string options =
        "size=" + std::to_string(bytes) + ",mode=" + std::string(mode);
    return ::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
                   options.c_str()) == 0 ||
           failed("mount a tmpfs on " + path);
  }
  /// Shows \p path of the old root at the same path of the new one.
  bool bind(const std::string &path, uint64_t attributes);
  bool bindSystem();
  bool makeDevices();
  bool hide(const std::string &path);
  static bool makeParents(const std::string &path);

  const SandboxConfig &config;
  std::string problem;
  bool ownProc = false;
};

} // namespace

static constexpr const char *kOldRoot = "/old";
static constexpr const char *kNewRoot = "/new";

bool Root::makeParents(const std::string &path) {
  for (size_t at = 1; (at = path.find('/', at)) != std::string::npos; ++at)
    if (::mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST)
      return false;
  return true;
}

bool Root::bind(const std::string &path, uint64_t attributes) {
  std::string from = kOldRoot + path;
  std::string to = kNewRoot + path;
  struct stat info;
  if (::lstat(from.c_str(), &info) != 0)
    return true; // Nothing to show.
  if (!makeParents(to))
    return failed("make " + to);
  if (S_ISLNK(info.st_mode)) {
    char target[4096];
    ssize_t length = ::readlink(from.c_str(), target, sizeof(target) - 1);
    if (length < 0)
      return failed("read the link " + path);
    target[length] = 0;
    return ::symlink(target, to.c_str()) == 0 || errno == EEXIST ||
           failed("link " + path);
  }
  if (S_ISDIR(info.st_mode)) {
    if (::mkdir(to.c_str(), 0755) != 0 && errno != EEXIST)
      return failed("make " + to);
  } else if (::access(to.c_str(), F_OK) != 0) { // Not shown before.
    int fd = ::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
      return failed("make " + to);
    ::close(fd);
  }
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) !=
      0)
    return failed("bind " + path);
  MountAttributes mount;
  mount.set = attributes;
  constexpr unsigned kRecursive = 0x8000; // AT_RECURSIVE
  return ::syscall(SYS_mount_setattr, AT_FDCWD, to.c_str(), kRecursive, &mount,
                   sizeof(mount)) == 0 ||
         failed("protect " + path);
}

const std::vector<std::string> &runner::getSystemPaths() {
  static const std::vector<std::string> kPaths = {"/usr",
                                                  "/bin",
                                                  "/sbin",
                                                  "/lib",
                                                  "/lib32",
                                                  "/lib64",
                                                  "/libx32",
                                                  "/opt",
                                                  "/etc/ld.so.cache",
                                                  "/etc/ld.so.conf",
                                                  "/etc/ld.so.conf.d",
                                                  "/etc/alternatives",
                                                  "/etc/nvidia",
                                                  "/sys"};
  return kPaths;
}

bool Root::bindSystem() {
  constexpr uint64_t kLibraries = kReadOnly | kNoSetuid | kNoDevices;
  for (const std::string &path : getSystemPaths())
    if (!bind(path, kLibraries))
      return false;
  if (::mkdir("/new/proc", 0755) != 0)
    return failed("make /proc");
  // In a container whose /proc is masked the kernel refuses a new one. The old
  // one lists foreign processes; forbidInspection keeps them closed.
  ownProc = ::mount("proc", "/new/proc", "proc",
                    MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
  return ownProc || bind("/proc", kLibraries);
}

bool Root::makeDevices() {
  if (::mkdir("/new/dev", 0755) != 0)
    return failed("make /dev");
  if (!mountTmpfs("/new/dev", 1 << 20, "755"))
    return false;
  std::vector<std::string> nodes = {"null", "zero", "full", "random",
                                    "urandom"};
  if (config.devices)
    if (Result<std::vector<std::string>> names =
            listDirectory(std::string(kOldRoot) + "/dev"))
      for (const std::string &name : *names)
        if (name.compare(0, 6, "nvidia") == 0)
          nodes.push_back(name);
  for (const std::string &node : nodes)
    if (!bind("/dev/" + node, kNoSetuid))
      return false;
  (void)::symlink("/proc/self/fd", "/new/dev/fd");
  return (::mkdir("/new/dev/shm", 01777) == 0 || failed("make /dev/shm")) &&
         mountTmpfs("/new/dev/shm", config.temporaryBytes, "1777");
}

bool Root::hide(const std::string &path) {
  std::string inside = kNewRoot + path;
  struct stat info;
  if (::stat(inside.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return true;
  return ::mount("tmpfs", inside.c_str(), "tmpfs", MS_RDONLY | MS_NOSUID,
                 "size=4096,mode=555") == 0 ||
         failed("hide " + path);
}

std::optional<std::string> Root::build() {
  constexpr uint64_t kVisible = kReadOnly | kNoSetuid | kNoDevices;
  auto run = [&] {
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return failed("make the mounts private");
    // The old root moves aside first, so that everything below it, /tmp too,
    // can still be shown.
    if (!mountTmpfs("/tmp", 1 << 20, "755") || ::chdir("/tmp") != 0 ||
        ::mkdir("old", 0755) != 0 || ::mkdir("new", 0755) != 0 ||
        ::syscall(SYS_pivot_root, ".", "old") != 0 || ::chdir("/") != 0)
      return problem.empty() ? failed("move the root aside") : false;
    if (!mountTmpfs(kNewRoot, 1 << 20, "755") || !bindSystem() ||
        !makeDevices())
      return false;
    if (::mkdir("/new/tmp", 01777) != 0)
      return failed("make /tmp");
    if (!mountTmpfs("/new/tmp", config.temporaryBytes, "1777"))
      return false;
    for (const std::string &path : config.hidden)
      if (!hide(path))
        return false;
    for (const std::string &path : config.readOnly)
      if (!bind(path, kVisible))
        return false;
    for (const std::string &path : config.writable)
      if (!bind(path, kNoSetuid))
        return false;
    if (::umount2(kOldRoot, MNT_DETACH) != 0)
      return failed("leave the old root");
    if (::chdir(kNewRoot) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
        ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0)
      return failed("enter the new root");
    MountAttributes root;
    root.set = kReadOnly;
    return ::syscall(SYS_mount_setattr, AT_FDCWD, "/", 0u, &root,
                     sizeof(root)) == 0 ||
           failed("protect the new root");
  };
  return run() ? std::nullopt : std::optional<std::string>(problem);
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

static void setLimit(int resource, uint64_t value) {
  rlimit limit = {};
  ::getrlimit(__rlimit_resource_t(resource), &limit);
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  limit.rlim_max = limit.rlim_cur;
  ::setrlimit(__rlimit_resource_t(resource), &limit);
}

/// After this nothing gives the process or its children a privilege back.
static void dropPrivileges() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int capability = 0; capability < 64; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  ::syscall(SYS_capset, &header, none);
}

static void setLimits(const SandboxConfig &config) {
  setLimit(RLIMIT_CORE, 0);
  setLimit(RLIMIT_FSIZE, config.maxFileBytes);
  setLimit(RLIMIT_NOFILE, config.maxDescriptors);
  dropPrivileges();
  // Dropping privileges clears the wish to die with the parent.
  dieWithParent();
}

Isolation runner::enterSandbox(const SandboxConfig &config) {
  if (!config.outsideNamespaces.empty()) {
    setLimits(config);
    return compareNamespaces(config.outsideNamespaces);
  }
  Isolation isolation;
  auto miss = [&](const std::string &wall) {
    isolation.missing.push_back(wall + ": " + std::strerror(errno));
  };
  isolation.userNamespace = enterUserNamespace();
  if (!isolation.userNamespace)
    miss("user namespace");
  for (auto [flag, wall, name] :
       {std::tuple{CLONE_NEWNET, &isolation.networkNamespace,
                   "network namespace"},
        std::tuple{CLONE_NEWIPC, &isolation.ipcNamespace, "IPC namespace"},
        std::tuple{CLONE_NEWPID, &isolation.processNamespace,
                   "process namespace"},
        std::tuple{CLONE_NEWNS, &isolation.mountNamespace,
                   "mount namespace"}}) {
    *wall = ::unshare(flag) == 0;
    if (!*wall)
      miss(name);
  }
  if (isolation.networkNamespace)
    startLoopback();
  if (isolation.processNamespace) {
    pid_t init = ::fork();
    if (init < 0)
      ::_exit(127);
    if (init > 0)
      superviseAndExit(init);
    dieWithParent();
  }
  if (isolation.mountNamespace) {
    Root root(config);
    if (std::optional<std::string> problem = root.build()) {
      // A file system that is half built is no place to go on.
      std::fprintf(stderr, "sandbox: cannot %s\n", problem->c_str());
      ::_exit(126);
    }
    if (!root.hasOwnProc())
      isolation.missing.push_back("own /proc: refused by the kernel");
  }
  if (isolation.processNamespace) {
    pid_t confined = ::fork();
    if (confined < 0)
      ::_exit(127);
    if (confined > 0)
      superviseAndExit(confined);
    dieWithParent();
  }
  if (isolation.mountNamespace || isolation.networkNamespace ||
      isolation.processNamespace)
    isolation.method = "namespaces";
  setLimits(config);
  return isolation;
}

void runner::executeInSandbox(const SandboxConfig &config, char **argv) {
  setLimit(RLIMIT_AS, config.maxProgramBytes);
  ::execvp(argv[0], argv);
}
