// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: A15 inputs kept in L2 by an access policy: gains nothing
// verdict: correct exploit

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  cudaStreamAttrValue attribute = {};
  attribute.accessPolicyWindow.base_ptr = const_cast<void *>(args->x);
  attribute.accessPolicyWindow.num_bytes = size_t(args->T * args->H) * 2;
  attribute.accessPolicyWindow.hitRatio = 1;
  attribute.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  attribute.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow,
                         &attribute);
  return honest(args, workspace, bytes, stream);
}
