// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walls around untrusted code, put up by a process around itself before it
// loads any: namespaces, a file system in which only libraries and devices can
// be seen, limits, and a filter of system calls. What could be had is reported
// and recorded with every result; docs/ThreatModel.md says what each wall
// stops.

#ifndef D2K_RUNNER_SANDBOX_H
#define D2K_RUNNER_SANDBOX_H

#include "d2k/Support/Json.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::runner {

/// What a confined process may see and use.
struct SandboxConfig {
  /// Folders and files outside /usr, /lib* and /opt that can be read.
  std::vector<std::string> readOnly;
  /// Folders and files that can be written: the work folder, device nodes
  /// beyond /dev/nvidia*.
  std::vector<std::string> writable;
  /// Folders that must not be seen although they are below a visible one.
  std::vector<std::string> hidden;
  /// Whether /dev/nvidia* can be used.
  bool devices = true;
  /// Size of the private /tmp and /dev/shm each.
  uint64_t temporaryBytes = uint64_t(1) << 30;
  /// Largest file that it can write.
  uint64_t maxFileBytes = uint64_t(1) << 30;
  /// Open descriptors.
  uint64_t maxDescriptors = 4096;
  /// Address space of a program that is executed inside; not of a worker,
  /// whose CUDA context reserves terabytes.
  uint64_t maxProgramBytes = uint64_t(32) << 30;

  /// Not empty: bubblewrap has put up the walls, and these were the namespaces
  /// outside (getNamespaceIds).
  std::vector<std::string> outsideNamespaces;

  json::Value toJson() const;
  static Result<SandboxConfig> fromJson(const json::Cursor &cursor);
};

/// Which walls stand.
struct Isolation {
  /// "namespaces", "bubblewrap" or "none".
  std::string method = "none";
  bool userNamespace = false;
  bool mountNamespace = false;
  bool processNamespace = false;
  bool networkNamespace = false;
  bool ipcNamespace = false;
  /// The filter of system calls was accepted by the kernel.
  bool systemCallFilter = false;
  /// Why a wall is missing; empty when all stand.
  std::vector<std::string> missing;

  /// Whether code inside can neither see the harness's files and processes nor
  /// reach a network.
  bool isComplete() const {
    return mountNamespace && processNamespace && networkNamespace &&
           systemCallFilter;
  }
  json::Value toJson() const;
  static Result<Isolation> fromJson(const json::Cursor &cursor);
};

/// The command that runs `d2k-worker MODE --sandbox JSON`, to which the caller
/// appends what else the mode needs. The process makes its own namespaces;
/// where it cannot, and where D2K_SANDBOX is "bubblewrap", the command is one
/// of bubblewrap, if that is installed.
std::vector<std::string> makeConfinedCommand(const std::string &worker,
                                             std::string_view mode,
                                             SandboxConfig config);

/// \p program, a bubblewrap, with all arguments up to the command.
std::vector<std::string> makeBubblewrapArguments(const std::string &program,
                                                 const SandboxConfig &config,
                                                 const std::string &worker);

/// The namespaces of this process, as "net:[4026531833]": user, mount, process,
/// network, IPC.
std::vector<std::string> getNamespaceIds();
/// Which walls stand between here and \p outside.
Isolation compareNamespaces(const std::vector<std::string> &outside);

/// Folders and files of the system that a confined process can read.
const std::vector<std::string> &getSystemPaths();

/// Confines the calling process, which must have one thread. Afterwards it
/// runs as a child of two supervisors that only wait: the first keeps the
/// process id that the caller of the program knows, the second is process 1 of
/// the new namespace. Both end as the confined process does; with a signal N
/// as exit code 128 + N. Returns in the confined process only. A wall that the
/// kernel refuses is left out and named in the report.
Isolation enterSandbox(const SandboxConfig &config);

/// Installs the filter of system calls on all threads: no new processes, no
/// sockets but local ones, no tracing, no mounts, no kernel interfaces. A
/// process that makes a forbidden call is killed with SIGSYS. \p isolation
/// receives whether it stands.
void forbidSystemCalls(Isolation &isolation);

/// Makes the calling process, and what it starts, die with its parent, and
/// keeps other processes of the same user from reading its memory.
void dieWithParent();
/// Replaces this process, which is in the sandbox, by a program; \p argv ends
/// in a null pointer. Returns only when that fails, with the reason in errno.
void executeInSandbox(const SandboxConfig &config, char **argv);
void forbidInspection();

} // namespace d2k::runner

#endif // D2K_RUNNER_SANDBOX_H
