// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=3 %s | FileCheck %s
//
// Complex numbers of three libraries, on both sides.

#include <complex>
#include <cuComplex.h>
#include <cuda/std/complex>
#include <cuda_runtime.h>
#include <thrust/complex.h>

struct Args {
  long n;
  cuFloatComplex *y;
};

__global__ void kernel(cuFloatComplex *y, thrust::complex<float> t) {
  cuda::std::complex<float> z(1, t.imag());
  y[threadIdx.x] = make_cuFloatComplex(z.real(), t.real());
}

// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK-NEXT: launch kernel(float2*, thrust::{{.*}}complex<float>) grid 3px1x1 block 4x1x1
extern "C" void run(const Args *a) {
  std::complex<double> z(2, 3), w = z * z;
  kernel<<<a->n, 4>>>(a->y, thrust::complex<float>(1, 2));
}
