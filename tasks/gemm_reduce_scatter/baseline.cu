// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gemm_reduce_scatter: one cublasLtMatmul to bf16 in this
// rank's scratch, then NCCL's reduce-scatter, on the same stream. NVLink SHARP
// is off, as for submissions. The first call of each rank has to be made by all
// ranks at once; it makes the communicators, chooses the algorithm, allocates
// and waits. Later calls do not.

#include "d2k_gemm_reduce_scatter.h"

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
  text = getPlanner(0).getIdentity() + ", then " +
         baseline::Communicators::getIdentity() +
         " reduce-scatter without NVLS";
  return text.c_str();
}

extern "C" int d2k_gemm_reduce_scatter(const d2k_gemm_reduce_scatter_args *args,
                                       void *workspace, size_t workspace_bytes,
                                       cudaStream_t stream) {
  size_t count = size_t(args->M / args->world * args->N);
  if (args->scratch_bytes < count * size_t(args->world) * sizeof(__nv_bfloat16))
    return cudaErrorInvalidValue;
  ncclComm_t comm;
  if (int error = getCommunicators().get(comm, args->world, args->rank))
    return error;
  void *partial = args->scratch[args->rank];
  baseline::Matmul product;
  product.m = args->M;
  product.n = args->N;
  product.k = args->K;
  product.x = args->X[args->rank];
  product.w = args->W[args->rank];
  product.d = partial;
  if (int error = getPlanner(args->rank)
                      .run(product, workspace, workspace_bytes, stream))
    return error;
  return baseline::toError(ncclReduceScatter(
      partial, args->Y, count, ncclBfloat16, ncclSum, comm, stream));
}
