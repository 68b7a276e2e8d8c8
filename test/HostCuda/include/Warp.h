// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers, and what the lanes of a warp do together (CUDA C++ Programming
// Guide, "Synchronization Functions", "Warp Vote/Match/Reduce/Shuffle
// Functions").

#ifndef D2K_TEST_HOSTCUDA_WARP_H
#define D2K_TEST_HOSTCUDA_WARP_H

#include "Execution.h"

#include <bit>
#include <cstring>

inline void __syncthreads(int line = __builtin_LINE()) {
  d2k::host::waitForBlock(line);
}
inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  return d2k::host::waitForBlock(line, predicate != 0);
}
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
  return d2k::host::waitForBlock(line, predicate != 0) != 0;
}
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
  return d2k::host::waitForBlock(line, predicate == 0) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffff) {
  d2k::host::exchange(mask, "__syncwarp", nullptr, 0);
}

/// Which lanes run together is up to the GPU: this lane does in any case.
inline unsigned __activemask() { return 1u << d2k::host::getLane(); }

namespace d2k::host {

/// The values of all lanes.
template <typename T>
struct Lanes {
  Lanes(unsigned mask, const char *name, const T &value)
      : found(exchange(mask, name, &value, sizeof(T))) {
    static_assert(sizeof(T) <= 64);
  }

  bool has(unsigned lane) const { return found.lanes >> lane & 1; }
  T get(unsigned lane) const {
    T value;
    std::memcpy(static_cast<void *>(&value), found.values + lane * sizeof(T),
                sizeof(T));
    return value;
  }

  Exchange found;
};

/// What a shuffle returns: the value of lane \p from, which the operation has
/// found to be inside of the lane's segment, or the own value.
template <typename T>
T shuffle(unsigned mask, const char *name, T value, int width, int from,
          bool isInside) {
  Lanes<T> lanes(mask, name, value);
  if (width < 1 || width > 32 || (width & (width - 1)))
    failLaunch("%s with the width %d, which is not 1, 2, 4, 8, 16 or 32", name,
               width);
  if (!isInside)
    return value;
  if (!lanes.has(unsigned(from)))
    failLaunch("%s reads lane %d, which is not in its mask 0x%08x", name, from,
               mask);
  return lanes.get(unsigned(from));
}

template <typename T, typename Combine>
T reduce(unsigned mask, const char *name, T value, Combine combine) {
  Lanes<T> lanes(mask, name, value);
  bool isFirst = true;
  T result = value;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (lanes.has(lane)) {
      result = isFirst ? lanes.get(lane) : combine(result, lanes.get(lane));
      isFirst = false;
    }
  return result;
}

} // namespace d2k::host

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  int lane = int(d2k::host::getLane());
  int base = lane / width * width;
  return d2k::host::shuffle(mask, "__shfl_sync", value, width,
                            base + (from & (width - 1)), true);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  int lane = int(d2k::host::getLane());
  int from = lane ^ bits;
  // Lanes of earlier segments can be read, those of later ones cannot.
  return d2k::host::shuffle(mask, "__shfl_xor_sync", value, width, from,
                            from < lane / width * width + width);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  int lane = int(d2k::host::getLane());
  int from = lane - int(distance);
  return d2k::host::shuffle(mask, "__shfl_up_sync", value, width, from,
                            from >= lane / width * width);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  int lane = int(d2k::host::getLane());
  int from = lane + int(distance);
  return d2k::host::shuffle(mask, "__shfl_down_sync", value, width, from,
                            from < lane / width * width + width);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  d2k::host::Lanes<int> lanes(mask, "__ballot_sync", predicate);
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (lanes.has(lane) && lanes.get(lane))
      result |= 1u << lane;
  return result;
}
inline int __any_sync(unsigned mask, int predicate) {
  return d2k::host::reduce(mask, "__any_sync", int(predicate != 0),
                           [](int a, int b) { return a | b; });
}
inline int __all_sync(unsigned mask, int predicate) {
  return d2k::host::reduce(mask, "__all_sync", int(predicate != 0),
                           [](int a, int b) { return a & b; });
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  d2k::host::Lanes<T> lanes(mask, "__match_any_sync", value);
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (lanes.has(lane)) {
      T other = lanes.get(lane);
      if (std::memcmp(&other, &value, sizeof(T)) == 0)
        result |= 1u << lane;
    }
  return result;
}
template <typename T>
unsigned __match_all_sync(unsigned mask, T value, int *predicate) {
  unsigned same = __match_any_sync(mask, value);
  *predicate = (same & mask) == mask;
  return *predicate ? mask : 0;
}

template <typename T>
T __reduce_add_sync(unsigned mask, T value) {
  return d2k::host::reduce(mask, "__reduce_add_sync", value,
                           [](T a, T b) { return T(a + b); });
}
template <typename T>
T __reduce_min_sync(unsigned mask, T value) {
  return d2k::host::reduce(mask, "__reduce_min_sync", value,
                           [](T a, T b) { return b < a ? b : a; });
}
template <typename T>
T __reduce_max_sync(unsigned mask, T value) {
  return d2k::host::reduce(mask, "__reduce_max_sync", value,
                           [](T a, T b) { return a < b ? b : a; });
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return d2k::host::reduce(mask, "__reduce_and_sync", value,
                           [](unsigned a, unsigned b) { return a & b; });
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return d2k::host::reduce(mask, "__reduce_or_sync", value,
                           [](unsigned a, unsigned b) { return a | b; });
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return d2k::host::reduce(mask, "__reduce_xor_sync", value,
                           [](unsigned a, unsigned b) { return a ^ b; });
}

#endif // D2K_TEST_HOSTCUDA_WARP_H
