// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of CUPTI's side works without a GPU: errors of loading, and reading the
// images of modules.

#include "Cuda/Cupti.h"
#include "Cuda/ModuleImages.h"
#include "Cuda/Nvml.h"
#include "Cuda/RangeProfiler.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>

#include <elf.h>

using namespace d2k;
using namespace d2k::runner;

TEST(Cupti, NamesWhatCannotBeLoaded) {
  ::setenv("D2K_CUPTI", "/nonexistent/libcupti.so", 1);
  Result<const Cupti *> cupti = Cupti::load();
  ::unsetenv("D2K_CUPTI");
  ASSERT_FALSE(cupti);
  EXPECT_EQ(cupti.error().kind, FailureKind::Environment);
  EXPECT_NE(cupti.error().message.find("/nonexistent/libcupti.so"),
            std::string::npos);
  EXPECT_NE(cupti.error().message.find("install the CUDA toolkit 13"),
            std::string::npos);
}

TEST(Nvml, NamesWhatCannotBeLoaded) {
  ::setenv("D2K_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
  Result<NvmlDevice> device = NvmlDevice::open("00000000:01:00.0");
  ::unsetenv("D2K_NVML");
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().message.find("/nonexistent/libnvidia-ml.so.1"),
            std::string::npos);
}

TEST(RangeProfiler, ExplainsCounters) {
  EXPECT_EQ(getCounterMeaning("dram_read_bytes"),
            "bytes read from device memory");
  EXPECT_EQ(getCounterMeaning("no_such_counter"), "");
}

/// An ELF file with a section for each name.
static std::string makeElf(const std::vector<std::string> &names) {
  std::string table(1, '\0');
  std::vector<Elf64_Shdr> sections(1);
  auto addSection = [&](const std::string &name, uint32_t type) {
    Elf64_Shdr section = {};
    section.sh_name = uint32_t(table.size());
    section.sh_type = type;
    table += name + '\0';
    sections.push_back(section);
  };
  for (const std::string &name : names)
    addSection(name, SHT_PROGBITS);
  addSection(".shstrtab", SHT_STRTAB);
  sections.back().sh_offset = sizeof(Elf64_Ehdr);
  sections.back().sh_size = table.size();

  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_version = EV_CURRENT;
  header.e_machine = 190; // EM_CUDA
  header.e_ehsize = sizeof(header);
  header.e_shoff = sizeof(header) + table.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = uint16_t(sections.size());
  header.e_shstrndx = uint16_t(sections.size() - 1);
  std::string file(reinterpret_cast<const char *>(&header), sizeof(header));
  file += table;
  file.append(reinterpret_cast<const char *>(sections.data()),
              sections.size() * sizeof(Elf64_Shdr));
  return file;
}

TEST(ModuleImages, ReadsKernelNames) {
  std::string image =
      makeElf({".text._Z6kernelPf", ".nv.info", ".text.d2k_fill", ".text"});
  EXPECT_EQ(readKernelNames(image),
            (std::vector<std::string>{"_Z6kernelPf", "d2k_fill"}));
  EXPECT_TRUE(readKernelNames("").empty());
  EXPECT_TRUE(readKernelNames(std::string_view(image).substr(0, 80)).empty());
  EXPECT_TRUE(readKernelNames(std::string(200, 'x')).empty());
}
