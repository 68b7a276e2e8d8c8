// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants, entities, and what the parser does with text that is no PTX: it
// reports and goes on, whatever the bytes, in linear time.

#include "PTXTestUtils.h"

#include "TestPaths.h"

#include "gtest/gtest.h"

#include <chrono>

using namespace d2k;
using namespace d2k::ptx;
using namespace d2k::test;

namespace {

/// The second operand of `mov.u64 %d0, <text>;`.
Operand constantOf(llvm::StringRef text) {
  auto module = parseValid(wrapBody("mov.u64 %d0, " + text.str() + ";"));
  auto list = collectInstructions(*module);
  if (list.empty()) {
    ADD_FAILURE() << text.str();
    return {};
  }
  return list[0]->operands[1];
}

TEST(Constants, Integers) {
  EXPECT_EQ(constantOf("42").getInteger(), 42);
  EXPECT_EQ(constantOf("-5").getInteger(), -5);
  EXPECT_EQ(constantOf("0x7fFF").getInteger(), 0x7fff);
  EXPECT_EQ(constantOf("0b101").getInteger(), 5);
  EXPECT_EQ(constantOf("017").getInteger(), 15);
  EXPECT_EQ(constantOf("0").getInteger(), 0);
  EXPECT_FALSE(constantOf("9223372036854775807").isUnsigned);
  EXPECT_TRUE(constantOf("9223372036854775808").isUnsigned);
  EXPECT_TRUE(constantOf("1U").isUnsigned);
  EXPECT_EQ(constantOf("0xFFFFFFFFFFFFFFFF").bits, UINT64_MAX);
  EXPECT_TRUE(constantOf("WARP_SZ").isWarpSize);
}

TEST(Constants, Floats) {
  EXPECT_EQ(constantOf("0f3F800000").bits, 0x3F800000u);
  EXPECT_TRUE(constantOf("0f3F800000").is(OperandKind::Float32));
  EXPECT_EQ(constantOf("0D3FF0000000000000").bits, 0x3FF0000000000000u);
  EXPECT_EQ(constantOf("1.5").bits, 0x3FF8000000000000u);
  EXPECT_EQ(constantOf("-1.5").bits, 0xBFF8000000000000u);
  EXPECT_EQ(constantOf("1e3").bits, 0x408F400000000000u);
  EXPECT_EQ(constantOf("08.5").bits, 0x4021000000000000u);
}

TEST(Constants, Expressions) {
  EXPECT_EQ(constantOf("1 + 2 * 3").getInteger(), 7);
  EXPECT_EQ(constantOf("(1 + 2) * 3").getInteger(), 9);
  EXPECT_EQ(constantOf("10 - 3 - 2").getInteger(), 5);
  EXPECT_EQ(constantOf("1 << 4 | 3").getInteger(), 19);
  EXPECT_EQ(constantOf("7 & 3 ^ 1").getInteger(), 2);
  EXPECT_EQ(constantOf("-7 / 2").getInteger(), -3);
  EXPECT_EQ(constantOf("-7 % 3").getInteger(), -1);
  EXPECT_EQ(constantOf("-1 >> 1").getInteger(), -1);
  EXPECT_EQ(constantOf("(.u64)-1 >> 63").getInteger(), 1);
  EXPECT_EQ(constantOf("-1 > 1U").getInteger(), 1);
  EXPECT_EQ(constantOf("-1 > 1").getInteger(), 0);
  EXPECT_EQ(constantOf("~0").getInteger(), -1);
  EXPECT_EQ(constantOf("!5 + 1").getInteger(), 1);
  EXPECT_EQ(constantOf("1 ? 2 : 3").getInteger(), 2);
  EXPECT_EQ(constantOf("0 ? 2 : 0 ? 3 : 4").getInteger(), 4);
  EXPECT_EQ(constantOf("1 && 0 || 1").getInteger(), 1);
  EXPECT_EQ(constantOf("WARP_SZ * 2").getInteger(), 64);
  EXPECT_EQ(constantOf("(.s64)2.9").getInteger(), 2);
  EXPECT_EQ(constantOf("1.5 + 2.5").bits, 0x4010000000000000u);
  // The one quotient that overflows.
  EXPECT_EQ(constantOf("(.s64)0x8000000000000000 / -1").bits,
            0x8000000000000000u);
}

TEST(Constants, Errors) {
  auto message = [](const char *constant) {
    Parsed parsed =
        parseText(wrapBody(std::string("mov.u64 %d0, ") + constant + ";"));
    return parsed.diagnostics.empty() ? "none" : parsed.diagnostics[0];
  };
  EXPECT_EQ(message("1 / 0"),
            "10:16: error: division by zero in a constant expression");
  EXPECT_EQ(message("0f3F80"),
            "10:14: error: constant has 4 hexadecimal digits: expected 8");
  EXPECT_EQ(message("18446744073709551616"),
            "10:14: error: integer constant does not fit in 64 bits");
  EXPECT_EQ(message("089"), "10:14: error: digit above 7 in an octal constant");
  EXPECT_EQ(message("12ab"), "10:14: error: malformed integer constant");
  EXPECT_EQ(message("0x"), "10:14: error: expected digits in a constant");
  EXPECT_EQ(message("1.5 % 2"), "10:18: error: operator needs integers");
}

TEST(Entities, RegistersOfARange) {
  auto module = parseValid(".version 8.0\n.target sm_80\n.entry k()\n{\n"
                           ".reg .b32 %r<4>, %r1<3>, %x;\n"
                           // %r12 is out of range for %r<4>: it is number 2 of
                           // %r1<3>; %r3 is number 3 of %r<4>.
                           "add.u32 %r3, %r12, %x;\n"
                           "add.u32 %r3, %r3, %x;\n}\n");
  Function &function = *module->functions[0];
  auto list = collectInstructions(*module);
  Register *r3 = list[0]->operands[0].getRegister();
  Register *r12 = list[0]->operands[1].getRegister();
  EXPECT_EQ(r3->index, 3u);
  EXPECT_EQ(*r3->decl->count, 4u);
  EXPECT_EQ(r12->index, 2u);
  EXPECT_EQ(*r12->decl->count, 3u);
  EXPECT_EQ(list[1]->operands[0].getRegister(), r3);
  // Only registers in use exist: %x and the two above.
  EXPECT_EQ(function.numRegisters, 3u);
  EXPECT_EQ(r3->decl->registers.size(), 1u);
  for (auto [i, reg] : llvm::enumerate(function.registers))
    EXPECT_EQ(reg->ordinal, i);
}

TEST(Entities, LeadingZerosOfANumber) {
  auto module = parseValid(wrapBody("add.u32 %r02, %r2, %r002;"));
  auto list = collectInstructions(*module);
  Register *r2 = list[0]->operands[0].getRegister();
  EXPECT_EQ(r2->index, 2u);
  EXPECT_EQ(list[0]->operands[1].getRegister(), r2);
  EXPECT_EQ(list[0]->operands[2].getRegister(), r2);
  EXPECT_EQ(module->functions[0]->numRegisters, 1u);
}

TEST(Entities, ScopesHideAndRestore) {
  auto module = parseValid(wrapBody(R"(
add.u32 %r1, %r1, 1;
{
  .reg .b64 %r1;
  mov.u64 %r1, 2;
  { .reg .b16 %r<9>; mov.u16 %r1, 3; mov.u16 %r2, 4; }
  mov.u64 %r1, 5;
}
add.u32 %r1, %r2, 6;
)"));
  auto list = collectInstructions(*module);
  auto type = [&](unsigned i) {
    return list[i]->operands[0].getRegister()->getType();
  };
  EXPECT_EQ(type(0), Modifier::B32);
  EXPECT_EQ(type(1), Modifier::B64);
  EXPECT_EQ(type(2), Modifier::B16);
  EXPECT_EQ(type(3), Modifier::B16);
  EXPECT_EQ(type(4), Modifier::B64);
  EXPECT_EQ(type(5), Modifier::B32);
  EXPECT_EQ(list[0]->operands[0].entity, list[5]->operands[0].entity);
  EXPECT_EQ(list[1]->operands[0].entity, list[4]->operands[0].entity);
}

TEST(Entities, LabelsOfSiblingScopes) {
  auto module = parseValid(wrapBody(R"(
{ again: @%p0 bra again; bra out; }
{ @%p1 bra again; again: bra out; }
out: ret;
)"));
  auto list = collectInstructions(*module);
  Label *first = list[0]->operands[0].getLabel();
  Label *second = list[2]->operands[0].getLabel();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first, second);
  EXPECT_EQ(list[1]->operands[0].getLabel(), list[3]->operands[0].getLabel());
  // A label knows its scope and its place there.
  for (Label *label : module->functions[0]->labels) {
    auto *statement = llvm::dyn_cast<LabelStatement>(
        label->block->statements[label->position]);
    ASSERT_TRUE(statement);
    EXPECT_EQ(statement->label, label);
  }
}

TEST(Entities, InnerLabelWinsOverOuterOne) {
  auto module = parseValid(wrapBody("x: ret;\n{ bra x;\nx: ret; }"));
  auto list = collectInstructions(*module);
  Label *target = list[1]->operands[0].getLabel();
  ASSERT_TRUE(target);
  EXPECT_NE(target->block, module->functions[0]->body);
}

TEST(Entities, FunctionsHaveOneSymbol) {
  auto module = parseValid(R"(
.version 8.0
.target sm_80
.func (.param .b32 r) f(.param .b32 a);
.func (.param .b32 r) f(.param .b32 a)
{
  ret;
}
)");
  ASSERT_EQ(module->functions.size(), 2u);
  FunctionSymbol *symbol = module->functions[0]->symbol;
  EXPECT_EQ(module->functions[1]->symbol, symbol);
  EXPECT_EQ(symbol->first, module->functions[0]);
  EXPECT_EQ(symbol->definition, module->functions[1]);
  EXPECT_EQ(module->lookupFunction("f"), module->functions[1]);
  EXPECT_EQ(module->lookupFunction("g"), nullptr);
}

TEST(Robustness, EmptyAndBlank) {
  for (const char *text : {"", " \n\t", "// nothing\n", "/* open", "\0"}) {
    Parsed parsed = parseText(text);
    ASSERT_EQ(parsed.diagnostics.size(), 1u) << text;
    EXPECT_EQ(parsed.diagnostics[0],
              "1:1: error: no .version directive: not a PTX module");
  }
}

TEST(Robustness, TruncatedAtEveryByte) {
  std::string text =
      readFile(getInputPath("Frontend/PTX/Inputs/everything.ptx"));
  ASSERT_GT(text.size(), 2000u);
  ASSERT_EQ(parseText(text).numErrors, 0u);
  for (size_t size = 0; size < text.size(); ++size) {
    Parsed parsed = parseText(llvm::StringRef(text).take_front(size));
    ASSERT_TRUE(parsed.module);
    // What came of it can be walked and printed.
    printText(*parsed.module, /*rename=*/true);
  }
}

TEST(Robustness, EveryByteReplaced) {
  std::string text =
      readFile(getInputPath("Frontend/PTX/Inputs/everything.ptx"));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    for (char c : {'\0', '{', '}', '"', '(', '\xff', '%', '.'}) {
      changed[i] = c;
      Parsed parsed = parseText(changed);
      ASSERT_TRUE(parsed.module);
    }
  }
}

TEST(Robustness, DepthIsLimited) {
  auto nested = [](const char *open, const char *middle, const char *close) {
    std::string text;
    for (int i = 0; i < 100000; ++i)
      text += open;
    text += middle;
    for (int i = 0; i < 100000; ++i)
      text += close;
    return text;
  };
  auto expectError = [](const std::string &text, const char *words) {
    Parsed parsed = parseText(text);
    ASSERT_GT(parsed.numErrors, 0u) << words;
    EXPECT_NE(parsed.diagnostics[0].find(words), std::string::npos)
        << parsed.diagnostics[0];
  };
  expectError(wrapBody(nested("{", "", "}")), "scopes are nested deeper");
  expectError(wrapBody("mov.u32 %r0, " + nested("(", "1", ")") + ";"),
              "nested deeper");
  expectError(wrapBody("mov.u32 %r0, " + nested("-", "1", "") + ";"),
              "nested deeper");
  expectError(wrapBody("mov.u32 %r0, " + nested("{", "1", "}") + ";"),
              "nested too deeply");
  expectError(wrapBody("mov.u32 %r0, " + nested("[", "1", "]") + ";"),
              "nested too deeply");
  expectError(wrapBody("mov.u32 %r0, " + nested("1?", "1", ":1") + ";"),
              "nested deeper");
  expectError(".version 8.0\n.global .u32 a = " + nested("{", "1", "}") + ";",
              "nested deeper");
}

TEST(Robustness, HugeCountsAllocateNothing) {
  auto module = parseValid(wrapBody(".reg .b32 %z<4294967295>;\n"
                                    "mov.u32 %z4294967294, 1;"));
  EXPECT_EQ(module->functions[0]->numRegisters, 1u);
  Parsed parsed = parseText(".version 8.0\n.global .u32 v<4294967295>;\n");
  ASSERT_EQ(parsed.diagnostics.size(), 1u);
  EXPECT_EQ(parsed.diagnostics[0],
            "2:16: error: declaration of 4294967295 variables: the limit is "
            "65536");
}

TEST(Robustness, ErrorsBeyondTheLimitAreCounted) {
  std::string body;
  for (int i = 0; i < 50; ++i)
    body += "mov.u32 %nowhere, 1;\n";
  ParseOptions options;
  options.maxErrors = 10;
  Parsed parsed = parseText(wrapBody(body), options);
  EXPECT_EQ(parsed.diagnostics.size(), 10u);
  EXPECT_EQ(parsed.numErrors, 50u);
}

double secondsToParse(size_t instructions) {
  std::string body;
  for (size_t i = 0; i < instructions; ++i)
    body += "L" + std::to_string(i) + ": @%p1 mad.lo.s32 %r1, %r2, %r" +
            std::to_string(i % 64) + ", " + std::to_string(i) + ";\n" +
            "bra L" + std::to_string(i / 2) + ";\n";
  std::string text = wrapBody(body);
  auto start = std::chrono::steady_clock::now();
  Parsed parsed = parseText(text);
  EXPECT_EQ(parsed.numErrors, 0u);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

TEST(Robustness, TimeIsLinear) {
  // 1 MB and 12 MB. A quadratic parser would take 144 times as long; the
  // margin is for a loaded machine.
  secondsToParse(1000);
  double small = secondsToParse(18000);
  double large = secondsToParse(216000);
  EXPECT_LT(large, 60 * small + 0.1);
}

TEST(Robustness, RecoveryIsLinear) {
  // Scopes that never close and have no line of their own: after each error
  // the search for the next statement must not read on to the end. Quadratic,
  // this takes minutes.
  for (const char *prefix : {"", "mov.b32 %r1, "}) {
    auto start = std::chrono::steady_clock::now();
    Parsed parsed = parseText(wrapBody(prefix + std::string(400000, '{')));
    EXPECT_GT(parsed.numErrors, 0u);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 20);
  }
}

} // namespace
