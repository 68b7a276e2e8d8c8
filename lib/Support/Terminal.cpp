// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// UTF-8 decoding, escaping and colour for terminal output.

#include "d2k/Support/Terminal.h"

#include <cassert>
#include <cstdlib>

#include <unistd.h>

using namespace d2k;

static constexpr uint32_t kReplacement = 0xfffd;

uint32_t d2k::decodeUtf8(std::string_view &text) {
  assert(!text.empty() && "nothing to decode");
  auto byte = [&](size_t i) { return uint32_t(uint8_t(text[i])); };
  uint32_t lead = byte(0);
  unsigned length = lead < 0x80             ? 1
                    : (lead & 0xe0) == 0xc0 ? 2
                    : (lead & 0xf0) == 0xe0 ? 3
                    : (lead & 0xf8) == 0xf0 ? 4
                                            : 0;
  // The least code point that needs so many bytes: shorter ones are overlong.
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t point = length == 1   ? lead
                   : length == 0 ? 0
                                 : lead & (0x7fu >> length);
  bool valid = length != 0 && length <= text.size();
  for (unsigned i = 1; valid && i < length; ++i) {
    valid = (byte(i) & 0xc0) == 0x80;
    point = point << 6 | (byte(i) & 0x3f);
  }
  if (!valid || point < kLeast[length] || point > 0x10ffff ||
      (point >= 0xd800 && point <= 0xdfff)) {
    text.remove_prefix(1);
    return kReplacement;
  }
  text.remove_prefix(length);
  return point;
}

/// Whether \p point could hide, reorder or restyle its surroundings. Ranges are
/// from Unicode: Cc, Bidi_Control, zero-width and other format characters,
/// line and paragraph separators, tags, and variation selectors.
static bool isDeceptive(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0xad ||
         point == 0x61c || point == 0x180e ||
         (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2060 && point <= 0x206f) ||
         (point >= 0xfe00 && point <= 0xfe0f) || point == 0xfeff ||
         (point >= 0xfff9 && point <= 0xfffb) ||
         (point >= 0xe0000 && point <= 0xe0fff);
}

static void appendEscape(std::string &out, char letter, unsigned digits,
                         uint32_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '\\';
  out += letter;
  while (digits-- > 0)
    out += kDigits[(value >> (4 * digits)) & 15];
}

static std::string sanitizeImpl(std::string_view text, bool keepLines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::string_view rest = text;
    uint32_t point = decodeUtf8(rest);
    std::string_view bytes = text.substr(0, text.size() - rest.size());
    text = rest;
    if (point == '\n' && keepLines)
      out += '\n';
    else if (point == '\t')
      out += ' ';
    else if (point == kReplacement && bytes.size() == 1)
      appendEscape(out, 'x', 2, uint8_t(bytes[0]));
    else if (!isDeceptive(point))
      out += bytes;
    else if (point < 0x100)
      appendEscape(out, 'x', 2, point);
    else if (point < 0x10000)
      appendEscape(out, 'u', 4, point);
    else
      appendEscape(out, 'U', 8, point);
  }
  return out;
}

std::string d2k::sanitize(std::string_view text) {
  return sanitizeImpl(text, /*keepLines=*/false);
}

std::string d2k::sanitizeLines(std::string_view text) {
  return sanitizeImpl(text, /*keepLines=*/true);
}

size_t d2k::displayWidth(std::string_view text) {
  size_t width = 0;
  for (; !text.empty(); ++width)
    decodeUtf8(text);
  return width;
}

bool d2k::useColor(ColorMode mode, int fd) {
  if (mode != ColorMode::Auto)
    return mode == ColorMode::Always;
  const char *noColor = std::getenv("NO_COLOR");
  if (noColor && *noColor)
    return false;
  const char *term = std::getenv("TERM");
  if (!term || std::string_view(term) == "dumb")
    return false;
  return ::isatty(fd) == 1;
}

std::string d2k::paint(std::string_view text, Style style, bool color) {
  static constexpr const char *kCodes[] = {"",   "1",  "2", "31",
                                           "32", "33", "36"};
  if (!color || style == Style::Plain || text.empty())
    return std::string(text);
  std::string out = "\033[";
  out += kCodes[static_cast<size_t>(style)];
  out += 'm';
  out += text;
  return out += "\033[0m";
}
