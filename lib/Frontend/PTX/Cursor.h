// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lexer: a position in the text that the parser moves over characters,
// identifiers, mnemonics, numbers and strings. PTX needs no token buffer: one
// character says what comes next.

#ifndef D2K_LIB_FRONTEND_PTX_CURSOR_H
#define D2K_LIB_FRONTEND_PTX_CURSOR_H

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>

namespace d2k::ptx {

/// Character classes, or-ed.
enum CharClass : uint8_t {
  kSpaceChar = 1,
  kDigitChar = 2,
  /// Letters, `_`, `$`, `%`: may start an identifier.
  kIdentStartChar = 4,
  /// Letters, digits, `_`, `$`. `%` only starts one.
  kIdentChar = 8,
  kHexChar = 16,
};

constexpr std::array<uint8_t, 256> makeCharClasses() {
  std::array<uint8_t, 256> classes{};
  for (unsigned c : {' ', '\t', '\n', '\r', '\v', '\f'})
    classes[c] |= kSpaceChar;
  for (unsigned c = '0'; c <= '9'; ++c)
    classes[c] |= kDigitChar | kIdentChar | kHexChar;
  for (unsigned c = 0; c < 26; ++c) {
    classes['a' + c] |= kIdentStartChar | kIdentChar;
    classes['A' + c] |= kIdentStartChar | kIdentChar;
  }
  for (unsigned c = 0; c < 6; ++c) {
    classes['a' + c] |= kHexChar;
    classes['A' + c] |= kHexChar;
  }
  for (unsigned c : {'_', '$'})
    classes[c] |= kIdentStartChar | kIdentChar;
  classes['%'] |= kIdentStartChar;
  return classes;
}
inline constexpr std::array<uint8_t, 256> kCharClasses = makeCharClasses();

inline bool isChar(char c, uint8_t classes) {
  return kCharClasses[static_cast<unsigned char>(c)] & classes;
}

/// A position in null-terminated text. The terminator belongs to no class, so
/// scanning loops stop there by themselves.
class Cursor {
public:
  explicit Cursor(llvm::StringRef text)
      : begin(text.begin()), current(text.begin()), limit(text.end()) {}

  const char *position() const { return current; }
  void setPosition(const char *p) { current = p; }
  uint32_t offset() const { return static_cast<uint32_t>(current - begin); }
  uint32_t offset(const char *p) const {
    return static_cast<uint32_t>(p - begin);
  }
  bool atEnd() const { return current >= limit; }
  char peek() const { return *current; }
  /// The character after the next; call only when the next is not the end.
  char peekSecond() const { return current[1]; }
  void advance() { ++current; }
  void advance(size_t n) { current += n; }

  /// Skips white space and comments. An unterminated block comment ends the
  /// text.
  void skipSpace() {
    while (true) {
      while (isChar(*current, kSpaceChar))
        ++current;
      if (*current != '/' && *current != '#')
        return;
      if (!skipComment())
        return;
    }
  }

  /// Skips \p c, preceded by white space. False when something else is next.
  bool consume(char c) {
    skipSpace();
    if (*current != c || atEnd())
      return false;
    ++current;
    return true;
  }

  /// Whether an identifier starts here.
  bool atIdentifier() const { return isChar(*current, kIdentStartChar); }
  /// Scans an identifier; the cursor must stand at one.
  llvm::StringRef scanIdentifier() {
    const char *start = current++;
    while (isChar(*current, kIdentChar))
      ++current;
    return {start, static_cast<size_t>(current - start)};
  }

  /// Scans letters, digits, `_`, `$` with `::` between them: the part after a
  /// dot. Empty when none is here.
  llvm::StringRef scanWord() { return scanParts(/*withDots=*/false); }
  /// The same with `.` between them as well: a mnemonic.
  llvm::StringRef scanDotted() { return scanParts(/*withDots=*/true); }

  /// Scans `"..."`; the cursor stands at the quote. Returns the text between
  /// the quotes with escapes as written. False when the line or text ends
  /// first.
  bool scanString(llvm::StringRef &text) {
    const char *start = ++current;
    while (*current != '"') {
      if (*current == '\\' && current + 1 < limit)
        ++current;
      if (atEnd() || *current == '\n')
        return false;
      ++current;
    }
    text = {start, static_cast<size_t>(current - start)};
    ++current;
    return true;
  }

private:
  llvm::StringRef scanParts(bool withDots) {
    const char *start = current;
    while (true) {
      while (isChar(*current, kIdentChar))
        ++current;
      if (withDots && *current == '.' && isChar(current[1], kIdentChar))
        ++current;
      else if (*current == ':' && current[1] == ':' &&
               isChar(current[2], kIdentChar))
        current += 2;
      else
        break;
    }
    return {start, static_cast<size_t>(current - start)};
  }

  /// Skips a comment, or a `#` line (what a preprocessor leaves). False when
  /// there is none here.
  bool skipComment() {
    if (*current == '#') {
      // Only at the start of a line.
      const char *p = current;
      while (p > begin && (p[-1] == ' ' || p[-1] == '\t'))
        --p;
      if (p > begin && p[-1] != '\n')
        return false;
    } else if (current[1] == '*') {
      llvm::StringRef rest(current + 2, limit - current - 2);
      size_t end = rest.find("*/");
      current = end == llvm::StringRef::npos ? limit : current + 2 + end + 2;
      return true;
    } else if (current[1] != '/') {
      return false;
    }
    while (!atEnd() && *current != '\n')
      ++current;
    return true;
  }

  const char *begin;
  const char *current;
  const char *limit;
};

} // namespace d2k::ptx

#endif // D2K_LIB_FRONTEND_PTX_CURSOR_H
