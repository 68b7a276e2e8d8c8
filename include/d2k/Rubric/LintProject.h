// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks all data of a checkout together: every task, guidance and rubric
// against its schema, and against one another. This is `d2k-analyze lint`.

#ifndef D2K_RUBRIC_LINTPROJECT_H
#define D2K_RUBRIC_LINTPROJECT_H

#include "d2k/Fact/PropertyInfo.h"
#include "d2k/Support/Failure.h"

#include <string>
#include <vector>

namespace d2k::rubric {

/// What was checked and what is wrong with it.
struct ProjectLint {
  size_t tasks = 0;
  size_t guidances = 0;
  size_t rubrics = 0;
  /// `FILE: PATH: message`, `FILE:LINE: message` for guidance; files are
  /// relative to the root, in the order tasks, guidance, rubrics.
  std::vector<std::string> faults;
};

/// Checks `tasks/*/task.json`, `guidance/*.md` and `rubrics/*.json` below
/// \p root. A rubric or guidance without its task, and a task's folder without
/// a task.json, are faults; a task without guidance and rubric is none, but
/// one without the other is. Fails when a folder cannot be read at all.
Result<ProjectLint> lintProject(const std::string &root,
                                const PropertyCatalog &catalog);

/// Checks the one rubric in the file \p path, which may lie anywhere. It is
/// held against the task and the guidance of that name below \p root, where
/// there are any; an empty \p root has none. The file's own faults only are
/// listed.
ProjectLint lintRubricFile(const std::string &path, const std::string &root,
                           const PropertyCatalog &catalog);

} // namespace d2k::rubric

#endif // D2K_RUBRIC_LINTPROJECT_H
