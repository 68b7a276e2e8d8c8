// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The printer forgets nothing: for every instruction of the opcode files,
// changing any one field of the tree changes the print, and changing it back
// gives the old print. Together with the comparison that ptxas makes, this
// shows that the tree holds all of the text.

#include "PTXTestUtils.h"

#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::ptx;
using namespace d2k::test;

namespace {

class Mutator {
public:
  Mutator(Module &module, Instruction &instruction)
      : module(module), instruction(instruction), original(print()) {
    // Something of each kind to change to.
    for (Function *function : module.functions) {
      for (Register *reg : function->registers) {
        registers.push_back(reg);
        if (reg->getType() == Modifier::Pred)
          predicate = reg;
      }
      for (Label *label : function->labels)
        symbols.push_back(label);
      for (Variable *variable : function->variables)
        symbols.push_back(variable);
      symbols.push_back(function->symbol);
    }
  }

  void run() {
    mutateMnemonic();
    mutateGuard();
    for (Operand &operand : instruction.operands)
      mutateOperand(operand);
    // Dropping an operand.
    if (!instruction.operands.empty())
      change(instruction.operands, instruction.operands.drop_back(),
             "without the last operand");
  }

  unsigned numMutations = 0;

private:
  std::string print() {
    std::string text;
    llvm::raw_string_ostream os(text);
    ptx::print(module, instruction, os);
    return text;
  }

  /// Sets \p field to \p value, looks at the print, and sets it back.
  template <typename T, typename U>
  void change(T &field, U value, const char *what) {
    T before = field;
    field = static_cast<T>(value);
    EXPECT_NE(print(), original) << what;
    field = before;
    ASSERT_EQ(print(), original) << what;
    ++numMutations;
  }
  /// The same for bit fields, which take no reference.
  template <typename Set>
  void flip(bool before, Set set, const char *what) {
    set(!before);
    EXPECT_NE(print(), original) << what;
    set(before);
    ASSERT_EQ(print(), original) << what;
    ++numMutations;
  }

  void useMnemonic(const Mnemonic &changed, const char *what) {
    const Mnemonic *before = instruction.mnemonic;
    instruction.mnemonic = &changed;
    EXPECT_NE(print(), original) << what;
    instruction.mnemonic = before;
    ++numMutations;
  }

  void mutateMnemonic() {
    Mnemonic changed = *instruction.mnemonic;
    changed.opcode = static_cast<Opcode>(
        1 + static_cast<unsigned>(changed.opcode) % (getNumOpcodes() - 1));
    useMnemonic(changed, "another opcode");
    llvm::ArrayRef<ModifierUse> uses = instruction.mnemonic->modifiers;
    for (size_t i = 0; i < uses.size(); ++i) {
      std::vector<ModifierUse> list(uses.begin(), uses.end());
      changed = *instruction.mnemonic;
      if (uses[i].kind == Modifier::Shape) {
        for (uint16_t MatrixShape::*field :
             {&MatrixShape::m, &MatrixShape::n, &MatrixShape::k}) {
          list[i] = uses[i];
          list[i].shape.*field += 8;
          changed.modifiers = list;
          useMnemonic(changed, "another shape");
        }
      } else {
        unsigned next = static_cast<unsigned>(list[i].kind) + 1;
        list[i].kind =
            static_cast<Modifier>(next == getNumModifiers() ? 2 : next);
        changed.modifiers = list;
        useMnemonic(changed, "another modifier");
      }
      list.assign(uses.begin(), uses.end());
      list.erase(list.begin() + i);
      changed.modifiers = list;
      useMnemonic(changed, "one modifier less");
      // The order is kept, too.
      if (i > 0 && uses[i].kind != uses[i - 1].kind) {
        list.assign(uses.begin(), uses.end());
        std::swap(list[i], list[i - 1]);
        changed.modifiers = list;
        useMnemonic(changed, "another order");
      }
    }
  }

  void mutateGuard() {
    if (!instruction.guard) {
      if (predicate)
        change(instruction.guard, predicate, "a guard");
      return;
    }
    change(instruction.guard, nullptr, "no guard");
    change(instruction.isGuardNegated, !instruction.isGuardNegated,
           "the negation of the guard");
  }

  void changeEntity(Operand &operand, llvm::ArrayRef<Entity *> choices) {
    for (Entity *other : choices)
      if (other != operand.entity &&
          module.getText(other) != module.getText(operand.entity))
        return change(operand.entity, other, "another entity");
  }

  void mutateOperand(Operand &operand) {
    // Any operand may become a sink.
    if (!operand.is(OperandKind::Sink))
      change(operand.kind, OperandKind::Sink, "a sink");
    switch (operand.kind) {
    case OperandKind::Register:
      changeEntity(operand, registers);
      flip(operand.isNegated, [&](bool b) { operand.isNegated = b; }, "'!'");
      flip(operand.isMinus, [&](bool b) { operand.isMinus = b; }, "'-'");
      mutateSelector(operand);
      break;
    case OperandKind::Special:
      change(operand.special.reg,
             operand.special.reg == SpecialRegister::Tid ? SpecialRegister::Ntid
                                                         : SpecialRegister::Tid,
             "another special register");
      mutateSelector(operand);
      break;
    case OperandKind::Integer:
      flip(
          operand.isWarpSize, [&](bool b) { operand.isWarpSize = b; },
          "WARP_SZ");
      if (operand.isWarpSize)
        break;
      for (unsigned bit = 0; bit < 64; ++bit)
        change(operand.bits, operand.bits ^ (1ull << bit), "another integer");
      flip(
          operand.isUnsigned, [&](bool b) { operand.isUnsigned = b; },
          "the sign of a constant");
      break;
    case OperandKind::Float32:
      for (unsigned bit = 0; bit < 32; ++bit)
        change(operand.bits, operand.bits ^ (1ull << bit), "another float");
      change(operand.kind, OperandKind::Float64, "a wider float");
      break;
    case OperandKind::Float64:
      for (unsigned bit = 0; bit < 64; ++bit)
        change(operand.bits, operand.bits ^ (1ull << bit), "another float");
      break;
    case OperandKind::Symbol:
      changeEntity(operand, symbols);
      change(operand.offset, operand.offset + 1, "another offset");
      flip(
          operand.isGeneric, [&](bool b) { operand.isGeneric = b; },
          "generic()");
      change(operand.maskByte, operand.maskByte + 1, "another mask");
      break;
    case OperandKind::Address:
      change(operand.offset, operand.offset + (operand.offset == 4 ? 8 : -4),
             "another offset");
      if (operand.offset == 0)
        flip(
            operand.hasOffset, [&](bool b) { operand.hasOffset = b; },
            "an offset of 0");
      [[fallthrough]];
    case OperandKind::Vector:
    case OperandKind::List:
    case OperandKind::Pair:
      if (operand.elementCount > 1)
        change(operand.elementCount, operand.elementCount - 1,
               "one element less");
      for (Operand &element : operand.elements())
        mutateOperand(element);
      break;
    case OperandKind::Sink:
      change(operand.kind, OperandKind::Integer, "no sink");
      break;
    case OperandKind::Difference:
    case OperandKind::Section:
    case OperandKind::Field:
    case OperandKind::Word:
      ADD_FAILURE() << "no operand of an instruction";
      break;
    }
  }

  void mutateSelector(Operand &operand) {
    Selector &selector = operand.selector;
    switch (selector.kind) {
    case Selector::None:
      change(selector, Selector{Selector::Component, 1, 1}, "a component");
      break;
    case Selector::Component:
      for (unsigned lane = 0; lane < 4; ++lane)
        if (lane != selector.lane(0))
          change(selector.lanes, lane, "another component");
      change(selector, Selector(), "no component");
      break;
    case Selector::Bytes:
    case Selector::Halves:
      change(selector.kind,
             selector.kind == Selector::Bytes ? Selector::Halves
                                              : Selector::Bytes,
             "another kind of selector");
      change(selector.lanes, selector.lanes ^ 1, "another lane");
      change(selector, Selector(), "no selector");
      break;
    }
  }

  Module &module;
  Instruction &instruction;
  std::string original;
  std::vector<Entity *> registers, symbols;
  Register *predicate = nullptr;
};

TEST(Mutation, ChangesThePrintOfEveryInstruction) {
  unsigned numInstructions = 0, numMutations = 0;
  for (const std::string &path : getOpcodeFiles()) {
    auto module = parseValid(readFile(path));
    ASSERT_TRUE(module);
    for (Instruction *instruction : collectInstructions(*module)) {
      Mutator mutator(*module, *instruction);
      mutator.run();
      ++numInstructions;
      numMutations += mutator.numMutations;
      if (testing::Test::HasFailure())
        FAIL() << path << ": the first instruction with a fault";
    }
  }
  // At least the mnemonic of each was changed.
  EXPECT_GT(numInstructions, getNumOpcodes());
  EXPECT_GT(numMutations, 3 * numInstructions);
}

/// Sets a field, expects another print of the module, and sets it back.
template <typename T, typename U>
void expectVisible(Module &module, T &field, U value, const char *what) {
  std::string original = printText(module);
  T before = field;
  field = static_cast<T>(value);
  EXPECT_NE(printText(module), original) << what;
  field = before;
  EXPECT_EQ(printText(module), original) << what;
}

template <typename T>
T &statementOf(llvm::ArrayRef<Statement *> statements, unsigned index = 0) {
  for (Statement *statement : statements)
    if (auto *found = llvm::dyn_cast<T>(statement))
      if (index-- == 0)
        return *found;
  ADD_FAILURE() << "no such statement";
  abort();
}

TEST(Mutation, ChangesThePrintOfDeclarations) {
  auto module = parseValid(R"(
.version 8.7
.target sm_90a, debug
.address_size 64
.global .align 8 .v2 .u32 pair[2][3] = {{1, 2}, {3}};
.const .b8 text[4] = {0xFF(pair), 0xFF00(pair+4), 7};
.visible .entry k(.param .u64 .ptr .global .align 16 in)
.maxntid 128, 2, 1
.minnctapersm 2
{
  .reg .b32 %a, %b<4>;
  .reg .v2 .f32 %v;
  .shared .align 16 .b8 tile[256];
  .pragma "nounroll";
  .loc 1 22 3, function_name $name+2, inlined_at 1 4 9
here:
  bra here;
table: .branchtargets here, there;
there:
  ret;
}
.file 1 "a.cu", 5, 6
.section .debug_str
{
$name:
  .b8 97, 0
  .b32 .debug_abbrev+4
  .b64 here-there
}
)");
  ASSERT_TRUE(module);
  expectVisible(*module, module->versionMinor, 6, "version");
  expectVisible(*module, module->addressSize, 32, "address size");
  expectVisible(*module, module->targets, module->targets.drop_back(),
                "targets");
  auto &pair = statementOf<VariableDecl>(module->statements);
  expectVisible(*module, pair.alignment, 16, "alignment");
  expectVisible(*module, pair.vectorWidth, 4, "vector width");
  expectVisible(*module, pair.type, Modifier::S32, "type");
  expectVisible(*module, pair.space, Modifier::Const, "space");
  expectVisible(*module, pair.linkage, Linkage::Visible, "linkage");
  expectVisible(*module, pair.isManaged, true, "managed");
  expectVisible(*module, pair.dimensions, pair.dimensions.drop_back(),
                "dimensions");
  expectVisible(*module, pair.initializer, nullptr, "initialiser");
  expectVisible(*module, pair.initializer->elements()[1].elements()[0].bits, 4,
                "initial value");
  auto &text = statementOf<VariableDecl>(module->statements, 1);
  expectVisible(*module, text.initializer->elements()[1].maskByte, 1, "mask");
  expectVisible(*module, text.initializer->elements()[1].offset, 0, "offset");

  Function &function = *module->functions.front();
  expectVisible(*module, function.linkage, Linkage::Weak, "linkage");
  expectVisible(*module, function.isEntry, false, "entry");
  expectVisible(*module, function.attributes, function.attributes.drop_back(),
                "attributes");
  auto &attribute = const_cast<FunctionAttribute &>(
      *function.find(FunctionAttribute::MaxNTid));
  expectVisible(*module, attribute.values, attribute.values.drop_back(),
                "values of an attribute");
  auto &parameter = llvm::cast<VariableDecl>(*function.parameters[0].decl);
  expectVisible(*module, parameter.pointerSpace, Modifier::Shared,
                "space of a pointer");
  expectVisible(*module, parameter.pointerAlignment, 4,
                "alignment of a pointer");
  expectVisible(*module, parameter.isPointer, false, "pointer");

  llvm::ArrayRef<Statement *> body = function.body->statements;
  expectVisible(*module, statementOf<RegisterDecl>(body).type, Modifier::U32,
                "type of a register");
  expectVisible(*module, statementOf<RegisterDecl>(body, 1).count, 5,
                "number of registers");
  expectVisible(*module, statementOf<RegisterDecl>(body, 2).vectorWidth, 4,
                "width of a register");
  auto &location = statementOf<Location>(body);
  expectVisible(*module, location.file, 2, "file");
  expectVisible(*module, location.line, 23, "line");
  expectVisible(*module, location.column, 4, "column");
  expectVisible(*module, location.functionName, nullptr, "function name");
  expectVisible(*module, location.functionName->offset, 3, "offset");
  expectVisible(*module, location.inlinedAt->line, 5, "inlined at");
  auto &targets = statementOf<BranchTargets>(body);
  expectVisible(*module, targets.isCallTargets, true, "kind of table");
  expectVisible(*module, targets.targets, targets.targets.drop_back(),
                "targets of a table");
  expectVisible(*module, statementOf<Pragma>(body).strings,
                llvm::ArrayRef<llvm::StringRef>(), "pragma");

  auto &file = statementOf<File>(module->statements);
  expectVisible(*module, file.index, 2, "index of a file");
  expectVisible(*module, file.fileName, "b.cu", "name of a file");
  expectVisible(*module, file.timeAndSize, std::nullopt, "time and size");
  auto &section = statementOf<Section>(module->statements);
  expectVisible(*module, section.items[1].type, Modifier::B16,
                "type of debug data");
  expectVisible(*module, section.items[1].values[0].bits, 98, "debug data");
  expectVisible(*module, section.items[2].values[0].offset, 0,
                "offset in a section");
  std::swap(section.items[3].values[0].elements()[0],
            section.items[3].values[0].elements()[1]);
  EXPECT_NE(printText(*module).find("there-here"), std::string::npos);
}

} // namespace
