// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host decides about a kernel: values of parameters, and who reads the memory that it
// writes. Every verdict is about the call of one host function.
//
// VERDICTS arch=sm_90a read=host

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// Pairs when `mode` is 5, scalars otherwise.
__global__ void byMode(const __half2 *a, __half2 *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  if (mode == 5)
    v = __hmul2(v, v);
  o[i] = v;
}
// A sine for `extra`, a square for `o`.
__global__ void besides(const float *a, float *o, float *extra) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i];
  extra[i] = __sinf(x);
  o[i] = x * x;
}
__global__ void plus(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] += a[i];
}
constexpr size_t BYTES = 64 * 256 * sizeof(float);
static float *buffer() {
  float *p;
  cudaMalloc(&p, BYTES);
  return p;
}

// EXPECT modeOff: packed_math absent: the only launch passes 0
extern "C" void modeOff(const __half2 *a, __half2 *b, cudaStream_t s) {
  byMode<<<64, 256, 0, s>>>(a, b, 0);
}

// EXPECT modeOn: packed_math present type=f16x2: the only launch passes 5
extern "C" void modeOn(const __half2 *a, __half2 *b, cudaStream_t s) {
  byMode<<<64, 256, 0, s>>>(a, b, 5);
}

// EXPECT modeBoth: packed_math present type=f16x2: one of two launches passes 5
extern "C" void modeBoth(const __half2 *a, __half2 *b, cudaStream_t s) {
  byMode<<<64, 256, 0, s>>>(a, b, 0);
  byMode<<<64, 256, 0, s>>>(a + 16384, b + 16384, 5);
}

// EXPECT modeLoop: packed_math present type=f16x2: the sixth of eight launches passes 5
extern "C" void modeLoop(const __half2 *a, __half2 *b, cudaStream_t s) {
  for (int m = 0; m < 8; ++m)
    byMode<<<64, 256, 0, s>>>(a + m * 16384, b + m * 16384, m);
}

// EXPECT modeLoopPast: packed_math absent: the launches pass 0 to 4
extern "C" void modeLoopPast(const __half2 *a, __half2 *b, cudaStream_t s) {
  for (int m = 0; m < 5; ++m)
    byMode<<<64, 256, 0, s>>>(a + m * 16384, b + m * 16384, m);
}

// EXPECT modeOfCall: packed_math not-present: the caller chooses
extern "C" void modeOfCall(const __half2 *a, __half2 *b, int mode, cudaStream_t s) {
  byMode<<<64, 256, 0, s>>>(a, b, mode);
}

// EXPECT modeComputed: packed_math present type=f16x2: 2 + 3 through a helper
static int add(int x, int y) {
  return x + y;
}
extern "C" void modeComputed(const __half2 *a, __half2 *b, cudaStream_t s) {
  byMode<<<64, 256, 0, s>>>(a, b, add(2, 3));
}

// EXPECT unread: fast_math absent: nobody reads the other buffer
extern "C" void unread(const float *a, float *b, cudaStream_t s) {
  static float *t = buffer();
  besides<<<64, 256, 0, s>>>(a, b, t);
}

// EXPECT unreadEachCall: fast_math absent: allocated and freed in the call, never read
extern "C" void unreadEachCall(const float *a, float *b, cudaStream_t s) {
  float *t;
  cudaMallocAsync(&t, BYTES, s);
  besides<<<64, 256, 0, s>>>(a, b, t);
  cudaFreeAsync(t, s);
}

// EXPECT readNext: fast_math present op=sin: the next kernel adds the buffer to the output
extern "C" void readNext(const float *a, float *b, cudaStream_t s) {
  static float *t = buffer();
  besides<<<64, 256, 0, s>>>(a, b, t);
  plus<<<64, 256, 0, s>>>(t, b);
}

// EXPECT readLater: fast_math present op=sin: the next call reads what this one leaves
extern "C" void readLater(const float *a, float *b, cudaStream_t s) {
  static float *t = buffer();
  plus<<<64, 256, 0, s>>>(t, b + 16384);
  besides<<<64, 256, 0, s>>>(a, b, t);
}

// EXPECT copiedOut: fast_math present op=sin: a copy takes the buffer to the output
extern "C" void copiedOut(const float *a, float *b, cudaStream_t s) {
  static float *t = buffer();
  besides<<<64, 256, 0, s>>>(a, b, t);
  cudaMemcpyAsync(b + 16384, t, BYTES, cudaMemcpyDeviceToDevice, s);
}

// EXPECT toHost: fast_math present op=sin: a copy takes the buffer to the host
extern "C" void toHost(const float *a, float *b, float *host, cudaStream_t s) {
  static float *t = buffer();
  besides<<<64, 256, 0, s>>>(a, b, t);
  cudaMemcpyAsync(host, t, BYTES, cudaMemcpyDeviceToHost, s);
}

// EXPECT partOfOutput: fast_math present op=sin: the other buffer is a part of the output
extern "C" void partOfOutput(const float *a, float *b, cudaStream_t s) {
  float *t = b + 16384;
  besides<<<64, 256, 0, s>>>(a, b, t);
}

// EXPECT toLibrary: fast_math present op=sin: a library reads the buffer
extern "C" void toLibrary(const float *a, float *b, cudaStream_t s) {
  static float *t = buffer();
  static cublasHandle_t h = [] {
    cublasHandle_t q;
    cublasCreate(&q);
    return q;
  }();
  besides<<<64, 256, 0, s>>>(a, b, t);
  cublasSetStream(h, s);
  float one = 1;
  cublasSaxpy(h, 16384, &one, t, 1, b, 1);
}

// EXPECT exchangedBuffers: fast_math present op=sin:
//   two buffers change places, so that the second launch reads what the first wrote
extern "C" void exchangedBuffers(const float *a, float *b, cudaStream_t s) {
  static float *t[2] = {buffer(), buffer()};
  besides<<<64, 256, 0, s>>>(a, b, t[0]);
  float *u = t[0];
  plus<<<64, 256, 0, s>>>(u, b);
  besides<<<64, 256, 0, s>>>(u, b + 16384, t[1]);
}
