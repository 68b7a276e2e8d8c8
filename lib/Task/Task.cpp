// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads task.json into the model and answers questions about sizes. The schema
// is checked first, so that reading may rely on kinds and required members.

#include "d2k/Task/Task.h"

#include "d2k/Support/JsonSchema.h"

#include <algorithm>
#include <cmath>

using namespace d2k;
using namespace d2k::task;
using json::Cursor;

namespace d2k::embedded {
extern const char *const taskSchema;
} // namespace d2k::embedded

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

namespace {

struct DTypeRow {
  std::string_view name;
  unsigned bits;
  std::string_view cType;
  /// Significant bits with the hidden one; 0 for integers.
  int precision;
};

} // namespace

/// In the order of the enumerators.
static constexpr DTypeRow kDTypes[] = {
    {"float64", 64, "double", 53},    {"float32", 32, "float", 24},
    {"float16", 16, "void", 11},      {"bfloat16", 16, "void", 8},
    {"float8_e4m3fn", 8, "void", 4},  {"float8_e5m2", 8, "void", 3},
    {"float8_e8m0fnu", 8, "void", 1}, {"float4_e2m1", 4, "void", 2},
    {"int64", 64, "int64_t", 0},      {"int32", 32, "int32_t", 0},
    {"int16", 16, "int16_t", 0},      {"int8", 8, "int8_t", 0},
    {"uint8", 8, "uint8_t", 0},       {"uint4", 4, "void", 0},
    {"bool", 8, "uint8_t", 0},
};

static const DTypeRow &getRow(DType type) {
  return kDTypes[static_cast<size_t>(type)];
}

std::string_view d2k::task::getDTypeName(DType type) {
  return getRow(type).name;
}

std::optional<DType> d2k::task::parseDType(std::string_view name) {
  for (size_t i = 0; i < std::size(kDTypes); ++i)
    if (kDTypes[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

unsigned d2k::task::getBitWidth(DType type) { return getRow(type).bits; }

std::string_view d2k::task::getCType(DType type) { return getRow(type).cType; }

double d2k::task::getHalfUlp(DType type) {
  int precision = getRow(type).precision;
  return precision == 0 ? 0.0 : std::ldexp(1.0, -precision);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Calls \p action with the name of each member of \p object and a cursor.
template <typename ActionT>
static void forEachMember(const Cursor &object, ActionT action) {
  auto members = object.asObject();
  for (const auto &[name, member] : *members)
    action(name, member);
}

namespace {

/// Reads a document that conforms to the schema. What can still fail are
/// expressions; the first one that does is kept.
class Reader {
public:
  std::optional<Failure> failure;

  std::string readString(const Cursor &at, std::string_view name) {
    std::optional<Cursor> member = at.find(name);
    return member ? *member->getValue().getAsString() : std::string();
  }
  double readNumber(const Cursor &at, std::string_view name,
                    double otherwise = 0) {
    std::optional<Cursor> member = at.find(name);
    return member ? *member->getValue().getAsNumber() : otherwise;
  }
  int64_t readInteger(const Cursor &at) {
    Result<int64_t> value = at.asInteger();
    // 2.0 conforms as an integer and 1e30 does too.
    if (!value)
      keep(std::move(value.error()));
    return value.value_or(0);
  }
  bool readBoolean(const Cursor &at, std::string_view name) {
    std::optional<Cursor> member = at.find(name);
    return member && *member->getValue().getAsBoolean();
  }
  Expression readExpression(const Cursor &at);
  std::vector<Expression> readExpressions(const Cursor &at);
  Distribution readDistribution(const Cursor &at);
  Axis readAxis(const std::string &name, const Cursor &at);
  Tensor readTensor(const std::string &name, const Cursor &at, bool isOutput);
  Tolerance readTolerance(const Cursor &at);
  /// The member `inputs` of \p at, or nothing.
  std::map<std::string, Distribution> readDistributions(const Cursor &at);
  Workload readWorkload(const Cursor &at, bool isHeldOut);
  Trial readTrial(const Cursor &at);
  Task readTask(const Cursor &root);

private:
  void keep(Failure found) {
    if (!failure)
      failure = std::move(found);
  }

  std::vector<std::string> axisNames;
};

} // namespace

Expression Reader::readExpression(const Cursor &at) {
  if (at.getValue().isNumber())
    return Expression::makeConstant(readInteger(at));
  Result<Expression> expression =
      Expression::parse(*at.getValue().getAsString());
  if (!expression) {
    keep(at.fail(expression.error().message).value());
    return Expression::makeConstant(0);
  }
  for (const std::string &name : expression->getNames())
    if (std::find(axisNames.begin(), axisNames.end(), name) == axisNames.end())
      keep(at.fail("'" + name + "' is no axis").value());
  return *expression;
}

std::vector<Expression> Reader::readExpressions(const Cursor &at) {
  std::vector<Expression> list;
  for (size_t i = 0; i < at.getValue().getAsArray()->size(); ++i)
    list.push_back(readExpression(at.at(i)));
  return list;
}

Distribution Reader::readDistribution(const Cursor &at) {
  static constexpr std::string_view kKinds[] = {
      "normal", "uniform", "constant", "integers", "generator", "derived"};
  Distribution result;
  std::string kind = readString(at, "type");
  result.kind = static_cast<DistributionKind>(
      std::find(std::begin(kKinds), std::end(kKinds), kind) -
      std::begin(kKinds));
  result.mean = readNumber(at, "mean");
  result.stddev = readNumber(at, "std", 1);
  if (std::optional<Cursor> divisor = at.find("inverse_sqrt_of"))
    result.inverseSqrtOf = readExpression(*divisor);
  result.low = readNumber(at, "low");
  result.high = readNumber(at, "high");
  result.value = readNumber(at, "value");
  result.generator = readString(at, "name");
  if (std::optional<Cursor> parameters = at.find("parameters"))
    result.parameters = parameters->getValue();
  return result;
}

Axis Reader::readAxis(const std::string &name, const Cursor &at) {
  Axis axis;
  axis.name = name;
  axis.description = readString(at, "description");
  std::string kind = readString(at, "type");
  axis.kind = kind == "const"     ? AxisKind::Constant
              : kind == "machine" ? AxisKind::Machine
                                  : AxisKind::Variable;
  if (axis.kind == AxisKind::Constant)
    axis.value = readInteger(at.at("value"));
  if (axis.kind == AxisKind::Machine)
    for (size_t i = 0; i < at.at("values").getValue().getAsArray()->size(); ++i)
      axis.values.push_back(readInteger(at.at("values").at(i)));
  return axis;
}

Tensor Reader::readTensor(const std::string &name, const Cursor &at,
                          bool isOutput) {
  Tensor tensor;
  tensor.name = name;
  tensor.isOutput = isOutput;
  Cursor shape = at.at("shape");
  tensor.isScalar = shape.getValue().isNull();
  if (!tensor.isScalar)
    tensor.shape = readExpressions(shape);
  tensor.type = *parseDType(readString(at, "dtype"));
  if (readString(at, "layout") == "strided")
    tensor.layout = Layout::Strided;
  if (std::optional<Cursor> strides = at.find("strides"))
    tensor.strides = readExpressions(*strides);
  tensor.isConstant = readBoolean(at, "constant");
  tensor.hasPeers = readBoolean(at, "peers");
  tensor.isInPlace = readBoolean(at, "in_place");
  tensor.isReplicated = readBoolean(at, "replicated");
  tensor.description = readString(at, "description");
  if (std::optional<Cursor> distribution = at.find("distribution"))
    tensor.distribution = readDistribution(*distribution);
  return tensor;
}

Tolerance Reader::readTolerance(const Cursor &at) {
  static constexpr std::string_view kRules[] = {"product", "reference_error",
                                                "exact", "acceptance"};
  Tolerance result;
  std::string rule = readString(at, "rule");
  result.rule = static_cast<ToleranceRule>(
      std::find(std::begin(kRules), std::end(kRules), rule) -
      std::begin(kRules));
  result.factor = readNumber(at, "factor");
  if (std::optional<Cursor> bits = at.find("accumulator_bits"))
    result.accumulatorBits = readInteger(*bits);
  result.rmsRatio = readNumber(at, "rms_ratio");
  result.workingPrecision = readString(at, "working_precision");
  result.name = readString(at, "name");
  if (std::optional<Cursor> parameters = at.find("parameters"))
    result.parameters = parameters->getValue();
  result.source = readString(at, "source");
  return result;
}

std::map<std::string, Distribution>
Reader::readDistributions(const Cursor &at) {
  std::map<std::string, Distribution> result;
  if (std::optional<Cursor> inputs = at.find("inputs"))
    forEachMember(*inputs, [&](const std::string &name, const Cursor &input) {
      result[name] = readDistribution(input);
    });
  return result;
}

Workload Reader::readWorkload(const Cursor &at, bool isHeldOut) {
  Workload workload;
  workload.id = readString(at, "id");
  workload.isHeldOut = isHeldOut;
  workload.isRagged = readBoolean(at, "ragged");
  forEachMember(at.at("axes"),
                [&](const std::string &name, const Cursor &axis) {
                  workload.axes[name] = readInteger(axis);
                });
  workload.inputs = readDistributions(at);
  if (std::optional<Cursor> flops = at.find("flops"))
    workload.flops = readExpression(*flops);
  if (std::optional<Cursor> bytes = at.find("bytes"))
    workload.bytes = readExpression(*bytes);
  Cursor source = at.at("source");
  workload.source.model = readString(source, "model");
  workload.source.layer = readString(source, "layer");
  workload.source.config = readString(source, "config");
  workload.source.note = readString(source, "note");
  if (std::optional<Cursor> fields = source.find("fields"))
    workload.source.fields = fields->getValue();
  return workload;
}

Trial Reader::readTrial(const Cursor &at) {
  Trial trial;
  trial.id = readString(at, "id");
  trial.description = readString(at, "description");
  trial.isExact = readBoolean(at, "exact");
  trial.inputs = readDistributions(at);
  return trial;
}

Task Reader::readTask(const Cursor &root) {
  Task task;
  task.name = readString(root, "name");
  task.title = readString(root, "title");
  task.opType = readString(root, "op_type");
  task.description = readString(root, "description");
  if (std::optional<Cursor> tags = root.find("tags"))
    task.tags = tags->asStrings().value_or(std::vector<std::string>());
  forEachMember(root.at("axes"),
                [&](const std::string &name, const Cursor &at) {
                  task.axes.push_back(readAxis(name, at));
                  axisNames.push_back(name);
                });
  task.constraints = readExpressions(root.at("constraints"));
  forEachMember(
      root.at("inputs"), [&](const std::string &name, const Cursor &at) {
        task.inputs.push_back(readTensor(name, at, /*isOutput=*/false));
      });
  forEachMember(
      root.at("outputs"), [&](const std::string &name, const Cursor &at) {
        task.outputs.push_back(readTensor(name, at, /*isOutput=*/true));
      });
  forEachMember(root.at("tolerance"),
                [&](const std::string &name, const Cursor &at) {
                  task.tolerance[name] = readTolerance(at);
                });
  task.flops = readExpression(root.at("flops"));
  task.bytes = readExpression(root.at("bytes"));
  auto readWorkloads = [&](std::string_view name, bool isHeldOut) {
    std::vector<Workload> list;
    Cursor array = root.at(name);
    for (size_t i = 0; i < array.getValue().getAsArray()->size(); ++i)
      list.push_back(readWorkload(array.at(i), isHeldOut));
    return list;
  };
  task.workloads = readWorkloads("workloads", false);
  task.heldOut = readWorkloads("held_out", true);
  if (std::optional<Cursor> trials = root.find("trials"))
    for (size_t i = 0; i < trials->getValue().getAsArray()->size(); ++i)
      task.trials.push_back(readTrial(trials->at(i)));
  if (std::optional<Cursor> count = root.find("peer_bytes"))
    task.peerBytes = readExpression(*count);
  if (std::optional<Cursor> count = root.find("workspace_bytes"))
    task.workspaceBytes = readExpression(*count);
  if (std::optional<Cursor> symmetric = root.find("symmetric"))
    task.symmetric = {readExpression(symmetric->at("scratch_bytes")),
                      readExpression(symmetric->at("signal_words"))};
  if (std::optional<Cursor> libraries = root.find("baseline_libraries"))
    task.baselineLibraries =
        libraries->asStrings().value_or(std::vector<std::string>());
  return task;
}

std::string_view d2k::task::getTaskSchemaText() { return embedded::taskSchema; }

Result<Task> Task::fromDocument(const json::Document &document) {
  Result<json::Document> schemaDocument =
      json::Document::parse(getTaskSchemaText(), "task.schema.json");
  if (!schemaDocument)
    return forwardFailure(std::move(schemaDocument));
  Result<json::Schema> schema =
      json::Schema::create(std::move(*schemaDocument));
  if (!schema)
    return forwardFailure(std::move(schema));
  if (Result<void> conforms = schema->check(document); !conforms)
    return forwardFailure(std::move(conforms));
  Reader reader;
  Task task = reader.readTask(document.getRoot());
  if (reader.failure)
    return tl::unexpected<Failure>(std::move(*reader.failure));
  return task;
}

Result<Task> Task::load(const std::string &path) {
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return forwardFailure(std::move(document));
  return fromDocument(*document);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

template <typename T>
static const T *findByName(const std::vector<T> &list, std::string_view name) {
  for (const T &item : list)
    if (item.name == name)
      return &item;
  return nullptr;
}

const Axis *Task::findAxis(std::string_view axis) const {
  return findByName(axes, axis);
}

const Tensor *Task::findTensor(std::string_view tensor) const {
  const Tensor *found = findByName(inputs, tensor);
  return found ? found : findByName(outputs, tensor);
}

const Workload *Task::findWorkload(std::string_view id) const {
  for (const std::vector<Workload> *list : {&workloads, &heldOut})
    for (const Workload &workload : *list)
      if (workload.id == id)
        return &workload;
  return nullptr;
}

AxisValues Task::getAxisValues(const Workload &workload,
                               const AxisValues &machine) const {
  AxisValues values = workload.axes;
  for (const Axis &axis : axes) {
    if (axis.kind == AxisKind::Constant)
      values[axis.name] = axis.value;
    if (axis.kind != AxisKind::Machine)
      continue;
    auto given = machine.find(axis.name);
    values[axis.name] =
        given != machine.end()
            ? given->second
            : *std::min_element(axis.values.begin(), axis.values.end());
  }
  return values;
}

static Result<int64_t> evaluateCount(const char *what,
                                     const Expression &expression,
                                     const AxisValues &axes) {
  Result<int64_t> count = expression.evaluate(axes);
  if (!count)
    return fail(FailureKind::Input, std::string(what) + " `" +
                                        expression.getText() +
                                        "`: " + count.error().message);
  if (*count < 0)
    return fail(FailureKind::Input,
                std::string(what) + " `" + expression.getText() +
                    "` is negative: " + std::to_string(*count));
  return count;
}

Result<int64_t> Task::getFlops(const Workload &workload,
                               const AxisValues &machine) const {
  return evaluateCount("flops", workload.flops.value_or(flops),
                       getAxisValues(workload, machine));
}

Result<int64_t> Task::getBytes(const Workload &workload,
                               const AxisValues &machine) const {
  return evaluateCount("bytes", workload.bytes.value_or(bytes),
                       getAxisValues(workload, machine));
}

Result<int64_t> Task::getPeerBytes(const Workload &workload,
                                   const AxisValues &machine) const {
  return evaluateCount("peer_bytes", peerBytes,
                       getAxisValues(workload, machine));
}

Result<int64_t> Task::getWorkspaceBytes(const Workload &workload,
                                        const AxisValues &machine) const {
  return evaluateCount("workspace_bytes", workspaceBytes,
                       getAxisValues(workload, machine));
}

Result<std::vector<int64_t>> Task::getShape(const Tensor &tensor,
                                            const AxisValues &values) const {
  std::vector<int64_t> sizes;
  for (const Expression &expression : tensor.shape) {
    Result<int64_t> size = evaluateCount("size", expression, values);
    if (!size)
      return forwardFailure(std::move(size));
    sizes.push_back(*size);
  }
  return sizes;
}

Result<int64_t> Task::getByteSize(const Tensor &tensor,
                                  const AxisValues &values) const {
  Result<std::vector<int64_t>> shape = getShape(tensor, values);
  if (!shape)
    return forwardFailure(std::move(shape));
  auto overflow = [&] {
    return fail(FailureKind::Input,
                tensor.name + ": its size overflows 64 bits");
  };
  // Strided: one more than the offset of the last element.
  int64_t elements = 1;
  for (size_t i = 0; i < shape->size(); ++i) {
    int64_t size = (*shape)[i];
    if (size == 0)
      return 0;
    if (tensor.layout == Layout::RowMajor) {
      if (__builtin_mul_overflow(elements, size, &elements))
        return overflow();
      continue;
    }
    Result<int64_t> stride = evaluateCount("stride", tensor.strides[i], values);
    if (!stride)
      return stride;
    int64_t extent = 0;
    if (__builtin_mul_overflow(size - 1, *stride, &extent) ||
        __builtin_add_overflow(elements, extent, &elements))
      return overflow();
  }
  int64_t bits = 0;
  if (__builtin_mul_overflow(elements, int64_t(getBitWidth(tensor.type)),
                             &bits) ||
      bits > INT64_MAX - 7)
    return overflow();
  return (bits + 7) / 8;
}

bool Task::hasPrepare() const {
  for (const Tensor &input : inputs)
    if (input.isConstant)
      return true;
  return false;
}

Result<int64_t> Task::getPreparedBytes(const AxisValues &values) const {
  int64_t constants = 0;
  for (const Tensor &input : inputs) {
    if (!input.isConstant)
      continue;
    Result<int64_t> size = getByteSize(input, values);
    if (!size)
      return size;
    constants += *size;
  }
  return int64_t(double(constants) * kPrepareCap);
}

const Axis *Task::findMachineAxis() const {
  for (const Axis &axis : axes)
    if (axis.kind == AxisKind::Machine)
      return &axis;
  return nullptr;
}

const Distribution &Task::getDistribution(const Tensor &input,
                                          const Workload &workload,
                                          const Trial *trial) const {
  if (trial)
    if (auto own = trial->inputs.find(input.name); own != trial->inputs.end())
      return own->second;
  auto replaced = workload.inputs.find(input.name);
  return replaced != workload.inputs.end() ? replaced->second
                                           : *input.distribution;
}
