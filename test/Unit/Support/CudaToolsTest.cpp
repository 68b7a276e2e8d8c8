// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for CUDA programs, with programs of our own in their place.

#include "d2k/Support/CudaTools.h"

#include "d2k/Support/Files.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>

#include <sys/stat.h>

using namespace d2k;

namespace {

/// Sets variables for one test and puts the old ones back.
class Environment {
public:
  ~Environment() {
    for (const auto &[name, value] : saved) {
      if (value)
        ::setenv(name.c_str(), value->c_str(), 1);
      else
        ::unsetenv(name.c_str());
    }
  }
  void set(const std::string &name, const std::string &value) {
    const char *old = std::getenv(name.c_str());
    saved.emplace_back(name,
                       old ? std::optional<std::string>(old) : std::nullopt);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

private:
  std::vector<std::pair<std::string, std::optional<std::string>>> saved;
};

class CudaToolsTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> created = TemporaryDirectory::create();
    ASSERT_TRUE(created) << created.error().message;
    directory.emplace(std::move(*created));
    for (const char *name :
         {"D2K_NVDISASM", "D2K_NVCC", "CUDA_HOME", "CUDA_PATH"})
      environment.set(name, "");
    environment.set("PATH", "/usr/bin:/bin");
  }
  std::string addProgram(const std::string &relative, const char *script) {
    std::string path = joinPath(directory->getPath(), relative);
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    EXPECT_TRUE(writeFile(path, std::string("#!/bin/sh\n") + script));
    ::chmod(path.c_str(), 0755);
    return path;
  }
  std::optional<TemporaryDirectory> directory;
  Environment environment;
};

} // namespace

TEST_F(CudaToolsTest, PrefersTheVariable) {
  std::string path = addProgram("mine", "exit 0\n");
  environment.set("D2K_NVDISASM", path);
  EXPECT_EQ(*findCudaTool(CudaTool::Nvdisasm), path);
  environment.set("D2K_NVDISASM", "/nowhere");
  Result<std::string> missing = findCudaTool(CudaTool::Nvdisasm);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, FailureKind::Environment);
  EXPECT_EQ(missing.error().message,
            "D2K_NVDISASM is set to \"/nowhere\", which is no executable "
            "file; unset it or give the path of nvdisasm");
}

TEST_F(CudaToolsTest, LooksInPathThenInCudaHomeThenInVenv) {
  std::string venv = addProgram(
      ".venv/lib/python3.11/site-packages/nvidia/cu13/bin/nvdisasm", "");
  std::string below = joinPath(directory->getPath(), "a/b");
  std::filesystem::create_directories(below);
  // A toolkit installed on this machine comes before .venv; then the test of
  // the last step says nothing.
  Result<std::string> found = findCudaTool(CudaTool::Nvdisasm, below);
  ASSERT_TRUE(found) << found.error().message;
  if (found->compare(0, 11, "/usr/local/") != 0) {
    EXPECT_EQ(std::filesystem::canonical(*found),
              std::filesystem::canonical(venv));
  }
  std::string home = addProgram("home/bin/nvdisasm", "");
  environment.set("CUDA_HOME", joinPath(directory->getPath(), "home"));
  EXPECT_EQ(*findCudaTool(CudaTool::Nvdisasm, below), home);
  std::string inPath = addProgram("path/nvdisasm", "");
  environment.set("PATH", joinPath(directory->getPath(), "path") + ":/bin");
  EXPECT_EQ(*findCudaTool(CudaTool::Nvdisasm, below), inPath);
}

TEST_F(CudaToolsTest, ReadsVersions) {
  std::string path = addProgram(
      "nvcc", "echo 'nvcc: NVIDIA (R) Cuda compiler driver'\n"
              "echo 'Cuda compilation tools, release 13.0, V13.0.88'\n");
  Result<ToolVersion> version = queryToolVersion(path);
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(version->major, 13);
  EXPECT_EQ(version->minor, 0);
  EXPECT_EQ(version->text, "13.0.88");
}

TEST_F(CudaToolsTest, SaysWhenAToolIsBroken) {
  std::string path = addProgram("broken", "exit 5\n");
  Result<ToolVersion> version = queryToolVersion(path);
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().kind, FailureKind::Environment);
  EXPECT_EQ(version.error().message,
            path + ": is broken: `--version` ended with exit code 5; "
                   "reinstall it");
  path = addProgram("silent", "echo hello\n");
  version = queryToolVersion(path);
  ASSERT_FALSE(version);
  EXPECT_NE(version.error().message.find("printed no version"),
            std::string::npos);
}
