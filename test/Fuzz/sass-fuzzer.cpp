// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes either are refused as an ELF file and as nvdisasm's JSON or are
// read, and what was read can be printed and asked for its registers. No tool
// is run: what the fuzzer reaches of a cubin are its sections.

#include "d2k/Frontend/SASS/Module.h"
#include "d2k/Support/Elf.h"

#include <cstdint>
#include <string_view>

using namespace d2k;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (isElf(bytes)) {
    if (Result<ElfFile> file = ElfFile::parse(bytes, "input"))
      for (size_t i = 0; i < file->sections.size(); ++i)
        (void)file->getRelocations(i, "input");
    (void)sass::readImageSections({"input", {}, std::string(bytes)});
    return 0;
  }
  Result<sass::Module> module = sass::readNvdisasmJson(bytes, "input");
  if (!module)
    return 0;
  for (const sass::Function &function : module->functions)
    for (const sass::Instruction &instruction : function.instructions) {
      (void)instruction.print();
      (void)sass::getReads(instruction);
      (void)sass::getWrites(instruction);
    }
  return 0;
}
