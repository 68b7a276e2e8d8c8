// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=3 %s | FileCheck %s
//
// libcu++, CUB and cooperative groups, whose headers lie where Clang does not
// look by itself.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_reduce.cuh>
#include <cuda/ptx>
#include <cuda/std/array>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

struct Args {
  long n;
  float *y;
};

__global__ void kernel(float *y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  y[threadIdx.x] = cg::reduce(warp, y[0], cg::plus<float>());
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ Reduce::TempStorage storage;
  y[0] = Reduce(storage).Sum(y[1]);
}

// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK-NEXT: launch kernel(float*) grid 3px2x1 block 128x1x1 shared 0 (y)
extern "C" void run(const Args *a) {
  cuda::std::array<int, 3> sizes = {1, 2, 3};
  kernel<<<dim3(a->n, sizes[1]), 128>>>(a->y);
}
