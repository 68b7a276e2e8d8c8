// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A PTX module: its variables and functions as symbols of kern, the decoding of
// its mnemonics, and the entry point of the translation. Locations are in
// Locations.cpp.

#include "Lifter.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using ptx::FunctionAttribute;
using ptx::OpcodeClass;
using ptx::OperandKind;
using ptx::StatementKind;

ModuleLifter::ModuleLifter(const ptx::Module &module,
                           llvm::MemoryBufferRef buffer, MLIRContext &context,
                           LiftStatistics &statistics)
    : module(module), statistics(statistics), buffer(buffer), context(context) {
  i1 = IntegerType::get(&context, 1);
  i8 = IntegerType::get(&context, 8);
  i16 = IntegerType::get(&context, 16);
  i32 = IntegerType::get(&context, 32);
  i64 = IntegerType::get(&context, 64);
  i128 = IntegerType::get(&context, 128);
  noAttributes = DictionaryAttr::get(&context);
  addressType = module.addressSize.value_or(32) == 64 ? i64 : i32;
  decoded.resize(module.numMnemonics);
}

OwningOpRef<ModuleOp> ModuleLifter::run() {
  context.loadDialect<kern::KernDialect>();
  indexLines();
  OpBuilder builder(&context);
  result = ModuleOp::create(builder, locate(0));
  ModuleOp op = *result;
  objectPoint = op.getBody()->end();
  op->setAttr("kern.isa", builder.getStringAttr("ptx"));
  op->setAttr("kern.isa_version",
              builder.getStringAttr(llvm::Twine(module.versionMajor) + "." +
                                    llvm::Twine(module.versionMinor)));
  op->setAttr("kern.target", builder.getStringAttr(module.getArch()));
  op->setAttr("kern.address_size",
              builder.getI64IntegerAttr(addressType.getWidth()));

  readDebugInfo();
  for (const ptx::Statement *statement : module.statements)
    if (auto *alias = dyn_cast<ptx::Alias>(statement))
      if (alias->alias && alias->aliasee)
        aliases[alias->alias] = alias->aliasee;
  // Names of functions and module variables stay as they are; those of local
  // variables give way.
  for (const ptx::Function *function : module.functions)
    usedNames[builder.getStringAttr(module.getText(function->symbol))] = 1;
  for (const ptx::Variable *variable : module.variables)
    makeModuleVariable(variable);
  for (const ptx::Function *function : module.functions)
    if (!functions.contains(function->symbol) &&
        !aliases.contains(function->symbol))
      makeFunction(function->symbol);

  for (const ptx::Function *function : module.functions) {
    if (!function->body || function->symbol->definition != function)
      continue;
    kern::FuncOp funcOp = getFunction(function->symbol);
    objectPoint = Block::iterator(funcOp);
    if (failed(FunctionLifter(*this, *function, funcOp).run()))
      return {};
    ++statistics.functions;
  }
  return std::move(result);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

static kern::Linkage linkageOf(ptx::Linkage linkage) {
  switch (linkage) {
  case ptx::Linkage::Internal:
    return kern::Linkage::Internal;
  case ptx::Linkage::Visible:
    return kern::Linkage::Visible;
  case ptx::Linkage::Extern:
    return kern::Linkage::External;
  case ptx::Linkage::Weak:
    return kern::Linkage::Weak;
  case ptx::Linkage::Common:
    return kern::Linkage::Common;
  }
  llvm_unreachable("no such linkage");
}

/// True when all bits that \p initializer gives are zero.
static bool isZero(const ptx::Operand &initializer) {
  switch (initializer.kind) {
  case OperandKind::Integer:
  case OperandKind::Float32:
  case OperandKind::Float64:
    return initializer.bits == 0;
  case OperandKind::Vector:
    return llvm::all_of(initializer.elements(), isZero);
  default:
    return false;
  }
}

/// Alignment of a variable: as declared, else that of its element.
static int64_t alignmentOf(const ptx::VariableDecl &decl) {
  if (decl.alignment)
    return decl.alignment;
  int64_t bytes = ptx::getBitWidth(decl.type) / 8 * decl.vectorWidth;
  return bytes > 0 ? bytes : (ptx::getBitWidth(decl.type) ? 1 : 8);
}

/// Size of a variable; nothing for an open array. Textures, samplers and
/// surfaces are handles of 64 bits.
static std::optional<uint64_t> sizeOf(const ptx::VariableDecl &decl) {
  if (ptx::getBitWidth(decl.type) == 0)
    return 8;
  uint64_t size = decl.getSize();
  if (size == 0)
    return std::nullopt;
  return size;
}

StringAttr ModuleLifter::makeUnique(llvm::StringRef name) {
  StringAttr attr = StringAttr::get(&context, name);
  uint32_t *count = &usedNames[attr];
  if ((*count)++ == 0)
    return attr;
  while (true) {
    uint32_t number = *count;
    StringAttr longer = StringAttr::get(&context, name + llvm::Twine('$') +
                                                      llvm::Twine(number));
    // The table may move: find the count of `name` again.
    if (usedNames[longer]++ == 0)
      return longer;
    count = &usedNames[attr];
    ++*count;
  }
}

kern::ObjectOp ModuleLifter::buildObject(const ptx::VariableDecl &decl,
                                         StringAttr name, Location loc) {
  OpBuilder builder(&context);
  builder.setInsertionPoint(result->getBody(), objectPoint);
  std::optional<uint64_t> size = sizeOf(decl);
  kern::Linkage linkage = linkageOf(decl.linkage);
  if (!size)
    linkage = kern::Linkage::External;
  kern::ElementType element = elementOf(decl.type);
  kern::Space space = spaceOf(decl.space);
  bool isZeroed = decl.initializer ? isZero(*decl.initializer)
                                   : (space == kern::Space::Global ||
                                      space == kern::Space::Constant) &&
                                         linkage != kern::Linkage::External;
  kern::ObjectOp::Properties properties;
  properties.sym_name = name;
  properties.space = kern::SpaceAttr::get(&context, space);
  properties.linkage = kern::LinkageAttr::get(&context, linkage);
  if (size)
    properties.size = number(static_cast<int64_t>(*size));
  properties.alignment = number(alignmentOf(decl));
  if (element != kern::ElementType::NONE)
    properties.element = kern::ElementTypeAttr::get(&context, element);
  if (decl.initializer)
    properties.initialized = builder.getUnitAttr();
  if (isZeroed)
    properties.zero = builder.getUnitAttr();
  Operation *op = Operation::create(
      loc, OperationName(kern::ObjectOp::getOperationName(), &context), {}, {},
      noAttributes, &properties, BlockRange(), 0);
  builder.insert(op);
  ++statistics.operations;
  return cast<kern::ObjectOp>(op);
}

void ModuleLifter::makeModuleVariable(const ptx::Variable *variable) {
  StringAttr name = StringAttr::get(&context, module.getText(variable));
  usedNames[name] = 1;
  // A declaration may be repeated; the symbol is one.
  auto [it, isNew] = moduleVariables.try_emplace(name, variable);
  if (!isNew) {
    symbols[variable] = symbols[it->second];
    return;
  }
  buildObject(*variable->decl, name, locate(variable->loc));
  symbols[variable] = FlatSymbolRefAttr::get(name);
}

FlatSymbolRefAttr ModuleLifter::getSymbol(const ptx::Variable *variable) {
  return symbols.lookup(variable);
}

FlatSymbolRefAttr ModuleLifter::makeObject(const ptx::VariableDecl &decl,
                                           llvm::StringRef name, Location loc,
                                           FlatSymbolRefAttr function) {
  StringAttr unique = makeUnique(name);
  kern::ObjectOp object = buildObject(decl, unique, loc);
  object.setScopeAttr(function);
  object.setSourceNameAttr(StringAttr::get(&context, name));
  return FlatSymbolRefAttr::get(unique);
}

FlatSymbolRefAttr ModuleLifter::makeParamObject(llvm::StringRef name,
                                                const ptx::VariableDecl &decl,
                                                Location loc,
                                                FlatSymbolRefAttr function) {
  StringAttr unique = makeUnique(name);
  kern::ObjectOp object = buildObject(decl, unique, loc);
  object.setScopeAttr(function);
  return FlatSymbolRefAttr::get(unique);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

const ptx::Function *
ModuleLifter::getDeclaration(const ptx::FunctionSymbol *symbol) const {
  if (const ptx::FunctionSymbol *aliasee = aliases.lookup(symbol))
    symbol = aliasee;
  return symbol->definition ? symbol->definition : symbol->first;
}

kern::FuncOp ModuleLifter::getFunction(const ptx::FunctionSymbol *symbol) {
  if (const ptx::FunctionSymbol *aliasee = aliases.lookup(symbol))
    symbol = aliasee;
  return functions.lookup(symbol);
}

void ModuleLifter::makeFunction(const ptx::FunctionSymbol *symbol) {
  const ptx::Function *function = getDeclaration(symbol);
  if (!function)
    return;
  OpBuilder builder(&context);
  SmallVector<Type> inputs, results;
  SmallVector<DictionaryAttr> inputAttrs;
  auto addInput = [&](const ptx::Parameter &parameter, bool isReturn) {
    NamedAttrList attrs;
    if (isReturn)
      attrs.append("kern.return", builder.getUnitAttr());
    if (const auto *variable =
            dyn_cast_or_null<ptx::Variable>(parameter.entity)) {
      const ptx::VariableDecl &decl = *variable->decl;
      attrs.append("kern.name",
                   builder.getStringAttr(module.getText(variable)));
      if (std::optional<uint64_t> size = sizeOf(decl))
        attrs.append("kern.size", number(static_cast<int64_t>(*size)));
      attrs.append("kern.align", number(alignmentOf(decl)));
      if (kern::ElementType element = elementOf(decl.type);
          element != kern::ElementType::NONE)
        attrs.append("kern.type",
                     kern::ElementTypeAttr::get(&context, element));
      if (decl.isPointer) {
        attrs.append(
            "kern.ptr_space",
            kern::SpaceAttr::get(&context, spaceOf(decl.pointerSpace)));
        if (decl.pointerAlignment)
          attrs.append("kern.ptr_align", number(decl.pointerAlignment));
      }
      inputs.push_back(addressType);
      inputAttrs.push_back(attrs.getDictionary(&context));
      return;
    }
    const auto *reg = dyn_cast_or_null<ptx::Register>(parameter.entity);
    if (!reg)
      return;
    Type type = registerType(reg->getType());
    attrs.append("kern.name", builder.getStringAttr(module.getText(reg)));
    for (unsigned lane = 0; lane < reg->getVectorWidth(); ++lane) {
      if (isReturn) {
        results.push_back(type);
      } else {
        inputs.push_back(type);
        inputAttrs.push_back(attrs.getDictionary(&context));
      }
    }
  };
  for (const ptx::Parameter &parameter : function->returns)
    addInput(parameter, /*isReturn=*/true);
  for (const ptx::Parameter &parameter : function->parameters)
    addInput(parameter, /*isReturn=*/false);

  bool isDefined = symbol->definition && symbol->definition->body;
  builder.setInsertionPointToEnd(result->getBody());
  auto op = kern::FuncOp::create(
      builder, locate(function->loc), module.getText(symbol),
      builder.getFunctionType(inputs, results),
      function->isEntry ? kern::FuncKind::Entry : kern::FuncKind::Device,
      isDefined ? linkageOf(function->linkage) : kern::Linkage::External);
  SmallVector<Attribute> argAttrs(inputAttrs.begin(), inputAttrs.end());
  if (!argAttrs.empty())
    op.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
  // A symbol without a body cannot be public in MLIR.
  if (!isDefined)
    op->setAttr(SymbolTable::getVisibilityAttrName(),
                builder.getStringAttr("private"));
  setDirectives(op, *function);
  functions[symbol] = op;
  ++statistics.operations;
}

void ModuleLifter::setDirectives(kern::FuncOp op,
                                 const ptx::Function &function) {
  OpBuilder builder(&context);
  NamedAttrList attrs(op->getDiscardableAttrDictionary());
  auto three = [&](llvm::StringRef name, llvm::ArrayRef<uint64_t> values) {
    int64_t numbers[3] = {1, 1, 1};
    for (size_t i = 0; i < std::min<size_t>(values.size(), 3); ++i)
      numbers[i] = static_cast<int64_t>(values[i]);
    attrs.set(name, builder.getDenseI64ArrayAttr(numbers));
  };
  auto one = [&](llvm::StringRef name, llvm::ArrayRef<uint64_t> values) {
    if (!values.empty())
      attrs.set(name, number(static_cast<int64_t>(values.front())));
  };
  for (const FunctionAttribute &attribute : function.attributes)
    switch (attribute.kind) {
    case FunctionAttribute::MaxNReg:
      one("kern.maxnreg", attribute.values);
      break;
    case FunctionAttribute::MaxNTid:
      three("kern.maxntid", attribute.values);
      break;
    case FunctionAttribute::ReqNTid:
      three("kern.reqntid", attribute.values);
      break;
    case FunctionAttribute::MinNCtaPerSm:
    case FunctionAttribute::MaxNCtaPerSm:
      one("kern.minnctapersm", attribute.values);
      break;
    case FunctionAttribute::NoReturn:
      attrs.set("kern.noreturn", builder.getUnitAttr());
      break;
    case FunctionAttribute::MaxClusterRank:
      one("kern.maxclusterrank", attribute.values);
      break;
    case FunctionAttribute::ReqNCtaPerCluster:
      three("kern.reqnctapercluster", attribute.values);
      break;
    case FunctionAttribute::ExplicitCluster:
      attrs.set("kern.explicitcluster", builder.getUnitAttr());
      break;
    case FunctionAttribute::BlocksAreClusters:
      attrs.set("kern.blocksareclusters", builder.getUnitAttr());
      break;
    case FunctionAttribute::Pragma:
    case FunctionAttribute::AbiPreserve:
    case FunctionAttribute::AbiPreserveControl:
    case FunctionAttribute::Unified:
    case FunctionAttribute::Unknown:
      break;
    }
  op->setDiscardableAttrs(attrs.getDictionary(&context));
}

//===----------------------------------------------------------------------===//
// Mnemonics
//===----------------------------------------------------------------------===//

StringAttr ModuleLifter::spell(const ptx::Mnemonic &mnemonic) const {
  llvm::SmallString<64> text;
  if (mnemonic.opcode == ptx::Opcode::Unknown)
    text = module.getText(mnemonic.unknownName);
  else
    text = ptx::getSpelling(mnemonic.opcode);
  llvm::raw_svector_ostream os(text);
  for (const ptx::ModifierUse &use : mnemonic.modifiers) {
    os << '.';
    if (use.kind == ptx::Modifier::Unknown) {
      os << module.getText(use.unknownName);
    } else if (use.kind == ptx::Modifier::Shape) {
      os << 'm' << use.shape.m << 'n' << use.shape.n;
      if (use.shape.k)
        os << 'k' << use.shape.k;
    } else {
      os << ptx::getSpelling(use.kind);
    }
  }
  return StringAttr::get(&context, text);
}

const Decoded &ModuleLifter::decode(const ptx::Mnemonic &mnemonic) {
  Decoded *&known = decoded[mnemonic.ordinal];
  if (!known) {
    known = new (arena.Allocate<Decoded>())
        Decoded(OperationName(kern::OpaqueOp::getOperationName(), &context));
    decodeInto(mnemonic, *known);
  }
  return *known;
}

void ModuleLifter::decodeInto(const ptx::Mnemonic &mnemonic, Decoded &out) {
  out.spelling = spell(mnemonic);
  out.sink = i32;
  std::fill(std::begin(out.immediate), std::end(out.immediate), i32);
  if (mnemonic.opcode == ptx::Opcode::Unknown) {
    out.isOpaque = true;
    out.numWrites = 255;
    out.readsWritten = true;
    return;
  }
  // Which operands are written is in the signature's first letters.
  llvm::StringRef signature = ptx::getSignature(mnemonic.opcode);
  out.minOperands = out.maxOperands = 0;
  bool isLeading = true;
  for (size_t i = 0; i < signature.size(); ++i) {
    char letter = signature[i];
    char suffix = i + 1 < signature.size() ? signature[i + 1] : 0;
    if (isLeading && (letter == 'W' || letter == 'X'))
      ++out.numWrites;
    else
      isLeading = false;
    out.readsWritten |= letter == 'X';
    if (suffix == '*') {
      out.maxOperands = ~0u;
      ++i;
    } else if (suffix == '?') {
      ++i;
      if (out.maxOperands != ~0u)
        ++out.maxOperands;
    } else {
      ++out.minOperands;
      if (out.maxOperands != ~0u)
        ++out.maxOperands;
    }
  }

  Decoder decoder{*this, mnemonic, out};
  OpcodeClass kind = ptx::getClass(mnemonic.opcode);
  out.isCall = kind == OpcodeClass::Call;
  out.isControl = kind == OpcodeClass::Branch ||
                  kind == OpcodeClass::IndirectBranch ||
                  kind == OpcodeClass::Return || kind == OpcodeClass::Exit;
  if (out.isControl)
    return;
  // An unknown modifier may change what is read, written or ordered.
  if (mnemonic.isOpaque() || !decodeFamily(decoder, kind)) {
    out.isOpaque = true;
    out.lift = nullptr;
    out.readsCarry = out.writesCarry = false;
  }
}

void ModuleLifter::countOpaque(const Decoded &opaque, Location loc) {
  ++statistics.opaque;
  constexpr size_t kMaxRemarks = 100;
  llvm::StringRef spelling = opaque.spelling.getValue();
  if (statistics.opaqueByMnemonic[spelling.str()]++ != 0)
    return;
  size_t count = statistics.opaqueByMnemonic.size();
  if (count <= kMaxRemarks)
    emitRemark(loc) << "'" << spelling
                    << "' is not modelled: kept as kern.opaque";
  else if (count == kMaxRemarks + 1)
    emitRemark(loc) << "more than " << kMaxRemarks
                    << " spellings are not modelled: the others are left out";
}

//===----------------------------------------------------------------------===//
// Decoder
//===----------------------------------------------------------------------===//

MLIRContext *Decoder::context() const { return module.getContext(); }

IntegerType Decoder::integer(unsigned bits) const {
  return module.integer(bits);
}

IntegerAttr Decoder::number(int64_t value) const {
  return module.number(value);
}

StringAttr Decoder::word(llvm::StringRef text) const {
  return StringAttr::get(context(), text);
}

IntegerType Decoder::registerOf(kern::ElementType element) const {
  return module.integer(kern::getBits(element));
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> d2k::liftToKern(const ptx::Module &module,
                                      llvm::MemoryBufferRef buffer,
                                      MLIRContext &context,
                                      LiftStatistics *statistics) {
  LiftStatistics unused;
  return ModuleLifter(module, buffer, context,
                      statistics ? *statistics : unused)
      .run();
}
