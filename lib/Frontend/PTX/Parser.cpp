// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser: diagnostics, names and scopes, and everything at module scope.

#include "ParserImpl.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace d2k;
using namespace d2k::ptx;

using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

static ParseOutcome parseText(llvm::SourceMgr &sourceMgr, StringRef text,
                              StringRef bufferName, DiagnosticHandler handler,
                              const ParseOptions &options) {
  ParseOutcome outcome;
  outcome.module = std::make_unique<Module>();
  outcome.module->bufferName = outcome.module->copy(bufferName);
  Parser parser(sourceMgr, text, handler, options, *outcome.module);
  outcome.numErrors = parser.run();
  return outcome;
}

ParseOutcome d2k::ptx::parse(llvm::MemoryBufferRef buffer,
                             DiagnosticHandler handler,
                             const ParseOptions &options) {
  llvm::SourceMgr sourceMgr;
  // The scanner relies on the terminating null.
  unsigned id = sourceMgr.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(buffer, /*RequiresNullTerminator=*/true),
      llvm::SMLoc());
  return parseText(sourceMgr, sourceMgr.getMemoryBuffer(id)->getBuffer(),
                   buffer.getBufferIdentifier(), handler, options);
}

ParseOutcome d2k::ptx::parse(llvm::SourceMgr &sourceMgr,
                             const ParseOptions &options) {
  const llvm::MemoryBuffer *buffer =
      sourceMgr.getMemoryBuffer(sourceMgr.getMainFileID());
  return parseText(
      sourceMgr, buffer->getBuffer(), buffer->getBufferIdentifier(),
      [&](const llvm::SMDiagnostic &diagnostic) {
        sourceMgr.PrintMessage(llvm::errs(), diagnostic);
      },
      options);
}

Parser::Parser(llvm::SourceMgr &sourceMgr, StringRef text,
               DiagnosticHandler handler, const ParseOptions &options,
               Module &module)
    : sourceMgr(sourceMgr), text(text), handler(handler), options(options),
      module(module), cursor(text) {
  scopes.emplace_back();
}

unsigned Parser::run() {
  if (text.size() >= UINT32_MAX) {
    error(text.begin(),
          "text has " + Twine(text.size()) + " bytes; the limit is 4 GiB");
    return numErrors;
  }
  if (text.starts_with("\xef\xbb\xbf"))
    cursor.advance(3);
  while (true) {
    cursor.skipSpace();
    if (cursor.atEnd())
      break;
    const char *start = cursor.position();
    if (parseModuleStatement()) {
      if (cursor.position() == start)
        cursor.advance();
      recoverAtModuleScope();
    }
  }
  finishModule();
  return numErrors;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

void Parser::report(llvm::SourceMgr::DiagKind kind, const char *position,
                    const Twine &message) {
  // A line that no terminal can show tells nothing.
  constexpr size_t kLongestLine = 1000;
  auto loc = llvm::SMLoc::getFromPointer(position);
  llvm::SMDiagnostic diagnostic = sourceMgr.GetMessage(loc, kind, message);
  if (diagnostic.getLineContents().size() > kLongestLine)
    diagnostic = llvm::SMDiagnostic(
        sourceMgr, loc, diagnostic.getFilename(), diagnostic.getLineNo(),
        diagnostic.getColumnNo(), kind, diagnostic.getMessage(), "...", {});
  handler(diagnostic);
}

bool Parser::error(const char *position, const Twine &message) {
  if (numErrors++ < options.maxErrors)
    report(llvm::SourceMgr::DK_Error, position, message);
  return true;
}

void Parser::remark(const char *position, const Twine &message) {
  if (numRemarks++ < options.maxRemarks)
    report(llvm::SourceMgr::DK_Remark, position, message);
}

bool Parser::expected(const Twine &what) {
  cursor.skipSpace();
  if (cursor.atEnd())
    return error("unexpected end of file: expected " + what);
  return error("expected " + what);
}

bool Parser::expect(char c, const Twine &what) {
  return cursor.consume(c) ? false : expected(what);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void Parser::growBindings() {
  size_t size = std::max<size_t>(module.names.size() + 1, bindings.size() * 2);
  bindings.resize(size);
  ranges.resize(size);
  mnemonics.resize(size);
}

void Parser::pushScope(Block *block) {
  ++numScopes;
  if (scopes.size() <= numScopes)
    scopes.emplace_back();
  scopes[numScopes].block = block;
}

void Parser::popScope() {
  Scope &ending = scopes[numScopes];
  for (PendingName &pending : ending.pending) {
    if (Entity *entity = lookupHere(pending.name))
      resolveOperand(*pending.operand, entity);
    else if (numScopes > 1)
      scopes[numScopes - 1].pending.push_back(pending);
    else
      resolveOperand(*pending.operand, lookup(pending.name));
  }
  for (auto it = ending.hidden.rbegin(), e = ending.hidden.rend(); it != e;
       ++it)
    bindings[static_cast<uint32_t>(it->name)] = {it->entity, it->depth};
  for (RegisterRange *range : ending.ranges) {
    range->decl->registers =
        module.copy(llvm::ArrayRef<Register *>(range->used));
    ranges[static_cast<uint32_t>(range->decl->name)] = range->hidden;
    if (range->depth > 2)
      --numNestedRanges;
  }
  ending.clear();
  --numScopes;
}

void Parser::bind(Name name, Entity *entity, uint32_t depth) {
  uint32_t id = static_cast<uint32_t>(name);
  if (id >= bindings.size())
    growBindings();
  // Module scope is never left: nothing to restore.
  if (depth > 0)
    scopes[depth].hidden.push_back(
        {name, bindings[id].entity, bindings[id].depth});
  bindings[id] = {entity, depth};
}

bool Parser::declare(Name name, Entity *entity, const char *position) {
  if (Entity *previous = lookupHere(name)) {
    // Finding the line costs its length.
    if (numErrors >= options.maxErrors)
      return error(position, "");
    auto [line, column] = sourceMgr.getLineAndColumn(
        llvm::SMLoc::getFromPointer(pointerTo(previous->loc)));
    return error(position, "redefinition of '" + module.getText(name) +
                               "', first declared at line " + Twine(line) +
                               ", column " + Twine(column));
  }
  bind(name, entity, depth());
  return false;
}

Entity *Parser::lookupHere(Name name) {
  uint32_t id = static_cast<uint32_t>(name);
  if (id >= bindings.size())
    return nullptr;
  const Binding &binding = bindings[id];
  return binding.entity && binding.depth == depth() ? binding.entity : nullptr;
}

Entity *Parser::lookup(Name name) {
  uint32_t id = static_cast<uint32_t>(name);
  if (id >= bindings.size())
    growBindings();
  Binding binding = bindings[id];
  if (binding.entity && binding.depth >= 2 && numNestedRanges == 0)
    return binding.entity;
  if (Entity *entity =
          lookupInRanges(name, binding.entity ? binding.depth + 1 : 0))
    return entity;
  return binding.entity;
}

Entity *Parser::lookupInRanges(Name name, uint32_t minDepth) {
  StringRef spelling = module.getText(name);
  // `%r12` may be number 12 of `%r<...>` or number 2 of `%r1<...>`.
  RegisterRange *best = nullptr;
  uint32_t bestIndex = 0;
  bool hasLeadingZero = false;
  uint64_t index = 0, scale = 1;
  for (size_t split = spelling.size() - 1;
       split > 0 && isChar(spelling[split], kDigitChar) && scale < 1u << 31;
       --split) {
    index += uint64_t(spelling[split] - '0') * scale;
    scale *= 10;
    Name prefix = module.names.intern(spelling.take_front(split));
    if (static_cast<uint32_t>(prefix) >= ranges.size())
      growBindings();
    RegisterRange *range = ranges[static_cast<uint32_t>(prefix)];
    if (range && index < range->count && range->depth >= minDepth &&
        (!best || range->depth > best->depth)) {
      best = range;
      bestIndex = index;
      hasLeadingZero = spelling[split] == '0' && split + 1 != spelling.size();
    }
  }
  if (!best)
    return nullptr;
  if (hasLeadingZero) {
    // `%r02` is another spelling of `%r2`.
    llvm::SmallString<32> canonical(module.getText(best->decl->name));
    canonical += llvm::utostr(bestIndex);
    return lookup(module.names.intern(canonical));
  }
  Register *reg = makeRegister(best->decl, name, nullptr);
  reg->loc = best->decl->loc;
  reg->index = bestIndex;
  best->used.push_back(reg);
  bind(name, reg, best->depth);
  return reg;
}

Register *Parser::makeRegister(RegisterDecl *decl, Name name,
                               const char *position) {
  auto *reg =
      module.make<Register>(name, position ? cursor.offset(position) : 0);
  reg->decl = decl;
  reg->ordinal = registers.size();
  registers.push_back(reg);
  return reg;
}

Variable *Parser::makeVariable(VariableDecl *decl, Name name,
                               const char *position) {
  auto *variable = module.make<Variable>(name, cursor.offset(position));
  variable->decl = decl;
  variable->isGlobalScope = depth() == 0;
  auto &list = depth() == 0 ? globals : variables;
  variable->ordinal = list.size();
  list.push_back(variable);
  return variable;
}

void Parser::notePending(llvm::MutableArrayRef<Operand> operands) {
  for (Operand &operand : operands) {
    if (operand.isPending)
      scope().pending.push_back({&operand, operand.name});
    else
      notePending(operand.elements());
  }
}

void Parser::resolveOperand(Operand &operand, Entity *entity) {
  Name name = operand.name;
  operand.isPending = false;
  if (!entity) {
    error(pointerTo(operand.loc),
          "use of undeclared name '" + module.getText(name) + "'");
    entity = module.make<Entity>(EntityKind::Unresolved, name, operand.loc);
  }
  if (entity->kind == EntityKind::Register)
    operand.kind = OperandKind::Register;
  operand.entity = entity;
}

bool Parser::parseName(Name &name, const Twine &what) {
  cursor.skipSpace();
  if (!cursor.atIdentifier())
    return expected(what);
  const char *start = cursor.position();
  StringRef spelling = cursor.scanIdentifier();
  if (spelling == "%") {
    cursor.setPosition(start);
    return expected(what);
  }
  name = module.names.intern(spelling);
  return false;
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

bool Parser::isLinkage(StringRef word, Linkage &linkage) {
  std::optional<Linkage> found =
      llvm::StringSwitch<std::optional<Linkage>>(word)
          .Case("visible", Linkage::Visible)
          .Case("extern", Linkage::Extern)
          .Case("weak", Linkage::Weak)
          .Case("common", Linkage::Common)
          .Default(std::nullopt);
  if (!found)
    return false;
  linkage = *found;
  return true;
}

bool Parser::parseModuleStatement() {
  const char *start = cursor.position();
  if (cursor.peek() == ';') {
    cursor.advance();
    return false;
  }
  if (cursor.peek() == '@' && cursor.peekSecond() == '@')
    return parseDwarfLine(start);
  if (cursor.peek() == '@' || cursor.atIdentifier())
    return error("expected a directive: instructions belong in a function");
  if (cursor.peek() != '.')
    return error("expected a directive");
  cursor.advance();
  StringRef word = cursor.scanWord();
  Linkage linkage = Linkage::Internal;
  if (isLinkage(word, linkage)) {
    if (expect('.', "a directive after '." + word + "'"))
      return true;
    word = cursor.scanWord();
  }
  if (word == "entry" || word == "func")
    return parseFunction(linkage, word == "entry", start);
  if (linkage == Linkage::Internal) {
    if (word == "version")
      return parseVersion();
    if (word == "target")
      return parseTarget();
    if (word == "address_size")
      return parseAddressSize();
    if (word == "file")
      return parseFile(start);
    if (word == "section")
      return parseSection(start);
    if (word == "pragma")
      return parsePragma(start);
    if (word == "alias")
      return parseAlias(start);
    if (word == "loc")
      return parseLocation(start);
    if (word == "reg")
      return error(start, "register declared outside a function");
  }
  if (getCategory(lookupModifier(word)) == ModifierCategory::Space)
    return parseVariableDecl(start, word, linkage);
  if (linkage != Linkage::Internal)
    return error("expected a function or a variable after the linkage, found "
                 "'." +
                 word + "'");
  return parseUnknownDirective(word, start);
}

bool Parser::parseVersion() {
  uint32_t major = 0, minor = 0;
  if (parseUnsigned(major, "the PTX version"))
    return true;
  if (cursor.peek() != '.')
    return expected("'.' in the PTX version");
  cursor.advance();
  if (parseUnsigned(minor, "the minor PTX version"))
    return true;
  module.versionMajor = major;
  module.versionMinor = minor;
  return false;
}

bool Parser::parseTarget() {
  do {
    cursor.skipSpace();
    StringRef word = cursor.scanWord();
    if (word.empty())
      return expected("a target");
    targets.push_back(module.copy(word));
  } while (cursor.consume(','));
  return false;
}

bool Parser::parseAddressSize() {
  uint32_t size = 0;
  const char *position = cursor.position();
  if (parseUnsigned(size, "the address size"))
    return true;
  if (size != 32 && size != 64)
    return error(position,
                 "address size is " + Twine(size) + ": expected 32 or 64");
  module.addressSize = size;
  return false;
}

bool Parser::parseAlias(const char *start) {
  auto *alias = module.make<Alias>(cursor.offset(start));
  for (FunctionSymbol **side : {&alias->alias, &alias->aliasee}) {
    Name name;
    cursor.skipSpace();
    const char *position = cursor.position();
    if (parseName(name, "a function name"))
      return true;
    *side = llvm::dyn_cast_or_null<FunctionSymbol>(lookup(name));
    if (!*side)
      return error(position,
                   "'" + module.getText(name) + "' is not a declared function");
    if (side == &alias->alias && expect(',', "',' between alias and aliasee"))
      return true;
  }
  if (expect(';', "';' after .alias"))
    return true;
  addStatement(alias);
  return false;
}

void Parser::finishModule() {
  for (PendingName &pending : scopes[0].pending) {
    Entity *entity = lookup(pending.name);
    if (!entity)
      entity = localNames.lookup(pending.name);
    resolveOperand(*pending.operand, entity);
  }
  module.targets = module.copy(llvm::ArrayRef<StringRef>(targets));
  module.statements = module.copy(llvm::ArrayRef<Statement *>(statements));
  module.functions = module.copy(llvm::ArrayRef<Function *>(functions));
  module.variables = module.copy(llvm::ArrayRef<Variable *>(globals));
  if (module.versionMajor == 0 && numErrors == 0)
    error(text.begin(), "no .version directive: not a PTX module");
  if (numRemarks > options.maxRemarks)
    report(llvm::SourceMgr::DK_Remark, text.begin(),
           Twine(numRemarks - options.maxRemarks) + " more remarks left out");
}

void Parser::recoverAtModuleScope() {
  // A broken header may be followed by its body: skip it with its braces.
  unsigned level = 0;
  while (true) {
    cursor.skipSpace();
    if (cursor.atEnd())
      return;
    switch (cursor.peek()) {
    case '{':
      ++level;
      cursor.advance();
      break;
    case '}':
      cursor.advance();
      if (level <= 1)
        return;
      --level;
      break;
    case ';':
      cursor.advance();
      if (level == 0)
        return;
      break;
    case '"': {
      StringRef ignored;
      cursor.scanString(ignored);
      break;
    }
    case '.': {
      cursor.advance();
      StringRef word = cursor.scanWord();
      // Nothing of the kind stands inside a statement.
      Linkage linkage;
      if (level == 0 && (isLinkage(word, linkage) || word == "entry" ||
                         word == "func" || word == "section")) {
        cursor.setPosition(word.begin() - 1);
        return;
      }
      break;
    }
    default:
      cursor.advance();
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FunctionSymbol *Parser::getFunctionSymbol(Name name, const char *position) {
  Entity *entity = lookup(name);
  if (auto *symbol = llvm::dyn_cast_or_null<FunctionSymbol>(entity))
    return symbol;
  if (entity) {
    error(position, "'" + module.getText(name) + "' is already a variable");
    return nullptr;
  }
  auto *symbol = module.make<FunctionSymbol>(name, cursor.offset(position));
  symbol->ordinal = module.numFunctionSymbols++;
  bind(name, symbol, 0);
  return symbol;
}

bool Parser::parseFunction(Linkage linkage, bool isEntry, const char *start) {
  auto *fn = module.make<Function>(cursor.offset(start));
  fn->linkage = linkage;
  fn->isEntry = isEntry;
  registers.clear();
  variables.clear();
  labels.clear();
  numTables = 0;

  // Parameters have a scope of their own around the body. Whatever fails, the
  // scope must be left again.
  pushScope(nullptr);
  auto parseHeader = [&] {
    llvm::SmallVector<FunctionAttribute, 4> attributes;
    // Some attributes may stand before the name (`.func .attribute(...)`).
    if (parseFunctionAttributes(attributes))
      return true;
    cursor.skipSpace();
    llvm::SmallVector<Parameter, 8> returns, parameters;
    if (cursor.peek() == '(' &&
        parseParameters('(', ')', /*isPrototype=*/false, returns))
      return true;
    if (parseFunctionAttributes(attributes))
      return true;
    Name name;
    cursor.skipSpace();
    const char *position = cursor.position();
    if (parseName(name, isEntry ? "the name of the entry"
                                : "the name of the function"))
      return true;
    fn->symbol = getFunctionSymbol(name, position);
    if (!fn->symbol)
      return true;
    cursor.skipSpace();
    fn->hasParameterList = cursor.peek() == '(';
    if (fn->hasParameterList &&
        parseParameters('(', ')', /*isPrototype=*/false, parameters))
      return true;
    if (parseFunctionAttributes(attributes))
      return true;
    fn->returns = module.copy(llvm::ArrayRef<Parameter>(returns));
    fn->parameters = module.copy(llvm::ArrayRef<Parameter>(parameters));
    fn->attributes = module.copy(llvm::ArrayRef<FunctionAttribute>(attributes));
    cursor.skipSpace();
    if (cursor.peek() == ';') {
      cursor.advance();
      return false;
    }
    if (cursor.peek() != '{')
      return expected("';' or a body after the header of '" +
                      module.getText(name) + "'");
    if (fn->symbol->definition)
      error(position,
            "redefinition of function '" + module.getText(name) + "'");
    function = fn;
    size_t outerStart = blockStart;
    fn->body = parseBlock(nullptr);
    blockStart = outerStart;
    function = nullptr;
    return false;
  };
  bool failed = parseHeader();
  popScope();
  if (failed)
    return true;
  finishFunction(*fn);
  return false;
}

void Parser::finishFunction(Function &fn) {
  fn.numRegisters = registers.size();
  fn.numVariables = variables.size();
  fn.numLabels = labels.size();
  fn.numTables = numTables;
  fn.registers = module.copy(llvm::ArrayRef<Register *>(registers));
  fn.variables = module.copy(llvm::ArrayRef<Variable *>(variables));
  fn.labels = module.copy(llvm::ArrayRef<Label *>(labels));
  for (Variable *variable : variables)
    localNames.try_emplace(variable->name, variable);
  for (Label *label : labels)
    localNames.try_emplace(label->name, label);
  if (!fn.symbol->first)
    fn.symbol->first = &fn;
  if (fn.body && !fn.symbol->definition)
    fn.symbol->definition = &fn;
  functions.push_back(&fn);
  addStatement(&fn);
}

bool Parser::parseParameters(char open, char close, bool isPrototype,
                             llvm::SmallVectorImpl<Parameter> &parameters) {
  if (expect(open, "'" + Twine(open) + "'"))
    return true;
  if (cursor.consume(close))
    return false;
  do {
    Parameter parameter;
    if (parseParameter(isPrototype, parameter))
      return true;
    parameters.push_back(parameter);
  } while (cursor.consume(','));
  return expect(close, "',' or '" + Twine(close) + "' after a parameter");
}

bool Parser::parseParameter(bool isPrototype, Parameter &parameter) {
  cursor.skipSpace();
  const char *start = cursor.position();
  if (expect('.', "a parameter: '.param' or '.reg'"))
    return true;
  StringRef word = cursor.scanWord();
  if (word != "param" && word != "reg")
    return error(start, "expected '.param' or '.reg', found '." + word + "'");

  auto *decl = module.make<VariableDecl>(cursor.offset(start));
  decl->space = lookupModifier(word);
  // Words in any order: type, vector, alignment, pointer.
  while (true) {
    cursor.skipSpace();
    if (cursor.peek() != '.')
      break;
    const char *position = cursor.position();
    cursor.advance();
    word = cursor.scanWord();
    if (word == "align") {
      // `.align` after `.ptr` is the alignment of what it points to.
      if (parseUnsigned(decl->isPointer ? decl->pointerAlignment
                                        : decl->alignment,
                        "an alignment"))
        return true;
      continue;
    }
    if (word == "ptr") {
      decl->isPointer = true;
      continue;
    }
    Modifier modifier = lookupModifier(word);
    switch (getCategory(modifier)) {
    case ModifierCategory::Type:
      decl->type = modifier;
      continue;
    case ModifierCategory::Vector:
      decl->vectorWidth = modifier == Modifier::V2   ? 2
                          : modifier == Modifier::V4 ? 4
                                                     : 8;
      continue;
    case ModifierCategory::Space:
      if (decl->isPointer) {
        decl->pointerSpace = modifier;
        continue;
      }
      [[fallthrough]];
    default:
      return error(position, "unexpected '." + word + "' in a parameter");
    }
  }
  if (decl->type == Modifier::Unknown)
    return expected("the type of a parameter");

  cursor.skipSpace();
  const char *position = cursor.position();
  if (parseName(decl->name, "the name of a parameter"))
    return true;
  bool isUnnamed = module.getText(decl->name) == "_";

  if (decl->space == Modifier::Reg) {
    auto *reg = module.make<RegisterDecl>(cursor.offset(start));
    reg->type = decl->type;
    reg->vectorWidth = decl->vectorWidth;
    reg->name = decl->name;
    Register *entity = makeRegister(reg, reg->name, position);
    reg->registers = module.copy<Register *>(entity);
    parameter = {reg, entity};
    return !isPrototype && !isUnnamed && declare(reg->name, entity, position);
  }
  if (parseDeclarator(*decl))
    return true;
  Variable *variable = makeVariable(decl, decl->name, position);
  variable->isParameter = true;
  decl->variables = module.copy<Variable *>(variable);
  parameter = {decl, variable};
  return !isPrototype && !isUnnamed && declare(decl->name, variable, position);
}

bool Parser::parseAttributeValues(llvm::SmallVectorImpl<uint64_t> &values,
                                  unsigned maxValues) {
  do {
    uint64_t value = 0;
    if (parseUnsigned(value, "a number"))
      return true;
    values.push_back(value);
  } while (values.size() < maxValues && cursor.consume(','));
  return false;
}

bool Parser::parseFunctionAttributes(
    llvm::SmallVectorImpl<FunctionAttribute> &attributes) {
  using Kind = FunctionAttribute::Kind;
  while (true) {
    cursor.skipSpace();
    if (cursor.peek() != '.')
      return false;
    const char *start = cursor.position();
    cursor.advance();
    StringRef word = cursor.scanWord();
    FunctionAttribute attribute;
    attribute.loc = cursor.offset(start);
    attribute.kind = llvm::StringSwitch<Kind>(word)
                         .Case("maxnreg", Kind::MaxNReg)
                         .Case("maxntid", Kind::MaxNTid)
                         .Case("reqntid", Kind::ReqNTid)
                         .Case("minnctapersm", Kind::MinNCtaPerSm)
                         .Case("maxnctapersm", Kind::MaxNCtaPerSm)
                         .Case("noreturn", Kind::NoReturn)
                         .Case("pragma", Kind::Pragma)
                         .Case("maxclusterrank", Kind::MaxClusterRank)
                         .Case("reqnctapercluster", Kind::ReqNCtaPerCluster)
                         .Case("explicitcluster", Kind::ExplicitCluster)
                         .Case("blocksareclusters", Kind::BlocksAreClusters)
                         .Case("abi_preserve", Kind::AbiPreserve)
                         .Case("abi_preserve_control", Kind::AbiPreserveControl)
                         .Case("attribute", Kind::Unified)
                         .Default(Kind::Unknown);
    llvm::SmallVector<uint64_t, 3> values;
    switch (attribute.kind) {
    case Kind::MaxNReg:
    case Kind::MinNCtaPerSm:
    case Kind::MaxNCtaPerSm:
    case Kind::MaxClusterRank:
    case Kind::AbiPreserve:
    case Kind::AbiPreserveControl:
      if (parseAttributeValues(values, 1))
        return true;
      break;
    case Kind::MaxNTid:
    case Kind::ReqNTid:
    case Kind::ReqNCtaPerCluster:
      if (parseAttributeValues(values, 3))
        return true;
      break;
    case Kind::NoReturn:
    case Kind::ExplicitCluster:
    case Kind::BlocksAreClusters:
      break;
    case Kind::Pragma:
      if (parsePragmaStrings(attribute.strings))
        return true;
      break;
    case Kind::Unified: {
      VariableDecl decl(0);
      if (parseVariableAttribute(decl))
        return true;
      if (!decl.unifiedId)
        return error(start, "expected '.unified' in a function's .attribute");
      values = {decl.unifiedId->first, decl.unifiedId->second};
      break;
    }
    case Kind::Unknown:
      attribute.name = module.names.intern(word);
      if (word.empty())
        return expected("the attribute of a function");
      remark(start, "unknown function attribute '." + word + "' kept as it is");
      cursor.skipSpace();
      if (isChar(cursor.peek(), kDigitChar) && parseAttributeValues(values, 3))
        return true;
      break;
    }
    attribute.values = module.copy(llvm::ArrayRef<uint64_t>(values));
    attributes.push_back(attribute);
  }
}
