// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the checks of the tasks' references share. A check computes what the
// reference computes, on the host, by plain loops over `long double` and with
// number formats written out here, so that it shares no code with it. There is
// a file a task in ReferenceChecks/, which registers itself:
//
//   const ReferenceCheck registered("my_task", [] { checkMyTask(1, 64); });

#ifndef D2K_TEST_GPU_REFERENCECHECK_H
#define D2K_TEST_GPU_REFERENCECHECK_H

#include "d2k/Task/Reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace d2k::test {

/// The check of one task, known to main by its constructor.
struct ReferenceCheck {
  ReferenceCheck(const char *task, void (*run)());

  const char *task;
  void (*run)();
};

/// Prints one line and counts it.
void report(bool passed, const std::string &text);
/// Prints what makes a check impossible, and ends the program.
[[noreturn]] void die(const std::string &message);

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// bf16: the upper half of a float.
float fromBf16(uint16_t bits);
/// The bf16 nearest to \p value, by trying the neighbours: no trick that the
/// code under test might share.
uint16_t toBf16(long double value);
long double roundBf16(long double value);

/// OCP e4m3 (4 bits of exponent, bias 7, no infinity; 0x7f and 0xff are NaN).
float fromE4m3(uint8_t bits);
/// The e4m3 nearest to \p value, ties to even, saturating; by trying all.
uint8_t toE4m3(long double value);
/// OCP e2m1 in the low four bits: +-{0, 0.5, 1, 1.5, 2, 3, 4, 6}.
float fromE2m1(uint8_t bits);

/// \p count bf16 numbers of a normal distribution.
std::vector<uint16_t> makeNormal(size_t count, unsigned seed, float mean,
                                 float scale);

//===----------------------------------------------------------------------===//
// Device arrays
//===----------------------------------------------------------------------===//

/// Device memory with a copy of \p bytes; never freed.
void *uploadBytes(const void *from, size_t bytes);
void downloadBytes(void *to, const void *from, size_t bytes);

template <typename T>
T *upload(const std::vector<T> &values) {
  return static_cast<T *>(
      uploadBytes(values.data(), values.size() * sizeof(T)));
}

/// A device array of NaN: what is not written stands out.
template <typename T>
T *makeOutput(size_t count) {
  return upload(std::vector<T>(count, T(NAN)));
}

template <typename T>
std::vector<T> download(const T *from, size_t count) {
  std::vector<T> values(count);
  downloadBytes(values.data(), from, count * sizeof(T));
  return values;
}

/// Arrays for all of an output's expected values.
d2k_expected makeExpected(size_t count);

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

/// Calls d2k_reference and waits.
void runReference(const void *args, const d2k_reference_request &request);
/// Calls d2k_reference_inputs and waits.
void runReferenceInputs(const void *args, const d2k_inputs_request &request);
/// Calls d2k_reference_accept on the outputs of \p request (its `result` is
/// set here), waits, and returns what it found.
d2k_acceptance runReferenceAccept(const void *args, d2k_accept_request request);
/// What d2k_reference_units says.
void getReferenceUnits(const void *args, int64_t &count, int64_t &always);

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// The largest of |got - expected| / scale, with 0 / 0 = 0; infinite when
/// something is NaN.
template <typename T>
long double getWorstError(const std::vector<T> &got,
                          const std::vector<long double> &expected,
                          const std::vector<long double> &scale) {
  long double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    long double error = std::fabs((long double)got[i] - expected[i]);
    // A NaN is worse than anything.
    long double relative = error == 0 ? 0 : error / scale[i];
    if (!(relative <= worst))
      worst = std::isnan(relative) ? INFINITY : relative;
  }
  return worst;
}

void reportError(const std::string &what, long double worst, double tolerance);

/// All elements within \p tolerance of \p expected, relative to \p scale.
template <typename T>
void compare(const std::string &what, const std::vector<T> &got,
             const std::vector<long double> &expected,
             const std::vector<long double> &scale, double tolerance) {
  reportError(what, getWorstError(got, expected, scale), tolerance);
}

/// Rounded results may fall on the other side of a rounding boundary where the
/// order of an fp32 sum differs: all within one step of bf16, and most alike.
/// Where addends are rounded too, \p steps says how far one of them moves each
/// result when it is rounded to its other neighbour; so much more is accepted.
void compareRounded(const std::string &what, const std::vector<double> &got,
                    const std::vector<long double> &expected,
                    const std::vector<long double> &steps = {});

/// The indices below \p count, sorted by \p isLess; equal ones stay in order.
template <typename Index, typename Less>
std::vector<Index> getStableOrder(Index count, Less isLess) {
  std::vector<Index> order;
  for (Index i = 0; i < count; ++i)
    order.push_back(i);
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return isLess(a, b) || (!isLess(b, a) && a < b);
  });
  return order;
}

std::vector<long double> getMagnitudes(const std::vector<long double> &values);

} // namespace d2k::test

#endif // D2K_TEST_GPU_REFERENCECHECK_H
