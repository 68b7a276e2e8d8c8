// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trusted kernels of the harness as plain data and functions of one work
// item, for the device (Kernels.cu) and for the host (HostKernels.cpp): each
// kernel takes one of these structures by value, and both sides call the same
// functions, so that a test without a GPU tests what runs on one.

#ifndef D2K_RUNNER_DEVICE_JOBS_H
#define D2K_RUNNER_DEVICE_JOBS_H

#include "d2k/Task/Draw.h"

#include <cstring>

namespace d2k::runner {

/// Bytes of the lines that perturb redraws: a cache line.
inline constexpr int64_t kLineBytes = 128;

/// Draws all elements of a tensor. For packed types a work item is a byte.
struct FillJob {
  task::DrawSpec spec;
  void *data;
  int64_t count;
  uint64_t seed;
};

/// Elements of a work item of FillJob.
D2K_HOST_DEVICE inline int64_t getElementsPerItem(task::DType type) {
  return task::getElementBits(type) == 4 ? 2 : 1;
}

/// Draws the elements of item \p item.
D2K_HOST_DEVICE inline void fillItem(const FillJob &job, int64_t item) {
  int64_t elements = getElementsPerItem(job.spec.type);
  for (int64_t i = item * elements; i < (item + 1) * elements && i < job.count;
       ++i)
    task::storeElement(job.spec.type, job.data, i,
                       task::drawElement(job.spec, job.seed, i));
}

/// Writes a pattern of four bytes; a work item is a word of four, the last one
/// may be partial. `count` is written by countDifferent only: the number of
/// bytes that are not those of the pattern.
struct PatternJob {
  void *data;
  int64_t bytes;
  uint32_t pattern;
  unsigned long long *count;
};

/// Byte \p index of the pattern.
D2K_HOST_DEVICE inline uint8_t getPatternByte(const PatternJob &job,
                                              int64_t index) {
  return uint8_t(job.pattern >> (index % 4 * 8));
}

/// Data from which a hash is made, in words of eight bytes; a tail of fewer is
/// filled up with zeros. Only who knows `key` can make another buffer with the
/// same hash.
struct HashJob {
  const void *data;
  int64_t bytes;
  uint64_t key;
  unsigned long long *sum;
};

/// What word \p item adds to the sum. The data is aligned to eight bytes.
D2K_HOST_DEVICE inline uint64_t hashItem(const HashJob &job, int64_t item) {
  uint64_t word = 0;
  int64_t rest = job.bytes - item * 8;
  if (rest >= 8)
    word = static_cast<const uint64_t *>(job.data)[item];
  else
    for (int64_t i = 0; i < rest; ++i)
      word |= uint64_t(static_cast<const uint8_t *>(job.data)[item * 8 + i])
              << (8 * i);
  return task::mixBits(word ^ task::mixBits(job.key + uint64_t(item)));
}

/// Redraws a random line in `every`; a work item is a line. The hash of the
/// data, in `hash`, follows: what the old words added is taken away.
struct PerturbJob {
  FillJob fill;
  uint64_t every;
  HashJob hash;
};

/// Lines of the data.
D2K_HOST_DEVICE inline int64_t getLines(const PerturbJob &job) {
  return (job.hash.bytes + kLineBytes - 1) / kLineBytes;
}

/// What the words of \p line add to the hash.
D2K_HOST_DEVICE inline uint64_t hashLine(const HashJob &job, int64_t line) {
  uint64_t sum = 0;
  for (int64_t i = line * kLineBytes / 8;
       i < (line + 1) * kLineBytes / 8 && i * 8 < job.bytes; ++i)
    sum += hashItem(job, i);
  return sum;
}

/// Redraws \p line, perhaps; what is to be added to the hash.
D2K_HOST_DEVICE inline uint64_t perturbItem(const PerturbJob &job,
                                            int64_t line) {
  // Stream 3: the streams below it draw elements.
  if (task::drawBits(job.fill.seed, 3, uint64_t(line)) % job.every != 0)
    return 0;
  uint64_t before = hashLine(job.hash, line);
  int64_t elements = kLineBytes * 8 / task::getElementBits(job.fill.spec.type);
  for (int64_t i = line * elements;
       i < (line + 1) * elements && i < job.fill.count; ++i)
    task::storeElement(job.fill.spec.type, job.fill.data, i,
                       task::drawElement(job.fill.spec, job.fill.seed, i));
  return hashLine(job.hash, line) - before;
}

/// Reads `bytes` bytes, a multiple of 16, and writes none of them. `sink` gets
/// a word only if the data has one certain sum, so that reading cannot be
/// optimised away.
struct FlushJob {
  const void *data;
  int64_t bytes;
  uint32_t *sink;
};

/// Waits on the device.
struct SpinJob {
  uint64_t nanoseconds;
};

/// Reads `globaltimer` (ns) into word 0 and `clock64` of the same SM into 1.
struct ClockJob {
  unsigned long long *words;
};

/// Counts `ranks` arrivals at *signal, in memory that all devices can reach,
/// and returns when `epoch` times as many have arrived since it was zero.
struct BarrierJob {
  unsigned *signal;
  unsigned ranks;
  unsigned epoch;
};

/// Adds doubles.
struct SumJob {
  const double *data;
  int64_t count;
  double *sum;
};

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// How an element is judged; the task's rules, with those that need two passes
/// split.
enum class CompareRule : uint32_t {
  /// Bits of the rounded exact value.
  Exact,
  /// relative * |exact| + sumFactor * magnitude + absolute, and squares for the
  /// rms.
  Bound,
  /// Errors of the output and of the working precision; nothing fails.
  MeasureErrors,
  /// Acceptance rules of the same names.
  PowerOfTwoCeiling,
  QuantisedGroups,
};

/// A NaN that no computation gives, twice in a double: an expected value that
/// the reference did not write.
inline constexpr uint32_t kNotComputed = 0x7ff4d2d2;

D2K_HOST_DEVICE inline bool isComputed(double exact) {
  uint64_t bits;
  memcpy(&bits, &exact, sizeof(bits));
  return bits != (uint64_t(kNotComputed) << 32 | kNotComputed);
}

/// Compares an output, row-major, with its expected values. A work item is an
/// element of the output or, with tiles, of a listed tile.
struct CompareJob {
  CompareRule rule;
  task::DType type;
  const void *got;
  const double *exact;
  /// Null when the rule does not use it.
  const double *working;
  const float *magnitude;
  int64_t rows, columns;
  /// Null for all elements.
  const int64_t *tiles;
  int64_t tileCount, tileRows, tileColumns;
  /// Elements whose exact value is still kNotComputed are left out.
  bool isPartial;
  double relative, sumFactor, absolute;
  double nearness;
  /// The submission's scales, [groups, rows].
  const float *scales;
  int64_t group;
};

/// What became of one element.
struct ElementReport {
  double expected, got;
  /// The largest error that passes.
  double allowed;
  double error, errorWorking;
  /// Error over allowed; 0 where both are 0.
  double ratio;
  /// Finite, or an infinity where the exact value is infinite.
  bool isFinite;
  /// Differs from the rounded exact value (rules with steps or bits).
  bool differs;
  bool fails;
};

/// Sums and extremes over elements.
struct CompareResult {
  unsigned long long compared, failed, nonFinite, different;
  /// The lowest index of an element that fails, or ~0.
  unsigned long long firstFailed;
  /// Of finite elements.
  double maxRatio, maxError, maxErrorWorking;
  double squares, squaresWorking;
};

/// A result to start from.
D2K_HOST_DEVICE inline CompareResult makeEmptyResult() {
  CompareResult result = {};
  result.firstFailed = ~0ull;
  return result;
}

/// Judges element \p index.
D2K_HOST_DEVICE inline ElementReport judgeElement(const CompareJob &job,
                                                  int64_t index) {
  ElementReport report = {};
  uint64_t bits = task::loadElement(job.type, job.got, index);
  double exact = job.exact[index];
  report.got = task::decodeElement(job.type, bits);
  report.isFinite = std::isfinite(report.got);
  report.expected = exact;
  if (std::isinf(exact)) {
    // An infinity is nothing but itself: the logarithm of an empty sum.
    report.isFinite = !std::isnan(report.got);
    report.differs = report.fails = report.got != exact;
    report.error = report.ratio = report.fails ? fabs(exact) : 0.0;
    return report;
  }
  switch (job.rule) {
  case CompareRule::Exact: {
    uint64_t right = task::encodeElement(job.type, exact);
    report.expected = task::decodeElement(job.type, right);
    report.differs = bits != right;
    report.fails = report.differs;
    break;
  }
  case CompareRule::Bound:
    report.allowed = job.relative * fabs(exact) + job.absolute;
    if (job.magnitude)
      report.allowed += job.sumFactor * double(job.magnitude[index]);
    break;
  case CompareRule::MeasureErrors:
    break;
  case CompareRule::PowerOfTwoCeiling: {
    int exponent;
    double fraction = frexp(exact, &exponent); // [0.5, 1)
    int ceiling = fraction == 0.5 ? exponent - 1 : exponent;
    report.expected = ldexp(1.0, ceiling);
    report.differs = report.got != report.expected;
    // The power of two that the value is near to, if any.
    int near = fraction / 0.5 - 1 <= job.nearness ? exponent - 1
               : 1 - fraction <= job.nearness     ? exponent
                                                  : INT32_MAX;
    report.fails = report.differs &&
                   (near == INT32_MAX || (report.got != ldexp(1.0, near) &&
                                          report.got != ldexp(1.0, near + 1)));
    break;
  }
  case CompareRule::QuantisedGroups: {
    int64_t row = index / job.columns, column = index % job.columns;
    double scale = double(job.scales[column / job.group * job.rows + row]);
    uint64_t right = task::encodeElement(job.type, exact / scale);
    report.expected = task::decodeElement(job.type, right);
    // Formats with sign and magnitude: the number of steps from zero.
    int width = task::getElementBits(job.type);
    int mask = (1 << (width - 1)) - 1;
    int steps = int(bits) & mask, rightSteps = int(right) & mask;
    steps = bits >> (width - 1) & 1 ? -steps : steps;
    rightSteps = right >> (width - 1) & 1 ? -rightSteps : rightSteps;
    int distance = steps < rightSteps ? rightSteps - steps : steps - rightSteps;
    report.differs = distance != 0;
    // Not `scale <= 0`: a NaN must fail.
    report.fails = distance > 1 || !(scale > 0) || !std::isfinite(scale);
    break;
  }
  }
  report.fails =
      report.fails || (!report.isFinite && task::isFloating(job.type));
  report.error = fabs(report.got - exact);
  if (job.working)
    report.errorWorking = fabs(job.working[index] - exact);
  if (job.rule == CompareRule::Bound) {
    report.fails = report.fails || !(report.error <= report.allowed);
    report.ratio = report.error > 0 ? report.error / report.allowed : 0.0;
  }
  return report;
}

/// Adds what became of the element \p index to \p result.
D2K_HOST_DEVICE inline void
addReport(CompareResult &result, const ElementReport &report, int64_t index) {
  ++result.compared;
  if (report.fails) {
    ++result.failed;
    if (uint64_t(index) < result.firstFailed)
      result.firstFailed = uint64_t(index);
  }
  result.different += report.differs;
  if (!report.isFinite) {
    ++result.nonFinite;
    return;
  }
  result.maxRatio = fmax(result.maxRatio, report.ratio);
  result.maxError = fmax(result.maxError, report.error);
  result.maxErrorWorking = fmax(result.maxErrorWorking, report.errorWorking);
  result.squares += report.error * report.error;
  result.squaresWorking += report.errorWorking * report.errorWorking;
}

/// Adds \p other to \p result.
D2K_HOST_DEVICE inline void mergeResult(CompareResult &result,
                                        const CompareResult &other) {
  result.compared += other.compared;
  result.failed += other.failed;
  result.nonFinite += other.nonFinite;
  result.different += other.different;
  if (other.firstFailed < result.firstFailed)
    result.firstFailed = other.firstFailed;
  result.maxRatio = fmax(result.maxRatio, other.maxRatio);
  result.maxError = fmax(result.maxError, other.maxError);
  result.maxErrorWorking = fmax(result.maxErrorWorking, other.maxErrorWorking);
  result.squares += other.squares;
  result.squaresWorking += other.squaresWorking;
}

/// Work items of \p job.
D2K_HOST_DEVICE inline int64_t getItems(const CompareJob &job) {
  return job.tiles ? job.tileCount * job.tileRows * job.tileColumns
                   : job.rows * job.columns;
}

/// The element of item \p item, or -1 where a tile reaches beyond the output,
/// and for elements that are left out.
D2K_HOST_DEVICE inline int64_t getElement(const CompareJob &job, int64_t item) {
  if (!job.tiles)
    return !job.isPartial || isComputed(job.exact[item]) ? item : -1;
  int64_t area = job.tileRows * job.tileColumns;
  int64_t tile = job.tiles[item / area];
  int64_t inTile = item % area;
  int64_t across = (job.columns + job.tileColumns - 1) / job.tileColumns;
  int64_t row = tile / across * job.tileRows + inTile / job.tileColumns;
  int64_t column = tile % across * job.tileColumns + inTile % job.tileColumns;
  return row < job.rows && column < job.columns ? row * job.columns + column
                                                : -1;
}

/// Compares; `result` has been set to makeEmptyResult().
struct CompareAllJob {
  CompareJob compare;
  CompareResult *result;
};

/// Says everything about one element.
struct ExplainJob {
  CompareJob compare;
  int64_t index;
  ElementReport *report;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_DEVICE_JOBS_H
