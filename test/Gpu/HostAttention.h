// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax attention on the host, as the definition has it: a table of scores, a
// table of probabilities, sums. For the checks of the attention tasks'
// references, with which it shares no code.

#ifndef D2K_TEST_GPU_HOSTATTENTION_H
#define D2K_TEST_GPU_HOSTATTENTION_H

#include "ReferenceCheck.h"

#include <functional>

namespace d2k::test {

/// Tokens of queries and keys of a sequence.
struct SequenceLength {
  int64_t q, k;
};

/// One problem.
struct HostAttention {
  /// Draws Q, K and V.
  HostAttention(const std::vector<SequenceLength> &sequences, int64_t headsQ,
                int64_t headsK, int64_t width, float scaleOfQ = 1);

  int64_t tokensQ = 0, tokensK = 0, headsQ, headsK, width;
  float scale;
  std::vector<uint16_t> q, k, v;
  /// First tokens of the sequences, and the number of tokens.
  std::vector<int32_t> startsQ = {0}, startsK = {0};
  bool isCausal = true;
  /// Keys that a query sees, its own included; 0 for all.
  int64_t window = 0;
  /// Whether a block list has the pair, by positions in the sequence; null for
  /// no list.
  std::function<bool(int64_t sequence, int64_t head, int64_t query,
                     int64_t key)>
      isListed;
  /// A logit a query head, or empty.
  std::vector<float> sinks;

  int64_t findSequence(const std::vector<int32_t> &starts, int64_t token) const;
  bool sees(int64_t head, int64_t query, int64_t key) const;
  /// Computes the results below.
  void compute();
  /// Compares what a reference wrote with them; only rows of which \p wanted is
  /// true, all when it is null. \p name ends with a blank.
  void check(const std::string &name, const d2k_expected &o,
             const d2k_expected &lse,
             const std::function<bool(int64_t head, int64_t query)> &wanted =
                 nullptr) const;

  /// [tokensQ, headsQ, width]; in fp32 with probabilities in bf16: working. By
  /// a step such a result moves when one probability, another exponential
  /// function's, is rounded to the other neighbour in bf16.
  std::vector<long double> o, oWorking, oStep;
  /// [headsQ, tokensQ].
  std::vector<long double> lse, magnitude;
};

} // namespace d2k::test

#endif // D2K_TEST_GPU_HOSTATTENTION_H
