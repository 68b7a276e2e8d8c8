// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transformations of kern modules.

#ifndef D2K_DIALECT_KERN_TRANSFORMS_PASSES_TD
#define D2K_DIALECT_KERN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def InlineCalls : Pass<"kern-inline-calls", "::mlir::ModuleOp"> {
  let summary = "inline device functions into their callers, bottom-up";
  let description = [{
    Replaces each direct `kern.call` of a function with a body by that body, so
    that analyses of a kernel see all of its code. Parameters in `param` space
    stay the memory objects that they are: the address that the body used for
    the parameter becomes the address of the caller's object. A guarded call
    becomes a branch around the body. Locations keep the PTX line of the body
    and get the source lines of the call behind their own.

    These calls stay, the last four with a remark that names the function: of
    a function without a body (`vprintf`, `__assertfail`, ...); of a recursive
    function; where the caller would exceed `max-ops` operations; where all
    calls inlined so far and this one would add more to the module than
    `max-growth` operations and 16 times what it had; where the types of
    arguments or results differ from the function's.

    Functions that no kernel calls, directly or through others, are left alone.

    Functions that are inlined everywhere stay in the module. A variable of an
    inlined function stays one object, however often it is inlined.
  }];
  let options = [
    Option<"maxOperations", "max-ops", "unsigned", /*default=*/"1000000",
           "Largest number of operations of a function after inlining">,
    Option<"maxGrowth", "max-growth", "uint64_t", /*default=*/"1000000",
           "Operations that inlining may add to a module, or 16 times those "
           "that it has if that is more">
  ];
  // No statistics: with assertions on, llvm::Statistic is another type than in
  // a release build of MLIR, whose constructor leaves it without a value.
}

#endif // D2K_DIALECT_KERN_TRANSFORMS_PASSES_TD
