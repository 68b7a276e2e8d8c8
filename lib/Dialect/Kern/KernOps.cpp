// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generated definitions of kern's operations, alone in their translation
// unit because they dominate its compile time.

#include "d2k/Dialect/Kern/Kern.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::kern;

#define GET_OP_CLASSES
#include "d2k/Dialect/Kern/KernOps.cpp.inc"
