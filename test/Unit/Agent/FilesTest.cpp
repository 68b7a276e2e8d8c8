// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What keeps an agent inside its directory, and transcripts honest.

#include "Tools/Tools.h"

#include "d2k/Agent/Transcript.h"
#include "d2k/Support/Files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::agent;

namespace {

class FilesTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> made = TemporaryDirectory::create();
    ASSERT_TRUE(made);
    folder.emplace(std::move(*made));
    Result<WorkDirectory> opened = WorkDirectory::open(in("work"));
    ASSERT_TRUE(opened);
    files.emplace(std::move(*opened));
  }
  std::string in(const std::string &name) const {
    return joinPath(folder->getPath(), name);
  }

  std::optional<TemporaryDirectory> folder;
  std::optional<WorkDirectory> files;
};

} // namespace

TEST_F(FilesTest, KeepsFiles) {
  ASSERT_TRUE(files->write("kernel.cu", "a\nb\n"));
  ASSERT_TRUE(files->write("include/deep/x.cuh", "c"));
  ASSERT_TRUE(files->write("kernel.cu", "d\n"));
  EXPECT_EQ(*files->read("kernel.cu"), "d\n");
  std::vector<WorkDirectory::Entry> entries = files->list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].file, "include/deep/x.cuh");
  EXPECT_EQ(entries[1].bytes, 2u);
  ASSERT_TRUE(files->remove("kernel.cu"));
  EXPECT_FALSE(files->remove("kernel.cu"));
  EXPECT_FALSE(files->read("include/deep"));
  EXPECT_FALSE(files->write("include/deep", "over a folder"));
  ASSERT_TRUE(files->clear());
  EXPECT_TRUE(files->list().empty());
}

TEST_F(FilesTest, RefusesPathsThatLeadOut) {
  ASSERT_TRUE(writeFile(in("secret.cu"), "secret"));
  for (const std::string &path :
       {"../secret.cu", "a/../../secret.cu", "/etc/passwd", "", ".", "..",
        "a//b.cu", "a/", "/", "./a.cu", ".hidden", "a/.git/x"}) {
    EXPECT_FALSE(files->read(path)) << path;
    EXPECT_FALSE(files->write(path, "x")) << path;
    EXPECT_FALSE(files->remove(path)) << path;
  }
  EXPECT_EQ(*readFile(in("secret.cu")), "secret");
}

TEST_F(FilesTest, RefusesNamesThatProgramsMayMisread) {
  // Files are named on the compiler's command line.
  for (const std::string &path :
       {std::string("-Xcompiler=-include.cu"), std::string("a b.cu"),
        std::string("a;id.cu"), std::string("$(id).cu"), std::string("a\nb.cu"),
        std::string("a,b.cu"), std::string("a'.cu"), std::string("@options.cu"),
        std::string("a\0b.cu", 6), std::string("ä.cu"), std::string(101, 'a'),
        std::string("1/2/3/4/5/6/7/8/9.cu")})
    EXPECT_FALSE(files->write(path, "x")) << path;
}

TEST_F(FilesTest, FollowsNoLinks) {
  ASSERT_TRUE(writeFile(in("secret"), "secret"));
  std::filesystem::create_directory(in("outside"));
  std::filesystem::create_symlink(in("secret"), in("work/link.cu"));
  std::filesystem::create_symlink(in("outside"), in("work/folder"));
  std::filesystem::create_hard_link(in("secret"), in("work/hard.cu"));
  ASSERT_EQ(::mkfifo(in("work/pipe.cu").c_str(), 0600), 0);
  EXPECT_FALSE(files->read("link.cu"));
  EXPECT_FALSE(files->read("hard.cu"));
  EXPECT_FALSE(files->read("pipe.cu"));
  EXPECT_FALSE(files->write("folder/x.cu", "x"));
  EXPECT_FALSE(files->read("folder/x.cu"));
  // Writing replaces what is in the way and never writes through it.
  EXPECT_TRUE(files->write("link.cu", "mine"));
  EXPECT_TRUE(files->write("hard.cu", "mine"));
  EXPECT_EQ(*readFile(in("secret")), "secret");
  EXPECT_EQ(*files->read("link.cu"), "mine");
  EXPECT_TRUE(std::filesystem::is_empty(in("outside")));
}

// What the machine lacks is not told to the model as its own fault, and the
// file is not said to be missing.
TEST_F(FilesTest, KnowsWhoseFaultItIs) {
  ASSERT_TRUE(files->write("a.cu", "x"));
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = {0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  Result<std::string> text = files->read("a.cu");
  Result<void> written = files->write("b/c.cu", "x");
  Result<void> removed = files->remove("a.cu");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, FailureKind::Environment);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, FailureKind::Environment);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().kind, FailureKind::Environment);
  EXPECT_EQ(*files->read("a.cu"), "x");

  for (const char *file : {"none.cu", "none/a.cu", "a.cu/b.cu"}) {
    EXPECT_EQ(files->read(file).error().kind, FailureKind::Input) << file;
    EXPECT_EQ(files->remove(file).error().kind, FailureKind::Input) << file;
  }
  EXPECT_EQ(files->write("a.cu/b.cu", "").error().kind, FailureKind::Input);
}

TEST_F(FilesTest, LimitsWhatIsKept) {
  EXPECT_FALSE(files->write("big.cu", std::string(10 << 20, 'x')));
  EXPECT_TRUE(files->write("half.cu", std::string(3 << 20, 'x')));
  EXPECT_FALSE(files->write("more.cu", std::string(2 << 20, 'x')));
  EXPECT_TRUE(files->write("half.cu", "small again"));
  for (int i = 1; i < 256; ++i)
    ASSERT_TRUE(files->write("f" + std::to_string(i) + ".h", "x"));
  EXPECT_FALSE(files->write("one-too-many.h", "x"));
  EXPECT_TRUE(files->write("f7.h", "y"));
}

TEST(CutTextTest, LeavesTheEndsAndSaysHowMuchIsMissing) {
  EXPECT_EQ(cutText("short"), "short");
  std::string text(100000, 'a');
  text += "the end";
  std::string cut = cutText(text);
  EXPECT_LT(cut.size(), kMaxToolCharacters + 200);
  EXPECT_NE(cut.find("of 100007 bytes are left out"), std::string::npos);
  EXPECT_EQ(cut.substr(cut.size() - 7), "the end");
  // Never through a character.
  std::string umlauts;
  for (int i = 0; i < 9000; ++i)
    umlauts += "\xc3\xa4";
  for (size_t most : {size_t(1001), size_t(1002), size_t(1003), size_t(1004)})
    EXPECT_EQ(json::dump(cutText(umlauts, most)).find("fffd"),
              std::string::npos);
}

TEST(KernelUsageTest, ReadsWhatPtxasSays) {
  // nvcc 13.0, -Xptxas=-v.
  std::string rest;
  std::vector<KernelUsage> kernels = parseKernelUsage(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z1fPf' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z1fPf\n"
      "    16 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 512 bytes smem, "
      "16 bytes cumulative stack size\n"
      "ptxas info    : Compile time = 3.141 ms\n"
      "a.cu(3): warning #177-D: variable \"x\" was declared but never "
      "referenced\n",
      rest);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "f(float*)");
  EXPECT_EQ(kernels[0].registers, 255);
  EXPECT_EQ(kernels[0].sharedBytes, 512);
  EXPECT_EQ(kernels[0].stackBytes, 16);
  EXPECT_EQ(kernels[0].spillStoreBytes, 20);
  EXPECT_EQ(kernels[0].spillLoadBytes, 24);
  EXPECT_EQ(rest.compare(0, 5, "a.cu("), 0);
}

TEST_F(FilesTest, TranscriptsSurviveACutAndShowChanges) {
  std::string path = in("t.jsonl");
  {
    Result<Transcript> transcript = Transcript::open(path);
    ASSERT_TRUE(transcript);
    transcript->setSecrets({"very-secret-key"});
    ASSERT_TRUE(transcript->append("start", {{"a", 1}}));
    ASSERT_TRUE(
        transcript->append("problem", {{"text", "said very-secret-key"}}));
    // One writer at a time.
    EXPECT_EQ(Transcript::open(path).error().kind, FailureKind::Usage);
  }
  std::string text = *readFile(path);
  EXPECT_EQ(text.find("very-secret-key"), std::string::npos);

  // A kill in the middle of a line, at every byte of it.
  size_t second = text.find('\n') + 1;
  for (size_t size : {second + 1, second + 40, text.size() - 1}) {
    ASSERT_TRUE(writeFile(path, text.substr(0, size)));
    Result<Transcript> transcript = Transcript::open(path);
    ASSERT_TRUE(transcript);
    EXPECT_EQ(transcript->getEvents().size(), 1u);
    EXPECT_EQ(*readFile(path), text.substr(0, second));
  }

  // A changed byte, a line that is missing, two that are swapped.
  std::string changed = text;
  changed[changed.find("\"a\": 1") + 5] = '2';
  std::string lost = text.substr(second);
  std::string swapped = text.substr(second) + text.substr(0, second);
  for (const std::string &bad : {changed, lost, swapped}) {
    ASSERT_TRUE(writeFile(path, bad));
    Result<std::vector<Event>> events = readTranscript(path);
    ASSERT_FALSE(events);
    EXPECT_EQ(events.error().kind, FailureKind::Input);
    EXPECT_NE(events.error().message.find("t.jsonl:1"), std::string::npos);
  }
}
