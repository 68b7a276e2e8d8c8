// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ELF files: a small one made here, byte by byte, and each way in which it can
// be damaged.

#include "d2k/Support/Elf.h"

#include "gtest/gtest.h"

using namespace d2k;

namespace {

/// A file with the sections null, .names, .text, .syms and .rela.text.
class ElfTest : public testing::Test {
protected:
  template <typename T>
  void put(size_t offset, T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes[offset + i] = char(value >> (8 * i));
  }
  void putSection(unsigned index, uint32_t name, uint32_t type, uint64_t start,
                  uint64_t size, uint32_t link, uint32_t info) {
    size_t at = kHeaders + index * 64;
    put<uint32_t>(at, name);
    put<uint32_t>(at + 4, type);
    put<uint64_t>(at + 0x18, start);
    put<uint64_t>(at + 0x20, size);
    put<uint32_t>(at + 0x28, link);
    put<uint32_t>(at + 0x2C, info);
  }
  void SetUp() override {
    bytes.assign(kHeaders + 5 * 64, '\0');
    bytes.replace(0, 6, "\177ELF\2\1");
    bytes[7] = 0x41;
    bytes[8] = 8;
    put<uint16_t>(0x12, kElfMachineCuda);
    put<uint64_t>(0x28, kHeaders);
    put<uint32_t>(0x30, 0xa005a04);
    put<uint16_t>(0x3A, 64);
    put<uint16_t>(0x3C, 5);
    put<uint16_t>(0x3E, 1);
    bytes.replace(0x40, 19, std::string_view("\0.text\0fun\0bar.rel\0", 19));
    bytes.replace(0x60, 4, "code");
    // Symbol 1: fun, a global function of section 2, value 16, size 32.
    put<uint32_t>(0x80 + 24, 7);
    bytes[0x80 + 24 + 4] = 0x12;
    put<uint16_t>(0x80 + 24 + 6, 2);
    put<uint64_t>(0x80 + 24 + 8, 16);
    put<uint64_t>(0x80 + 24 + 16, 32);
    // Relocation of byte 8 by symbol 1 plus 5, type 0x38.
    put<uint64_t>(0xC0, 8);
    put<uint64_t>(0xC8, uint64_t(1) << 32 | 0x38);
    put<uint64_t>(0xD0, 5);
    putSection(1, 0, 3, 0x40, 19, 0, 0);
    putSection(2, 1, 1, 0x60, 4, 0, 0);
    putSection(3, 0, kElfSymbolTable, 0x80, 48, 1, 0);
    putSection(4, 14, kElfRela, 0xC0, 24, 3, 2);
  }

  std::string getFailure() {
    Result<ElfFile> file = ElfFile::parse(bytes, "f");
    return file ? "none" : file.error().message;
  }

  static constexpr size_t kHeaders = 0x100;
  std::string bytes;
};

} // namespace

TEST_F(ElfTest, ReadsSectionsSymbolsAndRelocations) {
  Result<ElfFile> file = ElfFile::parse(bytes, "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->machine, kElfMachineCuda);
  EXPECT_EQ(file->flags, 0xa005a04u);
  EXPECT_EQ(file->osAbi, 0x41);
  EXPECT_EQ(file->abiVersion, 8);
  ASSERT_EQ(file->sections.size(), 5u);
  ASSERT_TRUE(file->findSection(".text"));
  EXPECT_EQ(file->findSection(".text")->contents, "code");
  EXPECT_FALSE(file->findSection(".data"));
  ASSERT_EQ(file->symbols.size(), 2u);
  EXPECT_EQ(file->symbols[1].name, "fun");
  EXPECT_EQ(file->symbols[1].type, kElfFunction);
  EXPECT_EQ(file->symbols[1].binding, 1);
  EXPECT_EQ(file->symbols[1].value, 16u);
  EXPECT_EQ(file->symbols[1].size, 32u);
  Result<std::vector<ElfRelocation>> relocations = file->getRelocations(2, "f");
  ASSERT_TRUE(relocations);
  ASSERT_EQ(relocations->size(), 1u);
  EXPECT_EQ(relocations->front().offset, 8u);
  EXPECT_EQ(relocations->front().type, 0x38u);
  EXPECT_EQ(relocations->front().symbol, 1u);
  EXPECT_EQ(relocations->front().addend, 5);
  EXPECT_TRUE(file->getRelocations(1, "f")->empty());
}

TEST_F(ElfTest, NamesWhatIsDamaged) {
  EXPECT_EQ(getFailure(), "none");
  std::string whole = bytes;
  bytes.resize(20);
  EXPECT_EQ(getFailure(),
            "f: damaged ELF file: it ends in the header, after 20 bytes");
  bytes = whole.substr(0, kHeaders + 3 * 64);
  EXPECT_EQ(getFailure(), "f: damaged ELF file: 5 section headers at offset "
                          "256 do not fit into 448 bytes");
  bytes = whole;
  putSection(2, 1, 1, 0x60, 0x10000, 0, 0);
  EXPECT_EQ(getFailure(), "f: damaged ELF file: section 2 has 65536 bytes at "
                          "offset 96, but the file has 576 bytes");
  bytes = whole;
  putSection(3, 900, kElfSymbolTable, 0x80, 48, 1, 0);
  EXPECT_EQ(getFailure(), "f: damaged ELF file: section 3 has no name");
  bytes = whole;
  putSection(3, 0, kElfSymbolTable, 0x80, 48, 77, 0);
  EXPECT_EQ(getFailure(),
            "f: damaged ELF file: the names of symbols are in section 77 of 5");
  bytes = whole;
  put<uint64_t>(0xC8, uint64_t(9) << 32);
  EXPECT_EQ(ElfFile::parse(bytes, "f")->getRelocations(2, "f").error().message,
            "f: damaged ELF file: relocation 0 of section .rel has symbol 9 "
            "of 2");
  EXPECT_EQ(ElfFile::parse("text", "f").error().message, "f: no ELF file");
  bytes = whole;
  bytes[4] = 1;
  EXPECT_EQ(getFailure(), "f: ELF file is not 64-bit little-endian");
}
