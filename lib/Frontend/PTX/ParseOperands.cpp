// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser: mnemonics and operands.

#include "ParserImpl.h"

#include "OpcodeTable.h"

#include "llvm/ADT/SmallString.h"

using namespace d2k;
using namespace d2k::ptx;

using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Mnemonics
//===----------------------------------------------------------------------===//

const Mnemonic *Parser::parseMnemonic() {
  const char *start = cursor.position();
  StringRef spelling = cursor.scanDotted();
  llvm::SmallString<64> joined;
  // `ld .global` is one mnemonic too.
  while (true) {
    const char *end = cursor.position();
    cursor.skipSpace();
    if (cursor.peek() != '.' || !isChar(cursor.peekSecond(), kIdentChar)) {
      cursor.setPosition(end);
      break;
    }
    cursor.advance();
    if (joined.empty())
      joined = spelling;
    joined += '.';
    joined += cursor.scanDotted();
    spelling = joined;
  }
  Name name = module.names.intern(spelling);
  uint32_t id = static_cast<uint32_t>(name);
  if (id >= mnemonics.size())
    growBindings();
  if (!mnemonics[id])
    mnemonics[id] = makeMnemonic(module.getText(name), name, start);
  return mnemonics[id];
}

/// Reads `m64n128k16` or `m8n8`.
static bool parseShape(StringRef text, MatrixShape &shape) {
  if (!text.consume_front("m") || text.consumeInteger(10, shape.m) ||
      !text.consume_front("n") || text.consumeInteger(10, shape.n))
    return false;
  if (text.empty())
    return true;
  // k of 0 means "no k": a spelled 0 is no shape.
  return text.consume_front("k") && !text.consumeInteger(10, shape.k) &&
         text.empty() && shape.k != 0;
}

const Mnemonic *Parser::makeMnemonic(StringRef spelling, Name name,
                                     const char *position) {
  llvm::SmallVector<StringRef, 12> parts;
  spelling.split(parts, '.');
  auto *mnemonic = module.make<Mnemonic>();
  mnemonic->ordinal = module.numMnemonics++;

  // The longest prefix that has a row; no row has more than five parts.
  size_t used = 1;
  for (size_t n = std::min<size_t>(parts.size(), 5); n > 0; --n) {
    StringRef prefix(spelling.begin(), parts[n - 1].end() - spelling.begin());
    mnemonic->opcode = lookupOpcode(prefix);
    if (mnemonic->opcode != Opcode::Unknown) {
      used = n;
      break;
    }
  }
  if (mnemonic->opcode == Opcode::Unknown) {
    mnemonic->unknownName = module.names.intern(parts[0]);
    remark(position, "unknown opcode '" + parts[0] +
                         "' kept as opaque; add a row to PTXOpcodes.def");
  }
  llvm::SmallVector<ModifierUse, 12> modifiers;
  for (StringRef part : llvm::ArrayRef(parts).drop_front(used)) {
    if (mnemonic->opcode != Opcode::Unknown) {
      llvm::SmallString<64> longer(getSpelling(mnemonic->opcode));
      longer += '.';
      longer += part;
      Opcode opcode = lookupOpcode(longer);
      if (opcode != Opcode::Unknown) {
        mnemonic->opcode = opcode;
        continue;
      }
    }
    ModifierUse use;
    use.kind = lookupModifier(part);
    if (use.kind == Modifier::Unknown) {
      if (parseShape(part, use.shape)) {
        use.kind = Modifier::Shape;
      } else {
        use.shape = {};
        use.unknownName = module.names.intern(part);
        remark(position, "unknown modifier '." + part + "' of '" + spelling +
                             "' kept as opaque; add a row to "
                             "PTXModifiers.def");
      }
    }
    modifiers.push_back(use);
  }
  mnemonic->modifiers = module.copy(llvm::ArrayRef<ModifierUse>(modifiers));
  return mnemonic;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool Parser::parseOperand(Operand &operand) {
  cursor.skipSpace();
  operand.loc = cursor.offset();
  char c = cursor.peek();
  if (isChar(c, kIdentStartChar)) {
    if (parseIdentifierOperand(operand))
      return true;
    return (operand.is(OperandKind::Register) ||
            operand.is(OperandKind::Sink)) &&
           parsePair(operand);
  }
  switch (c) {
  case '[':
    return parseAddress(operand);
  case '{':
    cursor.advance();
    return parseElements(operand, OperandKind::Vector, '}') ||
           parsePair(operand);
  case '(':
    if (isCall) {
      cursor.advance();
      return parseElements(operand, OperandKind::List, ')');
    }
    return parseConstantOperand(operand);
  case '!':
  case '-': {
    const char *position = cursor.position();
    cursor.advance();
    cursor.skipSpace();
    const char *name = cursor.position();
    if (cursor.atIdentifier() && cursor.scanIdentifier() != "WARP_SZ") {
      cursor.setPosition(name);
      if (parseIdentifierOperand(operand))
        return true;
      if (operand.kind == OperandKind::Register) {
        operand.isNegated = c == '!';
        operand.isMinus = c == '-';
        return false;
      }
      return error(position,
                   "'" + Twine(c) + "' before an operand that is no register");
    }
    cursor.setPosition(position);
    return parseConstantOperand(operand);
  }
  default:
    if (isChar(c, kDigitChar) || c == '+' || c == '~' || c == '.')
      return parseConstantOperand(operand);
    return expected("an operand");
  }
}

bool Parser::parseIdentifierOperand(Operand &operand) {
  const char *start = cursor.position();
  StringRef spelling = cursor.scanIdentifier();
  if (spelling.size() == 1 && spelling[0] == '_') {
    operand.kind = OperandKind::Sink;
  } else {
    Name name = module.names.intern(spelling);
    Entity *entity = lookup(name);
    if (entity && entity->kind == EntityKind::Register) {
      operand.kind = OperandKind::Register;
      operand.entity = entity;
      if (cursor.peek() == '.' && parseSelector(operand))
        return true;
    } else {
      std::optional<SpecialRegisterUse> special;
      if (!entity && spelling[0] == '%')
        special = lookupSpecialRegister(spelling);
      if (special) {
        operand.kind = OperandKind::Special;
        operand.special = *special;
        return cursor.peek() == '.' && parseSelector(operand);
      }
      if (!entity && spelling == "WARP_SZ") {
        cursor.setPosition(start);
        return parseConstantOperand(operand);
      }
      operand.kind = OperandKind::Symbol;
      if (!entity && spelling == "generic" && cursor.consume('(')) {
        operand.isGeneric = true;
        cursor.skipSpace();
        if (parseName(name, "a variable"))
          return true;
        entity = lookup(name);
        if (parseOffset(operand) || expect(')', "')' after a variable"))
          return true;
      }
      if (!entity && spelling[0] == '%')
        return error(start, "use of undeclared register '" + spelling + "'");
      if (!entity || entity->kind == EntityKind::Label || isBranch) {
        operand.name = name;
        operand.isPending = sawPending = true;
      } else {
        operand.entity = entity;
      }
      if (cursor.peek() == '[') {
        // An element of an array: its index times its size is the offset.
        auto *variable = llvm::dyn_cast_or_null<Variable>(entity);
        Constant index;
        cursor.advance();
        if (!variable)
          return error(start,
                       "subscript of '" + spelling + "', which is no variable");
        if (parseConstant(index) || expect(']', "']' after a subscript"))
          return true;
        operand.offset = index.bits * getBitWidth(variable->decl->type) / 8 *
                         variable->decl->vectorWidth;
      }
      return parseOffset(operand);
    }
  }
  return false;
}

bool Parser::parsePair(Operand &operand) {
  cursor.skipSpace();
  if (cursor.peek() != '|')
    return false;
  cursor.advance();
  Operand sides[2];
  sides[0] = operand;
  cursor.skipSpace();
  sides[1].loc = cursor.offset();
  if (!cursor.atIdentifier())
    return expected("a register after '|'");
  if (parseIdentifierOperand(sides[1]))
    return true;
  if (!sides[1].is(OperandKind::Register) && !sides[1].is(OperandKind::Sink))
    return error(pointerTo(sides[1].loc), "expected a register after '|'");
  Offset loc = operand.loc;
  operand = Operand();
  operand.kind = OperandKind::Pair;
  operand.loc = loc;
  operand.elementData = module.copy(llvm::ArrayRef<Operand>(sides)).data();
  operand.elementCount = 2;
  return false;
}

bool Parser::parseSelector(Operand &operand) {
  const char *position = cursor.position();
  cursor.advance();
  StringRef word = cursor.scanWord();
  Selector &selector = operand.selector;
  auto fail = [&] {
    return error(position, "'." + word + "' selects no part of a register");
  };
  if (word.empty())
    return fail();
  if (word.size() == 1) {
    selector.kind = Selector::Component;
    selector.count = 1;
    switch (word[0]) {
    case 'x':
    case 'r':
      selector.lanes = 0;
      return false;
    case 'y':
    case 'g':
      selector.lanes = 1;
      return false;
    case 'z':
    case 'b':
      selector.lanes = 2;
      return false;
    case 'w':
    case 'a':
      selector.lanes = 3;
      return false;
    default:
      selector = {};
      return fail();
    }
  }
  if (operand.kind != OperandKind::Register || word.size() > 5 ||
      (word[0] != 'b' && word[0] != 'h'))
    return fail();
  for (size_t i = 1; i < word.size(); ++i) {
    if (!isChar(word[i], kDigitChar))
      return fail();
    selector.lanes |= (word[i] - '0') << (4 * (i - 1));
  }
  selector.kind = word[0] == 'b' ? Selector::Bytes : Selector::Halves;
  selector.count = word.size() - 1;
  return false;
}

bool Parser::parseOffset(Operand &operand) {
  cursor.skipSpace();
  while (cursor.peek() == '+' || cursor.peek() == '-') {
    bool isMinus = cursor.peek() == '-';
    operand.hasOffset = true;
    cursor.advance();
    Constant constant;
    const char *position = cursor.position();
    // A term, not a sum: `a+b-c` is read in turns.
    if (parseBinary(constant, /*minPrecedence=*/10, 0))
      return true;
    if (constant.kind != Constant::Integer)
      return error(position, "an offset must be an integer");
    uint64_t offset = static_cast<uint64_t>(operand.offset);
    operand.offset = static_cast<int64_t>(isMinus ? offset - constant.bits
                                                  : offset + constant.bits);
    cursor.skipSpace();
  }
  return false;
}

bool Parser::parseAddress(Operand &operand) {
  operand.kind = OperandKind::Address;
  cursor.advance();
  size_t start = operandStack.size();
  if (++operandDepth > options.maxDepth)
    return error("operand is nested too deeply");
  do {
    Operand element;
    if (parseOperand(element))
      return true;
    operandStack.push_back(element);
    if (operandStack.size() == start + 1) {
      Operand &base = operandStack.back();
      if (base.is(OperandKind::Register)) {
        if (parseOffset(operand))
          return true;
      } else if (base.is(OperandKind::Symbol)) {
        // One place for the offset of an address.
        operand.offset = base.offset;
        operand.hasOffset = base.hasOffset;
        base.offset = 0;
        base.hasOffset = false;
      } else if (!base.is(OperandKind::Integer)) {
        return error(pointerTo(base.loc), "expected a register, a variable or "
                                          "an integer as an address");
      }
    }
  } while (cursor.consume(','));
  --operandDepth;
  if (expect(']', "']' after an address"))
    return true;
  llvm::MutableArrayRef<Operand> copy = module.copy(llvm::ArrayRef<Operand>(
      operandStack.data() + start, operandStack.size() - start));
  operandStack.truncate(start);
  operand.elementData = copy.data();
  operand.elementCount = copy.size();
  return false;
}

bool Parser::parseElements(Operand &operand, OperandKind kind, char close) {
  operand.kind = kind;
  operand.elementData = nullptr;
  if (cursor.consume(close))
    return false;
  size_t start = operandStack.size();
  if (++operandDepth > options.maxDepth)
    return error("operand is nested too deeply");
  do {
    Operand element;
    if (parseOperand(element))
      return true;
    operandStack.push_back(element);
  } while (cursor.consume(','));
  --operandDepth;
  if (expect(close, "',' or '" + Twine(close) + "' after an operand"))
    return true;
  llvm::MutableArrayRef<Operand> copy = module.copy(llvm::ArrayRef<Operand>(
      operandStack.data() + start, operandStack.size() - start));
  operandStack.truncate(start);
  operand.elementData = copy.data();
  operand.elementCount = copy.size();
  return false;
}

bool Parser::parseConstantOperand(Operand &operand) {
  Constant constant;
  const char *start = cursor.position();
  if (parseConstant(constant))
    return true;
  cursor.skipSpace();
  // `0xFF00(symbol)` in initialisers: one byte of an address.
  if (cursor.peek() == '(' && constant.kind == Constant::Integer) {
    unsigned byte = 0;
    while (byte < 8 && constant.bits != 0xffull << (8 * byte))
      ++byte;
    if (byte == 8)
      return error(start, "a mask must be 0xFF shifted by whole bytes");
    cursor.advance();
    cursor.skipSpace();
    if (!cursor.atIdentifier())
      return expected("a symbol after a mask");
    if (++operandDepth > options.maxDepth)
      return error("operand is nested too deeply");
    bool failed = parseIdentifierOperand(operand);
    --operandDepth;
    if (failed)
      return true;
    if (!operand.is(OperandKind::Symbol))
      return error(start, "a mask applies to the address of a symbol");
    operand.maskByte = byte + 1;
    return expect(')', "')' after a masked symbol");
  }
  operand.bits = constant.bits;
  switch (constant.kind) {
  case Constant::Integer:
    operand.kind = OperandKind::Integer;
    operand.isUnsigned = constant.isUnsigned;
    operand.isWarpSize = constant.isWarpSize;
    break;
  case Constant::Float32:
    operand.kind = OperandKind::Float32;
    break;
  case Constant::Float64:
    operand.kind = OperandKind::Float64;
    break;
  }
  return false;
}
