// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LeadingHeaders.h"

#include "d2k/Support/Files.h"

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <optional>
#include <set>

using namespace d2k;
using namespace d2k::cuda;

/// Files that are looked through at most.
static constexpr size_t kMaxFiles = 64;

/// Headers of the C++ library that the wrapper around the toolkit includes
/// itself or that take Clang less than 20 ms behind it.
static constexpr llvm::StringLiteral kCheapHeaders[] = {
    "array",     "cassert",          "cctype",  "cerrno",  "cfloat",
    "cinttypes", "climits",          "cmath",   "cstdarg", "cstddef",
    "cstdint",   "cstdio",           "cstdlib", "cstring", "ctime",
    "exception", "initializer_list", "limits",  "new",     "type_traits",
    "typeinfo",  "utility"};

/// Headers of the toolkit for which the same holds.
static constexpr llvm::StringLiteral kCheapToolkitHeaders[] = {
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_launch_parameters.h",
    "cudaTypedefs.h",
    "vector_types.h",
    "driver_types.h",
    "nvtx3/nvToolsExt.h"};

/// Whether headers of the toolkit or of the library may read the macro.
static bool isForeignMacro(llvm::StringRef name) {
  if (name.starts_with("_") || llvm::isLower(name.front()))
    return true;
  static constexpr llvm::StringLiteral kPrefixes[] = {
      "CCCL", "CUB", "CUDA",   "CUDNN", "LIBCUDACXX",
      "NCCL", "NV",  "NDEBUG", "THRUST"};
  return llvm::any_of(kPrefixes, [&](llvm::StringRef prefix) {
    return name.starts_with(prefix);
  });
}

namespace {
class Scanner {
public:
  Scanner(const std::vector<std::string> &folders, const std::string &toolkit)
      : folders(folders), toolkit(toolkit) {}

  void scan(llvm::StringRef text, llvm::StringRef path);

  /// In the order of the text.
  std::vector<std::string> headers;

private:
  void include(llvm::StringRef rest, llvm::StringRef path);
  void addForeign(llvm::StringRef name);

  const std::vector<std::string> &folders;
  const std::string &toolkit;
  std::set<std::string> visited;
  /// A macro ends the search.
  bool stopped = false;
};
} // namespace

/// The identifier at the start of `text`.
static llvm::StringRef takeName(llvm::StringRef text) {
  return text.ltrim().take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

void Scanner::scan(llvm::StringRef text, llvm::StringRef path) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.CPlusPlus20 = true;
  language.LineComment = true;
  std::string buffer = text.str();
  clang::Lexer lexer(clang::SourceLocation(), language, buffer.data(),
                     buffer.data(), buffer.data() + buffer.size());
  // Conditionals and braces around the place. The pair of #ifndef and #define
  // at the start of a file counts for nothing.
  int conditionals = 0, braces = 0;
  size_t numDirectives = 0;
  bool hasCode = false;
  llvm::StringRef guard;
  clang::Token token;
  bool atEnd = false;
  while (!atEnd && !stopped) {
    atEnd = lexer.LexFromRawLexer(token);
    if (!token.is(clang::tok::hash) || !token.isAtStartOfLine()) {
      braces += token.is(clang::tok::l_brace);
      braces -= token.is(clang::tok::r_brace);
      hasCode = true;
      continue;
    }
    const char *begin = lexer.getBufferLocation();
    lexer.setParsingPreprocessorDirective(true);
    while (!lexer.LexFromRawLexer(token) && !token.is(clang::tok::eod)) {
    }
    lexer.setParsingPreprocessorDirective(false);
    llvm::StringRef line =
        llvm::StringRef(begin, lexer.getBufferLocation() - begin).trim();
    llvm::StringRef name = takeName(line);
    llvm::StringRef rest = line.drop_front(name.size()).trim();
    if (name == "pragma")
      continue;
    ++numDirectives;
    if (name.starts_with("if")) {
      if (name == "ifndef" && numDirectives == 1 && !hasCode)
        guard = takeName(rest);
      ++conditionals;
    } else if (name == "endif") {
      --conditionals;
      // That of the guard ends the file.
      if (conditionals < 0)
        return;
    } else if (name == "define" || name == "undef") {
      llvm::StringRef macro = takeName(rest);
      if (numDirectives == 2 && !hasCode && macro == guard)
        --conditionals;
      else
        stopped |= macro.empty() || isForeignMacro(macro);
    } else if (name == "include" && conditionals == 0 && braces == 0) {
      include(rest, path);
    }
  }
}

void Scanner::addForeign(llvm::StringRef name) {
  auto isToolkitFile = [&](llvm::StringRef folder) {
    return isRegularFile(joinPath(toolkit, (folder + name).str()));
  };
  bool isSlow = isToolkitFile("include/") || isToolkitFile("include/cccl/")
                    ? !llvm::is_contained(kCheapToolkitHeaders, name)
                    : !name.contains('.') && !name.contains('/') &&
                          !llvm::is_contained(kCheapHeaders, name);
  if (isSlow && !llvm::is_contained(headers, name))
    headers.push_back(name.str());
}

void Scanner::include(llvm::StringRef rest, llvm::StringRef path) {
  bool isQuoted = rest.consume_front("\"");
  if (!isQuoted && !rest.consume_front("<")) {
    // Whatever the macro stands for may define others.
    stopped = true;
    return;
  }
  llvm::StringRef name =
      rest.take_until([](char c) { return c == '"' || c == '>'; });
  std::optional<std::string> found;
  auto tryFolder = [&](llvm::StringRef folder) {
    llvm::SmallString<256> candidate(folder);
    llvm::sys::path::append(candidate, name);
    if (!found && isRegularFile(candidate.str().str()))
      found = candidate.str().str();
  };
  if (isQuoted)
    tryFolder(llvm::sys::path::parent_path(path));
  for (const std::string &folder : folders)
    tryFolder(folder);
  if (!found)
    return addForeign(name);
  if (!visited.insert(*found).second)
    return;
  Result<std::string> text = readFile(*found);
  stopped |= !text || visited.size() > kMaxFiles;
  if (!stopped)
    scan(*text, *found);
}

std::vector<std::string>
cuda::findLeadingHeaders(llvm::StringRef text, llvm::StringRef path,
                         const std::vector<std::string> &folders,
                         const std::string &toolkit) {
  Scanner scanner(folders, toolkit);
  scanner.scan(text, path);
  return std::move(scanner.headers);
}
