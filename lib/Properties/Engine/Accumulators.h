// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the products of the main region build up, and from which operands:
// accumulators that a thread carries along, and how often operands are used.
// register_tiling and tile_shape are claims about these.

#ifndef D2K_LIB_PROPERTIES_ENGINE_ACCUMULATORS_H
#define D2K_LIB_PROPERTIES_ENGINE_ACCUMULATORS_H

#include "Engine/Detector.h"

#include <array>

namespace d2k::properties {

/// What one side of a product is.
struct ProductOperand {
  /// Equal numbers are equal values.
  uint64_t number = 0;
  /// Its register, of a matrix fragment the first one, or its descriptor.
  ValueId value = kNone;
  /// The load of shared or global memory that it was made by, through
  /// conversions; kNone when there is none or several, and of descriptors.
  OpId load = kNone;
  /// The access that brings it out of shared memory; kNone when none is known.
  uint32_t access = kNone;
};

/// One product of the main region.
struct MainProduct {
  OpId op = kNone;
  /// The value that carries the accumulator into the main region, or the first
  /// product of the chain where nothing is carried. Products with one root add
  /// to one accumulator.
  uint64_t root = 0;
  /// The accumulator lives through the main region.
  bool carried = false;
  /// What is multiplied.
  std::array<ProductOperand, 2> operands;
};

/// The products in the one loop of the main region that has most of them, or in
/// its body; matrix instructions, or scalar ones where there are none.
/// Detector::getMainProducts() keeps them.
std::vector<MainProduct> findMainProducts(Detector &detector);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_ACCUMULATORS_H
