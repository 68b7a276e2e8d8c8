// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// local_spills: registers that ptxas keeps in local memory for want of room.
//
// A spill slot is a place in the thread's frame with a constant offset. Local
// arrays live in the frame too: an access whose offset is a run-time value
// belongs to one, and so does every access to the bytes that it may touch. What
// is left are spills. Where an array's extent is not bounded, or the address of
// the frame goes where it cannot be followed, the two cannot be told apart;
// ptxas's own figure (`ptxas -v`, which comes with a compilation) decides then.
//
// Example: `STL [R1+0x100]`, `LDL [R1+0x100]` and `LDL [R1 + (i & 63) * 4]`:
// the array is in bytes 0 to 255, the slot at 256 holds 4 bytes that are
// spilled and loaded: 8 bytes of spills.
//
// Not detected: spills to shared memory (`.pragma "enable_smem_spilling"`).

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// What a kernel does with its frame in local memory.
struct Frame {
  /// Accesses at constant offsets, and those of arrays, which have a range.
  llvm::SmallVector<const AccessInfo *> slots, arrays;
  /// The first operation for which slots and arrays cannot be told apart.
  OpId unclear = kNone;
};
} // namespace

/// Whether `op` does with the frame's address `value` no more than compute
/// another address of the frame or access memory there.
static bool isFollowed(Detector &detector, OpId op, ValueId value,
                       llvm::function_ref<bool(ValueId)> isFrame) {
  const KernelIndex &index = detector.getIndex();
  mlir::Operation *operation = index.getOp(op);
  if (operation->hasTrait<mlir::OpTrait::IsTerminator>() ||
      mlir::isa<kern::CompareOp>(operation))
    return true;
  if (auto store = mlir::dyn_cast<kern::StoreOp>(operation))
    return !llvm::is_contained(store.getValues(), index.getValue(value));
  if (mlir::isa<kern::LoadOp>(operation))
    return true;
  for (uint32_t i = 0; i < index.getNumResults(op); ++i)
    if (isFrame(index.getFirstResult(op) + i))
      return true;
  return false;
}

static Frame readFrame(Detector &detector) {
  const MemoryRoots &memory = detector.getMemory();
  const KernelIndex &index = detector.getIndex();
  Frame frame;
  for (const AccessInfo &access : memory.getAccesses()) {
    if (access.space != kern::Space::Local)
      continue;
    bool sized = access.bounded && access.access.bytes;
    if (!sized)
      frame.unclear = std::min(frame.unclear, access.op);
    else if (access.high - access.low == int64_t(*access.access.bytes))
      frame.slots.push_back(&access);
    else
      frame.arrays.push_back(&access);
  }
  auto isFrame = [&](ValueId value) {
    return llvm::any_of(memory.getRoots(value), [&](RootId root) {
      return memory.getRoot(root).space == kern::Space::Local;
    });
  };
  for (ValueId value = 0; value < index.getNumValues(); ++value) {
    if (!isFrame(value))
      continue;
    for (OpId user : index.getUsers(value))
      if (!isFollowed(detector, user, value, isFrame))
        frame.unclear = std::min(frame.unclear, user);
  }
  return frame;
}

static void detect(Detector &detector) {
  Frame frame = readFrame(detector);
  std::optional<int64_t> known =
      detector.getFunc().getDirective("kern.spill_bytes");
  int64_t bytes = 0;
  llvm::SmallVector<OpId> where;
  for (const AccessInfo *slot : frame.slots) {
    bool inArray = llvm::any_of(frame.arrays, [&](const AccessInfo *array) {
      return slot->low < array->high && array->low < slot->high;
    });
    if (inArray)
      continue;
    bytes += slot->high - slot->low;
    if (!llvm::is_contained(where, slot->op))
      where.push_back(slot->op);
  }
  if (known)
    bytes = *known;
  if (bytes == 0)
    return;
  if (!known && frame.unclear != kNone)
    return detector.addUndecided(
        std::to_string(bytes) +
            " bytes of local stores and loads at constant places may be spills "
            "or belong to an array that " +
            detector.describe(frame.unclear) + " addresses at run time",
        "what ptxas -v says, which comes with the source", where);
  AttributeMap attributes;
  attributes["bytes"] = bytes;
  if (where.empty())
    detector.addKernelFact(std::move(attributes));
  else
    detector.addFact(std::move(attributes), kNone, where);
}

namespace d2k::properties {
Property makeLocalSpills() {
  PropertyInfo info;
  info.id = "local_spills";
  info.group = 'A';
  info.summary = "registers are spilled to local memory; local arrays that are "
                 "indexed at run time are told apart";
  info.attributes = {{"bytes",
                      AttrType::Integer,
                      {},
                      "bytes of all spill stores and loads, each instruction "
                      "counted once"}};
  info.decidingTiers = {Tier::Sass};
  info.detectorTiers = {Tier::Sass};
  info.inverse = true;
  return {info, detect};
}
} // namespace d2k::properties
