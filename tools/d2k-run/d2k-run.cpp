// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs and measures kernels. This process never loads CUDA or submitted code:
// it starts d2k-worker for both.

#include "Commands.h"

#include "d2k/Support/Terminal.h"
#include "d2k/Support/Version.h"

#include <cstdio>
#include <string_view>

using namespace d2k;
using namespace d2k::run;

static const CommandEntry kCommands[] = {
    {"doctor", "[--gpu] [--json FILE] [--pairs N]",
     "what is installed, what is missing and what that costs; with --gpu, a "
     "test of the measurement on this machine's GPU",
     runDoctor},
};

int run::complain(const Failure &failure) {
  std::fprintf(stderr, "d2k-run: error: %s\n",
               sanitizeLines(failure.message).c_str());
  return getExitCode(failure.kind);
}

static void printUsage(FILE *stream) {
  std::fputs("usage: d2k-run COMMAND [ARGUMENT...]\n\ncommands:\n", stream);
  for (const CommandEntry &command : kCommands)
    std::fprintf(stream, "  %s %s\n      %s\n", command.name, command.arguments,
                 command.summary);
  std::fputs("\nexit codes: 0 done (eval: correct), 1 evaluated and not "
             "correct, or a check failed,\n  2 bad usage, 3 a submission does "
             "not compile, 4 something is missing here\n",
             stream);
}

int main(int argc, char **argv) {
  std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h") {
    printUsage(stdout);
    return 0;
  }
  if (name == "--version") {
    std::puts(getVersionLine("d2k-run").c_str());
    return 0;
  }
  for (const CommandEntry &command : kCommands)
    if (name == command.name)
      return command.run({argv + 2, argv + argc});
  if (!name.empty())
    return complain(
        {FailureKind::Usage,
         "unknown command '" + std::string(name) + "'; see d2k-run --help"});
  printUsage(stderr);
  return getExitCode(FailureKind::Usage);
}
