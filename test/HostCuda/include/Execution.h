// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How kernels run on the host. The threads of a block are fibers of one thread
// of the operating system: each runs until it waits for others, so that a run
// is repeatable. Blocks run one after the other, in the order of their number;
// the threads of every second block run in the reverse order, so that a missing
// barrier shows in one of the two. The blocks of a cluster, and all blocks of a
// cooperative launch, run together.
//
// Shared memory is filled with 0xff (NaN, -1) before a block starts. What a GPU
// leaves undefined is an error where it is cheap to see: threads that wait at
// different barriers or for ended ones, lanes that do not meet in a collective
// operation, writes past the end of a shared array, more shared memory than
// there is. It is printed, and the launch fails as it would on a GPU.

#ifndef D2K_TEST_HOSTCUDA_EXECUTION_H
#define D2K_TEST_HOSTCUDA_EXECUTION_H

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Of the running thread.
extern __thread uint3 threadIdx __attribute__((tls_model("initial-exec")));
extern __thread uint3 blockIdx __attribute__((tls_model("initial-exec")));
extern __thread dim3 blockDim __attribute__((tls_model("initial-exec")));
extern __thread dim3 gridDim __attribute__((tls_model("initial-exec")));
constexpr int warpSize = 32;

namespace d2k::host {

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

struct Configuration {
  dim3 grid, block;
  size_t sharedBytes = 0;
  cudaStream_t stream = nullptr;
  /// The most that a kernel of this library was allowed (cudaFuncSetAttribute).
  size_t allowedSharedBytes = 0;
  /// Blocks that run together: of a cluster, or all.
  dim3 cluster = {1, 1, 1};
  bool isCooperative = false;
};

/// Without cudaFuncSetAttribute a kernel gets no more dynamic shared memory
/// than this. A translation unit is a library, hence static.
static size_t allowedSharedBytes = 48 << 10;

static inline Configuration configure(dim3 grid, dim3 block,
                                      size_t sharedBytes = 0,
                                      cudaStream_t stream = nullptr) {
  return {grid, block, sharedBytes, stream, allowedSharedBytes};
}

/// Whether kernels are only checked (D2K_FAKE_CUDA=no-work), so that stand-ins
/// of libraries must not touch memory.
bool isWorkLeftOut();

/// Runs \p invoke with \p closure in each thread of a grid.
cudaError_t runGrid(const Configuration &configuration,
                    void (*invoke)(const void *closure), const void *closure);

/// `kernel<<<configuration>>>(arguments...)`; \p kernel is a lambda that calls
/// the kernel. Errors are left for cudaGetLastError.
template <typename Kernel, typename... Arguments>
cudaError_t launch(const Configuration &configuration, const Kernel &kernel,
                   Arguments... arguments) {
  auto call = [&] { kernel(arguments...); };
  return runGrid(
      configuration,
      [](const void *closure) {
        (*static_cast<const decltype(call) *>(closure))();
      },
      &call);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// The launch's dynamic shared memory of the running block.
void *getDynamicShared();
/// Storage of a declaration of the running block; \p key is the same for the
/// same declaration.
void *getStaticShared(const void *key, size_t bytes, size_t alignment);

template <typename T>
T &getShared() {
  static const char key = 0;
  return *static_cast<T *>(getStaticShared(&key, sizeof(T), alignof(T)));
}

/// Places in the address space of shared memory, 32 bits wide in PTX.
/// getSharedPointer ends the launch when \p bytes there are not all in the
/// block's shared memory.
uint32_t getSharedAddress(const void *pointer);
void *getSharedPointer(uint32_t address, size_t bytes);
bool isShared(const void *pointer);

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Waits for the block at barrier \p id; \p line is where in the source, or 0
/// when it does not matter. \p threads is how many threads take part, 0 for
/// all. Returns how many of them had \p predicate.
int waitForBlock(int line, bool predicate = false, int id = 0,
                 unsigned threads = 0);
/// As waitForBlock, but goes on at once (bar.arrive).
void arriveAtBarrier(int id, unsigned threads);
/// Waits for all blocks of the cluster, or of a cooperative launch.
void waitForGang();
/// Lets others run: in loops that wait for them.
void yield();
/// Prints what is wrong, and ends the launch with an error.
[[noreturn]] void failLaunch(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/// The block of the cluster with number \p rank has its shared memory there.
void *mapShared(const void *pointer, unsigned rank);
unsigned getClusterRank();
unsigned getClusterSize();

//===----------------------------------------------------------------------===//
// Asynchronous copies into shared memory (cp.async)
//===----------------------------------------------------------------------===//

/// Copies \p read bytes, and zeros up to \p bytes, as late as is allowed: when
/// the thread waits for it. Until then there is NaN.
void startCopy(void *to, const void *from, size_t bytes, size_t read);
void commitCopyGroup();
/// Waits for all but the last \p groups; for all of them, and for copies in no
/// group, when it is negative.
void finishCopies(int groups);

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// The values that the lanes of a collective operation bring, 32 of \p bytes
/// each; valid until this thread's next one.
struct Exchange {
  const char *values;
  /// Lanes that brought a value.
  unsigned lanes;
};

/// Waits until all lanes of \p mask are in the same operation, \p name.
/// \p bytes is at most 64.
Exchange exchange(unsigned mask, const char *name, const void *value,
                  size_t bytes);
unsigned getLane();
/// Number of the thread in its block.
unsigned getThreadRank();

/// The number at the end of this library's file name: which fault a faulty
/// kernel has that was compiled once for all of them.
int getFaultOfLibrary(const void *anythingInIt);

} // namespace d2k::host

#endif // D2K_TEST_HOSTCUDA_EXECUTION_H
