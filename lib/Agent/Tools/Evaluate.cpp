// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tools that run the files on the device.

#include "Tools/Tools.h"

#include "d2k/Runner/Submission.h"

#include <filesystem>

using namespace d2k;
using namespace d2k::agent;
using namespace d2k::runner;

static std::string hidePath(std::string text, const std::string &path) {
  for (size_t at = 0; (at = text.find(path, at)) != std::string::npos;)
    text.replace(at, path.size(), "your files");
  return text;
}

static Result<ToolOutcome> refuse(const ToolContext &context,
                                  const Failure &failure) {
  if (failure.kind != FailureKind::Input)
    return tl::unexpected<Failure>(failure);
  return ToolOutcome::makeError(
      hidePath(failure.message, context.files.getPath()));
}

/// The workloads that the model names. Held-out ones do not exist for it.
static Result<std::vector<std::string>>
readWorkloads(const ToolContext &context, const json::Cursor &arguments) {
  std::optional<json::Cursor> list = arguments.find("workloads");
  if (!list)
    return std::vector<std::string>();
  Result<std::vector<std::string>> ids = list->asStrings();
  if (!ids)
    return ids;
  for (const std::string &id : *ids) {
    std::string known;
    bool isKnown = false;
    for (const task::Workload &workload : context.bench.getTask().workloads) {
      isKnown |= workload.id == id;
      known += (known.empty() ? "" : ", ") + workload.id;
    }
    if (!isKnown)
      return fail(FailureKind::Input,
                  "there is no workload \"" + id + "\"; there are " + known);
  }
  return ids;
}

static std::string describe(const Evaluation &evaluation) {
  return renderText(evaluation, /*color=*/false);
}

static Result<ToolOutcome> evaluateFiles(ToolContext &context,
                                         const json::Cursor &arguments,
                                         Workbench::Depth depth) {
  Result<std::vector<std::string>> workloads =
      readWorkloads(context, arguments);
  if (!workloads)
    return refuse(context, workloads.error());
  Result<Evaluation> evaluation =
      context.bench.evaluate(context.files.getPath(), depth, *workloads);
  if (!evaluation)
    return refuse(context, evaluation.error());
  return ToolOutcome{describe(*evaluation),
                     evaluation->verdict != Verdict::Correct, std::nullopt};
}

static Result<ToolOutcome> test(ToolContext &context,
                                const json::Cursor &arguments) {
  return evaluateFiles(context, arguments, Workbench::Depth::Validate);
}

static Result<ToolOutcome> profile(ToolContext &context,
                                   const json::Cursor &arguments) {
  return evaluateFiles(context, arguments, Workbench::Depth::Profile);
}

static Result<ToolOutcome> submit(ToolContext &context, const json::Cursor &) {
  Result<Submission> submission = Submission::read(context.files.getPath());
  if (!submission)
    return refuse(context, submission.error());
  SubmissionRecord record;
  record.number = unsigned(context.submissions.size() + 1);
  record.turn = context.turn;
  record.sha256 = submission->sha256;
  for (const SubmissionRecord &earlier : context.submissions) {
    if (earlier.sha256 != submission->sha256)
      continue;
    // Timing the same files again and again would find the luckiest time.
    record.verdict = earlier.verdict;
    record.reason = earlier.reason;
    record.speedup = earlier.speedup;
    record.sameAs = earlier.sameAs ? earlier.sameAs : earlier.number;
    return ToolOutcome{"submission " + std::to_string(record.number) +
                           " has the files of submission " +
                           std::to_string(record.sameAs) +
                           ", whose result stands: " + record.verdict,
                       false, record};
  }
  std::string folder =
      getSubmissionFolder(context.submissionsFolder, record.number);
  std::error_code error;
  // An evaluation that a kill ended left files here.
  std::filesystem::remove_all(folder, error);
  if (Result<void> written = submission->write(joinPath(folder, "source"));
      !written)
    return forwardFailure(std::move(written));
  // What is kept is what is evaluated.
  Result<Evaluation> evaluation = context.bench.evaluate(
      joinPath(folder, "source"), Workbench::Depth::Submit, {});
  if (!evaluation)
    return forwardFailure(std::move(evaluation));
  if (Result<void> written = writeFile(joinPath(folder, "result.json"),
                                       json::dump(toJson(*evaluation)) + "\n");
      !written)
    return forwardFailure(std::move(written));
  record.verdict = std::string(getVerdictName(evaluation->verdict));
  record.reason = evaluation->reason;
  if (std::optional<metrics::TaskSpeedup> speedup = evaluation->getSpeedup())
    record.speedup = speedup->value;
  return ToolOutcome{"submission " + std::to_string(record.number) + "\n" +
                         hidePath(describe(*evaluation), folder),
                     false, record};
}

void agent::addEvaluateTools(std::vector<Tool> &tools) {
  constexpr std::string_view kWorkloads =
      R"({"type": "object", "properties": {
            "workloads": {"type": "array", "items": {"type": "string"},
                          "minItems": 1, "description": "default: all"}},
          "additionalProperties": false})";
  tools.push_back({"test",
                   "Runs your files on the workloads and checks what they "
                   "compute. Shows the first wrong element.",
                   kWorkloads, false, test});
  tools.push_back({"profile",
                   "Checks and times your files beside the baseline. Shows "
                   "time, speedup, kernels and hardware counters.",
                   kWorkloads, false, profile});
  tools.push_back(
      {"submit",
       "Checks and times your files on all workloads and keeps them. The best "
       "correct submission counts, whenever it was made.",
       R"({"type": "object", "properties": {}, "additionalProperties": false})",
       false, submit});
}
