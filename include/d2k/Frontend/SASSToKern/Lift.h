// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translation of SASS into the kern dialect: registers become values in pruned
// SSA form, register groups become vectors and 64-bit numbers, entries of
// constant bank 0 become parameters and special registers, subroutines become
// functions.
//
// Locations: the file of an operation's machine location (getSassLocation) is
// the module's name, its line the byte offset of the instruction in the
// function's section, its column 0.

#ifndef D2K_FRONTEND_SASSTOKERN_LIFT_H
#define D2K_FRONTEND_SASSTOKERN_LIFT_H

#include "d2k/Frontend/Lifting/Statistics.h"
#include "d2k/Frontend/SASS/Module.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace d2k {

/// Translates \p module into a kern module that verifies. What is not modelled
/// becomes `kern.opaque` with one remark a spelling through the diagnostics of
/// \p context. Null, with an error reported, when a function branches to where
/// no instruction is. Loads the kern dialect into \p context; one call uses one
/// thread.
mlir::OwningOpRef<mlir::ModuleOp>
liftToKern(const sass::Module &module, mlir::MLIRContext &context,
           LiftStatistics *statistics = nullptr);

} // namespace d2k

#endif // D2K_FRONTEND_SASSTOKERN_LIFT_H
