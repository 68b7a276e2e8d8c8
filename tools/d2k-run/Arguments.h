// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a subcommand of d2k-run: --name, --name VALUE or --name=VALUE,
// anywhere among the other arguments; -- ends them.

#ifndef D2K_TOOLS_D2K_RUN_ARGUMENTS_H
#define D2K_TOOLS_D2K_RUN_ARGUMENTS_H

#include "d2k/Support/Failure.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::run {

/// An option that a command has.
struct Option {
  /// Without the dashes.
  std::string_view name;
  /// What stands for its value in the help; empty: it has none.
  std::string_view value;
  std::string_view help;
};

class Arguments {
public:
  /// Fails with kind Usage on an unknown option, and on one without its value
  /// or with a value that it does not take.
  static Result<Arguments> parse(const std::vector<std::string> &arguments,
                                 const std::vector<Option> &options);

  bool has(std::string_view name) const {
    return values.find(name) != values.end();
  }
  /// The value that was given last.
  std::optional<std::string> get(std::string_view name) const;
  /// All values, in order.
  std::vector<std::string> getAll(std::string_view name) const;
  /// The value as a number, or nothing when it was not given. Fails when it
  /// is none or below \p least.
  Result<std::optional<double>> getNumber(std::string_view name,
                                          double least) const;

  /// What is no option.
  const std::vector<std::string> &getPositional() const { return positional; }

private:
  std::map<std::string, std::vector<std::string>, std::less<>> values;
  std::vector<std::string> positional;
};

} // namespace d2k::run

#endif // D2K_TOOLS_D2K_RUN_ARGUMENTS_H
