// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textures and surfaces. The actions are the words of PTX: fetches of all kinds
// are `tex`.

#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using sass::OperandKind;

static llvm::StringRef getAction(Opcode opcode) {
  switch (opcode) {
  case Opcode::TLD4:
    return "tld4";
  case Opcode::TXQ:
    return "txq";
  case Opcode::SULD:
    return "suld";
  case Opcode::SUST:
    return "sust";
  case Opcode::SURED:
    return "sured";
  default:
    return "tex";
  }
}

/// The handle that stands in constant bank 0, as sm_80 to sm_89 name it: bank
/// and index of the word.
static std::optional<int64_t> findHandle(const Instruction &instruction) {
  const std::vector<Operand> &operands = instruction.operands;
  for (size_t i = 0; i + 1 < operands.size(); ++i) {
    if (operands[i].kind == OperandKind::Register &&
        operands[i].reg.file == sass::RegisterFile::Uniform)
      return std::nullopt;
    if (operands[i].kind == OperandKind::Integer &&
        operands[i + 1].kind == OperandKind::Integer &&
        operands[i].integer == 0)
      return 4 * operands[i + 1].integer;
  }
  return std::nullopt;
}

/// Everything that is read decides what is accessed, or is stored.
static bool liftTexture(FunctionLifter &lifter,
                        const Instruction &instruction) {
  SmallVector<Value, 12> inputs;
  SmallVector<Dest, 5> results;
  if (std::optional<int64_t> handle = findHandle(instruction))
    inputs.push_back(lifter.constantBank(0, *handle, 64));
  for (const sass::RegisterAccess &access : sass::getAccesses(instruction)) {
    if (access.operand == sass::RegisterAccess::kGuard)
      continue;
    for (unsigned i = 0; i < access.count; ++i) {
      Register reg = access.first.getNext(i);
      if (access.access == sass::Access::Read)
        inputs.push_back(lifter.read(reg));
      else if (!reg.isConstant())
        results.push_back(lifter.to(reg));
    }
  }
  kern::TextureOp::Properties properties;
  properties.action = lifter.word(getAction(instruction.getOpcode()));
  lifter.emit<kern::TextureOp>(
      properties, {static_cast<int32_t>(inputs.size())}, inputs, results);
  return true;
}

LiftFn sasslift::findTexture(Opcode opcode) {
  switch (sass::getClass(opcode)) {
  case sass::OpcodeClass::Texture:
  case sass::OpcodeClass::Surface:
    return liftTexture;
  default:
    return nullptr;
  }
}
