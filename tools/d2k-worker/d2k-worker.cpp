// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processes that d2k-run starts. Not a program for users.
//
//   d2k-worker selftest PART [N]             prints the figures of a part

#include "Cuda/SelfTest.h"

#include <cstdio>
#include <string>
#include <string_view>

using namespace d2k;
using namespace d2k::runner;

static int complain(const std::string &message, FailureKind kind) {
  std::fprintf(stderr, "d2k-worker: error: %s\n", message.c_str());
  return getExitCode(kind);
}

static int testItself(const std::vector<std::string> &arguments) {
  Result<json::Value> figures = runSelfTest(arguments);
  if (!figures)
    return complain(figures.error().message, figures.error().kind);
  std::puts(json::dump(*figures).c_str());
  return 0;
}

int main(int argc, char **argv) {
  std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "selftest")
    return testItself({argv + 2, argv + argc});
  return complain("expected selftest; this program is started by d2k-run",
                  FailureKind::Usage);
}
