// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stand-in for cuBLASLt, so that baselines which call it run on the host: the
// functions that d2k/Baseline/CublasLt.h uses, computed by plain loops, with
// the layouts of operands and of scales that the library's documentation gives
// (cuBLAS 13, "Narrow Precision Data Types Usage"). What the documentation
// forbids is refused and printed. Of the algorithms that it proposes some do
// not run, as happens.

#include "d2k/Task/Numbers.h"
#include "include/Execution.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <vector>

using namespace d2k::task;

namespace {

/// What is behind the opaque descriptors.
struct Description {
  cublasOperation_t transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  cublasLtPointerMode_t pointerMode = CUBLASLT_POINTER_MODE_HOST;
  cublasLtMatmulMatrixScale_t scaleModeA =
      CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  cublasLtMatmulMatrixScale_t scaleModeB =
      CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  const void *scaleA = nullptr, *scaleB = nullptr;
};

struct Layout {
  cudaDataType type;
  int64_t rows, columns, leading;
};

struct Preference {
  size_t workspaceBytes = 0;
};

/// The algorithms: one that the heuristic knows not to run, one that runs, and
/// one that fails when it is called.
enum Algorithm : uint64_t { kNotSupported, kRuns, kFails };

Description &get(cublasLtMatmulDesc_t descriptor) {
  return *reinterpret_cast<Description *>(descriptor);
}
const Layout &get(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<const Layout *>(layout);
}

cublasStatus_t refuse(cublasStatus_t status, const char *why) {
  std::fprintf(stderr, "cuBLASLt on the host: %s\n", why);
  return status;
}

bool getType(DType &type, cudaDataType from) {
  switch (from) {
  case CUDA_R_32F:
    type = DType::Float32;
    return true;
  case CUDA_R_16BF:
    type = DType::BFloat16;
    return true;
  case CUDA_R_16F:
    type = DType::Float16;
    return true;
  case CUDA_R_8F_E4M3:
    type = DType::Float8E4M3FN;
    return true;
  case CUDA_R_4F_E2M1:
    type = DType::Float4E2M1;
    return true;
  default:
    return false;
  }
}

/// An operand as the product sees it: rows of K numbers each, in fp32. The
/// left one has a row for each row of the result, the right one for each
/// column.
struct Operand {
  const Layout &layout;
  bool isAlongK;
  cublasLtMatmulMatrixScale_t mode;
  const void *scales;

  int64_t getDepth() const { return isAlongK ? layout.rows : layout.columns; }
  int64_t getRows() const { return isAlongK ? layout.columns : layout.rows; }
  /// Of number \p i of \p row.
  float getScale(int64_t row, int64_t i) const;
  std::vector<float> read(const void *data) const;
};

/// Where a scale of a tiled layout is: tiles of 128 by 4 scales, row by row.
int64_t getTiled(int64_t outer, int64_t inner, int64_t innerCount) {
  int64_t padded = (innerCount + 3) / 4 * 4;
  int64_t tile = (inner / 4 * 4 + outer / 128 * padded) * 128;
  return tile + outer % 32 * 16 + outer % 128 / 32 * 4 + inner % 4;
}

float Operand::getScale(int64_t row, int64_t i) const {
  const auto *floats = static_cast<const float *>(scales);
  const auto *bytes = static_cast<const uint8_t *>(scales);
  int64_t depth = getDepth();
  switch (mode) {
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
    return floats[i / 128 * getRows() + row];
  case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F: {
    int64_t blocks = (depth + 127) / 128;
    return floats[row / 128 * ((blocks + 3) / 4 * 4) + i / 128];
  }
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
    return float(decodeElement(DType::Float8E8M0FNU,
                               bytes[getTiled(row, i / 32, depth / 32)]));
  case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3:
    return float(decodeElement(DType::Float8E4M3FN,
                               bytes[getTiled(row, i / 16, depth / 16)] & 127));
  default:
    return scales ? *floats : 1.0f;
  }
}

std::vector<float> Operand::read(const void *data) const {
  DType type = {};
  getType(type, layout.type);
  std::vector<float> values;
  for (int64_t row = 0; row < getRows(); ++row)
    for (int64_t i = 0; i < getDepth(); ++i) {
      int64_t at =
          isAlongK ? row * layout.leading + i : i * layout.leading + row;
      values.push_back(float(decodeElement(type, loadElement(type, data, at))) *
                       getScale(row, i));
    }
  return values;
}

Operand getLeft(const Description &description, const Layout &a) {
  return {a, description.transposeA == CUBLAS_OP_T, description.scaleModeA,
          description.scaleA};
}

Operand getRight(const Description &description, const Layout &b) {
  return {b, description.transposeB == CUBLAS_OP_N, description.scaleModeB,
          description.scaleB};
}

/// Why the library does not have this product, or null.
const char *findFault(const Description &description, const Layout &a,
                      const Layout &b, const Layout &d) {
  Operand left = getLeft(description, a), right = getRight(description, b);
  DType type;
  if (!getType(type, a.type) || !getType(type, d.type) || a.type != b.type)
    return "types that the stand-in does not have";
  if (left.getDepth() != right.getDepth() || left.getRows() != d.rows ||
      right.getRows() != d.columns)
    return "shapes that do not fit";
  if (a.leading < a.rows || b.leading < b.rows || d.leading < d.rows)
    return "a leading dimension below the number of rows";
  using Mode = cublasLtMatmulMatrixScale_t;
  Mode modes[] = {left.mode, right.mode};
  constexpr Mode kScalar = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  bool isNarrow = a.type == CUDA_R_8F_E4M3 || a.type == CUDA_R_4F_E2M1;
  if (!isNarrow)
    return left.scales || right.scales || modes[0] != kScalar ||
                   modes[1] != kScalar
               ? "scales of operands that are not narrow"
               : nullptr;
  if (!left.isAlongK || !right.isAlongK)
    return "narrow operands that are not both along k";
  // All matrices along 16 bytes.
  int bits = a.type == CUDA_R_4F_E2M1 ? 4 : 8;
  if (left.getDepth() * bits % 128 != 0 || d.rows * 2 % 16 != 0)
    return "narrow operands whose dimensions are not aligned to 16 bytes";
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  constexpr Mode kRow = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
  constexpr Mode kBlock = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  if (modes[0] == kRow || modes[0] == kBlock) {
    if (major != 9 || a.type != CUDA_R_8F_E4M3)
      return "scales of 128 columns, which only compute capability 9.0 has, "
             "and only for fp8";
    if ((modes[1] != kRow && modes[1] != kBlock) ||
        (modes[0] == kBlock && modes[1] == kBlock))
      return "scale modes that do not go together";
    if (d.rows % 4 != 0 || d.columns % 4 != 0)
      return "scales of 128 columns, and M or N is no multiple of 4";
    return nullptr;
  }
  constexpr Mode kTiled = CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
  constexpr Mode kTiledFp4 = CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
  if (modes[0] != modes[1])
    return "scale modes that do not go together";
  if (modes[0] == kTiled || modes[0] == kTiledFp4)
    return major < 10 ? "tiled scales, which compute capability 9.0 has not"
           : modes[0] != (bits == 4 ? kTiledFp4 : kTiled)
               ? "a scale mode of another type"
               : nullptr;
  return bits == 4 ? "e2m1 without scales of blocks" : nullptr;
}

/// \p value as an element of \p type.
float roundTo(DType type, float value) {
  return float(decodeElement(type, encodeElement(type, value)));
}

} // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  static char library;
  *handle = reinterpret_cast<cublasLtHandle_t>(&library);
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion() { return 130000; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *descriptor,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "sums that are not in fp32");
  *descriptor = reinterpret_cast<cublasLtMatmulDesc_t>(new Description);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  Description &description = get(descriptor);
  auto set = [&](auto &to) {
    if (bytes != sizeof(to))
      return refuse(CUBLAS_STATUS_INVALID_VALUE,
                    "an attribute of another size");
    std::memcpy(&to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(description.transposeA);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(description.transposeB);
  case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    return set(description.pointerMode);
  case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
    return set(description.scaleModeA);
  case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
    return set(description.scaleModeB);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    return set(description.scaleA);
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return set(description.scaleB);
  default:
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                  "an attribute that the stand-in does not have");
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, int64_t(rows), int64_t(columns), leading});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference *>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  auto &to = reinterpret_cast<Preference *>(preference)->workspaceBytes;
  if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ||
      bytes != sizeof(to))
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                  "a preference that the stand-in does not have");
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int most,
    cublasLtMatmulHeuristicResult_t results[], int *found) {
  *found = 0;
  if (const char *fault = findFault(get(descriptor), get(a), get(b), get(d)))
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, fault);
  if (get(c).type != get(d).type)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "C and D of two types");
  auto add = [&](Algorithm algorithm, cublasStatus_t state) {
    cublasLtMatmulHeuristicResult_t result = {};
    result.algo.data[0] = algorithm;
    result.workspaceSize =
        reinterpret_cast<Preference *>(preference)->workspaceBytes;
    result.state = state;
    results[(*found)++] = result;
  };
  if (most >= 3)
    add(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  add(kRuns, CUBLAS_STATUS_SUCCESS);
  if (most >= 3)
    add(kFails, CUBLAS_STATUS_SUCCESS);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoConfigAttributes_t,
    void *value, size_t bytes, size_t *written) {
  if (bytes != sizeof(int32_t))
    return CUBLAS_STATUS_INVALID_VALUE;
  auto number = int32_t(algorithm->data[0]);
  std::memcpy(value, &number, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor,
               const void *alpha, const void *dataA, cublasLtMatrixLayout_t a,
               const void *dataB, cublasLtMatrixLayout_t b, const void *beta,
               const void *dataC, cublasLtMatrixLayout_t c, void *dataD,
               cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
               void *workspace, size_t workspaceBytes, cudaStream_t) {
  const Description &description = get(descriptor);
  if (algorithm->data[0] != kRuns)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (const char *fault = findFault(description, get(a), get(b), get(d)))
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, fault);
  if ((reinterpret_cast<uintptr_t>(dataA) | reinterpret_cast<uintptr_t>(dataB) |
       reinterpret_cast<uintptr_t>(dataD)) %
          16 !=
      0)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                  "a matrix that is not aligned to 16 bytes");
  if (d2k::host::isWorkLeftOut())
    return CUBLAS_STATUS_SUCCESS;
  // What is there is the library's.
  constexpr size_t kMost = 1 << 20;
  size_t overwritten = workspaceBytes < kMost ? workspaceBytes : kMost;
  std::memset(workspace, 0xff, overwritten);
  std::memset(static_cast<char *>(workspace) + workspaceBytes - overwritten,
              0xff, overwritten);

  // Host and device are one here; the mode says whose memory it should be.
  float factor = *static_cast<const float *>(alpha);
  float addend = *static_cast<const float *>(beta);
  Operand left = getLeft(description, get(a));
  Operand right = getRight(description, get(b));
  std::vector<float> x = left.read(dataA), y = right.read(dataB);
  int64_t depth = left.getDepth();
  DType type = {};
  getType(type, get(d).type);
  for (int64_t column = 0; column < get(d).columns; ++column)
    for (int64_t row = 0; row < get(d).rows; ++row) {
      float sum = 0;
      for (int64_t i = 0; i < depth; ++i)
        sum += x[size_t(row * depth + i)] * y[size_t(column * depth + i)];
      sum *= factor;
      if (addend != 0) {
        // With one buffer for both, an H200's product is rounded first.
        if (dataC == dataD)
          sum = roundTo(type, sum);
        int64_t at = column * get(c).leading + row;
        sum +=
            addend * float(decodeElement(type, loadElement(type, dataC, at)));
      }
      storeElement(type, dataD, column * get(d).leading + row,
                   encodeElement(type, sum));
    }
  return CUBLAS_STATUS_SUCCESS;
}
