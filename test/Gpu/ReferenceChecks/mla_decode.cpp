// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mla_decode: softmax as it is defined, on rows that are gathered first, and
// the lengths, table and cache that the reference makes.

#include "../ReferenceCheck.h"

#include "d2k_mla_decode.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace d2k::test;

namespace {

constexpr int64_t kRow = 576, kValues = 512, kPage = 64;

void checkDecode(const std::vector<int32_t> &lengths, int64_t queries,
                 int64_t heads, float queryScale) {
  auto sequences = int64_t(lengths.size());
  int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  int64_t columns = (longest + kPage - 1) / kPage;
  std::string name = "mla_decode " + std::to_string(sequences) +
                     " sequences, " + std::to_string(queries) + " queries, " +
                     std::to_string(heads) + " heads ";
  // Pages are dealt from the last to the first, one left out between
  // sequences; everything else is NaN.
  int64_t pages = sequences * (columns + 1);
  auto rowCount = size_t(sequences * queries * heads);
  std::vector<uint16_t> q = makeNormal(rowCount * kRow, 1, 0, queryScale);
  std::vector<uint16_t> cache(size_t(pages * kPage * kRow), 0xffff);
  std::vector<int32_t> table(size_t(sequences * columns), -1);
  float scale = 0.13523378f;
  std::vector<long double> O, working, sizes, lse, magnitude, lseWorking;
  int64_t free = pages;
  for (int64_t b = 0; b < sequences; ++b, --free) {
    int64_t length = lengths[size_t(b)];
    std::vector<uint16_t> rows =
        makeNormal(size_t(length * kRow), unsigned(10 + b), 0, 1);
    for (int64_t t = 0; t < length; ++t) {
      int32_t &page = table[size_t(b * columns + t / kPage)];
      if (t % kPage == 0)
        page = int32_t(--free);
      std::copy_n(rows.begin() + t * kRow, kRow,
                  cache.begin() + (page * kPage + t % kPage) * kRow);
    }
    auto get = [&](int64_t t, int64_t d) {
      return fromBf16(rows[size_t(t * kRow + d)]);
    };
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t h = 0; h < heads; ++h) {
        int64_t visible = length - queries + 1 + i;
        int64_t row = (b * queries + i) * heads + h;
        std::vector<long double> scores;
        std::vector<float> narrow;
        long double largestSize = 0, total = 0;
        for (int64_t t = 0; t < visible; ++t) {
          long double sum = 0, size = 0;
          float sumNarrow = 0;
          for (int64_t d = 0; d < kRow; ++d) {
            float a = fromBf16(q[size_t(row * kRow + d)]);
            sum += (long double)a * get(t, d);
            size += std::fabs((long double)a * get(t, d));
            sumNarrow += a * get(t, d);
          }
          scores.push_back(sum * scale);
          largestSize = std::max(largestSize, size * scale);
          narrow.push_back(sumNarrow * scale);
          total += std::exp(scores.back());
        }
        float best = *std::max_element(narrow.begin(), narrow.end());
        float totalNarrow = 0;
        for (float score : narrow)
          totalNarrow += std::exp(score - best);
        lse.push_back(std::log(total));
        magnitude.push_back(1 + largestSize);
        lseWorking.push_back(lse.back() + magnitude.back() / (1 << 22));
        for (int64_t d = 0; d < kValues; ++d) {
          long double sum = 0;
          float sumNarrow = 0;
          for (int64_t t = 0; t < visible; ++t) {
            sum += std::exp(scores[size_t(t)]) / total * get(t, d);
            sumNarrow += float(roundBf16(std::exp(narrow[size_t(t)] - best))) *
                         get(t, d);
          }
          O.push_back(sum);
          working.push_back(roundBf16(sumNarrow / totalNarrow));
          sizes.push_back(std::max(1.0L, std::fabs(sum)));
        }
      }
  }

  d2k_mla_decode_args args = {};
  args.B = sequences;
  args.Sq = queries;
  args.H = heads;
  args.pages = pages;
  args.longest = longest;
  args.tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  args.q = upload(q);
  args.cache = upload(cache);
  args.block_table = upload(table);
  args.seq_lens = upload(lengths);
  args.scale = scale;
  d2k_reference_request request = {};
  request.outputs[0] = makeExpected(O.size());
  request.outputs[1] = makeExpected(rowCount);
  runReference(&args, request);
  compare(name + "O", download(request.outputs[0].exact, O.size()), O, sizes,
          1e-12);
  // The order of the fp32 sums differs, and with it the rounding of weights.
  compare(name + "O working", download(request.outputs[0].working, O.size()),
          working, sizes, 0x1p-7);
  compare(name + "lse", download(request.outputs[1].exact, rowCount), lse,
          magnitude, 1e-14);
  compare(name + "lse working", download(request.outputs[1].working, rowCount),
          lseWorking, magnitude, 0x1p-23);
  compare(name + "lse magnitude",
          download(request.outputs[1].magnitude, rowCount), magnitude,
          magnitude, 1e-6);
}

/// What the reference makes: lengths with the right sum, pages that are used
/// once, numbers where tokens are and NaN elsewhere.
void checkInputs(int64_t sequences, int64_t longest, int64_t tokens,
                 int64_t shortest) {
  d2k_mla_decode_args args = {};
  args.B = sequences;
  args.Sq = 1;
  args.H = 16;
  args.pages = tokens / kPage + sequences + 3;
  args.longest = longest;
  args.tokens = tokens;
  int64_t columns = (longest + kPage - 1) / kPage;
  auto cacheCount = size_t(args.pages * kPage * kRow);
  args.cache = upload(std::vector<uint16_t>(cacheCount, 0));
  args.block_table =
      upload(std::vector<int32_t>(size_t(sequences * columns), 7));
  args.seq_lens = upload(std::vector<int32_t>(size_t(sequences), 0));
  d2k_inputs_request request = {};
  request.seed = 5;
  request.workload = "w";
  request.trial = "random";
  runReferenceInputs(&args, request);
  std::vector<int32_t> lengths = download(args.seq_lens, size_t(sequences));
  std::vector<int32_t> table =
      download(args.block_table, size_t(sequences * columns));
  std::vector<uint16_t> cache =
      download(static_cast<const uint16_t *>(args.cache), cacheCount);
  bool isRight =
      std::accumulate(lengths.begin(), lengths.end(), int64_t(0)) == tokens &&
      *std::max_element(lengths.begin(), lengths.end()) == longest &&
      *std::min_element(lengths.begin(), lengths.end()) == shortest;
  std::set<int32_t> used;
  for (int64_t b = 0; b < sequences; ++b)
    for (int64_t i = 0; i < columns; ++i) {
      int32_t page = table[size_t(b * columns + i)];
      int64_t left = lengths[size_t(b)] - i * kPage;
      if (left <= 0) {
        isRight &= page == -1;
        continue;
      }
      isRight &= page >= 0 && page < args.pages && used.insert(page).second;
      for (int64_t at = 0; isRight && at < kPage * kRow; ++at)
        isRight &=
            std::isnan(fromBf16(cache[size_t(page * kPage * kRow + at)])) ==
            (at / kRow >= left);
    }
  size_t numbers = 0;
  for (uint16_t bits : cache)
    numbers += !std::isnan(fromBf16(bits));
  isRight &= numbers == size_t(tokens * kRow);
  report(isRight, "mla_decode inputs: " + std::to_string(sequences) +
                      " sequences, " + std::to_string(tokens) + " tokens");
}

const ReferenceCheck registered("mla_decode", [] {
  checkDecode({1, 64, 65}, 1, 2, 1);
  checkDecode({3, 70}, 3, 1, 8);
  checkInputs(3, 130, 231, 24);
  checkInputs(2, 64, 128, 64);
});

} // namespace
