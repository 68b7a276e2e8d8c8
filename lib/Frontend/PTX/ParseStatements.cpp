// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser: bodies, instructions, declarations, initialisers and debug
// sections.

#include "ParserImpl.h"

#include "llvm/ADT/SmallString.h"

using namespace d2k;
using namespace d2k::ptx;

using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Block *Parser::parseBlock(Block *parent) {
  auto *block = module.make<Block>(cursor.offset());
  block->parent = parent;
  const char *open = cursor.position();
  cursor.advance();
  pushScope(block);
  size_t start = blockStart = statements.size();
  while (true) {
    cursor.skipSpace();
    if (cursor.atEnd()) {
      auto [line, column] =
          sourceMgr.getLineAndColumn(llvm::SMLoc::getFromPointer(open));
      error("unexpected end of file: the scope opened at line " + Twine(line) +
            " is not closed");
      break;
    }
    if (cursor.peek() == '}') {
      block->end = cursor.offset();
      cursor.advance();
      break;
    }
    const char *position = cursor.position();
    if (parseStatement()) {
      if (cursor.position() == position)
        cursor.advance();
      recover();
    }
    blockStart = start;
  }
  block->statements = module.copy(llvm::ArrayRef<Statement *>(
      statements.data() + start, statements.size() - start));
  statements.truncate(start);
  popScope();
  return block;
}

void Parser::recover() {
  while (true) {
    const char *before = cursor.position();
    cursor.skipSpace();
    if (cursor.atEnd())
      return;
    switch (cursor.peek()) {
    case ';':
      cursor.advance();
      return;
    case '}':
      return;
    case '{':
      // A vector operand goes with its statement, a scope does not. No vector
      // holds another, and stopping at the next brace keeps recovery linear.
      cursor.advance();
      while (!cursor.atEnd() && cursor.peek() != '}' && cursor.peek() != ';' &&
             cursor.peek() != '\n' && cursor.peek() != '{')
        cursor.advance();
      if (cursor.peek() != '}') {
        cursor.setPosition(before);
        cursor.skipSpace();
        return;
      }
      cursor.advance();
      break;
    case '"': {
      StringRef ignored;
      cursor.scanString(ignored);
      break;
    }
    case '.':
      // A directive on a line of its own.
      if (llvm::StringRef(before, cursor.position() - before).contains('\n'))
        return;
      cursor.advance();
      break;
    default:
      cursor.advance();
      break;
    }
  }
}

bool Parser::parseStatement() {
  const char *start = cursor.position();
  switch (cursor.peek()) {
  case ';':
    cursor.advance();
    return false;
  case '{': {
    if (depth() > options.maxDepth)
      return error("scopes are nested deeper than " + Twine(options.maxDepth));
    size_t outer = blockStart;
    Block *block = parseBlock(scope().block);
    blockStart = outer;
    addStatement(block);
    return false;
  }
  case '.':
    return parseBodyDirective(start);
  case '@':
    return cursor.peekSecond() == '@' ? parseDwarfLine(start)
                                      : parseInstruction(start);
  default:
    break;
  }
  if (!cursor.atIdentifier())
    return error("expected a statement");
  // A label or a mnemonic: only what follows the first word tells.
  StringRef word = cursor.scanIdentifier();
  cursor.skipSpace();
  if (cursor.peek() == ':' && cursor.peekSecond() != ':') {
    cursor.advance();
    return parseLabelled(module.names.intern(word), start);
  }
  cursor.setPosition(start);
  return parseInstruction(start);
}

bool Parser::parseLabelled(Name name, const char *start) {
  cursor.skipSpace();
  if (cursor.peek() == '.') {
    const char *position = cursor.position();
    cursor.advance();
    StringRef word = cursor.scanWord();
    if (word == "branchtargets" || word == "calltargets")
      return parseTargets(name, word == "calltargets", start);
    if (word == "callprototype")
      return parsePrototype(name, start);
    cursor.setPosition(position);
  }
  auto *label = module.make<Label>(name, cursor.offset(start));
  if (declare(name, label, start))
    return true;
  label->block = scope().block;
  label->position = statements.size() - blockStart;
  label->ordinal = labels.size();
  labels.push_back(label);
  addStatement(module.make<LabelStatement>(label, cursor.offset(start)));
  return false;
}

bool Parser::parseTargets(Name name, bool isCallTargets, const char *start) {
  auto *statement = module.make<BranchTargets>(cursor.offset(start));
  statement->isCallTargets = isCallTargets;
  auto *table = module.make<TargetTable>(name, cursor.offset(start));
  table->statement = statement;
  table->ordinal = numTables++;
  statement->table = table;
  llvm::SmallVector<Operand, 16> targets;
  do {
    Operand operand;
    cursor.skipSpace();
    operand.loc = cursor.offset();
    operand.kind = OperandKind::Symbol;
    operand.isPending = true;
    if (parseName(operand.name, "a target"))
      return true;
    targets.push_back(operand);
  } while (cursor.consume(','));
  if (expect(';', "',' or ';' after a target") || declare(name, table, start))
    return true;
  statement->targets = module.copy(llvm::ArrayRef<Operand>(targets));
  notePending(statement->targets);
  addStatement(statement);
  return false;
}

bool Parser::parsePrototype(Name name, const char *start) {
  auto *statement = module.make<CallPrototype>(cursor.offset(start));
  auto *prototype = module.make<Prototype>(name, cursor.offset(start));
  prototype->statement = statement;
  prototype->ordinal = numTables++;
  statement->prototype = prototype;
  llvm::SmallVector<Parameter, 8> returns, parameters;
  llvm::SmallVector<FunctionAttribute, 2> attributes;
  cursor.skipSpace();
  if (cursor.peek() == '(' &&
      parseParameters('(', ')', /*isPrototype=*/true, returns))
    return true;
  Name ignored;
  if (parseName(ignored, "'_' in a prototype"))
    return true;
  cursor.skipSpace();
  if (cursor.peek() == '(' &&
      parseParameters('(', ')', /*isPrototype=*/true, parameters))
    return true;
  if (parseFunctionAttributes(attributes) ||
      expect(';', "';' after a prototype") || declare(name, prototype, start))
    return true;
  statement->returns = module.copy(llvm::ArrayRef<Parameter>(returns));
  statement->parameters = module.copy(llvm::ArrayRef<Parameter>(parameters));
  statement->attributes =
      module.copy(llvm::ArrayRef<FunctionAttribute>(attributes));
  addStatement(statement);
  return false;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool Parser::parseInstruction(const char *start) {
  Register *guard = nullptr;
  bool isGuardNegated = false;
  if (cursor.peek() == '@') {
    cursor.advance();
    cursor.skipSpace();
    if (cursor.peek() == '!') {
      isGuardNegated = true;
      cursor.advance();
      cursor.skipSpace();
    }
    const char *position = cursor.position();
    Name name;
    if (parseName(name, "a predicate register"))
      return true;
    guard = llvm::dyn_cast_or_null<Register>(lookup(name));
    if (!guard)
      return error(position,
                   "'" + module.getText(name) + "' is not a declared register");
    if (guard->getType() != Modifier::Pred)
      return error(position, "guard '" + module.getText(name) + "' is a ." +
                                 getSpelling(guard->getType()) +
                                 " register: expected .pred");
    cursor.skipSpace();
    if (!cursor.atIdentifier())
      return expected("an instruction after the guard");
  }

  const Mnemonic *mnemonic = parseMnemonic();
  OpcodeClass opcodeClass = getClass(mnemonic->opcode);
  isCall = opcodeClass == OpcodeClass::Call;
  isBranch = opcodeClass == OpcodeClass::Branch;
  sawPending = false;
  operandStack.clear();
  operandDepth = 0;
  if (!cursor.consume(';')) {
    while (true) {
      // In place: nested lists are collected behind and cut off again.
      Operand operand;
      if (parseOperand(operand))
        return true;
      operandStack.push_back(operand);
      cursor.skipSpace();
      if (cursor.peek() == ',') {
        cursor.advance();
        continue;
      }
      if (cursor.peek() == ';') {
        cursor.advance();
        break;
      }
      return expected("',' or ';' after an operand");
    }
  }
  auto *instruction = module.make<Instruction>(cursor.offset(start));
  instruction->guard = guard;
  instruction->isGuardNegated = isGuardNegated;
  instruction->mnemonic = mnemonic;
  instruction->operands = module.copy(llvm::ArrayRef<Operand>(operandStack));
  if (sawPending)
    notePending(instruction->operands);
  addStatement(instruction);
  return false;
}

//===----------------------------------------------------------------------===//
// Directives in bodies
//===----------------------------------------------------------------------===//

bool Parser::parseBodyDirective(const char *start) {
  cursor.advance();
  StringRef word = cursor.scanWord();
  if (word == "loc")
    return parseLocation(start);
  if (word == "reg")
    return parseRegisterDecl(start);
  if (word == "pragma")
    return parsePragma(start);
  if (word == "file")
    return parseFile(start);
  if (word == "section")
    return error(start, "section inside a function");
  if (word == "branchtargets" || word == "calltargets" ||
      word == "callprototype")
    return error(start, "'." + word + "' without a label before it");
  Linkage linkage = Linkage::Internal;
  if (isLinkage(word, linkage)) {
    if (expect('.', "a directive after '." + word + "'"))
      return true;
    word = cursor.scanWord();
  }
  if (word == "entry" || word == "func")
    return error(start, "function inside a function: '}' missing before it");
  if (getCategory(lookupModifier(word)) == ModifierCategory::Space)
    return parseVariableDecl(start, word, linkage);
  return parseUnknownDirective(word, start);
}

bool Parser::parseDwarfLine(const char *start) {
  auto *directive = module.make<UnknownDirective>(cursor.offset(start));
  while (!cursor.atEnd() && cursor.peek() != '\n')
    cursor.advance();
  StringRef line(start, cursor.position() - start);
  directive->words = module.copy<StringRef>(module.copy(line.rtrim()));
  addStatement(directive);
  return false;
}

bool Parser::parseUnknownDirective(StringRef word, const char *start) {
  if (word.empty())
    return error("expected a directive");
  auto *directive = module.make<UnknownDirective>(cursor.offset(start));
  llvm::SmallVector<StringRef, 8> words;
  words.push_back(module.copy(StringRef(start, cursor.position() - start)));
  // To the semicolon, or to the end of the line when there is none on it.
  while (!cursor.atEnd() && cursor.peek() != '\n') {
    if (isChar(cursor.peek(), kSpaceChar)) {
      cursor.advance();
      continue;
    }
    const char *position = cursor.position();
    cursor.skipSpace();
    if (cursor.position() != position)
      continue;
    if (cursor.peek() == ';') {
      cursor.advance();
      words.push_back(";");
      break;
    }
    if (cursor.peek() == '{' || cursor.peek() == '}')
      return error("unknown directive '." + word + "' has a body");
    if (cursor.peek() == '"') {
      StringRef ignored;
      if (!cursor.scanString(ignored))
        return error(position, "string is not closed");
    } else {
      // A dotted word, or one character of punctuation.
      if (cursor.peek() == '.')
        cursor.advance();
      if (cursor.scanDotted().empty() && cursor.position() == position)
        cursor.advance();
    }
    words.push_back(
        module.copy(StringRef(position, cursor.position() - position)));
  }
  directive->words = module.copy(llvm::ArrayRef<StringRef>(words));
  remark(start, "unknown directive '." + word + "' kept as it is");
  addStatement(directive);
  return false;
}

bool Parser::parseRegisterDecl(const char *start) {
  Modifier type = Modifier::Unknown;
  unsigned width = 1;
  while (true) {
    cursor.skipSpace();
    if (cursor.peek() != '.')
      break;
    const char *position = cursor.position();
    cursor.advance();
    StringRef word = cursor.scanWord();
    Modifier modifier = lookupModifier(word);
    if (getCategory(modifier) == ModifierCategory::Type)
      type = modifier;
    else if (modifier == Modifier::V2)
      width = 2;
    else if (modifier == Modifier::V4)
      width = 4;
    else if (word == "align") {
      // Accepted by ptxas and without meaning for registers.
      uint32_t ignored;
      if (parseUnsigned(ignored, "an alignment"))
        return true;
    } else {
      return error(position,
                   "unexpected '." + word + "' in a register declaration");
    }
  }
  if (type == Modifier::Unknown)
    return expected("the type of a register");
  do {
    cursor.skipSpace();
    const char *position = cursor.position();
    Name name;
    if (parseName(name, "the name of a register"))
      return true;
    auto *decl = module.make<RegisterDecl>(cursor.offset(position));
    decl->type = type;
    decl->vectorWidth = width;
    decl->name = name;
    if (cursor.consume('<')) {
      uint32_t count = 0;
      if (parseUnsigned(count, "the number of registers") ||
          expect('>', "'>' after the number of registers"))
        return true;
      decl->count = count;
      uint32_t id = static_cast<uint32_t>(name);
      if (id >= ranges.size())
        growBindings();
      if (ranges[id] && ranges[id]->depth == depth())
        return error(position, "redefinition of registers '" +
                                   module.getText(name) + "<...>'");
      rangeStorage.push_back({decl, count, depth(), ranges[id], {}});
      ranges[id] = &rangeStorage.back();
      scope().ranges.push_back(ranges[id]);
      if (depth() > 2)
        ++numNestedRanges;
    } else {
      if (Entity *previous = lookupInRanges(name, depth()))
        return error(
            position,
            "redefinition of '" + module.getText(name) + "', one of '" +
                module.getText(llvm::cast<Register>(previous)->decl->name) +
                "<...>'");
      Register *reg = makeRegister(decl, name, position);
      decl->registers = module.copy<Register *>(reg);
      if (declare(name, reg, position))
        return true;
    }
    addStatement(decl);
  } while (cursor.consume(','));
  return expect(';', "',' or ';' after a register");
}

bool Parser::parseVariableAttribute(VariableDecl &decl) {
  if (expect('(', "'(' after .attribute"))
    return true;
  do {
    if (expect('.', "an attribute"))
      return true;
    const char *position = cursor.position();
    StringRef word = cursor.scanWord();
    if (word == "managed") {
      decl.isManaged = true;
    } else if (word == "unified") {
      uint64_t high = 0, low = 0;
      if (expect('(', "'(' after .unified") ||
          parseUnsigned(high, "the upper half of a UUID") ||
          expect(',', "',' in a UUID") ||
          parseUnsigned(low, "the lower half of a UUID") ||
          expect(')', "')' after a UUID"))
        return true;
      decl.unifiedId = {high, low};
    } else {
      return error(position, "unknown attribute '." + word +
                                 "': expected .managed or .unified");
    }
  } while (cursor.consume(','));
  return expect(')', "')' after an attribute");
}

bool Parser::parseDeclarator(VariableDecl &decl) {
  if (cursor.consume('<')) {
    uint32_t count = 0;
    const char *position = cursor.position();
    if (parseUnsigned(count, "the number of variables"))
      return true;
    if (count > options.maxVariables)
      return error(position, "declaration of " + Twine(count) +
                                 " variables: the limit is " +
                                 Twine(options.maxVariables));
    if (expect('>', "'>' after the number of variables"))
      return true;
    decl.count = count;
  }
  llvm::SmallVector<int64_t, 4> dimensions;
  while (cursor.consume('[')) {
    if (cursor.consume(']')) {
      dimensions.push_back(-1);
      continue;
    }
    Constant extent;
    const char *position = cursor.position();
    if (parseConstant(extent))
      return true;
    if (extent.kind != Constant::Integer ||
        static_cast<int64_t>(extent.bits) < 0)
      return error(position, "an extent must be an integer of at least 0");
    dimensions.push_back(extent.bits);
    if (expect(']', "']' after an extent"))
      return true;
  }
  decl.dimensions = module.copy(llvm::ArrayRef<int64_t>(dimensions));
  return false;
}

bool Parser::parseVariableDecl(const char *start, StringRef firstWord,
                               Linkage linkage) {
  VariableDecl prototype(cursor.offset(start));
  prototype.linkage = linkage;
  prototype.space = lookupModifier(firstWord);
  if (cursor.peek() == '[' && prototype.space == Modifier::Const) {
    uint32_t bank = 0;
    cursor.advance();
    if (parseUnsigned(bank, "the constant bank") ||
        expect(']', "']' after the constant bank"))
      return true;
    prototype.bank = bank;
  }
  while (true) {
    cursor.skipSpace();
    if (cursor.peek() != '.')
      break;
    const char *position = cursor.position();
    cursor.advance();
    StringRef word = cursor.scanWord();
    if (word == "align") {
      if (parseUnsigned(prototype.alignment, "an alignment"))
        return true;
      continue;
    }
    if (word == "attribute") {
      if (parseVariableAttribute(prototype))
        return true;
      continue;
    }
    Modifier modifier = lookupModifier(word);
    ModifierCategory category = getCategory(modifier);
    if (category == ModifierCategory::Type)
      prototype.type = modifier;
    else if (modifier == Modifier::V2)
      prototype.vectorWidth = 2;
    else if (modifier == Modifier::V4)
      prototype.vectorWidth = 4;
    else if (modifier == Modifier::V8)
      prototype.vectorWidth = 8;
    else
      return error(position,
                   "unexpected '." + word + "' in a variable declaration");
  }
  if (prototype.type == Modifier::Unknown)
    return expected("the type of a variable");
  do {
    cursor.skipSpace();
    const char *position = cursor.position();
    auto *decl = module.make<VariableDecl>(prototype);
    decl->loc = cursor.offset(position);
    if (parseName(decl->name, "the name of a variable") ||
        parseDeclarator(*decl))
      return true;
    if (decl->count) {
      llvm::SmallVector<Variable *, 8> list;
      for (uint32_t i = 0; i < *decl->count; ++i) {
        llvm::SmallString<32> spelling(module.getText(decl->name));
        spelling += std::to_string(i);
        Name name = module.names.intern(spelling);
        list.push_back(makeVariable(decl, name, position));
        list.back()->index = i;
        if (declare(name, list.back(), position))
          return true;
      }
      decl->variables = module.copy(llvm::ArrayRef<Variable *>(list));
    } else {
      // A variable of the module may be declared more than once; the last
      // declaration that is not extern counts.
      Variable *variable = nullptr;
      if (depth() == 0)
        variable = llvm::dyn_cast_or_null<Variable>(lookupHere(decl->name));
      if (!variable) {
        variable = makeVariable(decl, decl->name, position);
        if (declare(decl->name, variable, position))
          return true;
      } else if (variable->decl->linkage == Linkage::Extern) {
        variable->decl = decl;
      }
      decl->variables = module.copy<Variable *>(variable);
    }
    if (cursor.consume('=')) {
      decl->initializer = module.make<Operand>();
      sawPending = false;
      if (parseInitializer(*decl->initializer, decl->type, 0))
        return true;
      if (sawPending)
        notePending(*decl->initializer);
    }
    addStatement(decl);
  } while (cursor.consume(','));
  return expect(';', "',' or ';' after a variable");
}

bool Parser::parseInitializer(Operand &operand, Modifier type, unsigned level) {
  if (level > options.maxDepth)
    return error("initialiser is nested deeper than " +
                 Twine(options.maxDepth));
  cursor.skipSpace();
  isCall = isBranch = false;
  operandDepth = 0;
  bool isOpaque = type == Modifier::Texref || type == Modifier::Samplerref ||
                  type == Modifier::Surfref;
  if (isOpaque && cursor.atIdentifier())
    return parseInitializerField(operand);
  if (cursor.peek() != '{')
    return parseOperand(operand);
  operand.kind = OperandKind::Vector;
  operand.loc = cursor.offset();
  cursor.advance();
  std::vector<Operand> elements;
  if (!cursor.consume('}')) {
    do {
      elements.emplace_back();
      if (parseInitializer(elements.back(), type, level + 1))
        return true;
    } while (cursor.consume(','));
    if (expect('}', "',' or '}' after an initial value"))
      return true;
  }
  llvm::MutableArrayRef<Operand> copy =
      module.copy(llvm::ArrayRef<Operand>(elements));
  operand.elementData = copy.data();
  operand.elementCount = copy.size();
  return false;
}

bool Parser::parseInitializerField(Operand &operand) {
  Operand sides[2];
  operand.loc = sides[0].loc = cursor.offset();
  sides[0].kind = OperandKind::Word;
  if (parseName(sides[0].name, "the name of a field") ||
      expect('=', "'=' after the name of a field"))
    return true;
  cursor.skipSpace();
  sides[1].loc = cursor.offset();
  if (cursor.atIdentifier()) {
    sides[1].kind = OperandKind::Word;
    if (parseName(sides[1].name, "the value of a field"))
      return true;
  } else if (parseConstantOperand(sides[1])) {
    return true;
  }
  operand.kind = OperandKind::Field;
  operand.elementData = module.copy(llvm::ArrayRef<Operand>(sides)).data();
  operand.elementCount = 2;
  return false;
}

//===----------------------------------------------------------------------===//
// Debug information and pragmas
//===----------------------------------------------------------------------===//

bool Parser::parseLocation(const char *start) {
  auto *location = module.make<Location>(cursor.offset(start));
  if (parseUnsigned(location->file, "the file of .loc") ||
      parseUnsigned(location->line, "the line of .loc") ||
      parseUnsigned(location->column, "the column of .loc"))
    return true;
  while (cursor.consume(',')) {
    cursor.skipSpace();
    const char *position = cursor.position();
    StringRef word = cursor.atIdentifier() ? cursor.scanIdentifier() : "";
    if (word == "function_name") {
      auto *operand = module.make<Operand>();
      cursor.skipSpace();
      operand->kind = OperandKind::Symbol;
      operand->loc = cursor.offset();
      operand->isPending = true;
      if (parseName(operand->name, "a label") || parseOffset(*operand))
        return true;
      // The label stands in a section, most often after the code.
      scopes[0].pending.push_back({operand, operand->name});
      location->functionName = operand;
    } else if (word == "inlined_at") {
      Location::InlinedAt at;
      if (parseUnsigned(at.file, "the file of inlined_at") ||
          parseUnsigned(at.line, "the line of inlined_at") ||
          parseUnsigned(at.column, "the column of inlined_at"))
        return true;
      location->inlinedAt = at;
    } else {
      return error(position, "expected function_name or inlined_at in .loc");
    }
  }
  addStatement(location);
  return false;
}

bool Parser::parsePragmaStrings(llvm::ArrayRef<StringRef> &strings) {
  llvm::SmallVector<StringRef, 2> list;
  do {
    cursor.skipSpace();
    if (cursor.peek() != '"')
      return expected("a string");
    const char *position = cursor.position();
    StringRef string;
    if (!cursor.scanString(string))
      return error(position, "string is not closed");
    list.push_back(module.copy(string));
  } while (cursor.consume(','));
  if (expect(';', "',' or ';' after a pragma"))
    return true;
  strings = module.copy(llvm::ArrayRef<StringRef>(list));
  return false;
}

bool Parser::parsePragma(const char *start) {
  auto *pragma = module.make<Pragma>(cursor.offset(start));
  if (parsePragmaStrings(pragma->strings))
    return true;
  addStatement(pragma);
  return false;
}

bool Parser::parseFile(const char *start) {
  auto *file = module.make<File>(cursor.offset(start));
  if (parseUnsigned(file->index, "the index of a file"))
    return true;
  cursor.skipSpace();
  if (cursor.peek() != '"')
    return expected("the name of a file");
  const char *position = cursor.position();
  StringRef name;
  if (!cursor.scanString(name))
    return error(position, "string is not closed");
  file->fileName = module.copy(name);
  if (cursor.consume(',')) {
    uint64_t time = 0, size = 0;
    if (parseUnsigned(time, "the time stamp of a file") ||
        expect(',', "',' after the time stamp of a file") ||
        parseUnsigned(size, "the size of a file"))
      return true;
    file->timeAndSize = {time, size};
  }
  addStatement(file);
  return false;
}

bool Parser::parseSection(const char *start) {
  cursor.skipSpace();
  const char *nameStart = cursor.position();
  if (cursor.peek() == '.')
    cursor.advance();
  if (cursor.scanWord().empty())
    return expected("the name of a section");
  auto *section = module.make<Section>(cursor.offset(start));
  section->name =
      module.names.intern(StringRef(nameStart, cursor.position() - nameStart));
  if (expect('{', "'{' after the name of a section"))
    return true;
  std::vector<SectionItem> items;
  std::vector<Operand> values;
  sawPending = false;
  while (!cursor.consume('}')) {
    if (cursor.atEnd())
      return expected("'}' after a section");
    SectionItem item;
    const char *position = cursor.position();
    if (cursor.consume('.')) {
      StringRef word = cursor.scanWord();
      item.type = lookupModifier(word);
      if (getCategory(item.type) != ModifierCategory::Type)
        return error(position, "unexpected '." + word + "' in a section");
      values.clear();
      do {
        values.emplace_back();
        if (parseSectionValue(values.back()))
          return true;
      } while (cursor.consume(','));
      cursor.consume(';');
      item.values = module.copy(llvm::ArrayRef<Operand>(values));
    } else {
      Name name;
      if (parseName(name, "a label or data in a section") ||
          expect(':', "':' after a label"))
        return true;
      item.label = module.make<SectionLabel>(name, cursor.offset(position));
      localNames.try_emplace(name, item.label);
    }
    items.push_back(item);
  }
  section->items = module.copy(llvm::ArrayRef<SectionItem>(items));
  if (sawPending)
    for (SectionItem &item : section->items)
      notePending(item.values);
  addStatement(section);
  return false;
}

bool Parser::parseSectionValue(Operand &operand) {
  cursor.skipSpace();
  operand.loc = cursor.offset();
  if (cursor.peek() == '.') {
    const char *position = cursor.position();
    cursor.advance();
    if (cursor.scanWord().empty())
      return expected("the name of a section");
    operand.kind = OperandKind::Section;
    operand.name =
        module.names.intern(StringRef(position, cursor.position() - position));
    return parseOffset(operand);
  }
  if (!cursor.atIdentifier()) {
    isCall = isBranch = false;
    operandDepth = 0;
    return parseConstantOperand(operand);
  }
  auto parseLabel = [&](Operand &label) {
    cursor.skipSpace();
    label.kind = OperandKind::Symbol;
    label.loc = cursor.offset();
    label.isPending = sawPending = true;
    return parseName(label.name, "a label");
  };
  if (parseLabel(operand))
    return true;
  cursor.skipSpace();
  if (cursor.peek() != '-' || isChar(cursor.peekSecond(), kDigitChar))
    return parseOffset(operand);
  cursor.advance();
  Operand sides[2];
  sides[0] = operand;
  if (parseLabel(sides[1]))
    return true;
  operand = Operand();
  operand.kind = OperandKind::Difference;
  operand.loc = sides[0].loc;
  operand.elementData = module.copy(llvm::ArrayRef<Operand>(sides)).data();
  operand.elementCount = 2;
  return false;
}
