// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the limits that guidance/gemm_bf16.md argues with: how many bytes a
// clock L2 delivers to every SM at once, the latency of an L2 hit and of a
// miss, and how fast mma.sync runs with operands in registers.
//   nvcc -arch=sm_90a -O3 sm-limits.cu -o sm-limits && ./sm-limits

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t status) {
  if (status == cudaSuccess)
    return;
  std::fprintf(stderr, "error: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// Every thread reads its own 16-byte vectors of a buffer of `count` vectors,
/// `passes` times, past L1.
__global__ void readAll(const uint4 *buffer, size_t count, int passes,
                        unsigned *sink) {
  size_t threads = size_t(gridDim.x) * blockDim.x;
  size_t first = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned sum = 0;
  for (int pass = 0; pass < passes; ++pass)
    for (size_t i = first; i < count; i += threads) {
      uint4 v;
      asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "l"(buffer + i));
      sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
  if (sum == 0x5eed)
    *sink = sum;
}

/// One thread follows a chain of indices; stores the clocks of `steps` loads.
__global__ void chase(const uint64_t *chain, int steps, long long *clocks,
                      uint64_t *sink) {
  uint64_t at = 0;
  long long start = clock64();
  for (int i = 0; i < steps; ++i)
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(at) : "l"(chain + at));
  *clocks = clock64() - start;
  *sink = at;
}

/// Eight independent accumulators a warp, operands in registers. Stores the
/// clocks of the block.
__global__ void multiply(int steps, long long *clocks, float *sink) {
  float sums[8][4] = {};
  unsigned a = threadIdx.x, b = threadIdx.x * 3;
  __syncthreads();
  long long start = clock64();
  for (int i = 0; i < steps; ++i)
#pragma unroll
    for (int u = 0; u < 8; ++u)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                   "{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                   : "+f"(sums[u][0]), "+f"(sums[u][1]), "+f"(sums[u][2]),
                     "+f"(sums[u][3])
                   : "r"(a), "r"(b));
  __syncthreads();
  if (threadIdx.x == 0)
    clocks[blockIdx.x] = clock64() - start;
  float sum = 0;
  for (int u = 0; u < 8; ++u)
    sum += sums[u][0];
  if (sum == 1.5f)
    *sink = sum;
}

int main() {
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0));
  int sms = device.multiProcessorCount;
  std::printf("%s: %d SMs, L2 %d bytes, shared %zu bytes an SM, %zu a block\n",
              device.name, sms, device.l2CacheSize,
              device.sharedMemPerMultiprocessor, device.sharedMemPerBlockOptin);

  constexpr size_t kBytes = size_t(1) << 30;
  uint4 *buffer;
  long long *clocks;
  unsigned *sink;
  check(cudaMalloc(&buffer, kBytes));
  check(cudaMemset(buffer, 0, kBytes));
  check(cudaMallocManaged(&clocks, sms * sizeof(long long)));
  check(cudaMalloc(&sink, 64));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));

  for (size_t mebibytes : {8, 16, 24, 32, 512}) {
    size_t count = mebibytes << 16;
    int passes = mebibytes > 100 ? 4 : 200;
    readAll<<<4 * sms, 512>>>(buffer, count, passes, sink);
    check(cudaEventRecord(begin));
    readAll<<<4 * sms, 512>>>(buffer, count, passes, sink);
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float ms;
    check(cudaEventElapsedTime(&ms, begin, end));
    double perSecond = double(count) * 16 * passes / (ms * 1e-3);
    int khz;
    check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    std::printf("read %3zu MiB: %.2f TB/s, %.1f bytes a clock and SM at "
                "%d MHz\n",
                mebibytes, perSecond / 1e12, perSecond / sms / (khz * 1e3),
                khz / 1000);
  }

  // Chains with a stride that leaves the line and the page neighbourhood.
  for (size_t mebibytes : {8, 256}) {
    size_t count = mebibytes << 17;
    constexpr int kSteps = 4000;
    std::vector<uint64_t> chain(count, 0);
    size_t stride = (count / kSteps) & ~size_t(15);
    for (int i = 0; i < kSteps; ++i)
      chain[i * stride] = (i + 1) * stride;
    check(cudaMemcpy(buffer, chain.data(), count * 8, cudaMemcpyDefault));
    for (bool warm : {false, true}) {
      // Reading half a gibibyte elsewhere empties L2 of the chain.
      if (!warm)
        readAll<<<4 * sms, 512>>>(buffer + (1 << 25), 1 << 25, 1, sink);
      chase<<<1, 1>>>(reinterpret_cast<uint64_t *>(buffer), kSteps, clocks,
                      reinterpret_cast<uint64_t *>(sink));
      check(cudaDeviceSynchronize());
      std::printf("chain over %3zu MiB, %s: %.0f clocks a load\n", mebibytes,
                  warm ? "again" : "cold", double(clocks[0]) / kSteps);
    }
  }

  for (int warps : {4, 8, 16}) {
    constexpr int kSteps = 20000;
    multiply<<<sms, warps * 32>>>(kSteps, clocks,
                                  reinterpret_cast<float *>(sink));
    check(cudaDeviceSynchronize());
    long long longest = 0;
    for (int i = 0; i < sms; ++i)
      longest = clocks[i] > longest ? clocks[i] : longest;
    std::printf("mma.sync m16n8k16 bf16, %2d warps: %.0f FLOP a clock and SM\n",
                warps, double(kSteps) * 8 * 4096 * warps / longest);
  }
  return 0;
}
