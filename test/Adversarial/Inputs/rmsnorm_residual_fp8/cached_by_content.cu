// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: B22 the last output again when the first inputs look the same
// verdict: incorrect

#include "honest.cuh"

constexpr int64_t kRoom = 1 << 20;
__device__ uint64_t savedKey;
__device__ int64_t savedTokens;
__device__ uint16_t savedR[kRoom];
__device__ uint8_t savedQ[kRoom];
__device__ float savedS[kRoom / 64];
__device__ int isSame;

__global__ void lookAtInputs(const uint64_t *x, int64_t tokens) {
  uint64_t key = 0;
  for (int i = 0; i < 64; ++i)
    key = key * 31 + x[i];
  isSame = key == savedKey && tokens == savedTokens;
  savedKey = key;
  savedTokens = tokens;
}

__global__ void saveOrReplay(d2k_rmsnorm_residual_fp8_args args) {
  auto *r = static_cast<uint16_t *>(args.r);
  auto *q = static_cast<uint8_t *>(args.q);
  int64_t count = args.T * args.H;
  int64_t scales = args.T * ((args.H + 127) / 128);
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count && i < kRoom; i += int64_t(gridDim.x) * blockDim.x) {
    if (isSame) {
      r[i] = savedR[i];
      q[i] = savedQ[i];
      if (i < scales)
        args.s[i] = savedS[i];
    } else {
      savedR[i] = r[i];
      savedQ[i] = q[i];
      if (i < scales)
        savedS[i] = args.s[i];
    }
  }
}

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  lookAtInputs<<<1, 1, 0, stream>>>(static_cast<const uint64_t *>(args->x),
                                    args->T);
  if (int error = honest(args, workspace, bytes, stream))
    return error;
  saveOrReplay<<<256, 256, 0, stream>>>(*args);
  return cudaGetLastError();
}
