// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers, fences, the state of convergence, and what changes the machine
// rather than values.

#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using sass::OperandKind;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

static bool liftBarrier(FunctionLifter &lifter,
                        const Instruction &instruction) {
  Parts parts(instruction);
  kern::BarrierOp::Properties properties;
  std::optional<kern::BarrierAction> action;
  if (instruction.has("RED"))
    action = instruction.has("POPC")  ? kern::BarrierAction::RedPopc
             : instruction.has("AND") ? kern::BarrierAction::RedAnd
             : instruction.has("OR") ? std::optional(kern::BarrierAction::RedOr)
                                     : std::nullopt;
  else if (instruction.has("SYNC"))
    action = kern::BarrierAction::Sync;
  else if (instruction.has("ARV"))
    action = kern::BarrierAction::Arrive;
  if (!action || parts.values.empty() || parts.values.size() > 2)
    return false;
  properties.action = lifter.attr<kern::BarrierActionAttr>(*action);
  SmallVector<Value, 3> inputs = {lifter.integer(*parts.values[0])};
  int32_t hasThreads = parts.values.size() > 1 ? 1 : 0;
  if (hasThreads)
    inputs.push_back(lifter.integer(*parts.values[1]));
  bool isReduction = instruction.has("RED");
  if (isReduction != (parts.predicates.size() == 1))
    return false;
  if (isReduction) {
    const Operand &input = *parts.predicates[0];
    inputs.push_back(lifter.predicate(input));
  }
  SmallVector<Dest, 1> results;
  if (isReduction)
    results.push_back({*action == kern::BarrierAction::RedPopc
                           ? lifter.module.i32
                           : lifter.module.i1,
                       Register()});
  Operation *op = lifter.emit<kern::BarrierOp>(
      properties, {1, hasThreads, isReduction ? 1 : 0}, inputs, results);
  lifter.barrierResult = isReduction ? op->getResult(0) : Value();
  return true;
}

/// B2R.RESULT: what the last BAR.RED of the block found.
static bool liftBarrierResult(FunctionLifter &lifter,
                              const Instruction &instruction) {
  Parts parts(instruction);
  Value result = lifter.barrierResult;
  if (!result || !instruction.has("RESULT") || lifter.isGuarded())
    return false;
  bool isPredicate = result.getType().isInteger(1);
  for (const Operand *operand : parts.written) {
    if (operand->reg.isConstant())
      continue;
    if (operand->reg.isPredicate() != isPredicate)
      return false;
    lifter.assign(operand->reg, result);
  }
  return true;
}

static bool liftClusterBarrier(FunctionLifter &lifter,
                               const Instruction &instruction) {
  kern::ClusterBarrierOp::Properties properties;
  properties.action = lifter.attr<kern::BarrierActionAttr>(
      instruction.getOpcode() == Opcode::UCGABAR_ARV
          ? kern::BarrierAction::Arrive
          : kern::BarrierAction::Wait);
  lifter.emit<kern::ClusterBarrierOp>(properties, {}, {});
  return true;
}

static bool liftWarpSync(FunctionLifter &lifter,
                         const Instruction &instruction) {
  Parts parts(instruction);
  Value mask;
  for (const Operand *operand : parts.values)
    if (operand->isRegister() || operand->kind == OperandKind::Integer)
      mask = lifter.integer(*operand);
  if (!mask) {
    if (!instruction.has("ALL"))
      return false;
    mask = lifter.constant32(0xffffffffu);
  }
  lifter.emit<kern::WarpBarrierOp>({}, {1}, {mask});
  return true;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

static bool liftFence(FunctionLifter &lifter, const Instruction &instruction) {
  kern::FenceOp::Properties properties;
  if (instruction.getOpcode() == Opcode::MEMBAR) {
    properties.kind = lifter.attr<kern::FenceKindAttr>(
        instruction.has("SC") ? kern::FenceKind::Sc : kern::FenceKind::AcqRel);
    std::optional<kern::Scope> scope = getScope(instruction);
    if (!scope)
      return false;
    properties.scope = lifter.attr<kern::ScopeAttr>(scope);
  } else {
    // FENCE.VIEW.ASYNC: between accesses by threads and by other units.
    if (!instruction.has("VIEW") || !instruction.has("ASYNC"))
      return false;
    properties.kind =
        lifter.attr<kern::FenceKindAttr>(kern::FenceKind::ProxyAsync);
    if (instruction.has("S"))
      properties.space = lifter.attr<kern::SpaceAttr>(kern::Space::Shared);
    else if (instruction.has("G"))
      properties.space = lifter.attr<kern::SpaceAttr>(kern::Space::Global);
  }
  lifter.emit<kern::FenceOp>(properties, {0}, {});
  return true;
}

//===----------------------------------------------------------------------===//
// Convergence
//===----------------------------------------------------------------------===//

/// BSSY names where lanes will meet, BSYNC waits there, BREAK takes lanes off
/// the list. None of them branches.
static bool liftConvergence(FunctionLifter &lifter,
                            const Instruction &instruction) {
  Parts parts(instruction);
  kern::ConvergenceOp::Properties properties;
  SmallVector<Value, 2> inputs;
  SmallVector<Dest, 1> results;
  switch (instruction.getOpcode()) {
  case Opcode::BSSY:
    properties.action = lifter.word("open");
    break;
  case Opcode::BSYNC:
    properties.action = lifter.word("close");
    break;
  default:
    properties.action = lifter.word("leave");
    break;
  }
  for (const Operand *operand : parts.read)
    if (operand->isRegister())
      inputs.push_back(operand->reg.isPredicate() ? lifter.predicate(*operand)
                                                  : lifter.plain(*operand));
  for (const Operand *operand : parts.written)
    results.push_back(lifter.to(*operand));
  lifter.emit<kern::ConvergenceOp>(
      properties, {static_cast<int32_t>(inputs.size())}, inputs, results);
  return true;
}

/// BMOV: a convergence register to or from a general one. MACTIVE is the set of
/// active lanes: code that needs whole quads (derivatives of textures) keeps
/// it, turns the other lanes on, and sets it again.
static bool liftConvergenceMove(FunctionLifter &lifter,
                                const Instruction &instruction) {
  Parts parts(instruction);
  bool isActive =
      llvm::any_of(instruction.operands, [](const Operand &operand) {
        return operand.name == "MACTIVE";
      });
  if (isActive && parts.target && instruction.operands.size() == 2) {
    lifter.emit<kern::ActiveMaskOp>({}, {}, {}, {lifter.to(*parts.target)});
    return true;
  }
  if (isActive && instruction.operands.size() == 2 &&
      instruction.operands[1].isRegister()) {
    kern::ConvergenceOp::Properties properties;
    properties.action = lifter.word("close");
    lifter.emit<kern::ConvergenceOp>(properties, {1},
                                     {lifter.plain(instruction.operands[1])});
    return true;
  }
  if (!parts.target || parts.values.size() != 1 ||
      !parts.values[0]->isRegister())
    return false;
  lifter.assign(parts.target->reg, lifter.plain(*parts.values[0]));
  return true;
}

//===----------------------------------------------------------------------===//
// Machine state
//===----------------------------------------------------------------------===//

static bool liftNothing(FunctionLifter &lifter, const Instruction &) {
  lifter.emit<kern::NoEffectOp>({}, {}, {});
  return true;
}

static bool liftTrap(FunctionLifter &lifter, const Instruction &) {
  lifter.emit<kern::TrapOp>({}, {}, {});
  return true;
}

static bool liftSleep(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (parts.values.empty())
    return false;
  lifter.emit<kern::SleepOp>({}, {1}, {lifter.integer(*parts.values.back())});
  return true;
}

static bool liftGridDependency(FunctionLifter &lifter,
                               const Instruction &instruction) {
  kern::GridDependencyOp::Properties properties;
  properties.side = lifter.attr<kern::GridDependencyAttr>(
      instruction.getOpcode() == Opcode::ACQBULK
          ? kern::GridDependency::Wait
          : kern::GridDependency::LaunchDependents);
  lifter.emit<kern::GridDependencyOp>(properties, {}, {});
  return true;
}

/// USETMAXREG: gives registers back, or asks for more and says whether there
/// were enough.
static bool liftSetMaxRegisters(FunctionLifter &lifter,
                                const Instruction &instruction) {
  Parts parts(instruction);
  if (parts.values.size() != 1 || parts.values[0]->kind != OperandKind::Integer)
    return false;
  bool gives = instruction.has("DEALLOC");
  if (!gives && !instruction.has("TRY_ALLOC") && !instruction.has("ALLOC"))
    return false;
  kern::SetMaxRegistersOp::Properties properties;
  properties.action = lifter.attr<kern::RegisterActionAttr>(
      gives ? kern::RegisterAction::Dec : kern::RegisterAction::Inc);
  properties.count = lifter.number(parts.values[0]->integer);
  SmallVector<Dest, 1> results;
  for (const Operand *operand : parts.writtenPredicates)
    results.push_back(lifter.to(*operand));
  lifter.emit<kern::SetMaxRegistersOp>(properties, {}, {}, results);
  return true;
}

LiftFn sasslift::findSync(Opcode opcode) {
  switch (opcode) {
  case Opcode::BAR:
    return liftBarrier;
  case Opcode::B2R:
    return liftBarrierResult;
  case Opcode::UCGABAR_ARV:
  case Opcode::UCGABAR_WAIT:
    return liftClusterBarrier;
  case Opcode::WARPSYNC:
    return liftWarpSync;
  case Opcode::MEMBAR:
  case Opcode::FENCE:
    return liftFence;
  case Opcode::BSSY:
  case Opcode::BSYNC:
  case Opcode::BREAK:
    return liftConvergence;
  case Opcode::BMOV:
    return liftConvergenceMove;
  case Opcode::ERRBAR:
  case Opcode::CGAERRBAR:
  case Opcode::YIELD:
  case Opcode::ENDCOLLECTIVE:
  case Opcode::PMTRIG:
  case Opcode::UVIRTCOUNT:
    return liftNothing;
  case Opcode::BPT:
    return liftTrap;
  case Opcode::NANOSLEEP:
    return liftSleep;
  case Opcode::ACQBULK:
  case Opcode::PREEXIT:
    return liftGridDependency;
  case Opcode::USETMAXREG:
    return liftSetMaxRegisters;
  default:
    return nullptr;
  }
}
