// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an operation of kern comes from: the line of PTX, or the offset in
// machine code with the line of PTX that it was made from, and the stack of
// source lines that the line table gives for it. Front ends make locations with
// makeLocation and makeSassLocation, everybody else reads them with the
// getters.

#ifndef D2K_DIALECT_KERN_LOCATION_H
#define D2K_DIALECT_KERN_LOCATION_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"

namespace d2k::kern {

/// One source line of an operation.
struct SourceLocation {
  mlir::StringAttr file;
  /// From 1; a column of 0 is unknown.
  unsigned line = 0, column = 0;
  /// The mangled name of the function the line is in, as the line table gives
  /// it; null where it does not (the kernel itself, as a rule).
  mlir::StringAttr function;
};

/// The location of an operation read from PTX: its line, and the source
/// location it was compiled from (null for none), which is a FileLineColLoc, a
/// NameLoc of the function around one, or a CallSiteLoc of those. Who makes
/// many gets \p kind once, from getPtxLocationKind().
mlir::Location makeLocation(mlir::FileLineColLoc ptx, mlir::LocationAttr source,
                            mlir::StringAttr kind = {});
mlir::StringAttr getPtxLocationKind(mlir::MLIRContext *context);

/// The location of an operation read from machine code. \p sass has the file
/// and, as its line, the byte offset of the instruction in its function; \p ptx
/// is the line of PTX that ptxas made it from and \p source as in makeLocation;
/// both are null when the line tables do not know.
mlir::Location makeSassLocation(mlir::FileLineColLoc sass,
                                mlir::FileLineColLoc ptx,
                                mlir::LocationAttr source);

/// The place in machine code, its line being the byte offset in the function;
/// null for an operation that was not read from machine code.
mlir::FileLineColLoc getSassLocation(mlir::Location loc);

/// The line of PTX, or null when \p loc has none. A location that no function
/// of this header fused is a line of PTX as it is.
mlir::FileLineColLoc getPtxLocation(mlir::Location loc);

/// The source location as it was given; null for none.
mlir::LocationAttr getSourceLocation(mlir::Location loc);

/// The source lines, innermost first: the line itself, then the line of each
/// call through which it was inlined. Empty without line information.
llvm::SmallVector<SourceLocation, 4> getSourceLocations(mlir::Location loc);

/// Location of an operation of \p callee's body after it was inlined at
/// \p callSite: its own PTX line; its source lines followed by the call's.
mlir::Location makeInlinedLocation(mlir::Location callee,
                                   mlir::Location callSite);

} // namespace d2k::kern

#endif // D2K_DIALECT_KERN_LOCATION_H
