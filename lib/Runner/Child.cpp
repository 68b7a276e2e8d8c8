// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts, watches and ends the oracle and the workers.

#include "d2k/Runner/Child.h"

#include "ProcessTree.h"

#include "d2k/Support/Environment.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;

using Clock = std::chrono::steady_clock;

static constexpr uint64_t kKeptOutput = 64 << 10;
/// How often memory and threads are looked at: touching fresh memory takes
/// about 0.3 s a GiB and thread, so that a limit is passed by little.
static constexpr int kWatchMilliseconds = 20;

uint64_t runner::makeRandomSeed() {
  uint64_t seed = 0;
  while (::getrandom(&seed, sizeof(seed), 0) != ssize_t(sizeof(seed))) {
  }
  return seed;
}

std::string runner::makeRandomId() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (int half = 0; half < 2; ++half)
    for (uint64_t bits = makeRandomSeed(), i = 0; i < 16; ++i, bits >>= 4)
      id += kDigits[bits & 15];
  return id;
}

struct Child::Impl {
  explicit Impl(const ChildConfig &config, int channel)
      : config(config), channel(channel) {}

  void watch();
  void drain();
  void checkLimits(ProcessTree &tree);
  /// Kills the group once, and says why.
  void kill(EndCause cause, const std::string &text);

  ChildConfig config;
  Channel channel;
  pid_t pid = -1;
  int output = -1;
  /// Wakes the watcher when it shall end.
  int wake = -1;
  std::thread watcher;

  std::mutex mutex;
  // Below: guarded by the mutex.
  std::string printed;
  uint64_t printedBytes = 0;
  ChildEnd end;
  bool reaped = false;
  std::atomic<bool> finishing = false;
};

void Child::Impl::kill(EndCause cause, const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (reaped || end.cause != EndCause::Running)
    return;
  end.cause = cause;
  end.text = text;
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
}

void Child::Impl::drain() {
  char chunk[1 << 16];
  for (;;) {
    ssize_t count = ::read(output, chunk, sizeof(chunk));
    if (count <= 0)
      return;
    bool flooded;
    {
      std::lock_guard<std::mutex> lock(mutex);
      uint64_t room =
          kKeptOutput - std::min<uint64_t>(kKeptOutput, printed.size());
      printed.append(chunk, size_t(std::min<uint64_t>(room, uint64_t(count))));
      printedBytes += uint64_t(count);
      flooded = printedBytes > config.maxOutputBytes;
    }
    if (flooded)
      return kill(EndCause::Output,
                  "printed more than " +
                      std::to_string(config.maxOutputBytes >> 20) + " MiB");
  }
}

void Child::Impl::checkLimits(ProcessTree &tree) {
  ProcessTree::Usage usage = tree.measure();
  if (usage.memoryBytes > config.maxMemoryBytes)
    kill(EndCause::Memory, "used more than " +
                               std::to_string(config.maxMemoryBytes >> 20) +
                               " MiB of host memory");
  else if (usage.threads > config.maxThreads)
    kill(EndCause::Threads, "had more than " +
                                std::to_string(config.maxThreads) +
                                " threads and processes");
}

static void describeStatus(int status, ChildEnd &end) {
  // The supervisors of the sandbox report a signal N as 128 + N.
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code > 128 && code <= 128 + SIGRTMAX) {
    end.cause = EndCause::Signalled;
    end.code = code - 128;
    end.text = "was killed by signal " + std::to_string(end.code) + " (" +
               ::strsignal(end.code) + ")";
  } else {
    end.cause = EndCause::Exited;
    end.code = code;
    end.text = "exited with code " + std::to_string(code);
  }
}

void Child::Impl::watch() {
  ProcessTree tree(pid);
  for (;;) {
    pollfd polled[2] = {{output, POLLIN, 0}, {wake, POLLIN, 0}};
    ::poll(polled, 2, kWatchMilliseconds);
    if (polled[0].revents & POLLIN)
      drain();
    else if (polled[0].revents)
      // All writers are gone: nothing to poll for but the end itself.
      ::usleep(1000);
    {
      std::lock_guard<std::mutex> lock(mutex);
      int status = 0;
      if (!reaped && ::waitpid(pid, &status, WNOHANG) == pid) {
        reaped = true;
        if (end.cause == EndCause::Running)
          describeStatus(status, end);
      }
      if (reaped)
        break;
    }
    checkLimits(tree);
  }
  drain();
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

/// The descriptor at which a child finds its end of the socket.
static constexpr int kChildChannel = 3;

Result<std::unique_ptr<Child>> Child::start(const ChildConfig &config) {
  int sockets[2];
  int pipes[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return fail(FailureKind::Environment,
                std::string("cannot make a socket: ") + std::strerror(errno));
  auto impl = std::make_unique<Impl>(config, sockets[0]);
  if (::pipe2(pipes, O_CLOEXEC) != 0) {
    ::close(sockets[1]);
    return fail(FailureKind::Environment,
                std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  std::vector<std::string> arguments = config.argv;
  arguments.push_back("--channel");
  arguments.push_back(std::to_string(kChildChannel));
  std::vector<std::string> environment = makeEnvironment(config.environment);
  std::vector<char *> argumentPointers = makePointers(arguments);
  std::vector<char *> environmentPointers = makePointers(environment);
  // Both ends above the numbers that they are moved to.
  int childSocket = ::fcntl(sockets[1], F_DUPFD_CLOEXEC, 10);
  int childOutput = ::fcntl(pipes[1], F_DUPFD_CLOEXEC, 10);
  int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_t parent = ::getpid();

  pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
      ::_exit(127); // The parent died before it could take us along.
    ::dup2(null, STDIN_FILENO);
    ::dup2(childOutput, STDOUT_FILENO);
    ::dup2(childOutput, STDERR_FILENO);
    ::dup2(childSocket, kChildChannel);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(argumentPointers[0], argumentPointers.data(),
             environmentPointers.data());
    ::_exit(127);
  }
  int error = errno;
  for (int fd : {sockets[1], pipes[1], childSocket, childOutput, null})
    ::close(fd);
  impl->output = pipes[0];
  if (pid < 0)
    return fail(FailureKind::Environment,
                "cannot start " + config.argv[0] + ": " + std::strerror(error));
  ::setpgid(pid, pid);
  impl->pid = pid;
  impl->wake = ::eventfd(0, EFD_CLOEXEC);
  ::fcntl(impl->output, F_SETFL, O_NONBLOCK);
  impl->watcher = std::thread([state = impl.get()] { state->watch(); });
  return std::unique_ptr<Child>(new Child(std::move(impl)));
}

Child::Child(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}

Child::~Child() {
  stop();
  impl->watcher.join();
  ::close(impl->output);
  ::close(impl->wake);
}

void Child::stop(EndCause cause) {
  impl->kill(cause, cause == EndCause::TimedOut ? "did not answer in time"
                                                : "was stopped by the harness");
  uint64_t one = 1;
  (void)!::write(impl->wake, &one, sizeof(one));
}

ChildEnd Child::getEnd() {
  // A closed socket is seen before the end of the process is.
  for (int i = 0; i < 200; ++i) {
    {
      std::lock_guard<std::mutex> lock(impl->mutex);
      if (impl->end.cause != EndCause::Running)
        return impl->end;
    }
    pollfd polled = {impl->channel.getDescriptor(), POLLIN, 0};
    if (::poll(&polled, 1, 0) == 0 || !(polled.revents & POLLHUP))
      return {};
    ::usleep(5000);
  }
  return {};
}

std::string Child::getOutput() {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return impl->printed;
}

int Child::getProcessId() const { return impl->pid; }

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

static FailureKind parseKind(const std::string &kind) {
  if (kind == "environment")
    return FailureKind::Environment;
  if (kind == "input")
    return FailureKind::Input;
  if (kind == "finding")
    return FailureKind::Finding;
  return FailureKind::Internal;
}

Reply Child::request(std::string_view operation, json::Object arguments,
                     std::chrono::milliseconds timeout) {
  Reply reply;
  auto cheat = [&](const std::string &text) {
    impl->kill(EndCause::Protocol, text);
    return reply;
  };
  if (impl->channel.hasInput())
    return cheat("sent a message that nobody asked for");
  std::string id = makeRandomId();
  arguments.set("op", std::string(operation));
  arguments.set("id", id);
  Clock::time_point start = Clock::now();
  if (!impl->channel.send(std::move(arguments), timeout)) {
    if (isRunning())
      stop(EndCause::TimedOut);
    return reply;
  }
  Received received = impl->channel.receive(timeout);
  reply.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  switch (received.status) {
  case Received::Status::Closed:
    if (isRunning())
      return cheat("closed its channel and went on running");
    return reply;
  case Received::Status::TimedOut:
    stop(EndCause::TimedOut);
    return reply;
  case Received::Status::Malformed:
    return cheat("sent what is no reply: " + received.problem);
  case Received::Status::Message:
    break;
  }
  json::Cursor cursor(received.value, "reply");
  Result<std::string> echoed = cursor.getString("id");
  Result<bool> ok = cursor.getBoolean("ok");
  if (!echoed || *echoed != id || !ok)
    return cheat("sent a message that is no reply to what was asked");
  if (!*ok) {
    reply.status = Reply::Status::Refused;
    reply.kind = parseKind(cursor.getString("kind").value_or(""));
    reply.message = cursor.getString("message").value_or("no reason given");
    return reply;
  }
  reply.status = Reply::Status::Ok;
  reply.value = std::move(received.value);
  return reply;
}
