// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs that tasks with a paged cache share: the lengths of sequences and the
// table of their pages. For the reference.cu of such tasks.

#ifndef D2K_TASK_PAGEDCACHE_CUH
#define D2K_TASK_PAGEDCACHE_CUH

#include "d2k/Task/Draw.h"

#include <cuda_runtime.h>

#include <numeric>
#include <utility>
#include <vector>

namespace d2k::task {

/// Lengths from a shortest one to \p longest, evenly, so that their sum is
/// \p tokens; all alike when that is sequences * longest. Empty when the
/// shortest would be below 1. For instance 3, 100 and 180: {20, 60, 100}.
inline std::vector<int32_t> spreadLengths(int64_t sequences, int64_t longest,
                                          int64_t tokens) {
  int64_t both = 2 * tokens / sequences;
  int64_t shortest = both - longest;
  std::vector<int32_t> lengths;
  for (int64_t i = 0; shortest >= 1 && i < sequences; ++i) {
    // The sum of the i-th and the i-th last one is always the same.
    int64_t mirrored = 2 * i < sequences ? i : sequences - 1 - i;
    int64_t value =
        2 * i == sequences - 1
            ? both / 2
            : shortest + mirrored * (longest - shortest) / (sequences - 1);
    lengths.push_back(int32_t(mirrored == i ? value : both - value));
  }
  return lengths;
}

/// A permutation of 0 to \p count - 1, element \p index: four rounds of a
/// Feistel network on the next even number of bits, until the result is below
/// \p count.
__device__ inline int64_t permute(int64_t index, int64_t count, uint64_t seed) {
  int bits = 1;
  while ((int64_t(1) << (2 * bits)) < count)
    ++bits;
  uint64_t mask = (uint64_t(1) << bits) - 1;
  auto value = uint64_t(index);
  do {
    uint64_t left = value >> bits, right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      uint64_t next = left ^ (drawBits(seed, 100 + round, right) & mask);
      left = right;
      right = next;
    }
    value = left << bits | right;
  } while (value >= uint64_t(count));
  return int64_t(value);
}

/// The pages of each sequence, scattered, then -1; a block a sequence.
static __global__ void makePageTable(int32_t *table, const int32_t *lengths,
                                     int64_t page, int64_t pages,
                                     int64_t columns, uint64_t seed) {
  int64_t b = blockIdx.x, used = 0;
  for (int64_t i = 0; i < b; ++i)
    used += (lengths[i] + page - 1) / page;
  int64_t own = (lengths[b] + page - 1) / page;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    table[b * columns + i] =
        i < own ? int32_t(permute(used + i, pages, seed)) : -1;
}

/// Writes \p lengths in random order, and the table of pages of \p page tokens
/// with \p columns a sequence. Fails when the lengths do not add up to
/// \p tokens or need more than \p pages. Waits.
inline int makePagedSequences(std::vector<int32_t> lengths, int64_t tokens,
                              int64_t page, int64_t pages, int64_t columns,
                              int32_t *lengthsTo, int32_t *tableTo,
                              uint64_t seed, cudaStream_t stream) {
  int64_t needed = 0;
  for (int32_t length : lengths)
    needed += (length + page - 1) / page;
  if (lengths.empty() || needed > pages ||
      std::accumulate(lengths.begin(), lengths.end(), int64_t(0)) != tokens)
    return cudaErrorInvalidValue;
  for (size_t i = lengths.size(); i > 1; --i)
    std::swap(lengths[i - 1], lengths[drawBits(seed, 1, i) % i]);
  cudaMemcpyAsync(lengthsTo, lengths.data(), lengths.size() * sizeof(int32_t),
                  cudaMemcpyHostToDevice, stream);
  if (cudaError_t error = cudaStreamSynchronize(stream))
    return error;
  makePageTable<<<unsigned(lengths.size()), 128, 0, stream>>>(
      tableTo, lengthsTo, page, pages, columns, seed);
  return cudaGetLastError();
}

} // namespace d2k::task

#endif // D2K_TASK_PAGEDCACHE_CUH
