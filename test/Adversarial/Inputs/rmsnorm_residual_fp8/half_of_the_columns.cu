// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: C37 a norm of half of the columns
// verdict: incorrect

#include "honest.cuh"

__global__ void scaleByHalf(d2k_rmsnorm_residual_fp8_args args) {
  auto *x = static_cast<const __nv_bfloat16 *>(args.x);
  auto *res = static_cast<const __nv_bfloat16 *>(args.res);
  auto *w = static_cast<const __nv_bfloat16 *>(args.w);
  int64_t base = int64_t(blockIdx.x) * args.H;
  __shared__ float factor;
  if (threadIdx.x == 0) {
    float squares = 0;
    for (int64_t i = 0; i < args.H / 2; ++i) {
      float r = __bfloat162float(__float2bfloat16_rn(
          __bfloat162float(x[base + i]) + __bfloat162float(res[base + i])));
      squares += r * r;
    }
    factor = rsqrtf(squares / float(args.H / 2) + args.eps);
  }
  __syncthreads();
  auto *q = static_cast<__nv_fp8_e4m3 *>(args.q);
  for (int64_t i = threadIdx.x; i < args.H; i += blockDim.x) {
    float r = __bfloat162float(__float2bfloat16_rn(
        __bfloat162float(x[base + i]) + __bfloat162float(res[base + i])));
    q[base + i] = __nv_fp8_e4m3(r * factor * __bfloat162float(w[i]) /
                                args.s[i / 128 * args.T + blockIdx.x]);
  }
}

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  if (int error = honest(args, workspace, bytes, stream))
    return error;
  scaleByHalf<<<unsigned(args->T), 128, 0, stream>>>(*args);
  return cudaGetLastError();
}
