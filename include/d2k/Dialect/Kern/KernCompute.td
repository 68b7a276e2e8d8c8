// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of kern on registers and between the lanes of a warp.

#ifndef D2K_DIALECT_KERN_KERNCOMPUTE_TD
#define D2K_DIALECT_KERN_KERNCOMPUTE_TD

include "d2k/Dialect/Kern/KernBase.td"

/// A function of registers, without any other effect.
class Kern_Compute<string mnemonic, dag attrs, string syntax>
    : Kern_Inst<mnemonic, !con(attrs, (ins Variadic<Kern_Register>:$inputs)),
                (outs Variadic<Kern_Register>:$outputs),
                syntax # " ` ` `(` $inputs `)`",
                "`:` functional-type($inputs, $outputs)", [Pure]>;

def Kern_ArithOp : Kern_Compute<"arith",
    (ins Kern_ArithKindAttr:$kind, Kern_ElementTypeAttr:$type,
         OptionalAttr<Kern_RoundingAttr>:$rounding, UnitAttr:$saturate,
         UnitAttr:$flushDenormals),
    "$kind $type"> {
  let summary = "integer, bitwise and floating-point arithmetic";
  let description = [{
    `type` is the element type that the inputs are read as; `mul_wide` and
    `mad_wide` produce twice that width; `mul` is the floating-point product.
    The carry of `add_carry`, `sub_carry` and `mad_carry_*` is an `i1` value: the last input (absent in `add.cc`)
    and the second result (absent where the carry is not written). `lop3` takes
    its truth table as fourth input, a constant. `video` reads and writes whole
    registers; the bytes, halfwords and signs that each PTX operand selects
    (`"b0"`, `"h1"`, `"-"`) are in the array attribute `kern.selectors`.

    ```mlir
    %d = kern.arith "fma.rn.f32" fma f32 (%a, %b, %c) {rounding = #kern<rounding rn>}
           : (i32, i32, i32) -> i32
    ```
  }];
}

def Kern_MathOp : Kern_Compute<"math",
    (ins Kern_MathKindAttr:$kind, Kern_ElementTypeAttr:$type,
         OptionalAttr<Kern_RoundingAttr>:$rounding, UnitAttr:$flushDenormals),
    "$kind $type"> {
  let summary = "special functions of the multi-function unit, and division";
}

def Kern_CompareOp : Kern_Compute<"compare",
    (ins Kern_CompareAttr:$predicate, Kern_ElementTypeAttr:$type,
         OptionalAttr<Kern_BoolOpAttr>:$combine, UnitAttr:$combineNegated,
         OptionalAttr<Kern_ElementTypeAttr>:$resultType),
    "$predicate $type"> {
  let summary = "comparison (`setp`, `set`, `testp`)";
  let description = [{
    First result: the comparison, combined by `combine` with the last input
    when there is a third (negated first when `combineNegated`). Second
    result, if any: the negated comparison combined likewise. `resultType` is
    present for `set`, which writes a number instead of a predicate.
  }];
}

def Kern_ConvertOp : Kern_Compute<"convert",
    (ins Kern_ElementTypeAttr:$to, Kern_ElementTypeAttr:$from,
         OptionalAttr<Kern_RoundingAttr>:$rounding, UnitAttr:$saturate,
         UnitAttr:$relu, UnitAttr:$flushDenormals),
    "$from `to` $to"> {
  let summary = "conversion between element types, packing ones included";
}

def Kern_SelectOp : Kern_Inst<"select",
    (ins Kern_Register:$condition, Kern_Register:$trueValue,
         Kern_Register:$falseValue, Kern_ElementTypeAttr:$type),
    (outs Kern_Register:$result),
    "$type $condition `:` type($condition) `,` $trueValue `,` $falseValue",
    "`:` type($trueValue) `,` type($falseValue) `->` type($result)", [Pure]> {
  let summary = "choice by a predicate (`selp`, guarded move) or a sign (`slct`)";
  let description = [{
    `i1` conditions choose `trueValue` when true; wider ones (`slct`) choose it
    when the condition is >= 0.
  }];
}

def Kern_PackOp : Kern_Compute<"pack", (ins), ""> {
  let summary = "join registers, first input lowest, into wider ones";
}

def Kern_UnpackOp : Kern_Compute<"unpack", (ins), ""> {
  let summary = "split a register into narrower ones, lowest bits first";
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

def Kern_SpaceCastOp : Kern_Inst<"space_cast",
    (ins Kern_SpaceAttr:$from, Kern_SpaceAttr:$to, Kern_Register:$address),
    (outs Kern_Register:$result),
    "$from `to` $to $address", "`:` type($address) `->` type($result)", [Pure]> {
  let summary = "conversion of an address between spaces (`cvta`)";
}

def Kern_MapSharedOp : Kern_Inst<"map_shared",
    (ins Kern_Register:$address, Kern_Register:$rank), (outs Kern_Register:$result),
    "$address `,` $rank",
    "`:` type($address) `,` type($rank) `->` type($result)", [Pure]> {
  let summary = "address of the same object in another block of the cluster (`mapa`)";
}

def Kern_AddressQueryOp : Kern_Inst<"address_query",
    (ins StrAttr:$query, Kern_Register:$address), (outs Kern_Register:$result),
    "$query $address", "`:` type($address) `->` type($result)", [Pure]> {
  let summary = "`isspacep` (`\"is_shared\"`, ...) or `getctarank` (`\"cta_rank\"`)";
}

//===----------------------------------------------------------------------===//
// Warp
//===----------------------------------------------------------------------===//

def Kern_ShuffleOp : Kern_Compute<"shuffle", (ins Kern_ShuffleModeAttr:$mode),
    "$mode"> {
  let summary = "exchange between lanes";
  let description = [{
    Inputs: value, lane or delta, clamp/segment mask, member mask (absent in the
    form without `.sync`). Results: value and, where used, the in-range
    predicate.
  }];
}

def Kern_VoteOp : Kern_Compute<"vote", (ins Kern_VoteModeAttr:$mode), "$mode"> {
  let summary = "vote of a warp: predicate, then member mask";
}

def Kern_MatchOp : Kern_Compute<"match", (ins Kern_MatchModeAttr:$mode), "$mode"> {
  let summary = "lanes that hold the same value";
}

def Kern_WarpReduceOp : Kern_Compute<"warp_reduce",
    (ins Kern_AtomicFunctionAttr:$op, Kern_ElementTypeAttr:$type), "$op $type"> {
  let summary = "reduction over the lanes of a warp (`redux.sync`)";
}

def Kern_ElectOp : Kern_Compute<"elect", (ins), ""> {
  let summary = "election of one lane: member mask to lane number and predicate";
  let description = [{
    Results: the elected lane (absent when not used) and the predicate, last,
    that is true in that lane only.
  }];
}

def Kern_ActiveMaskOp : Kern_Inst<"active_mask", (ins), (outs Kern_Register:$result),
    "", "`:` type($result)"> {
  let summary = "mask of the active lanes";
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

def Kern_MmaOp : Kern_Inst<"mma",
    (ins Kern_MatrixFamilyAttr:$family, I64Attr:$m, I64Attr:$n, I64Attr:$k,
         Kern_ElementTypeAttr:$aType, Kern_ElementTypeAttr:$bType,
         Kern_ElementTypeAttr:$accType, Kern_ElementTypeAttr:$resultType,
         UnitAttr:$sparse, DefaultValuedAttr<Kern_ScaleKindAttr,
             "::d2k::kern::ScaleKind::None">:$scaling,
         Variadic<Kern_Register>:$a, Variadic<Kern_Register>:$b,
         Variadic<Kern_Register>:$acc, Variadic<Kern_Register>:$extra),
    (outs Variadic<Kern_Register>:$outputs),
    "$family $m `x` $n `x` $k $resultType ` ` `(` $aType $a `)` ` ` `(` $bType $b `)` ` `"
    " `(` $accType $acc `)` (`extra` ` ` `(` $extra^ `:` type($extra) `)`)?",
    "`:` `(` type($a) `)` `,` `(` type($b) `)` `,` `(` type($acc) `)` `->` type($outputs)",
    [Pure, DeclareOpInterfaceMethods<Kern_MatrixProductOpInterface>]> {
  let summary = "synchronous matrix product of a warp (`mma`, `wmma.mma`)";
  let description = [{
    `extra` holds sparsity metadata, selectors and scales, in the order of the
    instruction.
  }];
}

def Kern_AsyncMmaOp : Kern_Inst<"async_mma",
    (ins I64Attr:$m, I64Attr:$n, I64Attr:$k,
         Kern_ElementTypeAttr:$aType, Kern_ElementTypeAttr:$bType,
         Kern_ElementTypeAttr:$accType, UnitAttr:$sparse,
         Kern_OperandSourceAttr:$aSource,
         Variadic<Kern_Register>:$a, Variadic<Kern_Register>:$b,
         Variadic<Kern_Register>:$acc, Variadic<Kern_Register>:$extra),
    (outs Variadic<Kern_Register>:$outputs),
    "$m `x` $n `x` $k ` ` `(` $aType $aSource $a `)` ` ` `(` $bType $b `)` ` `"
    " `(` $accType $acc `)` (`extra` ` ` `(` $extra^ `:` type($extra) `)`)?",
    "`:` `(` type($a) `)` `,` `(` type($b) `)` `,` `(` type($acc) `)` `->` type($outputs)",
    [DeclareOpInterfaceMethods<Kern_MatrixProductOpInterface>,
     DeclareOpInterfaceMethods<Kern_AsyncEffectOpInterface>,
     DeclareOpInterfaceMethods<Kern_MemoryAccessOpInterface>]> {
  let summary = "asynchronous matrix product of a warpgroup (`wgmma.mma_async`)";
  let description = [{
    A comes from registers or through a shared-memory descriptor (`a` is then
    one `i64`), B through a descriptor. The results are tied to `acc` one to one
    and are *pending* until a wait covers the wgmma group. `extra` holds the
    scale-d predicate first, then immediates in the order of the instruction.
  }];
  let hasVerifier = 1;
}

def Kern_TmemMmaOp : Kern_Inst<"tmem_mma",
    (ins StrAttr:$inputKind, I64Attr:$ctaGroup, UnitAttr:$sparse,
         DefaultValuedAttr<Kern_ScaleKindAttr,
             "::d2k::kern::ScaleKind::None">:$scaling,
         UnitAttr:$weightStationary,
         Kern_OperandSourceAttr:$aSource,
         Variadic<Kern_Register>:$acc, Variadic<Kern_Register>:$a,
         Variadic<Kern_Register>:$b, Variadic<Kern_Register>:$extra),
    (outs),
    "$inputKind `cta_group` $ctaGroup `acc` ` ` `(` $acc `)` `a` $aSource `(` $a `)`"
    " `b` `(` $b `)` (`extra` ` ` `(` $extra^ `:` type($extra) `)`)?",
    "`:` `(` type($acc) `)` `,` `(` type($a) `)` `,` `(` type($b) `)`",
    [DeclareOpInterfaceMethods<Kern_MatrixProductOpInterface,
                               ["getCtaGroupSize"]>,
     DeclareOpInterfaceMethods<Kern_AsyncEffectOpInterface>,
     DeclareOpInterfaceMethods<Kern_MemoryAccessOpInterface>]> {
  let summary = "asynchronous matrix product into tensor memory (`tcgen05.mma`)";
  let description = [{
    `acc` is the tensor-memory address of D, `a` a descriptor or a
    tensor-memory address, `b` a descriptor. `inputKind` is the `.kind::` word
    (`"f16"`, `"tf32"`, `"f8f6f4"`, `"i8"`, `"mxf8f6f4"`, ...). `extra` holds,
    in the order of the instruction, metadata and scale addresses, the
    instruction descriptor, disable-output-lane masks, the enable-input-d
    predicate.
  }];
}

//===----------------------------------------------------------------------===//
// Unmodelled
//===----------------------------------------------------------------------===//

def Kern_OpaqueOp : Kern_Inst<"opaque", (ins Variadic<Kern_Register>:$inputs),
    (outs Variadic<Kern_Register>:$outputs), "`(` $inputs `)`",
    "`:` functional-type($inputs, $outputs)"> {
  let summary = "an instruction whose effects are not derived";
  let description = [{
    May read and write any memory and any object whose address it is given. A
    property that depends on what it does is `undecided`.
  }];
}

#endif // D2K_DIALECT_KERN_KERNCOMPUTE_TD
