// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces through which analyses read kern. An analysis never switches on
// operation names: a new instruction that implements these is understood by
// all of them.

#ifndef D2K_DIALECT_KERN_KERNINTERFACES_TD
#define D2K_DIALECT_KERN_KERNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Kern_InstOpInterface : OpInterface<"InstOpInterface"> {
  let cppNamespace = "::d2k::kern";
  let description = [{
    An operation that was one machine or PTX instruction: it has a mnemonic and
    may be guarded. Example: `@!%p1 ld.global.f32 %f1, [%rd1]` is

    ```mlir
    %1 = kern.load "ld.global.f32" global f32 [%addr : i64]
           if not %p1 else (%0 : i32) -> i32
    ```
  }];
  let methods = [
    InterfaceMethod<"Mnemonic with all modifiers as the front end read it.",
      "::llvm::StringRef", "getMnemonic">,
    InterfaceMethod<"Guard predicate (`i1`), or null when unguarded.",
      "::mlir::Value", "getGuardValue", (ins), [{}],
      [{ return $_op.getGuard(); }]>,
    InterfaceMethod<"True when the instruction runs while the guard is false.",
      "bool", "isGuardNegated", (ins), [{}],
      [{ return $_op.getGuardNegated(); }]>,
    InterfaceMethod<
      "Values that the results keep when the guard is off, one for each result "
      "of a guarded instruction; empty when unguarded.",
      "::mlir::OperandRange", "getOldValues", (ins), [{}],
      [{ return $_op.getOld(); }]>,
  ];
  let verify = [{ return ::d2k::kern::detail::verifyInst($_op); }];
}

def Kern_MemoryAccessOpInterface : OpInterface<"MemoryAccessOpInterface"> {
  let cppNamespace = "::d2k::kern";
  let description = [{
    An operation that reads or writes memory, at once or asynchronously. See
    `MemoryAccess` in Kern.h for the meaning of each field.
  }];
  let methods = [
    InterfaceMethod<
      "Appends one entry for each range of memory that is read or written. The "
      "list is complete: what is not in it is not accessed.",
      "void", "getAccesses",
      (ins "::llvm::SmallVectorImpl<::d2k::kern::MemoryAccess> &":$accesses)>,
  ];
}

def Kern_AsyncEffectOpInterface : OpInterface<"AsyncEffectOpInterface"> {
  let cppNamespace = "::d2k::kern";
  let description = [{
    An operation whose reads and writes are done by an asynchronous agent, or
    that commits or waits for such work. What it reads and writes is given by
    `MemoryAccessOpInterface` (entries with `async` set) and, for wgmma, by its
    results, which are *pending* until a wait covers the group.
  }];
  let methods = [
    InterfaceMethod<"Role in the life of asynchronous work.",
      "::d2k::kern::AsyncRole", "getAsyncRole">,
    InterfaceMethod<"Mechanism by which the work completes.",
      "::d2k::kern::Completion", "getCompletion">,
    InterfaceMethod<
      "Address of the mbarrier that the completion signals or that is waited "
      "on; null for group mechanisms.",
      "::mlir::Value", "getCompletionBarrier">,
    InterfaceMethod<
      "For a wait on a group mechanism: how many of the most recent groups may "
      "still be pending afterwards (`cp.async.wait_group N`); else nothing.",
      "std::optional<uint64_t>", "getPendingAllowed", (ins), [{}],
      [{ return std::nullopt; }]>,
  ];
}

def Kern_MatrixProductOpInterface : OpInterface<"MatrixProductOpInterface"> {
  let cppNamespace = "::d2k::kern";
  let description = [{
    A matrix multiply-accumulate `D = A * B + C` of a warp, a warpgroup or a
    block. `Shape {m, n, k}` is that of one instruction: for
    `mma.sync.aligned.m16n8k16…` it is {16, 8, 16}. For `tcgen05.mma` the shape
    is in the run-time instruction descriptor and is {0, 0, 0} unless a
    constant was seen.
  }];
  let methods = [
    InterfaceMethod<"Instruction family.", "::d2k::kern::MatrixFamily",
      "getMatrixFamily">,
    InterfaceMethod<"Shape of one instruction, 0 where unknown.",
      "::d2k::kern::MatrixShape", "getShape">,
    InterfaceMethod<"Element type of A, `none` where only the run-time "
      "descriptor says it.", "::d2k::kern::ElementType", "getAElement">,
    InterfaceMethod<"Element type of B.", "::d2k::kern::ElementType",
      "getBElement">,
    InterfaceMethod<"Element type of the accumulator.",
      "::d2k::kern::ElementType", "getAccElement">,
    InterfaceMethod<"Where A is read from.", "::d2k::kern::OperandSource",
      "getASource">,
    InterfaceMethod<"Where B is read from.", "::d2k::kern::OperandSource",
      "getBSource">,
    InterfaceMethod<"Registers of A, or its descriptor or tensor-memory "
      "address.", "::mlir::OperandRange", "getAValues">,
    InterfaceMethod<"Registers of B, or its descriptor.",
      "::mlir::OperandRange", "getBValues">,
    InterfaceMethod<"Registers of the accumulator input, or the tensor-memory "
      "address that holds it.", "::mlir::OperandRange", "getAccValues">,
    InterfaceMethod<"True when A is structured-sparse.", "bool",
      "isSparseProduct">,
    InterfaceMethod<"Block scaling in hardware.", "::d2k::kern::ScaleKind",
      "getScaling", (ins), [{}], [{ return ::d2k::kern::ScaleKind::None; }]>,
    InterfaceMethod<"Blocks that cooperate in one product (1 or 2).",
      "uint64_t", "getCtaGroupSize", (ins), [{}], [{ return 1; }]>,
  ];
}

def Kern_BarrierOpInterface : OpInterface<"BarrierOpInterface"> {
  let cppNamespace = "::d2k::kern";
  let description = [{
    An operation at which threads meet or signal one another. `BarrierExtent`
    says who takes part; `arrives` and `waits` say which half it is.
  }];
  let methods = [
    InterfaceMethod<"Threads that take part.", "::d2k::kern::BarrierExtent",
      "getExtent">,
    InterfaceMethod<"True when the operation signals arrival.", "bool",
      "arrives">,
    InterfaceMethod<"True when the operation waits, or polls, for the others.",
      "bool", "waits">,
    InterfaceMethod<
      "What names the barrier: the named-barrier number or the mbarrier's "
      "address; null for a cluster or warp barrier.",
      "::mlir::Value", "getBarrierId">,
  ];
}

#endif // D2K_DIALECT_KERN_KERNINTERFACES_TD
