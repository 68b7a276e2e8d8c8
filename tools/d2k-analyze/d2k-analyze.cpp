// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-analyze: which design a GPU kernel really implements. This file connects
// the parts; what each does is in its library.

#include "Options.h"
#include "PropertyList.h"

#include "d2k/Frontend/CUDA/TaskWorkloads.h"
#include "d2k/Properties/Catalog.h"
#include "d2k/Report/Explain.h"
#include "d2k/Report/Report.h"
#include "d2k/Rubric/LintProject.h"
#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Memory.h"
#include "d2k/Support/Version.h"
#include "d2k/Task/EntryHeader.h"
#include "d2k/Task/Task.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace d2k;

static int reportFailure(const Failure &failure) {
  llvm::errs() << "d2k-analyze: error: " << sanitizeLines(failure.message)
               << '\n';
  return getExitCode(failure.kind);
}

/// Writes \p text to -o FILE or to standard output.
static Result<void> write(const AnalyzeOptions &options,
                          const std::string &text) {
  if (options.output && *options.output != "-")
    return writeFile(*options.output, text);
  llvm::outs() << text;
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    std::string reason = llvm::outs().error().message();
    llvm::outs().clear_error();
    return fail(FailureKind::Environment,
                "cannot write to standard output: " + reason);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Rubric and task
//===----------------------------------------------------------------------===//

namespace {
/// What a score needs besides the analysis.
struct Scoring {
  rubric::Rubric rubric;
  std::optional<task::Task> task;
  std::vector<std::string> workloads;
};
} // namespace

/// A task's name becomes part of a path.
static bool isTaskName(llvm::StringRef name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
             llvm::StringRef::npos;
}

static std::string listTasks(const std::string &root) {
  Result<std::vector<std::string>> names =
      listDirectory(joinPath(root, "rubrics"));
  std::string result;
  if (names)
    for (llvm::StringRef name : *names)
      if (name.ends_with(".json") && !name.ends_with(".schema.json"))
        result += (result.empty() ? "" : ", ") + name.drop_back(5).str();
  return result.empty() ? "none" : result;
}

static Result<Scoring> loadScoring(const AnalyzeOptions &options) {
  Result<std::string> root = findDataRoot();
  std::string rubricPath;
  if (options.rubric) {
    rubricPath = *options.rubric;
  } else {
    if (!root)
      return forwardFailure(std::move(root));
    if (!isTaskName(*options.task) ||
        !isRegularFile(joinPath(*root, "rubrics/" + *options.task + ".json")))
      return fail(FailureKind::Usage,
                  "--task: no task '" + *options.task +
                      "' with a rubric; there are: " + listTasks(*root));
    rubricPath = joinPath(*root, "rubrics/" + *options.task + ".json");
  }
  Result<rubric::Rubric> loaded = rubric::Rubric::load(rubricPath);
  if (!loaded)
    return forwardFailure(std::move(loaded));
  Scoring scoring;
  scoring.rubric = std::move(*loaded);
  if (options.task && scoring.rubric.task != *options.task)
    return fail(FailureKind::Usage, rubricPath + ": is the rubric of task '" +
                                        scoring.rubric.task + "', not of '" +
                                        *options.task + "'");
  // A rubric of the user's own may stand alone: then there are no workloads.
  if (!root || !isTaskName(scoring.rubric.task))
    return scoring;
  std::string taskPath =
      joinPath(*root, "tasks/" + scoring.rubric.task + "/task.json");
  if (!isRegularFile(taskPath))
    return scoring;
  Result<task::Task> task = task::Task::load(taskPath);
  if (!task)
    return forwardFailure(std::move(task));
  for (const task::Workload &workload : task->workloads)
    scoring.workloads.push_back(workload.id);
  scoring.task = std::move(*task);
  return scoring;
}

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

static int listProperties(const AnalyzeOptions &options) {
  const PropertyCatalog &catalog = properties::getCatalog();
  report::TextOptions text;
  text.color = !options.output && useColor(options.color, STDOUT_FILENO);
  std::string page = options.listFormat == "json" ? renderPropertyJson(catalog)
                     : options.listFormat == "markdown"
                         ? renderPropertyMarkdown(catalog)
                         : report::renderPropertyList(catalog, text);
  if (Result<void> written = write(options, page); !written)
    return reportFailure(written.error());
  return 0;
}

static int lint(const AnalyzeOptions &options) {
  Result<std::string> root = findDataRoot();
  // A rubric of the user's own needs none of our data.
  if (!root && !options.rubric)
    return reportFailure(root.error());
  if (options.rubric && !isRegularFile(*options.rubric))
    return reportFailure(
        {FailureKind::Input,
         *options.rubric + ": no such file, or not a regular file"});
  Result<rubric::ProjectLint> result =
      options.rubric
          ? rubric::lintRubricFile(*options.rubric, root ? *root : "",
                                   properties::getCatalog())
          : rubric::lintProject(*root, properties::getCatalog());
  if (!result)
    return reportFailure(result.error());
  std::string text;
  for (const std::string &fault : result->faults)
    text += sanitize(fault) + "\n";
  auto count = [](size_t n, const char *one, const char *many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
  };
  if (!options.rubric)
    text += count(result->tasks, "task", "tasks") + ", " +
            count(result->guidances, "guidance", "guidances") + ", ";
  text += count(result->rubrics, "rubric", "rubrics") + ": " +
          count(result->faults.size(), "fault", "faults") + "\n";
  if (Result<void> written = write(options, text); !written)
    return reportFailure(written.error());
  return result->faults.empty() ? 0 : getExitCode(FailureKind::Finding);
}

/// Puts the generated entry header of \p task into a new folder on the include
/// path, where submissions expect it.
static Result<TemporaryDirectory> provideHeader(const task::Task &task,
                                                AnalyzeRequest &request) {
  Result<TemporaryDirectory> folder = TemporaryDirectory::create();
  if (!folder)
    return folder;
  Result<void> written =
      writeFile(joinPath(folder->getPath(), "d2k_" + task.name + ".h"),
                task::generateEntryHeader(task));
  if (!written)
    return forwardFailure(std::move(written));
  request.includeDirectories.push_back(folder->getPath());
  return folder;
}

/// The property that --explain names.
static Result<const PropertyInfo *>
findExplained(const std::string &id, const PropertyCatalog &catalog) {
  if (const PropertyInfo *info = catalog.find(id))
    return info;
  std::string near = catalog.suggest(id);
  return fail(FailureKind::Usage,
              "--explain: no property '" + id + "'; " +
                  (near.empty() ? "--list-properties lists them"
                                : "did you mean " + near + "?"));
}

static std::vector<std::string> readLines(const std::string &file) {
  std::vector<std::string> lines;
  Result<std::string> text = readFile(file);
  if (!text)
    return lines;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(*text).split(parts, '\n');
  for (llvm::StringRef part : parts)
    lines.push_back(part.rtrim("\r").str());
  return lines;
}

static int runAnalysis(AnalyzeOptions options) {
  const PropertyInfo *explained = nullptr;
  if (options.explain) {
    Result<const PropertyInfo *> found =
        findExplained(*options.explain, properties::getCatalog());
    if (!found)
      return reportFailure(found.error());
    explained = *found;
  }
  std::optional<Scoring> scoring;
  std::optional<TemporaryDirectory> headers;
  if (options.task || options.rubric) {
    Result<Scoring> loaded = loadScoring(options);
    if (!loaded)
      return reportFailure(loaded.error());
    scoring = std::move(*loaded);
    if (scoring->task) {
      Result<TemporaryDirectory> folder =
          provideHeader(*scoring->task, options.request);
      if (!folder)
        return reportFailure(folder.error());
      headers = std::move(*folder);
      if (options.request.entry.empty())
        options.request.entry = task::getEntryName(*scoring->task);
      options.request.workloads = cuda::makeHostWorkloads(*scoring->task);
    }
  }
  std::optional<json::Document> baseline;
  if (options.baseline) {
    Result<json::Document> document = json::Document::read(*options.baseline);
    if (!document)
      return reportFailure(document.error());
    baseline = std::move(*document);
  }

  bool mlir = options.format == OutputFormat::Mlir;
  Result<AnalyzeOutcome> outcome = analyze(options.request, /*keepKern=*/mlir);
  if (!outcome) {
    int status = reportFailure(outcome.error());
    llvm::StringRef message = outcome.error().message;
    if (!scoring && message.contains("d2k_") &&
        message.contains(".h: No such file"))
      llvm::errs() << "d2k-analyze: note: the header of a task's entry is "
                      "generated from the task; add --task NAME\n";
    return status;
  }
  for (const std::string &remark : outcome->remarks)
    llvm::errs() << "d2k-analyze: " << sanitizeLines(remark) << '\n';
  if (mlir) {
    std::string text;
    for (const std::string &module : outcome->kern)
      text += module;
    if (Result<void> written = write(options, text); !written)
      return reportFailure(written.error());
    return 0;
  }

  const PropertyCatalog &catalog = properties::getCatalog();
  report::Report report;
  report.analysis = &outcome->analysis;
  report.listFacts = options.facts;
  std::optional<rubric::Score> score;
  if (scoring) {
    score = rubric::computeScore(scoring->rubric, outcome->analysis, catalog,
                                 scoring->workloads);
    report.rubric = &scoring->rubric;
    report.score = &*score;
  }
  std::optional<report::BaselineComparison> comparison;
  if (baseline) {
    Result<report::BaselineComparison> compared =
        report::compareWithBaseline(*baseline, report);
    if (!compared)
      return reportFailure(compared.error());
    comparison = std::move(*compared);
    report.comparison = &*comparison;
  }

  std::string text;
  if (options.format == OutputFormat::Json) {
    text = json::dump(report::renderJson(report)) + "\n";
  } else {
    report::TextOptions style;
    style.color = !options.output && useColor(options.color, STDOUT_FILENO);
    text = explained ? report::renderExplanation(outcome->analysis, *explained,
                                                 readLines, style)
                     : report::renderText(report, style);
  }
  if (Result<void> written = write(options, text); !written)
    return reportFailure(written.error());
  if (options.failUnder && score->ungated.combined.lo < *options.failUnder) {
    llvm::errs() << llvm::formatv(
        "d2k-analyze: score {0:F1} is below --fail-under {1:F1}\n",
        score->ungated.combined.lo, *options.failUnder);
    return getExitCode(FailureKind::Finding);
  }
  return 0;
}

int main(int argc, char **argv) {
  keepFreedMemory();
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg(
      "d2k-analyze crashed, which is a fault of this program whatever the "
      "input; please report it with the input.\n");
  Result<AnalyzeOptions> options = parseOptions(argc - 1, argv + 1);
  if (!options)
    return reportFailure(options.error());
  switch (options->mode) {
  case AnalyzeOptions::Mode::Help:
    llvm::outs() << getHelp();
    return 0;
  case AnalyzeOptions::Mode::Version:
    llvm::outs() << getVersionLine("d2k-analyze") << '\n';
    return 0;
  case AnalyzeOptions::Mode::ListProperties:
    return listProperties(*options);
  case AnalyzeOptions::Mode::Lint:
    return lint(*options);
  case AnalyzeOptions::Mode::Analyze:
    return runAnalysis(std::move(*options));
  }
  llvm_unreachable("mode without a branch");
}
