// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry serial %s | FileCheck %s --check-prefix=SERIAL
// RUN: d2k-analyze --arch sm_90a --tiers source --entry absent %s | FileCheck %s --check-prefix=ABSENT
//
// copy_engine_transfer: peer copies beside kernels.

#include <cuda_runtime.h>

__global__ void a(const float *x, float *y) {}
__global__ void b(const float *x, float *y) {}

static cudaStream_t makeStream() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  return stream;
}

// PRESENT: copy_engine_transfer, source
void present(const float *x, float *y, cudaStream_t s) {
  static cudaStream_t side = makeStream();
  cudaMemcpyPeerAsync(y, 1, x, 0, 4096, side);
  a<<<1, 32, 0, s>>>(x, y);
}

// Decoy: on the stream of the kernel nothing runs beside it.
// SERIAL-NOT: copy_engine_transfer,
// SERIAL: near miss: copy_engine_transfer
// SERIAL: the peer copy at host.cu:[[@LINE+2]] is on the stream of the kernels
void serial(const float *x, float *y, cudaStream_t s) {
  cudaMemcpyPeerAsync(y, 1, x, 0, 4096, s);
  a<<<1, 32, 0, s>>>(x, y);
}

// Decoy: a copy on one device.
// ABSENT-NOT: {{^ *}}copy_engine_transfer
void absent(const float *x, float *y, cudaStream_t s) {
  static cudaStream_t side = makeStream();
  cudaMemcpyAsync(y, x, 4096, cudaMemcpyDeviceToDevice, side);
  a<<<1, 32, 0, s>>>(x, y);
}
