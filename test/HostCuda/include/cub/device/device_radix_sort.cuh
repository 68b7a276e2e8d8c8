// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stand-in for CUB's header of this name, so that baselines which sort run on
// the host: the functions that they use, in two phases as there.

#ifndef D2K_TEST_HOSTCUDA_CUB_DEVICE_RADIX_SORT_CUH
#define D2K_TEST_HOSTCUDA_CUB_DEVICE_RADIX_SORT_CUH

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

namespace cub {

struct DeviceRadixSort {
  /// Sorts by the bits \p beginBit to \p endBit of non-negative keys; pairs with
  /// the same bits keep their order. Without \p temporary it only says in
  /// \p bytes what it needs.
  template <typename Key, typename Value>
  static cudaError_t
  SortPairs(void *temporary, size_t &bytes, const Key *keysIn, Key *keysOut,
            const Value *valuesIn, Value *valuesOut, int count,
            int beginBit = 0, int endBit = int(sizeof(Key)) * 8,
            cudaStream_t stream = nullptr) {
    static_assert(std::is_integral_v<Key>);
    size_t needed = size_t(count) * (sizeof(Key) + sizeof(Value)) + 256;
    if (!temporary) {
      bytes = needed;
      return cudaSuccess;
    }
    if (bytes < needed)
      return cudaErrorInvalidValue;
    if (cudaError_t error = cudaStreamSynchronize(stream))
      return error;
    if (d2k::host::isWorkLeftOut())
      return cudaSuccess;
    using Bits = std::make_unsigned_t<Key>;
    auto getBits = [&](int i) {
      Bits mask = endBit - beginBit >= int(sizeof(Key)) * 8
                      ? Bits(~Bits(0))
                      : Bits((Bits(1) << (endBit - beginBit)) - 1);
      return Bits(Bits(keysIn[i]) >> beginBit) & mask;
    };
    std::vector<int> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return getBits(a) < getBits(b); });
    for (int i = 0; i < count; ++i) {
      keysOut[i] = keysIn[order[size_t(i)]];
      valuesOut[i] = valuesIn[order[size_t(i)]];
    }
    return cudaSuccess;
  }
};

} // namespace cub

#endif // D2K_TEST_HOSTCUDA_CUB_DEVICE_RADIX_SORT_CUH
