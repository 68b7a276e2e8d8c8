// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Basic blocks and the edges between them.

#include "ModuleBuilder.h"

#include <algorithm>
#include <cassert>

using namespace d2k::sass;

static bool startsSubroutine(const Function &function, uint32_t offset) {
  return std::any_of(function.subroutines.begin(), function.subroutines.end(),
                     [&](const Subroutine &subroutine) {
                       return subroutine.offset == offset;
                     });
}

/// The place that \p target names, if it is an offset.
static std::optional<uint32_t> getOffset(const Operand *target) {
  if (!target || target->integer < 0 || target->integer > int64_t(UINT32_MAX))
    return std::nullopt;
  return uint32_t(target->integer);
}

/// The part of the section that \p offset is in: 0 for the function itself, an
/// odd number for a subroutine, an even one for what is behind a subroutine and
/// has no symbol: ptxas clones subroutines and names the original only.
static size_t getPart(const Function &function, uint32_t offset) {
  auto next = std::upper_bound(
      function.subroutines.begin(), function.subroutines.end(), offset,
      [](uint32_t wanted, const Subroutine &subroutine) {
        return wanted < subroutine.offset;
      });
  if (next == function.subroutines.begin())
    return 0;
  size_t number = size_t(next - function.subroutines.begin());
  const Subroutine &last = *std::prev(next);
  return 2 * number - (offset - last.offset < last.length ? 1 : 0);
}

bool Function::isJump(const Instruction &instruction) const {
  std::optional<uint32_t> offset = getOffset(instruction.getTarget());
  return instruction.getClass() == OpcodeClass::Call &&
         instruction.has("NOINC") && instruction.operands.size() == 1 &&
         offset && *offset != 0 && !startsSubroutine(*this, *offset) &&
         getPart(*this, *offset) == getPart(*this, instruction.offset) &&
         findInstruction(*offset).has_value();
}

/// Whether control may go on behind \p instruction.
static bool fallsThrough(const Function &function,
                         const Instruction &instruction) {
  switch (instruction.getClass()) {
  case OpcodeClass::Call:
    return instruction.guard || !function.isJump(instruction);
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
  case OpcodeClass::Return:
  case OpcodeClass::Exit:
    return true;
  case OpcodeClass::Call:
    // Calls through a register do not, in nvdisasm's graph.
    return instruction.operands.size() == 1 && instruction.getTarget();
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
    // Whatever names a place (BRA, BSSY, LEPC, WARPSYNC) begins a block there.
    bool leaves =
        opcodeClass == OpcodeClass::Return ||
        (opcodeClass == OpcodeClass::Call && !function.isJump(instruction));
    std::optional<uint32_t> place = getOffset(target);
    // A call of what has no symbol begins a block of its own.
    if (target && leaves && opcodeClass == OpcodeClass::Call && place)
      mark(*place);
    // `MOV R20, 32@lo((kernel + .L_x_15@srel))`: a return address.
    for (const Operand &operand : instruction.operands)
      if (operand.kind == OperandKind::Symbol && operand.name == function.name)
        if (std::optional<uint32_t> own = getOffset(&operand))
          mark(*own);
    if (target && !leaves && (!place || !mark(*place)))
      module.remarks.push_back(
          {function.name, instruction.offset,
           "target outside the function: " + instruction.print()});
    if (opcodeClass == OpcodeClass::IndirectBranch) {
      // nvdisasm gives it a label, because the list of targets names it.
      isLeader[i] = true;
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
    if (last.getClass() == OpcodeClass::Branch || function.isJump(last)) {
      std::optional<uint32_t> place = getOffset(last.getTarget());
      if (place && !last.neverExecutes())
        addOffset(*place, EdgeKind::Branch);
    } else if (last.getClass() == OpcodeClass::IndirectBranch) {
      auto found = function.info.indirectTargets.find(last.offset);
      if (found != function.info.indirectTargets.end())
        for (uint32_t offset : found->second)
          addOffset(offset, EdgeKind::Indirect);
    }
    if (fallsThrough(function, last) && i + 1 < function.blocks.size() &&
        !startsSubroutine(function,
                          instructions[function.blocks[i + 1].first].offset))
      add(i + 1, EdgeKind::FallThrough);
  }
}

const Function *Module::findFunction(std::string_view name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}
