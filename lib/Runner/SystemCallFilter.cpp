// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The filter of system calls (seccomp) of a process that is about to load a
// submission. It is a list of what is forbidden, because the CUDA driver's own
// needs are not documented; every file and device that can be opened at all is
// decided by the mount namespace.

#include "d2k/Runner/Sandbox.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;

#if defined(__x86_64__)
static constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the system call filter knows x86-64 and AArch64 only"
#endif

/// Calls that no kernel author needs.
static constexpr int kForbidden[] = {
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_getfd,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_mount_setattr,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_open_by_handle_at,
};

/// Calls that libraries try and do without.
static constexpr int kRefused[] = {SYS_io_uring_setup, SYS_io_uring_enter,
                                   SYS_io_uring_register};

static sock_filter makeStatement(uint16_t code, uint32_t k) {
  return {code, 0, 0, k};
}

static sock_filter makeJump(uint16_t code, uint32_t k, uint8_t ifTrue,
                            uint8_t ifFalse) {
  return {code, ifTrue, ifFalse, k};
}

static std::vector<sock_filter> makeProgram() {
  constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr uint16_t kEqual = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr uint16_t kReturn = BPF_RET | BPF_K;
  const sock_filter kill = makeStatement(kReturn, SECCOMP_RET_KILL_PROCESS);
  const sock_filter allow = makeStatement(kReturn, SECCOMP_RET_ALLOW);
  auto refuse = [](int error) {
    return makeStatement(BPF_RET | BPF_K,
                         SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA));
  };
  // Low half of the first argument on a little-endian machine.
  constexpr uint32_t kFirstArgument = offsetof(seccomp_data, args);

  std::vector<sock_filter> program;
  auto add = [&](std::initializer_list<sock_filter> statements) {
    program.insert(program.end(), statements);
  };
  add({makeStatement(kLoad, offsetof(seccomp_data, arch)),
       makeJump(kEqual, kArchitecture, 1, 0), kill,
       makeStatement(kLoad, offsetof(seccomp_data, nr))});
#if defined(__x86_64__)
  // The x32 numbering would name the same calls by other numbers.
  add({makeJump(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1), kill});
#endif
  for (int number : kForbidden)
    add({makeJump(kEqual, uint32_t(number), 0, 1), kill});
  for (int number : kRefused)
    add({makeJump(kEqual, uint32_t(number), 0, 1), refuse(EPERM)});
  // The arguments of clone3 are in memory, which a filter cannot see; the C
  // library then uses clone, which must make threads.
  add({makeJump(kEqual, SYS_clone3, 0, 1), refuse(ENOSYS)});
  add({makeJump(kEqual, SYS_clone, 0, 4), makeStatement(kLoad, kFirstArgument),
       makeJump(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1), allow, kill});
  // Local sockets reach nobody from here. Libraries ask for netlink sockets
  // and do without; all others are a network.
  add({makeJump(kEqual, SYS_socket, 0, 6), makeStatement(kLoad, kFirstArgument),
       makeJump(kEqual, AF_UNIX, 0, 1), allow,
       makeJump(kEqual, AF_NETLINK, 0, 1), refuse(EAFNOSUPPORT), kill});
  add({allow});
  return program;
}

void runner::forbidSystemCalls(Isolation &isolation) {
  std::vector<sock_filter> program = makeProgram();
  sock_fprog description = {static_cast<unsigned short>(program.size()),
                            program.data()};
  // Needed by an unprivileged process, and set already by enterSandbox.
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  long failedThread = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                SECCOMP_FILTER_FLAG_TSYNC, &description);
  isolation.systemCallFilter = failedThread == 0;
  if (!isolation.systemCallFilter)
    isolation.missing.push_back(
        std::string("system call filter: ") +
        (failedThread > 0 ? "a thread has another one" : std::strerror(errno)));
}
