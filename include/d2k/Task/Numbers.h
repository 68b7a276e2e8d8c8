// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types as numbers: bits to double and back, rounding once, to nearest
// even. The same functions run on the host and on the device and give the same
// bits there: they use no library function that is not exactly rounded, and
// both are compiled without contraction into fused operations.

#ifndef D2K_TASK_NUMBERS_H
#define D2K_TASK_NUMBERS_H

#include "d2k/Task/DType.h"

#include <cmath>
#include <cstdint>
#include <cstring>

/// Marks a function that runs on both sides.
#ifdef __CUDACC__
#define D2K_HOST_DEVICE __host__ __device__
#else
#define D2K_HOST_DEVICE
#endif

namespace d2k::task {

/// A binary floating-point format.
struct FloatFormat {
  int exponentBits;
  /// Stored bits of the significand, without the hidden one.
  int fractionBits;
  int bias;
  /// The largest finite value; what is larger becomes this when `saturates`,
  /// else infinity.
  double largest;
  bool saturates;
};

/// The format of \p type, for the types of at most 16 bits that have a sign and
/// a fraction; others give exponentBits 0.
D2K_HOST_DEVICE inline FloatFormat getFloatFormat(DType type) {
  switch (type) {
  case DType::Float16:
    return {5, 10, 15, 65504.0, false};
  case DType::BFloat16:
    return {8, 7, 127, 0x1.fep127, false};
  case DType::Float8E4M3FN:
    return {4, 3, 7, 448.0, true};
  case DType::Float8E5M2:
    return {5, 2, 15, 57344.0, true};
  case DType::Float4E2M1:
    return {2, 1, 1, 6.0, true};
  default:
    return {0, 0, 0, 0.0, false};
  }
}

/// Bits of \p value in \p format, rounded to nearest even.
D2K_HOST_DEVICE inline uint32_t encodeFloat(const FloatFormat &format,
                                            double value) {
  uint32_t exponentMask = (1u << format.exponentBits) - 1;
  uint32_t sign = std::signbit(value)
                      ? 1u << (format.exponentBits + format.fractionBits)
                      : 0u;
  if (value != value)
    // All ones is a NaN in each format that has one.
    return (exponentMask << format.fractionBits) |
           ((1u << format.fractionBits) - 1);
  double magnitude = fabs(value);
  if (magnitude == 0)
    return sign;
  int exponent = 0;
  // magnitude = m * 2^exponent with m in [0.5, 1); infinity is dealt with
  // below and leaves any exponent here.
  if (magnitude <= format.largest * 2)
    frexp(magnitude, &exponent);
  else
    magnitude = format.largest * 2, frexp(magnitude, &exponent);
  // The exponent of the unit in the last place; below the smallest normal
  // number it stays.
  int smallest = 1 - format.bias;
  int ulp =
      (exponent - 1 < smallest ? smallest : exponent - 1) - format.fractionBits;
  double rounded = ldexp(rint(ldexp(magnitude, -ulp)), ulp);
  if (rounded > format.largest) {
    if (!format.saturates)
      return sign | (exponentMask << format.fractionBits);
    rounded = format.largest;
  }
  if (rounded == 0)
    return sign;
  frexp(rounded, &exponent);
  if (exponent - 1 < smallest) // A subnormal number.
    return sign | uint32_t(ldexp(rounded, format.fractionBits - smallest));
  uint32_t significand =
      uint32_t(ldexp(rounded, format.fractionBits - (exponent - 1)));
  return sign | (uint32_t(exponent - 1 + format.bias) << format.fractionBits) |
         (significand & ((1u << format.fractionBits) - 1));
}

/// The value of \p bits in \p format.
D2K_HOST_DEVICE inline double decodeFloat(const FloatFormat &format, DType type,
                                          uint32_t bits) {
  uint32_t exponentMask = (1u << format.exponentBits) - 1;
  uint32_t fraction = bits & ((1u << format.fractionBits) - 1);
  uint32_t exponent = (bits >> format.fractionBits) & exponentMask;
  bool negative = bits >> (format.exponentBits + format.fractionBits) & 1;
  double magnitude;
  bool isIeee = type == DType::Float16 || type == DType::BFloat16 ||
                type == DType::Float8E5M2;
  if (isIeee && exponent == exponentMask)
    magnitude = fraction ? NAN : INFINITY;
  else if (type == DType::Float8E4M3FN && (bits & 0x7f) == 0x7f)
    magnitude = NAN;
  else if (exponent == 0)
    magnitude = ldexp(double(fraction), 1 - format.bias - format.fractionBits);
  else
    magnitude = ldexp(double(fraction + (1u << format.fractionBits)),
                      int(exponent) - format.bias - format.fractionBits);
  return negative ? -magnitude : magnitude;
}

/// Whether \p type holds numbers that may be no numbers.
D2K_HOST_DEVICE inline bool isFloating(DType type) {
  return type <= DType::Float4E2M1;
}

/// The integer nearest to \p value in [\p low, \p high]; 0 for NaN.
D2K_HOST_DEVICE inline int64_t roundToInteger(double value, double low,
                                              double high) {
  if (value != value)
    return 0;
  value = rint(value);
  return int64_t(value < low ? low : value > high ? high : value);
}

/// Bits of \p value as an element of \p type; integers saturate. Exact for
/// integers up to 2^53.
D2K_HOST_DEVICE inline uint64_t encodeElement(DType type, double value) {
  switch (type) {
  case DType::Float64: {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  case DType::Float32: {
    float narrow = float(value);
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    return bits;
  }
  case DType::Float8E8M0FNU: {
    if (!(value > 0))
      return value == 0 ? 0 : 0xff;
    int exponent;
    double fraction = frexp(value, &exponent);
    return uint64_t(roundToInteger(
        (fraction >= 0.75 ? exponent : exponent - 1) + 127, 0, 254));
  }
  case DType::Int64:
    return uint64_t(roundToInteger(value, -0x1p63, 0x1.fffffffffffffp62));
  case DType::Int32:
    return uint32_t(roundToInteger(value, -2147483648.0, 2147483647.0));
  case DType::Int16:
    return uint16_t(roundToInteger(value, -32768, 32767));
  case DType::Int8:
    return uint8_t(roundToInteger(value, -128, 127));
  case DType::UInt8:
    return uint64_t(roundToInteger(value, 0, 255));
  case DType::UInt4:
    return uint64_t(roundToInteger(value, 0, 15));
  case DType::Bool:
    return value != 0;
  default:
    return encodeFloat(getFloatFormat(type), value);
  }
}

/// The value of the element \p bits of \p type. 64-bit integers beyond 2^53
/// are rounded.
D2K_HOST_DEVICE inline double decodeElement(DType type, uint64_t bits) {
  switch (type) {
  case DType::Float64: {
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
  case DType::Float32: {
    uint32_t narrow = uint32_t(bits);
    float value;
    memcpy(&value, &narrow, sizeof(value));
    return value;
  }
  case DType::Float8E8M0FNU:
    return (bits & 0xff) == 0xff ? NAN : ldexp(1.0, int(bits & 0xff) - 127);
  case DType::Int64:
    return double(int64_t(bits));
  case DType::Int32:
    return double(int32_t(bits));
  case DType::Int16:
    return double(int16_t(bits));
  case DType::Int8:
    return double(int8_t(bits));
  case DType::UInt8:
    return double(uint8_t(bits));
  case DType::UInt4:
    return double(bits & 15);
  case DType::Bool:
    return bits != 0;
  default:
    return decodeFloat(getFloatFormat(type), type, uint32_t(bits));
  }
}

/// Bits of an element of \p type.
D2K_HOST_DEVICE inline int getElementBits(DType type) {
  switch (type) {
  case DType::Float64:
  case DType::Int64:
    return 64;
  case DType::Float32:
  case DType::Int32:
    return 32;
  case DType::Float16:
  case DType::BFloat16:
  case DType::Int16:
    return 16;
  case DType::Float4E2M1:
  case DType::UInt4:
    return 4;
  default:
    return 8;
  }
}

/// Bits of element \p index of the tensor at \p data.
D2K_HOST_DEVICE inline uint64_t loadElement(DType type, const void *data,
                                            int64_t index) {
  switch (getElementBits(type)) {
  case 64:
    return static_cast<const uint64_t *>(data)[index];
  case 32:
    return static_cast<const uint32_t *>(data)[index];
  case 16:
    return static_cast<const uint16_t *>(data)[index];
  case 4:
    return static_cast<const uint8_t *>(data)[index / 2] >> (index % 2 * 4) &
           15;
  default:
    return static_cast<const uint8_t *>(data)[index];
  }
}

/// Writes \p bits as element \p index. Of packed types it writes one nibble
/// and must not run at the same time as a write of the byte's other one.
D2K_HOST_DEVICE inline void storeElement(DType type, void *data, int64_t index,
                                         uint64_t bits) {
  switch (getElementBits(type)) {
  case 64:
    static_cast<uint64_t *>(data)[index] = bits;
    break;
  case 32:
    static_cast<uint32_t *>(data)[index] = uint32_t(bits);
    break;
  case 16:
    static_cast<uint16_t *>(data)[index] = uint16_t(bits);
    break;
  case 4: {
    uint8_t &byte = static_cast<uint8_t *>(data)[index / 2];
    int shift = int(index % 2) * 4;
    byte = uint8_t((byte & ~(15 << shift)) | (int(bits & 15) << shift));
    break;
  }
  default:
    static_cast<uint8_t *>(data)[index] = uint8_t(bits);
  }
}

} // namespace d2k::task

#endif // D2K_TASK_NUMBERS_H
