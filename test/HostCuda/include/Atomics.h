// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic functions and fences. Ranks of a task are threads of the operating
// system, so these are atomic there too. A thread that polls lets others run.

#ifndef D2K_TEST_HOSTCUDA_ATOMICS_H
#define D2K_TEST_HOSTCUDA_ATOMICS_H

#include "Execution.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cstring>

namespace d2k::host {

template <size_t Bytes>
struct BitsOf;
template <>
struct BitsOf<2> {
  using Type = uint16_t;
};
template <>
struct BitsOf<4> {
  using Type = uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = uint64_t;
};

/// Replaces the value by what \p change makes of it, and returns the old one.
template <typename T, typename Change>
T update(T *address, const Change &change) {
  using Bits = typename BitsOf<sizeof(T)>::Type;
  auto *place = reinterpret_cast<Bits *>(address);
  if (reinterpret_cast<uintptr_t>(address) % sizeof(T) != 0)
    failLaunch("an atomic operation of %zu bytes at the address %p", sizeof(T),
               static_cast<void *>(address));
  Bits old = __atomic_load_n(place, __ATOMIC_RELAXED);
  for (;;) {
    T value;
    std::memcpy(static_cast<void *>(&value), &old, sizeof(T));
    T changed = change(value);
    Bits bits;
    std::memcpy(&bits, &changed, sizeof(T));
    if (__atomic_compare_exchange_n(place, &old, bits, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED)) {
      if (getClusterSize() > 1)
        yield();
      return value;
    }
  }
}

/// The second parameter of the functions below: not deduced, so that a call
/// converts as with CUDA's overloads.
template <typename T>
using Same = std::type_identity_t<T>;

} // namespace d2k::host

// The scopes differ in nothing here.
#define D2K_HOST_ATOMIC(NAME, PARAMETERS, ARGUMENTS)                           \
  template <typename T>                                                        \
  T NAME##_block PARAMETERS {                                                  \
    return NAME ARGUMENTS;                                                     \
  }                                                                            \
  template <typename T>                                                        \
  T NAME##_system PARAMETERS {                                                 \
    return NAME ARGUMENTS;                                                     \
  }
#define D2K_HOST_ATOMIC_OPERATION(NAME, EXPRESSION)                            \
  template <typename T>                                                        \
  T NAME(T *address, d2k::host::Same<T> value) {                               \
    return d2k::host::update(address, [&](T old) { return T(EXPRESSION); });   \
  }                                                                            \
  D2K_HOST_ATOMIC(NAME, (T * address, d2k::host::Same<T> value),               \
                  (address, value))

D2K_HOST_ATOMIC_OPERATION(atomicAdd, old + value)
D2K_HOST_ATOMIC_OPERATION(atomicSub, old - value)
D2K_HOST_ATOMIC_OPERATION(atomicExch, value)
D2K_HOST_ATOMIC_OPERATION(atomicMin, value < old ? value : old)
D2K_HOST_ATOMIC_OPERATION(atomicMax, old < value ? value : old)
D2K_HOST_ATOMIC_OPERATION(atomicAnd, old &value)
D2K_HOST_ATOMIC_OPERATION(atomicOr, old | value)
D2K_HOST_ATOMIC_OPERATION(atomicXor, old ^ value)
D2K_HOST_ATOMIC_OPERATION(atomicInc, old >= value ? 0 : old + 1)
D2K_HOST_ATOMIC_OPERATION(atomicDec, old == 0 || old > value ? value : old - 1)

template <typename T>
T atomicCAS(T *address, d2k::host::Same<T> compare, d2k::host::Same<T> value) {
  return d2k::host::update(address,
                           [&](T old) { return old == compare ? value : old; });
}
D2K_HOST_ATOMIC(atomicCAS,
                (T * address, d2k::host::Same<T> compare,
                 d2k::host::Same<T> value),
                (address, compare, value))

#undef D2K_HOST_ATOMIC_OPERATION
#undef D2K_HOST_ATOMIC

// Each component is atomic by itself.
inline float2 atomicAdd(float2 *address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4 *address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
          atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w)};
}
inline __nv_bfloat162 atomicAdd(__nv_bfloat162 *address, __nv_bfloat162 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline __half2 atomicAdd(__half2 *address, __half2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif // D2K_TEST_HOSTCUDA_ATOMICS_H
