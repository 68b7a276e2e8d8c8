// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Frontend/SASS/PreparedDisassembler.h"

#include "d2k/Support/CudaTools.h"

#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::sass;

/// In the file until the code comes. No code is as short: functions are padded
/// to 128 bytes.
static constexpr std::string_view kPlaceholder("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                                               16);

/// The first reading comes some milliseconds after the start.
static constexpr std::chrono::seconds kStartLimit(5);

Command sass::makeDisassembleCommand(const std::string &program,
                                     const Target &target,
                                     const std::string &path) {
  Command command;
  // "sm_90a" is "SM90a" here.
  command.argv = {program, "--binary", "SM" + target.getName().substr(3),
                  "-json", path};
  command.maxOutputBytes = uint64_t(2) << 30;
  return command;
}

PreparedDisassembler::PreparedDisassembler(const Target &target,
                                           TemporaryDirectory folder)
    : target(target), folder(std::move(folder)),
      path(joinPath(this->folder.getPath(), "code.bin")) {}

/// Opens the file with the placeholder. False when there are no leases here.
bool PreparedDisassembler::openFile() {
  if (!writeFile(path, kPlaceholder))
    return false;
  file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  watch = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (file < 0 || watch < 0 ||
      ::inotify_add_watch(watch, folder.getPath().c_str(), IN_CLOSE_NOWRITE) <
          0)
    return false;
  return lease() && release();
}

bool PreparedDisassembler::lease() {
  // Who opens a leased file makes the kernel send its owner a signal, by
  // default SIGIO, which would end this process. SIGURG is ignored unless
  // somebody handles it. The choice lasts as long as one lease.
  return ::fcntl(file, F_SETSIG, SIGURG) == 0 &&
         ::fcntl(file, F_SETLEASE, F_WRLCK) == 0;
}

bool PreparedDisassembler::release() {
  return ::fcntl(file, F_SETLEASE, F_UNLCK) == 0;
}

unsigned PreparedDisassembler::takeReadings() {
  // Events of a folder carry a name.
  alignas(inotify_event) char buffer[16 * (sizeof(inotify_event) + NAME_MAX)];
  unsigned count = 0;
  ssize_t size;
  while ((size = ::read(watch, buffer, sizeof(buffer))) > 0)
    for (ssize_t at = 0; at < size; ++count)
      at += ssize_t(sizeof(inotify_event) +
                    reinterpret_cast<inotify_event *>(buffer + at)->len);
  return count;
}

bool PreparedDisassembler::waitForFirstReading() {
  auto end = std::chrono::steady_clock::now() + kStartLimit;
  pollfd polled = {watch, POLLIN, 0};
  // There is one file in the folder, so that the first event is that of its
  // close.
  while (::poll(&polled, 1, 10) == 0)
    if (std::chrono::steady_clock::now() > end ||
        running.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      return false;
  // The descriptor may still be on its way out of the other process.
  while (!lease()) {
    if (errno != EAGAIN || std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::unique_ptr<PreparedDisassembler>
PreparedDisassembler::start(const Target &target) {
  Result<std::string> program = findCudaTool(CudaTool::Nvdisasm);
  if (!program)
    return nullptr;
  Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  if (!folder)
    return nullptr;
  std::unique_ptr<PreparedDisassembler> result(
      new PreparedDisassembler(target, std::move(*folder)));
  if (!result->openFile())
    return nullptr;
  Command command = makeDisassembleCommand(*program, target, result->path);
  result->running =
      std::async(std::launch::async, [command] { return runCommand(command); });
  result->waiting = std::async(std::launch::async, [prepared = result.get()] {
    return prepared->waitForFirstReading();
  });
  return result;
}

std::optional<CommandResult>
PreparedDisassembler::finish(std::string_view code) {
  if (!waiting.valid() || !waiting.get())
    return std::nullopt;
  // The program waits, or is busy with its tables, as long as the lease is
  // ours.
  auto start = std::chrono::steady_clock::now();
  takeReadings();
  bool written =
      ::ftruncate(file, 0) == 0 &&
      ::pwrite(file, code.data(), code.size(), 0) == ssize_t(code.size());
  if (!release() || !written)
    return std::nullopt;
  Result<CommandResult> result = running.get();
  if (!result || !result->succeeded() || takeReadings() == 0)
    return std::nullopt;
  result->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return std::move(*result);
}

PreparedDisassembler::~PreparedDisassembler() {
  if (waiting.valid())
    waiting.wait();
  // Closing the file ends the lease, too.
  if (file >= 0)
    ::close(file);
  if (running.valid())
    running.wait();
  if (watch >= 0)
    ::close(watch);
}
