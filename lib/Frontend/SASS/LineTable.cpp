// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state machine of DWARF line programs (DWARF 4, section 6.2) with NVIDIA's
// extended opcodes. Input may be corrupt: every read is checked, and a row may
// be inlined only at an earlier one, so that walking up always ends.

#include "d2k/Frontend/SASS/LineTable.h"

#include <algorithm>
#include <cstdio>
#include <optional>

using namespace d2k;
using namespace d2k::sass;

namespace {

/// DW_LNS_*: operations with an opcode of their own.
enum StandardOpcode : uint8_t {
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kSetColumn = 5,
  kNegateStatement = 6,
  kSetBasicBlock = 7,
  kConstAddPc = 8,
  kFixedAdvancePc = 9,
};

/// DW_LNE_*: operations behind a zero byte, with a length.
enum ExtendedOpcode : uint8_t {
  kEndSequence = 1,
  kSetAddress = 2,
  // NVIDIA's own.
  kInlinedCall = 0x90,
  kFunctionName = 0x91,
};

/// Reads little-endian numbers and strings; after a read beyond the end
/// everything is 0 and `failed` is set.
class Cursor {
public:
  Cursor() = default;
  Cursor(std::string_view bytes, uint64_t at) : bytes(bytes), at(at) {}

  uint64_t fixed(unsigned size) {
    if (!has(size))
      return 0;
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i)
      value |= uint64_t(uint8_t(bytes[at + i])) << (8 * i);
    at += size;
    return value;
  }
  uint8_t byte() { return uint8_t(fixed(1)); }

  uint64_t uleb() { return leb(/*isSigned=*/false); }
  int64_t sleb() { return int64_t(leb(/*isSigned=*/true)); }

  std::string_view string() {
    size_t end = failed ? bytes.npos : bytes.find('\0', at);
    if (end == bytes.npos) {
      failed = true;
      return {};
    }
    std::string_view text = bytes.substr(at, end - at);
    at = end + 1;
    return text;
  }

  std::string_view bytes;
  uint64_t at = 0;
  bool failed = false;

private:
  bool has(uint64_t size) {
    failed |= at > bytes.size() || size > bytes.size() - at;
    return !failed;
  }
  uint64_t leb(bool isSigned) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      uint8_t next = byte();
      if (failed)
        return 0;
      if (shift < 64)
        value |= uint64_t(next & 0x7f) << shift;
      if (next & 0x80)
        continue;
      if (isSigned && (next & 0x40) && shift + 7 < 64)
        value |= ~uint64_t(0) << (shift + 7);
      return value;
    }
  }
};

} // namespace

static std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

/// Numbers of files, rows and names beyond 32 bits are all out of range.
static uint32_t saturate(uint64_t value) {
  return uint32_t(std::min<uint64_t>(value, UINT32_MAX));
}

/// Reads the line programs of one section into a table.
class LineTable::Reader {
public:
  Reader(std::string_view lines, std::vector<LineRelocation> relocations,
         LineTable &table)
      : lines(lines), relocations(std::move(relocations)), table(table) {}

  Result<void> run();

private:
  Result<void> readProgram(unsigned offsetSize);
  Result<void> readHeader(unsigned offsetSize);
  Result<void> readOperation();
  Result<void> readExtended();
  Result<void> readStandard(uint8_t opcode);
  Result<void> addRow();
  Result<void> setAddress(unsigned size);
  void advance(uint64_t operations) {
    row.address += operations * minimumLength;
  }
  void reset();
  tl::unexpected<Failure> fault(const std::string &what) {
    return fail(FailureKind::Input,
                "line table, offset " + hex(start) + ": " + what);
  }

  std::string_view lines;
  std::vector<LineRelocation> relocations;
  LineTable &table;
  /// The program at hand, up to its end; offsets are those of the section.
  Cursor cursor;
  uint64_t start = 0;
  uint8_t minimumLength = 1, lineRange = 1, opcodeBase = 1;
  int8_t lineBase = 0;
  std::vector<uint8_t> operandCounts;
  uint32_t firstFile = 0;

  /// The registers of the state machine.
  Row row{};
  std::string function;
  Sequence sequence;
};

void LineTable::Reader::reset() {
  row = {/*address=*/0, /*file=*/1,    /*line=*/1,
         /*column=*/0,  /*context=*/0, /*functionName=*/0};
  function.clear();
  sequence = {};
  sequence.firstFile = firstFile;
}

Result<void> LineTable::Reader::run() {
  std::sort(relocations.begin(), relocations.end(),
            [](const LineRelocation &a, const LineRelocation &b) {
              return a.offset < b.offset;
            });
  for (uint64_t at = 0; at < lines.size();) {
    start = at;
    Cursor head(lines, at);
    uint64_t size = head.fixed(4);
    unsigned offsetSize = 4;
    if (size == 0xffffffff) {
      size = head.fixed(8);
      offsetSize = 8;
    }
    if (head.failed)
      return fault("the section ends in the length of a line program");
    at = head.at;
    if (size > lines.size() - at)
      return fault("a line program of " + std::to_string(size) +
                   " bytes does not fit into the " +
                   std::to_string(lines.size() - at) +
                   " that the section has left");
    cursor = Cursor(lines.substr(0, at + size), at);
    at += size;
    Result<void> read = readProgram(offsetSize);
    if (cursor.failed)
      return fault("the line program ends in the middle of an operation");
    if (!read)
      return read;
  }
  return {};
}

Result<void> LineTable::Reader::readHeader(unsigned offsetSize) {
  uint64_t version = cursor.fixed(2);
  if (cursor.failed)
    return {};
  if (version < 2 || version > 4)
    return fault("DWARF version " + std::to_string(version) +
                 "; versions 2 to 4 are read");
  uint64_t headerLength = cursor.fixed(offsetSize);
  if (cursor.failed)
    return {};
  if (headerLength > cursor.bytes.size() - cursor.at)
    return fault("a header of " + std::to_string(headerLength) +
                 " bytes is longer than the line program");
  uint64_t program = cursor.at + headerLength;
  minimumLength = cursor.byte();
  if (version >= 4)
    cursor.byte(); // operations in a VLIW bundle
  cursor.byte();   // default of is_stmt
  lineBase = static_cast<int8_t>(cursor.byte());
  lineRange = cursor.byte();
  opcodeBase = cursor.byte();
  if (!cursor.failed && (lineRange == 0 || opcodeBase == 0))
    return fault("a line range or opcode base of 0");
  operandCounts.assign(opcodeBase, 0);
  for (unsigned i = 1; i < opcodeBase; ++i)
    operandCounts[i] = cursor.byte();
  std::vector<std::string_view> folders;
  for (std::string_view folder = cursor.string(); !folder.empty();
       folder = cursor.string())
    folders.push_back(folder);
  firstFile = uint32_t(table.files.size());
  for (std::string_view name = cursor.string(); !name.empty();
       name = cursor.string()) {
    uint64_t folder = cursor.uleb();
    cursor.uleb(); // time of modification
    cursor.uleb(); // length
    if (cursor.failed)
      break;
    if (folder > folders.size())
      return fault("file '" + std::string(name) + "' is in folder " +
                   std::to_string(folder) + " of " +
                   std::to_string(folders.size()));
    std::string path;
    if (folder != 0 && name.front() != '/')
      path = std::string(folders[folder - 1]) + "/";
    table.files.push_back(path.append(name));
  }
  if (!cursor.failed)
    cursor.at = program;
  return {};
}

Result<void> LineTable::Reader::addRow() {
  auto number = [&] { return std::to_string(sequence.rows.size() + 1); };
  if (row.context > sequence.rows.size())
    return fault("row " + number() + " is inlined at row " +
                 std::to_string(row.context) +
                 ", which does not come before it");
  if (!sequence.rows.empty() && row.address < sequence.rows.back().address)
    return fault("row " + number() + " goes back from address " +
                 hex(sequence.rows.back().address) + " to " + hex(row.address));
  size_t numFiles = table.files.size() - firstFile;
  if (row.file > numFiles)
    return fault("row " + number() + " is in file " + std::to_string(row.file) +
                 " of " + std::to_string(numFiles));
  sequence.rows.push_back(row);
  return {};
}

Result<void> LineTable::Reader::setAddress(unsigned size) {
  if (size != 4 && size != 8)
    return fault("an address of " + std::to_string(size) + " bytes");
  uint64_t place = cursor.at;
  row.address = cursor.fixed(size);
  auto found =
      std::lower_bound(relocations.begin(), relocations.end(), place,
                       [](const LineRelocation &relocation, uint64_t offset) {
                         return relocation.offset < offset;
                       });
  if (found == relocations.end() || found->offset != place)
    return {};
  if (found->function != function && !sequence.rows.empty())
    return fault("a sequence goes on in another section");
  function = found->function;
  row.address = found->value + (found->hasAddend ? 0 : row.address);
  return {};
}

Result<void> LineTable::Reader::readExtended() {
  uint64_t length = cursor.uleb();
  if (cursor.failed || length == 0)
    return {};
  if (length > cursor.bytes.size() - cursor.at)
    return fault("an extended operation of " + std::to_string(length) +
                 " bytes is longer than the line program");
  uint64_t next = cursor.at + length;
  Result<void> result;
  switch (cursor.byte()) {
  case kEndSequence:
    sequence.end = row.address;
    if (!sequence.rows.empty())
      table.sequences[function][sequence.rows.front().address] =
          std::move(sequence);
    reset();
    break;
  case kSetAddress:
    result = setAddress(unsigned(std::min<uint64_t>(length - 1, UINT8_MAX)));
    break;
  case kInlinedCall:
    row.context = saturate(cursor.uleb());
    row.functionName = saturate(cursor.uleb());
    break;
  case kFunctionName:
    row.functionName = saturate(cursor.uleb());
    break;
  default: // not ours: its length leads to the next one
    break;
  }
  if (!cursor.failed)
    cursor.at = next;
  return result;
}

Result<void> LineTable::Reader::readStandard(uint8_t opcode) {
  switch (opcode) {
  case kCopy:
    return addRow();
  case kAdvancePc:
    advance(cursor.uleb());
    break;
  case kAdvanceLine:
    row.line += uint32_t(cursor.sleb());
    break;
  case kSetFile:
    row.file = saturate(cursor.uleb());
    break;
  case kSetColumn:
    row.column = saturate(cursor.uleb());
    break;
  case kNegateStatement:
  case kSetBasicBlock:
    break;
  case kConstAddPc:
    advance(uint64_t(255 - opcodeBase) / lineRange);
    break;
  case kFixedAdvancePc:
    row.address += cursor.fixed(2);
    break;
  default:
    for (unsigned i = 0; i < operandCounts[opcode]; ++i)
      cursor.uleb();
  }
  return {};
}

Result<void> LineTable::Reader::readOperation() {
  uint8_t opcode = cursor.byte();
  if (opcode == 0)
    return readExtended();
  if (opcode < opcodeBase)
    return readStandard(opcode);
  unsigned special = opcode - opcodeBase;
  advance(special / lineRange);
  row.line += uint32_t(lineBase + int(special % lineRange));
  return addRow();
}

Result<void> LineTable::Reader::readProgram(unsigned offsetSize) {
  if (Result<void> read = readHeader(offsetSize); !read)
    return read;
  reset();
  while (!cursor.failed && cursor.at < cursor.bytes.size())
    if (Result<void> read = readOperation(); !read)
      return read;
  if (!cursor.failed && !sequence.rows.empty())
    return fault("the line program ends inside a sequence");
  return {};
}

Result<LineTable> LineTable::parse(std::string_view lines,
                                   std::string_view strings,
                                   std::vector<LineRelocation> relocations) {
  LineTable table;
  table.strings = strings;
  Result<void> read = Reader(lines, std::move(relocations), table).run();
  if (!read)
    return forwardFailure(std::move(read));
  return table;
}

/// The string at `offset` of a string section; empty when there is none.
static std::string_view getString(std::string_view section, uint32_t offset) {
  if (offset >= section.size())
    return {};
  section.remove_prefix(offset);
  return section.substr(0, section.find('\0'));
}

std::vector<LineFrame> LineTable::lookup(std::string_view function,
                                         uint64_t offset) const {
  auto found = sequences.find(function);
  if (found == sequences.end())
    return {};
  auto after = found->second.upper_bound(offset);
  if (after == found->second.begin())
    return {};
  const Sequence &sequence = std::prev(after)->second;
  if (offset >= sequence.end)
    return {};
  // Of the rows of one address the last one counts.
  auto next = std::upper_bound(
      sequence.rows.begin(), sequence.rows.end(), offset,
      [](uint64_t at, const Row &row) { return at < row.address; });
  std::vector<LineFrame> frames;
  for (const Row *row = &*std::prev(next);;) {
    // Line 0 is code that no line was compiled to.
    if (row->line != 0)
      frames.push_back({row->file == 0
                            ? std::string_view()
                            : files[sequence.firstFile + row->file - 1],
                        row->line, row->column,
                        row->context ? getString(strings, row->functionName)
                                     : std::string_view()});
    if (row->context == 0)
      return frames;
    row = &sequence.rows[row->context - 1];
  }
}
