// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the readers of cubins and of nvdisasm's JSON share: turning the text of
// instructions into a module, and cutting functions into blocks.

#ifndef D2K_LIB_FRONTEND_SASS_MODULEBUILDER_H
#define D2K_LIB_FRONTEND_SASS_MODULEBUILDER_H

#include "d2k/Frontend/SASS/Module.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace d2k::sass {

/// Reads instructions into a module. Remarks about what the table does not
/// know go to the module, one a mnemonic.
class InstructionReader {
public:
  explicit InstructionReader(Module &module) : module(module) {}

  /// The instruction with the parts that nvdisasm prints: guard (`@!P0` or
  /// empty), mnemonic and operands. Widths and accesses are set; the operands
  /// of \p encoding that the text omits are added.
  Instruction read(std::string_view function, uint32_t offset,
                   std::string_view guard, std::string_view mnemonic,
                   std::string_view operands, std::optional<Encoding> encoding);

private:
  const Mnemonic *getMnemonic(std::string_view text);

  Module &module;
  std::unordered_map<std::string_view, const Mnemonic *> mnemonics;
  std::unordered_set<const Mnemonic *> remarked;
};

/// Cuts \p function into blocks and joins them by edges. Branches to places
/// outside the function are left without edge, with a remark in \p module.
void buildBlocks(Module &module, Function &function);

/// The architecture \p number with the suffix that the compiler's \p options
/// name, if they do: cubins for sm_90 and for sm_90a look alike otherwise.
Target findTarget(unsigned number, std::string_view options);

/// One instruction of nvdisasm's JSON. The views point into the document.
struct TextInstruction {
  std::string_view guard;
  std::string_view mnemonic;
  std::string_view operands;
};

/// One function of nvdisasm's JSON.
struct TextFunction {
  std::string name;
  /// Bytes from the start of the section.
  uint32_t start = 0;
  std::vector<TextInstruction> instructions;
};

/// The document that `nvdisasm -json` prints, with its strings.
struct TextModule {
  std::string disassembler;
  /// Number of the architecture.
  unsigned target = 0;
  /// From .note.nv.tkinfo, when the document has it.
  std::string producer;
  std::string producerOptions;
  std::vector<TextFunction> functions;
};

} // namespace d2k::sass

#endif // D2K_LIB_FRONTEND_SASS_MODULEBUILDER_H
