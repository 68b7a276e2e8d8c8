// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matching operands with signatures, and the widths that depend on modifiers.

#include "Signature.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>

using namespace d2k::sass;

namespace {

/// One item of a signature; see SASSOpcodes.def.
struct Item {
  char role = 0;
  /// Letter or digits of the width; 0 is one register.
  char width = 0;
  bool optional = false;
};

/// The items of the signatures of all opcodes.
class SignatureTable {
public:
  SignatureTable() {
    signatures.resize(getNumOpcodes());
    for (unsigned i = 1; i < getNumOpcodes(); ++i) {
      std::string_view text = getSignature(Opcode(i));
      for (size_t at = 0; at < text.size(); ++at) {
        char c = text[at];
        if (c == ' ')
          continue;
        std::vector<Item> &items = signatures[i];
        if (at == 0 || text[at - 1] == ' ')
          items.push_back(Item{c, 0, false});
        else if (c == '?')
          items.back().optional = true;
        else
          items.back().width = c;
      }
    }
  }

  const std::vector<Item> &get(Opcode opcode) const {
    return signatures[unsigned(opcode)];
  }

private:
  std::vector<std::vector<Item>> signatures;
};

/// Shape of a matrix product: D is M x N, the sum runs over K.
struct Shape {
  unsigned m = 0, n = 0, k = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

static bool isValueRegister(const Operand &operand) {
  return operand.kind == OperandKind::Register && !operand.reg.isPredicate();
}

static bool fits(char role, const Operand &operand) {
  OperandKind kind = operand.kind;
  switch (role) {
  case 'd':
  case 'x':
  case 'r':
    return isValueRegister(operand);
  case 'v':
    return isValueRegister(operand) &&
           operand.reg.file == RegisterFile::General;
  case 'u':
    return isValueRegister(operand) &&
           operand.reg.file == RegisterFile::Uniform;
  case 's':
    return isValueRegister(operand) || kind == OperandKind::Integer ||
           kind == OperandKind::Float || kind == OperandKind::Constant ||
           kind == OperandKind::Symbol;
  case 'q':
    if (isValueRegister(operand) && operand.hasSuffix("SIGN"))
      return true;
    [[fallthrough]];
  case 'p':
  case 'y':
    return (kind == OperandKind::Register && operand.reg.isPredicate()) ||
           kind == OperandKind::PredicateSet;
  case 'b':
  case 'c':
    return kind == OperandKind::Register &&
           operand.reg.file == RegisterFile::Convergence;
  case 'm':
  case 'n':
  case 'k':
  case 'a':
    return kind == OperandKind::Memory || kind == OperandKind::TensorMemory ||
           kind == OperandKind::Descriptor;
  case 'i':
    return kind == OperandKind::Integer || kind == OperandKind::Float ||
           kind == OperandKind::Word || kind == OperandKind::SpecialRegister ||
           kind == OperandKind::Scoreboard || kind == OperandKind::Symbol;
  case 't':
    return kind == OperandKind::Integer || kind == OperandKind::Target ||
           kind == OperandKind::Symbol || kind == OperandKind::Word;
  default:
    break;
  }
  assert(false && "role that SASSOpcodes.def does not explain");
  return false;
}

static Access getAccess(char role) {
  switch (role) {
  case 'd':
  case 'p':
  case 'b':
  case 'n':
    return Access::Write;
  case 's':
  case 'r':
  case 'v':
  case 'u':
  case 'q':
  case 'c':
  case 'm':
    return Access::Read;
  case 'x':
  case 'y':
  case 'k':
    return Access::ReadWrite;
  default:
    return Access::None;
  }
}

//===----------------------------------------------------------------------===//
// Widths
//===----------------------------------------------------------------------===//

/// The number that \p text begins with after \p prefix, if it is all of it.
static std::optional<unsigned> readNumber(std::string_view text,
                                          std::string_view prefix = {}) {
  if (text.substr(0, prefix.size()) != prefix)
    return std::nullopt;
  text.remove_prefix(prefix.size());
  unsigned number = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end)
    return std::nullopt;
  return number;
}

/// Bits of a type modifier: `F32`, `S64`, `BF16`, `E4M3`, `F16x4` (all parts);
/// 0 when it is none.
static unsigned getTypeBits(std::string_view modifier) {
  unsigned count = 1;
  size_t cross = modifier.find('x');
  std::string_view type = modifier.substr(0, cross);
  if (cross != std::string_view::npos) {
    std::optional<unsigned> lanes = readNumber(modifier.substr(cross + 1));
    if (!lanes || *lanes > 16)
      return 0;
    count = *lanes;
  }
  static constexpr struct {
    std::string_view name;
    unsigned bits;
  } kTypes[] = {{"F64", 64}, {"S64", 64}, {"U64", 64}, {"F32", 32},
                {"S32", 32}, {"U32", 32}, {"F16", 16}, {"BF16", 16},
                {"S16", 16}, {"U16", 16}, {"S8", 8},   {"U8", 8},
                {"E4M3", 8}, {"E5M2", 8}, {"S4", 4},   {"U4", 4},
                {"TF32", 32}};
  for (const auto &entry : kTypes)
    if (entry.name == type)
      return entry.bits * count;
  return 0;
}

static unsigned toRegisters(unsigned bits) { return bits > 32 ? bits / 32 : 1; }

/// Registers that the data of a load, store or atomic has.
static unsigned getDataWidth(const Mnemonic &mnemonic) {
  unsigned width = 1;
  for (const std::string &modifier : mnemonic.modifiers) {
    std::optional<unsigned> bits = readNumber(modifier);
    if (bits && (*bits == 64 || *bits == 96 || *bits == 128 || *bits == 256))
      width = *bits / 32;
    else if (unsigned type = getTypeBits(modifier); type > 32)
      width = type / 32;
  }
  return width;
}

/// The type modifiers in order, in bits.
static std::vector<unsigned> getTypes(const Mnemonic &mnemonic) {
  std::vector<unsigned> types;
  for (const std::string &modifier : mnemonic.modifiers)
    if (unsigned bits = getTypeBits(modifier))
      types.push_back(bits);
  return types;
}

/// Reads `16816`, `8x8x4` or `64x128x16`.
static std::optional<Shape> readShape(std::string_view text) {
  size_t first = text.find('x');
  if (first != std::string_view::npos) {
    size_t second = text.find('x', first + 1);
    if (second == std::string_view::npos)
      return std::nullopt;
    std::optional<unsigned> m = readNumber(text.substr(0, first));
    std::optional<unsigned> n =
        readNumber(text.substr(first + 1, second - first - 1));
    std::optional<unsigned> k = readNumber(text.substr(second + 1));
    if (!m || !n || !k)
      return std::nullopt;
    return Shape{*m, *n, *k};
  }
  // M is 8 or 16, and N is 8.
  if (!readNumber(text) || text.size() < 3)
    return std::nullopt;
  size_t rows = text.front() == '8' ? 1 : 2;
  std::optional<unsigned> m = readNumber(text.substr(0, rows));
  std::optional<unsigned> k = readNumber(text.substr(rows + 1));
  if (!m || (*m != 8 && *m != 16) || text[rows] != '8' || !k)
    return std::nullopt;
  return Shape{*m, 8, *k};
}

/// Registers of the matrices of a product: operand \p item 0 is D, 1 is A, 2 B
/// and 3 C. \p lanes threads hold them together.
static unsigned getMatrixWidth(const Instruction &instruction, unsigned item,
                               unsigned lanes) {
  const Mnemonic &mnemonic = *instruction.mnemonic;
  Shape shape;
  for (const std::string &modifier : mnemonic.modifiers)
    if (std::optional<Shape> found = readShape(modifier)) {
      shape = *found;
      break;
    }
  unsigned elementBits = 16, sumBits = 16;
  switch (mnemonic.opcode) {
  case Opcode::DMMA:
    elementBits = sumBits = 64;
    break;
  case Opcode::IMMA:
  case Opcode::IGMMA:
    elementBits = mnemonic.has("S4") || mnemonic.has("U4") ? 4 : 8;
    sumBits = 32;
    break;
  case Opcode::BMMA:
  case Opcode::BGMMA:
    elementBits = 1;
    sumBits = 32;
    break;
  case Opcode::QMMA:
  case Opcode::QGMMA:
    elementBits = 8;
    sumBits = mnemonic.has("F32") ? 32 : 16;
    break;
  case Opcode::OMMA:
    elementBits = 4;
    sumBits = 32;
    break;
  default:
    if (mnemonic.has("TF32"))
      elementBits = 32;
    sumBits = mnemonic.has("F32") ? 32 : 16;
    break;
  }
  // Behind C are the metadata of a sparse A, or with scale factors a pair of
  // the metadata and the scale factors of A, or the latter alone.
  if (item == 4)
    return mnemonic.has("SF") && mnemonic.has("SP") ? 2 : 1;
  // Of a sparse A only every second element is stored.
  unsigned stored = mnemonic.has("SP") && item == 1 ? 2 : 1;
  unsigned elements = item == 1   ? shape.m * shape.k / stored
                      : item == 2 ? shape.k * shape.n
                                  : shape.m * shape.n;
  unsigned bits = item == 1 || item == 2 ? elementBits : sumBits;
  unsigned width = elements * bits / (lanes * 32);
  return width ? width : 1;
}

/// Registers of a matrix load or store (LDSM, STSM): the number of matrices,
/// twice as many for the 16 x 16 ones.
static unsigned getFragmentWidth(const Mnemonic &mnemonic) {
  unsigned count = 1;
  bool isWide = false;
  for (const std::string &modifier : mnemonic.modifiers) {
    if (modifier == "2" || modifier == "4")
      count = modifier == "2" ? 2 : 4;
    isWide |= modifier == "MT1616";
  }
  return isWide ? 2 * count : count;
}

/// Registers of LDTM and STTM: repetitions times the width of one row.
static unsigned getTensorMemoryWidth(const Mnemonic &mnemonic) {
  unsigned count = 1, row = 1;
  for (const std::string &modifier : mnemonic.modifiers) {
    if (std::optional<unsigned> times = readNumber(modifier, "x"))
      count = *times;
    else if (modifier == "16dp128bit")
      row = 2;
    else if (modifier == "16dp256bit")
      row = 4;
  }
  return count * row;
}

/// Coordinates of a TMA instruction: `2D` has two; gathers and scatters have
/// one column and four rows.
static unsigned getCoordinates(const Mnemonic &mnemonic) {
  if (mnemonic.has("GATHER4") || mnemonic.has("SCATTER4"))
    return 5;
  for (const std::string &modifier : mnemonic.modifiers)
    if (modifier.size() == 2 && modifier[1] == 'D')
      return unsigned(modifier[0] - '0');
  return 1;
}

/// 256 bits are in two groups of registers. A mask behind the address says
/// which of the eight words are loaded: the upper half for the first group, the
/// lower one for the second; the registers of a group have no gaps.
static unsigned getHalfWidth(const Instruction &instruction, unsigned item) {
  const Operand &last = instruction.operands.back();
  if (last.kind != OperandKind::Integer)
    return 4;
  // Item 1 of LDG is the first group, item 2 the second.
  unsigned words = unsigned(last.integer) >> (item == 1 ? 4 : 0) & 0xf;
  return unsigned(std::popcount(words));
}

/// Registers of a texture instruction by item of its signature: destinations
/// (1 and 2) and coordinates (3 and 4).
static unsigned getTextureWidth(const Instruction &instruction, unsigned item) {
  const Mnemonic &mnemonic = *instruction.mnemonic;
  auto has = [&](const char *modifier) { return mnemonic.has(modifier); };
  unsigned components = 4, coordinates = 0, dimensions = 0;
  bool sawShape = false;
  for (const Operand &operand : instruction.operands) {
    if (operand.kind == OperandKind::Word) {
      sawShape = true;
      bool isArray = operand.name.find("ARRAY") != std::string::npos;
      if (operand.name.find("CUBE") != std::string::npos)
        dimensions = 3;
      else
        for (unsigned n : {1u, 2u, 3u})
          if (operand.name.find(std::to_string(n) + "D") != std::string::npos)
            dimensions = n;
      coordinates = dimensions + isArray;
    } else if (operand.kind == OperandKind::Integer && sawShape) {
      // The last number behind the shape (TXQ: behind the query) is the mask.
      components = unsigned(std::popcount(uint64_t(operand.integer) & 0xf));
    }
  }
  // Item 1 gets the components from the third on, item 2 the first two.
  if (item == 1)
    return components > 2 ? components - 2 : 1;
  if (item == 2)
    return components > 2 ? 2 : std::max(components, 1u);
  // B: the handle is in a register. A gather may spell its component so, too.
  auto handles = unsigned(
      std::count(mnemonic.modifiers.begin(), mnemonic.modifiers.end(), "B"));
  if (mnemonic.opcode == Opcode::TLD4 && !has("R") && !has("G") && !has("A"))
    handles -= std::min(handles, 1u);
  // A derivative a dimension in x and in y; the handle is not beside them.
  if (mnemonic.opcode == Opcode::TXD)
    return item == 3 ? coordinates + handles : 2 * dimensions;
  // Level, sample, offsets, and what a depth is compared with.
  unsigned extra =
      handles + (has("LL") || has("LB")) + has("MS") + has("AOFFI") + has("DC");
  unsigned all = coordinates + extra;
  if (!has("SCR"))
    return item == 3 ? coordinates : std::max(extra, 1u);
  // Spread evenly.
  return item == 3 ? (all + 1) / 2 : std::max(all / 2, 1u);
}

/// Registers of the coordinates of a surface.
static unsigned getSurfaceCoordinates(const Mnemonic &mnemonic) {
  for (const std::string &modifier : mnemonic.modifiers) {
    if (modifier.size() < 2 || modifier[1] != 'D')
      continue;
    // The index in an array is one more.
    unsigned layer = modifier.find("ARRAY") == std::string::npos ? 0 : 1;
    return unsigned(modifier[0] - '0') + layer;
  }
  return 1;
}

/// The widths that the letter `j` stands for: item \p item of the signature.
static unsigned computeWidth(const Instruction &instruction, unsigned item) {
  const Mnemonic &mnemonic = *instruction.mnemonic;
  auto has = [&](const char *modifier) { return mnemonic.has(modifier); };
  switch (mnemonic.opcode) {
  case Opcode::HMMA:
  case Opcode::IMMA:
  case Opcode::DMMA:
  case Opcode::BMMA:
  case Opcode::QMMA:
  case Opcode::OMMA:
    return getMatrixWidth(instruction, item, 32);
  case Opcode::HGMMA:
  case Opcode::IGMMA:
  case Opcode::QGMMA:
  case Opcode::BGMMA:
    // Item 2 are the descriptors of A and B in shared memory; the registers of
    // the first are named also when A is in registers.
    if (item == 2)
      return 4;
    return getMatrixWidth(instruction, item, 128);
  case Opcode::IMAD:
  case Opcode::UIMAD:
    // D and C are wide, A and B are not; HI keeps the upper half of the sum.
    if (has("WIDE"))
      return 2;
    return has("HI") && item == 4 ? 2 : 1;
  case Opcode::CS2R:
  case Opcode::CS2UR:
    return has("32") ? 1 : 2;
  case Opcode::LDG:
  case Opcode::STG: {
    unsigned width = getDataWidth(mnemonic);
    return width == 8 ? getHalfWidth(instruction, item) : width;
  }
  case Opcode::LDSM:
  case Opcode::STSM:
    return getFragmentWidth(mnemonic);
  case Opcode::LDTM:
  case Opcode::STTM:
    return has("STAT") && item == 0 ? 1 : getTensorMemoryWidth(mnemonic);
  case Opcode::SYNCS:
  case Opcode::SYNCSU:
    // An arrival returns the state of 64 bits.
    return has("EXCH") || has("CAS") || (item == 1 && has("ARRIVE")) ? 2 : 1;
  case Opcode::UTMALDG:
    return 2 + getCoordinates(mnemonic);
  case Opcode::UTMASTG:
  case Opcode::UTMAREDG:
    return 1 + getCoordinates(mnemonic);
  case Opcode::UTMAPF:
    return getCoordinates(mnemonic);
  case Opcode::UBLKCP:
  case Opcode::UBLKRED:
    // Source in global memory: 64 bits. In shared memory 32; the destination
    // there is followed by the mbarrier.
    if (item == 0)
      return 2;
    return mnemonic.modifiers.size() > 1 && mnemonic.modifiers[1] == "G" ? 2
                                                                         : 1;
  case Opcode::UTCHMMA:
  case Opcode::UTCIMMA:
  case Opcode::UTCQMMA:
  case Opcode::UTCOMMA:
    // A is a matrix descriptor or in tensor memory. The other computed item
    // is the mask of output lanes.
    if (item == 0)
      return instruction.operands[0].kind == OperandKind::Descriptor ? 2 : 1;
    // With .WS it is a descriptor of columns that are zero.
    if (has("WS"))
      return 2;
    return has("2CTA") ? 8 : 4;
  case Opcode::TEX:
  case Opcode::TLD:
  case Opcode::TLD4:
  case Opcode::TXD:
  case Opcode::TXQ:
    return getTextureWidth(instruction, item);
  case Opcode::SULD:
    if (item == 1)
      return getSurfaceCoordinates(mnemonic);
    return has("P") ? 4 : getDataWidth(mnemonic);
  case Opcode::SUST:
    if (item == 0)
      return getSurfaceCoordinates(mnemonic);
    return has("P") ? 4 : getDataWidth(mnemonic);
  case Opcode::SURED:
    return getSurfaceCoordinates(mnemonic);
  default:
    break;
  }
  assert(false && "width that is not computed");
  return 1;
}

static unsigned getWidth(const Instruction &instruction, const Item &item,
                         unsigned index, const Operand &operand) {
  const Mnemonic &mnemonic = *instruction.mnemonic;
  auto has = [&](const char *modifier) { return mnemonic.has(modifier); };
  switch (item.width) {
  case 0:
    return 1;
  case 'z':
    return getDataWidth(mnemonic);
  case 'w':
    return has("WIDE") || has("64") || has("S64") || has("U64") || has("F64")
               ? 2
               : 1;
  case 'f':
    return has("F64") ? 2 : 1;
  case 'l':
    return has("64") || has("S64") || has("U64") ? 2 : 1;
  case 'g':
  case 'h': {
    std::vector<unsigned> types = getTypes(mnemonic);
    size_t at = item.width == 'g' ? 0 : 1;
    return at < types.size() ? toRegisters(types[at]) : 1;
  }
  case 'v':
    return operand.hasSuffix("F32") ? 1 : 2;
  case 'e':
    return operand.address.wideBase ||
                   (has("E") && !operand.address.unsignedBase)
               ? 2
               : 1;
  case 'j':
    return computeWidth(instruction, index);
  default:
    return unsigned(item.width - '0');
  }
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// The widths of the registers in an address.
static void setAddressWidths(const Instruction &instruction, unsigned width,
                             Operand &operand) {
  Address &address = operand.address;
  if (address.base.isConstant() && !address.unsignedBase) {
    address.uniformWidth = uint8_t(width);
    return;
  }
  address.baseWidth = uint8_t(address.wideBase       ? 2
                              : address.unsignedBase ? 1
                                                     : width);
  // A uniform summand of a 64-bit address has 64 bits.
  if (instruction.mnemonic->has("E"))
    address.uniformWidth = 2;
}

bool d2k::sass::applySignature(Instruction &instruction) {
  static const auto *table = new SignatureTable;
  if (instruction.getOpcode() == Opcode::Unknown)
    return false;
  const std::vector<Item> &items = table->get(instruction.getOpcode());
  std::vector<Operand> &operands = instruction.operands;

  std::vector<unsigned> matched;
  matched.reserve(operands.size());
  // A number in `WARPSYNC.COLLECTIVE.ALL 0x2de0` is a place, elsewhere in
  // WARPSYNC it may be the mask.
  bool namesPlace = instruction.getOpcode() == Opcode::WARPSYNC &&
                    instruction.has("COLLECTIVE");
  for (unsigned i = 0; i < items.size(); ++i) {
    bool isMask = items[i].role == 's';
    if (matched.size() < operands.size() &&
        fits(items[i].role, operands[matched.size()]) &&
        !(namesPlace && isMask && matched.size() + 1 == operands.size()))
      matched.push_back(i);
    else if (!items[i].optional)
      return false;
  }
  if (matched.size() != operands.size())
    return false;

  for (size_t i = 0; i < operands.size(); ++i) {
    const Item &item = items[matched[i]];
    Operand &operand = operands[i];
    operand.access = getAccess(item.role);
    unsigned width = getWidth(instruction, item, matched[i], operand);
    switch (operand.kind) {
    case OperandKind::Register:
      operand.width = uint8_t(width);
      break;
    case OperandKind::Memory:
    case OperandKind::Descriptor:
    case OperandKind::TensorMemory:
      setAddressWidths(instruction, width, operand);
      break;
    case OperandKind::Integer:
      if (item.role == 't')
        operand.kind = OperandKind::Target;
      break;
    case OperandKind::Word:
      if (item.role == 't') {
        operand.kind = OperandKind::Target;
        operand.integer = -1;
      }
      break;
    default:
      break;
    }
  }
  return true;
}
