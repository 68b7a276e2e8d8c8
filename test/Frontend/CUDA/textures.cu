// Clang's header of texture instructions is not read for host code. Kernels that
// use textures, surfaces and arithmetic of half types are whole all the same.
//
// RUN: rm -rf %t
// RUN: d2k-host --headers=%t %s | FileCheck %s --implicit-check-not=diagnostic
// RUN: d2k-host --headers=%t %s | FileCheck %s --implicit-check-not=diagnostic
// RUN: d2k-host %s | FileCheck %s --implicit-check-not=diagnostic

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void filter(cudaTextureObject_t image, cudaTextureObject_t layers,
                       cudaSurfaceObject_t out, __half2 scale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  float value = tex2D<float>(image, x + 0.5f, y + 0.5f);
  float4 layer = tex2DLayered<float4>(layers, x, y, 3);
  __half2 pair = __floats2half2_rn(value, layer.w) * scale;
  if (__hgt(pair.x, pair.y))
    pair = __hadd2(pair, scale);
  surf2Dwrite(__high2float(pair), out, x * 4, y);
}

__global__ void scale(__nv_bfloat16 *x, __nv_bfloat16 by) {
  x[threadIdx.x] = x[threadIdx.x] * by;
}

extern "C" void run(cudaTextureObject_t image, cudaTextureObject_t layers,
                    cudaSurfaceObject_t out, __nv_bfloat16 *x) {
  filter<<<dim3(4, 8), 64>>>(image, layers, out,
                             __floats2half2_rn(1.0f, 2.0f));
  scale<<<1, 384>>>(x, __float2bfloat16(0.5f));
}

// CHECK: launch filter({{.*}}) grid 4x8x1 block 64x1x1
// CHECK: launch scale({{.*}}) grid 1x1x1 block 384x1x1
