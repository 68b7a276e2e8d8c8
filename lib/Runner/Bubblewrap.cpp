// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walls by bubblewrap (https://github.com/containers/bubblewrap), where a
// process cannot put them up itself: some systems allow namespaces to programs
// on a list only, and bubblewrap is on it.

#include "d2k/Runner/Sandbox.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

#include <cerrno>
#include <cstdlib>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;

/// Tries in a process of its own. Between fork and exit only system calls.
static bool canMakeNamespaces() {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(::unshare(CLONE_NEWUSER) == 0 &&
                    ::unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) == 0
                ? 0
                : 1);
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && status == 0;
}

static const char *const kNamespaces[] = {"user", "mnt", "pid", "net", "ipc"};

std::vector<std::string> runner::getNamespaceIds() {
  std::vector<std::string> ids;
  for (const char *name : kNamespaces) {
    char target[64] = {};
    std::string path = "/proc/self/ns/" + std::string(name);
    if (::readlink(path.c_str(), target, sizeof(target) - 1) < 0)
      target[0] = 0;
    ids.emplace_back(target);
  }
  return ids;
}

Isolation runner::compareNamespaces(const std::vector<std::string> &outside) {
  Isolation isolation;
  isolation.method = "bubblewrap";
  std::vector<std::string> inside = getNamespaceIds();
  bool *const walls[] = {&isolation.userNamespace, &isolation.mountNamespace,
                         &isolation.processNamespace,
                         &isolation.networkNamespace, &isolation.ipcNamespace};
  for (size_t i = 0; i < inside.size(); ++i) {
    *walls[i] = i < outside.size() && !inside[i].empty() &&
                !outside[i].empty() && inside[i] != outside[i];
    // The setuid variant makes no user namespace, and needs none.
    if (!*walls[i] && i != 0)
      isolation.missing.push_back(std::string(kNamespaces[i]) +
                                  " namespace: bubblewrap made none");
  }
  return isolation;
}

std::vector<std::string>
runner::makeBubblewrapArguments(const std::string &program,
                                const SandboxConfig &config,
                                const std::string &worker) {
  std::vector<std::string> command = {program,
                                      "--unshare-user-try",
                                      "--unshare-ipc",
                                      "--unshare-pid",
                                      "--unshare-net",
                                      "--unshare-uts",
                                      "--die-with-parent",
                                      "--new-session"};
  auto add = [&](std::initializer_list<std::string> arguments) {
    command.insert(command.end(), arguments);
  };
  for (const std::string &path : getSystemPaths())
    add({"--ro-bind-try", path, path});
  add({"--proc", "/proc", "--dev", "/dev"});
  if (config.devices)
    if (Result<std::vector<std::string>> names = listDirectory("/dev"))
      for (const std::string &name : *names)
        if (name.compare(0, 6, "nvidia") == 0)
          add({"--dev-bind-try", "/dev/" + name, "/dev/" + name});
  std::string size = std::to_string(config.temporaryBytes);
  add({"--size", size, "--tmpfs", "/dev/shm", "--size", size, "--tmpfs",
       "/tmp"});
  for (const std::string &path : config.hidden)
    add({"--tmpfs", path, "--remount-ro", path});
  add({"--ro-bind", worker, worker});
  for (const std::string &path : config.readOnly)
    add({"--ro-bind-try", path, path});
  for (const std::string &path : config.writable)
    add({"--dev-bind-try", path, path});
  add({"--chdir", "/", "--"});
  return command;
}

std::vector<std::string> runner::makeConfinedCommand(const std::string &worker,
                                                     std::string_view mode,
                                                     SandboxConfig config) {
  static const bool kCanMakeNamespaces = canMakeNamespaces();
  const char *wanted = std::getenv("D2K_SANDBOX");
  bool isWanted = wanted && std::string_view(wanted) == "bubblewrap";
  std::string bubblewrap;
  if (isWanted || !kCanMakeNamespaces)
    bubblewrap = findProgram("bwrap");
  std::vector<std::string> command;
  if (!bubblewrap.empty()) {
    config.outsideNamespaces = getNamespaceIds();
    command = makeBubblewrapArguments(bubblewrap, config, worker);
  }
  command.insert(command.end(),
                 {worker, std::string(mode), "--sandbox",
                  json::dump(config.toJson(), /*pretty=*/false)});
  return command;
}
