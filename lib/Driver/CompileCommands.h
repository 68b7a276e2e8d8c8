// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a project compiles its sources: compile_commands.json (Clang's "JSON
// Compilation Database Format Specification") and files of options. From a
// command, what decides the meaning of the source is kept; the target and the
// outputs are ours.

#ifndef D2K_LIB_DRIVER_COMPILECOMMANDS_H
#define D2K_LIB_DRIVER_COMPILECOMMANDS_H

#include "d2k/Support/Failure.h"

#include <map>
#include <string>
#include <vector>

namespace d2k {

/// \p flags with the contents of files that `--options-file`, `-optf` and
/// `@FILE` name in their place. Relative paths of those files start at
/// \p directory. Fails with kind Input when one cannot be read.
Result<std::vector<std::string>>
expandOptionFiles(const std::vector<std::string> &flags,
                  const std::string &directory);

class CompileCommands {
public:
  /// Reads compile_commands.json in the folder \p path, or the file \p path.
  /// Fails with kind Input when it cannot be read or is no such file.
  static Result<CompileCommands> load(const std::string &path);

  /// The flags for \p source, with absolute include folders; those of its first
  /// command when there are several. Fails with kind Input when it has none.
  Result<std::vector<std::string>> getFlags(const std::string &source) const;

private:
  std::string path;
  /// By the real path of the source.
  std::map<std::string, std::vector<std::string>> flags;
};

} // namespace d2k

#endif // D2K_LIB_DRIVER_COMPILECOMMANDS_H
