// Why async_pipeline holds, nearly holds, is undecided or absent, in the
// author's lines.
// REQUIRES: nvcc
// RUN: d2k-analyze --arch sm_80 --tiers ptx --explain async_pipeline --kernel present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_80 --tiers ptx --explain async_pipeline --kernel nearly %s | FileCheck %s --check-prefix=NEARLY
// RUN: d2k-analyze --arch sm_80 --tiers ptx --explain async_pipeline --kernel either %s | FileCheck %s --check-prefix=EITHER
// RUN: d2k-analyze --arch sm_80 --tiers ptx --explain async_pipeline --kernel absent %s | FileCheck %s --check-prefix=ABSENT
// RUN: %python %S/Inputs/exit_code.py 2 d2k-analyze --explain async_pipelin %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %python %S/Inputs/exit_code.py 2 d2k-analyze --explain async_pipeline --format json %s 2>&1 | FileCheck %s --check-prefix=FORMAT
// UNKNOWN: --explain: no property 'async_pipelin'; did you mean async_pipeline?
// FORMAT: --explain prints text; leave out --format

__device__ __forceinline__ void copy(float *to, const float *from) {
  unsigned at = unsigned(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from)
               : "memory");
}
__device__ __forceinline__ void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kLeft>
__device__ __forceinline__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
__device__ __forceinline__ float dot(const float *x, float sum) {
#pragma unroll
  for (int i = 0; i < 32; ++i)
    sum += x[i] * x[(i + threadIdx.x) % 32];
  return sum;
}

// PRESENT: async_pipeline
// PRESENT-NEXT: holds when in the main region
// PRESENT: decided at ptx, sass
// PRESENT: present(
// PRESENT-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism cp_async), main region, loop L0, read at ptx
// PRESENT: because of
// PRESENT: {{explain.cu:[0-9]+.* cp.async}}
// PRESENT: {{^ *> *[0-9]+ \|   asm volatile\("cp.async.ca.shared.global}}
// PRESENT-NOT: nearly
__global__ void present(const float *x, float *y, int n) {
  __shared__ float slots[2][32];
  float sum = 0;
  copy(&slots[0][threadIdx.x], x + threadIdx.x);
  commit();
  for (int i = 0; i < n; ++i) {
    copy(&slots[(i + 1) % 2][threadIdx.x], x + (i + 1) * 32 + threadIdx.x);
    commit();
    wait<1>();
    __syncthreads();
    sum = dot(slots[i % 2], sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// NEARLY: nearly(
// NEARLY-NEXT: nearly: `cp.async.wait_group 0` at explain.cu:[[#]] drains the copy issued at explain.cu:[[#]]
// NEARLY-NEXT: nothing is in flight
// NEARLY: {{> *[0-9]+ \|   asm volatile\("cp.async.wait_group}}
// NEARLY: to make it hold: issue the copy of a later iteration before the products
// NEARLY-NOT: holds:
__global__ void nearly(const float *x, float *y, int n) {
  __shared__ float slots[2][32];
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    copy(&slots[i % 2][threadIdx.x], x + i * 32 + threadIdx.x);
    commit();
    wait<0>();
    __syncthreads();
    sum = dot(slots[i % 2], sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// EITHER: either(
// EITHER-NEXT: undecided: `cp.async.ca.shared.global` at
// EITHER: would decide: one wait on all ways
// EITHER-NOT: holds:
__global__ void either(const float *x, float *y, int n) {
  __shared__ float slots[2][32];
  float sum = 0;
  copy(&slots[0][threadIdx.x], x + threadIdx.x);
  commit();
  for (int i = 0; i < n; ++i) {
    copy(&slots[(i + 1) % 2][threadIdx.x], x + (i + 1) * 32 + threadIdx.x);
    commit();
    if (x[i] > 0)
      wait<1>();
    else
      wait<0>();
    __syncthreads();
    sum = dot(slots[i % 2], sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// ABSENT: absent(
// ABSENT-NEXT: absent: nothing in the code that runs reaches for it
// ABSENT-NEXT: to make it hold: write code of which this is true: in the main region
__global__ void absent(const float *x, float *y, int n) {
  __shared__ float slot[32];
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    slot[threadIdx.x] = x[i * 32 + threadIdx.x];
    __syncthreads();
    sum = dot(slot, sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}
