// RUN: d2k-host --entry run --axis n=1000 %s | FileCheck %s
//
// Every way to launch a kernel, with its configuration and arguments.

#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>

struct Args {
  long n;
  const float *x;
  float *y;
};

__global__ void scale(const float *x, float *y, int n, float by) {}
template <int kWidth, typename T>
__global__ void wide(const T *x, T *y, int n) {}
namespace {
__global__ void hidden(float *y) {}
} // namespace

static int blocks(long n, int width) { return int((n + width - 1) / width); }

template <typename F>
static void each(int times, F &&f) {
  for (int i = 0; i < times; ++i)
    f(i);
}

using Kernel = void (*)(const float *, float *, int);
static const Kernel kTable[] = {wide<1, float>, wide<2, float>, wide<4, float>};

#define LAUNCH(KERNEL, GRID, ...) KERNEL<<<GRID, 64>>>(__VA_ARGS__)

extern "C" int run(const Args *a, cudaStream_t stream) {
  int n = int(a->n);
  // CHECK: launch scale(float const*, float*, int, float) grid 8px1x1 block 128x1x1 shared 0 (x, y, 1000p, 0.5) stream 0
  scale<<<blocks(a->n, 128), 128, 0, stream>>>(a->x, a->y, n, 0.5f);
  // CHECK: launch void wide<4, float>(float const*, float*, int) grid 4px2x3 block 32x8x1 shared 4096 (x+16, y+16, 996p) stream 0
  dim3 grid(blocks(n, 256), 2, 3), block(32, 8);
  wide<4><<<grid, block, 4096, stream>>>(a->x + 4, a->y + 4, n - 4);
  // CHECK: launch (anonymous namespace)::hidden(float*) grid 1x1x1 block 1x1x1 shared 0 (y) stream 1
  hidden<<<1, 1>>>(a->y);
  // A table of function pointers.
  // CHECK: launch void wide<2, float>(float const*, float*, int) grid 1x1x1 block 32x1x1
  kTable[n % 3]<<<1, 32>>>(a->x, a->y, n);
  // A lambda that captures, called in a loop.
  // CHECK: launch void wide<1, float>{{.*}} grid 1x1x1 {{.*}} (x, y, 0)
  // CHECK: launch void wide<1, float>{{.*}} grid 2x1x1 {{.*}} (x, y+4, 1)
  each(2, [&](int i) {
    wide<1, float><<<i + 1, 32, 0, stream>>>(a->x, a->y + i, i);
  });
  // A macro.
  // CHECK: launch (anonymous namespace)::hidden(float*) grid 7x1x1 block 64x1x1
  LAUNCH(hidden, 7, a->y);

  // CHECK: launch scale({{.*}}) grid 5x1x1 block 96x1x1 shared 128 (x, y, 1000p, 2) stream 0
  float by = 2;
  void *arguments[] = {(void *)&a->x, (void *)&a->y, &n, &by};
  cudaLaunchKernel((const void *)scale, dim3(5), dim3(96), arguments, 128,
                   stream);
  // CHECK: launch scale({{.*}}) grid 6x1x1 block 96x1x1 shared 0 cooperative (x, y, 1000p, 2)
  cudaLaunchCooperativeKernel(scale, dim3(6), dim3(96), arguments, 0, stream);

  // Launch attributes.
  // CHECK: launch scale({{.*}}) grid 8x1x1 block 128x1x1 cluster 4x1x1 shared 1024 pdl (x, y, 1000p, 3) stream 0
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(128);
  config.dynamicSmemBytes = 1024;
  config.stream = stream;
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = 4;
  attributes[0].val.clusterDim.y = 1;
  attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attributes;
  config.numAttrs = 2;
  cudaLaunchKernelEx(&config, scale, a->x, a->y, n, 3.0f);
  // Without its attributes the same configuration has neither.
  // CHECK: launch scale({{.*}}) grid 8x1x1 block 128x1x1 shared 1024 (x, y, 1000p, 2) stream 0
  config.numAttrs = 0;
  cudaLaunchKernelExC(&config, (const void *)scale, arguments);
  return cudaGetLastError();
}
