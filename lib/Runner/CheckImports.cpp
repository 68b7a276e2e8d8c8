// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of a submission's compiled library: reads the dynamic symbols and
// the needed libraries of an ELF file. The file comes from a compiler that ran
// on hostile input, so that every offset is checked.

#include "d2k/Runner/CodeRules.h"

#include "d2k/Support/Files.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <elf.h>
#include <fnmatch.h>

using namespace d2k;
using namespace d2k::runner;

namespace {

constexpr const char *kAllowedImports[] = {
#define D2K_ALLOWED_IMPORT(name) name,
#include "AllowedImports.def"
};

constexpr const char *kAllowedLibraries[] = {
    "libcudart.so.*", "libstdc++.so.6",  "libm.so.6",      "libgcc_s.so.1",
    "libc.so.6",      "ld-linux-*.so.*", "libpthread.so.0"};

/// The sections of an ELF file in memory.
class ElfFile {
public:
  explicit ElfFile(std::string_view bytes) : bytes(bytes) {}

  bool open() {
    std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN ||
        header->e_shentsize != sizeof(Elf64_Shdr))
      return false;
    for (unsigned i = 0; i < header->e_shnum; ++i) {
      std::optional<Elf64_Shdr> section =
          read<Elf64_Shdr>(header->e_shoff + uint64_t(i) * sizeof(Elf64_Shdr));
      if (!section)
        return false;
      sections.push_back(*section);
    }
    return true;
  }

  /// Calls \p use for each entry of the sections of \p type, with the strings
  /// that belong to it; false when the file is ill-formed or has none.
  template <typename Entry, typename Use>
  bool forEach(uint32_t type, Use use) const {
    bool found = false;
    for (const Elf64_Shdr &section : sections) {
      if (section.sh_type != type)
        continue;
      found = true;
      if (section.sh_link >= sections.size())
        return false;
      const Elf64_Shdr &strings = sections[section.sh_link];
      for (uint64_t at = 0; at + sizeof(Entry) <= section.sh_size;
           at += sizeof(Entry)) {
        std::optional<Entry> entry = read<Entry>(section.sh_offset + at);
        if (!entry || !use(*entry, strings))
          return false;
      }
    }
    return found;
  }

  std::optional<std::string> getString(const Elf64_Shdr &strings,
                                       uint64_t offset) const {
    if (offset >= strings.sh_size ||
        strings.sh_offset > bytes.size() - std::min(bytes.size(), offset))
      return std::nullopt;
    uint64_t start = strings.sh_offset + offset;
    if (start >= bytes.size())
      return std::nullopt;
    size_t end = bytes.find('\0', start);
    if (end == std::string_view::npos)
      return std::nullopt;
    return std::string(bytes.substr(start, end - start));
  }

private:
  template <typename T>
  std::optional<T> read(uint64_t offset) const {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
      return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }

  std::string_view bytes;
  std::vector<Elf64_Shdr> sections;
};

} // namespace

template <size_t N>
static bool matches(const std::string &name, const char *const (&patterns)[N]) {
  return std::any_of(std::begin(patterns), std::end(patterns),
                     [&](const char *pattern) {
                       return ::fnmatch(pattern, name.c_str(), 0) == 0;
                     });
}

Result<std::vector<CodeFault>> runner::checkImports(const std::string &path) {
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return forwardFailure(std::move(bytes));
  std::vector<CodeFault> faults;
  ElfFile file(*bytes);
  bool readable = file.open();
  readable =
      readable &&
      file.forEach<Elf64_Sym>(
          SHT_DYNSYM, [&](const Elf64_Sym &symbol, const Elf64_Shdr &strings) {
            std::optional<std::string> name =
                file.getString(strings, symbol.st_name);
            if (!name)
              return false;
            if (symbol.st_shndx == SHN_UNDEF && !name->empty() &&
                !matches(*name, kAllowedImports))
              faults.push_back({"compiled library", 0,
                                "imports " + *name +
                                    ", which is not on the list of "
                                    "allowed functions "
                                    "(docs/SubmissionRules.md)"});
            return true;
          });
  readable =
      readable &&
      file.forEach<Elf64_Dyn>(
          SHT_DYNAMIC, [&](const Elf64_Dyn &entry, const Elf64_Shdr &strings) {
            if (entry.d_tag != DT_NEEDED)
              return true;
            std::optional<std::string> name =
                file.getString(strings, entry.d_un.d_val);
            if (!name)
              return false;
            if (!matches(*name, kAllowedLibraries))
              faults.push_back(
                  {"compiled library", 0, "needs the library " + *name});
            return true;
          });
  if (!readable)
    return fail(FailureKind::Internal,
                path + ": is no shared library that can be checked");
  return faults;
}
