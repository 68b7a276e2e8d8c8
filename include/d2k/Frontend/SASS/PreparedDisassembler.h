// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An nvdisasm that is started before there is anything to disassemble. It makes
// tables for 0.4 s, whatever it is given, and then opens its input once more; a
// compiler can run in that time.

#ifndef D2K_FRONTEND_SASS_PREPAREDDISASSEMBLER_H
#define D2K_FRONTEND_SASS_PREPAREDDISASSEMBLER_H

#include "d2k/Frontend/SASS/Module.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

#include <future>
#include <memory>

namespace d2k::sass {

/// nvdisasm (13.2) reads its file twice: to tell what it is, and, when its
/// tables are made, to print it. Between the two, a lease on the file
/// (fcntl(2), F_SETLEASE) makes the second open wait until the code is there.
/// The kernel takes a lease away 45 s after that
/// (/proc/sys/fs/lease-break-time), some file systems have none, and another
/// version may read once: then finish() returns nothing, and all that is lost
/// is the time of a processor.
class PreparedDisassembler {
public:
  /// Starts nvdisasm for code of \p target. Null when there is none or when
  /// files cannot be leased here.
  static std::unique_ptr<PreparedDisassembler> start(const Target &target);

  /// Waits for the end of the program, without a result.
  ~PreparedDisassembler();

  const Target &getTarget() const { return target; }

  /// What `nvdisasm -json` prints of the raw \p code; its seconds are those
  /// from here on. Nothing when the program failed or did not wait for the
  /// code: the caller runs another one then. To be called once.
  std::optional<CommandResult> finish(std::string_view code);

private:
  PreparedDisassembler(const Target &target, TemporaryDirectory folder);
  bool openFile();
  /// Takes the lease when the program has read its file for the first time.
  bool waitForFirstReading();
  bool lease();
  /// Gives the lease back; false when it was lost before.
  bool release();
  /// How often the file was closed since the last call.
  unsigned takeReadings();

  Target target;
  TemporaryDirectory folder;
  std::string path;
  /// The file and what tells that it was closed.
  int file = -1, watch = -1;
  std::future<Result<CommandResult>> running;
  std::future<bool> waiting;
};

/// `nvdisasm -json` on the raw code for \p target in the file \p path.
Command makeDisassembleCommand(const std::string &program, const Target &target,
                               const std::string &path);

} // namespace d2k::sass

#endif // D2K_FRONTEND_SASS_PREPAREDDISASSEMBLER_H
