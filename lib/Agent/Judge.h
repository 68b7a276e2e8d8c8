// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A second opinion on a design, by a model.

#ifndef D2K_LIB_AGENT_JUDGE_H
#define D2K_LIB_AGENT_JUDGE_H

#include "d2k/Agent/Design.h"
#include "d2k/Agent/ModelClient.h"
#include "d2k/Agent/Transcript.h"

#include <map>

namespace d2k::agent {

struct Judgement {
  /// By item of the guidance: what most votes say; of equally many, the lowest.
  std::map<std::string, Discovery> items;
  /// Votes that came.
  unsigned votes = 0;
  /// The part of all pairs of votes on one item that agree; nothing with one
  /// vote.
  std::optional<double> agreement;
  Usage usage;
};

/// Lets \p judge vote \p votes times on how much of \p guidance, the text of
/// the file, \p design has. Question and votes are written to \p transcript,
/// and votes that it has already are not asked for again. Fails with kind Usage
/// when these are the votes of another judge or on another design, and when no
/// vote can be understood.
Result<Judgement> judgeDesign(ModelClient &judge, const std::string &judgeName,
                              unsigned votes, const Design &design,
                              const std::string &guidance,
                              Transcript &transcript,
                              const ModelEvents &events);

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_JUDGE_H
