// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the kern dialect, its enumeration attributes, and the
// properties of element types.

#include "d2k/Dialect/Kern/Kern.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::kern;

#include "d2k/Dialect/Kern/KernDialect.cpp.inc"
#include "d2k/Dialect/Kern/KernEnums.cpp.inc"
#include "d2k/Dialect/Kern/KernInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "d2k/Dialect/Kern/KernAttributes.cpp.inc"

void KernDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "d2k/Dialect/Kern/KernOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "d2k/Dialect/Kern/KernAttributes.cpp.inc"
      >();
}

unsigned kern::getBits(ElementType type) {
  switch (type) {
  case ElementType::NONE:
    return 0;
  case ElementType::Pred:
  case ElementType::B1:
    return 1;
  case ElementType::B4:
  case ElementType::U4:
  case ElementType::S4:
  case ElementType::E2M1:
    return 4;
  case ElementType::E2M3:
  case ElementType::E3M2:
    return 6;
  case ElementType::B8:
  case ElementType::U8:
  case ElementType::S8:
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::UE8M0:
  case ElementType::UE4M3:
  case ElementType::E2M1X2:
    return 8;
  case ElementType::B16:
  case ElementType::U16:
  case ElementType::S16:
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::E4M3X2:
  case ElementType::E5M2X2:
  case ElementType::E2M3X2:
  case ElementType::E3M2X2:
  case ElementType::UE8M0X2:
  case ElementType::S2F6X2:
  case ElementType::E2M1X4:
    return 16;
  case ElementType::B32:
  case ElementType::U32:
  case ElementType::S32:
  case ElementType::U16X2:
  case ElementType::S16X2:
  case ElementType::F16X2:
  case ElementType::BF16X2:
  case ElementType::TF32:
  case ElementType::F32:
  case ElementType::E4M3X4:
  case ElementType::E5M2X4:
  case ElementType::E2M3X4:
  case ElementType::E3M2X4:
    return 32;
  case ElementType::B64:
  case ElementType::U64:
  case ElementType::S64:
  case ElementType::F32X2:
  case ElementType::F64:
  case ElementType::B4X16:
    return 64;
  case ElementType::B6X16:
    return 96;
  case ElementType::B128:
    return 128;
  }
  llvm_unreachable("element type without a width");
}

bool kern::isFloat(ElementType type) {
  switch (type) {
  case ElementType::F16:
  case ElementType::F16X2:
  case ElementType::BF16:
  case ElementType::BF16X2:
  case ElementType::TF32:
  case ElementType::F32:
  case ElementType::F32X2:
  case ElementType::F64:
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::E2M3:
  case ElementType::E3M2:
  case ElementType::E2M1:
  case ElementType::UE8M0:
  case ElementType::UE4M3:
  case ElementType::E4M3X2:
  case ElementType::E5M2X2:
  case ElementType::E2M3X2:
  case ElementType::E3M2X2:
  case ElementType::E2M1X2:
  case ElementType::UE8M0X2:
  case ElementType::E4M3X4:
  case ElementType::E5M2X4:
  case ElementType::E2M3X4:
  case ElementType::E3M2X4:
  case ElementType::E2M1X4:
    return true;
  default:
    return false;
  }
}

LogicalResult kern::detail::verifyInst(Operation *op) {
  auto inst = cast<InstOpInterface>(op);
  OperandRange old = inst.getOldValues();
  if (!inst.getGuardValue()) {
    if (!old.empty())
      return op->emitOpError("has old values but no guard");
    if (inst.isGuardNegated())
      return op->emitOpError("negates a guard that it does not have");
    return success();
  }
  if (old.size() != op->getNumResults())
    return op->emitOpError("is guarded and has ")
           << op->getNumResults() << " results but " << old.size()
           << " old values";
  for (auto [value, result] : llvm::zip(old, op->getResults()))
    if (value.getType() != result.getType())
      return op->emitOpError("has an old value of type ")
             << value.getType() << " for a result of type " << result.getType();
  return success();
}
