// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_nvfp4: both operands as plain matrices first, the scales put in their
// tiles by the inverse of the formula that kernels use, then three loops. The
// scales of X that the reference makes: zeros where there is no row.

#include "../ReferenceCheck.h"

#include "d2k_gemm_nvfp4.h"

#include <cmath>
#include <random>

using namespace d2k::test;

namespace {

/// An operand as stored, and what it stands for.
struct Operand {
  std::vector<uint8_t> packed, scales;
  std::vector<float> values;
};

/// Row and column of the scale at \p offset of a tile of 128 rows and 4
/// columns.
int getTileRow(int offset) { return offset % 16 / 4 * 32 + offset / 16; }
int getTileColumn(int offset) { return offset % 4; }

Operand makeOperand(int64_t rows, int64_t k, std::mt19937 &generator) {
  int64_t blocks = k / 16, paddedRows = (rows + 127) / 128 * 128;
  Operand operand;
  std::vector<uint8_t> plain(size_t(paddedRows * blocks), 0x7f);
  for (int64_t i = 0; i < rows * blocks; ++i)
    plain[size_t(i)] = uint8_t(generator() % 0x7f); // All but NaN.
  for (int64_t tile = 0; tile < paddedRows / 128 * (blocks / 4); ++tile)
    for (int offset = 0; offset < 512; ++offset) {
      int64_t row = tile / (blocks / 4) * 128 + getTileRow(offset);
      int64_t block = tile % (blocks / 4) * 4 + getTileColumn(offset);
      operand.scales.push_back(plain[size_t(row * blocks + block)]);
    }
  for (int64_t i = 0; i < rows * k; i += 2) {
    uint8_t even = uint8_t(generator() % 16), odd = uint8_t(generator() % 16);
    float scale = fromE4m3(plain[size_t(i / 16)]);
    operand.packed.push_back(uint8_t(even + 16 * odd));
    operand.values.push_back(fromE2m1(even) * scale);
    operand.values.push_back(fromE2m1(odd) * scale);
  }
  return operand;
}

void checkNvfp4(int64_t m, int64_t n, int64_t k) {
  std::string name = "gemm_nvfp4 " + std::to_string(m) + "x" +
                     std::to_string(n) + "x" + std::to_string(k) + " ";
  std::mt19937 generator(7);
  Operand x = makeOperand(m, k, generator), w = makeOperand(n, k, generator);
  float alpha = 0.3f;
  std::vector<long double> exact, magnitude, working;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      long double sum = 0, size = 0;
      float narrow = 0;
      for (int64_t l = 0; l < k; ++l) {
        float a = x.values[size_t(i * k + l)], b = w.values[size_t(j * k + l)];
        sum += (long double)a * b;
        size += std::fabs((long double)a * b);
        narrow += a * b;
      }
      exact.push_back(sum * alpha);
      magnitude.push_back(size * alpha);
      working.push_back(roundBf16(narrow * alpha));
    }
  size_t count = size_t(m * n);
  d2k_gemm_nvfp4_args args = {};
  args.M = m;
  args.N = n;
  args.K = k;
  args.X = upload(x.packed);
  args.sX = upload(x.scales);
  args.W = upload(w.packed);
  args.sW = upload(w.scales);
  args.alpha = upload(std::vector<float>{alpha});
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  runReference(&args, request);
  compare(name + "exact", download(out.exact, count), exact, magnitude,
          double(k) * 0x1p-53);
  compare(name + "magnitude", download(out.magnitude, count), magnitude,
          magnitude, double(k) * 0x1p-24);
  compareRounded(name + "working", download(out.working, count), working);
}

void checkScales(int64_t m, int64_t k, bool isExact) {
  int64_t blocks = k / 16, paddedRows = (m + 127) / 128 * 128;
  d2k_gemm_nvfp4_args args = {};
  args.M = m;
  args.N = 128;
  args.K = k;
  size_t count = size_t(paddedRows * blocks);
  args.sX = upload(std::vector<uint8_t>(count, 0x7f));
  d2k_inputs_request request = {};
  request.seed = 3;
  request.workload = "any";
  request.trial = isExact ? "small_integers" : "random";
  request.exact = isExact;
  runReferenceInputs(&args, request);
  std::vector<uint8_t> scales =
      download(static_cast<const uint8_t *>(args.sX), count);
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    int64_t row =
        int64_t(i) / 512 / (blocks / 4) * 128 + getTileRow(int(i % 512));
    float value = fromE4m3(scales[i]);
    bool isRight = row >= m  ? scales[i] == 0
                   : isExact ? value == 1 || value == 2
                             : value >= 0.5f && value <= 4;
    wrong += !isRight;
  }
  report(wrong == 0, "gemm_nvfp4 scales of " + std::to_string(m) +
                         " rows: " + std::to_string(wrong) + " wrong");
}

const ReferenceCheck registered("gemm_nvfp4", [] {
  checkNvfp4(1, 128, 64);
  checkNvfp4(33, 128, 512);
  checkNvfp4(150, 256, 128);
  checkScales(1, 64, false);
  checkScales(200, 256, false);
  checkScales(33, 128, true);
});

} // namespace
