// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of the CUDA language is translated, and that it means the same.
//
// REQUIRES: host-cuda
// RUN: %host-nvcc %s -o %t.so
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run()" | FileCheck %s

#include <cuda_runtime.h>

#include <cstdio>

// "kernel<<<1, 2>>>(3)" in a string or comment is no launch.
static const char *text = "kernel<<<1, 2>>>(3)";
__device__ int counter;
__constant__ int offsets[2];

// Threads of the block give their values to their neighbours.
template <typename T, int N>
__global__ void __launch_bounds__(N) rotate(T *out, const T *in) {
  __shared__ T values[N], unused[2][N];
  __shared__ alignas(16) int count;
  extern __shared__ __align__(16) unsigned char dynamic[];
  if (threadIdx.x == 0)
    count = 0;
  values[threadIdx.x] = in[threadIdx.x];
  dynamic[threadIdx.x] = (unsigned char)threadIdx.x;
  __syncthreads();
  atomicAdd(&count, 1);
  unused[1][threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[(threadIdx.x + 1) % N] + T(count) +
                     T(dynamic[N - 1 - threadIdx.x]);
}

// CHECK: rotate 167 166 165
static void runRotate() {
  double in[64], out[64];
  for (int i = 0; i < 64; ++i)
    in[i] = 2 * i;
  // 2(i + 1) of the neighbour, 64 of the counter, 63 - i of the other array;
  // and 36 + i more.
  rotate<double, (64 > 3 ? 64 : 0)><<<1, 64, 64>>>(out, in);
  for (int i = 0; i < 64; ++i)
    out[i] += 38 - 2 * i;
  std::printf("rotate %g %g %g\n", out[0], out[1], out[2]);
}

// Results of warp functions, of lane 5.
__global__ void warp(int *out) {
  int lane = threadIdx.x;
  int down = __shfl_down_sync(0xffffffff, lane, 4);
  int up = __shfl_up_sync(0xffffffff, lane, 1, 4);
  int other = __shfl_xor_sync(0xffffffff, lane, 16);
  int segment = __shfl_sync(0xffffffff, lane, 3, 8);
  unsigned odd = __ballot_sync(0xffffffff, lane & 1);
  int sum = __reduce_add_sync(0xffffffff, lane);
  // Halves of the warp by themselves.
  int half = lane < 16 ? __reduce_max_sync(0xffff, lane)
                       : __reduce_min_sync(0xffff0000, lane);
  if (lane == 5 || lane == 20) {
    int *to = out + (lane == 20) * 7;
    to[0] = down, to[1] = up, to[2] = other, to[3] = segment;
    to[4] = int(odd & 0xff), to[5] = sum, to[6] = half;
  }
}

// CHECK: warp 9 4 21 3 170 496 15
// CHECK: warp 24 20 4 19 170 496 16
static void runWarp() {
  int out[14];
  warp<<<dim3(1), dim3(32, 1, 1)>>>(out);
  for (int i = 0; i < 14; ++i)
    std::printf(i % 7 ? " %d%s" : "warp %d%s", out[i], i % 7 == 6 ? "\n" : "");
}

// The last block to come sums up, whichever it is.
__global__ void lastBlock(int *sums, int *total, int scale) {
  sums[blockIdx.y * gridDim.x + blockIdx.x] =
      scale * int(blockIdx.x + 10 * blockIdx.y) + offsets[1];
  __threadfence();
  if (atomicAdd(&counter, 1) == int(gridDim.x * gridDim.y) - 1)
    for (unsigned i = 0; i < gridDim.x * gridDim.y; ++i)
      *total += sums[i];
}

// CHECK: lastBlock 144 6
static void runLastBlock() {
  int sums[6], total = 0;
  int values[2] = {0, 4};
  cudaMemcpyToSymbol(offsets, values, sizeof(values));
  // 2 * (0 + 1 + 2 + 10 + 11 + 12 - 6 * 0) + 6 * 4 + 48
  auto *kernel = lastBlock;
  kernel<<<dim3(3, 2), 1, 0, nullptr>>>(sums, &total, 2);
  std::printf("lastBlock %d %d\n", total + 48, counter);
}

extern "C" void run() {
  runRotate();
  runWarp();
  runLastBlock();
  // CHECK: no error, kernel<<<1, 2>>>(3)
  std::printf("%s, %s\n", cudaGetErrorString(cudaGetLastError()), text);
}
