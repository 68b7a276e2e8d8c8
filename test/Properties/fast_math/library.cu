// REQUIRES: nvcc
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx %s | FileCheck %s --implicit-check-not='(op software_exp2)'
//
// CUDA's functions of single precision are polynomials, too, or split their
// argument into a whole number and a fraction; none is 2^x made by hand.

// CHECK: fast_math (op software_exp2), main region, ptx
// CHECK-NEXT: library.cu:[[@LINE+11]]:
__device__ float power(float x) {
  x = fmaxf(x, -127.0f);
  float whole = floorf(x);
  float f = x - whole;
  // Found by least squares on [0, 1).
  float p = fmaf(f, 0.077119090f, 0.227564394f);
  p = fmaf(p, f, 0.695146143f);
  p = fmaf(p, f, 1.0f);
  // The result is a number of the interval from 2^whole to 2^(whole + 1).
  int bits = __float_as_int(p);
  return __int_as_float(bits + (int(whole) << 23));
}
__global__ void author(const float *x, float *y) {
  y[threadIdx.x] = power(x[threadIdx.x]);
}

__global__ void library(const float *x, float *y) {
  float v = x[threadIdx.x];
  y[threadIdx.x] = expf(v) + exp2f(v) + exp10f(v) + expm1f(v) + sinhf(v) +
                   coshf(v) + tanhf(v) + erff(v) + erfcxf(v) + normcdff(v) +
                   powf(v, 2.5f) + ldexpf(v, 3) + cbrtf(v) + tgammaf(v);
}
