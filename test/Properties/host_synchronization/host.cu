// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry copies %s | FileCheck %s --check-prefix=COPIES
// RUN: d2k-analyze --arch sm_90a --tiers source --entry absent %s | FileCheck %s --check-prefix=ABSENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry maybe %s | FileCheck %s --check-prefix=MAYBE
// RUN: d2k-analyze --arch sm_90a --tiers source --entry polls %s | FileCheck %s --check-prefix=POLLS
//
// host_synchronization: the host waits for the device.

#include <cuda_runtime.h>

__global__ void a(const float *x, float *y) {}
__global__ void b(const float *x, float *y) {}

// PRESENT: host_synchronization (call cudaStreamSynchronize), source
void present(const float *x, float *y, cudaStream_t s) {
  a<<<1, 32, 0, s>>>(x, y);
  cudaStreamSynchronize(s);
}

// A copy to the host that is not asynchronous waits.
// COPIES: host_synchronization (call cudaMemcpy), source
void copies(const float *x, float *y, cudaStream_t s) {
  float first;
  cudaMemcpy(&first, y, 4, cudaMemcpyDeviceToHost);
}

// Decoy: an event is recorded and another stream waits for it: the host goes on.
// ABSENT-NOT: {{^ *}}host_synchronization
void absent(const float *x, float *y, cudaStream_t s) {
  static cudaStream_t side;
  static cudaEvent_t done;
  if (!side) {
    cudaStreamCreate(&side);
    cudaEventCreate(&done);
  }
  a<<<1, 32, 0, s>>>(x, y);
  cudaEventRecord(done, s);
  cudaStreamWaitEvent(side, done);
  cudaMemcpyAsync(y, x, 16, cudaMemcpyDeviceToDevice, side);
}

// MAYBE-NOT: host_synchronization (
// MAYBE: undecided: host_synchronization
// MAYBE: cudaDeviceSynchronize at host.cu:[[@LINE+3]] depends on the parameter debug
void maybe(bool debug, cudaStream_t s) {
  if (debug)
    cudaDeviceSynchronize();
}

// Asking until the device is done is waiting; asking once is not. Which it is, the
// calls do not tell.
// POLLS-NOT: {{^ *}}host_synchronization (
// POLLS: undecided: host_synchronization
// POLLS: cudaEventQuery at host.cu:[[#@LINE+7]] asks whether the device is done
// POLLS: cudaStreamQuery at host.cu:[[#@LINE+9]] asks whether the device is done
void polls(const float *x, float *y, cudaStream_t s) {
  static cudaEvent_t done;
  cudaEventCreate(&done);
  a<<<1, 32, 0, s>>>(x, y);
  cudaEventRecord(done, s);
  while (cudaEventQuery(done) == cudaErrorNotReady) {
  }
  for (;;)
    if (cudaStreamQuery(s) == cudaSuccess)
      break;
}
