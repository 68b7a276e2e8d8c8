// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <sys/mman.h>

using namespace d2k::host;

#ifdef __x86_64__

// The registers that a function must preserve (System V ABI); the others are
// dead across the call.
asm(R"(
    .text
    .type d2kHostSwitchStack, @function
d2kHostSwitchStack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size d2kHostSwitchStack, . - d2kHostSwitchStack
    .type d2kHostEnterFiber, @function
d2kHostEnterFiber:
    movq %r13, %rdi
    callq *%r12
    ud2
    .size d2kHostEnterFiber, . - d2kHostEnterFiber
)");
extern "C" void d2kHostSwitchStack(void **from, void *to);
extern "C" void d2kHostEnterFiber();

void Fiber::start(char *stack, size_t bytes, void (*enter)(void *),
                  void *argument) {
  // As d2kHostSwitchStack leaves it: r15, r14, r13, r12, rbx, rbp, return
  // address; and two words, so that the stack is aligned to 16 before the call.
  auto *top = reinterpret_cast<void **>(stack + bytes) - 9;
  top[0] = top[1] = nullptr;
  top[2] = argument;
  top[3] = reinterpret_cast<void *>(enter);
  top[4] = top[5] = nullptr;
  top[6] = reinterpret_cast<void *>(d2kHostEnterFiber);
  top[7] = top[8] = nullptr;
  stackPointer = top;
}

void d2k::host::switchFiber(Fiber &from, Fiber &to) {
  d2kHostSwitchStack(&from.stackPointer, to.stackPointer);
}

#else

static void enterFiber(unsigned enterHigh, unsigned enterLow,
                       unsigned argumentHigh, unsigned argumentLow) {
  auto join = [](unsigned high, unsigned low) {
    return reinterpret_cast<void *>(uintptr_t(uint64_t(high) << 32 | low));
  };
  reinterpret_cast<void (*)(void *)>(join(enterHigh, enterLow))(
      join(argumentHigh, argumentLow));
}

void Fiber::start(char *stack, size_t bytes, void (*enter)(void *),
                  void *argument) {
  ::getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
  context.uc_link = nullptr;
  auto code = uint64_t(reinterpret_cast<uintptr_t>(enter));
  auto data = uint64_t(reinterpret_cast<uintptr_t>(argument));
  ::makecontext(&context, reinterpret_cast<void (*)()>(enterFiber), 4,
                unsigned(code >> 32), unsigned(code), unsigned(data >> 32),
                unsigned(data));
}

void d2k::host::switchFiber(Fiber &from, Fiber &to) {
  ::swapcontext(&from.context, &to.context);
}

#endif

//===----------------------------------------------------------------------===//
// FiberStacks
//===----------------------------------------------------------------------===//

namespace {

constexpr size_t kStackBytes = 128 << 10, kGuardBytes = 4 << 10;

struct Memory {
  char *start;
  size_t count;
};

std::mutex freeMutex;
std::vector<Memory> freeMemory;

} // namespace

size_t FiberStacks::getBytes() { return kStackBytes; }

char *FiberStacks::get(size_t index) const {
  return memory + index * (kStackBytes + kGuardBytes) + kGuardBytes;
}

void FiberStacks::reserve(size_t wanted) {
  std::lock_guard<std::mutex> lock(freeMutex);
  for (Memory &candidate : freeMemory)
    if (candidate.count >= wanted) {
      memory = candidate.start;
      count = candidate.count;
      candidate = freeMemory.back();
      freeMemory.pop_back();
      return;
    }
  size_t bytes = wanted * (kStackBytes + kGuardBytes);
  void *mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    std::fprintf(stderr, "error: no memory for the stacks of %zu threads\n",
                 wanted);
    std::exit(4);
  }
  memory = static_cast<char *>(mapped);
  count = wanted;
  for (size_t i = 0; i < count; ++i)
    ::mprotect(get(i) - kGuardBytes, kGuardBytes, PROT_NONE);
}

FiberStacks::~FiberStacks() {
  if (!memory)
    return;
  std::lock_guard<std::mutex> lock(freeMutex);
  freeMemory.push_back({memory, count});
}
