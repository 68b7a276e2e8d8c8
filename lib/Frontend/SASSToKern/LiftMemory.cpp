// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores, atomics and cache control.

#include "Lifter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using kern::Space;
using sass::OperandKind;

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

static Space getSpace(Opcode opcode) {
  switch (opcode) {
  case Opcode::LDG:
  case Opcode::STG:
  case Opcode::ATOMG:
  case Opcode::REDG:
  case Opcode::USTGR:
  case Opcode::UREDGR:
    return Space::Global;
  case Opcode::LDS:
  case Opcode::STS:
  case Opcode::ATOMS:
    return Space::Shared;
  case Opcode::LDL:
  case Opcode::STL:
    return Space::Local;
  default:
    return Space::Generic;
  }
}

/// Element of a load or store: that of the registers, or a narrower one.
static ElementType getAccessType(const Instruction &instruction) {
  if (instruction.has("U8"))
    return ElementType::U8;
  if (instruction.has("S8"))
    return ElementType::S8;
  if (instruction.has("U16"))
    return ElementType::U16;
  if (instruction.has("S16"))
    return ElementType::S16;
  return ElementType::B32;
}

std::optional<kern::Scope> sasslift::getScope(const Instruction &instruction) {
  if (instruction.has("SYS"))
    return kern::Scope::Sys;
  if (instruction.has("GPU"))
    return kern::Scope::Gpu;
  if (instruction.has("SM") || instruction.has("CTA"))
    return kern::Scope::Cta;
  return std::nullopt;
}

std::optional<int64_t> sasslift::getL2Prefetch(const Instruction &instruction) {
  for (int64_t bytes : {64, 128, 256})
    if (instruction.has("LTC" + std::to_string(bytes) + "B"))
      return bytes;
  return std::nullopt;
}

/// Cache and ordering attributes that loads and stores share.
template <typename Properties>
static void setAccessModifiers(FunctionLifter &lifter,
                               const Instruction &instruction,
                               Properties &properties) {
  std::optional<kern::Eviction> evict;
  if (instruction.has("EF"))
    evict = kern::Eviction::EvictFirst;
  else if (instruction.has("EL"))
    evict = kern::Eviction::EvictLast;
  else if (instruction.has("EU"))
    evict = kern::Eviction::EvictUnchanged;
  else if (instruction.has("NA"))
    evict = kern::Eviction::NoAllocate;
  properties.l1Evict = lifter.attr<kern::EvictionAttr>(evict);
  if (instruction.has("STRONG")) {
    properties.semantics =
        lifter.attr<kern::SemanticsAttr>(kern::Semantics::Relaxed);
    properties.scope = lifter.attr<kern::ScopeAttr>(getScope(instruction));
  }
}

static const Operand *findAddress(const Instruction &instruction) {
  for (const Operand &operand : instruction.operands)
    if (operand.kind == OperandKind::Memory)
      return &operand;
  return nullptr;
}

/// A predicate operand that would turn an access off is not modelled.
static bool hasCondition(const Parts &parts) {
  for (const Operand *operand : parts.predicates)
    if (!isTrue(*operand))
      return true;
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static bool liftLoad(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  const Operand *address = findAddress(instruction);
  if (!address || !parts.target || hasCondition(parts))
    return false;
  kern::LoadOp::Properties properties;
  Space space = getSpace(instruction.getOpcode());
  properties.space = lifter.attr<kern::SpaceAttr>(space);
  properties.type = lifter.type(getAccessType(instruction));
  setAccessModifiers(lifter, instruction, properties);
  if (std::optional<int64_t> bytes = getL2Prefetch(instruction))
    properties.l2Prefetch = lifter.number(*bytes);
  properties.nonCoherent = lifter.unit(instruction.has("CONSTANT"));
  FunctionLifter::Address from = lifter.address(address->address, space);
  properties.offset = lifter.number(from.offset);
  SmallVector<Value, 2> inputs = {from.base};
  Value policy = lifter.policy(address->address);
  if (policy)
    inputs.push_back(policy);
  SmallVector<Dest, 8> results;
  for (const Operand *operand : parts.written)
    if (!operand->reg.isPredicate())
      for (unsigned i = 0; i < operand->width; ++i)
        results.push_back(lifter.to(operand->reg.getNext(i)));
  lifter.emit<kern::LoadOp>(properties, {1, policy ? 1 : 0}, inputs, results);
  return true;
}

static bool liftStore(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  const Operand *address = findAddress(instruction);
  if (!address || hasCondition(parts))
    return false;
  kern::StoreOp::Properties properties;
  Space space = getSpace(instruction.getOpcode());
  properties.space = lifter.attr<kern::SpaceAttr>(space);
  properties.type = lifter.type(getAccessType(instruction));
  setAccessModifiers(lifter, instruction, properties);
  FunctionLifter::Address to = lifter.address(address->address, space);
  properties.offset = lifter.number(to.offset);
  SmallVector<Value, 8> inputs = {to.base};
  for (const Operand *operand : parts.values)
    if (operand != address)
      lifter.readGroup(*operand, std::max<unsigned>(operand->width, 1), inputs);
  int32_t values = static_cast<int32_t>(inputs.size()) - 1;
  if (values == 0)
    return false;
  Value policy = lifter.policy(address->address);
  if (policy)
    inputs.push_back(policy);
  lifter.emit<kern::StoreOp>(properties, {1, values, policy ? 1 : 0}, inputs);
  return true;
}

/// LDC and its uniform forms: values of the function's start, mostly.
static bool liftConstantLoad(FunctionLifter &lifter,
                             const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1 ||
      parts.values[0]->kind != OperandKind::Constant ||
      !hasOnly(instruction, {"64", "128", "96", "U8", "S8", "U16", "S16"}))
    return false;
  sass::Address address = parts.values[0]->address;
  unsigned width = parts.target->width;
  if (width == 1) {
    Value value = lifter.constantEntry(address, 32);
    ElementType type = getAccessType(instruction);
    if (type != ElementType::B32) {
      // A narrow entry is a part of the word that holds it.
      if (!address.bank || !address.base.isConstant() ||
          !address.uniform.isConstant())
        return false;
      int64_t byte = address.offset & 3;
      address.offset -= byte;
      value = lifter.constantEntry(address, 32);
      if (byte)
        value = lifter.arith(ArithKind::Shr, ElementType::U32,
                             {value, lifter.constant32(8 * byte)});
      kern::ConvertOp::Properties properties;
      properties.from = lifter.type(type);
      properties.to =
          lifter.type(type == ElementType::S8 || type == ElementType::S16
                          ? ElementType::S32
                          : ElementType::U32);
      lifter.emit<kern::ConvertOp>(properties, {1}, {value},
                                   {lifter.to(*parts.target)});
      return true;
    }
    lifter.assign(parts.target->reg, value);
    return true;
  }
  SmallVector<Value, 4> values;
  for (unsigned i = 0; i < width; i += 2) {
    values.push_back(lifter.constantEntry(address, i + 1 < width ? 64 : 32));
    address.offset += 8;
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Register reg = parts.target->reg.getNext(2 * i);
    if (value.getType().isInteger(64))
      lifter.assignWide(reg, value);
    else
      lifter.assign(reg, value);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

std::optional<kern::AtomicFunction>
sasslift::getAtomicFunction(const Instruction &instruction) {
  using kern::AtomicFunction;
  for (const std::string &modifier : instruction.mnemonic->modifiers) {
    auto function = llvm::StringSwitch<std::optional<AtomicFunction>>(modifier)
                        .Case("ADD", AtomicFunction::Add)
                        .Case("MIN", AtomicFunction::Min)
                        .Case("MAX", AtomicFunction::Max)
                        .Case("INC", AtomicFunction::Inc)
                        .Case("DEC", AtomicFunction::Dec)
                        .Case("AND", AtomicFunction::And)
                        .Case("OR", AtomicFunction::Or)
                        .Case("XOR", AtomicFunction::Xor)
                        .Case("EXCH", AtomicFunction::Exch)
                        .Cases({"CAS", "CAST"}, AtomicFunction::Cas)
                        .Default(std::nullopt);
    if (function)
      return function;
  }
  return std::nullopt;
}

/// Element and number of elements of an atomic.
static std::pair<ElementType, int64_t>
getAtomicType(const Instruction &instruction) {
  for (const std::string &modifier : instruction.mnemonic->modifiers) {
    auto found = llvm::StringSwitch<std::pair<ElementType, int64_t>>(modifier)
                     .Case("F32", {ElementType::F32, 1})
                     .Case("F64", {ElementType::F64, 1})
                     .Case("S32", {ElementType::S32, 1})
                     .Case("S64", {ElementType::S64, 1})
                     .Cases({"64", "U64"}, {ElementType::U64, 1})
                     .Case("F16x2", {ElementType::F16X2, 1})
                     .Case("F16x4", {ElementType::F16X2, 2})
                     .Case("F16x8", {ElementType::F16X2, 4})
                     .Cases({"BF16x2", "BF16_V2"}, {ElementType::BF16X2, 1})
                     .Cases({"BF16x4", "BF16_V4"}, {ElementType::BF16X2, 2})
                     .Cases({"BF16x8", "BF16_V8"}, {ElementType::BF16X2, 4})
                     .Case("F32x2", {ElementType::F32, 2})
                     .Case("F32x4", {ElementType::F32, 4})
                     .Case("128", {ElementType::B128, 1})
                     .Default({ElementType::NONE, 0});
    if (found.second)
      return found;
  }
  return {ElementType::U32, 1};
}

/// Whether a generic address leads to `space`, into `result`.
static void emitSpaceQuery(FunctionLifter &lifter, llvm::StringRef space,
                           FunctionLifter::Address at, Dest result) {
  kern::AddressQueryOp::Properties properties;
  properties.query = lifter.word("is_" + space.str());
  lifter.emit<kern::AddressQueryOp>(
      properties, {1},
      {lifter.addWide(at.base, lifter.constant(static_cast<uint64_t>(at.offset),
                                               lifter.module.i64))},
      {result});
}

static bool liftAtomic(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  const Operand *address = findAddress(instruction);
  std::optional<kern::AtomicFunction> function = getAtomicFunction(instruction);
  auto [type, vector] = getAtomicType(instruction);
  if (!address || !function || type == ElementType::B128 ||
      !llvm::all_of(parts.predicates,
                    [](const Operand *operand) { return isTrue(*operand); }))
    return false;
  // Whether it was done: a generic atomic is for global memory only, an
  // exchange (CAST) for the value that was expected.
  const Operand *done = nullptr;
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      done = operand;
  bool isTested = instruction.has("CAST");
  if (done && !isTested && getSpace(instruction.getOpcode()) != Space::Generic)
    return false;
  bool isWide = kern::getBits(type) == 64;
  kern::AtomicOp::Properties properties;
  Space space = getSpace(instruction.getOpcode());
  properties.op = lifter.attr<kern::AtomicFunctionAttr>(*function);
  properties.space = lifter.attr<kern::SpaceAttr>(space);
  properties.type = lifter.type(type);
  properties.vector = lifter.number(vector);
  if (instruction.has("STRONG")) {
    properties.semantics =
        lifter.attr<kern::SemanticsAttr>(kern::Semantics::Relaxed);
    properties.scope = lifter.attr<kern::ScopeAttr>(getScope(instruction));
  }
  FunctionLifter::Address at = lifter.address(address->address, space);
  properties.offset = lifter.number(at.offset);
  SmallVector<Value, 8> inputs = {at.base};
  for (const Operand *operand : parts.values) {
    if (operand == address)
      continue;
    if (isWide)
      inputs.push_back(lifter.integer(*operand, 64));
    else
      lifter.readGroup(*operand, std::max<unsigned>(operand->width, 1), inputs);
  }
  int32_t values = static_cast<int32_t>(inputs.size()) - 1;
  if (*function == kern::AtomicFunction::Cas &&
      values != (isWide ? 2 : int32_t(2 * vector)))
    return false;
  Value policy = lifter.policy(address->address);
  if (policy)
    inputs.push_back(policy);
  if (isTested) {
    if (!done && !parts.target)
      return false;
    IntegerType old = isWide ? lifter.module.i64 : lifter.module.i32;
    Operation *op = lifter.emit<kern::AtomicOp>(
        properties, {1, values, policy ? 1 : 0}, inputs, {{old, Register()}});
    Value isSame = lifter.compare(kern::Compare::Eq,
                                  isWide ? ElementType::B64 : ElementType::B32,
                                  op->getResult(0), inputs[1]);
    if (done)
      lifter.assign(done->reg, isSame);
    else if (isWide)
      lifter.assignWide(parts.target->reg,
                        lifter.select(isSame, lifter.constant(1, old),
                                      lifter.constant(0, old)));
    else
      lifter.assign(
          parts.target->reg,
          lifter.select(isSame, lifter.constant32(1), lifter.constant32(0)));
    return true;
  }
  SmallVector<Dest, 4> results;
  if (parts.target && !parts.target->reg.isConstant()) {
    if (isWide)
      results.push_back(lifter.to(*parts.target, 64));
    else
      for (unsigned i = 0; i < parts.target->width; ++i)
        results.push_back(lifter.to(parts.target->reg.getNext(i)));
  }
  lifter.emit<kern::AtomicOp>(properties, {1, values, policy ? 1 : 0}, inputs,
                              results);
  if (done)
    emitSpaceQuery(lifter, "global", at, lifter.to(*done));
  return true;
}

/// LDGMC: a reduction over the replicas of a multicast address.
static bool liftMultimem(FunctionLifter &lifter,
                         const Instruction &instruction) {
  Parts parts(instruction);
  const Operand *address = findAddress(instruction);
  std::optional<kern::AtomicFunction> function = getAtomicFunction(instruction);
  if (!address || !parts.target || !function)
    return false;
  auto [type, vector] = getAtomicType(instruction);
  kern::MultimemOp::Properties properties;
  properties.action = lifter.word("ld_reduce");
  properties.op = lifter.attr<kern::AtomicFunctionAttr>(*function);
  properties.type = lifter.type(type);
  properties.vector = lifter.number(vector);
  properties.scope = lifter.attr<kern::ScopeAttr>(getScope(instruction));
  FunctionLifter::Address at = lifter.address(address->address, Space::Global);
  properties.offset = lifter.number(at.offset);
  SmallVector<Dest, 4> results;
  for (unsigned i = 0; i < parts.target->width; ++i)
    results.push_back(lifter.to(parts.target->reg.getNext(i)));
  lifter.emit<kern::MultimemOp>(properties, {1, 0}, {at.base}, results);
  return true;
}

//===----------------------------------------------------------------------===//
// Cache control
//===----------------------------------------------------------------------===//

static bool liftCacheControl(FunctionLifter &lifter,
                             const Instruction &instruction) {
  const Operand *address = findAddress(instruction);
  // CCTL.IVALL drops what the first level holds: the half of an acquire.
  if (!address) {
    if (!instruction.has("IVALL"))
      return false;
    kern::FenceOp::Properties properties;
    properties.kind =
        lifter.attr<kern::FenceKindAttr>(kern::FenceKind::Acquire);
    properties.scope = lifter.attr<kern::ScopeAttr>(kern::Scope::Gpu);
    lifter.emit<kern::FenceOp>(properties, {0}, {});
    return true;
  }
  // CCTL.E.C.LDCU.IV.DEEP drops a line of the cache that tensor maps are read
  // through: the acquire of fence.proxy.tensormap, which ptxas makes it of.
  if (instruction.has("LDCU") && instruction.has("IV")) {
    kern::FenceOp::Properties properties;
    properties.kind =
        lifter.attr<kern::FenceKindAttr>(kern::FenceKind::ProxyTensormap);
    properties.scope = lifter.attr<kern::ScopeAttr>(kern::Scope::Gpu);
    lifter.emit<kern::FenceOp>(properties, {0}, {});
    return true;
  }
  FunctionLifter::Address at = lifter.address(address->address, Space::Generic);
  std::optional<kern::PrefetchLevel> level;
  if (instruction.has("PF1"))
    level = kern::PrefetchLevel::L1;
  else if (instruction.has("PF2"))
    level = kern::PrefetchLevel::L2;
  if (level) {
    kern::PrefetchOp::Properties properties;
    properties.level = lifter.attr<kern::PrefetchLevelAttr>(*level);
    properties.space = lifter.attr<kern::SpaceAttr>(Space::Generic);
    properties.offset = lifter.number(at.offset);
    lifter.emit<kern::PrefetchOp>(properties, {1}, {at.base});
    return true;
  }
  // RML2 discards a line of the second level.
  if (!instruction.has("RML2"))
    return false;
  kern::CacheControlOp::Properties properties;
  properties.action = lifter.word("discard");
  properties.space = lifter.attr<kern::SpaceAttr>(Space::Generic);
  properties.offset = lifter.number(at.offset);
  properties.bytes = lifter.number(128);
  lifter.emit<kern::CacheControlOp>(properties, {1}, {at.base});
  return true;
}

/// QSPC: whether a generic address is in a space.
static bool liftSpaceQuery(FunctionLifter &lifter,
                           const Instruction &instruction) {
  Parts parts(instruction);
  const Operand *address = findAddress(instruction);
  if (!address || parts.writtenPredicates.size() != 1 ||
      (parts.target && !parts.target->reg.isConstant()))
    return false;
  emitSpaceQuery(lifter,
                 instruction.has("S")   ? "shared"
                 : instruction.has("L") ? "local"
                                        : "global",
                 lifter.address(address->address, Space::Generic),
                 lifter.to(*parts.writtenPredicates[0]));
  return true;
}

LiftFn sasslift::findMemory(Opcode opcode) {
  switch (opcode) {
  case Opcode::LD:
  case Opcode::LDG:
  case Opcode::LDL:
  case Opcode::LDS:
    return liftLoad;
  case Opcode::ST:
  case Opcode::STG:
  case Opcode::STL:
  case Opcode::STS:
  case Opcode::USTGR:
    return liftStore;
  case Opcode::LDC:
  case Opcode::LDCU:
  case Opcode::ULDC:
    return liftConstantLoad;
  case Opcode::ATOM:
  case Opcode::ATOMG:
  case Opcode::ATOMS:
  case Opcode::RED:
  case Opcode::REDG:
  case Opcode::UREDGR:
    return liftAtomic;
  case Opcode::LDGMC:
    return liftMultimem;
  case Opcode::CCTL:
    return liftCacheControl;
  case Opcode::QSPC:
    return liftSpaceQuery;
  default:
    return nullptr;
  }
}
