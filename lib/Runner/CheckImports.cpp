// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of a submission's compiled library: reads the dynamic symbols and
// the needed libraries of an ELF file, which comes from a compiler that ran on
// hostile input.

#include "d2k/Runner/CodeRules.h"

#include "d2k/Support/Elf.h"
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

} // namespace

template <size_t N>
static bool matches(const std::string &name, const char *const (&patterns)[N]) {
  return std::any_of(std::begin(patterns), std::end(patterns),
                     [&](const char *pattern) {
                       return ::fnmatch(pattern, name.c_str(), 0) == 0;
                     });
}

/// The string at \p offset of a string table; nothing when it has no end.
static std::optional<std::string> getString(std::string_view strings,
                                            uint64_t offset) {
  size_t end = offset < strings.size() ? strings.find('\0', offset)
                                       : std::string_view::npos;
  if (end == std::string_view::npos)
    return std::nullopt;
  return std::string(strings.substr(offset, end - offset));
}

/// Calls \p use with each entry of the sections of \p type and the strings that
/// belong to it; false when there is no such section or \p use says so.
template <typename Entry, typename Use>
static bool forEach(const ElfFile &file, uint32_t type, Use use) {
  bool found = false;
  for (const ElfSection &section : file.sections) {
    if (section.type != type)
      continue;
    found = true;
    if (section.link >= file.sections.size())
      return false;
    std::string_view strings = file.sections[section.link].contents;
    for (size_t at = 0; at + sizeof(Entry) <= section.contents.size();
         at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, section.contents.data() + at, sizeof(Entry));
      if (!use(entry, strings))
        return false;
    }
  }
  return found;
}

static tl::unexpected<Failure> failUnreadable(const std::string &path) {
  return fail(FailureKind::Internal,
              path + ": is no shared library that can be checked");
}

Result<std::vector<CodeFault>> runner::checkImports(const std::string &path) {
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return forwardFailure(std::move(bytes));
  Result<ElfFile> file = ElfFile::parse(*bytes, path);
  if (!file)
    return forwardFailure(std::move(file));
  std::vector<CodeFault> faults;
  auto add = [&](std::string message) {
    faults.push_back({"compiled library", 0, std::move(message)});
    return true;
  };
  bool readable = forEach<Elf64_Sym>(
      *file, SHT_DYNSYM,
      [&](const Elf64_Sym &symbol, std::string_view strings) {
        std::optional<std::string> name = getString(strings, symbol.st_name);
        if (!name)
          return false;
        if (symbol.st_shndx != SHN_UNDEF || name->empty() ||
            matches(*name, kAllowedImports))
          return true;
        return add("imports " + *name +
                   ", which is not on the list of allowed functions "
                   "(docs/SubmissionRules.md)");
      });
  readable =
      readable &&
      forEach<Elf64_Dyn>(*file, SHT_DYNAMIC,
                         [&](const Elf64_Dyn &entry, std::string_view strings) {
                           if (entry.d_tag != DT_NEEDED)
                             return true;
                           std::optional<std::string> name =
                               getString(strings, entry.d_un.d_val);
                           if (!name)
                             return false;
                           return matches(*name, kAllowedLibraries) ||
                                  add("needs the library " + *name);
                         });
  if (!readable)
    return failUnreadable(path);
  return faults;
}

Result<bool> runner::isDefined(const std::string &path,
                               const std::string &name) {
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return forwardFailure(std::move(bytes));
  Result<ElfFile> file = ElfFile::parse(*bytes, path);
  if (!file)
    return forwardFailure(std::move(file));
  bool found = false;
  bool readable = forEach<Elf64_Sym>(
      *file, SHT_DYNSYM,
      [&](const Elf64_Sym &symbol, std::string_view strings) {
        std::optional<std::string> text = getString(strings, symbol.st_name);
        found |= text == name && symbol.st_shndx != SHN_UNDEF;
        return text.has_value();
      });
  if (!readable)
    return failUnreadable(path);
  return found;
}
