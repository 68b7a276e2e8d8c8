// RUN: d2k-host --entry run --axis m=256 --axis k=128 %s | FileCheck %s
//
// Tensor maps: what they describe, and the kernel parameter that each reaches,
// also inside of a structure and an array, and through a driver function that
// is looked up at run time.

#include <cuda.h>
#include <cuda_runtime.h>

struct Args {
  long m, k;
  const unsigned short *x, *w;
  unsigned short *y;
};

struct Maps {
  int tag;
  CUtensorMap x, w[2];
};

__global__ void one(const __grid_constant__ CUtensorMap x, int n) {}
__global__ void many(const __grid_constant__ Maps maps) {}

using Encode = decltype(&cuTensorMapEncodeTiled);

static Encode find() {
  static void *found = nullptr;
  if (!found) {
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found,
                            cudaEnableDefault, &result);
  }
  return (Encode)found;
}

static void encode(CUtensorMap *map, const void *base, long rows, long columns,
                   unsigned boxRows, CUtensorMapSwizzle swizzle) {
  cuuint64_t sizes[] = {(cuuint64_t)columns, (cuuint64_t)rows};
  cuuint64_t strides[] = {(cuuint64_t)columns * 2};
  cuuint32_t box[] = {64, boxRows}, step[] = {1, 1};
  find()(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)base, sizes,
         strides, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
         CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// CHECK: trace run
// CHECK-NEXT: map0 bfloat16 of x dims [128p,256p] strides [256p] box [64,32] swizzle 128B interleave none l2 128B
// CHECK-NEXT: map1 bfloat16 of w dims [128p,128p] strides [256p] box [64,16] swizzle 64B
// CHECK-NEXT: map2 bfloat16 of y dims [128p,256p] strides [256p] box [64,8] swizzle none
// CHECK-NEXT: launch one({{.*}}) {{.*}} (map0, 7)
// CHECK-NEXT: launch many(Maps) {{.*}} ({0: 5, 128: map1, 256: {0: map2, 128: {{.*}}}})
extern "C" int run(const Args *a, cudaStream_t s) {
  CUtensorMap x;
  encode(&x, a->x, a->m, a->k, 32, CU_TENSOR_MAP_SWIZZLE_128B);
  Maps maps;
  maps.tag = 5;
  encode(&maps.x, a->w, a->k, a->k, 16, CU_TENSOR_MAP_SWIZZLE_64B);
  encode(&maps.w[0], a->y, a->m, a->k, 8, CU_TENSOR_MAP_SWIZZLE_NONE);
  one<<<1, 32, 0, s>>>(x, 7);
  many<<<1, 32, 0, s>>>(maps);
  return 0;
}
