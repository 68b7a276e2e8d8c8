// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous copies by threads (LDGSTS) and their groups, stores that
// complete on an mbarrier, and mbarriers (SYNCS).

#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using kern::Completion;
using kern::Space;
using sass::OperandKind;

//===----------------------------------------------------------------------===//
// Copies and groups
//===----------------------------------------------------------------------===//

static bool liftCopy(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  SmallVector<const Operand *, 2> addresses;
  for (const Operand &operand : instruction.operands)
    if (operand.kind == OperandKind::Memory)
      addresses.push_back(&operand);
  if (addresses.size() != 2 || parts.predicates.size() > 1)
    return false;
  kern::AsyncCopyOp::Properties properties;
  properties.bytes = lifter.number(instruction.has("128")  ? 16
                                   : instruction.has("64") ? 8
                                                           : 4);
  properties.cache = lifter.attr<kern::CacheOpAttr>(
      instruction.has("BYPASS") ? kern::CacheOp::Cg : kern::CacheOp::Ca);
  if (std::optional<int64_t> bytes = getL2Prefetch(instruction))
    properties.l2Prefetch = lifter.number(*bytes);
  FunctionLifter::Address to =
      lifter.address(addresses[0]->address, Space::Shared);
  FunctionLifter::Address from =
      lifter.address(addresses[1]->address, Space::Global);
  properties.dstOffset = lifter.number(to.offset);
  properties.srcOffset = lifter.number(from.offset);
  SmallVector<Value, 4> inputs = {to.base, from.base};
  // Where the predicate is off, zeros are written.
  int32_t ignores = 0;
  if (!parts.predicates.empty() && !isTrue(*parts.predicates[0])) {
    inputs.push_back(lifter.negate(lifter.predicate(*parts.predicates[0])));
    ignores = 1;
  }
  Value policy = lifter.policy(addresses[1]->address);
  if (policy)
    inputs.push_back(policy);
  lifter.emit<kern::AsyncCopyOp>(properties, {1, 1, 0, ignores, policy ? 1 : 0},
                                 inputs);
  return true;
}

static bool liftCommit(FunctionLifter &lifter, const Instruction &) {
  kern::AsyncCommitOp::Properties properties;
  properties.group =
      lifter.attr<kern::CompletionAttr>(Completion::CpAsyncGroup);
  lifter.emit<kern::AsyncCommitOp>(properties, {}, {});
  return true;
}

/// DEPBAR.LE SB0, n waits until at most n groups are in flight, of per-thread
/// and of bulk copies alike. Other scoreboards order registers only.
static bool liftWait(FunctionLifter &lifter, const Instruction &instruction) {
  if (instruction.operands.empty())
    return false;
  const Operand &board = instruction.operands[0];
  if (board.kind != OperandKind::Scoreboard)
    return false;
  bool isFirst = board.name == "SB0";
  if (!isFirst || !(lifter.hasCopyGroups || lifter.hasBulkGroups))
    return true;
  if (!instruction.has("LE") || instruction.operands.size() < 2 ||
      instruction.operands[1].kind != OperandKind::Integer)
    return false;
  for (auto [present, group] :
       {std::pair(lifter.hasCopyGroups, Completion::CpAsyncGroup),
        std::pair(lifter.hasBulkGroups, Completion::BulkGroup)}) {
    if (!present)
      continue;
    kern::AsyncWaitOp::Properties properties;
    properties.group = lifter.attr<kern::CompletionAttr>(group);
    properties.pending = lifter.number(instruction.operands[1].integer);
    lifter.emit<kern::AsyncWaitOp>(properties, {}, {});
  }
  return true;
}

static bool liftAsyncArrive(FunctionLifter &lifter,
                            const Instruction &instruction) {
  if (instruction.operands.size() != 1 ||
      instruction.operands[0].kind != OperandKind::Memory ||
      !instruction.has("LDGSTSBAR"))
    return false;
  kern::AsyncArriveOp::Properties properties;
  FunctionLifter::Address at =
      lifter.address(instruction.operands[0].address, Space::Shared);
  properties.offset = lifter.number(at.offset);
  properties.noIncrement = lifter.unit(instruction.has("ARVCNT"));
  lifter.emit<kern::AsyncArriveOp>(properties, {1}, {at.base});
  return true;
}

/// STAS, REDAS: the address is a pair of the data's and the mbarrier's.
static bool liftAsyncStore(FunctionLifter &lifter,
                           const Instruction &instruction) {
  Parts parts(instruction);
  if (instruction.operands.size() != 2 ||
      instruction.operands[0].kind != OperandKind::Memory)
    return false;
  const sass::Address &address = instruction.operands[0].address;
  if (address.base.isConstant() || address.offset != 0)
    return false;
  kern::AsyncStoreOp::Properties properties;
  properties.space = lifter.attr<kern::SpaceAttr>(Space::SharedCluster);
  properties.type = lifter.type(ElementType::B32);
  properties.offset = lifter.number(0);
  properties.barrierOffset = lifter.number(0);
  if (instruction.getOpcode() == Opcode::REDAS) {
    std::optional<kern::AtomicFunction> function =
        getAtomicFunction(instruction);
    if (!function)
      return false;
    properties.reduction = lifter.attr<kern::AtomicFunctionAttr>(*function);
  }
  SmallVector<Value, 6> inputs = {lifter.read(address.base)};
  const Operand &data = instruction.operands[1];
  lifter.readGroup(data, std::max<unsigned>(data.width, 1), inputs);
  int32_t values = static_cast<int32_t>(inputs.size()) - 1;
  inputs.push_back(lifter.read(address.base.getNext(1)));
  lifter.emit<kern::AsyncStoreOp>(properties, {1, values, 1}, inputs);
  return true;
}

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

namespace {
/// Layout of the word that SYNCS.EXCH.64 writes to make an mbarrier for n
/// arrivals: (2^20 - n) << 1 in the lower half, << 11 in the upper one.
constexpr uint64_t kArrivalsBase = 0x100000;
/// A wait on a parity has the parity in the top bit of its register.
constexpr uint64_t kParityShift = 31;
} // namespace

static bool liftInit(FunctionLifter &lifter, const Operand &address,
                     const Operand &word) {
  FunctionLifter::Address at = lifter.address(address.address, Space::Shared);
  kern::MBarrierInitOp::Properties properties;
  properties.offset = lifter.number(at.offset);
  Value low = word.isRegister() ? lifter.read(word.reg) : lifter.plain(word);
  Value missing = lifter.arith(ArithKind::Shr, ElementType::U32,
                               {low, lifter.constant32(1)});
  Value count = lifter.arith(ArithKind::Sub, ElementType::U32,
                             {lifter.constant32(kArrivalsBase), missing});
  lifter.emit<kern::MBarrierInitOp>(properties, {1, 1}, {at.base, count});
  return true;
}

static bool liftArrive(FunctionLifter &lifter, const Instruction &instruction,
                       const Operand &address, const Operand *number,
                       const Operand *state) {
  FunctionLifter::Address at = lifter.address(address.address, Space::Shared);
  bool isRemote = instruction.has("RED");
  Space space = isRemote ? Space::SharedCluster : Space::Shared;
  auto value = [&] {
    return number ? lifter.integer(*number) : lifter.constant32(0);
  };
  // No arrival (A0): only the transaction count changes.
  if (instruction.has("A0TR") || instruction.has("A0T1")) {
    kern::MBarrierExpectTxOp::Properties properties;
    properties.space = lifter.attr<kern::SpaceAttr>(space);
    properties.offset = lifter.number(at.offset);
    lifter.emit<kern::MBarrierExpectTxOp>(
        properties, {1, 1},
        {at.base, instruction.has("A0T1") ? lifter.constant32(1) : value()});
    return true;
  }
  if (instruction.has("A0TX")) {
    kern::MBarrierCompleteTxOp::Properties properties;
    properties.space = lifter.attr<kern::SpaceAttr>(space);
    properties.offset = lifter.number(at.offset);
    lifter.emit<kern::MBarrierCompleteTxOp>(properties, {1, 1},
                                            {at.base, value()});
    return true;
  }
  kern::MBarrierArriveOp::Properties properties;
  properties.space = lifter.attr<kern::SpaceAttr>(space);
  properties.offset = lifter.number(at.offset);
  properties.drop = lifter.unit(instruction.has("OPTOUT"));
  properties.noComplete = lifter.unit(instruction.has("TMASK"));
  SmallVector<Value, 2> inputs = {at.base};
  bool hasCount = instruction.has("ART0"), isSingle = instruction.has("A1T0");
  if (!hasCount && !isSingle) {
    // One arrival, and as many bytes expected as the register says.
    if (!hasOnly(instruction, {"ARRIVE", "TRANS64", "RED", "OPTOUT", "A1TR"}))
      return false;
    properties.expectTx = lifter.unit(true);
  }
  if (!isSingle)
    inputs.push_back(value());
  SmallVector<Dest, 1> results;
  if (state && !state->reg.isConstant())
    results.push_back(lifter.to(*state, 64));
  lifter.emit<kern::MBarrierArriveOp>(
      properties, {1, static_cast<int32_t>(inputs.size()) - 1}, inputs,
      results);
  return true;
}

/// Whether `word` is a half of the state that an arrival returned.
static bool isState(Value word) {
  auto parts = word.getDefiningOp<kern::UnpackOp>();
  return parts &&
         parts.getInputs().front().getDefiningOp<kern::MBarrierArriveOp>();
}

static bool liftPhaseCheck(FunctionLifter &lifter,
                           const Instruction &instruction, const Parts &parts,
                           const Operand &address, const Operand &phase) {
  if (parts.writtenPredicates.size() != 1)
    return false;
  FunctionLifter::Address at = lifter.address(address.address, Space::Shared);
  kern::MBarrierWaitOp::Properties properties;
  properties.kind = lifter.attr<kern::WaitKindAttr>(
      instruction.has("TRYWAIT") ? kern::WaitKind::Try : kern::WaitKind::Test);
  properties.offset = lifter.number(at.offset);
  Value word = lifter.integer(phase);
  bool hasParity = !isState(word);
  properties.parity = lifter.unit(hasParity);
  if (hasParity)
    word = lifter.arith(ArithKind::Shr, ElementType::U32,
                        {word, lifter.constant32(kParityShift)});
  lifter.emit<kern::MBarrierWaitOp>(properties, {1, 1, 0}, {at.base, word},
                                    {lifter.to(*parts.writtenPredicates[0])});
  return true;
}

static bool liftSyncs(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  const Operand *address = nullptr, *number = nullptr;
  for (const Operand *operand : parts.values)
    (operand->kind == OperandKind::Memory ? address : number) = operand;
  if (!address)
    return false;
  if (instruction.has("EXCH")) {
    if (!number || (parts.target && !parts.target->reg.isConstant()) ||
        !hasOnly(instruction, {"EXCH", "64"}))
      return false;
    return liftInit(lifter, *address, *number);
  }
  if (instruction.has("ARRIVE"))
    return liftArrive(lifter, instruction, *address, number, parts.target);
  if (instruction.has("PHASECHK")) {
    if (!number || !hasOnly(instruction, {"PHASECHK", "TRANS64", "TRYWAIT"}))
      return false;
    return liftPhaseCheck(lifter, instruction, parts, *address, *number);
  }
  if (instruction.has("CCTL") && instruction.has("IV")) {
    FunctionLifter::Address at =
        lifter.address(address->address, Space::Shared);
    kern::MBarrierInvalOp::Properties properties;
    properties.offset = lifter.number(at.offset);
    lifter.emit<kern::MBarrierInvalOp>(properties, {1}, {at.base});
    return true;
  }
  return false;
}

LiftFn sasslift::findAsync(Opcode opcode) {
  switch (opcode) {
  case Opcode::LDGSTS:
    return liftCopy;
  case Opcode::LDGDEPBAR:
    return liftCommit;
  case Opcode::DEPBAR:
    return liftWait;
  case Opcode::ARRIVES:
    return liftAsyncArrive;
  case Opcode::STAS:
  case Opcode::REDAS:
    return liftAsyncStore;
  case Opcode::SYNCS:
  case Opcode::SYNCSU:
    return liftSyncs;
  default:
    return nullptr;
  }
}
