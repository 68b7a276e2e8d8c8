// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an agent can do with its files: compile, test, time and look at them.
// It is the runner with what an agent may not learn left out: scores, held-out
// workloads, the baseline's source and places on this machine.

#ifndef D2K_AGENT_WORKBENCH_H
#define D2K_AGENT_WORKBENCH_H

#include "d2k/Runner/Evaluate.h"
#include "d2k/Support/Files.h"
#include "d2k/Task/Task.h"

#include <optional>
#include <string>
#include <vector>

namespace d2k::agent {

struct WorkbenchOptions {
  /// Task, data root, worker, analyser, devices and limits. The rest is set by
  /// each operation.
  runner::EvaluateOptions evaluate;
  /// "sm_90a"; empty: that of the first device.
  std::string arch;
};

/// What one kernel uses, in ptxas' words.
struct KernelUsage {
  std::string name;
  int64_t registers = 0;
  int64_t sharedBytes = 0;
  int64_t stackBytes = 0;
  int64_t spillStoreBytes = 0;
  int64_t spillLoadBytes = 0;
};

/// The kernels in the output of `ptxas -v`; \p rest receives the other lines.
std::vector<KernelUsage> parseKernelUsage(const std::string &diagnostics,
                                          std::string &rest);

class Workbench {
public:
  static Result<Workbench> create(WorkbenchOptions options);

  const task::Task &getTask() const { return task; }
  const WorkbenchOptions &getOptions() const { return options; }
  /// The text of description.md.
  const std::string &getDescription() const { return description; }
  /// The device and its architecture, asked once; fails with kind Environment
  /// where there is no device and no architecture was given.
  Result<std::string> getArch();

  /// What the compiler says of the files in \p folder, for the agent. \p passed
  /// receives whether they compile and keep the rules.
  Result<std::string> compile(const std::string &folder, bool &passed);
  /// The PTX or the machine code of the files in \p folder: name and text of
  /// each listing. A text for the agent where they do not compile.
  struct Listing {
    std::string problem;
    std::vector<std::pair<std::string, std::string>> files;
  };
  Result<Listing> inspect(const std::string &folder, bool isSass);

  enum class Depth : uint8_t { Validate, Profile, Submit };
  /// Evaluates the files in \p folder on \p workloads; empty: all.
  Result<runner::Evaluation>
  evaluate(const std::string &folder, Depth depth,
           const std::vector<std::string> &workloads);
  /// For the end of a run: all workloads, or with \p heldOut those that were
  /// never shown, and with \p score the score of the implementation where the
  /// analyser is at hand.
  Result<runner::Evaluation> evaluateFinally(const std::string &folder,
                                             bool heldOut, bool score);

  /// Called with what is being done.
  std::function<void(const std::string &)> progress;

private:
  Workbench() = default;
  Result<void> build(const std::string &folder);

  WorkbenchOptions options;
  task::Task task;
  std::string description, arch;
  /// The last submission that was compiled here, and what came of it.
  std::string builtSha256, builtText;
  bool builtPassed = false;
  std::optional<TemporaryDirectory> built;
};

} // namespace d2k::agent

#endif // D2K_AGENT_WORKBENCH_H
