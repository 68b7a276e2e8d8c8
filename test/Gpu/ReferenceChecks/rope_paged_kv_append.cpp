// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rope_paged_kv_append: queries; a cache made on the host must be accepted, and
// the same with one thing changed must not; positions and slots.

#include "../ReferenceCheck.h"

#include "d2k_rope_paged_kv_append.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

using namespace d2k::test;

namespace {

class RopeCheck {
public:
  RopeCheck(int64_t t, int64_t hq, int64_t hkv, int64_t d, int64_t norm)
      : name("rope_paged_kv_append T=" + std::to_string(t) + " heads " +
             std::to_string(hq) + "/" + std::to_string(hkv) +
             " D=" + std::to_string(d) + (norm ? " norm " : " ")) {
    args.T = t;
    args.Hq = hq;
    args.Hkv = hkv;
    args.D = d;
    args.page = 16;
    args.pages = 3;
    args.maxpos = 50;
    args.norm = norm;
    args.eps = 1e-6f;
    draw();
  }

  void run();

private:
  void draw();
  /// Element d of head \p head of a token, rotated; \p scale gets |a cos| +
  /// |b sin|.
  long double rotate(int64_t token, int64_t head, int64_t d,
                     long double &scale) const;
  size_t getPlace(int64_t slot, bool isValue, int64_t head, int64_t d) const {
    return size_t(
        (((slot / args.page * 2 + isValue) * args.page + slot % args.page) *
             args.Hkv +
         head) *
            args.D +
        d);
  }
  void expectCache(const std::string &what, const std::vector<uint16_t> &cache,
                   bool isRight);

  std::string name;
  d2k_rope_paged_kv_append_args args = {};
  std::vector<uint16_t> qkv, wq, wk, before;
  std::vector<float> table;
  std::vector<int32_t> pos;
  std::vector<int64_t> slot;
};

void RopeCheck::draw() {
  std::mt19937 generator(1);
  qkv = makeNormal(size_t(args.T * (args.Hq + 2 * args.Hkv) * args.D), 2, 0, 1);
  wq = makeNormal(size_t(args.D), 3, 1, 0.25f);
  wk = makeNormal(size_t(args.D), 4, 1, 0.25f);
  before = makeNormal(size_t(args.pages * 2 * args.page * args.Hkv * args.D), 5,
                      0, 1);
  for (int64_t i = 0; i < args.maxpos * args.D; ++i)
    table.push_back(std::uniform_real_distribution<float>(-1, 1)(generator));
  for (int64_t i = 0; i < args.pages * args.page; ++i)
    slot.push_back(i);
  std::shuffle(slot.begin(), slot.end(), generator);
  slot.resize(size_t(args.T));
  // Every third token is skipped, but the last one is not.
  for (int64_t t = 0; t < args.T; ++t) {
    pos.push_back(int32_t(generator() % unsigned(args.maxpos)));
    if (t % 3 == 1 && t != args.T - 1)
      slot[size_t(t)] = -1;
  }
  args.qkv = upload(qkv);
  args.pos = upload(pos);
  args.table = upload(table);
  args.slot = upload(slot);
  args.wq = upload(wq);
  args.wk = upload(wk);
  args.cache = upload(before);
}

long double RopeCheck::rotate(int64_t token, int64_t head, int64_t d,
                              long double &scale) const {
  const uint16_t *x =
      &qkv[size_t((token * (args.Hq + 2 * args.Hkv) + head) * args.D)];
  const std::vector<uint16_t> &w = head < args.Hq ? wq : wk;
  long double squares = 0;
  for (int64_t i = 0; i < args.D; ++i)
    squares += (long double)fromBf16(x[i]) * fromBf16(x[i]);
  long double root = std::sqrt(squares / args.D + (long double)args.eps);
  auto get = [&](int64_t i) {
    long double value = fromBf16(x[i]);
    return args.norm ? value / root * fromBf16(w[size_t(i)]) : value;
  };
  int64_t half = args.D / 2, i = d % half;
  const float *factors = &table[size_t(pos[size_t(token)] * args.D)];
  long double first = get(d) * factors[i];
  long double second =
      (d < half ? -get(d + half) : get(d - half)) * factors[half + i];
  scale = std::fabs(first) + std::fabs(second);
  return first + second;
}

void RopeCheck::expectCache(const std::string &what,
                            const std::vector<uint16_t> &cache, bool isRight) {
  d2k_accept_request request = {};
  request.output = 1;
  request.explain = -1;
  request.outputs[1] = upload(cache);
  d2k_acceptance found = runReferenceAccept(&args, request);
  report((found.failed == 0) == isRight && found.compared == cache.size(),
         name + what + ": " + std::to_string(found.failed) + " of " +
             std::to_string(found.compared) + " fail");
}

void RopeCheck::run() {
  size_t count = size_t(args.T * args.Hq * args.D);
  std::vector<long double> exact, magnitude;
  for (int64_t t = 0; t < args.T; ++t)
    for (int64_t h = 0; h < args.Hq; ++h)
      for (int64_t d = 0; d < args.D; ++d) {
        long double scale = 0;
        exact.push_back(rotate(t, h, d, scale));
        magnitude.push_back(scale);
      }
  std::vector<long double> working;
  for (long double value : exact)
    working.push_back(roundBf16(value));
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  runReference(&args, request);
  compare(name + "exact", download(out.exact, count), exact, magnitude,
          double(args.D) * 0x1p-53);
  compare(name + "magnitude", download(out.magnitude, count), magnitude,
          magnitude, 0x1p-23);
  compareRounded(name + "working", download(out.working, count), working);

  std::vector<uint16_t> right = before;
  for (int64_t t = 0; t < args.T; ++t)
    for (int64_t h = 0; h < args.Hkv && slot[size_t(t)] >= 0; ++h)
      for (int64_t d = 0; d < args.D; ++d) {
        long double scale = 0;
        right[getPlace(slot[size_t(t)], false, h, d)] =
            toBf16(rotate(t, args.Hq + h, d, scale));
        right[getPlace(slot[size_t(t)], true, h, d)] = qkv[size_t(
            (t * (args.Hq + 2 * args.Hkv) + args.Hq + args.Hkv + h) * args.D +
            d)];
      }
  expectCache("the right cache", right, true);
  expectCache("the cache of before", before, false);
  auto with = [&](const std::function<void(std::vector<uint16_t> &)> &change) {
    std::vector<uint16_t> cache = right;
    change(cache);
    return cache;
  };
  int64_t last = slot.back();
  expectCache("one bit of a value", with([&](std::vector<uint16_t> &cache) {
                cache[getPlace(last, true, args.Hkv - 1, args.D - 1)] ^= 1;
              }),
              false);
  expectCache("a key two steps off", with([&](std::vector<uint16_t> &cache) {
                cache[getPlace(last, false, 0, 5)] += 2;
              }),
              false);
  int64_t unused = 0;
  while (std::count(slot.begin(), slot.end(), unused))
    ++unused;
  expectCache("one bit of a slot that no token has",
              with([&](std::vector<uint16_t> &cache) {
                cache[getPlace(unused, false, 0, 0)] ^= 1;
              }),
              false);
  // Many keys one step off: most within the bound, but too many.
  expectCache("a tenth of the keys one step off",
              with([&](std::vector<uint16_t> &cache) {
                for (int64_t t = 0; t < args.T; ++t)
                  for (int64_t d = 0; d < args.D && slot[size_t(t)] >= 0;
                       d += 10)
                    cache[getPlace(slot[size_t(t)], false, 0, d)] ^= 1;
              }),
              false);
}

/// Slots are all different and in the cache, positions in the table.
void checkPlaces(const char *workload, const char *trial, int64_t skipped) {
  d2k_rope_paged_kv_append_args args = {};
  args.T = 333;
  args.page = 16;
  args.pages = 40;
  args.maxpos = 500;
  int32_t *pos = upload(std::vector<int32_t>(size_t(args.T), -1));
  int64_t *slot = upload(std::vector<int64_t>(size_t(args.T), -2));
  args.pos = pos;
  args.slot = slot;
  d2k_inputs_request request = {};
  request.seed = 11;
  request.workload = workload;
  request.trial = trial;
  runReferenceInputs(&args, request);
  std::set<int64_t> used;
  int64_t without = 0, wrong = 0;
  for (int64_t own : download(slot, size_t(args.T))) {
    without += own == -1;
    wrong += own != -1 && (own < 0 || own >= args.pages * args.page ||
                           !used.insert(own).second);
  }
  for (int32_t own : download(pos, size_t(args.T)))
    wrong += own < 0 || own >= args.maxpos;
  report(wrong == 0 && without == skipped,
         std::string("rope_paged_kv_append places of ") + workload + ", " +
             trial + ": " + std::to_string(wrong) + " wrong, " +
             std::to_string(without) + " tokens skipped");
}

const ReferenceCheck registered("rope_paged_kv_append", [] {
  RopeCheck(1, 4, 1, 64, 0).run();
  RopeCheck(20, 6, 2, 64, 0).run();
  RopeCheck(17, 4, 4, 128, 1).run();
  checkPlaces("llama3_8b_prefill", "random", 0);
  checkPlaces("qwen3_32b_decode", "scaled_tokens", 166);
  checkPlaces("gpt_oss_ragged", "random", 33);
  checkPlaces("gpt_oss_ragged", "all_skipped", 333);
});

} // namespace
