// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a checkout's data and lints it.

#include "d2k/Rubric/LintProject.h"

#include "d2k/Rubric/Lint.h"
#include "d2k/Support/Files.h"
#include "d2k/Task/Lint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

using namespace d2k;
using namespace d2k::rubric;

namespace {

class ProjectLinter {
public:
  ProjectLinter(std::string root, const PropertyCatalog &catalog)
      : root(std::move(root)), catalog(catalog) {}

  Result<ProjectLint> run();
  ProjectLint runRubric(const std::string &path);

private:
  std::string getPath(const std::string &relative) const {
    return joinPath(root, relative);
  }
  void report(const std::string &file, const std::string &message) {
    lint.faults.push_back(file + ": " + message);
  }
  /// A library's failure names the file by its whole path, a line a fault.
  void reportFailure(const Failure &failure);
  void checkTask(const std::string &name);
  void checkGuidance(const std::string &name);
  void checkRubric(const std::string &name);
  void checkPairs();

  std::string root;
  const PropertyCatalog &catalog;
  ProjectLint lint;
  /// Names of tasks with the ids of their scored workloads; nothing for a task
  /// that did not load.
  std::map<std::string, std::optional<std::vector<std::string>>> tasks;
  std::map<std::string, Guidance> guidances;
  std::set<std::string> rubrics;
};

} // namespace

/// \p name without \p suffix, or empty when it does not end so.
static std::string removeSuffix(const std::string &name,
                                std::string_view suffix) {
  if (name.size() <= suffix.size() ||
      name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0)
    return {};
  return name.substr(0, name.size() - suffix.size());
}

void ProjectLinter::reportFailure(const Failure &failure) {
  task::addFaults(lint.faults, failure, root);
}

void ProjectLinter::checkTask(const std::string &name) {
  ++lint.tasks;
  auto &workloads = tasks[name];
  task::TaskFolderLint folder = task::lintTaskFolder(root, name);
  lint.faults.insert(lint.faults.end(), folder.faults.begin(),
                     folder.faults.end());
  if (!folder.task)
    return;
  workloads.emplace();
  for (const task::Workload &workload : folder.task->workloads)
    workloads->push_back(workload.id);
}

void ProjectLinter::checkGuidance(const std::string &name) {
  std::string file = "guidance/" + name + ".md";
  ++lint.guidances;
  if (!tasks.count(name))
    report(file, "there is no task \"" + name + "\"");
  Result<std::string> text = readFile(getPath(file));
  if (!text) {
    reportFailure(text.error());
    return;
  }
  Guidance guidance = parseGuidance(*text);
  for (const std::string &fault : guidance.faults)
    lint.faults.push_back(file + ":" + fault);
  guidances.emplace(name, std::move(guidance));
}

void ProjectLinter::checkRubric(const std::string &name) {
  std::string file = "rubrics/" + name + ".json";
  ++lint.rubrics;
  rubrics.insert(name);
  Result<Rubric> rubric = Rubric::load(getPath(file));
  if (!rubric) {
    reportFailure(rubric.error());
    return;
  }
  if (rubric->task != name)
    report(file,
           "task: is \"" + rubric->task + "\" in the file of \"" + name + "\"");
  LintContext context;
  context.catalog = &catalog;
  auto task = tasks.find(name);
  if (task == tasks.end())
    report(file, "there is no task \"" + name + "\"");
  else if (task->second)
    context.workloads = &*task->second;
  auto guidance = guidances.find(name);
  if (guidance != guidances.end())
    context.guidance = &guidance->second;
  for (const std::string &fault : lintRubric(*rubric, context))
    report(file, fault);
}

void ProjectLinter::checkPairs() {
  for (const auto &[name, guidance] : guidances)
    if (!rubrics.count(name))
      report("guidance/" + name + ".md",
             "has no rubric rubrics/" + name + ".json that checks it");
  for (const std::string &name : rubrics)
    if (!guidances.count(name))
      report("rubrics/" + name + ".json",
             "has no guidance guidance/" + name + ".md whose items it checks");
}

Result<ProjectLint> ProjectLinter::run() {
  Result<std::vector<std::string>> names = listDirectory(getPath("tasks"));
  if (!names)
    return forwardFailure(std::move(names));
  for (const std::string &name : *names)
    if (isDirectory(getPath("tasks/" + name)))
      checkTask(name);
  names = listDirectory(getPath("guidance"));
  if (!names)
    return forwardFailure(std::move(names));
  for (const std::string &name : *names)
    if (std::string stem = removeSuffix(name, ".md"); !stem.empty())
      checkGuidance(stem);
  names = listDirectory(getPath("rubrics"));
  if (!names)
    return forwardFailure(std::move(names));
  for (const std::string &name : *names)
    if (std::string stem = removeSuffix(name, ".json");
        !stem.empty() && name != "rubric.schema.json")
      checkRubric(stem);
  checkPairs();
  return std::move(lint);
}

ProjectLint ProjectLinter::runRubric(const std::string &path) {
  ++lint.rubrics;
  Result<Rubric> rubric = Rubric::load(path);
  if (!rubric) {
    reportFailure(rubric.error());
    return std::move(lint);
  }
  LintContext context;
  context.catalog = &catalog;
  // The name is part of a path.
  std::string name = rubric->task;
  bool isKnown = !root.empty() && name.find('/') == std::string::npos &&
                 isRegularFile(getPath("tasks/" + name + "/task.json"));
  if (isKnown) {
    checkTask(name);
    if (isRegularFile(getPath("guidance/" + name + ".md")))
      checkGuidance(name);
    lint = ProjectLint();
    ++lint.rubrics;
    if (tasks[name])
      context.workloads = &*tasks[name];
    if (auto guidance = guidances.find(name); guidance != guidances.end())
      context.guidance = &guidance->second;
  }
  for (const std::string &fault : lintRubric(*rubric, context))
    report(path, fault);
  return std::move(lint);
}

ProjectLint d2k::rubric::lintRubricFile(const std::string &path,
                                        const std::string &root,
                                        const PropertyCatalog &catalog) {
  return ProjectLinter(root, catalog).runRubric(path);
}

Result<ProjectLint> d2k::rubric::lintProject(const std::string &root,
                                             const PropertyCatalog &catalog) {
  return ProjectLinter(root, catalog).run();
}
