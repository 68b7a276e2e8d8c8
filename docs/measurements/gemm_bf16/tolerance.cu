// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calibrates the tolerance of the task gemm_bf16: how far good and bad ways of
// computing D = bf16(X . W^T + R) are from an fp64 reference, in units of the
// elementwise bound 2^-8 |r| + 64 * 2^-23 S and of the rms of one rounding.
//   nvcc -arch=sm_90a -O3 tolerance.cu -lcublasLt -lcublas -o tolerance
//   ./tolerance

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using Bf16 = __nv_bfloat16;

static void check(cudaError_t status) {
  if (status == cudaSuccess)
    return;
  std::fprintf(stderr, "error: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

static void check(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return;
  std::fprintf(stderr, "error: %s\n", cublasGetStatusString(status));
  std::exit(1);
}

/// A standard normal number from a counter (mixer of splitmix64, Box-Muller).
__device__ float normal(uint64_t index, uint64_t stream) {
  uint64_t z = index * 0x9E3779B97F4A7C15ull + stream * 0xD1B54A32D192ED03ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  float radius = sqrtf(-2 * logf((uint32_t(z >> 32) + 1.f) / 4294967808.f));
  return radius * cospif(2 * (uint32_t(z) / 4294967296.f));
}

__global__ void fill(Bf16 *to, int64_t count, uint64_t stream, float scale) {
  int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    to[i] = Bf16(normal(i, stream) * scale);
}

enum Way {
  kFp32,      // sequential fp32 sum, R added, one rounding
  kLibrary,   // cublasLtMatmul, beta 1, C = R, D elsewhere
  kInPlace,   // cublasLtMatmul, beta 1, C = D holds R
  kGemmEx,    // cublasGemmEx, beta 1, C holds R
  kTwoRounds, // product rounded to bf16, then R added and rounded
  kFp8,       // operands rounded to e4m3
  kBf16Sums,  // sums rounded to bf16 every 64 of K
  kFp16Sums,  // sums rounded to fp16 after every step
  kSplitBf16, // the first half of K rounded to bf16
  kNumWays
};
static const char *const kNames[kNumWays] = {
    "fp32, one rounding",      "cublasLtMatmul, D apart",
    "cublasLtMatmul in place", "cublasGemmEx in place",
    "product rounded first",   "e4m3 operands",
    "bf16 sums every 64",      "fp16 sums",
    "half of K as bf16"};

/// Errors of one way over all samples.
struct Errors {
  double worst8;  // largest error over the bound with u = 2^-8
  double worst9;  // the same with u = 2^-9
  double squares; // sum of squared errors
};
__device__ Errors errors[kNumWays];
/// Largest error of an fp32 result without R, in units of 2^-23 S: tensor
/// cores, and the sequential sum.
__device__ double sumErrors[2];

__device__ void raise(double *to, double value) {
  // Non-negative doubles are ordered as their bits are.
  atomicMax(reinterpret_cast<unsigned long long *>(to),
            static_cast<unsigned long long>(__double_as_longlong(value)));
}

__device__ float asE4m3(float x, float scale) {
  return float(__nv_fp8_e4m3(x * scale)) / scale;
}

/// One thread computes one random element in all ways.
__global__ void compare(const Bf16 *X, const Bf16 *W, const Bf16 *R,
                        const Bf16 *apart, const Bf16 *inPlace,
                        const Bf16 *gemmEx, const float *tensor, int M, int N,
                        int K) {
  uint64_t thread = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  uint64_t random = (thread + 1) * 0x9E3779B97F4A7C15ull;
  int64_t m = (random >> 40) % M, n = (random >> 8 & 0xffffffff) % N;
  double exact = 0, magnitude = 0, fp8 = 0;
  float sum = 0, bf16Sum = 0, block = 0, split = 0;
  __half fp16Sum = 0;
  float root = sqrtf(float(K));
  for (int k = 0; k < K; ++k) {
    float x = X[m * K + k], w = W[n * K + k];
    exact += double(x) * w;
    magnitude += fabs(double(x) * w);
    fp8 += double(asE4m3(x, 64)) * asE4m3(w, 64 * root);
    sum += x * w;
    block += x * w;
    if (k % 64 == 63) {
      bf16Sum = Bf16(bf16Sum + block);
      block = 0;
    }
    split += x * w;
    if (k == K / 2 - 1)
      split = Bf16(split);
    fp16Sum = __half(float(fp16Sum) + x * w);
  }
  int64_t at = m * N + n;
  raise(&sumErrors[0], fabs(tensor[at] - exact) / magnitude * 8388608);
  raise(&sumErrors[1], fabs(sum - exact) / magnitude * 8388608);

  float r = R[at];
  exact += r;
  magnitude += fabs(r);
  float results[kNumWays];
  results[kFp32] = Bf16(sum + r);
  results[kLibrary] = apart[at];
  results[kInPlace] = inPlace[at];
  results[kGemmEx] = gemmEx[at];
  results[kTwoRounds] = Bf16(float(Bf16(sum)) + r);
  results[kFp8] = Bf16(float(fp8) + r);
  results[kBf16Sums] = Bf16(bf16Sum + r);
  results[kFp16Sums] = Bf16(float(fp16Sum) + r);
  results[kSplitBf16] = Bf16(split + r);
  for (int way = 0; way < kNumWays; ++way) {
    double error = fabs(results[way] - exact);
    double second = 64 * magnitude / 8388608;
    raise(&errors[way].worst8, error / (fabs(exact) / 256 + second));
    raise(&errors[way].worst9, error / (fabs(exact) / 512 + second));
    atomicAdd(&errors[way].squares, error * error);
  }
}

/// D = X . W^T + beta * C with the first algorithm of the heuristic. Row-major
/// D[M,N] is column-major [N,M]: W comes first.
static void multiply(cublasLtHandle_t handle, cudaDataType_t type, float beta,
                     const void *X, const void *W, const void *C, void *D,
                     int M, int N, int K, void *workspace, size_t bytes) {
  cublasLtMatmulDesc_t operation;
  check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  cublasOperation_t transpose = CUBLAS_OP_T;
  check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                       &transpose, sizeof(transpose)));
  cublasLtMatrixLayout_t a, b, c;
  check(cublasLtMatrixLayoutCreate(&a, CUDA_R_16BF, K, N, K));
  check(cublasLtMatrixLayoutCreate(&b, CUDA_R_16BF, K, M, K));
  check(cublasLtMatrixLayoutCreate(&c, type, N, M, N));
  cublasLtMatmulPreference_t preference;
  check(cublasLtMatmulPreferenceCreate(&preference));
  check(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
      sizeof(bytes)));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, c, c,
                                       preference, 1, &result, &found));
  float alpha = 1;
  check(cublasLtMatmul(handle, operation, &alpha, W, a, X, b, &beta, C, c, D, c,
                       &result.algo, workspace, bytes, nullptr));
}

int main() {
  cublasHandle_t blas;
  cublasLtHandle_t lt;
  check(cublasCreate(&blas));
  check(cublasLtCreate(&lt));
  size_t workspaceBytes = size_t(64) << 20;
  void *workspace;
  check(cudaMalloc(&workspace, workspaceBytes));
  std::printf("cuBLASLt %zu, 65536 random elements a shape\n",
              cublasLtGetVersion());
  const int shapes[][3] = {{8192, 8192, 8192},  {4096, 4096, 14336},
                           {2048, 5120, 8192},  {1000, 6144, 4096},
                           {1536, 5120, 25600}, {77, 4096, 4096}};
  for (auto [M, N, K] : shapes) {
    int64_t outputs = int64_t(M) * N;
    Bf16 *X, *W, *R, *apart, *inPlace, *gemmEx;
    float *tensor;
    check(cudaMalloc(&X, 2 * int64_t(M) * K));
    check(cudaMalloc(&W, 2 * int64_t(N) * K));
    check(cudaMalloc(&tensor, 4 * outputs));
    for (Bf16 **buffer : {&R, &apart, &inPlace, &gemmEx})
      check(cudaMalloc(buffer, 2 * outputs));
    fill<<<1024, 256>>>(X, int64_t(M) * K, 1, 1);
    fill<<<1024, 256>>>(W, int64_t(N) * K, 2, 1 / sqrtf(float(K)));
    fill<<<1024, 256>>>(R, outputs, 3, 1);
    check(cudaMemcpy(inPlace, R, 2 * outputs, cudaMemcpyDefault));
    check(cudaMemcpy(gemmEx, R, 2 * outputs, cudaMemcpyDefault));
    multiply(lt, CUDA_R_16BF, 1, X, W, R, apart, M, N, K, workspace,
             workspaceBytes);
    multiply(lt, CUDA_R_16BF, 1, X, W, inPlace, inPlace, M, N, K, workspace,
             workspaceBytes);
    multiply(lt, CUDA_R_32F, 0, X, W, tensor, tensor, M, N, K, workspace,
             workspaceBytes);
    float one = 1;
    check(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, N, M, K, &one, W,
                       CUDA_R_16BF, K, X, CUDA_R_16BF, K, &one, gemmEx,
                       CUDA_R_16BF, N, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT));
    Errors host[kNumWays] = {};
    double hostSums[2] = {};
    check(cudaMemcpyToSymbol(errors, host, sizeof(host)));
    check(cudaMemcpyToSymbol(sumErrors, hostSums, sizeof(hostSums)));
    compare<<<256, 256>>>(X, W, R, apart, inPlace, gemmEx, tensor, M, N, K);
    check(cudaMemcpyFromSymbol(host, errors, sizeof(host)));
    check(cudaMemcpyFromSymbol(hostSums, sumErrors, sizeof(hostSums)));
    std::printf("M=%d N=%d K=%d: fp32 sums err by %.2f (tensor cores) and %.2f "
                "(sequential) x 2^-23 S\n",
                M, N, K, hostSums[0], hostSums[1]);
    for (int way = 0; way < kNumWays; ++way)
      std::printf("  %-24s %8.3f of the bound (%8.3f with 2^-9)  rms %7.3f\n",
                  kNames[way], host[way].worst8, host[way].worst9,
                  sqrt(host[way].squares / host[kFp32].squares));
    for (void *buffer : {(void *)X, (void *)W, (void *)R, (void *)apart,
                         (void *)inPlace, (void *)gemmEx, (void *)tensor})
      check(cudaFree(buffer));
  }
  return 0;
}
