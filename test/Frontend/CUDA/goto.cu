// RUN: d2k-host --entry run --axis n=4096 %s | FileCheck %s
// RUN: d2k-host --entry back --axis n=4096 %s | FileCheck %s -check-prefix=BACK
// Jumps to a label that comes later are followed, as programs in C end.

#include <cstdlib>

__global__ void kernel(float *y, int n) { y[threadIdx.x] = n; }

struct Args {
  long n;
  float *y;
};

// CHECK: trace run
// CHECK-NOT: incomplete
extern "C" int run(const Args *a) {
  int rc = 0, grid = 2;
  // CHECK: launch kernel(float*, int) grid 1x1x1
  kernel<<<1, 32>>>(a->y, 1);
  // Known, and taken: what is in between is not launched.
  if (a->n == 4096)
    goto Taken;
  // CHECK-NOT: grid 99x1x1
  kernel<<<99, 32>>>(a->y, 1);
Taken:
  // CHECK: launch kernel(float*, int) grid 3x1x1
  kernel<<<3, 32>>>(a->y, 1);
  // Not known: perhaps.
  if (getenv("STOP")) {
    rc = -1;
    grid = 5;
    goto Exit;
  }
  // CHECK: launch? kernel(float*, int) grid 4x1x1
  // CHECK-NEXT: may have been left before, which depends on an environment variable
  kernel<<<4, 32>>>(a->y, 1);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (i * j == 2)
        goto Out;
Out:
  // CHECK: launch? kernel(float*, int) grid 6x1x1
  kernel<<<6, 32>>>(a->y, 1);
  if (getenv("SLOW"))
    goto Slow;
  return 0;
Slow:
  // Only this path goes on here.
  // CHECK: launch? kernel(float*, int) grid 2x1x1
  kernel<<<grid, 32>>>(a->y, 1);
Exit:
  // Both paths arrive: 2 or 5.
  // CHECK: launch? kernel(float*, int) grid ?x1x1
  kernel<<<grid, 32>>>(a->y, rc);
  return rc;
}

// BACK: trace back (incomplete)
// BACK: incomplete: a goto at line [[#@LINE+8]] to a line before it is not followed
// BACK: launch kernel(float*, int) grid 1x1x1
// BACK: launch? kernel(float*, int) grid 2x1x1
extern "C" void back(const Args *a) {
  int i = 0;
Again:
  kernel<<<1, 32>>>(a->y, i);
  if (++i < 3)
    goto Again;
  kernel<<<2, 32>>>(a->y, 1);
}
