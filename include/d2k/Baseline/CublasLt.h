// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by cuBLASLt for baselines, tuned: the first call of a shape times
// the heuristic's best algorithms and keeps the fastest; it allocates and
// waits, later calls do neither. Only for baseline.cu, which the harness
// compiles with this header's folder; the task names cublasLt in
// baseline_libraries.
//
//   static MatmulPlanner planner;
//   Matmul product;
//   product.m = ...; product.x = ...;
//   return planner.run(product, workspace, bytes, stream);

#ifndef D2K_BASELINE_CUBLASLT_H
#define D2K_BASELINE_CUBLASLT_H

#include "d2k/Baseline/CallTimer.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace d2k::baseline {

/// One product in the layout of the tasks, everything row-major and contiguous:
/// D[m,n] = alpha * sum over k of X[m,k] * W[n,k], plus C[m,n] if there is a C.
struct Matmul {
  int64_t m = 0, n = 0, k = 0;
  const void *x = nullptr, *w = nullptr;
  /// Added in fp32, or null. Not the buffer of d: with one buffer for both the
  /// library rounds the product before it adds.
  const void *c = nullptr;
  void *d = nullptr;
  cudaDataType_t inputType = CUDA_R_16BF;
  /// Of C and of D.
  cudaDataType_t outputType = CUDA_R_16BF;
  /// Scales of blocks of X and W, in the layout of their modes, or null.
  const void *xScale = nullptr, *wScale = nullptr;
  cublasLtMatmulMatrixScale_t xScaleMode =
      CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  cublasLtMatmulMatrixScale_t wScaleMode =
      CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  /// In device memory, or null for 1; without C only.
  const float *alpha = nullptr;
  /// Time the candidates after the workspace was overwritten, which takes
  /// operands out of caches that are not larger than it. For products whose
  /// operands would stay in the cache from one timed run to the next.
  bool tunesCold = false;
};

/// Runs products, each shape with the algorithm that was fastest.
class MatmulPlanner {
public:
  /// Enqueues \p product. The \p bytes of \p workspace are at the library's
  /// disposal. Returns a cudaError; cudaErrorNotSupported when no candidate
  /// runs this product.
  int run(const Matmul &product, void *workspace, size_t bytes,
          cudaStream_t stream) {
    if (int error = initialise())
      return error;
    Key key = {product.m,
               product.n,
               product.k,
               int64_t(bytes),
               product.inputType,
               product.outputType,
               product.xScaleMode,
               product.wScaleMode,
               product.c != nullptr,
               product.alpha != nullptr};
    auto at = plans.find(key);
    if (at == plans.end()) {
      Plan plan;
      if (int error = makePlan(plan, product, workspace, bytes, stream))
        return error;
      at = plans.emplace(key, plan).first;
    }
    identity = at->second.identity;
    return multiply(at->second, at->second.choice.algo, product, workspace,
                    bytes, stream);
  }

  /// Whether the library has an algorithm for \p product on this device; asks
  /// only, runs nothing.
  bool supports(const Matmul &product, size_t bytes) {
    Plan plan;
    cublasLtMatmulHeuristicResult_t candidate;
    int found = 0;
    return initialise() == cudaSuccess &&
           describe(plan, product) == cudaSuccess &&
           findCandidates(plan, bytes, 1, &candidate, found) == cudaSuccess &&
           found > 0;
  }

  /// Library, version and algorithm of the last product.
  const std::string &getIdentity() const { return identity; }

private:
  static constexpr int kCandidates = 16;
  using Key = std::array<int64_t, 10>;

  /// What a shape needs: descriptors and the chosen algorithm.
  struct Plan {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
    cublasLtMatmulHeuristicResult_t choice = {};
    std::string identity;
  };

  /// A library status as the cudaError that an entry returns.
  static int toError(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
  }

  int initialise() {
    if (handle)
      return cudaSuccess;
    if (int error = toError(cublasLtCreate(&handle)))
      return error;
    // The factor of C that goes with an alpha in device memory.
    if (int error = cudaMalloc(&zero, sizeof(float)))
      return error;
    return cudaMemset(zero, 0, sizeof(float));
  }

  template <typename T>
  static int setAttribute(cublasLtMatmulDesc_t operation,
                          cublasLtMatmulDescAttributes_t attribute,
                          const T &value) {
    return toError(cublasLtMatmulDescSetAttribute(operation, attribute, &value,
                                                  sizeof(value)));
  }

  /// Row-major D[M,N] is column-major [N,M]: W comes first, transposed.
  static int describe(Plan &plan, const Matmul &product) {
    auto makeLayout = [](cublasLtMatrixLayout_t &layout, cudaDataType_t type,
                         int64_t rows, int64_t columns) {
      return toError(cublasLtMatrixLayoutCreate(&layout, type, uint64_t(rows),
                                                uint64_t(columns), rows));
    };
    int error = toError(cublasLtMatmulDescCreate(
        &plan.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    if (!error)
      error = setAttribute(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA,
                           CUBLAS_OP_T);
    if (!error)
      error = makeLayout(plan.a, product.inputType, product.k, product.n);
    if (!error)
      error = makeLayout(plan.b, product.inputType, product.k, product.m);
    if (!error)
      error = makeLayout(plan.d, product.outputType, product.n, product.m);
    if (!error && product.alpha)
      error = setAttribute(plan.operation, CUBLASLT_MATMUL_DESC_POINTER_MODE,
                           CUBLASLT_POINTER_MODE_DEVICE);
    if (!error && product.wScale)
      error = setAttribute(plan.operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                           product.wScaleMode);
    if (!error && product.xScale)
      error = setAttribute(plan.operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                           product.xScaleMode);
    return error ? error : setScales(plan, product);
  }

  /// Where the scales are, which may differ between calls.
  static int setScales(const Plan &plan, const Matmul &product) {
    int error = cudaSuccess;
    if (product.wScale)
      error = setAttribute(plan.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                           product.wScale);
    if (!error && product.xScale)
      error = setAttribute(plan.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                           product.xScale);
    return error;
  }

  int findCandidates(const Plan &plan, size_t bytes, int most,
                     cublasLtMatmulHeuristicResult_t *candidates, int &found) {
    cublasLtMatmulPreference_t preference;
    if (int error = toError(cublasLtMatmulPreferenceCreate(&preference)))
      return error;
    int error = toError(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
        sizeof(bytes)));
    if (!error)
      error = toError(cublasLtMatmulAlgoGetHeuristic(
          handle, plan.operation, plan.a, plan.b, plan.d, plan.d, preference,
          most, candidates, &found));
    cublasLtMatmulPreferenceDestroy(preference);
    return error;
  }

  int multiply(const Plan &plan, const cublasLtMatmulAlgo_t &algorithm,
               const Matmul &product, void *workspace, size_t bytes,
               cudaStream_t stream) {
    if (int error = setScales(plan, product))
      return error;
    const float one = 1, beta = product.c ? 1.0f : 0.0f;
    const void *alpha = product.alpha ? product.alpha : &one;
    return toError(cublasLtMatmul(
        handle, plan.operation, alpha, product.w, plan.a, product.x, plan.b,
        product.alpha ? zero : static_cast<const void *>(&beta),
        product.c ? product.c : product.d, plan.d, product.d, plan.d,
        &algorithm, workspace, bytes, stream));
  }

  int measure(float &milliseconds, const Plan &plan,
              const cublasLtMatmulAlgo_t &algorithm, const Matmul &product,
              void *workspace, size_t bytes, cudaStream_t stream) {
    auto call = [&] {
      return multiply(plan, algorithm, product, workspace, bytes, stream);
    };
    return timer.measure(milliseconds, call,
                         product.tunesCold ? workspace : nullptr, bytes,
                         stream);
  }

  int makePlan(Plan &plan, const Matmul &product, void *workspace, size_t bytes,
               cudaStream_t stream) {
    cublasLtMatmulHeuristicResult_t candidates[kCandidates];
    int found = 0;
    if (int error = describe(plan, product))
      return error;
    if (int error = findCandidates(plan, bytes, kCandidates, candidates, found))
      return error;
    float best = 0;
    int chosen = -1;
    for (int i = 0; i < found; ++i) {
      float milliseconds = 0;
      // A candidate that does not run is none.
      if (candidates[i].state != CUBLAS_STATUS_SUCCESS ||
          measure(milliseconds, plan, candidates[i].algo, product, workspace,
                  bytes, stream) != cudaSuccess)
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
                  "cuBLASLt %zu.%zu.%zu, candidate %d of %d (algorithm %d, "
                  "tile %d, stages %d, split %d)",
                  version / 10000, version / 100 % 100, version % 100,
                  chosen + 1, found, getAttribute(CUBLASLT_ALGO_CONFIG_ID),
                  getAttribute(CUBLASLT_ALGO_CONFIG_TILE_ID),
                  getAttribute(CUBLASLT_ALGO_CONFIG_STAGES_ID),
                  getAttribute(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
    plan.identity = text;
    return cudaSuccess;
  }

  std::string identity = "cuBLASLt, not yet called";
  cublasLtHandle_t handle = nullptr;
  void *zero = nullptr;
  CallTimer timer;
  std::map<Key, Plan> plans;
};

} // namespace d2k::baseline

#endif // D2K_BASELINE_CUBLASLT_H
