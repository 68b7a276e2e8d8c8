// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run new: a submission that compiles and is correct, to start from.

#include "Commands.h"

#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"
#include "d2k/Task/EntryHeader.h"

#include <cstdio>
#include <filesystem>

using namespace d2k;
using namespace d2k::run;

static Result<int> makeNew(const Arguments &arguments) {
  if (arguments.getPositional().size() != 2)
    return fail(FailureKind::Usage, "new needs two arguments: TASK DIR");
  const std::string &name = arguments.getPositional()[0];
  const std::string &target = arguments.getPositional()[1];
  Result<std::string> root = findDataRoot();
  if (!root)
    return forwardFailure(std::move(root));
  Result<std::string> folder = findTaskFolder(*root, name);
  if (!folder)
    return forwardFailure(std::move(folder));
  Result<task::Task> task = task::Task::load(joinPath(*folder, "task.json"));
  if (!task)
    return forwardFailure(std::move(task));
  Result<std::string> skeleton =
      readFile(joinPath(*folder, "exemplars/naive.cu"));
  if (!skeleton)
    return forwardFailure(std::move(skeleton));
  Result<std::string> description =
      readFile(joinPath(*folder, "description.md"));
  if (!description)
    return forwardFailure(std::move(description));

  // Never over somebody's work.
  std::error_code error;
  if (std::filesystem::exists(target, error) &&
      !(std::filesystem::is_directory(target, error) &&
        std::filesystem::is_empty(target, error)))
    return fail(FailureKind::Input,
                target + ": exists and is no empty folder; name another one");
  std::filesystem::create_directories(target, error);
  if (error)
    return fail(FailureKind::Input, target + ": " + error.message());
  const std::pair<std::string, std::string> files[] = {
      {name + ".cu", *skeleton},
      {task::getEntryName(*task) + ".h", task::generateEntryHeader(*task)},
      {"README.md", *description}};
  for (const auto &[file, text] : files)
    if (Result<void> written = writeFile(joinPath(target, file), text);
        !written)
      return forwardFailure(std::move(written));
  std::string shown = sanitize(target);
  std::printf(
      "%s: %s.cu is correct and slow; README.md says what it does\n"
      "next: d2k-run eval %s %s\n"
      "without a GPU: d2k-run eval %s %s --compile-only --arch sm_90a\n",
      shown.c_str(), name.c_str(), name.c_str(), shown.c_str(), name.c_str(),
      shown.c_str());
  return 0;
}

Command d2k::run::getNewCommand() {
  return {"new",
          "TASK DIR",
          "Makes a folder with a submission that compiles and passes.",
          {},
          makeNew};
}
