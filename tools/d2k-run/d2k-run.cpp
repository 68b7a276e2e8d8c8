// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates submissions. This file finds the subcommand and prints what went
// wrong; the commands are in files of their own.

#include "Commands.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"
#include "d2k/Support/Version.h"

#include <algorithm>
#include <cstdio>

using namespace d2k;
using namespace d2k::run;

static std::vector<Command> getCommands() {
  return {getListCommand(),    getShowCommand(),   getNewCommand(),
          getLintCommand(),    getEvalCommand(),   getAgentCommand(),
          getProposeCommand(), getReplayCommand(), getServeCommand(),
          getDoctorCommand()};
}

/// Prints \p text in lines of at most 80 columns, from \p column on, where the
/// cursor is.
static void printWrapped(std::string_view text, size_t column) {
  constexpr size_t kWidth = 80;
  size_t at = column;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    if (at != column && at + 1 + word.size() > kWidth) {
      std::printf("\n%*s", int(column), "");
      at = column;
    }
    std::printf("%s%.*s", at == column ? "" : " ", int(word.size()),
                word.data());
    at += (at != column) + word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  std::puts("");
}

static void printHelp() {
  std::puts("usage: d2k-run COMMAND [options] [arguments]\n\ncommands:");
  for (const Command &command : getCommands()) {
    std::printf("  %-12s ", std::string(command.name).c_str());
    printWrapped(command.summary, 15);
  }
  std::puts(
      "\nd2k-run COMMAND --help explains a command; --version prints the "
      "version.\n"
      "exit code: 0 done (eval: correct), 1 evaluated and not correct, 2 "
      "bad usage,\n3 what was given cannot be used (the submission does not "
      "compile, a transcript\nis damaged), 4 the environment (no GPU, no "
      "compiler)");
}

static void printHelp(const Command &command) {
  std::printf("usage: d2k-run %s%s%s%s\n\n", std::string(command.name).c_str(),
              command.options.empty() ? "" : " [options]",
              command.arguments.empty() ? "" : " ",
              std::string(command.arguments).c_str());
  printWrapped(command.summary, 0);
  if (!command.options.empty())
    std::puts("\noptions:");
  constexpr size_t kColumn = 28;
  for (const Option &option : command.options) {
    std::string left = "  --" + std::string(option.name);
    if (!option.value.empty())
      left += " " + std::string(option.value);
    // What is too long for its column has a line of its own.
    if (left.size() + 1 > kColumn)
      std::printf("%s\n%*s", left.c_str(), int(kColumn), "");
    else
      std::printf("%-*s", int(kColumn), left.c_str());
    printWrapped(option.help, kColumn);
  }
}

static int reportFailure(const Failure &failure) {
  std::fprintf(stderr, "d2k-run: error: %s\n",
               sanitizeLines(failure.message).c_str());
  return getExitCode(failure.kind);
}

Result<std::string> d2k::run::findTaskFolder(const std::string &dataRoot,
                                             const std::string &name) {
  std::string tasks = joinPath(dataRoot, "tasks");
  std::string folder = joinPath(tasks, name);
  bool isName = !name.empty() &&
                name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"
                                       "_") == std::string::npos;
  if (isName && isRegularFile(joinPath(folder, "task.json")))
    return folder;
  std::string known;
  for (const std::string &other :
       listDirectory(tasks).value_or(std::vector<std::string>()))
    if (isRegularFile(joinPath(joinPath(tasks, other), "task.json")))
      known += (known.empty() ? "" : ", ") + other;
  return fail(FailureKind::Usage, "no task '" + name + "'; there are: " +
                                      (known.empty() ? "none" : known));
}

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "help") {
    printHelp();
    return arguments.empty() ? getExitCode(FailureKind::Usage) : 0;
  }
  if (arguments[0] == "--version") {
    std::puts(getVersionLine("d2k-run").c_str());
    return 0;
  }
  for (const Command &command : getCommands()) {
    if (command.name != arguments[0])
      continue;
    arguments.erase(arguments.begin());
    for (const std::string &argument : arguments) {
      if (argument == "--")
        break;
      if (argument == "--help") {
        printHelp(command);
        return 0;
      }
    }
    Result<Arguments> parsed = Arguments::parse(arguments, command.options);
    if (!parsed)
      return reportFailure(parsed.error());
    Result<int> code = command.run(*parsed);
    return code ? *code : reportFailure(code.error());
  }
  return reportFailure({FailureKind::Usage, "unknown command '" + arguments[0] +
                                                "'; see d2k-run --help"});
}
