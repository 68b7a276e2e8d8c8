// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a submission as an evaluation does: behind walls, with the
// harness's flags, and checked before and after.

#ifndef D2K_RUNNER_COMPILESUBMISSION_H
#define D2K_RUNNER_COMPILESUBMISSION_H

#include "d2k/Runner/Compile.h"
#include "d2k/Runner/Evaluation.h"
#include "d2k/Runner/Submission.h"
#include "d2k/Task/Task.h"

#include <string>

namespace d2k::runner {

struct CompiledSubmission {
  /// Correct, CompileError or Exploit.
  Verdict verdict = Verdict::Correct;
  /// Why not: the compiler's words, or the places that break the rules.
  std::string reason;
  /// What the compiler printed although it succeeded; paths are relative to
  /// the submission.
  std::string diagnostics;
  /// The shared library.
  std::string library;
  double seconds = 0;
};

/// Writes \p submission and the header of \p task below \p folder, in the
/// folders `source` and `include`, and makes `output` for what is compiled.
Result<void> layOutSubmission(const Submission &submission,
                              const task::Task &task,
                              const std::string &folder);

/// The faults of the source, as a verdict.
CompiledSubmission checkSubmission(const Submission &submission,
                                   const task::Task &task);

/// What may be seen while a submission in \p folder is compiled, or looked at
/// by a program of the toolkit. \p dataRoot stays hidden.
SandboxConfig makeCompilerSandbox(const Compiler &compiler,
                                  const std::string &folder,
                                  const std::string &dataRoot);

/// Compiles what layOutSubmission wrote for \p arch. With \p details the
/// compiler says what each kernel uses and leaves its PTX beside the library.
/// A Failure means that the compiler could not be run.
Result<CompiledSubmission>
compileSubmission(const Compiler &compiler, const Submission &submission,
                  const task::Task &task, const std::string &folder,
                  const std::string &dataRoot, const std::string &arch,
                  bool details = false);

} // namespace d2k::runner

#endif // D2K_RUNNER_COMPILESUBMISSION_H
