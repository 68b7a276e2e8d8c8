// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls, and the table of families. Branches and returns end blocks: see
// FunctionLifter.cpp.

#include "Lifter.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using ptx::OpcodeClass;
using ptx::OperandKind;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
/// What a call passes, taken apart.
struct CallParts {
  ArrayRef<ptx::Operand> returns, arguments;
  const ptx::Operand *target = nullptr;
  /// Behind the arguments: a prototype or a table of functions.
  const ptx::Operand *tail = nullptr;
};
/// Parameters of the callee, as far as they are known.
struct Formals {
  bool isKnown = false;
  ArrayRef<ptx::Parameter> returns, parameters;
};
} // namespace

static bool splitCall(const ptx::Instruction &instruction, CallParts &parts) {
  ArrayRef<ptx::Operand> rest = instruction.operands;
  if (rest.size() > 1 && rest[0].is(OperandKind::List)) {
    parts.returns = rest[0].elements();
    rest = rest.drop_front();
  }
  if (rest.empty() || rest[0].is(OperandKind::List))
    return false;
  parts.target = &rest[0];
  rest = rest.drop_front();
  if (!rest.empty() && rest[0].is(OperandKind::List)) {
    parts.arguments = rest[0].elements();
    rest = rest.drop_front();
  }
  if (!rest.empty())
    parts.tail = &rest[0];
  return true;
}

static Formals formalsOf(const ModuleLifter &module, const CallParts &parts,
                         const ptx::BranchTargets *table) {
  const ptx::FunctionSymbol *callee = parts.target->getFunction();
  if (!callee && table)
    for (const ptx::Operand &target : table->targets)
      if ((callee = target.getFunction()))
        break;
  if (callee)
    if (const ptx::Function *function = module.getDeclaration(callee))
      return {true, function->returns, function->parameters};
  if (parts.tail)
    if (const auto *prototype = parts.tail->getSymbol<ptx::Prototype>();
        prototype && prototype->statement)
      return {true, prototype->statement->returns,
              prototype->statement->parameters};
  return {};
}

/// True when the callee takes (or returns) it in a register.
static bool isRegister(const ptx::Parameter &parameter) {
  return isa_and_nonnull<ptx::RegisterDecl>(parameter.decl);
}

bool FunctionLifter::liftCall(const ptx::Instruction &instruction,
                              const Decoded &decoded) {
  CallParts parts;
  if (!splitCall(instruction, parts))
    return false;
  const ptx::BranchTargets *table = nullptr;
  if (parts.tail)
    if (const auto *found = parts.tail->getSymbol<ptx::TargetTable>())
      table = found->statement;
  Formals formals = formalsOf(module, parts, table);
  const ptx::FunctionSymbol *symbolOfCallee = parts.target->getFunction();
  kern::FuncOp callee =
      symbolOfCallee ? module.getFunction(symbolOfCallee) : kern::FuncOp();
  if (symbolOfCallee && !callee)
    return false;
  if (formals.isKnown && (formals.returns.size() != parts.returns.size() ||
                          formals.parameters.size() != parts.arguments.size()))
    return false;

  // An operand that is in the other place than the callee wants goes through an
  // object: PTX lets a register stand for a scalar in param space.
  struct Reload {
    const ptx::Operand *operand;
    Value address;
    const ptx::VariableDecl *decl;
  };
  SmallVector<Reload, 2> reloads;
  auto makeTemporary = [&](const ptx::VariableDecl &decl) -> Value {
    FlatSymbolRefAttr object =
        module.makeParamObject("argument", decl, loc, symbol);
    return create<kern::AddressOfOp>(module.addressType, object, UnitAttr());
  };

  SmallVector<Value, 8> inputs;
  int64_t numReturns = 0;
  for (auto [i, operand] : llvm::enumerate(parts.returns)) {
    bool isVariable = operand.getVariable() != nullptr;
    bool wantsRegister =
        formals.isKnown ? isRegister(formals.returns[i]) : !isVariable;
    if (wantsRegister) {
      if (isVariable)
        return false;
      addResults(operand, module.i32);
      continue;
    }
    ++numReturns;
    if (isVariable) {
      inputs.push_back(read(operand, module.addressType));
      continue;
    }
    auto *decl = cast<ptx::VariableDecl>(formals.returns[i].decl);
    inputs.push_back(makeTemporary(*decl));
    reloads.push_back({&operand, inputs.back(), decl});
  }
  for (auto [i, operand] : llvm::enumerate(parts.arguments)) {
    bool isVariable = operand.getVariable() != nullptr;
    if (!formals.isKnown) {
      inputs.push_back(read(operand, module.i32));
      continue;
    }
    const ptx::Parameter &formal = formals.parameters[i];
    if (isRegister(formal)) {
      if (isVariable)
        return false;
      auto *decl = cast<ptx::RegisterDecl>(formal.decl);
      readAll(operand, module.registerType(decl->type), inputs);
      continue;
    }
    if (isVariable) {
      inputs.push_back(read(operand, module.addressType));
      continue;
    }
    auto *decl = cast<ptx::VariableDecl>(formal.decl);
    Value value = read(operand, module.registerType(decl->type));
    Value address = makeTemporary(*decl);
    kern::StoreOp::Properties properties;
    MLIRContext *context = module.getContext();
    properties.space = kern::SpaceAttr::get(context, kern::Space::Param);
    properties.type =
        kern::ElementTypeAttr::get(context, elementOf(decl->type));
    properties.offset = module.number(0);
    synthesize<kern::StoreOp>(properties, {address, value}, {1, 1, 0}, {});
    inputs.push_back(address);
  }

  int32_t numInputs = static_cast<int32_t>(inputs.size());
  if (callee) {
    if (inputs.size() != callee.getArgumentTypes().size() ||
        resultTypes.size() != callee.getResultTypes().size())
      return false;
    operands.assign(inputs.begin(), inputs.end());
    kern::CallOp::Properties properties;
    properties.mnemonic = decoded.spelling;
    properties.callee = FlatSymbolRefAttr::get(callee.getSymNameAttr());
    properties.returns = module.number(numReturns);
    finish<kern::CallOp>(properties, {numInputs}, decoded.name);
  } else {
    operands.push_back(read(*parts.target, module.addressType));
    operands.append(inputs.begin(), inputs.end());
    kern::CallIndirectOp::Properties properties;
    properties.mnemonic = decoded.spelling;
    properties.returns = module.number(numReturns);
    if (table && table->isCallTargets) {
      SmallVector<Attribute> candidates;
      for (const ptx::Operand &target : table->targets)
        if (const ptx::FunctionSymbol *candidate = target.getFunction())
          if (kern::FuncOp found = module.getFunction(candidate))
            candidates.push_back(
                FlatSymbolRefAttr::get(found.getSymNameAttr()));
      properties.candidates = ArrayAttr::get(module.getContext(), candidates);
    }
    finish<kern::CallIndirectOp>(properties, {1, numInputs},
                                 decoded.secondName);
  }

  for (const Reload &reload : reloads) {
    operands.assign({reload.address});
    resultVariables.clear();
    resultTypes.clear();
    addResults(*reload.operand, module.registerType(reload.decl->type));
    kern::LoadOp::Properties properties;
    MLIRContext *context = module.getContext();
    properties.mnemonic = decoded.spelling;
    properties.space = kern::SpaceAttr::get(context, kern::Space::Param);
    properties.type =
        kern::ElementTypeAttr::get(context, elementOf(reload.decl->type));
    properties.offset = module.number(0);
    finish<kern::LoadOp>(
        properties, {1, 0},
        OperationName(kern::LoadOp::getOperationName(), context));
  }
  return true;
}

static bool liftCall(FunctionLifter &lifter,
                     const ptx::Instruction &instruction,
                     const Decoded &decoded) {
  return lifter.liftCall(instruction, decoded);
}

bool lift::decodeControl(Decoder &decoder) {
  decoder.out.lift = ::liftCall;
  decoder.out.name =
      OperationName(kern::CallOp::getOperationName(), decoder.context());
  decoder.out.secondName = OperationName(
      kern::CallIndirectOp::getOperationName(), decoder.context());
  return true;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

bool lift::decodeFamily(Decoder &decoder, OpcodeClass kind) {
  switch (kind) {
  case OpcodeClass::Arith:
  case OpcodeClass::SpecialFunction:
  case OpcodeClass::Compare:
  case OpcodeClass::Select:
  case OpcodeClass::Move:
  case OpcodeClass::Convert:
  case OpcodeClass::Video:
  case OpcodeClass::AddressQuery:
  case OpcodeClass::AddressConvert:
    return decodeCompute(decoder);
  case OpcodeClass::Shuffle:
  case OpcodeClass::Vote:
  case OpcodeClass::WarpReduce:
  case OpcodeClass::Elect:
    return decodeWarp(decoder);
  case OpcodeClass::Load:
  case OpcodeClass::Store:
  case OpcodeClass::Atomic:
  case OpcodeClass::Reduce:
  case OpcodeClass::MultimemLoad:
  case OpcodeClass::MultimemStore:
  case OpcodeClass::MultimemReduce:
  case OpcodeClass::Prefetch:
  case OpcodeClass::CacheControl:
  case OpcodeClass::CachePolicy:
  case OpcodeClass::Texture:
  case OpcodeClass::TextureQuery:
  case OpcodeClass::SurfaceLoad:
  case OpcodeClass::SurfaceStore:
  case OpcodeClass::SurfaceReduce:
    return decodeMemory(decoder);
  case OpcodeClass::AsyncStore:
  case OpcodeClass::AsyncReduce:
  case OpcodeClass::BulkStore:
  case OpcodeClass::AsyncCopy:
  case OpcodeClass::AsyncCommit:
  case OpcodeClass::AsyncWait:
  case OpcodeClass::BulkCommit:
  case OpcodeClass::BulkWait:
  case OpcodeClass::WgmmaCommit:
  case OpcodeClass::WgmmaWait:
  case OpcodeClass::AsyncMBarrierArrive:
    return decodeAsync(decoder);
  case OpcodeClass::BulkCopy:
  case OpcodeClass::BulkReduce:
  case OpcodeClass::BulkPrefetch:
  case OpcodeClass::BulkTensorCopy:
  case OpcodeClass::BulkTensorReduce:
  case OpcodeClass::BulkTensorPrefetch:
  case OpcodeClass::TensormapReplace:
  case OpcodeClass::TensormapCopy:
  case OpcodeClass::ClusterLaunchControl:
  case OpcodeClass::ClusterLaunchQuery:
    return decodeBulk(decoder);
  case OpcodeClass::MBarrierInit:
  case OpcodeClass::MBarrierInval:
  case OpcodeClass::MBarrierExpectTx:
  case OpcodeClass::MBarrierCompleteTx:
  case OpcodeClass::MBarrierArrive:
  case OpcodeClass::MBarrierWait:
  case OpcodeClass::MBarrierQuery:
    return decodeMBarrier(decoder);
  case OpcodeClass::WmmaLoad:
  case OpcodeClass::WmmaStore:
  case OpcodeClass::Wmma:
  case OpcodeClass::Mma:
  case OpcodeClass::MmaSparse:
  case OpcodeClass::MatrixLoad:
  case OpcodeClass::MatrixStore:
  case OpcodeClass::MatrixMove:
  case OpcodeClass::Wgmma:
  case OpcodeClass::WgmmaSparse:
    return decodeMatrix(decoder);
  case OpcodeClass::Tcgen05Alloc:
  case OpcodeClass::Tcgen05Dealloc:
  case OpcodeClass::Tcgen05Relinquish:
  case OpcodeClass::Tcgen05Load:
  case OpcodeClass::Tcgen05Store:
  case OpcodeClass::Tcgen05Wait:
  case OpcodeClass::Tcgen05Copy:
  case OpcodeClass::Tcgen05Shift:
  case OpcodeClass::Tcgen05Mma:
  case OpcodeClass::Tcgen05Commit:
    return decodeTensorMemory(decoder);
  case OpcodeClass::Barrier:
  case OpcodeClass::BarrierArrive:
  case OpcodeClass::BarrierReduce:
  case OpcodeClass::WarpBarrier:
  case OpcodeClass::ClusterArrive:
  case OpcodeClass::ClusterWait:
  case OpcodeClass::Fence:
  case OpcodeClass::ProxyFence:
  case OpcodeClass::WgmmaFence:
  case OpcodeClass::Tcgen05Fence:
  case OpcodeClass::GridDependency:
  case OpcodeClass::RegisterBudget:
  case OpcodeClass::Sleep:
  case OpcodeClass::Trap:
  case OpcodeClass::Debug:
  case OpcodeClass::Stack:
    return decodeSync(decoder);
  case OpcodeClass::Call:
    return decodeControl(decoder);
  case OpcodeClass::Unknown:
  case OpcodeClass::Branch:
  case OpcodeClass::IndirectBranch:
  case OpcodeClass::Return:
  case OpcodeClass::Exit:
    return false;
  }
  return false;
}
