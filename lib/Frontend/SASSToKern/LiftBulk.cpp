// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The TMA unit: bulk copies, reductions and prefetches, with and without tensor
// map. Their operands are groups of uniform registers, of which the text names
// the first.

#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using kern::BulkKind;
using kern::Completion;
using kern::Space;
using sass::OperandKind;

namespace {
/// The operand groups of `kern.bulk_copy`, in their order.
struct Groups {
  SmallVector<Value, 1> dst, src;
  SmallVector<Value, 5> coordinates, offsets;
  Value size, barrier, mask, byteMask, policy;

  Operation *emit(FunctionLifter &lifter,
                  kern::BulkCopyOp::Properties properties) {
    SmallVector<Value, 12> operands;
    SmallVector<int32_t, 9> segments;
    auto add = [&](ArrayRef<Value> values) {
      operands.append(values.begin(), values.end());
      segments.push_back(static_cast<int32_t>(values.size()));
    };
    add(dst);
    add(src);
    add(coordinates);
    add(offsets);
    for (Value value : {size, barrier, mask, byteMask, policy})
      add(value ? ArrayRef(value) : ArrayRef<Value>());
    return lifter.emit<kern::BulkCopyOp>(properties, segments, operands);
  }
};
} // namespace

/// First register of the group that `[UR4]` names.
static std::optional<Register> getGroup(const Operand &operand) {
  if (operand.kind != OperandKind::Memory &&
      operand.kind != OperandKind::Descriptor)
    return std::nullopt;
  const sass::Address &address = operand.address;
  if (address.offset != 0 || address.uniform.isConstant() ||
      !address.base.isConstant())
    return std::nullopt;
  return address.uniform;
}

static kern::BulkCopyOp::Properties makeProperties(FunctionLifter &lifter,
                                                   BulkKind kind, Space from,
                                                   Space to,
                                                   Completion completion) {
  kern::BulkCopyOp::Properties properties;
  properties.kind = lifter.attr<kern::BulkKindAttr>(kind);
  properties.srcSpace = lifter.attr<kern::SpaceAttr>(from);
  properties.dstSpace = lifter.attr<kern::SpaceAttr>(to);
  properties.completion = lifter.attr<kern::CompletionAttr>(completion);
  return properties;
}

//===----------------------------------------------------------------------===//
// With tensor map
//===----------------------------------------------------------------------===//

static std::optional<unsigned> getRank(const Instruction &instruction) {
  for (unsigned rank = 1; rank <= 5; ++rank)
    if (instruction.has(std::to_string(rank) + "D"))
      return rank;
  return std::nullopt;
}

static bool liftTensorCopy(FunctionLifter &lifter,
                           const Instruction &instruction) {
  std::optional<unsigned> rank = getRank(instruction);
  if (!rank || instruction.operands.size() < 2)
    return false;
  std::optional<Register> group = getGroup(instruction.operands[0]),
                          map = getGroup(instruction.operands[1]);
  if (!group || !map)
    return false;
  bool isLoad = instruction.getOpcode() == Opcode::UTMALDG;
  bool isPrefetch = instruction.getOpcode() == Opcode::UTMAPF;
  bool isReduction = instruction.getOpcode() == Opcode::UTMAREDG;
  BulkKind kind = isPrefetch    ? BulkKind::Prefetch
                  : isReduction ? BulkKind::Reduce
                                : BulkKind::Copy;
  kern::BulkCopyOp::Properties properties =
      isLoad ? makeProperties(lifter, kind, Space::Global, Space::SharedCluster,
                              Completion::Mbarrier)
      : isPrefetch ? makeProperties(lifter, kind, Space::Global, Space::Global,
                                    Completion::None)
                   : makeProperties(lifter, kind, Space::Shared, Space::Global,
                                    Completion::BulkGroup);
  properties.dims = lifter.number(*rank);
  if (isReduction) {
    std::optional<kern::AtomicFunction> function =
        getAtomicFunction(instruction);
    if (!function)
      return false;
    properties.reduction = lifter.attr<kern::AtomicFunctionAttr>(*function);
  }
  std::optional<kern::TensorMode> mode = kern::TensorMode::Tile;
  if (instruction.has("GATHER4"))
    mode = kern::TensorMode::TileGather4;
  else if (instruction.has("SCATTER4"))
    mode = kern::TensorMode::TileScatter4;
  else if (instruction.has("IM2COL"))
    mode = instruction.has("W128") ? kern::TensorMode::Im2colW128
           : instruction.has("W")  ? kern::TensorMode::Im2colW
                                   : kern::TensorMode::Im2col;
  properties.mode = lifter.attr<kern::TensorModeAttr>(mode);
  if (instruction.has("2CTA"))
    properties.ctaGroup = lifter.number(2);

  Groups groups;
  unsigned first = isLoad ? 2 : isPrefetch ? 0 : 1;
  unsigned width = instruction.operands[0].address.uniformWidth;
  unsigned coordinates = *mode == kern::TensorMode::TileGather4 ||
                                 *mode == kern::TensorMode::TileScatter4
                             ? width - first
                             : *rank;
  for (unsigned i = first; i < width; ++i)
    (i - first < coordinates ? groups.coordinates : groups.offsets)
        .push_back(lifter.read(group->getNext(i)));
  if (groups.coordinates.empty())
    return false;
  Value address = lifter.readWide(*map);
  if (isLoad) {
    groups.dst.push_back(lifter.read(*group));
    groups.src.push_back(address);
    groups.barrier = lifter.read(group->getNext(1));
  } else if (isPrefetch) {
    groups.src.push_back(address);
  } else {
    groups.src.push_back(lifter.read(*group));
    groups.dst.push_back(address);
  }
  for (const Operand &operand : llvm::drop_begin(instruction.operands, 2)) {
    // The mask of blocks is the upper half of the register.
    if (operand.isRegister() && instruction.has("MULTICAST"))
      groups.mask =
          lifter.arith(ArithKind::Shr, ElementType::U32,
                       {lifter.read(operand.reg), lifter.constant32(16)});
    else if (std::optional<Register> policy = getGroup(operand))
      groups.policy = lifter.readWide(*policy);
    else if (operand.kind == OperandKind::Memory ||
             operand.kind == OperandKind::Descriptor)
      return false;
  }
  properties.multicast = lifter.unit(static_cast<bool>(groups.mask));
  groups.emit(lifter, properties);
  return true;
}

//===----------------------------------------------------------------------===//
// Plain ranges
//===----------------------------------------------------------------------===//

/// The lower half of the register is the number of 16-byte units.
static Value makeSize(FunctionLifter &lifter, const Operand &operand) {
  Value units =
      lifter.arith(ArithKind::And, ElementType::B32,
                   {lifter.integer(operand), lifter.constant32(0xffff)});
  return lifter.arith(ArithKind::Shl, ElementType::B32,
                      {units, lifter.constant32(4)});
}

static bool liftRangeCopy(FunctionLifter &lifter,
                          const Instruction &instruction) {
  const std::vector<std::string> &modifiers = instruction.mnemonic->modifiers;
  if (modifiers.size() < 2 || instruction.operands.size() < 3)
    return false;
  std::optional<Register> to = getGroup(instruction.operands[0]),
                          from = getGroup(instruction.operands[1]);
  const Operand &size = instruction.operands[2];
  if (!to || !from || !size.isRegister())
    return false;
  bool toGlobal = modifiers[0] == "G", fromGlobal = modifiers[1] == "G";
  bool isReduction = instruction.getOpcode() == Opcode::UBLKRED;
  // Copies into global memory complete in the bulk group, others on an mbarrier
  // next to the address.
  kern::BulkCopyOp::Properties properties =
      makeProperties(lifter, isReduction ? BulkKind::Reduce : BulkKind::Copy,
                     fromGlobal ? Space::Global : Space::Shared,
                     toGlobal ? Space::Global : Space::SharedCluster,
                     toGlobal ? Completion::BulkGroup : Completion::Mbarrier);
  if (isReduction) {
    std::optional<kern::AtomicFunction> function =
        getAtomicFunction(instruction);
    if (!function)
      return false;
    properties.reduction = lifter.attr<kern::AtomicFunctionAttr>(*function);
  }
  Groups groups;
  groups.dst.push_back(toGlobal ? lifter.readWide(*to) : lifter.read(*to));
  groups.src.push_back(fromGlobal ? lifter.readWide(*from)
                                  : lifter.read(*from));
  groups.size = makeSize(lifter, size);
  if (!toGlobal)
    groups.barrier = lifter.read(to->getNext(1));
  if (instruction.has("MULTICAST")) {
    groups.mask = lifter.arith(ArithKind::Shr, ElementType::U32,
                               {lifter.integer(size), lifter.constant32(16)});
    properties.multicast = lifter.unit(true);
  }
  if (instruction.operands.size() > 3) {
    std::optional<Register> policy = getGroup(instruction.operands[3]);
    if (!policy)
      return false;
    groups.policy = lifter.readWide(*policy);
  }
  groups.emit(lifter, properties);
  return true;
}

static bool liftRangePrefetch(FunctionLifter &lifter,
                              const Instruction &instruction) {
  if (instruction.operands.size() < 2)
    return false;
  std::optional<Register> from = getGroup(instruction.operands[0]);
  if (!from)
    return false;
  Groups groups;
  groups.src.push_back(lifter.readWide(*from));
  groups.size = makeSize(lifter, instruction.operands[1]);
  groups.emit(lifter, makeProperties(lifter, BulkKind::Prefetch, Space::Global,
                                     Space::Global, Completion::None));
  return true;
}

//===----------------------------------------------------------------------===//
// Groups and maps
//===----------------------------------------------------------------------===//

static bool liftMapControl(FunctionLifter &lifter,
                           const Instruction &instruction) {
  if (instruction.operands.size() != 1)
    return false;
  std::optional<Register> map = getGroup(instruction.operands[0]);
  if (!map)
    return false;
  if (instruction.has("PF")) {
    kern::PrefetchOp::Properties properties;
    properties.level =
        lifter.attr<kern::PrefetchLevelAttr>(kern::PrefetchLevel::Tensormap);
    properties.space = lifter.attr<kern::SpaceAttr>(Space::Generic);
    properties.offset = lifter.number(0);
    lifter.emit<kern::PrefetchOp>(properties, {1}, {lifter.readWide(*map)});
    return true;
  }
  // The copy of the map that the unit holds is dropped.
  if (!instruction.has("IV"))
    return false;
  kern::FenceOp::Properties properties;
  properties.kind =
      lifter.attr<kern::FenceKindAttr>(kern::FenceKind::ProxyTensormap);
  properties.semantics =
      lifter.attr<kern::SemanticsAttr>(kern::Semantics::Acquire);
  lifter.emit<kern::FenceOp>(properties, {1}, {lifter.readWide(*map)});
  return true;
}

static bool liftBulkCommit(FunctionLifter &lifter, const Instruction &) {
  kern::AsyncCommitOp::Properties properties;
  properties.group = lifter.attr<kern::CompletionAttr>(Completion::BulkGroup);
  lifter.emit<kern::AsyncCommitOp>(properties, {}, {});
  return true;
}

/// UGETNEXTWORKID [response], [mbarrier]: a block asks for another one's work.
static bool liftNextWork(FunctionLifter &lifter,
                         const Instruction &instruction) {
  if (instruction.operands.size() != 2 ||
      instruction.operands[0].kind != OperandKind::Memory ||
      instruction.operands[1].kind != OperandKind::Memory ||
      !hasOnly(instruction, {"BROADCAST", "SELFCAST"}))
    return false;
  FunctionLifter::Address response =
      lifter.address(instruction.operands[0].address, Space::Shared);
  FunctionLifter::Address barrier =
      lifter.address(instruction.operands[1].address, Space::Shared);
  kern::LaunchCancelOp::Properties properties;
  properties.multicast = lifter.unit(instruction.has("BROADCAST"));
  properties.offset = lifter.number(response.offset);
  properties.barrierOffset = lifter.number(barrier.offset);
  lifter.emit<kern::LaunchCancelOp>(properties, {1, 1},
                                    {response.base, barrier.base});
  return true;
}

LiftFn sasslift::findBulk(Opcode opcode) {
  switch (opcode) {
  case Opcode::UTMALDG:
  case Opcode::UTMASTG:
  case Opcode::UTMAREDG:
  case Opcode::UTMAPF:
    return liftTensorCopy;
  case Opcode::UBLKCP:
  case Opcode::UBLKRED:
    return liftRangeCopy;
  case Opcode::UBLKPF:
    return liftRangePrefetch;
  case Opcode::UTMACCTL:
    return liftMapControl;
  case Opcode::UTMACMDFLUSH:
    return liftBulkCommit;
  case Opcode::UGETNEXTWORKID:
    return liftNextWork;
  default:
    return nullptr;
  }
}
