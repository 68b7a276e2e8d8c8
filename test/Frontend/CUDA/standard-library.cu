// RUN: d2k-host --arch sm_90a --entry run --axis m=500 --axis n=4096 %s \
// RUN:   | FileCheck %s
// Host code as C++ programs write it: what the standard library passes on keeps
// its value, and what functions without a body get by reference to const does,
// too. The entry is the function with that C name, not the member.

#include <algorithm>
#include <cstdio>
#include <cuda_runtime.h>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

struct Args {
  long m, n;
  const float *x;
  float *y;
};

__global__ void step(float *y, int i) { y[threadIdx.x] = i; }
__global__ void member(float *y) { y[threadIdx.x] = 1; }

class Plan {
public:
  explicit Plan(long n) : grid((n + 255) / 256) {}
  void run(const Args &a) const { member<<<grid, 96>>>(a.y); }

private:
  unsigned grid;
};

void report(const Args &args, const int &value);
void fill(int *const *parts, int n);

// CHECK-NOT: trace Plan::run
// CHECK: trace run
extern "C" int run(const Args *a, cudaStream_t s) {
  report(*a, 3);
  // CHECK: launch step(float*, int) grid 16px1x1 {{.*}}(y, 1)
  step<<<a->n / 256, 32, 0, s>>>(a->y, 1);
  std::optional<int> blocks;
  if (a->m > 5)
    blocks = 9;
  // CHECK: launch step(float*, int) grid 9{{p?}}x1x1 {{.*}}(y, 2)
  step<<<blocks.value_or(1), 32, 0, s>>>(a->y, 2);
  auto plan = std::make_unique<Plan>(a->n);
  // CHECK: launch member(float*) grid 16px1x1 block 96x1x1
  plan->run(*a);
  std::pair<int, int> shape = std::make_pair(3, 64);
  auto [grid, block] = std::move(shape);
  // CHECK: launch step(float*, int) grid 3x1x1 block 64x1x1
  step<<<grid, std::max(block, 32), 0, s>>>(a->y, 3);
  // What constant pointers point to may be written: all of it.
  int first = 1, second = 2;
  int *const parts[] = {&first, &second};
  fill(parts, 2);
  // CHECK: launch step(float*, int) grid ?x?x1
  step<<<dim3(first, second), 32, 0, s>>>(a->y, 4);
  return 0;
}
