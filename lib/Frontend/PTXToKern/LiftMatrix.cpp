// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix loads, stores and products of warps and warpgroups (wmma, ldmatrix,
// mma, wgmma).

#include "LiftCompute.h"
#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using kern::ElementType;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::OperandKind;

static std::string spellShape(const ptx::MatrixShape &shape) {
  std::string text =
      "m" + std::to_string(shape.m) + "n" + std::to_string(shape.n);
  if (shape.k)
    text += "k" + std::to_string(shape.k);
  return text;
}

/// Number of values in an operand group.
static int32_t sizeSince(const FunctionLifter &lifter, size_t before) {
  return static_cast<int32_t>(lifter.operands.size() - before);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// `r, [p]{, stride}`
static bool liftMatrixLoad(FunctionLifter &lifter,
                           const ptx::Instruction &instruction,
                           const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::MatrixLoadOp>(decoded);
  FunctionLifter::Address address = lifter.address(operands[1]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  int32_t hasStride = operands.size() > 2 ? 1 : 0;
  if (hasStride)
    lifter.operands.push_back(lifter.read(operands[2], lifter.module.i32));
  lifter.addResults(operands[0], decoded.sink);
  lifter.finish<kern::MatrixLoadOp>(properties, {1, hasStride}, decoded);
  return true;
}

/// `[p], r{, stride}`
static bool liftMatrixStore(FunctionLifter &lifter,
                            const ptx::Instruction &instruction,
                            const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::MatrixStoreOp>(decoded);
  FunctionLifter::Address address = lifter.address(operands[0]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  lifter.readAll(operands[1], decoded.sink, lifter.operands);
  int32_t values = sizeSince(lifter, 1);
  int32_t hasStride = operands.size() > 2 ? 1 : 0;
  if (hasStride)
    lifter.operands.push_back(lifter.read(operands[2], lifter.module.i32));
  lifter.finish<kern::MatrixStoreOp>(properties, {1, values, hasStride},
                                     decoded);
  return true;
}

/// Shape, number, bytes and type of ldmatrix and stmatrix.
template <typename OpT>
static bool decodeMatrixAccess(Decoder &decoder, llvm::StringRef op,
                               LiftFn lift) {
  const ptx::MatrixShape *shape = decoder.mnemonic.shape();
  if (!shape)
    return false;
  auto &properties = decoder.make<OpT>(lift);
  int64_t count = multiplicityOf(decoder.mnemonic);
  ElementType type = elementOf(decoder.mnemonic);
  properties.op = decoder.word(op);
  properties.space = decoder.space(spaceOf(decoder.mnemonic));
  properties.shape = decoder.word(spellShape(*shape));
  properties.count = decoder.number(count);
  properties.transposed = decoder.unit(decoder.has(Modifier::Trans));
  // A row of a matrix is 16 bytes in memory, whatever its elements are: 8 x
  // 16 bits, 16 x 8 bits, or 16 narrower elements with padding. An 8-bit store
  // matrix is 16 rows of 8.
  int64_t bytes = shape->m == 16 && shape->n == 8 ? 128 : shape->m * 16;
  properties.bytes = decoder.number(bytes * count);
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  return true;
}

/// wmma.load and wmma.store: the fragment is the a, b, c or d of the shape.
template <typename OpT>
static bool decodeWmmaAccess(Decoder &decoder, char fragment, LiftFn lift) {
  const ptx::MatrixShape *shape = decoder.mnemonic.shape();
  ElementType type = elementOf(decoder.mnemonic);
  if (!shape || type == ElementType::NONE)
    return false;
  auto &properties = decoder.make<OpT>(lift);
  int64_t elements = fragment == 'a'   ? int64_t(shape->m) * shape->k
                     : fragment == 'b' ? int64_t(shape->k) * shape->n
                                       : int64_t(shape->m) * shape->n;
  properties.op = decoder.word("wmma");
  properties.space = decoder.space(spaceOf(decoder.mnemonic));
  properties.shape = decoder.word(spellShape(*shape));
  properties.count = decoder.number(1);
  properties.transposed = decoder.unit(decoder.has(Modifier::Col));
  properties.bytes = decoder.number(elements * kern::getBits(type) / 8);
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  decoder.out.sink = decoder.integer(type == ElementType::F64 ? 64 : 32);
  return true;
}

//===----------------------------------------------------------------------===//
// Products of a warp
//===----------------------------------------------------------------------===//

static bool liftMma(FunctionLifter &lifter, const ptx::Instruction &instruction,
                    const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::MmaOp>(decoded);
  int32_t segments[4] = {};
  for (unsigned group = 0; group < 3; ++group) {
    size_t before = lifter.operands.size();
    lifter.readAll(operands[1 + group],
                   group == 2 ? decoded.sink : lifter.module.i32,
                   lifter.operands);
    segments[group] = sizeSince(lifter, before);
  }
  size_t before = lifter.operands.size();
  for (const ptx::Operand &operand : operands.drop_front(4))
    lifter.readAll(operand, lifter.module.i32, lifter.operands);
  segments[3] = sizeSince(lifter, before);
  lifter.addResults(operands[0], decoded.sink);
  lifter.finish<kern::MmaOp>(properties, segments, decoded);
  return true;
}

static bool decodeMma(Decoder &decoder, kern::MatrixFamily family,
                      bool isSparse) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  const ptx::MatrixShape *shape = mnemonic.shape();
  if (!shape)
    return false;
  ElementType d = elementOf(mnemonic, 0), a = elementOf(mnemonic, 1),
              b = elementOf(mnemonic, 2), c = elementOf(mnemonic, 3);
  if (family == kern::MatrixFamily::Wmma &&
      mnemonic.type(2) == Modifier::Unknown) {
    // wmma.mma on f16 names D and C only.
    c = a;
    a = b = ElementType::F16;
  }
  if (d == ElementType::NONE || c == ElementType::NONE)
    return false;
  auto &properties = decoder.make<kern::MmaOp>(liftMma);
  properties.family = decoder.attr<kern::MatrixFamilyAttr>(family);
  properties.m = decoder.number(shape->m);
  properties.n = decoder.number(shape->n);
  properties.k = decoder.number(shape->k);
  properties.aType = decoder.attr<kern::ElementTypeAttr>(a);
  properties.bType = decoder.attr<kern::ElementTypeAttr>(b);
  properties.accType = decoder.attr<kern::ElementTypeAttr>(c);
  properties.resultType = decoder.attr<kern::ElementTypeAttr>(d);
  properties.sparse = decoder.unit(isSparse);
  properties.scaling = decoder.attr<kern::ScaleKindAttr>(scalingOf(mnemonic));
  decoder.out.sink = decoder.integer(d == ElementType::F64 ? 64 : 32);
  return true;
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

static bool liftWgmma(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::AsyncMmaOp>(decoded);
  bool isSparse = static_cast<bool>(properties.sparse);
  bool isRegisters = operands[1].is(OperandKind::Vector);
  properties.aSource = kern::OperandSourceAttr::get(
      lifter.module.getContext(), isRegisters
                                      ? kern::OperandSource::Registers
                                      : kern::OperandSource::Descriptor);
  int32_t segments[4] = {};
  lifter.readAll(operands[1],
                 isRegisters ? lifter.module.i32 : lifter.module.i64,
                 lifter.operands);
  segments[0] = sizeSince(lifter, 0);
  lifter.operands.push_back(lifter.read(operands[2], lifter.module.i64));
  segments[1] = 1;
  // The accumulator is read and written in place.
  size_t before = lifter.operands.size();
  lifter.readAll(operands[0], decoded.sink, lifter.operands);
  segments[2] = sizeSince(lifter, before);
  before = lifter.operands.size();
  // The scale-d predicate first, then sparsity metadata and immediates.
  unsigned scale = isSparse ? 5 : 3;
  if (operands.size() > scale)
    lifter.operands.push_back(lifter.read(operands[scale], lifter.module.i1));
  for (unsigned i = 3; i < operands.size(); ++i)
    if (i != scale)
      lifter.operands.push_back(lifter.read(operands[i], lifter.module.i32));
  segments[3] = sizeSince(lifter, before);
  lifter.addResults(operands[0], decoded.sink);
  lifter.finish<kern::AsyncMmaOp>(properties, segments, decoded);
  return true;
}

static bool decodeWgmma(Decoder &decoder, bool isSparse) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  const ptx::MatrixShape *shape = mnemonic.shape();
  ElementType d = elementOf(mnemonic, 0);
  if (!shape || d == ElementType::NONE)
    return false;
  auto &properties = decoder.make<kern::AsyncMmaOp>(liftWgmma);
  properties.m = decoder.number(shape->m);
  properties.n = decoder.number(shape->n);
  properties.k = decoder.number(shape->k);
  properties.accType = decoder.attr<kern::ElementTypeAttr>(d);
  properties.aType = decoder.element(1);
  properties.bType = decoder.element(2);
  properties.sparse = decoder.unit(isSparse);
  return true;
}

bool lift::decodeMatrix(Decoder &decoder) {
  switch (decoder.mnemonic.opcode) {
  case Opcode::WmmaLoadA:
    return decodeWmmaAccess<kern::MatrixLoadOp>(decoder, 'a', liftMatrixLoad);
  case Opcode::WmmaLoadB:
    return decodeWmmaAccess<kern::MatrixLoadOp>(decoder, 'b', liftMatrixLoad);
  case Opcode::WmmaLoadC:
    return decodeWmmaAccess<kern::MatrixLoadOp>(decoder, 'c', liftMatrixLoad);
  case Opcode::WmmaStoreD:
    return decodeWmmaAccess<kern::MatrixStoreOp>(decoder, 'd', liftMatrixStore);
  case Opcode::Ldmatrix:
    return decodeMatrixAccess<kern::MatrixLoadOp>(decoder, "ldmatrix",
                                                  liftMatrixLoad);
  case Opcode::Stmatrix:
    return decodeMatrixAccess<kern::MatrixStoreOp>(decoder, "stmatrix",
                                                   liftMatrixStore);
  case Opcode::Movmatrix:
    decoder.make<kern::MatrixTransposeOp>(liftCompute<kern::MatrixTransposeOp>);
    return true;
  case Opcode::WmmaMma:
    return decodeMma(decoder, kern::MatrixFamily::Wmma, false);
  case Opcode::Mma:
    return decodeMma(decoder, kern::MatrixFamily::MmaSync, false);
  case Opcode::MmaSp:
  case Opcode::MmaSpOrderedMetadata:
    return decodeMma(decoder, kern::MatrixFamily::MmaSync, true);
  case Opcode::WgmmaMmaAsync:
    return decodeWgmma(decoder, false);
  case Opcode::WgmmaMmaAsyncSp:
    return decodeWgmma(decoder, true);
  default:
    return false;
  }
}
