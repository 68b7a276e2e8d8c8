// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an operation of kern comes from: the line of PTX or SASS, and the stack
// of source lines that the line table gives for it. Front ends make locations
// with makeLocation, everybody else reads them with the two getters.

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

/// The location of an operation: its PTX (or SASS) line, and the source
/// location it was compiled from (null for none), which is a FileLineColLoc, a
/// NameLoc of the function around one, or a CallSiteLoc of those.
mlir::Location makeLocation(mlir::FileLineColLoc ptx,
                            mlir::LocationAttr source);

/// The PTX (or SASS) line, or null when \p loc has none. A location that
/// makeLocation did not fuse with a source location is a PTX line as it is.
mlir::FileLineColLoc getPtxLocation(mlir::Location loc);

/// The source location as it was given to makeLocation; null for none.
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
