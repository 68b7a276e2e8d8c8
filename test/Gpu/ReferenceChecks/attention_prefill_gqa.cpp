// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_prefill_gqa: packed sequences with and without a causal mask, units
// alone, and the inputs that the reference makes.

#include "../HostAttention.h"

#include "d2k_attention_prefill_gqa.h"

#include <algorithm>

using namespace d2k::test;

namespace {

using Args = d2k_attention_prefill_gqa_args;

Args makeArgs(const HostAttention &host) {
  Args args = {};
  args.B = int64_t(host.startsQ.size()) - 1;
  args.Tq = host.tokensQ;
  args.Tk = host.tokensK;
  for (size_t b = 1; b < host.startsQ.size(); ++b) {
    args.max_q =
        std::max<int64_t>(args.max_q, host.startsQ[b] - host.startsQ[b - 1]);
    args.max_k =
        std::max<int64_t>(args.max_k, host.startsK[b] - host.startsK[b - 1]);
  }
  args.Hq = host.headsQ;
  args.Hkv = host.headsK;
  args.D = host.width;
  args.Q = upload(host.q);
  args.K = upload(host.k);
  args.V = upload(host.v);
  args.cu_seqlens_q = upload(host.startsQ);
  args.cu_seqlens_k = upload(host.startsK);
  args.scale = host.scale;
  args.causal = host.isCausal;
  return args;
}

d2k_reference_request makeRequest(const HostAttention &host) {
  d2k_reference_request request = {};
  size_t rows = size_t(host.tokensQ * host.headsQ);
  request.outputs[0] = makeExpected(rows * size_t(host.width));
  request.outputs[1] = makeExpected(rows);
  return request;
}

void checkAttention(const std::string &what, HostAttention host) {
  std::string name = "attention_prefill_gqa " + what + " ";
  host.compute();
  Args args = makeArgs(host);
  d2k_reference_request request = makeRequest(host);
  runReference(&args, request);
  host.check(name, request.outputs[0], request.outputs[1]);

  // A unit is 32 rows of a head: first those of rows 0.. of all heads, then
  // those of the last rows.
  int64_t count = 0, always = 0, blocks = (host.tokensQ + 31) / 32;
  getReferenceUnits(&args, count, always);
  report(count == host.headsQ * blocks &&
             always == host.headsQ * std::min<int64_t>(blocks, 2),
         name + "has " + std::to_string(count) + " units, " +
             std::to_string(always) + " always");
  if (blocks < 3)
    return;
  request = makeRequest(host);
  std::vector<int64_t> units = {1, host.headsQ, 2 * host.headsQ + 1};
  request.tiles = upload(units);
  request.tile_count = int64_t(units.size());
  runReference(&args, request);
  host.check(name + "some units ", request.outputs[0], request.outputs[1],
             [&](int64_t head, int64_t query) {
               return (head == 1 && query < 64) ||
                      (head == 0 && query >= (blocks - 1) * 32);
             });
}

/// A query retrieves exactly one value, and offsets follow from the workload.
void checkInputs() {
  std::string name = "attention_prefill_gqa inputs ";
  constexpr int64_t kQueries = 77, kKeys = 170;
  HostAttention host({{kQueries, kKeys}, {kQueries, kKeys}}, 4, 2, 64);
  std::vector<int32_t> starts(3, -1);
  Args args = makeArgs(host);
  args.cu_seqlens_q = upload(starts);
  args.cu_seqlens_k = upload(starts);
  d2k_inputs_request request = {};
  request.seed = 7;
  request.workload = "any";
  request.trial = "retrieval";
  runReferenceInputs(&args, request);
  report(download(args.cu_seqlens_q, 3) == host.startsQ &&
             download(args.cu_seqlens_k, 3) == host.startsK,
         name + "offsets");
  host.q = download(static_cast<const uint16_t *>(args.Q), host.q.size());
  host.k = download(static_cast<const uint16_t *>(args.K), host.k.size());
  host.compute();
  d2k_reference_request expected = makeRequest(host);
  runReference(&args, expected);
  host.check(name + "retrieval ", expected.outputs[0], expected.outputs[1]);
  size_t different = 0, first = 0, last = 0;
  for (size_t i = 0; i < host.o.size(); ++i)
    different += host.oWorking[i] != roundBf16(host.o[i]) ||
                 std::fabs(host.o[i] - host.oWorking[i]) > 1e-30L;
  report(different == 0, name + "retrieval: " + std::to_string(different) +
                             " elements of O are not a value");
  for (int64_t query = 0; query < host.tokensQ; ++query)
    for (int64_t head = 0; head < 4; ++head) {
      const uint16_t *o = &host.v[size_t(head / 2 * 64)];
      int64_t b = query / kQueries;
      int64_t position = query % kQueries + kKeys - kQueries;
      auto isKey = [&](int64_t key) {
        for (int64_t d = 0; d < 64; ++d)
          if (host.oWorking[size_t((query * 4 + head) * 64 + d)] !=
              fromBf16(o[(b * kKeys + key) * 2 * 64 + d]))
            return false;
        return true;
      };
      first += isKey(0);
      last += isKey(position);
    }
  size_t rows = size_t(host.tokensQ * 4);
  report(first > rows / 8 && last > rows / 8 && first + last < rows * 3 / 4,
         name + "retrieval: " + std::to_string(first) + " first and " +
             std::to_string(last) + " last keys of " + std::to_string(rows));
}

/// The sequences of a workload are those of its description.
void checkLengths(const char *workload,
                  const std::vector<SequenceLength> &sequences) {
  HostAttention host(sequences, 1, 1, 64);
  Args args = makeArgs(host);
  size_t count = host.startsQ.size();
  args.cu_seqlens_q = upload(std::vector<int32_t>(count, -1));
  args.cu_seqlens_k = upload(std::vector<int32_t>(count, -1));
  d2k_inputs_request request = {};
  request.workload = workload;
  request.trial = "random";
  runReferenceInputs(&args, request);
  report(download(args.cu_seqlens_q, count) == host.startsQ &&
             download(args.cu_seqlens_k, count) == host.startsK,
         "attention_prefill_gqa inputs of " + std::string(workload));
}

const ReferenceCheck registered("attention_prefill_gqa", [] {
  checkAttention("one token", HostAttention({{1, 1}}, 1, 1, 64));
  checkAttention("ragged", HostAttention({{1, 1}, {1, 78}, {17, 17}, {70, 147}},
                                         4, 2, 128));
  checkAttention("large scores", HostAttention({{33, 33}}, 2, 1, 256, 8));
  HostAttention open({{50, 30}, {20, 65}}, 3, 3, 64);
  open.isCausal = false;
  checkAttention("without a mask", open);
  checkInputs();
  checkLengths("llama3_8b_chunked_ragged", {{1, 1},
                                            {1, 778},
                                            {17, 17},
                                            {17, 794},
                                            {128, 905},
                                            {333, 333},
                                            {333, 1110},
                                            {1000, 1777},
                                            {2048, 2048}});
  checkLengths("qwen3_next_short",
               {{1, 1025}, {63, 63}, {65, 240}, {62, 62}, {700, 700}});
});

} // namespace
