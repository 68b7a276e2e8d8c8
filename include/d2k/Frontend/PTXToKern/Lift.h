// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translation of a PTX syntax tree into the kern dialect: control-flow graph,
// pruned SSA form, memory objects, typed operations. Needs nothing but the tree
// and, for line numbers, the text it was parsed from.

#ifndef D2K_FRONTEND_PTXTOKERN_LIFT_H
#define D2K_FRONTEND_PTXTOKERN_LIFT_H

#include "d2k/Frontend/Lifting/Statistics.h"
#include "d2k/Frontend/PTX/AST.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace d2k {

/// Translates \p module into a kern module that verifies. \p buffer is the text
/// that \p module was parsed from: its name and lines become locations.
/// Instructions that are not modelled become `kern.opaque` with one remark a
/// spelling through the diagnostics of \p context. Null, with an error
/// reported, when the tree cannot be a PTX program (a branch to a missing
/// label). Loads the kern dialect into \p context. One call uses one thread;
/// turn off multithreading of \p context unless it is shared: uniquing is
/// faster without locks.
mlir::OwningOpRef<mlir::ModuleOp>
liftToKern(const ptx::Module &module, llvm::MemoryBufferRef buffer,
           mlir::MLIRContext &context, LiftStatistics *statistics = nullptr);

} // namespace d2k

#endif // D2K_FRONTEND_PTXTOKERN_LIFT_H
