// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a model proposes before any code and without guidance, compared with
// the expert's design; docs/Agents.md.

#ifndef D2K_AGENT_PROPOSE_H
#define D2K_AGENT_PROPOSE_H

#include "d2k/Agent/Design.h"
#include "d2k/Agent/ModelClient.h"
#include "d2k/Agent/Run.h"

namespace d2k::agent {

struct ProposeOptions {
  std::string taskFolder, dataRoot;
  ModelOptions model;
  /// A model that assesses the design too, so many times; it sees neither who
  /// made it nor how fast anything is.
  std::optional<ModelOptions> judge;
  unsigned votes = 3;
  /// A finished run of the same task, whose implementation score tells which
  /// items are in its code; empty: none.
  std::string runDirectory;
  /// Where the conversation and the result are kept.
  std::string directory;
};

/// Asks the model, unless the folder has its answer, and compares. The result
/// is the document d2k.proposal/1 (docs/schemas/proposal.schema.json), which is
/// written to proposal.json too. Fails with kind Finding when the model states
/// no design in three responses.
Result<json::Value> proposeDesign(const ProposeOptions &options,
                                  const RunObserver &observer);

/// The document \p proposal for people: a line an item.
std::string renderProposal(const json::Value &proposal);

} // namespace d2k::agent

#endif // D2K_AGENT_PROPOSE_H
