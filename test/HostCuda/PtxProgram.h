// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsed inline PTX, and what its instructions are made of.

#ifndef D2K_TEST_HOSTCUDA_PTXPROGRAM_H
#define D2K_TEST_HOSTCUDA_PTXPROGRAM_H

#include "include/Ptx.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::host::ptx {

/// Where a value is.
struct Place {
  enum Kind : uint8_t {
    /// Operand of asm, or register that the text declares.
    Operand,
    Register,
    Immediate,
    /// A special register, such as %laneid.
    Special,
    /// `_`
    Nothing,
  };
  Kind kind = Nothing;
  /// Predicates: `!p`.
  bool isNegated = false;
  size_t index = 0;
  uint64_t value = 0;
  std::string name;
};

/// An operand of an instruction: a value, a vector, or an address.
struct Argument {
  std::vector<Place> places;
  bool isVector = false, isAddress = false;
  int64_t offset = 0;
};

class Frame;

struct Instruction {
  /// "mma.sync.aligned...": as written, and what is between its dots.
  std::string text;
  std::vector<std::string> parts;
  std::vector<Argument> arguments;
  /// `@p` before it.
  Place guard;
  void (*execute)(Frame &, const Instruction &) = nullptr;
  /// What the instruction's own code has found in its parts.
  int numbers[6] = {};

  /// Whether it has the modifier \p part.
  bool has(std::string_view part) const;
  /// The last part, a type.
  const std::string &getType() const { return parts.back(); }
};

/// The state of one call.
class Frame {
public:
  /// Operands of asm (GCC takes no more), and registers in its text.
  static constexpr size_t kMostOperands = 32, kMostRegisters = 64;

  Frame(const Operand *operands, size_t count)
      : operands(operands), count(count) {
    for (size_t i = 0; i < count; ++i)
      written[i] = operands[i].bits;
  }

  uint64_t get(const Place &place) const;
  void set(const Place &place, uint64_t bits);
  uint64_t get(const Argument &argument) const {
    return get(argument.places.front());
  }
  void set(const Argument &argument, uint64_t bits) {
    set(argument.places.front(), bits);
  }
  /// An address with its offset.
  uint64_t getAddress(const Argument &argument) const {
    return get(argument) + uint64_t(argument.offset);
  }
  float getFloat(const Place &place) const;
  void setFloat(const Place &place, float value);
  /// Puts the results where they belong.
  void finish();

private:
  const Operand *operands;
  size_t count;
  uint64_t registers[kMostRegisters];
  uint64_t written[kMostOperands];
};

/// Finds the code of an instruction; false when these have none for it.
bool findArithmetic(Instruction &instruction);
bool findMemory(Instruction &instruction);
bool findMatrix(Instruction &instruction);

/// The bits of a pair of numbers, whose types std::bit_cast refuses.
template <typename T>
uint32_t packPair(const T &pair) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  uint32_t bits;
  std::memcpy(&bits, &pair, sizeof(bits));
  return bits;
}
template <typename T>
T unpackPair(uint32_t bits) {
  T pair;
  std::memcpy(static_cast<void *>(&pair), &bits, sizeof(bits));
  return pair;
}

/// Size of a type such as "f32", in bytes; of a vector type the whole.
unsigned getTypeBytes(std::string_view type);

} // namespace d2k::host::ptx

#endif // D2K_TEST_HOSTCUDA_PTXPROGRAM_H
