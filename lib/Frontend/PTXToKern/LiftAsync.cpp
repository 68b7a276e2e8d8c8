// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous copies by threads (cp.async, st.async, red.async), the groups of
// all asynchronous work, and mbarriers.

#include "LiftCompute.h"
#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using kern::Completion;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::OperandKind;

//===----------------------------------------------------------------------===//
// cp.async and groups
//===----------------------------------------------------------------------===//

static bool liftAsyncCopy(FunctionLifter &lifter,
                          const ptx::Instruction &instruction,
                          const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  std::optional<int64_t> bytes = operands[2].getInteger();
  unsigned numExtra =
      static_cast<unsigned>(operands.size()) - 3 - (decoded.hasPolicy ? 1 : 0);
  if (!bytes || operands.size() < 3u + decoded.hasPolicy || numExtra > 1)
    return false;
  auto properties = copyProperties<kern::AsyncCopyOp>(decoded);
  properties.bytes = lifter.module.number(*bytes);
  FunctionLifter::Address target = lifter.address(operands[0]);
  FunctionLifter::Address from = lifter.address(operands[1]);
  lifter.operands.push_back(target.base);
  lifter.operands.push_back(from.base);
  properties.dstOffset = lifter.module.number(target.offset);
  properties.srcOffset = lifter.module.number(from.offset);
  int32_t hasSize = 0, ignores = 0;
  if (numExtra) {
    // A predicate says to ignore the source, a number how much of it to read.
    Value extra = lifter.read(operands[3], lifter.module.i32);
    lifter.operands.push_back(extra);
    (extra.getType().isInteger(1) ? ignores : hasSize) = 1;
  }
  if (decoded.hasPolicy)
    lifter.operands.push_back(lifter.read(operands.back(), lifter.module.i64));
  lifter.finish<kern::AsyncCopyOp>(
      properties, {1, 1, hasSize, ignores, decoded.hasPolicy ? 1 : 0}, decoded);
  return true;
}

static bool decodeAsyncCopy(Decoder &decoder) {
  auto &properties = decoder.make<kern::AsyncCopyOp>(liftAsyncCopy);
  properties.cache = decoder.attr<kern::CacheOpAttr>(cacheOf(decoder.mnemonic));
  if (std::optional<int64_t> bytes = l2PrefetchOf(decoder.mnemonic))
    properties.l2Prefetch = decoder.number(*bytes);
  decoder.out.hasPolicy = decoder.has(Modifier::L2CacheHint);
  return true;
}

static bool liftCommit(FunctionLifter &lifter, const ptx::Instruction &,
                       const Decoded &decoded) {
  auto properties = copyProperties<kern::AsyncCommitOp>(decoded);
  lifter.finish<kern::AsyncCommitOp>(properties, {}, decoded);
  return true;
}

static bool decodeCommit(Decoder &decoder, Completion group) {
  auto &properties = decoder.make<kern::AsyncCommitOp>(liftCommit);
  properties.group = decoder.attr<kern::CompletionAttr>(group);
  return true;
}

static bool liftWait(FunctionLifter &lifter,
                     const ptx::Instruction &instruction,
                     const Decoded &decoded) {
  auto properties = copyProperties<kern::AsyncWaitOp>(decoded);
  int64_t pending = 0;
  if (!instruction.operands.empty()) {
    std::optional<int64_t> number = instruction.operands[0].getInteger();
    if (!number)
      return false;
    pending = *number;
  }
  properties.pending = lifter.module.number(pending);
  lifter.finish<kern::AsyncWaitOp>(properties, {}, decoded);
  return true;
}

static bool decodeWait(Decoder &decoder, Completion group) {
  auto &properties = decoder.make<kern::AsyncWaitOp>(liftWait);
  properties.group = decoder.attr<kern::CompletionAttr>(group);
  properties.readOnly = decoder.unit(decoder.has(Modifier::Read));
  return true;
}

static bool liftAsyncArrive(FunctionLifter &lifter,
                            const ptx::Instruction &instruction,
                            const Decoded &decoded) {
  auto properties = copyProperties<kern::AsyncArriveOp>(decoded);
  FunctionLifter::Address address = lifter.address(instruction.operands[0]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  lifter.finish<kern::AsyncArriveOp>(properties, {1}, decoded);
  return true;
}

//===----------------------------------------------------------------------===//
// st.async, red.async, st.bulk
//===----------------------------------------------------------------------===//

static bool liftAsyncStore(FunctionLifter &lifter,
                           const ptx::Instruction &instruction,
                           const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::AsyncStoreOp>(decoded);
  FunctionLifter::Address address = lifter.address(operands[0]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  lifter.readAll(operands[1], decoded.sink, lifter.operands);
  int32_t values = static_cast<int32_t>(lifter.operands.size()) - 1;
  int32_t hasBarrier = operands.size() > 2 ? 1 : 0;
  if (hasBarrier) {
    FunctionLifter::Address barrier = lifter.address(operands[2]);
    lifter.operands.push_back(barrier.base);
    properties.barrierOffset = lifter.module.number(barrier.offset);
  }
  lifter.finish<kern::AsyncStoreOp>(properties, {1, values, hasBarrier},
                                    decoded);
  return true;
}

static bool decodeAsyncStore(Decoder &decoder, bool isReduction) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  kern::ElementType type = elementOf(mnemonic);
  if (type == kern::ElementType::NONE)
    return false;
  auto &properties = decoder.make<kern::AsyncStoreOp>(liftAsyncStore);
  if (isReduction) {
    std::optional<kern::AtomicFunction> function = atomicOf(mnemonic);
    if (!function)
      return false;
    properties.reduction = decoder.attr<kern::AtomicFunctionAttr>(*function);
  }
  // Without a space the address is generic, but must lie in this window.
  kern::Space space = mnemonic.space() == Modifier::Unknown &&
                              decoder.has(Modifier::MbarrierCompleteTxBytes)
                          ? kern::Space::SharedCluster
                          : spaceOf(mnemonic);
  properties.space = decoder.space(space);
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  properties.barrierOffset = decoder.number(0);
  decoder.out.sink = decoder.registerOf(type);
  return true;
}

static bool liftBulkFill(FunctionLifter &lifter,
                         const ptx::Instruction &instruction,
                         const Decoded &decoded) {
  auto properties = copyProperties<kern::BulkFillOp>(decoded);
  FunctionLifter::Address address = lifter.address(instruction.operands[0]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  for (unsigned i : {1u, 2u})
    lifter.operands.push_back(
        lifter.read(instruction.operands[i], lifter.module.i64));
  lifter.finish<kern::BulkFillOp>(properties, {1, 1, 1}, decoded);
  return true;
}

static bool decodeBulkFill(Decoder &decoder) {
  auto &properties = decoder.make<kern::BulkFillOp>(liftBulkFill);
  properties.space = decoder.space(spaceOf(decoder.mnemonic));
  return true;
}

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

/// Base, offset and one more operand.
template <typename OpT>
static bool liftBarrierAnd(FunctionLifter &lifter,
                           const ptx::Instruction &instruction,
                           const Decoded &decoded) {
  auto properties = copyProperties<OpT>(decoded);
  FunctionLifter::Address address = lifter.address(instruction.operands[0]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], lifter.module.i32));
  lifter.finish<OpT>(properties, {1, 1}, decoded);
  return true;
}

static bool liftInval(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  auto properties = copyProperties<kern::MBarrierInvalOp>(decoded);
  FunctionLifter::Address address = lifter.address(instruction.operands[0]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  lifter.finish<kern::MBarrierInvalOp>(properties, {1}, decoded);
  return true;
}

static bool liftArrive(FunctionLifter &lifter,
                       const ptx::Instruction &instruction,
                       const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  unsigned at = operands[0].is(OperandKind::Address) ? 0 : 1;
  if (operands.size() <= at || operands.size() > at + 2)
    return false;
  auto properties = copyProperties<kern::MBarrierArriveOp>(decoded);
  FunctionLifter::Address address = lifter.address(operands[at]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  int32_t hasCount = operands.size() > at + 1 ? 1 : 0;
  if (hasCount)
    lifter.operands.push_back(lifter.read(operands[at + 1], lifter.module.i32));
  if (at)
    lifter.addResults(operands[0], lifter.module.i64);
  lifter.finish<kern::MBarrierArriveOp>(properties, {1, hasCount}, decoded);
  return true;
}

static bool decodeArrive(Decoder &decoder) {
  auto &properties = decoder.make<kern::MBarrierArriveOp>(liftArrive);
  properties.space = decoder.space(spaceOf(decoder.mnemonic));
  properties.expectTx = decoder.unit(decoder.has(Modifier::ExpectTx));
  properties.drop =
      decoder.unit(decoder.mnemonic.opcode == Opcode::MbarrierArriveDrop);
  properties.noComplete = decoder.unit(decoder.has(Modifier::NoComplete));
  properties.semantics = decoder.semantics();
  properties.scope = decoder.scope();
  return true;
}

static bool liftBarrierWait(FunctionLifter &lifter,
                            const ptx::Instruction &instruction,
                            const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::MBarrierWaitOp>(decoded);
  FunctionLifter::Address address = lifter.address(operands[1]);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
  lifter.operands.push_back(lifter.read(
      operands[2], properties.parity ? lifter.module.i32 : lifter.module.i64));
  int32_t hasHint = operands.size() > 3 ? 1 : 0;
  if (hasHint)
    lifter.operands.push_back(lifter.read(operands[3], lifter.module.i32));
  lifter.addResults(operands[0], lifter.module.i1);
  lifter.finish<kern::MBarrierWaitOp>(properties, {1, 1, hasHint}, decoded);
  return true;
}

static bool decodeBarrierWait(Decoder &decoder) {
  auto &properties = decoder.make<kern::MBarrierWaitOp>(liftBarrierWait);
  properties.kind = decoder.attr<kern::WaitKindAttr>(
      decoder.mnemonic.opcode == Opcode::MbarrierTryWait
          ? kern::WaitKind::Try
          : kern::WaitKind::Test);
  properties.parity = decoder.unit(decoder.has(Modifier::Parity));
  properties.semantics = decoder.semantics();
  properties.scope = decoder.scope();
  return true;
}

static bool liftPending(FunctionLifter &lifter,
                        const ptx::Instruction &instruction,
                        const Decoded &decoded) {
  auto properties = copyProperties<kern::MBarrierPendingOp>(decoded);
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], lifter.module.i64));
  lifter.addResults(instruction.operands[0], lifter.module.i32);
  lifter.finish<kern::MBarrierPendingOp>(properties, {1}, decoded);
  return true;
}

bool lift::decodeMBarrier(Decoder &decoder) {
  switch (ptx::getClass(decoder.mnemonic.opcode)) {
  case OpcodeClass::MBarrierInit:
    decoder.make<kern::MBarrierInitOp>(liftBarrierAnd<kern::MBarrierInitOp>);
    return true;
  case OpcodeClass::MBarrierInval:
    decoder.make<kern::MBarrierInvalOp>(liftInval);
    return true;
  case OpcodeClass::MBarrierExpectTx:
    decoder
        .make<kern::MBarrierExpectTxOp>(
            liftBarrierAnd<kern::MBarrierExpectTxOp>)
        .space = decoder.space(spaceOf(decoder.mnemonic));
    return true;
  case OpcodeClass::MBarrierCompleteTx:
    decoder
        .make<kern::MBarrierCompleteTxOp>(
            liftBarrierAnd<kern::MBarrierCompleteTxOp>)
        .space = decoder.space(spaceOf(decoder.mnemonic));
    return true;
  case OpcodeClass::MBarrierArrive:
    return decodeArrive(decoder);
  case OpcodeClass::MBarrierWait:
    return decodeBarrierWait(decoder);
  case OpcodeClass::MBarrierQuery:
    decoder.make<kern::MBarrierPendingOp>(liftPending);
    return true;
  default:
    return false;
  }
}

bool lift::decodeAsync(Decoder &decoder) {
  switch (ptx::getClass(decoder.mnemonic.opcode)) {
  case OpcodeClass::AsyncCopy:
    return decodeAsyncCopy(decoder);
  case OpcodeClass::AsyncCommit:
    return decodeCommit(decoder, Completion::CpAsyncGroup);
  case OpcodeClass::AsyncWait:
    return decodeWait(decoder, Completion::CpAsyncGroup);
  case OpcodeClass::BulkCommit:
    return decodeCommit(decoder, Completion::BulkGroup);
  case OpcodeClass::BulkWait:
    return decodeWait(decoder, Completion::BulkGroup);
  case OpcodeClass::WgmmaCommit:
    return decodeCommit(decoder, Completion::WgmmaGroup);
  case OpcodeClass::WgmmaWait:
    return decodeWait(decoder, Completion::WgmmaGroup);
  case OpcodeClass::AsyncStore:
    return decodeAsyncStore(decoder, /*isReduction=*/false);
  case OpcodeClass::AsyncReduce:
    return decodeAsyncStore(decoder, /*isReduction=*/true);
  case OpcodeClass::BulkStore:
    return decodeBulkFill(decoder);
  case OpcodeClass::AsyncMBarrierArrive:
    decoder.make<kern::AsyncArriveOp>(liftAsyncArrive).noIncrement =
        decoder.unit(decoder.has(Modifier::Noinc));
    return true;
  default:
    return false;
  }
}
