// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_decode_paged: softmax as it is defined, on keys and values that are
// gathered first, and the lengths, table and cache that the reference makes.

#include "../ReferenceCheck.h"

#include "d2k_attention_decode_paged.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace d2k::test;

namespace {

constexpr int64_t kHead = 128;

struct Shape {
  int64_t queryHeads, keyHeads, page;
  std::vector<int32_t> lengths;
  float queryScale;
};

void checkDecode(const Shape &shape) {
  auto sequences = int64_t(shape.lengths.size());
  int64_t longest =
      *std::max_element(shape.lengths.begin(), shape.lengths.end());
  int64_t columns = (longest + shape.page - 1) / shape.page;
  std::string name = "attention_decode_paged " + std::to_string(sequences) +
                     " sequences, " + std::to_string(shape.queryHeads) + "/" +
                     std::to_string(shape.keyHeads) + " heads ";
  // Pages are dealt from the last to the first, one left out between
  // sequences; everything else is NaN.
  int64_t pages = sequences * (columns + 1);
  size_t rowCount = size_t(sequences * shape.queryHeads);
  size_t pageSize = size_t(2 * shape.page * shape.keyHeads * kHead);
  std::vector<uint16_t> q =
      makeNormal(rowCount * kHead, 1, 0, shape.queryScale);
  std::vector<uint16_t> drawn = makeNormal(size_t(pages) * pageSize, 2, 0, 1);
  std::vector<uint16_t> cache(drawn.size(), 0xffff);
  std::vector<int32_t> table(size_t(sequences * columns), -1);
  float scale = 0.088388346f;
  std::vector<long double> O, working, lse, magnitude, lseWorking;
  int64_t free = pages;
  for (int64_t b = 0; b < sequences; ++b, --free) {
    int64_t length = shape.lengths[size_t(b)];
    for (int64_t i = 0; i * shape.page < length; ++i)
      table[size_t(b * columns + i)] = int32_t(--free);
    auto getPlace = [&](int64_t t, int64_t isValue, int64_t head, int64_t d) {
      int64_t page = table[size_t(b * columns + t / shape.page)];
      return size_t(((page * 2 + isValue) * shape.page + t % shape.page) *
                        shape.keyHeads * kHead +
                    head * kHead + d);
    };
    for (int64_t h = 0; h < shape.queryHeads; ++h) {
      int64_t head = h * shape.keyHeads / shape.queryHeads;
      std::vector<long double> scores, sizes;
      std::vector<float> narrow;
      for (int64_t t = 0; t < length; ++t) {
        long double sum = 0, size = 0;
        float sumNarrow = 0;
        for (int64_t d = 0; d < kHead; ++d) {
          size_t at = getPlace(t, 0, head, d);
          cache[at] = drawn[at];
          float a = fromBf16(q[size_t((b * shape.queryHeads + h) * kHead + d)]);
          sum += (long double)a * fromBf16(drawn[at]);
          size += std::fabs((long double)a * fromBf16(drawn[at]));
          sumNarrow += a * fromBf16(drawn[at]);
        }
        scores.push_back(sum * scale);
        sizes.push_back(size * scale);
        narrow.push_back(sumNarrow * scale);
      }
      long double total = 0;
      float best = *std::max_element(narrow.begin(), narrow.end());
      float totalNarrow = 0;
      for (int64_t t = 0; t < length; ++t) {
        total += std::exp(scores[size_t(t)]);
        totalNarrow += std::exp(narrow[size_t(t)] - best);
      }
      lse.push_back(std::log(total));
      magnitude.push_back(1 + *std::max_element(sizes.begin(), sizes.end()));
      lseWorking.push_back(lse.back() + magnitude.back() / (1 << 22));
      for (int64_t d = 0; d < kHead; ++d) {
        long double sum = 0;
        float sumNarrow = 0;
        for (int64_t t = 0; t < length; ++t) {
          size_t at = getPlace(t, 1, head, d);
          cache[at] = drawn[at];
          float value = fromBf16(drawn[at]);
          sum += std::exp(scores[size_t(t)]) / total * value;
          sumNarrow +=
              float(roundBf16(std::exp(narrow[size_t(t)] - best))) * value;
        }
        O.push_back(sum);
        working.push_back(roundBf16(sumNarrow / totalNarrow));
      }
    }
  }

  d2k_attention_decode_paged_args args = {};
  args.B = sequences;
  args.Hq = shape.queryHeads;
  args.Hkv = shape.keyHeads;
  args.page = shape.page;
  args.pages = pages;
  args.longest = longest;
  args.tokens =
      std::accumulate(shape.lengths.begin(), shape.lengths.end(), int64_t(0));
  args.q = upload(q);
  args.cache = upload(cache);
  args.block_table = upload(table);
  args.seq_lens = upload(shape.lengths);
  args.scale = scale;
  d2k_reference_request request = {};
  request.outputs[0] = makeExpected(O.size());
  request.outputs[1] = makeExpected(rowCount);
  runReference(&args, request);
  std::vector<long double> ones(O.size(), 1), sizes;
  for (long double value : working)
    sizes.push_back(std::max(1.0L, std::fabs(value)));
  compare(name + "O", download(request.outputs[0].exact, O.size()), O, ones,
          1e-13);
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
  d2k_attention_decode_paged_args args = {};
  args.B = sequences;
  args.Hq = 2;
  args.Hkv = 1;
  args.page = 16;
  args.pages = tokens / 16 + sequences + 3;
  args.longest = longest;
  args.tokens = tokens;
  int64_t columns = (longest + 15) / 16;
  auto cacheCount = size_t(args.pages * 2 * 16 * kHead);
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
  size_t numbers = 0;
  for (int64_t b = 0; b < sequences; ++b)
    for (int64_t i = 0; i < columns; ++i) {
      int32_t page = table[size_t(b * columns + i)];
      int64_t left = lengths[size_t(b)] - i * 16;
      if (left <= 0) {
        isRight &= page == -1;
        continue;
      }
      isRight &= page >= 0 && page < args.pages && used.insert(page).second;
      for (int64_t at = 0; isRight && at < 2 * 16 * kHead; ++at) {
        float value = fromBf16(cache[size_t(page * 2 * 16 * kHead + at)]);
        isRight &= std::isnan(value) == (at / kHead % 16 >= left);
        numbers += !std::isnan(value);
      }
    }
  size_t all = 0;
  for (uint16_t bits : cache)
    all += !std::isnan(fromBf16(bits));
  isRight &= all == numbers && all == size_t(tokens * 2 * kHead);
  report(isRight,
         "attention_decode_paged inputs: " + std::to_string(sequences) +
             " sequences, " + std::to_string(tokens) + " tokens");
}

const ReferenceCheck registered("attention_decode_paged", [] {
  checkDecode({8, 2, 16, {1, 15, 16, 17, 130}, 1});
  checkDecode({16, 1, 32, {40}, 32});
  checkDecode({2, 2, 16, {33, 300}, 4});
  checkInputs(17, 4095, 9911, 1);
  checkInputs(4, 100, 400, 100);
  checkInputs(6, 90, 300, 10);
  checkInputs(5, 90, 250, 10);
});

} // namespace
