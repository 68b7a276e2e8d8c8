// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds text for people: wrapped prose, colour, places with their source line.
// Everything that is written goes through sanitize here, so that no section can
// forget it.

#ifndef D2K_REPORT_TEXTWRITER_H
#define D2K_REPORT_TEXTWRITER_H

#include "d2k/Fact/Fact.h"
#include "d2k/Report/Report.h"
#include "d2k/Support/Terminal.h"

#include <string>
#include <string_view>
#include <vector>

namespace d2k::report {

class TextWriter {
public:
  explicit TextWriter(const TextOptions &options) : options(options) {}

  /// Appends untrusted text to the current line.
  TextWriter &add(std::string_view text, Style style = Style::Plain);
  /// Appends blanks up to \p column.
  TextWriter &pad(size_t column);
  /// Ends the current line.
  TextWriter &end();
  /// Writes prose from column \p indent, wrapped; the current line, if begun,
  /// goes on.
  TextWriter &wrap(size_t indent, std::string_view text,
                   Style style = Style::Plain);
  /// A heading with an empty line before it.
  TextWriter &heading(std::string_view text);
  /// Places with the text of their lines, one a line, the first few.
  TextWriter &places(size_t indent, const std::vector<SourceLocation> &where);

  const TextOptions &getOptions() const { return options; }
  std::string take() { return std::move(out); }

private:
  TextOptions options;
  std::string out;
  /// Column of the end of the current line.
  size_t column = 0;
};

/// "gemm.cu:58:9", "PTX line 120", without what is not known.
std::string describePlace(const SourceLocation &where);

/// "12.5": points with one decimal.
std::string formatPoints(double points);

/// "0.75": a credit with at most two decimals.
std::string formatCredit(double credit);

/// "1 kernel", "3 kernels".
std::string formatCount(size_t count, std::string_view noun);

/// \p text with its middle left out when it is longer than \p width.
std::string shorten(std::string_view text, size_t width);

} // namespace d2k::report

#endif // D2K_REPORT_TEXTWRITER_H
