// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves, conversions, arithmetic and comparisons of inline PTX (PTX ISA 9.0).
// Approximations are computed exactly and rounded once.

#include "PtxProgram.h"

#include "include/Execution.h"

#include <bit>
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

using namespace d2k::host;
using namespace d2k::host::ptx;

namespace {

/// The bits of a value as a number of the type.
uint64_t extend(std::string_view type, uint64_t bits) {
  unsigned shift = 64 - 8 * getTypeBytes(type);
  if (shift == 0)
    return bits;
  return type[0] == 's' ? uint64_t(int64_t(bits << shift) >> shift)
                        : bits << shift >> shift;
}

double readNumber(std::string_view type, uint64_t bits) {
  if (type == "f64")
    return std::bit_cast<double>(bits);
  if (type == "f32")
    return double(std::bit_cast<float>(uint32_t(bits)));
  if (type == "f16")
    return double(__half2float(std::bit_cast<__half>(uint16_t(bits))));
  if (type == "bf16")
    return double(std::bit_cast<float>(uint32_t(bits) << 16));
  return type[0] == 's' ? double(int64_t(extend(type, bits)))
                        : double(extend(type, bits));
}

uint64_t writeNumber(std::string_view type, double value) {
  if (type == "f64")
    return std::bit_cast<uint64_t>(value);
  if (type == "f32")
    return std::bit_cast<uint32_t>(float(value));
  if (type == "f16")
    return std::bit_cast<uint16_t>(__double2half(value));
  return std::bit_cast<uint16_t>(__double2bfloat16(value));
}

bool isFloat(std::string_view type) {
  return type == "f32" || type == "f64" || type == "f16" || type == "bf16";
}

/// A place's bits; decimal constants are given in the instruction's type.
uint64_t read(Frame &frame, const Place &place, std::string_view type) {
  uint64_t bits = frame.get(place);
  if (place.kind == Place::Immediate && place.name == "double")
    return writeNumber(type, std::bit_cast<double>(bits));
  return bits;
}

uint64_t readArgument(Frame &frame, const Instruction &instruction, size_t i) {
  return read(frame, instruction.arguments[i].places[0], instruction.getType());
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// mov, also between a vector and the register that holds all of it.
void move(Frame &frame, const Instruction &instruction) {
  const std::vector<Place> &to = instruction.arguments[0].places;
  const std::vector<Place> &from = instruction.arguments[1].places;
  unsigned bits = 8 * getTypeBytes(instruction.getType());
  if (to.size() == from.size()) {
    for (size_t i = 0; i < to.size(); ++i)
      frame.set(to[i], read(frame, from[i], instruction.getType()));
    return;
  }
  uint64_t whole = 0;
  unsigned part = bits / unsigned(std::max(to.size(), from.size()));
  uint64_t mask = (uint64_t(1) << part) - 1;
  if (to.size() == 1) {
    for (size_t i = 0; i < from.size(); ++i)
      whole |= (frame.get(from[i]) & mask) << i * part;
    frame.set(to[0], whole);
  } else {
    whole = frame.get(from[0]);
    for (size_t i = 0; i < to.size(); ++i)
      frame.set(to[i], whole >> i * part & mask);
  }
}

/// Generic addresses are those of the host; shared ones begin at 1024.
void convertAddress(Frame &frame, const Instruction &instruction) {
  uint64_t value = frame.get(instruction.arguments[1]);
  bool isShared = false;
  for (const std::string &part : instruction.parts)
    isShared |= part.compare(0, 6, "shared") == 0;
  if (isShared && instruction.has("to"))
    value = getSharedAddress(reinterpret_cast<const void *>(value));
  else if (isShared)
    value = reinterpret_cast<uintptr_t>(getSharedPointer(uint32_t(value), 0));
  frame.set(instruction.arguments[0], value);
}

void select(Frame &frame, const Instruction &instruction) {
  bool first = frame.get(instruction.arguments[3]) != 0;
  frame.set(instruction.arguments[0],
            readArgument(frame, instruction, first ? 1 : 2));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

uint64_t convertPair(const Instruction &instruction, std::string_view type,
                     float high, float low) {
  bool relu = instruction.has("relu");
  if (relu) {
    high = high > 0 ? high : 0;
    low = low > 0 ? low : 0;
  }
  if (type == "bf16x2")
    return packPair(__floats2bfloat162_rn(low, high));
  if (type == "f16x2")
    return packPair(__floats2half2_rn(low, high));
  if (type == "e4m3x2" || type == "e5m2x2")
    return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE,
                                    type == "e4m3x2" ? __NV_E4M3 : __NV_E5M2);
  if (type == "e2m1x2")
    return __nv_cvt_float2_to_fp4x2(make_float2(low, high), __NV_E2M1,
                                    cudaRoundNearest);
  failLaunch("the host has no %s", instruction.text.c_str());
}

void convert(Frame &frame, const Instruction &instruction) {
  size_t count = instruction.parts.size();
  const std::string &to = instruction.parts[count - 2];
  const std::string &from = instruction.parts[count - 1];
  const std::vector<Argument> &arguments = instruction.arguments;
  uint64_t bits = frame.get(arguments[1]);
  uint64_t result;
  if (arguments.size() == 3) { // Two numbers into one register.
    result =
        convertPair(instruction, to, frame.getFloat(arguments[1].places[0]),
                    frame.getFloat(arguments[2].places[0]));
  } else if (to == "f16x2") { // Of two narrow ones.
    if (from == "e2m1x2")
      result = std::bit_cast<uint32_t>(__half2_raw(
          __nv_cvt_fp4x2_to_halfraw2(__nv_fp4x2_storage_t(bits), __NV_E2M1)));
    else
      result = std::bit_cast<uint32_t>(__half2_raw(__nv_cvt_fp8x2_to_halfraw2(
          __nv_fp8x2_storage_t(bits),
          from == "e5m2x2" ? __NV_E5M2 : __NV_E4M3)));
  } else if (to == "e4m3x2" || to == "e5m2x2") {
    __half2 pair = unpackPair<__half2>(uint32_t(bits));
    result = convertPair(instruction, to, __half2float(pair.y),
                         __half2float(pair.x));
  } else if (to == "tf32") { // rna: half away from zero, at 10 bits.
    result = (bits + 0x1000) & 0xffffe000;
  } else if (isFloat(to)) {
    if (!isFloat(from) && from[0] != 's') // Large unsigned numbers too.
      result = writeNumber(to, double(extend(from, bits)));
    else
      result = writeNumber(to, readNumber(from, bits));
  } else if (isFloat(from)) {
    double value = readNumber(from, bits);
    value = instruction.has("rzi")   ? std::trunc(value)
            : instruction.has("rmi") ? std::floor(value)
            : instruction.has("rpi") ? std::ceil(value)
                                     : std::nearbyint(value);
    unsigned width = 8 * getTypeBytes(to);
    double low = to[0] == 's' ? -std::ldexp(1.0, int(width) - 1) : 0;
    double high = std::ldexp(1.0, int(to[0] == 's' ? width - 1 : width));
    if (std::isnan(value))
      result = 0;
    else if (value < low)
      result = uint64_t(int64_t(low));
    else if (value >= high)
      result = ~uint64_t(0) >> (64 - width + (to[0] == 's'));
    else
      result = value < 0 ? uint64_t(int64_t(value)) : uint64_t(value);
  } else {
    result = extend(to, extend(from, bits));
  }
  frame.set(arguments[0], result);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

double compute(std::string_view name, double a, double b, double c) {
  if (name == "add")
    return a + b;
  if (name == "sub")
    return a - b;
  if (name == "mul")
    return a * b;
  if (name == "div")
    return a / b;
  if (name == "fma" || name == "mad")
    return std::fma(a, b, c);
  if (name == "min")
    return std::fmin(a, b);
  if (name == "max")
    return std::fmax(a, b);
  if (name == "neg")
    return -a;
  if (name == "abs")
    return std::fabs(a);
  if (name == "ex2")
    return std::exp2(a);
  if (name == "lg2")
    return std::log2(a);
  if (name == "rcp")
    return 1 / a;
  if (name == "sqrt")
    return std::sqrt(a);
  if (name == "rsqrt")
    return 1 / std::sqrt(a);
  if (name == "tanh")
    return std::tanh(a);
  if (name == "sin")
    return std::sin(a);
  if (name == "cos")
    return std::cos(a);
  failLaunch("the host has no %.*s of floating-point numbers", int(name.size()),
             name.data());
}

/// One or two numbers in a register, or a pair of fp32 in 64 bits.
void computeFloat(Frame &frame, const Instruction &instruction) {
  std::string_view type = instruction.getType();
  unsigned lanes = 1;
  if (type.size() > 2 && type.substr(type.size() - 2) == "x2") {
    lanes = 2;
    type.remove_suffix(2);
  }
  unsigned bits = 8 * getTypeBytes(type);
  uint64_t values[3] = {};
  for (size_t i = 1; i < instruction.arguments.size() && i < 4; ++i)
    values[i - 1] = read(frame, instruction.arguments[i].places[0], type);
  uint64_t result = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    double numbers[3];
    for (int i = 0; i < 3; ++i)
      numbers[i] = readNumber(type, values[i] >> lane * bits);
    uint64_t one = writeNumber(type, compute(instruction.parts[0], numbers[0],
                                             numbers[1], numbers[2]));
    if (bits < 64)
      one &= (uint64_t(1) << bits) - 1;
    result |= one << lane * bits;
  }
  frame.set(instruction.arguments[0], result);
}

void computeInteger(Frame &frame, const Instruction &instruction) {
  const std::string &name = instruction.parts[0];
  const std::string &type = instruction.getType();
  unsigned width = 8 * getTypeBytes(type);
  uint64_t v[3] = {};
  for (size_t i = 1; i < instruction.arguments.size() && i < 4; ++i)
    v[i - 1] = extend(type, frame.get(instruction.arguments[i]));
  bool isSigned = type[0] == 's';
  uint64_t result;
  if (name == "add")
    result = v[0] + v[1];
  else if (name == "sub")
    result = v[0] - v[1];
  else if (name == "mul" || name == "mad") {
    __int128 product = isSigned ? __int128(int64_t(v[0])) * int64_t(v[1])
                                : __int128((unsigned __int128)v[0] * v[1]);
    if (instruction.has("hi"))
      product >>= width;
    result = uint64_t(product);
    if (name == "mad")
      result +=
          instruction.has("wide") ? frame.get(instruction.arguments[3]) : v[2];
  } else if (name == "and")
    result = v[0] & v[1];
  else if (name == "or")
    result = v[0] | v[1];
  else if (name == "xor")
    result = v[0] ^ v[1];
  else if (name == "not")
    result = ~v[0];
  else if (name == "neg")
    result = -v[0];
  else if (name == "shl")
    result = (v[1] & 0xffffffff) >= width ? 0 : v[0] << (v[1] & 0xffffffff);
  else if (name == "shr") {
    uint64_t amount = v[1] & 0xffffffff;
    if (isSigned)
      result = uint64_t(int64_t(v[0]) >> std::min<uint64_t>(amount, width - 1));
    else
      result = amount >= width ? 0 : v[0] >> amount;
  } else if (name == "min")
    result =
        (isSigned ? int64_t(v[1]) < int64_t(v[0]) : v[1] < v[0]) ? v[1] : v[0];
  else if (name == "max")
    result =
        (isSigned ? int64_t(v[0]) < int64_t(v[1]) : v[0] < v[1]) ? v[1] : v[0];
  else if (name == "popc")
    result = uint64_t(std::popcount(v[0]));
  else if (name == "clz")
    result = uint64_t(std::countl_zero(v[0])) - (64 - width);
  else if (name == "bfe") {
    uint64_t length = v[2] & 0xff, start = v[1] & 0xff;
    result = length == 0 ? 0 : v[0] >> start << (64 - length) >> (64 - length);
    if (isSigned)
      failLaunch("the host has no %s", instruction.text.c_str());
  } else
    failLaunch("the host has no %s", instruction.text.c_str());
  frame.set(instruction.arguments[0], result);
}

/// lop3.b32: a table of eight bits, of which a, b and c choose one.
void combineBits(Frame &frame, const Instruction &instruction) {
  const std::vector<Argument> &arguments = instruction.arguments;
  auto a = uint32_t(frame.get(arguments[1]));
  auto b = uint32_t(frame.get(arguments[2]));
  auto c = uint32_t(frame.get(arguments[3]));
  auto table = uint32_t(frame.get(arguments[4]));
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i)
    result |=
        (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1)
        << i;
  frame.set(arguments[0], result);
}

/// prmt.b32 without a mode.
void permuteBytes(Frame &frame, const Instruction &instruction) {
  const std::vector<Argument> &arguments = instruction.arguments;
  uint64_t bytes =
      (frame.get(arguments[2]) << 32) | (frame.get(arguments[1]) & 0xffffffff);
  auto selector = uint32_t(frame.get(arguments[3]));
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t choice = selector >> 4 * i & 15;
    auto byte = uint32_t(bytes >> 8 * (choice & 7)) & 0xff;
    if (choice & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  frame.set(arguments[0], result);
}

/// setp.<comparison>.<type>
void compare(Frame &frame, const Instruction &instruction) {
  const std::string &type = instruction.getType();
  const std::string &how = instruction.parts[1];
  uint64_t a = readArgument(frame, instruction, 1);
  uint64_t b = readArgument(frame, instruction, 2);
  int order; // Of a against b; 2 when they have none.
  if (isFloat(type)) {
    double x = readNumber(type, a), y = readNumber(type, b);
    order = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  } else if (type[0] == 's') {
    auto x = int64_t(extend(type, a)), y = int64_t(extend(type, b));
    order = x < y ? -1 : x > y;
  } else {
    uint64_t x = extend(type, a), y = extend(type, b);
    order = x < y ? -1 : x > y;
  }
  bool result;
  if (how == "eq")
    result = order == 0;
  else if (how == "ne")
    result = order == -1 || order == 1;
  else if (how == "lt" || how == "lo")
    result = order == -1;
  else if (how == "le" || how == "ls")
    result = order == -1 || order == 0;
  else if (how == "gt" || how == "hi")
    result = order == 1;
  else if (how == "ge" || how == "hs")
    result = order == 0 || order == 1;
  else
    failLaunch("the host has no %s", instruction.text.c_str());
  const std::vector<Place> &to = instruction.arguments[0].places;
  frame.set(to[0], result);
  if (to.size() > 1)
    frame.set(to[1], !result);
}

} // namespace

bool d2k::host::ptx::findArithmetic(Instruction &instruction) {
  const std::string &name = instruction.parts[0];
  size_t count = instruction.arguments.size();
  auto choose = [&](void (*execute)(Frame &, const Instruction &)) {
    instruction.execute = execute;
    return true;
  };
  if (name == "mov")
    return count == 2 && choose(move);
  if (name == "cvta")
    return count == 2 && choose(convertAddress);
  if (name == "cvt")
    return instruction.parts.size() >= 3 && count >= 2 && choose(convert);
  if (name == "selp")
    return count == 4 && choose(select);
  if (name == "setp")
    return count == 3 && choose(compare);
  if (name == "lop3")
    return count == 5 && choose(combineBits);
  if (name == "prmt")
    return instruction.getType() == "b32" && count == 4 && choose(permuteBytes);
  constexpr std::string_view kFloat[] = {
      "add", "sub", "mul", "div", "fma",  "mad",   "min",  "max", "neg",
      "abs", "ex2", "lg2", "rcp", "sqrt", "rsqrt", "tanh", "sin", "cos"};
  constexpr std::string_view kInteger[] = {
      "add", "sub", "mul", "mad", "and", "or",   "xor", "not",
      "neg", "shl", "shr", "min", "max", "popc", "clz", "bfe"};
  std::string_view type = instruction.getType();
  bool isFloating = type.find('f') != std::string_view::npos;
  if (isFloating) {
    for (std::string_view candidate : kFloat)
      if (candidate == name)
        return choose(computeFloat);
  } else {
    for (std::string_view candidate : kInteger)
      if (candidate == name)
        return choose(computeInteger);
  }
  return false;
}
