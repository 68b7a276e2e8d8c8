// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cubin: its routines with the registers that each needs and changes, their
// functions and memory objects as symbols of kern, and the entry point of the
// translation.

#include "Lifter.h"

#include "d2k/Dialect/Kern/Location.h"
#include "d2k/Frontend/SASS/CallConvention.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using sass::OpcodeClass;
using sass::RegisterSet;

ModuleLifter::ModuleLifter(const sass::Module &module, MLIRContext &context,
                           LiftStatistics &statistics)
    : module(module), statistics(statistics), context(context),
      locator(context, module) {
  i1 = IntegerType::get(&context, 1);
  i8 = IntegerType::get(&context, 8);
  i16 = IntegerType::get(&context, 16);
  i32 = IntegerType::get(&context, 32);
  i64 = IntegerType::get(&context, 64);
  i128 = IntegerType::get(&context, 128);
  noAttributes = DictionaryAttr::get(&context);
}

OwningOpRef<ModuleOp> ModuleLifter::run() {
  context.loadDialect<kern::KernDialect>();
  OpBuilder builder(&context);
  result = ModuleOp::create(builder,
                            FileLineColLoc::get(&context, module.name, 0, 0));
  ModuleOp op = *result;
  op->setAttr("kern.isa", builder.getStringAttr("sass"));
  op->setAttr("kern.isa_version", builder.getStringAttr(module.producer));
  op->setAttr("kern.target", builder.getStringAttr(module.target.getName()));
  op->setAttr("kern.address_size", builder.getI64IntegerAttr(64));
  findRoutines();
  summarize();
  for (auto &routine : routines)
    makeFunction(*routine);
  for (auto &routine : routines) {
    if (failed(FunctionLifter(*this, *routine).run()))
      return {};
    ++statistics.functions;
  }
  for (auto &routine : routines)
    if (FlatSymbolRefAttr window = windows.lookup(routine->function))
      routine->op->setAttr("kern.shared_window", window);
  return std::move(result);
}

Location ModuleLifter::locate(const sass::Function &function, uint32_t offset) {
  return locator.locate(function, offset);
}

StringAttr ModuleLifter::spell(const sass::Mnemonic *mnemonic) {
  StringAttr &attr = spellings[mnemonic];
  if (!attr)
    attr = StringAttr::get(&context, mnemonic->text);
  return attr;
}

LiftFn ModuleLifter::find(Opcode opcode) {
  for (auto family : {findInteger, findLogic, findFloat, findConvert, findWarp,
                      findMemory, findTexture, findAsync, findBulk, findMatrix,
                      findTensorMemory, findSync})
    if (LiftFn fn = family(opcode))
      return fn;
  return nullptr;
}

const sass::FunctionInfo &
ModuleLifter::getInfo(const sass::Function &function) {
  auto [it, isNew] = infos.try_emplace(&function, function.info);
  sass::FunctionInfo &info = it->second;
  if (isNew && function.isKernel && !info.parameterBase) {
    // Where parameters begin, and the most bytes they can have.
    info.parameterBase = module.target.number < 90    ? 0x160
                         : module.target.number < 100 ? 0x210
                                                      : 0x380;
    info.parameterSize = module.target.number < 90 ? 4096 : 32764;
    info.parameters = {{0, 0, *info.parameterSize}};
  }
  return info;
}

void ModuleLifter::countOpaque(const Instruction &instruction, Location loc) {
  ++statistics.opaque;
  // What the table does not know is a remark of the reader's.
  if (++statistics.opaqueByMnemonic[instruction.mnemonic->text] == 1 &&
      instruction.isModelled)
    emitRemark(loc) << "'" << instruction.mnemonic->text
                    << "' is not modelled and becomes kern.opaque";
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

/// Block that starts with the instruction at `offset`.
static std::optional<uint32_t> findBlock(const sass::Function &function,
                                         int64_t offset) {
  if (offset < 0 || offset > UINT32_MAX)
    return std::nullopt;
  std::optional<uint32_t> index =
      function.findInstruction(static_cast<uint32_t>(offset));
  if (!index)
    return std::nullopt;
  uint32_t block = function.getBlockOf(*index);
  if (function.blocks[block].first != *index)
    return std::nullopt;
  return block;
}

std::vector<uint32_t>
ModuleLifter::findReachable(const sass::Function &function,
                            uint32_t entry) const {
  std::vector<bool> seen(function.blocks.size(), false);
  std::vector<uint32_t> work = {entry}, reached;
  seen[entry] = true;
  while (!work.empty()) {
    uint32_t block = work.back();
    work.pop_back();
    reached.push_back(block);
    for (const sass::Edge &edge : function.blocks[block].successors)
      if (!seen[edge.target]) {
        seen[edge.target] = true;
        work.push_back(edge.target);
      }
  }
  llvm::sort(reached);
  return reached;
}

void ModuleLifter::findJumps(const sass::Function &function) {
  for (const Instruction &instruction : function.instructions)
    if (function.isJump(instruction))
      jumps.insert(&instruction);
}

void ModuleLifter::findRoutines() {
  auto add = [&](const sass::Function &function, uint32_t entry,
                 std::string name) {
    Routine *&slot = routineAt[{&function, entry}];
    if (slot)
      return;
    routines.push_back(std::make_unique<Routine>());
    Routine &routine = *routines.back();
    slot = &routine;
    routine.function = &function;
    routine.entry = entry;
    routine.name = std::move(name);
    routine.isKernel = function.isKernel && entry == 0;
    routine.blocks = findReachable(function, entry);
  };
  for (const sass::Function &function : module.functions) {
    if (function.blocks.empty())
      continue;
    findJumps(function);
    add(function, 0, function.name);
    for (const sass::Subroutine &subroutine : function.subroutines)
      if (std::optional<uint32_t> block =
              findBlock(function, subroutine.offset))
        add(function, *block, subroutine.name);
    // Targets of calls without a symbol of their own.
    for (const Instruction &instruction : function.instructions) {
      if (!isCall(instruction))
        continue;
      const Operand *target = instruction.getTarget();
      if (!target || module.findFunction(target->name))
        continue;
      std::optional<uint32_t> block = findBlock(function, target->integer);
      if (!block)
        continue;
      add(function, *block,
          function.name + "$" + std::to_string(target->integer));
    }
  }
}

const Routine *ModuleLifter::getCallee(const sass::Function &caller,
                                       const Instruction &call) const {
  const Operand *target = call.getTarget();
  // `CALL.REL.NOINC R8 `(kernel)`: a pointer to a function, as the distance in
  // the register from the start of the kernel.
  if (!target || call.operands.size() > 1)
    return nullptr;
  const sass::Function *function = nullptr;
  std::optional<uint32_t> block;
  if (!target->name.empty())
    function = module.findFunction(target->name);
  if (function) {
    block = 0;
  } else {
    function = &caller;
    block = findBlock(caller, target->integer);
    for (const sass::Subroutine &subroutine : caller.subroutines)
      if (!target->name.empty() && subroutine.name == target->name)
        block = findBlock(caller, subroutine.offset);
  }
  return block ? routineAt.lookup({function, *block}) : nullptr;
}

void ModuleLifter::getCallAccesses(const sass::Function &caller,
                                   const Instruction &call, RegisterSet &reads,
                                   RegisterSet &writes) const {
  if (const Routine *callee = getCallee(caller, call)) {
    reads = callee->reads;
    writes = callee->writes;
    return;
  }
  reads = sass::getForeignCallReads();
  writes = sass::getForeignCallWrites();
}

void ModuleLifter::summarize() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &routine : routines)
      changed |= summarize(*routine);
  }
}

/// Liveness over the routine's blocks; what it may change counts as used where
/// it returns, because the caller gets all of it.
bool ModuleLifter::summarize(Routine &routine) {
  // Nobody calls a kernel, and it returns nothing.
  if (routine.isKernel)
    return false;
  const sass::Function &function = *routine.function;
  struct Summary {
    RegisterSet uses, defs, liveIn;
  };
  llvm::DenseMap<uint32_t, Summary> summaries;
  RegisterSet writes;
  for (uint32_t index : routine.blocks) {
    const sass::Block &block = function.blocks[index];
    Summary &summary = summaries[index];
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Instruction &instruction = function.instructions[i];
      if (instruction.neverExecutes())
        continue;
      RegisterSet read = sass::getReads(instruction);
      RegisterSet written = sass::getWrites(instruction);
      if (isCall(instruction)) {
        RegisterSet calleeReads, calleeWrites;
        getCallAccesses(function, instruction, calleeReads, calleeWrites);
        read.unite(calleeReads);
        written.unite(calleeWrites);
      }
      writes.unite(written);
      if (instruction.guard)
        read.unite(written);
      read.subtract(summary.defs);
      summary.uses.unite(read);
      summary.defs.unite(written);
    }
  }
  for (uint32_t index : routine.blocks) {
    const sass::Block &block = function.blocks[index];
    if (block.first != block.last &&
        function.instructions[block.last - 1].getClass() ==
            OpcodeClass::Return) {
      RegisterSet rest = writes;
      rest.subtract(summaries[index].defs);
      summaries[index].uses.unite(rest);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t index : llvm::reverse(routine.blocks)) {
      Summary &summary = summaries[index];
      RegisterSet live;
      for (const sass::Edge &edge : function.blocks[index].successors)
        live.unite(summaries[edge.target].liveIn);
      live.subtract(summary.defs);
      live.unite(summary.uses);
      changed |= summary.liveIn.unite(live);
    }
  }
  bool changed = routine.writes.unite(writes);
  return routine.reads.unite(summaries[routine.entry].liveIn) || changed;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

FlatSymbolRefAttr ModuleLifter::makeObject(llvm::StringRef name,
                                           kern::Space space,
                                           std::optional<int64_t> size,
                                           int64_t alignment, Location loc) {
  OpBuilder builder(&context);
  builder.setInsertionPointToStart(result->getBody());
  kern::ObjectOp::Properties properties;
  properties.sym_name = builder.getStringAttr(name);
  properties.space = kern::SpaceAttr::get(&context, space);
  properties.linkage = kern::LinkageAttr::get(
      &context, size ? kern::Linkage::Internal : kern::Linkage::External);
  if (size)
    properties.size = number(*size);
  properties.alignment = number(alignment);
  builder.insert(Operation::create(
      loc, OperationName(kern::ObjectOp::getOperationName(), &context), {}, {},
      noAttributes, &properties, BlockRange(), 0));
  ++statistics.operations;
  return FlatSymbolRefAttr::get(properties.sym_name);
}

FlatSymbolRefAttr ModuleLifter::getSharedWindow(const Routine &routine) {
  FlatSymbolRefAttr &symbol = windows[routine.function];
  if (!symbol)
    symbol = makeObject(routine.function->name + "$shared", kern::Space::Shared,
                        std::nullopt, 1024, locate(*routine.function, 0));
  return symbol;
}

FlatSymbolRefAttr ModuleLifter::getReservedShared(const Routine &routine) {
  FlatSymbolRefAttr &symbol = reserved[routine.function];
  if (!symbol)
    symbol = makeObject(routine.function->name + "$reserved_shared",
                        kern::Space::Shared, kReservedShared, 1024,
                        locate(*routine.function, 0));
  return symbol;
}

FlatSymbolRefAttr ModuleLifter::getFrame(const Routine &routine) {
  FlatSymbolRefAttr &symbol = frames[routine.function];
  if (!symbol)
    symbol = makeObject(routine.function->name + "$local", kern::Space::Local,
                        std::nullopt, 16, locate(*routine.function, 0));
  return symbol;
}

FlatSymbolRefAttr ModuleLifter::getConstantBank(uint32_t bank) {
  FlatSymbolRefAttr &symbol = banks[bank];
  if (!symbol)
    symbol =
        makeObject("constant_bank_" + std::to_string(bank),
                   kern::Space::Constant, std::nullopt, 16, result->getLoc());
  return symbol;
}

void ModuleLifter::makeFunction(Routine &routine) {
  const sass::Function &function = *routine.function;
  OpBuilder builder(&context);
  SmallVector<Type> inputs, results;
  SmallVector<Attribute> inputAttrs;
  auto typeOf = [&](Register reg) { return reg.isPredicate() ? i1 : i32; };
  if (routine.isKernel) {
    for (const sass::Parameter &parameter : getInfo(function).parameters) {
      NamedAttrList attrs;
      attrs.append("kern.name",
                   builder.getStringAttr(llvm::Twine(routine.name) + "_param_" +
                                         llvm::Twine(parameter.ordinal)));
      attrs.append("kern.size", number(parameter.size));
      inputs.push_back(i64);
      inputAttrs.push_back(attrs.getDictionary(&context));
    }
  } else {
    for (Register reg : routine.reads.getMembers()) {
      NamedAttrList attrs;
      attrs.append("kern.name", builder.getStringAttr(reg.getName()));
      inputs.push_back(typeOf(reg));
      inputAttrs.push_back(attrs.getDictionary(&context));
    }
    for (Register reg : routine.writes.getMembers())
      results.push_back(typeOf(reg));
  }
  builder.setInsertionPointToEnd(result->getBody());
  uint32_t first = function.blocks[routine.entry].first;
  routine.op = kern::FuncOp::create(
      builder, locate(function, function.instructions[first].offset),
      routine.name, builder.getFunctionType(inputs, results),
      routine.isKernel ? kern::FuncKind::Entry : kern::FuncKind::Device,
      routine.isKernel ? kern::Linkage::Visible : kern::Linkage::Internal);
  if (!inputAttrs.empty())
    routine.op.setArgAttrsAttr(builder.getArrayAttr(inputAttrs));
  if (routine.isKernel)
    setDirectives(routine);
  ++statistics.operations;
}

void ModuleLifter::setDirectives(Routine &routine) {
  const sass::FunctionInfo &info = getInfo(*routine.function);
  OpBuilder builder(&context);
  kern::FuncOp op = routine.op;
  NamedAttrList attrs(op->getDiscardableAttrDictionary());
  auto three = [&](llvm::StringRef name,
                   const std::optional<std::array<uint32_t, 3>> &values) {
    if (!values)
      return;
    int64_t numbers[3] = {(*values)[0], (*values)[1], (*values)[2]};
    attrs.set(name, builder.getDenseI64ArrayAttr(numbers));
  };
  three("kern.maxntid", info.maxThreads);
  three("kern.reqntid", info.requiredThreads);
  three("kern.reqnctapercluster", info.clusterSize);
  if (info.explicitCluster)
    attrs.set("kern.explicitcluster", builder.getUnitAttr());
  op->setDiscardableAttrs(attrs.getDictionary(&context));
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> d2k::liftToKern(const sass::Module &module,
                                      MLIRContext &context,
                                      LiftStatistics *statistics) {
  LiftStatistics local;
  return ModuleLifter(module, context, statistics ? *statistics : local).run();
}
