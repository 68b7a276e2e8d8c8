// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PtxProgram.h"

#include "include/Execution.h"

#include <bit>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <map>

using namespace d2k::host;
using namespace d2k::host::ptx;

bool Instruction::has(std::string_view part) const {
  for (const std::string &candidate : parts)
    if (candidate == part)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

namespace {

/// Reads the text of one asm statement.
class Parser {
public:
  Parser(std::string_view text) : text(text) {}

  bool parse(std::vector<Instruction> &instructions);
  std::string error;
  size_t registerCount = 0;

private:
  void skipSpace();
  bool accept(std::string_view word);
  std::string readWord(std::string_view more);
  bool parseRegisters();
  bool parseInstruction(Instruction &instruction);
  bool parseArgument(Argument &argument);
  bool parsePlace(Place &place);
  bool fail(const std::string &message) {
    if (error.empty())
      error = message + " before `" + std::string(text.substr(at, 30)) + "`";
    return false;
  }

  std::string_view text;
  size_t at = 0;
  std::map<std::string, size_t> registers;
};

} // namespace

void Parser::skipSpace() {
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      while (at < text.size() && text[at] != '\n')
        ++at;
    } else if (text.substr(at, 2) == "/*") {
      size_t end = text.find("*/", at);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      return;
    }
  }
}

bool Parser::accept(std::string_view word) {
  skipSpace();
  if (text.substr(at, word.size()) != word)
    return false;
  at += word.size();
  return true;
}

/// Letters, digits and what is in \p more.
std::string Parser::readWord(std::string_view more) {
  skipSpace();
  size_t start = at;
  while (at < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[at])) ||
          more.find(text[at]) != std::string_view::npos))
    ++at;
  return std::string(text.substr(start, at - start));
}

/// After `.reg`: `.b32 a, b<4>;`
bool Parser::parseRegisters() {
  readWord("."); // The type; every register has room for 64 bits.
  do {
    std::string name = readWord("_$%");
    if (name.empty())
      return fail("no name of a register");
    if (accept("<")) {
      int count = std::atoi(readWord("").c_str());
      for (int i = 0; i < count; ++i)
        registers[name + std::to_string(i)] = registerCount++;
      if (!accept(">"))
        return fail("`>` expected");
    } else {
      registers[name] = registerCount++;
    }
  } while (accept(","));
  return accept(";") || fail("`;` expected");
}

bool Parser::parsePlace(Place &place) {
  place.isNegated = accept("!");
  skipSpace();
  if (at >= text.size())
    return fail("the text ends");
  if (text.substr(at, 2) == "%%") { // A special register.
    at += 2;
    place.kind = Place::Special;
    place.name = readWord("._");
    return true;
  }
  if (text[at] == '%') {
    ++at;
    place.kind = Place::Operand;
    place.index = size_t(std::atoi(readWord("").c_str()));
    return true;
  }
  std::string word = readWord("_$.-+");
  if (word == "_")
    return true;
  if (auto found = registers.find(word); found != registers.end()) {
    place.kind = Place::Register;
    place.index = found->second;
    return true;
  }
  place.kind = Place::Immediate;
  bool isHexFloat =
      word.size() > 2 && word[0] == '0' &&
      (word[1] == 'f' || word[1] == 'F' || word[1] == 'd' || word[1] == 'D');
  if (isHexFloat) {
    place.value = std::strtoull(word.c_str() + 2, nullptr, 16);
    return true;
  }
  if (!word.empty() && word.find('.') != std::string::npos) {
    place.value = std::bit_cast<uint64_t>(std::strtod(word.c_str(), nullptr));
    place.name = "double";
    return true;
  }
  char *end = nullptr;
  place.value = uint64_t(std::strtoll(word.c_str(), &end, 0));
  return (!word.empty() && *end == 0) ||
         fail("`" + word + "` is no register and no number");
}

bool Parser::parseArgument(Argument &argument) {
  if (accept("{")) {
    argument.isVector = true;
    do {
      Place place;
      if (!parsePlace(place))
        return false;
      argument.places.push_back(place);
    } while (accept(","));
    return accept("}") || fail("`}` expected");
  }
  argument.isAddress = accept("[");
  Place place;
  if (!parsePlace(place))
    return false;
  argument.places.push_back(place);
  if (argument.isAddress) {
    if (accept("+")) {
      Place offset;
      if (!parsePlace(offset))
        return false;
      if (offset.kind == Place::Immediate)
        argument.offset = int64_t(offset.value);
      else
        return fail("an offset that is no number");
    }
    return accept("]") || fail("`]` expected");
  }
  // `p|q`: the second result is of setp and shfl.
  if (accept("|")) {
    Place second;
    if (!parsePlace(second))
      return false;
    argument.places.push_back(second);
  }
  return true;
}

bool Parser::parseInstruction(Instruction &instruction) {
  if (accept("@") && !parsePlace(instruction.guard))
    return false;
  instruction.text = readWord("._:");
  std::string part;
  for (size_t i = 0; i <= instruction.text.size(); ++i) {
    if (i == instruction.text.size() || instruction.text[i] == '.') {
      instruction.parts.push_back(part);
      part.clear();
    } else {
      part += instruction.text[i];
    }
  }
  if (instruction.text.empty())
    return fail("no instruction");
  while (!accept(";")) {
    skipSpace();
    if (at >= text.size())
      break; // The last `;` may be left out.
    Argument argument;
    if (!parseArgument(argument))
      return false;
    instruction.arguments.push_back(std::move(argument));
    accept(",");
  }
  if (!findArithmetic(instruction) && !findMemory(instruction) &&
      !findMatrix(instruction))
    return fail("the host has no " + instruction.text);
  return true;
}

bool Parser::parse(std::vector<Instruction> &instructions) {
  for (;;) {
    skipSpace();
    if (at >= text.size())
      return true;
    // Names of inner blocks are not needed twice in what people write inline.
    if (accept("{") || accept("}") || accept(";"))
      continue;
    if (accept(".reg")) {
      if (!parseRegisters())
        return false;
      continue;
    }
    Instruction instruction;
    if (!parseInstruction(instruction))
      return false;
    instructions.push_back(std::move(instruction));
  }
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

static uint64_t readSpecial(const std::string &name) {
  unsigned lane = getLane();
  auto ofVector = [&](const char *prefix, auto vector, uint64_t &value) {
    if (name.compare(0, std::strlen(prefix), prefix) != 0)
      return false;
    char axis = name.back();
    value = axis == 'x' ? vector.x : axis == 'y' ? vector.y : vector.z;
    return true;
  };
  uint64_t value = 0;
  if (ofVector("tid.", threadIdx, value) ||
      ofVector("ctaid.", blockIdx, value) ||
      ofVector("ntid.", blockDim, value) || ofVector("nctaid.", gridDim, value))
    return value;
  if (name == "laneid")
    return lane;
  if (name == "warpid")
    return getThreadRank() / 32;
  if (name == "lanemask_eq")
    return 1u << lane;
  if (name == "lanemask_lt")
    return (1u << lane) - 1;
  if (name == "lanemask_le")
    return (2u << lane) - 1;
  if (name == "lanemask_gt")
    return ~((2u << lane) - 1);
  if (name == "lanemask_ge")
    return ~((1u << lane) - 1);
  if (name == "cluster_ctarank")
    return getClusterRank();
  if (name == "cluster_nctarank")
    return getClusterSize();
  if (name == "smid")
    return blockIdx.x % 132;
  if (name == "globaltimer" || name == "clock64" || name == "clock")
    return uint64_t(
        std::chrono::steady_clock::now().time_since_epoch().count());
  failLaunch("the host has no special register %%%s", name.c_str());
}

uint64_t Frame::get(const Place &place) const {
  switch (place.kind) {
  case Place::Operand:
    if (place.index >= count)
      failLaunch("asm has no operand %%%zu", place.index);
    return written[place.index];
  case Place::Register: {
    uint64_t bits = registers[place.index];
    return place.isNegated ? !bits : bits;
  }
  case Place::Immediate:
    return place.value;
  case Place::Special:
    return readSpecial(place.name);
  case Place::Nothing:
    return 0;
  }
  return 0;
}

void Frame::set(const Place &place, uint64_t bits) {
  if (place.kind == Place::Operand) {
    if (place.index >= count || !operands[place.index].target)
      failLaunch("asm writes operand %%%zu, which is no output", place.index);
    if (operands[place.index].bytes < 8)
      bits &= (uint64_t(1) << 8 * operands[place.index].bytes) - 1;
    written[place.index] = bits;
  } else if (place.kind == Place::Register) {
    registers[place.index] = bits;
  } else if (place.kind != Place::Nothing) {
    failLaunch("asm writes to what is no register");
  }
}

float Frame::getFloat(const Place &place) const {
  uint64_t bits = get(place);
  if (place.kind == Place::Immediate && place.name == "double")
    return float(std::bit_cast<double>(bits));
  return std::bit_cast<float>(uint32_t(bits));
}

void Frame::setFloat(const Place &place, float value) {
  set(place, std::bit_cast<uint32_t>(value));
}

void Frame::finish() {
  for (size_t i = 0; i < count; ++i)
    if (operands[i].target)
      std::memcpy(operands[i].target, &written[i], operands[i].bytes);
}

unsigned d2k::host::ptx::getTypeBytes(std::string_view type) {
  if (type == "b128")
    return 16;
  if (type == "pred")
    return 1;
  unsigned bits = 0;
  size_t i = type.find_first_of("0123456789");
  if (i == std::string_view::npos)
    failLaunch("the host does not know the type .%.*s", int(type.size()),
               type.data());
  while (i < type.size() && std::isdigit(static_cast<unsigned char>(type[i])))
    bits = bits * 10 + unsigned(type[i++] - '0');
  if (i < type.size() && type[i] == 'x')
    bits *= unsigned(type[i + 1] - '0');
  return bits / 8;
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

struct Program::Implementation {
  std::vector<Instruction> instructions;
  int line = 0;
  std::string error;
};

Program::Program(const char *text, int line)
    : implementation(std::make_unique<Implementation>()) {
  Parser parser(text);
  if (!parser.parse(implementation->instructions))
    implementation->error = parser.error;
  if (parser.registerCount > Frame::kMostRegisters)
    implementation->error = "too many registers";
  implementation->line = line;
}

Program::~Program() = default;

void Program::run(std::initializer_list<ptx::Operand> operands) const {
  if (operands.size() > Frame::kMostOperands)
    failLaunch("asm in line %d has too many operands", implementation->line);
  if (!implementation->error.empty())
    failLaunch("asm in line %d: %s", implementation->line,
               implementation->error.c_str());
  Frame frame(operands.begin(), operands.size());
  for (const Instruction &instruction : implementation->instructions) {
    if (instruction.guard.kind != Place::Nothing) {
      bool holds = frame.get(instruction.guard) != 0;
      if (!holds)
        continue;
    }
    instruction.execute(frame, instruction);
  }
  frame.finish();
}
