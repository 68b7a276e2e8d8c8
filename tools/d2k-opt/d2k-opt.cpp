// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs passes on kern modules: round trips, verification, and each analysis
// alone through its test pass.

#include "d2k/Analysis/TestPasses.h"
#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Dialect/Kern/Transforms/Passes.h"
#include "d2k/Properties/TestPasses.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<d2k::kern::KernDialect>();
  mlir::registerTransformsPasses();
  d2k::kern::registerKernTransformsPasses();
  d2k::analysis::registerTestPasses();
  d2k::properties::registerTestPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "analyses and transformations of GPU kernels\n", registry));
}
