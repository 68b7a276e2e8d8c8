// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_block_sparse: lists with empty rows and without diagonals, several
// sequences, and the lists that the reference makes.

#include "../HostAttention.h"

#include "d2k_attention_block_sparse.h"

#include <algorithm>

using namespace d2k::test;

namespace {

using Args = d2k_attention_block_sparse_args;

constexpr int64_t kBlock = 128;

/// Lists as vectors, and the two arrays of the task.
struct BlockLists {
  std::vector<int32_t> starts, columns;
  int64_t blocks;

  std::vector<int32_t> get(int64_t head, int64_t row) const {
    const int32_t *at = &starts[size_t(head * (blocks + 1) + row)];
    return {columns.begin() + at[0], columns.begin() + at[1]};
  }
};

Args makeArgs(const HostAttention &host, const BlockLists &lists) {
  Args args = {};
  args.B = int64_t(host.startsQ.size()) - 1;
  args.S = host.tokensQ / args.B;
  args.Hq = host.headsQ;
  args.Hkv = host.headsK;
  args.nnz = int64_t(lists.columns.size());
  args.Q = upload(host.q);
  args.K = upload(host.k);
  args.V = upload(host.v);
  args.row_ptr = upload(lists.starts);
  args.col_idx = upload(lists.columns);
  args.scale = host.scale;
  return args;
}

d2k_reference_request makeRequest(const HostAttention &host) {
  d2k_reference_request request = {};
  size_t rows = size_t(host.tokensQ * host.headsQ);
  request.outputs[0] = makeExpected(rows * size_t(host.width));
  request.outputs[1] = makeExpected(rows);
  return request;
}

void setLists(HostAttention &host, const BlockLists &lists) {
  host.isListed = [lists, heads = host.headsQ](int64_t sequence, int64_t head,
                                               int64_t query, int64_t key) {
    std::vector<int32_t> row =
        lists.get(sequence * heads + head, query / kBlock);
    return std::find(row.begin(), row.end(), key / kBlock) != row.end();
  };
}

void checkAttention() {
  // Two sequences of three blocks, the last of 44 rows.
  HostAttention host({{300, 300}, {300, 300}}, 2, 1, 128);
  BlockLists lists = {{}, {}, 3};
  const std::vector<std::vector<int32_t>> rows = {
      {0}, {},     {0, 1}, // sequence 0, head 0
      {},  {0},    {1, 2}, // head 1
      {0}, {0, 1}, {2},    // sequence 1, head 0
      {0}, {1},    {},     // head 1
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    lists.starts.push_back(int32_t(lists.columns.size()));
    lists.columns.insert(lists.columns.end(), rows[i].begin(), rows[i].end());
    if (i % 3 == 2)
      lists.starts.push_back(int32_t(lists.columns.size()));
  }
  setLists(host, lists);
  host.compute();
  Args args = makeArgs(host, lists);
  d2k_reference_request request = makeRequest(host);
  runReference(&args, request);
  host.check("attention_block_sparse lists ", request.outputs[0],
             request.outputs[1]);
}

/// What the lists of a workload have to be.
void checkInputs(const std::string &workload, int64_t sequences, int64_t tokens,
                 int64_t heads, int64_t entries, bool mayLackDiagonal,
                 bool mayBeEmpty) {
  std::string name = "attention_block_sparse inputs of " + workload + " ";
  BlockLists lists = {{}, {}, (tokens + kBlock - 1) / kBlock};
  lists.starts.assign(size_t(sequences * heads * (lists.blocks + 1)), -1);
  lists.columns.assign(size_t(entries), -1);
  Args args = {};
  args.B = sequences;
  args.S = tokens;
  args.Hq = heads;
  args.Hkv = heads;
  args.nnz = entries;
  args.row_ptr = upload(lists.starts);
  args.col_idx = upload(lists.columns);
  d2k_inputs_request request = {};
  request.seed = 3;
  request.workload = workload.c_str();
  request.trial = "random";
  runReferenceInputs(&args, request);
  lists.starts = download(args.row_ptr, lists.starts.size());
  lists.columns = download(args.col_idx, lists.columns.size());
  size_t wrong = 0, empty = 0, withoutDiagonal = 0;
  for (size_t i = 0; i + 1 < lists.starts.size(); ++i)
    wrong += lists.starts[i] > lists.starts[i + 1];
  wrong += lists.starts.front() != 0 || lists.starts.back() != entries;
  for (int64_t head = 0; head < sequences * heads && wrong == 0; ++head)
    for (int64_t row = 0; row < lists.blocks; ++row) {
      std::vector<int32_t> list = lists.get(head, row);
      for (size_t i = 0; i < list.size(); ++i)
        wrong += list[i] > row || (i > 0 && list[i] <= list[i - 1]);
      empty += list.empty();
      withoutDiagonal += !list.empty() && list.back() != row;
    }
  report(wrong == 0 && (empty > 0) == mayBeEmpty &&
             (withoutDiagonal > 0) == mayLackDiagonal,
         name + std::to_string(wrong) + " faults, " + std::to_string(empty) +
             " empty rows, " + std::to_string(withoutDiagonal) +
             " without a diagonal");
}

/// A query retrieves exactly one value; rows without keys get 0.
void checkRetrieval() {
  std::string name = "attention_block_sparse retrieval ";
  HostAttention host({{100, 100}, {100, 100}, {100, 100}}, 4, 4, 128);
  BlockLists lists = {std::vector<int32_t>(24, -1), std::vector<int32_t>(6, -1),
                      1};
  Args args = makeArgs(host, lists);
  d2k_inputs_request request = {};
  request.seed = 3;
  request.workload = "one_partial_block";
  request.trial = "retrieval";
  runReferenceInputs(&args, request);
  lists.starts = download(args.row_ptr, lists.starts.size());
  lists.columns = download(args.col_idx, lists.columns.size());
  setLists(host, lists);
  host.q = download(static_cast<const uint16_t *>(args.Q), host.q.size());
  host.k = download(static_cast<const uint16_t *>(args.K), host.k.size());
  host.compute();
  size_t different = 0, zero = 0;
  for (size_t i = 0; i < host.o.size(); ++i) {
    different += std::fabs(host.o[i] - host.oWorking[i]) > 1e-30L;
    zero += host.oWorking[i] == 0 &&
            std::isinf(host.lse[i / 128 % 4 * 300 + i / 128 / 4]);
  }
  report(different == 0 && zero == host.o.size() / 2,
         name + std::to_string(different) + " elements of O are not a value, " +
             std::to_string(zero) + " have no key");
  d2k_reference_request expected = makeRequest(host);
  runReference(&args, expected);
  host.check(name, expected.outputs[0], expected.outputs[1]);
}

const ReferenceCheck registered("attention_block_sparse", [] {
  checkAttention();
  // The numbers of entries are those of task.json.
  checkInputs("qwen3_8b_sinks_and_local", 1, 32768, 32, 187776, false, false);
  checkInputs("llama3_8b_1m_top16", 1, 65536, 32, 258304, false, false);
  checkInputs("mixed_densities_ragged", 1, 10000, 32, 22138, true, true);
  checkInputs("dense_list", 2, 2000, 8, 2176, false, false);
  checkRetrieval();
});

} // namespace
