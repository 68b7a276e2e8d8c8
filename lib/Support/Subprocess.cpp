// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork and exec with pipes. posix_spawn would be shorter but can set neither
// limits nor a working directory. Between fork and exec only async-signal-safe
// functions run: everything that allocates is prepared before.

#include "d2k/Support/Subprocess.h"

#include "d2k/Support/Environment.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace d2k;

using Clock = std::chrono::steady_clock;

namespace {

/// An owned descriptor.
class Handle {
public:
  Handle() = default;
  explicit Handle(int fd) : fd(fd) {}
  Handle(Handle &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Handle() { reset(); }
  void reset() {
    if (fd >= 0)
      ::close(std::exchange(fd, -1));
  }
  int get() const { return fd; }
  bool isOpen() const { return fd >= 0; }

private:
  int fd = -1;
};

struct Pipe {
  Handle read, write;

  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return false;
    read = Handle(ends[0]);
    write = Handle(ends[1]);
    return true;
  }
};

/// Keeps SIGPIPE from this thread while a program may close its input early.
class SigpipeGuard {
public:
  SigpipeGuard() {
    sigemptyset(&pipeSet);
    sigaddset(&pipeSet, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipeSet, &oldMask);
  }
  ~SigpipeGuard() {
    // Takes the signal that a failed write left pending, unless it was blocked
    // before already and so is not ours to take.
    if (!sigismember(&oldMask, SIGPIPE)) {
      timespec now = {};
      while (sigtimedwait(&pipeSet, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &oldMask, nullptr);
  }
  const sigset_t &getOldMask() const { return oldMask; }

private:
  sigset_t pipeSet, oldMask;
};

/// What the child needs, ready before the fork.
struct ChildSetup {
  const char *program;
  char *const *argv;
  char *const *envp;
  const char *directory;
  int input, output, error, report;
  sigset_t mask;
  std::optional<uint64_t> memory, cpu, file;
};

/// A descriptive stage for the error report of the child.
enum class Stage : int { Directory, Limits, Exec };

struct ChildReport {
  Stage stage;
  int error;
};

} // namespace

[[noreturn]] static void reportAndExit(const ChildSetup &setup, Stage stage) {
  ChildReport report = {stage, errno};
  ssize_t ignored = ::write(setup.report, &report, sizeof(report));
  (void)ignored;
  ::_exit(127);
}

static void setLimit(const ChildSetup &setup, int resource,
                     const std::optional<uint64_t> &value) {
  if (!value)
    return;
  rlimit limit = {rlim_t(*value), rlim_t(*value)};
  if (::setrlimit(__rlimit_resource_t(resource), &limit) != 0)
    reportAndExit(setup, Stage::Limits);
}

[[noreturn]] static void runChild(const ChildSetup &setup) {
  ::setpgid(0, 0);
  ::dup2(setup.input, STDIN_FILENO);
  ::dup2(setup.output, STDOUT_FILENO);
  ::dup2(setup.error, STDERR_FILENO);
  if (setup.directory && ::chdir(setup.directory) != 0)
    reportAndExit(setup, Stage::Directory);
  setLimit(setup, RLIMIT_AS, setup.memory);
  setLimit(setup, RLIMIT_CPU, setup.cpu);
  setLimit(setup, RLIMIT_FSIZE, setup.file);
  rlimit noCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &noCore);
  ::signal(SIGPIPE, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &setup.mask, nullptr);
  ::execve(setup.program, setup.argv, setup.envp);
  reportAndExit(setup, Stage::Exec);
}

std::string d2k::findProgram(const std::string &name) {
  if (name.empty())
    return {};
  auto isExecutable = [](const std::string &path) {
    return ::access(path.c_str(), X_OK) == 0 &&
           ::access((path + "/.").c_str(), F_OK) != 0;
  };
  if (name.find('/') != std::string::npos)
    return isExecutable(name) ? name : std::string();
  const char *variable = std::getenv("PATH");
  std::string_view path = variable ? variable : "/usr/bin:/bin";
  while (!path.empty()) {
    size_t end = std::min(path.find(':'), path.size());
    std::string candidate(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    if (candidate.empty())
      candidate = ".";
    candidate += "/" + name;
    if (isExecutable(candidate))
      return candidate;
  }
  return {};
}

std::string CommandResult::describeEnd() const {
  if (timedOut)
    return "no end within " + std::to_string(int64_t(seconds)) + " s";
  if (exitCode)
    return "exit code " + std::to_string(*exitCode);
  return "signal " + std::to_string(signal.value_or(0)) + " (" +
         ::strsignal(signal.value_or(0)) + ")";
}

/// Reads what is there; closes the handle at the end of the stream.
static void drain(Handle &from, std::string &into, uint64_t limit,
                  bool &truncated) {
  char buffer[1 << 16];
  ssize_t count = ::read(from.get(), buffer, sizeof(buffer));
  if (count < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (count <= 0) {
    from.reset();
    return;
  }
  uint64_t room = limit - std::min<uint64_t>(limit, into.size());
  uint64_t kept = std::min<uint64_t>(room, uint64_t(count));
  into.append(buffer, size_t(kept));
  truncated |= kept != uint64_t(count);
}

static tl::unexpected<Failure> failStart(const std::string &program,
                                         const std::string &what, int error) {
  return fail(FailureKind::Environment,
              program + ": cannot " + what + ": " + std::strerror(error));
}

/// Waits for and kills the child \p pid, feeding and draining its pipes.
static void superviseChild(const Command &command, pid_t pid, Handle input,
                           Handle output, Handle error, CommandResult &result) {
  Clock::time_point start = Clock::now();
  Clock::time_point deadline = start + command.timeout;
  std::string_view pending = command.input;
  if (pending.empty())
    input.reset();
  bool terminated = false;
  bool killed = false;
  bool ended = false;
  int status = 0;
  Clock::time_point killAt;
  Clock::time_point drainUntil;

  while (!ended || output.isOpen() || error.isOpen()) {
    Clock::time_point now = Clock::now();
    // A grandchild that inherited the pipes may outlive the program: what is
    // in the pipes is still read, but not waited for.
    if (ended && now >= drainUntil)
      break;
    if (!ended && !terminated && now >= deadline) {
      result.timedOut = true;
      terminated = true;
      killAt = now + command.killGrace;
      ::kill(-pid, SIGTERM);
    }
    if (!ended && terminated && !killed && now >= killAt) {
      killed = true;
      ::kill(-pid, SIGKILL);
    }

    pollfd polled[3] = {{output.get(), POLLIN, 0},
                        {error.get(), POLLIN, 0},
                        {input.get(), POLLOUT, 0}};
    // The end of the process shows as the end of its pipes, so that the wait
    // is short only when there is nothing to poll for.
    bool hasPipes = output.isOpen() || error.isOpen();
    int ready = ::poll(polled, 3, ended || !hasPipes ? 5 : 50);
    if (ready > 0) {
      if (polled[0].revents)
        drain(output, result.output, command.maxOutputBytes, result.truncated);
      if (polled[1].revents)
        drain(error, result.error, command.maxOutputBytes, result.truncated);
      if (polled[2].revents) {
        ssize_t count = ::write(input.get(), pending.data(), pending.size());
        if (count > 0)
          pending.remove_prefix(size_t(count));
        if (pending.empty() || (count < 0 && errno != EINTR && errno != EAGAIN))
          input.reset();
      }
    }
    // WNOWAIT leaves the process unreaped, so that its group cannot be taken
    // by another one before it is killed below.
    siginfo_t info = {};
    if (!ended &&
        ::waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid) {
      ended = true;
      drainUntil = Clock::now() + std::chrono::milliseconds(100);
      ::kill(-pid, SIGKILL);
    }
  }
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (WIFEXITED(status) && !result.timedOut)
    result.exitCode = WEXITSTATUS(status);
  else
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGTERM;
}

Result<CommandResult> d2k::runCommand(const Command &command) {
  if (command.argv.empty())
    return fail(FailureKind::Internal, "cannot run an empty command");
  std::string program = findProgram(command.argv.front());
  if (program.empty())
    return fail(FailureKind::Environment,
                command.argv.front() + ": no such program" +
                    (command.argv.front().find('/') == std::string::npos
                         ? " in PATH"
                         : " that may be executed"));
  // A relative program is meant relative to our directory, not the child's.
  if (!command.directory.empty() && program.front() != '/')
    if (char *absolute = ::realpath(program.c_str(), nullptr)) {
      program = absolute;
      ::free(absolute);
    }

  Pipe input, output, error, report;
  Handle nothing;
  bool opened = output.open() && error.open() && report.open();
  if (command.input.empty()) {
    nothing = Handle(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    opened &= nothing.isOpen();
  } else {
    opened &= input.open();
  }
  if (!opened)
    return failStart(program, "make its pipes", errno);

  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> environment =
      makeEnvironment(command.environment, command.clearEnvironment);
  std::vector<char *> argumentPointers = makePointers(arguments);
  std::vector<char *> environmentPointers = makePointers(environment);
  SigpipeGuard guard;
  ChildSetup setup = {
      program.c_str(),
      argumentPointers.data(),
      environmentPointers.data(),
      command.directory.empty() ? nullptr : command.directory.c_str(),
      command.input.empty() ? nothing.get() : input.read.get(),
      output.write.get(),
      error.write.get(),
      report.write.get(),
      guard.getOldMask(),
      command.maxMemoryBytes,
      command.maxCpuSeconds,
      command.maxFileBytes,
  };
  pid_t pid = ::fork();
  if (pid < 0)
    return failStart(program, "start it", errno);
  if (pid == 0)
    runChild(setup);
  // Both sides set the group: whoever comes first, it is set before a kill.
  ::setpgid(pid, pid);
  input.read.reset();
  output.write.reset();
  error.write.reset();
  report.write.reset();

  // The report pipe closes when exec succeeds.
  ChildReport childReport;
  ssize_t count;
  do
    count = ::read(report.read.get(), &childReport, sizeof(childReport));
  while (count < 0 && errno == EINTR);
  if (count == ssize_t(sizeof(childReport))) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    switch (childReport.stage) {
    case Stage::Directory:
      return failStart(command.directory, "change to the directory",
                       childReport.error);
    case Stage::Limits:
      return failStart(program, "set its limits", childReport.error);
    case Stage::Exec:
      return failStart(program, "execute it", childReport.error);
    }
  }

  if (input.write.isOpen())
    ::fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
  CommandResult result;
  superviseChild(command, pid, std::move(input.write), std::move(output.read),
                 std::move(error.read), result);
  return result;
}
