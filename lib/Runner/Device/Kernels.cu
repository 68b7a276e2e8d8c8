// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trusted kernels on the device. Any grid does the whole work: items are
// dealt out in strides of the grid. Compiled without contraction into fused
// operations (-fmad=false), so that draws have the same bits as on the host.

#include "Jobs.h"

using namespace d2k;
using namespace d2k::runner;

/// The first item of this thread, and the distance to its next.
static __device__ int64_t getFirstItem() {
  return int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
static __device__ int64_t getStride() {
  return int64_t(gridDim.x) * blockDim.x;
}

extern "C" __global__ void d2k_fill(FillJob job) {
  int64_t perItem = getElementsPerItem(job.spec.type);
  int64_t items = (job.count + perItem - 1) / perItem;
  for (int64_t i = getFirstItem(); i < items; i += getStride())
    fillItem(job, i);
}

extern "C" __global__ void d2k_perturb(PerturbJob job) {
  unsigned long long own = 0;
  for (int64_t i = getFirstItem(); i < getLines(job); i += getStride())
    own += perturbItem(job, i);
  if (own != 0)
    atomicAdd(job.hash.sum, own);
}

extern "C" __global__ void d2k_setPattern(PatternJob job) {
  int64_t words = job.bytes / 4;
  auto *data = static_cast<uint32_t *>(job.data);
  for (int64_t i = getFirstItem(); i < words; i += getStride())
    data[i] = job.pattern;
  for (int64_t i = words * 4 + getFirstItem(); i < job.bytes; i += getStride())
    static_cast<uint8_t *>(job.data)[i] = getPatternByte(job, i);
}

extern "C" __global__ void d2k_countDifferent(PatternJob job) {
  unsigned long long own = 0;
  auto *data = static_cast<const uint8_t *>(job.data);
  for (int64_t i = getFirstItem(); i < job.bytes; i += getStride())
    own += data[i] != getPatternByte(job, i);
  if (own != 0)
    atomicAdd(job.count, own);
}

extern "C" __global__ void d2k_hash(HashJob job) {
  unsigned long long own = 0;
  for (int64_t i = getFirstItem(); i * 8 < job.bytes; i += getStride())
    own += hashItem(job, i);
  for (int step = 16; step; step /= 2)
    own += __shfl_xor_sync(0xffffffffu, own, step);
  if (threadIdx.x % 32 == 0)
    atomicAdd(job.sum, own);
}

extern "C" __global__ void d2k_readFlush(FlushJob job) {
  uint32_t own = 0;
  auto *data = static_cast<const uint4 *>(job.data);
  for (int64_t i = getFirstItem(); i < job.bytes / 16; i += getStride()) {
    uint4 words = data[i];
    own ^= words.x ^ words.y ^ words.z ^ words.w;
  }
  if (own == 0x9e3779b9u)
    *job.sink = own;
}

static __device__ uint64_t readGlobalTimer() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

extern "C" __global__ void d2k_spin(SpinJob job) {
  uint64_t start = readGlobalTimer();
  while (readGlobalTimer() - start < job.nanoseconds) {
  }
}

extern "C" __global__ void d2k_readClocks(ClockJob job) {
  // The timer's value moves in steps: wait for one, then read both.
  uint64_t before = readGlobalTimer(), now = before;
  while (now == before)
    now = readGlobalTimer();
  job.words[1] = static_cast<unsigned long long>(clock64());
  job.words[0] = now;
}

extern "C" __global__ void d2k_barrier(BarrierJob job) {
  __threadfence_system();
  atomicAdd_system(job.signal, 1u);
  auto *signal = static_cast<volatile unsigned *>(job.signal);
  // Differences, because the count may wrap around.
  while (int(*signal - job.ranks * job.epoch) < 0) {
  }
  __threadfence_system();
}

constexpr int kReduceThreads = 256;

extern "C" __global__ void d2k_sum(SumJob job) {
  double own = 0;
  for (int64_t i = getFirstItem(); i < job.count; i += getStride())
    own += job.data[i];
  for (int step = 16; step; step /= 2)
    own += __shfl_xor_sync(0xffffffffu, own, step);
  if (threadIdx.x % 32 == 0)
    atomicAdd(job.sum, own);
}

/// Raises *to to \p value; doubles that are not negative order as their bits.
static __device__ void raise(double *to, double value) {
  atomicMax(reinterpret_cast<unsigned long long *>(to),
            static_cast<unsigned long long>(__double_as_longlong(value)));
}

extern "C" __global__ void __launch_bounds__(kReduceThreads)
    d2k_compare(CompareAllJob job) {
  CompareResult own = makeEmptyResult();
  int64_t items = getItems(job.compare);
  for (int64_t i = getFirstItem(); i < items; i += getStride()) {
    int64_t index = getElement(job.compare, i);
    if (index >= 0)
      addReport(own, judgeElement(job.compare, index), index);
  }
  __shared__ CompareResult partial[kReduceThreads];
  partial[threadIdx.x] = own;
  __syncthreads();
  for (int half = int(blockDim.x) / 2; half > 0; half /= 2) {
    if (int(threadIdx.x) < half)
      mergeResult(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x != 0)
    return;
  const CompareResult &block = partial[0];
  atomicAdd(&job.result->compared, block.compared);
  atomicAdd(&job.result->failed, block.failed);
  atomicAdd(&job.result->nonFinite, block.nonFinite);
  atomicAdd(&job.result->different, block.different);
  atomicMin(&job.result->firstFailed, block.firstFailed);
  raise(&job.result->maxRatio, block.maxRatio);
  raise(&job.result->maxError, block.maxError);
  raise(&job.result->maxErrorWorking, block.maxErrorWorking);
  atomicAdd(&job.result->squares, block.squares);
  atomicAdd(&job.result->squaresWorking, block.squaresWorking);
}

extern "C" __global__ void d2k_explain(ExplainJob job) {
  *job.report = judgeElement(job.compare, job.index);
}
