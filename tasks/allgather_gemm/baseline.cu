// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of allgather_gemm: NCCL's all-gather into this rank's scratch,
// then one cublasLtMatmul, on the same stream. NVLink SHARP is off, as for
// submissions. The first call of each rank has to be made by all ranks at once;
// it makes the communicators, chooses the algorithm, allocates and waits. Later
// calls do not.

#include "d2k_allgather_gemm.h"

#include "d2k/Baseline/CublasLt.h"
#include "d2k/Baseline/Nccl.h"

#include <cuda_bf16.h>

#include <string>

namespace baseline = d2k::baseline;

namespace {

baseline::Communicators &getCommunicators() {
  static baseline::Communicators communicators;
  return communicators;
}

/// One a rank: ranks are threads, and plans belong to a GPU.
baseline::MatmulPlanner &getPlanner(int64_t rank) {
  static baseline::MatmulPlanner planners[baseline::kMaxRanks];
  return planners[rank];
}

} // namespace

extern "C" const char *d2k_baseline_identity() {
  static std::string text;
  text = baseline::Communicators::getIdentity() +
         " all-gather without NVLS, then " + getPlanner(0).getIdentity();
  return text.c_str();
}

extern "C" int d2k_allgather_gemm(const d2k_allgather_gemm_args *args,
                                  void *workspace, size_t workspace_bytes,
                                  cudaStream_t stream) {
  size_t count = size_t(args->M / args->world * args->K);
  if (args->scratch_bytes < count * size_t(args->world) * sizeof(__nv_bfloat16))
    return cudaErrorInvalidValue;
  ncclComm_t comm;
  if (int error = getCommunicators().get(comm, args->world, args->rank))
    return error;
  void *all = args->scratch[args->rank];
  if (int error = baseline::toError(ncclAllGather(
          args->X[args->rank], all, count, ncclBfloat16, comm, stream)))
    return error;
  baseline::Matmul product;
  product.m = args->M;
  product.n = args->N;
  product.k = args->K;
  product.x = all;
  product.w = args->W[args->rank];
  product.d = args->Y;
  return getPlanner(args->rank)
      .run(product, workspace, workspace_bytes, stream);
}
