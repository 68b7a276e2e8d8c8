// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the CUDA language that one thread calls for itself: mathematics,
// conversions, bits, loads and stores with a cache hint, time, and those of the
// runtime that take a kernel. Fast approximations of a GPU are computed
// exactly.

#ifndef D2K_TEST_HOSTCUDA_INTRINSICS_H
#define D2K_TEST_HOSTCUDA_INTRINSICS_H

#include "Execution.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

//===----------------------------------------------------------------------===//
// Mathematics
//===----------------------------------------------------------------------===//

template <typename A, typename B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return T(a) != T(a) || T(b) < T(a) ? T(b) : T(a);
  else
    return T(b) < T(a) ? T(b) : T(a);
}
template <typename A, typename B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return T(a) != T(a) || T(a) < T(b) ? T(b) : T(a);
  else
    return T(a) < T(b) ? T(b) : T(a);
}
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

inline float rsqrtf(float x) { return float(1 / std::sqrt(double(x))); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float fdividef(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __powf(float a, float b) { return std::pow(a, b); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline void __sincosf(float x, float *s, float *c) {
  *s = std::sin(x);
  *c = std::cos(x);
}
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float __tanhf(float x) { return std::tanh(x); }
inline float sinpif(float x) { return float(std::sin(M_PI * double(x))); }
inline float cospif(float x) { return float(std::cos(M_PI * double(x))); }
inline float normcdff(float x) {
  return float(0.5 * std::erfc(-double(x) * M_SQRT1_2));
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) {
  // Not to be joined with an addition.
  float product = a * b;
  asm("" : "+x"(product));
  return product;
}
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) {
  return std::fma(a, b, c);
}
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }

// Fused, which the toolkit's headers have for the device alone.
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  // fp64 holds the product of two and is rounded once more below: for an error
  // the sum would have to lie within 2^-53 of a tie.
  return __double2bfloat16(double(float(a)) * double(float(b)) +
                           double(float(c)));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b,
                              __nv_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline __half __hfma(__half a, __half b, __half c) {
  return __double2half(double(float(a)) * double(float(b)) + double(float(c)));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

//===----------------------------------------------------------------------===//
// Conversions and bits
//===----------------------------------------------------------------------===//

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}

namespace d2k::host {

/// To an integer: NaN becomes 0, what is too large the largest.
template <typename Integer, typename Float>
Integer toInteger(Float rounded) {
  using Limits = std::numeric_limits<Integer>;
  if (rounded != rounded)
    return 0;
  if (rounded <= Float(Limits::min()))
    return Limits::min();
  // The largest itself may be no number of the type.
  if (rounded >= std::ldexp(Float(1), Limits::digits))
    return Limits::max();
  return Integer(rounded);
}

} // namespace d2k::host

#define D2K_HOST_CONVERSION(FLOAT, FLOAT_NAME, INTEGER, INTEGER_NAME)          \
  inline INTEGER __##FLOAT_NAME##2##INTEGER_NAME##_rn(FLOAT x) {               \
    return d2k::host::toInteger<INTEGER>(std::nearbyint(x));                   \
  }                                                                            \
  inline INTEGER __##FLOAT_NAME##2##INTEGER_NAME##_rz(FLOAT x) {               \
    return d2k::host::toInteger<INTEGER>(std::trunc(x));                       \
  }                                                                            \
  inline INTEGER __##FLOAT_NAME##2##INTEGER_NAME##_rd(FLOAT x) {               \
    return d2k::host::toInteger<INTEGER>(std::floor(x));                       \
  }                                                                            \
  inline INTEGER __##FLOAT_NAME##2##INTEGER_NAME##_ru(FLOAT x) {               \
    return d2k::host::toInteger<INTEGER>(std::ceil(x));                        \
  }                                                                            \
  inline FLOAT __##INTEGER_NAME##2##FLOAT_NAME##_rn(INTEGER x) {               \
    return FLOAT(x);                                                           \
  }
D2K_HOST_CONVERSION(float, float, int, int)
D2K_HOST_CONVERSION(float, float, unsigned, uint)
D2K_HOST_CONVERSION(float, float, long long, ll)
D2K_HOST_CONVERSION(float, float, unsigned long long, ull)
D2K_HOST_CONVERSION(double, double, int, int)
D2K_HOST_CONVERSION(double, double, unsigned, uint)
D2K_HOST_CONVERSION(double, double, long long, ll)
D2K_HOST_CONVERSION(double, double, unsigned long long, ull)
#undef D2K_HOST_CONVERSION
inline float __double2float_rn(double x) { return float(x); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(unsigned(x)); }
inline int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i)
    result |= (x >> i & 1) << (31 - i);
  return result;
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  uint64_t bytes = uint64_t(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned choice = selector >> 4 * i & 15;
    unsigned byte = unsigned(bytes >> 8 * (choice & 7)) & 0xff;
    if (choice & 8) // The sign of the byte in every bit.
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned((uint64_t(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned((uint64_t(high) << 32 | low) >> (shift & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned(uint64_t(a) * b >> 32);
}
inline int __mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a,
                                     unsigned long long b) {
  return static_cast<unsigned long long>(
      static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i)
    c += int(int8_t(a >> 8 * i)) * int(int8_t(b >> 8 * i));
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i)
    c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  return c;
}

//===----------------------------------------------------------------------===//
// Memory, time
//===----------------------------------------------------------------------===//

#define D2K_HOST_LOAD(NAME)                                                    \
  template <typename T>                                                        \
  T NAME(const T *address) {                                                   \
    return *address;                                                           \
  }
D2K_HOST_LOAD(__ldg)
D2K_HOST_LOAD(__ldca)
D2K_HOST_LOAD(__ldcg)
D2K_HOST_LOAD(__ldcs)
D2K_HOST_LOAD(__ldlu)
D2K_HOST_LOAD(__ldcv)
#undef D2K_HOST_LOAD
#define D2K_HOST_STORE(NAME)                                                   \
  template <typename T>                                                        \
  void NAME(T *address, std::type_identity_t<T> value) {                       \
    *address = value;                                                          \
  }
D2K_HOST_STORE(__stwb)
D2K_HOST_STORE(__stcg)
D2K_HOST_STORE(__stcs)
D2K_HOST_STORE(__stwt)
#undef D2K_HOST_STORE

inline size_t __cvta_generic_to_shared(const void *pointer) {
  return d2k::host::getSharedAddress(pointer);
}
inline void *__cvta_shared_to_generic(size_t address) {
  return d2k::host::getSharedPointer(uint32_t(address), 0);
}
inline size_t __cvta_generic_to_global(const void *pointer) {
  return reinterpret_cast<size_t>(pointer);
}
inline unsigned __isShared(const void *pointer) {
  return d2k::host::isShared(pointer);
}

inline void __nanosleep(unsigned) { d2k::host::yield(); }
inline void __trap() { d2k::host::failLaunch("__trap"); }
inline long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
inline long long __globaltimer() { return clock64(); }

//===----------------------------------------------------------------------===//
// Functions of the runtime that take a kernel or a variable
//===----------------------------------------------------------------------===//

namespace d2k::host {

template <typename... P, typename... A>
cudaError_t launchKernelEx(const cudaLaunchConfig_t *config,
                           void (*kernel)(P...), A &&...arguments) {
  d2k::host::Configuration configuration =
      d2k::host::configure(config->gridDim, config->blockDim,
                           config->dynamicSmemBytes, config->stream);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute &attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension)
      configuration.cluster =
          dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y,
               attribute.val.clusterDim.z);
    if (attribute.id == cudaLaunchAttributeCooperative)
      configuration.isCooperative = attribute.val.cooperative != 0;
  }
  return d2k::host::launch(
      configuration, [kernel](const P &...values) { kernel(values...); },
      P(arguments)...);
}

} // namespace d2k::host

// The toolkit's own template is there for host compilers too.
#define cudaLaunchKernelEx ::d2k::host::launchKernelEx

template <typename... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid,
                                        dim3 block, void **arguments,
                                        size_t sharedBytes = 0,
                                        cudaStream_t stream = nullptr) {
  d2k::host::Configuration configuration =
      d2k::host::configure(grid, block, sharedBytes, stream);
  configuration.isCooperative = true;
  auto call = [=]<size_t... I>(std::index_sequence<I...>) {
    kernel(*static_cast<P *>(arguments[I])...);
  };
  return d2k::host::launch(configuration,
                           [&] { call(std::index_sequence_for<P...>()); });
}

template <typename... P>
cudaError_t cudaFuncSetAttribute(void (*)(P...), cudaFuncAttribute attribute,
                                 int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
    return cudaSuccess;
  if (value < 0 || value > 227 << 10)
    return cudaErrorInvalidValue;
  if (size_t(value) > d2k::host::allowedSharedBytes)
    d2k::host::allowedSharedBytes = size_t(value);
  return cudaSuccess;
}

/// How many would fit on a GPU is not known here: one.
template <typename... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                          void (*)(P...), int,
                                                          size_t) {
  *blocks = 1;
  return cudaSuccess;
}

template <typename T>
cudaError_t cudaGetSymbolAddress(void **address, T &symbol) {
  *address = const_cast<std::remove_const_t<T> *>(&symbol);
  return cudaSuccess;
}
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t bytes,
                                    size_t offset = 0,
                                    cudaMemcpyKind = cudaMemcpyHostToDevice,
                                    cudaStream_t = nullptr) {
  std::memcpy(
      reinterpret_cast<char *>(const_cast<std::remove_const_t<T> *>(&symbol)) +
          offset,
      from, bytes);
  return cudaSuccess;
}
template <typename T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes,
                               size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind);
}
#endif // D2K_TEST_HOSTCUDA_INTRINSICS_H
