// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Credit and points as intervals. The low end is what is proved, the high end
// what is not refuted; the true value lies between. The same arithmetic serves
// credits (0 to 1) and points (0 to 100).

#ifndef D2K_RUBRIC_INTERVAL_H
#define D2K_RUBRIC_INTERVAL_H

#include <algorithm>

namespace d2k::rubric {

/// A closed interval; lo <= hi.
struct Interval {
  double lo = 0;
  double hi = 0;

  /// Proved.
  static constexpr Interval yes() { return {1, 1}; }
  /// Proved absent.
  static constexpr Interval no() { return {0, 0}; }
  /// Not decided.
  static constexpr Interval unknown() { return {0, 1}; }

  friend constexpr bool operator==(const Interval &,
                                   const Interval &) = default;
};

/// `all`: the minimum of each end.
inline Interval meet(Interval a, Interval b) {
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
}

/// `any`: the maximum of each end.
inline Interval join(Interval a, Interval b) {
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
}

/// `not`: 1 - x with the ends swapped.
inline Interval negate(Interval a) { return {1 - a.hi, 1 - a.lo}; }

/// Both ends times \p factor >= 0.
inline Interval scale(Interval a, double factor) {
  return {a.lo * factor, a.hi * factor};
}

/// The sum of both ends.
inline Interval add(Interval a, Interval b) {
  return {a.lo + b.lo, a.hi + b.hi};
}

} // namespace d2k::rubric

#endif // D2K_RUBRIC_INTERVAL_H
