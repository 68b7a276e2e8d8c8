// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inline PTX on the host. translate.py makes of
//   asm volatile("add.s32 %0, %1, 1;" : "=r"(a) : "r"(b));
// a program that is parsed once, and a call of it with the operands. The
// instructions are those in Ptx.cpp, PtxMemory.cpp and PtxMatrix.cpp (PTX ISA
// 9.0, "Instruction Set"); any other ends the launch with an error. Branches
// are not among them.

#ifndef D2K_TEST_HOSTCUDA_PTX_H
#define D2K_TEST_HOSTCUDA_PTX_H

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace d2k::host::ptx {

/// An operand of asm: its bits, and where the result goes.
struct Operand {
  uint64_t bits = 0;
  void *target = nullptr;
  unsigned bytes = 0;
};

/// Bytes of an operand with a constraint.
constexpr unsigned getBytes(char constraint) {
  return constraint == 'h' ? 2 : constraint == 'r' || constraint == 'f' ? 4 : 8;
}

/// A value in the registers that the constraint names.
template <char Constraint, typename T>
Operand input(const T &value) {
  Operand operand;
  operand.bytes = getBytes(Constraint);
  if constexpr (Constraint == 'f') {
    float number = float(value);
    std::memcpy(&operand.bits, &number, sizeof(number));
  } else if constexpr (Constraint == 'd') {
    double number = double(value);
    std::memcpy(&operand.bits, &number, sizeof(number));
  } else if constexpr (std::is_array_v<T>) {
    operand.bits = reinterpret_cast<uintptr_t>(&value[0]);
  } else if constexpr (std::is_pointer_v<T>) {
    operand.bits = reinterpret_cast<uintptr_t>(value);
  } else {
    operand.bits = uint64_t(value);
  }
  if (operand.bytes < 8)
    operand.bits &= (uint64_t(1) << 8 * operand.bytes) - 1;
  return operand;
}
template <char Constraint, typename T>
Operand output(T &target) {
  static_assert(sizeof(T) == getBytes(Constraint),
                "the constraint does not fit the variable's size");
  return {0, &target, sizeof(T)};
}
template <char Constraint, typename T>
Operand update(T &target) {
  Operand operand = output<Constraint>(target);
  std::memcpy(&operand.bits, &target, sizeof(T));
  return operand;
}

/// A parsed template.
class Program {
public:
  /// \p line is where in the source it stands.
  Program(const char *text, int line);
  ~Program();

  /// Runs it in the running thread of the grid.
  void run(std::initializer_list<Operand> operands) const;

private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace d2k::host::ptx

#endif // D2K_TEST_HOSTCUDA_PTX_H
