// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of a submission's source: a scanner that knows comments, literals
// and directives, and two tables.

#include "d2k/Runner/CodeRules.h"

#include <algorithm>
#include <cctype>

using namespace d2k;
using namespace d2k::runner;

namespace {

struct ForbiddenName {
  std::string_view name;
  std::string_view reason;
};

constexpr std::string_view kAllowedHeaders[] = {
#define D2K_ALLOWED_HEADER(name) name,
#include "AllowedHeaders.def"
};

constexpr ForbiddenName kForbiddenNames[] = {
#define D2K_FORBIDDEN_NAME(name, reason) {name, reason},
#include "ForbiddenNames.def"
};

/// Walks over one file.
class Scanner {
public:
  Scanner(const SourceFile &file, const Submission &submission,
          std::string_view task, std::vector<CodeFault> &faults)
      : file(file), submission(submission), task(task), faults(faults) {
    splice();
  }

  void run();

private:
  /// Joins lines that end in a backslash, as translation does first, and
  /// remembers on which line each byte was.
  void splice();
  bool atEnd() const { return at >= text.size(); }
  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  void fault(const std::string &message) {
    faults.push_back(
        {file.path, lines[std::min(at, lines.size() - 1)], message});
  }
  void skipBlanks(bool andLines);
  bool skipComment();
  std::string_view takeName();
  void takeLiteral(char quote);
  void takeRawLiteral();
  void checkDirective();
  void checkInclude();
  void checkName(std::string_view name);
  void checkLiteral(std::string_view literal);
  bool isOwnHeader(std::string_view name) const;

  const SourceFile &file;
  const Submission &submission;
  std::string_view task;
  std::vector<CodeFault> &faults;
  std::string text;
  std::vector<size_t> lines;
  size_t at = 0;
};

} // namespace

std::string CodeFault::toString() const {
  return file + (line ? ":" + std::to_string(line) : "") + ": " + message;
}

static bool isNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

void Scanner::splice() {
  size_t line = 1;
  const std::string &source = file.text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n')
      continue;
    if (source[i] == '\\') {
      // Compilers accept blanks between the backslash and the end of the line.
      size_t end = i + 1;
      while (end < source.size() && source[end] != '\n' &&
             std::isspace(static_cast<unsigned char>(source[end])))
        ++end;
      if (end < source.size() && source[end] == '\n') {
        i = end;
        ++line;
        continue;
      }
    }
    text += source[i];
    lines.push_back(line);
    line += source[i] == '\n';
  }
  text += '\n';
  lines.push_back(line);
}

bool Scanner::skipComment() {
  if (peek() != '/' || (peek(1) != '/' && peek(1) != '*'))
    return false;
  size_t end = peek(1) == '/' ? text.find('\n', at) : text.find("*/", at + 2);
  at = end == std::string::npos ? text.size() : end + (peek(1) == '/' ? 0 : 2);
  return true;
}

void Scanner::skipBlanks(bool andLines) {
  while (!atEnd()) {
    if (skipComment())
      continue;
    if (!std::isspace(static_cast<unsigned char>(peek())) ||
        (!andLines && peek() == '\n'))
      return;
    ++at;
  }
}

std::string_view Scanner::takeName() {
  size_t start = at;
  while (isNameCharacter(peek()))
    ++at;
  return std::string_view(text).substr(start, at - start);
}

void Scanner::checkLiteral(std::string_view literal) {
  // Inline assembly can pull a file in, and multicast is not for these tasks.
  for (std::string_view word : {".incbin", ".include", "multimem."})
    if (literal.find(word) != std::string_view::npos)
      fault("uses " + std::string(word) + " in inline assembly: " +
            (word == "multimem." ? "multicast designs are not run"
                                 : "no code but what is in the source"));
}

void Scanner::takeLiteral(char quote) {
  size_t start = ++at;
  while (!atEnd() && peek() != quote && peek() != '\n')
    at += peek() == '\\' ? 2 : 1;
  at = std::min(at, text.size());
  checkLiteral(std::string_view(text).substr(start, at - start));
  ++at;
}

void Scanner::takeRawLiteral() {
  // R"delimiter( ... )delimiter"
  size_t open = text.find('(', at);
  if (open == std::string::npos) {
    ++at;
    return;
  }
  std::string close = ")" + text.substr(at + 1, open - at - 1) + "\"";
  size_t end = std::min(text.find(close, open), text.size());
  checkLiteral(std::string_view(text).substr(open, end - open));
  at = std::min(end + close.size(), text.size());
}

bool Scanner::isOwnHeader(std::string_view name) const {
  if (name == "d2k_" + std::string(task) + ".h")
    return true;
  size_t slash = file.path.rfind('/');
  std::string beside =
      (slash == std::string::npos ? "" : file.path.substr(0, slash + 1)) +
      std::string(name);
  return std::any_of(submission.files.begin(), submission.files.end(),
                     [&](const SourceFile &other) {
                       return other.path == name || other.path == beside;
                     });
}

static bool isAllowedHeader(std::string_view name) {
  return std::any_of(std::begin(kAllowedHeaders), std::end(kAllowedHeaders),
                     [&](std::string_view allowed) {
                       return allowed.back() == '/'
                                  ? name.substr(0, allowed.size()) == allowed
                                  : name == allowed;
                     });
}

void Scanner::checkInclude() {
  skipBlanks(false);
  char open = peek();
  size_t end = text.find(open == '<' ? '>' : '"', at + 1);
  if ((open != '<' && open != '"') || end > text.find('\n', at))
    return fault("includes a file by a macro: write the name in the directive");
  std::string name = text.substr(at + 1, end - at - 1);
  if (name.find("..") != std::string::npos || name.front() == '/' ||
      (!isAllowedHeader(name) && !(open == '"' && isOwnHeader(name))))
    fault("includes " + name +
          ", which is neither the submission's own nor on the list of allowed "
          "headers (docs/SubmissionRules.md)");
  at = end + 1;
}

void Scanner::checkDirective() {
  ++at;
  skipBlanks(false);
  std::string_view name = takeName();
  if (name == "include")
    checkInclude();
  else if (name == "include_next" || name == "import" || name == "embed" ||
           name == "line")
    fault("uses #" + std::string(name) + ": it hides what is compiled");
}

void Scanner::checkName(std::string_view name) {
  for (const ForbiddenName &forbidden : kForbiddenNames) {
    std::string_view pattern = forbidden.name;
    char last = pattern.back();
    if (last == '*' || last == '(')
      pattern.remove_suffix(1);
    if (last == '*' ? name.substr(0, pattern.size()) != pattern
                    : name != pattern)
      continue;
    if (last == '(') {
      size_t before = at;
      skipBlanks(true);
      bool called = peek() == '(';
      at = before;
      if (!called)
        continue;
    }
    return fault("uses " + std::string(name) + ": " +
                 std::string(forbidden.reason));
  }
}

void Scanner::run() {
  bool startsLine = true;
  while (!atEnd()) {
    if (skipComment())
      continue;
    char c = peek();
    if (c == '\n') {
      startsLine = true;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if ((c == '#' || text.compare(at, 2, "%:") == 0) && startsLine) {
      at += c == '%';
      checkDirective();
      startsLine = false;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      // A number, with the digit separators that look like quotes.
      while (isNameCharacter(peek()) || peek() == '.' ||
             (peek() == '\'' && isNameCharacter(peek(1))))
        ++at;
      startsLine = false;
    } else if (c == '"' || c == '\'') {
      takeLiteral(c);
      startsLine = false;
    } else if (isNameCharacter(c)) {
      std::string_view name = takeName();
      if (peek() == '"' && name.back() == 'R')
        takeRawLiteral();
      else
        checkName(name);
      startsLine = false;
    } else {
      ++at;
      startsLine = false;
    }
  }
}

std::vector<CodeFault> runner::checkSource(const Submission &submission,
                                           std::string_view task) {
  std::vector<CodeFault> faults;
  for (const SourceFile &file : submission.files)
    Scanner(file, submission, task, faults).run();
  return faults;
}
