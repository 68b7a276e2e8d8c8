// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, memory objects, constants and control flow of kern.

#ifndef D2K_DIALECT_KERN_KERNSTRUCTURE_TD
#define D2K_DIALECT_KERN_KERNSTRUCTURE_TD

include "d2k/Dialect/Kern/KernBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

def Kern_FuncOp : Kern_Op<"func", [IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "a kernel or a device function";
  let description = [{
    Block arguments of the entry block are the parameters: for a parameter in
    `param` space the value is its *address* (`i64`), for a register parameter
    its value. Each argument has the attributes `kern.name` (string),
    `kern.size` (bytes), `kern.align` (bytes) and `kern.type` of an array's or
    scalar's element. A parameter declared `.ptr` has `kern.ptr_space`, the
    space it points into, and `kern.ptr_align` (bytes) where given. Return
    parameters in `param` space come first and have `kern.return` (unit).

    Launch directives are attributes of the function: `kern.maxntid`,
    `kern.reqntid`, `kern.reqnctapercluster` (`array<i64: x, y, z>`),
    `kern.minnctapersm`, `kern.maxnreg`, `kern.maxclusterrank`,
    `kern.explicitcluster` (unit), `kern.blocksareclusters` (unit),
    `kern.noreturn` (unit). Machine code, where an address in shared memory is a
    plain number, has `kern.shared_window` (symbol): the object that each access
    to shared memory is in; a number is the offset in it.

    ```mlir
    kern.func entry visible @scale(i64 {kern.name = "x", kern.size = 8 : i64})
        attributes {kern.maxntid = array<i64: 256, 1, 1>} { ... }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       Kern_FuncKindAttr:$kind,
                       Kern_LinkageAttr:$linkage,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
      "::mlir::FunctionType":$type, "FuncKind":$kind, "Linkage":$linkage)>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() {
      return isExternal() ? nullptr : &getBody();
    }
    /// True for a kernel, false for a device function.
    bool isEntry() { return getKind() == FuncKind::Entry; }
    /// Value of a launch directive of three numbers such as `kern.maxntid`.
    std::optional<std::array<int64_t, 3>> getDirective3(::llvm::StringRef name);
    /// Value of a launch directive of one number such as `kern.maxnreg`.
    std::optional<int64_t> getDirective(::llvm::StringRef name);
  }];
}

def Kern_ObjectOp : Kern_Op<"object", [Symbol]> {
  let summary = "a memory object";
  let description = [{
    A named range of memory: a module variable, or a variable of a function
    (`scope` then names the function; its symbol is made unique in the module
    and `source_name` keeps the author's). `size` is in bytes; absent for an
    `extern` array, the dynamic shared memory of a launch. `initialized` says
    that an initialiser exists; `zero` that it is all zero bits (as for a
    `.global` without one).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Kern_SpaceAttr:$space,
                       Kern_LinkageAttr:$linkage, OptionalAttr<I64Attr>:$size,
                       I64Attr:$alignment,
                       OptionalAttr<Kern_ElementTypeAttr>:$element,
                       UnitAttr:$initialized, UnitAttr:$zero,
                       OptionalAttr<FlatSymbolRefAttr>:$scope,
                       OptionalAttr<StrAttr>:$source_name);
  let assemblyFormat = [{
    $linkage $space $sym_name (`size` $size^)? `align` $alignment
    (`of` $element^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Values without an instruction of their own
//===----------------------------------------------------------------------===//

def Kern_ConstantOp : Kern_Op<"constant", [Pure, ConstantLike,
    AllTypesMatch<["value", "result"]>]> {
  let summary = "an immediate operand, a zero register or a true predicate";
  let description = [{
    The bits of the register; a floating-point immediate is its encoding
    (`0f3F800000` is `kern.constant 1065353216 : i32`).
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Kern_Register:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The bits as an integer of the register's width.
    ::llvm::APInt getBits();
  }];
}

def Kern_UndefOp : Kern_Op<"undef", [Pure]> {
  let summary = "a register read before any write";
  let results = (outs Kern_Register:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Kern_AddressOfOp : Kern_Op<"address_of", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "address of a memory object or a function";
  let description = [{
    The address in the object's own space; `generic` when the operand was
    written `generic(sym)`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$symbol, UnitAttr:$generic);
  let results = (outs Kern_Register:$result);
  let assemblyFormat = "$symbol (`generic` $generic^)? attr-dict `:` type($result)";
}

def Kern_SpecialOp : Kern_Inst<"special", (ins StrAttr:$reg), (outs Kern_Register:$result),
    "$reg", "`:` type($result)"> {
  let summary = "read of a special register";
  let description = [{
    `reg` is the PTX name without the percent sign: `"tid.x"`, `"ctaid.y"`,
    `"nctaid.x"`, `"laneid"`, `"cluster_ctarank"`, `"clock64"`,
    `"dynamic_smem_size"`. SASS names (`SR_TID.X`) are mapped onto these.
  }];
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def Kern_BranchOp : Kern_Op<"br", [Terminator, Pure,
    DeclareOpInterfaceMethods<BranchOpInterface, ["getSuccessorForOperands"]>]> {
  let summary = "unconditional branch";
  let arguments = (ins Variadic<Kern_Register>:$destOperands);
  let successors = (successor AnySuccessor:$dest);
  let assemblyFormat = "$dest (`(` $destOperands^ `:` type($destOperands) `)`)? attr-dict";
}

def Kern_CondBranchOp : Kern_Op<"cond_br", [Terminator, Pure,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<BranchOpInterface, ["getSuccessorForOperands"]>]> {
  let summary = "branch on a predicate";
  let description = [{
    `uniform` when the author or compiler asserted that the warp does not
    diverge here (`bra.uni`).
  }];
  let arguments = (ins I1:$condition,
                       Variadic<Kern_Register>:$trueOperands,
                       Variadic<Kern_Register>:$falseOperands,
                       UnitAttr:$uniform);
  let successors = (successor AnySuccessor:$trueDest, AnySuccessor:$falseDest);
  let assemblyFormat = [{
    (`uniform` $uniform^)? $condition `,`
    $trueDest (`(` $trueOperands^ `:` type($trueOperands) `)`)? `,`
    $falseDest (`(` $falseOperands^ `:` type($falseOperands) `)`)? attr-dict
  }];
}

def Kern_SwitchOp : Kern_Op<"switch", [Terminator, Pure,
    DeclareOpInterfaceMethods<BranchOpInterface, ["getSuccessorForOperands"]>]> {
  let summary = "indexed branch through a table (`brx.idx`)";
  let description = [{
    Control goes to successor number `index`; an index past the table is
    undefined behaviour.
  }];
  let arguments = (ins Kern_Register:$index,
                       VariadicOfVariadic<Kern_Register, "segments">:$destOperands,
                       DenseI32ArrayAttr:$segments);
  let successors = (successor VariadicSuccessor<AnySuccessor>:$dests);
  let assemblyFormat = [{
    $index `:` type($index) `[` $dests `]` `(` $destOperands `:` type($destOperands) `)` attr-dict
  }];
  let hasVerifier = 1;
}

def Kern_ReturnOp : Kern_Op<"return", [Terminator, Pure, ReturnLike]> {
  let summary = "return from a device function, or end of a kernel's thread";
  let arguments = (ins Variadic<Kern_Register>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Kern_ExitOp : Kern_Op<"exit", [Terminator]> {
  let summary = "end of the thread";
  let assemblyFormat = "attr-dict";
}

def Kern_UnreachableOp : Kern_Op<"unreachable", [Terminator]> {
  let summary = "control does not come here (after a call that never returns)";
  let assemblyFormat = "attr-dict";
}

def Kern_TrapOp : Kern_Inst<"trap", (ins), (outs), "", ""> {
  let summary = "abort of the grid (`trap`), or a breakpoint (`brkpt`)";
}

def Kern_CallOp : Kern_Inst<"call",
    (ins FlatSymbolRefAttr:$callee, Variadic<Kern_Register>:$inputs),
    (outs Variadic<Kern_Register>:$outputs),
    "$callee `(` $inputs `)`", "`:` functional-type($inputs, $outputs)",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "direct call";
  let description = [{
    Arguments in `param` space are passed by the address of the caller's
    parameter object, return values in `param` space likewise (they come first
    among the inputs: `returns` of them).
  }];
  let arguments = !con((ins StrAttr:$mnemonic, FlatSymbolRefAttr:$callee,
                            Variadic<Kern_Register>:$inputs),
                       (ins Optional<I1>:$guard, UnitAttr:$guardNegated,
                            Variadic<Kern_Register>:$old,
                            DefaultValuedAttr<I64Attr, "0">:$returns));
}

def Kern_CallIndirectOp : Kern_Inst<"call_indirect",
    (ins Kern_Register:$target, Variadic<Kern_Register>:$inputs),
    (outs Variadic<Kern_Register>:$outputs),
    "$target `:` type($target) `(` $inputs `)`",
    "`:` functional-type($inputs, $outputs)"> {
  let summary = "call through a register";
  let description = [{
    `candidates`, where given, lists the functions that a `.calltargets`
    directive allows. Without it the callee is unknown.
  }];
  let arguments = (ins StrAttr:$mnemonic, Kern_Register:$target,
                       Variadic<Kern_Register>:$inputs, Optional<I1>:$guard,
                       UnitAttr:$guardNegated, Variadic<Kern_Register>:$old,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$candidates,
                       DefaultValuedAttr<I64Attr, "0">:$returns);
}

#endif // D2K_DIALECT_KERN_KERNSTRUCTURE_TD
