// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a run: the best submission is measured again, in new processes and
// with new seeds, because the best of many noisy times flatters whoever submits
// most. Nothing of this enters the transcript, which an agent might see.

#include "RunSession.h"

#include "d2k/Agent/RunReport.h"
#include "d2k/Support/Files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace d2k;
using namespace d2k::agent;

static json::Value getMember(const json::Value &value, std::string_view name) {
  const json::Object *object = value.getAsObject();
  const json::Value *member = object ? object->find(name) : nullptr;
  return member ? *member : json::Value();
}

static std::string getText(const json::Value &value, std::string_view name) {
  json::Value member = getMember(value, name);
  return member.getAsString() ? *member.getAsString() : "";
}

Result<json::Value> RunSession::measureOnce(const std::string &file,
                                            const SubmissionRecord &record,
                                            bool heldOut, bool score) {
  std::string path = joinPath(joinPath(options.directory, "final"), file);
  if (isRegularFile(path)) {
    Result<json::Document> document = json::Document::read(path);
    if (!document)
      return forwardFailure(std::move(document));
    return document->getValue();
  }
  std::string source = joinPath(
      getSubmissionFolder(joinPath(options.directory, "submissions"),
                          record.sameAs ? record.sameAs : record.number),
      "source");
  Result<runner::Evaluation> evaluation =
      bench->evaluateFinally(source, heldOut, score);
  if (!evaluation)
    return forwardFailure(std::move(evaluation));
  json::Value value = runner::toJson(*evaluation);
  if (evaluation->submissionSha256 != record.sha256)
    return fail(FailureKind::Input,
                source + ": the files are not those that were submitted");
  if (Result<void> done = writeFile(path, json::dump(value) + "\n"); !done)
    return forwardFailure(std::move(done));
  return value;
}

/// Whether \p record stays correct; fills \p final.
Result<bool> RunSession::measureAgain(const SubmissionRecord &record,
                                      Final &final) {
  char stem[16];
  std::snprintf(stem, sizeof(stem), "%03u", record.number);
  std::vector<double> speedups;
  json::Array repeats;
  for (unsigned repeat = 1; repeat <= options.finalRepeats; ++repeat) {
    show("measuring submission " + std::to_string(record.number) + " again, " +
         std::to_string(repeat) + " of " +
         std::to_string(options.finalRepeats));
    Result<json::Value> result =
        measureOnce(std::string(stem) + "-" + std::to_string(repeat) + ".json",
                    record, /*heldOut=*/false, /*score=*/repeat == 1);
    if (!result)
      return forwardFailure(std::move(result));
    std::string verdict = getText(*result, "verdict");
    std::optional<double> speedup = getMember(*result, "speedup").getAsNumber();
    if (verdict != "correct" || !speedup) {
      final.rejected.emplace_back(
          json::Object{{"number", int64_t(record.number)},
                       {"verdict", verdict},
                       {"reason", getText(*result, "reason")}});
      return false;
    }
    speedups.push_back(*speedup);
    repeats.emplace_back(*speedup);
    if (repeat == 1) {
      final.implementation = getMember(*result, "implementation");
      final.isolation = getMember(*result, "isolation");
      final.device = getMember(*result, "device");
    }
  }
  final.selected = &record;
  final.repeats = std::move(repeats);
  std::sort(speedups.begin(), speedups.end());
  size_t half = speedups.size() / 2;
  final.speedup = speedups.size() % 2
                      ? speedups[half]
                      : std::sqrt(speedups[half - 1] * speedups[half]);
  if (bench->getTask().heldOut.empty())
    return true;
  show("checking held-out workloads");
  Result<json::Value> heldOut =
      measureOnce(std::string(stem) + "-held-out.json", record,
                  /*heldOut=*/true, /*score=*/false);
  if (!heldOut)
    return forwardFailure(std::move(heldOut));
  final.heldOut = json::Object{{"verdict", getText(*heldOut, "verdict")},
                               {"reason", getText(*heldOut, "reason")},
                               {"speedup", getMember(*heldOut, "speedup")}};
  return true;
}

json::Value RunSession::makeDocument(const Final &final) const {
  const json::Value &start = transcript.getEvents().front().data;
  json::Array submissions;
  unsigned timed = 0;
  for (const SubmissionRecord &record : state.submissions) {
    submissions.push_back(record.toJson());
    timed += record.speedup && !record.sameAs;
  }
  return json::Object{
      {"schema", "d2k.run/1"},
      {"task", bench->getTask().name},
      {"model", getMember(start, "model")},
      {"arm", options.arm},
      {"budget", getMember(start, "budget")},
      {"ended", state.ended.value_or("")},
      {"turns", int64_t(state.turn)},
      {"usage", state.usage.toJson()},
      {"cost", state.cost},
      {"seconds", transcript.getEvents().back().elapsed},
      {"correct", final.selected != nullptr},
      {"speedup", final.speedup ? json::Value(*final.speedup) : nullptr},
      {"selected",
       final.selected ? json::Value(int64_t(final.selected->number)) : nullptr},
      {"repeats", final.repeats},
      {"rejected", final.rejected},
      {"held_out", final.heldOut},
      {"implementation", final.implementation},
      {"device", final.device},
      {"isolation", final.isolation},
      {"timed_submissions", int64_t(timed)},
      {"submissions", std::move(submissions)}};
}

Result<RunResult> RunSession::finish() {
  std::error_code error;
  std::filesystem::create_directories(joinPath(options.directory, "final"),
                                      error);
  std::vector<const SubmissionRecord *> eligible;
  for (const SubmissionRecord &record : state.submissions)
    if (record.isEligible() && !record.sameAs)
      eligible.push_back(&record);
  std::sort(eligible.begin(), eligible.end(),
            [](const SubmissionRecord *a, const SubmissionRecord *b) {
              return *a->speedup != *b->speedup ? *a->speedup > *b->speedup
                                                : a->number < b->number;
            });
  Final final;
  for (const SubmissionRecord *record : eligible) {
    Result<bool> stays = measureAgain(*record, final);
    if (!stays)
      return forwardFailure(std::move(stays));
    if (*stays)
      break;
  }
  RunResult result;
  result.document = makeDocument(final);
  result.isCorrect = final.selected != nullptr;
  const std::pair<const char *, std::string> reports[] = {
      {"result.json", json::dump(result.document) + "\n"},
      {"summary.md", renderRunSummary(result.document)},
      {"transcript.html",
       renderTranscript(transcript.getEvents(), result.document)}};
  for (const auto &[name, text] : reports)
    if (Result<void> done = writeFile(joinPath(options.directory, name), text);
        !done)
      return forwardFailure(std::move(done));
  return result;
}
