// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, asynchronous copies, tensor memory, barriers and machine state.

#ifndef D2K_DIALECT_KERN_KERNMEMORY_TD
#define D2K_DIALECT_KERN_KERNMEMORY_TD

include "d2k/Dialect/Kern/KernBase.td"

defvar MemIface = DeclareOpInterfaceMethods<Kern_MemoryAccessOpInterface>;
defvar AsyncIface = DeclareOpInterfaceMethods<Kern_AsyncEffectOpInterface>;
defvar PendingIface = DeclareOpInterfaceMethods<Kern_AsyncEffectOpInterface,
                                                ["getPendingAllowed"]>;
defvar BarrierIface = DeclareOpInterfaceMethods<Kern_BarrierOpInterface>;

/// Assembly format with `[%base + offset : type]` between two parts.
class At<string before, string after = ""> {
  string format = before # "` ` `[` $base (`+` $offset^)? `:` type($base) `]`" # after;
}

//===----------------------------------------------------------------------===//
// Synchronous accesses
//===----------------------------------------------------------------------===//

def Kern_LoadOp : Kern_Inst<"load",
    (ins Kern_SpaceAttr:$space, Kern_ElementTypeAttr:$type,
         Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset,
         Optional<I64>:$policy,
         OptionalAttr<Kern_CacheOpAttr>:$cache,
         OptionalAttr<Kern_EvictionAttr>:$l1Evict,
         OptionalAttr<Kern_EvictionAttr>:$l2Evict,
         OptionalAttr<I64Attr>:$l2Prefetch, UnitAttr:$nonCoherent,
         UnitAttr:$uniform,
         OptionalAttr<Kern_SemanticsAttr>:$semantics,
         OptionalAttr<Kern_ScopeAttr>:$scope),
    (outs Variadic<Kern_Register>:$outputs),
    At<"$space $type ", " (`policy` $policy^)?">.format,
    "`->` type($outputs)", [MemIface]> {
  let summary = "load of one or more consecutive elements by each thread";
  let description = [{
    Reads `type` x number of results (a vector load has several) at
    `base + offset`. `l2Prefetch` is the bytes of `.L2::64B` and the like;
    `nonCoherent` is `.nc`; `uniform` is `ldu`.
  }];
}

def Kern_StoreOp : Kern_Inst<"store",
    (ins Kern_SpaceAttr:$space, Kern_ElementTypeAttr:$type,
         Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset,
         Variadic<Kern_Register>:$values, Optional<I64>:$policy,
         OptionalAttr<Kern_CacheOpAttr>:$cache,
         OptionalAttr<Kern_EvictionAttr>:$l1Evict,
         OptionalAttr<Kern_EvictionAttr>:$l2Evict,
         OptionalAttr<Kern_SemanticsAttr>:$semantics,
         OptionalAttr<Kern_ScopeAttr>:$scope),
    (outs),
    At<"$space $type ", " `,` $values `:` type($values) (`policy` $policy^)?">.format, "", [MemIface]> {
  let summary = "store of one or more consecutive elements by each thread";
}

def Kern_AtomicOp : Kern_Inst<"atomic",
    (ins Kern_AtomicFunctionAttr:$op, Kern_SpaceAttr:$space,
         Kern_ElementTypeAttr:$type, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset,
         Variadic<Kern_Register>:$values, Optional<I64>:$policy,
         DefaultValuedAttr<I64Attr, "1">:$vector,
         OptionalAttr<Kern_SemanticsAttr>:$semantics,
         OptionalAttr<Kern_ScopeAttr>:$scope),
    (outs Variadic<Kern_Register>:$outputs),
    At<"$op $space $type ", " `,` $values `:` type($values) (`policy` $policy^)?">.format,
    "(`->` type($outputs)^)?", [MemIface]> {
  let summary = "read-modify-write of memory (`atom`, and `red` without result)";
}

def Kern_MultimemOp : Kern_Inst<"multimem",
    (ins StrAttr:$action, OptionalAttr<Kern_AtomicFunctionAttr>:$op,
         Kern_ElementTypeAttr:$type, DefaultValuedAttr<I64Attr, "1">:$vector,
         Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset,
         Variadic<Kern_Register>:$values,
         OptionalAttr<Kern_SemanticsAttr>:$semantics,
         OptionalAttr<Kern_ScopeAttr>:$scope),
    (outs Variadic<Kern_Register>:$outputs),
    At<"$action $type ", " (`,` $values^ `:` type($values))?">.format,
    "(`->` type($outputs)^)?", [MemIface]> {
  let summary = "access to all replicas of a multicast address (`multimem`)";
  let description = [{ `action` is `"ld_reduce"`, `"st"` or `"red"`. }];
}

def Kern_PrefetchOp : Kern_Inst<"prefetch",
    (ins Kern_PrefetchLevelAttr:$level, Kern_SpaceAttr:$space,
         Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset,
         OptionalAttr<Kern_EvictionAttr>:$l2Evict),
    (outs), At<"$level $space ">.format, ""> {
  let summary = "prefetch of a cache line or of a tensor map";
}

def Kern_CacheControlOp : Kern_Inst<"cache_control",
    (ins StrAttr:$action, Kern_SpaceAttr:$space, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset, I64Attr:$bytes),
    (outs), At<"$action $space ", " `bytes` $bytes">.format, "",
    [MemIface]> {
  let summary = "`applypriority` or `discard` of a cache line";
}

def Kern_CreatePolicyOp : Kern_Inst<"create_policy",
    (ins StrAttr:$action, Variadic<Kern_Register>:$inputs),
    (outs I64:$result), "$action (`(` $inputs^ `:` type($inputs) `)`)?", "",
    [Pure]> {
  let summary = "creation of a cache eviction policy";
}

def Kern_TextureOp : Kern_Inst<"texture",
    (ins StrAttr:$action, Variadic<Kern_Register>:$inputs),
    (outs Variadic<Kern_Register>:$outputs),
    "$action `(` $inputs `)`", "`:` functional-type($inputs, $outputs)",
    [MemIface]> {
  let summary = "texture and surface accesses (`tex`, `tld4`, `suld`, `sust`, ...)";
}

def Kern_MatrixLoadOp : Kern_Inst<"matrix_load",
    (ins StrAttr:$op, Kern_SpaceAttr:$space, StrAttr:$shape,
         I64Attr:$count, UnitAttr:$transposed, I64Attr:$bytes,
         Kern_ElementTypeAttr:$type,
         Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset,
         Optional<Kern_Register>:$stride),
    (outs Variadic<Kern_Register>:$outputs),
    At<"$op $space $shape `x` $count $type ", " (`stride` $stride^ `:` type($stride))?">.format,
    "`->` type($outputs)", [MemIface]> {
  let summary = "warp-cooperative matrix load (`ldmatrix`, `wmma.load`)";
  let description = [{
    `op` is `"ldmatrix"` or `"wmma"`; `bytes` is what the whole warp reads. For
    `ldmatrix` each lane's address names one row of 16 bytes.
  }];
}

def Kern_MatrixStoreOp : Kern_Inst<"matrix_store",
    (ins StrAttr:$op, Kern_SpaceAttr:$space, StrAttr:$shape,
         I64Attr:$count, UnitAttr:$transposed, I64Attr:$bytes,
         Kern_ElementTypeAttr:$type,
         Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset,
         Variadic<Kern_Register>:$values, Optional<Kern_Register>:$stride),
    (outs),
    At<"$op $space $shape `x` $count $type ", " `,` $values `:` type($values) (`stride` $stride^ `:` type($stride))?">.format, "",
    [MemIface]> {
  let summary = "warp-cooperative matrix store (`stmatrix`, `wmma.store`)";
}

def Kern_MatrixTransposeOp : Kern_Inst<"matrix_transpose",
    (ins Variadic<Kern_Register>:$inputs), (outs Variadic<Kern_Register>:$outputs),
    "`(` $inputs `)`", "`:` functional-type($inputs, $outputs)", [Pure]> {
  let summary = "transpose of a fragment across a warp (`movmatrix`)";
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

def Kern_AsyncCopyOp : Kern_Inst<"async_copy",
    (ins I64Attr:$bytes, Kern_Register:$dst,
         DefaultValuedAttr<I64Attr, "0">:$dstOffset, Kern_Register:$src,
         DefaultValuedAttr<I64Attr, "0">:$srcOffset,
         Optional<Kern_Register>:$srcSize, Optional<I1>:$ignoreSrc,
         Optional<I64>:$policy, OptionalAttr<Kern_CacheOpAttr>:$cache,
         OptionalAttr<I64Attr>:$l2Prefetch),
    (outs),
    "$bytes `shared` ` ` `[` $dst (`+` $dstOffset^)? `:` type($dst) `]` `,`"
    " `global` ` ` `[` $src (`+` $srcOffset^)? `:` type($src) `]`"
    " (`size` $srcSize^ `:` type($srcSize))? (`ignore` $ignoreSrc^)?"
    " (`policy` $policy^)?",
    "", [MemIface, AsyncIface]> {
  let summary = "per-thread global to shared copy (`cp.async`); joins a cp.async group";
}

def Kern_BulkCopyOp : Kern_Inst<"bulk_copy",
    (ins Kern_BulkKindAttr:$kind, Kern_SpaceAttr:$dstSpace,
         Kern_SpaceAttr:$srcSpace, Kern_CompletionAttr:$completion,
         DefaultValuedAttr<I64Attr, "0">:$dims,
         OptionalAttr<Kern_TensorModeAttr>:$mode,
         OptionalAttr<Kern_AtomicFunctionAttr>:$reduction,
         OptionalAttr<Kern_ElementTypeAttr>:$type, UnitAttr:$multicast,
         DefaultValuedAttr<I64Attr, "1">:$ctaGroup,
         Variadic<Kern_Register>:$dst, DefaultValuedAttr<I64Attr, "0">:$dstOffset,
         Variadic<Kern_Register>:$src, DefaultValuedAttr<I64Attr, "0">:$srcOffset,
         Variadic<Kern_Register>:$coordinates,
         Variadic<Kern_Register>:$im2colOffsets,
         Optional<Kern_Register>:$size, Optional<Kern_Register>:$barrier,
         DefaultValuedAttr<I64Attr, "0">:$barrierOffset,
         Optional<Kern_Register>:$multicastMask, Optional<Kern_Register>:$byteMask,
         Optional<I64>:$policy),
    (outs),
    "$kind $srcSpace `to` $dstSpace $completion (`tensor` $dims^ `d`)?"
    " (`dst` ` ` `[` $dst^ (`+` $dstOffset^)? `:` type($dst) `]`)?"
    " (`src` ` ` `[` $src^ (`+` $srcOffset^)? `:` type($src) `]`)?"
    " (`at` ` ` `(` $coordinates^ `:` type($coordinates) `)`)?"
    " (`im2col` ` ` `(` $im2colOffsets^ `:` type($im2colOffsets) `)`)?"
    " (`size` $size^ `:` type($size))?"
    " (`barrier` ` ` `[` $barrier^ (`+` $barrierOffset^)? `:` type($barrier) `]`)?"
    " (`mask` $multicastMask^ `:` type($multicastMask))?"
    " (`bytemask` $byteMask^ `:` type($byteMask))? (`policy` $policy^)?",
    "", [MemIface, AsyncIface]> {
  let summary = "copy, reduction or prefetch by the TMA unit (`cp.async.bulk*`, `cp.reduce.async.bulk*`)";
  let description = [{
    With `tensor N d` the global side is a tensor map: `src` (for loads and
    prefetches) or `dst` (for stores and reductions) is the address of the map
    and `at` holds the coordinates. Otherwise it is a plain range of `size`
    bytes. `prefetch` has no `dst`.
  }];
  let hasVerifier = 1;
}

def Kern_AsyncStoreOp : Kern_Inst<"async_store",
    (ins OptionalAttr<Kern_AtomicFunctionAttr>:$reduction, Kern_SpaceAttr:$space,
         Kern_ElementTypeAttr:$type, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset,
         Variadic<Kern_Register>:$values, Optional<Kern_Register>:$barrier,
         DefaultValuedAttr<I64Attr, "0">:$barrierOffset),
    (outs),
    At<"$space $type ", " `,` $values `:` type($values)"
    " (`barrier` ` ` `[` $barrier^ (`+` $barrierOffset^)? `:` type($barrier) `]`)?">.format,
    "", [MemIface, AsyncIface]> {
  let summary = "store or reduction that completes on an mbarrier (`st.async`, `red.async`)";
}

def Kern_BulkFillOp : Kern_Inst<"bulk_fill",
    (ins Kern_SpaceAttr:$space, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset, Kern_Register:$size,
         Kern_Register:$value),
    (outs), At<"$space ", " `size` $size `:` type($size) `value` $value `:` type($value)">.format,
    "", [MemIface]> {
  let summary = "fill of shared memory (`st.bulk`)";
}

def Kern_AsyncCommitOp : Kern_Inst<"async_commit",
    (ins Kern_CompletionAttr:$group), (outs), "$group", "", [AsyncIface]> {
  let summary = "end of an asynchronous group (`*.commit_group`)";
}

def Kern_AsyncWaitOp : Kern_Inst<"async_wait",
    (ins Kern_CompletionAttr:$group, DefaultValuedAttr<I64Attr, "0">:$pending,
         UnitAttr:$readOnly),
    (outs), "$group (`pending` $pending^)?", "", [PendingIface]> {
  let summary = "wait until at most `pending` groups are outstanding";
  let description = [{
    `cp.async.wait_all` has `pending = 0` (and waits for uncommitted copies
    too). `readOnly` is `.read`: only the reads of the sources are waited for.
  }];
}

def Kern_AsyncArriveOp : Kern_Inst<"async_arrive",
    (ins Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset,
         UnitAttr:$noIncrement),
    (outs), At<"">.format, "", [MemIface, AsyncIface]> {
  let summary = "mbarrier arrival when the thread's cp.async copies complete";
}

//===----------------------------------------------------------------------===//
// Mbarriers
//===----------------------------------------------------------------------===//

def Kern_MBarrierInitOp : Kern_Inst<"mbarrier_init",
    (ins Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset,
         Kern_Register:$count),
    (outs), At<"", " `,` $count `:` type($count)">.format, "", [MemIface]> {
  let summary = "initialise an mbarrier with its number of arrivals";
}

def Kern_MBarrierInvalOp : Kern_Inst<"mbarrier_inval",
    (ins Kern_Register:$base, DefaultValuedAttr<I64Attr, "0">:$offset),
    (outs), At<"">.format, "", [MemIface]> {
  let summary = "end the life of an mbarrier";
}

def Kern_MBarrierExpectTxOp : Kern_Inst<"mbarrier_expect_tx",
    (ins Kern_SpaceAttr:$space, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset, Kern_Register:$bytes),
    (outs), At<"$space ", " `,` $bytes `:` type($bytes)">.format, "", [MemIface]> {
  let summary = "raise the pending transaction count";
}

def Kern_MBarrierCompleteTxOp : Kern_Inst<"mbarrier_complete_tx",
    (ins Kern_SpaceAttr:$space, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset, Kern_Register:$bytes),
    (outs), At<"$space ", " `,` $bytes `:` type($bytes)">.format, "", [MemIface]> {
  let summary = "lower the pending transaction count without a copy";
}

def Kern_MBarrierArriveOp : Kern_Inst<"mbarrier_arrive",
    (ins Kern_SpaceAttr:$space, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset, Optional<Kern_Register>:$count,
         UnitAttr:$expectTx, UnitAttr:$drop, UnitAttr:$noComplete,
         OptionalAttr<Kern_SemanticsAttr>:$semantics,
         OptionalAttr<Kern_ScopeAttr>:$scope),
    (outs Variadic<Kern_Register>:$state),
    At<"$space ", " (`,` $count^ `:` type($count))?">.format,
    "(`->` type($state)^)?", [MemIface, BarrierIface]> {
  let summary = "arrival at an mbarrier, local or of another block";
  let description = [{
    `space` `shared_cluster` is an arrival that may be remote. With `expectTx`
    the operand is the bytes expected, else the number of arrivals.
  }];
}

def Kern_MBarrierWaitOp : Kern_Inst<"mbarrier_wait",
    (ins Kern_WaitKindAttr:$kind, UnitAttr:$parity, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset, Kern_Register:$phase,
         Optional<Kern_Register>:$suspendHint,
         OptionalAttr<Kern_SemanticsAttr>:$semantics,
         OptionalAttr<Kern_ScopeAttr>:$scope),
    (outs I1:$done),
    At<"$kind (`parity` $parity^)? ", " `,` $phase `:` type($phase) (`hint` $suspendHint^ `:` type($suspendHint))?">.format,
    "", [MemIface, BarrierIface, AsyncIface]> {
  let summary = "one poll of an mbarrier phase (`test_wait`, `try_wait`)";
  let description = [{
    `phase` is the phase parity (0 or 1) with `parity`, else the state word of
    an arrival. The wait itself is the loop around the poll.
  }];
}

def Kern_MBarrierPendingOp : Kern_Inst<"mbarrier_pending",
    (ins Kern_Register:$state), (outs Kern_Register:$count),
    "$state `:` type($state)", "`->` type($count)", [Pure]> {
  let summary = "pending arrivals in a state word";
}

//===----------------------------------------------------------------------===//
// Barriers and fences
//===----------------------------------------------------------------------===//

def Kern_BarrierOp : Kern_Inst<"barrier",
    (ins Kern_BarrierActionAttr:$action, Kern_Register:$id,
         Optional<Kern_Register>:$threads, Optional<I1>:$input,
         UnitAttr:$inputNegated, UnitAttr:$aligned),
    (outs Variadic<Kern_Register>:$outputs),
    "$action $id `:` type($id) (`threads` $threads^ `:` type($threads))?"
    " (`of` (`not` $inputNegated^)? $input^)?",
    "(`->` type($outputs)^)?", [BarrierIface]> {
  let summary = "named barrier of a block (`barrier`, `bar`)";
  let description = [{ Without `threads` all threads of the block take part. }];
}

def Kern_WarpBarrierOp : Kern_Inst<"warp_barrier", (ins Kern_Register:$mask),
    (outs), "$mask `:` type($mask)", "", [BarrierIface]> {
  let summary = "barrier of the lanes in a mask (`bar.warp.sync`)";
}

def Kern_ClusterBarrierOp : Kern_Inst<"cluster_barrier",
    (ins Kern_BarrierActionAttr:$action, UnitAttr:$aligned,
         OptionalAttr<Kern_SemanticsAttr>:$semantics),
    (outs), "$action", "", [BarrierIface]> {
  let summary = "barrier of all blocks of a cluster (`barrier.cluster`)";
}

def Kern_FenceOp : Kern_Inst<"fence",
    (ins Kern_FenceKindAttr:$kind, OptionalAttr<Kern_ScopeAttr>:$scope,
         OptionalAttr<Kern_SpaceAttr>:$space,
         OptionalAttr<Kern_SemanticsAttr>:$semantics,
         Variadic<Kern_Register>:$operands_),
    (outs), "$kind (`(` $operands_^ `:` type($operands_) `)`)?", ""> {
  let summary = "memory, proxy and matrix-unit fences";
  let description = [{
    `space`, where given, is the only space that the fence orders
    (`fence.proxy.async.global`, `.sync_restrict::shared::cta`). A proxy fence
    in one direction has `semantics`. `operands_` are the address and the size
    of `fence.proxy.tensormap`.
  }];
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

def Kern_TmemAllocOp : Kern_Inst<"tmem_alloc",
    (ins I64Attr:$ctaGroup, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset, Kern_Register:$columns),
    (outs), At<"`cta_group` $ctaGroup ", " `,` $columns `:` type($columns)">.format,
    "", [MemIface]> {
  let summary = "allocation of tensor memory; its address is written to shared memory";
}

def Kern_TmemDeallocOp : Kern_Inst<"tmem_dealloc",
    (ins I64Attr:$ctaGroup, Kern_Register:$address, Kern_Register:$columns),
    (outs), "`cta_group` $ctaGroup $address `:` type($address) `,` $columns `:` type($columns)",
    ""> {
  let summary = "release of tensor memory";
}

def Kern_TmemStateOp : Kern_Inst<"tmem_state",
    (ins StrAttr:$action, I64Attr:$ctaGroup, Variadic<Kern_Register>:$inputs),
    (outs Variadic<Kern_Register>:$outputs),
    "$action `cta_group` $ctaGroup ` ` `(` $inputs `)`",
    "`:` functional-type($inputs, $outputs)"> {
  let summary = "change of the mask of allocated tensor memory, as machine code makes it";
  let description = [{
    `action` is `"reserve"` (find as many free units of 32 columns as the input
    says and take them; results: where the first one begins, and whether there
    were enough), `"release"` or `"set"` (the input is a mask of units).
  }];
}

def Kern_TmemRelinquishOp : Kern_Inst<"tmem_relinquish", (ins I64Attr:$ctaGroup),
    (outs), "`cta_group` $ctaGroup", ""> {
  let summary = "give up the right to allocate tensor memory";
}

def Kern_TmemLoadOp : Kern_Inst<"tmem_load",
    (ins StrAttr:$shape, I64Attr:$count, UnitAttr:$packed,
         OptionalAttr<Kern_AtomicFunctionAttr>:$reduction,
         Kern_Register:$address, DefaultValuedAttr<I64Attr, "0">:$offset,
         Variadic<Kern_Register>:$extra),
    (outs Variadic<Kern_Register>:$outputs),
    "$shape `x` $count `[` $address (`+` $offset^)? `:` type($address) `]`"
    " (`extra` ` ` `(` $extra^ `:` type($extra) `)`)?", "`->` type($outputs)",
    [MemIface, AsyncIface]> {
  let summary = "tensor memory to registers; results pending until `tmem_wait`";
}

def Kern_TmemStoreOp : Kern_Inst<"tmem_store",
    (ins StrAttr:$shape, I64Attr:$count, UnitAttr:$packed,
         Kern_Register:$address, DefaultValuedAttr<I64Attr, "0">:$offset,
         Variadic<Kern_Register>:$values, Variadic<Kern_Register>:$extra),
    (outs), "$shape `x` $count `[` $address (`+` $offset^)? `:` type($address) `]` `,`"
    " $values `:` type($values) (`extra` ` ` `(` $extra^ `:` type($extra) `)`)?", "",
    [MemIface, AsyncIface]> {
  let summary = "registers to tensor memory";
}

def Kern_TmemCopyOp : Kern_Inst<"tmem_copy",
    (ins StrAttr:$shape, I64Attr:$ctaGroup, Kern_Register:$address,
         DefaultValuedAttr<I64Attr, "0">:$offset, Kern_Register:$descriptor),
    (outs), "$shape `cta_group` $ctaGroup `[` $address (`+` $offset^)? `:` type($address) `]` `,`"
    " $descriptor `:` type($descriptor)", "", [MemIface, AsyncIface]> {
  let summary = "shared memory to tensor memory (`tcgen05.cp`)";
}

def Kern_TmemShiftOp : Kern_Inst<"tmem_shift",
    (ins I64Attr:$ctaGroup, Kern_Register:$address,
         DefaultValuedAttr<I64Attr, "0">:$offset),
    (outs), "`cta_group` $ctaGroup `[` $address (`+` $offset^)? `:` type($address) `]`",
    "", [MemIface, AsyncIface]> {
  let summary = "shift of tensor-memory rows (`tcgen05.shift`)";
}

def Kern_TmemWaitOp : Kern_Inst<"tmem_wait", (ins UnitAttr:$store), (outs),
    "(`store` $store^)?", "", [AsyncIface]> {
  let summary = "wait for the thread's tensor-memory loads (or stores)";
}

def Kern_TmemCommitOp : Kern_Inst<"tmem_commit",
    (ins I64Attr:$ctaGroup, UnitAttr:$multicast, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset,
         Optional<Kern_Register>:$multicastMask),
    (outs), At<"`cta_group` $ctaGroup ", " (`mask` $multicastMask^ `:` type($multicastMask))?">.format, "",
    [MemIface, AsyncIface]> {
  let summary = "mbarrier arrival when prior tcgen05 work completes";
}

//===----------------------------------------------------------------------===//
// Machine state
//===----------------------------------------------------------------------===//

def Kern_SetMaxRegistersOp : Kern_Inst<"set_max_registers",
    (ins Kern_RegisterActionAttr:$action, I64Attr:$count),
    (outs Variadic<Kern_Register>:$outputs),
    "$action $count", "(`:` type($outputs)^)?"> {
  let summary = "register reallocation of a warpgroup (`setmaxnreg`)";
  let description = [{
    The result, which machine code alone has, says whether there were enough
    registers; code asks again until there are.
  }];
}

def Kern_GridDependencyOp : Kern_Inst<"grid_dependency",
    (ins Kern_GridDependencyAttr:$side), (outs), "$side", ""> {
  let summary = "programmatic dependent launch (`griddepcontrol`)";
}

def Kern_LaunchCancelOp : Kern_Inst<"launch_cancel",
    (ins UnitAttr:$multicast, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset, Kern_Register:$barrier,
         DefaultValuedAttr<I64Attr, "0">:$barrierOffset),
    (outs), At<"", " `barrier` ` ` `[` $barrier (`+` $barrierOffset^)? `:` type($barrier) `]`">.format,
    "", [MemIface, AsyncIface]> {
  let summary = "request of the next block's work (`clusterlaunchcontrol.try_cancel`)";
}

def Kern_LaunchQueryOp : Kern_Inst<"launch_query",
    (ins StrAttr:$query, Kern_Register:$response),
    (outs Variadic<Kern_Register>:$outputs),
    "$query $response `:` type($response)", "`->` type($outputs)", [Pure]> {
  let summary = "reading of a try_cancel response (`\"is_canceled\"`, `\"get_first_ctaid\"`)";
}

def Kern_TensorMapReplaceOp : Kern_Inst<"tensormap_replace",
    (ins StrAttr:$field, Kern_SpaceAttr:$space, Kern_Register:$base,
         DefaultValuedAttr<I64Attr, "0">:$offset,
         Variadic<Kern_Register>:$values),
    (outs), At<"$field $space ", " `,` $values `:` type($values)">.format,
    "", [MemIface]> {
  let summary = "change of one field of a tensor map in memory";
}

def Kern_TensorMapFenceOp : Kern_Inst<"tensormap_copy_fence",
    (ins Kern_Register:$dst, DefaultValuedAttr<I64Attr, "0">:$dstOffset,
         Kern_Register:$src, DefaultValuedAttr<I64Attr, "0">:$srcOffset,
         Kern_Register:$size, OptionalAttr<Kern_ScopeAttr>:$scope),
    (outs), "`[` $dst (`+` $dstOffset^)? `:` type($dst) `]` `,` `[` $src (`+` $srcOffset^)? `:`"
    " type($src) `]` `,` $size `:` type($size)", "", [MemIface]> {
  let summary = "copy of a tensor map to global memory with its fence (`tensormap.cp_fenceproxy`)";
}

def Kern_StackOp : Kern_Inst<"stack",
    (ins StrAttr:$action, Variadic<Kern_Register>:$inputs),
    (outs Variadic<Kern_Register>:$outputs), "$action `(` $inputs `)`",
    "`:` functional-type($inputs, $outputs)"> {
  let summary = "`alloca`, `stacksave`, `stackrestore`";
}

def Kern_SleepOp : Kern_Inst<"sleep", (ins Kern_Register:$nanoseconds), (outs),
    "$nanoseconds `:` type($nanoseconds)", ""> {
  let summary = "`nanosleep`";
}

def Kern_ConvergenceOp : Kern_Inst<"convergence",
    (ins StrAttr:$action, Variadic<Kern_Register>:$inputs),
    (outs Variadic<Kern_Register>:$outputs), "$action ` ` `(` $inputs `)`",
    "`:` functional-type($inputs, $outputs)"> {
  let summary = "which lanes wait for one another (`BSSY`, `BSYNC`, `BREAK`)";
  let description = [{
    Machine code says where lanes that a branch separated meet again. `"open"`
    makes a set of lanes, `"close"` waits for those in the set, `"leave"` takes
    lanes off it. Control goes on behind the operation in any case.
  }];
}

def Kern_NoEffectOp : Kern_Inst<"no_effect", (ins), (outs), "", ""> {
  let summary = "an instruction without effect on values, memory or order (`YIELD`, `ERRBAR`)";
}

def Kern_MonitorOp : Kern_Inst<"monitor", (ins Variadic<Kern_Register>:$inputs),
    (outs), "(`(` $inputs^ `:` type($inputs) `)`)?", ""> {
  let summary = "performance-monitor event (`pmevent`)";
}

#endif // D2K_DIALECT_KERN_KERNMEMORY_TD
