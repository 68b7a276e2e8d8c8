// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The implementation score of a submission, from d2k-analyze.

#ifndef D2K_LIB_RUNNER_EVALUATE_SCORE_H
#define D2K_LIB_RUNNER_EVALUATE_SCORE_H

#include "d2k/Runner/Evaluate.h"

namespace d2k::runner {

/// Runs d2k-analyze on the submission and fills `implementation`, or says in
/// `implementationProblem` why there is no score.
void scoreImplementation(const EvaluateOptions &options,
                         const std::string &task, Evaluation &evaluation);

} // namespace d2k::runner

#endif // D2K_LIB_RUNNER_EVALUATE_SCORE_H
