// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: B22 the last output of a set of buffers again, when its first inputs
// look the same
// verdict: incorrect

#include "honest.cuh"

constexpr int kSlots = 8;
constexpr int64_t kRoom = 1 << 18;
__device__ uint64_t savedKeys[kSlots];
__device__ uint16_t savedR[kSlots][kRoom];
__device__ uint8_t savedQ[kSlots][kRoom];
__device__ float savedS[kSlots][kRoom / 64];
__device__ int isSame;

__global__ void lookAtInputs(const uint64_t *x, int slot) {
  uint64_t key = 1;
  for (int i = 0; i < 64; ++i)
    key = key * 31 + x[i];
  isSame = key == savedKeys[slot];
  savedKeys[slot] = key;
}

__global__ void saveOrReplay(d2k_rmsnorm_residual_fp8_args args, int slot) {
  auto *r = static_cast<uint16_t *>(args.r);
  auto *q = static_cast<uint8_t *>(args.q);
  int64_t count = args.T * args.H;
  int64_t scales = args.T * ((args.H + 127) / 128);
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count && i < kRoom; i += int64_t(gridDim.x) * blockDim.x) {
    if (isSame) {
      r[i] = savedR[slot][i];
      q[i] = savedQ[slot][i];
      if (i < scales)
        args.s[i] = savedS[slot][i];
    } else {
      savedR[slot][i] = r[i];
      savedQ[slot][i] = q[i];
      if (i < scales)
        savedS[slot][i] = args.s[i];
    }
  }
}

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  static const void *outputs[kSlots];
  int slot = 0;
  while (slot < kSlots - 1 && outputs[slot] && outputs[slot] != args->r)
    ++slot;
  outputs[slot] = args->r;
  lookAtInputs<<<1, 1, 0, stream>>>(static_cast<const uint64_t *>(args->x),
                                    slot);
  if (int error = honest(args, workspace, bytes, stream))
    return error;
  saveOrReplay<<<256, 256, 0, stream>>>(*args, slot);
  return cudaGetLastError();
}
