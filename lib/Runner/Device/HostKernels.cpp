// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trusted kernels as loops. "Device memory" is memory of this process.

#include "HostKernels.h"

#include "Jobs.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace d2k;
using namespace d2k::runner;

static void fill(const FillJob &job) {
  int64_t perItem = getElementsPerItem(job.spec.type);
  for (int64_t i = 0; i * perItem < job.count; ++i)
    fillItem(job, i);
}

static void perturb(const PerturbJob &job) {
  for (int64_t i = 0; i < getLines(job); ++i)
    *job.hash.sum += perturbItem(job, i);
}

static void setPattern(const PatternJob &job) {
  for (int64_t i = 0; i < job.bytes; ++i)
    static_cast<uint8_t *>(job.data)[i] = getPatternByte(job, i);
}

static void countDifferent(const PatternJob &job) {
  for (int64_t i = 0; i < job.bytes; ++i)
    *job.count +=
        static_cast<const uint8_t *>(job.data)[i] != getPatternByte(job, i);
}

static void hash(const HashJob &job) {
  for (int64_t i = 0; i * 8 < job.bytes; ++i)
    *job.sum += hashItem(job, i);
}

static void readFlush(const FlushJob &job) {
  uint32_t own = 0;
  for (int64_t i = 0; i < job.bytes / 4; ++i)
    own ^= static_cast<const uint32_t *>(job.data)[i];
  if (own == 0x9e3779b9u)
    *job.sink = own;
}

static void spin(const SpinJob &job) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(job.nanoseconds));
}

static void readClocks(const ClockJob &job) {
  auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                 std::chrono::steady_clock::now().time_since_epoch())
                 .count();
  job.words[0] = static_cast<unsigned long long>(now);
  // As if the SM ran at 1 GHz.
  job.words[1] = static_cast<unsigned long long>(now);
}

static void barrier(const BarrierJob &job) {
  std::atomic_ref<unsigned> signal(*job.signal);
  ++signal;
  while (int(signal.load() - job.ranks * job.epoch) < 0)
    std::this_thread::yield();
}

static void sum(const SumJob &job) {
  for (int64_t i = 0; i < job.count; ++i)
    *job.sum += job.data[i];
}

static void compare(const CompareAllJob &job) {
  for (int64_t i = 0; i < getItems(job.compare); ++i) {
    int64_t index = getElement(job.compare, i);
    if (index >= 0)
      addReport(*job.result, judgeElement(job.compare, index), index);
  }
}

static void explain(const ExplainJob &job) {
  *job.report = judgeElement(job.compare, job.index);
}

HostKernel d2k::runner::findHostKernel(std::string_view name) {
#define D2K_KERNEL(kernel, Job)                                                \
  if (name == "d2k_" #kernel)                                                  \
    return [](const KernelGrid &, void **parameters) {                         \
      kernel(*static_cast<const Job *>(parameters[0]));                        \
    };
#include "Kernels.def"
  return nullptr;
}
