// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base classes and register types shared by all operations of kern.

#ifndef D2K_DIALECT_KERN_KERNBASE_TD
#define D2K_DIALECT_KERN_KERNBASE_TD

include "d2k/Dialect/Kern/KernDialect.td"
include "d2k/Dialect/Kern/KernEnums.td"
include "d2k/Dialect/Kern/KernInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kern_Register
    : AnyTypeOf<[I1, I8, I16, I32, I64, I<128>], "register (i1 to i128)">;
/// Generic and global addresses are 64 bits wide; shared, local, param and
/// tensor-memory addresses may be 32.
def Kern_Address : AnyTypeOf<[I32, I64], "address (i32 or i64)">;

class Kern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kern_Dialect, mnemonic, traits>;

/// An instruction. Adds, behind its own operands, the guard, the old values
/// and the mnemonic; `syntax` is the assembly format between the mnemonic and
/// the guard, `tail` what follows it.
class Kern_Inst<string mnemonic, dag args, dag outcomes, string syntax, string tail,
                list<Trait> traits = []>
    : Kern_Op<mnemonic,
              !listconcat([AttrSizedOperandSegments, Kern_InstOpInterface],
                          traits)> {
  let arguments = !con((ins StrAttr:$mnemonic), args,
                       (ins Optional<I1>:$guard, UnitAttr:$guardNegated,
                            Variadic<Kern_Register>:$old));
  let results = outcomes;
  let assemblyFormat = "$mnemonic " # syntax #
      " (`if` (`not` $guardNegated^)? $guard^"
      " (`else` ` ` `(` $old^ `:` type($old) `)`)?)? attr-dict " # tail;
}

#endif // D2K_DIALECT_KERN_KERNBASE_TD
