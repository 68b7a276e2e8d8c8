// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of d2k-analyze, checked and turned into values.

#ifndef D2K_TOOLS_D2K_ANALYZE_OPTIONS_H
#define D2K_TOOLS_D2K_ANALYZE_OPTIONS_H

#include "d2k/Driver/Analyze.h"
#include "d2k/Support/Terminal.h"

#include <optional>
#include <string>
#include <vector>

namespace d2k {

enum class OutputFormat { Text, Json, Mlir };

/// What the command line asks for.
struct AnalyzeOptions {
  enum class Mode { Analyze, Lint, ListProperties, Help, Version };
  Mode mode = Mode::Analyze;
  AnalyzeRequest request;
  std::optional<std::string> task, rubric, baseline, output, explain;
  OutputFormat format = OutputFormat::Text;
  /// "text", "json" or "markdown".
  std::string listFormat = "text";
  bool facts = false;
  std::optional<double> failUnder;
  ColorMode color = ColorMode::Auto;
};

/// Parses the arguments behind the program's name. Fails with kind Usage.
Result<AnalyzeOptions> parseOptions(int argc, const char *const *argv);

/// The text of --help.
std::string getHelp();

} // namespace d2k

#endif // D2K_TOOLS_D2K_ANALYZE_OPTIONS_H
