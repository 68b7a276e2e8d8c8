// RUN: d2k-host --arch sm_90a --entry run --axis n=777 %s | FileCheck %s
// RUN: d2k-host --arch sm_90a --entry run --axis n=4000 %s \
// RUN:   | FileCheck %s --check-prefix=LARGE
// RUN: d2k-host --arch sm_90a %s | FileCheck %s --check-prefix=ROOTS
// RUN: d2k-host --arch sm_90a --entry elsewhere --axis n=777 %s \
// RUN:   | FileCheck %s --check-prefix=ELSEWHERE
// Lambdas as pointers to functions: in a table, and a generic one. A function
// that is handed to code which is not in the sources may launch what it has.

#include <cuda_runtime.h>
#include <thread>

struct Args {
  long n;
  float *y;
};

__global__ void small(float *y, int i) { y[threadIdx.x] = i; }
__global__ void large(float *y, int i) { y[threadIdx.x] = i; }
template <int T> __global__ void tile(float *y, int i) { y[threadIdx.x] = i; }

struct Entry {
  int limit;
  void (*launch)(float *, int);
};
static constexpr Entry kTable[] = {
    {1000, [](float *y, int n) { small<<<3, 32>>>(y, n); }},
    {1 << 30, [](float *y, int n) { large<<<4, 32>>>(y, n); }}};

// ROOTS: trace run
// CHECK: trace run
// CHECK-NEXT: launch small(float*, int) grid 3x1x1 block 32x1x1 shared 0 (y, 777p)
// CHECK-NEXT: launch void tile<64>(float*, int) grid 5x1x1 block 64x1x1 shared 0 (y, 6)
// CHECK: any shape
// LARGE: trace run
// LARGE-NEXT: launch large(float*, int) grid 4x1x1 block 32x1x1 shared 0 (y, 4000p)
// LARGE-NEXT: launch void tile<64>
// LARGE: any shape
extern "C" int run(const Args *a) {
  int n = int(a->n);
  for (const Entry &entry : kTable)
    if (n <= entry.limit) {
      entry.launch(a->y, n);
      break;
    }
  void (*any)(float *, int) = [](auto *y, auto k) {
    tile<64><<<k, 64>>>(y, k + 1);
  };
  any(a->y, 5);
  return 0;
}

extern void later(void (*fn)(float *));
static void hidden(float *y) { small<<<1, 32>>>(y, 1); }
static void quiet(float *) {}
// ELSEWHERE: trace elsewhere (incomplete)
// ELSEWHERE-NEXT: incomplete: later(), whose body is not in the sources
// ELSEWHERE-NEXT: incomplete: std::thread::_M_start_thread(), whose body is not in the sources
// ELSEWHERE-NEXT: opaque later stream {{.*}} line [[@LINE+4]]
// ELSEWHERE-NEXT: opaque std::thread::_M_start_thread
extern "C" int elsewhere(const Args *a) {
  later(quiet);
  later(hidden);
  std::thread thread([&] { small<<<2, 32>>>(a->y, 1); });
  thread.join();
  return 0;
}
