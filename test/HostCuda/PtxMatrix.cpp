// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma.sync, ldmatrix and stmatrix (PTX ISA 9.0, "Warp Level Matrix
// Multiply-Accumulate Instructions"). With g = lane / 4 and t = lane % 4, an A
// register r has row g + 8 (r % 2) and a B register column g; along K they hold
// e = 32 / bits elements from e t + 4 e (r / 2), for B from e t + 4 e r; C and
// D have row g + 8 (i / 2), column 2 t + i % 2.
//
// Products are exact and added in fp64; the sum is cut off to fp32, as tensor
// cores do. How many bits they keep of the fp8 products is not imitated.

#include "PtxProgram.h"

#include "include/Execution.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <array>
#include <bit>
#include <cmath>

using namespace d2k::host;
using namespace d2k::host::ptx;

namespace {

enum ElementType { BF16, F16, TF32, E4M3, E5M2, S8, U8, Unknown };

ElementType getElementType(std::string_view name) {
  constexpr std::string_view kNames[] = {"bf16", "f16", "tf32", "e4m3",
                                         "e5m2", "s8",  "u8"};
  for (int i = 0; i < Unknown; ++i)
    if (kNames[i] == name)
      return ElementType(i);
  return Unknown;
}

constexpr int getElements(ElementType type) {
  return type == TF32 ? 1 : type == BF16 || type == F16 ? 2 : 4;
}

template <__nv_fp8_interpretation_t Kind>
const std::array<float, 256> &getFp8Values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> result;
    for (int i = 0; i < 256; ++i)
      result[size_t(i)] =
          __half2float(__nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t(i), Kind));
    return result;
  }();
  return values;
}

/// Element \p i of a register.
template <ElementType Type>
float decode(uint32_t word, int i) {
  switch (Type) {
  case BF16:
    return std::bit_cast<float>(word >> 16 * i << 16);
  case F16:
    return __half2float(std::bit_cast<__half>(uint16_t(word >> 16 * i)));
  case TF32: // The lower 13 bits are ignored.
    return std::bit_cast<float>(word & 0xffffe000);
  case E4M3:
    return getFp8Values<__NV_E4M3>()[word >> 8 * i & 0xff];
  case E5M2:
    return getFp8Values<__NV_E5M2>()[word >> 8 * i & 0xff];
  case S8:
    return float(int8_t(word >> 8 * i));
  case U8:
    return float(uint8_t(word >> 8 * i));
  case Unknown:
    break;
  }
  return NAN;
}

/// \p value cut off to fp32.
float truncate(double value) {
  float rounded = float(value);
  if (std::fabs(double(rounded)) > std::fabs(value))
    rounded = std::nextafter(rounded, 0.0f);
  return rounded;
}

/// What a lane brings.
struct Fragments {
  uint32_t a[4], b[2], c[4];
};

template <ElementType TypeA, ElementType TypeB>
void multiply(Frame &frame, const Instruction &instruction) {
  int depth = instruction.numbers[0];
  bool isHalf = instruction.numbers[1] != 0;    // C and D in f16.
  bool isInteger = instruction.numbers[2] != 0; // C and D in s32.
  const std::vector<Argument> &arguments = instruction.arguments;
  Fragments own = {};
  for (size_t i = 0; i < arguments[1].places.size(); ++i)
    own.a[i] = uint32_t(frame.get(arguments[1].places[i]));
  for (size_t i = 0; i < arguments[2].places.size(); ++i)
    own.b[i] = uint32_t(frame.get(arguments[2].places[i]));
  for (size_t i = 0; i < arguments[3].places.size(); ++i)
    own.c[i] = uint32_t(frame.get(arguments[3].places[i]));
  Exchange found = exchange(~0u, "mma.sync", &own, sizeof(own));
  auto *lanes = reinterpret_cast<const Fragments *>(found.values);
  unsigned lane = getLane(), group = lane / 4, inGroup = lane % 4;
  constexpr int elements = getElements(TypeA);
  int registers = depth / (4 * elements); // Of B; A has twice as many.
  float rows[2][32], columns[2][32];
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned other = 0; other < 4; ++other)
      for (int r = 0; r < registers; ++r)
        for (int i = 0; i < elements; ++i) {
          int k = elements * int(other) + i + 4 * elements * r;
          rows[half][k] =
              decode<TypeA>(lanes[group * 4 + other].a[2 * r + int(half)], i);
          columns[half][k] =
              decode<TypeB>(lanes[(2 * inGroup + half) * 4 + other].b[r], i);
        }
  uint32_t results[4];
  for (int i = 0; i < 4; ++i) {
    double sum = 0;
    for (int k = 0; k < depth; ++k)
      sum += double(rows[i / 2][k]) * double(columns[i % 2][k]);
    if (isInteger)
      results[i] = own.c[i] + uint32_t(int64_t(sum));
    else if (isHalf)
      results[i] = std::bit_cast<uint16_t>(
          __double2half(sum + double(decode<F16>(own.c[i / 2], i % 2))));
    else
      results[i] = std::bit_cast<uint32_t>(
          truncate(sum + double(std::bit_cast<float>(own.c[i]))));
  }
  const std::vector<Place> &to = arguments[0].places;
  if (isHalf)
    for (size_t r = 0; r < 2; ++r)
      frame.set(to[r], results[2 * r] | results[2 * r + 1] << 16);
  else
    for (size_t r = 0; r < 4; ++r)
      frame.set(to[r], results[r]);
}

/// The row of matrix \p matrix in shared memory, 16 bytes at the address that
/// lane 8 matrix + row has given.
const uint16_t *getRow(const Exchange &addresses, unsigned matrix,
                       unsigned row) {
  uint32_t address;
  std::memcpy(&address, addresses.values + (8 * matrix + row) * 4, 4);
  if (address % 16 != 0)
    failLaunch("ldmatrix or stmatrix with the address 0x%x, which is no "
               "multiple of 16",
               address);
  return static_cast<const uint16_t *>(getSharedPointer(address, 16));
}

void loadMatrix(Frame &frame, const Instruction &instruction) {
  auto address = uint32_t(frame.getAddress(instruction.arguments[1]));
  bool isTransposed = instruction.numbers[0] != 0;
  Exchange found = exchange(~0u, "ldmatrix", &address, sizeof(address));
  unsigned row = getLane() / 4, column = getLane() % 4 * 2;
  const std::vector<Place> &to = instruction.arguments[0].places;
  for (unsigned matrix = 0; matrix < to.size(); ++matrix) {
    uint32_t low, high;
    if (isTransposed) {
      low = getRow(found, matrix, column)[row];
      high = getRow(found, matrix, column + 1)[row];
    } else {
      low = getRow(found, matrix, row)[column];
      high = getRow(found, matrix, row)[column + 1];
    }
    frame.set(to[matrix], low | high << 16);
  }
}

void storeMatrix(Frame &frame, const Instruction &instruction) {
  auto address = uint32_t(frame.getAddress(instruction.arguments[0]));
  bool isTransposed = instruction.numbers[0] != 0;
  Exchange found = exchange(~0u, "stmatrix", &address, sizeof(address));
  unsigned row = getLane() / 4, column = getLane() % 4 * 2;
  const std::vector<Place> &from = instruction.arguments[1].places;
  for (unsigned matrix = 0; matrix < from.size(); ++matrix) {
    auto word = uint32_t(frame.get(from[matrix]));
    for (unsigned i = 0; i < 2; ++i) {
      unsigned r = isTransposed ? column + i : row;
      unsigned c = isTransposed ? row : column + i;
      const_cast<uint16_t *>(getRow(found, matrix, r))[c] =
          uint16_t(word >> 16 * i);
    }
  }
}

using Execute = void (*)(Frame &, const Instruction &);

Execute chooseMultiply(ElementType typeA, ElementType typeB) {
  static constexpr struct {
    ElementType typeA, typeB;
    Execute execute;
  } kChoices[] = {
      {BF16, BF16, multiply<BF16, BF16>}, {F16, F16, multiply<F16, F16>},
      {TF32, TF32, multiply<TF32, TF32>}, {E4M3, E4M3, multiply<E4M3, E4M3>},
      {E4M3, E5M2, multiply<E4M3, E5M2>}, {E5M2, E4M3, multiply<E5M2, E4M3>},
      {E5M2, E5M2, multiply<E5M2, E5M2>}, {S8, S8, multiply<S8, S8>},
      {S8, U8, multiply<S8, U8>},         {U8, S8, multiply<U8, S8>},
      {U8, U8, multiply<U8, U8>}};
  for (const auto &choice : kChoices)
    if (choice.typeA == typeA && choice.typeB == typeB)
      return choice.execute;
  return nullptr;
}

/// mma.sync.aligned.m16n8k<K>.row.col.<D>.<A>.<B>.<C>
bool findMultiply(Instruction &instruction) {
  const std::vector<std::string> &parts = instruction.parts;
  if (parts.size() < 10 || parts[1] != "sync" || parts[4] != "row" ||
      parts[5] != "col" || parts[3].compare(0, 6, "m16n8k") != 0 ||
      instruction.arguments.size() != 4)
    return false;
  size_t first = parts.size() - 4; // After .satfinite and the like.
  ElementType typeA = getElementType(parts[first + 1]);
  ElementType typeB = getElementType(parts[first + 2]);
  if (typeA == Unknown || typeB == Unknown ||
      getElements(typeA) != getElements(typeB))
    return false;
  int depth = std::atoi(parts[3].c_str() + 6);
  int registers = depth / (4 * getElements(typeA));
  bool isHalf = parts[first] == "f16";
  if (registers < 1 || registers > 2 ||
      instruction.arguments[1].places.size() != size_t(2 * registers) ||
      instruction.arguments[2].places.size() != size_t(registers) ||
      instruction.arguments[0].places.size() != size_t(isHalf ? 2 : 4) ||
      instruction.arguments[3].places.size() != size_t(isHalf ? 2 : 4))
    return false;
  instruction.numbers[0] = depth;
  instruction.numbers[1] = isHalf;
  instruction.numbers[2] = parts[first] == "s32";
  instruction.execute = chooseMultiply(typeA, typeB);
  return instruction.execute != nullptr;
}

} // namespace

bool d2k::host::ptx::findMatrix(Instruction &instruction) {
  if (instruction.parts[0] == "mma")
    return findMultiply(instruction);
  bool isLoad = instruction.parts[0] == "ldmatrix";
  if (!isLoad && instruction.parts[0] != "stmatrix")
    return false;
  if (!instruction.has("m8n8") || instruction.getType() != "b16" ||
      instruction.arguments.size() != 2)
    return false;
  instruction.numbers[0] = instruction.has("trans");
  instruction.execute = isLoad ? loadMatrix : storeMatrix;
  return true;
}
