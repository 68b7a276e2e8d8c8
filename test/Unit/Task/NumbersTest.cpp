// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types as numbers. Expected values are from the formats' definitions.

#include "d2k/Task/Numbers.h"

#include "d2k/Task/Task.h"

#include "gtest/gtest.h"

using namespace d2k::task;

TEST(Numbers, KnownValues) {
  // 1 + 2^-7, the next number after 1 in bf16: exponent 127, fraction 1.
  EXPECT_EQ(encodeElement(DType::BFloat16, 1.0078125), 0x3f81u);
  EXPECT_EQ(decodeElement(DType::BFloat16, 0x3f81), 1.0078125);
  EXPECT_EQ(encodeElement(DType::BFloat16, -2.0), 0xc000u);
  EXPECT_EQ(encodeElement(DType::Float16, 65504.0), 0x7bffu);
  EXPECT_EQ(encodeElement(DType::Float8E4M3FN, 448.0), 0x7eu);
  EXPECT_EQ(decodeElement(DType::Float8E4M3FN, 0x01), 0x1p-9);
  EXPECT_EQ(decodeElement(DType::Float8E5M2, 0x7b), 57344.0);
  EXPECT_EQ(decodeElement(DType::Float4E2M1, 0x7), 6.0);
  EXPECT_EQ(decodeElement(DType::Float4E2M1, 0x9), -0.5);
  EXPECT_EQ(decodeElement(DType::Float8E8M0FNU, 127), 1.0);
  EXPECT_EQ(encodeElement(DType::Float8E8M0FNU, 8.0), 130u);
}

TEST(Numbers, RoundsToNearestEven) {
  // Halfway between 1 (even) and 1 + 2^-7, and between that and 1 + 2^-6.
  EXPECT_EQ(encodeElement(DType::BFloat16, 1 + 0x1p-8), 0x3f80u);
  EXPECT_EQ(encodeElement(DType::BFloat16, 1 + 3 * 0x1p-8), 0x3f82u);
  EXPECT_EQ(encodeElement(DType::BFloat16, 1 + 0x1p-8 + 0x1p-40), 0x3f81u);
  // A carry into the exponent.
  EXPECT_EQ(encodeElement(DType::BFloat16, 2 - 0x1p-9), 0x4000u);
  // Halfway between 0 and the smallest subnormal, and above it.
  EXPECT_EQ(encodeElement(DType::Float8E4M3FN, 0x1p-10), 0u);
  EXPECT_EQ(encodeElement(DType::Float8E4M3FN, 0x1.1p-10), 1u);
  // From the largest subnormal, 7 * 2^-9, up to the smallest normal number.
  EXPECT_EQ(encodeElement(DType::Float8E4M3FN, 7.5 * 0x1p-9), 8u);
}

TEST(Numbers, OverflowAndNoNumbers) {
  EXPECT_EQ(encodeElement(DType::BFloat16, 1e39), 0x7f80u);
  EXPECT_EQ(encodeElement(DType::BFloat16, -INFINITY), 0xff80u);
  // Below the rounding boundary of the largest finite number.
  EXPECT_EQ(encodeElement(DType::Float16, 65519.0), 0x7bffu);
  EXPECT_EQ(encodeElement(DType::Float16, 65520.0), 0x7c00u);
  EXPECT_EQ(encodeElement(DType::Float8E4M3FN, 1e9), 0x7eu);
  EXPECT_EQ(encodeElement(DType::Float8E4M3FN, -INFINITY), 0xfeu);
  for (DType type : {DType::BFloat16, DType::Float16, DType::Float8E4M3FN,
                     DType::Float8E5M2, DType::Float32, DType::Float64}) {
    EXPECT_TRUE(std::isnan(decodeElement(type, encodeElement(type, NAN))));
    // All ones, which buffers are poisoned with.
    EXPECT_TRUE(std::isnan(decodeElement(type, ~uint64_t(0))));
  }
  EXPECT_EQ(encodeElement(DType::Int8, 200.0), 127u);
  EXPECT_EQ(encodeElement(DType::UInt4, -3.0), 0u);
  EXPECT_EQ(decodeElement(DType::Int32, encodeElement(DType::Int32, -7.0)),
            -7.0);
}

TEST(Numbers, EveryFiniteValueSurvives) {
  for (DType type : {DType::BFloat16, DType::Float16, DType::Float8E4M3FN,
                     DType::Float8E5M2, DType::Float4E2M1})
    for (uint32_t bits = 0; bits < 1u << getElementBits(type); ++bits) {
      double value = decodeElement(type, bits);
      if (!std::isfinite(value))
        continue;
      ASSERT_EQ(encodeElement(type, value), bits) << getDTypeName(type);
    }
}

TEST(Numbers, WidthsAgreeWithTheModel) {
  for (int type = 0; type <= int(DType::Bool); ++type)
    EXPECT_EQ(unsigned(getElementBits(DType(type))), getBitWidth(DType(type)));
}

TEST(Numbers, PackedElements) {
  uint8_t bytes[2] = {};
  storeElement(DType::UInt4, bytes, 0, 3);
  storeElement(DType::UInt4, bytes, 1, 12);
  storeElement(DType::UInt4, bytes, 2, 5);
  EXPECT_EQ(bytes[0], 0xc3);
  EXPECT_EQ(bytes[1], 0x05);
  EXPECT_EQ(loadElement(DType::UInt4, bytes, 1), 12u);
}
