// RUN: d2k-host --arch sm_90a --entry run --axis n=1 %s | FileCheck %s
// A static member may have its value in the class and its definition outside,
// or be defined in another file: then its value is not known, and not zero.

#include <cuda_runtime.h>
#include <limits>

struct Args {
  long n;
  float *y;
};

__global__ void step(float *y, int i) { y[threadIdx.x] = i; }

struct Plain {
  static const int inside = 5;
  static int outside, elsewhere;
  static constexpr int constant = 7;
};
const int Plain::inside;
int Plain::outside = 6;

template <class T> struct Generic {
  static const int inside = sizeof(T);
  static int outside;
};
template <class T> const int Generic<T>::inside;
template <class T> int Generic<T>::outside = 9;

static const int &refer(const int &x) { return x; }

extern "C" int run(const Args *a) {
  // CHECK: grid 5x1x1 {{.*}}(y, 1)
  step<<<refer(Plain::inside), 32>>>(a->y, 1);
  // CHECK: grid 6x1x1 {{.*}}(y, 2)
  step<<<Plain::outside, 32>>>(a->y, 2);
  // CHECK: grid ?x1x1 {{.*}}(y, 3)
  step<<<Plain::elsewhere, 32>>>(a->y, 3);
  // CHECK: grid 7x1x1 {{.*}}(y, 4)
  step<<<refer(Plain::constant), 32>>>(a->y, 4);
  // CHECK: grid 4x1x1 {{.*}}(y, 5)
  step<<<refer(Generic<int>::inside), 32>>>(a->y, 5);
  // CHECK: grid 9x1x1 {{.*}}(y, 6)
  step<<<Generic<double>::outside, 32>>>(a->y, 6);
  // Constants of all bits, and hints for the compiler.
  enum : unsigned long { kNone = ~0ul };
  unsigned long pick = __builtin_expect(a->n == 1, true) ? kNone : 0;
  // CHECK: grid 8x1x1 {{.*}}(y, 7)
  switch (pick) {
  case 18446744073709551615ul:
    step<<<8, 32>>>(a->y, 7);
    break;
  default:
    step<<<80, 32>>>(a->y, 7);
  }
  // CHECK-NOT: grid 80x1x1
  // CHECK: any shape
  return 0;
}

// RUN: d2k-host --arch sm_90a --entry before --axis n=1 %s \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// Initialisers run before the entry, in their order, and write other variables.
struct Count {
  Count() { total = total * 2 + 1; }
  static int total;
};
int Count::total = 3;
static Count one, two;
static dim3 grids[2];
static bool fill() {
  for (int i = 0; i < 2; ++i)
    grids[i] = dim3(5 + i, 2);
  return true;
}
static const bool kFilled = fill();

// A bit-field keeps the bits that it has.
struct Packed {
  unsigned tile : 3, rest : 29;
  int sign : 2;
};

// BEFORE: trace before
extern "C" int before(const Args *a) {
  // BEFORE: grid 15x1x1 {{.*}}(y, 1)
  step<<<Count::total, 32>>>(a->y, 1);
  // BEFORE: grid 6x2x1 {{.*}}(y, 2)
  step<<<grids[a->n], 32>>>(a->y, 2);
  Packed packed{};
  packed.tile = 10;
  packed.sign = 3;
  // BEFORE: grid 2x1x1 {{.*}}(y, -1)
  step<<<packed.tile, 32>>>(a->y, packed.sign);
  return 0;
}
