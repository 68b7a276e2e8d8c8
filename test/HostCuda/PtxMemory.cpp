// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores, atomic operations, asynchronous copies and barriers of inline
// PTX (PTX ISA 9.0, "Data Movement and Conversion Instructions", "Parallel
// Synchronization and Communication Instructions").

#include "PtxProgram.h"

#include "include/Execution.h"

#include <bit>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using namespace d2k::host;
using namespace d2k::host::ptx;

namespace {

bool isSharedSpace(const Instruction &instruction) {
  for (const std::string &part : instruction.parts)
    if (part.compare(0, 6, "shared") == 0)
      return true;
  return false;
}

/// The place of \p bytes at an address; checks that it is aligned.
char *getPointer(Frame &frame, const Instruction &instruction,
                 const Argument &argument, size_t bytes, bool isShared) {
  uint64_t address = frame.getAddress(argument);
  if (bytes != 0 && address % bytes != 0)
    failLaunch("%s: the address 0x%llx is no multiple of %zu",
               instruction.text.c_str(),
               static_cast<unsigned long long>(address), bytes);
  if (isShared)
    return static_cast<char *>(getSharedPointer(uint32_t(address), bytes));
  return reinterpret_cast<char *>(address);
}

int getVectorLength(const Instruction &instruction) {
  return instruction.has("v8")   ? 8
         : instruction.has("v4") ? 4
         : instruction.has("v2") ? 2
                                 : 1;
}

/// Whoever polls with such an access waits for others.
bool isOrdered(const Instruction &instruction) {
  return instruction.has("acquire") || instruction.has("relaxed") ||
         instruction.has("volatile") || instruction.has("mmio");
}

void load(Frame &frame, const Instruction &instruction) {
  if (isOrdered(instruction)) {
    yield();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
  const std::string &type = instruction.getType();
  unsigned bytes = getTypeBytes(type);
  const std::vector<Place> &to = instruction.arguments[0].places;
  char *from = getPointer(frame, instruction, instruction.arguments[1],
                          bytes * to.size(), isSharedSpace(instruction));
  for (size_t i = 0; i < to.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, from + i * bytes, bytes);
    if (type[0] == 's' && bytes < 8) // Registers of 32 bits get the sign.
      bits = uint64_t(int64_t(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    frame.set(to[i], bits);
  }
}

void store(Frame &frame, const Instruction &instruction) {
  if (instruction.has("release"))
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  unsigned bytes = getTypeBytes(instruction.getType());
  const std::vector<Place> &from = instruction.arguments[1].places;
  char *to = getPointer(frame, instruction, instruction.arguments[0],
                        bytes * from.size(), isSharedSpace(instruction));
  for (size_t i = 0; i < from.size(); ++i) {
    uint64_t bits = frame.get(from[i]);
    std::memcpy(to + i * bytes, &bits, bytes);
  }
}

template <typename T>
T addPairs(uint64_t a, uint64_t b) {
  auto x = unpackPair<T>(uint32_t(a)), y = unpackPair<T>(uint32_t(b));
  return {x.x + y.x, x.y + y.y};
}

uint64_t combine(const Instruction &instruction, uint64_t old, uint64_t value) {
  const std::string &type = instruction.getType();
  bool isSigned = type[0] == 's';
  unsigned shift = 64 - 8 * getTypeBytes(type);
  auto extend = [&](uint64_t bits) { return int64_t(bits << shift) >> shift; };
  if (instruction.has("add")) {
    if (type == "f32")
      return std::bit_cast<uint32_t>(std::bit_cast<float>(uint32_t(old)) +
                                     std::bit_cast<float>(uint32_t(value)));
    if (type == "f64")
      return std::bit_cast<uint64_t>(std::bit_cast<double>(old) +
                                     std::bit_cast<double>(value));
    if (type == "bf16x2")
      return packPair(addPairs<__nv_bfloat162>(old, value));
    if (type == "f16x2")
      return packPair(addPairs<__half2>(old, value));
    return old + value;
  }
  if (instruction.has("exch"))
    return value;
  if (instruction.has("and"))
    return old & value;
  if (instruction.has("or"))
    return old | value;
  if (instruction.has("xor"))
    return old ^ value;
  bool isLess = isSigned ? extend(value) < extend(old) : value < old;
  if (instruction.has("min"))
    return isLess ? value : old;
  if (instruction.has("max"))
    return isLess ? old : value;
  if (instruction.has("inc"))
    return old >= value ? 0 : old + 1;
  failLaunch("the host has no %s", instruction.text.c_str());
}

template <typename Bits>
uint64_t updateMemory(Frame &frame, const Instruction &instruction,
                      char *address, size_t first) {
  auto *place = reinterpret_cast<Bits *>(address);
  const Argument *values = &instruction.arguments[first];
  Bits old = __atomic_load_n(place, __ATOMIC_SEQ_CST), changed;
  do {
    if (instruction.has("cas"))
      changed =
          old == Bits(frame.get(values[0])) ? Bits(frame.get(values[1])) : old;
    else
      changed = Bits(combine(instruction, old, frame.get(values[0])));
  } while (!__atomic_compare_exchange_n(place, &old, changed, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return old;
}

/// atom and red; red has no result.
void updateAtomically(Frame &frame, const Instruction &instruction) {
  size_t first = instruction.parts[0] == "atom" ? 1 : 0;
  unsigned bytes = getTypeBytes(instruction.getType());
  char *address = getPointer(frame, instruction, instruction.arguments[first],
                             bytes, isSharedSpace(instruction));
  uint64_t old =
      bytes == 8
          ? updateMemory<uint64_t>(frame, instruction, address, first + 1)
          : updateMemory<uint32_t>(frame, instruction, address, first + 1);
  if (first == 1)
    frame.set(instruction.arguments[0], old);
  yield();
}

//===----------------------------------------------------------------------===//
// Asynchronous copies, barriers
//===----------------------------------------------------------------------===//

/// cp.async.{ca,cg}.shared.global [to], [from], bytes{, source bytes}
void copyAsync(Frame &frame, const Instruction &instruction) {
  const std::vector<Argument> &arguments = instruction.arguments;
  auto bytes = size_t(frame.get(arguments[2]));
  if (bytes != 4 && bytes != 8 && bytes != 16)
    failLaunch("%s of %zu bytes", instruction.text.c_str(), bytes);
  size_t read = bytes;
  if (arguments.size() > 3 && !instruction.has("L2::cache_hint"))
    read = std::min(bytes, size_t(frame.get(arguments[3])));
  char *to = getPointer(frame, instruction, arguments[0], bytes, true);
  char *from = getPointer(frame, instruction, arguments[1], bytes, false);
  startCopy(to, from, bytes, read);
}

void commitCopies(Frame &, const Instruction &) { commitCopyGroup(); }

void waitForCopies(Frame &frame, const Instruction &instruction) {
  finishCopies(instruction.has("wait_all")
                   ? -1
                   : int(frame.get(instruction.arguments[0])));
}

/// bar.sync, barrier.sync{.aligned}, bar.arrive: id{, threads}
void synchronise(Frame &frame, const Instruction &instruction) {
  const std::vector<Argument> &arguments = instruction.arguments;
  int id = int(frame.get(arguments[0]));
  unsigned threads =
      arguments.size() > 1 ? unsigned(frame.get(arguments[1])) : 0;
  if (instruction.has("arrive"))
    arriveAtBarrier(id, threads);
  else
    waitForBlock(0, false, id, threads);
}

void synchroniseWarp(Frame &frame, const Instruction &instruction) {
  exchange(unsigned(frame.get(instruction.arguments[0])), "bar.warp.sync",
           nullptr, 0);
}

void synchroniseCluster(Frame &, const Instruction &instruction) {
  // All arrive before any goes on: that the work between arrive and wait
  // overlaps makes no difference here.
  if (instruction.has("wait"))
    waitForGang();
}

void fence(Frame &, const Instruction &) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void doNothing(Frame &, const Instruction &) {}

void sleep(Frame &, const Instruction &) { yield(); }

void trap(Frame &, const Instruction &) { failLaunch("trap"); }

} // namespace

bool d2k::host::ptx::findMemory(Instruction &instruction) {
  const std::string &name = instruction.parts[0];
  size_t count = instruction.arguments.size();
  auto choose = [&](void (*execute)(Frame &, const Instruction &)) {
    instruction.execute = execute;
    return true;
  };
  if (name == "ld" && count >= 2)
    return getVectorLength(instruction) ==
               int(instruction.arguments[0].places.size()) &&
           choose(load);
  if (name == "st" && count >= 2)
    return getVectorLength(instruction) ==
               int(instruction.arguments[1].places.size()) &&
           choose(store);
  if (name == "atom" || name == "red")
    return instruction.arguments.back().places.size() == 1 &&
           !instruction.has("async") && choose(updateAtomically);
  if (name == "cp" && instruction.has("async") && !instruction.has("bulk")) {
    if (instruction.has("commit_group"))
      return choose(commitCopies);
    if (instruction.has("wait_group") || instruction.has("wait_all"))
      return choose(waitForCopies);
    return count >= 3 && choose(copyAsync);
  }
  if (name == "bar" || name == "barrier") {
    if (instruction.has("warp"))
      return choose(synchroniseWarp);
    if (instruction.has("cluster"))
      return choose(synchroniseCluster);
    return (instruction.has("sync") || instruction.has("arrive")) &&
           choose(synchronise);
  }
  if (name == "membar" || name == "fence")
    return choose(fence);
  if (name == "prefetch" || name == "griddepcontrol" || name == "applypriority")
    return choose(doNothing);
  if (name == "nanosleep")
    return choose(sleep);
  if (name == "trap")
    return choose(trap);
  return false;
}
