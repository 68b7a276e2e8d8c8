// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SASSLines.h"

#include "d2k/Frontend/SASS/DebugLines.h"
#include "d2k/Support/Elf.h"

#include "llvm/Support/Format.h"

using namespace d2k;

/// Bytes of an instruction since sm_70.
static constexpr uint64_t kInstructionBytes = 16;

static std::string describe(const std::vector<sass::LineFrame> &frames) {
  std::string text;
  for (const sass::LineFrame &frame : frames) {
    if (!text.empty())
      text += " < ";
    text.append(frame.file).append(":").append(std::to_string(frame.line));
    if (!frame.function.empty())
      text.append(" ").append(frame.function);
  }
  return text.empty() ? "no line" : text;
}

Result<void> d2k::printSassLines(llvm::StringRef bytes, const std::string &name,
                                 llvm::raw_ostream &os) {
  Result<sass::DebugLines> lines = sass::readDebugLines(bytes, name);
  if (!lines)
    return forwardFailure(std::move(lines));
  Result<ElfFile> file = ElfFile::parse(bytes, name);
  if (!file)
    return forwardFailure(std::move(file));
  for (const ElfSection &section : file->sections) {
    llvm::StringRef function = section.name;
    if (!function.consume_front(".text."))
      continue;
    os << section.name << '\n';
    std::string last;
    for (uint64_t at = 0; at < section.contents.size();
         at += kInstructionBytes) {
      std::string text;
      if (auto ptx = lines->ptx.lookup(function, at); !ptx.empty())
        text = "ptx " + std::to_string(ptx.front().line) + ": ";
      text += describe(lines->source.lookup(function, at));
      if (text != last)
        os << llvm::format_hex(at, 6) << ' ' << text << '\n';
      last = std::move(text);
    }
  }
  return {};
}
