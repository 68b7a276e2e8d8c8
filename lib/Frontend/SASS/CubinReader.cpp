// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a cubin to a module: ELF sections, and the machine code by nvdisasm.
//
// nvdisasm gets the bytes of all code sections in one raw file and not the ELF
// file: with the latter, -json crashes on some relocations (seen with 13.2 on
// calls of functions in other modules) and gives the names of targets instead
// of their offsets. What the ELF file adds (names, relocations) is read here.

#include "CubinInfo.h"
#include "JsonReader.h"

#include "d2k/Frontend/SASS/PreparedDisassembler.h"
#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

#include <algorithm>
#include <cctype>

using namespace d2k;
using namespace d2k::sass;

static constexpr uint32_t kInstructionBytes = 16;
static constexpr std::string_view kTextPrefix = ".text.";

namespace {

/// A code section and where it is in the file for nvdisasm.
struct CodeSection {
  size_t index = 0;
  std::string_view name;
  std::string_view bytes;
  uint32_t start = 0;
};

} // namespace

bool d2k::sass::isCubin(std::string_view bytes) {
  return isElf(bytes) && bytes.size() >= 0x14 &&
         readLittleEndian<uint16_t>(bytes, 0x12) == kElfMachineCuda;
}

/// The first line that says something, without the program's name.
static std::string getFirstLine(std::string_view text) {
  size_t start = text.find_first_not_of(" \n\r");
  if (start == std::string_view::npos)
    return "no message";
  text.remove_prefix(start);
  return std::string(text.substr(0, std::min(text.find('\n'), size_t(300))));
}

/// Runs nvdisasm on raw \p code.
static Result<CommandResult> runDisassembler(const Image &image,
                                             const std::string &code,
                                             const ReadOptions &options) {
  if (options.prepared && options.prepared->getTarget() == image.target)
    if (std::optional<CommandResult> result = options.prepared->finish(code))
      return std::move(*result);
  std::string program = options.nvdisasm;
  if (program.empty()) {
    Result<std::string> found = findCudaTool(CudaTool::Nvdisasm);
    if (!found)
      return forwardFailure(std::move(found));
    program = std::move(*found);
  }
  Result<TemporaryDirectory> directory = TemporaryDirectory::create();
  if (!directory)
    return forwardFailure(std::move(directory));
  std::string path = joinPath(directory->getPath(), "code.bin");
  if (Result<void> written = writeFile(path, code); !written)
    return forwardFailure(std::move(written));
  return runCommand(makeDisassembleCommand(program, image.target, path));
}

/// The document that nvdisasm prints of raw \p code.
static Result<json::Document> disassemble(const Image &image,
                                          const std::string &code,
                                          const ReadOptions &options,
                                          double &seconds) {
  Result<CommandResult> result = runDisassembler(image, code, options);
  if (!result)
    return forwardFailure(std::move(result));
  seconds = result->seconds;
  if (!result->succeeded())
    return fail(FailureKind::Input,
                image.name + ": nvdisasm cannot disassemble the code for " +
                    image.target.getName() + ": " + result->describeEnd() +
                    ": " + getFirstLine(result->error));
  if (result->truncated)
    return fail(FailureKind::Input,
                image.name + ": nvdisasm prints more than 2 GiB: analyse a "
                             "part of the file");
  return json::Document::parse(result->output, image.name + " (nvdisasm)");
}

/// The code sections in the order of the file.
static Result<std::vector<CodeSection>> findCode(const ElfFile &file,
                                                 const std::string &name) {
  std::vector<CodeSection> sections;
  uint64_t start = 0;
  for (size_t i = 0; i < file.sections.size(); ++i) {
    const ElfSection &section = file.sections[i];
    if (section.name.substr(0, kTextPrefix.size()) != kTextPrefix ||
        section.contents.empty())
      continue;
    if (section.contents.size() % kInstructionBytes != 0 ||
        start + section.contents.size() > UINT32_MAX / 2)
      return fail(FailureKind::Input,
                  name + ": section " + std::string(section.name) + " has " +
                      std::to_string(section.contents.size()) +
                      " bytes, which is no number of instructions of 16 bytes "
                      "below 2 GiB");
    sections.push_back({i, section.name.substr(kTextPrefix.size()),
                        section.contents, uint32_t(start)});
    start += section.contents.size();
  }
  return sections;
}

/// Names in place of the numbers that the linker or the loader fills in.
static Result<void> applyRelocations(const ElfFile &file,
                                     const CodeSection &code, Module &module,
                                     Function &function) {
  Result<std::vector<ElfRelocation>> relocations =
      file.getRelocations(code.index, module.name);
  if (!relocations)
    return forwardFailure(std::move(relocations));
  // R_CUDA_ABS32_LO_32 and R_CUDA_ABS32_HI_32 in the immediate field.
  constexpr uint32_t kLow = 0x38, kHigh = 0x39;
  for (const ElfRelocation &relocation : *relocations) {
    std::optional<uint32_t> index = function.findInstruction(
        uint32_t(relocation.offset) & ~(kInstructionBytes - 1));
    const ElfSymbol &symbol = file.symbols[relocation.symbol];
    Operand *place = nullptr;
    if (index)
      for (Operand &operand : function.instructions[*index].operands)
        if (operand.kind == OperandKind::Integer ||
            operand.kind == OperandKind::Target)
          place = &operand;
    if (!place) {
      module.remarks.push_back(
          {function.name, uint32_t(relocation.offset),
           "relocation of type " + std::to_string(relocation.type) + " by " +
               std::string(symbol.name) + " fits no operand"});
      continue;
    }
    place->name = symbol.name;
    if (place->kind == OperandKind::Target) {
      place->integer = symbol.section == code.index
                           ? int64_t(symbol.value + uint64_t(relocation.addend))
                           : -1;
      continue;
    }
    place->kind = OperandKind::Symbol;
    place->integer = relocation.addend;
    if (relocation.type == kLow || relocation.type == kHigh)
      place->suffixes.push_back(relocation.type == kLow ? "lo" : "hi");
  }
  return {};
}

/// Finds the subroutines in the section and whether the function is a kernel.
static void readSymbols(const ElfFile &file, const CodeSection &code,
                        Function &function) {
  // st_other of a kernel (STO_CUDA_ENTRY).
  constexpr uint8_t kEntry = 0x10;
  for (const ElfSymbol &symbol : file.symbols) {
    if (symbol.section != code.index || symbol.type != kElfFunction)
      continue;
    if (symbol.name == code.name)
      function.isKernel = (symbol.other & kEntry) != 0;
    else if (symbol.value < code.bytes.size())
      function.subroutines.push_back({std::string(symbol.name),
                                      uint32_t(symbol.value),
                                      uint32_t(symbol.size)});
  }
  std::sort(function.subroutines.begin(), function.subroutines.end(),
            [](const Subroutine &a, const Subroutine &b) {
              return std::pair(a.offset, a.name) < std::pair(b.offset, b.name);
            });
}

/// The parsed file and the module with all but its code.
static Result<Module> readSections(const Image &image, const ElfFile &file,
                                   const std::vector<CodeSection> &sections) {
  Module module;
  module.name = image.name;
  CompilerNote note = readCompilerNote(file);
  module.producer = note.version;
  module.producerOptions = note.options;
  module.target = readTarget(file, note);
  if (!isSupported(module.target))
    return fail(FailureKind::Input,
                image.name + ": cubin for " + module.target.getName() +
                    ", which this version does not know: compile for one of "
                    "sm_80 to sm_121");
  Result<std::map<uint32_t, std::string>> table =
      readAddressTable(file, image.name);
  if (!table)
    return forwardFailure(std::move(table));
  module.addressTable = std::move(*table);
  if (Result<DebugLines> lines = readDebugLines(image.bytes, image.name))
    module.lines = std::move(*lines);
  else
    module.remarks.push_back({"", 0, lines.error().message});
  for (const CodeSection &section : sections) {
    Function &function = module.functions.emplace_back();
    function.name = section.name;
    readSymbols(file, section, function);
    function.info = readFunctionInfo(file, section.index, module.target);
  }
  return module;
}

/// Reads the instructions of \p section into \p function; \p next is the text
/// of its first one.
static Result<void> readCode(const ElfFile &file, const CodeSection &section,
                             const TextInstruction *next,
                             InstructionReader &reader, Module &module,
                             Function &function) {
  uint32_t size = uint32_t(section.bytes.size());
  function.instructions.reserve(size / kInstructionBytes);
  for (uint32_t offset = 0; offset < size;
       offset += kInstructionBytes, ++next) {
    Encoding encoding = {readLittleEndian<uint64_t>(section.bytes, offset),
                         readLittleEndian<uint64_t>(section.bytes, offset + 8)};
    Instruction instruction =
        reader.read(function.name, offset, next->guard, next->mnemonic,
                    next->operands, encoding);
    // Targets count from the start of the raw file.
    for (Operand &operand : instruction.operands)
      if (operand.kind == OperandKind::Target)
        operand.integer -= section.start;
    function.instructions.push_back(std::move(instruction));
  }
  Result<void> applied = applyRelocations(file, section, module, function);
  if (applied)
    buildBlocks(module, function);
  return applied;
}

/// Parses the file and finds its code.
static Result<ElfFile> parseCubin(const Image &image,
                                  std::vector<CodeSection> &sections) {
  Result<ElfFile> file = ElfFile::parse(image.bytes, image.name);
  if (!file)
    return file;
  if (file->machine != kElfMachineCuda)
    return fail(FailureKind::Input, image.name + ": ELF file for machine " +
                                        std::to_string(file->machine) +
                                        ", not for CUDA (" +
                                        std::to_string(kElfMachineCuda) + ")");
  Result<std::vector<CodeSection>> code = findCode(*file, image.name);
  if (!code)
    return forwardFailure(std::move(code));
  sections = std::move(*code);
  return file;
}

Result<Module> d2k::sass::readImageSections(const Image &image) {
  std::vector<CodeSection> sections;
  Result<ElfFile> file = parseCubin(image, sections);
  if (!file)
    return forwardFailure(std::move(file));
  return readSections(image, *file, sections);
}

Result<Module> d2k::sass::readImage(const Image &image,
                                    const ReadOptions &options) {
  std::vector<CodeSection> sections;
  Result<ElfFile> file = parseCubin(image, sections);
  if (!file)
    return forwardFailure(std::move(file));
  Result<Module> module = readSections(image, *file, sections);
  std::string code;
  for (const CodeSection &section : sections)
    code += section.bytes;
  if (!module || code.empty())
    return module;

  Result<json::Document> document =
      disassemble({image.name, module->target, {}}, code, options,
                  module->disassemblySeconds);
  if (!document)
    return forwardFailure(std::move(document));
  Result<TextModule> text = readDocument(*document);
  if (!text)
    return forwardFailure(std::move(text));
  module->disassembler = text->disassembler;
  size_t number = 0;
  for (const TextFunction &function : text->functions)
    number += function.instructions.size();
  if (text->functions.size() != 1 || number != code.size() / kInstructionBytes)
    return fail(FailureKind::Input,
                image.name + ": nvdisasm gives " + std::to_string(number) +
                    " instructions of " +
                    std::to_string(code.size() / kInstructionBytes) +
                    ": the file is damaged or for another version");

  InstructionReader reader(*module);
  const TextInstruction *first = text->functions.front().instructions.data();
  for (size_t i = 0; i < sections.size(); ++i)
    if (Result<void> read = readCode(
            *file, sections[i], first + sections[i].start / kInstructionBytes,
            reader, *module, module->functions[i]);
        !read)
      return forwardFailure(std::move(read));
  return module;
}
