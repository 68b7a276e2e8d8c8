// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores, atomics, caches, textures: what a thread does to memory at
// once.

#include "LiftCompute.h"
#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::OperandKind;

/// Base and offset of the first operand group of an access.
template <typename Properties>
static void addAddress(FunctionLifter &lifter, const ptx::Operand &operand,
                       Properties &properties) {
  FunctionLifter::Address address = lifter.address(operand);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static bool liftLoad(FunctionLifter &lifter,
                     const ptx::Instruction &instruction,
                     const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  if (decoded.hasPolicy != (operands.size() > 2))
    return false;
  auto properties = copyProperties<kern::LoadOp>(decoded);
  addAddress(lifter, operands[1], properties);
  if (decoded.hasPolicy)
    lifter.operands.push_back(lifter.read(operands[2], lifter.module.i64));
  lifter.addResults(operands[0], decoded.sink);
  lifter.finish<kern::LoadOp>(properties, {1, decoded.hasPolicy ? 1 : 0},
                              decoded);
  return true;
}

static bool decodeLoad(Decoder &decoder) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  kern::ElementType type = elementOf(mnemonic);
  if (type == kern::ElementType::NONE)
    return false;
  auto &properties = decoder.make<kern::LoadOp>(liftLoad);
  properties.space = decoder.space(spaceOf(mnemonic));
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  properties.cache = decoder.attr<kern::CacheOpAttr>(cacheOf(mnemonic));
  properties.l1Evict =
      decoder.attr<kern::EvictionAttr>(evictionOf(mnemonic, 1));
  properties.l2Evict =
      decoder.attr<kern::EvictionAttr>(evictionOf(mnemonic, 2));
  if (std::optional<int64_t> bytes = l2PrefetchOf(mnemonic))
    properties.l2Prefetch = decoder.number(*bytes);
  properties.nonCoherent = decoder.unit(decoder.has(Modifier::Nc));
  properties.uniform = decoder.unit(mnemonic.opcode == Opcode::Ldu);
  properties.semantics = decoder.semantics();
  properties.scope = decoder.scope();
  decoder.out.hasPolicy = decoder.has(Modifier::L2CacheHint);
  decoder.out.sink = decoder.registerOf(type);
  return true;
}

static bool liftStore(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  if (decoded.hasPolicy != (operands.size() > 2))
    return false;
  auto properties = copyProperties<kern::StoreOp>(decoded);
  addAddress(lifter, operands[0], properties);
  lifter.readAll(operands[1], decoded.sink, lifter.operands);
  int32_t values = static_cast<int32_t>(lifter.operands.size()) - 1;
  if (decoded.hasPolicy)
    lifter.operands.push_back(lifter.read(operands[2], lifter.module.i64));
  lifter.finish<kern::StoreOp>(properties,
                               {1, values, decoded.hasPolicy ? 1 : 0}, decoded);
  return true;
}

static bool decodeStore(Decoder &decoder) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  kern::ElementType type = elementOf(mnemonic);
  if (type == kern::ElementType::NONE)
    return false;
  auto &properties = decoder.make<kern::StoreOp>(liftStore);
  properties.space = decoder.space(spaceOf(mnemonic));
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  properties.cache = decoder.attr<kern::CacheOpAttr>(cacheOf(mnemonic));
  properties.l1Evict =
      decoder.attr<kern::EvictionAttr>(evictionOf(mnemonic, 1));
  properties.l2Evict =
      decoder.attr<kern::EvictionAttr>(evictionOf(mnemonic, 2));
  properties.semantics = decoder.semantics();
  properties.scope = decoder.scope();
  decoder.out.hasPolicy = decoder.has(Modifier::L2CacheHint);
  decoder.out.sink = decoder.registerOf(type);
  return true;
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

static bool liftAtomic(FunctionLifter &lifter,
                       const ptx::Instruction &instruction,
                       const Decoded &decoded) {
  auto properties = copyProperties<kern::AtomicOp>(decoded);
  // `atom` has a result in front of the address, `red` has none.
  unsigned at = decoded.numWrites;
  ArrayRef<ptx::Operand> operands = instruction.operands;
  bool isCas = properties.op.getValue() == kern::AtomicFunction::Cas;
  unsigned numValues = isCas ? 2 : 1;
  if (operands.size() != at + 1 + numValues + (decoded.hasPolicy ? 1 : 0))
    return false;
  addAddress(lifter, operands[at], properties);
  for (unsigned i = 0; i < numValues; ++i)
    lifter.readAll(operands[at + 1 + i], decoded.sink, lifter.operands);
  int32_t values = static_cast<int32_t>(lifter.operands.size()) - 1;
  if (decoded.hasPolicy)
    lifter.operands.push_back(lifter.read(operands.back(), lifter.module.i64));
  if (at)
    lifter.addResults(operands[0], decoded.sink);
  lifter.finish<kern::AtomicOp>(
      properties, {1, values, decoded.hasPolicy ? 1 : 0}, decoded);
  return true;
}

static bool decodeAtomic(Decoder &decoder) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  kern::ElementType type = elementOf(mnemonic);
  std::optional<kern::AtomicFunction> function = atomicOf(mnemonic);
  if (type == kern::ElementType::NONE || !function)
    return false;
  auto &properties = decoder.make<kern::AtomicOp>(liftAtomic);
  properties.op = decoder.attr<kern::AtomicFunctionAttr>(*function);
  properties.space = decoder.space(spaceOf(mnemonic));
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  properties.vector = decoder.number(mnemonic.vectorWidth());
  properties.semantics = decoder.semantics();
  properties.scope = decoder.scope();
  decoder.out.hasPolicy = decoder.has(Modifier::L2CacheHint);
  decoder.out.sink = decoder.registerOf(type);
  return true;
}

static bool liftMultimem(FunctionLifter &lifter,
                         const ptx::Instruction &instruction,
                         const Decoded &decoded) {
  auto properties = copyProperties<kern::MultimemOp>(decoded);
  unsigned at = decoded.numWrites;
  ArrayRef<ptx::Operand> operands = instruction.operands;
  addAddress(lifter, operands[at], properties);
  if (!at)
    lifter.readAll(operands[1], decoded.sink, lifter.operands);
  else
    lifter.addResults(operands[0], decoded.sink);
  int32_t values = static_cast<int32_t>(lifter.operands.size()) - 1;
  lifter.finish<kern::MultimemOp>(properties, {1, values}, decoded);
  return true;
}

static bool decodeMultimem(Decoder &decoder, llvm::StringRef action) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  auto &properties = decoder.make<kern::MultimemOp>(liftMultimem);
  properties.action = decoder.word(action);
  if (action != "st")
    properties.op = decoder.attr<kern::AtomicFunctionAttr>(atomicOf(mnemonic));
  properties.type = decoder.element();
  properties.vector = decoder.number(mnemonic.vectorWidth());
  properties.semantics = decoder.semantics();
  properties.scope = decoder.scope();
  decoder.out.sink = decoder.registerOf(elementOf(mnemonic));
  return true;
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

static bool liftPrefetch(FunctionLifter &lifter,
                         const ptx::Instruction &instruction,
                         const Decoded &decoded) {
  auto properties = copyProperties<kern::PrefetchOp>(decoded);
  addAddress(lifter, instruction.operands[0], properties);
  lifter.finish<kern::PrefetchOp>(properties, {1}, decoded);
  return true;
}

static bool decodePrefetch(Decoder &decoder) {
  auto &properties = decoder.make<kern::PrefetchOp>(liftPrefetch);
  kern::PrefetchLevel level =
      decoder.has(Modifier::Tensormap) ? kern::PrefetchLevel::Tensormap
      : decoder.has(Modifier::L1)      ? kern::PrefetchLevel::L1
                                       : kern::PrefetchLevel::L2;
  properties.level = decoder.attr<kern::PrefetchLevelAttr>(level);
  properties.space = decoder.space(spaceOf(decoder.mnemonic));
  properties.l2Evict =
      decoder.attr<kern::EvictionAttr>(evictionOf(decoder.mnemonic, 2));
  return true;
}

static bool liftCacheControl(FunctionLifter &lifter,
                             const ptx::Instruction &instruction,
                             const Decoded &decoded) {
  std::optional<int64_t> bytes = instruction.operands[1].getInteger();
  if (!bytes)
    return false;
  auto properties = copyProperties<kern::CacheControlOp>(decoded);
  addAddress(lifter, instruction.operands[0], properties);
  properties.bytes = lifter.module.number(*bytes);
  lifter.finish<kern::CacheControlOp>(properties, {1}, decoded);
  return true;
}

static bool decodeCacheControl(Decoder &decoder) {
  auto &properties = decoder.make<kern::CacheControlOp>(liftCacheControl);
  properties.action = decoder.word(ptx::getSpelling(decoder.mnemonic.opcode));
  properties.space = decoder.space(spaceOf(decoder.mnemonic));
  return true;
}

static bool liftCreatePolicy(FunctionLifter &lifter,
                             const ptx::Instruction &instruction,
                             const Decoded &decoded) {
  auto properties = copyProperties<kern::CreatePolicyOp>(decoded);
  return liftValues<kern::CreatePolicyOp>(lifter, instruction, decoded,
                                          properties);
}

static bool decodeCreatePolicy(Decoder &decoder) {
  auto &properties = decoder.make<kern::CreatePolicyOp>(liftCreatePolicy);
  llvm::StringRef spelling = ptx::getSpelling(decoder.mnemonic.opcode);
  properties.action = decoder.word(spelling.rsplit('.').second);
  decoder.out.sink = decoder.integer(64);
  if (decoder.mnemonic.opcode == Opcode::CreatepolicyCvt)
    decoder.immediates(decoder.integer(64));
  return true;
}

//===----------------------------------------------------------------------===//
// Textures and surfaces
//===----------------------------------------------------------------------===//

static bool liftTexture(FunctionLifter &lifter,
                        const ptx::Instruction &instruction,
                        const Decoded &decoded) {
  auto properties = copyProperties<kern::TextureOp>(decoded);
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    if (i < decoded.numWrites) {
      lifter.addResults(operand, decoded.sink);
      continue;
    }
    lifter.readAll(operand, decoded.immediateOf(i), lifter.operands);
    lifter.readRest(operand, lifter.module.i32, lifter.operands);
  }
  lifter.finish<kern::TextureOp>(
      properties, {static_cast<int32_t>(lifter.operands.size())}, decoded);
  return true;
}

static bool decodeTexture(Decoder &decoder) {
  auto &properties = decoder.make<kern::TextureOp>(liftTexture);
  properties.action = decoder.word(ptx::getSpelling(decoder.mnemonic.opcode));
  kern::ElementType type = elementOf(decoder.mnemonic);
  decoder.out.sink = type == kern::ElementType::NONE ? decoder.integer(1)
                                                     : decoder.registerOf(type);
  return true;
}

//===----------------------------------------------------------------------===//
// The family
//===----------------------------------------------------------------------===//

bool lift::decodeMemory(Decoder &decoder) {
  switch (ptx::getClass(decoder.mnemonic.opcode)) {
  case OpcodeClass::Load:
    return decodeLoad(decoder);
  case OpcodeClass::Store:
    return decodeStore(decoder);
  case OpcodeClass::Atomic:
  case OpcodeClass::Reduce:
    return decodeAtomic(decoder);
  case OpcodeClass::MultimemLoad:
    return decodeMultimem(decoder, "ld_reduce");
  case OpcodeClass::MultimemStore:
    return decodeMultimem(decoder, "st");
  case OpcodeClass::MultimemReduce:
    return decodeMultimem(decoder, "red");
  case OpcodeClass::Prefetch:
    return decodePrefetch(decoder);
  case OpcodeClass::CacheControl:
    return decodeCacheControl(decoder);
  case OpcodeClass::CachePolicy:
    return decodeCreatePolicy(decoder);
  case OpcodeClass::Texture:
  case OpcodeClass::TextureQuery:
  case OpcodeClass::SurfaceLoad:
  case OpcodeClass::SurfaceStore:
  case OpcodeClass::SurfaceReduce:
    return decodeTexture(decoder);
  default:
    return false;
  }
}
