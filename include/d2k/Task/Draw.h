// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input distributions as functions of a counter: element i of a tensor depends
// on the seed and on i alone, so that any part can be made anywhere, in any
// order, on the host or on the device, with the same bits.
//
// For instance {Normal, bfloat16, mean 0, scale 1} with seed 7 gives for i = 0,
// 1, 2, ... independent numbers from N(0,1), rounded to bf16 when stored.

#ifndef D2K_TASK_DRAW_H
#define D2K_TASK_DRAW_H

#include "d2k/Task/Numbers.h"

namespace d2k::task {

/// What is drawn. The generators of task.json are named in getGenerators().
enum class DrawKind : uint32_t {
  /// mean + scale * N(0,1).
  Normal,
  /// Between low and high.
  Uniform,
  /// Always mean.
  Constant,
  /// Integers from low to high, both included.
  Integers,
  /// Normal, but rows 0, every, 2*every, ... are zeros.
  ZeroRows,
  /// Normal, but one element in each row is `high` with a random sign.
  RowOutlier,
  /// Normal, each row times a power of two from 2^low to 2^high.
  ScaledRows,
  /// Normal, with a random column in `every` times `high`; the same columns in
  /// all rows.
  OutlierColumns,
  /// Powers of two from 2^low to 2^high, each as likely.
  PowersOfTwo,
};

/// How to draw one tensor. Plain data: it is passed to kernels.
struct DrawSpec {
  DrawKind kind = DrawKind::Normal;
  DType type = DType::Float32;
  double mean = 0, scale = 1;
  double low = 0, high = 0;
  /// Elements of a row: the last axis.
  int64_t rowLength = 1;
  int64_t every = 1;
};

/// A well-mixed function of a counter (the finaliser of SplitMix64, Steele,
/// Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
D2K_HOST_DEVICE inline uint64_t mixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// 64 random bits for counter \p index of the stream \p stream of \p seed.
D2K_HOST_DEVICE inline uint64_t drawBits(uint64_t seed, uint64_t stream,
                                         uint64_t index) {
  return mixBits(mixBits(seed ^ mixBits(stream)) + index);
}

/// A number in (0, 1), never an end.
D2K_HOST_DEVICE inline double toUnit(uint64_t bits) {
  return (double(bits >> 12) + 0.5) * 0x1p-52;
}

/// The natural logarithm of a positive normal number, within 1e-15 relative to
/// max(|log x|, 0.1). An own one, because those of host and device differ in
/// the last place.
D2K_HOST_DEVICE inline double logOf(double x) {
  int exponent;
  double m = frexp(x, &exponent); // [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // log m = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...), |s| < 0.172.
  double s = (m - 1) / (m + 1);
  double square = s * s;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2)
    sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * 0.69314718055994531;
}

/// The quantile of N(0,1) at \p p in (0, 1), within 1e-15 relative: algorithm
/// AS 241 (PPND16), Wichura, Applied Statistics 37, 1988.
D2K_HOST_DEVICE inline double normalQuantile(double p) {
  double q = p - 0.5;
  if (fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    double numerator =
        ((((((2.5090809287301226727e+3 * r + 3.3430575583588128105e+4) * r +
             6.7265770927008700853e+4) *
                r +
            4.5921953931549871457e+4) *
               r +
           1.3731693765509461125e+4) *
              r +
          1.9715909503065514427e+3) *
             r +
         1.3314166789178437745e+2) *
            r +
        3.3871328727963666080e+0;
    double denominator =
        ((((((5.2264952788528545610e+3 * r + 2.8729085735721942674e+4) * r +
             3.9307895800092710610e+4) *
                r +
            2.1213794301586595867e+4) *
               r +
           5.3941960214247511077e+3) *
              r +
          6.8718700749205790830e+2) *
             r +
         4.2313330701600911252e+1) *
            r +
        1.0;
    return q * numerator / denominator;
  }
  double r = sqrt(-logOf(q < 0 ? p : 1 - p));
  double value;
  if (r <= 5) {
    r -= 1.6;
    double numerator =
        ((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r +
             2.41780725177450611770e-1) *
                r +
            1.27045825245236838258e+0) *
               r +
           3.64784832476320460504e+0) *
              r +
          5.76949722146069140550e+0) *
             r +
         4.63033784615654529590e+0) *
            r +
        1.42343711074968357734e+0;
    double denominator =
        ((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r +
             1.51986665636164571966e-2) *
                r +
            1.48103976427480074590e-1) *
               r +
           6.89767334985100004550e-1) *
              r +
          1.67638483018380384940e+0) *
             r +
         2.05319162663775882187e+0) *
            r +
        1.0;
    value = numerator / denominator;
  } else {
    r -= 5;
    double numerator =
        ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r +
             1.24266094738807843860e-3) *
                r +
            2.65321895265761230930e-2) *
               r +
           2.96560571828504891230e-1) *
              r +
          1.78482653991729133580e+0) *
             r +
         5.46378491116411436990e+0) *
            r +
        6.65790464350110377720e+0;
    double denominator =
        ((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r +
             1.84631831751005468180e-5) *
                r +
            7.86869131145613259100e-4) *
               r +
           1.48753612908506148525e-2) *
              r +
          1.36929880922735805310e-1) *
             r +
         5.99832206555887937690e-1) *
            r +
        1.0;
    value = numerator / denominator;
  }
  return q < 0 ? -value : value;
}

/// Element \p index as drawn, before it is rounded to the element type.
D2K_HOST_DEVICE inline double drawValue(const DrawSpec &spec, uint64_t seed,
                                        int64_t index) {
  // Streams: 0 the elements, 1 rows, 2 columns.
  uint64_t bits = drawBits(seed, 0, uint64_t(index));
  switch (spec.kind) {
  case DrawKind::Constant:
    return spec.mean;
  case DrawKind::Uniform:
    return spec.low + (spec.high - spec.low) * toUnit(bits);
  case DrawKind::Integers: {
    uint64_t count = uint64_t(spec.high - spec.low) + 1;
    return spec.low + double(bits % count);
  }
  case DrawKind::PowersOfTwo: {
    uint64_t count = uint64_t(spec.high - spec.low) + 1;
    return ldexp(1.0, int(spec.low) + int(bits % count));
  }
  default:
    break;
  }
  double value = spec.mean + spec.scale * normalQuantile(toUnit(bits));
  int64_t row = index / spec.rowLength;
  int64_t column = index % spec.rowLength;
  switch (spec.kind) {
  case DrawKind::ZeroRows:
    return row % spec.every == 0 ? 0.0 : value;
  case DrawKind::RowOutlier: {
    uint64_t place = drawBits(seed, 1, uint64_t(row));
    if (column != int64_t(place % uint64_t(spec.rowLength)))
      return value;
    return place >> 63 ? -spec.high : spec.high;
  }
  case DrawKind::ScaledRows: {
    uint64_t count = uint64_t(spec.high - spec.low) + 1;
    uint64_t step = drawBits(seed, 1, uint64_t(row)) % count;
    return ldexp(value, int(spec.low) + int(step));
  }
  case DrawKind::OutlierColumns:
    return drawBits(seed, 2, uint64_t(column)) % uint64_t(spec.every) == 0
               ? value * spec.high
               : value;
  default:
    return value;
  }
}

/// Bits of element \p index.
D2K_HOST_DEVICE inline uint64_t drawElement(const DrawSpec &spec, uint64_t seed,
                                            int64_t index) {
  return encodeElement(spec.type, drawValue(spec, seed, index));
}

} // namespace d2k::task

#endif // D2K_TASK_DRAW_H
