// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the references of the tasks against computations on the host that
// share no code with them: plain loops over `long double`, with number formats
// written out here. Shapes are small and ragged. scripts/gpu-check builds and
// runs it.
//
//   reference-check {gemm_bf16|rmsnorm_residual_fp8|allreduce_rmsnorm} LIB.so
//
// Prints one line a check and `N passed, N failed` last.

#include "Cuda/CudaDriver.h"
#include "d2k/Task/Reference.h"

#include "d2k_allreduce_rmsnorm.h"
#include "d2k_gemm_bf16.h"
#include "d2k_rmsnorm_residual_fp8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <string>
#include <vector>

using namespace d2k;
using namespace d2k::runner;

namespace {

int passedCount = 0, failedCount = 0;

void report(bool passed, const std::string &text) {
  std::printf("%s %s\n", passed ? "ok  " : "FAIL", text.c_str());
  ++(passed ? passedCount : failedCount);
}

[[noreturn]] void die(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(4);
}

const CudaDriver *driver;
decltype(&d2k_reference) computeReference;

void check(CUresult result, const char *what) {
  if (Result<void> done = driver->check(result, what); !done)
    die(done.error().message);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// bf16: the upper half of a float.
float fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// The bf16 nearest to \p value, by trying the neighbours: no trick that the
/// code under test might share.
uint16_t toBf16(long double value) {
  float near = float(value);
  uint32_t wide;
  std::memcpy(&wide, &near, 4);
  uint16_t best = 0;
  long double bestError = INFINITY;
  for (int step = -1; step <= 1; ++step) {
    uint16_t candidate = uint16_t(int(wide >> 16) + step);
    long double error = std::fabs((long double)fromBf16(candidate) - value);
    if (error < bestError || (error == bestError && candidate % 2 == 0)) {
      best = candidate;
      bestError = error;
    }
  }
  return best;
}

long double roundBf16(long double value) { return fromBf16(toBf16(value)); }

std::vector<uint16_t> makeNormal(size_t count, unsigned seed, float mean,
                                 float scale) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(mean, scale);
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values)
    value = toBf16(normal(generator));
  return values;
}

//===----------------------------------------------------------------------===//
// Device arrays
//===----------------------------------------------------------------------===//

template <typename T>
T *upload(const std::vector<T> &values) {
  CUdeviceptr address = 0;
  check(driver->cuMemAlloc(&address, values.size() * sizeof(T)), "allocate");
  check(driver->cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)),
        "copy");
  return reinterpret_cast<T *>(address);
}

/// A device array of NaN: what is not written stands out.
template <typename T>
T *makeOutput(size_t count) {
  return upload(std::vector<T>(count, T(NAN)));
}

template <typename T>
std::vector<T> download(const T *from, size_t count) {
  std::vector<T> values(count);
  check(driver->cuMemcpyDtoH(values.data(), reinterpret_cast<CUdeviceptr>(from),
                             count * sizeof(T)),
        "copy");
  return values;
}

d2k_expected makeExpected(size_t count) {
  return {makeOutput<double>(count), makeOutput<double>(count),
          makeOutput<float>(count)};
}

void runReference(const void *args, const d2k_reference_request &request) {
  if (int error = computeReference(args, &request, nullptr))
    die("the reference returns " + std::to_string(error));
  check(driver->cuCtxSynchronize(), "wait for the reference");
}

/// All elements within \p tolerance of \p expected, relative to \p scale.
template <typename T>
void compare(const std::string &what, const std::vector<T> &got,
             const std::vector<long double> &expected,
             const std::vector<long double> &scale, double tolerance) {
  long double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    long double error = std::fabs((long double)got[i] - expected[i]);
    // A NaN is worse than anything.
    long double relative = error == 0 ? 0 : error / scale[i];
    if (!(relative <= worst))
      worst = std::isnan(relative) ? INFINITY : relative;
  }
  char text[120];
  std::snprintf(text, sizeof(text), ": largest relative error %.3Lg of %.3g",
                worst, tolerance);
  report(worst <= tolerance, what + text);
}

/// Rounded results may fall on the other side of a rounding boundary where the
/// order of an fp32 sum differs: all within one step of bf16, and most alike.
void compareRounded(const std::string &what, const std::vector<double> &got,
                    const std::vector<long double> &expected) {
  size_t different = 0, far = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    different += got[i] != (double)expected[i];
    far += !(std::fabs(got[i] - (double)expected[i]) <=
             0x1p-7 * std::fabs((double)expected[i]) + 1e-30);
  }
  char text[120];
  std::snprintf(text, sizeof(text),
                ": %zu of %zu elements differ, %zu by more than a step",
                different, got.size(), far);
  report(far == 0 && different * 50 <= got.size(), what + text);
}

std::vector<long double> getMagnitudes(const std::vector<long double> &values) {
  std::vector<long double> magnitudes;
  for (long double value : values)
    magnitudes.push_back(std::fabs(value));
  return magnitudes;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void checkGemm(int64_t m, int64_t n, int64_t k) {
  std::string name = "gemm_bf16 " + std::to_string(m) + "x" +
                     std::to_string(n) + "x" + std::to_string(k) + " ";
  std::vector<uint16_t> x = makeNormal(size_t(m * k), 1, 0, 1);
  std::vector<uint16_t> w = makeNormal(size_t(n * k), 2, 0, 0.1f);
  std::vector<uint16_t> r = makeNormal(size_t(m * n), 3, 0, 1);
  std::vector<long double> exact, magnitude, working;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      long double sum = 0, size = 0;
      float narrow = 0;
      for (int64_t l = 0; l < k; ++l) {
        float a = fromBf16(x[size_t(i * k + l)]);
        float b = fromBf16(w[size_t(j * k + l)]);
        sum += (long double)a * b;
        size += std::fabs((long double)a * b);
        narrow += a * b;
      }
      float residual = fromBf16(r[size_t(i * n + j)]);
      exact.push_back(sum + residual);
      magnitude.push_back(size + std::fabs(residual));
      working.push_back(roundBf16(narrow + residual));
    }
  size_t count = size_t(m * n);
  d2k_gemm_bf16_args args = {};
  args.M = m;
  args.N = n;
  args.K = k;
  args.X = upload(x);
  args.W = upload(w);
  args.R = upload(r);
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  runReference(&args, request);
  // Relative to S: an fp64 sum of k terms errs by less than k * 2^-53.
  compare(name + "exact", download(out.exact, count), exact, magnitude,
          double(k) * 0x1p-53);
  compare(name + "magnitude", download(out.magnitude, count), magnitude,
          magnitude, double(k) * 0x1p-24);
  compareRounded(name + "working", download(out.working, count), working);

  // Tiles of 64 x 64 alone: the last one and, where there is one, the one
  // before.
  int64_t tiles = (m + 63) / 64 * ((n + 63) / 64);
  std::vector<int64_t> list = {tiles - 1};
  if (tiles > 1)
    list.insert(list.begin(), tiles - 2);
  request.outputs[0] = makeExpected(count);
  request.tiles = upload(list);
  request.tile_count = int64_t(list.size());
  runReference(&args, request);
  std::vector<double> whole = download(out.exact, count);
  std::vector<double> part = download(request.outputs[0].exact, count);
  size_t wrong = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t tile = i / 64 * ((n + 63) / 64) + j / 64;
      double value = part[size_t(i * n + j)];
      wrong += tile >= tiles - 2 ? value != whole[size_t(i * n + j)]
                                 : !std::isnan(value);
    }
  report(wrong == 0,
         name + "tiles alone: " + std::to_string(wrong) + " elements wrong");
}

void checkRmsnorm(int64_t t, int64_t h, float scale) {
  std::string name = "rmsnorm_residual_fp8 " + std::to_string(t) + "x" +
                     std::to_string(h) + " ";
  size_t count = size_t(t * h);
  int64_t groups = (h + 127) / 128;
  std::vector<uint16_t> x = makeNormal(count, 1, 0, scale);
  std::vector<uint16_t> res = makeNormal(count, 2, 0, scale);
  std::vector<uint16_t> w = makeNormal(size_t(h), 3, 1, 0.25f);
  // The last token is zeros.
  for (int64_t i = 0; i < h; ++i)
    x[size_t((t - 1) * h + i)] = res[size_t((t - 1) * h + i)] = 0;
  float eps = 1e-5f;
  std::vector<long double> r(count), norm(count), ratio(size_t(groups * t));
  for (int64_t i = 0; i < t; ++i) {
    long double squares = 0;
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      r[at] = roundBf16((long double)fromBf16(x[at]) + fromBf16(res[at]));
      squares += r[at] * r[at];
    }
    long double root = std::sqrt(squares / h + (long double)eps);
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      norm[at] = r[at] / root * fromBf16(w[size_t(j)]);
      long double &largest = ratio[size_t(j / 128 * t + i)];
      largest = std::max(largest, std::fabs(norm[at]));
    }
  }
  for (long double &value : ratio)
    value = std::max(value, 1e-10L) / 448;
  d2k_rmsnorm_residual_fp8_args args = {};
  args.T = t;
  args.H = h;
  args.x = upload(x);
  args.res = upload(res);
  args.w = upload(w);
  args.eps = eps;
  d2k_reference_request request = {};
  request.outputs[0].exact = makeOutput<double>(count);
  request.outputs[1].exact = makeOutput<double>(count);
  request.outputs[2].exact = makeOutput<double>(size_t(groups * t));
  runReference(&args, request);
  compare(name + "r", download(request.outputs[0].exact, count), r,
          getMagnitudes(r), 0);
  compare(name + "n", download(request.outputs[1].exact, count), norm,
          getMagnitudes(norm), 1e-13);
  compare(name + "amax/448",
          download(request.outputs[2].exact, size_t(groups * t)), ratio, ratio,
          1e-13);
}

void checkAllreduce(int64_t ranks, int64_t t, int64_t h) {
  std::string name = "allreduce_rmsnorm " + std::to_string(ranks) + " ranks " +
                     std::to_string(t) + "x" + std::to_string(h) + " ";
  size_t count = size_t(t * h);
  std::vector<std::vector<uint16_t>> x;
  std::vector<const void *> pointers;
  for (int64_t p = 0; p < ranks; ++p) {
    x.push_back(makeNormal(count, unsigned(10 + p), 0, 1));
    pointers.push_back(upload(x.back()));
  }
  std::vector<uint16_t> res = makeNormal(count, 2, 0, 1);
  std::vector<uint16_t> w = makeNormal(size_t(h), 3, 1, 0.25f);
  float eps = 1e-5f;
  std::vector<long double> r(count), y(count), rw(count), yw(count);
  std::vector<long double> scale(count);
  for (int64_t i = 0; i < t; ++i) {
    long double squares = 0, squaresWorking = 0;
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      long double sum = 0;
      float narrow = 0;
      for (int64_t p = 0; p < ranks; ++p) {
        float value = fromBf16(x[size_t(p)][at]);
        sum += value;
        narrow += value;
        scale[at] += std::fabs(value);
      }
      scale[at] += std::fabs(fromBf16(res[at]));
      r[at] = sum + fromBf16(res[at]);
      rw[at] = roundBf16(roundBf16(narrow) + fromBf16(res[at]));
      squares += roundBf16(r[at]) * roundBf16(r[at]);
      squaresWorking += rw[at] * rw[at];
    }
    long double root = std::sqrt(squares / h + (long double)eps);
    long double rootWorking = std::sqrt(squaresWorking / h + (long double)eps);
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      y[at] = roundBf16(r[at]) / root * fromBf16(w[size_t(j)]);
      yw[at] = roundBf16(rw[at] / rootWorking * fromBf16(w[size_t(j)]));
    }
  }
  d2k_allreduce_rmsnorm_args args = {};
  args.T = t;
  args.H = h;
  args.world = ranks;
  args.x = pointers.data();
  args.res = upload(res);
  args.w = upload(w);
  args.eps = eps;
  d2k_reference_request request = {};
  request.outputs[0] = makeExpected(count);
  request.outputs[1] = makeExpected(count);
  runReference(&args, request);
  compare(name + "r", download(request.outputs[0].exact, count), r, scale,
          1e-15);
  compare(name + "r working", download(request.outputs[0].working, count), rw,
          getMagnitudes(rw), 0);
  compare(name + "y", download(request.outputs[1].exact, count), y,
          getMagnitudes(y), 1e-13);
  compareRounded(name + "y working",
                 download(request.outputs[1].working, count), yw);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    die(std::string("usage: ") + argv[0] + " TASK REFERENCE.so");
  Result<const CudaDriver *> loaded = CudaDriver::load();
  if (!loaded)
    die(loaded.error().message);
  driver = *loaded;
  CUcontext context = nullptr;
  check(driver->cuDevicePrimaryCtxRetain(&context, 0), "open the device");
  check(driver->cuCtxSetCurrent(context), "use the device");
  void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (library)
    computeReference = reinterpret_cast<decltype(computeReference)>(
        dlsym(library, "d2k_reference"));
  if (!computeReference)
    die(dlerror());
  std::string task = argv[1];
  if (task == "gemm_bf16") {
    checkGemm(1, 64, 64);
    checkGemm(77, 192, 1024);
    checkGemm(130, 128, 4096);
  } else if (task == "rmsnorm_residual_fp8") {
    checkRmsnorm(1, 64, 1);
    checkRmsnorm(33, 2880, 1);
    checkRmsnorm(5, 7168, 1e4f);
  } else if (task == "allreduce_rmsnorm") {
    checkAllreduce(2, 7, 5120);
    checkAllreduce(8, 3, 8192);
  } else {
    die("no task " + task);
  }
  std::printf("%d passed, %d failed\n", passedCount, failedCount);
  return failedCount != 0;
}
