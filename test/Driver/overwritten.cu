// REQUIRES: nvcc
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx %s | FileCheck %s
//
// Without a task: what a later launch writes to the same memory may take the place
// of an earlier result, or stand beside it. A copy to the host, or a kernel that
// reads it, is a use; of two branches only one runs.

__global__ void fast(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    b[i] = a[i];
}
__global__ void slow(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    b[i] = a[i] + 1;
}
__global__ void adds(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    b[i] += a[i];
}
__global__ void timed(const float *a, float *b) {
  b[threadIdx.x] = a[threadIdx.x] * 2;
}
__global__ void one(const float *a, float *b) {
  b[threadIdx.x] = a[threadIdx.x] * 3;
}
__global__ void other(const float *a, float *b) {
  b[threadIdx.x] = a[threadIdx.x] * 4;
}

// CHECK: {{^  }}adds(
// CHECK-NEXT: {{^    }}launched | 1 launch site
// CHECK: {{^  }}fast(
// CHECK-NEXT: perhaps without a result: what it writes to b is perhaps overwritten by the launch at
// CHECK-NEXT: overwritten.cu:[[#@LINE+11]]
// CHECK: {{^  }}one(
// CHECK-NEXT: {{^    }}launched | 1 launch site
// CHECK: {{^  }}other(
// CHECK-NEXT: {{^    }}launched | 1 launch site
// CHECK: {{^  }}slow(
// CHECK-NEXT: {{^    }}launched | 1 launch site
// CHECK: {{^  }}timed(
// CHECK-NEXT: {{^    }}launched | 1 launch site
void go(const float *a, float *b, int n) {
  fast<<<(n + 255) / 256, 256>>>(a, b, n);
  slow<<<(n + 255) / 256, 256>>>(a, b, n);
  adds<<<(n + 255) / 256, 256>>>(a, b, n);
}

void compare(const float *a, float *b, float *host, int n) {
  timed<<<1, 256>>>(a, b);
  cudaMemcpy(host, b, 1024, cudaMemcpyDeviceToHost);
  if (n < 128)
    one<<<1, 256>>>(a, b);
  else
    other<<<1, 256>>>(a, b);
}
