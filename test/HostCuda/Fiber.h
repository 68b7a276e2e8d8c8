// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fibers: stacks that one thread of the operating system switches between.
// swapcontext would do, but calls the kernel twice a switch.

#ifndef D2K_TEST_HOSTCUDA_FIBER_H
#define D2K_TEST_HOSTCUDA_FIBER_H

#include <cstddef>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace d2k::host {

/// Where a fiber goes on.
class Fiber {
public:
  /// The next switch to this fiber calls \p enter, which must not return.
  void start(char *stack, size_t bytes, void (*enter)(void *), void *argument);

private:
  friend void switchFiber(Fiber &from, Fiber &to);
#ifdef __x86_64__
  void *stackPointer = nullptr;
#else
  ucontext_t context;
#endif
};

/// Leaves \p from, which is the running one, and goes on in \p to.
void switchFiber(Fiber &from, Fiber &to);

/// Stacks, each with a page below it that faults. They are kept for the next
/// one who needs some.
class FiberStacks {
public:
  FiberStacks() = default;
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;
  ~FiberStacks();

  void reserve(size_t count);
  char *get(size_t index) const;
  static size_t getBytes();

private:
  char *memory = nullptr;
  size_t count = 0;
};

} // namespace d2k::host

#endif // D2K_TEST_HOSTCUDA_FIBER_H
