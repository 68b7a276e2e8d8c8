// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, memory objects, constants and control flow of kern: printing,
// parsing, verification and branch interfaces.

#include "d2k/Dialect/Kern/Kern.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::kern;

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   FunctionType type, FuncKind kind, Linkage linkage) {
  auto &props = state.getOrAddProperties<Properties>();
  props.sym_name = builder.getStringAttr(name);
  props.function_type = TypeAttr::get(type);
  props.kind = FuncKindAttr::get(builder.getContext(), kind);
  props.linkage = LinkageAttr::get(builder.getContext(), linkage);
  state.addRegion();
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *context = parser.getContext();
  auto &props = result.getOrAddProperties<Properties>();
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<FuncKind> kind = symbolizeFuncKind(word);
  if (!kind)
    return parser.emitError(loc, "expected 'entry' or 'device', found '")
           << word << "'";
  props.kind = FuncKindAttr::get(context, *kind);
  loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Linkage> linkage = symbolizeLinkage(word);
  if (!linkage)
    return parser.emitError(loc, "expected a linkage, found '") << word << "'";
  props.linkage = LinkageAttr::get(context, *linkage);

  StringAttr name;
  if (parser.parseSymbolName(name))
    return failure();
  props.sym_name = name;

  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttrs;
  bool isVariadic = false;
  if (function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, args, isVariadic, resultTypes,
          resultAttrs))
    return failure();
  SmallVector<Type> argTypes;
  for (OpAsmParser::Argument &arg : args)
    argTypes.push_back(arg.type);
  props.function_type =
      TypeAttr::get(FunctionType::get(context, argTypes, resultTypes));
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  call_interface_impl::addArgAndResultAttrs(
      parser.getBuilder(), result, args, resultAttrs,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
  Region *body = result.addRegion();
  OptionalParseResult parsed =
      parser.parseOptionalRegion(*body, args, /*enableNameShadowing=*/false);
  return parsed.has_value() ? *parsed : ParseResult(success());
}

void FuncOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyFuncKind(getKind()) << ' '
          << stringifyLinkage(getLinkage()) << ' ';
  printer.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(
      printer, *this, getArgumentTypes(), /*isVariadic=*/false,
      getResultTypes());
  function_interface_impl::printFunctionAttributes(
      printer, *this,
      {getFunctionTypeAttrName(), getKindAttrName(), getLinkageAttrName(),
       getArgAttrsAttrName(), getResAttrsAttrName()});
  if (!getBody().empty()) {
    printer << ' ';
    printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                        /*printBlockTerminators=*/true);
  }
}

LogicalResult FuncOp::verify() {
  if (isEntry() && !getResultTypes().empty())
    return emitOpError("is an entry and cannot return values");
  for (const char *name :
       {"kern.maxntid", "kern.reqntid", "kern.reqnctapercluster"}) {
    Attribute attr = (*this)->getAttr(name);
    if (!attr)
      continue;
    auto array = dyn_cast<DenseI64ArrayAttr>(attr);
    if (!array || array.size() != 3)
      return emitOpError() << "attribute '" << name
                           << "' must be three numbers array<i64: x, y, z>";
  }
  return success();
}

std::optional<std::array<int64_t, 3>> FuncOp::getDirective3(StringRef name) {
  auto array = (*this)->getAttrOfType<DenseI64ArrayAttr>(name);
  if (!array || array.size() != 3)
    return std::nullopt;
  return std::array<int64_t, 3>{array[0], array[1], array[2]};
}

std::optional<int64_t> FuncOp::getDirective(StringRef name) {
  auto attr = (*this)->getAttrOfType<IntegerAttr>(name);
  if (!attr)
    return std::nullopt;
  return attr.getInt();
}

//===----------------------------------------------------------------------===//
// Objects, constants, symbols
//===----------------------------------------------------------------------===//

LogicalResult ObjectOp::verify() {
  uint64_t alignment = getAlignment();
  if (alignment == 0 || (alignment & (alignment - 1)))
    return emitOpError("has alignment ")
           << alignment << ", which is not a power of two";
  if (std::optional<uint64_t> size = getSize();
      !size && getLinkage() != Linkage::External)
    return emitOpError("has no size and is not external");
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

LogicalResult ConstantOp::verify() {
  if (!isa<IntegerAttr>(getValue()))
    return emitOpError("value must be an integer (the bits of the register)");
  return success();
}

llvm::APInt ConstantOp::getBits() {
  return cast<IntegerAttr>(getValue()).getValue();
}

LogicalResult AddressOfOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *target = symbols.lookupNearestSymbolFrom(*this, getSymbolAttr());
  if (!isa_and_nonnull<ObjectOp, FuncOp>(target))
    return emitOpError("takes the address of @")
           << getSymbol() << ", which is no memory object or function";
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SuccessorOperands BranchOp::getSuccessorOperands(unsigned index) {
  assert(index == 0 && "a branch has one successor");
  return SuccessorOperands(getDestOperandsMutable());
}

Block *BranchOp::getSuccessorForOperands(ArrayRef<Attribute>) {
  return getDest();
}

SuccessorOperands CondBranchOp::getSuccessorOperands(unsigned index) {
  assert(index < 2 && "a conditional branch has two successors");
  return SuccessorOperands(index == 0 ? getTrueOperandsMutable()
                                      : getFalseOperandsMutable());
}

Block *CondBranchOp::getSuccessorForOperands(ArrayRef<Attribute> operands) {
  if (auto value = dyn_cast_or_null<IntegerAttr>(operands.front()))
    return value.getValue().isZero() ? getFalseDest() : getTrueDest();
  return nullptr;
}

SuccessorOperands SwitchOp::getSuccessorOperands(unsigned index) {
  return SuccessorOperands(getDestOperandsMutable()[index]);
}

Block *SwitchOp::getSuccessorForOperands(ArrayRef<Attribute> operands) {
  auto value = dyn_cast_or_null<IntegerAttr>(operands.front());
  if (!value || !value.getValue().ult(getDests().size()))
    return nullptr;
  return getDests()[value.getValue().getZExtValue()];
}

LogicalResult SwitchOp::verify() {
  if (getDests().empty())
    return emitOpError("has an empty table");
  if (getDestOperands().size() != getDests().size())
    return emitOpError("has ")
           << getDests().size() << " successors but operands for "
           << getDestOperands().size();
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError("calls @") << getCallee() << ", which is no function";
  if (callee.getArgumentTypes().size() != getInputs().size())
    return emitOpError("calls @")
           << getCallee() << " with " << getInputs().size()
           << " arguments instead of " << callee.getArgumentTypes().size();
  if (callee.getResultTypes().size() != getOutputs().size())
    return emitOpError("takes ")
           << getOutputs().size() << " results from @" << getCallee()
           << ", which returns " << callee.getResultTypes().size();
  return success();
}
