// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locations of machine instructions: the offset in the function, the line of
// PTX and the source lines, as kern::makeSassLocation takes them.

#ifndef D2K_LIB_FRONTEND_SASSTOKERN_LOCATOR_H
#define D2K_LIB_FRONTEND_SASSTOKERN_LOCATOR_H

#include "d2k/Frontend/SASS/Module.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace d2k::sasslift {

/// Makes the locations of one module's instructions.
class Locator {
public:
  /// The module's name becomes the file of places in machine code, and with
  /// ".ptx" that of lines of PTX. \p module must outlive this.
  Locator(mlir::MLIRContext &context, const sass::Module &module);

  /// The location of the instruction at \p offset of the code section of
  /// \p function.
  mlir::Location locate(const sass::Function &function, uint32_t offset);

private:
  mlir::LocationAttr getSource(const sass::Function &function, uint32_t offset);

  mlir::MLIRContext &context;
  mlir::StringAttr sassFile, ptxFile;
  const sass::DebugLines &lines;
  /// Of the instruction before: most have the same ones.
  std::vector<sass::LineFrame> lastFrames;
  mlir::LocationAttr lastSource;
};

} // namespace d2k::sasslift

#endif // D2K_LIB_FRONTEND_SASSTOKERN_LOCATOR_H
