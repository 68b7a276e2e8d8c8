// RUN: d2k-host --entry run --axis n=4096 %s | FileCheck %s
// RUN: d2k-host --entry nested --axis n=4096 %s | FileCheck %s -check-prefix=NESTED
// RUN: d2k-host --entry many --axis n=4096 %s | FileCheck %s -check-prefix=MANY
// RUN: d2k-host --entry deep --axis n=4096 %s | FileCheck %s -check-prefix=DEEP
// RUN: d2k-host --entry pointers --axis n=4096 %s | FileCheck %s -check-prefix=POINTERS
// Loops that run longer than they can be followed do not end a trace: what they
// write is unknown afterwards, and what comes behind them is followed.

#include <cstdlib>

__global__ void kernel(float *y, int n) { y[threadIdx.x] = n; }

struct Args {
  long n;
  float *y;
};

// CHECK: trace run
// CHECK-NOT: incomplete
extern "C" void run(const Args *a) {
  float *data = static_cast<float *>(malloc(100000000 * sizeof(float)));
  int before = 7, count = 0;
  for (int i = 0; i < 100000000; ++i) {
    data[i] = float(rand()) / 3;
    count += data[i] > 5;
  }
  // What the loop does not write is known.
  // CHECK: launch kernel(float*, int) grid 16px1x1 block 7x1x1 {{.*}}(y, 4096p)
  kernel<<<a->n / 256, before>>>(a->y, a->n);
  // CHECK: launch kernel(float*, int) grid ?x1x1 block 32x1x1
  // CHECK-NEXT: its grid depends on a loop that is too long to be followed to its end, at line [[#@LINE-8]]
  kernel<<<count, 32>>>(a->y, 1);
  free(data);
}

// A loop in a loop in a loop, in functions, without a known length.
static void multiply(const float *x, const float *y, float *z, int m, int n,
                     int k) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l)
        sum += x[i * k + l] * y[j * k + l];
      z[i * n + j] = sum;
    }
}

// NESTED: trace nested
// NESTED-NOT: incomplete
// NESTED: launch kernel(float*, int) grid 3x1x1
// NESTED: launch kernel(float*, int) grid 4x1x1
extern "C" void nested(const Args *a) {
  float *x = new float[8192 * 8192], *y = new float[8192 * 8192];
  multiply(x, y, x, 8192, 8192, 8192);
  kernel<<<3, 32>>>(a->y, 1);
  int m = atoi(getenv("M"));
  float local[1000];
  multiply(x, y, local, m, m, m);
  multiply(x, y, x, a->n, a->n, m);
  kernel<<<4, 32>>>(a->y, 1);
}

// The launches of a long loop are listed up to a number, and then as one that
// runs an unknown number of times.
// MANY: trace many
// MANY-NOT: incomplete
// MANY: launch kernel(float*, int) grid 1x1x1
// MANY: launch? kernel(float*, int) grid 1x1x1 {{.*}} times ?
// MANY-NEXT: is in a loop whose trip count depends on a loop that is too long to be followed to its end
// MANY: launch kernel(float*, int) grid 5x1x1
extern "C" void many(const Args *a) {
  for (int i = 0; i < 1000000; ++i)
    kernel<<<1, 32>>>(a->y, i);
  kernel<<<5, 32>>>(a->y, 1);
}

static long fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// DEEP: trace deep
// DEEP-NOT: incomplete
// DEEP: launch kernel(float*, int) grid 6x1x1
// DEEP: launch kernel(float*, int) grid ?x1x1
extern "C" void deep(const Args *a) {
  long value = fibonacci(60);
  kernel<<<6, 32>>>(a->y, 1);
  kernel<<<value, 32>>>(a->y, 1);
}

// A loop that is not followed writes through pointers that it stored in an
// array too large to be modelled.
// POINTERS: trace pointers
// POINTERS: launch kernel(float*, int) grid ?x1x1 block 8x1x1
extern "C" void pointers(const Args *a) {
  int grid = 2, block = 8;
  static int *table[100000];
  table[atoi(getenv("I"))] = &grid;
  *table[atoi(getenv("J"))] = 5;
  kernel<<<grid, block>>>(a->y, 1);
}
