// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A header that is included before every source: what CUDA 13 code expects of
// nvcc and Clang's wrapper around the toolkit does not give. Bodies are there
// for Clang as the compiler of device code; the values that the host computes
// follow the C++ rules of the toolkit's crt/math_functions.hpp.

#ifndef D2K_LIB_FRONTEND_CUDA_COMPAT_H
#define D2K_LIB_FRONTEND_CUDA_COMPAT_H

namespace d2k::cuda {

/// The name it is known by; no such file exists.
inline constexpr const char *kCompatPath = "/d2k/clang-cuda-compat.h";
/// The headers that a precompiled header holds besides (HeaderCache.h).
inline constexpr const char *kLeadingPath = "/d2k/leading-headers.h";

inline constexpr const char *kCompatText = R"(#pragma once
#pragma clang system_header
#ifndef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#endif
#ifndef __nv_pure__
#define __nv_pure__
#endif
// isfinite, isnan, isinf and others without std::.
#include <math.h>

// min and max of two types, on the host.
#define D2K_MINMAX(R, A, B)                                                    \
  static inline __host__ R min(const A a, const B b) {                         \
    return (R)a < (R)b ? (R)a : (R)b;                                          \
  }                                                                            \
  static inline __host__ R max(const A a, const B b) {                         \
    return (R)a > (R)b ? (R)a : (R)b;                                          \
  }
#define D2K_MINMAX_INTEGER(S)                                                  \
  D2K_MINMAX(S, S, S)                                                          \
  D2K_MINMAX(unsigned S, unsigned S, unsigned S)                               \
  D2K_MINMAX(unsigned S, S, unsigned S)                                        \
  D2K_MINMAX(unsigned S, unsigned S, S)
D2K_MINMAX_INTEGER(int)
D2K_MINMAX_INTEGER(long)
D2K_MINMAX_INTEGER(long long)
D2K_MINMAX(float, float, float)
D2K_MINMAX(double, double, double)
D2K_MINMAX(double, float, double)
D2K_MINMAX(double, double, float)
#undef D2K_MINMAX_INTEGER
#undef D2K_MINMAX

// Loads and stores with a cache policy, for every type; the toolkit's own
// overloads for some types are preferred.
#define D2K_LOAD(NAME, POLICY)                                                 \
  template <class T> __device__ inline T NAME(const T *p) {                    \
    T r;                                                                       \
    if constexpr (sizeof(T) == 16) {                                           \
      unsigned *w = reinterpret_cast<unsigned *>(&r);                          \
      asm volatile("ld.global." POLICY ".v4.u32 {%0, %1, %2, %3}, [%4];"       \
                   : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])            \
                   : "l"(p)                                                    \
                   : "memory");                                                \
    } else if constexpr (sizeof(T) == 8) {                                     \
      asm volatile("ld.global." POLICY ".u64 %0, [%1];"                        \
                   : "=l"(*reinterpret_cast<unsigned long long *>(&r))         \
                   : "l"(p)                                                    \
                   : "memory");                                                \
    } else if constexpr (sizeof(T) == 4) {                                     \
      asm volatile("ld.global." POLICY ".u32 %0, [%1];"                        \
                   : "=r"(*reinterpret_cast<unsigned *>(&r))                   \
                   : "l"(p)                                                    \
                   : "memory");                                                \
    } else if constexpr (sizeof(T) == 2) {                                     \
      asm volatile("ld.global." POLICY ".u16 %0, [%1];"                        \
                   : "=h"(*reinterpret_cast<unsigned short *>(&r))             \
                   : "l"(p)                                                    \
                   : "memory");                                                \
    } else {                                                                   \
      unsigned word;                                                           \
      asm volatile("ld.global." POLICY ".u8 %0, [%1];"                         \
                   : "=r"(word)                                                \
                   : "l"(p)                                                    \
                   : "memory");                                                \
      *reinterpret_cast<unsigned char *>(&r) = word;                           \
    }                                                                          \
    return r;                                                                  \
  }
D2K_LOAD(__ldca, "ca")
D2K_LOAD(__ldcg, "cg")
D2K_LOAD(__ldcs, "cs")
D2K_LOAD(__ldlu, "lu")
D2K_LOAD(__ldcv, "cv")
#undef D2K_LOAD
#define D2K_STORE(NAME, POLICY)                                                \
  template <class T> __device__ inline void NAME(T *p, T r) {                  \
    if constexpr (sizeof(T) == 16) {                                           \
      unsigned *w = reinterpret_cast<unsigned *>(&r);                          \
      asm volatile("st.global." POLICY ".v4.u32 [%4], {%0, %1, %2, %3};" ::"r"( \
                       w[0]),                                                  \
                   "r"(w[1]), "r"(w[2]), "r"(w[3]), "l"(p)                     \
                   : "memory");                                                \
    } else if constexpr (sizeof(T) == 8) {                                     \
      asm volatile("st.global." POLICY ".u64 [%1], %0;" ::"l"(                 \
                       *reinterpret_cast<unsigned long long *>(&r)),           \
                   "l"(p)                                                      \
                   : "memory");                                                \
    } else if constexpr (sizeof(T) == 4) {                                     \
      asm volatile("st.global." POLICY ".u32 [%1], %0;" ::"r"(                 \
                       *reinterpret_cast<unsigned *>(&r)),                     \
                   "l"(p)                                                      \
                   : "memory");                                                \
    } else if constexpr (sizeof(T) == 2) {                                     \
      asm volatile("st.global." POLICY ".u16 [%1], %0;" ::"h"(                 \
                       *reinterpret_cast<unsigned short *>(&r)),               \
                   "l"(p)                                                      \
                   : "memory");                                                \
    } else {                                                                   \
      unsigned word = *reinterpret_cast<unsigned char *>(&r);                  \
      asm volatile("st.global." POLICY ".u8 [%1], %0;" ::"r"(word), "l"(p)     \
                   : "memory");                                                \
    }                                                                          \
  }
D2K_STORE(__stwb, "wb")
D2K_STORE(__stcg, "cg")
D2K_STORE(__stcs, "cs")
D2K_STORE(__stwt, "wt")
#undef D2K_STORE

// Two single-precision operations at once (crt/sm_100_rt.h).
#define D2K_PACKED(MODE)                                                       \
  __device__ inline float2 __ffma2_##MODE(float2 x, float2 y, float2 z) {      \
    asm("fma." #MODE ".f32x2 %0, %1, %2, %0;"                                  \
        : "+l"(*reinterpret_cast<unsigned long long *>(&z))                    \
        : "l"(*reinterpret_cast<unsigned long long *>(&x)),                    \
          "l"(*reinterpret_cast<unsigned long long *>(&y)));                   \
    return z;                                                                  \
  }                                                                            \
  __device__ inline float2 __fadd2_##MODE(float2 x, float2 y) {                \
    asm("add." #MODE ".f32x2 %0, %0, %1;"                                      \
        : "+l"(*reinterpret_cast<unsigned long long *>(&x))                    \
        : "l"(*reinterpret_cast<unsigned long long *>(&y)));                   \
    return x;                                                                  \
  }                                                                            \
  __device__ inline float2 __fmul2_##MODE(float2 x, float2 y) {                \
    asm("mul." #MODE ".f32x2 %0, %0, %1;"                                      \
        : "+l"(*reinterpret_cast<unsigned long long *>(&x))                    \
        : "l"(*reinterpret_cast<unsigned long long *>(&y)));                   \
    return x;                                                                  \
  }
D2K_PACKED(rn)
D2K_PACKED(rz)
D2K_PACKED(rd)
D2K_PACKED(ru)
#undef D2K_PACKED
)";

/// Searched last: headers that come with nvcc's host compiler and not with
/// Clang.
inline constexpr const char *kLastIncludePath = "/d2k/include";
/// Clang's wrapper around the toolkit includes this header of cuRAND, which a
/// toolkit without libraries lacks. Only programs that use cuRAND need more
/// than an empty one.
inline constexpr const char *kCurandPath =
    "/d2k/include/curand_mtgp32_kernel.h";
inline constexpr const char *kOpenMPPath = "/d2k/include/omp.h";

/// Searched before Clang's own headers when host code is read.
inline constexpr const char *kHostIncludePath = "/d2k/host";
/// In the place of Clang's header of texture instructions, which takes a fifth
/// of a second. The toolkit's functions for textures are templates of device
/// code that only name the macro.
inline constexpr const char *kTexturePath =
    "/d2k/host/__clang_cuda_texture_intrinsics.h";
inline constexpr const char *kTextureText = R"(#pragma once
#pragma clang system_header
#define __nv_tex_surf_handler(...) ((void)0)
)";

/// The functions of OpenMP that programs call (OpenMP 5.2, chapter 18). They
/// are declarations only: what they return is not known.
inline constexpr const char *kOpenMPText = R"(#pragma once
#pragma clang system_header
#ifdef __cplusplus
extern "C" {
#endif
typedef struct { void *opaque; } omp_lock_t;
typedef struct { void *opaque[2]; } omp_nest_lock_t;
typedef enum omp_sched_t {
  omp_sched_static = 1, omp_sched_dynamic, omp_sched_guided, omp_sched_auto
} omp_sched_t;
void omp_set_num_threads(int);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
int omp_get_thread_num(void);
int omp_get_num_procs(void);
int omp_in_parallel(void);
void omp_set_dynamic(int);
int omp_get_dynamic(void);
void omp_set_nested(int);
int omp_get_nested(void);
void omp_set_schedule(omp_sched_t, int);
void omp_get_schedule(omp_sched_t *, int *);
int omp_get_thread_limit(void);
void omp_set_max_active_levels(int);
int omp_get_max_active_levels(void);
int omp_get_level(void);
int omp_get_num_devices(void);
int omp_get_default_device(void);
void omp_set_default_device(int);
int omp_get_initial_device(void);
double omp_get_wtime(void);
double omp_get_wtick(void);
void omp_init_lock(omp_lock_t *);
void omp_destroy_lock(omp_lock_t *);
void omp_set_lock(omp_lock_t *);
void omp_unset_lock(omp_lock_t *);
int omp_test_lock(omp_lock_t *);
void omp_init_nest_lock(omp_nest_lock_t *);
void omp_destroy_nest_lock(omp_nest_lock_t *);
void omp_set_nest_lock(omp_nest_lock_t *);
void omp_unset_nest_lock(omp_nest_lock_t *);
int omp_test_nest_lock(omp_nest_lock_t *);
#ifdef __cplusplus
}
#endif
)";

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_COMPAT_H
