// RUN: d2k-host --arch sm_90a %s | FileCheck %s
// Programs that time kernels: data are made and compared in nested loops of
// millions of steps, and each configuration is launched thousands of times. What
// is launched is known all the same.

#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

__global__ void first(float *y, int n) { y[threadIdx.x] = n; }
__global__ void second(float *y, int n) { y[threadIdx.x] = n + 1; }
__global__ void tooLarge(float *y, int n) { y[threadIdx.x] = n + 2; }
__global__ void rounded(float *y) { y[threadIdx.x] = 3; }
__global__ void widest(float *y) { y[threadIdx.x] = 4; }

template <class T> T ceilDiv(T a, T b) { return (a + b - 1) / b; }

void compute(std::vector<float> &data, int b, int t, int c) {
  for (int i = 0; i < b; ++i)
    for (int j = 0; j < t; ++j) {
      float sum = 0;
      for (int k = 0; k < c; ++k)
        sum += data[(i * t + j) * c + k];
      for (int k = 0; k < c; ++k)
        data[(i * t + j) * c + k] -= sum / c;
    }
}

void launch(int which, float *y, int n, int block) {
  switch (which) {
  case 1:
    first<<<ceilDiv(n, block), block>>>(y, n);
    break;
  case 2:
    second<<<n, dim3(32, block / 32)>>>(y, n);
    break;
  case 3:
    // n is 8192: the program ends here.
    assert(n / block < 8);
    tooLarge<<<n / block, block>>>(y, n);
    break;
  }
}

template <class F, class... Args>
void benchmark(int repeats, F f, Args &&...args) {
  for (int i = 0; i < repeats; ++i)
    f(std::forward<Args>(args)...);
}

// CHECK: trace main
// CHECK: launch? first(float*, int) grid 256x1x1 block 32x1x1
// CHECK: launch? second(float*, int) grid 8192x1x1 block 32x1x1
// CHECK: launch? first(float*, int) grid 128x1x1 block 64x1x1
// CHECK: launch? second(float*, int) grid 8192x1x1 block 32x2x1
// The same again, by a function that is handed over.
// CHECK: launch? first(float*, int) grid 256x1x1 block 32x1x1
// CHECK: launch? second(float*, int) grid 8192x1x1 block 32x1x1
// CHECK: launch? first(float*, int) grid 128x1x1 block 64x1x1
// CHECK: launch? second(float*, int) grid 8192x1x1 block 32x2x1
// CHECK-NOT: tooLarge
// CHECK: launch rounded(float*) grid 8x1x1 block 256x1x1
// 65535 is the largest y of a grid.
// CHECK: launch widest(float*) grid 65535x1x1 block 64x1x1
int main(int argc, char **argv) {
  int b = 8, t = 1024, c = 768, which = argc;
  std::vector<float> data(b * t * c);
  compute(data, b, t, c);
  float *y;
  cudaMalloc(&y, 1 << 20);
  int sizes[] = {32, 64};
  for (int size : sizes)
    launch(which, y, b * t, size);
  compute(data, b, t, c);
  for (int i = 0; i < 2; ++i) {
    int size = sizes[i];
    benchmark(2000, launch, which, y, b * t, size);
  }
  int n = int(rint(2047.6f));
  rounded<<<n / 256, 256>>>(y);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  widest<<<properties.maxGridSize[1], properties.maxThreadsDim[2]>>>(y);
}

// Of what a loop does again it says how often.
// CHECK: trace timed
// CHECK: launch rounded(float*) grid 8x1x1 block 256x1x1 shared 0 (y) times 137 stream 1
void timed(float *y) {
  for (int i = 0; i < 200; ++i)
    rounded<<<8, 256>>>(y);
}
