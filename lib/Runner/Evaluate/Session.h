// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processes of one evaluation and what their failures mean. A worker that
// runs a submission can only bring a verdict on itself; the oracle and the
// worker of the baseline are ours, and their failures are the harness's.

#ifndef D2K_LIB_RUNNER_EVALUATE_SESSION_H
#define D2K_LIB_RUNNER_EVALUATE_SESSION_H

#include "d2k/Runner/Child.h"
#include "d2k/Runner/Evaluate.h"

#include <memory>
#include <string>

namespace d2k::runner {

/// Why a step did not come to its end.
struct Trouble {
  enum class Kind : uint8_t {
    /// The submission's fault.
    Verdict,
    /// A process was killed from outside: try again.
    Lost,
    /// The harness or the machine does not work.
    Harness,
  };
  Kind kind = Kind::Harness;
  Verdict verdict = Verdict::Crash;
  /// With Verdict.
  std::string reason;
  /// With Lost and Harness.
  Failure failure;
};

template <typename T>
using Step = tl::expected<T, Trouble>;

tl::unexpected<Trouble> failSubmission(Verdict verdict, std::string reason);
tl::unexpected<Trouble> failHarness(Failure failure);

/// Hands the trouble of \p step on.
template <typename T>
tl::unexpected<Trouble> forwardTrouble(Step<T> &&step) {
  return tl::unexpected<Trouble>(std::move(step.error()));
}

/// What a side's worker loads.
struct Library {
  std::string path;
  std::string entry;
};

class Session {
public:
  Session(const EvaluateOptions &options, std::string libraryFolder,
          std::string writableFolder)
      : options(options), libraryFolder(std::move(libraryFolder)),
        writableFolder(std::move(writableFolder)) {}

  /// The oracle, started when it does not run, without a context: it only
  /// knows the devices then.
  Step<void> startOracle();
  /// The oracle, started and with its contexts made, if they are not.
  Step<void> attachOracle();
  /// What startOracle was told of the devices, in the order of the options.
  const json::Array &getDevices() const { return devices; }

  void setLibrary(Side side, Library library) {
    libraries[size_t(side)] = std::move(library);
  }
  /// The worker of \p side, started and with its library loaded, when it does
  /// not run. With \p sanitizerTool it runs under that tool of
  /// compute-sanitizer, behind the namespaces and without the filter of system
  /// calls, and can measure nothing.
  Step<void> startWorker(Side side, const std::string &sanitizerTool = "");
  /// Asks the worker of \p side to end; what it printed.
  Step<std::string> finishWorker(Side side);
  /// Ends it; the next startWorker starts a fresh one.
  void stopWorker(Side side) { workers[size_t(side)].reset(); }
  bool isRunning(Side side) {
    return workers[size_t(side)] && workers[size_t(side)]->isRunning();
  }
  void stopAll();

  /// Replies with the members of the answer.
  Step<json::Value> askOracle(std::string_view operation,
                              json::Object arguments,
                              std::chrono::milliseconds timeout);
  /// \p doing completes "... while ": "a call of workload x". \p seconds
  /// receives clock D.
  Step<json::Value> askWorker(Side side, std::string_view operation,
                              json::Object arguments,
                              std::chrono::milliseconds timeout,
                              const std::string &doing,
                              double *seconds = nullptr);

  /// Whether memory is copied between the processes, because the machine cannot
  /// share it; known once a worker was started.
  bool usesCopies() const { return copies; }
  const std::string &getWritableFolder() const { return writableFolder; }

  /// What took the oracle away, when it is gone: then its buffers are too, and
  /// what became of a worker says nothing about the submission.
  std::optional<Trouble> findLostOracle();

  /// What was asked so far.
  const std::map<std::string, RequestTime> &getRequests() const {
    return requests;
  }

  /// GPU time of the processes that run, by their names.
  std::map<std::string, double> askUsage();

  const Isolation &getIsolation() const { return isolation; }
  /// Why the worker could not trace activities; empty when it can.
  const std::string &getTracingProblem() const { return tracingProblem; }

private:
  void note(std::string_view process, std::string_view operation,
            double seconds);
  Step<void> confine(Child &child);
  Step<void> tryIpc(Child &child);
  Trouble explainEnd(Side side, const std::string &doing);
  SandboxConfig makeSandbox(Side side) const;
  std::vector<std::string> makeWorkerCommand(Side side,
                                             const std::string &tool) const;

  const EvaluateOptions &options;
  std::string libraryFolder, writableFolder;
  std::unique_ptr<Child> oracle;
  std::unique_ptr<Child> workers[2];
  Library libraries[2];
  json::Array devices;
  /// Of memory that a worker tries to open; empty when there is none.
  std::string probe;
  bool isAttached = false;
  bool copies = false;
  Isolation isolation;
  std::string tracingProblem;
  std::map<std::string, RequestTime> requests;
};

} // namespace d2k::runner

#endif // D2K_LIB_RUNNER_EVALUATE_SESSION_H
