// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of tasks beyond their schema.

#include "d2k/Task/Lint.h"

#include "d2k/Task/Acceptance.h"
#include "d2k/Task/Inputs.h"
#include "d2k/Task/Trials.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace d2k;
using namespace d2k::task;

/// Tasks whose inputs may be repacked before the clock starts. A closed list:
/// time that moves into `prepare` is time that is not measured.
static constexpr std::string_view kPrepareTasks[] = {
    "gemm_nvfp4", "gemm_w4a16", "moe_grouped_gemm", "gemm_fp8_blockscaled"};

/// Words that cannot be fields in C or C++.
static constexpr std::string_view kReservedWords[] = {
    "alignas",  "alignof",   "and",      "asm",      "auto",     "bool",
    "break",    "case",      "catch",    "char",     "class",    "const",
    "continue", "default",   "delete",   "do",       "double",   "else",
    "enum",     "export",    "extern",   "false",    "float",    "for",
    "friend",   "goto",      "if",       "inline",   "int",      "long",
    "mutable",  "namespace", "new",      "not",      "operator", "or",
    "private",  "public",    "register", "requires", "restrict", "return",
    "short",    "signed",    "sizeof",   "static",   "struct",   "switch",
    "template", "this",      "throw",    "true",     "try",      "typedef",
    "typeid",   "typename",  "union",    "unsigned", "using",    "virtual",
    "void",     "volatile",  "while",    "xor"};

namespace {

class Linter {
public:
  Linter(const Task &task, std::string_view folder)
      : task(task), folder(folder) {}

  std::vector<std::string> run();

private:
  void report(const std::string &path, const std::string &message) {
    faults.push_back(path + ": " + message);
  }
  void checkNames();
  void checkTensor(const Tensor &tensor);
  void checkTolerance();
  void checkInputs(const std::map<std::string, Distribution> &inputs,
                   const std::string &path);
  void checkTrials();
  void checkRanks();
  void checkWorkload(const Workload &workload, const std::string &path);
  void checkWorkloadSizes(const Workload &workload, const std::string &path);
  void checkDraws(const Workload &workload, const AxisValues &values,
                  const std::string &path);

  const Task &task;
  std::string folder;
  std::vector<std::string> faults;
};

} // namespace

static std::string getPath(const Tensor &tensor) {
  return (tensor.isOutput ? "outputs." : "inputs.") + tensor.name;
}

void Linter::checkNames() {
  if (task.name != folder)
    report("name", "is \"" + task.name + "\" in the folder \"" + folder + "\"");
  std::set<std::string> names;
  auto addName = [&](const std::string &name, const std::string &path) {
    if (std::find(std::begin(kReservedWords), std::end(kReservedWords), name) !=
        std::end(kReservedWords))
      report(path, "\"" + name + "\" is a reserved word of C or C++");
    if (!names.insert(name).second)
      report(path, "\"" + name + "\" names another axis or tensor too");
  };
  if (task.hasPrepare()) {
    names.insert("prepared");
    names.insert("prepared_bytes");
  }
  if (task.findMachineAxis())
    names.insert("rank");
  if (task.symmetric)
    names.insert({"scratch", "scratch_bytes", "signals", "signal_words"});
  for (const Axis &axis : task.axes)
    addName(axis.name, "axes." + axis.name);
  for (const Tensor &tensor : task.inputs)
    addName(tensor.name, getPath(tensor));
  for (const Tensor &tensor : task.outputs)
    addName(tensor.name, getPath(tensor));
}

void Linter::checkTensor(const Tensor &tensor) {
  std::string path = getPath(tensor);
  if (tensor.layout == Layout::Strided &&
      tensor.strides.size() != tensor.shape.size())
    report(path + ".strides", "has " + std::to_string(tensor.strides.size()) +
                                  " entries for a shape of " +
                                  std::to_string(tensor.shape.size()));
  if (tensor.layout == Layout::RowMajor && !tensor.strides.empty())
    report(path + ".strides", "is given, but the layout is row_major");
  if (tensor.isScalar && getCType(tensor.type) == "void")
    report(path + ".dtype", "a scalar of type " +
                                std::string(getDTypeName(tensor.type)) +
                                " cannot be passed by value in C");
  if (tensor.isConstant &&
      std::find(std::begin(kPrepareTasks), std::end(kPrepareTasks),
                task.name) == std::end(kPrepareTasks))
    report(path + ".constant",
           "only gemm_nvfp4, gemm_w4a16, moe_grouped_gemm and "
           "gemm_fp8_blockscaled may have inputs that `prepare` repacks");
  if (tensor.isConstant && task.findMachineAxis())
    report(path + ".constant", "`prepare` is for tasks on one GPU");
  if (tensor.isScalar && tensor.hasPeers)
    report(path + ".peers", "is for tensors, and this is a scalar");
}

void Linter::checkRanks() {
  size_t machineAxes = 0;
  for (const Axis &axis : task.axes)
    machineAxes += axis.kind == AxisKind::Machine;
  if (machineAxes > 1)
    report("axes", "more than one is of type machine: the number of ranks is "
                   "one number");
  if (machineAxes != 0)
    return;
  std::string remedy = "needs an axis of type machine, the number of ranks";
  for (const Tensor &input : task.inputs)
    if (input.hasPeers)
      report(getPath(input) + ".peers", remedy);
  for (const Tensor &output : task.outputs)
    if (output.isReplicated)
      report(getPath(output) + ".replicated", remedy);
  if (task.symmetric)
    report("symmetric", remedy);
}

void Linter::checkInputs(const std::map<std::string, Distribution> &inputs,
                         const std::string &path) {
  for (const auto &[name, distribution] : inputs) {
    const Tensor *tensor = task.findTensor(name);
    if (!tensor || (tensor->isOutput && !tensor->isInPlace))
      report(path + ".inputs." + name, "is no input");
  }
}

void Linter::checkTrials() {
  std::set<std::string> ids = {std::string(kRandomTrial)};
  for (size_t i = 0; i < task.trials.size(); ++i) {
    const Trial &trial = task.trials[i];
    std::string path = json::joinIndex("trials", i);
    if (!ids.insert(trial.id).second)
      report(path + ".id", "\"" + trial.id +
                               "\" is another trial's too, or the name of the "
                               "ordinary ones");
    checkInputs(trial.inputs, path);
    for (const auto &[name, distribution] : trial.inputs)
      if (const Tensor *tensor = task.findTensor(name);
          tensor && tensor->isScalar)
        report(path + ".inputs." + name,
               "a scalar is part of the workload; no trial changes it");
  }
}

void Linter::checkTolerance() {
  for (const Tensor &output : task.outputs)
    if (!task.tolerance.count(output.name))
      report("tolerance",
             "has no entry for the output \"" + output.name + "\"");
  for (const auto &[name, tolerance] : task.tolerance) {
    const Tensor *tensor = task.findTensor(name);
    if (!tensor || !tensor->isOutput)
      report("tolerance." + name, "is no output");
    else if (getHalfUlp(tensor->type) == 0 &&
             tolerance.rule == ToleranceRule::Product)
      report("tolerance." + name,
             "the rule `product` is for floating-point outputs; \"" + name +
                 "\" is " + std::string(getDTypeName(tensor->type)));
    else if (tolerance.rule == ToleranceRule::Acceptance)
      if (Result<AcceptanceSpec> spec = getAcceptance(task, *tensor); !spec)
        report("tolerance." + name, spec.error().message);
  }
}

void Linter::checkWorkload(const Workload &workload, const std::string &path) {
  bool sound = true;
  for (const Axis &axis : task.axes)
    if (axis.kind == AxisKind::Variable && !workload.axes.count(axis.name)) {
      report(path + ".axes", "has no value for \"" + axis.name + "\"");
      sound = false;
    }
  for (const auto &[name, value] : workload.axes) {
    const Axis *axis = task.findAxis(name);
    if (!axis || axis->kind != AxisKind::Variable)
      report(path + ".axes." + name, "is no axis that a workload sets");
    else if (value < 0)
      report(path + ".axes." + name, "is negative: " + std::to_string(value));
  }
  checkInputs(workload.inputs, path);
  if (sound)
    checkWorkloadSizes(workload, path);
}

void Linter::checkDraws(const Workload &workload, const AxisValues &values,
                        const std::string &path) {
  auto check = [&](const Tensor &input, const Trial *trial) {
    const Distribution &distribution =
        task.getDistribution(input, workload, trial);
    if (input.isScalar && distribution.kind != DistributionKind::Constant)
      report(path, getPath(input) +
                       ": a scalar needs a distribution of type constant");
    if (distribution.kind == DistributionKind::Derived)
      return;
    Result<DrawSpec> spec = getDrawSpec(task, input, distribution, values);
    if (!spec)
      report(path, getPath(input) + (trial ? " in trial " + trial->id : "") +
                       ": " + spec.error().message);
  };
  for (const std::vector<Tensor> *list : {&task.inputs, &task.outputs})
    for (const Tensor &tensor : *list) {
      if (!tensor.distribution)
        continue;
      check(tensor, nullptr);
      for (const Trial &trial : task.trials)
        if (trial.inputs.count(tensor.name))
          check(tensor, &trial);
    }
}

void Linter::checkWorkloadSizes(const Workload &workload,
                                const std::string &path) {
  AxisValues values = task.getAxisValues(workload);
  for (const Expression &constraint : task.constraints) {
    Result<int64_t> holds = constraint.evaluate(values);
    if (!holds)
      report(path, "constraint `" + constraint.getText() +
                       "`: " + holds.error().message);
    else if (*holds == 0)
      report(path, "breaks the constraint `" + constraint.getText() + "`");
  }
  if (Result<int64_t> flops = task.getFlops(workload); !flops)
    report(path, flops.error().message);
  if (Result<int64_t> bytes = task.getBytes(workload); !bytes)
    report(path, bytes.error().message);
  if (Result<int64_t> bytes = task.getPeerBytes(workload); !bytes)
    report(path, bytes.error().message);
  if (Result<int64_t> bytes = task.getWorkspaceBytes(workload); !bytes)
    report(path, bytes.error().message);
  checkDraws(workload, values, path);
  auto checkSize = [&](const Tensor &tensor) {
    if (tensor.layout == Layout::Strided &&
        tensor.strides.size() != tensor.shape.size())
      return;
    if (Result<int64_t> bytes = task.getByteSize(tensor, values); !bytes) {
      report(path, getPath(tensor) + ": " + bytes.error().message);
      return;
    }
    if (getBitWidth(tensor.type) != 4 || tensor.shape.empty())
      return;
    Result<std::vector<int64_t>> shape = task.getShape(tensor, values);
    if (shape && shape->back() % 2 != 0)
      report(path, getPath(tensor) +
                       ": the last axis of a packed 4-bit tensor is odd: " +
                       std::to_string(shape->back()));
  };
  for (const Tensor &tensor : task.inputs)
    checkSize(tensor);
  for (const Tensor &tensor : task.outputs)
    checkSize(tensor);
}

std::vector<std::string> Linter::run() {
  checkNames();
  for (const Tensor &tensor : task.inputs)
    checkTensor(tensor);
  for (const Tensor &tensor : task.outputs)
    checkTensor(tensor);
  checkTolerance();
  checkRanks();
  checkTrials();
  std::set<std::string> ids;
  auto checkList = [&](const std::vector<Workload> &list, const char *name) {
    for (size_t i = 0; i < list.size(); ++i) {
      std::string path = json::joinIndex(name, i);
      if (!ids.insert(list[i].id).second)
        report(path + ".id",
               "\"" + list[i].id + "\" is another workload's too");
      checkWorkload(list[i], path);
    }
  };
  checkList(task.workloads, "workloads");
  checkList(task.heldOut, "held_out");
  return std::move(faults);
}

std::vector<std::string> d2k::task::lintTask(const Task &task,
                                             std::string_view folder) {
  return Linter(task, folder).run();
}
