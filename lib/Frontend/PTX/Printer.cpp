// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The printer. Every name goes through one function, which is where renaming
// happens; everything else comes from enumerations and numbers.

#include "d2k/Frontend/PTX/Printer.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Format.h"

using namespace d2k;
using namespace d2k::ptx;

using llvm::raw_ostream;
using llvm::StringRef;

namespace {

class Printer {
public:
  Printer(const Module &module, raw_ostream &os, bool rename)
      : module(module), os(os), rename(rename),
        renameRegisters(rename &&
                        !llvm::is_contained(module.targets, "debug")) {
    if (rename)
      numberEntities();
  }

  void printModule();
  void print(const Instruction &instruction);
  void print(const Mnemonic &mnemonic);

private:
  void numberEntities();
  void numberBlock(const Block &block);
  void number(const Parameter &parameter);
  void printStatement(const Statement &statement);
  void printBlock(const Block &block);
  void printFunction(const Function &function);
  void printParameters(llvm::ArrayRef<Parameter> parameters);
  void printAttribute(const FunctionAttribute &attribute);
  void printRegisterDecl(const RegisterDecl &decl);
  void printVariable(const VariableDecl &decl);
  void printVariableName(const VariableDecl &decl);
  void printCallPrototype(const CallPrototype &prototype);
  void printLocation(const Location &location);
  void printSection(const Section &section);
  void printStrings(llvm::ArrayRef<StringRef> strings);
  void print(const Operand &operand);
  void printList(llvm::ArrayRef<Operand> operands, StringRef separator);
  void printOffset(const Operand &operand);
  void printSelector(Selector selector);
  void printInteger(uint64_t bits, bool isUnsigned);
  void printName(const Entity &entity);
  void printLinkage(Linkage linkage);
  raw_ostream &indent() { return os.indent(level * 2); }

  const Module &module;
  raw_ostream &os;
  bool rename;
  /// Debug information names registers by their letters, as numbers in
  /// .debug_loc: there they must stay.
  bool renameRegisters;
  unsigned level = 0;
  /// When renaming: the new number of a declaration or entity. Numbers go
  /// backwards, so that no name meets its old self by chance.
  llvm::DenseMap<const void *, unsigned> numbers;
  /// Position of a register among the used ones of its range.
  llvm::DenseMap<const Register *, unsigned> positions;
};

} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static bool isRenamed(const Variable &variable) {
  return !variable.isGlobalScope || variable.decl->linkage == Linkage::Internal;
}

void Printer::number(const Parameter &parameter) {
  numbers.try_emplace(parameter.decl, numbers.size());
  numbers.try_emplace(parameter.entity, numbers.size());
}

void Printer::numberBlock(const Block &block) {
  for (const Statement *statement : block.statements) {
    if (auto *inner = llvm::dyn_cast<Block>(statement)) {
      numberBlock(*inner);
    } else if (auto *decl = llvm::dyn_cast<RegisterDecl>(statement)) {
      numbers.try_emplace(decl, numbers.size());
      for (auto [i, reg] : llvm::enumerate(decl->registers))
        positions[reg] = decl->registers.size() - 1 - i;
    } else if (auto *decl = llvm::dyn_cast<VariableDecl>(statement)) {
      numbers.try_emplace(decl, numbers.size());
    } else if (auto *label = llvm::dyn_cast<LabelStatement>(statement)) {
      numbers.try_emplace(label->label, numbers.size());
    } else if (auto *targets = llvm::dyn_cast<BranchTargets>(statement)) {
      numbers.try_emplace(targets->table, numbers.size());
    } else if (auto *prototype = llvm::dyn_cast<CallPrototype>(statement)) {
      numbers.try_emplace(prototype->prototype, numbers.size());
      for (const Parameter &parameter : prototype->returns)
        number(parameter);
      for (const Parameter &parameter : prototype->parameters)
        number(parameter);
    }
  }
}

void Printer::numberEntities() {
  for (const Statement *statement : module.statements) {
    if (auto *decl = llvm::dyn_cast<VariableDecl>(statement)) {
      // All declarations of one variable share a number.
      for (const Variable *variable : decl->variables)
        numbers.try_emplace(variable, numbers.size());
      continue;
    }
    if (auto *section = llvm::dyn_cast<Section>(statement)) {
      for (const SectionItem &item : section->items)
        if (item.label)
          numbers.try_emplace(item.label, numbers.size());
      continue;
    }
    auto *function = llvm::dyn_cast<Function>(statement);
    if (!function)
      continue;
    for (const Parameter &parameter : function->returns)
      number(parameter);
    for (const Parameter &parameter : function->parameters)
      number(parameter);
    if (function->body)
      numberBlock(*function->body);
  }
}

void Printer::printName(const Entity &entity) {
  StringRef name = module.getText(&entity);
  if (!rename || name == "_") {
    os << name;
    return;
  }
  unsigned last = numbers.size();
  switch (entity.kind) {
  case EntityKind::Register: {
    if (!renameRegisters) {
      os << name;
      return;
    }
    auto &reg = llvm::cast<Register>(entity);
    os << "%n" << last - numbers.lookup(reg.decl);
    if (reg.decl->count)
      os << '_' << positions.lookup(&reg);
    return;
  }
  case EntityKind::Variable: {
    auto &variable = llvm::cast<Variable>(entity);
    if (!isRenamed(variable)) {
      os << name;
      return;
    }
    if (variable.decl->count) {
      os << "v$" << last - numbers.lookup(variable.decl) << '_'
         << variable.index;
      return;
    }
    const void *key = numbers.contains(&variable)
                          ? static_cast<const void *>(&variable)
                          : variable.decl;
    os << "v$" << last - numbers.lookup(key);
    return;
  }
  case EntityKind::Label:
  case EntityKind::TargetTable:
  case EntityKind::Prototype:
  case EntityKind::SectionLabel:
    os << "$n" << last - numbers.lookup(&entity);
    return;
  case EntityKind::Function:
  case EntityKind::Unresolved:
    os << name;
    return;
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void Printer::print(const Mnemonic &mnemonic) {
  os << (mnemonic.opcode == Opcode::Unknown
             ? module.getText(mnemonic.unknownName)
             : getSpelling(mnemonic.opcode));
  for (const ModifierUse &use : mnemonic.modifiers) {
    os << '.';
    switch (use.kind) {
    case Modifier::Unknown:
      os << module.getText(use.unknownName);
      break;
    case Modifier::Shape:
      os << 'm' << use.shape.m << 'n' << use.shape.n;
      if (use.shape.k)
        os << 'k' << use.shape.k;
      break;
    default:
      os << getSpelling(use.kind);
      break;
    }
  }
}

void Printer::print(const Instruction &instruction) {
  if (instruction.guard) {
    os << (instruction.isGuardNegated ? "@!" : "@");
    printName(*instruction.guard);
    os << ' ';
  }
  print(*instruction.mnemonic);
  if (!instruction.operands.empty()) {
    os << ' ';
    printList(instruction.operands, ", ");
  }
  os << ';';
}

void Printer::printList(llvm::ArrayRef<Operand> operands, StringRef separator) {
  bool isFirst = true;
  for (const Operand &operand : operands) {
    if (!isFirst)
      os << separator;
    isFirst = false;
    print(operand);
  }
}

void Printer::printInteger(uint64_t bits, bool isUnsigned) {
  if (!isUnsigned) {
    os << static_cast<int64_t>(bits);
    return;
  }
  os << bits;
  // Larger values are unsigned without saying so.
  if (bits <= uint64_t(INT64_MAX))
    os << 'U';
}

void Printer::printOffset(const Operand &operand) {
  if (operand.offset || operand.hasOffset)
    os << '+' << operand.offset;
}

void Printer::printSelector(Selector selector) {
  switch (selector.kind) {
  case Selector::None:
    return;
  case Selector::Component:
    os << '.' << "xyzw"[selector.lane(0) & 3];
    return;
  case Selector::Bytes:
  case Selector::Halves:
    os << (selector.kind == Selector::Bytes ? ".b" : ".h");
    for (unsigned i = 0; i < selector.count; ++i)
      os << selector.lane(i);
    return;
  }
}

void Printer::print(const Operand &operand) {
  switch (operand.kind) {
  case OperandKind::Register:
    if (operand.isNegated)
      os << '!';
    if (operand.isMinus)
      os << '-';
    printName(*operand.entity);
    printSelector(operand.selector);
    return;
  case OperandKind::Integer:
    if (operand.isWarpSize)
      os << "WARP_SZ";
    else
      printInteger(operand.bits, operand.isUnsigned);
    return;
  case OperandKind::Float32:
    os << "0f" << llvm::format_hex_no_prefix(operand.bits, 8, /*Upper=*/true);
    return;
  case OperandKind::Float64:
    os << "0d" << llvm::format_hex_no_prefix(operand.bits, 16, /*Upper=*/true);
    return;
  case OperandKind::Special: {
    llvm::SmallString<32> text;
    appendSpelling(operand.special, text);
    os << text;
    printSelector(operand.selector);
    return;
  }
  case OperandKind::Symbol:
    if (operand.maskByte)
      os << "0xFF" << std::string(2 * (operand.maskByte - 1), '0') << '(';
    if (operand.isGeneric)
      os << "generic(";
    printName(*operand.entity);
    if (operand.isGeneric)
      os << ')';
    printOffset(operand);
    if (operand.maskByte)
      os << ')';
    return;
  case OperandKind::Address:
    os << '[';
    print(operand.base());
    printOffset(operand);
    for (const Operand &element : operand.elements().drop_front()) {
      os << ", ";
      print(element);
    }
    os << ']';
    return;
  case OperandKind::Vector:
    os << '{';
    printList(operand.elements(), ", ");
    os << '}';
    return;
  case OperandKind::List:
    os << '(';
    printList(operand.elements(), ", ");
    os << ')';
    return;
  case OperandKind::Pair:
    printList(operand.elements(), "|");
    return;
  case OperandKind::Sink:
    os << '_';
    return;
  case OperandKind::Difference:
    printList(operand.elements(), "-");
    return;
  case OperandKind::Field:
    printList(operand.elements(), " = ");
    return;
  case OperandKind::Word:
    os << module.getText(operand.name);
    return;
  case OperandKind::Section:
    os << module.getText(operand.name);
    printOffset(operand);
    return;
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Printer::printLinkage(Linkage linkage) {
  switch (linkage) {
  case Linkage::Internal:
    return;
  case Linkage::Visible:
    os << ".visible ";
    return;
  case Linkage::Extern:
    os << ".extern ";
    return;
  case Linkage::Weak:
    os << ".weak ";
    return;
  case Linkage::Common:
    os << ".common ";
    return;
  }
}

void Printer::printRegisterDecl(const RegisterDecl &decl) {
  os << ".reg ";
  if (decl.vectorWidth != 1)
    os << ".v" << unsigned(decl.vectorWidth) << ' ';
  os << '.' << getSpelling(decl.type) << ' ';
  if (!decl.count) {
    printName(*decl.registers.front());
    return;
  }
  if (!renameRegisters) {
    os << module.getText(decl.name) << '<' << *decl.count << '>';
    return;
  }
  // Only those in use, and at least one.
  os << "%n" << numbers.size() - numbers.lookup(&decl) << "_<"
     << std::max<size_t>(1, decl.registers.size()) << '>';
}

void Printer::printVariableName(const VariableDecl &decl) {
  if (decl.count) {
    if (!rename || !isRenamed(*decl.variables.front()))
      os << module.getText(decl.name);
    else
      os << "v$" << numbers.size() - numbers.lookup(&decl) << '_';
    os << '<' << *decl.count << '>';
  } else {
    printName(*decl.variables.front());
  }
  for (int64_t extent : decl.dimensions) {
    os << '[';
    if (extent >= 0)
      os << extent;
    os << ']';
  }
}

void Printer::printVariable(const VariableDecl &decl) {
  printLinkage(decl.linkage);
  os << '.' << getSpelling(decl.space);
  if (decl.bank)
    os << '[' << *decl.bank << ']';
  os << ' ';
  if (decl.isManaged || decl.unifiedId) {
    os << ".attribute(";
    if (decl.isManaged)
      os << ".managed" << (decl.unifiedId ? ", " : "");
    if (decl.unifiedId)
      os << ".unified(" << decl.unifiedId->first << ", "
         << decl.unifiedId->second << ')';
    os << ") ";
  }
  if (decl.alignment)
    os << ".align " << decl.alignment << ' ';
  if (decl.vectorWidth != 1)
    os << ".v" << unsigned(decl.vectorWidth) << ' ';
  os << '.' << getSpelling(decl.type) << ' ';
  if (decl.isPointer) {
    os << ".ptr ";
    if (decl.pointerSpace != Modifier::Unknown)
      os << '.' << getSpelling(decl.pointerSpace) << ' ';
    if (decl.pointerAlignment)
      os << ".align " << decl.pointerAlignment << ' ';
  }
  printVariableName(decl);
  if (decl.initializer) {
    os << " = ";
    print(*decl.initializer);
  }
}

void Printer::printParameters(llvm::ArrayRef<Parameter> parameters) {
  os << '(';
  bool isFirst = true;
  for (const Parameter &parameter : parameters) {
    if (!isFirst)
      os << ", ";
    isFirst = false;
    if (auto *reg = llvm::dyn_cast<RegisterDecl>(parameter.decl))
      printRegisterDecl(*reg);
    else
      printVariable(*llvm::cast<VariableDecl>(parameter.decl));
  }
  os << ')';
}

void Printer::printStrings(llvm::ArrayRef<StringRef> strings) {
  bool isFirst = true;
  for (StringRef string : strings) {
    os << (isFirst ? "\"" : ", \"") << string << '"';
    isFirst = false;
  }
}

void Printer::printAttribute(const FunctionAttribute &attribute) {
  using Kind = FunctionAttribute::Kind;
  auto print = [&](StringRef spelling) {
    os << '.' << spelling;
    for (size_t i = 0; i < attribute.values.size(); ++i)
      os << (i ? ", " : " ") << attribute.values[i];
  };
  switch (attribute.kind) {
  case Kind::MaxNReg:
    return print("maxnreg");
  case Kind::MaxNTid:
    return print("maxntid");
  case Kind::ReqNTid:
    return print("reqntid");
  case Kind::MinNCtaPerSm:
    return print("minnctapersm");
  case Kind::MaxNCtaPerSm:
    return print("maxnctapersm");
  case Kind::NoReturn:
    return print("noreturn");
  case Kind::MaxClusterRank:
    return print("maxclusterrank");
  case Kind::ReqNCtaPerCluster:
    return print("reqnctapercluster");
  case Kind::ExplicitCluster:
    return print("explicitcluster");
  case Kind::BlocksAreClusters:
    return print("blocksareclusters");
  case Kind::AbiPreserve:
    return print("abi_preserve");
  case Kind::AbiPreserveControl:
    return print("abi_preserve_control");
  case Kind::Unknown:
    return print(module.getText(attribute.name));
  case Kind::Pragma:
    os << ".pragma ";
    printStrings(attribute.strings);
    os << ';';
    return;
  case Kind::Unified:
    os << ".attribute(.unified(" << attribute.values[0] << ", "
       << attribute.values[1] << "))";
    return;
  }
  llvm_unreachable("covered switch");
}

void Printer::printFunction(const Function &function) {
  printLinkage(function.linkage);
  os << (function.isEntry ? ".entry " : ".func ");
  // .attribute stands before the name, all others behind the parameters.
  for (const FunctionAttribute &attribute : function.attributes)
    if (attribute.kind == FunctionAttribute::Unified) {
      printAttribute(attribute);
      os << ' ';
    }
  if (!function.returns.empty()) {
    printParameters(function.returns);
    os << ' ';
  }
  printName(*function.symbol);
  if (function.hasParameterList)
    printParameters(function.parameters);
  for (const FunctionAttribute &attribute : function.attributes)
    if (attribute.kind != FunctionAttribute::Unified) {
      os << '\n';
      printAttribute(attribute);
    }
  if (!function.body) {
    os << ";\n";
    return;
  }
  os << '\n';
  printBlock(*function.body);
}

void Printer::printCallPrototype(const CallPrototype &prototype) {
  printName(*prototype.prototype);
  os << ": .callprototype ";
  if (!prototype.returns.empty()) {
    printParameters(prototype.returns);
    os << ' ';
  }
  os << "_ ";
  printParameters(prototype.parameters);
  for (const FunctionAttribute &attribute : prototype.attributes) {
    os << ' ';
    printAttribute(attribute);
  }
  os << ";\n";
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Printer::printBlock(const Block &block) {
  indent() << "{\n";
  ++level;
  for (const Statement *statement : block.statements)
    printStatement(*statement);
  --level;
  indent() << "}\n";
}

void Printer::printLocation(const Location &location) {
  os << ".loc " << location.file << ' ' << location.line << ' '
     << location.column;
  if (location.functionName) {
    os << ", function_name ";
    print(*location.functionName);
  }
  if (location.inlinedAt)
    os << ", inlined_at " << location.inlinedAt->file << ' '
       << location.inlinedAt->line << ' ' << location.inlinedAt->column;
  os << '\n';
}

void Printer::printSection(const Section &section) {
  os << ".section " << module.getText(section.name) << "\n{\n";
  for (const SectionItem &item : section.items) {
    if (item.label) {
      printName(*item.label);
      os << ":\n";
      continue;
    }
    os << "  ." << getSpelling(item.type) << ' ';
    printList(item.values, ", ");
    os << '\n';
  }
  os << "}\n";
}

void Printer::printStatement(const Statement &statement) {
  switch (statement.kind) {
  case StatementKind::Block:
    return printBlock(llvm::cast<Block>(statement));
  case StatementKind::Function:
    return printFunction(llvm::cast<Function>(statement));
  case StatementKind::Section:
    return printSection(llvm::cast<Section>(statement));
  case StatementKind::LabelStatement:
    printName(*llvm::cast<LabelStatement>(statement).label);
    os << ":\n";
    return;
  case StatementKind::CallPrototype:
    return printCallPrototype(llvm::cast<CallPrototype>(statement));
  case StatementKind::BranchTargets: {
    auto &targets = llvm::cast<BranchTargets>(statement);
    printName(*targets.table);
    os << (targets.isCallTargets ? ": .calltargets " : ": .branchtargets ");
    printList(targets.targets, ", ");
    os << ";\n";
    return;
  }
  default:
    break;
  }
  indent();
  switch (statement.kind) {
  case StatementKind::Instruction:
    print(llvm::cast<Instruction>(statement));
    break;
  case StatementKind::RegisterDecl:
    printRegisterDecl(llvm::cast<RegisterDecl>(statement));
    os << ';';
    break;
  case StatementKind::VariableDecl:
    printVariable(llvm::cast<VariableDecl>(statement));
    os << ';';
    break;
  case StatementKind::Location:
    return printLocation(llvm::cast<Location>(statement));
  case StatementKind::Pragma:
    os << ".pragma ";
    printStrings(llvm::cast<Pragma>(statement).strings);
    os << ';';
    break;
  case StatementKind::File: {
    auto &file = llvm::cast<File>(statement);
    os << ".file " << file.index << " \"" << file.fileName << '"';
    if (file.timeAndSize)
      os << ", " << file.timeAndSize->first << ", " << file.timeAndSize->second;
    break;
  }
  case StatementKind::Alias: {
    auto &alias = llvm::cast<Alias>(statement);
    os << ".alias ";
    printName(*alias.alias);
    os << ", ";
    printName(*alias.aliasee);
    os << ';';
    break;
  }
  case StatementKind::Unknown:
    llvm::interleave(
        llvm::cast<UnknownDirective>(statement).words, os,
        [&](StringRef word) { os << word; }, " ");
    break;
  default:
    llvm_unreachable("printed above");
  }
  os << '\n';
}

void Printer::printModule() {
  os << ".version " << module.versionMajor << '.' << module.versionMinor
     << '\n';
  if (!module.targets.empty()) {
    os << ".target ";
    llvm::interleave(
        module.targets, os, [&](StringRef word) { os << word; }, ", ");
    os << '\n';
  }
  if (module.addressSize)
    os << ".address_size " << *module.addressSize << '\n';
  for (const Statement *statement : module.statements)
    printStatement(*statement);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

void d2k::ptx::print(const Module &module, raw_ostream &os,
                     const PrintOptions &options) {
  Printer(module, os, options.rename).printModule();
}

void d2k::ptx::print(const Module &module, const Instruction &instruction,
                     raw_ostream &os) {
  Printer(module, os, /*rename=*/false).print(instruction);
}

void d2k::ptx::print(const Module &module, const Mnemonic &mnemonic,
                     raw_ostream &os) {
  Printer(module, os, /*rename=*/false).print(mnemonic);
}
