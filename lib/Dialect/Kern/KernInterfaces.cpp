// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How each operation of kern answers the interfaces that analyses ask:
// memory accesses, asynchronous effects, matrix products, barriers.

#include "d2k/Dialect/Kern/Kern.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::kern;

using Accesses = llvm::SmallVectorImpl<MemoryAccess>;
using Form = MemoryAccess::Form;

namespace {
/// Sizes in bytes of the objects that the hardware defines.
constexpr uint64_t kMBarrierBytes = 8;
constexpr uint64_t kTensorMapBytes = 128;
constexpr uint64_t kCancelResponseBytes = 16;
constexpr uint64_t kTmemAddressBytes = 4;

enum Kind : unsigned { Read = 1, Write = 2, ReadWrite = 3 };

MemoryAccess access(Value address, int64_t offset, Space space,
                    std::optional<uint64_t> bytes, Kind kind) {
  MemoryAccess result;
  result.address = address;
  result.offset = offset;
  result.space = space;
  result.bytes = bytes;
  result.read = kind & Read;
  result.write = kind & Write;
  return result;
}

MemoryAccess barrierAccess(Value address, int64_t offset, Space space,
                           bool async = false) {
  MemoryAccess result =
      access(address, offset, space, kMBarrierBytes, ReadWrite);
  result.barrier = true;
  result.async = async;
  return result;
}

/// An access whose address is not a plain one.
MemoryAccess indirect(Value address, Space space, Form form, Kind kind) {
  MemoryAccess result = access(address, 0, space, std::nullopt, kind);
  result.form = form;
  result.async = true;
  return result;
}

/// Value of an operand that is a constant.
std::optional<uint64_t> constantOf(Value value) {
  if (auto constant = value ? value.getDefiningOp<ConstantOp>() : nullptr)
    if (constant.getBits().getActiveBits() <= 64)
      return constant.getBits().getZExtValue();
  return std::nullopt;
}

/// Bytes moved by each thread for `count` elements of `type`.
std::optional<uint64_t> bytesOf(ElementType type, uint64_t count) {
  uint64_t bits = getBits(type) * count;
  if (bits == 0)
    return std::nullopt;
  return (bits + 7) / 8;
}
} // namespace

//===----------------------------------------------------------------------===//
// Synchronous accesses
//===----------------------------------------------------------------------===//

void LoadOp::getAccesses(Accesses &accesses) {
  accesses.push_back(access(getBase(), getOffset(), getSpace(),
                            bytesOf(getType(), getOutputs().size()), Read));
}

void StoreOp::getAccesses(Accesses &accesses) {
  accesses.push_back(access(getBase(), getOffset(), getSpace(),
                            bytesOf(getType(), getValues().size()), Write));
}

void AtomicOp::getAccesses(Accesses &accesses) {
  MemoryAccess result = access(getBase(), getOffset(), getSpace(),
                               bytesOf(getType(), getVector()), ReadWrite);
  result.atomic = true;
  accesses.push_back(result);
}

void MultimemOp::getAccesses(Accesses &accesses) {
  bool load = getAction() == "ld_reduce", store = getAction() == "st";
  MemoryAccess result = access(getBase(), getOffset(), Space::Global,
                               bytesOf(getType(), getVector()),
                               load ? Read : (store ? Write : ReadWrite));
  result.atomic = !load && !store;
  accesses.push_back(result);
}

void CacheControlOp::getAccesses(Accesses &accesses) {
  // A discard destroys the line; a change of priority touches no data.
  if (getAction() == "discard")
    accesses.push_back(
        access(getBase(), getOffset(), getSpace(), getBytes(), Write));
}

void TextureOp::getAccesses(Accesses &accesses) {
  bool write =
      getAction().starts_with("sust") || getAction().starts_with("sured");
  bool query = getAction().starts_with("txq") ||
               getAction().starts_with("suq") ||
               getAction().starts_with("istypep");
  if (query)
    return;
  MemoryAccess result =
      access(Value(), 0, Space::Global, std::nullopt, write ? Write : Read);
  result.form = Form::Unknown;
  result.atomic = getAction().starts_with("sured");
  result.read |= result.atomic;
  accesses.push_back(result);
}

void MatrixLoadOp::getAccesses(Accesses &accesses) {
  MemoryAccess result =
      access(getBase(), getOffset(), getSpace(), getBytes(), Read);
  result.warpWide = true;
  accesses.push_back(result);
}

void MatrixStoreOp::getAccesses(Accesses &accesses) {
  MemoryAccess result =
      access(getBase(), getOffset(), getSpace(), getBytes(), Write);
  result.warpWide = true;
  accesses.push_back(result);
}

void BulkFillOp::getAccesses(Accesses &accesses) {
  accesses.push_back(
      access(getBase(), getOffset(), getSpace(), constantOf(getSize()), Write));
}

void TensorMapReplaceOp::getAccesses(Accesses &accesses) {
  accesses.push_back(
      access(getBase(), getOffset(), getSpace(), kTensorMapBytes, ReadWrite));
}

void TensorMapFenceOp::getAccesses(Accesses &accesses) {
  accesses.push_back(access(getSrc(), getSrcOffset(), Space::Shared,
                            constantOf(getSize()), Read));
  accesses.push_back(access(getDst(), getDstOffset(), Space::Global,
                            constantOf(getSize()), Write));
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

void AsyncCopyOp::getAccesses(Accesses &accesses) {
  MemoryAccess source =
      access(getSrc(), getSrcOffset(), Space::Global, getBytes(), Read);
  MemoryAccess target =
      access(getDst(), getDstOffset(), Space::Shared, getBytes(), Write);
  source.async = target.async = true;
  accesses.push_back(source);
  accesses.push_back(target);
}

AsyncRole AsyncCopyOp::getAsyncRole() { return AsyncRole::Issue; }
Completion AsyncCopyOp::getCompletion() { return Completion::CpAsyncGroup; }
Value AsyncCopyOp::getCompletionBarrier() { return {}; }

void BulkCopyOp::getAccesses(Accesses &accesses) {
  std::optional<uint64_t> bytes = constantOf(getSize());
  auto add = [&](OperandRange values, int64_t offset, Space space, Kind kind) {
    if (values.empty())
      return;
    MemoryAccess result = access(values.front(), offset, space, bytes, kind);
    result.async = true;
    // The global side of a tensor copy is named by its map.
    if (getDims() != 0 && space == Space::Global) {
      result.form = Form::TensorMap;
      result.bytes = std::nullopt;
    }
    result.atomic = getKind() == BulkKind::Reduce && kind != Read;
    accesses.push_back(result);
  };
  // A prefetch moves lines into L2: no thread can see that it read them.
  if (getKind() == BulkKind::Prefetch)
    return;
  add(getSrc(), getSrcOffset(), getSrcSpace(), Read);
  add(getDst(), getDstOffset(), getDstSpace(),
      getKind() == BulkKind::Reduce ? ReadWrite : Write);
  if (getBarrier())
    accesses.push_back(barrierAccess(getBarrier(), getBarrierOffset(),
                                     Space::Shared, /*async=*/true));
}

AsyncRole BulkCopyOp::getAsyncRole() { return AsyncRole::Issue; }
Value BulkCopyOp::getCompletionBarrier() { return getBarrier(); }

LogicalResult BulkCopyOp::verify() {
  bool prefetch = getKind() == BulkKind::Prefetch;
  if (getDst().size() > 1 || getSrc().size() > 1)
    return emitOpError("has more than one source or destination");
  if (getSrc().empty())
    return emitOpError("has no source");
  if (prefetch != getDst().empty())
    return emitOpError(prefetch ? "is a prefetch with a destination"
                                : "has no destination");
  if (getKind() == BulkKind::Reduce && !getReduction())
    return emitOpError("is a reduction without a function");
  if (getDims() != 0 && getCoordinates().empty())
    return emitOpError("is a tensor copy without coordinates");
  if ((getCompletion() == Completion::Mbarrier) != bool(getBarrier()))
    return emitOpError("completes by ")
           << stringifyCompletion(getCompletion()) << " but has "
           << (getBarrier() ? "a" : "no") << " barrier";
  return success();
}

void AsyncStoreOp::getAccesses(Accesses &accesses) {
  MemoryAccess target = access(getBase(), getOffset(), getSpace(),
                               bytesOf(getType(), getValues().size()),
                               getReduction() ? ReadWrite : Write);
  target.async = true;
  target.atomic = bool(getReduction());
  accesses.push_back(target);
  if (getBarrier())
    accesses.push_back(barrierAccess(getBarrier(), getBarrierOffset(),
                                     Space::SharedCluster, /*async=*/true));
}

AsyncRole AsyncStoreOp::getAsyncRole() { return AsyncRole::Issue; }
Completion AsyncStoreOp::getCompletion() {
  return getBarrier() ? Completion::Mbarrier : Completion::None;
}
Value AsyncStoreOp::getCompletionBarrier() { return getBarrier(); }

AsyncRole AsyncCommitOp::getAsyncRole() { return AsyncRole::Commit; }
Completion AsyncCommitOp::getCompletion() { return getGroup(); }
Value AsyncCommitOp::getCompletionBarrier() { return {}; }

AsyncRole AsyncWaitOp::getAsyncRole() { return AsyncRole::Wait; }
Completion AsyncWaitOp::getCompletion() { return getGroup(); }
Value AsyncWaitOp::getCompletionBarrier() { return {}; }
std::optional<uint64_t> AsyncWaitOp::getPendingAllowed() {
  return getPending();
}

void AsyncArriveOp::getAccesses(Accesses &accesses) {
  accesses.push_back(barrierAccess(getBase(), getOffset(), Space::Shared,
                                   /*async=*/true));
}
AsyncRole AsyncArriveOp::getAsyncRole() { return AsyncRole::Commit; }
Completion AsyncArriveOp::getCompletion() { return Completion::Mbarrier; }
Value AsyncArriveOp::getCompletionBarrier() { return getBase(); }

void LaunchCancelOp::getAccesses(Accesses &accesses) {
  MemoryAccess target = access(getBase(), getOffset(), Space::Shared,
                               kCancelResponseBytes, Write);
  target.async = true;
  accesses.push_back(target);
  accesses.push_back(barrierAccess(getBarrier(), getBarrierOffset(),
                                   Space::Shared, /*async=*/true));
}
AsyncRole LaunchCancelOp::getAsyncRole() { return AsyncRole::Issue; }
Completion LaunchCancelOp::getCompletion() { return Completion::Mbarrier; }
Value LaunchCancelOp::getCompletionBarrier() { return getBarrier(); }

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

void MBarrierInitOp::getAccesses(Accesses &accesses) {
  accesses.push_back(barrierAccess(getBase(), getOffset(), Space::Shared));
  accesses.back().read = false;
}
void MBarrierInvalOp::getAccesses(Accesses &accesses) {
  accesses.push_back(barrierAccess(getBase(), getOffset(), Space::Shared));
  accesses.back().read = false;
}
void MBarrierExpectTxOp::getAccesses(Accesses &accesses) {
  accesses.push_back(barrierAccess(getBase(), getOffset(), getSpace()));
}
void MBarrierCompleteTxOp::getAccesses(Accesses &accesses) {
  accesses.push_back(barrierAccess(getBase(), getOffset(), getSpace()));
}

void MBarrierArriveOp::getAccesses(Accesses &accesses) {
  accesses.push_back(barrierAccess(getBase(), getOffset(), getSpace()));
}
BarrierExtent MBarrierArriveOp::getExtent() { return BarrierExtent::MBarrier; }
bool MBarrierArriveOp::arrives() { return true; }
bool MBarrierArriveOp::waits() { return false; }
Value MBarrierArriveOp::getBarrierId() { return getBase(); }

void MBarrierWaitOp::getAccesses(Accesses &accesses) {
  accesses.push_back(barrierAccess(getBase(), getOffset(), Space::Shared));
  accesses.back().write = false;
}
BarrierExtent MBarrierWaitOp::getExtent() { return BarrierExtent::MBarrier; }
bool MBarrierWaitOp::arrives() { return false; }
bool MBarrierWaitOp::waits() { return true; }
Value MBarrierWaitOp::getBarrierId() { return getBase(); }
AsyncRole MBarrierWaitOp::getAsyncRole() { return AsyncRole::Wait; }
Completion MBarrierWaitOp::getCompletion() { return Completion::Mbarrier; }
Value MBarrierWaitOp::getCompletionBarrier() { return getBase(); }

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

BarrierExtent BarrierOp::getExtent() { return BarrierExtent::Block; }
bool BarrierOp::arrives() { return getAction() != BarrierAction::Wait; }
bool BarrierOp::waits() { return getAction() != BarrierAction::Arrive; }
Value BarrierOp::getBarrierId() { return getId(); }

BarrierExtent WarpBarrierOp::getExtent() { return BarrierExtent::Warp; }
bool WarpBarrierOp::arrives() { return true; }
bool WarpBarrierOp::waits() { return true; }
Value WarpBarrierOp::getBarrierId() { return {}; }

BarrierExtent ClusterBarrierOp::getExtent() { return BarrierExtent::Cluster; }
bool ClusterBarrierOp::arrives() { return getAction() != BarrierAction::Wait; }
bool ClusterBarrierOp::waits() { return getAction() != BarrierAction::Arrive; }
Value ClusterBarrierOp::getBarrierId() { return {}; }

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

MatrixFamily MmaOp::getMatrixFamily() { return getFamily(); }
MatrixShape MmaOp::getShape() {
  return {int64_t(getM()), int64_t(getN()), int64_t(getK())};
}
ElementType MmaOp::getAElement() { return getAType(); }
ElementType MmaOp::getBElement() { return getBType(); }
ElementType MmaOp::getAccElement() { return getAccType(); }
OperandSource MmaOp::getASource() { return OperandSource::Registers; }
OperandSource MmaOp::getBSource() { return OperandSource::Registers; }
OperandRange MmaOp::getAValues() { return getA(); }
OperandRange MmaOp::getBValues() { return getB(); }
OperandRange MmaOp::getAccValues() { return getAcc(); }
bool MmaOp::isSparseProduct() { return getSparse(); }

MatrixFamily AsyncMmaOp::getMatrixFamily() { return MatrixFamily::Wgmma; }
MatrixShape AsyncMmaOp::getShape() {
  return {int64_t(getM()), int64_t(getN()), int64_t(getK())};
}
ElementType AsyncMmaOp::getAElement() { return getAType(); }
ElementType AsyncMmaOp::getBElement() { return getBType(); }
ElementType AsyncMmaOp::getAccElement() { return getAccType(); }
OperandSource AsyncMmaOp::getBSource() { return OperandSource::Descriptor; }
OperandRange AsyncMmaOp::getAValues() { return getA(); }
OperandRange AsyncMmaOp::getBValues() { return getB(); }
OperandRange AsyncMmaOp::getAccValues() { return getAcc(); }
bool AsyncMmaOp::isSparseProduct() { return getSparse(); }
AsyncRole AsyncMmaOp::getAsyncRole() { return AsyncRole::Issue; }
Completion AsyncMmaOp::getCompletion() { return Completion::WgmmaGroup; }
Value AsyncMmaOp::getCompletionBarrier() { return {}; }

void AsyncMmaOp::getAccesses(Accesses &accesses) {
  if (getASource() == OperandSource::Descriptor)
    accesses.push_back(
        indirect(getA().front(), Space::Shared, Form::Descriptor, Read));
  accesses.push_back(
      indirect(getB().front(), Space::Shared, Form::Descriptor, Read));
}

LogicalResult AsyncMmaOp::verify() {
  if (getAcc().size() != getOutputs().size())
    return emitOpError("has ") << getAcc().size() << " accumulator inputs but "
                               << getOutputs().size() << " results";
  if (getB().size() != 1 || !getB().front().getType().isInteger(64))
    return emitOpError("needs one 64-bit descriptor for B");
  if (getASource() == OperandSource::Descriptor &&
      (getA().size() != 1 || !getA().front().getType().isInteger(64)))
    return emitOpError("needs one 64-bit descriptor for A");
  return success();
}

MatrixFamily TmemMmaOp::getMatrixFamily() { return MatrixFamily::Tcgen05; }
MatrixShape TmemMmaOp::getShape() { return {}; }
ElementType TmemMmaOp::getAElement() {
  // The kind word fixes the type only where it names a single one; for the
  // others it is a field of the instruction descriptor.
  return getInputKind() == "tf32" ? ElementType::TF32 : ElementType::NONE;
}
ElementType TmemMmaOp::getBElement() { return getAElement(); }
ElementType TmemMmaOp::getAccElement() { return ElementType::NONE; }
OperandSource TmemMmaOp::getBSource() { return OperandSource::Descriptor; }
OperandRange TmemMmaOp::getAValues() { return getA(); }
OperandRange TmemMmaOp::getBValues() { return getB(); }
OperandRange TmemMmaOp::getAccValues() { return getAcc(); }
bool TmemMmaOp::isSparseProduct() { return getSparse(); }
uint64_t TmemMmaOp::getCtaGroupSize() { return getCtaGroup(); }
AsyncRole TmemMmaOp::getAsyncRole() { return AsyncRole::Issue; }
Completion TmemMmaOp::getCompletion() { return Completion::Tcgen05Commit; }
Value TmemMmaOp::getCompletionBarrier() { return {}; }

void TmemMmaOp::getAccesses(Accesses &accesses) {
  if (getASource() == OperandSource::TensorMemory)
    accesses.push_back(indirect(getA().front(), Space::TensorMemory,
                                Form::TensorMemory, Read));
  else
    accesses.push_back(
        indirect(getA().front(), Space::Shared, Form::Descriptor, Read));
  accesses.push_back(
      indirect(getB().front(), Space::Shared, Form::Descriptor, Read));
  accesses.push_back(indirect(getAcc().front(), Space::TensorMemory,
                              Form::TensorMemory, ReadWrite));
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

void TmemAllocOp::getAccesses(Accesses &accesses) {
  accesses.push_back(
      access(getBase(), getOffset(), Space::Shared, kTmemAddressBytes, Write));
}

static MemoryAccess tmemAccess(Value address, int64_t offset, Kind kind) {
  MemoryAccess result =
      indirect(address, Space::TensorMemory, Form::TensorMemory, kind);
  result.offset = offset;
  result.warpWide = true;
  return result;
}

void TmemLoadOp::getAccesses(Accesses &accesses) {
  accesses.push_back(tmemAccess(getAddress(), getOffset(), Read));
}
AsyncRole TmemLoadOp::getAsyncRole() { return AsyncRole::Issue; }
Completion TmemLoadOp::getCompletion() { return Completion::Tcgen05Wait; }
Value TmemLoadOp::getCompletionBarrier() { return {}; }

void TmemStoreOp::getAccesses(Accesses &accesses) {
  accesses.push_back(tmemAccess(getAddress(), getOffset(), Write));
}
AsyncRole TmemStoreOp::getAsyncRole() { return AsyncRole::Issue; }
Completion TmemStoreOp::getCompletion() { return Completion::Tcgen05Wait; }
Value TmemStoreOp::getCompletionBarrier() { return {}; }

void TmemCopyOp::getAccesses(Accesses &accesses) {
  accesses.push_back(
      indirect(getDescriptor(), Space::Shared, Form::Descriptor, Read));
  accesses.push_back(tmemAccess(getAddress(), getOffset(), Write));
}
AsyncRole TmemCopyOp::getAsyncRole() { return AsyncRole::Issue; }
Completion TmemCopyOp::getCompletion() { return Completion::Tcgen05Commit; }
Value TmemCopyOp::getCompletionBarrier() { return {}; }

void TmemShiftOp::getAccesses(Accesses &accesses) {
  accesses.push_back(tmemAccess(getAddress(), getOffset(), ReadWrite));
}
AsyncRole TmemShiftOp::getAsyncRole() { return AsyncRole::Issue; }
Completion TmemShiftOp::getCompletion() { return Completion::Tcgen05Commit; }
Value TmemShiftOp::getCompletionBarrier() { return {}; }

AsyncRole TmemWaitOp::getAsyncRole() { return AsyncRole::Wait; }
Completion TmemWaitOp::getCompletion() { return Completion::Tcgen05Wait; }
Value TmemWaitOp::getCompletionBarrier() { return {}; }

void TmemCommitOp::getAccesses(Accesses &accesses) {
  accesses.push_back(barrierAccess(getBase(), getOffset(), Space::SharedCluster,
                                   /*async=*/true));
}
AsyncRole TmemCommitOp::getAsyncRole() { return AsyncRole::Commit; }
Completion TmemCommitOp::getCompletion() { return Completion::Mbarrier; }
Value TmemCommitOp::getCompletionBarrier() { return getBase(); }
