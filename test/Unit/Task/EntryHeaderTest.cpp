// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generated entry header: its text, and that C and CUDA compilers take it.

#include "d2k/Task/EntryHeader.h"

#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

#include "TestPaths.h"
#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::task;

/// A task with every kind of field: a machine and a constant axis, a scalar,
/// a weight, an index tensor that peers can read, symmetric memory, types
/// without a C type, and an awkward text.
static Task makeTask() {
  Task task;
  task.name = "sample";
  task.description = "Uses */ in its text.";
  task.axes = {{"M", AxisKind::Variable, 0, {}, "rows"},
               {"world", AxisKind::Machine, 0, {2, 4}, "ranks"},
               {"G", AxisKind::Constant, 128, {}, "columns of a group"}};
  auto addInput = [&](const char *name, DType type,
                      const char *description) -> Tensor & {
    Tensor tensor;
    tensor.name = name;
    tensor.type = type;
    tensor.description = description;
    tensor.shape.push_back(*Expression::parse("ceil_div(M, 2)"));
    task.inputs.push_back(tensor);
    return task.inputs.back();
  };
  addInput("W", DType::UInt4, "weights").isConstant = true;
  addInput("table", DType::Int32, "indices").hasPeers = true;
  Tensor &alpha = addInput("alpha", DType::Float32, "a factor");
  alpha.isScalar = true;
  alpha.shape.clear();
  Tensor output;
  output.name = "Y";
  output.isOutput = true;
  output.type = DType::BFloat16;
  output.description = "the result";
  output.shape.push_back(*Expression::parse("M"));
  task.outputs.push_back(output);
  task.symmetric.emplace();
  return task;
}

TEST(EntryHeader, Text) {
  EXPECT_EQ(generateEntryHeader(makeTask()),
            R"(// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task sample, generated from its task.json: Uses * / in its
// text.

#ifndef D2K_SAMPLE_H
#define D2K_SAMPLE_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

/* columns of a group */
#define D2K_SAMPLE_G ((int64_t)128)

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_sample_args {
  int64_t M;                   /* rows */
  int64_t world;               /* ranks */
  int64_t rank;                /* this rank, from 0 */
  const void *W;               /* uint4 [ceil_div(M,2)], weights */
  const int32_t *const *table; /* int32 [ceil_div(M,2)], indices; one pointer a rank, the array on the host */
  float alpha;                 /* float32, a factor */
  void *Y;                     /* bfloat16 [M], the result */
  void *const *scratch;        /* scratch of every rank, undefined contents; the array on the host */
  size_t scratch_bytes;        /* size of the above, on each */
  uint32_t *const *signals;    /* words of every rank, zero before the first call and never reset; the array on the host */
  size_t signal_words;         /* number of the above, on each */
  const void *prepared;        /* what prepare wrote, or null */
  size_t prepared_bytes;       /* size of the above */
} d2k_sample_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_sample(const d2k_sample_args *args, void *workspace,
               size_t workspace_bytes, cudaStream_t stream);

/* Optional and untimed: repacks the constant inputs, the only ones that
   `args` has then, into `prepared`. */
int d2k_sample_prepare(const d2k_sample_args *args, void *prepared,
                       size_t prepared_bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_SAMPLE_H
)");
}

TEST(EntryHeader, ExemplarsUseTheGeneratedOne) {
  Result<std::vector<std::string>> names =
      listDirectory(test::getSourcePath("tasks"));
  ASSERT_TRUE(names) << names.error().message;
  for (const std::string &name : *names) {
    std::string folder = test::getSourcePath("tasks/" + name);
    if (!isRegularFile(joinPath(folder, "task.json")))
      continue;
    Result<Task> task = Task::load(joinPath(folder, "task.json"));
    ASSERT_TRUE(task) << task.error().message;
    Result<std::string> checkedIn =
        readFile(joinPath(folder, "exemplars/d2k_" + name + ".h"));
    ASSERT_TRUE(checkedIn) << checkedIn.error().message;
    EXPECT_EQ(*checkedIn, generateEntryHeader(*task));
  }
}

namespace {

class CompileTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> created = TemporaryDirectory::create();
    ASSERT_TRUE(created) << created.error().message;
    directory.emplace(std::move(*created));
    write("d2k_sample.h", generateEntryHeader(makeTask()));
  }
  void write(const char *name, const std::string &text) {
    ASSERT_TRUE(writeFile(joinPath(directory->getPath(), name), text));
  }
  /// Runs a compiler in the directory; empty when it accepts.
  std::string compile(std::vector<std::string> argv) {
    Command command;
    command.argv = std::move(argv);
    command.directory = directory->getPath();
    Result<CommandResult> result = runCommand(command);
    if (!result)
      return result.error().message;
    return result->succeeded() ? "" : result->error + result->output;
  }
  std::optional<TemporaryDirectory> directory;
};

} // namespace

TEST_F(CompileTest, IsC11) {
  std::string compiler = findProgram("gcc");
  if (compiler.empty())
    GTEST_SKIP() << "no gcc in PATH";
  // What C needs of the CUDA header is one type; the toolkit's own header is
  // tried with nvcc.
  write("cuda_runtime_api.h", "typedef struct CUstream_st *cudaStream_t;\n");
  write("use.c", "#include \"d2k_sample.h\"\n"
                 "int use(const d2k_sample_args *args) {\n"
                 "  return args->table[0][0] + (int)args->alpha +\n"
                 "         (int)D2K_SAMPLE_G +\n"
                 "         d2k_sample(args, 0, 0, (cudaStream_t)0);\n"
                 "}\n");
  EXPECT_EQ(compile({compiler, "-std=c11", "-Wall", "-Wextra", "-pedantic",
                     "-Werror", "-I.", "-c", "use.c", "-o", "use.o"}),
            "");
}

TEST_F(CompileTest, IsCuda) {
  Result<std::string> compiler = findCudaTool(CudaTool::Nvcc);
  if (!compiler)
    GTEST_SKIP() << compiler.error().message;
  write("use.cu",
        "#include \"d2k_sample.h\"\n"
        "extern \"C\" int d2k_sample(const d2k_sample_args *args, void *,\n"
        "                          size_t, cudaStream_t) {\n"
        "  return args->table == nullptr;\n"
        "}\n"
        "extern \"C\" int d2k_sample_prepare(const d2k_sample_args *, void *,\n"
        "                                  size_t) {\n"
        "  return cudaSuccess;\n"
        "}\n");
  EXPECT_EQ(
      compile({*compiler, "-std=c++20", "-I.", "-c", "use.cu", "-o", "use.o"}),
      "");
}
