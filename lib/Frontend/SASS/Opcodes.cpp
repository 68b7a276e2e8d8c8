// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The opcode table as data.

#include "d2k/Frontend/SASS/Opcodes.h"

#include <cassert>
#include <iterator>
#include <string>
#include <unordered_map>

using namespace d2k::sass;

namespace {

struct Row {
  std::string_view spelling;
  std::string_view signature;
  OpcodeClass opcodeClass;
};

constexpr Row kRows[] = {
    {"", "", OpcodeClass::Unknown},
#define D2K_SASS_OPCODE(Name, Signature, Class)                                \
  {#Name, Signature, OpcodeClass::Class},
#include "d2k/Frontend/SASS/SASSOpcodes.def"
};

const Row &getRow(Opcode opcode) {
  assert(unsigned(opcode) < std::size(kRows) && "no such opcode");
  return kRows[unsigned(opcode)];
}

} // namespace

unsigned d2k::sass::getNumOpcodes() { return std::size(kRows); }

Opcode d2k::sass::findOpcode(std::string_view spelling) {
  static const auto *table = [] {
    auto *map = new std::unordered_map<std::string_view, Opcode>;
    for (size_t i = 1; i < std::size(kRows); ++i)
      map->emplace(kRows[i].spelling, Opcode(i));
    return map;
  }();
  auto found = table->find(spelling);
  return found == table->end() ? Opcode::Unknown : found->second;
}

std::string_view d2k::sass::getSpelling(Opcode opcode) {
  return getRow(opcode).spelling;
}

std::string_view d2k::sass::getSignature(Opcode opcode) {
  return getRow(opcode).signature;
}

OpcodeClass d2k::sass::getClass(Opcode opcode) {
  return getRow(opcode).opcodeClass;
}
