// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transformations of kern modules; each is described in Passes.td.

#ifndef D2K_DIALECT_KERN_TRANSFORMS_PASSES_H
#define D2K_DIALECT_KERN_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace d2k::kern {

#define GEN_PASS_DECL
#include "d2k/Dialect/Kern/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "d2k/Dialect/Kern/Transforms/Passes.h.inc"

} // namespace d2k::kern

#endif // D2K_DIALECT_KERN_TRANSFORMS_PASSES_H
