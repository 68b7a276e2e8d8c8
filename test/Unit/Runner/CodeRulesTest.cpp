// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both checks of a submission's code.

#include "d2k/Runner/CodeRules.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

#include <gtest/gtest.h>

using namespace d2k;
using namespace d2k::runner;

namespace {

/// The faults of one file, one a line.
std::string check(const std::string &text) {
  Submission submission;
  submission.files = {{"a.cu", text}, {"own.cuh", ""}};
  std::string faults;
  for (const CodeFault &fault : checkSource(submission, "toy"))
    faults += fault.toString() + "\n";
  return faults;
}

void expectFault(const std::string &text, const std::string &fault) {
  EXPECT_NE(check(text).find(fault), std::string::npos)
      << text << "\ngives: " << check(text);
}

TEST(CheckSourceTest, AllowsWhatKernelsNeed) {
  EXPECT_EQ(check("#include \"d2k_toy.h\"\n"
                  "#include \"own.cuh\"\n"
                  "#include <cuda_bf16.h>\n"
                  "# include <cooperative_groups/reduce.h> // why\n"
                  "#include <cuda/barrier>\n"
                  "#include <cub/block/block_reduce.cuh>\n"
                  "#define GRID(x) g_##x\n"
                  "// cudaMalloc in a comment, dlopen too\n"
                  "/* #include <fstream> */\n"
                  "const char *text = \"cudaMalloc \\\" fork()\";\n"
                  "int fork, system; cudaEvent_t socket;\n"
                  "int big = 1'000'000; char c = '\"';\n"
                  "auto raw = R\"x(dlopen(\")x\";\n"
                  "__threadfence_system(); cudaMemcpyAsync(a, b, 1, k, s);\n"),
            "");
}

TEST(CheckSourceTest, FindsHeaders) {
  expectFault("\n#include <fstream>\n", "a.cu:2: includes fstream");
  expectFault("#include \"../other/reference.cu\"\n", "a.cu:1: includes ..");
  expectFault("#include \"/etc/passwd\"\n", "a.cu:1: includes /etc/passwd");
  expectFault("#include \"stranger.h\"\n", "a.cu:1: includes stranger.h");
  expectFault("#include <cub/device/device_reduce.cuh>\n", "a.cu:1: includes");
  expectFault("#include <own.cuh>\n", "a.cu:1: includes own.cuh");
  expectFault("#define X <fstream>\n#include X\n", "a.cu:2: includes a file");
  expectFault("#inc\\\nlude <fstream>\n", "a.cu:2: includes fstream");
  expectFault("/**/ # /**/ include /**/ <fstream>\n", "includes fstream");
  expectFault("%:include <fstream>\n", "includes fstream");
  expectFault("#embed \"secret\"\n", "uses #embed");
  expectFault("#line 7 \"x.cu\"\n", "uses #line");
}

TEST(CheckSourceTest, FindsNames) {
  expectFault("cudaMalloc(&p, 1);", "a.cu:1: uses cudaMalloc: a call must not");
  expectFault("cudaMallocAsync(&p, 1, s);", "uses cudaMallocAsync");
  expectFault("cudaStream\\\nSynchronize(s);", "uses cudaStreamSynchronize");
  expectFault("x = ::fork ();", "uses fork: no processes");
  expectFault("auto f = dlsym;", "uses dlsym");
  expectFault("std::exit(0);", "uses exit");
  expectFault("__attribute__((constructor)) void f();", "uses constructor");
  expectFault("asm(\".incbin \\\"x\\\"\");", "uses .incbin");
  expectFault("asm(R\"(multimem.red)\");", "multicast");
}

/// The faults of a library made from \p text.
std::string checkLibrary(const std::string &text) {
  Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  EXPECT_TRUE(folder);
  std::string source = folder->getPath() + "/a.cpp";
  std::string library = folder->getPath() + "/a.so";
  EXPECT_TRUE(writeFile(source, text));
  Command command;
  command.argv = {D2K_CXX, "-O1", "-shared", "-fPIC", source, "-o", library};
  Result<CommandResult> compiled = runCommand(command);
  EXPECT_TRUE(compiled && compiled->succeeded()) << compiled->error;
  Result<std::vector<CodeFault>> faults = checkImports(library);
  EXPECT_TRUE(faults) << faults.error().message;
  std::string list;
  for (const CodeFault &fault : *faults)
    list += fault.toString() + "\n";
  return list;
}

TEST(CheckImportsTest, ReadsImports) {
  EXPECT_EQ(checkLibrary("#include <cmath>\n#include <cstring>\n"
                         "extern \"C\" int cudaLaunchKernel();\n"
                         "extern \"C\" double f(double x, char *c, int n) {\n"
                         "  static double y = cudaLaunchKernel();\n"
                         "  std::memset(c, 1, n);\n"
                         "  return std::sin(x) + y;\n}\n"),
            "");
  EXPECT_EQ(checkLibrary("extern \"C\" int cudaMalloc(void **, unsigned long);"
                         "extern \"C\" int f(void **p) {"
                         "  return cudaMalloc(p, 1); }"),
            "compiled library: imports cudaMalloc, which is not on the list of "
            "allowed functions (docs/SubmissionRules.md)\n");
  // nvcc writes such a body for the host twin of a __device__ function.
  EXPECT_EQ(checkLibrary("#include <cstdlib>\n"
                         "float twin(float) { int code = 1; ::exit(code); }\n"),
            "");
  // What no scanner of the source can see.
  std::string pasted =
      checkLibrary("#define CALL(a, b) a##b\n"
                   "extern \"C\" int CALL(so, cket)(int, int, int);\n"
                   "extern \"C\" int f() { return CALL(so, cket)(2, 1, 0); }");
  EXPECT_NE(pasted.find("imports socket"), std::string::npos) << pasted;
}

TEST(CheckImportsTest, RefusesWhatIsNoLibrary) {
  Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  std::string path = folder->getPath() + "/a.so";
  for (const std::string &contents :
       {std::string(), std::string("text"), "\x7f" + std::string("ELF"),
        "\x7f" + std::string("ELF\2\1\1") + std::string(200, '\xff')}) {
    ASSERT_TRUE(writeFile(path, contents));
    EXPECT_FALSE(checkImports(path));
  }
}

TEST(SubmissionTest, ReadsFilesAndFolders) {
  Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  std::string root = folder->getPath();
  Result<Submission> none = Submission::read(root);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no .cu file"), std::string::npos);

  ASSERT_TRUE(writeFile(root + "/b.cu", "one"));
  ASSERT_TRUE(writeFile(root + "/notes.txt", "ignored"));
  Result<Submission> file = Submission::read(root + "/b.cu");
  ASSERT_TRUE(file);
  Result<Submission> whole = Submission::read(root);
  ASSERT_TRUE(whole);
  EXPECT_EQ(file->sha256, whole->sha256);

  ASSERT_TRUE(writeFile(root + "/a.cuh", "two"));
  Result<Submission> both = Submission::read(root);
  ASSERT_TRUE(both);
  ASSERT_EQ(both->files.size(), 2u);
  EXPECT_EQ(both->files[0].path, "a.cuh");
  EXPECT_FALSE(both->files[0].isUnit());
  EXPECT_TRUE(both->files[1].isUnit());
  EXPECT_NE(both->sha256, whole->sha256);

  ASSERT_TRUE(both->write(root + "/copy/deep"));
  EXPECT_EQ(Submission::read(root + "/copy/deep")->sha256, both->sha256);
}

} // namespace
