// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every row of the opcode, modifier and special-register tables has a line in
// test/Frontend/PTX/opcodes, whose files ptxas judges as well.

#include "PTXTestUtils.h"

#include "TestPaths.h"

#include "llvm/ADT/SmallString.h"

#include "gtest/gtest.h"

#include <set>

using namespace d2k;
using namespace d2k::ptx;
using namespace d2k::test;

namespace {

class OpcodeFiles : public testing::Test {
protected:
  static void SetUpTestSuite() {
    for (const std::string &path : getOpcodeFiles()) {
      modules.push_back(parseValid(readFile(path)));
      ASSERT_TRUE(modules.back()) << path;
    }
  }
  static void TearDownTestSuite() { modules.clear(); }

  static void visitOperands(llvm::ArrayRef<Operand> operands,
                            llvm::function_ref<void(const Operand &)> visit) {
    for (const Operand &operand : operands) {
      visit(operand);
      visitOperands(operand.elements(), visit);
    }
  }

  static std::vector<std::unique_ptr<Module>> modules;
};
std::vector<std::unique_ptr<Module>> OpcodeFiles::modules;

TEST_F(OpcodeFiles, CoverEveryOpcode) {
  ASSERT_FALSE(modules.empty());
  std::set<Opcode> seen;
  for (const auto &module : modules)
    for (const Instruction *instruction : collectInstructions(*module))
      seen.insert(instruction->opcode());
  for (unsigned i = 1; i < getNumOpcodes(); ++i) {
    auto opcode = static_cast<Opcode>(i);
    EXPECT_TRUE(seen.count(opcode))
        << "no line of test/Frontend/PTX/opcodes has the opcode "
        << getSpelling(opcode).str();
  }
}

TEST_F(OpcodeFiles, CoverEveryModifier) {
  std::set<Modifier> seen;
  // Spaces that ptxas takes no more stand in the file of everything.
  modules.push_back(
      parseValid(readFile(getInputPath("Frontend/PTX/Inputs/everything.ptx"))));
  for (const auto &module : modules) {
    for (const Instruction *instruction : collectInstructions(*module))
      for (const ModifierUse &use : instruction->mnemonic->modifiers)
        seen.insert(use.kind);
    // Spaces and types that only declarations have.
    for (const Variable *variable : module->variables)
      seen.insert({variable->decl->space, variable->decl->type});
    for (const Function *function : module->functions)
      for (const Register *reg : function->registers)
        seen.insert({Modifier::Reg, reg->getType()});
  }
  for (unsigned i = 2; i < getNumModifiers(); ++i) {
    auto modifier = static_cast<Modifier>(i);
    EXPECT_TRUE(seen.count(modifier))
        << "no line of test/Frontend/PTX/opcodes has the modifier ."
        << getSpelling(modifier).str();
  }
}

TEST_F(OpcodeFiles, CoverEverySpecialRegister) {
  std::set<SpecialRegister> seen;
  for (const auto &module : modules)
    for (const Instruction *instruction : collectInstructions(*module))
      visitOperands(instruction->operands, [&](const Operand &operand) {
        if (operand.is(OperandKind::Special))
          seen.insert(operand.special.reg);
      });
#define D2K_PTX_SPECIAL_REGISTER(Enum, Spelling, Bits, Components)             \
  EXPECT_TRUE(seen.count(SpecialRegister::Enum)) << Spelling;
#define D2K_PTX_SPECIAL_REGISTER_FAMILY(Enum, Spelling, Bits, Count, Suffix)   \
  EXPECT_TRUE(seen.count(SpecialRegister::Enum)) << Spelling;
#include "d2k/Frontend/PTX/PTXSpecialRegisters.def"
}

TEST_F(OpcodeFiles, MatchTheSignatures) {
  for (const auto &module : modules)
    for (const Instruction *instruction : collectInstructions(*module)) {
      std::string text;
      llvm::raw_string_ostream os(text);
      print(*module, *instruction, os);
      llvm::SmallVector<OperandAccess> accesses;
      EXPECT_TRUE(getOperandAccesses(*instruction, accesses))
          << text
          << "\nsignature: " << getSignature(instruction->opcode()).str();
      EXPECT_EQ(accesses.size(), instruction->operands.size());
    }
}

TEST_F(OpcodeFiles, PrintToTheSameTree) {
  for (const auto &module : modules) {
    std::string once = printText(*module);
    EXPECT_EQ(printText(*parseValid(once)), once);
    // Renaming twice gives a text of the same shape that parses again.
    std::string renamed = printText(*module, /*rename=*/true);
    EXPECT_NE(renamed, once);
    auto again = parseValid(renamed);
    EXPECT_EQ(collectInstructions(*again).size(),
              collectInstructions(*module).size());
  }
}

TEST(Opcodes, ClassesAndSpellings) {
  EXPECT_EQ(getSpelling(Opcode::CpAsyncBulkTensor), "cp.async.bulk.tensor");
  EXPECT_EQ(getClass(Opcode::CpAsyncBulkTensor), OpcodeClass::BulkTensorCopy);
  EXPECT_EQ(getClass(Opcode::Unknown), OpcodeClass::Unknown);
  std::set<std::string> spellings;
  for (unsigned i = 1; i < getNumOpcodes(); ++i)
    EXPECT_TRUE(
        spellings.insert(getSpelling(static_cast<Opcode>(i)).str()).second)
        << getSpelling(static_cast<Opcode>(i)).str() << " has two rows";
  spellings.clear();
  for (unsigned i = 2; i < getNumModifiers(); ++i)
    EXPECT_TRUE(
        spellings.insert(getSpelling(static_cast<Modifier>(i)).str()).second)
        << getSpelling(static_cast<Modifier>(i)).str() << " has two rows";
}

TEST(Opcodes, WidthOfTypes) {
  EXPECT_EQ(getBitWidth(Modifier::Pred), 1u);
  EXPECT_EQ(getBitWidth(Modifier::S8), 8u);
  EXPECT_EQ(getBitWidth(Modifier::F16x2), 32u);
  EXPECT_EQ(getBitWidth(Modifier::Bf16), 16u);
  EXPECT_EQ(getBitWidth(Modifier::Bf16x2), 32u);
  EXPECT_EQ(getBitWidth(Modifier::Tf32), 32u);
  EXPECT_EQ(getBitWidth(Modifier::F32x2), 64u);
  EXPECT_EQ(getBitWidth(Modifier::B128), 128u);
  EXPECT_EQ(getBitWidth(Modifier::E4m3x4), 32u);
  EXPECT_EQ(getBitWidth(Modifier::E2m1x2), 8u);
  EXPECT_EQ(getBitWidth(Modifier::E2m1x4), 16u);
  EXPECT_EQ(getBitWidth(Modifier::S4), 4u);
  EXPECT_EQ(getBitWidth(Modifier::Texref), 0u);
  EXPECT_EQ(getBitWidth(Modifier::Global), 0u);
}

TEST(Opcodes, SpecialRegisters) {
  auto pm = lookupSpecialRegister("%pm3_64");
  ASSERT_TRUE(pm);
  EXPECT_EQ(pm->reg, SpecialRegister::Pm64);
  EXPECT_EQ(pm->index, 3);
  EXPECT_EQ(getBitWidth(pm->reg), 64u);
  EXPECT_FALSE(lookupSpecialRegister("%envreg32"));
  EXPECT_FALSE(lookupSpecialRegister("%pm8"));
  EXPECT_FALSE(lookupSpecialRegister("tid"));
  llvm::SmallString<16> text;
  appendSpelling({SpecialRegister::Envreg, 12}, text);
  EXPECT_EQ(text.str(), "%envreg12");
}

/// The accesses of the one instruction in \p text as letters: W, R, X
/// (both), A (address), T (target), ? (no match).
std::string accessesOf(const char *text) {
  auto module = parseValid(wrapBody(text));
  llvm::SmallVector<OperandAccess> accesses;
  getOperandAccesses(*collectInstructions(*module).back(), accesses);
  std::string letters;
  for (OperandAccess access : accesses)
    letters += "?RWXAT"[static_cast<unsigned>(access)];
  return letters;
}

TEST(Opcodes, OptionalOperands) {
  // The disabled lanes, the scale and the address of A may each be there.
  EXPECT_EQ(accessesOf("tcgen05.mma.cta_group::1.kind::f16 [%r8], %d0, %d1, "
                       "%r9, %p0;"),
            "ARRRR");
  EXPECT_EQ(accessesOf("tcgen05.mma.cta_group::1.kind::f16 [%r8], [%r7], %d1, "
                       "%r9, {%r0, %r1, %r2, %r3}, %p0, 2;"),
            "AARRRRR");
  EXPECT_EQ(accessesOf("tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r8], "
                       "%d0, %d1, %r9, [%r1], [%r2], %p0;"),
            "ARRRAAR");
  EXPECT_EQ(accessesOf("mbarrier.arrive.b64 _, [%d0];"), "WA");
  EXPECT_EQ(accessesOf("tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r8], 1, "
                       "{%r0};"),
            "ARR");
  EXPECT_EQ(accessesOf("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                       "{%r0, %r1, %r2, %r3}, %d0, %d1, 1, 1, 1, 0, 0;"),
            "XRRRRRRR");
  EXPECT_EQ(accessesOf("bra L; L:"), "T");
  // Too few: every access is unknown.
  EXPECT_EQ(accessesOf("add.u32 %r0, %r1;"), "??");
}

} // namespace
