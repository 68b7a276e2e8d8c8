// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is read from nvdisasm's JSON: operands of every kind, widths, accesses,
// blocks. The expected values come from the instructions' meaning.

#include "d2k/Frontend/SASS/Module.h"

#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::sass;

namespace {

/// `@!P0 IMAD R1,R2,R3,RZ` as JSON: guard and operands may be missing.
std::string getItem(std::string text) {
  std::string item = "{";
  if (text[0] == '@') {
    size_t blank = text.find(' ');
    item += "\"predicate\":\"" + text.substr(0, blank) + "\",";
    text = text.substr(blank + 1);
  }
  size_t blank = text.find(' ');
  item += "\"opcode\":\"" + text.substr(0, blank) + "\"";
  if (blank != std::string::npos)
    item += ",\"operands\":\"" + text.substr(blank + 1) + "\"";
  return item + "}";
}

std::string getDocument(const std::vector<std::string> &instructions) {
  std::string text = R"([{"SM":{"version":{"major":9,"minor":0}},
      "Producer":"nvdisasm V13.2.51",".note.nv.tkinfo":{
      "tki_toolVersion":"release 13.0","tki_toolOptions":"-arch sm_90a "}},
      [{"function-name":"k","start":0,"sass-instructions":[)";
  for (size_t i = 0; i < instructions.size(); ++i)
    text += (i ? "," : "") + getItem(instructions[i]);
  return text + "]}]]";
}

Module read(const std::vector<std::string> &instructions) {
  Result<Module> module = readNvdisasmJson(getDocument(instructions), "j");
  if (module)
    return std::move(*module);
  ADD_FAILURE() << module.error().message;
  return Module();
}

Register getR(unsigned index) {
  return {RegisterFile::General, uint16_t(index)};
}
Register getUR(unsigned index) {
  return {RegisterFile::Uniform, uint16_t(index)};
}
Register getP(unsigned index) {
  return {RegisterFile::Predicate, uint16_t(index)};
}

/// Names of the members of a set: "R2 R3 UR4".
std::string getNames(const RegisterSet &set) {
  std::string names;
  for (Register reg : set.getMembers())
    names += (names.empty() ? "" : " ") + reg.getName();
  return names;
}

/// "reads > writes" of one instruction.
std::string getFlow(const std::string &text) {
  Module module = read({text});
  if (module.functions.empty())
    return "nothing";
  const Instruction &instruction = module.functions[0].instructions.at(0);
  if (!instruction.isModelled)
    return "not modelled";
  return getNames(getReads(instruction)) + " > " +
         getNames(getWrites(instruction));
}

} // namespace

TEST(SassJsonReader, ReadsHeader) {
  Module module = read({"NOP"});
  EXPECT_EQ(module.target.getName(), "sm_90a");
  EXPECT_EQ(module.producer, "release 13.0");
  EXPECT_EQ(module.disassembler, "nvdisasm V13.2.51");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_EQ(module.functions[0].name, "k");
  EXPECT_TRUE(module.functions[0].isKernel);
}

TEST(SassJsonReader, ReadsOperandsOfEveryKind) {
  Module module = read({
      "@!UP3 FFMA R4,-R5.reuse,|R6|,-|c[0x3][0x10]|",
      "LDG.E.128 R8,desc[UR4][R2.64+-0x20]",
      "LDS R0,[R7.X4+UR5+0x8]",
      "LOP3.LUT P1,RZ,R4,~R5,-0x1,0xc0,!PT",
      "FADD R1,R2,-1.5",
      "FADD R1,R2,+INF",
      "S2R R3,SR_TID.X",
      "LDC R1,c[0x0][R2+0x210]",
      "DEPBAR.LE SB0,0x1",
      "DEPBAR {5,3}",
      "HGMMA.64x128x16.F32 R24,gdesc[UR12],R24,UP0,gsb0",
      "LDTM.x32 R4,tmem[UR19+0x20]",
  });
  ASSERT_EQ(module.functions.size(), 1u);
  for (const Remark &remark : module.remarks)
    ADD_FAILURE() << remark.message;
  const std::vector<Instruction> &code = module.functions[0].instructions;
  ASSERT_EQ(code.size(), 12u);

  EXPECT_EQ(code[0].guard->predicate.getName(), "UP3");
  EXPECT_TRUE(code[0].guard->inverted);
  EXPECT_EQ(code[0].operands[0].reg, getR(4));
  EXPECT_TRUE(code[0].operands[1].negated);
  EXPECT_TRUE(code[0].operands[1].reuse);
  EXPECT_TRUE(code[0].operands[2].absolute);
  EXPECT_EQ(code[0].operands[3].kind, OperandKind::Constant);
  EXPECT_TRUE(code[0].operands[3].negated && code[0].operands[3].absolute);
  EXPECT_EQ(code[0].operands[3].address.bank, 3u);
  EXPECT_EQ(code[0].operands[3].address.offset, 16);

  const Operand &global = code[1].operands[1];
  EXPECT_EQ(global.kind, OperandKind::Memory);
  EXPECT_EQ(global.address.descriptor, getUR(4));
  EXPECT_EQ(global.address.base, getR(2));
  EXPECT_EQ(global.address.baseWidth, 2);
  EXPECT_EQ(global.address.offset, -32);
  EXPECT_EQ(code[1].operands[0].width, 4);

  const Address &shared = code[2].operands[1].address;
  EXPECT_EQ(shared.base, getR(7));
  EXPECT_EQ(shared.scale, 4);
  EXPECT_EQ(shared.uniform, getUR(5));
  EXPECT_EQ(shared.offset, 8);

  EXPECT_EQ(code[3].operands[0].reg, getP(1));
  EXPECT_EQ(code[3].operands[0].access, Access::Write);
  EXPECT_TRUE(code[3].operands[1].reg.isConstant());
  EXPECT_TRUE(code[3].operands[3].inverted);
  EXPECT_EQ(code[3].operands[4].integer, -1);
  EXPECT_TRUE(code[3].operands[6].inverted);
  EXPECT_TRUE(code[3].operands[6].reg.isConstant());

  EXPECT_EQ(code[4].operands[2].real, -1.5);
  EXPECT_EQ(code[5].operands[2].real, std::numeric_limits<double>::infinity());
  EXPECT_EQ(code[6].operands[1].name, "SR_TID.X");
  EXPECT_EQ(code[7].operands[1].address.base, getR(2));
  EXPECT_EQ(code[8].operands[0].integer, 1);
  EXPECT_EQ(code[9].operands[0].integer, 0x28);
  EXPECT_EQ(code[10].operands[1].kind, OperandKind::Descriptor);
  EXPECT_EQ(code[10].operands[1].address.uniform, getUR(12));
  EXPECT_EQ(code[11].operands[1].kind, OperandKind::TensorMemory);
  EXPECT_EQ(code[11].operands[1].address.offset, 32);
}

TEST(SassJsonReader, KnowsWhatIsReadAndWritten) {
  EXPECT_EQ(getFlow("@!P2 IMAD.WIDE.U32 R6,R38,UR10,R216"),
            "R38 R216 R217 UR10 P2 > R6 R7");
  EXPECT_EQ(getFlow("STG.E.64 desc[UR8][R4.64],R40"),
            "R4 R5 R40 R41 UR8 UR9 > ");
  EXPECT_EQ(getFlow("HMMA.16816.F32.BF16 R144,R44,R172,R148"),
            "R44 R45 R46 R47 R148 R149 R150 R151 R172 R173 > "
            "R144 R145 R146 R147");
  EXPECT_EQ(getFlow("HMMA.1688.F16 R0,R4,R6,R8"), "R4 R5 R6 R8 R9 > R0 R1");
  EXPECT_EQ(getFlow("DMMA.8x8x4 R4,R8,R10,R12"),
            "R8 R9 R10 R11 R12 R13 R14 R15 > R4 R5 R6 R7");
  // Two coordinates, the address in shared memory and the mbarrier.
  EXPECT_EQ(getFlow("UTMALDG.2D [UR8],[UR4]"), "UR4 UR5 UR8 UR9 UR10 UR11 > ");
  EXPECT_EQ(getFlow("SHFL.IDX P3,R0,R1,R2,0x1f"), "R1 R2 > R0 P3");
  EXPECT_EQ(getFlow("IADD3.X R42,R38,R47,~R5,P1,!PT"), "R5 R38 R47 P1 > R42");
  EXPECT_EQ(getFlow("ISETP.GE.U32.AND.EX P1,PT,R0,RZ,PT,P2"), "R0 P2 > P1");
  EXPECT_EQ(getFlow("LDSM.16.M88.4 R172,[R176]"), "R176 > R172 R173 R174 R175");
  EXPECT_EQ(getFlow("F2F.F64.F32 R4,R6"), "R6 > R4 R5");
  // Two sums; the factor R8 is in both, the others are pairs.
  EXPECT_EQ(getFlow("FFMA2 R2,R4.F32x2.HI_LO,R8.F32,R6.F32x2.HI_LO"),
            "R4 R5 R6 R7 R8 > R2 R3");
  EXPECT_EQ(getFlow("LDTM.STAT.x2.MAX.F32 R3,R124,tmem[UR6]"),
            "UR6 > R3 R124 R125");
  // The mask loads four words to R12 and two to R8.
  EXPECT_EQ(getFlow("LDG.E.ENL2.256 R12,R8,desc[UR4][R2.64],0xf3"),
            "R2 R3 UR4 UR5 > R8 R9 R12 R13 R14 R15");
  // LDGSTS has its predicate written, too.
  EXPECT_EQ(getFlow("LDGSTS.E.BYPASS.128 [R9],desc[UR8][R2.64],!P0"),
            "R2 R3 R9 UR8 UR9 P0 > P0");
  EXPECT_EQ(getFlow("IMNMX.S64 PT,PT,R14,R18,UR16,!PT,!PT"),
            "R18 R19 UR16 UR17 > R14 R15");
  EXPECT_EQ(getFlow("BREAK.RELIABLE B1,P2"), "P2 > B1");
  EXPECT_EQ(getFlow("BSSY B3,0x0"), " > B3");
  EXPECT_EQ(getFlow("CALL.REL.NOINC R18,0x0"), "R18 R19 > ");
  EXPECT_EQ(getFlow("FROB R1,R2"), "not modelled");
  EXPECT_EQ(getFlow("FADD R1,R2,P0"), "not modelled");
}

TEST(SassJsonReader, SplitsOperandsWithoutComma) {
  auto getOperands = [](const std::string &text) {
    Module module = read({text});
    std::string joined;
    for (const Operand &operand :
         module.functions.at(0).instructions[0].operands)
      joined += operand.print() + ";";
    return joined;
  };
  EXPECT_EQ(getOperands("RED R4[R2.64]"), "R4;[R2.64];");
  EXPECT_EQ(getOperands("UTMALDG.2D [UR4][UR14],UR16"), "[UR4];[UR14];UR16;");
  EXPECT_EQ(getOperands("ATOMG.E PT,R12desc[UR8][R2.64+-0x20],R15"),
            "PT;R12;desc[UR8][R2.64+-0x20];R15;");
  EXPECT_EQ(getOperands("LDGSTS.E [R9+0x10]desc[UR8][R4.64],!P1"),
            "[R9+0x10];desc[UR8][R4.64];!P1;");
  EXPECT_EQ(getOperands("UTCHMMA gdesc[UR4].A_KEEP,tmem[UR6]"),
            "gdesc[UR4].A_KEEP;tmem[UR6];");
  EXPECT_EQ(getOperands("UBLKCP [UR4],[UR6],UR8,desc[UR10]"),
            "[UR4];[UR6];UR8;desc[UR10];");
}

TEST(SassJsonReader, ReadsPredicateSets) {
  // nvdisasm prints the set of P2R at the place of the guard.
  std::string text = getDocument({"P2R R0,RZ,0x5"});
  size_t at = text.find("{\"opcode\":\"P2R");
  text.insert(at + 1, "\"predicate\":\"PR\",");
  Result<Module> module = readNvdisasmJson(text, "j");
  ASSERT_TRUE(module) << module.error().message;
  const Instruction &save = module->functions[0].instructions[0];
  EXPECT_FALSE(save.guard);
  EXPECT_TRUE(save.isModelled);
  EXPECT_EQ(getNames(getReads(save)), "P0 P2");
  EXPECT_EQ(getFlow("R2P PR,R3,0x7f"), "R3 > P0 P1 P2 P3 P4 P5 P6");
}

TEST(SassJsonReader, CutsBlocks) {
  Module module = read({
      "BSSY B0,0x40",  // 0x00
      "@P0 BRA 0x30",  // 0x10
      "FADD R0,R1,R2", // 0x20
      "YIELD",         // 0x30
      "BSYNC B0",      // 0x40
      "@!P1 EXIT",     // 0x50
      "BRA.U UP0,0x0", // 0x60
      "BRA 0x70",      // 0x70
  });
  const Function &function = module.functions.at(0);
  std::string text;
  for (const Block &block : function.blocks) {
    text += std::to_string(block.first) + "-" + std::to_string(block.last);
    for (const Edge &edge : block.successors)
      text += std::string(edge.kind == EdgeKind::Branch ? " b" : " f") +
              std::to_string(edge.target);
    text += ", ";
  }
  EXPECT_EQ(text, "0-2 b2 f1, 2-3 f2, 3-4 f3, 4-6 f4, 6-7 b0 f5, 7-8 b5, ");
  EXPECT_EQ(function.getBlockOf(5), 3u);
  EXPECT_EQ(function.findInstruction(0x40), 4u);
  EXPECT_EQ(function.findInstruction(0x44), std::nullopt);
  EXPECT_TRUE(module.remarks.empty());
}

TEST(SassJsonReader, TakesCallsOfLabelsForBranches) {
  Module module = read({
      "@P0 CALL.REL.NOINC 0x20", // 0x00
      "BRA 0x30",                // 0x10
      "CALL.REL.NOINC 0x0",      // 0x20: of the function itself
      "EXIT",                    // 0x30
  });
  const Function &function = module.functions.at(0);
  ASSERT_EQ(function.blocks.size(), 4u);
  EXPECT_EQ(
      function.blocks[0].successors,
      (std::vector<Edge>{{2, EdgeKind::Branch}, {1, EdgeKind::FallThrough}}));
  EXPECT_EQ(function.blocks[2].successors,
            (std::vector<Edge>{{3, EdgeKind::FallThrough}}));
}

TEST(SassJsonReader, JoinsSubroutines) {
  std::string text = getDocument({"CALL.REL.NOINC helper", "EXIT"});
  text.replace(text.size() - 2, 2,
               R"(,{"function-name":"helper","start":32,"sass-instructions":[
               {"opcode":"RET.REL.NODEC","operands":"R4,k"}]}]])");
  Result<Module> module = readNvdisasmJson(text, "j");
  ASSERT_TRUE(module) << module.error().message;
  ASSERT_EQ(module->functions.size(), 1u);
  const Function &function = module->functions[0];
  ASSERT_EQ(function.subroutines.size(), 1u);
  EXPECT_EQ(function.subroutines[0].offset, 32u);
  EXPECT_EQ(function.subroutines[0].length, 16u);
  EXPECT_EQ(function.instructions[0].getTarget()->integer, 32);
  EXPECT_EQ(function.instructions[2].getTarget()->integer, 0);
  // A call goes on behind itself; a return has no successor.
  EXPECT_EQ(function.blocks[0].successors,
            (std::vector<Edge>{{1, EdgeKind::FallThrough}}));
  EXPECT_TRUE(function.blocks[2].successors.empty());
}

TEST(SassJsonReader, RemarksOncePerMnemonic) {
  Module module = read({"FROB.X R1", "FROB.X R2", "FADD R1,R2"});
  ASSERT_EQ(module.remarks.size(), 2u);
  EXPECT_EQ(module.remarks[0].message, "unknown instruction FROB.X");
  EXPECT_EQ(module.remarks[1].offset, 32u);
  EXPECT_EQ(module.remarks[1].message, "operands that do not fit FADD: R1,R2");
}

TEST(SassJsonReader, NamesFaults) {
  auto getFailure = [](const std::string &text) {
    Result<Module> module = readNvdisasmJson(text, "j");
    return module ? "none" : module.error().message;
  };
  EXPECT_EQ(getFailure("[]"),
            "j: expected what nvdisasm -json prints: an array of a header and "
            "a list of functions");
  EXPECT_EQ(getFailure("[{},[]]"), "j: [0]: missing member \"SM\"");
  std::string whole = getDocument({"NOP"});
  std::string text = whole;
  text.replace(text.find("\"start\":0"), 9, "\"start\":8");
  EXPECT_EQ(getFailure(text),
            "j: [1][0].start: expected a multiple of 16 below 2^31, found 8");
  text = whole;
  text.replace(text.find("\"start\":0"), 9, "\"start\":32");
  EXPECT_EQ(getFailure(text), "j: function k starts at offset 32, but no "
                              "function ends before it");
  text = whole;
  text.replace(text.find("\"opcode\""), 8, "\"code\"");
  EXPECT_EQ(getFailure(text), "j: [1][0].sass-instructions[0]: expected an "
                              "instruction with \"opcode\"");
}
