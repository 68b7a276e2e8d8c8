// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of moe_permute_combine: pairs sorted by expert with CUB's stable
// radix sort, places and offsets from the sorted list, then one kernel that
// copies rows and one that combines them. A block a token in both: a row of X
// is read once and written k times, the k rows of Z are in flight together, all
// in 16-byte accesses.

#include "d2k_moe_permute_combine.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/version.cuh>
#include <cuda_bf16.h>

#include <cstdio>

namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
/// Elements of a 16-byte vector.
constexpr int kVector = 8;
constexpr int kMaxSlots = 16;

__global__ void __launch_bounds__(kThreads)
    numberPairs(int32_t *numbers, int pairs) {
  int pair = int(blockIdx.x) * kThreads + int(threadIdx.x);
  if (pair < pairs)
    numbers[pair] = pair;
}

/// Places from the sorted pairs, and offsets where the expert changes: row i is
/// the first of all experts after that of row i - 1, up to its own.
__global__ void __launch_bounds__(kThreads)
    placePairs(const int32_t *experts, const int32_t *numbers, int pairs,
               int expertCount, int32_t *pos, int32_t *offsets) {
  int row = int(blockIdx.x) * kThreads + int(threadIdx.x);
  if (row >= pairs)
    return;
  pos[numbers[row]] = row;
  int own = experts[row];
  int before = row == 0 ? -1 : experts[row - 1];
  for (int expert = before + 1; expert <= own; ++expert)
    offsets[expert] = row;
  if (row == pairs - 1)
    for (int expert = own + 1; expert <= expertCount; ++expert)
      offsets[expert] = pairs;
}

__global__ void __launch_bounds__(kThreads)
    permuteRows(const uint4 *x, const int32_t *pos, uint4 *permuted,
                int vectors, int slots) {
  int64_t token = blockIdx.x;
  for (int i = int(threadIdx.x); i < vectors; i += kThreads) {
    uint4 value = __ldcs(x + token * vectors + i);
    for (int j = 0; j < slots; ++j)
      __stcs(permuted + int64_t(__ldg(pos + token * slots + j)) * vectors + i,
             value);
  }
}

/// With the number of slots known, all loads of a vector come before its sums.
template <int kSlots>
__global__ void __launch_bounds__(kThreads)
    combineRows(const uint4 *z, const float *w, const int32_t *pos, uint4 *y,
                int vectors, int slots) {
  int64_t token = blockIdx.x;
  int count = kSlots ? kSlots : slots;
  constexpr int kHeld = kSlots ? kSlots : kMaxSlots;
  int64_t rows[kHeld];
  float weights[kHeld];
#pragma unroll
  for (int j = 0; j < kHeld; ++j)
    if (j < count) {
      rows[j] = int64_t(pos[token * count + j]) * vectors;
      weights[j] = w[token * count + j];
    }
  for (int i = int(threadIdx.x); i < vectors; i += kThreads) {
    uint4 words[kHeld];
#pragma unroll
    for (int j = 0; j < kHeld; ++j)
      if (j < count)
        words[j] = __ldcs(z + rows[j] + i);
    float2 sums[kVector / 2] = {};
#pragma unroll
    for (int j = 0; j < kHeld; ++j)
      if (j < count) {
        const unsigned parts[] = {words[j].x, words[j].y, words[j].z,
                                  words[j].w};
#pragma unroll
        for (int p = 0; p < kVector / 2; ++p) {
          // bf16 is the upper half of a float.
          sums[p].x += weights[j] * __uint_as_float(parts[p] << 16);
          sums[p].y += weights[j] * __uint_as_float(parts[p] & 0xffff0000u);
        }
      }
    unsigned packed[kVector / 2];
#pragma unroll
    for (int p = 0; p < kVector / 2; ++p) {
      __nv_bfloat162 pair = __floats2bfloat162_rn(sums[p].x, sums[p].y);
      packed[p] = unsigned(__bfloat16_as_ushort(pair.x)) |
                  unsigned(__bfloat16_as_ushort(pair.y)) << 16;
    }
    __stcs(y + token * vectors + i,
           make_uint4(packed[0], packed[1], packed[2], packed[3]));
  }
}

unsigned countBlocks(int64_t items) {
  return unsigned((items + kThreads - 1) / kThreads);
}

size_t alignUp(size_t bytes) { return (bytes + 255) / 256 * 256; }

} // namespace

extern "C" const char *d2k_baseline_identity() {
  static char text[96];
  std::snprintf(text, sizeof(text),
                "CUB %d.%d.%d radix sort, then a kernel each for places, "
                "copies and sums",
                CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
  return text;
}

extern "C" int d2k_moe_permute_combine(const d2k_moe_permute_combine_args *args,
                                       void *workspace, size_t workspace_bytes,
                                       cudaStream_t stream) {
  int64_t pairs = args->T * args->k;
  if (pairs < 1 || pairs > INT32_MAX || args->k > kMaxSlots ||
      args->H % kVector != 0)
    return cudaErrorInvalidValue;
  int vectors = int(args->H / kVector), slots = int(args->k);
  int endBit = 1;
  while ((int64_t(1) << endBit) < args->E)
    ++endBit;

  // The workspace: numbers, sorted experts, sorted numbers, and CUB's part.
  size_t list = alignUp(size_t(pairs) * sizeof(int32_t));
  auto *bytes = static_cast<char *>(workspace);
  auto *numbers = reinterpret_cast<int32_t *>(bytes);
  auto *experts = reinterpret_cast<int32_t *>(bytes + list);
  auto *sorted = reinterpret_cast<int32_t *>(bytes + 2 * list);
  size_t needed = 0;
  cudaError_t error = cub::DeviceRadixSort::SortPairs(
      nullptr, needed, args->ids, experts, numbers, sorted, int(pairs), 0,
      endBit, stream);
  if (error != cudaSuccess)
    return error;
  if (3 * list + needed > workspace_bytes)
    return cudaErrorInvalidValue;
  numberPairs<<<countBlocks(pairs), kThreads, 0, stream>>>(numbers, int(pairs));
  error = cub::DeviceRadixSort::SortPairs(bytes + 3 * list, needed, args->ids,
                                          experts, numbers, sorted, int(pairs),
                                          0, endBit, stream);
  if (error != cudaSuccess)
    return error;
  placePairs<<<countBlocks(pairs), kThreads, 0, stream>>>(
      experts, sorted, int(pairs), int(args->E), args->pos, args->offsets);
  permuteRows<<<unsigned(args->T), kThreads, 0, stream>>>(
      static_cast<const uint4 *>(args->X), args->pos,
      static_cast<uint4 *>(args->Xp), vectors, slots);
  auto *combine = slots == 8    ? combineRows<8>
                  : slots == 4  ? combineRows<4>
                  : slots == 10 ? combineRows<10>
                                : combineRows<0>;
  combine<<<unsigned(args->T), kThreads, 0, stream>>>(
      static_cast<const uint4 *>(args->Z), args->w, args->pos,
      static_cast<uint4 *>(args->Y), vectors, slots);
  return cudaGetLastError();
}
