// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_sliding_window: windows smaller and larger than the sequences,
// sinks, none, and the inputs that the reference makes.

#include "../HostAttention.h"

#include "d2k_attention_sliding_window.h"

#include <algorithm>

using namespace d2k::test;

namespace {

using Args = d2k_attention_sliding_window_args;

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
  args.W = host.window;
  args.Q = upload(host.q);
  args.K = upload(host.k);
  args.V = upload(host.v);
  args.cu_seqlens_q = upload(host.startsQ);
  args.cu_seqlens_k = upload(host.startsK);
  args.sink = upload(host.sinks);
  args.scale = host.scale;
  return args;
}

void checkAttention(const std::string &what, HostAttention host, int64_t window,
                    const std::vector<float> &sinks) {
  host.window = window;
  host.sinks = sinks;
  host.compute();
  Args args = makeArgs(host);
  d2k_reference_request request = {};
  size_t rows = size_t(host.tokensQ * host.headsQ);
  request.outputs[0] = makeExpected(rows * size_t(host.width));
  request.outputs[1] = makeExpected(rows);
  runReference(&args, request);
  host.check("attention_sliding_window " + what + " ", request.outputs[0],
             request.outputs[1]);
}

/// Sinks of the model without them; keys that queries pick are in the window.
void checkInputs() {
  std::string name = "attention_sliding_window inputs ";
  HostAttention host({{200, 200}, {200, 200}}, 4, 2, 64);
  host.window = 33;
  host.sinks = std::vector<float>(4, 5);
  Args args = makeArgs(host);
  d2k_inputs_request request = {};
  request.seed = 7;
  request.workload = "mistral_7b";
  request.trial = "retrieval";
  runReferenceInputs(&args, request);
  report(download(args.sink, 4) == std::vector<float>(4, -INFINITY),
         name + "no sinks");
  host.sinks = std::vector<float>(4, -INFINITY);
  host.q = download(static_cast<const uint16_t *>(args.Q), host.q.size());
  host.k = download(static_cast<const uint16_t *>(args.K), host.k.size());
  host.compute();
  size_t different = 0;
  for (size_t i = 0; i < host.o.size(); ++i)
    different += std::fabs(host.o[i] - host.oWorking[i]) > 1e-30L;
  report(different == 0, name + "retrieval: " + std::to_string(different) +
                             " elements of O are not a value");
}

/// The sequences of a workload are those of its description.
void checkLengths(const char *workload,
                  const std::vector<SequenceLength> &sequences) {
  HostAttention host(sequences, 1, 1, 64);
  host.window = 128;
  host.sinks = {0};
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
         "attention_sliding_window inputs of " + std::string(workload));
}

const ReferenceCheck registered("attention_sliding_window", [] {
  checkAttention("one token", HostAttention({{1, 1}}, 1, 1, 64), 1, {0.5f});
  checkAttention(
      "ragged", HostAttention({{1, 1}, {1, 78}, {17, 17}, {70, 147}}, 4, 2, 64),
      20, {-1, 0, 3, 12});
  checkAttention("a window of one", HostAttention({{40, 40}, {3, 9}}, 2, 2, 64),
                 1, {1, -INFINITY});
  checkAttention("a wide window", HostAttention({{70, 70}}, 2, 1, 128, 8), 1000,
                 {30, -INFINITY});
  checkInputs();
  checkLengths(
      "gpt_oss_120b_ragged",
      {{1, 1}, {127, 127}, {128, 128}, {129, 129}, {1000, 1000}, {3333, 3333}});
  checkLengths("gpt_oss_120b_chunked",
               {{1, 500}, {300, 300}, {100, 1000}, {65, 129}});
});

} // namespace
