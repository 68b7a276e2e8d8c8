// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern dialect: operations, enumerations, and the vocabulary of its
// interfaces. The definition of each operation is in docs/Dialects/Kern.md,
// generated from the TableGen files beside this header.

#ifndef D2K_DIALECT_KERN_KERN_H
#define D2K_DIALECT_KERN_KERN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <array>
#include <optional>

#include "d2k/Dialect/Kern/KernEnums.h.inc"

namespace d2k::kern {

/// One range of memory that an operation reads or writes.
///
/// Example: `kern.load global f32 [%p + 16 : i64] -> i32, i32` is
/// `{address = %p, offset = 16, space = Global, bytes = 8, read = true}`.
/// `cp.async` has two entries, both `async`: a read of global and a write of
/// shared memory.
struct MemoryAccess {
  /// How `address` names the memory.
  enum class Form {
    /// `address + offset` is the first byte.
    Address,
    /// `address` points to a tensor map; the range lies somewhere in the tensor
    /// that the map describes.
    TensorMap,
    /// `address` is a 64-bit shared-memory matrix descriptor.
    Descriptor,
    /// `address` is a tensor-memory address (lane and column).
    TensorMemory,
    /// The operation does not say where (a texture, an opaque operation).
    Unknown,
  };

  mlir::Value address;
  int64_t offset = 0;
  Space space = Space::Unknown;
  Form form = Form::Address;
  /// Bytes that one thread (for `warpWide`: one warp) transfers; nothing when
  /// it is a run-time value or in a descriptor.
  std::optional<uint64_t> bytes;
  bool read = false;
  bool write = false;
  /// Done by an asynchronous agent: not visible to the issuing thread until the
  /// completion mechanism says so.
  bool async = false;
  /// The access concerns an mbarrier word, not data.
  bool barrier = false;
  /// `bytes` counts for the whole warp (ldmatrix and the like).
  bool warpWide = false;
  /// Read-modify-write.
  bool atomic = false;
};

/// Role of an operation in the life of asynchronous work.
enum class AsyncRole {
  /// Starts work that joins the current group or names its barrier.
  Issue,
  /// Closes a group, or asks a barrier to be signalled when prior work is done.
  Commit,
  /// Waits, or polls, for completion.
  Wait,
};

/// Shape of one matrix instruction; 0 where it is not known statically.
struct MatrixShape {
  int64_t m = 0, n = 0, k = 0;
};

/// Threads that take part in a barrier.
enum class BarrierExtent { Warp, Block, Cluster, MBarrier };

/// Bits of one element of `type`; 0 for `none`. The 4- and 6-bit formats count
/// their own bits, packed types all their elements (`bf16x2` is 32).
unsigned getBits(ElementType type);
/// True for a floating-point element type (packed and narrow ones included).
bool isFloat(ElementType type);

} // namespace d2k::kern

#include "d2k/Dialect/Kern/KernDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "d2k/Dialect/Kern/KernAttributes.h.inc"

namespace d2k::kern::detail {
/// Verifies what holds for every instruction: old values exist exactly when a
/// guarded instruction has results, and match them in number and type.
mlir::LogicalResult verifyInst(mlir::Operation *op);
} // namespace d2k::kern::detail

#include "d2k/Dialect/Kern/KernInterfaces.h.inc"

#define GET_OP_CLASSES
#include "d2k/Dialect/Kern/KernOps.h.inc"

#endif // D2K_DIALECT_KERN_KERN_H
