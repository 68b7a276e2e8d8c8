// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Line programs written by hand, byte by byte: frames of inlined code, rows
// that share an address, relocations, and what a corrupt table says.

#include "d2k/Frontend/SASS/LineTable.h"

#include "gtest/gtest.h"

#include <sstream>

using namespace d2k;
using namespace d2k::sass;
using namespace std::string_literals;

namespace {

/// Writes one line program of DWARF version 2 (section 6.2 of the standard),
/// with line base -5, line range 14 and opcode base 10, as ptxas does.
class Program {
public:
  Program() {
    header = "\x01\x01\xfb\x0e\x0a"s + "\x00\x01\x01\x01\x01\x00\x00\x00\x01"s;
    header += "/src\0/inc\0\0"s;
    header += "main.cu\0\x01\x00\x00"s; // file 1 in folder 1
    header += "wait.h\0\x02\x00\x00"s;  // file 2 in folder 2
    header += "/whole/path.h\0\x00\x00\x00"s;
    header += "\0"s;
  }

  Program &address(uint64_t value) {
    code += "\x00\x09\x02"s;
    places.push_back(code.size());
    for (unsigned i = 0; i < 8; ++i)
      code += char(value >> (8 * i));
    return *this;
  }
  Program &file(char number) { return op({4, number}); }
  Program &advanceLine(char by) { return op({3, char(by & 0x7f)}); }
  Program &advancePc(char by) { return op({2, by}); }
  Program &row() { return op({1}); }
  Program &inlined(char context, char name) {
    return op({0, 3, char(0x90), context, name});
  }
  Program &endSequence() { return op({0, 1, 1}); }
  Program &op(std::initializer_list<char> bytes) {
    code.append(bytes.begin(), bytes.end());
    return *this;
  }

  std::string finish() const {
    auto word = [](uint32_t value) {
      std::string bytes;
      for (unsigned i = 0; i < 4; ++i)
        bytes += char(value >> (8 * i));
      return bytes;
    };
    std::string rest =
        "\x02\x00"s + word(uint32_t(header.size())) + header + code;
    return word(uint32_t(rest.size())) + rest;
  }
  /// Offset in the section of the `index`th address operand.
  uint64_t place(size_t index) const {
    return 10 + header.size() + places[index];
  }

  std::string header, code;

private:
  std::vector<size_t> places;
};

std::string describe(const std::vector<LineFrame> &frames) {
  std::string text;
  for (const LineFrame &frame : frames)
    text += (text.empty() ? "" : " < ") + std::string(frame.file) + ":" +
            std::to_string(frame.line) +
            (frame.function.empty() ? "" : " " + std::string(frame.function));
  return text;
}

TEST(LineTable, InlinedFrames) {
  // Row 1: main.cu:10 at 0. Row 2: main.cu:20 at 16; row 3, at the same
  // address, is wait.h:5 inlined there. Row 4, at 32, is wait.h:7, inlined at
  // row 3. Row 5, at 48, is main.cu:20 again; the sequence ends at 64.
  Program program;
  program.address(0).advanceLine(9).row();
  program.advanceLine(10).advancePc(16).row();
  program.file(2).inlined(2, 1).advanceLine(-15).row();
  program.inlined(3, 6).advanceLine(2).advancePc(16).row();
  program.file(1).inlined(0, 0).advanceLine(13).advancePc(16).row();
  program.advancePc(16).endSequence();
  std::string bytes = program.finish();
  std::string names = "\0wait\0poll\0"s;
  Result<LineTable> table =
      LineTable::parse(bytes, names, {{program.place(0), "k", 0, true}});
  ASSERT_TRUE(bool(table)) << table.error().message;
  EXPECT_EQ(describe(table->lookup("k", 0)), "/src/main.cu:10");
  EXPECT_EQ(describe(table->lookup("k", 15)), "/src/main.cu:10");
  EXPECT_EQ(describe(table->lookup("k", 16)),
            "/inc/wait.h:5 wait < /src/main.cu:20");
  EXPECT_EQ(describe(table->lookup("k", 32)),
            "/inc/wait.h:7 poll < /inc/wait.h:5 wait < /src/main.cu:20");
  EXPECT_EQ(describe(table->lookup("k", 48)), "/src/main.cu:20");
  EXPECT_EQ(describe(table->lookup("k", 64)), "");
  EXPECT_EQ(describe(table->lookup("j", 0)), "");
  EXPECT_EQ(describe(table->lookup("l", 0)), "");
}

TEST(LineTable, SequencesBySectionAndOffset) {
  // Two functions: one at offset 256 of f, by a relocation without
  // addend, so that the operand counts; one at the start of g. Row
  // numbers start anew with each sequence.
  Program program;
  program.address(256).row().advanceLine(1).advancePc(16).row();
  program.advancePc(16).endSequence();
  program.address(0).file(3).advanceLine(2).row();
  program.file(1).inlined(1, 0).row().advancePc(16).endSequence();
  std::string bytes = program.finish();
  std::string names = "f\0"s;
  Result<LineTable> table = LineTable::parse(
      bytes, names,
      // Not in order.
      {{program.place(1), "g", 0, true}, {program.place(0), "f", 0, false}});
  ASSERT_TRUE(bool(table)) << table.error().message;
  EXPECT_EQ(describe(table->lookup("f", 0)), "");
  EXPECT_EQ(describe(table->lookup("f", 256)), "/src/main.cu:1");
  EXPECT_EQ(describe(table->lookup("f", 272)), "/src/main.cu:2");
  EXPECT_EQ(describe(table->lookup("f", 288)), "");
  EXPECT_EQ(describe(table->lookup("g", 0)),
            "/src/main.cu:3 f < /whole/path.h:3");
}

TEST(LineTable, SpecialAndUnknownOperations) {
  // A special opcode adds (opcode - 10) / 14 to the address and
  // -5 + (opcode - 10) % 14 to the line: 62 = 10 + 3 * 14 + 10 adds 3 and 5.
  // Operation 9 (fixed_advance_pc) has a 16-bit operand; extended operation
  // 0x85 is unknown and skipped.
  Program program;
  program.address(0).op({62}).op({9, 0, 1}).op({0, 3, char(0x85), 1, 2}).row();
  program.advancePc(1).endSequence();
  std::string bytes = program.finish();
  Result<LineTable> table = LineTable::parse(bytes, "", {});
  ASSERT_TRUE(bool(table)) << table.error().message;
  EXPECT_EQ(describe(table->lookup("", 2)), "");
  EXPECT_EQ(describe(table->lookup("", 3)), "/src/main.cu:6");
  EXPECT_EQ(describe(table->lookup("", 259)), "/src/main.cu:6");
  EXPECT_EQ(describe(table->lookup("", 260)), "");
}

TEST(LineTable, FileZeroHasNoName) {
  Program program;
  program.address(0).file(0).advanceLine(6).row().advancePc(16).endSequence();
  std::string bytes = program.finish();
  Result<LineTable> table = LineTable::parse(bytes, "", {});
  ASSERT_TRUE(bool(table)) << table.error().message;
  EXPECT_EQ(describe(table->lookup("", 0)), ":7");
}

TEST(LineTable, LineZeroIsNoLine) {
  Program program;
  program.address(0).advanceLine(-1).row().advancePc(16).endSequence();
  std::string bytes = program.finish();
  Result<LineTable> table = LineTable::parse(bytes, "", {});
  ASSERT_TRUE(bool(table)) << table.error().message;
  EXPECT_FALSE(table->empty());
  EXPECT_EQ(describe(table->lookup("", 0)), "");
}

std::string getError(std::string_view bytes) {
  Result<LineTable> table = LineTable::parse(bytes, "", {});
  return table ? "none" : table.error().message;
}

TEST(LineTable, CorruptTables) {
  Program program;
  program.address(0).row().inlined(2, 0).row().endSequence();
  EXPECT_EQ(getError(program.finish()),
            "line table, offset 0x0: row 2 is inlined at row 2, which does not "
            "come before it");

  program = {};
  program.address(16).row().address(0).row().endSequence();
  EXPECT_EQ(getError(program.finish()),
            "line table, offset 0x0: row 2 goes back from address 0x10 to 0x0");

  program = {};
  program.file(4).row().endSequence();
  EXPECT_EQ(getError(program.finish()),
            "line table, offset 0x0: row 1 is in file 4 of 3");

  program = {};
  program.row();
  EXPECT_EQ(getError(program.finish()),
            "line table, offset 0x0: the line program ends inside a sequence");

  program = {};
  program.row().endSequence();
  std::string bytes = program.finish();
  EXPECT_EQ(getError(bytes), "none");
  std::string dwarf5 = bytes;
  std::ostringstream hex;
  hex << std::hex << bytes.size();
  dwarf5[4] = 5;
  EXPECT_EQ(getError(bytes + dwarf5),
            "line table, offset 0x" + hex.str() +
                ": DWARF version 5; versions 2 to 4 are read");
}

TEST(LineTable, TruncatedTables) {
  Program program;
  program.address(0).advanceLine(9).row();
  program.file(2).inlined(1, 1).row().advancePc(16).endSequence();
  std::string bytes = program.finish();
  // Cut anywhere, with the length left as it is or made to fit: an error or a
  // table, never a read outside.
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::string cut = bytes.substr(0, size);
    std::string error = getError(cut);
    EXPECT_EQ(error == "none", size == 0) << size;
    if (size < 4)
      continue;
    cut[0] = char(size - 4);
    cut[1] = cut[2] = cut[3] = 0;
    EXPECT_NE(getError(cut), "") << size;
  }
}

} // namespace
