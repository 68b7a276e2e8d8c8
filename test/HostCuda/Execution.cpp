// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "include/Execution.h"

#include "Fiber.h"

#include "../FakeCuda/FakeState.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <dlfcn.h>

using namespace d2k::host;

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;

namespace {

/// Shared memory that a block of an H200 or B200 can have, and how much of it
/// can be declared in kernels.
constexpr size_t kSharedBytes = 227 << 10, kStaticBytes = 48 << 10;
/// Between shared arrays, to see writes past their end.
constexpr size_t kGuardBytes = 64;
constexpr unsigned char kPoison = 0xff, kGuard = 0xd2;
/// Where shared memory begins in its address space: null is no valid address.
constexpr uint32_t kSharedBase = 1024;

struct Block;
struct Thread;

/// Threads that wait for the same.
struct Barrier {
  std::vector<Thread *> waiting;
  unsigned arrived = 0;
  int line = 0, count = 0, lastCount = 0;
};

/// Lanes that meet in a collective operation; one for each mask in use.
struct Meeting {
  const char *name = nullptr;
  unsigned arrived = 0;
  /// Which half of `values` the next operation uses: lanes that are late still
  /// read the other.
  unsigned turn = 0;
  size_t bytes = 0;
  std::vector<Thread *> waiting;
  alignas(16) char values[2][32 * 64];
};

struct Warp {
  unsigned lanes = 0, ended = 0;
  std::map<unsigned, std::unique_ptr<Meeting>> meetings;
  /// The last one, which is mostly the next one too.
  unsigned lastMask = 0;
  Meeting *lastMeeting = nullptr;
};

struct Copy {
  void *to;
  const void *from;
  size_t bytes, read;
  int group;
};

struct Thread {
  uint3 threadIdx, blockIdx;
  Fiber fiber;
  Block *block = nullptr;
  Warp *warp = nullptr;
  unsigned rank = 0;
  bool isDone = false;
  /// What it waits for, for messages.
  const char *waitsIn = nullptr;
  /// Asynchronous copies that are not done, and the number of the next group.
  std::vector<Copy> copies;
  int copyGroup = 0;
};

struct SharedVariable {
  const void *key;
  size_t offset, bytes;
};

struct Block {
  unsigned liveThreads = 0;
  unsigned rankInGang = 0;
  std::map<int, Barrier> barriers;
  std::vector<Warp> warps;
  std::vector<Thread> threads;
  std::vector<SharedVariable> variables;
  char *shared = nullptr;
  size_t sharedUsed = 0, dynamicBytes = 0;
};

/// Runs a grid, a gang of blocks at a time.
class Executor {
public:
  Executor(const Configuration &configuration, void (*invoke)(const void *),
           const void *closure)
      : configuration(configuration), invoke(invoke), closure(closure) {}

  bool run();

  /// Called by fibers.
  void wait(std::vector<Thread *> &list, const char *where);
  void wake(std::vector<Thread *> &list);
  void yield();
  [[noreturn]] void fail(const char *message);

  Thread *thread = nullptr;
  Barrier gangBarrier;
  unsigned gangThreads = 0;
  std::vector<Block> blocks;

private:
  bool runGang(const std::vector<uint3> &indices, bool isReversed);
  void startBlock(Block &block, uint3 index);
  bool checkGuards(const Block &block);
  void finishThread(Thread &thread);
  static void enter(void *executor);
  std::string describe(const Thread &thread) const;

  const Configuration &configuration;
  void (*invoke)(const void *);
  const void *closure;
  Fiber scheduler;
  FiberStacks stacks;
  std::deque<Thread *> ready;
  std::vector<std::unique_ptr<char[]>> arenas;
  bool hasFailed = false;
};

/// Of the launch that runs in this thread of the operating system.
__thread Executor *executor = nullptr;

unsigned getCount(dim3 size) { return size.x * size.y * size.z; }

uint3 getIndex(unsigned number, dim3 size) {
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

} // namespace

//===----------------------------------------------------------------------===//
// Executor
//===----------------------------------------------------------------------===//

std::string Executor::describe(const Thread &thread) const {
  char text[160];
  std::snprintf(text, sizeof(text), "thread (%u,%u,%u) of block (%u,%u,%u)",
                thread.threadIdx.x, thread.threadIdx.y, thread.threadIdx.z,
                thread.blockIdx.x, thread.blockIdx.y, thread.blockIdx.z);
  return text;
}

void Executor::fail(const char *message) {
  std::fprintf(stderr, "error: %s: %s\n", describe(*thread).c_str(), message);
  hasFailed = true;
  Fiber unused;
  switchFiber(unused, scheduler);
  std::abort(); // The scheduler resumes nobody after a failure.
}

void Executor::wait(std::vector<Thread *> &list, const char *where) {
  list.push_back(thread);
  thread->waitsIn = where;
  switchFiber(thread->fiber, scheduler);
}

void Executor::wake(std::vector<Thread *> &list) {
  ready.insert(ready.end(), list.begin(), list.end());
  list.clear();
}

void Executor::yield() {
  ready.push_back(thread);
  switchFiber(thread->fiber, scheduler);
}

void Executor::enter(void *argument) {
  auto *self = static_cast<Executor *>(argument);
  self->invoke(self->closure);
  self->thread->isDone = true;
  Fiber unused;
  switchFiber(unused, self->scheduler);
}

void Executor::startBlock(Block &block, uint3 index) {
  unsigned threads = getCount(configuration.block);
  if (block.threads.size() != threads) {
    block.threads = std::vector<Thread>(threads);
    block.warps.resize((threads + 31) / 32);
  }
  block.liveThreads = threads;
  block.barriers.clear();
  block.variables.clear();
  for (size_t i = 0; i < block.warps.size(); ++i) {
    Warp &warp = block.warps[i];
    unsigned lanes = threads - unsigned(i) * 32;
    warp.lanes = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    warp.ended = 0;
    for (auto &[mask, meeting] : warp.meetings) {
      meeting->arrived = 0;
      meeting->waiting.clear();
    }
  }
  block.dynamicBytes = configuration.sharedBytes;
  block.sharedUsed = block.dynamicBytes + kGuardBytes;
  std::memset(block.shared, kPoison, block.dynamicBytes);
  std::memset(block.shared + block.dynamicBytes, kGuard, kGuardBytes);
  for (unsigned i = 0; i < threads; ++i) {
    Thread &thread = block.threads[i];
    thread.threadIdx = getIndex(i, configuration.block);
    thread.blockIdx = index;
    thread.block = &block;
    thread.warp = &block.warps[i / 32];
    thread.rank = i;
    thread.isDone = false;
    thread.waitsIn = nullptr;
    thread.copies.clear();
    thread.copyGroup = 0;
    size_t stack = size_t(block.rankInGang) * threads + i;
    // Not all at the same place of their pages, which would be the same few
    // lines of the CPU's cache.
    size_t stagger = stack % 61 * 64;
    thread.fiber.start(stacks.get(stack), stacks.getBytes() - stagger, enter,
                       this);
  }
}

bool Executor::checkGuards(const Block &block) {
  auto isIntact = [&](size_t offset) {
    for (size_t i = 0; i < kGuardBytes; ++i)
      if (static_cast<unsigned char>(block.shared[offset + i]) != kGuard)
        return false;
    return true;
  };
  bool intact = isIntact(block.dynamicBytes);
  for (const SharedVariable &variable : block.variables)
    intact &= isIntact(variable.offset + variable.bytes);
  if (!intact)
    std::fprintf(stderr,
                 "error: block (%u,%u,%u) has written past the end of a shared "
                 "array\n",
                 block.threads[0].blockIdx.x, block.threads[0].blockIdx.y,
                 block.threads[0].blockIdx.z);
  return intact;
}

void Executor::finishThread(Thread &ended) {
  Block &block = *ended.block;
  ended.warp->ended |= 1u << ended.rank % 32;
  --block.liveThreads;
  --gangThreads;
  // Barriers wait for the threads that have not ended.
  Barrier &barrier = block.barriers[0];
  if (barrier.arrived != 0 && barrier.arrived == block.liveThreads) {
    barrier.arrived = 0;
    barrier.lastCount = barrier.count;
    barrier.count = 0;
    wake(barrier.waiting);
  }
  if (gangBarrier.arrived != 0 && gangBarrier.arrived == gangThreads) {
    gangBarrier.arrived = 0;
    wake(gangBarrier.waiting);
  }
}

bool Executor::runGang(const std::vector<uint3> &indices, bool isReversed) {
  ready.clear();
  gangBarrier = {};
  gangThreads = unsigned(indices.size()) * getCount(configuration.block);
  for (size_t i = 0; i < indices.size(); ++i) {
    startBlock(blocks[i], indices[i]);
    for (Thread &starting : blocks[i].threads) {
      if (isReversed)
        ready.push_front(&starting);
      else
        ready.push_back(&starting);
    }
  }
  while (!ready.empty()) {
    thread = ready.front();
    ready.pop_front();
    threadIdx = thread->threadIdx;
    blockIdx = thread->blockIdx;
    switchFiber(scheduler, thread->fiber);
    if (hasFailed)
      return false;
    if (thread->isDone)
      finishThread(*thread);
  }
  if (gangThreads != 0) {
    for (const Block &block : blocks)
      for (const Thread &waiting : block.threads)
        if (!waiting.isDone) {
          std::fprintf(stderr,
                       "error: %s waits in %s for threads that never come\n",
                       describe(waiting).c_str(), waiting.waitsIn);
          return false;
        }
  }
  for (size_t i = 0; i < indices.size(); ++i)
    if (!checkGuards(blocks[i]))
      return false;
  return true;
}

bool Executor::run() {
  blockDim = configuration.block;
  gridDim = configuration.grid;
  dim3 grid = configuration.grid, cluster = configuration.cluster;
  if (configuration.isCooperative)
    cluster = grid;
  unsigned gang = getCount(cluster), threads = getCount(configuration.block);
  blocks.resize(gang);
  for (unsigned i = 0; i < gang; ++i) {
    blocks[i].rankInGang = i;
    arenas.push_back(std::make_unique_for_overwrite<char[]>(2 * kSharedBytes +
                                                            64 * kGuardBytes));
    auto start = reinterpret_cast<uintptr_t>(arenas.back().get());
    blocks[i].shared = reinterpret_cast<char *>((start + 1023) / 1024 * 1024);
  }
  stacks.reserve(size_t(gang) * threads);
  dim3 gangs(grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z);
  std::vector<uint3> indices(gang);
  for (unsigned number = 0; number < getCount(gangs); ++number) {
    uint3 first = getIndex(number, gangs);
    for (unsigned i = 0; i < gang; ++i) {
      uint3 inGang = getIndex(i, cluster);
      indices[i] = {first.x * cluster.x + inGang.x,
                    first.y * cluster.y + inGang.y,
                    first.z * cluster.z + inGang.z};
    }
    if (!runGang(indices, number % 2 != 0))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// A fault stays, as on a GPU.
static cudaError_t setError(CUresult error) {
  d2k::fake::getState().sticky = error;
  return static_cast<cudaError_t>(error);
}

static const char *findLaunchError(const Configuration &configuration) {
  dim3 grid = configuration.grid, block = configuration.block;
  dim3 cluster = configuration.cluster;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 ||
      grid.z > 65535 || grid.x > 0x7fffffff)
    return "a grid has 1 to 2^31-1 x 65535 x 65535 blocks";
  if (getCount(block) == 0 || block.x > 1024 || block.y > 1024 ||
      block.z > 64 || uint64_t(block.x) * block.y * block.z > 1024)
    return "a block has 1 to 1024 threads";
  if (configuration.sharedBytes > kSharedBytes)
    return "a block has at most 227 KiB of shared memory";
  if (configuration.sharedBytes > configuration.allowedSharedBytes)
    return "cudaFuncSetAttribute has not allowed so much dynamic shared memory";
  if (getCount(cluster) == 0 || grid.x % cluster.x || grid.y % cluster.y ||
      grid.z % cluster.z)
    return "a grid is a multiple of its clusters";
  return nullptr;
}

cudaError_t d2k::host::runGrid(const Configuration &configuration,
                               void (*invoke)(const void *),
                               const void *closure) {
  if (const char *error = findLaunchError(configuration)) {
    std::fprintf(stderr, "error: invalid launch: %s\n", error);
    return setError(CUDA_ERROR_INVALID_VALUE);
  }
  if (executor) {
    std::fprintf(stderr, "error: a kernel launches a kernel\n");
    return setError(CUDA_ERROR_NOT_SUPPORTED);
  }
  // Through the runtime, which tells those who trace activities.
  struct Work {
    const Configuration &configuration;
    void (*invoke)(const void *);
    const void *closure;
    bool hasPassed;
  } work = {configuration, invoke, closure, true};
  void (*run)(void **) = [](void **parameters) {
    auto *work = static_cast<Work *>(parameters[0]);
    auto running = std::make_unique<Executor>(work->configuration, work->invoke,
                                              work->closure);
    executor = running.get();
    work->hasPassed = running->run();
    executor = nullptr;
  };
  void *parameters[] = {&work};
  cudaError_t error =
      cudaLaunchKernel(reinterpret_cast<const void *>(run), configuration.grid,
                       configuration.block, parameters,
                       configuration.sharedBytes, configuration.stream);
  if (error == cudaSuccess && !work.hasPassed)
    error = setError(CUDA_ERROR_LAUNCH_FAILED);
  return error;
}

void d2k::host::failLaunch(const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  executor->fail(text);
}

/// What GCC calls for an index outside of its array (-fsanitize=bounds); in the
/// place of libubsan's, because a launch can fail. The data begin with the
/// place in the source.
extern "C" void __ubsan_handle_out_of_bounds_abort(const void *data,
                                                   uintptr_t index) {
  struct Place {
    const char *file;
    uint32_t line, column;
  } place;
  std::memcpy(&place, data, sizeof(place));
  if (executor)
    failLaunch("%s:%u: the index %lld is outside of its array", place.file,
               place.line, static_cast<long long>(index));
  std::fprintf(stderr, "error: %s:%u: the index %lld is outside of its array\n",
               place.file, place.line, static_cast<long long>(index));
  std::abort();
}

bool d2k::host::isWorkLeftOut() { return d2k::fake::hasOption("no-work"); }

int d2k::host::getFaultOfLibrary(const void *anythingInIt) {
  Dl_info info = {};
  if (!::dladdr(anythingInIt, &info) || !info.dli_fname)
    return -1;
  const char *end = std::strrchr(info.dli_fname, '.');
  if (!end)
    return -1;
  const char *start = end;
  while (start > info.dli_fname && start[-1] >= '0' && start[-1] <= '9')
    --start;
  return start == end ? -1 : std::atoi(start);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void *d2k::host::getDynamicShared() { return executor->thread->block->shared; }

void *d2k::host::getStaticShared(const void *key, size_t bytes,
                                 size_t alignment) {
  Block &block = *executor->thread->block;
  for (const SharedVariable &variable : block.variables)
    if (variable.key == key)
      return block.shared + variable.offset;
  size_t offset = (block.sharedUsed + alignment - 1) / alignment * alignment;
  size_t total = bytes;
  for (const SharedVariable &variable : block.variables)
    total += variable.bytes;
  if (total > kStaticBytes || total + block.dynamicBytes > kSharedBytes)
    failLaunch("%zu bytes of shared memory are declared and %zu given by the "
               "launch; there are at most %zu declared and %zu in all",
               total, block.dynamicBytes, kStaticBytes, kSharedBytes);
  block.variables.push_back({key, offset, bytes});
  block.sharedUsed = offset + bytes + kGuardBytes;
  std::memset(block.shared + offset, kPoison, bytes);
  std::memset(block.shared + offset + bytes, kGuard, kGuardBytes);
  return block.shared + offset;
}

bool d2k::host::isShared(const void *pointer) {
  const Block &block = *executor->thread->block;
  auto *at = static_cast<const char *>(pointer);
  return at >= block.shared && at < block.shared + block.sharedUsed;
}

uint32_t d2k::host::getSharedAddress(const void *pointer) {
  auto offset =
      static_cast<const char *>(pointer) - executor->thread->block->shared;
  return uint32_t(offset) + kSharedBase;
}

void *d2k::host::getSharedPointer(uint32_t address, size_t bytes) {
  const Block &block = *executor->thread->block;
  uint32_t offset = address - kSharedBase;
  if (offset > block.sharedUsed || bytes > block.sharedUsed - offset)
    failLaunch("address 0x%x is outside of shared memory, which has %zu bytes",
               offset, block.sharedUsed);
  return block.shared + offset;
}

void *d2k::host::mapShared(const void *pointer, unsigned rank) {
  auto offset =
      static_cast<const char *>(pointer) - executor->thread->block->shared;
  if (rank >= executor->blocks.size())
    failLaunch("the cluster has no block %u", rank);
  return executor->blocks[rank].shared + offset;
}

unsigned d2k::host::getClusterRank() {
  return executor->thread->block->rankInGang;
}

unsigned d2k::host::getClusterSize() {
  return unsigned(executor->blocks.size());
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

int d2k::host::waitForBlock(int line, bool predicate, int id,
                            unsigned threads) {
  Block &block = *executor->thread->block;
  Barrier &barrier = block.barriers[id];
  if (barrier.arrived == 0)
    barrier.line = line;
  else if (barrier.line != line && barrier.line != 0 && line != 0)
    failLaunch("waits in line %d at a barrier at which others wait in line %d",
               line, barrier.line);
  barrier.count += predicate;
  if (++barrier.arrived == (threads ? threads : block.liveThreads)) {
    barrier.arrived = 0;
    barrier.lastCount = barrier.count;
    barrier.count = 0;
    executor->wake(barrier.waiting);
    return barrier.lastCount;
  }
  executor->wait(barrier.waiting, "a barrier of its block");
  // A next barrier cannot complete before this thread is there.
  return barrier.lastCount;
}

void d2k::host::arriveAtBarrier(int id, unsigned threads) {
  Barrier &barrier = executor->thread->block->barriers[id];
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    executor->wake(barrier.waiting);
  }
}

void d2k::host::waitForGang() {
  Barrier &barrier = executor->gangBarrier;
  if (++barrier.arrived == executor->gangThreads) {
    barrier.arrived = 0;
    executor->wake(barrier.waiting);
  } else {
    executor->wait(barrier.waiting, "a barrier of its cluster or grid");
  }
}

void d2k::host::yield() { executor->yield(); }

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

void d2k::host::startCopy(void *to, const void *from, size_t bytes,
                          size_t read) {
  Thread &thread = *executor->thread;
  std::memset(to, kPoison, bytes);
  thread.copies.push_back({to, from, bytes, read, thread.copyGroup});
}

void d2k::host::commitCopyGroup() { ++executor->thread->copyGroup; }

void d2k::host::finishCopies(int groups) {
  Thread &thread = *executor->thread;
  // Groups are numbered in their order, and so are the copies.
  size_t done = 0;
  while (done < thread.copies.size() &&
         (groups < 0 || thread.copies[done].group < thread.copyGroup - groups))
    ++done;
  for (size_t i = 0; i < done; ++i) {
    const Copy &copy = thread.copies[i];
    std::memcpy(copy.to, copy.from, copy.read);
    std::memset(static_cast<char *>(copy.to) + copy.read, 0,
                copy.bytes - copy.read);
  }
  thread.copies.erase(thread.copies.begin(),
                      thread.copies.begin() + ptrdiff_t(done));
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

unsigned d2k::host::getThreadRank() { return executor->thread->rank; }

unsigned d2k::host::getLane() { return executor->thread->rank % 32; }

Exchange d2k::host::exchange(unsigned mask, const char *name, const void *value,
                             size_t bytes) {
  Warp &warp = *executor->thread->warp;
  unsigned lane = getLane();
  if (!(mask >> lane & 1))
    failLaunch("%s with the mask 0x%08x, in which its own lane %u is not", name,
               mask, lane);
  // The last warp of a block may be short; a GPU ignores lanes it never had.
  mask &= warp.lanes;
  if (mask & warp.ended)
    failLaunch("%s with the mask 0x%08x, of which the lanes 0x%08x have ended",
               name, mask, mask & warp.ended);
  if (mask != warp.lastMask) {
    std::unique_ptr<Meeting> &entry = warp.meetings[mask];
    if (!entry)
      entry = std::make_unique<Meeting>();
    warp.lastMask = mask;
    warp.lastMeeting = entry.get();
  }
  Meeting &meeting = *warp.lastMeeting;
  if (meeting.arrived == 0) {
    meeting.name = name;
    meeting.bytes = bytes;
  } else if ((meeting.name != name && std::strcmp(meeting.name, name) != 0) ||
             meeting.bytes != bytes) {
    failLaunch("is in %s while other lanes of its mask 0x%08x are in %s", name,
               mask, meeting.name);
  }
  char *values = meeting.values[meeting.turn % 2];
  std::memcpy(values + lane * bytes, value, bytes);
  meeting.arrived |= 1u << lane;
  if (meeting.arrived == mask) {
    meeting.arrived = 0;
    ++meeting.turn;
    executor->wake(meeting.waiting);
  } else {
    executor->wait(meeting.waiting, name);
  }
  return {values, mask};
}
