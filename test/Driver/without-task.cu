// RUN: d2k-analyze --arch sm_90a --tiers source %s | FileCheck %s
// The rubric's item holds when one kernel has it for sure.
// RUN: d2k-analyze --arch sm_90a --tiers source --rubric %S/Inputs/own-rubric.json %s | FileCheck %s --check-prefix=SCORE
// RUN: d2k-analyze --arch sm_90a --tiers source --entry copies %s | FileCheck %s --check-prefix=ENTRY
//
// Without a task nothing says with which arguments host functions are called:
// what one of them launches under some arguments is launched. What depends on
// the environment still is not known, and an empty grid launches nothing.

#include <cstdlib>

__global__ void few(float *y) { y[threadIdx.x] = 1; }
__global__ void many(float *y) { y[threadIdx.x] = 2; }
__global__ void looped(float *y) { y[threadIdx.x] = 3; }
__global__ void first(float *y) { y[threadIdx.x] = 4; }
__global__ void second(float *y) { y[threadIdx.x] = 5; }
__global__ void guarded(float *y) { y[threadIdx.x] = 6; }
__global__ void empty(float *y) { y[threadIdx.x] = 7; }
__global__ void never(float *y) { y[threadIdx.x] = 8; }

// CHECK: {{^  }}empty(float*)
// CHECK-NEXT: not launched, no evidence: the launch at without-task.cu:[[#@LINE+22]] has an empty grid | 0 launch sites
// CHECK: {{^  }}few(float*)
// CHECK-NEXT: {{^    }}launched | 1 launch site |
// CHECK: {{^  }}first(float*)
// CHECK-NEXT: {{^    }}launched | 1 launch site |
// CHECK: {{^  }}guarded(float*)
// CHECK-NEXT: perhaps launched | 1 launch site |
// CHECK: {{^  }}looped(float*)
// CHECK-NEXT: {{^    }}launched | 1 launch site |
// CHECK: {{^  }}many(float*)
// CHECK-NEXT: {{^    }}launched | 1 launch site |
// CHECK: {{^  }}never(float*)
// CHECK-NEXT: not launched, no evidence: {{.*}} | 0 launch sites
// CHECK: {{^  }}second(float*)
// CHECK-NEXT: {{^    }}launched | 1 launch site |
void run(float *y, int n) {
  if (n < 128)
    few<<<1, 32>>>(y);
  else
    many<<<n / 128, 128>>>(y);
  for (int i = 0; i < n; ++i)
    looped<<<1, 32>>>(y);
  empty<<<0, 32>>>(y);
  if (getenv("GUARDED"))
    guarded<<<1, 32>>>(y);
}

// A program that compares kernels has them write the same memory.
void compare(float *y, int n) {
  first<<<n, 32>>>(y);
  second<<<n, 32>>>(y);
}

// Only what the named entry launches counts.
// ENTRY: {{^  }}few(float*)
// ENTRY-NEXT: not launched, no evidence: no path from copies() launches it
// ENTRY: {{^  }}second(float*)
// ENTRY-NEXT: {{^    }}launched | 1 launch site |
void copies(float *y) { second<<<1, 32>>>(y); }

// SCORE: Implementation score: 100.0 of 100
