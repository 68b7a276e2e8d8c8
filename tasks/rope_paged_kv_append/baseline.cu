// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of rope_paged_kv_append: two clean kernels, as serving engines
// have them. One normalises and rotates query and key heads, keys into the
// workspace; the other copies keys and values to their slots. 16-byte accesses;
// the lanes of a head exchange halves by shuffles. (A norm in a kernel of its
// own would round to bf16 once more, which the task forbids.)

#include "d2k_rope_paged_kv_append.h"

#include <cuda_bf16.h>

namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
/// Elements of a 16-byte chunk, what a lane has.
constexpr int kChunk = 8;
constexpr unsigned kAll = 0xffffffffu;
/// Heads of a lane where there are many, which is from so many on.
constexpr int kMore = 4;
constexpr int64_t kManyHeads = 1 << 17;

__device__ void unpack(float (&to)[kChunk], uint4 chunk) {
  const unsigned words[] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    // bf16 is the upper half of a float.
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

__device__ uint4 pack(const float (&from)[kChunk]) {
  unsigned words[kChunk / 2];
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(from[2 * i], from[2 * i + 1]);
    words[i] = unsigned(__bfloat16_as_ushort(pair.x)) |
               unsigned(__bfloat16_as_ushort(pair.y)) << 16;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ void loadFactors(float (&to)[kChunk], const float *from) {
  auto low = *reinterpret_cast<const float4 *>(from);
  auto high = *reinterpret_cast<const float4 *>(from + 4);
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

/// Query and key heads, kLanes lanes each, which have kHeads heads of a token
/// one after the other: all are on their way together, with one row of the
/// table. Keys go to `keys`, [T, Hkv, D].
template <int kLanes, bool kNorm, int kHeads>
__global__ void __launch_bounds__(kThreads)
    rotateHeads(d2k_rope_paged_kv_append_args args, uint4 *keys) {
  // Divisions of 64 bits would take longer than the copies.
  unsigned heads = unsigned(args.Hq + args.Hkv);
  unsigned parts = (heads + kHeads - 1) / kHeads;
  unsigned index = blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes;
  // Lanes without a head take part in the shuffles.
  bool isThere = index < unsigned(args.T) * parts;
  int64_t token = isThere ? index / parts : 0;
  int64_t head0 = isThere ? index % parts * kHeads : 0;
  int count = isThere ? min(kHeads, int(heads - head0)) : 0;
  int lane = int(threadIdx.x) % kLanes;
  int64_t row = token * (args.Hq + 2 * args.Hkv) + head0;
  uint4 chunks[kHeads];
#pragma unroll
  for (int h = 0; h < kHeads; ++h)
    chunks[h] = h < count ? __ldcs(static_cast<const uint4 *>(args.qkv) +
                                   (row + h) * kLanes + lane)
                          : uint4{};
  float cosine[kChunk], sine[kChunk];
  const float *factors =
      args.table +
      (int64_t(args.pos[token]) * kLanes + lane % (kLanes / 2)) * kChunk;
  // The row of a position has cos for D / 2 columns, and then sin.
  loadFactors(cosine, factors);
  loadFactors(sine, factors + kLanes / 2 * kChunk);
  bool isFirst = lane < kLanes / 2;
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    int64_t head = head0 + h;
    float own[kChunk];
    unpack(own, chunks[h]);
    if (kNorm) {
      float squares = 0;
#pragma unroll
      for (int i = 0; i < kChunk; ++i)
        squares += own[i] * own[i];
#pragma unroll
      for (int step = kLanes / 2; step; step /= 2)
        squares += __shfl_xor_sync(kAll, squares, step);
      float factor = rsqrtf(squares / float(kLanes * kChunk) + args.eps);
      float weight[kChunk];
      const void *weights = head < args.Hq ? args.wq : args.wk;
      unpack(weight, static_cast<const uint4 *>(weights)[lane]);
#pragma unroll
      for (int i = 0; i < kChunk; ++i)
        own[i] *= factor * weight[i];
    }
    float other[kChunk];
#pragma unroll
    for (int i = 0; i < kChunk; ++i)
      other[i] = __shfl_xor_sync(kAll, own[i], kLanes / 2);
#pragma unroll
    for (int i = 0; i < kChunk; ++i)
      own[i] = own[i] * cosine[i] + (isFirst ? -other[i] : other[i]) * sine[i];
    if (h >= count)
      continue;
    uint4 result = pack(own);
    if (head < args.Hq)
      __stcs(static_cast<uint4 *>(args.q_out) +
                 (token * args.Hq + head) * kLanes + lane,
             result);
    else
      keys[(token * args.Hkv + head - args.Hq) * kLanes + lane] = result;
  }
}

/// A thread a chunk of keys or values.
__global__ void __launch_bounds__(kThreads)
    appendHeads(d2k_rope_paged_kv_append_args args, const uint4 *keys,
                int lanes) {
  unsigned chunks = unsigned(args.Hkv) * unsigned(lanes);
  unsigned index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= unsigned(args.T) * 2 * chunks)
    return;
  unsigned i = index % chunks, isValue = index / chunks % 2;
  int64_t token = index / chunks / 2, slot = args.slot[token];
  if (slot < 0)
    return;
  int64_t row = token * (args.Hq + 2 * args.Hkv) + args.Hq + args.Hkv;
  uint4 value =
      isValue ? __ldcs(static_cast<const uint4 *>(args.qkv) + row * lanes + i)
              : keys[token * chunks + i];
  unsigned page = unsigned(args.page), inCache = unsigned(slot);
  int64_t place = int64_t(inCache / page * 2 + isValue) * page + inCache % page;
  __stcs(static_cast<uint4 *>(args.cache) + place * chunks + i, value);
}

unsigned countBlocks(int64_t items, int64_t perBlock) {
  return unsigned((items + perBlock - 1) / perBlock);
}

} // namespace

extern "C" const char *d2k_baseline_identity() {
  return "hand-written: norm and rotation in one kernel, append in another";
}

extern "C" int
d2k_rope_paged_kv_append(const d2k_rope_paged_kv_append_args *args,
                         void *workspace, size_t workspace_bytes,
                         cudaStream_t stream) {
  int64_t heads = args->T * (args->Hq + args->Hkv);
  int64_t chunks = args->T * args->Hkv * args->D / kChunk;
  if ((args->D != 64 && args->D != 128) || heads > INT32_MAX ||
      args->pages * args->page > INT32_MAX ||
      size_t(chunks) * sizeof(uint4) > workspace_bytes)
    return cudaErrorInvalidValue;
  int lanes = int(args->D) / kChunk;
  auto *keys = static_cast<uint4 *>(workspace);
  // With many tokens there are threads enough without one for each head.
  bool isMany = heads >= kManyHeads;
  auto *rotate =
      isMany ? (lanes == 16 ? (args->norm ? rotateHeads<16, true, kMore>
                                          : rotateHeads<16, false, kMore>)
                            : (args->norm ? rotateHeads<8, true, kMore>
                                          : rotateHeads<8, false, kMore>))
             : (lanes == 16 ? (args->norm ? rotateHeads<16, true, 1>
                                          : rotateHeads<16, false, 1>)
                            : (args->norm ? rotateHeads<8, true, 1>
                                          : rotateHeads<8, false, 1>));
  int each = isMany ? kMore : 1;
  int64_t parts = args->T * ((args->Hq + args->Hkv + each - 1) / each);
  rotate<<<countBlocks(parts, kThreads / lanes), kThreads, 0, stream>>>(*args,
                                                                        keys);
  appendHeads<<<countBlocks(2 * chunks, kThreads), kThreads, 0, stream>>>(
      *args, keys, lanes);
  return cudaGetLastError();
}
