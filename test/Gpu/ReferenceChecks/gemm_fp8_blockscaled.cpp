// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_fp8_blockscaled: the formula block by block.

#include "../ReferenceCheck.h"

#include "d2k_gemm_fp8_blockscaled.h"

#include <cmath>
#include <random>

using namespace d2k::test;

namespace {

std::vector<uint8_t> makeOperand(int64_t count, std::mt19937 &generator) {
  std::normal_distribution<float> normal(0, 128);
  std::vector<uint8_t> values(size_t(count), 0);
  for (uint8_t &value : values)
    value = toE4m3(normal(generator));
  return values;
}

std::vector<float> makeScales(int64_t count, int low, int high,
                              std::mt19937 &generator) {
  std::uniform_int_distribution<int> exponent(low, high);
  std::vector<float> values(size_t(count), 0);
  for (float &value : values)
    value = std::ldexp(1.0f, exponent(generator));
  return values;
}

void checkFp8(int64_t m, int64_t n, int64_t k, int spread) {
  std::string name = "gemm_fp8_blockscaled " + std::to_string(m) + "x" +
                     std::to_string(n) + "x" + std::to_string(k) + " ";
  std::mt19937 generator(5);
  int64_t blocks = k / 128, padded = (m + 3) / 4 * 4, wRows = (n + 127) / 128;
  std::vector<uint8_t> x = makeOperand(m * k, generator);
  std::vector<uint8_t> w = makeOperand(n * k, generator);
  std::vector<float> sx =
      makeScales(blocks * padded, -spread, spread, generator);
  std::vector<float> sw = makeScales(wRows * blocks, -15, -13, generator);
  // What pads must not be used.
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = m; i < padded; ++i)
      sx[size_t(b * padded + i)] = NAN;
  std::vector<long double> exact, magnitude, working;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      long double sum = 0, size = 0;
      float narrow = 0;
      for (int64_t b = 0; b < blocks; ++b) {
        long double part = 0, partSize = 0;
        float scale =
            sx[size_t(b * padded + i)] * sw[size_t(j / 128 * blocks + b)];
        for (int64_t l = 128 * b; l < 128 * b + 128; ++l) {
          float product =
              fromE4m3(x[size_t(i * k + l)]) * fromE4m3(w[size_t(j * k + l)]);
          part += product;
          partSize += std::fabs(product);
          narrow += product * scale;
        }
        sum += part * scale;
        size += partSize * scale;
      }
      exact.push_back(sum);
      magnitude.push_back(size);
      working.push_back(roundBf16(narrow));
    }
  size_t count = size_t(m * n);
  d2k_gemm_fp8_blockscaled_args args = {};
  args.M = m;
  args.N = n;
  args.K = k;
  args.X = upload(x);
  args.sX = upload(sx);
  args.W = upload(w);
  args.sW = upload(sw);
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  runReference(&args, request);
  compare(name + "exact", download(out.exact, count), exact, magnitude,
          double(k) * 0x1p-53);
  compare(name + "magnitude", download(out.magnitude, count), magnitude,
          magnitude, double(k) * 0x1p-24);
  compareRounded(name + "working", download(out.working, count), working);
}

const ReferenceCheck registered("gemm_fp8_blockscaled", [] {
  checkFp8(1, 64, 128, 1);
  checkFp8(77, 576, 512, 2);
  checkFp8(130, 192, 1024, 12);
});

} // namespace
