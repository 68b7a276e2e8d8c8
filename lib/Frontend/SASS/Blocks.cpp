// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Basic blocks and the edges between them.

#include "ModuleBuilder.h"

#include <algorithm>
#include <cassert>

using namespace d2k::sass;

/// Whether control may go on behind \p instruction.
static bool fallsThrough(const Instruction &instruction) {
  switch (instruction.getClass()) {
  case OpcodeClass::Branch:
    // Besides the guard a branch may have conditions of its own: `BRA.U !UP0`,
    // `BRA.DIV UR4`.
    return instruction.guard || instruction.operands.size() > 1;
  case OpcodeClass::IndirectBranch:
  case OpcodeClass::Return:
  case OpcodeClass::Exit:
    return instruction.guard.has_value();
  default:
    return true;
  }
}

/// Whether a block ends behind \p instruction.
static bool endsBlock(const Instruction &instruction) {
  switch (instruction.getClass()) {
  case OpcodeClass::Branch:
  case OpcodeClass::IndirectBranch:
  case OpcodeClass::Call:
  case OpcodeClass::Return:
  case OpcodeClass::Exit:
    return true;
  default:
    return false;
  }
}

std::optional<uint32_t> Function::findInstruction(uint32_t offset) const {
  auto found =
      std::lower_bound(instructions.begin(), instructions.end(), offset,
                       [](const Instruction &instruction, uint32_t wanted) {
                         return instruction.offset < wanted;
                       });
  if (found == instructions.end() || found->offset != offset)
    return std::nullopt;
  return uint32_t(found - instructions.begin());
}

uint32_t Function::getBlockOf(uint32_t index) const {
  assert(index < instructions.size() && "no such instruction");
  auto next = std::upper_bound(
      blocks.begin(), blocks.end(), index,
      [](uint32_t wanted, const Block &block) { return wanted < block.first; });
  return uint32_t(next - blocks.begin()) - 1;
}

void d2k::sass::buildBlocks(Module &module, Function &function) {
  const std::vector<Instruction> &instructions = function.instructions;
  function.blocks.clear();
  if (instructions.empty())
    return;

  std::vector<bool> isLeader(instructions.size(), false);
  isLeader[0] = true;
  auto mark = [&](uint32_t offset) {
    std::optional<uint32_t> index = function.findInstruction(offset);
    if (index)
      isLeader[*index] = true;
    return index.has_value();
  };
  for (const Subroutine &subroutine : function.subroutines)
    mark(subroutine.offset);
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction &instruction = instructions[i];
    if (endsBlock(instruction) && i + 1 < instructions.size())
      isLeader[i + 1] = true;
    const Operand *target = instruction.getTarget();
    OpcodeClass opcodeClass = instruction.getClass();
    if (target &&
        (opcodeClass == OpcodeClass::Branch ||
         opcodeClass == OpcodeClass::Convergence) &&
        (target->integer < 0 || !mark(uint32_t(target->integer))))
      module.remarks.push_back(
          {function.name, instruction.offset,
           "target outside the function: " + instruction.print()});
    if (opcodeClass == OpcodeClass::IndirectBranch) {
      auto found = function.info.indirectTargets.find(instruction.offset);
      if (found == function.info.indirectTargets.end())
        module.remarks.push_back(
            {function.name, instruction.offset,
             "indirect branch with unknown targets: " + instruction.print()});
      else
        for (uint32_t offset : found->second)
          mark(offset);
    }
  }

  for (uint32_t i = 0; i < instructions.size(); ++i) {
    if (isLeader[i])
      function.blocks.push_back({i, i, {}});
    function.blocks.back().last = i + 1;
  }

  for (uint32_t i = 0; i < function.blocks.size(); ++i) {
    Block &block = function.blocks[i];
    auto add = [&](uint32_t target, EdgeKind kind) {
      for (const Edge &edge : block.successors)
        if (edge.target == target)
          return;
      block.successors.push_back({target, kind});
    };
    auto addOffset = [&](uint32_t offset, EdgeKind kind) {
      if (std::optional<uint32_t> index = function.findInstruction(offset))
        add(function.getBlockOf(*index), kind);
    };
    const Instruction &last = instructions[block.last - 1];
    if (last.getClass() == OpcodeClass::Branch) {
      const Operand *target = last.getTarget();
      if (target && target->integer >= 0 && !last.neverExecutes())
        addOffset(uint32_t(target->integer), EdgeKind::Branch);
    } else if (last.getClass() == OpcodeClass::IndirectBranch) {
      auto found = function.info.indirectTargets.find(last.offset);
      if (found != function.info.indirectTargets.end())
        for (uint32_t offset : found->second)
          addOffset(offset, EdgeKind::Indirect);
    }
    if (fallsThrough(last) && i + 1 < function.blocks.size())
      add(i + 1, EdgeKind::FallThrough);
  }
}

const Function *Module::findFunction(std::string_view name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}
