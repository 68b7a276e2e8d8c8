// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Debug sections of a cubin to line tables: finds the code section that each
// relocation of a line program points into.

#include "d2k/Frontend/SASS/DebugLines.h"

#include "d2k/Support/Elf.h"

using namespace d2k;
using namespace d2k::sass;

static constexpr std::string_view kTextPrefix = ".text.";

/// The relocations of line section `index`, by function.
static Result<std::vector<LineRelocation>>
getLineRelocations(const ElfFile &file, size_t index, const std::string &name) {
  Result<std::vector<ElfRelocation>> relocations =
      file.getRelocations(index, name);
  if (!relocations)
    return forwardFailure(std::move(relocations));
  bool hasAddends = false;
  for (const ElfSection &section : file.sections)
    hasAddends |= section.type == kElfRela && section.info == index;
  std::vector<LineRelocation> result;
  for (const ElfRelocation &relocation : *relocations) {
    const ElfSymbol &symbol = file.symbols[relocation.symbol];
    if (symbol.section >= file.sections.size())
      continue;
    std::string_view text = file.sections[symbol.section].name;
    if (text.substr(0, kTextPrefix.size()) != kTextPrefix)
      continue;
    result.push_back({relocation.offset,
                      std::string(text.substr(kTextPrefix.size())),
                      symbol.value + uint64_t(relocation.addend), hasAddends});
  }
  return result;
}

static Result<LineTable> readTable(const ElfFile &file, std::string_view lines,
                                   const std::string &name) {
  const ElfSection *section = file.findSection(lines);
  if (!section)
    return LineTable();
  const ElfSection *strings = file.findSection(".debug_str");
  Result<std::vector<LineRelocation>> relocations =
      getLineRelocations(file, size_t(section - file.sections.data()), name);
  if (!relocations)
    return forwardFailure(std::move(relocations));
  Result<LineTable> table = LineTable::parse(
      section->contents, strings ? strings->contents : std::string_view(),
      std::move(*relocations));
  if (!table)
    return fail(table.error().kind, name + ": " + std::string(lines) + ": " +
                                        table.error().message);
  return table;
}

Result<DebugLines> sass::readDebugLines(std::string_view bytes,
                                        const std::string &name) {
  Result<ElfFile> file = ElfFile::parse(bytes, name);
  if (!file)
    return forwardFailure(std::move(file));
  Result<LineTable> source = readTable(*file, ".debug_line", name);
  if (!source)
    return forwardFailure(std::move(source));
  Result<LineTable> ptx = readTable(*file, ".nv_debug_line_sass", name);
  if (!ptx)
    return forwardFailure(std::move(ptx));
  DebugLines result;
  result.source = std::move(*source);
  result.ptx = std::move(*ptx);
  return result;
}
