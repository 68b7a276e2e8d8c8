// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_w4a16: weights unpacked first, then three loops.

#include "../ReferenceCheck.h"

#include "d2k_gemm_w4a16.h"

#include <cmath>
#include <random>

using namespace d2k::test;

namespace {

void checkW4a16(int64_t m, int64_t n, int64_t k) {
  std::string name = "gemm_w4a16 " + std::to_string(m) + "x" +
                     std::to_string(n) + "x" + std::to_string(k) + " ";
  int64_t groups = k / 128;
  std::vector<uint16_t> x = makeNormal(size_t(m * k), 1, 0, 1);
  std::vector<uint16_t> s = makeNormal(size_t(n * groups), 2, 0.1f, 0.02f);
  std::mt19937 generator(3);
  std::vector<uint8_t> z(size_t(n * groups), 0), packed;
  for (uint8_t &value : z)
    value = uint8_t(generator() % 16);
  std::vector<int> weights;
  for (int64_t i = 0; i < n * k; i += 2) {
    int even = int(generator() % 16), odd = int(generator() % 16);
    weights.push_back(even);
    weights.push_back(odd);
    packed.push_back(uint8_t(even + 16 * odd));
  }
  std::vector<long double> exact, size, working;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      long double sum = 0, magnitude = 0;
      float narrow = 0;
      for (int64_t l = 0; l < k; ++l) {
        size_t group = size_t(j * groups + l / 128);
        long double w = (long double)fromBf16(s[group]) *
                        (weights[size_t(j * k + l)] - int(z[group]));
        float a = fromBf16(x[size_t(i * k + l)]);
        sum += a * w;
        magnitude += std::fabs(a * w);
        narrow += a * float(roundBf16(w));
      }
      exact.push_back(sum);
      size.push_back(magnitude);
      working.push_back(roundBf16(narrow));
    }
  size_t count = size_t(m * n);
  d2k_gemm_w4a16_args args = {};
  args.M = m;
  args.N = n;
  args.K = k;
  args.X = upload(x);
  args.q = upload(packed);
  args.s = upload(s);
  args.z = upload(z);
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  request.outputs[0].magnitude = nullptr; // The rule has no use for it.
  runReference(&args, request);
  compare(name + "exact", download(out.exact, count), exact, size,
          double(k) * 0x1p-53);
  compareRounded(name + "working", download(out.working, count), working);
}

const ReferenceCheck registered("gemm_w4a16", [] {
  checkW4a16(1, 64, 128);
  checkW4a16(7, 192, 1024);
  checkW4a16(70, 128, 512);
});

} // namespace
