// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text building blocks of reports.

#include "TextWriter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace d2k;
using namespace d2k::report;

TextWriter &TextWriter::add(std::string_view text, Style style) {
  std::string clean = sanitize(text);
  column += displayWidth(clean);
  out += paint(clean, style, options.color);
  return *this;
}

TextWriter &TextWriter::pad(size_t to) {
  if (column < to) {
    out.append(to - column, ' ');
    column = to;
  }
  return *this;
}

TextWriter &TextWriter::end() {
  // No line of a report ends in blanks.
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  out += '\n';
  column = 0;
  return *this;
}

TextWriter &TextWriter::wrap(size_t indent, std::string_view text,
                             Style style) {
  std::string clean = sanitize(text);
  std::string_view rest = clean;
  bool first = true;
  pad(indent);
  while (!rest.empty()) {
    size_t length = std::min(rest.find(' '), rest.size());
    std::string_view word = rest.substr(0, length);
    rest.remove_prefix(std::min(length + 1, rest.size()));
    size_t width = displayWidth(word);
    if (!first && column + 1 + width > options.width) {
      end();
      pad(indent);
      first = true;
    }
    if (!first) {
      out += ' ';
      ++column;
    }
    out += paint(word, style, options.color);
    column += width;
    first = false;
  }
  return end();
}

TextWriter &TextWriter::heading(std::string_view text) {
  if (!out.empty())
    end();
  return add(text, Style::Bold).end();
}

/// A byte offset in machine code, as disassemblers print it.
static std::string formatOffset(int64_t offset) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%04llx",
                static_cast<unsigned long long>(offset));
  return text;
}

TextWriter &TextWriter::places(size_t indent,
                               const std::vector<SourceLocation> &where) {
  // Several instructions of one source line are one place to a reader.
  std::vector<const SourceLocation *> distinct;
  for (const SourceLocation &place : where)
    if (distinct.empty() ||
        describePlace(*distinct.back()) != describePlace(place))
      distinct.push_back(&place);
  size_t shown = std::min<size_t>(distinct.size(), options.maxPlaces);
  // A rest of one place takes as much room as the place itself.
  if (distinct.size() == shown + 1)
    ++shown;
  for (size_t i = 0; i < shown; ++i) {
    const SourceLocation &place = *distinct[i];
    pad(indent);
    add(describePlace(place), Style::Cyan);
    auto room = [&] {
      return options.width > column + 12 ? options.width - column - 2 : 10;
    };
    if (!place.snippet.empty())
      add("  ").add(shorten(place.snippet, room()), Style::Dim);
    end();
    if (!place.inlinedFile.empty()) {
      pad(indent + 2).add("inlined from ", Style::Dim);
      SourceLocation header;
      header.file = place.inlinedFile;
      header.line = place.inlinedLine;
      add(shorten(describePlace(header), room()), Style::Dim).end();
    }
    // What the compiler made of the line, where the line does not say it.
    if (!place.instruction.empty() &&
        place.snippet.find(place.instruction) == std::string::npos) {
      pad(indent + 2);
      add(shorten(place.instruction, room())).end();
    }
    if (place.sassOffset && !place.sassInstruction.empty()) {
      pad(indent + 2).add(formatOffset(*place.sassOffset), Style::Dim);
      add(" ").add(shorten(place.sassInstruction, room())).end();
    }
  }
  if (shown < distinct.size())
    pad(indent)
        .add("and " + std::to_string(distinct.size() - shown) + " more places",
             Style::Dim)
        .end();
  return *this;
}

std::string d2k::report::describePlace(const SourceLocation &where) {
  std::string text = where.file;
  if (where.kind == LocationKind::Sass)
    return text + (text.empty() ? "" : ":") + formatOffset(where.line);
  if (where.line == 0)
    return text.empty() ? "an unknown place" : text;
  text += (text.empty() ? "line " : ":") + std::to_string(where.line);
  if (where.column > 0)
    text += ":" + std::to_string(where.column);
  return text;
}

static std::string formatFixed(double number, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.*f", decimals, number);
  return buffer;
}

std::string d2k::report::formatPoints(double points) {
  return formatFixed(points, 1);
}

std::string d2k::report::formatCredit(double credit) {
  std::string text = formatFixed(credit, 2);
  while (text.back() == '0')
    text.pop_back();
  if (text.back() == '.')
    text.pop_back();
  return text;
}

std::string d2k::report::formatCount(size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) +
         (count == 1 ? "" : "s");
}

std::string d2k::report::shorten(std::string_view text, size_t width) {
  // Untrusted text: cut after sanitising, at borders of characters.
  std::string clean = sanitize(text);
  size_t length = displayWidth(clean);
  if (length <= width || width < 8)
    return clean;
  size_t head = (width - 3) * 2 / 3;
  size_t tail = width - 3 - head;
  std::string result;
  std::string_view rest = clean;
  for (size_t i = 0; i < length; ++i) {
    std::string_view before = rest;
    decodeUtf8(rest);
    if (i == head)
      result += "...";
    if (i < head || i >= length - tail)
      result += before.substr(0, before.size() - rest.size());
  }
  return result;
}
