// REQUIRES: nvcc, ptxas-sm_100a
// RUN: d2k-analyze --arch sm_100a --entry atomic --facts %s | FileCheck %s --check-prefix=ATOMIC
// RUN: d2k-analyze --arch sm_100a --entry atomicOnce --facts %s | FileCheck %s --check-prefix=ONCE
// RUN: d2k-analyze --arch sm_100a --entry hardware --facts %s | FileCheck %s --check-prefix=HARDWARE
// RUN: d2k-analyze --arch sm_100a --entry hardwareOnce --facts %s | FileCheck %s --check-prefix=RESIDENT
// RUN: d2k-analyze --arch sm_100a --entry ticket --facts %s | FileCheck %s --check-prefix=TICKET
//
// persistent_kernel with tiles that are handed out while the kernel runs: by a
// counter, or by the hardware (cluster launch control).

#include <cstdint>
#include <cuda_runtime.h>

__device__ void makeTile(const float *x, const float *w, float *y, int tile,
                         int k) {
  __shared__ float part[64];
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    part[threadIdx.x] = x[tile * 64 + i];
    __syncthreads();
    sum += part[63 - threadIdx.x] * w[i * 64 + threadIdx.x];
    __syncthreads();
  }
  y[tile * 64 + threadIdx.x] = sum;
}

__global__ void atomicLoop(const float *x, const float *w, float *y,
                           unsigned *counter, int tiles, int k) {
  __shared__ int next;
  while (true) {
    if (threadIdx.x == 0)
      next = atomicAdd(counter, 1);
    __syncthreads();
    int tile = next;
    __syncthreads();
    if (tile >= tiles)
      break;
    makeTile(x, w, y, tile, k);
  }
}

// ATOMIC: persistent_kernel (scheduler atomic), source
void atomic(const float *x, const float *w, float *y, unsigned *counter,
            cudaStream_t s) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  cudaMemsetAsync(counter, 0, 4, s);
  atomicLoop<<<2 * sms, 64, 0, s>>>(x, w, y, counter, 4096, 512);
}

/// Decoy: as many blocks as tiles.
// ONCE-NOT: persistent_kernel (
// ONCE: near miss: persistent_kernel
// ONCE: with 296 blocks there is a block for each tile, and the loop
void atomicOnce(const float *x, const float *w, float *y, unsigned *counter,
                cudaStream_t s) {
  cudaMemsetAsync(counter, 0, 4, s);
  atomicLoop<<<296, 64, 0, s>>>(x, w, y, counter, 296, 512);
}

__global__ void __launch_bounds__(64, 1)
    hardwareLoop(const float *x, const float *w, float *y, int k) {
  __shared__ alignas(16) uint4 answer;
  __shared__ uint64_t full;
  uint32_t answerAt = uint32_t(__cvta_generic_to_shared(&answer));
  uint32_t fullAt = uint32_t(__cvta_generic_to_shared(&full));
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(fullAt)
                 : "memory");
  __syncthreads();
  int tile = blockIdx.x;
  uint32_t parity = 0;
  while (true) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::
                       "r"(fullAt)
                   : "memory");
      asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta"
                   ".mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                       answerAt),
                   "r"(fullAt)
                   : "memory");
    }
    makeTile(x, w, y, tile, k);
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "retry:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra retry;\n"
                 "}\n" ::"r"(fullAt),
                 "r"(parity)
                 : "memory");
    parity ^= 1;
    uint32_t got, first;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 ".reg .b128 r;\n"
                 "ld.shared.b128 r, [%2];\n"
                 "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, "
                 "r;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "mov.u32 %1, 0;\n"
                 "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x"
                 ".b32.b128 %1, r;\n"
                 "}\n"
                 : "=r"(got), "=r"(first)
                 : "r"(answerAt)
                 : "memory");
    if (!got)
      break;
    tile = first;
    __syncthreads();
  }
}

// HARDWARE: persistent_kernel (scheduler cluster_launch_control), source
void hardware(const float *x, const float *w, float *y, cudaStream_t s) {
  hardwareLoop<<<65536, 64, 0, s>>>(x, w, y, 512);
}

/// Decoy: every block is resident.
// RESIDENT-NOT: persistent_kernel (
// RESIDENT: near miss: persistent_kernel
// RESIDENT: all 148 blocks run at once: the hardware has no tile left
void hardwareOnce(const float *x, const float *w, float *y, cudaStream_t s) {
  hardwareLoop<<<148, 64, 0, s>>>(x, w, y, 512);
}

/// No tiles: a ticket that tells the last block.
__global__ void ticketLoop(const float *x, const float *w, float *y,
                           unsigned *counter, int k) {
  __shared__ bool last;
  makeTile(x, w, y, blockIdx.x, k);
  if (threadIdx.x == 0)
    last = atomicAdd(counter, 1) == gridDim.x - 1;
  __syncthreads();
  if (last)
    for (int i = 0; i < k; ++i)
      y[i * 64 + threadIdx.x] += x[i];
}
// TICKET: ticketLoop
// TICKET-NOT: {{persistent_kernel[^/]}}
void ticket(const float *x, const float *w, float *y, unsigned *counter,
            cudaStream_t s) {
  ticketLoop<<<296, 64, 0, s>>>(x, w, y, counter, 512);
}
