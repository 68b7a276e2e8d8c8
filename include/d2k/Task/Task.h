// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A benchmark task: one operation with its tensors, workloads and tolerance, as
// docs/TaskFormat.md describes the file. Loading checks the schema and that all
// expressions parse and name axes; lint (d2k/Task/Lint.h) checks the rest.

#ifndef D2K_TASK_TASK_H
#define D2K_TASK_TASK_H

#include "d2k/Support/Json.h"
#include "d2k/Task/DType.h"
#include "d2k/Task/Expression.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::task {

//===----------------------------------------------------------------------===//
// Types of elements
//===----------------------------------------------------------------------===//

/// "bfloat16"
std::string_view getDTypeName(DType type);
/// Inverse of getDTypeName.
std::optional<DType> parseDType(std::string_view name);
/// Bits of an element: 4 to 64.
unsigned getBitWidth(DType type);
/// The type's name in C, or "void" for types that C does not have.
std::string_view getCType(DType type);
/// Half an ulp relative to the value for floating-point types, 2^-p with p
/// significant bits: what one rounding to nearest costs at most. 0 for
/// integers.
double getHalfUlp(DType type);

//===----------------------------------------------------------------------===//
// Parts of a task
//===----------------------------------------------------------------------===//

enum class AxisKind : uint8_t {
  /// Set by each workload.
  Variable,
  /// Fixed by the task.
  Constant,
  /// Set by the machine: the number of ranks.
  Machine,
};

struct Axis {
  std::string name;
  AxisKind kind = AxisKind::Variable;
  /// For Constant.
  int64_t value = 0;
  /// For Machine: the values it can have.
  std::vector<int64_t> values;
  std::string description;
};

enum class DistributionKind : uint8_t {
  Normal,
  Uniform,
  Constant,
  Integers,
  Generator,
  /// Made by the task's reference.cu from the other inputs and a seed.
  Derived,
};

/// How the harness draws an input.
struct Distribution {
  DistributionKind kind = DistributionKind::Normal;
  /// Normal.
  double mean = 0, stddev = 1;
  /// Normal: values are divided by the square root of this.
  std::optional<Expression> inverseSqrtOf;
  /// Uniform and Integers (both ends included).
  double low = 0, high = 0;
  /// Constant.
  double value = 0;
  /// Generator.
  std::string generator;
  json::Value parameters;
};

enum class Layout : uint8_t {
  /// Contiguous, last axis fastest.
  RowMajor,
  /// By `strides`, in elements.
  Strided,
};

/// An input or output.
struct Tensor {
  std::string name;
  bool isOutput = false;
  /// No shape: a scalar that is passed by value.
  bool isScalar = false;
  std::vector<Expression> shape;
  DType type = DType::Float32;
  Layout layout = Layout::RowMajor;
  /// One an axis when Strided.
  std::vector<Expression> strides;
  /// Input: a weight that `prepare` may repack.
  bool isConstant = false;
  /// Input: every rank has its own, and each can read those of all.
  bool hasPeers = false;
  /// Output: also read. It holds what its distribution says before each call.
  bool isInPlace = false;
  /// Output: must have the same bits on every rank.
  bool isReplicated = false;
  std::string description;
  /// Inputs have one, and outputs that are in place.
  std::optional<Distribution> distribution;
};

enum class ToleranceRule : uint8_t {
  /// Elementwise and condition-aware, and the rms of the whole output.
  Product,
  /// A multiple of the error of a working-precision reference.
  ReferenceError,
  Exact,
  /// A named rule of the harness.
  Acceptance,
};

struct Tolerance {
  ToleranceRule rule = ToleranceRule::Exact;
  double factor = 0;
  /// Product: the second term is factor * 2^-accumulatorBits * S.
  int64_t accumulatorBits = 0;
  double rmsRatio = 0;
  std::string workingPrecision;
  /// Acceptance; the parameters are an object or null.
  std::string name;
  json::Value parameters;
  /// Where the bound comes from.
  std::string source;
};

/// Where a workload's shape comes from.
struct ShapeSource {
  std::string model, layer, config, note;
  json::Value fields;
};

struct Workload {
  std::string id;
  bool isHeldOut = false;
  bool isRagged = false;
  /// Values of the Variable axes.
  AxisValues axes;
  /// Distributions that replace those of the inputs.
  std::map<std::string, Distribution> inputs;
  /// Counts that replace those of the task.
  std::optional<Expression> flops, bytes;
  ShapeSource source;
};

/// A correctness trial beside those that draw the inputs as the workload says.
struct Trial {
  std::string id;
  /// What it is there to find.
  std::string description;
  /// Every partial sum is exact in the accumulator, so the output must be the
  /// rounded exact result, bit for bit.
  bool isExact = false;
  /// Distributions that replace those of the inputs and of the workload.
  std::map<std::string, Distribution> inputs;
};

/// Memory of a task on several GPUs that every rank can read and write.
struct Symmetric {
  /// Bytes of scratch on each rank, with undefined contents.
  Expression scratchBytes = Expression::makeConstant(0);
  /// 32-bit words on each rank, zero before the first call and never reset.
  Expression signalWords = Expression::makeConstant(0);
};

//===----------------------------------------------------------------------===//
// The task
//===----------------------------------------------------------------------===//

/// Bytes of workspace of a task that asks for no other size.
inline constexpr int64_t kDefaultWorkspaceBytes = int64_t(64) << 20;

struct Task {
  std::string name, title, opType, description;
  std::vector<std::string> tags;
  std::vector<Axis> axes;
  std::vector<Expression> constraints;
  /// In the order of the argument structure.
  std::vector<Tensor> inputs, outputs;
  /// By output.
  std::map<std::string, Tolerance> tolerance;
  Expression flops = Expression::makeConstant(0);
  Expression bytes = Expression::makeConstant(0);
  std::vector<Workload> workloads, heldOut;
  std::vector<Trial> trials;
  /// Bytes that every rank has to receive from its peers; 0 on one GPU.
  Expression peerBytes = Expression::makeConstant(0);
  Expression workspaceBytes = Expression::makeConstant(kDefaultWorkspaceBytes);
  std::optional<Symmetric> symmetric;
  /// Libraries that baseline.cu is linked with: "cublasLt" for -lcublasLt.
  std::vector<std::string> baselineLibraries;

  /// Reads `task.json` at \p path.
  static Result<Task> load(const std::string &path);
  /// Takes a parsed document. Faults of the schema are reported all at once,
  /// one a line.
  static Result<Task> fromDocument(const json::Document &document);

  /// The axis, workload (also held-out) or tensor of that name, or null.
  const Axis *findAxis(std::string_view axis) const;
  const Workload *findWorkload(std::string_view id) const;
  const Tensor *findTensor(std::string_view tensor) const;

  /// Values of all axes in \p workload: its own, the constant ones, and
  /// \p machine for Machine axes (their smallest value where it has none).
  AxisValues getAxisValues(const Workload &workload,
                           const AxisValues &machine = {}) const;
  /// Compulsory FLOP and bytes of one call; never negative.
  Result<int64_t> getFlops(const Workload &workload,
                           const AxisValues &machine = {}) const;
  Result<int64_t> getBytes(const Workload &workload,
                           const AxisValues &machine = {}) const;
  /// Bytes that a rank has to receive, and bytes of workspace.
  Result<int64_t> getPeerBytes(const Workload &workload,
                               const AxisValues &machine = {}) const;
  Result<int64_t> getWorkspaceBytes(const Workload &workload,
                                    const AxisValues &machine = {}) const;
  /// Sizes of \p tensor; empty for a scalar. Fails on a negative size.
  Result<std::vector<int64_t>> getShape(const Tensor &tensor,
                                        const AxisValues &axes) const;
  /// Bytes that \p tensor occupies, up to its last element.
  Result<int64_t> getByteSize(const Tensor &tensor,
                              const AxisValues &axes) const;
  /// Some input is constant, so that the task has a `prepare` function.
  bool hasPrepare() const;
  /// Bytes of the memory for repacked constant inputs: kPrepareCap times
  /// theirs.
  Result<int64_t> getPreparedBytes(const AxisValues &axes) const;
  /// The axis whose value is the number of ranks, or null for one GPU.
  const Axis *findMachineAxis() const;
  /// How \p input, or an output that is in place, is drawn in \p trial (null:
  /// an ordinary one) of \p workload.
  const Distribution &getDistribution(const Tensor &input,
                                      const Workload &workload,
                                      const Trial *trial = nullptr) const;
};

/// `prepare` may use this many times the bytes of the constant inputs.
inline constexpr double kPrepareCap = 1.25;

/// Alignment of every tensor's base in bytes.
inline constexpr int64_t kBaseAlignment = 256;

/// The schema of task.json that this program was built with.
std::string_view getTaskSchemaText();

} // namespace d2k::task

#endif // D2K_TASK_TASK_H
