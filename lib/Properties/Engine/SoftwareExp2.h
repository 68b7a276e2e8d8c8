// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds 2^x without the unit for it: x is split into a whole number and a
// fraction, a polynomial stands for 2^fraction, and the whole number is put
// into the exponent's bits.
//
// Example. `i = floor(x); f = x - i; p = ((c3*f + c2)*f + c1)*f + 1;
// bits(p) + (i << 23)` with c1 = 0.695, c2 = 0.228, c3 = 0.077.
//
// What counts is the function, not the way it is written: the operations from x
// to the result are carried out for numbers from -12 to 12, and each result has
// to be 2^x within 1/128, which is the precision of bf16. Other polynomials,
// other shifts and fractions of another number fail. A factor of x that is a
// constant, as in e^x = 2^(1.4427 x), belongs to the argument.
//
// Not found: results in half or double precision, exponents put in by
// `ldexp`, and tables.

#ifndef D2K_LIB_PROPERTIES_ENGINE_SOFTWAREEXP2_H
#define D2K_LIB_PROPERTIES_ENGINE_SOFTWAREEXP2_H

#include "d2k/Analysis/ConstantValues.h"

#include <vector>

namespace d2k::properties {

struct SoftwareExp2 {
  /// Its first result is the power.
  analysis::OpId op = analysis::kNone;
  /// The shift of the whole number to the exponent's place.
  analysis::OpId shift = analysis::kNone;
  /// x
  analysis::ValueId argument = analysis::kNone;
};

/// All of them, by `op`.
std::vector<SoftwareExp2>
findSoftwareExp2(const analysis::KernelIndex &index,
                 const analysis::ConstantValues &constants);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_SOFTWAREEXP2_H
