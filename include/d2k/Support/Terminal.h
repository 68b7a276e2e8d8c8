// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text for terminals. Names, paths, source lines and compiler output are
// untrusted: an escape sequence in a kernel's name must not move the cursor,
// and a bidirectional override must not make a line read as another one.

#ifndef D2K_SUPPORT_TERMINAL_H
#define D2K_SUPPORT_TERMINAL_H

#include <cstdint>
#include <string>
#include <string_view>

namespace d2k {

/// Decodes the first code point of the non-empty \p text and removes it from
/// there. An ill-formed sequence gives U+FFFD and removes one byte.
uint32_t decodeUtf8(std::string_view &text);

/// \p text with everything escaped that is not plain printable text: control
/// characters (also C1 and DEL), bidirectional controls, invisible characters
/// and line separators as `\x1b` or `\u202e`, ill-formed UTF-8 byte by byte.
/// Other characters beyond ASCII stay. Tabs become a blank.
std::string sanitize(std::string_view text);

/// The same for text of several lines: line feeds stay.
std::string sanitizeLines(std::string_view text);

/// Number of terminal columns of sanitised text, counting a code point as one.
size_t displayWidth(std::string_view text);

/// When output is coloured.
enum class ColorMode : uint8_t { Auto, Always, Never };

/// Whether to colour what is written to the descriptor \p fd. Auto: it is a
/// terminal, NO_COLOR is unset or empty (no-color.org), and TERM is not "dumb".
bool useColor(ColorMode mode, int fd);

/// The few styles that reports use.
enum class Style : uint8_t { Plain, Bold, Dim, Red, Green, Yellow, Cyan };

/// \p text in \p style when \p color, else unchanged. \p text must be
/// sanitised.
std::string paint(std::string_view text, Style style, bool color);

} // namespace d2k

#endif // D2K_SUPPORT_TERMINAL_H
