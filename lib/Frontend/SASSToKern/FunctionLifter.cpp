// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One routine: its blocks, what they read and write, calls, and the end of each
// block. Operands are in FunctionOperands.cpp, values in FunctionValues.cpp.

#include "Lifter.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using sass::OpcodeClass;
using sass::RegisterSet;

/// Sizes of the register files, and where each begins among the variables.
static constexpr uint32_t kNumGeneral = 256, kNumUniform = 256, kNumBits = 8,
                          kNumConvergence = 16;
static constexpr uint32_t kFirstUniform = kNumGeneral,
                          kFirstPredicate = kFirstUniform + kNumUniform,
                          kFirstUniformPredicate = kFirstPredicate + kNumBits,
                          kFirstConvergence = kFirstUniformPredicate + kNumBits,
                          kNumVariables = kFirstConvergence + kNumConvergence;

uint32_t FunctionLifter::variableOf(Register reg) {
  switch (reg.file) {
  case RegisterFile::General:
    return std::min<uint32_t>(reg.index, kNumGeneral - 1);
  case RegisterFile::Uniform:
    return kFirstUniform + std::min<uint32_t>(reg.index, kNumUniform - 1);
  case RegisterFile::Predicate:
    return kFirstPredicate + std::min<uint32_t>(reg.index, kNumBits - 1);
  case RegisterFile::UniformPredicate:
    return kFirstUniformPredicate + std::min<uint32_t>(reg.index, kNumBits - 1);
  case RegisterFile::Convergence:
    return kFirstConvergence +
           std::min<uint32_t>(reg.index, kNumConvergence - 1);
  }
  llvm_unreachable("no such register file");
}

FunctionLifter::FunctionLifter(ModuleLifter &module, const Routine &routine)
    : module(module), routine(routine), function(*routine.function),
      info(module.getInfo(*routine.function)),
      ssa(kern::FuncOp(routine.op), module.statistics),
      loc(kern::FuncOp(routine.op).getLoc()) {
  for (uint32_t i = 0; i < kNumVariables; ++i)
    ssa.addVariable(i >= kFirstPredicate && i < kFirstConvergence ? module.i1
                                                                  : module.i32);
}

LogicalResult FunctionLifter::run() {
  if (!routine.isKernel) {
    for (Register reg : routine.reads.getMembers())
      argumentRegisters.push_back(reg);
    for (Register reg : routine.writes.getMembers())
      returnRegisters.push_back(reg);
  }
  for (uint32_t index : routine.blocks) {
    const sass::Block &block = function.blocks[index];
    module.statistics.instructions += block.last - block.first;
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Instruction &instruction = function.instructions[i];
      hasCopyGroups |= instruction.getClass() == OpcodeClass::AsyncCommit;
      hasBulkGroups |= instruction.getClass() == OpcodeClass::BulkCommit;
      // Which halves of a 64-bit parameter are read one by one.
      for (const Operand &operand : instruction.operands)
        if (operand.kind == sass::OperandKind::Constant &&
            operand.address.bank == 0u)
          readHalves.insert(static_cast<uint32_t>(operand.address.offset));
    }
  }
  findBlocks();
  FlowGraph graph(successors, entry);
  AccessScan scan(ssa.getNumVariables());
  scanBlocks(graph, scan);
  if (failed(ssa.prepare(graph, entry, scan.getAccesses())))
    return failure();
  makeArguments();
  ssa.walk(graph, entry, [&](uint32_t index) { liftBlock(index); });
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

uint32_t FunctionLifter::addBlock(Exit exit, const Instruction *control) {
  BasicBlock added;
  added.exit = exit;
  added.control = control;
  blocks.push_back(added);
  successors.emplace_back();
  return static_cast<uint32_t>(blocks.size() - 1);
}

uint32_t FunctionLifter::getExitBlock(Exit exit, const Instruction *control) {
  uint32_t &shared = exit == Exit::Return ? returnBlock
                     : exit == Exit::Exit ? exitBlock
                                          : nowhereBlock;
  if (shared == ~0u)
    shared = addBlock(exit, control);
  return shared;
}

/// Whether the instruction ends the thread, the routine, or the block, as far
/// as its guard and predicate operands allow.
bool FunctionLifter::isControl(const Instruction &instruction) const {
  switch (instruction.getClass()) {
  case OpcodeClass::Branch:
  case OpcodeClass::IndirectBranch:
  case OpcodeClass::Return:
  case OpcodeClass::Exit:
    return !instruction.neverExecutes();
  case OpcodeClass::Call:
    return !module.isCall(instruction) && !instruction.neverExecutes();
  default:
    return false;
  }
}

/// Whether a condition of the instruction is more than constantly true.
static bool isConditional(const Instruction &instruction) {
  if (instruction.guard && !instruction.guard->predicate.isConstant())
    return true;
  for (const Operand &operand : instruction.operands)
    if (operand.isRegister() && operand.reads() && operand.reg.isPredicate() &&
        (!operand.reg.isConstant() || operand.inverted))
      return true;
  // Branch when the active lanes are not those of a mask.
  return instruction.has("DIV") || instruction.has("CONV");
}

/// Whether a block runs an instruction of the uniform datapath for one lane
/// after the other, until each active lane had its turn: what ptxas makes of
/// one that threads issue of which it does not know that they are one. For each
/// of the threads it runs once.
static bool takesTurns(llvm::ArrayRef<Instruction> block) {
  const Instruction &last = block.back();
  return block.front().getOpcode() == Opcode::ELECT && last.has("U") &&
         last.has("ANY");
}

void FunctionLifter::findBlocks() {
  llvm::DenseMap<uint32_t, uint32_t> numbers;
  for (uint32_t index : routine.blocks) {
    numbers[index] = addBlock(Exit::Jump, nullptr);
    BasicBlock &block = blocks.back();
    block.first = function.blocks[index].first;
    block.last = function.blocks[index].last;
  }
  for (uint32_t index : routine.blocks) {
    uint32_t number = numbers[index];
    const sass::Block &from = function.blocks[index];
    SmallVector<uint32_t, 2> taken;
    uint32_t next = ~0u;
    for (const sass::Edge &edge : function.blocks[index].successors) {
      if (edge.kind == sass::EdgeKind::FallThrough)
        next = numbers[edge.target];
      else
        taken.push_back(numbers[edge.target]);
    }
    const Instruction *last = from.first == from.last
                                  ? nullptr
                                  : &function.instructions[from.last - 1];
    if (!last || !isControl(*last)) {
      if (next == ~0u)
        next = getExitBlock(Exit::Nowhere, nullptr);
      successors[number] = {next};
      continue;
    }
    blocks[number].last = from.last - 1;
    blocks[number].control = last;
    Exit exit = Exit::Jump;
    if (next != ~0u && taken.size() == 1 && taken.front() == number &&
        takesTurns(llvm::ArrayRef(function.instructions)
                       .slice(from.first, from.last - from.first))) {
      successors[number] = {next};
      continue;
    }
    switch (last->getClass()) {
    case OpcodeClass::IndirectBranch:
      exit = taken.empty() ? Exit::Nowhere : Exit::Switch;
      break;
    case OpcodeClass::Return:
      exit = Exit::Return;
      break;
    case OpcodeClass::Exit:
      exit = Exit::Exit;
      break;
    default:
      break;
    }
    if (!isConditional(*last)) {
      blocks[number].exit = exit;
      if (exit == Exit::Jump && taken.empty())
        taken.push_back(next != ~0u ? next
                                    : getExitBlock(Exit::Nowhere, nullptr));
      if (exit == Exit::Jump || exit == Exit::Switch)
        successors[number] = taken;
      continue;
    }
    // What the condition allows moves to a block of its own, but for a branch.
    uint32_t target;
    if (exit == Exit::Jump) {
      target = taken.empty() ? next : taken.front();
    } else if (exit == Exit::Switch) {
      target = addBlock(exit, last);
      successors[target] = taken;
    } else {
      target = getExitBlock(exit, last);
    }
    if (next == ~0u)
      next = getExitBlock(Exit::Nowhere, nullptr);
    blocks[number].exit = target == next ? Exit::Jump : Exit::Conditional;
    successors[number] = {target};
    if (target != next)
      successors[number].push_back(next);
  }

  // The entry of an MLIR region has no predecessors.
  entry = numbers[routine.entry];
  bool isEntryTarget = false;
  for (const auto &list : successors)
    isEntryTarget |= llvm::is_contained(list, entry);
  if (isEntryTarget) {
    uint32_t first = entry;
    entry = addBlock(Exit::Jump, nullptr);
    successors[entry] = {first};
  }
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

void FunctionLifter::scanBlocks(const FlowGraph &graph, AccessScan &scan) {
  auto visit = [&](const Instruction &instruction) {
    if (instruction.neverExecutes())
      return;
    RegisterSet reads = sass::getReads(instruction);
    RegisterSet writes = sass::getWrites(instruction);
    if (module.isCall(instruction)) {
      RegisterSet calleeReads, calleeWrites;
      module.getCallAccesses(function, instruction, calleeReads, calleeWrites);
      reads.unite(calleeReads);
      writes.unite(calleeWrites);
    }
    // A guarded instruction keeps the old value where the guard is off; R2P
    // keeps the predicates that its mask leaves out.
    if (instruction.guard || instruction.getOpcode() == Opcode::R2P ||
        instruction.getOpcode() == Opcode::UR2UP)
      reads.unite(writes);
    for (Register reg : reads.getMembers())
      scan.read(variableOf(reg));
    for (Register reg : writes.getMembers())
      scan.write(variableOf(reg));
  };
  for (uint32_t index : graph.reversePostOrder()) {
    const BasicBlock &block = blocks[index];
    scan.enter(index);
    if (index == entry)
      for (Register reg : argumentRegisters)
        scan.write(variableOf(reg));
    for (uint32_t i = block.first; i < block.last; ++i)
      visit(function.instructions[i]);
    if (block.control)
      visit(*block.control);
    if (block.exit == Exit::Return)
      for (Register reg : returnRegisters)
        scan.read(variableOf(reg));
  }
}

void FunctionLifter::makeArguments() {
  mlir::Block *block = ssa.getEntryBlock();
  kern::FuncOp op = routine.op;
  for (auto [i, type] : llvm::enumerate(op.getArgumentTypes())) {
    Value argument = block->addArgument(type, op.getLoc());
    if (i < argumentRegisters.size())
      ssa.write(variableOf(argumentRegisters[i]), argument);
  }
}

Value FunctionLifter::read(Register reg) {
  if (reg.isConstant())
    return reg.isPredicate() ? constant(1, module.i1) : constant32(0);
  Value value = ssa.read(variableOf(reg));
  // Where the guard lets the instruction run, what was chosen by the same
  // predicate is known.
  if (guard)
    if (auto choice = value.getDefiningOp<kern::SelectOp>();
        choice && !choice.getGuard() && choice.getCondition() == guard)
      return guardInverted ? choice.getFalseValue() : choice.getTrueValue();
  return value;
}

Operation *FunctionLifter::create(OperationName name, TypeRange types,
                                  ValueRange operands, void *properties) {
  Operation *created = Operation::create(
      loc, name, types, operands, module.noAttributes,
      mlir::OpaqueProperties(properties), BlockRange(), /*numRegions=*/0);
  ssa.append(created);
  return created;
}

Value FunctionLifter::oldValue(const Dest &result) {
  if (result.reg.isConstant())
    return ssa.undefined(result.type);
  return readBefore(result.reg, result.type.getWidth());
}

Value FunctionLifter::readBefore(Register reg, unsigned bits) {
  Value only = std::exchange(guard, Value());
  Value value = bits == 64 ? readWide(reg) : read(reg);
  guard = only;
  return value;
}

void FunctionLifter::unpackTo(Register low, Value value) {
  unsigned count = value.getType().getIntOrFloatBitWidth() / 32;
  if (std::optional<uint64_t> number = getConstant(value)) {
    for (unsigned i = 0; i < count; ++i)
      ssa.write(variableOf(low.getNext(i)), constant32(*number >> (32 * i)));
    return;
  }
  if (auto pack = value.getDefiningOp<kern::PackOp>();
      pack && pack.getInputs().size() == count) {
    for (auto [i, half] : llvm::enumerate(pack.getInputs()))
      ssa.write(variableOf(low.getNext(i)), half);
    return;
  }
  SmallVector<Type, 4> types(count, module.i32);
  Operation *parts = pure<kern::UnpackOp>({}, {value}, types, {1});
  for (unsigned i = 0; i < count; ++i)
    ssa.write(variableOf(low.getNext(i)), parts->getResult(i));
}

void FunctionLifter::assign(Register reg, Value value) {
  if (reg.isConstant())
    return;
  if (guard) {
    Value old = readBefore(reg);
    kern::SelectOp::Properties properties;
    properties.type =
        type(reg.isPredicate() ? ElementType::Pred : ElementType::B32);
    value = pure<kern::SelectOp>(properties,
                                 {guard, guardInverted ? old : value,
                                  guardInverted ? value : old},
                                 {value.getType()}, {1, 1, 1})
                ->getResult(0);
  }
  ssa.write(variableOf(reg), value);
}

void FunctionLifter::assignWide(Register low, Value value) {
  if (low.isConstant())
    return;
  if (guard) {
    Value old = readBefore(low, 64);
    kern::SelectOp::Properties properties;
    properties.type = type(ElementType::B64);
    value = pure<kern::SelectOp>(properties,
                                 {guard, guardInverted ? old : value,
                                  guardInverted ? value : old},
                                 {value.getType()}, {1, 1, 1})
                ->getResult(0);
  }
  unpackTo(low, value);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void FunctionLifter::liftInstruction(const Instruction &instruction) {
  // @!PT: nothing happens. NOP: likewise.
  if (instruction.neverExecutes() || instruction.getOpcode() == Opcode::NOP)
    return;
  loc = module.locate(function, instruction.offset);
  mnemonic = module.spell(instruction.mnemonic);
  guard = Value();
  if (instruction.guard && !instruction.guard->predicate.isConstant()) {
    guard = read(instruction.guard->predicate);
    guardInverted = instruction.guard->inverted;
  }
  if (module.isCall(instruction))
    return liftCall(instruction);
  if (instruction.isModelled)
    if (LiftFn fn = module.find(instruction.getOpcode()))
      if (fn(*this, instruction))
        return;
  liftOpaque(instruction);
}

void FunctionLifter::liftOpaque(const Instruction &instruction) {
  module.countOpaque(instruction, loc);
  SmallVector<Value> inputs;
  SmallVector<Dest> results;
  for (Register reg : sass::getReads(instruction).getMembers())
    inputs.push_back(read(reg));
  for (Register reg : sass::getWrites(instruction).getMembers())
    results.push_back(to(reg));
  emit<kern::OpaqueOp>({}, {static_cast<int32_t>(inputs.size())}, inputs,
                       results);
}

void FunctionLifter::liftCall(const Instruction &instruction) {
  RegisterSet reads, writes;
  module.getCallAccesses(function, instruction, reads, writes);
  SmallVector<Value> inputs;
  SmallVector<Dest> results;
  for (Register reg : writes.getMembers())
    results.push_back(to(reg));
  if (const Routine *callee = module.getCallee(function, instruction)) {
    for (Register reg : reads.getMembers())
      inputs.push_back(read(reg));
    kern::CallOp::Properties properties;
    properties.callee =
        FlatSymbolRefAttr::get(kern::FuncOp(callee->op).getSymNameAttr());
    properties.returns = number(0);
    emit<kern::CallOp>(properties, {static_cast<int32_t>(inputs.size())},
                       inputs, results);
    return;
  }
  Value target;
  for (const Operand &operand : instruction.operands)
    if (operand.isRegister() && !operand.reg.isPredicate())
      target = readWide(operand.reg);
  inputs.push_back(target ? target : ssa.undefined(module.i64));
  for (Register reg : reads.getMembers())
    inputs.push_back(read(reg));
  kern::CallIndirectOp::Properties properties;
  properties.returns = number(0);
  emit<kern::CallIndirectOp>(properties,
                             {1, static_cast<int32_t>(inputs.size()) - 1},
                             inputs, results);
}

void FunctionLifter::liftBlock(uint32_t index) {
  combined.clear();
  barrierResult = Value();
  const BasicBlock lifted = blocks[index];
  for (uint32_t i = lifted.first; i < lifted.last; ++i)
    liftInstruction(function.instructions[i]);
  liftExit(index);
}

/// The conjunction of guard and predicate operands. For a guard alone it is the
/// predicate itself, and an inverted one swaps the successors.
Value FunctionLifter::getCondition(const Instruction &instruction) {
  Value condition;
  auto add = [&](Value value) {
    condition =
        condition ? arith(ArithKind::And, ElementType::Pred, {condition, value})
                  : value;
  };
  if (instruction.guard && !instruction.guard->predicate.isConstant()) {
    Value value = read(instruction.guard->predicate);
    add(instruction.guard->inverted ? negate(value) : value);
  }
  for (const Operand &operand : instruction.operands)
    if (operand.isRegister() && operand.reads() && operand.reg.isPredicate() &&
        (!operand.reg.isConstant() || operand.inverted))
      add(predicate(operand));
  if (instruction.has("DIV") || instruction.has("CONV")) {
    // Taken when the active lanes are not (are) those of the mask.
    Value mask;
    for (const Operand &operand : instruction.operands)
      if (operand.isRegister() && !operand.reg.isPredicate())
        mask = read(operand.reg);
    Value active =
        pure<kern::ActiveMaskOp>({}, {}, {module.i32}, {})->getResult(0);
    add(compare(instruction.has("DIV") ? kern::Compare::Ne : kern::Compare::Eq,
                ElementType::B32, active, mask ? mask : constant32(~0u)));
  }
  return condition ? condition : constant(1, module.i1);
}

/// Which successor of block `index` the indirect branch `control` takes. The
/// register holds a distance, to which the place behind the branch and its
/// immediate are added: in a table of the function's constant bank it is the
/// distance from the start of the function. Example: at 0x1630, `BRX R6
/// -0x1640` goes where R6 says.
Value FunctionLifter::getSwitchIndex(const Instruction &control,
                                     uint32_t index) {
  const Operand *distance = nullptr, *immediate = nullptr;
  for (const Operand &operand : control.operands) {
    if (operand.isRegister() && !operand.reg.isPredicate())
      distance = &operand;
    else if (operand.kind == sass::OperandKind::Integer)
      immediate = &operand;
  }
  bool isRelative =
      control.getOpcode() == Opcode::BRX || control.getOpcode() == Opcode::BRXU;
  if (!distance || !immediate || !isRelative) {
    module.countOpaque(control, loc);
    Value target =
        distance ? readWide(distance->reg) : ssa.undefined(module.i64);
    return emit<kern::OpaqueOp>({}, {1}, {target}, {{module.i32, Register()}})
        ->getResult(0);
  }
  constexpr int64_t kInstructionBytes = 16;
  int64_t base = control.offset + kInstructionBytes + immediate->integer;
  Value low = read(distance->reg);
  size_t last = successors[index].size() - 1;
  Value which = constant32(last);
  for (size_t i = last; i-- > 0;) {
    const BasicBlock &target = blocks[successors[index][i]];
    int64_t offset = function.instructions[target.first].offset;
    Value isIt = compare(kern::Compare::Eq, ElementType::B32, low,
                         constant32(static_cast<uint32_t>(offset - base)));
    which = select(isIt, constant32(i), which);
  }
  return which;
}

void FunctionLifter::liftExit(uint32_t index) {
  const BasicBlock lifted = blocks[index];
  if (lifted.control) {
    loc = module.locate(function, lifted.control->offset);
    mnemonic = module.spell(lifted.control->mnemonic);
  }
  guard = Value();
  OpBuilder builder(module.getContext());
  auto append = [&](auto op) { ssa.append(op); };
  auto blockOf = [&](unsigned i) { return ssa.getBlock(successors[index][i]); };
  switch (lifted.exit) {
  case Exit::Jump: {
    SmallVector<Value> values;
    ssa.appendPhiOperands(successors[index][0], values);
    append(kern::BranchOp::create(builder, loc, values, blockOf(0)));
    return;
  }
  case Exit::Conditional: {
    const Instruction &control = *lifted.control;
    // An inverted guard alone swaps the successors.
    bool simple = control.guard && control.guard->inverted &&
                  !control.guard->predicate.isConstant() &&
                  !control.has("DIV") && !control.has("CONV");
    for (const Operand &operand : control.operands)
      simple &= !(operand.isRegister() && operand.reads() &&
                  operand.reg.isPredicate());
    unsigned on = simple ? 1 : 0;
    Value condition =
        simple ? read(control.guard->predicate) : getCondition(control);
    SmallVector<Value> values[2];
    ssa.appendPhiOperands(successors[index][on], values[0]);
    ssa.appendPhiOperands(successors[index][1 - on], values[1]);
    append(kern::CondBranchOp::create(builder, loc, condition, values[0],
                                      values[1], control.has("U"), blockOf(on),
                                      blockOf(1 - on)));
    return;
  }
  case Exit::Switch: {
    Value which = getSwitchIndex(*lifted.control, index);
    SmallVector<SmallVector<Value>> values(successors[index].size());
    SmallVector<ValueRange> ranges;
    SmallVector<mlir::Block *> targets;
    for (auto [i, successor] : llvm::enumerate(successors[index])) {
      ssa.appendPhiOperands(successor, values[i]);
      ranges.push_back(values[i]);
      targets.push_back(ssa.getBlock(successor));
    }
    append(kern::SwitchOp::create(builder, loc, which, ranges, targets));
    return;
  }
  case Exit::Return: {
    SmallVector<Value> values;
    for (Register reg : returnRegisters)
      values.push_back(read(reg));
    append(kern::ReturnOp::create(builder, loc, values));
    return;
  }
  case Exit::Exit:
    append(kern::ExitOp::create(builder, loc));
    return;
  case Exit::Nowhere:
    // Where an indirect branch goes is not known.
    if (lifted.control)
      liftOpaque(*lifted.control);
    append(kern::UnreachableOp::create(builder, loc));
    return;
  }
}
