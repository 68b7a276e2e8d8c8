// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which headers a source is sure to include. The toolkit is a folder with two
// empty headers.

#include "LeadingHeaders.h"

#include "d2k/Support/Files.h"

#include "gtest/gtest.h"

#include <filesystem>

using namespace d2k;
using namespace d2k::cuda;

using Names = std::vector<std::string>;

namespace {
class LeadingHeadersTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> created = TemporaryDirectory::create();
    ASSERT_TRUE(created.has_value());
    folder.emplace(std::move(*created));
    write("toolkit/include/cuda_bf16.h", "");
    write("toolkit/include/cccl/cub/cub.cuh", "");
  }

  void write(const std::string &name, const std::string &text) {
    std::filesystem::path path = joinPath(folder->getPath(), name);
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(writeFile(path.string(), text).has_value());
  }

  Names find(const std::string &text, const std::string &include = "include") {
    return findLeadingHeaders(text, joinPath(folder->getPath(), "k.cu"),
                              {joinPath(folder->getPath(), include)},
                              joinPath(folder->getPath(), "toolkit"));
  }

  std::optional<TemporaryDirectory> folder;
};
} // namespace

TEST_F(LeadingHeadersTest, TakesToolkitAndLibraryInOrder) {
  EXPECT_EQ(find("#include <vector>\n#include <cub/cub.cuh>\n"
                 "# include \"cuda_bf16.h\" // packed\n#include <vector>\n"),
            (Names{"vector", "cub/cub.cuh", "cuda_bf16.h"}));
}

TEST_F(LeadingHeadersTest, LeavesOutWhatIsCheapOrUnknown) {
  EXPECT_EQ(find("#include <cuda_runtime.h>\n#include <cstdint>\n"
                 "#include <unistd.h>\n#include <torch/extension.h>\n"),
            Names{});
}

TEST_F(LeadingHeadersTest, FollowsOwnHeaders) {
  write("task.h", "#pragma once\n#include <string>\nint f();\n");
  write("include/own/all.h", "#ifndef OWN_ALL_H_\n#define OWN_ALL_H_\n"
                             "#include <map>\n#endif\n#include <deque>\n");
  EXPECT_EQ(find("#include \"task.h\"\n#include <own/all.h>\n"
                 "#include <cuda_bf16.h>\n"),
            (Names{"string", "map", "cuda_bf16.h"}));
  // The folders of -I come first: this is no header of the toolkit.
  write("include/cuda_bf16.h", "#include <list>\n");
  EXPECT_EQ(find("#include <cuda_bf16.h>\n"), Names{"list"});
}

TEST_F(LeadingHeadersTest, LeavesOutWhatMayNotBeIncluded) {
  EXPECT_EQ(find("#ifdef DEBUG\n#include <iostream>\n#endif\n"
                 "namespace n {\n#include <vector>\n}\n"
                 "// #include <set>\n/*\n#include <map>\n*/\n"
                 "#if 1\n#else\n#include <list>\n#endif\n"
                 "#include <string>\n"),
            Names{"string"});
  // The first directive, and no guard.
  EXPECT_EQ(find("#ifndef SMALL\n#include <vector>\n#endif\n"), Names{});
}

TEST_F(LeadingHeadersTest, EndsAtMacrosThatHeadersMayRead) {
  for (const char *macro : {"__CUDA_NO_BFLOAT16_OPERATORS__", "CUB_STDERR",
                            "private public", "_GNU_SOURCE", "NDEBUG"})
    EXPECT_EQ(find("#include <vector>\n#define " + std::string(macro) +
                   "\n#include <cuda_bf16.h>\n"),
              Names{"vector"})
        << macro;
  write("config.h", "#pragma once\n#define CUDA_NO_HALF 1\n");
  EXPECT_EQ(find("#include \"config.h\"\n#include <cuda_bf16.h>\n"), Names{});
  EXPECT_EQ(find("#define CONFIG <config.h>\n#include CONFIG\n"
                 "#include <vector>\n"),
            Names{});
  EXPECT_EQ(find("#define TILE {128, \\\n  64}\n#include <vector>\n"),
            Names{"vector"});
}
