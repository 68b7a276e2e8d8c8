// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ELF-64 headers as the System V ABI defines them.

#include "d2k/Support/Elf.h"

#include <optional>

using namespace d2k;

static constexpr size_t kHeaderSize = 64;
static constexpr size_t kSectionHeaderSize = 64;
static constexpr size_t kSymbolSize = 24;

namespace {

/// The file and how to say what is wrong with it.
class Reader {
public:
  Reader(std::string_view bytes, const std::string &name)
      : bytes(bytes), name(name) {}

  tl::unexpected<Failure> damaged(const std::string &what) const {
    return fail(FailureKind::Input, name + ": damaged ELF file: " + what);
  }

  bool holds(uint64_t offset, uint64_t size) const {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  }

  template <typename T>
  T read(uint64_t offset) const {
    return readLittleEndian<T>(bytes, size_t(offset));
  }

  Result<void> readSections(ElfFile &file) const;
  Result<void> readSymbols(ElfFile &file) const;

private:
  std::string_view bytes;
  const std::string &name;
};

} // namespace

/// The text at \p offset in a string table; nothing when it does not end.
static std::optional<std::string_view> getString(std::string_view table,
                                                 uint64_t offset) {
  if (offset >= table.size())
    return offset == 0 ? std::optional<std::string_view>("") : std::nullopt;
  size_t end = table.find('\0', size_t(offset));
  if (end == std::string_view::npos)
    return std::nullopt;
  return table.substr(size_t(offset), end - size_t(offset));
}

Result<void> Reader::readSections(ElfFile &file) const {
  uint64_t offset = read<uint64_t>(0x28);
  uint64_t entrySize = read<uint16_t>(0x3A);
  uint64_t count = read<uint16_t>(0x3C);
  uint64_t namesIndex = read<uint16_t>(0x3E);
  if (offset == 0)
    return {};
  if (entrySize != kSectionHeaderSize)
    return damaged("section headers have " + std::to_string(entrySize) +
                   " bytes instead of 64");
  // With more sections than fit, the first header has the numbers.
  if (holds(offset, kSectionHeaderSize)) {
    if (count == 0)
      count = read<uint64_t>(offset + 0x20);
    if (namesIndex == 0xffff)
      namesIndex = read<uint32_t>(offset + 0x28);
  }
  if (count > bytes.size() / kSectionHeaderSize ||
      !holds(offset, count * kSectionHeaderSize))
    return damaged(std::to_string(count) + " section headers at offset " +
                   std::to_string(offset) + " do not fit into " +
                   std::to_string(bytes.size()) + " bytes");
  std::vector<uint32_t> names;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = offset + i * kSectionHeaderSize;
    ElfSection section;
    names.push_back(read<uint32_t>(at));
    section.type = read<uint32_t>(at + 0x04);
    section.flags = read<uint64_t>(at + 0x08);
    section.address = read<uint64_t>(at + 0x10);
    uint64_t start = read<uint64_t>(at + 0x18);
    section.size = read<uint64_t>(at + 0x20);
    section.link = read<uint32_t>(at + 0x28);
    section.info = read<uint32_t>(at + 0x2C);
    section.entrySize = read<uint64_t>(at + 0x38);
    bool hasContents = section.type != 0 && section.type != kElfNoBits;
    if (hasContents && !holds(start, section.size))
      return damaged("section " + std::to_string(i) + " has " +
                     std::to_string(section.size) + " bytes at offset " +
                     std::to_string(start) + ", but the file has " +
                     std::to_string(bytes.size()) + " bytes");
    if (hasContents)
      section.contents = bytes.substr(size_t(start), size_t(section.size));
    file.sections.push_back(section);
  }
  if (namesIndex >= file.sections.size())
    return file.sections.empty()
               ? Result<void>()
               : Result<void>(damaged("the names of sections are in section " +
                                      std::to_string(namesIndex) + " of " +
                                      std::to_string(count)));
  std::string_view table = file.sections[size_t(namesIndex)].contents;
  for (size_t i = 0; i < file.sections.size(); ++i) {
    std::optional<std::string_view> text = getString(table, names[i]);
    if (!text)
      return damaged("section " + std::to_string(i) + " has no name");
    file.sections[i].name = *text;
  }
  return {};
}

Result<void> Reader::readSymbols(ElfFile &file) const {
  for (size_t i = 0; i < file.sections.size(); ++i) {
    const ElfSection &section = file.sections[i];
    if (section.type != kElfSymbolTable)
      continue;
    if (section.link >= file.sections.size())
      return damaged("the names of symbols are in section " +
                     std::to_string(section.link) + " of " +
                     std::to_string(file.sections.size()));
    std::string_view names = file.sections[section.link].contents;
    std::string_view table = section.contents;
    for (size_t at = 0; at + kSymbolSize <= table.size(); at += kSymbolSize) {
      ElfSymbol symbol;
      std::optional<std::string_view> text =
          getString(names, readLittleEndian<uint32_t>(table, at));
      if (!text)
        return damaged("symbol " + std::to_string(at / kSymbolSize) +
                       " has no name");
      symbol.name = *text;
      uint8_t info = uint8_t(table[at + 4]);
      symbol.type = info & 0xf;
      symbol.binding = info >> 4;
      symbol.other = uint8_t(table[at + 5]);
      symbol.section = readLittleEndian<uint16_t>(table, at + 6);
      symbol.value = readLittleEndian<uint64_t>(table, at + 8);
      symbol.size = readLittleEndian<uint64_t>(table, at + 16);
      file.symbols.push_back(symbol);
    }
    return {};
  }
  return {};
}

bool d2k::isElf(std::string_view bytes) {
  return bytes.substr(0, 4) == std::string_view("\177ELF", 4);
}

Result<ElfFile> ElfFile::parse(std::string_view bytes,
                               const std::string &name) {
  Reader reader(bytes, name);
  if (!isElf(bytes))
    return fail(FailureKind::Input, name + ": no ELF file");
  if (bytes.size() < kHeaderSize)
    return reader.damaged("it ends in the header, after " +
                          std::to_string(bytes.size()) + " bytes");
  if (bytes[4] != 2 || bytes[5] != 1)
    return fail(FailureKind::Input,
                name + ": ELF file is not 64-bit little-endian");
  ElfFile file;
  file.osAbi = uint8_t(bytes[7]);
  file.abiVersion = uint8_t(bytes[8]);
  file.type = reader.read<uint16_t>(0x10);
  file.machine = reader.read<uint16_t>(0x12);
  file.flags = reader.read<uint32_t>(0x30);
  if (Result<void> read = reader.readSections(file); !read)
    return forwardFailure(std::move(read));
  if (Result<void> read = reader.readSymbols(file); !read)
    return forwardFailure(std::move(read));
  return file;
}

const ElfSection *ElfFile::findSection(std::string_view name) const {
  for (const ElfSection &section : sections)
    if (section.name == name)
      return &section;
  return nullptr;
}

Result<std::vector<ElfRelocation>>
ElfFile::getRelocations(size_t index, const std::string &name) const {
  std::vector<ElfRelocation> relocations;
  for (const ElfSection &section : sections) {
    bool isRela = section.type == kElfRela;
    if ((!isRela && section.type != kElfRel) || section.info != index)
      continue;
    size_t entry = isRela ? 24 : 16;
    for (size_t at = 0; at + entry <= section.contents.size(); at += entry) {
      ElfRelocation relocation;
      relocation.offset = readLittleEndian<uint64_t>(section.contents, at);
      uint64_t info = readLittleEndian<uint64_t>(section.contents, at + 8);
      relocation.type = uint32_t(info);
      relocation.symbol = uint32_t(info >> 32);
      if (relocation.symbol >= symbols.size())
        return fail(FailureKind::Input,
                    name + ": damaged ELF file: relocation " +
                        std::to_string(at / entry) + " of section " +
                        std::string(section.name) + " has symbol " +
                        std::to_string(relocation.symbol) + " of " +
                        std::to_string(symbols.size()));
      if (isRela)
        relocation.addend =
            int64_t(readLittleEndian<uint64_t>(section.contents, at + 16));
      relocations.push_back(relocation);
    }
  }
  return relocations;
}
