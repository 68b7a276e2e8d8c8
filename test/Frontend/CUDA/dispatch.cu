// RUN: d2k-host --entry run --axis m=16 --axis n=4096 %s | FileCheck %s --check-prefix=SMALL
// RUN: d2k-host --entry run --axis m=4096 --axis n=4096 %s | FileCheck %s --check-prefix=LARGE
//
// Which kernel runs depends on the axes: conditions, switches, ternaries and
// early returns are evaluated under each workload; a call with unknown axes
// takes every branch.

#include <cuda_runtime.h>

struct Args {
  long m, n;
  float *y;
};

template <int kTile>
__global__ void tile(float *y, int splits) {}
__global__ void combine(float *y) {}
__global__ void never(float *y) {}

static int chooseSplits(long m, int multiprocessors) {
  if (m <= 64)
    return 4;
  return multiprocessors > 200 ? 2 : 1;
}

static void launch(int width, const Args &a, int splits, cudaStream_t s) {
  switch (width) {
  case 64:
    tile<64><<<int(a.n / 64), 128, 0, s>>>(a.y, splits);
    break;
  case 128:
    tile<128><<<int(a.n / 128), 128, 0, s>>>(a.y, splits);
    break;
  default:
    never<<<1, 1, 0, s>>>(a.y);
  }
}

// SMALL-LABEL: trace run
// SMALL: assumes multiprocessor count 132 (H200)
// SMALL: launch void tile<64>(float*, int) grid 64px1x1 {{.*}}(y, 4p)
// SMALL: launch combine(float*) grid 16px1x1
// SMALL-NOT: launch
// SMALL: any shape

// LARGE-LABEL: trace run
// LARGE: launch void tile<128>(float*, int) grid 32px1x1 {{.*}}(y, 1pm)
// LARGE-NOT: launch

// The call with unknown axes.
// LARGE: any shape
// LARGE: launch? void tile<64>(float*, int)
// LARGE: launch? void tile<128>(float*, int)

// LARGE: launch? combine(float*)
// LARGE: depends on the argument m of the entry

extern "C" int run(const Args *a, cudaStream_t s) {
  if (a->m < 0)
    return cudaErrorInvalidValue;
  int multiprocessors = 0;
  if (cudaError_t error = cudaDeviceGetAttribute(
          &multiprocessors, cudaDevAttrMultiProcessorCount, 0))
    return error;
  int width = a->m < 128 ? 64 : 128;
  int splits = chooseSplits(a->m, multiprocessors);
  launch(width, *a, splits, s);
  if (splits > 2)
    combine<<<int(a->m), 128, 0, s>>>(a->y);
  // An empty grid launches nothing.
  if (a->n == 0)
    never<<<int(a->n), 32, 0, s>>>(a->y);
  return cudaGetLastError();
}
