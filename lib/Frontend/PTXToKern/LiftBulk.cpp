// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies by the TMA unit, plain and through tensor maps; tensor maps in memory;
// cluster launch control.

#include "LiftCompute.h"
#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using kern::BulkKind;
using kern::Completion;
using kern::Space;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::OperandKind;

/// The operand groups of kern.bulk_copy while they are found; PTX orders them
/// by form, the operation always in this order.
namespace {
struct BulkOperands {
  const ptx::Operand *target = nullptr, *from = nullptr, *size = nullptr,
                     *barrier = nullptr, *im2col = nullptr, *mask = nullptr,
                     *byteMask = nullptr, *policy = nullptr;
};
} // namespace

static bool finishBulk(FunctionLifter &lifter, const BulkOperands &found,
                       const Decoded &decoded) {
  auto properties = copyProperties<kern::BulkCopyOp>(decoded);
  SmallVector<int32_t, 10> segments;
  auto addAddress = [&](const ptx::Operand *operand, IntegerAttr &offset) {
    if (operand) {
      FunctionLifter::Address address = lifter.address(*operand);
      lifter.operands.push_back(address.base);
      offset = lifter.module.number(address.offset);
    }
    segments.push_back(operand ? 1 : 0);
  };
  auto addValues = [&](const ptx::Operand *operand, IntegerType type) {
    size_t before = lifter.operands.size();
    if (operand)
      lifter.readAll(*operand, type, lifter.operands);
    segments.push_back(static_cast<int32_t>(lifter.operands.size() - before));
  };
  addAddress(found.target, properties.dstOffset);
  addAddress(found.from, properties.srcOffset);
  size_t before = lifter.operands.size();
  // The coordinates follow the tensor map in its brackets.
  for (const ptx::Operand *operand : {found.target, found.from})
    if (operand)
      lifter.readRest(*operand, lifter.module.i32, lifter.operands);
  segments.push_back(static_cast<int32_t>(lifter.operands.size() - before));
  addValues(found.im2col, lifter.module.i16);
  addValues(found.size, lifter.module.i32);
  addAddress(found.barrier, properties.barrierOffset);
  addValues(found.mask, lifter.module.i16);
  addValues(found.byteMask, lifter.module.i16);
  addValues(found.policy, lifter.module.i64);
  lifter.finish<kern::BulkCopyOp>(properties, segments, decoded);
  return true;
}

/// Takes what the modifiers announce from the end of the operands, the last
/// first.
static void takeTail(ArrayRef<ptx::Operand> &rest, const Decoded &decoded,
                     bool hasByteMask, BulkOperands &found) {
  if (hasByteMask && !rest.empty()) {
    found.byteMask = &rest.back();
    rest = rest.drop_back();
  }
  if (decoded.hasPolicy && !rest.empty()) {
    found.policy = &rest.back();
    rest = rest.drop_back();
  }
  if (decoded.hasMulticast && !rest.empty()) {
    found.mask = &rest.back();
    rest = rest.drop_back();
  }
}

/// Whether the completion and the barrier that was found go together, as the
/// operation requires.
static bool isBarrierRight(const BulkOperands &found, const Decoded &decoded) {
  auto *properties =
      static_cast<kern::BulkCopyOp::Properties *>(decoded.properties);
  return (properties->completion.getValue() == Completion::Mbarrier) ==
         (found.barrier != nullptr);
}

/// `[dst], [src], size{, [mbar]}{, mask}{, policy}{, bytemask}`
static bool liftBulk(FunctionLifter &lifter,
                     const ptx::Instruction &instruction,
                     const Decoded &decoded) {
  ArrayRef<ptx::Operand> rest = instruction.operands;
  BulkOperands found;
  found.target = &rest[0];
  found.from = &rest[1];
  found.size = &rest[2];
  rest = rest.drop_front(3);
  if (!rest.empty() && rest[0].is(OperandKind::Address)) {
    found.barrier = &rest[0];
    rest = rest.drop_front();
  }
  takeTail(rest, decoded, decoded.number & 1, found);
  if (!rest.empty() || !isBarrierRight(found, decoded))
    return false;
  return finishBulk(lifter, found, decoded);
}

/// `[src], size{, policy}`
static bool liftBulkPrefetch(FunctionLifter &lifter,
                             const ptx::Instruction &instruction,
                             const Decoded &decoded) {
  ArrayRef<ptx::Operand> rest = instruction.operands;
  BulkOperands found;
  found.from = &rest[0];
  found.size = &rest[1];
  rest = rest.drop_front(2);
  takeTail(rest, decoded, false, found);
  return rest.empty() && finishBulk(lifter, found, decoded);
}

/// `[dst], [map, {c}], [mbar]{, im2col}{, mask}{, policy}` or
/// `[map, {c}], [src]{, policy}`
static bool liftTensorCopy(FunctionLifter &lifter,
                           const ptx::Instruction &instruction,
                           const Decoded &decoded) {
  ArrayRef<ptx::Operand> rest = instruction.operands;
  BulkOperands found;
  found.target = &rest[0];
  found.from = &rest[1];
  rest = rest.drop_front(2);
  if (!rest.empty() && rest[0].is(OperandKind::Address)) {
    found.barrier = &rest[0];
    rest = rest.drop_front();
  }
  if (!rest.empty() && rest[0].is(OperandKind::Vector)) {
    found.im2col = &rest[0];
    rest = rest.drop_front();
  }
  takeTail(rest, decoded, false, found);
  if (!rest.empty() || !isBarrierRight(found, decoded))
    return false;
  // Without coordinates it would not be a tensor copy.
  if (found.target->elements().size() < 2 && found.from->elements().size() < 2)
    return false;
  return finishBulk(lifter, found, decoded);
}

/// `[map, {c}]{, im2col}{, policy}`
static bool liftTensorPrefetch(FunctionLifter &lifter,
                               const ptx::Instruction &instruction,
                               const Decoded &decoded) {
  ArrayRef<ptx::Operand> rest = instruction.operands;
  BulkOperands found;
  found.from = &rest[0];
  if (found.from->elements().size() < 2)
    return false;
  rest = rest.drop_front();
  if (!rest.empty() && rest[0].is(OperandKind::Vector)) {
    found.im2col = &rest[0];
    rest = rest.drop_front();
  }
  takeTail(rest, decoded, false, found);
  return rest.empty() && finishBulk(lifter, found, decoded);
}

static int64_t dimensionsOf(const ptx::Mnemonic &mnemonic) {
  return mnemonic.has(Modifier::N1d)   ? 1
         : mnemonic.has(Modifier::N2d) ? 2
         : mnemonic.has(Modifier::N3d) ? 3
         : mnemonic.has(Modifier::N4d) ? 4
         : mnemonic.has(Modifier::N5d) ? 5
                                       : 0;
}

static kern::TensorMode modeOf(const ptx::Mnemonic &mnemonic) {
  using M = kern::TensorMode;
  if (mnemonic.has(Modifier::TileGather4))
    return M::TileGather4;
  if (mnemonic.has(Modifier::TileScatter4))
    return M::TileScatter4;
  if (mnemonic.has(Modifier::Im2colW128))
    return M::Im2colW128;
  if (mnemonic.has(Modifier::Im2colW))
    return M::Im2colW;
  if (mnemonic.has(Modifier::Im2colNoOffs))
    return M::Im2colNoOffs;
  if (mnemonic.has(Modifier::Im2col))
    return M::Im2col;
  return M::Tile;
}

static bool decodeBulkCopy(Decoder &decoder, BulkKind kind, bool isTensor,
                           LiftFn lift) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  auto &properties = decoder.make<kern::BulkCopyOp>(lift);
  properties.kind = decoder.attr<kern::BulkKindAttr>(kind);
  if (kind == BulkKind::Prefetch) {
    properties.srcSpace = decoder.space(Space::Global);
    properties.dstSpace = decoder.space(Space::Unknown);
  } else {
    // `.global.shared::cta`: destination, then source.
    properties.dstSpace = decoder.space(spaceOf(mnemonic, 0));
    properties.srcSpace = decoder.space(spaceOf(mnemonic, 1));
  }
  Completion completion =
      decoder.has(Modifier::MbarrierCompleteTxBytes) ? Completion::Mbarrier
      : decoder.has(Modifier::BulkGroup)             ? Completion::BulkGroup
                                                     : Completion::None;
  properties.completion = decoder.attr<kern::CompletionAttr>(completion);
  properties.dims = decoder.number(isTensor ? dimensionsOf(mnemonic) : 0);
  if (isTensor)
    properties.mode = decoder.attr<kern::TensorModeAttr>(modeOf(mnemonic));
  if (kind == BulkKind::Reduce) {
    std::optional<kern::AtomicFunction> function = atomicOf(mnemonic);
    if (!function)
      return false;
    properties.reduction = decoder.attr<kern::AtomicFunctionAttr>(*function);
    if (elementOf(mnemonic) != kern::ElementType::NONE)
      properties.type = decoder.element();
  }
  decoder.out.hasMulticast = decoder.has(Modifier::MulticastCluster);
  decoder.out.hasPolicy = decoder.has(Modifier::L2CacheHint);
  properties.multicast = decoder.unit(decoder.out.hasMulticast);
  properties.ctaGroup = decoder.number(ctaGroupOf(mnemonic));
  properties.dstOffset = properties.srcOffset = properties.barrierOffset =
      decoder.number(0);
  return true;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static bool liftTensorMapReplace(FunctionLifter &lifter,
                                 const ptx::Instruction &instruction,
                                 const Decoded &decoded) {
  auto properties = copyProperties<kern::TensorMapReplaceOp>(decoded);
  FunctionLifter::Address address = lifter.address(instruction.operands[0]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  // The new value comes last; an ordinal before it is `.b32`.
  for (const ptx::Operand &operand : instruction.operands.drop_front())
    lifter.operands.push_back(lifter.read(
        operand, &operand == &instruction.operands.back() ? decoded.sink
                                                          : lifter.module.i32));
  int32_t values = static_cast<int32_t>(lifter.operands.size()) - 1;
  lifter.finish<kern::TensorMapReplaceOp>(properties, {1, values}, decoded);
  return true;
}

static bool decodeTensorMapReplace(Decoder &decoder) {
  const ptx::ModifierUse *field =
      decoder.mnemonic.find(ptx::ModifierCategory::Field);
  if (!field)
    return false;
  auto &properties =
      decoder.make<kern::TensorMapReplaceOp>(liftTensorMapReplace);
  properties.field = decoder.word(ptx::getSpelling(field->kind));
  properties.space = decoder.space(spaceOf(decoder.mnemonic));
  decoder.out.sink = decoder.registerOf(elementOf(decoder.mnemonic));
  return true;
}

static bool liftTensorMapCopy(FunctionLifter &lifter,
                              const ptx::Instruction &instruction,
                              const Decoded &decoded) {
  auto properties = copyProperties<kern::TensorMapFenceOp>(decoded);
  FunctionLifter::Address target = lifter.address(instruction.operands[0]);
  FunctionLifter::Address from = lifter.address(instruction.operands[1]);
  lifter.operands.push_back(target.base);
  lifter.operands.push_back(from.base);
  properties.dstOffset = lifter.module.number(target.offset);
  properties.srcOffset = lifter.module.number(from.offset);
  lifter.operands.push_back(
      lifter.read(instruction.operands[2], lifter.module.i32));
  lifter.finish<kern::TensorMapFenceOp>(properties, {1, 1, 1}, decoded);
  return true;
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

static bool liftLaunchCancel(FunctionLifter &lifter,
                             const ptx::Instruction &instruction,
                             const Decoded &decoded) {
  auto properties = copyProperties<kern::LaunchCancelOp>(decoded);
  FunctionLifter::Address address = lifter.address(instruction.operands[0]);
  FunctionLifter::Address barrier = lifter.address(instruction.operands[1]);
  lifter.operands.push_back(address.base);
  lifter.operands.push_back(barrier.base);
  properties.offset = lifter.module.number(address.offset);
  properties.barrierOffset = lifter.module.number(barrier.offset);
  lifter.finish<kern::LaunchCancelOp>(properties, {1, 1}, decoded);
  return true;
}

static bool liftLaunchQuery(FunctionLifter &lifter,
                            const ptx::Instruction &instruction,
                            const Decoded &decoded) {
  auto properties = copyProperties<kern::LaunchQueryOp>(decoded);
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], lifter.module.i128));
  lifter.addResults(instruction.operands[0], decoded.sink);
  lifter.finish<kern::LaunchQueryOp>(properties, {1}, decoded);
  return true;
}

bool lift::decodeBulk(Decoder &decoder) {
  switch (ptx::getClass(decoder.mnemonic.opcode)) {
  case OpcodeClass::BulkCopy:
    if (!decodeBulkCopy(decoder, BulkKind::Copy, false, liftBulk))
      return false;
    decoder.out.number = decoder.has(Modifier::CpMask) ? 1 : 0;
    return true;
  case OpcodeClass::BulkReduce:
    return decodeBulkCopy(decoder, BulkKind::Reduce, false, liftBulk);
  case OpcodeClass::BulkPrefetch:
    return decodeBulkCopy(decoder, BulkKind::Prefetch, false, liftBulkPrefetch);
  case OpcodeClass::BulkTensorCopy:
    return decodeBulkCopy(decoder, BulkKind::Copy, true, liftTensorCopy);
  case OpcodeClass::BulkTensorReduce:
    return decodeBulkCopy(decoder, BulkKind::Reduce, true, liftTensorCopy);
  case OpcodeClass::BulkTensorPrefetch:
    return decodeBulkCopy(decoder, BulkKind::Prefetch, true,
                          liftTensorPrefetch);
  case OpcodeClass::TensormapReplace:
    return decodeTensorMapReplace(decoder);
  case OpcodeClass::TensormapCopy:
    decoder.make<kern::TensorMapFenceOp>(liftTensorMapCopy).scope =
        decoder.scope();
    return true;
  case OpcodeClass::ClusterLaunchControl:
    decoder.make<kern::LaunchCancelOp>(liftLaunchCancel).multicast =
        decoder.unit(decoder.has(Modifier::MulticastClusterAll));
    return true;
  case OpcodeClass::ClusterLaunchQuery: {
    llvm::StringRef spelling = ptx::getSpelling(decoder.mnemonic.opcode);
    decoder.make<kern::LaunchQueryOp>(liftLaunchQuery).query =
        decoder.word(spelling.rsplit('.').second);
    decoder.out.sink = decoder.registerOf(elementOf(decoder.mnemonic));
    return true;
  }
  default:
    return false;
  }
}
