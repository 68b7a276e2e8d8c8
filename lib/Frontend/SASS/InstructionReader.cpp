// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the text of an instruction to its tree.

#include "ModuleBuilder.h"
#include "OperandParser.h"
#include "Signature.h"

using namespace d2k::sass;

const Mnemonic *InstructionReader::getMnemonic(std::string_view text) {
  auto found = mnemonics.find(text);
  if (found != mnemonics.end())
    return found->second;
  Mnemonic &mnemonic = module.mnemonics.emplace_back();
  mnemonic.text = text;
  std::string_view rest = mnemonic.text;
  size_t dot = rest.find('.');
  mnemonic.opcode = findOpcode(rest.substr(0, dot));
  while (dot != std::string_view::npos) {
    rest.remove_prefix(dot + 1);
    dot = rest.find('.');
    mnemonic.modifiers.emplace_back(rest.substr(0, dot));
  }
  mnemonics.emplace(mnemonic.text, &mnemonic);
  return &mnemonic;
}

/// Before sm_90 the text of accesses to global memory omits the descriptor that
/// the encoding has: in bits 32 to 37 of loads, 64 to 69 of stores, atomics and
/// LDGSTS. Bit 91 says that there is one.
static void addHiddenDescriptor(Target target, Instruction &instruction) {
  Opcode opcode = instruction.getOpcode();
  bool isLoad = opcode == Opcode::LD || opcode == Opcode::LDG;
  bool isStore = opcode == Opcode::ST || opcode == Opcode::STG ||
                 opcode == Opcode::ATOM || opcode == Opcode::ATOMG ||
                 opcode == Opcode::RED || opcode == Opcode::LDGSTS;
  if (target.number >= 90 || (!isLoad && !isStore) || !instruction.encoding ||
      instruction.encoding->getBits(91, 1) == 0)
    return;
  for (Operand &operand : instruction.operands)
    if (operand.kind == OperandKind::Memory && operand.address.wideBase &&
        !operand.address.descriptor)
      operand.address.descriptor = Register{
          RegisterFile::Uniform,
          uint16_t(instruction.encoding->getBits(isLoad ? 32 : 64, 6))};
}

Instruction InstructionReader::read(std::string_view function, uint32_t offset,
                                    std::string_view guard,
                                    std::string_view mnemonic,
                                    std::string_view operands,
                                    std::optional<Encoding> encoding) {
  Instruction instruction;
  instruction.offset = offset;
  instruction.mnemonic = getMnemonic(mnemonic);
  instruction.operands = parseOperands(operands);
  instruction.encoding = encoding;
  bool understood = true;
  if (guard == "PR" || guard == "UPR") {
    // nvdisasm's JSON takes the predicate set of `P2R R0, PR, RZ, 0x1` for a
    // guard; it belongs behind the register.
    std::vector<Operand> set = parseOperands(guard);
    size_t at = instruction.operands.empty() ? 0 : 1;
    instruction.operands.insert(instruction.operands.begin() + at, set.front());
  } else if (!guard.empty()) {
    instruction.guard = parseGuard(guard);
    understood = instruction.guard.has_value();
  }
  instruction.isModelled = applySignature(instruction) && understood;
  if (!instruction.isModelled && remarked.insert(instruction.mnemonic).second)
    module.remarks.push_back(
        {std::string(function), offset,
         instruction.getOpcode() == Opcode::Unknown
             ? "unknown instruction " + instruction.mnemonic->text
             : "operands that do not fit " + instruction.mnemonic->text + ": " +
                   std::string(operands)});
  addHiddenDescriptor(module.target, instruction);
  return instruction;
}
