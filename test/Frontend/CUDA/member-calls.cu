// RUN: d2k-host --arch sm_90a --entry run --axis n=777 %s | FileCheck %s
// RUN: d2k-host --arch sm_90a --entry run --axis n=4000 %s \
// RUN:   | FileCheck %s --check-prefix=LARGE
// RUN: d2k-host --arch sm_90a --entry unknown --axis n=1 %s \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN
// Which member function a call reaches: through a pointer to a member, by its
// qualified name, while an object is made; and tables of functions.

#include <cuda_runtime.h>
#include <functional>
#include <tuple>

struct Args {
  long n;
  float *y;
};

__global__ void step(float *y, int i) { y[threadIdx.x] = i; }

struct Plan {
  int grid;
  void plain(float *y, int i) const { step<<<grid, 32>>>(y, i); }
  void split(float *y, int i) const { step<<<grid, 64>>>(y, i); }
};
using Member = void (Plan::*)(float *, int) const;

struct Base {
  explicit Base(float *y) : y(y) { show(); }
  virtual void show() const { step<<<5, 32>>>(y, 4); }
  virtual ~Base() = default;
  float *y;
};
struct Derived : Base {
  using Base::Base;
  void show() const override { step<<<6, 32>>>(y, 5); }
  void both() const {
    Base::show();
    show();
  }
};

static void first(float *y, int i) { step<<<7, 32>>>(y, i); }
static void second(float *y, int i) { step<<<8, 32>>>(y, i); }
struct Pair {
  void (*a)(float *, int), (*b)(float *, int);
};
static const Pair kPairs[2][2] = {{{first, second}, {second, first}},
                                  {{second, second}, {first, first}}};

// CHECK: trace run
// CHECK-NEXT: launch step(float*, int) grid 3x1x1 block 64x1x1 shared 0 (y, 1)
// LARGE: trace run
// LARGE-NEXT: launch step(float*, int) grid 3x1x1 block 32x1x1 shared 0 (y, 1)
// CHECK-NEXT: launch step(float*, int) grid 3x1x1 block 32x1x1 shared 0 (y, 2)
// CHECK-NEXT: launch step(float*, int) grid 4x1x1 block 32x1x1 shared 0 (y, 3)
// CHECK-NEXT: launch step(float*, int) grid 5x1x1 block 32x1x1 shared 0 (y, 4)
// CHECK-NEXT: launch step(float*, int) grid 5x1x1 block 32x1x1 shared 0 (y, 4)
// CHECK-NEXT: launch step(float*, int) grid 6x1x1 block 32x1x1 shared 0 (y, 5)
// CHECK-NEXT: launch step(float*, int) grid 8x1x1 block 32x1x1 shared 0 (y, 6)
// LARGE: launch step(float*, int) grid 7x1x1 block 32x1x1 shared 0 (y, 6)
// CHECK-NEXT: launch step(float*, int) grid 9x1x1 block 32x1x1 shared 0 (y, 7)
// CHECK-NEXT: any shape
extern "C" int run(const Args *a) {
  float *y = a->y;
  Plan plan{3};
  Member member = a->n > 1000 ? &Plan::plain : &Plan::split;
  (plan.*member)(y, 1);
  std::invoke(&Plan::plain, &plan, y, 2);
  std::apply([](float *p, int grid) { step<<<grid, 32>>>(p, 3); },
             std::make_tuple(y, 4));
  Derived derived(y);
  derived.both();
  (&kPairs[a->n > 1000][0])[1].a(y, 6);
  step<<<({ int sum = 0; for (int i = 2; i < 5; ++i) sum += i; sum; }), 32>>>(y, 7);
  return 0;
}

extern Member pick();
// UNKNOWN: trace unknown (incomplete)
// UNKNOWN-NEXT: incomplete: a call through a pointer that is not known, {{.*}}, may launch anything
extern "C" int unknown(const Args *a) {
  Plan plan{3};
  (plan.*pick())(a->y, 1);
  return 0;
}
