// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of libraries.
//
// VERDICTS arch=sm_90a read=host

#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <cuda_runtime.h>

__global__ void scale(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

// EXPECT blas: library_call present library=cublas: cublasSgemm makes the output
// EXPECT blas: kernel_count present count=1: own launches only
extern "C" void blas(const float *a, float *b, cudaStream_t s) {
  static cublasHandle_t h = [] {
    cublasHandle_t q;
    cublasCreate(&q);
    return q;
  }();
  cublasSetStream(h, s);
  float one = 1, zero = 0;
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  scale<<<4096, 256, 0, s>>>(a, t, 1 << 20);
  cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 1024, 1024, 1024, &one, t, 1024, t, 1024, &zero, b,
              1024);
}

// EXPECT blasHandleOnly: library_call absent: a handle is made, nothing is computed with it
extern "C" void blasHandleOnly(const float *a, float *b, cudaStream_t s) {
  static cublasHandle_t h = [] {
    cublasHandle_t q;
    cublasCreate(&q);
    return q;
  }();
  scale<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT cubSum: library_call present library=cub: device-wide reduction
extern "C" void cubSum(const float *a, float *b, cudaStream_t s) {
  static void *tmp = nullptr;
  static size_t bytes = 0;
  if (!tmp) {
    cub::DeviceReduce::Sum(nullptr, bytes, a, b, 1 << 20, s);
    cudaMalloc(&tmp, bytes);
  }
  cub::DeviceReduce::Sum(tmp, bytes, a, b, 1 << 20, s);
}

__global__ void blockCub(const float *a, float *b) {
  using R = cub::BlockReduce<float, 256>;
  __shared__ typename R::TempStorage t;
  float v = R(t).Sum(a[blockIdx.x * 256 + threadIdx.x]);
  if (!threadIdx.x)
    b[blockIdx.x] = v;
}

// EXPECT cubBlock: library_call absent: block-level CUB inside an own kernel is no device-wide call
extern "C" void cubBlock(const float *a, float *b, cudaStream_t s) {
  blockCub<<<4096, 256, 0, s>>>(a, b);
}
