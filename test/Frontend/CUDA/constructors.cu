// RUN: d2k-host --entry run --axis n=4096 %s | FileCheck %s
// Constructors that a class takes over from its base, and literals of a class
// in parentheses and braces.

__global__ void kernel(float *y, int n) { y[threadIdx.x] = n; }

struct Args {
  long n;
  float *y;
};

struct Shape {
  int grid, block;
  Shape(int grid, int block = 64) : grid(grid), block(block) {}
  Shape(const int &scale, const Args &args) : grid(args.n / scale), block(32) {}
};
struct Wide : Shape {
  using Shape::Shape;
  int scale = 2;
};
struct Wider : Wide {
  using Wide::Wide;
};
struct Plain {
  int grid, block;
};

// CHECK: trace run
extern "C" void run(const Args *a) {
  Wide first(3);
  // CHECK: launch kernel(float*, int) grid 3x1x1 block 64x1x1 {{.*}}(y, 2)
  kernel<<<first.grid, first.block>>>(a->y, first.scale);
  Wider second(5, 96);
  // CHECK: launch kernel(float*, int) grid 5x1x1 block 96x1x1 {{.*}}(y, 2)
  kernel<<<second.grid, second.block>>>(a->y, second.scale);
  // CHECK: launch kernel(float*, int) grid 16px1x1 block 32x1x1
  kernel<<<Wider(256, *a).grid, Wide(256, *a).block>>>(a->y, 1);
  Plain plain = (Plain){7, 8};
  // CHECK: launch kernel(float*, int) grid 7x1x1 block 8x1x1
  kernel<<<plain.grid, plain.block>>>(a->y, 1);
  // CHECK: launch kernel(float*, int) grid 9x1x1 block 10x1x1
  kernel<<<(Plain){9, 10}.grid, (Plain){9, 10}.block>>>(a->y, 1);
}
