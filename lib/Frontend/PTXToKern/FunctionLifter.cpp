// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function: its blocks, its phi nodes, and the walk over the dominator tree
// that makes the operations. Operands are in FunctionOperands.cpp.

#include "Lifter.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using ptx::OpcodeClass;
using ptx::OperandKind;
using ptx::StatementKind;

FunctionLifter::FunctionLifter(ModuleLifter &module,
                               const ptx::Function &function, kern::FuncOp op)
    : module(module), loc(op.getLoc()), function(function), op(op),
      symbol(FlatSymbolRefAttr::get(op.getSymNameAttr())),
      ssa(op, module.statistics) {}

LogicalResult FunctionLifter::run() {
  labelPositions.assign(function.numLabels, ~0u);
  collect(*function.body);
  module.statistics.instructions += items.size();
  numberVariables();
  if (failed(findBlocks()))
    return failure();

  FlowGraph graph(successors, entry);
  AccessScan accesses(ssa.getNumVariables());
  scanBlocks(graph, accesses);
  if (failed(ssa.prepare(graph, entry, accesses.getAccesses())))
    return failure();
  countUnreachable(graph);
  makeArguments();
  ssa.walk(graph, entry, [&](uint32_t index) { liftBlock(index); });
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void FunctionLifter::collect(const ptx::Block &body) {
  for (const ptx::Statement *statement : body.statements)
    switch (statement->kind) {
    case StatementKind::Instruction: {
      auto *instruction = cast<ptx::Instruction>(statement);
      items.push_back(
          {instruction, &module.decode(*instruction->mnemonic), source});
      break;
    }
    case StatementKind::LabelStatement:
      labelPositions[cast<ptx::LabelStatement>(statement)->label->ordinal] =
          static_cast<uint32_t>(items.size());
      break;
    case StatementKind::Location:
      source = module.getSource(*cast<ptx::Location>(statement));
      break;
    case StatementKind::VariableDecl: {
      auto *decl = cast<ptx::VariableDecl>(statement);
      Location where = module.locate(decl->loc, LocationAttr());
      for (const ptx::Variable *variable : decl->variables)
        objects[variable] = module.makeObject(
            *decl, module.module.getText(variable), where, symbol);
      break;
    }
    case StatementKind::Block:
      collect(*cast<ptx::Block>(statement));
      break;
    default:
      break;
    }
}

bool FunctionLifter::isNoReturn(const Item &item) const {
  if (!item.decoded->isCall || item.instruction->guard)
    return false;
  for (const ptx::Operand &operand : item.instruction->operands)
    if (const ptx::FunctionSymbol *callee = operand.getFunction()) {
      const ptx::Function *declaration = module.getDeclaration(callee);
      return declaration && declaration->find(ptx::FunctionAttribute::NoReturn);
    }
  return false;
}

uint32_t FunctionLifter::addBlock(uint32_t first, uint32_t last) {
  BasicBlock added;
  added.first = first;
  added.last = last;
  blocks.push_back(added);
  successors.emplace_back();
  return static_cast<uint32_t>(blocks.size() - 1);
}

uint32_t FunctionLifter::getExitBlock(Exit exit, uint32_t control) {
  uint32_t &shared = exit == Exit::Return ? returnBlock : exitBlock;
  if (shared == ~0u) {
    shared = addBlock(0, 0);
    blocks[shared].exit = exit;
    blocks[shared].control = control;
  }
  return shared;
}

LogicalResult FunctionLifter::findBlocks() {
  uint32_t size = static_cast<uint32_t>(items.size());
  std::vector<bool> isLeader(size + 1, false);
  bool isBroken = false;
  auto positionOf = [&](const ptx::Operand &operand, const Item &item) {
    const ptx::Label *label = operand.getLabel();
    if (label && labelPositions[label->ordinal] != ~0u)
      return labelPositions[label->ordinal];
    isBroken = true;
    emitError(module.locate(item.instruction->loc, item.source))
        << "branches to something that is no label of this function";
    return 0u;
  };
  auto tableOf = [&](const Item &item) -> ArrayRef<ptx::Operand> {
    const auto *table =
        item.instruction->operands[1].getSymbol<ptx::TargetTable>();
    if (table && table->statement && !table->statement->targets.empty())
      return table->statement->targets;
    isBroken = true;
    emitError(module.locate(item.instruction->loc, item.source))
        << "branches through something that is no table of labels";
    return {};
  };

  for (uint32_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    if (!item.decoded->isControl && !isNoReturn(item))
      continue;
    isLeader[i + 1] = true;
    if (item.decoded->isControl &&
        (item.instruction->operands.size() < item.decoded->minOperands ||
         item.instruction->operands.size() > item.decoded->maxOperands)) {
      isBroken = true;
      emitError(module.locate(item.instruction->loc, item.source))
          << "'" << item.decoded->spelling.getValue() << "' takes "
          << item.decoded->minOperands << " operands, not "
          << item.instruction->operands.size();
      continue;
    }
    OpcodeClass kind = ptx::getClass(item.instruction->opcode());
    if (kind == OpcodeClass::Branch) {
      isLeader[positionOf(item.instruction->operands[0], item)] = true;
    } else if (kind == OpcodeClass::IndirectBranch) {
      for (const ptx::Operand &target : tableOf(item))
        isLeader[positionOf(target, item)] = true;
    }
  }
  if (isBroken)
    return failure();

  std::vector<uint32_t> blockAt(size + 1, ~0u);
  for (uint32_t first = 0; first < size;) {
    uint32_t last = first + 1;
    while (last < size && !isLeader[last])
      ++last;
    blockAt[first] = addBlock(first, last);
    first = last;
  }
  uint32_t numOrdinary = static_cast<uint32_t>(blocks.size());
  // Falling off the end returns.
  auto blockAtPosition = [&](uint32_t position) {
    if (blockAt[position] == ~0u)
      blockAt[position] = getExitBlock(Exit::Return, ~0u);
    return blockAt[position];
  };

  for (uint32_t index = 0; index < numOrdinary; ++index) {
    uint32_t next = blocks[index].last;
    uint32_t control = next - 1;
    const Item &item = items[control];
    if (isNoReturn(item)) {
      blocks[index].exit = Exit::Unreachable;
      continue;
    }
    if (!item.decoded->isControl) {
      if (next == size)
        blocks[index].exit = Exit::Return;
      else
        successors[index] = {blockAtPosition(next)};
      continue;
    }
    blocks[index].last = control;
    blocks[index].control = control;
    Exit exit = Exit::Branch;
    SmallVector<uint32_t, 2> targets;
    switch (ptx::getClass(item.instruction->opcode())) {
    case OpcodeClass::Branch:
      targets.push_back(
          blockAtPosition(positionOf(item.instruction->operands[0], item)));
      break;
    case OpcodeClass::IndirectBranch:
      exit = Exit::Switch;
      for (const ptx::Operand &target : tableOf(item))
        targets.push_back(blockAtPosition(positionOf(target, item)));
      break;
    case OpcodeClass::Return:
      exit = Exit::Return;
      break;
    default:
      exit = Exit::Exit;
      break;
    }
    if (item.instruction->guard) {
      // What the guard allows moves to a block of its own, but for a branch.
      uint32_t taken;
      if (exit == Exit::Branch) {
        taken = targets.front();
      } else if (exit == Exit::Switch) {
        taken = addBlock(0, 0);
        blocks[taken].exit = exit;
        blocks[taken].control = control;
        successors[taken] = targets;
      } else {
        taken = getExitBlock(exit, control);
      }
      exit = Exit::Conditional;
      targets = {taken, blockAtPosition(next)};
    }
    blocks[index].exit = exit;
    successors[index] = targets;
  }

  // The entry of an MLIR region has no predecessors.
  entry = size == 0 ? getExitBlock(Exit::Return, ~0u) : 0;
  bool isEntryTarget = false;
  for (const auto &list : successors)
    isEntryTarget |= llvm::is_contained(list, entry);
  if (isEntryTarget) {
    uint32_t first = entry;
    entry = addBlock(0, 0);
    successors[entry] = {first};
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

void FunctionLifter::numberVariables() {
  firstVariable.reserve(function.registers.size());
  for (const ptx::Register *reg : function.registers) {
    firstVariable.push_back(ssa.getNumVariables());
    for (unsigned lane = 0; lane < reg->getVectorWidth(); ++lane)
      ssa.addVariable(module.registerType(reg->getType()));
  }
  carry = ssa.addVariable(module.i1);
  for (const ptx::Parameter &parameter : function.returns)
    if (const auto *reg = dyn_cast_or_null<ptx::Register>(parameter.entity))
      for (unsigned lane = 0; lane < reg->getVectorWidth(); ++lane)
        returnVariables.push_back(variableOf(reg, lane));
}

/// Number of leading operands that are written, unless they are addresses: of a
/// call the list of results, where there is one.
static unsigned countWrites(const ptx::Instruction &instruction,
                            const Decoded &decoded) {
  if (!decoded.isCall)
    return decoded.numWrites;
  ArrayRef<ptx::Operand> operands = instruction.operands;
  return operands.size() > 1 && operands[0].is(OperandKind::List) &&
         !operands[1].is(OperandKind::List);
}

namespace d2k::lift {
/// Visits the variables that an instruction reads and those that it writes, as
/// the lift functions will.
struct OperandScan {
  const FunctionLifter &lifter;

  template <typename Fn>
  void visit(const ptx::Operand &operand, Fn &&fn) const {
    if (const ptx::Register *reg = operand.getRegister()) {
      unsigned first;
      unsigned lanes = lifter.lanesOf(operand, first);
      for (unsigned lane = 0; lane < lanes; ++lane)
        fn(lifter.variableOf(reg, first + lane));
      return;
    }
    for (const ptx::Operand &element : operand.elements())
      visit(element, fn);
  }

  template <typename Read, typename Write>
  void run(const ptx::Instruction &instruction, const Decoded &decoded,
           Read &&read, Write &&write) const {
    if (instruction.guard)
      read(lifter.variableOf(instruction.guard));
    ArrayRef<ptx::Operand> operands = instruction.operands;
    unsigned numWrites = countWrites(instruction, decoded);
    auto isWritten = [&](unsigned i) {
      return i < numWrites && !operands[i].is(OperandKind::Address);
    };
    // A guarded instruction keeps the old value where the guard is off.
    bool keeps = instruction.guard || decoded.readsWritten;
    for (unsigned i = 0; i < operands.size(); ++i)
      if (!isWritten(i) || keeps)
        visit(operands[i], read);
    if (decoded.readsCarry || (decoded.writesCarry && instruction.guard))
      read(lifter.carry);
    for (unsigned i = 0; i < operands.size(); ++i)
      if (isWritten(i))
        visit(operands[i], write);
    if (decoded.writesCarry)
      write(lifter.carry);
  }
};
} // namespace d2k::lift

void FunctionLifter::scanBlocks(const FlowGraph &graph, AccessScan &accesses) {
  OperandScan scan{*this};
  auto read = [&](uint32_t variable) { accesses.read(variable); };
  auto write = [&](uint32_t variable) { accesses.write(variable); };
  // The entry defines every variable: with the parameter, or as undefined.
  for (uint32_t index : graph.reversePostOrder()) {
    BasicBlock &scanned = blocks[index];
    accesses.enter(index);
    if (index == entry)
      for (const ptx::Parameter &parameter : function.parameters)
        if (const auto *reg = dyn_cast_or_null<ptx::Register>(parameter.entity))
          for (unsigned lane = 0; lane < reg->getVectorWidth(); ++lane)
            write(variableOf(reg, lane));
    for (uint32_t i = scanned.first; i < scanned.last; ++i)
      scan.run(*items[i].instruction, *items[i].decoded, read, write);
    if (scanned.exit == Exit::Conditional)
      read(variableOf(items[scanned.control].instruction->guard));
    if (scanned.exit == Exit::Switch)
      scan.visit(items[scanned.control].instruction->operands[0], read);
    if (scanned.exit == Exit::Return)
      for (uint32_t variable : returnVariables)
        read(variable);
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void FunctionLifter::countUnreachable(const FlowGraph &graph) {
  for (uint32_t index = 0; index < blocks.size(); ++index)
    if (!graph.isReachable(index))
      module.statistics.unreachable += blocks[index].last -
                                       blocks[index].first +
                                       (blocks[index].control != ~0u);
}

void FunctionLifter::makeArguments() {
  ArrayRef<Type> types = op.getArgumentTypes();
  unsigned next = 0;
  auto add = [&](const ptx::Parameter &parameter, bool isReturn) {
    if (const auto *variable =
            dyn_cast_or_null<ptx::Variable>(parameter.entity)) {
      parameters[variable] = ssa.getEntryBlock()->addArgument(
          types[next++], module.locate(variable->loc, LocationAttr()));
    } else if (const auto *reg =
                   dyn_cast_or_null<ptx::Register>(parameter.entity);
               reg && !isReturn) {
      for (unsigned lane = 0; lane < reg->getVectorWidth(); ++lane)
        ssa.write(variableOf(reg, lane),
                  ssa.getEntryBlock()->addArgument(
                      types[next++], module.locate(reg->loc, LocationAttr())));
    }
  };
  for (const ptx::Parameter &parameter : function.returns)
    add(parameter, /*isReturn=*/true);
  for (const ptx::Parameter &parameter : function.parameters)
    add(parameter, /*isReturn=*/false);
}

void FunctionLifter::setGuard(const ptx::Instruction &instruction) {
  guard = instruction.guard ? ssa.read(variableOf(instruction.guard)) : Value();
  isGuardNegated = instruction.isGuardNegated;
}

/// True when each operand that \p decoded writes can be written.
static bool areTargets(const ptx::Instruction &instruction,
                       const Decoded &decoded) {
  for (unsigned i = 0; i < decoded.numWrites && i < instruction.operands.size();
       ++i)
    switch (instruction.operands[i].kind) {
    case OperandKind::Register:
    case OperandKind::Vector:
    case OperandKind::Pair:
    case OperandKind::Sink:
    case OperandKind::Address:
      break;
    default:
      return false;
    }
  return true;
}

void FunctionLifter::liftItem(const Item &item) {
  const ptx::Instruction &instruction = *item.instruction;
  const Decoded &decoded = *item.decoded;
  loc = module.locate(instruction.loc, item.source);
  currentDecoded = &decoded;
  isMisfit = false;
  setGuard(instruction);
  auto clear = [&] {
    operands.clear();
    resultVariables.clear();
    resultTypes.clear();
  };
  clear();
  size_t count = instruction.operands.size();
  if (!decoded.isOpaque && count >= decoded.minOperands &&
      count <= decoded.maxOperands && areTargets(instruction, decoded) &&
      decoded.lift(*this, instruction, decoded) && !isMisfit)
    return;
  clear();
  liftOpaque(instruction, decoded);
}

bool FunctionLifter::liftOpaque(const ptx::Instruction &instruction,
                                const Decoded &decoded) {
  module.countOpaque(decoded, loc);
  kern::OpaqueOp::Properties properties;
  properties.mnemonic = decoded.spelling;
  // What the scan of the blocks took for written must be.
  unsigned numWrites = countWrites(instruction, decoded);
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    bool isWritten = i < numWrites && !operand.is(OperandKind::Address);
    if (!isWritten || decoded.readsWritten) {
      readAll(operand, module.i32, operands);
      readRest(operand, module.i32, operands);
    }
    if (isWritten)
      addResults(operand, module.i32);
  }
  if (decoded.readsCarry)
    operands.push_back(readCarry());
  if (decoded.writesCarry)
    addCarryResult();
  int32_t inputs = static_cast<int32_t>(operands.size());
  finish<kern::OpaqueOp>(
      properties, {inputs},
      OperationName(kern::OpaqueOp::getOperationName(), module.getContext()));
  return true;
}

void FunctionLifter::liftBlock(uint32_t index) {
  const BasicBlock &lifted = blocks[index];
  for (uint32_t i = lifted.first; i < lifted.last; ++i)
    liftItem(items[i]);
  liftExit(index);
}

void FunctionLifter::liftExit(uint32_t index) {
  const BasicBlock &lifted = blocks[index];
  const Item *control =
      lifted.control == ~0u ? nullptr : &items[lifted.control];
  if (control) {
    loc = module.locate(control->instruction->loc, control->source);
    currentDecoded = control->decoded;
    guard = Value();
  } else if (lifted.first == lifted.last) {
    loc = op.getLoc();
  }
  auto blockOf = [&](unsigned i) { return ssa.getBlock(successors[index][i]); };
  switch (lifted.exit) {
  case Exit::Fall:
  case Exit::Branch: {
    SmallVector<Value> values;
    ssa.appendPhiOperands(successors[index][0], values);
    create<kern::BranchOp>(values, blockOf(0));
    return;
  }
  case Exit::Conditional: {
    const ptx::Instruction &instruction = *control->instruction;
    Value condition = ssa.read(variableOf(instruction.guard));
    unsigned on = instruction.isGuardNegated ? 1 : 0;
    SmallVector<Value> values[2];
    ssa.appendPhiOperands(successors[index][on], values[0]);
    ssa.appendPhiOperands(successors[index][1 - on], values[1]);
    create<kern::CondBranchOp>(condition, values[0], values[1],
                               instruction.has(ptx::Modifier::Uni), blockOf(on),
                               blockOf(1 - on));
    return;
  }
  case Exit::Switch: {
    Value selector = read(control->instruction->operands[0], module.i32);
    SmallVector<SmallVector<Value>> values(successors[index].size());
    SmallVector<ValueRange> ranges;
    SmallVector<Block *> targets;
    for (auto [i, successor] : llvm::enumerate(successors[index])) {
      ssa.appendPhiOperands(successor, values[i]);
      ranges.push_back(values[i]);
      targets.push_back(ssa.getBlock(successor));
    }
    create<kern::SwitchOp>(selector, ranges, targets);
    return;
  }
  case Exit::Return: {
    SmallVector<Value> values;
    for (uint32_t variable : returnVariables)
      values.push_back(ssa.read(variable));
    create<kern::ReturnOp>(values);
    return;
  }
  case Exit::Exit:
    create<kern::ExitOp>();
    return;
  case Exit::Unreachable:
    create<kern::UnreachableOp>();
    return;
  }
}
