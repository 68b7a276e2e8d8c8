// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the references of the tasks against computations on the host that
// share no code with them (see ReferenceCheck.h). Shapes are small and ragged.
// scripts/gpu-tasks builds and runs it.
//
//   reference-check TASK LIB.so
//
// Prints one line a check and `N passed, N failed` last.

#include "ReferenceCheck.h"

#include "Cuda/CudaDriver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <random>

using namespace d2k;
using namespace d2k::runner;

namespace {

int passedCount = 0, failedCount = 0;
const CudaDriver *driver;
decltype(&d2k_reference) computeReference;
decltype(&d2k_reference_inputs) makeInputs;
decltype(&d2k_reference_accept) accept;
decltype(&d2k_reference_units) getUnits;

/// A function, because checks register themselves before main.
std::vector<const test::ReferenceCheck *> &getChecks() {
  static std::vector<const test::ReferenceCheck *> checks;
  return checks;
}

void check(CUresult result, const char *what) {
  if (Result<void> done = driver->check(result, what); !done)
    test::die(done.error().message);
}

void wait(int error, const char *function) {
  if (error)
    test::die(std::string(function) + " returns " + std::to_string(error));
  check(driver->cuCtxSynchronize(), function);
}

template <typename Function>
void requireFunction(Function function, const char *name) {
  if (!function)
    test::die(std::string("the reference does not define ") + name);
}

} // namespace

namespace d2k::test {

ReferenceCheck::ReferenceCheck(const char *task, void (*run)())
    : task(task), run(run) {
  getChecks().push_back(this);
}

void report(bool passed, const std::string &text) {
  std::printf("%s %s\n", passed ? "ok  " : "FAIL", text.c_str());
  std::fflush(stdout);
  ++(passed ? passedCount : failedCount);
}

void die(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(4);
}

float fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

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

float fromE4m3(uint8_t bits) {
  int exponent = bits >> 3 & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7)
    return NAN;
  float magnitude = exponent == 0
                        ? std::ldexp(float(fraction), -9)
                        : std::ldexp(1 + float(fraction) / 8, exponent - 7);
  return bits & 0x80 ? -magnitude : magnitude;
}

uint8_t toE4m3(long double value) {
  if (std::isnan(value))
    return 0x7f;
  uint8_t best = 0;
  long double bestError = INFINITY;
  for (int candidate = 0; candidate < 0x7f; ++candidate) {
    long double error =
        std::fabs(fromE4m3(uint8_t(candidate)) - std::fabs(value));
    if (error < bestError || (error == bestError && candidate % 2 == 0)) {
      best = uint8_t(candidate);
      bestError = error;
    }
  }
  return uint8_t(best | (std::signbit(value) ? 0x80 : 0));
}

float fromE2m1(uint8_t bits) {
  constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  float magnitude = kMagnitudes[bits & 7];
  return bits & 8 ? -magnitude : magnitude;
}

std::vector<uint16_t> makeNormal(size_t count, unsigned seed, float mean,
                                 float scale) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(mean, scale);
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values)
    value = toBf16(normal(generator));
  return values;
}

void *uploadBytes(const void *from, size_t bytes) {
  CUdeviceptr address = 0;
  check(driver->cuMemAlloc(&address, bytes), "allocate");
  check(driver->cuMemcpyHtoD(address, from, bytes), "copy");
  return reinterpret_cast<void *>(address);
}

void downloadBytes(void *to, const void *from, size_t bytes) {
  check(driver->cuMemcpyDtoH(to, reinterpret_cast<CUdeviceptr>(from), bytes),
        "copy");
}

d2k_expected makeExpected(size_t count) {
  return {makeOutput<double>(count), makeOutput<double>(count),
          makeOutput<float>(count)};
}

void runReference(const void *args, const d2k_reference_request &request) {
  wait(computeReference(args, &request, nullptr), "d2k_reference");
}

void runReferenceInputs(const void *args, const d2k_inputs_request &request) {
  requireFunction(makeInputs, "d2k_reference_inputs");
  wait(makeInputs(args, &request, nullptr), "d2k_reference_inputs");
}

d2k_acceptance runReferenceAccept(const void *args,
                                  d2k_accept_request request) {
  requireFunction(accept, "d2k_reference_accept");
  d2k_acceptance found = {};
  found.first_failed = ~0ull;
  request.result =
      static_cast<d2k_acceptance *>(uploadBytes(&found, sizeof(found)));
  wait(accept(args, &request, nullptr), "d2k_reference_accept");
  downloadBytes(&found, request.result, sizeof(found));
  return found;
}

void getReferenceUnits(const void *args, int64_t &count, int64_t &always) {
  requireFunction(getUnits, "d2k_reference_units");
  getUnits(args, &count, &always);
}

void reportError(const std::string &what, long double worst, double tolerance) {
  char text[120];
  std::snprintf(text, sizeof(text), ": largest relative error %.3Lg of %.3g",
                worst, tolerance);
  report(worst <= tolerance, what + text);
}

void compareRounded(const std::string &what, const std::vector<double> &got,
                    const std::vector<long double> &expected,
                    const std::vector<long double> &steps) {
  size_t different = 0, far = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    different += got[i] != (double)expected[i];
    far += !(std::fabs(got[i] - (double)expected[i]) <=
             0x1p-7 * std::fabs((double)expected[i]) + 1e-30 +
                 (steps.empty() ? 0 : (double)steps[i]));
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

} // namespace d2k::test

int main(int argc, char **argv) {
  if (argc != 3)
    test::die(std::string("usage: ") + argv[0] + " TASK REFERENCE.so");
  const test::ReferenceCheck *wanted = nullptr;
  std::string known;
  for (const test::ReferenceCheck *candidate : getChecks()) {
    known += std::string(" ") + candidate->task;
    if (std::strcmp(candidate->task, argv[1]) == 0)
      wanted = candidate;
  }
  if (!wanted)
    test::die(std::string("no check of a task ") + argv[1] + "; there are" +
              known);
  Result<const CudaDriver *> loaded = CudaDriver::load();
  if (!loaded)
    test::die(loaded.error().message);
  driver = *loaded;
  CUcontext context = nullptr;
  check(driver->cuDevicePrimaryCtxRetain(&context, 0), "open the device");
  check(driver->cuCtxSetCurrent(context), "use the device");
  void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    test::die(dlerror());
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, name));
  };
  find(computeReference, "d2k_reference");
  find(makeInputs, "d2k_reference_inputs");
  find(accept, "d2k_reference_accept");
  find(getUnits, "d2k_reference_units");
  requireFunction(computeReference, "d2k_reference");
  wanted->run();
  std::printf("%d passed, %d failed\n", passedCount, failedCount);
  return failedCount != 0;
}
