// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The task model: what a file says arrives, sizes and counts are right, and
// every fault is reported with its path.

#include "d2k/Task/Task.h"

#include "d2k/Support/Files.h"
#include "d2k/Task/Lint.h"

#include "TestPaths.h"
#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::task;

/// The first JSON block of docs/TaskFormat.md.
static std::string getDocumentedExample() {
  Result<std::string> page =
      readFile(test::getSourcePath("docs/TaskFormat.md"));
  EXPECT_TRUE(page) << page.error().message;
  size_t begin = page->find("```json\n") + 8;
  return page->substr(begin, page->find("```", begin) - begin);
}

/// The example with one piece of text replaced.
static std::string change(std::string_view from, std::string_view to) {
  std::string text = getDocumentedExample();
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

static Result<Task> parseTask(const std::string &text) {
  Result<json::Document> document = json::Document::parse(text, "task.json");
  if (!document)
    return forwardFailure(std::move(document));
  return Task::fromDocument(*document);
}

/// Faults of loading or, when there are none, of lint; one a line.
static std::string getFaults(const std::string &text,
                             std::string_view folder = "scaled_rows") {
  Result<Task> task = parseTask(text);
  if (!task)
    return task.error().message + "\n";
  std::string faults;
  for (const std::string &fault : lintTask(*task, folder))
    faults += fault + "\n";
  return faults;
}

TEST(Task, DocumentedExampleIsSound) {
  EXPECT_EQ(getFaults(getDocumentedExample()), "");
  Result<Task> task = parseTask(getDocumentedExample());
  ASSERT_TRUE(task);
  EXPECT_EQ(task->name, "scaled_rows");
  ASSERT_EQ(task->inputs.size(), 3u);
  // The order of the file is the order of the structure.
  EXPECT_EQ(task->inputs[0].name, "X");
  EXPECT_EQ(task->inputs[1].name, "s");
  EXPECT_TRUE(task->inputs[2].isScalar);
  EXPECT_EQ(task->inputs[0].distribution->inverseSqrtOf->getText(), "N");
  EXPECT_EQ(task->findAxis("G")->value, 128);
  EXPECT_FALSE(task->hasPrepare());
  const Workload *ragged = task->findWorkload("ragged");
  ASSERT_TRUE(ragged);
  EXPECT_TRUE(ragged->isRagged);
  EXPECT_EQ(ragged->inputs.at("X").stddev, 4.0);
  EXPECT_EQ(ragged->source.model, "Example-32B");
  EXPECT_TRUE(task->findWorkload("one_row")->isHeldOut);
  EXPECT_FALSE(task->findWorkload("none"));
  EXPECT_EQ(task->tolerance.at("Y").factor, 2.0);
}

TEST(Task, CountsAndSizes) {
  Result<Task> task = parseTask(getDocumentedExample());
  ASSERT_TRUE(task);
  const Workload &ragged = *task->findWorkload("ragged");
  // 2*333*5120
  EXPECT_EQ(*task->getFlops(ragged), 3409920);
  // 2*333*5120 + 4*333 + 2*333*5120
  EXPECT_EQ(*task->getBytes(ragged), 6821172);
  AxisValues axes = task->getAxisValues(ragged);
  EXPECT_EQ(axes.at("G"), 128);
  EXPECT_EQ(*task->getShape(*task->findTensor("X"), axes),
            (std::vector<int64_t>{333, 5120}));
  EXPECT_EQ(*task->getByteSize(*task->findTensor("X"), axes), 333 * 5120 * 2);
  EXPECT_EQ(*task->getByteSize(*task->findTensor("s"), axes), 333 * 4);
  // A scalar has one element.
  EXPECT_EQ(*task->getByteSize(*task->findTensor("alpha"), axes), 4);
}

TEST(Task, PackedAndStridedSizes) {
  Tensor tensor;
  tensor.shape = {Expression::makeConstant(3), Expression::makeConstant(10)};
  tensor.type = DType::UInt4;
  Task task;
  EXPECT_EQ(*task.getByteSize(tensor, {}), 15);
  // Rows 16 elements apart: the last element is 2*16 + 9, so 42 elements.
  tensor.layout = Layout::Strided;
  tensor.strides = {Expression::makeConstant(16), Expression::makeConstant(1)};
  tensor.type = DType::Float32;
  EXPECT_EQ(*task.getByteSize(tensor, {}), 42 * 4);
  tensor.shape[0] = Expression::makeConstant(0);
  EXPECT_EQ(*task.getByteSize(tensor, {}), 0);
  tensor.shape[0] = Expression::makeConstant(INT64_MAX);
  EXPECT_EQ(task.getByteSize(tensor, {}).error().message,
            ": its size overflows 64 bits");
}

TEST(Task, MachineAxes) {
  Result<Task> task = parseTask(change(
      R"("G": {"type": "const", "value": 128,)",
      R"("P": {"type": "machine", "values": [4, 2, 8], "description": "ranks"},
         "G": {"type": "const", "value": 128,)"));
  ASSERT_TRUE(task) << task.error().message;
  const Workload &workload = task->workloads.front();
  EXPECT_EQ(task->getAxisValues(workload).at("P"), 2);
  EXPECT_EQ(task->getAxisValues(workload, {{"P", 8}}).at("P"), 8);
}

TEST(Task, ElementTypes) {
  for (const char *name :
       {"float64", "bfloat16", "float8_e4m3fn", "uint4", "bool", "int64"})
    EXPECT_EQ(getDTypeName(*parseDType(name)), name);
  EXPECT_FALSE(parseDType("bf16"));
  EXPECT_EQ(getBitWidth(DType::Float4E2M1), 4u);
  // bf16 has 8 significant bits: rounding errs by at most 2^-8 of the value.
  EXPECT_EQ(getHalfUlp(DType::BFloat16), 1.0 / 256);
  EXPECT_EQ(getHalfUlp(DType::Int32), 0.0);
}

TEST(Task, SchemaFaultsComeAllAtOnceWithPaths) {
  std::string faults = getFaults(change(
      R"("G": {"type": "const", "value": 128,)", R"("G": {"type": "const",)"));
  EXPECT_EQ(faults, "task.json: axes.G: missing member \"value\"\n");
  EXPECT_EQ(
      getFaults(change(
          R"("shape": ["M", "N"], "dtype": "bfloat16", "description": "the matrix")",
          R"("shape": "M", "dtype": "bf16", "description": "the matrix")")),
      "task.json: inputs.X.shape: expected array or null, found string \"M\"\n"
      "task.json: inputs.X.dtype: expected \"float64\", \"float32\", "
      "\"float16\", \"bfloat16\", \"float8_e4m3fn\", \"float8_e5m2\", "
      "\"float8_e8m0fnu\", \"float4_e2m1\", \"int64\", \"int32\", \"int16\", "
      "\"int8\", \"uint8\", \"uint4\" or \"bool\", found string \"bf16\"\n");
  EXPECT_EQ(getFaults(change(R"("type": "uniform", "low": 0.5,)",
                             R"("type": "uniform", "lo": 0.5,)")),
            "task.json: inputs.s.distribution: missing member \"low\"\n"
            "task.json: inputs.s.distribution.lo: unknown member, expected "
            "type, low or high\n");
  EXPECT_EQ(getFaults(change(R"("factor": 2,)", "")),
            "task.json: tolerance.Y: missing member \"factor\"\n");
}

TEST(Task, ExpressionFaultsHavePaths) {
  EXPECT_EQ(getFaults(change(R"("2*M*N",)", R"("2*M*",)")),
            "task.json: flops: column 5: expected a number, an axis or '(', "
            "found the end\n");
  EXPECT_EQ(getFaults(change(R"("M >= 1")", R"("Q >= 1")")),
            "task.json: constraints[1]: 'Q' is no axis\n");
}

TEST(Task, TruncatedAndEmptyFiles) {
  std::string text = getDocumentedExample();
  EXPECT_EQ(getFaults(""), "task.json:1:1: the file is empty, expected JSON\n");
  std::string faults = getFaults(text.substr(0, text.size() / 2));
  EXPECT_NE(faults.find("task.json:"), std::string::npos) << faults;
  EXPECT_EQ(getFaults("[]"), "task.json: expected object, found array\n");
}

TEST(TaskLint, Names) {
  EXPECT_EQ(getFaults(getDocumentedExample(), "other"),
            "name: is \"scaled_rows\" in the folder \"other\"\n");
  EXPECT_EQ(getFaults(change(R"("alpha": {)", R"("float": {)")),
            "inputs.float: \"float\" is a reserved word of C or C++\n");
  EXPECT_EQ(getFaults(change(R"("alpha": {)", R"("M": {)")),
            "inputs.M: \"M\" names another axis or tensor too\n");
  EXPECT_EQ(getFaults(change(R"("id": "ragged")", R"("id": "square")")),
            "workloads[1].id: \"square\" is another workload's too\n");
}

TEST(TaskLint, Workloads) {
  EXPECT_EQ(
      getFaults(change(R"({"M": 333, "N": 5120})", R"({"M": 0, "N": 5000})")),
      "workloads[1]: breaks the constraint `N % G == 0`\n"
      "workloads[1]: breaks the constraint `M >= 1`\n");
  EXPECT_EQ(
      getFaults(change(R"({"M": 333, "N": 5120})", R"({"M": 333, "G": 1})")),
      "workloads[1].axes: has no value for \"N\"\n"
      "workloads[1].axes.G: is no axis that a workload sets\n");
  EXPECT_EQ(getFaults(change(R"({"M": 333, "N": 5120})",
                             R"({"M": 4611686018427387904, "N": 128})")),
            "workloads[1]: flops `2*M*N`: column 2: overflow of 64 bits (2 "
            "and 4611686018427387904)\n"
            "workloads[1]: bytes `2*M*N + 4*M + 2*M*N`: column 2: overflow of "
            "64 bits (2 and 4611686018427387904)\n"
            "workloads[1]: inputs.X: X: its size overflows 64 bits\n"
            "workloads[1]: inputs.s: s: its size overflows 64 bits\n"
            "workloads[1]: outputs.Y: Y: its size overflows 64 bits\n");
  EXPECT_EQ(
      getFaults(change(R"("inputs": {"X": {"type": "normal", "std": 4.0}},)",
                       R"("inputs": {"Y": {"type": "normal"}},)")),
      "workloads[1].inputs.Y: is no input\n");
}

TEST(TaskLint, TensorsAndTolerance) {
  EXPECT_EQ(
      getFaults(change(
          R"("dtype": "float32", "description": "one)",
          R"("dtype": "float32", "constant": true, "description": "one)")),
      "inputs.s.constant: only gemm_nvfp4, gemm_w4a16, moe_grouped_gemm "
      "and gemm_fp8_blockscaled may have inputs that `prepare` repacks\n");
  EXPECT_EQ(getFaults(change(R"("shape": null, "dtype": "float32")",
                             R"("shape": null, "dtype": "bfloat16")")),
            "inputs.alpha.dtype: a scalar of type bfloat16 cannot be passed "
            "by value in C\n");
  EXPECT_EQ(getFaults(change(R"("shape": ["M"], "dtype": "float32")",
                             R"("shape": ["M"], "dtype": "float4_e2m1")")),
            "workloads[1]: inputs.s: the last axis of a packed 4-bit tensor "
            "is odd: 333\n"
            "held_out[0]: inputs.s: the last axis of a packed 4-bit tensor is "
            "odd: 1\n");
  EXPECT_EQ(
      getFaults(change(
          R"("shape": ["M"], "dtype": "float32")",
          R"("shape": ["M"], "layout": "strided", "strides": [1, 2], "dtype": "float32")")),
      "inputs.s.strides: has 2 entries for a shape of 1\n");
  EXPECT_EQ(getFaults(change(R"("tolerance": {
    "Y": {)",
                             R"("tolerance": {
    "Z": {)")),
            "tolerance: has no entry for the output \"Y\"\n"
            "tolerance.Z: is no output\n");
}

TEST(TaskLint, OutputsInPlaceAndDerivedInputs) {
  const char *output = R"("Y": {"shape": ["M", "N"], "dtype": "bfloat16",)";
  auto getOutputFaults = [&](const std::string &members) {
    return getFaults(change(output, output + members));
  };
  EXPECT_EQ(getOutputFaults(
                R"( "in_place": true, "distribution": {"type": "normal"},)"),
            "");
  EXPECT_EQ(getOutputFaults(
                R"( "in_place": true, "distribution": {"type": "derived"},)"),
            "");
  EXPECT_NE(getOutputFaults(R"( "in_place": true,)").find("distribution"),
            std::string::npos);
  EXPECT_NE(getOutputFaults(R"( "distribution": {"type": "normal"},)")
                .find("only an output that is in place has a `distribution`"),
            std::string::npos);
  EXPECT_EQ(getFaults(change(R"({"type": "uniform", "low": 0.5, "high": 2.0})",
                             R"({"type": "derived"})")),
            "");
  EXPECT_NE(getFaults(change(R"({"type": "constant", "value": 1.5})",
                             R"({"type": "derived"})"))
                .find("a scalar needs a distribution of type constant"),
            std::string::npos);
}

TEST(TaskLint, Trials) {
  const char *held = R"("held_out": [)";
  auto getTrialFaults = [&](const std::string &trial) {
    return getFaults(change(held, "\"trials\": [" + trial + "], " + held));
  };
  EXPECT_EQ(getTrialFaults(R"({"id": "small", "description": "d",
      "inputs": {"X": {"type": "integers", "low": -2, "high": 2}}})"),
            "");
  EXPECT_EQ(getTrialFaults(R"({"id": "random", "description": "d",
      "inputs": {"Y": {"type": "constant", "value": 0}}})"),
            "trials[0].id: \"random\" is another trial's too, or the name of "
            "the ordinary ones\n"
            "trials[0].inputs.Y: is no input\n");
  EXPECT_EQ(
      getTrialFaults(R"({"id": "small", "description": "d",
      "inputs": {"alpha": {"type": "constant", "value": 0}}})"),
      "trials[0].inputs.alpha: a scalar is part of the workload; no trial "
      "changes it\n");
  // Said once a workload, because sizes may matter.
  std::string faults = getTrialFaults(R"({"id": "odd", "description": "d",
      "inputs": {"X": {"type": "generator", "name": "oddities"}}})");
  EXPECT_NE(faults.find("workloads[0]: inputs.X in trial odd: there is no "
                        "generator \"oddities\"\n"),
            std::string::npos)
      << faults;
  EXPECT_NE(getFaults(change(R"({"type": "constant", "value": 1.5})",
                             R"({"type": "uniform", "low": 0, "high": 1})"))
                .find("workloads[0]: inputs.alpha: a scalar needs a "
                      "distribution of type constant\n"),
            std::string::npos);
}

TEST(TaskLint, AcceptanceRules) {
  auto getRuleFaults = [&](const std::string &rule) {
    std::string text = getDocumentedExample();
    size_t begin = text.find(R"("rule": "reference_error")");
    size_t end = text.find("\"source\"", begin);
    return getFaults(text.replace(begin, end - begin, rule + ", "));
  };
  EXPECT_EQ(getRuleFaults(R"("rule": "acceptance", "name": "none")"),
            "tolerance.Y: there is no acceptance rule \"none\"\n");
  EXPECT_EQ(
      getRuleFaults(R"("rule": "acceptance", "name": "power_of_two_ceiling")"),
      "tolerance.Y: the acceptance rule power_of_two_ceiling needs the "
      "number \"nearness\" between 0.0 and 0.25\n");
  EXPECT_EQ(getRuleFaults(
                R"("rule": "acceptance", "name": "quantised_groups",
                   "parameters": {"group": 4, "max_different": 0.1,
                                  "scales": "s"})"),
            "tolerance.Y: the acceptance rule quantised_groups needs "
            "\"scales\", the name of the output that has them\n");
}

TEST(TaskLint, Ranks) {
  EXPECT_EQ(
      getFaults(change(R"("shape": ["M"], "dtype": "float32")",
                       R"("shape": ["M"], "peers": true, "dtype": "float32")")),
      "inputs.s.peers: needs an axis of type machine, the number of ranks\n");
  const char *flops = R"("flops":)";
  EXPECT_EQ(
      getFaults(change(
          flops,
          std::string(
              R"("symmetric": {"scratch_bytes": 8, "signal_words": 1}, )") +
              flops)),
      "symmetric: needs an axis of type machine, the number of ranks\n");
}

TEST(TaskLint, ShippedTasksAreSound) {
  Result<std::vector<std::string>> folders =
      listDirectory(test::getSourcePath("tasks"));
  ASSERT_TRUE(folders);
  unsigned checked = 0;
  for (const std::string &folder : *folders) {
    std::string path = test::getSourcePath("tasks/" + folder + "/task.json");
    if (!isRegularFile(path))
      continue;
    Result<Task> task = Task::load(path);
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(lintTask(*task, folder), std::vector<std::string>()) << path;
    ++checked;
  }
  EXPECT_GE(checked, 1u);
}

TEST(Task, GemmBf16) {
  Result<Task> task =
      Task::load(test::getSourcePath("tasks/gemm_bf16/task.json"));
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->workloads.size(), 4u);
  EXPECT_EQ(task->heldOut.size(), 2u);
  // Llama-3-70B o_proj: 2*8192^3.
  EXPECT_EQ(*task->getFlops(*task->findWorkload("llama3_70b_o_proj")),
            int64_t(1099511627776));
}
