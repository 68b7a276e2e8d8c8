// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_bf16: three loops, and tiles alone.

#include "../ReferenceCheck.h"

#include "d2k_gemm_bf16.h"

#include <cmath>

using namespace d2k::test;

namespace {

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

const ReferenceCheck registered("gemm_bf16", [] {
  checkGemm(1, 64, 64);
  checkGemm(77, 192, 1024);
  checkGemm(130, 128, 4096);
});

} // namespace
