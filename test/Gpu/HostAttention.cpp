// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax attention on the host.

#include "HostAttention.h"

#include <algorithm>

using namespace d2k::test;

/// In fp32 everything is to the base 2.
static constexpr float kLog2e = 1.44269504f;

HostAttention::HostAttention(const std::vector<SequenceLength> &sequences,
                             int64_t headsQ, int64_t headsK, int64_t width,
                             float scaleOfQ)
    : headsQ(headsQ), headsK(headsK), width(width),
      scale(1 / std::sqrt(float(width))) {
  for (const SequenceLength &sequence : sequences) {
    startsQ.push_back(startsQ.back() + int32_t(sequence.q));
    startsK.push_back(startsK.back() + int32_t(sequence.k));
  }
  tokensQ = startsQ.back();
  tokensK = startsK.back();
  unsigned seed = unsigned(width + headsQ);
  q = makeNormal(size_t(tokensQ * headsQ * width), seed, 0, scaleOfQ);
  k = makeNormal(size_t(tokensK * headsK * width), seed + 1, 0, 1);
  v = makeNormal(size_t(tokensK * headsK * width), seed + 2, 0, 1);
}

int64_t HostAttention::findSequence(const std::vector<int32_t> &starts,
                                    int64_t token) const {
  int64_t sequence = 0;
  while (starts[size_t(sequence) + 1] <= token)
    ++sequence;
  return sequence;
}

bool HostAttention::sees(int64_t head, int64_t query, int64_t key) const {
  int64_t b = findSequence(startsQ, query);
  if (findSequence(startsK, key) != b)
    return false;
  // The last query is at the last key.
  int64_t behind =
      (key - startsK[size_t(b) + 1]) - (query - startsQ[size_t(b) + 1]);
  if ((isCausal && behind > 0) || (window > 0 && behind <= -window))
    return false;
  return !isListed || isListed(b, head, query - startsQ[size_t(b)],
                               key - startsK[size_t(b)]);
}

void HostAttention::compute() {
  size_t rows = size_t(tokensQ * headsQ);
  o.assign(rows * size_t(width), 0);
  oWorking = o;
  oStep = o;
  lse.assign(rows, -INFINITY);
  magnitude.assign(rows, 1);
  for (int64_t head = 0; head < headsQ; ++head)
    for (int64_t query = 0; query < tokensQ; ++query) {
      int64_t headK = head * headsK / headsQ;
      const uint16_t *ownQ = &q[size_t((query * headsQ + head) * width)];
      std::vector<int64_t> keys;
      std::vector<long double> scores, sizes;
      std::vector<float> narrow;
      for (int64_t key = 0; key < tokensK; ++key) {
        if (!sees(head, query, key))
          continue;
        const uint16_t *ownK = &k[size_t((key * headsK + headK) * width)];
        long double sum = 0, size = 0;
        float sumNarrow = 0;
        for (int64_t d = 0; d < width; ++d) {
          long double product =
              (long double)fromBf16(ownQ[d]) * fromBf16(ownK[d]);
          sum += product;
          size += std::fabs(product);
          sumNarrow += float(product);
        }
        keys.push_back(key);
        scores.push_back(sum * scale);
        sizes.push_back(size * scale);
        narrow.push_back(sumNarrow * (scale * kLog2e));
      }
      if (keys.empty())
        continue;
      long double top = *std::max_element(scores.begin(), scores.end());
      float topNarrow = *std::max_element(narrow.begin(), narrow.end());
      long double sum = 0, weighted = 0;
      float sumNarrow = 0;
      std::vector<long double> sums(size_t(width), 0);
      std::vector<float> sumsNarrow(size_t(width), 0);
      std::vector<long double> steps(size_t(width), 0);
      for (size_t i = 0; i < keys.size(); ++i) {
        const uint16_t *ownV = &v[size_t((keys[i] * headsK + headK) * width)];
        long double p = std::exp(scores[i] - top);
        float pNarrow = std::exp2(narrow[i] - topNarrow);
        float pRounded = fromBf16(toBf16(pNarrow));
        sum += p;
        weighted += p * sizes[i];
        sumNarrow += pNarrow;
        for (size_t d = 0; d < size_t(width); ++d) {
          sums[d] += p * fromBf16(ownV[d]);
          sumsNarrow[d] += pRounded * fromBf16(ownV[d]);
          steps[d] = std::max(steps[d], p * std::fabs(fromBf16(ownV[d])) / 128);
        }
      }
      size_t at = size_t(head * tokensQ + query);
      lse[at] = top + std::log(sum);
      magnitude[at] = 1 + weighted / sum;
      long double whole = sum;
      float wholeNarrow = sumNarrow;
      if (!sinks.empty()) {
        float sink = sinks[size_t(head)];
        whole += std::exp((long double)sink - top);
        wholeNarrow += std::exp2(sink * kLog2e - topNarrow);
      }
      for (size_t d = 0; d < size_t(width); ++d) {
        size_t to = size_t((query * headsQ + head) * width) + d;
        o[to] = sums[d] / whole;
        oWorking[to] = roundBf16(sumsNarrow[d] / wholeNarrow);
        oStep[to] = steps[d] / whole;
      }
    }
}

void HostAttention::check(
    const std::string &name, const d2k_expected &gotO,
    const d2k_expected &gotLse,
    const std::function<bool(int64_t, int64_t)> &wanted) const {
  struct Values {
    std::vector<long double> expected, scale;
    std::vector<double> got;
    void add(double value, long double right, long double size) {
      got.push_back(value);
      expected.push_back(right);
      scale.push_back(size);
    }
  } exactO, workingO, exactLse, workingLse, sizes;
  size_t rows = size_t(tokensQ * headsQ);
  std::vector<double> o0 = download(gotO.exact, o.size());
  std::vector<double> o1 = download(gotO.working, o.size());
  std::vector<double> l0 = download(gotLse.exact, rows);
  std::vector<double> l1 = download(gotLse.working, rows);
  std::vector<float> m = download(gotLse.magnitude, rows);
  size_t written = 0, infinite = 0;
  for (int64_t head = 0; head < headsQ; ++head)
    for (int64_t query = 0; query < tokensQ; ++query) {
      size_t at = size_t(head * tokensQ + query);
      size_t first = size_t((query * headsQ + head) * width);
      if (wanted && !wanted(head, query)) {
        written += !std::isnan(l0[at]);
        for (size_t d = 0; d < size_t(width); ++d)
          written += !std::isnan(o0[first + d]);
        continue;
      }
      for (size_t d = 0; d < size_t(width); ++d) {
        exactO.add(o0[first + d], o[first + d], 1);
        workingO.add(o1[first + d], oWorking[first + d], oStep[first + d]);
      }
      if (std::isinf(lse[at])) {
        infinite += l0[at] != -INFINITY || l1[at] != -INFINITY;
        continue;
      }
      exactLse.add(l0[at], lse[at], magnitude[at]);
      workingLse.add(l1[at], lse[at] + magnitude[at] / (1 << 22),
                     magnitude[at]);
      sizes.add(m[at], magnitude[at], magnitude[at]);
    }
  compare(name + "O", exactO.got, exactO.expected, exactO.scale, 1e-13);
  compareRounded(name + "O working", workingO.got, workingO.expected,
                 workingO.scale);
  compare(name + "LSE", exactLse.got, exactLse.expected, exactLse.scale, 1e-14);
  // The reference rounds it to fp32.
  compare(name + "LSE working", workingLse.got, workingLse.expected,
          workingLse.scale, 0x1p-23);
  compare(name + "LSE magnitude", sizes.got, sizes.expected, sizes.scale, 1e-5);
  report(infinite == 0, name + "LSE of rows without keys: " +
                            std::to_string(infinite) + " are not -infinity");
  if (wanted)
    report(written == 0, name + "units alone: " + std::to_string(written) +
                             " elements of others were written");
}
