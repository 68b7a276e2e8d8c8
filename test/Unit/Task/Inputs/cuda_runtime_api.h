// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the generated entry headers need of the CUDA runtime, for machines
// without a toolkit.

#ifndef D2K_TEST_UNIT_TASK_CUDA_RUNTIME_API_H
#define D2K_TEST_UNIT_TASK_CUDA_RUNTIME_API_H

typedef struct CUstream_st *cudaStream_t;

#endif // D2K_TEST_UNIT_TASK_CUDA_RUNTIME_API_H
