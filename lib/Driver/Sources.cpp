// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sources.h"

#include "d2k/Support/Files.h"

using namespace d2k;

/// Larger files are not source code that a snippet should be taken from.
static constexpr uint64_t kMaxSourceBytes = uint64_t(64) << 20;

SourceCache::Text SourceCache::index(std::string text) {
  Text result;
  result.text = std::move(text);
  result.starts.push_back(0);
  for (size_t at = result.text.find('\n'); at != std::string::npos;
       at = result.text.find('\n', at + 1))
    result.starts.push_back(at + 1);
  return result;
}

llvm::StringRef SourceCache::add(llvm::StringRef name, std::string text) {
  Text &kept = files[name];
  kept = index(std::move(text));
  return kept.text;
}

const SourceCache::Text &SourceCache::get(llvm::StringRef file) {
  auto found = files.find(file);
  if (found != files.end())
    return found->second;
  Result<std::string> text = readFile(file.str(), kMaxSourceBytes);
  return files[file] = text ? index(std::move(*text)) : Text();
}

std::string SourceCache::getLine(llvm::StringRef file, int64_t line) {
  const Text &text = get(file);
  if (line < 1 || uint64_t(line) > text.starts.size())
    return {};
  llvm::StringRef rest =
      llvm::StringRef(text.text).drop_front(text.starts[line - 1]);
  llvm::StringRef result = rest.take_until([](char c) { return c == '\n'; });
  result = result.trim();
  if (result.size() <= kMaxSnippet)
    return result.str();
  // Do not cut a UTF-8 sequence in two.
  size_t end = kMaxSnippet;
  while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xc0) == 0x80)
    --end;
  return result.take_front(end).str() + "...";
}
