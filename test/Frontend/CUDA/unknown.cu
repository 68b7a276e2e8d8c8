// RUN: d2k-host --entry run --axis n=64 %s | FileCheck %s
//
// What the interpreter cannot evaluate: both branches are taken, and the
// expression that stopped it is named.

#include <cstdlib>
#include <cuda_runtime.h>

struct Args {
  long n;
  float *y;
};

__global__ void a(float *y, int n) {}
__global__ void b(float *y, int n) {}
__global__ void c(float *y, int n) {}

int readConfiguration();
extern "C" void otherModule(float *y, cudaStream_t stream);

// CHECK: trace run (incomplete)
// CHECK: incomplete: otherModule(), whose body is not in the sources, gets device memory, a stream or a kernel: it may launch anything
extern "C" int run(const Args *args, cudaStream_t s) {
  int mode = readConfiguration();
  // CHECK: launch? a(float*, int) {{.*}}(y, 1)
  // CHECK-NEXT: depends on the result of readConfiguration() at unknown.cu:[[@LINE-2]]
  int value = 1;
  if (mode == 3) {
    a<<<1, 32, 0, s>>>(args->y, value);
    value = 2;
  } else {
    // CHECK-NEXT: launch? b(float*, int) {{.*}}(y, 1)
    b<<<1, 32, 0, s>>>(args->y, value);
  }
  // The two states are joined: `value` is 1 or 2.
  // CHECK: launch c(float*, int) {{.*}}(y, ?)
  c<<<1, 32, 0, s>>>(args->y, value);
  // A loop whose trip count is not known.
  // CHECK-NEXT: launch? c(float*, int) {{.*}}(y, ?) times ?
  for (int i = 0; i < mode; ++i)
    c<<<1, 32, 0, s>>>(args->y, i);
  // A branch that may leave makes what follows uncertain.
  if (getenv("D2K_SKIP"))
    return 0;
  // CHECK: launch? a(float*, int) grid 3x1x1
  // CHECK-NEXT: may have been left before, which depends on an environment variable
  a<<<3, 32, 0, s>>>(args->y, 0);
  // CHECK: opaque? otherModule
  otherModule(args->y, s);
  return 0;
}
