// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern dialect: a GPU kernel as the analyses see it, in CFG + SSA form and
// independent of the instruction set it was read from (PTX now, SASS beside
// it). Front ends translate into it; every analysis and property reads it.

#ifndef D2K_DIALECT_KERN_KERNDIALECT_TD
#define D2K_DIALECT_KERN_KERNDIALECT_TD

include "mlir/IR/OpBase.td"

def Kern_Dialect : Dialect {
  let name = "kern";
  let cppNamespace = "::d2k::kern";
  let summary = "GPU kernels in CFG + SSA form, read from PTX or SASS";
  let description = [{
    A `kern` module holds memory objects (`kern.object`) and functions
    (`kern.func`). A function body is a control-flow graph in *pruned* SSA form.

    **Values are registers.** Their types are the builtin integers `i1`
    (predicates), `i8`, `i16`, `i32`, `i64`, `i128`. Whether an operation reads
    a register as an integer or as floating point is said by its element type
    (`f32`, `bf16x2`, `s32`, ...), not by the value. A vector or a 64-bit pair
    of machine registers is several values.

    **Guards.** Every instruction takes an optional guard predicate (`if %p` or
    `if not %p`). A guarded instruction that defines values names the *old*
    values that its results keep when the guard is false: a result is
    `guard ? new : old`. Nothing is hidden in a predicate that the SSA form does
    not show.

    **Memory.** A memory object is a `kern.object`: a symbol with a state space,
    a size and an alignment. `kern.address_of` takes its address, accesses name
    a base value and a constant byte offset. Parameters of an entry are block
    arguments that hold the *address* of the parameter in `param` space.

    **Asynchrony is state, not value.** Asynchronous operations read and write
    memory or register objects and *join* a completion mechanism: a cp.async
    group, a bulk group, a wgmma group, an mbarrier phase, or a
    `tcgen05.commit`. The interface `AsyncEffectOpInterface` says which.

    **Nothing is dropped.** Each operation keeps the mnemonic it was read from,
    with all modifiers, and a location that leads back to the PTX or SASS line
    and, where line information exists, to the source line. An instruction
    whose reads, writes, width, space or ordering is not derived is
    `kern.opaque`.

    Module attributes: `kern.isa` (`"ptx"`, `"sass"`), `kern.isa_version`,
    `kern.target` (`"sm_90a"`), `kern.address_size` (bits).
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif // D2K_DIALECT_KERN_KERNDIALECT_TD
