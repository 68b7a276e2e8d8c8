// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with faults that a GPU leaves undefined, and what is said of them.
//
// REQUIRES: host-cuda
// RUN: %host-nvcc %s -o %t.so
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(0)" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(1)" 2>&1 | FileCheck %s --check-prefix=DIVERGED
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(2)" 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(3)" 2>&1 | FileCheck %s --check-prefix=ENDED
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(4)" 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(5)" 2>&1 | FileCheck %s --check-prefix=PAST
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(6)" 2>&1 | FileCheck %s --check-prefix=DIFFERENT
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(7)" 2>&1 | FileCheck %s --check-prefix=MASK
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(8)" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: %python -c "import ctypes; ctypes.CDLL('%t.so').run(9)" 2>&1 | FileCheck %s --check-prefix=NOT-ALLOWED
//
// NONE: no error
// DIVERGED: error: thread (32,0,0) of block (0,0,0): waits in line 41 at a barrier at which others wait in line 39
// DIVERGED-NEXT: unspecified launch failure
// ALONE: error: thread (0,0,0) of block (0,0,0) waits in __syncwarp for threads that never come
// ENDED: error: thread {{.*}} of block (0,0,0): __shfl_sync with the mask 0xffffffff, of which the lanes 0x00000002 have ended
// INDEX: error: thread (63,0,0) of block (0,0,0): {{.*}}faults.cu:54: the index 64 is outside of its array
// PAST: error: block (0,0,0) has written past the end of a shared array
// DIFFERENT: error: thread (1,0,0) of block (0,0,0): is in __any_sync while other lanes of its mask 0xffffffff are in __shfl_sync
// MASK: error: thread {{.*}} of block (0,0,0): __syncwarp with the mask 0x00000001, in which its own lane {{[0-9]+}} is not
// LARGE: error: invalid launch: a block has at most 227 KiB of shared memory
// NOT-ALLOWED: error: invalid launch: cudaFuncSetAttribute has not allowed so much dynamic shared memory

#include <cuda_runtime.h>

#include <cstdio>

__global__ void faulty(int fault, int *out) {
  __shared__ int values[64];
  extern __shared__ int dynamic[];
  unsigned i = threadIdx.x;
  if (fault == 1 && i < 32)
    __syncthreads();
  else
    __syncthreads();
  if (fault == 2 && i == 0)
    __syncwarp(3);
  if (fault == 3 && i == 1)
    return;
  if (fault == 3 && i == 0)
    __nanosleep(1);
  if (fault == 3)
    __shfl_sync(0xffffffff, i, 0);
  if (fault == 6)
    i == 0 ? __shfl_sync(0xffffffff, int(i), 0) : __any_sync(0xffffffff, 1);
  if (fault == 7)
    __syncwarp(1);
  values[fault == 4 ? i + 1 : i] = int(i);
  dynamic[fault == 5 ? i + 1 : i] = int(i);
  if (i == 0)
    *out = values[0];
}

extern "C" void run(int fault) {
  int out;
  int sharedBytes = fault == 8 ? 228 << 10 : fault == 9 ? 49 << 10 : 256;
  faulty<<<1, 64, sharedBytes>>>(fault, &out);
  std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
