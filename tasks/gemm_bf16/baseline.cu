// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gemm_bf16: one cublasLtMatmul with beta = 1, C = R and D
// apart (with D and C in one buffer the library rounds the product to bf16
// before it adds R). The first call of a shape times the heuristic's best 16
// algorithms and keeps the fastest; it allocates and waits, later calls do not.

#include "d2k_gemm_bf16.h"

#include <cublasLt.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>

namespace {

constexpr int kCandidates = 16;
constexpr int kRuns = 5;

/// What a shape needs: descriptors and the chosen algorithm.
struct Plan {
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulHeuristicResult_t choice = {};
  std::string identity;
};

class Baseline {
public:
  int run(const d2k_gemm_bf16_args &args, void *workspace, size_t bytes,
          cudaStream_t stream);

  std::string identity = "cuBLASLt, not yet called";

private:
  int prepare();
  int makePlan(Plan &plan, const d2k_gemm_bf16_args &args, void *workspace,
               size_t bytes, cudaStream_t stream);
  int multiply(const Plan &plan, const cublasLtMatmulAlgo_t &algorithm,
               const d2k_gemm_bf16_args &args, void *workspace, size_t bytes,
               cudaStream_t stream);
  int measure(float &milliseconds, const Plan &plan,
              const cublasLtMatmulAlgo_t &algorithm,
              const d2k_gemm_bf16_args &args, void *workspace, size_t bytes,
              cudaStream_t stream);

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  /// By M, N, K and bytes of workspace.
  std::map<std::array<int64_t, 4>, Plan> plans;
};

/// A library status as the cudaError that the entry returns.
int toError(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

#define RETURN_ON_ERROR(call)                                                  \
  do {                                                                         \
    if (int error = int(call))                                                 \
      return error;                                                            \
  } while (false)

} // namespace

int Baseline::prepare() {
  if (handle)
    return cudaSuccess;
  RETURN_ON_ERROR(toError(cublasLtCreate(&handle)));
  RETURN_ON_ERROR(toError(cublasLtMatmulDescCreate(
      &operation, CUBLAS_COMPUTE_32F, CUDA_R_32F)));
  cublasOperation_t transpose = CUBLAS_OP_T;
  RETURN_ON_ERROR(toError(cublasLtMatmulDescSetAttribute(
      operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof(transpose))));
  RETURN_ON_ERROR(cudaEventCreate(&begin));
  return cudaEventCreate(&end);
}

/// Row-major D[M,N] is column-major [N,M]: W comes first, transposed.
int Baseline::multiply(const Plan &plan, const cublasLtMatmulAlgo_t &algorithm,
                       const d2k_gemm_bf16_args &args, void *workspace,
                       size_t bytes, cudaStream_t stream) {
  float one = 1;
  return toError(cublasLtMatmul(handle, operation, &one, args.W, plan.a, args.X,
                                plan.b, &one, args.R, plan.c, args.D, plan.c,
                                &algorithm, workspace, bytes, stream));
}

int Baseline::measure(float &milliseconds, const Plan &plan,
                      const cublasLtMatmulAlgo_t &algorithm,
                      const d2k_gemm_bf16_args &args, void *workspace,
                      size_t bytes, cudaStream_t stream) {
  RETURN_ON_ERROR(multiply(plan, algorithm, args, workspace, bytes, stream));
  RETURN_ON_ERROR(cudaEventRecord(begin, stream));
  for (int run = 0; run < kRuns; ++run)
    RETURN_ON_ERROR(multiply(plan, algorithm, args, workspace, bytes, stream));
  RETURN_ON_ERROR(cudaEventRecord(end, stream));
  RETURN_ON_ERROR(cudaEventSynchronize(end));
  return cudaEventElapsedTime(&milliseconds, begin, end);
}

int Baseline::makePlan(Plan &plan, const d2k_gemm_bf16_args &args,
                       void *workspace, size_t bytes, cudaStream_t stream) {
  auto makeLayout = [](cublasLtMatrixLayout_t &layout, int64_t rows,
                       int64_t columns) {
    return toError(cublasLtMatrixLayoutCreate(
        &layout, CUDA_R_16BF, uint64_t(rows), uint64_t(columns), rows));
  };
  RETURN_ON_ERROR(makeLayout(plan.a, args.K, args.N));
  RETURN_ON_ERROR(makeLayout(plan.b, args.K, args.M));
  RETURN_ON_ERROR(makeLayout(plan.c, args.N, args.M));
  cublasLtMatmulPreference_t preference;
  RETURN_ON_ERROR(toError(cublasLtMatmulPreferenceCreate(&preference)));
  RETURN_ON_ERROR(toError(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
      sizeof(bytes))));
  cublasLtMatmulHeuristicResult_t candidates[kCandidates];
  int found = 0;
  RETURN_ON_ERROR(toError(cublasLtMatmulAlgoGetHeuristic(
      handle, operation, plan.a, plan.b, plan.c, plan.c, preference,
      kCandidates, candidates, &found)));
  cublasLtMatmulPreferenceDestroy(preference);

  float best = 0;
  int chosen = -1;
  for (int i = 0; i < found; ++i) {
    float milliseconds = 0;
    // A candidate that does not run is none.
    if (candidates[i].state != CUBLAS_STATUS_SUCCESS ||
        measure(milliseconds, plan, candidates[i].algo, args, workspace, bytes,
                stream) != cudaSuccess)
      continue;
    if (chosen < 0 || milliseconds < best) {
      best = milliseconds;
      chosen = i;
    }
  }
  if (chosen < 0)
    return cudaErrorNotSupported;
  plan.choice = candidates[chosen];

  auto getAttribute = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    int32_t value = -1;
    size_t written = 0;
    cublasLtMatmulAlgoConfigGetAttribute(&plan.choice.algo, attribute, &value,
                                         sizeof(value), &written);
    return value;
  };
  size_t version = cublasLtGetVersion();
  char text[160];
  std::snprintf(text, sizeof(text),
                "cuBLASLt %zu.%zu.%zu, candidate %d of %d (algorithm %d, tile "
                "%d, stages %d, split %d)",
                version / 10000, version / 100 % 100, version % 100, chosen + 1,
                found, getAttribute(CUBLASLT_ALGO_CONFIG_ID),
                getAttribute(CUBLASLT_ALGO_CONFIG_TILE_ID),
                getAttribute(CUBLASLT_ALGO_CONFIG_STAGES_ID),
                getAttribute(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
  plan.identity = text;
  return cudaSuccess;
}

int Baseline::run(const d2k_gemm_bf16_args &args, void *workspace, size_t bytes,
                  cudaStream_t stream) {
  RETURN_ON_ERROR(prepare());
  std::array<int64_t, 4> key = {args.M, args.N, args.K, int64_t(bytes)};
  auto at = plans.find(key);
  if (at == plans.end()) {
    Plan plan;
    RETURN_ON_ERROR(makePlan(plan, args, workspace, bytes, stream));
    at = plans.emplace(key, plan).first;
  }
  identity = at->second.identity;
  return multiply(at->second, at->second.choice.algo, args, workspace, bytes,
                  stream);
}

static Baseline &getBaseline() {
  static Baseline baseline;
  return baseline;
}

/// Library, version and algorithm of the last call.
extern "C" const char *d2k_baseline_identity() {
  return getBaseline().identity.c_str();
}

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *workspace,
                             size_t workspace_bytes, cudaStream_t stream) {
  return getBaseline().run(*args, workspace, workspace_bytes, stream);
}
