// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads 64-bit little-endian ELF files: sections, symbols and relocations. No
// byte outside the file is read, whatever its headers say.

#ifndef D2K_SUPPORT_ELF_H
#define D2K_SUPPORT_ELF_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace d2k {

/// e_machine of NVIDIA's machine code, and of the hosts that CUDA runs on.
inline constexpr uint16_t kElfMachineCuda = 190;

/// Section types (sh_type) that readers ask for.
inline constexpr uint32_t kElfSymbolTable = 2;
inline constexpr uint32_t kElfRela = 4;
inline constexpr uint32_t kElfNoBits = 8;
inline constexpr uint32_t kElfRel = 9;

/// Symbol type of a function (the low half of st_info).
inline constexpr uint8_t kElfFunction = 2;

/// Reads an unsigned little-endian integer of sizeof(T) bytes at \p offset,
/// which the caller knows to be inside \p bytes.
template <typename T>
T readLittleEndian(std::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= T(T(uint8_t(bytes[offset + i])) << (8 * i));
  return value;
}

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  /// Bytes that it has when loaded; `contents` is empty for kElfNoBits.
  uint64_t size = 0;
  uint32_t link = 0;
  uint32_t info = 0;
  uint64_t entrySize = 0;
  std::string_view contents;
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size = 0;
  /// st_info's low and high half, and st_other.
  uint8_t type = 0;
  uint8_t binding = 0;
  uint8_t other = 0;
  /// Index of the section, or a reserved value above all of them.
  uint16_t section = 0;
};

struct ElfRelocation {
  /// Bytes from the start of the section that is relocated.
  uint64_t offset = 0;
  uint32_t type = 0;
  /// Index in ElfFile::symbols; checked.
  uint32_t symbol = 0;
  /// 0 for SHT_REL, whose addend is in place.
  int64_t addend = 0;
};

/// A parsed file. Views point into the bytes that it was parsed from.
struct ElfFile {
  uint8_t osAbi = 0;
  uint8_t abiVersion = 0;
  uint16_t type = 0;
  uint16_t machine = 0;
  uint32_t flags = 0;
  std::vector<ElfSection> sections;
  /// The symbols of the first symbol table; symbol 0 is the undefined one.
  std::vector<ElfSymbol> symbols;

  /// Parses \p bytes; \p name stands for the file in messages. Fails with kind
  /// Input, naming the header that is wrong.
  static Result<ElfFile> parse(std::string_view bytes, const std::string &name);

  /// The first section called \p name, or null.
  const ElfSection *findSection(std::string_view name) const;

  /// The relocations of section \p index, in the order of the file.
  Result<std::vector<ElfRelocation>>
  getRelocations(size_t index, const std::string &name) const;
};

/// Whether \p bytes begin like an ELF file of any kind.
bool isElf(std::string_view bytes);

} // namespace d2k

#endif // D2K_SUPPORT_ELF_H
